use crate::Error;
use crate::check::{index, require};
use crate::load::Own;
use flashcrowd_base::{Quantiles, Span};
use flashcrowd_link::{Conditions, LossModel, Queue, Trace};
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
    /// What links carry over time, by index: each once, however many links follow it.
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
    /// What it is like at the start.
    pub conditions: Conditions,
    /// In place of a rate, index of the trace that says what it carries over time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<u32>,
    /// If given, the delay is drawn anew for each run, in place of that of `conditions`, and stays
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
    /// The steps of the way from one host to another: shared links, and `None` for the pair's own piece.
    pub(crate) fn steps(&self, from: u32, to: u32) -> impl Iterator<Item = Option<u32>> + use<'_> {
        let (up, down) = (&self.hosts[from as usize].up, &self.hosts[to as usize].down);
        let first = up.iter().chain(&self.core(from, to).links).copied().map(Some);
        first.chain([None]).chain(down.iter().copied().map(Some))
    }

    /// What lies between the groups of two hosts.
    pub(crate) fn core(&self, from: u32, to: u32) -> &CorePath {
        let group = |host: u32| self.hosts[host as usize].group as usize;
        let core = self.core_of[group(from) * self.groups.len() + group(to)];
        &self.cores[core as usize]
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

    /// The mean rate in bit/s, over the first `seconds` seconds, of a link like this; none where nothing
    /// waits.
    pub(crate) fn mean_bps(
        &self,
        conditions: &Conditions,
        trace: Option<u32>,
        seconds: f64,
    ) -> Option<f64> {
        let trace = trace.and_then(|trace| self.traces.get(trace as usize));
        let traced = trace.map(|trace| trace.mean_bps(seconds));
        traced.or(conditions.rate_bps.map(|rate| rate.bps() as f64))
    }
}

impl Link {
    /// Whether packets wait there: it has a rate or a trace.
    pub fn is_rated(&self) -> bool {
        self.conditions.rate_bps.is_some() || self.trace.is_some()
    }

    /// Its delay in seconds, or the mean of what is drawn.
    pub(crate) fn delay_s(&self) -> f64 {
        let fixed = self.conditions.delay_ns.seconds();
        self.delay.map_or(fixed, |drawn| (drawn.least_ns.seconds() + drawn.most_ns.seconds()) / 2.0)
    }
}

impl CorePath {
    /// Delay in seconds, share of packets lost, and of those that begin a burst of losses, one way,
    /// of a pair in the middle.
    pub(crate) fn expected(&self) -> (f64, f64, f64) {
        let middle = |quantiles: &Quantiles| quantiles.at(0.5);
        let draw = self.draw.as_ref();
        let rtt = draw.and_then(|draw| draw.rtt_s.as_ref()).map(middle);
        let lost = draw.and_then(|draw| draw.loss.as_ref()).map(middle);
        let delay = rtt.map_or(self.conditions.delay_ns.seconds(), |rtt| rtt.max(0.0) / 2.0);
        let (loss, bursts) = lost.map_or_else(|| losses(&self.conditions), |lost| (lost, lost));
        (delay, loss.clamp(0.0, 1.0), bursts.clamp(0.0, 1.0))
    }

    /// What a pair of hosts needs for its own piece, as far as this core decides.
    pub(crate) fn own(&self, changes: bool) -> Own {
        let Conditions { jitter, loss, .. } = &self.conditions;
        let draws = jitter.is_some() || loss.is_some() || self.draw.is_some() || changes;
        if draws { Own::Draws } else { Own::Nothing }
    }
}

/// Mean share of packets that conditions lose, and of those that begin a burst of losses.
pub(crate) fn losses(conditions: &Conditions) -> (f64, f64) {
    conditions.loss.map_or((0.0, 0.0), |loss| match loss.model {
        LossModel::Bernoulli { probability } => (probability.value(), probability.value()),
        LossModel::GilbertElliott { to_bad, to_good, loss_good, loss_bad } => {
            let (to_bad, to_good) = (to_bad.value(), to_good.value());
            let (in_good, in_bad) = (loss_good.value(), loss_bad.value());
            // Where neither state is ever left, the first one is the good one.
            let sum = to_bad + to_good;
            let bad = if sum > 0.0 { to_bad / sum } else { 0.0 };
            let loss = bad * in_bad + (1.0 - bad) * in_good;
            (loss, loss.min((1.0 - bad) * (to_bad + in_good)))
        }
    })
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
    queue.check().map_err(|(field, allowed)| Error::new(format!("{path}.queue.{field}"), allowed))
}

pub(crate) fn check_core_conditions(core: &Conditions, path: impl Display) -> Result<(), Error> {
    require(core.rate_bps.is_none(), &path, "a pair's own piece of path has no rate: use a link")?;
    check_conditions(core, false, path)
}
