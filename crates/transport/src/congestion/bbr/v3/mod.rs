mod model;
mod states;

use super::aggregation::Epoch;
use super::{ASSUMED_ROUND_TRIP, MIN_PIPE_PACKETS, Rounds, USED_PER_CENT, bytes_in, gained};
use crate::congestion::windowed_max::WindowedMax;
use crate::congestion::{
    Ack, Build, Controller, EcnFeedback, Loss, LostData, Params, RateSample, SentData,
};
use crate::rate::{as_rate, per_second};
use flashcrowd_base::{RandomStream, Rate, Span, Time};
use model::Model;
use states::State;

/// Bursts last this long (section 5.6.3), but are two packets at least and 64 KiB at most.
const QUANTUM_TIME: Span = Span::from_millis(1);
const MAX_QUANTUM: u64 = 64 * 1024;
/// Length of the filter of aggregated acknowledgements in rounds; in start-up 1 (`ExtraAckedFilterLen`).
const EXTRA_ACKED_ROUNDS: u64 = 10;

/// Samples of a probe for bandwidth come a round after it and a round longer (section 5.3.3.6: `ack_phase`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AckPhase {
    Init,
    Refilling,
    Starting,
    Feedback,
    Stopping,
}

/// BBR version 3 by draft-ietf-ccwg-bbr, in its revision of August 2026; sections are that draft's.
///
/// Left out is what asks whether the other end sends selective acknowledgements: losses are counted as
/// the transport finds them.
#[derive(Clone, Debug)]
pub struct BbrV3 {
    state: State,
    window: u64,
    packet: u64,
    initial_window: u64,
    stream: RandomStream,
    model: Model,
    rounds: Rounds,

    min_rtt: Span,
    min_rtt_at: Time,
    probe_rtt_delay: Span,
    probe_rtt_at: Time,
    probe_rtt_expired: bool,
    probe_rtt_until: Option<Time>,
    probe_rtt_round_done: bool,
    idle_restart: bool,

    /// Of the latest round that counted: its rate, and rounds without a quarter more.
    full_bandwidth: u64,
    full_rounds: u32,
    full_now: bool,
    full: bool,
    drain_began: u64,

    ack_phase: AckPhase,
    cycle_at: Time,
    probe_wait: Span,
    rounds_since_probe: u64,
    probe_up_rounds: u32,
    probe_up_acked: u64,
    /// Acknowledged bytes for each packet that the long-term bound grows by.
    probe_up_price: u64,
    /// Samples that come back were sent while probing for bandwidth.
    is_probe_sample: bool,
    /// The last probe met high loss; the one after it stopped short of where that was.
    probe_was_too_high: bool,
    probe_was_cautious: bool,

    epoch: Epoch,
    extra_acked: WindowedMax,

    pacing: u64,
    has_seen_rtt: bool,
    recovering: bool,
    prior_window: u64,
    undo: Undo,
}

/// The state that a spurious recovery gives back (section 5.5.11).
#[derive(Clone, Copy, Debug)]
struct Undo {
    state: Option<State>,
    bw_shortterm: u64,
    inflight_shortterm: u64,
    inflight_longterm: u64,
}

impl BbrV3 {
    /// A controller at its first window.
    pub fn new(params: Params) -> BbrV3 {
        let now = params.now;
        let mut bbr = BbrV3 {
            state: State::Startup,
            window: params.initial_window,
            packet: u64::from(params.mss),
            initial_window: params.initial_window,
            stream: RandomStream::new(0, "congestion", 0),
            model: Model::new(),
            rounds: Rounds::default(),
            min_rtt: Span::MAX,
            min_rtt_at: now,
            probe_rtt_delay: Span::MAX,
            probe_rtt_at: now,
            probe_rtt_expired: false,
            probe_rtt_until: None,
            probe_rtt_round_done: false,
            idle_restart: false,
            full_bandwidth: 0,
            full_rounds: 0,
            full_now: false,
            full: false,
            drain_began: 0,
            ack_phase: AckPhase::Init,
            cycle_at: now,
            probe_wait: Span::ZERO,
            rounds_since_probe: 0,
            probe_up_rounds: 0,
            probe_up_acked: 0,
            probe_up_price: u64::MAX,
            is_probe_sample: false,
            probe_was_too_high: false,
            probe_was_cautious: false,
            epoch: Epoch::new(now),
            extra_acked: WindowedMax::new(),
            pacing: 0,
            has_seen_rtt: false,
            recovering: false,
            prior_window: 0,
            undo: Undo {
                state: None,
                bw_shortterm: u64::MAX,
                inflight_shortterm: u64::MAX,
                inflight_longterm: u64::MAX,
            },
        };
        bbr.pacing = bbr.first_pacing(ASSUMED_ROUND_TRIP);
        bbr
    }

    fn first_pacing(&self, rtt: Span) -> u64 {
        gained(per_second(self.initial_window, rtt), State::Startup.pacing_gain())
    }

    fn set_pacing(&mut self, srtt: Span, gain: (u64, u64)) {
        if !self.has_seen_rtt && !srtt.is_zero() {
            self.has_seen_rtt = true;
            self.pacing = self.first_pacing(srtt);
        }
        let pacing = gained(gained(self.model.bw(), gain), (USED_PER_CENT, 100));
        if self.full || pacing > self.pacing {
            self.pacing = pacing;
        }
    }

    fn send_quantum(&self) -> u64 {
        bytes_in(self.pacing, QUANTUM_TIME).min(MAX_QUANTUM).max(2 * self.packet)
    }

    fn min_window(&self) -> u64 {
        MIN_PIPE_PACKETS * self.packet
    }

    /// The product of bandwidth and delay.
    fn bdp(&self) -> u64 {
        self.bdp_multiple(self.model.bw(), (1, 1))
    }

    fn bdp_multiple(&self, bw: u64, gain: (u64, u64)) -> u64 {
        if self.min_rtt == Span::MAX {
            return self.initial_window;
        }
        gained(bytes_in(bw, self.min_rtt), gain)
    }

    fn quantized(&self, in_flight: u64) -> u64 {
        let max = in_flight.max(3 * self.send_quantum()).max(self.min_window());
        max + if self.state == State::ProbeUp { 2 * self.packet } else { 0 }
    }

    fn in_flight_at(&self, bw: u64) -> u64 {
        self.quantized(self.bdp_multiple(bw, (1, 1)))
    }

    /// The bytes that are wanted in flight, unless congestion has cut the window below it.
    fn target_in_flight(&self) -> u64 {
        self.bdp().min(self.window)
    }

    fn probe_rtt_window(&self) -> u64 {
        let gain = State::ProbeRtt.window_gain();
        self.bdp_multiple(self.model.bw(), gain).max(self.min_window())
    }

    fn save_window(&mut self) {
        let fresh = !self.recovering && self.state != State::ProbeRtt;
        self.prior_window = if fresh { self.window } else { self.prior_window.max(self.window) };
    }

    fn restore_window(&mut self) {
        self.window = self.window.max(self.prior_window);
    }

    fn save_state(&mut self) {
        self.save_window();
        self.undo = Undo {
            state: None,
            bw_shortterm: self.model.bw_shortterm,
            inflight_shortterm: self.model.inflight_shortterm,
            inflight_longterm: self.model.inflight_longterm,
        };
    }

    fn update_aggregation(&mut self, ack: &Ack) {
        let extra = self.epoch.update(ack.now, self.model.bw(), ack.acked, self.packet);
        let length = if self.full { EXTRA_ACKED_ROUNDS } else { 1 };
        self.extra_acked.update(self.rounds.count, extra.min(self.window), length);
    }

    /// Section 5.6.4.6.
    fn set_window(&mut self, acked: u64, sample: &RateSample) {
        let product = self.bdp_multiple(self.model.bw(), self.state.window_gain());
        let max = self.quantized(product.saturating_add(self.extra_acked.get()));
        if self.full {
            self.window = (self.window + acked).min(max);
        } else if self.window < max || sample.total_delivered < self.initial_window {
            self.window += acked;
        }
        self.window = self.window.max(self.min_window());
        if self.state == State::ProbeRtt {
            self.window = self.window.min(self.probe_rtt_window());
        }
        let bound = match self.state {
            State::ProbeDown | State::ProbeRefill | State::ProbeUp => self.model.inflight_longterm,
            State::ProbeRtt | State::ProbeCruise => self.in_flight_with_headroom(),
            State::Startup | State::Drain => u64::MAX,
        };
        let bound = bound.min(self.model.inflight_shortterm).max(self.min_window());
        self.window = self.window.min(bound);
    }
}

impl Build for BbrV3 {
    const NEEDS_RATES: bool = true;
    const DRAWS: bool = true;

    fn build(params: Params) -> BbrV3 {
        BbrV3::new(params)
    }
}

impl Controller for BbrV3 {
    /// Section 5.2.3.
    fn on_ack(&mut self, ack: &Ack) {
        let Some(sample) = ack.rate else { return };
        self.update_latest_delivery(&sample);
        self.update_congestion(&sample);
        self.update_aggregation(ack);
        self.check_full(&sample);
        self.check_startup_done(&sample);
        self.check_drain_done(ack.now, &sample);
        self.update_cycle(ack, &sample);
        self.update_min_rtt(ack);
        self.check_probe_rtt(ack.now, &sample);
        self.advance_latest_delivery(&sample);
        self.set_pacing(ack.srtt, self.state.pacing_gain());
        self.set_window(ack.acked, &sample);
    }

    /// Section 5.4.1: after silence it sends at the bandwidth, not with the state's gain.
    fn on_sent(&mut self, sent: &SentData) {
        if sent.in_flight > 0 || !sent.app_limited {
            return;
        }
        self.idle_restart = true;
        self.epoch = Epoch::new(sent.now);
        if self.state.probes_bandwidth() {
            self.set_pacing(Span::ZERO, (1, 1));
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(sent.now, self.rounds.ends_at);
        }
    }

    fn on_lost(&mut self, lost: &LostData) {
        self.handle_lost(lost);
    }

    fn on_loss(&mut self, _: &Loss) {
        self.save_state();
        self.recovering = true;
    }

    /// Nothing: section 3.7 specifies no response, and leaves it to future work. That a sender of ECN-capable
    /// packets has to treat marks as congestion, as it says, too, is not met.
    fn on_ecn(&mut self, _: &EcnFeedback) {}

    fn on_recovered(&mut self, _: u64) {
        self.recovering = false;
        self.restore_window();
    }

    fn on_timeout(&mut self, loss: &Loss, _: bool) {
        self.save_state();
        self.recovering = true;
        self.window = loss.in_flight + self.packet;
    }

    fn on_undo(&mut self) {
        self.recovering = false;
        self.undo_loss();
    }

    fn on_packet_size(&mut self, bytes: u32) {
        self.packet = u64::from(bytes);
    }

    fn window(&self) -> u64 {
        self.window
    }

    /// The window is in its slow start as long as the pipe is not known to be full.
    fn threshold(&self) -> u64 {
        if self.full { self.window } else { u64::MAX }
    }

    fn pacing_rate(&self) -> Option<Rate> {
        as_rate(self.pacing)
    }

    fn governs_recovery(&self) -> bool {
        true
    }

    fn is_withholding(&self) -> bool {
        self.state == State::ProbeRtt
    }

    fn state_name(&self) -> Option<&'static str> {
        Some(match self.state {
            State::Startup => "startup",
            State::Drain => "drain",
            State::ProbeDown => "probe_bw_down",
            State::ProbeCruise => "probe_bw_cruise",
            State::ProbeRefill => "probe_bw_refill",
            State::ProbeUp => "probe_bw_up",
            State::ProbeRtt => "probe_rtt",
        })
    }

    fn stream(&mut self) -> Option<&mut RandomStream> {
        Some(&mut self.stream)
    }
}

#[cfg(test)]
mod tests {
    use super::super::shared_rules;
    use super::*;
    use crate::congestion::tests::{loss, params};

    /// A sample of this rate, which begins a round.
    pub(super) fn rate(rate: u64) -> RateSample {
        RateSample { delivered: rate, interval: Span::from_secs(1), ..RateSample::default() }
    }

    /// Over a path of 1 MB/s and 100 ms, which holds 100 kB; bursts are of two packets.
    pub(super) fn flowing(state: State) -> BbrV3 {
        let mut bbr = BbrV3::new(params(10));
        bbr.state = state;
        bbr.full = state != State::Startup;
        (bbr.min_rtt, bbr.probe_rtt_delay) = (Span::from_millis(100), Span::from_millis(100));
        bbr.update_congestion(&rate(1_000_000));
        bbr.pacing = 1_000_000;
        bbr
    }

    fn bytes_per_second(bbr: &BbrV3) -> Option<u64> {
        bbr.pacing_rate().map(|rate| rate.bps() / 8)
    }

    #[test]
    fn only_an_application_that_was_silent_restarts() {
        for (in_flight, app_limited, restarts) in
            [(0, true, true), (1000, true, false), (0, false, false), (1000, false, false)]
        {
            let mut bbr = BbrV3::new(params(10));
            bbr.on_sent(&SentData { now: Time::START, bytes: 1000, in_flight, app_limited });
            assert_eq!(bbr.idle_restart, restarts, "{in_flight} {app_limited}");
        }
    }

    /// Section 5.6.4.6: until the pipe is full the window grows while it is below its aim, or while less
    /// than the first window has been delivered.
    #[test]
    fn the_first_window_s_worth_grows_the_window_whatever_the_aim() {
        for (total_delivered, window) in [(5_000, 102_000), (100_000, 100_000), (500_000, 100_000)]
        {
            let mut bbr = BbrV3::new(params(100));
            // An aim of nearly nothing.
            bbr.min_rtt = Span::from_micros(1);
            bbr.pacing = 0;
            bbr.set_window(2000, &RateSample { total_delivered, ..RateSample::default() });
            assert_eq!(bbr.window, window, "{total_delivered}");
        }
    }

    /// Section 5.6.1, the table of gains. The path holds 100 kB; one per cent of the rate stays unused, and a
    /// window that probes has room for two packets more.
    #[test]
    fn each_state_has_its_gains() {
        for (state, pacing, window) in [
            (State::Startup, 2_742_300, 200_000),
            (State::Drain, 495_000, 200_000),
            (State::ProbeDown, 891_000, 200_000),
            (State::ProbeCruise, 990_000, 200_000),
            (State::ProbeRefill, 990_000, 200_000),
            (State::ProbeUp, 1_237_500, 227_000),
            (State::ProbeRtt, 990_000, 50_000),
        ] {
            let mut bbr = flowing(state);
            (bbr.full, bbr.window) = (true, 500_000);
            bbr.set_pacing(Span::from_millis(100), state.pacing_gain());
            assert_eq!(bytes_per_second(&bbr), Some(pacing), "{state:?}");
            bbr.set_window(2000, &RateSample::default());
            assert_eq!(bbr.window(), window, "{state:?}");
        }
    }

    /// Section 5.6.2: ten packets in 100 ms, times 2.77, until there is more.
    #[test]
    fn until_the_pipe_is_full_the_rate_only_rises() {
        let mut bbr = BbrV3::new(params(10));
        bbr.set_pacing(Span::from_millis(100), (277, 100));
        assert_eq!(bytes_per_second(&bbr), Some(277_000));
        // Only the first round trip says what the first window is worth.
        bbr.set_pacing(Span::from_millis(1), (277, 100));
        assert_eq!(bytes_per_second(&bbr), Some(277_000));
        bbr.update_congestion(&rate(300_000));
        bbr.set_pacing(Span::from_millis(100), (1, 1));
        assert_eq!(bytes_per_second(&bbr), Some(297_000));
        bbr.set_pacing(Span::from_millis(100), (1, 2));
        assert_eq!(bytes_per_second(&bbr), Some(297_000));
        bbr.full = true;
        bbr.set_pacing(Span::from_millis(100), (1, 2));
        assert_eq!(bytes_per_second(&bbr), Some(148_500));
    }

    /// Section 5.6.3: a millisecond, but two packets at least and 64 KiB at most.
    #[test]
    fn a_burst_lasts_a_millisecond() {
        for (pacing, quantum) in
            [(1_999_000, 2000), (5_000_000, 5000), (65_536_000, 65_536), (90_000_000, 65_536)]
        {
            let mut bbr = flowing(State::ProbeCruise);
            bbr.pacing = pacing;
            assert_eq!(bbr.send_quantum(), quantum);
        }
    }

    /// Section 5.6.4.7 (BBRBoundCWndForModel). 15 % of the long-term bound are left to others while it cruises.
    #[test]
    fn bounds_hold_the_window_down() {
        use State::{Drain, ProbeCruise, ProbeDown, ProbeRefill, ProbeRtt, ProbeUp, Startup};
        let window = |state, longterm, shortterm| {
            let mut bbr = flowing(state);
            (bbr.full, bbr.window) = (true, 500_000);
            bbr.model.inflight_longterm = longterm;
            bbr.model.inflight_shortterm = shortterm;
            bbr.set_window(2000, &RateSample::default());
            bbr.window()
        };
        for state in [ProbeDown, ProbeRefill, ProbeUp] {
            assert_eq!(window(state, 40_000, u64::MAX), 40_000, "{state:?}");
            assert_eq!(window(state, 40_000, 30_000), 30_000, "{state:?}");
        }
        for state in [ProbeCruise, ProbeRtt] {
            assert_eq!(window(state, 40_000, u64::MAX), 34_000, "{state:?}");
            assert_eq!(window(state, 40_000, 30_000), 30_000, "{state:?}");
            assert_eq!(window(state, 6000, u64::MAX), 5000, "a packet at least, {state:?}");
        }
        for state in [Startup, Drain] {
            assert_eq!(window(state, 40_000, u64::MAX), 200_000, "{state:?}");
            assert_eq!(window(state, 40_000, 30_000), 30_000, "{state:?}");
        }
        // Four packets are left of any bound.
        assert_eq!(window(ProbeUp, 1000, u64::MAX), 4000);
        assert_eq!(window(ProbeCruise, 1000, u64::MAX), 4000);
        assert_eq!(window(Drain, u64::MAX, 1000), 4000);
    }

    /// uTP changes the size of its packets: a timeout leaves one more than what is in flight, and no window is below
    /// four.
    #[test]
    fn windows_count_packets_of_the_size_of_now() {
        let mut bbr = flowing(State::ProbeUp);
        bbr.on_packet_size(1400);
        bbr.on_timeout(&Loss { in_flight: 3000, ..loss(20_000) }, false);
        assert_eq!(bbr.window(), 4400);
        bbr.model.inflight_longterm = 2000;
        bbr.set_window(1400, &RateSample::default());
        assert_eq!(bbr.window(), 5600);
    }

    /// Section 5.6.4.4 (BBRSaveCwnd, BBRRestoreCwnd): the larger window of before stays known while one is small on
    /// purpose.
    #[test]
    fn a_recovery_gives_the_window_of_before_back() {
        let probe_round_trip = |bbr: &mut BbrV3| bbr.state = State::ProbeRtt;
        shared_rules::a_recovery_gives_the_window_of_before_back(
            flowing(State::ProbeCruise),
            |bbr| &mut bbr.window,
            probe_round_trip,
        );
    }
}
