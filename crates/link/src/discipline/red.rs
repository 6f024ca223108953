use super::Context;
use super::pool::{Held, List, Pool};
use crate::Cause;
use flashcrowd_base::{Probability, Refusal, Span};

flashcrowd_base::settings! {
    /// Random early detection (Floyd and Jacobson 1993), gentle by default.
    ///
    /// New packets are dropped, or marked, with a probability that rises with the average length of the queue.
    #[serde(default)]
    pub struct Red {
        /// The most packets, without the one in transmission.
        #[min(1)]
        #[file("key" = "limit")]
        pub limit_packets: u32,
        /// The average length, in packets, up to which nothing is dropped.
        #[min(0.0)]
        #[max(1e6)]
        #[file("key" = "min")]
        pub min_packets: f64,
        /// The average length at which `max_probability` is reached.
        #[min(0.0)]
        #[max(1e6)]
        #[file("key" = "max")]
        pub max_packets: f64,
        /// Weight in the average of the length that a new packet finds.
        #[above(0.0)]
        #[max(1.0)]
        pub weight: f64,
        /// The probability at `max`.
        pub max_probability: Probability,
        /// Whether the probability goes on rising, up to 1 at twice `max` (Floyd 2000). If not, all new packets are
        /// dropped from `max` on.
        pub gentle: bool,
        /// The size of the packets that could have been sent while the line was idle.
        #[min(1)]
        pub mean_packet_bytes: u32,
        /// Whether packets that allow it are marked instead of dropped, where not all are dropped.
        pub ecn: bool,
    }
}

impl Default for Red {
    /// Floyd's recommendations of 1997 and ns-2's defaults: 5 and 15 packets, weight 0.002, 0.1, gentle;
    /// and 1000 packets of Linux's usual 1000 bytes.
    fn default() -> Red {
        Red {
            limit_packets: 1000,
            min_packets: 5.0,
            max_packets: 15.0,
            weight: 0.002,
            max_probability: Probability::new(0.1).unwrap_or_default(),
            gentle: true,
            mean_packet_bytes: 1000,
            ecn: false,
        }
    }
}

impl Red {
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        if self.max_packets > self.min_packets {
            return Ok(());
        }
        let allowed = format!("more than min, {}", self.min_packets);
        Err(Refusal::new("max_packets", self.max_packets, allowed))
    }

    /// The probability of a drop at an average length: 0 below `min_packets`, 1 where all are dropped.
    fn probability(&self, average: f64) -> f64 {
        let (low, high) = (self.min_packets, self.max_packets);
        let max = self.max_probability.value();
        match average {
            at if at < low => 0.0,
            at if at < high => max * (at - low) / (high - low),
            at if self.gentle && at < 2.0 * high => max + (1.0 - max) * (at - high) / high,
            _ => 1.0,
        }
    }
}

/// The state of a queue under RED.
#[derive(Clone, Debug, Default)]
pub(crate) struct RedQueue {
    list: List,
    average: f64,
    /// Newcomers since the last drop, while the average is above the minimum.
    count: Option<u32>,
}

impl RedQueue {
    /// The average that a newcomer makes: of the lengths that newcomers find, and of none for each
    /// packet that could have been sent while the line was idle.
    fn observe(&mut self, params: &Red, packets: u32, idle: Option<Span>, mean: Span) {
        match idle {
            Some(idle) if packets == 0 => {
                let sent = idle.seconds() / mean.seconds().max(1e-9);
                self.average *= libm::pow(1.0 - params.weight, sent);
            }
            _ => self.average += params.weight * (f64::from(packets) - self.average),
        }
    }

    /// Whether to drop or mark the newcomer. The count makes drops evenly spaced: the next one comes
    /// 1 to 1 / probability - 1 packets after the last, all equally often (figure 2 of the paper, where
    /// the count is raised before it is used).
    fn chooses(&mut self, params: &Red, draw: impl FnOnce() -> f64) -> bool {
        let probability = params.probability(self.average);
        if probability <= 0.0 {
            self.count = None;
            return false;
        }
        if probability >= 1.0 {
            self.count = Some(0);
            return true;
        }
        let count = self.count.map_or(0, |count| count + 1);
        let left = 1.0 - f64::from(count) * probability;
        let chosen = left <= probability || draw() < probability / left;
        self.count = Some(if chosen { 0 } else { count });
        chosen
    }

    pub(crate) fn offer(
        &mut self,
        params: &Red,
        pool: &mut Pool,
        packet: Held,
        context: &mut Context,
    ) {
        self.meet(params, pool, context);
        self.decide(params, pool, packet, context);
    }

    /// The average that a newcomer makes.
    pub(super) fn meet(&mut self, params: &Red, pool: &Pool, context: &Context) {
        let idle = context.idle_since.map(|since| context.now.since(since));
        let mean = context.rate.transmission(u64::from(params.mean_packet_bytes));
        self.observe(params, pool.packets(), idle, mean);
    }

    /// The verdict on the newcomer, with this average.
    pub(super) fn decide(
        &mut self,
        params: &Red,
        pool: &mut Pool,
        mut packet: Held,
        context: &mut Context,
    ) {
        if pool.packets() >= params.limit_packets {
            return context.drop(&packet, Cause::Full);
        }
        let stream = &mut *context.stream;
        if self.chooses(params, || stream.unit()) {
            // RFC 3168 7: where all would be marked, all are dropped.
            let may_mark = params.ecn && params.probability(self.average) < 1.0;
            if !(may_mark && context.mark(&mut packet)) {
                return context.drop(&packet, Cause::Early);
            }
        }
        self.push(pool, packet);
    }

    pub(super) fn average(&self) -> f64 {
        self.average
    }

    /// Takes out the packet of a number.
    pub(super) fn remove(&mut self, pool: &mut Pool, number: u64) -> Option<Held> {
        pool.remove_first(&mut self.list, |held| held.number == number)
    }

    pub(crate) fn list(&self) -> &List {
        &self.list
    }

    pub(crate) fn push(&mut self, pool: &mut Pool, packet: Held) {
        pool.push(&mut self.list, packet);
    }

    pub(crate) fn take(&mut self, pool: &mut Pool) -> Option<Held> {
        pool.pop(&mut self.list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discipline::testing::Bottleneck;
    use crate::{Ecn, Queue};
    use flashcrowd_base::RandomStream;

    fn red() -> Red {
        Red { max_probability: Probability::new(0.02).unwrap(), ..Red::default() }
    }

    #[test]
    fn the_probability_rises_with_the_average() {
        let points =
            [(4.9, 0.0), (5.0, 0.0), (10.0, 0.01), (15.0, 0.02), (22.5, 0.51), (30.0, 1.0)];
        for (average, expected) in points {
            let found = red().probability(average);
            assert!((found - expected).abs() < 1e-12, "{average}: {found}");
        }
        let abrupt = Red { gentle: false, ..red() };
        assert_eq!(abrupt.probability(14.9), red().probability(14.9));
        assert_eq!(abrupt.probability(15.0), 1.0);
    }

    /// Floyd and Jacobson 1993, equation 3: after a burst of L packets into an empty queue the average
    /// is L + 1 + ((1 - w)^(L + 1) - 1) / w; with w = 0.001 it is below 5 for L = 100.
    #[test]
    fn the_average_follows_a_burst_as_in_the_paper() {
        for (weight, burst) in [(0.001, 100u32), (0.002, 50), (0.01, 30)] {
            let params = Red { weight, ..red() };
            let mut queue = RedQueue::default();
            for length in 1..=burst {
                queue.observe(&params, length, None, Span::from_millis(1));
            }
            let n = f64::from(burst + 1);
            let expected = n + (libm::pow(1.0 - weight, n) - 1.0) / weight;
            assert!((queue.average - expected).abs() < 1e-9, "{} {expected}", queue.average);
        }
    }

    #[test]
    fn idle_time_counts_as_packets_that_found_nothing() {
        let mut queue = RedQueue { average: 8.0, ..RedQueue::default() };
        let mut other = queue.clone();
        queue.observe(&red(), 0, Some(Span::from_millis(7)), Span::from_millis(1));
        for _ in 0..7 {
            other.observe(&red(), 0, None, Span::from_millis(1));
        }
        assert!((queue.average - other.average).abs() < 1e-9);
    }

    /// A packet that comes when the line has just become free, and finds others, finds them.
    #[test]
    fn a_queue_that_waits_for_a_free_line_counts() {
        for idle in [None, Some(Span::ZERO), Some(Span::from_millis(3))] {
            let mut queue = RedQueue { average: 8.0, ..RedQueue::default() };
            queue.observe(&Red { weight: 0.5, ..red() }, 20, idle, Span::from_millis(1));
            assert_eq!(queue.average, 14.0, "{idle:?}");
        }
    }

    /// The paper's method 2: the distance of two drops is uniform.
    #[test]
    fn drops_are_evenly_spaced() {
        let params = Red { max_probability: Probability::new(0.1).unwrap(), ..red() };
        let mut queue = RedQueue { average: 10.0, ..RedQueue::default() };
        let mut stream = RandomStream::new(1, "test", 0);
        let mut gaps = [0u32; 22];
        let (mut gap, mut drops) = (0, 0);
        while drops < 40_000 {
            gap += 1;
            if queue.chooses(&params, || stream.unit()) {
                gaps[gap] += 1;
                (gap, drops) = (0, drops + 1);
            }
        }
        // p = 0.05: each of 1 to 19 about 2,105 times; standard deviation 45.
        assert!(gaps[1..=19].iter().all(|n| (1_900..2_300).contains(n)), "{gaps:?}");
        assert_eq!((gaps[0], gaps[20], gaps[21]), (0, 0, 0));
    }

    #[test]
    fn a_queue_is_kept_between_its_thresholds() {
        let red = Red { weight: 0.02, ..Red::default() };
        for ecn in [false, true] {
            let mut line = Bottleneck::with(Queue::Red(Box::new(Red { ecn, ..red.clone() })));
            line.ecn = Ecn::Ect0;
            let mut max = 0;
            for round in 0..20_000 {
                line.offer(1, 1000);
                if round % 10 == 0 {
                    line.offer(1, 1000);
                }
                line.step();
                max = max.max(if round > 2_000 { line.waiting() } else { 0 });
            }
            // Marks alone do not stop a sender that ignores them: all are dropped at twice the maximum.
            assert!(max < if ecn { 45 } else { 25 }, "{max}");
            let counters = line.link.counters();
            assert_eq!(counters.marked > 0, ecn);
            assert!((1_800..2_000).contains(&counters.dropped_early), "{counters:?}");
        }
    }
}
