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

/// What it is doing.
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

/// BBR version 1 as Linux ships it since 4.9, with what came to it until 5.1: a margin of one per
/// cent, and an allowance for clumps of acknowledgements.
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
mod tests {
    use super::*;
    use crate::congestion::tests::{ack, loss, params};

    fn probing(gain: u64) -> Bbr {
        let mut bbr = Bbr::new(params(10));
        bbr.mode = Mode::ProbeBw;
        bbr.min_rtt = Span::from_millis(100);
        bbr.bandwidth.update(0, 1_000_000, 10);
        bbr.pacing_gain = gain;
        bbr
    }

    /// Whether a phase of this gain is over, so long after it began and with so much in flight; the path
    /// holds 100 kB.
    fn is_over(gain: u64, millis: u64, in_flight: u64, newly_lost: u64) -> bool {
        let mut bbr = probing(gain);
        let now = Time::START + Span::from_millis(millis);
        let sample = RateSample { newly_lost, ..RateSample::default() };
        let before = bbr.phase;
        bbr.update_phase(&Ack { now, in_flight, ..ack(1000) }, &sample);
        bbr.phase != before
    }

    /// Linux: bbr_is_next_cycle_phase.
    #[test]
    fn a_phase_ends_by_its_length_and_by_what_is_in_flight() {
        let (up, down) = (UNIT * 5 / 4, UNIT * 3 / 4);
        // Probing goes on until 1.25 times the path is there, or something is lost.
        assert!(!is_over(up, 150, 110_000, 0));
        assert!(is_over(up, 150, 140_000, 0) && is_over(up, 150, 110_000, 1));
        assert!(!is_over(up, 50, 140_000, 0), "a round trip at least");
        // Draining ends as soon as the queue is gone.
        assert!(is_over(down, 50, 90_000, 0) && is_over(down, 150, 110_000, 0));
        assert!(!is_over(down, 50, 110_000, 0));
        assert!(is_over(UNIT, 150, 0, 0) && !is_over(UNIT, 50, 0, 0));
    }

    #[test]
    fn only_an_application_that_was_silent_restarts() {
        for (in_flight, app_limited, restarts) in
            [(0, true, true), (1000, true, false), (0, false, false), (1000, false, false)]
        {
            let mut bbr = probing(UNIT);
            bbr.on_sent(&SentData { now: Time::START, bytes: 1000, in_flight, app_limited });
            assert_eq!(bbr.idle_restart, restarts, "{in_flight} {app_limited}");
        }
    }

    /// A recovery or a ProbeRtt makes the window small on purpose. Then the larger one of before stays
    /// known, and otherwise the window of now counts (Linux: bbr_save_cwnd).
    #[test]
    fn a_recovery_gives_the_window_of_before_back() {
        let mut bbr = probing(UNIT);
        bbr.window = 50_000;
        bbr.on_loss(&loss(50_000));
        bbr.window = 20_000;
        bbr.on_timeout(&Loss { in_flight: 3000, ..loss(20_000) }, true);
        assert_eq!(bbr.window(), 4000, "a packet more than what is in flight");
        bbr.on_recovered(u64::MAX);
        assert_eq!(bbr.window(), 50_000);
        // The next one begins at a lower window, to which it goes back.
        bbr.window = 30_000;
        bbr.on_loss(&loss(30_000));
        bbr.window = 5000;
        bbr.on_recovered(u64::MAX);
        assert_eq!(bbr.window(), 30_000);
        bbr.mode = Mode::ProbeRtt;
        bbr.window = 4000;
        bbr.on_loss(&loss(4000));
        bbr.on_recovered(u64::MAX);
        assert_eq!(bbr.window(), 30_000);
    }

    /// Linux: bbr_set_cwnd_to_recover_or_restore.
    #[test]
    fn a_recovery_takes_off_what_is_lost_and_first_sends_what_arrives() {
        let mut bbr = probing(UNIT);
        bbr.window = 50_000;
        let after = |bbr: &mut Bbr, newly_lost, in_flight| {
            let sample = RateSample { newly_lost, in_flight, ..RateSample::default() };
            let follows = bbr.follows_recovery(2000, &sample);
            (follows, bbr.window)
        };
        assert_eq!(after(&mut bbr, 3000, 20_000), (false, 47_000));
        assert_eq!(after(&mut bbr, 0, 20_000), (false, 47_000));
        bbr.on_loss(&loss(47_000));
        assert_eq!(after(&mut bbr, 1000, 20_000), (true, 22_000));
        // In this round the window follows what is in flight up, and only losses lower it.
        assert_eq!(after(&mut bbr, 0, 21_000), (true, 23_000));
        assert_eq!(after(&mut bbr, 0, 10_000), (true, 23_000));
        assert_eq!(after(&mut bbr, 4000, 10_000), (true, 19_000));
        // After it the losses still count, but a packet is left.
        bbr.conserves = false;
        assert_eq!(after(&mut bbr, 4000, 10_000), (false, 15_000));
        assert_eq!(after(&mut bbr, 90_000, 10_000), (false, 1000));
    }

    /// After how many further rounds of these rates the pipe is full.
    fn full_after(rates: &[u64], started: bool, app_limited: bool) -> Option<usize> {
        let mut bbr = Bbr::new(params(10));
        bbr.rounds.started = started;
        rates.iter().position(|&rate| {
            bbr.bandwidth.reset(0, rate);
            bbr.check_full(&RateSample { app_limited, ..RateSample::default() });
            bbr.full
        })
    }

    /// Linux: bbr_check_full_bw_reached.
    #[test]
    fn three_rounds_without_a_quarter_more_are_a_full_pipe() {
        assert_eq!(full_after(&[1000; 9], true, false), Some(3));
        assert_eq!(full_after(&[1000, 1249, 1249, 1249], true, false), Some(3));
        // A quarter more begins the count anew.
        assert_eq!(full_after(&[1000, 1000, 1000, 1250, 1250, 1250, 1250], true, false), Some(6));
        // Within a round nothing is counted, nor what the application limited.
        for (started, app_limited) in [(false, false), (true, true), (false, true)] {
            assert_eq!(full_after(&[1000; 9], started, app_limited), None);
        }
    }

    /// Linux: bbr_check_drain. The path holds 100 kB, and three bursts of two packets come to it.
    #[test]
    fn a_full_pipe_is_drained_before_it_is_probed() {
        let mut bbr = probing(UNIT);
        bbr.mode = Mode::Startup;
        bbr.check_drain(Time::START, 0);
        assert_eq!(bbr.state_name(), Some("startup"));
        bbr.full = true;
        bbr.check_drain(Time::START, 107_000);
        assert_eq!(bbr.state_name(), Some("drain"));
        bbr.check_drain(Time::START, 106_000);
        assert_eq!(bbr.state_name(), Some("probe_bw"));
        assert_ne!(bbr.phase, 1, "a cycle does not begin with the phase that drains");
    }

    /// Linux: bbr_quantization_budget. Whole packets, three bursts, an even number, and two packets for a
    /// phase that probes.
    #[test]
    fn a_window_has_room_for_bursts() {
        let mut bbr = probing(UNIT);
        bbr.phase = 2;
        assert_eq!(bbr.in_flight_at(1_000_000, UNIT), 106_000);
        assert_eq!(bbr.in_flight_at(989_999, UNIT), 106_000, "99 packets and a bit");
        assert_eq!(bbr.in_flight_at(1_000_000, 2 * UNIT), 206_000);
        bbr.phase = 0;
        assert_eq!(bbr.in_flight_at(1_000_000, UNIT), 108_000);
        bbr.mode = Mode::Drain;
        assert_eq!(bbr.in_flight_at(1_000_000, UNIT), 106_000);
        // Below 1.2 Mbit/s a burst is a packet.
        bbr.pacing = 150_000;
        assert_eq!(bbr.in_flight_at(1_000_000, UNIT), 106_000);
        bbr.pacing = 149_999;
        assert_eq!(bbr.in_flight_at(1_000_000, UNIT), 104_000);
        // Before the first round trip it is the first window.
        bbr.min_rtt = Span::MAX;
        assert_eq!(bbr.in_flight_at(1_000_000, UNIT), 14_000);
    }

    /// Linux: bbr_update_gains, with bbr_high_gain, bbr_drain_gain and bbr_pacing_gain in 256ths.
    #[test]
    fn each_mode_has_its_gains() {
        for (mode, phase, gains) in [
            (Mode::Startup, 0, (739, 739)),
            (Mode::Drain, 0, (88, 739)),
            (Mode::ProbeBw, 0, (320, 512)),
            (Mode::ProbeBw, 1, (192, 512)),
            (Mode::ProbeBw, 2, (256, 512)),
            (Mode::ProbeRtt, 0, (256, 256)),
        ] {
            let mut bbr = probing(UNIT);
            (bbr.mode, bbr.phase) = (mode, phase);
            bbr.update_gains();
            assert_eq!((bbr.pacing_gain, bbr.window_gain), gains, "{mode:?} {phase}");
        }
    }

    /// Linux: bbr_init_pacing_rate_from_rtt, bbr_set_pacing_rate. Ten packets in 100 ms, times 739/256,
    /// less one per cent.
    #[test]
    fn until_the_pipe_is_full_the_rate_only_rises() {
        let mut bbr = Bbr::new(params(10));
        let bytes = |bbr: &Bbr| bbr.pacing_rate().map(|rate| rate.bps() / 8);
        bbr.set_pacing(Span::from_millis(100), 0, HIGH_GAIN);
        assert_eq!(bytes(&bbr), Some(285_784));
        // Only the first round trip says what the first window is worth.
        bbr.set_pacing(Span::from_millis(1), 50_000, HIGH_GAIN);
        assert_eq!(bytes(&bbr), Some(285_784));
        bbr.set_pacing(Span::from_millis(100), 300_000, UNIT);
        assert_eq!(bytes(&bbr), Some(297_000));
        bbr.full = true;
        bbr.set_pacing(Span::from_millis(100), 50_000, UNIT);
        assert_eq!(bytes(&bbr), Some(49_500));
    }

    /// Linux: bbr_update_bw. What an application limited counts if it is no less.
    #[test]
    fn a_limited_sample_only_raises_the_bandwidth() {
        for (rate, app_limited, bandwidth) in [
            (500_000, true, 1_000_000),
            (1_000_000, true, 1_000_000),
            (1_500_000, true, 1_500_000),
            (500_000, false, 500_000),
        ] {
            let mut bbr = probing(UNIT);
            // The last sample is older than ten rounds.
            bbr.rounds.count = 20;
            let sample = RateSample {
                delivered: rate,
                interval: Span::from_secs(1),
                app_limited,
                ..RateSample::default()
            };
            bbr.update_bandwidth(Time::START, &sample);
            assert_eq!(bbr.rate(), bandwidth, "{rate} {app_limited}");
        }
    }

    /// Linux: bbr_update_min_rtt. A round trip that was not seen again for 10 s is looked for with four
    /// packets in flight, for 200 ms and a round.
    #[test]
    fn an_old_round_trip_is_looked_for() {
        for (full, then) in [(true, "probe_bw"), (false, "startup")] {
            let mut bbr = probing(UNIT);
            (bbr.window, bbr.full) = (50_000, full);
            for (millis, in_flight, started, state) in [
                (10_000, 50_000, true, "probe_bw"),
                (10_001, 50_000, true, "probe_rtt"),
                (10_040, 4001, true, "probe_rtt"),
                // The 200 ms begin.
                (10_050, 4000, true, "probe_rtt"),
                (10_250, 4000, true, "probe_rtt"),
                (10_251, 4000, false, then),
            ] {
                bbr.rounds.started = started;
                let now = Time::START + Span::from_millis(millis);
                let rtt = Some(Span::from_millis(120));
                let sample = RateSample { in_flight, ..RateSample::default() };
                bbr.update_min_rtt(&Ack { now, rtt, ..ack(1000) }, &sample);
                assert_eq!(bbr.state_name(), Some(state), "at {millis} ms");
                let least = if millis > 10_000 { 120 } else { 100 };
                assert_eq!(bbr.min_rtt, Span::from_millis(least), "at {millis} ms");
                bbr.set_window(&ack(0), &sample);
                let window = if state == "probe_rtt" { 4000 } else { 50_000 };
                assert_eq!(bbr.window(), window, "at {millis} ms");
            }
        }
    }

    /// A round belongs to it, however long that takes; and nobody who was silent needs it.
    #[test]
    fn a_round_trip_is_looked_for_through_a_round_and_not_after_silence() {
        let at = |millis| Time::START + Span::from_millis(millis);
        let mut bbr = probing(UNIT);
        let sample = RateSample { in_flight: 4000, delivered: 1000, ..RateSample::default() };
        for millis in [10_001, 10_300, 10_900] {
            bbr.rounds.started = false;
            bbr.update_min_rtt(&Ack { now: at(millis), ..ack(1000) }, &sample);
            assert!(bbr.is_withholding(), "at {millis} ms");
        }
        bbr.rounds.started = true;
        bbr.update_min_rtt(&Ack { now: at(11_000), ..ack(1000) }, &sample);
        assert!(!bbr.is_withholding());

        let mut bbr = probing(UNIT);
        bbr.idle_restart = true;
        bbr.update_min_rtt(&Ack { now: at(10_001), ..ack(1000) }, &sample);
        assert!(!bbr.is_withholding() && !bbr.idle_restart);
    }

    /// Linux: bbr_set_cwnd. The path holds 100 kB; the aim is twice that, and three bursts.
    #[test]
    fn the_window_grows_by_what_is_acknowledged_towards_its_aim() {
        for (full, window, total_delivered, after) in [
            (true, 100_000, 500_000, 102_000),
            (true, 205_000, 500_000, 206_000),
            (true, 300_000, 500_000, 206_000),
            (true, 1000, 500_000, 4000),
            // Until the pipe is full it does not come down, and the first window's worth always counts.
            (false, 205_000, 500_000, 207_000),
            (false, 300_000, 500_000, 300_000),
            (false, 300_000, 9999, 302_000),
            (false, 300_000, 10_000, 300_000),
        ] {
            let mut bbr = probing(UNIT);
            (bbr.phase, bbr.window_gain, bbr.full, bbr.window) = (2, WINDOW_GAIN, full, window);
            bbr.set_window(&ack(2000), &RateSample { total_delivered, ..RateSample::default() });
            assert_eq!(bbr.window(), after, "{full} {window} {total_delivered}");
        }
    }

    /// Linux: bbr_lt_bw_sampling, bbr_lt_bw_max_rtts. A policer that lets 1 MB/s through is found in eight rounds.
    /// Its rate is used for 48 rounds of probing for bandwidth, and in the other modes for as long as they last.
    #[test]
    fn a_policer_s_rate_is_used_for_48_rounds_of_probing() {
        for (mode, used) in [(Mode::ProbeBw, Some(48)), (Mode::Startup, None)] {
            let mut bbr = probing(UNIT);
            bbr.mode = mode;
            let mut delivered = 0;
            let mut round = |bbr: &mut Bbr, newly_lost| {
                let sample = RateSample {
                    delivered: 200_000,
                    interval: Span::from_millis(100),
                    prior_delivered: delivered,
                    total_delivered: delivered + 100_000,
                    newly_lost,
                    ..RateSample::default()
                };
                delivered += 100_000;
                bbr.update_bandwidth(Time::START + Span::from_micros(delivered), &sample);
                bbr.rate()
            };
            let begin: Vec<u64> = (0..8).map(|_| round(&mut bbr, 20_000)).collect();
            assert_eq!(begin, [[2_000_000; 7].as_slice(), &[1_000_000]].concat());
            let last = (1..100).find(|_| round(&mut bbr, 0) == 2_000_000);
            assert_eq!(last, used, "{mode:?}");
            assert_eq!(bbr.mode, mode);
        }
    }
}
