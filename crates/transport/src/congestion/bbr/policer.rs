use crate::congestion::RateSample;
use crate::rate::per_second;
use flashcrowd_base::Time;

/// Looks for a token-bucket policer: two intervals in a row of much loss and the same rate. Then that
/// rate is used for a while (Linux: `bbr_lt_bw_sampling`, "long-term bandwidth").
#[derive(Clone, Debug, Default)]
pub(super) struct Policer {
    sampling: bool,
    /// Rounds of this interval, or of using the rate.
    rounds: u32,
    /// The rate of the last interval with losses, and whether it is in use.
    rate: u64,
    uses: bool,
    /// Where the interval began: when, delivered, lost.
    begun: (Time, u64, u64),
    /// Lost in all.
    lost: u64,
}

/// Rounds of an interval, at least and at most four times this (`bbr_lt_intvl_min_rtts`).
const INTERVAL_ROUNDS: u32 = 4;
/// Share of lost packets, in 256ths of those delivered, from which an interval counts
/// (`bbr_lt_loss_thresh`).
const LOSS_THRESHOLD: u64 = 50;
/// Two rates are the same that differ by an eighth (`bbr_lt_bw_ratio`) or 4 kbit/s (`bbr_lt_bw_diff`).
const SAME_RATIO: u64 = 8;
const SAME_BYTES: u64 = 4000 / 8;
/// Rounds for which the long-term rate is used (`bbr_lt_bw_max_rtts`).
const USED_ROUNDS: u32 = 48;

impl Policer {
    /// The rate of a policer that was found.
    pub(super) fn rate(&self) -> Option<u64> {
        self.uses.then_some(self.rate)
    }

    /// Starts from zero.
    pub(super) fn reset(&mut self, now: Time, delivered: u64) {
        *self = Policer { lost: self.lost, ..Policer::default() };
        self.begin(now, delivered);
    }

    fn begin(&mut self, now: Time, delivered: u64) {
        self.begun = (now, delivered, self.lost);
        self.rounds = 0;
    }

    /// An acknowledgement. Returns whether a policer's rate is no longer used from now on.
    pub(super) fn update(
        &mut self,
        now: Time,
        sample: &RateSample,
        new_round: bool,
        steady: bool,
    ) -> bool {
        self.lost += sample.newly_lost;
        if self.uses {
            self.rounds += u32::from(steady && new_round);
            if self.rounds >= USED_ROUNDS {
                self.reset(now, sample.total_delivered);
                return true;
            }
            return false;
        }
        // An interval begins with a loss: the bucket is empty.
        if !self.sampling {
            if sample.newly_lost == 0 {
                return false;
            }
            self.begin(now, sample.total_delivered);
            self.sampling = true;
        }
        if sample.app_limited {
            self.reset(now, sample.total_delivered);
            return false;
        }
        self.rounds += u32::from(new_round);
        if self.rounds < INTERVAL_ROUNDS {
            return false;
        }
        if self.rounds > 4 * INTERVAL_ROUNDS {
            self.reset(now, sample.total_delivered);
            return false;
        }
        // And ends with one.
        if sample.newly_lost == 0 {
            return false;
        }
        let (begun, delivered, lost) = self.begun;
        let (lost, delivered) = (self.lost - lost, sample.total_delivered - delivered);
        let took = now.since(begun);
        if delivered == 0 || lost * 256 < LOSS_THRESHOLD * delivered || took.is_zero() {
            return false;
        }
        self.finish(now, sample.total_delivered, per_second(delivered, took));
        false
    }

    /// An interval with much loss is over.
    fn finish(&mut self, now: Time, delivered: u64, rate: u64) {
        let apart = rate.abs_diff(self.rate);
        if self.rate > 0 && (apart * SAME_RATIO <= self.rate || apart <= SAME_BYTES) {
            self.rate = rate.midpoint(self.rate);
            self.uses = true;
            self.rounds = 0;
            return;
        }
        self.rate = rate;
        self.begin(now, delivered);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashcrowd_base::Span;

    /// 100 packets a round arrive, and this many are lost.
    fn rounds(lost: u64) -> Option<u64> {
        let mut policer = Policer::default();
        let mut now = Time::START;
        for round in 0..20 {
            now += Span::from_millis(100);
            let sample = RateSample {
                total_delivered: 100_000 * (round + 1),
                newly_lost: lost,
                ..RateSample::default()
            };
            policer.update(now, &sample, true, true);
        }
        policer.rate()
    }

    #[test]
    fn a_fifth_lost_at_a_steady_rate_is_a_policer() {
        assert_eq!(rounds(20_000), Some(1_000_000));
        assert_eq!(rounds(19_000), None, "below 50/256 of what arrives");
    }
}
