use crate::check::{datagrams, ends};
use crate::{Error, Plan};
use flashcrowd_base::Span;
use serde::{Deserialize, Serialize};

/// Echo requests at a fixed interval.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Ping {
    /// Unique name.
    pub name: String,
    /// The asking host.
    pub from: u32,
    /// The answering host.
    pub to: u32,
    /// Size of the IP packet, each way.
    pub size_bytes: u32,
    /// Time between requests.
    pub interval_ns: Span,
    /// When it starts.
    pub start_ns: Span,
    /// When it stops; without, with the run.
    pub stop_ns: Option<Span>,
}

impl Ping {
    /// It goes by datagrams: no log of connections is about it.
    pub(crate) const OPENS_CONNECTIONS: bool = false;
    /// The answering end answers by itself: the ends may be on two machines.
    pub(crate) const ONE_PROCESS: bool = false;

    pub(crate) fn hosts(&self) -> Vec<u32> {
        vec![self.from, self.to]
    }

    pub(crate) fn check(&self, plan: &Plan, path: &str) -> Result<(), Error> {
        ends(plan, self.from, self.to, path)?;
        datagrams(plan, [self.from, self.to], self.size_bytes, self.interval_ns, path)
    }
}
