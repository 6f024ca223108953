use super::Context;
use super::pool::{Held, List, Pool};
use crate::Cause;
use flashcrowd_base::{Probability, Rate, Span, Time};

flashcrowd_base::settings! {
    /// Proportional integral controller, enhanced (RFC 8033); the defaults are the RFC's.
    ///
    /// New packets are dropped, or marked, with a probability that rises while the queue's delay is above the target or
    /// rising.
    #[serde(default)]
    pub struct Pie {
        /// The most packets, without the one in transmission.
        #[min(1)]
        #[file("key" = "limit")]
        pub limit_packets: u32,
        /// The delay to keep to (RFC 8033: QDELAY_REF).
        #[min(Span::from_nanos(1))]
        pub target_ns: Span,
        /// How often the probability is computed (RFC 8033: T_UPDATE).
        #[min(Span::from_micros(100))]
        #[max(Span::from_secs(10))]
        pub update_ns: Span,
        /// Weight of the delay above the target, in Hz.
        #[above(0.0)]
        #[max(1000.0)]
        #[file("key" = "alpha")]
        pub alpha_hz: f64,
        /// Weight of the rise of the delay since the last update, in Hz.
        #[min(0.0)]
        #[max(1000.0)]
        #[file("key" = "beta")]
        pub beta_hz: f64,
        /// For how long a queue that was empty may grow before anything is dropped (RFC 8033: MAX_BURST).
        pub max_burst_ns: Span,
        /// A queue of at most two such packets is left alone (RFC 8033: MEAN_PKTSIZE).
        #[min(1)]
        pub mean_packet_bytes: u32,
        /// Whether packets that allow it are marked instead of dropped.
        pub ecn: bool,
        /// Above this probability all are dropped (RFC 8033: mark_ecnth).
        pub most_marked: Probability,
    }
}

impl Default for Pie {
    /// RFC 8033 4 and 5.1, as in Linux: target and update 15 ms, 0.125 and 1.25 Hz, burst 150 ms; 1000
    /// packets, no ECN.
    fn default() -> Pie {
        Pie {
            limit_packets: 1000,
            target_ns: Span::from_millis(15),
            update_ns: Span::from_millis(15),
            alpha_hz: 0.125,
            beta_hz: 1.25,
            max_burst_ns: Span::from_millis(150),
            mean_packet_bytes: 1514,
            ecn: false,
            most_marked: Probability::new(0.1).unwrap_or_default(),
        }
    }
}

/// RFC 8033 5.4: without drops for long enough, one is certain, and soon after one there is none.
const ACCUMULATED_LOW: f64 = 0.85;
const ACCUMULATED_HIGH: f64 = 8.5;

/// The controller: RFC 8033 4.2, 4.3, 5.2 to 5.5.
#[derive(Clone, Debug)]
struct PieVars {
    probability: f64,
    /// `accu_prob`.
    accumulated: f64,
    delay_before: Span,
    burst_allowance: Span,
}

impl PieVars {
    /// Works out the probability from the queue's delay: `calculate_drop_prob`.
    fn update(&mut self, params: &Pie, delay: Span) {
        let (now, before) = (delay.seconds(), self.delay_before.seconds());
        let error = params.alpha_hz * (now - params.target_ns.seconds());
        let mut step = (error + params.beta_hz * (now - before)) / tuning(self.probability);
        if self.probability >= 0.1 {
            step = step.min(0.02);
        }
        self.probability += step;
        if delay.is_zero() && self.delay_before.is_zero() {
            self.probability *= 0.98;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        self.burst_allowance = self.burst_allowance.saturating_sub(params.update_ns);
        let half = params.target_ns / 2;
        if self.probability == 0.0 && delay < half && self.delay_before < half {
            self.burst_allowance = params.max_burst_ns;
        }
        self.delay_before = delay;
    }

    /// Whether further updates would change nothing while the queue is empty.
    fn rests(&self, params: &Pie) -> bool {
        self.probability == 0.0
            && self.delay_before.is_zero()
            && self.burst_allowance == params.max_burst_ns
    }

    /// Whether to drop or mark a newcomer to a queue of `bytes` bytes: `drop_early`.
    fn chooses(&mut self, params: &Pie, bytes: u64, draw: impl FnOnce() -> f64) -> bool {
        let short = self.delay_before < params.target_ns / 2 && self.probability < 0.2;
        let few = bytes <= 2 * u64::from(params.mean_packet_bytes);
        if !self.burst_allowance.is_zero() || short || few {
            return false;
        }
        self.accumulated =
            if self.probability == 0.0 { 0.0 } else { self.accumulated + self.probability };
        if self.accumulated < ACCUMULATED_LOW {
            return false;
        }
        let chosen = self.accumulated >= ACCUMULATED_HIGH || draw() < self.probability;
        if chosen {
            self.accumulated = 0.0;
        }
        chosen
    }
}

/// By how much smaller steps are where the probability is small: RFC 8033 4.2, auto-tuning.
fn tuning(probability: f64) -> f64 {
    match probability {
        p if p < 0.000_001 => 2048.0,
        p if p < 0.000_01 => 512.0,
        p if p < 0.000_1 => 128.0,
        p if p < 0.001 => 32.0,
        p if p < 0.01 => 8.0,
        p if p < 0.1 => 2.0,
        _ => 1.0,
    }
}

/// The state of a queue under PIE.
#[derive(Clone, Debug)]
pub(crate) struct PieQueue {
    list: List,
    vars: PieVars,
    next_update: Time,
}

impl PieQueue {
    pub(crate) fn new(params: &Pie, now: Time) -> PieQueue {
        PieQueue {
            list: List::default(),
            vars: PieVars {
                probability: 0.0,
                accumulated: 0.0,
                delay_before: Span::ZERO,
                burst_allowance: params.max_burst_ns,
            },
            next_update: now + params.update_ns,
        }
    }

    /// The updates that were due since the queue last changed: there is no timer, and nothing but
    /// arrivals and departures changes the delay that they look at. That is the time in which the
    /// queue leaves at the link's rate (Little's law, RFC 8033 4.3), which is known here.
    fn catch_up(&mut self, params: &Pie, pool: &Pool, now: Time, rate: Rate) {
        let delay = rate.transmission(pool.bytes());
        while self.next_update <= now {
            if delay.is_zero() && self.vars.rests(params) {
                let periods = now.since(self.next_update).nanos() / params.update_ns.nanos() + 1;
                self.next_update += params.update_ns * periods;
                return;
            }
            self.vars.update(params, delay);
            self.next_update += params.update_ns;
        }
    }

    pub(crate) fn offer(
        &mut self,
        params: &Pie,
        pool: &mut Pool,
        mut packet: Held,
        context: &mut Context,
    ) {
        self.catch_up(params, pool, context.now, context.rate);
        if pool.packets() >= params.limit_packets {
            self.vars.accumulated = 0.0;
            return context.drop(&packet, Cause::Full);
        }
        let stream = &mut *context.stream;
        if self.vars.chooses(params, pool.bytes(), || stream.unit()) {
            let may_mark = params.ecn && self.vars.probability <= params.most_marked.value();
            if !(may_mark && context.mark(&mut packet)) {
                return context.drop(&packet, Cause::Early);
            }
        }
        self.push(pool, packet);
    }

    pub(crate) fn list(&self) -> &List {
        &self.list
    }

    pub(crate) fn push(&mut self, pool: &mut Pool, packet: Held) {
        pool.push(&mut self.list, packet);
    }

    pub(crate) fn take(
        &mut self,
        params: &Pie,
        pool: &mut Pool,
        context: &mut Context,
    ) -> Option<Held> {
        self.catch_up(params, pool, context.now, context.rate);
        pool.pop(&mut self.list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discipline::testing::Bottleneck;
    use crate::{Ecn, Queue};

    fn vars(probability: f64, before_ms: u64) -> PieVars {
        PieVars {
            probability,
            accumulated: 0.0,
            delay_before: Span::from_millis(before_ms),
            burst_allowance: Span::ZERO,
        }
    }

    /// 0.125 x 15 ms above the target and 1.25 x 10 ms of rise are 0.014375 (RFC 8033 4.2), divided
    /// as the table of auto-tuning says.
    #[test]
    fn steps_are_scaled_by_the_probability() {
        let table = [
            (0.0, 2048.0),
            (0.000_000_9, 2048.0),
            (0.000_001, 512.0),
            (0.000_01, 128.0),
            (0.000_1, 32.0),
            (0.001, 8.0),
            (0.01, 2.0),
            (0.1, 1.0),
            (0.5, 1.0),
        ];
        for (probability, divisor) in table {
            let mut pie = vars(probability, 20);
            pie.update(&Pie::default(), Span::from_millis(30));
            let expected = probability + 0.014_375 / divisor;
            assert!((pie.probability - expected).abs() < 1e-12, "{probability}: {pie:?}");
        }
    }

    #[test]
    fn a_step_up_is_at_most_two_hundredths_and_a_step_down_is_not_bounded() {
        let mut pie = vars(0.1, 0);
        pie.update(&Pie::default(), Span::from_millis(100));
        assert!((pie.probability - 0.12).abs() < 1e-12);
        pie.update(&Pie::default(), Span::ZERO);
        assert_eq!(pie.probability, 0.0);
    }

    #[test]
    fn an_idle_queue_forgets_by_two_percent_an_update() {
        let mut pie = vars(0.5, 0);
        pie.update(&Pie::default(), Span::ZERO);
        // 0.125 x 15 ms below the target, then 0.98 of what is left.
        assert!((pie.probability - (0.5 - 0.001_875) * 0.98).abs() < 1e-12);
        assert_eq!(pie.burst_allowance, Span::ZERO);
        for _ in 0..5_000 {
            pie.update(&Pie::default(), Span::ZERO);
        }
        assert!(pie.rests(&Pie::default()));
    }

    #[test]
    fn drops_are_spread_evenly() {
        let mut pie = vars(0.1, 20);
        let never = || 1.0;
        let params = Pie::default();
        // Below 0.85 not even a draw; at 8.5 for certain.
        let first = (1..200).find(|_| pie.chooses(&params, 100_000, || 0.0)).unwrap();
        assert_eq!(first, 9);
        let last = (1..200).find(|_| pie.chooses(&params, 100_000, never)).unwrap();
        assert!((85..=86).contains(&last), "{last}");
    }

    #[test]
    fn short_queues_and_bursts_are_left_alone() {
        let params = Pie::default();
        let half = |probability| PieVars {
            delay_before: Span::from_micros(7_500),
            ..vars(probability, 0)
        };
        for (mut pie, bytes, chosen) in [
            (vars(0.5, 20), 3029, true),
            (vars(0.5, 20), 3028, false),
            (vars(0.19, 7), 100_000, false),
            (vars(0.19, 8), 100_000, true),
            // Half of the target is not below half of the target.
            (half(0.19), 100_000, true),
            (vars(0.2, 7), 100_000, true),
            (PieVars { burst_allowance: Span::from_nanos(1), ..vars(0.5, 20) }, 9999, false),
        ] {
            pie.accumulated = 1.0;
            assert_eq!(pie.chooses(&params, bytes, || 0.0), chosen, "{pie:?}");
        }
    }

    /// RFC 8033 4.2: the allowance for bursts is full again when the probability is 0 and the delay is
    /// below half of the target, now and at the update before; until then it goes down with time.
    #[test]
    fn a_burst_is_allowed_again_when_there_is_no_queue() {
        let (half, less) = (Span::from_micros(7_500), Span::from_micros(7_499));
        for (probability, before, delay, allowed) in [
            (0.0, less, less, 150),
            (0.0, half, less, 25),
            (0.0, less, half, 25),
            // A step of -0.000117: from there the probability does not reach 0.
            (0.5, less, less, 25),
        ] {
            let mut pie = PieVars {
                delay_before: before,
                burst_allowance: Span::from_millis(40),
                ..vars(probability, 0)
            };
            pie.update(&Pie::default(), delay);
            assert_eq!(pie.probability > 0.0, probability > 0.0);
            assert_eq!(pie.burst_allowance, Span::from_millis(allowed), "{before} {delay}");
        }
    }

    /// RFC 8033 4.1: a drop for want of room restarts the count.
    #[test]
    fn a_full_queue_drops_the_newcomer() {
        let mut line =
            Bottleneck::with(Queue::Pie(Box::new(Pie { limit_packets: 20, ..Pie::default() })));
        for _ in 0..22 {
            line.offer(1, 1000);
        }
        assert_eq!((line.waiting(), line.refused), (20, 2));
        assert_eq!(line.link.counters().dropped, 2);
    }

    /// A sender that never slows down: nothing is dropped for the burst of 150 ms, then ever more, and
    /// the delay that an unresponsive flow of 125 % leaves is near the target in the end.
    #[test]
    fn a_queue_is_brought_to_its_target() {
        let mut line = Bottleneck::with(Queue::Pie(Box::default()));
        let mut waits = Vec::new();
        let mut first_drop = None;
        for round in 0..60_000u32 {
            line.offer(1, 1000);
            if round % 4 == 0 {
                line.offer(1, 1000);
            }
            if line.refused > 0 && first_drop.is_none() {
                first_drop = Some(line.now);
            }
            if let Some(left) = line.step()
                && round > 30_000
            {
                waits.push(left.departs.since(line.offered_at(left.tag)).seconds());
            }
        }
        assert!(first_drop.unwrap() >= Time::START + Span::from_millis(150), "{first_drop:?}");
        let mean = waits.iter().sum::<f64>() / waits.len() as f64;
        assert!((0.010..0.020).contains(&mean), "{mean}");
        let share = f64::from(line.refused) / 75_000.0;
        assert!((0.18..0.21).contains(&share), "{share}");
        assert_eq!(line.link.counters().dropped_early, u64::from(line.refused));
    }

    #[test]
    fn marks_stand_for_drops_up_to_a_tenth() {
        for (max, marked) in [(0.1, false), (1.0, true)] {
            let most_marked = Probability::new(max).unwrap();
            let pie = Pie { ecn: true, most_marked, ..Pie::default() };
            let mut line = Bottleneck::with(Queue::Pie(Box::new(pie)));
            line.ecn = Ecn::Ect0;
            for _ in 0..3_000 {
                line.offer(1, 1000);
                line.offer(1, 1000);
                line.step();
            }
            assert!(line.link.counters().marked > 0);
            assert_eq!(line.link.counters().dropped_early == 0, marked);
        }
    }

    /// Updates come at their times whether or not anything happens meanwhile.
    #[test]
    fn idle_time_is_caught_up_with() {
        let params = Pie::default();
        let rate = Rate::from_bps(8_000_000).unwrap();
        let pool = Pool::default();
        let mut often = PieQueue::new(&params, Time::START);
        often.vars = vars(0.7, 40);
        let mut once = often.clone();
        for millis in 0..40_000 {
            often.catch_up(&params, &pool, Time::START + Span::from_millis(millis), rate);
        }
        once.catch_up(&params, &pool, Time::START + Span::from_millis(39_999), rate);
        // The first multiple of 15 ms after that.
        assert_eq!(often.next_update, Time::START + Span::from_millis(40_005));
        assert_eq!(often.next_update, once.next_update);
        assert_eq!(format!("{:?}", often.vars), format!("{:?}", once.vars));
    }
}
