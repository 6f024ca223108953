use super::window::left_to;
use super::{Ack, Build, Controller, Loss, NewReno, Params};
use flashcrowd_base::{Span, Time};

/// Segments in the queue that are too few, and too many (`alpha`, `beta`).
const FEW: u64 = 2;
const MANY: u64 = 4;
/// Segments in the queue that end slow start (`gamma`).
const SLOW_START: u64 = 1;

/// TCP Vegas (Brakmo and Peterson 1995) as Linux has it (`tcp_vegas.c`).
///
/// - Once per round trip it compares the shortest RTT of the round with the shortest of the connection. The difference,
///   in segments of the window, is what the flow itself keeps in the queue: 2 to 4 are left alone.
/// - A round with fewer than three samples is Reno's.
/// - Slow start doubles in each round, and ends with more than a segment in the queue.
/// - Losses are Reno's. Silence and repairs begin a new round; silence also forgets the shortest RTT.
///
/// Linux lets a window grow that is not the limit; here it does not, as for all others.
#[derive(Clone, Debug)]
pub struct Vegas {
    pub(super) reno: NewReno,
    /// The shortest RTT of the connection, and of this round.
    pub(super) base: Span,
    min: Span,
    samples: u32,
    /// The round ends when more than this is acknowledged.
    round_end: Option<u64>,
}

impl Vegas {
    /// A controller at its first window.
    pub fn new(params: Params) -> Vegas {
        Vegas {
            reno: NewReno::new(params),
            base: Span::MAX,
            min: Span::MAX,
            samples: 0,
            round_end: None,
        }
    }

    pub(super) fn observe(&mut self, rtt: Span) {
        let rtt = rtt.max(Span::from_nanos(1));
        self.base = self.base.min(rtt);
        self.min = self.min.min(rtt);
        self.samples += 1;
    }

    /// Whether this acknowledgement ends a round, so that the window is reconsidered. The next one begins with it.
    pub(super) fn ends_round(&mut self, ack: &Ack) -> bool {
        let ends = self.round_end.is_some_and(|end| ack.una > end);
        if ends || self.round_end.is_none() {
            self.round_end = Some(ack.nxt);
        }
        ends
    }

    /// Forgets the samples of a round.
    pub(super) fn restart(&mut self) {
        (self.min, self.samples) = (Span::MAX, 0);
    }

    /// Ends a round before its time: what it has measured says nothing.
    pub(super) fn interrupt(&mut self) {
        self.round_end = None;
        self.restart();
    }

    /// Within a round only slow start moves the window.
    pub(super) fn go_on(&mut self, ack: &Ack) {
        let window = &mut self.reno.window;
        if ack.window_limited && window.in_slow_start() {
            window.slow_start(window.counted(ack.acked));
        }
    }

    /// The change of the window by a round of samples.
    pub(super) fn reconsider(&mut self, ack: &Ack) {
        if self.samples < 3 {
            return self.reno.on_ack(ack);
        }
        let window = &mut self.reno.window;
        let (base, rtt, segments) = (self.base.nanos(), self.min.nanos(), window.segments());
        let share =
            |of: u64, over: u64| (u128::from(segments) * u128::from(of) / u128::from(over)) as u64;
        let queued = share(rtt - base, base);
        if window.in_slow_start() {
            if queued <= SLOW_START {
                return self.go_on(ack);
            }
            window.bytes = window.bytes.min((share(base, rtt) + 1) * window.mss);
            window.threshold = window.bytes;
        } else if queued > MANY {
            window.bytes -= window.mss;
            window.threshold = window.threshold.min(window.bytes);
        } else if queued < FEW && ack.window_limited {
            window.bytes += window.mss;
        }
        window.bytes = window.bytes.max(2 * window.mss);
        window.threshold = window.threshold.max(window.bytes / 4 * 3);
    }

    /// After a silence the path may be another one.
    pub(super) fn forget(&mut self) {
        self.base = Span::MAX;
        self.interrupt();
    }
}

impl Build for Vegas {
    fn build(params: Params) -> Vegas {
        Vegas::new(params)
    }
}

impl Controller for Vegas {
    fn on_ack(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.observe(rtt);
        }
        if !ack.may_grow {
            self.interrupt();
        } else if self.ends_round(ack) {
            self.reconsider(ack);
            self.restart();
        } else {
            self.go_on(ack);
        }
    }

    fn on_resume(&mut self, _: Time, _: Span) {
        self.forget();
    }

    left_to!(reno);
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::tests::{ack, loss, params};
    use super::*;

    /// A sender that has its whole window in flight.
    #[derive(Default)]
    pub(crate) struct Flight {
        una: u64,
        round_end: Option<u64>,
    }

    impl Flight {
        /// Acknowledgements of `each` bytes up to the end of a round; `rtt` of their number is in milliseconds.
        pub(crate) fn round(
            &mut self,
            controller: &mut impl Controller,
            each: u64,
            rtt: impl Fn(u64) -> u64,
        ) {
            for number in 0.. {
                self.una += each;
                let nxt = self.una + controller.window();
                let rtt = Some(Span::from_millis(rtt(number)));
                controller.on_ack(&Ack { rtt, una: self.una, nxt, ..ack(each) });
                let end = *self.round_end.get_or_insert(nxt);
                if self.una > end {
                    self.round_end = Some(nxt);
                    return;
                }
            }
        }
    }

    /// A controller in congestion avoidance at the end of a round without a queue on a path of 100 ms.
    fn vegas(segments: u64) -> (Vegas, Flight) {
        let (mut vegas, mut flight) = (Vegas::new(params(segments)), Flight::default());
        vegas.reno.window.threshold = 1000 * segments;
        flight.round(&mut vegas, 1000, |_| 100);
        vegas.reno.window.bytes = 1000 * segments;
        (vegas, flight)
    }

    /// Of 20 segments, those that an RTT of 100 + 5 n ms keeps in the queue are n: fewer than 2 are too few, more than 4 too
    /// many.
    #[test]
    fn two_to_four_segments_in_the_queue_are_left_alone() {
        for (millis, change) in
            [(100, 1), (105, 1), (109, 1), (110, 0), (120, 0), (124, 0), (125, -1), (200, -1)]
        {
            let (mut vegas, mut flight) = vegas(20);
            flight.round(&mut vegas, 1000, |_| millis);
            assert_eq!(vegas.window() as i64, (20 + change) * 1000, "{millis} ms");
        }
    }

    /// The shortest of a round counts: what the others waited may be the receiver's.
    #[test]
    fn the_shortest_rtt_of_a_round_counts() {
        let (mut vegas, mut flight) = vegas(20);
        flight.round(&mut vegas, 1000, |number| if number == 7 { 100 } else { 300 });
        assert_eq!(vegas.window(), 21_000);
    }

    #[test]
    fn slow_start_doubles_until_a_segment_stands_in_the_queue() {
        let (mut vegas, mut flight) = (Vegas::new(params(10)), Flight::default());
        flight.round(&mut vegas, 1000, |_| 100);
        let grown = vegas.window();
        assert!((20_000..=23_000).contains(&grown), "{grown}");
        // Two of 22 segments: what would be in flight without a queue, and one.
        flight.round(&mut vegas, 1000, |_| 110);
        assert!(!vegas.reno.window.in_slow_start());
        let left = vegas.window();
        assert!(left < 2 * grown * 100 / 110 + 1000 && left > grown, "{left}");
        flight.round(&mut vegas, 1000, |_| 100);
        assert_eq!(vegas.window(), left + 1000);
    }

    #[test]
    fn a_round_of_few_samples_is_renos() {
        let (mut vegas, mut flight) = vegas(2);
        for _ in 0..4 {
            flight.round(&mut vegas, 2000, |_| 400);
        }
        // However long the RTT is.
        assert!(vegas.window() > 2000, "{}", vegas.window());
    }

    #[test]
    fn losses_are_renos_and_silence_forgets_the_path() {
        let (mut vegas, mut flight) = vegas(20);
        vegas.on_loss(&loss(20_000));
        assert_eq!((vegas.window(), vegas.threshold()), (10_000, 10_000));
        vegas.on_timeout(&loss(10_000), false);
        assert_eq!((vegas.window(), vegas.threshold()), (1000, 5000));
        vegas.on_resume(Time::START, Span::from_secs(1));
        assert_eq!((vegas.base, vegas.round_end), (Span::MAX, None));
        flight.round(&mut vegas, 1000, |_| 200);
        assert_eq!(vegas.base, Span::from_millis(200));
    }

    /// Samples while a loss is repaired count for the path, not for a round.
    #[test]
    fn repairs_begin_a_new_round() {
        let (mut vegas, _) = vegas(20);
        for _ in 0..40 {
            let rtt = Some(Span::from_millis(90));
            vegas.on_ack(&Ack { rtt, una: 1 << 20, nxt: 1 << 20, may_grow: false, ..ack(1000) });
        }
        assert_eq!((vegas.window(), vegas.samples, vegas.round_end), (20_000, 0, None));
        assert_eq!(vegas.base, Span::from_millis(90));
    }

    #[test]
    fn a_window_that_is_not_the_limit_does_not_grow() {
        let (mut vegas, _) = vegas(20);
        for sent in 100..300u64 {
            let rtt = Some(Span::from_millis(100));
            let una = 1000 * sent;
            vegas.on_ack(&Ack { rtt, una, nxt: una + 3000, window_limited: false, ..ack(1000) });
        }
        assert_eq!(vegas.window(), 20_000);
    }
}
