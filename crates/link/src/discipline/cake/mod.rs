//! CAKE in its best-effort mode: a shaper, flows and hosts that share fairly, COBALT in each queue, and
//! a filter of acknowledgements (Høiland-Jørgensen, Täht, Morton: Piece of CAKE, 2018; `sch_cake` in
//! Linux). Packets carry no DSCP here, so there is one tin; nor is there its ingress mode or its
//! estimate of an ingress rate.

mod ack_filter;
mod cobalt;
mod hash;

use super::flows::{Flows, Rounds};
use super::pool::{Held, List, Pool};
use super::{Context, mix};
use crate::{Cause, Framing};
use cobalt::{Cobalt, CobaltParams};
use flashcrowd_base::{Rate, Span, Time};
use hash::Sets;
use serde::{Deserialize, Serialize};

pub use ack_filter::AckFilter;

flashcrowd_base::settings! {
    /// CAKE in its best-effort mode; the defaults are those of tc-cake(8).
    #[serde(default)]
    pub struct Cake {
        /// Rate of its shaper; "unlimited" for that of the link.
        #[file("none" = "unlimited")]
        pub bandwidth_bps: Option<Rate>,
        /// How its shaper accounts for the size of a packet on the wire; "link" for what it is on this link.
        #[file("none" = "link")]
        pub framing: Option<Framing>,
        /// CoDel's interval: a usual round-trip time. Its target is a twentieth of it.
        ///
        /// tc-cake(8) has 100 us ("datacentre") as its shortest.
        #[min(Span::from_micros(100))]
        #[max(Span::from_secs(600))]
        pub rtt_ns: Span,
        /// Flow isolation: between which flows and hosts the line is shared fairly.
        pub isolation: Isolation,
        /// Which acknowledgements are dropped when later ones wait behind them.
        pub ack_filter: AckFilter,
        /// The most bytes in all queues. "auto" is what the shaper sends in four intervals, at least 4 MiB; without a
        /// shaper, 10240 packets of `mtu`.
        ///
        /// Linux counts the memory that packets take, here they count as on the wire.
        #[at_least(mtu_bytes)]
        #[file("none" = "auto")]
        pub memory_limit_bytes: Option<u64>,
        /// Size of the longest packets.
        #[min(1)]
        pub mtu_bytes: u32,
    }
}

impl Default for Cake {
    /// tc-cake(8): unlimited, an interval of 100 ms, triple isolation, no filter.
    fn default() -> Cake {
        Cake {
            bandwidth_bps: None,
            framing: None,
            rtt_ns: Span::from_millis(100),
            isolation: Isolation::TripleIsolate,
            ack_filter: AckFilter::Off,
            memory_limit_bytes: None,
            mtu_bytes: 1514,
        }
    }
}

/// Flow isolation: between which flows and hosts CAKE shares the line (tc-cake(8)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// One queue for all.
    Flowblind,
    /// Sending hosts.
    Srchost,
    /// Receiving hosts.
    Dsthost,
    /// Pairs of hosts.
    Hosts,
    /// Flows.
    Flows,
    /// Sending hosts, and the flows of each.
    DualSrchost,
    /// Receiving hosts, and the flows of each.
    DualDsthost,
    /// Hosts on either side, and the flows of each.
    TripleIsolate,
}

impl Isolation {
    /// Whether each flow has a queue of its own.
    fn flows(self) -> bool {
        use Isolation::{DualDsthost, DualSrchost, Flows, TripleIsolate};
        matches!(self, Flows | DualSrchost | DualDsthost | TripleIsolate)
    }
    fn sources(self) -> bool {
        matches!(self, Isolation::DualSrchost | Isolation::TripleIsolate)
    }
    fn targets(self) -> bool {
        matches!(self, Isolation::DualDsthost | Isolation::TripleIsolate)
    }

    /// The key that distinguishes a packet's queue from others.
    fn key(self, packet: &Held) -> u64 {
        let flow = packet.flow;
        match self {
            _ if self.flows() => flow.connection,
            Isolation::Srchost => u64::from(flow.source),
            Isolation::Dsthost => u64::from(flow.target),
            Isolation::Hosts => u64::from(flow.source) << 32 | u64::from(flow.target),
            _ => 0,
        }
    }
}

impl Cake {
    fn cobalt_params(&self) -> CobaltParams {
        let target = self.rtt_ns / 20;
        let Some(rate) = self.bandwidth_bps else {
            return CobaltParams { target, interval: self.rtt_ns, mtu_time: Span::ZERO };
        };
        let mtu_time = rate.transmission(u64::from(self.mtu_bytes));
        let longer = target.max(mtu_time * 3 / 2);
        let interval = (self.rtt_ns + longer.saturating_sub(target)).max(longer * 2);
        CobaltParams { target: longer, interval, mtu_time }
    }

    /// The quantum of a queue: 1514 bytes, and less where that takes long.
    fn quantum(&self) -> i64 {
        let bytes = self.bandwidth_bps.map_or(u64::MAX, |rate| rate.bps() / 8);
        (bytes >> 12).clamp(300, 1514) as i64
    }

    fn memory_limit(&self) -> u64 {
        let packets = 10_240 * u64::from(self.mtu_bytes);
        self.memory_limit_bytes.unwrap_or_else(|| match self.bandwidth_bps {
            None => packets,
            Some(rate) => {
                let bytes = rate.bytes_per_second() * self.rtt_ns.seconds() * 4.0;
                (bytes as u64).max(4 << 20).min(packets)
            }
        })
    }
}

/// Where a flow stands. Flows that have something to send are sparse until their first deficit;
/// those whose COBALT still has a memory when they are empty are decaying.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Set {
    #[default]
    None,
    Sparse,
    /// Empty, and among the bulk flows for its deficit only.
    SparseWait,
    Bulk,
    Decaying,
}

#[derive(Clone, Debug, Default)]
struct FlowQueue {
    list: List,
    bytes: u64,
    /// In parts of a byte, since hosts divide their quantum among flows.
    deficit: i64,
    set: Set,
    /// Indices of its hosts.
    source: u32,
    target: u32,
    cobalt: Cobalt,
}

/// Parts of a byte in a deficit.
const PARTS: i64 = 1 << 16;

const NEW: usize = 0;
const OLD: usize = 1;
const DECAYING: usize = 2;

/// The state of a queue under CAKE.
#[derive(Clone, Debug)]
pub(crate) struct CakeQueue {
    isolation: Isolation,
    salt: u64,
    flows: Flows<FlowQueue>,
    rounds: Rounds<3>,
    queues: Sets,
    sources: Sets,
    targets: Sets,
    /// Flows of each host that are in bulk.
    source_load: Vec<u32>,
    target_load: Vec<u32>,
    shaper: Time,
}

impl CakeQueue {
    pub(crate) fn new(params: &Cake, salt: u64) -> CakeQueue {
        CakeQueue {
            isolation: params.isolation,
            salt,
            flows: Flows::new(hash::QUEUES),
            rounds: Rounds::new(),
            queues: Sets::default(),
            sources: Sets::default(),
            targets: Sets::default(),
            source_load: Vec::new(),
            target_load: Vec::new(),
            shaper: Time::START,
        }
    }

    /// Flow isolation in force.
    pub(crate) fn isolation(&self) -> Isolation {
        self.isolation
    }

    /// The shaper has sent something that takes until then.
    pub(crate) fn shape_from(&mut self, time: Time) {
        self.shaper = self.shaper.max(time);
    }

    /// When the shaper lets the next packet go.
    pub(crate) fn not_before(&self) -> Time {
        self.shaper
    }

    pub(crate) fn lists(&self) -> impl Iterator<Item = &List> {
        self.flows.iter().map(|flow| &flow.list)
    }

    fn classify(&mut self, isolation: Isolation, packet: &Held) -> u32 {
        let hash = |key: u64| (mix(key ^ self.salt) >> 32) as u32;
        let (of_flow, of_source, of_target) = (
            hash(isolation.key(packet)),
            hash(u64::from(packet.flow.source)),
            hash(u64::from(packet.flow.target)),
        );
        let flows = &self.flows;
        let busy = |queue| flows.seen(queue).is_some_and(|flow| flow.set != Set::None);
        let queue = self.queues.find(of_flow, busy);
        let index = self.flows.of_bucket(queue);
        let flow = &mut self.flows[index];
        // A queue keeps its hosts for as long as it has a place in a round.
        if flow.set == Set::None {
            let load =
                |loads: &Vec<u32>, host: u32| loads.get(host as usize).is_some_and(|&n| n > 0);
            if isolation.sources() {
                flow.source = self.sources.find(of_source, |host| load(&self.source_load, host));
            }
            if isolation.targets() {
                flow.target = self.targets.find(of_target, |host| load(&self.target_load, host));
            }
        }
        index
    }

    /// How many parts a queue's quantum is divided into: the flows in bulk of its busiest host.
    fn load(&self, isolation: Isolation, flow: u32) -> i64 {
        let flow = &self.flows[flow];
        let of = |loads: &Vec<u32>, host: u32| loads.get(host as usize).copied().unwrap_or(0);
        let source = if isolation.sources() { of(&self.source_load, flow.source) } else { 0 };
        let target = if isolation.targets() { of(&self.target_load, flow.target) } else { 0 };
        i64::from(source.max(target).max(1))
    }

    /// Moves a flow from one set to another, and counts those in bulk of each host.
    fn put(&mut self, index: u32, set: Set) {
        let flow = &mut self.flows[index];
        let (was, is) = (flow.set == Set::Bulk, set == Set::Bulk);
        flow.set = set;
        if was != is {
            let hosts =
                [(&mut self.source_load, flow.source), (&mut self.target_load, flow.target)];
            for (loads, host) in hosts {
                if loads.len() <= host as usize {
                    loads.resize(host as usize + 1, 0);
                }
                let load = &mut loads[host as usize];
                *load = if is { *load + 1 } else { *load - 1 };
            }
        }
    }

    pub(crate) fn offer(
        &mut self,
        params: &Cake,
        pool: &mut Pool,
        packet: Held,
        context: &mut Context,
    ) {
        if pool.packets() == 0 {
            self.shaper = self.shaper.max(context.now);
        }
        let index = self.enqueue(params, pool, packet);
        let flow = &mut self.flows[index];
        if let Some(ack) = params.ack_filter.superseded(pool, &mut flow.list) {
            flow.bytes -= u64::from(ack.bytes);
            context.drop(&ack, Cause::Superseded);
        }
        while pool.bytes() > params.memory_limit() {
            let Some(index) = self.flows.greatest(|flow| flow.bytes) else { break };
            let flow = &mut self.flows[index];
            let Some(packet) = pool.pop(&mut flow.list) else { break };
            flow.bytes -= u64::from(packet.bytes);
            flow.cobalt.queue_full(&params.cobalt_params(), context.now);
            context.drop(&packet, Cause::Full);
        }
    }

    /// Puts a packet into a queue, without a decision.
    pub(crate) fn push(&mut self, params: &Cake, pool: &mut Pool, packet: Held) {
        self.enqueue(params, pool, packet);
    }

    fn enqueue(&mut self, params: &Cake, pool: &mut Pool, packet: Held) -> u32 {
        let index = self.classify(params.isolation, &packet);
        let flow = &mut self.flows[index];
        pool.push(&mut flow.list, packet);
        flow.bytes += u64::from(packet.bytes);
        match flow.set {
            Set::None | Set::Decaying => {
                if flow.set == Set::Decaying {
                    self.rounds.remove(DECAYING, index);
                }
                self.rounds.push(NEW, index);
                self.put(index, Set::Sparse);
                let load = self.load(params.isolation, index);
                self.flows[index].deficit = params.quantum() * PARTS / load;
            }
            Set::SparseWait => self.put(index, Set::Bulk),
            Set::Sparse | Set::Bulk => {}
        }
        index
    }

    pub(crate) fn take(
        &mut self,
        params: &Cake,
        pool: &mut Pool,
        context: &mut Context,
    ) -> Option<Held> {
        let cobalt_params = params.cobalt_params();
        let now = context.now;
        // One of the flows that decay is looked at each time, so that all come to rest.
        let mut decaying = self.rounds.first(DECAYING).map(|index| (DECAYING, index));
        loop {
            let (list, index) = decaying
                .take()
                .or_else(|| self.rounds.first(NEW).map(|index| (NEW, index)))
                .or_else(|| self.rounds.first(OLD).map(|index| (OLD, index)))?;
            if self.flows[index].deficit <= 0 {
                if self.flows[index].set == Set::Sparse {
                    let empty = self.flows[index].list.is_empty();
                    self.put(index, if empty { Set::SparseWait } else { Set::Bulk });
                }
                let share = params.quantum() * PARTS / self.load(params.isolation, index);
                self.flows[index].deficit += share.max(1);
                self.rounds.remove(list, index);
                self.rounds.push(OLD, index);
                continue;
            }
            let flow = &mut self.flows[index];
            while let Some(mut packet) = pool.pop(&mut flow.list) {
                flow.bytes -= u64::from(packet.bytes);
                // The last packet of a queue is marked perhaps, but never dropped.
                if flow.cobalt.drops(&cobalt_params, &mut packet, context) && !flow.list.is_empty()
                {
                    context.drop(&packet, Cause::Early);
                    continue;
                }
                flow.deficit -= i64::from(packet.shaped_bytes) * PARTS;
                if let Some(rate) = params.bandwidth_bps {
                    self.shaper += rate.transmission(u64::from(packet.shaped_bytes));
                }
                return Some(packet);
            }
            flow.cobalt.queue_empty(&cobalt_params, now);
            let rests = flow.cobalt.rests(now);
            self.rounds.remove(list, index);
            if rests {
                self.put(index, Set::None);
            } else {
                self.rounds.push(DECAYING, index);
                self.put(index, Set::Decaying);
            }
        }
    }
}

#[cfg(test)]
mod tests;
