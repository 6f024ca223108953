use super::super::{FULL_PIPE_GROWTH, FULL_PIPE_ROUNDS, PROBE_RTT_TIME};
use super::{AckPhase, BbrV3, gained};
use crate::congestion::{Ack, RateSample};
use flashcrowd_base::{Span, Time};

/// Ranges lost in a round that may end start-up (`StartupFullLossCnt`): here, acknowledgements that
/// reported losses, as in the authors' code for Linux.
const STARTUP_LOSS_EVENTS: u32 = 6;
/// Rounds after which Drain ends whatever is in flight (section 5.3.2).
const MAX_DRAIN_ROUNDS: u64 = 3;
/// Two probes for bandwidth are two to three seconds apart, drawn at random (section 5.3.3.5.3) ...
const MIN_PROBE_WAIT: Span = Span::from_secs(2);
const PROBE_WAIT_SPREAD: Span = Span::from_secs(1);
/// ... or as many rounds as Reno would take to win the window back, at most this.
const MAX_RENO_ROUNDS: u64 = 63;
/// Rounds in which the growth of the long-term bound doubles, at most.
const MAX_DOUBLINGS: u32 = 30;
/// The least round trip is that of this time (`MinRTTFilterLen`); it is looked for this often (`ProbeRTTInterval`).
const MIN_RTT_WINDOW: Span = Span::from_secs(10);
const PROBE_RTT_INTERVAL: Span = Span::from_secs(5);

/// Its state.
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

#[cfg(test)]
mod tests {
    use super::super::super::shared_rules;
    use super::super::tests::{flowing, rate};
    use super::*;
    use crate::congestion::Controller;
    use crate::congestion::tests::{ack, params};

    fn at(millis: u64) -> Time {
        Time::START + Span::from_millis(millis)
    }

    fn in_flight(in_flight: u64) -> RateSample {
        RateSample { in_flight, ..RateSample::default() }
    }

    /// After how many further rounds of these rates the pipe is full.
    fn full_after(rates: &[u64], started: bool, app_limited: bool) -> Option<usize> {
        let mut bbr = BbrV3::new(params(10));
        bbr.rounds.started = started;
        rates.iter().position(|&bytes| {
            bbr.check_full(&RateSample { app_limited, ..rate(bytes) });
            bbr.full
        })
    }

    /// Section 5.3.1.2 (BBRCheckFullBWReached).
    #[test]
    fn three_rounds_without_a_quarter_more_are_a_full_pipe() {
        shared_rules::three_rounds_without_a_quarter_more_are_a_full_pipe(full_after);
    }

    /// Section 5.3.1.3: six acknowledgements in a round that reported losses, of more than 2 %, in a recovery.
    /// The bound is what the path holds, or what a round has delivered.
    #[test]
    fn many_losses_in_a_round_end_start_up() {
        let after = |events, lost, recovering, delivered| {
            let mut bbr = flowing(State::Startup);
            bbr.recovering = recovering;
            let tx_in_flight = 100_000;
            let sample = RateSample { newly_lost: 1000, lost, tx_in_flight, delivered, ..rate(0) };
            for _ in 0..events {
                bbr.update_latest_delivery(&sample);
            }
            bbr.check_startup_done(&sample);
            (bbr.state, bbr.model.inflight_longterm)
        };
        assert_eq!(after(6, 2001, true, 0), (State::Drain, 100_000));
        assert_eq!(after(6, 2001, true, 120_000), (State::Drain, 120_000));
        for (events, lost, recovering) in [(5, 2001, true), (6, 2000, true), (6, 2001, false)] {
            assert_eq!(after(events, lost, recovering, 0), (State::Startup, u64::MAX));
        }
        // Not before the round is over.
        let mut bbr = flowing(State::Startup);
        bbr.recovering = true;
        let sample = RateSample { newly_lost: 1000, lost: 2001, tx_in_flight: 100_000, ..rate(0) };
        for total_delivered in [50_000; 7] {
            bbr.update_latest_delivery(&RateSample { total_delivered, ..sample });
        }
        bbr.check_startup_done(&sample);
        assert_eq!(bbr.state, State::Startup);
    }

    /// Section 5.3.2: until no more is in flight than the path holds, or for three rounds.
    #[test]
    fn a_full_pipe_is_drained_before_it_is_probed() {
        for (rounds, left, then) in [
            (0, 100_001, State::Drain),
            (0, 100_000, State::ProbeDown),
            (3, 100_001, State::Drain),
            (4, 100_001, State::ProbeDown),
        ] {
            let mut bbr = flowing(State::Startup);
            bbr.check_startup_done(&in_flight(200_000));
            assert_eq!(bbr.state, State::Startup);
            bbr.full = true;
            bbr.check_startup_done(&in_flight(200_000));
            assert_eq!(bbr.state, State::Drain);
            bbr.rounds.count += rounds;
            bbr.check_drain_done(at(0), &in_flight(left));
            assert_eq!(bbr.state, then, "{rounds} {left}");
        }
    }

    /// Section 5.3.3.1: down until there is headroom below the long-term bound, 15 % of it, and no queue.
    #[test]
    fn it_cruises_once_there_is_headroom() {
        for (longterm, left, then) in [
            (80_000, 68_001, State::ProbeDown),
            (80_000, 68_000, State::ProbeCruise),
            (u64::MAX, 100_001, State::ProbeDown),
            (u64::MAX, 100_000, State::ProbeCruise),
            (200_000, 100_001, State::ProbeDown),
        ] {
            let mut bbr = flowing(State::ProbeDown);
            bbr.probe_wait = Span::from_secs(2);
            bbr.model.inflight_longterm = longterm;
            bbr.update_cycle(&ack(1000), &in_flight(left));
            assert_eq!(bbr.state, then, "{longterm} {left}");
        }
    }

    /// Section 5.3.3.5.3: after the wait, or after as many rounds as Reno would take for what is in flight, at most
    /// 63 (BBRIsTimeToProbeBW).
    #[test]
    fn it_probes_after_its_wait_or_after_the_rounds_of_reno() {
        for (millis, rounds, window, then) in [
            (2000, 0, 500_000, State::ProbeCruise),
            (2001, 0, 500_000, State::ProbeRefill),
            (0, 62, 500_000, State::ProbeCruise),
            (0, 63, 500_000, State::ProbeRefill),
            (0, 19, 20_000, State::ProbeCruise),
            (0, 20, 20_000, State::ProbeRefill),
        ] {
            let mut bbr = flowing(State::ProbeCruise);
            (bbr.probe_wait, bbr.rounds_since_probe) = (Span::from_secs(2), rounds);
            (bbr.window, bbr.model.bw_shortterm) = (window, 900_000);
            bbr.update_cycle(&Ack { now: at(millis), ..ack(1000) }, &in_flight(90_000));
            assert_eq!(bbr.state, then, "{millis} ms, {rounds} rounds, {window}");
            // A probe begins without the bounds of the last losses.
            let bound = if then == State::ProbeRefill { u64::MAX } else { 900_000 };
            assert_eq!(bbr.model.bw_shortterm, bound);
        }
    }

    /// Sections 5.3.3.3 and 5.3.3.4: a round of refilling, then up until the rate has not grown for three rounds.
    #[test]
    fn it_refills_for_a_round_and_then_probes_until_the_pipe_is_full() {
        let mut bbr = flowing(State::ProbeRefill);
        let sample = RateSample { in_flight: 100_000, ..rate(1_000_000) };
        let mut cycle = |started, window_limited| {
            bbr.rounds.started = started;
            bbr.check_full(&sample);
            bbr.update_cycle(&Ack { window_limited, ..ack(1000) }, &sample);
            bbr.state
        };
        assert_eq!(cycle(false, false), State::ProbeRefill);
        assert_eq!(cycle(true, false), State::ProbeUp);
        assert_eq!([true, true, false].map(|started| cycle(started, false)), [State::ProbeUp; 3]);
        assert_eq!(cycle(true, false), State::ProbeDown);

        // If the bound limits the rate, the path is not full.
        let mut bbr = flowing(State::ProbeUp);
        bbr.model.inflight_longterm = bbr.window;
        for _ in 0..9 {
            bbr.rounds.started = true;
            bbr.check_full(&sample);
            bbr.update_cycle(&ack(0), &sample);
            assert_eq!(bbr.state, State::ProbeUp);
        }
    }

    /// The last probe met high loss: this one stops where that was, and if all went well there the next follows
    /// after a round (section 5.3.3.4).
    #[test]
    fn after_a_probe_of_high_loss_the_next_is_cautious() {
        for (too_high, left, then, next) in [
            (true, 79_999, State::ProbeUp, State::ProbeUp),
            (true, 80_000, State::ProbeDown, State::ProbeRefill),
            (false, 80_000, State::ProbeUp, State::ProbeUp),
        ] {
            let mut bbr = flowing(State::ProbeUp);
            bbr.model.inflight_longterm = 80_000;
            bbr.probe_was_too_high = too_high;
            bbr.rounds.started = false;
            bbr.update_cycle(&ack(1000), &in_flight(left));
            assert_eq!(bbr.state, then, "{too_high} {left}");
            bbr.rounds.started = true;
            bbr.update_cycle(&ack(1000), &in_flight(75_000));
            assert_eq!(bbr.state, next, "{too_high} {left}");
        }
    }

    /// Section 5.3.3.4 (BBRProbeInflightLongtermUpward): in the first round a packet for each window that is
    /// acknowledged, and twice as many in each round after it.
    #[test]
    fn a_probe_raises_the_bound_faster_each_round() {
        let mut bbr = flowing(State::ProbeRefill);
        bbr.window = 100_000;
        bbr.model.inflight_longterm = 50_000;
        bbr.update_cycle(&ack(1000), &in_flight(50_000));
        assert_eq!(bbr.state, State::ProbeUp);
        for (acked, started, longterm) in [
            (60_000, false, 50_000),
            (60_000, false, 51_000),
            // 20 kB were left. This round has had its packets when the next begins.
            (80_000, true, 52_000),
            (110_000, false, 54_000),
            (40_000, true, 55_000),
            (25_000, false, 56_000),
        ] {
            bbr.rounds.started = started;
            bbr.update_cycle(&ack(acked), &in_flight(50_000));
            assert_eq!(bbr.model.inflight_longterm, longterm, "{acked} {started}");
        }
        // Only what uses the bound raises it.
        bbr.update_cycle(&Ack { window_limited: false, ..ack(100_000) }, &in_flight(50_000));
        bbr.window = 55_999;
        bbr.update_cycle(&ack(100_000), &in_flight(50_000));
        assert_eq!(bbr.model.inflight_longterm, 56_000);
    }

    /// Section 5.3.3.6 (BBRAdaptLongTermModel): what was in flight without too many losses is no longer too much.
    #[test]
    fn what_went_well_raises_the_bound() {
        for (longterm, lost, then) in [
            (80_000, 0, 90_000),
            (80_000, 1800, 90_000),
            (80_000, 1801, 80_000),
            (95_000, 0, 95_000),
            (u64::MAX, 0, u64::MAX),
        ] {
            let mut bbr = flowing(State::ProbeCruise);
            bbr.model.inflight_longterm = longterm;
            let tx_in_flight = 90_000;
            bbr.update_cycle(&ack(1000), &RateSample { tx_in_flight, lost, ..in_flight(80_000) });
            assert_eq!(bbr.model.inflight_longterm, then, "{longterm} {lost}");
        }
    }

    /// Section 5.3.4: a round trip that was not seen again for 5 s is looked for with half of what the path holds
    /// in flight, for 200 ms and a round. What is known of it counts for 10 s.
    #[test]
    fn an_old_round_trip_is_looked_for() {
        for (full, then) in [(true, "probe_bw_cruise"), (false, "startup")] {
            let before = if full { State::ProbeCruise } else { State::Startup };
            let mut bbr = flowing(before);
            bbr.window = 90_000;
            for (millis, left, started, state) in [
                (5000, 90_000, true, bbr.state_name()),
                (5001, 90_000, true, Some("probe_rtt")),
                (5040, 50_001, true, Some("probe_rtt")),
                // The 200 ms begin.
                (5050, 50_000, true, Some("probe_rtt")),
                (5250, 50_000, true, Some("probe_rtt")),
                (5251, 50_000, false, Some(then)),
            ] {
                bbr.rounds.started = started;
                let rtt = Some(Span::from_millis(120));
                bbr.update_min_rtt(&Ack { now: at(millis), rtt, ..ack(1000) });
                bbr.check_probe_rtt(at(millis), &in_flight(left));
                assert_eq!(bbr.state_name(), state, "at {millis} ms");
                bbr.set_window(0, &in_flight(left));
                let window = if bbr.is_withholding() { 50_000 } else { 90_000 };
                assert_eq!(bbr.window(), window, "at {millis} ms");
            }
            for (millis, rtt, least) in [(10_000, 130, 100), (10_001, 130, 120), (10_002, 110, 110)]
            {
                let rtt = Some(Span::from_millis(rtt));
                bbr.update_min_rtt(&Ack { now: at(millis), rtt, ..ack(1000) });
                assert_eq!(bbr.min_rtt, Span::from_millis(least), "at {millis} ms");
            }
        }
    }

    /// A round belongs to it, however long that takes; and after silence none is needed.
    #[test]
    fn a_round_trip_is_looked_for_through_a_round_and_not_after_silence() {
        let mut bbr = flowing(State::ProbeCruise);
        let sample = RateSample { delivered: 1000, ..in_flight(50_000) };
        let see = |bbr: &mut BbrV3, millis, started| {
            bbr.rounds.started = started;
            bbr.update_min_rtt(&Ack { now: at(millis), ..ack(1000) });
            bbr.check_probe_rtt(at(millis), &sample);
            bbr.is_withholding()
        };
        assert!([5001, 5300, 5900].iter().all(|&millis| see(&mut bbr, millis, false)));
        assert!(!see(&mut bbr, 6000, true));

        let mut bbr = flowing(State::ProbeCruise);
        bbr.idle_restart = true;
        assert!(!see(&mut bbr, 5001, false) && !bbr.idle_restart);
    }
}
