use super::Ack;
use super::window::Window;
use flashcrowd_base::{Span, Time};
use serde::{Deserialize, Serialize};

/// How slow start ends before a loss ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum HyStartKind {
    /// By a loss only.
    None,
    /// When a train of acknowledgements spans half the least round trip (all of it where packets are
    /// paced), or the round trip grows by an eighth (Ha and Rhee 2011, as in Linux).
    Linux,
    /// When the round trip grows by an eighth, and then cautiously (HyStart++, RFC 9406).
    PlusPlus,
}

/// The slow start that remains is this much slower (RFC 9406, section 4.3).
pub(super) const CSS_GROWTH_DIVISOR: u64 = 4;
/// Rounds of conservative slow start before congestion avoidance.
const CSS_ROUNDS: u8 = 5;
/// Samples that make a round's least round trip.
const SAMPLES: u8 = 8;
/// The growth of the round trip that ends slow start is between these.
const MIN_GROWTH: Span = Span::from_millis(4);
const GREATEST_GROWTH: Span = Span::from_millis(16);
/// Linux looks from this window on, in segments.
const LOW_WINDOW: u64 = 16;
/// Acknowledgements that are no further apart belong to one train.
const TRAIN_GAP: Span = Span::from_millis(2);
/// The longest delay of a train by a network card, and the super-segment it is computed from.
const CARD_DELAY: Span = Span::from_millis(1);
const CARD_BYTES: u64 = 4 * 65_536;

/// How slow start goes on (RFC 9406).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SlowStart {
    /// It doubles the window each round trip.
    Standard,
    /// Conservative slow start (CSS): growth at a quarter of the rate.
    Conservative,
    /// It ends: ssthresh becomes the window.
    Exit,
}

/// The exit detector of one connection. It is in its controller: in a box it would be one more
/// cache miss for each acknowledgement.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct HyStart {
    kind: HyStartKind,
    paced: bool,
    samples: u8,
    /// Rounds of conservative slow start done, and whether in it.
    css_rounds: u8,
    in_css: bool,
    /// When this offset is acknowledged, the round ends. [`NO_ROUND`] before the first.
    round_end: u64,
    round_min: Span,
    round_start: Time,
    last_ack: Time,
    /// Of the round before, or the baseline during conservative slow start.
    reference: Span,
}

const NO_ROUND: u64 = u64::MAX;

impl HyStart {
    pub(super) fn new(kind: HyStartKind, paced: bool) -> Option<HyStart> {
        if kind == HyStartKind::None {
            return None;
        }
        Some(HyStart {
            kind,
            paced,
            samples: 0,
            css_rounds: 0,
            in_css: false,
            round_end: NO_ROUND,
            round_min: Span::MAX,
            reference: Span::MAX,
            round_start: Time::START,
            last_ack: Time::START,
        })
    }

    /// Passes an acknowledgement in slow start to the detector in `slot`. When it has found the
    /// end, it sets the threshold, and is gone.
    #[inline]
    pub(super) fn consult(slot: &mut Option<HyStart>, ack: &Ack, window: &mut Window) -> SlowStart {
        let Some(hystart) = slot else { return SlowStart::Standard };
        let slow_start = hystart.on_ack(ack, window.bytes, window.mss);
        if slow_start == SlowStart::Exit {
            window.threshold = window.bytes;
            *slot = None;
        }
        slow_start
    }

    /// An acknowledgement in slow start, at a window of `window` bytes.
    #[inline]
    fn on_ack(&mut self, ack: &Ack, window: u64, mss: u64) -> SlowStart {
        match self.kind {
            HyStartKind::None => SlowStart::Standard,
            HyStartKind::Linux => self.linux(ack, window, mss),
            HyStartKind::PlusPlus => self.plus_plus(ack),
        }
    }

    fn begin_round(&mut self, ack: &Ack) {
        self.round_end = ack.nxt;
        self.round_min = Span::MAX;
        self.samples = 0;
        self.round_start = ack.now;
        self.last_ack = ack.now;
    }

    fn linux(&mut self, ack: &Ack, window: u64, mss: u64) -> SlowStart {
        if self.round_end == NO_ROUND || ack.una > self.round_end {
            self.begin_round(ack);
        }
        let Some(rtt) = ack.rtt else { return SlowStart::Standard };
        if window < LOW_WINDOW * mss {
            return SlowStart::Standard;
        }
        let min = ack.min_rtt;
        let mut found = false;
        if ack.now.since(self.last_ack) <= TRAIN_GAP {
            self.last_ack = ack.now;
            // The card's share is a super-segment at twice the window per round trip.
            let card = (ack.srtt * CARD_BYTES) / (2 * window);
            let limit = min + card.min(CARD_DELAY);
            // Pacing spreads a window over half of the round trip by itself.
            let limit = if self.paced { limit } else { limit / 2 };
            found |= ack.now.since(self.round_start) > limit;
        }
        self.round_min = self.round_min.min(rtt);
        if self.samples < SAMPLES {
            self.samples += 1;
        } else {
            found |= self.round_min > min + growth(min);
        }
        if found { SlowStart::Exit } else { SlowStart::Standard }
    }

    fn plus_plus(&mut self, ack: &Ack) -> SlowStart {
        if self.round_end == NO_ROUND || ack.una > self.round_end {
            if self.in_css {
                self.css_rounds += 1;
                if self.css_rounds >= CSS_ROUNDS {
                    return SlowStart::Exit;
                }
            } else {
                self.reference = self.round_min;
            }
            self.begin_round(ack);
        }
        let Some(rtt) = ack.rtt else { return self.pace() };
        self.round_min = self.round_min.min(rtt);
        self.samples = self.samples.saturating_add(1);
        if self.samples >= SAMPLES {
            if self.in_css {
                // It was no queue: resume.
                if self.round_min < self.reference {
                    self.in_css = false;
                    self.reference = Span::MAX;
                }
            } else if self.reference < Span::MAX
                && self.round_min >= self.reference + growth(self.reference)
            {
                self.in_css = true;
                self.css_rounds = 0;
                self.reference = self.round_min;
            }
        }
        self.pace()
    }

    fn pace(&self) -> SlowStart {
        if self.in_css { SlowStart::Conservative } else { SlowStart::Standard }
    }
}

/// An eighth, but 4 to 16 ms.
fn growth(rtt: Span) -> Span {
    (rtt / 8).clamp(MIN_GROWTH, GREATEST_GROWTH)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ack, params};
    use super::*;

    const ROUND: u64 = 100_000;

    fn detector(kind: HyStartKind, paced: bool) -> HyStart {
        HyStart::new(kind, paced).expect("a detector")
    }

    /// An acknowledgement in a round, with the round trip in microseconds.
    fn in_round(round: u64, millis: u64, rtt: u64) -> Ack {
        Ack {
            now: Time::START + Span::from_millis(millis),
            rtt: Some(Span::from_micros(rtt)),
            una: round * ROUND + 1,
            nxt: (round + 1) * ROUND,
            ..ack(1000)
        }
    }

    /// RFC 9406, section 4.2: an eighth, at least 4 and at most 16 ms.
    #[test]
    fn an_eighth_within_bounds_ends_slow_start() {
        for (rtt, more) in [(10, 4), (32, 4), (64, 8), (128, 16), (500, 16)] {
            assert_eq!(growth(Span::from_millis(rtt)), Span::from_millis(more), "{rtt}");
        }
    }

    /// Linux: hystart_update. A train of acknowledgements this far apart ends slow start when it is as long
    /// as half of the least round trip, here 100 ms, and of the millisecond of the card; all of it with pacing.
    #[test]
    fn a_train_of_half_a_round_trip_ends_slow_start() {
        let exit = |paced, apart: u64, window| {
            let mut hystart = detector(HyStartKind::Linux, paced);
            (0..200).step_by(apart as usize).find(|&millis| {
                let ack = in_round(0, millis, 100_000);
                hystart.on_ack(&ack, window, 1000) == SlowStart::Exit
            })
        };
        assert_eq!(exit(false, 1, 16_000), Some(51));
        assert_eq!(exit(false, 2, 16_000), Some(52));
        assert_eq!(exit(true, 1, 16_000), Some(102));
        assert_eq!(exit(false, 3, 16_000), None, "no train");
        assert_eq!(exit(false, 1, 15_999), None, "below 16 segments");
        // At 100 segments a millisecond the 262 that the card may hold take 1.3 ms at twice that rate, which
        // counts as 1 ms; at 2000 they take less.
        assert_eq!(exit(true, 1, 10_000_000), Some(102));
        assert_eq!(exit(true, 1, 200_000_000), Some(101));
    }

    /// Linux: the least of the first eight samples, compared from the ninth on.
    #[test]
    fn a_round_trip_that_grew_by_an_eighth_ends_slow_start() {
        let exit = |rtts: &[u64]| {
            let mut hystart = detector(HyStartKind::Linux, false);
            rtts.iter().zip(0..).position(|(&rtt, index)| {
                hystart.on_ack(&in_round(0, 5 * index, rtt), 20_000, 1000) == SlowStart::Exit
            })
        };
        assert_eq!(exit(&[112_501; 20]), Some(8));
        assert_eq!(exit(&[112_500; 20]), None);
        let mut rtts = [130_000; 20];
        rtts[7] = 100_000;
        assert_eq!(exit(&rtts), None, "one sample without a queue");
    }

    /// The verdict of HyStart++ on eight samples of a round.
    fn round(hystart: &mut HyStart, round: u64, millis: u64) -> Vec<SlowStart> {
        let ack = in_round(round, 0, 1000 * millis);
        (0..8).map(|_| hystart.on_ack(&ack, 20_000, 1000)).collect()
    }

    /// RFC 9406, section 4.2: the round trip of a round against that of the round before, from the eighth
    /// sample on.
    #[test]
    fn growth_from_round_to_round_makes_slow_start_conservative() {
        for (second, third, last) in [
            (112, 125, SlowStart::Standard),
            (112, 126, SlowStart::Conservative),
            (100, 113, SlowStart::Conservative),
        ] {
            let mut hystart = detector(HyStartKind::PlusPlus, false);
            assert_eq!(round(&mut hystart, 0, 100), [SlowStart::Standard; 8]);
            assert_eq!(round(&mut hystart, 1, second), [SlowStart::Standard; 8]);
            let said = round(&mut hystart, 2, third);
            assert_eq!(said[..7], [SlowStart::Standard; 7]);
            assert_eq!(said[7], last, "{second} {third}");
        }
    }

    /// The same: below the baseline, which is the round trip that was too long, slow start is resumed. At it
    /// or above it goes on conservatively, for five rounds.
    #[test]
    fn conservative_slow_start_is_left_when_the_queue_is_gone() {
        let conservative = || {
            let mut hystart = detector(HyStartKind::PlusPlus, false);
            round(&mut hystart, 0, 100);
            assert_eq!(round(&mut hystart, 1, 120)[7], SlowStart::Conservative);
            hystart
        };
        for (millis, then) in [
            (119, SlowStart::Standard),
            (120, SlowStart::Conservative),
            (125, SlowStart::Conservative),
        ] {
            let said = round(&mut conservative(), 2, millis);
            assert_eq!(said[..7], [SlowStart::Conservative; 7]);
            assert_eq!(said[7], then, "{millis}");
        }
        let mut hystart = conservative();
        for index in 2..6 {
            assert_eq!(round(&mut hystart, index, 125), [SlowStart::Conservative; 8]);
        }
        assert_eq!(round(&mut hystart, 6, 125)[0], SlowStart::Exit);
    }

    /// Once it has found the end, it sets the threshold to the window, and is gone.
    #[test]
    fn the_end_of_slow_start_is_found_once() {
        let mut window = Window::new(&params(20));
        let mut slot = HyStart::new(HyStartKind::Linux, false);
        for millis in 0..=51 {
            assert_eq!(window.threshold, u64::MAX, "{millis}");
            HyStart::consult(&mut slot, &in_round(0, millis, 100_000), &mut window);
        }
        assert_eq!((window.bytes, window.threshold), (20_000, 20_000));
        assert!(slot.is_none());
    }
}
