use super::states::State;
use super::{BbrV3, Rounds, gained};
use crate::congestion::{LostData, RateSample};

/// More than this lost of what was in flight is too much: 2 % (`LossThresh`).
const LOSS_THRESHOLD: (u64, u64) = (2, 100);
/// What a round with losses leaves of a bound (`Beta`).
const BETA: (u64, u64) = (7, 10);
/// The part of the long-term bound that is left to others: 0.15 (`Headroom`).
const HEADROOM: (u64, u64) = (15, 100);

/// What the path is believed to take, in bytes and bytes per second; without a bound `u64::MAX`.
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
    use super::*;
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
}
