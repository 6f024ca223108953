use super::Context;
use super::codel::{CodelParams, CodelVars};
use super::flows::{Flows, Rounds};
use super::pool::{Held, List, Pool};
use crate::Cause;
use flashcrowd_base::Span;

flashcrowd_base::settings! {
    /// Flow queuing with CoDel (RFC 8290); the defaults are those of Linux.
    ///
    /// Flows wait in queues of their own, chosen by a hash, each under CoDel. Queues take turns (deficit round robin),
    /// and those that have just become busy come first.
    #[serde(default)]
    pub struct FqCoDel {
        /// The most packets in all queues, without the one in transmission.
        #[min(1)]
        #[file("key" = "limit")]
        pub limit_packets: u32,
        /// The most bytes in all queues.
        ///
        /// Linux counts the memory that packets take, here they count as on the wire.
        #[min(1)]
        pub memory_limit_bytes: u64,
        /// Queues among which a hash chooses.
        #[min(1)]
        #[max(65_536)]
        pub flows: u32,
        /// The quantum of a queue.
        ///
        /// With less than 256 bytes, the least in Linux, a queue would need a thousand turns for a packet.
        #[min(256)]
        #[max(1 << 20)]
        pub quantum_bytes: u32,
        /// The most packets that are dropped at once when there is no room: half of the longest queue, up to this.
        #[min(1)]
        pub drop_batch: u32,
        /// As for `codel`.
        #[min(Span::from_nanos(1))]
        pub target_ns: Span,
        /// As for `codel`.
        #[min(Span::from_nanos(1))]
        pub interval_ns: Span,
        /// As for `codel`; of all queues together, as in Linux.
        #[min(1)]
        pub mtu_bytes: u32,
        /// As for `codel`.
        pub ecn: bool,
        /// As for `codel`.
        #[min(Span::from_nanos(1))]
        pub ce_threshold_ns: Option<Span>,
    }
}

impl Default for FqCoDel {
    /// Linux, and RFC 8290 5.2: 10240 packets, 32 MiB, 1024 queues, 1514 bytes a turn, ECN.
    fn default() -> FqCoDel {
        FqCoDel {
            limit_packets: 10_240,
            memory_limit_bytes: 32 << 20,
            flows: 1024,
            quantum_bytes: 1514,
            drop_batch: 64,
            target_ns: Span::from_millis(5),
            interval_ns: Span::from_millis(100),
            mtu_bytes: 1514,
            ecn: true,
            ce_threshold_ns: None,
        }
    }
}

impl FqCoDel {
    fn codel_params(&self) -> CodelParams {
        CodelParams {
            target: self.target_ns,
            interval: self.interval_ns,
            mtu: self.mtu_bytes,
            ecn: self.ecn,
            ce_threshold: self.ce_threshold_ns,
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct FlowQueue {
    pub(super) list: List,
    bytes: u64,
    /// The deficit: what it may still send in this round.
    deficit: i64,
    /// Whether it is in a round.
    active: bool,
    vars: CodelVars,
}

const NEW: usize = 0;
const OLD: usize = 1;

/// The state of a queue under FQ-CoDel.
#[derive(Clone, Debug)]
pub(crate) struct FqCoDelQueue {
    salt: u64,
    pub(super) flows: Flows<FlowQueue>,
    rounds: Rounds<2>,
}

impl FqCoDelQueue {
    pub(crate) fn new(params: &FqCoDel, salt: u64) -> FqCoDelQueue {
        FqCoDelQueue { salt, flows: Flows::new(params.flows), rounds: Rounds::new() }
    }

    /// RFC 8290 4.1.
    pub(crate) fn offer(
        &mut self,
        params: &FqCoDel,
        pool: &mut Pool,
        packet: Held,
        context: &mut Context,
    ) {
        self.push(params, pool, packet);
        while pool.packets() > params.limit_packets || pool.bytes() > params.memory_limit_bytes {
            self.drop_from_fattest(params, pool, context);
        }
    }

    pub(crate) fn push(&mut self, params: &FqCoDel, pool: &mut Pool, packet: Held) {
        let index = self.flows.of(packet.flow.connection ^ self.salt);
        let flow = &mut self.flows[index];
        pool.push(&mut flow.list, packet);
        flow.bytes += u64::from(packet.bytes);
        if !flow.active {
            flow.active = true;
            flow.deficit = i64::from(params.quantum_bytes);
            self.rounds.push(NEW, index);
        }
    }

    /// Drops half of the queue with the most bytes from its head, or as much of it as one batch
    /// takes.
    fn drop_from_fattest(&mut self, params: &FqCoDel, pool: &mut Pool, context: &mut Context) {
        let Some(index) = self.flows.greatest(|flow| flow.bytes) else { return };
        let flow = &mut self.flows[index];
        let half = flow.bytes / 2;
        let (mut packets, mut bytes) = (0, 0);
        while packets < params.drop_batch && (packets == 0 || bytes < half) {
            let Some(packet) = pool.pop(&mut flow.list) else { break };
            packets += 1;
            bytes += u64::from(packet.bytes);
            context.drop(&packet, Cause::Full);
        }
        flow.bytes -= bytes;
        // CoDel is to drop more often, too.
        flow.vars.count = flow.vars.count.saturating_add(packets);
    }

    /// RFC 8290 4.2.
    pub(crate) fn take(
        &mut self,
        params: &FqCoDel,
        pool: &mut Pool,
        context: &mut Context,
    ) -> Option<Held> {
        let codel_params = params.codel_params();
        loop {
            let (list, index) = match (self.rounds.first(NEW), self.rounds.first(OLD)) {
                (Some(index), _) => (NEW, index),
                (None, Some(index)) => (OLD, index),
                (None, None) => return None,
            };
            let flow = &mut self.flows[index];
            if flow.deficit <= 0 {
                flow.deficit += i64::from(params.quantum_bytes);
                self.rounds.remove(list, index);
                self.rounds.push(OLD, index);
                continue;
            }
            let (waiting, bytes) = (&mut flow.list, &mut flow.bytes);
            let packet = flow.vars.take(&codel_params, context, || {
                let packet = pool.pop(waiting)?;
                *bytes -= u64::from(packet.bytes);
                Some((packet, pool.bytes()))
            });
            if let Some(packet) = packet {
                flow.deficit -= i64::from(packet.bytes);
                return Some(packet);
            }
            self.rounds.remove(list, index);
            // A queue that was new goes through the old ones once, or it could starve them by being
            // new again and again.
            if list == NEW && self.rounds.first(OLD).is_some() {
                self.rounds.push(OLD, index);
            } else {
                flow.active = false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Queue;
    use crate::discipline::testing::Bottleneck;

    fn line(fq: FqCoDel) -> Bottleneck {
        Bottleneck::with(Queue::FqCoDel(Box::new(fq)))
    }

    /// A flow that sends a packet now and then passes those that keep the line busy.
    /// By packets and by bytes: as many as the limit may wait, and the longest flow loses the others.
    #[test]
    fn a_full_queue_drops_from_the_fattest_flow() {
        let packets = FqCoDel { limit_packets: 10, ..FqCoDel::default() };
        let bytes = FqCoDel { memory_limit_bytes: 10_000, ..FqCoDel::default() };
        for fq in [packets, bytes] {
            let mut line = line(fq);
            for flow in [1, 1, 1, 1, 2, 2, 2, 2, 2, 2] {
                line.offer(flow, 1000);
            }
            assert_eq!((line.waiting(), line.dropped.len()), (10, 0));
            line.offer(1, 1000);
            assert_eq!(line.waiting() as usize + line.dropped.len(), 11);
            assert!(line.dropped.iter().all(|&tag| line.flow_of(tag) == 2));
            assert!(!line.dropped.is_empty());
        }
    }

    #[test]
    fn a_sparse_flow_comes_first() {
        let mut line = line(FqCoDel::default());
        for _ in 0..10 {
            line.offer(1, 1514);
            line.offer(2, 1514);
        }
        assert_eq!(line.order(6), [1, 2, 1, 2, 1, 2]);
        line.offer(3, 100);
        assert_eq!(line.order(3), [3, 1, 2]);
    }

    /// But by being new again and again it gains no more than its share: RFC 8290 4.2.
    #[test]
    fn a_flow_that_keeps_coming_back_starves_nobody() {
        let mut line = line(FqCoDel::default());
        for flow in [1, 2].repeat(10) {
            line.offer(flow, 700);
        }
        let (mut bytes, mut comes) = ([0; 4], true);
        for _ in 0..1000 {
            let flow = line.order(1)[0];
            bytes[flow as usize] += if flow == 3 { 1400 } else { 700 };
            match flow {
                3 => comes = true,
                other => _ = line.offer(other, 700),
            }
            if flow != 3 && std::mem::take(&mut comes) {
                line.offer(3, 1400);
            }
        }
        assert!(bytes[3] * 5 < bytes.iter().sum::<i32>() * 2, "{bytes:?}");
    }

    /// Deficit round robin: equal bytes, not equal packets.
    #[test]
    fn flows_share_by_bytes() {
        let mut line = line(FqCoDel::default());
        for _ in 0..200 {
            line.offer(1, 1500);
            line.offer(2, 300);
            line.offer(2, 300);
            line.offer(2, 300);
        }
        let order = line.order(300);
        let of_first = order.iter().filter(|&&flow| flow == 1).count() as i64 * 1500;
        let of_second = order.iter().filter(|&&flow| flow == 2).count() as i64 * 300;
        assert!((of_first - of_second).abs() <= 2 * 1514, "{of_first} and {of_second}");
    }

    #[test]
    fn a_full_queue_drops_half_of_the_fattest_flow_from_its_head() {
        let mut line = line(FqCoDel { limit_packets: 40, ..FqCoDel::default() });
        line.offer(1, 500);
        for _ in 0..10 {
            line.offer(2, 500);
        }
        for _ in 0..30 {
            line.offer(1, 1000);
        }
        // 41 are too many. Of the first flow's 30,500 bytes 16 packets are half or more.
        let expected: Vec<u32> = std::iter::once(1).chain(12..=26).collect();
        assert_eq!(line.dropped, expected);
        assert_eq!((line.waiting(), line.refused), (25, 0));
        assert_eq!((line.link.counters().dropped, line.link.counters().dropped_early), (16, 0));
    }

    #[test]
    fn a_batch_bounds_the_drops_and_bytes_bound_the_queue() {
        let mut line =
            line(FqCoDel { memory_limit_bytes: 400_000, drop_batch: 8, ..FqCoDel::default() });
        for _ in 0..401 {
            line.offer(1, 1000);
        }
        assert_eq!((line.dropped.len(), line.waiting()), (8, 393));
    }

    /// Half of a queue's bytes is enough, and no more is dropped: the sixteenth packet is too many.
    /// Eight thousands of 16,000 bytes are half; with 998 or 200 bytes in front eight packets are a
    /// byte or 400 less than half.
    #[test]
    fn a_drop_stops_at_half_of_the_bytes() {
        for (first, dropped) in [(1000, 8), (998, 9), (200, 9)] {
            let mut line = line(FqCoDel { memory_limit_bytes: 15_000, ..FqCoDel::default() });
            line.offer(1, first);
            for _ in 0..15 {
                assert!(line.dropped.is_empty(), "{:?}", line.dropped);
                line.offer(1, 1000);
            }
            assert_eq!(line.dropped.len(), dropped, "{first}");
        }
    }

    #[test]
    fn each_flow_has_a_codel_of_its_own() {
        let mut line = line(FqCoDel { ecn: false, ..FqCoDel::default() });
        for round in 0..1000 {
            line.step();
            while line.waiting() < 40 {
                line.offer(1, 1000);
            }
            if round % 10 == 0 {
                line.offer(2, 100);
            }
        }
        assert!(line.dropped.len() > 20, "{}", line.dropped.len());
        assert!(line.dropped.iter().all(|&tag| line.flow_of(tag) == 1));
    }
}
