use crate::check::{index, require};
use crate::{Error, Plan};
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
}
