use super::Context;
use super::pool::{Held, List, Pool};
use super::red::RedQueue;
use crate::{Cause, Red};
use flashcrowd_base::{Probability, Refusal};

flashcrowd_base::settings! {
    /// CHOKe: choose and keep for responsive flows, choose and kill for unresponsive flows (Pan, Prabhakar, Psounis 2000).
    ///
    /// RED that first compares a new packet with one drawn from the queue. If both are of one flow, both are dropped.
    #[serde(default)]
    pub struct Choke {
        /// As for `red`.
        #[min(1)]
        #[file("key" = "limit")]
        pub limit_packets: u32,
        /// As for `red`; up to this average length nothing is compared.
        #[min(0.0)]
        #[max(1e6)]
        #[file("key" = "min")]
        pub min_packets: f64,
        /// The average length from which on all new packets are dropped.
        #[min(0.0)]
        #[max(1e6)]
        #[file("key" = "max")]
        pub max_packets: f64,
        /// As for `red`.
        #[above(0.0)]
        #[max(1.0)]
        pub weight: f64,
        /// The probability just below `max`.
        pub max_probability: Probability,
        /// As for `red`.
        #[min(1)]
        pub mean_packet_bytes: u32,
        /// As for `red`. Packets that are dropped for their flow are not marked.
        pub ecn: bool,
    }
}

impl Default for Choke {
    /// RED's thresholds, weight and limit; 2 % as in tc-choke(8).
    fn default() -> Choke {
        let Red { limit_packets, min_packets, max_packets, weight, mean_packet_bytes, ecn, .. } =
            Red::default();
        let max_probability = Probability::new(0.02).unwrap_or_default();
        Choke {
            limit_packets,
            min_packets,
            max_packets,
            weight,
            max_probability,
            mean_packet_bytes,
            ecn,
        }
    }
}

impl Choke {
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        self.red().check()
    }

    /// RED as it was before Floyd's gentle one, which neither the paper nor Linux has here.
    fn red(&self) -> Red {
        Red {
            limit_packets: self.limit_packets,
            min_packets: self.min_packets,
            max_packets: self.max_packets,
            weight: self.weight,
            max_probability: self.max_probability,
            gentle: false,
            mean_packet_bytes: self.mean_packet_bytes,
            ecn: self.ecn,
        }
    }
}

/// The state of a queue under CHOKe.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChokeQueue {
    red: RedQueue,
}

impl ChokeQueue {
    /// Figure 1 of the paper.
    pub(crate) fn offer(
        &mut self,
        params: &Choke,
        pool: &mut Pool,
        packet: Held,
        context: &mut Context,
    ) {
        let red = params.red();
        self.red.meet(&red, pool, context);
        let waiting = pool.packets() as usize;
        if self.red.average() > params.min_packets && waiting > 0 {
            let drawn = context.stream.below(waiting);
            let drawn = pool.iter(self.red.list()).nth(drawn).copied();
            let twin = drawn.filter(|drawn| drawn.flow.connection == packet.flow.connection);
            if let Some(twin) = twin {
                if let Some(twin) = self.red.remove(pool, twin.number) {
                    context.drop(&twin, Cause::Early);
                }
                return context.drop(&packet, Cause::Early);
            }
        }
        self.red.decide(&red, pool, packet, context);
    }

    pub(crate) fn list(&self) -> &List {
        self.red.list()
    }

    pub(crate) fn push(&mut self, pool: &mut Pool, packet: Held) {
        self.red.push(pool, packet);
    }

    pub(crate) fn take(&mut self, pool: &mut Pool) -> Option<Held> {
        self.red.take(pool)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Queue;
    use crate::discipline::testing::Bottleneck;

    /// The average is the length, and RED itself drops nothing.
    fn bare() -> Choke {
        Choke {
            weight: 1.0,
            min_packets: 4.0,
            max_packets: 900.0,
            max_probability: Probability::ZERO,
            ..Choke::default()
        }
    }

    fn line(choke: Choke) -> Bottleneck {
        Bottleneck::with(Queue::Choke(Box::new(choke)))
    }

    #[test]
    fn a_packet_that_meets_its_own_flow_is_dropped_with_it() {
        let mut line = line(bare());
        for _ in 0..5 {
            line.offer(1, 1000);
        }
        assert_eq!(line.waiting(), 5, "up to the minimum nothing is compared");
        line.offer(1, 1000);
        assert_eq!((line.refused, line.dropped.len(), line.waiting()), (1, 1, 4));
        let counters = line.link.counters();
        assert_eq!((counters.dropped_early, counters.dropped), (2, 0));
        line.offer(1, 1000);
        line.offer(2, 1000);
        assert_eq!(line.waiting(), 6, "another flow meets none of its own");
    }

    /// Any packet of the queue may be drawn, the first and the last too, all equally often.
    #[test]
    fn each_packet_of_the_queue_is_drawn_equally_often() {
        let mut met = [0u32; 5];
        for first in 0..5u32 {
            let mut line = line(bare());
            for round in 0..4000u64 {
                let own = 1_000_000 + round;
                // Five packets, of which one is of the flow that comes then.
                for place in 0..5 {
                    line.offer(
                        if place == first { own } else { 10 * round + u64::from(place) },
                        1000,
                    );
                }
                let before = line.dropped.len();
                line.offer(own, 1000);
                met[first as usize] += (line.dropped.len() - before) as u32;
                while line.step().is_some() {}
            }
        }
        // A fifth of 4000; standard deviation 25.
        assert!(met.iter().all(|n| (700..900).contains(n)), "{met:?}");
    }

    #[test]
    fn without_a_meeting_it_is_red() {
        let choke = Choke { weight: 0.02, ..Choke::default() };
        let red = Red { gentle: false, ..choke.red() };
        let counters = |queue: Queue| {
            let mut line = Bottleneck::with(queue);
            for flow in 0..20_000 {
                line.offer(flow, 1000);
                if flow % 12 == 0 {
                    line.offer(20_000 + flow, 1000);
                }
                line.step();
            }
            line.link.counters()
        };
        // Both draw from the same stream, so drops are as many and not the same ones.
        let (choke, red) = (counters(choke.into()), counters(red.into()));
        assert!(red.dropped_early > 1000, "{red:?}");
        let apart = choke.dropped_early.abs_diff(red.dropped_early);
        assert!(apart * 50 < red.dropped_early, "{choke:?} and {red:?}");
    }

    /// From `max` on all are dropped, with or without a meeting, and none are marked.
    #[test]
    fn above_the_maximum_nothing_comes_in() {
        let mut line = line(Choke { max_packets: 8.0, ecn: true, ..bare() });
        line.ecn = crate::Ecn::Ect0;
        for flow in 0..20 {
            line.offer(flow, 1000);
        }
        assert_eq!((line.waiting(), line.refused), (8, 12));
        assert_eq!(line.link.counters().marked, 0);
    }

    /// The paper's point, and its bound by Tang, Wang and Low (2004): however fast a flow that answers no drop sends, it gets
    /// no more than 1 / (1 + e) of the line, 26.9 %. RED gives it nearly everything.
    #[test]
    fn a_flood_gets_no_more_than_its_bound() {
        let share = |queue: Queue, flood: u32| {
            let mut line = Bottleneck::with(queue);
            let (mut of_flood, mut sent) = (0u32, 0u32);
            // 64 other flows keep the queue at its length: each new packet replaces one that was sent or dropped.
            let mut next = 0u64;
            for round in 0..60_000u32 {
                for _ in 0..flood {
                    line.offer(1_000, 1000);
                }
                let mut tries = 0;
                while line.waiting() < 100 && tries < 20 {
                    next = (next + 29) % 64;
                    line.offer(next, 1000);
                    tries += 1;
                }
                let flow = line.order(1).first().copied();
                if round > 10_000 {
                    sent += 1;
                    of_flood += u32::from(flow == Some(1_000));
                }
            }
            f64::from(of_flood) / f64::from(sent)
        };
        let choke =
            Choke { min_packets: 20.0, max_packets: 200.0, limit_packets: 300, ..Choke::default() };
        let shares = [1, 2, 4, 8].map(|flood| share(choke.clone().into(), flood));
        assert!(
            shares.iter().all(|&share| share < 1.0 / (1.0 + std::f64::consts::E) + 0.01),
            "{shares:?}"
        );
        // The bound is reached, by a flood that is about as fast as the line.
        assert!(shares[0] > 0.24, "{shares:?}");
        let red = share(Red { gentle: false, ..choke.red() }.into(), 4);
        assert!(red > 0.6, "{red}");
    }
}
