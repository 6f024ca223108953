use crate::check::{datagrams, ends, require};
use crate::{Error, Plan};
use flashcrowd_base::Span;
use serde::{Deserialize, Serialize};

/// A stream of datagrams at a constant rate, from each host to the other: a call by voice or video.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// Unique name.
    pub name: String,
    /// One host.
    pub from: u32,
    /// The other.
    pub to: u32,
    /// Size of each IP packet.
    pub size_bytes: u32,
    /// Time between packets of one direction.
    pub interval_ns: Span,
    /// Length of the interval whose packets share a row of the table; none for one row in all.
    pub every_ns: Option<Span>,
    /// When it starts.
    pub start_ns: Span,
    /// When it stops; without, with the run.
    pub stop_ns: Option<Span>,
}

impl Call {
    /// It goes by datagrams: no log of connections is about it.
    pub(crate) const OPENS_CONNECTIONS: bool = false;
    /// One process plays both ends.
    pub(crate) const ONE_PROCESS: bool = true;

    pub(crate) fn hosts(&self) -> Vec<u32> {
        vec![self.from, self.to]
    }

    pub(crate) fn check(&self, plan: &Plan, path: &str) -> Result<(), Error> {
        ends(plan, self.from, self.to, path)?;
        datagrams(plan, [self.from, self.to], self.size_bytes, self.interval_ns, path)?;
        let filled = self.every_ns.is_none_or(|every| every >= self.interval_ns);
        require(filled, format_args!("{path}.every_ns"), "must be at least interval_ns")
    }
}
