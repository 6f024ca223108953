use crate::check::{ends, require};
use crate::load::{Load, PACKET_BYTES, ROW_BYTES};
use crate::outlook::{ENDLESS_BPS, Outlook, WRITE_BYTES, Way, mean};
use crate::{Error, Plan, TransportChoice, What};
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
    /// The program that plays its flows over uTP on an engine that runs programs. The simulation plays
    /// their transport, and has no use for the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
}

/// Flows of one transfer: more is surely a mistake, and each takes a kilobyte before it starts.
const MAX_FLOWS: u32 = 1_000_000;

/// What is kept of a flow besides its connection; most of it is the distribution of its round trips
/// over three powers of two, 512 bytes each.
const FLOW_BYTES: f64 = 2000.0;

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

    /// A limited application sends what it produces, any other what the network takes.
    pub(crate) fn share(&self, outlook: &mut Outlook<'_>) {
        let flows = f64::from(self.flows);
        match self.rate_bps {
            Some(rate) => outlook.reserve(self.from, self.to, rate.bps() as f64 * flows),
            None => outlook.add_greedy(self.from, self.to, flows),
        }
    }

    /// When the last flow has sent its bytes, or is stopped.
    pub(crate) fn end_s(&self, index: usize, outlook: &Outlook<'_>) -> Option<f64> {
        if self.flows == 0 || (self.size_bytes.is_none() && self.stop_ns.is_none()) {
            return None;
        }
        let stop_s = outlook.stop_s(index, self.stop_ns);
        let start_s = self.start_ns.seconds() + self.spread_ns.seconds();
        let size = self.size_bytes.map_or(f64::INFINITY, |bytes| bytes as f64);
        Some(stop_s.min(start_s + self.outlook(index, outlook).fetch_s(size)))
    }

    /// The bytes of each flow: its size, or what its rate brings until it stops.
    pub(crate) fn load(&self, index: usize, outlook: &Outlook<'_>, end_s: f64) -> Load {
        let way = self.outlook(index, outlook);
        let flows = f64::from(self.flows);
        let start_s = self.start_ns.seconds() + self.spread_ns.seconds() / 2.0;
        let max_s = (end_s.min(outlook.stop_s(index, self.stop_ns)) - start_s).max(0.0);
        let size = self.size_bytes.map_or(f64::INFINITY, |bytes| bytes as f64);
        let bytes = size.min(way.bps / 8.0 * max_s);
        let seconds = max_s.min(way.fetch_s(bytes));
        let mut load = way.stream(bytes * flows, seconds, flows).load();
        load.add(way.opening().times(flows));
        if let Some(limit) = way.limit_bps {
            load.events += limit / 8.0 / WRITE_BYTES * seconds * flows;
        }
        if let Some(until) = outlook.plan.measures.packets_ns {
            let share = ((until.seconds() - start_s) / max_s.max(1e-9)).clamp(0.0, 1.0);
            load.bytes += load.packets * share * ROW_BYTES;
        }
        load.connections = flows;
        load.bytes += flows * (FLOW_BYTES + way.in_flight() * PACKET_BYTES);
        load.add_routes(way.forth.own, 2.0);
        load
    }

    fn outlook(&self, index: usize, outlook: &Outlook<'_>) -> Way {
        let limit = |rate: Option<Rate>| rate.map_or(ENDLESS_BPS, |rate| rate.bps() as f64);
        let changes = outlook.plan.timeline.iter().filter_map(|change| match change.what {
            What::TransferRate { workload, rate_bps } if workload as usize == index => {
                Some((change.at_ns, limit(rate_bps)))
            }
            _ => None,
        });
        let limited = self
            .rate_bps
            .is_some()
            .then(|| mean(limit(self.rate_bps), changes, outlook.horizon_s).min(ENDLESS_BPS));
        let limited = limited.map(|bps| (bps, f64::from(self.flows)));
        Way::new(outlook, self.transport, self.from, self.to, limited)
    }
}
