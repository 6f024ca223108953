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

/// What a recovery that was for nothing gives back (section 5.5.11).
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

    /// What is wanted in flight, unless congestion has cut the window below it.
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
    use super::*;
    use crate::congestion::tests::params;

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
            // An aim of next to nothing.
            bbr.min_rtt = Span::from_micros(1);
            bbr.pacing = 0;
            bbr.set_window(2000, &RateSample { total_delivered, ..RateSample::default() });
            assert_eq!(bbr.window, window, "{total_delivered}");
        }
    }
}
