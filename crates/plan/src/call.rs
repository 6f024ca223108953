use crate::check::{datagrams, ends, require};
use crate::{Error, Plan};
use flashcrowd_base::Span;
use serde::{Deserialize, Serialize};

/// A stream of datagrams at a constant rate, from each host to the other: a call by voice or video.
#[derive(Clone, Debug, Serialize, Deserialize)]
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
    /// As many packets as are sent within so much time share a row of the table; none for one row in all.
    pub every_ns: Option<Span>,
    /// When it starts.
    pub start_ns: Span,
    /// When it stops; without, with the run.
    pub stop_ns: Option<Span>,
}

impl Call {
    pub(crate) fn check(&self, plan: &Plan, path: &str) -> Result<(), Error> {
        ends(plan, self.from, self.to, path)?;
        datagrams(self.size_bytes, self.interval_ns, path)?;
        let filled = self.every_ns.is_none_or(|every| every >= self.interval_ns);
        require(filled, &format!("{path}.every_ns"), "must be at least interval_ns")
    }
}
