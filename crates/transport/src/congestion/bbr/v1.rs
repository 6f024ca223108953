use super::aggregation::Excess;
use super::policer::Policer;
use super::{
    ASSUMED_ROUND_TRIP, FULL_PIPE_GROWTH, FULL_PIPE_ROUNDS, MIN_PIPE_PACKETS, PROBE_RTT_TIME,
    Rounds, USED_PER_CENT, bytes_in, gained,
};
use crate::congestion::windowed_max::WindowedMax;
use crate::congestion::{Ack, Build, Controller, EcnFeedback, Loss, Params, RateSample, SentData};
use crate::rate::{as_rate, per_second};
use flashcrowd_base::{RandomStream, Rate, Span, Time};

/// A gain of one, in the kernel's fixed point.
const UNIT: u64 = 256;
/// 2/ln 2, the least gain that doubles the rate each round (`bbr_high_gain`).
const HIGH_GAIN: u64 = UNIT * 2885 / 1000 + 1;
/// Its inverse, which empties in a round the queue that start-up built (`bbr_drain_gain`).
const DRAIN_GAIN: u64 = UNIT * 1000 / 2885;
/// The window, in products of bandwidth and delay (`bbr_cwnd_gain`).
const WINDOW_GAIN: u64 = 2 * UNIT;
/// The phases of a cycle: probe, drain what the probe may have queued, cruise (`bbr_pacing_gain`).
const CYCLE: [u64; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
/// Length of the bandwidth filter in rounds (`bbr_bw_rtts`).
const BANDWIDTH_ROUNDS: u64 = CYCLE.len() as u64 + 2;
/// The round trip is the least of this time (`bbr_min_rtt_win_sec`).
const MIN_RTT_WINDOW: Span = Span::from_secs(10);
/// Below this rate a packet is sent at a time, above it two (`bbr_min_tso_rate`), in bytes per second.
const LONE_PACKET_RATE: u64 = 1_200_000 / 8;

/// Its mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Doubles the rate each round until the bandwidth does not grow.
    Startup,
    /// Empties the queue that this has built.
    Drain,
    /// Probes for bandwidth once a cycle.
    ProbeBw,
    /// Empties the pipe to see the round trip without a queue.
    ProbeRtt,
}

/// BBR version 1 as Linux ships it since 4.9, with its changes until 5.1: a margin of one per cent,
/// and an allowance for bursts of acknowledgements.
///
/// Linux also counts what the pacing timer has let go already as delivered when it asks for the end of
/// a phase; here that is at most a packet, and left out.
#[derive(Clone, Debug)]
pub struct Bbr {
    mode: Mode,
    window: u64,
    packet: u64,
    initial_window: u64,
    stream: RandomStream,

    rounds: Rounds,
    /// Bytes per second.
    bandwidth: WindowedMax,
    policer: Policer,
    excess: Excess,
    min_rtt: Span,
    min_rtt_at: Time,
    has_seen_rtt: bool,

    /// The bandwidth that start-up must beat, and rounds in which it did not.
    full_bandwidth: u64,
    full_rounds: u32,
    full: bool,

    phase: usize,
    phase_at: Time,
    pacing_gain: u64,
    window_gain: u64,
    pacing: u64,

    probe_rtt_until: Option<Time>,
    probe_rtt_round_done: bool,
    idle_restart: bool,

    /// In fast recovery, or after a timeout; the window before.
    recovering: bool,
    prior_window: u64,
    /// The first round of a recovery sends what it has delivered.
    conserves: bool,
    just_entered: bool,
}

impl Bbr {
    /// A controller at its first window.
    pub fn new(params: Params) -> Bbr {
        let mut bbr = Bbr {
            mode: Mode::Startup,
            window: params.initial_window,
            packet: u64::from(params.mss),
            initial_window: params.initial_window,
            stream: RandomStream::new(0, "congestion", 0),
            rounds: Rounds::default(),
            bandwidth: WindowedMax::new(),
            policer: Policer::default(),
            excess: Excess::new(params.now),
            min_rtt: Span::MAX,
            min_rtt_at: params.now,
            has_seen_rtt: false,
            full_bandwidth: 0,
            full_rounds: 0,
            full: false,
            phase: 0,
            phase_at: params.now,
            pacing_gain: HIGH_GAIN,
            window_gain: HIGH_GAIN,
            pacing: 0,
            probe_rtt_until: None,
            probe_rtt_round_done: false,
            idle_restart: false,
            recovering: false,
            prior_window: 0,
            conserves: false,
            just_entered: false,
        };
        bbr.pacing = bbr.first_pacing(ASSUMED_ROUND_TRIP);
        bbr
    }

    /// The bandwidth in use.
    fn rate(&self) -> u64 {
        self.policer.rate().unwrap_or_else(|| self.bandwidth.get())
    }

    fn first_pacing(&self, rtt: Span) -> u64 {
        self.paced(per_second(self.window, rtt), HIGH_GAIN)
    }

    fn paced(&self, rate: u64, gain: u64) -> u64 {
        gained(gained(rate, (gain, UNIT)), (USED_PER_CENT, 100))
    }

    fn set_pacing(&mut self, srtt: Span, rate: u64, gain: u64) {
        if !self.has_seen_rtt && !srtt.is_zero() {
            self.has_seen_rtt = true;
            self.pacing = self.first_pacing(srtt);
        }
        let pacing = self.paced(rate, gain);
        if self.full || pacing > self.pacing {
            self.pacing = pacing;
        }
    }

    /// Packets that are sent at a time.
    fn quantum(&self) -> u64 {
        if self.pacing < LONE_PACKET_RATE { self.packet } else { 2 * self.packet }
    }

    /// The window for this rate and gain, with what delayed acknowledgements and bursts need.
    fn in_flight_at(&self, rate: u64, gain: u64) -> u64 {
        self.quantized(self.product(rate, gain))
    }

    fn product(&self, rate: u64, gain: u64) -> u64 {
        if self.min_rtt == Span::MAX {
            return self.initial_window;
        }
        gained(bytes_in(rate, self.min_rtt), (gain, UNIT)).next_multiple_of(self.packet)
    }

    fn quantized(&self, window: u64) -> u64 {
        let even = (window + 3 * self.quantum()).next_multiple_of(2 * self.packet);
        let probes = self.mode == Mode::ProbeBw && self.phase == 0;
        even + if probes { 2 * self.packet } else { 0 }
    }

    fn save_window(&mut self) {
        let fresh = !self.recovering && self.mode != Mode::ProbeRtt;
        self.prior_window = if fresh { self.window } else { self.prior_window.max(self.window) };
    }

    fn update_bandwidth(&mut self, now: Time, sample: &RateSample) {
        self.rounds.started = false;
        let Some(rate) = sample.rate() else { return };
        self.rounds.update(sample.prior_delivered, sample.total_delivered);
        if self.rounds.started {
            self.conserves = false;
        }
        let steady = self.mode == Mode::ProbeBw;
        if self.policer.update(now, sample, self.rounds.started, steady) {
            self.begin_cycle(now);
        }
        // An application-limited sample counts only if it raises the estimate.
        if !sample.app_limited || rate >= self.bandwidth.get() {
            self.bandwidth.update(self.rounds.count, rate, BANDWIDTH_ROUNDS);
        }
    }

    fn begin_cycle(&mut self, now: Time) {
        self.mode = Mode::ProbeBw;
        // Any phase but the one that drains.
        let skipped = self.stream.below(CYCLE.len() - 1);
        self.phase = CYCLE.len() - 1 - skipped;
        self.next_phase(now);
    }

    fn next_phase(&mut self, now: Time) {
        self.phase = (self.phase + 1) % CYCLE.len();
        self.phase_at = now;
    }

    fn update_phase(&mut self, ack: &Ack, sample: &RateSample) {
        if self.mode != Mode::ProbeBw {
            return;
        }
        let full_length = ack.now.since(self.phase_at) > self.min_rtt;
        let greatest = self.bandwidth.get();
        let gain = self.pacing_gain;
        let over = if gain > UNIT {
            let there = ack.in_flight >= self.in_flight_at(greatest, gain);
            full_length && (sample.newly_lost > 0 || there)
        } else if gain < UNIT {
            full_length || ack.in_flight <= self.in_flight_at(greatest, UNIT)
        } else {
            full_length
        };
        if over {
            self.next_phase(ack.now);
        }
    }

    fn check_full(&mut self, sample: &RateSample) {
        if self.full || !self.rounds.started || sample.app_limited {
            return;
        }
        if self.bandwidth.get() >= gained(self.full_bandwidth, FULL_PIPE_GROWTH) {
            self.full_bandwidth = self.bandwidth.get();
            self.full_rounds = 0;
            return;
        }
        self.full_rounds += 1;
        self.full = self.full_rounds >= FULL_PIPE_ROUNDS;
    }

    fn check_drain(&mut self, now: Time, in_flight: u64) {
        if self.mode == Mode::Startup && self.full {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain && in_flight <= self.in_flight_at(self.bandwidth.get(), UNIT) {
            self.begin_cycle(now);
        }
    }

    fn update_min_rtt(&mut self, ack: &Ack, sample: &RateSample) {
        let now = ack.now;
        let expired = now.since(self.min_rtt_at) > MIN_RTT_WINDOW;
        if let Some(rtt) = ack.rtt
            && (rtt < self.min_rtt || expired)
        {
            self.min_rtt = rtt;
            self.min_rtt_at = now;
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.save_window();
            self.mode = Mode::ProbeRtt;
            self.probe_rtt_until = None;
        }
        if self.mode == Mode::ProbeRtt {
            match self.probe_rtt_until {
                None if sample.in_flight <= MIN_PIPE_PACKETS * self.packet => {
                    self.probe_rtt_until = Some(now + PROBE_RTT_TIME);
                    self.probe_rtt_round_done = false;
                    self.rounds.restart(sample.total_delivered);
                }
                None => {}
                Some(_) => {
                    self.probe_rtt_round_done |= self.rounds.started;
                    if self.probe_rtt_round_done {
                        self.check_probe_rtt_done(now);
                    }
                }
            }
        }
        if sample.delivered > 0 {
            self.idle_restart = false;
        }
    }

    fn check_probe_rtt_done(&mut self, now: Time) {
        if self.probe_rtt_until.is_some_and(|until| now > until) {
            self.min_rtt_at = now;
            self.window = self.window.max(self.prior_window);
            if self.full {
                self.begin_cycle(now);
            } else {
                self.mode = Mode::Startup;
            }
        }
    }

    fn update_gains(&mut self) {
        (self.pacing_gain, self.window_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.policer.rate().is_some() => (UNIT, WINDOW_GAIN),
            Mode::ProbeBw => (CYCLE[self.phase], WINDOW_GAIN),
            Mode::ProbeRtt => (UNIT, UNIT),
        };
    }

    fn set_window(&mut self, ack: &Ack, sample: &RateSample) {
        let acked = ack.acked;
        if acked > 0 && !self.follows_recovery(acked, sample) {
            let rate = self.rate();
            let mut target = self.product(rate, self.window_gain);
            if self.full {
                target += self.excess.allowance(rate);
            }
            let target = self.quantized(target);
            if self.full {
                self.window = (self.window + acked).min(target);
            } else if self.window < target || sample.total_delivered < self.initial_window {
                self.window += acked;
            }
            self.window = self.window.max(MIN_PIPE_PACKETS * self.packet);
        }
        if self.mode == Mode::ProbeRtt {
            self.window = self.window.min(MIN_PIPE_PACKETS * self.packet);
        }
    }

    /// Whether recovery decides the window: its first round sends what it delivers.
    fn follows_recovery(&mut self, acked: u64, sample: &RateSample) -> bool {
        if sample.newly_lost > 0 {
            self.window = self.window.saturating_sub(sample.newly_lost).max(self.packet);
        }
        if std::mem::take(&mut self.just_entered) {
            self.conserves = true;
            self.rounds.restart(sample.total_delivered);
            self.window = sample.in_flight + acked;
        }
        if self.conserves {
            self.window = self.window.max(sample.in_flight + acked);
        }
        self.conserves
    }
}

impl Build for Bbr {
    const NEEDS_RATES: bool = true;
    const DRAWS: bool = true;

    fn build(params: Params) -> Bbr {
        Bbr::new(params)
    }
}

impl Controller for Bbr {
    fn on_ack(&mut self, ack: &Ack) {
        let Some(sample) = ack.rate else { return };
        self.update_bandwidth(ack.now, &sample);
        let (rate, started) = (self.rate(), self.rounds.started);
        self.excess.update(ack.now, rate, ack.acked, self.packet, self.window, started);
        self.update_phase(ack, &sample);
        self.check_full(&sample);
        self.check_drain(ack.now, sample.in_flight);
        self.update_min_rtt(ack, &sample);
        self.update_gains();
        self.set_pacing(ack.srtt, self.rate(), self.pacing_gain);
        self.set_window(ack, &sample);
    }

    /// After silence it sends at the bandwidth, not with the phase's gain.
    fn on_sent(&mut self, sent: &SentData) {
        if sent.in_flight > 0 || !sent.app_limited {
            return;
        }
        self.idle_restart = true;
        self.excess.restart(sent.now);
        match self.mode {
            Mode::ProbeBw => self.set_pacing(Span::ZERO, self.rate(), UNIT),
            Mode::ProbeRtt => self.check_probe_rtt_done(sent.now),
            Mode::Startup | Mode::Drain => {}
        }
    }

    fn on_loss(&mut self, _: &Loss) {
        self.save_window();
        self.recovering = true;
        self.just_entered = true;
    }

    /// Nothing: the model knows rates, round trips and losses (Linux: `tcp_bbr.c` has no `in_ack_event`, and no
    /// case for TCP_CA_CWR).
    fn on_ecn(&mut self, _: &EcnFeedback) {}

    fn on_recovered(&mut self, _: u64) {
        self.recovering = false;
        self.conserves = false;
        self.just_entered = false;
        self.window = self.window.max(self.prior_window);
    }

    fn on_timeout(&mut self, loss: &Loss, _: bool) {
        self.save_window();
        self.recovering = true;
        self.conserves = false;
        self.just_entered = false;
        self.full_bandwidth = 0;
        self.rounds.started = true;
        self.window = loss.in_flight + self.packet;
    }

    fn on_undo(&mut self) {
        self.full_bandwidth = 0;
        self.full_rounds = 0;
        self.policer = Policer::default();
        self.on_recovered(u64::MAX);
    }

    fn on_packet_size(&mut self, bytes: u32) {
        self.packet = u64::from(bytes);
    }

    fn window(&self) -> u64 {
        self.window
    }

    fn threshold(&self) -> u64 {
        u64::MAX
    }

    fn pacing_rate(&self) -> Option<Rate> {
        as_rate(self.pacing)
    }

    fn governs_recovery(&self) -> bool {
        true
    }

    fn is_withholding(&self) -> bool {
        self.mode == Mode::ProbeRtt
    }

    fn state_name(&self) -> Option<&'static str> {
        Some(match self.mode {
            Mode::Startup => "startup",
            Mode::Drain => "drain",
            Mode::ProbeBw => "probe_bw",
            Mode::ProbeRtt => "probe_rtt",
        })
    }

    fn stream(&mut self) -> Option<&mut RandomStream> {
        Some(&mut self.stream)
    }
}

#[cfg(test)]
mod tests;
