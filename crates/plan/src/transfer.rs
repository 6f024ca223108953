use crate::check::{ends, require};
use crate::{Error, Plan, TransportChoice};
use flashcrowd_base::{Rate, Span};
use serde::{Deserialize, Serialize};

/// Flows from one host to another.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transfer {
    /// Unique name.
    pub name: String,
    /// The sending host; it opens the connection.
    pub from: u32,
    /// The receiving host.
    pub to: u32,
    /// What carries the flows; none for TCP with each host's own stack.
    pub transport: Option<TransportChoice>,
    /// How many connections, side by side.
    pub flows: u32,
    /// What each flow sends; without a size it sends until it stops.
    pub size_bytes: Option<u64>,
    /// Application's limit for each flow.
    pub rate_bps: Option<Rate>,
    /// When it starts.
    pub start_ns: Span,
    /// Each flow starts at a random instant of this window after `start_ns`.
    pub spread_ns: Span,
    /// When it stops, finished or not.
    pub stop_ns: Option<Span>,
}

/// Flows of one transfer: more is surely a mistake, and each takes a kilobyte before it starts.
const MOST_FLOWS: u32 = 1_000_000;

impl Transfer {
    pub(crate) fn check(&self, plan: &Plan, path: &str) -> Result<(), Error> {
        ends(plan, self.from, self.to, path)?;
        TransportChoice::check(self.transport, plan, &format!("{path}.transport"))?;
        let few = self.flows <= MOST_FLOWS;
        require(few, &format!("{path}.flows"), format_args!("must be at most {MOST_FLOWS}"))?;
        let some = self.size_bytes != Some(0);
        require(some, &format!("{path}.size_bytes"), "must not be zero")?;
        let order = self.stop_ns.is_none_or(|stop| stop > self.start_ns);
        require(order, &format!("{path}.stop_ns"), "must be after start_ns")
    }
}
