use super::window::left_to;
use super::{Ack, Build, Controller, Loss, NewReno, Params};
use flashcrowd_base::{Span, Time};

/// A flow is congested when its smoothed delay is above the least by this part of the range, in per cent.
const RANGE_PERCENT: i64 = 15;
/// Round trips in which nothing grows after a reduction, and a second indication leaves one segment.
const INFERENCE_RTTS: u64 = 3;

/// TCP-LP (Kuzmanovic and Knightly 2003) with the arithmetic of Linux (`tcp_lp.c`).
///
/// - NewReno, with early congestion indications: the smoothed one-way delay (1/8 of each sample) is above the least by
///   15 % of the range between the least and the most.
/// - An indication halves the window, and nothing grows for three RTTs. An indication within these leaves one segment.
/// - The highest of all delays is forgotten: the most is the one below it.
/// - Each indication begins a new range, from the smoothed delay to twice that.
/// - It also ends slow start: growth is additive afterwards, as in the paper. Linux leaves the threshold of slow start
///   as it is.
///
/// "Twice" needs the delay itself, and timestamps have an unknown offset. Here the first delay counts as half of the
/// first RTT, which is what ends with one clock measure on a symmetric path. In Linux the offset of the clocks counts.
#[derive(Clone, Debug)]
pub struct Lp {
    reno: NewReno,
    /// The reading that a clock without offset would show as 0.
    zero: Option<u32>,
    /// The smoothed delay in eighths of microseconds; least, most, and the one above it.
    smoothed: i64,
    min: i64,
    max: i64,
    reserve: i64,
    /// When the last indication came, and how long nothing grows.
    indicated: Option<Time>,
    inference: Span,
}

impl Lp {
    /// A controller at its first window.
    pub fn new(params: Params) -> Lp {
        Lp {
            reno: NewReno::new(params),
            zero: None,
            smoothed: 0,
            min: i64::MAX,
            max: 0,
            reserve: 0,
            indicated: None,
            inference: Span::ZERO,
        }
    }

    /// Microseconds on the way here.
    fn delay(&mut self, ack: &Ack) -> Option<i64> {
        let sample = ack.one_way_delay?;
        if self.zero.is_none() {
            let half = ack.rtt? / 2;
            self.zero = Some(sample.wrapping_sub((half.nanos() / 1000) as u32));
        }
        Some(i64::from(sample.wrapping_sub(self.zero?) as i32))
    }

    fn observe(&mut self, delay: i64) {
        self.min = self.min.min(delay);
        if delay > self.max {
            self.max = match self.reserve {
                reserve if delay <= reserve || reserve == 0 => delay,
                reserve => reserve,
            };
            self.reserve = self.reserve.max(delay);
        }
        self.smoothed = match self.smoothed {
            0 => delay << 3,
            smoothed => smoothed + delay - (smoothed >> 3),
        };
    }

    fn infers(&self, now: Time) -> bool {
        self.indicated.is_some_and(|since| now.since(since) < self.inference)
    }

    fn is_congested(&self) -> bool {
        self.smoothed >> 3 > self.min + RANGE_PERCENT * (self.max - self.min) / 100
    }

    fn indicate(&mut self, now: Time, infers: bool) {
        let window = &mut self.reno.window;
        let smoothed = self.smoothed >> 3;
        (self.min, self.max, self.reserve) = (smoothed, 2 * smoothed, 2 * smoothed);
        window.bytes = if infers { window.mss } else { (window.bytes / 2).max(window.mss) };
        window.threshold = window.bytes.max(2 * window.mss);
        self.indicated = Some(now);
    }
}

impl Build for Lp {
    const NEEDS_ONE_WAY_DELAY: bool = true;

    fn build(params: Params) -> Lp {
        Lp::new(params)
    }
}

impl Controller for Lp {
    fn on_ack(&mut self, ack: &Ack) {
        if ack.acked == 0 {
            return;
        }
        if let Some(rtt) = ack.rtt {
            self.inference = rtt * INFERENCE_RTTS;
        }
        let infers = self.infers(ack.now);
        if let Some(delay) = self.delay(ack) {
            self.observe(delay);
            if self.is_congested() {
                return self.indicate(ack.now, infers);
            }
        }
        if !infers {
            self.reno.on_ack(ack);
        }
    }

    left_to!(reno);
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ack, loss, params};
    use super::*;

    fn at(millis: u64) -> Time {
        Time::START + Span::from_millis(millis)
    }

    /// A path of 100 ms, 50 each way, between clocks with an offset.
    #[derive(Clone, Copy)]
    struct Path {
        offset: u32,
    }

    impl Path {
        /// An acknowledgement of a segment that waited.
        fn ack(self, now: u64, waited: u64) -> Ack {
            Ack {
                now: at(now),
                rtt: Some(Span::from_millis(100 + waited)),
                one_way_delay: Some(self.offset.wrapping_add(1000 * (50 + waited as u32))),
                ..ack(1000)
            }
        }
    }

    const PATH: Path = Path { offset: 0 };

    /// A controller in congestion avoidance that has seen delays of 50 and, twice, 150 ms, and of 50 ms again.
    fn lp(segments: u64) -> Lp {
        let mut lp = Lp::new(params(segments));
        lp.reno.window.threshold = 1000 * segments;
        for waited in [0, 100, 100] {
            let delay = lp.delay(&PATH.ack(0, waited));
            lp.observe(delay.unwrap());
        }
        for _ in 0..100 {
            let delay = lp.delay(&PATH.ack(0, 0));
            lp.observe(delay.unwrap());
        }
        lp
    }

    /// Acknowledgements each millisecond with this wait, until the window falls: when, from what, and to what.
    fn until_it_yields(lp: &mut Lp, from: u64, waited: u64) -> Option<(u64, u64, u64)> {
        (from..from + 1000).find_map(|now| {
            let before = lp.window();
            lp.on_ack(&PATH.ack(now, waited));
            (lp.window() < before).then_some((now, before, lp.window()))
        })
    }

    /// Of 50 to 150 ms, 15 % are 15 ms: a smoothed delay of 65 ms is none yet.
    #[test]
    fn fifteen_per_cent_of_the_range_is_congestion() {
        assert_eq!(until_it_yields(&mut lp(20), 0, 15), None);
        let (_, before, after) = until_it_yields(&mut lp(20), 0, 17).unwrap();
        assert_eq!(before / 2, after);
    }

    /// An eighth of each sample: 30 ms of wait are above 15 of them with the sixth sample.
    #[test]
    fn the_delay_is_smoothed_by_eighths() {
        assert_eq!(until_it_yields(&mut lp(20), 1, 30), Some((6, 20_000, 10_000)));
    }

    /// For three RTTs, here of 115 ms, nothing grows; after them it is NewReno again.
    #[test]
    fn an_indication_halves_and_nothing_grows_for_three_round_trips() {
        let mut lp = lp(20);
        let (indicated, _, halved) = until_it_yields(&mut lp, 0, 40).unwrap();
        for now in indicated + 1..indicated + 345 {
            lp.on_ack(&PATH.ack(now, 15));
            assert_eq!(lp.window(), halved, "after {} ms", now - indicated);
        }
        for now in 0..halved / 1000 {
            lp.on_ack(&PATH.ack(indicated + 345 + now, 15));
        }
        assert_eq!(lp.window(), halved + 1000);
    }

    /// An indication resets the range, so the delay has to rise by 15 % of itself for a second one.
    #[test]
    fn a_second_indication_within_that_time_leaves_one_segment() {
        let mut lp = lp(20);
        let (first, ..) = until_it_yields(&mut lp, 0, 40).unwrap();
        assert_eq!(until_it_yields(&mut lp.clone(), first + 1, 20), None, "as long as before");
        let (second, before, after) = until_it_yields(&mut lp, first + 1, 90).unwrap();
        assert!(second - first < 300, "{second}");
        assert_eq!((before, after), (10_000, 1000));
        // Later it halves, as the first did.
        lp.reno.window.bytes = 20_000;
        lp.on_ack(&PATH.ack(second + 2000, 90));
        let (_, before, after) = until_it_yields(&mut lp, second + 2001, 400).unwrap();
        assert_eq!(before / 2, after);
    }

    /// One far delay does not widen the range: the next one does.
    #[test]
    fn the_highest_delay_is_forgotten() {
        let mut lp = Lp::new(params(10));
        let seen: Vec<i64> = [50, 60, 500, 70, 400]
            .map(|delay| {
                lp.observe(1000 * delay);
                lp.max / 1000
            })
            .to_vec();
        assert_eq!(seen, [50, 50, 60, 70, 400]);
    }

    #[test]
    fn the_offset_between_clocks_does_not_matter() {
        let windows = |path: Path| {
            let mut lp = Lp::new(params(20));
            (0..3000u64)
                .map(|now| {
                    lp.on_ack(&path.ack(now, now / 7 % 90));
                    lp.window()
                })
                .collect::<Vec<u64>>()
        };
        let expected = windows(PATH);
        assert!(expected.contains(&1000), "it yields");
        for offset in [1, 1 << 31, u32::MAX - 70_000] {
            assert_eq!(windows(Path { offset }), expected, "{offset}");
        }
    }

    #[test]
    fn an_indication_ends_slow_start_and_losses_are_renos() {
        let mut lp = lp(20);
        lp.reno.window.threshold = u64::MAX;
        let (.., halved) = until_it_yields(&mut lp, 0, 40).unwrap();
        assert_eq!(lp.threshold(), halved);
        lp.on_loss(&loss(20_000));
        assert_eq!((lp.window(), lp.threshold()), (10_000, 10_000));
        lp.on_timeout(&loss(10_000), false);
        assert_eq!((lp.window(), lp.threshold()), (1000, 5000));
    }

    #[test]
    fn without_delays_it_is_new_reno() {
        let mut lp = Lp::new(params(10));
        let mut reno = NewReno::new(params(10));
        for now in 0..100 {
            let ack = Ack { now: at(now), one_way_delay: None, ..ack(1000) };
            lp.on_ack(&ack);
            reno.on_ack(&ack);
        }
        assert_eq!(lp.window(), reno.window());
    }
}
