use crate::check::{index, require};
use crate::load::Load;
use crate::{Error, Plan, Workload};
use flashcrowd_base::{Span, Time};
use serde::{Deserialize, Serialize};

/// Every packet that passes the interfaces of some hosts, with its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Capture {
    /// The hosts, by index, in ascending order.
    pub hosts: Vec<u32>,
    /// The first instant that is captured.
    pub from_ns: Span,
    /// The first one that is captured no more; none for the end of the run.
    pub to_ns: Option<Span>,
    /// How many bytes are kept of each packet, from its IP header on; none for all of them.
    pub snap_bytes: Option<u32>,
}

/// A captured packet as its headers have it, in a list that grows.
const SEEN_BYTES: f64 = 150.0;
/// A packet without payload, its row in the table included.
const MIN_BYTES: f64 = 100.0;
/// An ordinary packet, acknowledgements among them.
const MEAN_BYTES: f64 = 1000.0;
/// How often a table is held while it is made and while it is written. 200 MB in one transfer, seen at
/// both ends, took 343 MB with 160 bytes of each packet and 1790 MB with all of them, to the end of the
/// writing; with this it is 390 and 1430.
const COPIES: f64 = 3.0;

impl Capture {
    /// The first instant that is captured.
    pub fn begin(&self) -> Time {
        Time::START + self.from_ns
    }
    /// The first one that is captured no more, or [`Time::NEVER`].
    pub fn end(&self) -> Time {
        self.to_ns.map_or(Time::NEVER, |to| Time::START + to)
    }

    pub(crate) fn check(&self, plan: &Plan, path: &str) -> Result<(), Error> {
        for (i, host) in self.hosts.iter().enumerate() {
            index(*host, plan.network.hosts.len(), format_args!("{path}.hosts[{i}]"))?;
        }
        let order = self.hosts.is_sorted_by(|a, b| a < b);
        require(order, format_args!("{path}.hosts"), "must be in ascending order, each once")?;
        let order = self.to_ns.is_none_or(|to| to > self.from_ns);
        require(order, format_args!("{path}.to_ns"), "must be after from_ns")
    }

    /// Memory for the captured packets of a workload that sends `packets` in a run that ends at `end_s`,
    /// spread evenly over time and over its hosts.
    pub(crate) fn load(&self, workload: &Workload, packets: f64, end_s: f64) -> Load {
        let end = self.to_ns.map_or(end_s, |to| to.seconds().min(end_s));
        let share = ((end - self.from_ns.seconds()) / end_s).clamp(0.0, 1.0);
        let seen = packets * 2.0 * self.share_of(workload) * share;
        let kept = self.snap_bytes.map_or(MEAN_BYTES, |snap| f64::from(snap).min(MEAN_BYTES));
        let bytes = seen * (SEEN_BYTES + COPIES * (MIN_BYTES + kept));
        Load { bytes: if bytes.is_finite() { bytes } else { 0.0 }, ..Load::default() }
    }

    /// The share of the hosts of a workload that are captured.
    fn share_of(&self, workload: &Workload) -> f64 {
        let hosts = workload.hosts();
        let captured = hosts.iter().filter(|host| self.hosts.binary_search(host).is_ok());
        captured.count() as f64 / (hosts.len() as f64).max(1.0)
    }
}
