use crate::check::{ends, index, require};
use crate::{Error, Plan, TransportChoice};
use flashcrowd_base::{RandomStream, Span};
use serde::{Deserialize, Serialize};

/// A host that downloads one file over HTTP: over several connections at once, from one or several servers.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Download {
    /// Unique name.
    pub name: String,
    /// The server that is asked first.
    pub from: u32,
    /// The host that downloads; it opens the connections.
    pub to: u32,
    /// Further servers with the same file.
    pub mirrors: Vec<u32>,
    /// The transport of the connections; none for TCP with each host's own stack.
    pub transport: Option<TransportChoice>,
    /// Length of the file.
    pub size_bytes: u64,
    /// Connections at once, dealt round over the servers. One alone asks for all at once.
    pub connections: u32,
    /// The range of a request; none for equal parts, one for each connection.
    pub range_bytes: Option<u64>,
    /// A connection that finds nothing left to ask for takes the second half of the longest rest of another, if that
    /// rest is at least this long; none for never.
    pub least_split_bytes: Option<u64>,
    /// Whether each server is first asked about the file, without its bytes (HEAD).
    pub use_head: bool,
    /// Length of a request.
    pub request_bytes: u64,
    /// Length of the head of an answer.
    pub head_bytes: u64,
    /// When it starts.
    pub start_ns: Span,
    /// It starts at a random instant of this window after `start_ns`.
    pub spread_ns: Span,
    /// When it stops, whole or not.
    pub stop_ns: Option<Span>,
}

/// Connections of one download: more is surely a mistake.
const MAX_CONNECTIONS: u32 = 100;
/// Longer files are surely a mistake.
const MAX_BYTES: u64 = 1 << 44;
/// More ranges of a file are surely a mistake.
const MAX_RANGES: u64 = 10_000_000;

impl Download {
    /// Logs of connections may be about it.
    pub(crate) const OPENS_CONNECTIONS: bool = true;
    /// One process starts the servers and the downloading program.
    pub(crate) const ONE_PROCESS: bool = true;

    pub(crate) fn hosts(&self) -> Vec<u32> {
        self.servers().chain([self.to]).collect()
    }

    /// Every host that has the file, the one that is asked first before its mirrors.
    pub fn servers(&self) -> impl Iterator<Item = u32> + '_ {
        std::iter::once(self.from).chain(self.mirrors.iter().copied())
    }

    /// When it starts in a run with this seed, as number `index` of the plan's workloads.
    pub fn start(&self, seed: u64, index: u64) -> Span {
        let mut stream = RandomStream::new(seed, "download", index);
        self.start_ns + stream.between(Span::ZERO, self.spread_ns)
    }

    pub(crate) fn check(&self, plan: &Plan, path: &str) -> Result<(), Error> {
        ends(plan, self.from, self.to, path)?;
        for mirror in &self.mirrors {
            index(*mirror, plan.network.hosts.len(), format_args!("{path}.mirrors"))?;
        }
        TransportChoice::check(self.transport, plan, format_args!("{path}.transport"))?;
        let long = (1..=MAX_BYTES).contains(&self.size_bytes);
        let place = format!("{path}.size_bytes");
        require(long, &place, format_args!("must be between 1 and {MAX_BYTES}"))?;
        let some = (1..=MAX_CONNECTIONS).contains(&self.connections);
        let place = format!("{path}.connections");
        require(some, &place, format_args!("must be between 1 and {MAX_CONNECTIONS}"))?;
        let few = self
            .range_bytes
            .is_none_or(|range| range > 0 && self.size_bytes.div_ceil(range) <= MAX_RANGES);
        let place = format!("{path}.range_bytes");
        require(few, &place, format_args!("must cut the file into at most {MAX_RANGES} ranges"))?;
        let some = self.least_split_bytes.is_none_or(|least| least >= 2);
        require(some, format_args!("{path}.least_split_bytes"), "must be at least 2")?;
        let asks = (1..=1 << 20).contains(&self.request_bytes);
        let allowed = "must be between 1 and 1048576";
        require(asks, format_args!("{path}.request_bytes"), allowed)?;
        let answers = (1..=1 << 20).contains(&self.head_bytes);
        require(answers, format_args!("{path}.head_bytes"), allowed)?;
        let order = self.stop_ns.is_none_or(|stop| stop > self.start_ns);
        require(order, format_args!("{path}.stop_ns"), "must be after start_ns")
    }
}
