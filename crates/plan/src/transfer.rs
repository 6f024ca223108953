use crate::check::{ends, require};
use crate::{Error, Plan, TransportChoice};
use flashcrowd_base::{RandomStream, Rate, Span};
use serde::{Deserialize, Serialize};

/// Flows from one host to another.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Transfer {
    /// Unique name.
    pub name: String,
    /// The sending host; it opens the connection.
    pub from: u32,
    /// The receiving host.
    pub to: u32,
    /// The transport of the flows; none for TCP with each host's own stack.
    pub transport: Option<TransportChoice>,
    /// How many connections, side by side.
    pub flows: u32,
    /// The size of each flow; without one it sends until it stops.
    pub size_bytes: Option<u64>,
    /// Application's limit for each flow.
    pub rate_bps: Option<Rate>,
    /// When it starts.
    pub start_ns: Span,
    /// Each flow starts at a random instant of this window after `start_ns`.
    pub spread_ns: Span,
    /// When it stops, finished or not.
    pub stop_ns: Option<Span>,
    /// The program that plays its flows over uTP on an engine that runs programs. The simulation plays
    /// their transport, and has no use for the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
}

/// Flows of one transfer: more is surely a mistake, and each takes a kilobyte before it starts.
const MAX_FLOWS: u32 = 1_000_000;

impl Transfer {
    /// Logs of connections may be about it.
    pub(crate) const OPENS_CONNECTIONS: bool = true;
    /// One process plays both ends.
    pub(crate) const ONE_PROCESS: bool = true;

    pub(crate) fn hosts(&self) -> Vec<u32> {
        vec![self.from, self.to]
    }

    /// When each of its flows starts in a run with this seed, as number `index` of the plan's workloads.
    pub fn starts(&self, seed: u64, index: u64) -> impl Iterator<Item = Span> + use<> {
        let (start, spread) = (self.start_ns, self.spread_ns);
        let mut stream = RandomStream::new(seed, "transfer", index);
        (0..self.flows).map(move |_| start + stream.between(Span::ZERO, spread))
    }

    pub(crate) fn check(&self, plan: &Plan, path: &str) -> Result<(), Error> {
        ends(plan, self.from, self.to, path)?;
        TransportChoice::check(self.transport, plan, format_args!("{path}.transport"))?;
        let few = self.flows <= MAX_FLOWS;
        require(few, format_args!("{path}.flows"), format_args!("must be at most {MAX_FLOWS}"))?;
        let some = self.size_bytes != Some(0);
        require(some, format_args!("{path}.size_bytes"), "must not be zero")?;
        let order = self.stop_ns.is_none_or(|stop| stop > self.start_ns);
        require(order, format_args!("{path}.stop_ns"), "must be after start_ns")
    }
}
