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
/// The growth of the round trip that ends slow start lies between these.
const MIN_GROWTH: Span = Span::from_millis(4);
const GREATEST_GROWTH: Span = Span::from_millis(16);
/// Linux looks from this window on, in segments.
const LOW_WINDOW: u64 = 16;
/// Acknowledgements that are no further apart belong to one train.
const TRAIN_GAP: Span = Span::from_millis(2);
/// What a network card may delay a train by at most, and the super-segment it is computed from.
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

/// The exit detector of one connection. It stands in its controller: in a box it would be one more
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
