use flashcrowd_base::Span;

/// How much faster or slower than another the clock of a machine may be: what quartz is specified at, 50
/// of a million each way.
const DRIFT_OF_MILLION: u64 = 100;

/// How far another node's clock is from this one's: from the echo that took least of many, as its time
/// was least divided unevenly between the ways.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Offset {
    /// The estimate that counts.
    known: Option<Estimate>,
    /// The best since it was last [settled](Offset::settle).
    best: Option<Estimate>,
}

/// The result of one echo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Estimate {
    /// The other clock less this one, in nanoseconds.
    pub(crate) offset_ns: i64,
    /// How long the echo was on its way, there and back.
    pub(crate) round_trip: Span,
    /// When it came back, by this clock.
    at_ns: u64,
}

impl Estimate {
    /// By how much it may be wrong at an instant of this clock: by half of the way, if all of it was one
    /// way's, and by what clocks may have run apart since.
    pub(crate) fn uncertainty(&self, now_ns: u64) -> Span {
        let age = Span::from_nanos(now_ns.saturating_sub(self.at_ns));
        self.round_trip / 2 + age / 1_000_000 * DRIFT_OF_MILLION
    }
}

impl Offset {
    /// An echo was asked at one instant of this clock and its answer came at another; between them the
    /// other clock had the times at which it was heard and answered.
    pub(crate) fn hear(&mut self, asked_ns: u64, heard_ns: u64, answered_ns: u64, back_ns: u64) {
        let away = back_ns.saturating_sub(asked_ns);
        let there = answered_ns.saturating_sub(heard_ns);
        let forth = heard_ns.wrapping_sub(asked_ns) as i64;
        let behind = answered_ns.wrapping_sub(back_ns) as i64;
        let offset_ns = (i128::from(forth) + i128::from(behind)) / 2;
        let heard = Estimate {
            offset_ns: offset_ns as i64,
            round_trip: Span::from_nanos(away.saturating_sub(there)),
            at_ns: back_ns,
        };
        if self.best.is_none_or(|best| heard.round_trip <= best.round_trip) {
            self.best = Some(heard);
        }
    }

    /// Takes over the best echo since the last call, unless what is known is more certain, by its age as
    /// well; what counts then.
    pub(crate) fn settle(&mut self, now_ns: u64) -> Option<Estimate> {
        if let Some(best) = self.best.take()
            && self.known.is_none_or(|it| best.uncertainty(now_ns) <= it.uncertainty(now_ns))
        {
            self.known = Some(best);
        }
        self.known
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Two clocks that run apart, and ways that are slow now and then: what is known is never further
        /// from the truth than it says.
        #[test]
        fn the_truth_is_within_the_uncertainty(
            apart in -1_000_000_000i64..1_000_000_000,
            drift_of_million in -50i64..50,
            ways in prop::collection::vec((20_000u64..400_000, 20_000u64..4_000_000), 10..200),
        ) {
            let start = 5_000_000_000u64;
            let theirs = |at: u64| {
                let since = (at - start) as i64;
                (at as i64 + apart + since * drift_of_million / 1_000_000) as u64
            };
            let mut offset = Offset::default();
            let mut now = start;
            for (number, (forth, back)) in ways.into_iter().enumerate() {
                now += 100_000_000;
                let (heard, answered) = (now + forth, now + forth + 3_000);
                offset.hear(now, theirs(heard), theirs(answered), answered + back);
                now = answered + back;
                if number % 10 == 9 {
                    let known = offset.settle(now).expect("ten were heard");
                    let truth = theirs(now) as i64 - now as i64;
                    let wrong = (known.offset_ns - truth).unsigned_abs();
                    prop_assert!(wrong <= known.uncertainty(now).nanos() + 1_000);
                }
            }
        }
    }

    #[test]
    fn a_worse_echo_does_not_replace_a_better_one_until_that_is_old() {
        let mut offset = Offset::default();
        offset.hear(1_000, 50_000 + 2_000, 50_000 + 2_000, 3_000);
        let good = offset.settle(3_000).expect("it was heard");
        assert_eq!((good.offset_ns, good.round_trip), (50_000, Span::from_nanos(2_000)));
        let second = 1_000_000_000;
        offset.hear(second, second + 400_000, second + 400_000, second + 400_000);
        assert_eq!(offset.settle(second + 400_000), Some(good));
        let late = 10 * second;
        offset.hear(late, late + 60_000, late + 60_000, late + 20_000);
        let next = offset.settle(late + 20_000).expect("it was heard");
        assert_eq!(next.offset_ns, 50_000);
        assert_ne!(next, good);
    }
}
