use super::states::State;
use super::{BbrV3, Rounds, gained};
use crate::congestion::{LostData, RateSample};

/// More than this lost of what was in flight is too much: 2 % (`LossThresh`).
const LOSS_THRESHOLD: (u64, u64) = (2, 100);
/// The factor by which a round with losses cuts a bound (`Beta`).
const BETA: (u64, u64) = (7, 10);
/// The part of the long-term bound that is left to others: 0.15 (`Headroom`).
const HEADROOM: (u64, u64) = (15, 100);

/// The capacity that the path is believed to have, in bytes and bytes per second; without a bound
/// `u64::MAX`.
#[derive(Clone, Debug)]
pub(super) struct Model {
    /// The greatest rate of the last cycle and of this one.
    max_bw: [u64; 2],
    pub(super) bw_shortterm: u64,
    pub(super) inflight_shortterm: u64,
    pub(super) inflight_longterm: u64,
    /// The greatest of this round.
    bw_latest: u64,
    inflight_latest: u64,
    loss_rounds: Rounds,
    loss_in_round: bool,
    pub(super) loss_events: u32,
}

impl Model {
    pub(super) fn new() -> Model {
        Model {
            max_bw: [0; 2],
            bw_shortterm: u64::MAX,
            inflight_shortterm: u64::MAX,
            inflight_longterm: u64::MAX,
            bw_latest: 0,
            inflight_latest: 0,
            loss_rounds: Rounds::default(),
            loss_in_round: false,
            loss_events: 0,
        }
    }

    pub(super) fn max_bw(&self) -> u64 {
        self.max_bw[0].max(self.max_bw[1])
    }

    /// The bandwidth in use.
    pub(super) fn bw(&self) -> u64 {
        self.max_bw().min(self.bw_shortterm)
    }

    /// A cycle of probing is over. Without a sample the last stays.
    pub(super) fn advance_max_bw(&mut self) {
        if self.max_bw[1] > 0 {
            self.max_bw = [self.max_bw[1], 0];
        }
    }

    /// The most that one round delivered.
    pub(super) fn inflight_latest(&self) -> u64 {
        self.inflight_latest
    }

    pub(super) fn loss_round_started(&self) -> bool {
        self.loss_rounds.started
    }

    pub(super) fn reset_congestion(&mut self) {
        self.loss_in_round = false;
        self.bw_latest = 0;
        self.inflight_latest = 0;
    }

    pub(super) fn reset_shortterm(&mut self) {
        self.bw_shortterm = u64::MAX;
        self.inflight_shortterm = u64::MAX;
    }
}

/// Whether the loss rate of `lost` bytes of those in flight exceeds the threshold (`BBR.LossThresh`).
fn is_too_high(lost: u64, tx_in_flight: u64) -> bool {
    u128::from(lost) * u128::from(LOSS_THRESHOLD.1)
        > u128::from(tx_in_flight) * u128::from(LOSS_THRESHOLD.0)
}

/// At how much in flight the losses crossed the threshold, somewhere in the packet that was lost
/// (section 5.5.10.2: `InflightAtLoss`).
fn in_flight_at_loss(lost: &LostData) -> u64 {
    let (above, below) = LOSS_THRESHOLD;
    let before = lost.tx_in_flight.saturating_sub(lost.bytes);
    let lost_before = lost.lost.saturating_sub(lost.bytes);
    let prefix = (above * before).saturating_sub(below * lost_before) / (below - above);
    before + prefix
}

/// How the model follows deliveries and losses (section 5.5).
impl BbrV3 {
    pub(super) fn update_latest_delivery(&mut self, sample: &RateSample) {
        let model = &mut self.model;
        model.bw_latest = model.bw_latest.max(sample.rate().unwrap_or(0));
        model.inflight_latest = model.inflight_latest.max(sample.delivered);
        model.loss_rounds.update(sample.prior_delivered, sample.total_delivered);
        model.loss_events += u32::from(sample.newly_lost > 0);
    }

    pub(super) fn advance_latest_delivery(&mut self, sample: &RateSample) {
        let model = &mut self.model;
        if model.loss_rounds.started {
            model.bw_latest = sample.rate().unwrap_or(0);
            model.inflight_latest = sample.delivered;
            model.loss_events = 0;
        }
    }

    pub(super) fn update_congestion(&mut self, sample: &RateSample) {
        let rate = sample.rate();
        self.rounds.started = false;
        if sample.delivered > 0 {
            self.rounds.update(sample.prior_delivered, sample.total_delivered);
        }
        self.rounds_since_probe += u64::from(self.rounds.started);
        let model = &mut self.model;
        if let Some(rate) = rate
            && (rate >= model.max_bw() || !sample.app_limited)
        {
            model.max_bw[1] = model.max_bw[1].max(rate);
        }
        if !model.loss_rounds.started {
            return;
        }
        // Once per round trip, unless it is probing.
        if model.loss_in_round && !self.state.is_accelerating() {
            if model.bw_shortterm == u64::MAX {
                model.bw_shortterm = model.max_bw();
            }
            if model.inflight_shortterm == u64::MAX {
                model.inflight_shortterm = self.window;
            }
            model.bw_shortterm = model.bw_latest.max(gained(model.bw_shortterm, BETA));
            model.inflight_shortterm =
                model.inflight_latest.max(gained(model.inflight_shortterm, BETA));
        }
        model.loss_in_round = false;
    }

    /// Whether the loss rate of this sample exceeds the threshold.
    pub(super) fn sample_is_too_high(sample: &RateSample) -> bool {
        is_too_high(sample.lost, sample.tx_in_flight)
    }

    pub(super) fn handle_lost(&mut self, lost: &LostData) {
        if !self.model.loss_in_round {
            self.model.loss_rounds.restart(lost.total_delivered);
            self.save_state();
        }
        self.model.loss_in_round = true;
        if !self.is_probe_sample || !is_too_high(lost.lost, lost.tx_in_flight) {
            return;
        }
        // Once per probe.
        self.probe_was_too_high = true;
        self.is_probe_sample = false;
        if !lost.app_limited {
            let target = gained(self.target_in_flight(), BETA);
            self.model.inflight_longterm = in_flight_at_loss(lost).max(target);
        }
        if self.state == State::ProbeUp {
            self.undo.state = Some(State::ProbeUp);
            self.start_probe_down(lost.now, lost.total_delivered);
        }
    }

    pub(super) fn in_flight_with_headroom(&self) -> u64 {
        let longterm = self.model.inflight_longterm;
        if longterm == u64::MAX {
            return u64::MAX;
        }
        let headroom = gained(longterm, HEADROOM).max(self.packet);
        longterm.saturating_sub(headroom).max(self.min_window())
    }

    /// The losses were none (section 5.5.11.2).
    pub(super) fn undo_loss(&mut self) {
        self.restore_window();
        self.model.loss_in_round = false;
        self.reset_full();
        let model = &mut self.model;
        model.bw_shortterm = model.bw_shortterm.max(self.undo.bw_shortterm);
        model.inflight_shortterm = model.inflight_shortterm.max(self.undo.inflight_shortterm);
        model.inflight_longterm = model.inflight_longterm.max(self.undo.inflight_longterm);
        match self.undo.state.take() {
            Some(State::Startup) if self.state != State::Startup => {
                self.full = false;
                if self.state != State::ProbeRtt {
                    self.state = State::Startup;
                }
            }
            Some(State::ProbeUp) if !matches!(self.state, State::ProbeUp | State::ProbeRtt) => {
                let delivered = self.rounds.ends_at;
                self.start_probe_refill(delivered);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{flowing, rate};
    use super::*;
    use crate::congestion::Controller;
    use crate::congestion::tests::loss;
    use flashcrowd_base::Time;

    /// 100 packets in flight before a packet of ten, one lost before: the threshold is crossed where
    /// (1 + x) / (100 + x) is 2 %, one packet and a bit into it.
    #[test]
    fn the_loss_that_was_too_much_lies_within_a_burst() {
        let lost = LostData {
            now: Time::START,
            bytes: 10_000,
            tx_in_flight: 110_000,
            lost: 11_000,
            app_limited: false,
            total_delivered: 0,
        };
        let at = in_flight_at_loss(&lost);
        assert_eq!(at, 100_000 + (2 * 100_000 - 100 * 1000) / 98);
        assert!(is_too_high(2001, 100_000) && !is_too_high(2000, 100_000));
    }

    fn lost(bytes: u64, app_limited: bool) -> LostData {
        let (now, tx_in_flight) = (Time::START, 100_000);
        LostData { now, bytes, tx_in_flight, lost: bytes, app_limited, total_delivered: 0 }
    }

    /// Section 5.5.10.3 (BBRAdaptLowerBounds): 0.7 of the bounds, but not less than the round has delivered.
    #[test]
    fn a_round_with_losses_lowers_the_short_term_bounds() {
        for (state, delivered, bounds) in [
            (State::ProbeCruise, 500_000, (700_000, 500_000)),
            (State::ProbeDown, 800_000, (800_000, 800_000)),
            // It sends more to see what happens: losses are no surprise.
            (State::Startup, 500_000, (u64::MAX, u64::MAX)),
            (State::ProbeRefill, 500_000, (u64::MAX, u64::MAX)),
            (State::ProbeUp, 500_000, (u64::MAX, u64::MAX)),
        ] {
            let mut bbr = flowing(state);
            bbr.window = 600_000;
            bbr.handle_lost(&lost(1000, false));
            let sample = rate(delivered);
            bbr.update_latest_delivery(&sample);
            bbr.update_congestion(&sample);
            let found = |bbr: &BbrV3| (bbr.model.bw_shortterm, bbr.model.inflight_shortterm);
            assert_eq!(found(&bbr), bounds, "{state:?}");
            // The next round is without losses.
            bbr.update_congestion(&sample);
            assert_eq!(found(&bbr), bounds, "{state:?}");
        }
    }

    /// The next round with losses lowers the bounds from where they are.
    #[test]
    fn two_rounds_with_losses_leave_half() {
        let mut bbr = flowing(State::ProbeCruise);
        bbr.window = 100_000;
        let sample = rate(1000);
        for _ in 0..2 {
            bbr.handle_lost(&lost(1000, false));
            bbr.update_latest_delivery(&sample);
            bbr.update_congestion(&sample);
        }
        assert_eq!((bbr.model.bw(), bbr.model.inflight_shortterm), (490_000, 49_000));
        bbr.model.reset_shortterm();
        assert_eq!(bbr.model.bw(), 1_000_000);
    }

    /// MaxBwFilterLen: the greatest of this cycle and the last; what an application limited counts if it is no less.
    #[test]
    fn the_bandwidth_is_the_greatest_of_two_cycles() {
        let mut bbr = flowing(State::ProbeCruise);
        let mut after = |bytes, app_limited, next_cycle| {
            if next_cycle {
                bbr.model.advance_max_bw();
            }
            bbr.update_congestion(&RateSample { app_limited, ..rate(bytes) });
            bbr.model.max_bw()
        };
        assert_eq!(after(600_000, false, false), 1_000_000);
        assert_eq!(after(600_000, true, true), 1_000_000);
        // A cycle without a sample of its own does not count.
        assert_eq!(after(600_000, true, true), 1_000_000);
        assert_eq!(after(600_000, false, false), 1_000_000);
        assert_eq!(after(500_000, false, true), 600_000);
        assert_eq!(after(700_000, true, false), 700_000);
    }

    /// Section 5.5.10.2 (BBRHandleInflightTooHigh): once for each probe. A loss of 3 kB of 100 kB crossed the
    /// threshold at 97 kB and 2 % of what has not been lost; 0.7 of the path is left in any case.
    #[test]
    fn a_probe_that_loses_too_much_sets_the_long_term_bound() {
        let after = |state, probing, lost: LostData| {
            let mut bbr = flowing(state);
            (bbr.window, bbr.is_probe_sample) = (500_000, probing);
            bbr.handle_lost(&lost);
            (bbr.state, bbr.model.inflight_longterm)
        };
        let crossed = 97_000 + 2 * 97_000 / 98;
        let (up, down, refill) = (State::ProbeUp, State::ProbeDown, State::ProbeRefill);
        assert_eq!(after(up, true, lost(3000, false)), (down, crossed));
        assert_eq!(after(up, true, lost(40_000, false)), (down, 70_000));
        assert_eq!(after(refill, true, lost(3000, false)), (refill, crossed));
        assert_eq!(after(up, true, lost(3000, true)), (down, u64::MAX), "limited by its data");
        assert_eq!(after(up, true, lost(2000, false)), (up, u64::MAX));
        assert_eq!(after(up, false, lost(3000, false)), (up, u64::MAX));
    }

    /// Section 5.5.11.2: the losses were none, so the bounds and the probe come back.
    #[test]
    fn what_losses_for_nothing_have_cost_comes_back() {
        let mut bbr = flowing(State::ProbeUp);
        (bbr.window, bbr.is_probe_sample) = (90_000, true);
        bbr.handle_lost(&lost(40_000, false));
        bbr.window = 40_000;
        // 0.7 of a window that was below what the path holds.
        assert_eq!((bbr.state, bbr.model.inflight_longterm), (State::ProbeDown, 63_000));
        bbr.on_undo();
        assert_eq!((bbr.state, bbr.model.inflight_longterm), (State::ProbeRefill, u64::MAX));
        assert_eq!(bbr.window(), 90_000);

        let mut bbr = flowing(State::ProbeCruise);
        bbr.window = 90_000;
        bbr.handle_lost(&lost(3000, false));
        bbr.on_loss(&loss(90_000));
        let sample = rate(1000);
        bbr.update_latest_delivery(&sample);
        bbr.update_congestion(&sample);
        assert_eq!((bbr.model.bw(), bbr.model.inflight_shortterm), (700_000, 63_000));
        bbr.on_undo();
        assert_eq!((bbr.model.bw(), bbr.model.inflight_shortterm), (1_000_000, u64::MAX));
        assert_eq!((bbr.state, bbr.window()), (State::ProbeCruise, 90_000));
    }
}
