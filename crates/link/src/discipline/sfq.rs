use super::Context;
use super::flows::{Flows, Rounds};
use super::pool::{Held, List, Pool};
use crate::Cause;
use flashcrowd_base::{Span, Time};

flashcrowd_base::settings! {
    /// Stochastic fairness queueing (McKenney 1990), as Linux has it; the defaults are those of tc-sfq(8).
    ///
    /// Flows wait in queues of their own, chosen by a hash. Queues take turns; the longest loses a packet when there is
    /// no room.
    #[serde(default)]
    pub struct Sfq {
        /// The most packets in all queues, without the one in transmission.
        ///
        /// Linux refuses one packet.
        #[min(2)]
        #[file("key" = "limit")]
        pub limit_packets: u32,
        /// The most queues with packets. Packets of others are dropped.
        #[min(1)]
        #[max(65_408)]
        pub flows: u32,
        /// Values of the hash.
        #[min(1)]
        #[max(65_536)]
        pub divisor: u32,
        /// The most packets in one queue.
        #[min(1)]
        #[file("key" = "depth")]
        pub depth_packets: u32,
        /// The quantum of a queue.
        ///
        /// With less than 256 bytes, the least in Linux, a queue would need a thousand turns for a packet.
        #[min(256)]
        #[max(1 << 20)]
        pub quantum_bytes: u32,
        /// Time after which another hash is chosen, so that flows that share a queue part.
        #[min(Span::from_millis(1))]
        pub perturb_ns: Option<Span>,
        /// Whether the oldest packet of a queue is dropped, and not the newest.
        pub head_drop: bool,
    }
}

impl Default for Sfq {
    /// Linux: 127 packets, 128 queues, a hash of 1024, a packet of Ethernet a turn, one hash for ever.
    fn default() -> Sfq {
        Sfq {
            limit_packets: 127,
            flows: 128,
            divisor: 1024,
            depth_packets: 127,
            quantum_bytes: 1514,
            perturb_ns: None,
            head_drop: false,
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct FlowQueue {
    pub(super) list: List,
    packets: u32,
    /// What it may still send in this round (Linux: `allot`, in single bytes since 6.13, in eights
    /// before).
    allot: i64,
    /// Rises with each change of a length: of queues that are as long, the last to become so loses the packet.
    changed: u64,
}

/// The state of a queue under SFQ.
#[derive(Clone, Debug)]
pub(crate) struct SfqQueue {
    salt: u64,
    pub(super) flows: Flows<FlowQueue>,
    round: Rounds<1>,
    /// Queues with packets, all of which are in the round.
    active: u32,
    changes: u64,
    /// When the hash is changed, with a period.
    perturbed: Time,
}

impl SfqQueue {
    pub(crate) fn new(params: &Sfq, now: Time, salt: u64) -> SfqQueue {
        SfqQueue {
            salt,
            flows: Flows::new(params.divisor),
            round: Rounds::new(),
            active: 0,
            changes: 0,
            perturbed: now,
        }
    }

    pub(crate) fn offer(
        &mut self,
        params: &Sfq,
        pool: &mut Pool,
        packet: Held,
        context: &mut Context,
    ) {
        self.perturb(params, pool, context);
        let index = self.flows.of(packet.flow.connection ^ self.salt);
        let flow = &mut self.flows[index];
        if flow.packets == 0 && self.active >= params.flows {
            return context.drop(&packet, Cause::Full);
        }
        if flow.packets >= params.depth_packets {
            if params.head_drop
                && let Some(oldest) = pool.pop(&mut flow.list)
            {
                context.drop(&oldest, Cause::Full);
                pool.push(&mut flow.list, packet);
                return;
            }
            return context.drop(&packet, Cause::Full);
        }
        self.add(params, pool, index, packet);
        while pool.packets() > params.limit_packets {
            self.drop_from_longest(params, pool, context);
        }
    }

    /// Puts a packet into its queue, without a decision.
    pub(crate) fn push(&mut self, params: &Sfq, pool: &mut Pool, packet: Held) {
        let index = self.flows.of(packet.flow.connection ^ self.salt);
        self.add(params, pool, index, packet);
    }

    /// One that has been empty comes last in the round, with a whole quantum.
    fn add(&mut self, params: &Sfq, pool: &mut Pool, index: u32, packet: Held) {
        let flow = &mut self.flows[index];
        pool.push(&mut flow.list, packet);
        if flow.packets == 0 {
            flow.allot = i64::from(params.quantum_bytes);
            self.round.push(0, index);
            self.active += 1;
        }
        self.resize(index, 1);
    }

    /// Counts a packet that has come to a queue, or left it.
    fn resize(&mut self, index: u32, packets: i32) {
        self.changes += 1;
        let flow = &mut self.flows[index];
        flow.changed = self.changes;
        flow.packets = flow.packets.saturating_add_signed(packets);
        if flow.packets == 0 {
            self.round.remove(0, index);
            self.active -= 1;
        }
    }

    /// Of the queue with the most packets; if all have one, of that whose turn it is.
    fn drop_from_longest(&mut self, params: &Sfq, pool: &mut Pool, context: &mut Context) {
        let longest = self.flows.greatest(|flow| (flow.packets, flow.changed));
        let longest = longest.filter(|&index| self.flows[index].packets > 1);
        let Some(index) = longest.or_else(|| self.round.first(0)) else { return };
        let list = &mut self.flows[index].list;
        let packet = if params.head_drop { pool.pop(list) } else { pool.pop_last(list) };
        let Some(packet) = packet else { return };
        self.resize(index, -1);
        context.drop(&packet, Cause::Full);
    }

    pub(crate) fn take(
        &mut self,
        params: &Sfq,
        pool: &mut Pool,
        context: &mut Context,
    ) -> Option<Held> {
        self.perturb(params, pool, context);
        loop {
            let index = self.round.first(0)?;
            let flow = &mut self.flows[index];
            if flow.allot <= 0 {
                flow.allot += i64::from(params.quantum_bytes);
                self.round.remove(0, index);
                self.round.push(0, index);
                continue;
            }
            let packet = pool.pop(&mut flow.list)?;
            flow.allot -= i64::from(packet.bytes);
            self.resize(index, -1);
            return Some(packet);
        }
    }

    /// Chooses another hash when it is time, and puts what waits into its new queues, in the order in which it came. What
    /// has no room there is dropped, as in Linux.
    fn perturb(&mut self, params: &Sfq, pool: &mut Pool, context: &mut Context) {
        let Some(period) = params.perturb_ns else {
            self.perturbed = context.now;
            return;
        };
        let periods = context.now.since(self.perturbed).nanos() / period.nanos();
        if periods == 0 {
            return;
        }
        self.perturbed += period * periods;
        let mut packets = Vec::new();
        for list in self.flows.iter_mut().map(|flow| &mut flow.list) {
            packets.extend(std::iter::from_fn(|| pool.pop(list)));
        }
        packets.sort_by_key(|packet| packet.number);
        *self = SfqQueue {
            perturbed: self.perturbed,
            ..SfqQueue::new(params, context.now, context.stream.bits())
        };
        for packet in packets {
            let index = self.flows.of(packet.flow.connection ^ self.salt);
            if self.flows[index].packets >= params.depth_packets {
                context.drop(&packet, Cause::Full);
            } else {
                self.add(params, pool, index, packet);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Queue;
    use crate::discipline::testing::{Bottleneck, at};

    fn line(sfq: Sfq) -> Bottleneck {
        Bottleneck::with(Queue::Sfq(Box::new(sfq)))
    }

    /// tc-sfq(8), and `SFQ_MAX_DEPTH`, `SFQ_DEFAULT_FLOWS`, `SFQ_DEFAULT_HASH_DIVISOR` of Linux.
    #[test]
    fn the_defaults_are_those_of_linux() {
        let Sfq { limit_packets, flows, divisor, depth_packets, perturb_ns, .. } = Sfq::default();
        assert_eq!((limit_packets, depth_packets, flows, divisor), (127, 127, 128, 1024));
        assert_eq!(perturb_ns, None);
    }

    /// A flow that has just come waits for all whose turn is due, unlike in FQ-CoDel.
    #[test]
    fn queues_take_turns_and_a_newcomer_is_last() {
        let mut line = line(Sfq::default());
        for flow in [1, 2, 3].repeat(5) {
            line.offer(flow, 1514);
        }
        assert_eq!(line.order(4), [1, 2, 3, 1]);
        line.offer(4, 100);
        assert_eq!(line.order(4), [2, 3, 4, 1]);
    }

    /// A turn lasts while some of the quantum is left, and what was sent beyond it counts in the next.
    #[test]
    fn a_turn_is_a_quantum_of_bytes() {
        let mut line = line(Sfq { quantum_bytes: 1500, ..Sfq::default() });
        for _ in 0..10 {
            line.offer(1, 1000);
            line.offer(2, 300);
        }
        // 1: 1500 - 2000 is -500, then 1000 - 1000 is 0, then 1500 again. 2: five of 300.
        assert_eq!(line.order(18), [1, 1, 2, 2, 2, 2, 2, 1, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1]);
    }

    #[test]
    fn a_full_queue_drops_the_newest_of_the_longest() {
        for (head_drop, dropped) in [(false, 5), (true, 2)] {
            let mut line = line(Sfq { limit_packets: 6, head_drop, ..Sfq::default() });
            for flow in [1, 2, 2, 2, 2, 1, 3] {
                line.offer(flow, 1000);
            }
            assert_eq!((&line.dropped[..], line.waiting()), (&[dropped][..], 6));
        }
    }

    /// The newcomer itself, if its queue is the longest or has just become as long.
    #[test]
    fn of_two_that_are_as_long_the_last_to_become_so_loses() {
        let mut line = line(Sfq { limit_packets: 5, ..Sfq::default() });
        for flow in [1, 1, 1, 2, 2, 2] {
            line.offer(flow, 1000);
        }
        assert_eq!((line.refused, line.dropped.len(), line.waiting()), (1, 0, 5));
    }

    #[test]
    fn where_all_have_one_packet_the_next_in_turn_loses_it() {
        let mut line = line(Sfq { limit_packets: 3, ..Sfq::default() });
        for flow in 1..=4 {
            line.offer(flow, 1000);
        }
        assert_eq!(line.dropped, [1]);
        assert_eq!(line.order(3), [2, 3, 4]);
    }

    #[test]
    fn a_queue_and_their_number_are_bounded() {
        let mut line = line(Sfq { depth_packets: 3, flows: 2, ..Sfq::default() });
        for flow in [1, 1, 1, 1, 2, 3, 2] {
            line.offer(flow, 1000);
        }
        assert_eq!((line.refused, line.waiting()), (2, 5));
        // Once one has become empty, another has a place.
        assert_eq!(line.order(5), [1, 1, 2, 2, 1]);
        line.offer(3, 1000);
        assert_eq!((line.refused, line.waiting()), (2, 1));
    }

    #[test]
    fn a_full_queue_may_drop_its_oldest() {
        let mut line = line(Sfq { depth_packets: 3, head_drop: true, ..Sfq::default() });
        for _ in 0..5 {
            line.offer(1, 1000);
        }
        assert_eq!((&line.dropped[..], line.refused, line.waiting()), (&[1, 2][..], 0, 3));
    }

    /// Two flows that share a queue, and have half of what a third has, part within some periods.
    #[test]
    fn another_hash_parts_those_that_share_a_queue() {
        for (perturb, parts) in [(None, false), (Some(Span::from_millis(50)), true)] {
            let sfq = Sfq { divisor: 2, perturb_ns: perturb, ..Sfq::default() };
            let mut line = line(sfq);
            let mut shares = Vec::new();
            for _ in 0..40 {
                let mut sent = [0; 3];
                for _ in 0..50 {
                    while line.waiting() < 30 {
                        for flow in 1..=3 {
                            line.offer(flow, 1000);
                        }
                    }
                    sent[line.order(1)[0] as usize - 1] += 1;
                }
                shares.push(sent.iter().position(|&packets| packets > 20));
            }
            // With two queues for three flows, one flow is alone, or all are together.
            shares.dedup();
            assert_eq!(shares.len() > 5, parts, "{shares:?}");
        }
    }

    /// Waiting packets are not lost then, and keep the order of their flow.
    #[test]
    fn what_waits_moves_to_its_new_queues() {
        let mut line = line(Sfq { perturb_ns: Some(Span::from_millis(5)), ..Sfq::default() });
        for flow in [1, 2, 3, 4].repeat(25) {
            line.offer(flow, 1000);
        }
        let mut last = [0; 5];
        for sent in 1..=100 {
            let left = line.step().unwrap();
            let flow = line.flow_of(left.tag) as usize;
            assert!(left.tag > last[flow], "{left:?}");
            last[flow] = left.tag;
            assert_eq!((line.waiting(), line.now), (100 - sent, at(u64::from(sent - 1))));
        }
        assert!(line.dropped.is_empty());
    }
}
