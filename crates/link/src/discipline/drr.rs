use super::Context;
use super::flows::{Flows, Rounds};
use super::pool::{Held, List, Pool};
use crate::Cause;

flashcrowd_base::settings! {
    /// Deficit round robin (Shreedhar and Varghese 1995).
    ///
    /// Flows wait in queues of their own, chosen by a hash. A queue sends up to its quantum in its turn, and keeps for the
    /// next what its first packet was too long for.
    #[serde(default)]
    pub struct Drr {
        /// The most packets in all queues, without the one in transmission. When there is no room, the queue with the most
        /// bytes loses its newest.
        #[min(1)]
        #[file("key" = "limit")]
        pub limit_packets: u32,
        /// Queues among which a hash chooses.
        #[min(1)]
        #[max(65_536)]
        pub flows: u32,
        /// The quantum of a queue (RFC 8290, DRR).
        ///
        /// With less than 256 bytes a queue would need many turns for a packet.
        #[min(256)]
        #[max(1 << 20)]
        pub quantum_bytes: u32,
    }
}

impl Default for Drr {
    /// A packet of Ethernet a turn, as in Linux; 1000 packets and as many queues as FQ-CoDel has.
    fn default() -> Drr {
        Drr { limit_packets: 1000, flows: 1024, quantum_bytes: 1514 }
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct FlowQueue {
    pub(super) list: List,
    bytes: u64,
    /// The deficit: what it may still send in this round, with the rest of earlier ones.
    deficit: u64,
}

/// The state of a queue under DRR.
#[derive(Clone, Debug)]
pub(crate) struct DrrQueue {
    salt: u64,
    pub(super) flows: Flows<FlowQueue>,
    /// The paper's active list: all queues with packets.
    round: Rounds<1>,
    /// Whether the first of the round has got its quantum.
    begun: bool,
}

impl DrrQueue {
    pub(crate) fn new(params: &Drr, salt: u64) -> DrrQueue {
        DrrQueue { salt, flows: Flows::new(params.flows), round: Rounds::new(), begun: false }
    }

    /// The paper's enqueueing module, with McKenney's buffer stealing.
    pub(crate) fn offer(
        &mut self,
        params: &Drr,
        pool: &mut Pool,
        packet: Held,
        context: &mut Context,
    ) {
        self.push(pool, packet);
        while pool.packets() > params.limit_packets {
            let Some(index) = self.flows.greatest(|flow| flow.bytes) else { break };
            let flow = &mut self.flows[index];
            let Some(packet) = pool.pop_last(&mut flow.list) else { break };
            self.count_out(index, &packet);
            context.drop(&packet, Cause::Full);
        }
    }

    /// Puts a packet into its queue, without a decision.
    pub(crate) fn push(&mut self, pool: &mut Pool, packet: Held) {
        let index = self.flows.of(packet.flow.connection ^ self.salt);
        let flow = &mut self.flows[index];
        if flow.list.is_empty() {
            self.round.push(0, index);
        }
        pool.push(&mut flow.list, packet);
        flow.bytes += u64::from(packet.bytes);
    }

    /// A packet has left its queue. One that is empty keeps no deficit, and leaves the round.
    fn count_out(&mut self, index: u32, packet: &Held) {
        let flow = &mut self.flows[index];
        flow.bytes -= u64::from(packet.bytes);
        if flow.list.is_empty() {
            flow.deficit = 0;
            self.begun &= self.round.first(0) != Some(index);
            self.round.remove(0, index);
        }
    }

    /// The paper's dequeueing module.
    pub(crate) fn take(&mut self, params: &Drr, pool: &mut Pool) -> Option<Held> {
        loop {
            let index = self.round.first(0)?;
            let flow = &mut self.flows[index];
            if !self.begun {
                self.begun = true;
                flow.deficit += u64::from(params.quantum_bytes);
            }
            let bytes = u64::from(pool.first(&flow.list)?.bytes);
            if bytes <= flow.deficit {
                flow.deficit -= bytes;
                let packet = pool.pop(&mut flow.list)?;
                self.count_out(index, &packet);
                return Some(packet);
            }
            self.begun = false;
            self.round.remove(0, index);
            self.round.push(0, index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Queue;
    use crate::discipline::testing::Bottleneck;
    use proptest::prelude::*;

    fn line(drr: Drr) -> Bottleneck {
        Bottleneck::with(Queue::Drr(Box::new(drr)))
    }

    /// The paper's figures 2 and 3: a quantum of 500, of which the first queue keeps 300 for its packet of 750.
    #[test]
    fn a_queue_keeps_what_its_first_packet_is_too_long_for() {
        let mut line = line(Drr { quantum_bytes: 500, ..Drr::default() });
        let queues = [&[200, 750, 20][..], &[500, 500], &[100, 600, 200], &[180, 700, 50]];
        let mut bytes = vec![0];
        for (flow, packets) in (1..).zip(queues) {
            for &size in packets {
                line.offer(flow, size);
                bytes.push(size);
            }
        }
        // 1: 800 and 50 left after 750, which 20 fits. 3: 900 for 600 and 200. 4: 820 for 700 and 50.
        let sent: Vec<u32> =
            std::iter::from_fn(|| line.step()).map(|left| bytes[left.tag as usize]).collect();
        assert_eq!(sent, [200, 500, 100, 180, 750, 20, 500, 600, 200, 700, 50]);
    }

    /// A queue that has become empty begins with nothing: what it did not use is not saved up.
    #[test]
    fn an_empty_queue_keeps_no_deficit() {
        let mut line = line(Drr { quantum_bytes: 1000, ..Drr::default() });
        line.offer(1, 100);
        assert_eq!(line.order(1), [1]);
        for _ in 0..4 {
            line.offer(1, 800);
            line.offer(2, 800);
        }
        assert_eq!(line.order(6), [1, 2, 1, 2, 1, 2]);
    }

    #[test]
    fn a_full_queue_drops_the_newest_of_the_queue_with_the_most_bytes() {
        let mut line = line(Drr { limit_packets: 6, ..Drr::default() });
        for (flow, bytes) in [(1, 1000), (1, 1000), (2, 300), (2, 300), (2, 300), (2, 300)] {
            line.offer(flow, bytes);
        }
        line.offer(3, 100);
        assert_eq!((&line.dropped[..], line.waiting()), (&[2][..], 6));
        // The newcomer itself, if it makes its queue the longest.
        line.offer(2, 300);
        assert_eq!((line.refused, line.waiting()), (1, 6));
    }

    /// The queue whose turn it is may lose its only packet: the next one begins with a quantum, not with two.
    #[test]
    fn a_turn_ends_with_the_packet_that_is_lost() {
        let mut line = line(Drr { limit_packets: 3, quantum_bytes: 1000, ..Drr::default() });
        line.offer(1, 400);
        line.offer(1, 900);
        line.offer(2, 800);
        assert_eq!(line.order(1), [1]);
        line.offer(2, 20);
        line.offer(2, 20);
        assert_eq!((&line.dropped[..], line.waiting()), (&[2][..], 3));
        assert_eq!(line.order(3), [2, 2, 2]);
    }

    proptest! {
        /// The paper's theorem 1: what two queues that never run dry have sent differs by less than a quantum and two packets
        /// of the longest.
        #[test]
        fn queues_that_never_run_dry_get_equal_bytes(
            quantum in 1500u32..4000,
            sizes in prop::collection::vec((40u32..=1500, 40u32..=1500, 40u32..=1500), 50..200),
        ) {
            let mut line = line(Drr { quantum_bytes: quantum, ..Drr::default() });
            let mut bytes = vec![0];
            for (first, second, third) in &sizes {
                for (flow, size) in [(1, first), (2, second), (3, third)] {
                    line.offer(flow, *size);
                    bytes.push(i64::from(*size));
                }
            }
            let (mut sent, mut left) = ([0i64; 3], [sizes.len(); 3]);
            while let Some(departure) = line.step() {
                let flow = line.flow_of(departure.tag) as usize - 1;
                sent[flow] += bytes[departure.tag as usize];
                left[flow] -= 1;
                if left.contains(&0) {
                    break;
                }
                let (most, least) = (sent.iter().max(), sent.iter().min());
                let apart = most.unwrap() - least.unwrap();
                prop_assert!(apart < i64::from(quantum) + 2 * 1500, "{sent:?}");
            }
        }
    }
}
