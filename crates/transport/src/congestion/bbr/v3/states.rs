use super::super::{FULL_PIPE_GROWTH, FULL_PIPE_ROUNDS, PROBE_RTT_TIME};
use super::{AckPhase, BbrV3, gained};
use crate::congestion::{Ack, RateSample};
use flashcrowd_base::{Span, Time};

/// Ranges lost in a round that may end start-up (`StartupFullLossCnt`): here, acknowledgements that
/// told of losses, as in the authors' code for Linux.
const STARTUP_LOSS_EVENTS: u32 = 6;
/// Rounds after which Drain ends whatever is in flight (section 5.3.2).
const MAX_DRAIN_ROUNDS: u64 = 3;
/// Between probes for bandwidth lie two to three seconds, drawn at random (section 5.3.3.5.3) ...
const MIN_PROBE_WAIT: Span = Span::from_secs(2);
const PROBE_WAIT_SPREAD: Span = Span::from_secs(1);
/// ... or as many rounds as Reno would take to win the window back, at most this.
const MAX_RENO_ROUNDS: u64 = 63;
/// Rounds in which the growth of the long-term bound doubles, at most.
const MAX_DOUBLINGS: u32 = 30;
/// The least round trip is that of this time (`MinRTTFilterLen`); it is looked for this often (`ProbeRTTInterval`).
const MIN_RTT_WINDOW: Span = Span::from_secs(10);
const PROBE_RTT_INTERVAL: Span = Span::from_secs(5);

/// What it is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Doubles the rate each round until the pipe is full.
    Startup,
    /// Empties the queue that this has built.
    Drain,
    /// Sends less than the bandwidth, until there is headroom.
    ProbeDown,
    /// Sends at the bandwidth.
    ProbeCruise,
    /// Fills the headroom for a round.
    ProbeRefill,
    /// Sends more than the bandwidth.
    ProbeUp,
    /// Halves what is in flight to see the round trip without a queue.
    ProbeRtt,
}

impl State {
    /// Section 5.6.1: the table of gains, as is the next.
    pub(super) fn pacing_gain(self) -> (u64, u64) {
        match self {
            State::Startup => (277, 100),
            State::Drain => (50, 100),
            State::ProbeDown => (90, 100),
            State::ProbeCruise | State::ProbeRefill | State::ProbeRtt => (1, 1),
            State::ProbeUp => (125, 100),
        }
    }

    pub(super) fn window_gain(self) -> (u64, u64) {
        match self {
            State::ProbeUp => (225, 100),
            State::ProbeRtt => (1, 2),
            _ => (2, 1),
        }
    }

    pub(super) fn probes_bandwidth(self) -> bool {
        use State::{ProbeCruise, ProbeDown, ProbeRefill, ProbeUp};
        matches!(self, ProbeDown | ProbeCruise | ProbeRefill | ProbeUp)
    }

    /// It sends more to see whether more arrives, so that losses are no surprise.
    pub(super) fn is_accelerating(self) -> bool {
        matches!(self, State::Startup | State::ProbeRefill | State::ProbeUp)
    }
}

/// How states follow each other (section 5.3).
impl BbrV3 {
    pub(super) fn reset_full(&mut self) {
        self.full_bandwidth = 0;
        self.full_rounds = 0;
        self.full_now = false;
    }

    pub(super) fn check_full(&mut self, sample: &RateSample) {
        if self.full_now || !self.rounds.started || sample.app_limited {
            return;
        }
        let rate = sample.rate().unwrap_or(0);
        if rate >= gained(self.full_bandwidth, FULL_PIPE_GROWTH) {
            self.reset_full();
            self.full_bandwidth = rate;
            return;
        }
        self.full_rounds += 1;
        self.full_now = self.full_rounds >= FULL_PIPE_ROUNDS;
        self.full |= self.full_now;
    }

    pub(super) fn check_startup_done(&mut self, sample: &RateSample) {
        if self.state != State::Startup {
            return;
        }
        let lossy = self.recovering
            && self.model.loss_round_started()
            && self.model.loss_events >= STARTUP_LOSS_EVENTS
            && BbrV3::sample_is_too_high(sample);
        if lossy && !self.full {
            self.undo.state = Some(State::Startup);
            self.full = true;
            self.model.inflight_longterm = self.bdp().max(self.model.inflight_latest());
        }
        if self.full {
            self.state = State::Drain;
            self.drain_began = self.rounds.count;
        }
    }

    pub(super) fn check_drain_done(&mut self, now: Time, sample: &RateSample) {
        if self.state != State::Drain {
            return;
        }
        let late = self.rounds.count > self.drain_began + MAX_DRAIN_ROUNDS;
        if late || sample.in_flight <= self.in_flight_at(self.model.bw()) {
            self.start_probe_down(now, sample.total_delivered);
        }
    }

    pub(super) fn start_probe_down(&mut self, now: Time, delivered: u64) {
        self.model.reset_congestion();
        self.probe_up_price = u64::MAX;
        self.rounds_since_probe = self.stream.below(2) as u64;
        self.probe_wait = self.stream.between(MIN_PROBE_WAIT, MIN_PROBE_WAIT + PROBE_WAIT_SPREAD);
        self.cycle_at = now;
        self.ack_phase = AckPhase::Stopping;
        self.rounds.restart(delivered);
        self.state = State::ProbeDown;
    }

    pub(super) fn start_probe_refill(&mut self, delivered: u64) {
        self.model.reset_shortterm();
        self.probe_up_rounds = 0;
        self.probe_up_acked = 0;
        self.probe_was_cautious = false;
        self.ack_phase = AckPhase::Refilling;
        self.rounds.restart(delivered);
        self.state = State::ProbeRefill;
    }

    fn start_probe_up(&mut self, sample: &RateSample) {
        self.ack_phase = AckPhase::Starting;
        self.rounds.restart(sample.total_delivered);
        self.reset_full();
        self.full_bandwidth = sample.rate().unwrap_or(0);
        self.state = State::ProbeUp;
        self.raise_slope();
    }

    fn raise_slope(&mut self) {
        let growth = 1u64 << self.probe_up_rounds;
        self.probe_up_rounds = (self.probe_up_rounds + 1).min(MAX_DOUBLINGS);
        self.probe_up_price = (self.window / growth).max(self.packet);
    }

    pub(super) fn update_cycle(&mut self, ack: &Ack, sample: &RateSample) {
        if !self.full || self.adapt_longterm(ack, sample) {
            return;
        }
        let state = self.state;
        match state {
            State::ProbeDown | State::ProbeCruise => {
                if self.is_time_to_probe(ack.now) {
                    self.start_probe_refill(sample.total_delivered);
                } else if self.state == State::ProbeDown && self.is_time_to_cruise(sample) {
                    self.state = State::ProbeCruise;
                }
            }
            State::ProbeRefill if self.rounds.started => {
                self.is_probe_sample = true;
                self.start_probe_up(sample);
            }
            State::ProbeUp if self.is_time_to_go_down(ack, sample) => {
                self.probe_was_too_high = false;
                self.start_probe_down(ack.now, sample.total_delivered);
            }
            _ => {}
        }
    }

    fn is_time_to_probe(&self, now: Time) -> bool {
        let rounds = (self.target_in_flight() / self.packet).min(MAX_RENO_ROUNDS);
        now > self.cycle_at + self.probe_wait || self.rounds_since_probe >= rounds
    }

    fn is_time_to_cruise(&self, sample: &RateSample) -> bool {
        sample.in_flight <= self.in_flight_with_headroom()
            && sample.in_flight <= self.in_flight_at(self.model.max_bw())
    }

    fn is_time_to_go_down(&mut self, ack: &Ack, sample: &RateSample) -> bool {
        let longterm = self.model.inflight_longterm;
        if self.probe_was_too_high && sample.in_flight >= longterm {
            self.probe_was_cautious = true;
            return true;
        }
        if ack.window_limited && self.window >= longterm {
            // The bound limits the rate, not the path.
            self.reset_full();
            self.full_bandwidth = sample.rate().unwrap_or(0);
            return false;
        }
        self.full_now
    }

    /// Follows the samples of a probe. Whether that has led to another state.
    fn adapt_longterm(&mut self, ack: &Ack, sample: &RateSample) -> bool {
        let new_round = self.rounds.started;
        if self.ack_phase == AckPhase::Starting && new_round {
            self.ack_phase = AckPhase::Feedback;
        }
        if self.ack_phase == AckPhase::Stopping && new_round {
            self.is_probe_sample = false;
            self.ack_phase = AckPhase::Init;
            let probes = self.state.probes_bandwidth();
            if probes && !sample.app_limited {
                self.model.advance_max_bw();
            }
            if probes && self.probe_was_cautious && !self.probe_was_too_high {
                self.start_probe_refill(sample.total_delivered);
                return true;
            }
        }
        if !BbrV3::sample_is_too_high(sample) && self.model.inflight_longterm < u64::MAX {
            let longterm = &mut self.model.inflight_longterm;
            *longterm = (*longterm).max(sample.tx_in_flight);
            if self.state == State::ProbeUp {
                self.raise_longterm(ack);
            }
        }
        false
    }

    fn raise_longterm(&mut self, ack: &Ack) {
        if !ack.window_limited || self.window < self.model.inflight_longterm {
            return;
        }
        self.probe_up_acked += ack.acked;
        if self.probe_up_acked >= self.probe_up_price {
            let packets = self.probe_up_acked / self.probe_up_price;
            self.probe_up_acked -= packets * self.probe_up_price;
            self.model.inflight_longterm += packets * self.packet;
        }
        if self.rounds.started {
            self.raise_slope();
        }
    }

    pub(super) fn update_min_rtt(&mut self, ack: &Ack) {
        let now = ack.now;
        self.probe_rtt_expired = now > self.probe_rtt_at + PROBE_RTT_INTERVAL;
        if let Some(rtt) = ack.rtt
            && (rtt < self.probe_rtt_delay || self.probe_rtt_expired)
        {
            self.probe_rtt_delay = rtt;
            self.probe_rtt_at = now;
        }
        let expired = now > self.min_rtt_at + MIN_RTT_WINDOW;
        if self.probe_rtt_delay < self.min_rtt || expired {
            self.min_rtt = self.probe_rtt_delay;
            self.min_rtt_at = self.probe_rtt_at;
        }
    }

    pub(super) fn check_probe_rtt(&mut self, now: Time, sample: &RateSample) {
        let delivered = sample.total_delivered;
        if self.state != State::ProbeRtt && self.probe_rtt_expired && !self.idle_restart {
            self.save_window();
            self.state = State::ProbeRtt;
            self.probe_rtt_until = None;
            self.ack_phase = AckPhase::Stopping;
            self.rounds.restart(delivered);
        }
        if self.state == State::ProbeRtt {
            if self.probe_rtt_until.is_some() {
                self.probe_rtt_round_done |= self.rounds.started;
                if self.probe_rtt_round_done {
                    self.check_probe_rtt_done(now, delivered);
                }
            } else if sample.in_flight <= self.probe_rtt_window() {
                self.probe_rtt_until = Some(now + PROBE_RTT_TIME);
                self.probe_rtt_round_done = false;
                self.rounds.restart(delivered);
            }
        }
        if sample.delivered > 0 {
            self.idle_restart = false;
        }
    }

    pub(super) fn check_probe_rtt_done(&mut self, now: Time, delivered: u64) {
        if self.probe_rtt_until.is_none_or(|until| now <= until) {
            return;
        }
        self.probe_rtt_at = now;
        self.restore_window();
        self.model.reset_shortterm();
        if self.full {
            self.start_probe_down(now, delivered);
            self.state = State::ProbeCruise;
        } else {
            self.state = State::Startup;
        }
    }
}
