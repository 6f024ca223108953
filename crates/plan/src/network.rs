use crate::Error;
use crate::check::{index, refused, require};
use flashcrowd_base::{Quantiles, Span};
use flashcrowd_link::{Conditions, Queue, Trace};
use serde::{Deserialize, Serialize};
use std::fmt::Display;

/// Hosts, links and the paths between them. The path from host `a` to host `b` leads over
/// `a.up`, the core of the network as it lies between their groups, and `b.down`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// Names of the groups of hosts.
    pub groups: Vec<String>,
    /// All hosts.
    pub hosts: Vec<Host>,
    /// Links that several flows share: access lines and bottlenecks, one entry a direction.
    pub links: Vec<Link>,
    /// Traces of links, by index: each once, however many links follow it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traces: Vec<Trace>,
    /// The ways across the core of the network, from the access lines of one group to those of another, by index.
    pub cores: Vec<CorePath>,
    /// Index among `cores` of the way from group `f` to group `t`, at `f * groups.len() + t`.
    pub core_of: Vec<u32>,
}

/// One host.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Unique name.
    pub name: String,
    /// Index of its group.
    pub group: u32,
    /// Index of its TCP stack.
    pub stack: u32,
    /// Links that its packets cross on their way out, in order.
    pub up: Vec<u32>,
    /// Links that packets for it cross last, in order.
    pub down: Vec<u32>,
}

/// One direction of a shared link.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Unique name, as the series and the `links` table call it.
    pub name: String,
    /// Its conditions at the start.
    pub conditions: Conditions,
    /// In place of a rate, index of the trace that says what it carries over time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<u32>,
    /// If given, each run draws its delay from this, in place of that of `conditions`, and keeps it
    /// when those change.
    pub delay: Option<DrawnDelay>,
}

/// A delay that is drawn uniformly for each run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DrawnDelay {
    /// Links with the same number draw the same part of their range: both ways of a line.
    pub number: u32,
    /// The least delay.
    pub least_ns: Span,
    /// The greatest delay.
    pub most_ns: Span,
}

/// The core of the network between two groups: bottlenecks shared by all, then a piece of path of its own for
/// each ordered pair of hosts.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CorePath {
    /// Shared links crossed, in order.
    pub links: Vec<u32>,
    /// Delay, jitter and loss of each pair's own piece; it has no rate and so no queue.
    pub conditions: Conditions,
    /// If given, each unordered pair of hosts draws its round-trip time and loss, half of the
    /// round-trip time for each direction, in place of those of `conditions`.
    pub draw: Option<Draw>,
}

/// Empirical distributions for pairs of hosts.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Draw {
    /// Quantiles of the round-trip time in seconds.
    pub rtt_s: Option<Quantiles>,
    /// Quantiles of the loss probability of each direction (Bernoulli, at the receiving side).
    pub loss: Option<Quantiles>,
}

/// Links of a host, or of a way across the core: more is surely a mistake, and a route counts its steps in 16 bits.
const MAX_STEPS: usize = 1000;
/// Longer delays are surely a mistake, and sums of them could reach the end of time.
const LONGEST_DELAY: Span = Span::from_secs(3600);

impl Network {
    /// The name of a host, by its index.
    pub fn name_of(&self, host: u32) -> &str {
        &self.hosts[host as usize].name
    }

    /// Refuses a network that contradicts itself; `stacks` is how many TCP stacks there are.
    pub(crate) fn check(&self, stacks: usize) -> Result<(), Error> {
        let groups = self.groups.len();
        for (i, host) in self.hosts.iter().enumerate() {
            index(host.group, groups, format_args!("network.hosts[{i}].group"))?;
            index(host.stack, stacks, format_args!("network.hosts[{i}].stack"))?;
            for link in host.up.iter().chain(&host.down) {
                index(*link, self.links.len(), format_args!("network.hosts[{i}] link"))?;
            }
            let short = host.up.len() + host.down.len() <= MAX_STEPS;
            require(
                short,
                format_args!("network.hosts[{i}]"),
                format_args!("has more than {MAX_STEPS} links"),
            )?;
        }
        for (i, link) in self.links.iter().enumerate() {
            self.check_link(&link.conditions, link.trace, format_args!("network.links[{i}]"))?;
        }
        for (i, link) in self.links.iter().enumerate() {
            let Some(delay) = link.delay else { continue };
            let path = format!("network.links[{i}].delay");
            let order = delay.least_ns <= delay.most_ns;
            require(order, format_args!("{path}.least_ns"), "must be at most most_ns")?;
            let sane = delay.most_ns <= LONGEST_DELAY;
            require(sane, format_args!("{path}.most_ns"), "must be at most an hour")?;
        }
        for (i, core) in self.cores.iter().enumerate() {
            check_core_conditions(&core.conditions, format_args!("network.cores[{i}].conditions"))?;
            for link in &core.links {
                index(*link, self.links.len(), format_args!("network.cores[{i}].links"))?;
            }
            let short = core.links.len() <= MAX_STEPS;
            require(
                short,
                format_args!("network.cores[{i}]"),
                format_args!("has more than {MAX_STEPS} links"),
            )?;
        }
        let square = self.core_of.len() == groups * groups;
        let entries = "must have one entry for each ordered pair of groups";
        require(square, "network.core_of", entries)?;
        self.core_of.iter().try_for_each(|core| index(*core, self.cores.len(), "network.core_of"))
    }

    /// Refuses what a shared link cannot be like.
    pub(crate) fn check_link(
        &self,
        conditions: &Conditions,
        trace: Option<u32>,
        path: impl Display,
    ) -> Result<(), Error> {
        if let Some(trace) = trace {
            index(trace, self.traces.len(), format_args!("{path}.trace"))?;
            let one = conditions.rate_bps.is_none();
            require(one, format_args!("{path}.trace"), "a link has a rate or a trace, not both")?;
        }
        check_conditions(conditions, trace.is_some(), format_args!("{path}.conditions"))
    }
}

impl Link {
    /// Whether packets wait there: it has a rate or a trace.
    pub fn is_rated(&self) -> bool {
        self.conditions.rate_bps.is_some() || self.trace.is_some()
    }
}

fn check_conditions(
    conditions: &Conditions,
    traced: bool,
    path: impl Display,
) -> Result<(), Error> {
    let short = conditions.delay_ns <= LONGEST_DELAY
        && conditions.jitter.is_none_or(|jitter| jitter.spread_ns <= LONGEST_DELAY);
    require(short, &path, "delay and jitter must be at most one hour")?;
    let queue = &conditions.queue;
    require(
        traced || conditions.rate_bps.is_some() || *queue == Queue::default(),
        &path,
        "a queue needs a rate: without one nothing ever waits",
    )?;
    queue.check().map_err(refused(format_args!("{path}.queue")))
}

pub(crate) fn check_core_conditions(core: &Conditions, path: impl Display) -> Result<(), Error> {
    require(core.rate_bps.is_none(), &path, "a pair's own piece of path has no rate: use a link")?;
    check_conditions(core, false, path)
}
