use super::config::{Config, Nagle, Reduction};
use super::recovery::{Phase, Recovery};
use super::rtt::RoundTrip;
use super::scoreboard::{Criterion, Delivery, Scoreboard};
use super::segment::{Flags, Segment};
use crate::congestion::{Ack, AnyController, Controller, Loss, Params};
use flashcrowd_base::{Span, Time};

/// Duplicate acknowledgements that stand for a loss (RFC 5681).
const DUPLICATES: u32 = 3;
/// Linux lets reordering raise that at most to this.
const MOST_REORDERING: u32 = 300;
/// Timers closer than this cannot be told apart (Linux: `TCP_TIMEOUT_MIN`, two ticks).
const TIMER_GRAIN: Span = Span::from_millis(2);
/// How long a super-segment waits to become longer (Linux 2.6: a tick).
const DEFERRAL: Span = Span::from_millis(1);
/// What a probe for a single segment allows for a delayed acknowledgement (RFC 8985: WCDelAckT).
const LONGEST_DELAYED_ACK: Span = Span::from_millis(200);

/// What the sender's one timer is set for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Alarm {
    Retransmit,
    LossProbe,
    Reordering,
    WindowProbe,
}

/// Data to send: a range of the stream, and a FIN behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Burst {
    pub(super) seq: u64,
    pub(super) len: u32,
    pub(super) fin: bool,
    pub(super) push: bool,
}

/// Counters of the sending half.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counters {
    pub(super) segments_retransmitted: u64,
    pub(super) bytes_retransmitted: u64,
    pub(super) timeouts: u32,
    pub(super) recoveries: u32,
    pub(super) undone: u32,
}

/// The sending half: what is queued, what is in the network, and when to say it again.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    una: u64,
    nxt: u64,
    /// End of what the application wrote.
    end: u64,
    /// The application has closed: a FIN follows `end`.
    closed: bool,
    mss: u32,
    sack: bool,
    timestamps: bool,
    /// Which probes are due: one for a lost tail, one for a closed window.
    probe_tail: bool,
    probe_window: bool,
    /// The window limited the sender; something was sent since that was last noted.
    limited_now: bool,
    sent_now: bool,
    /// Offset after the last byte that the other end accepts, where that was said, and the
    /// largest window it ever offered.
    edge: u64,
    edge_said_at: u64,
    largest_window: u64,
    board: Scoreboard,
    rtt: RoundTrip,
    controller: AnyController,
    recovery: Recovery,
    /// Duplicate acknowledgements of `una` (without SACK).
    duplicates: u32,
    /// Segments that later ones may overtake without being lost.
    reordering: u32,
    reordering_seen: bool,
    /// RACK: sent time, end and round trip of the newest segment delivered.
    newest: (Time, u64),
    newest_rtt: Span,
    /// Offset that decides what became of a tail-loss probe; whether the probe was a repeat.
    probed: Option<(u64, bool)>,
    alarm: Alarm,
    alarm_at: Time,
    backoff: u32,
    retries: u32,
    last_sent: Time,
    /// Since when a super-segment waits to become longer.
    deferred_since: Option<Time>,
    /// End of the last segment that was not full (Minshall).
    small_end: u64,
    /// Congestion window validation, as Linux' tcp_cwnd_validate.
    was_limited: bool,
    most_outstanding: u64,
    usage_end: u64,
    most_used: u64,
    used_since: Time,
    pub(super) counters: Counters,
}

impl Sender {
    /// A sender that may begin with data, once the handshake has agreed on these.
    pub(super) fn new(
        config: &Config,
        now: Time,
        mss: u32,
        sack: bool,
        timestamps: bool,
    ) -> Sender {
        let initial_window = u64::from(config.initial_window_segments) * u64::from(mss);
        let params =
            Params { mss, initial_window, hystart: config.hystart, count_acks: config.count_acks };
        Sender {
            una: 0,
            nxt: 0,
            end: 0,
            closed: false,
            mss,
            sack,
            timestamps,
            probe_tail: false,
            probe_window: false,
            limited_now: false,
            sent_now: false,
            edge: 0,
            edge_said_at: 0,
            largest_window: 0,
            board: Scoreboard::default(),
            rtt: RoundTrip::new(config),
            controller: AnyController::new(config.controller, params),
            recovery: Recovery::new(),
            duplicates: 0,
            reordering: DUPLICATES,
            reordering_seen: false,
            newest: (Time::START, 0),
            newest_rtt: Span::ZERO,
            probed: None,
            alarm: Alarm::Retransmit,
            alarm_at: Time::NEVER,
            backoff: 0,
            retries: 0,
            last_sent: now,
            deferred_since: None,
            small_end: 0,
            was_limited: false,
            most_outstanding: 0,
            usage_end: 0,
            most_used: 0,
            used_since: now,
            counters: Counters::default(),
        }
    }

    /// What the handshake agreed on. Nothing has been sent yet; what was written stays queued.
    pub(super) fn agree(&mut self, config: &Config, mss: u32, sack: bool, timestamps: bool) {
        let (end, closed) = (self.end, self.closed);
        *self = Sender::new(config, self.last_sent, mss, sack, timestamps);
        (self.end, self.closed) = (end, closed);
    }

    /// The other end offers this window.
    pub(super) fn open(&mut self, now: Time, window: u32) {
        self.edge = u64::from(window);
        self.largest_window = self.edge;
        self.last_sent = now;
        self.used_since = now;
    }

    /// The handshake took this long.
    pub(super) fn sample(&mut self, config: &Config, now: Time, sample: Span) {
        self.rtt.see_least(now, sample);
        self.rtt.sample(config, sample, 0, 0);
    }

    /// The handshake took several tries: start from one segment.
    pub(super) fn start_small(&mut self) {
        self.controller.on_decay(u64::from(self.mss));
    }

    // --- the application's side ---

    /// Queues up to `bytes`.
    pub(super) fn write(&mut self, config: &Config, bytes: u64) -> u64 {
        if self.closed {
            return 0;
        }
        let taken = bytes.min(self.write_space(config));
        self.end += taken;
        taken
    }

    pub(super) fn write_space(&self, config: &Config) -> u64 {
        if self.closed {
            return 0;
        }
        let buffer = &config.send_buffer;
        let size = if buffer.autotune {
            (2 * self.controller.window()).clamp(buffer.initial_bytes, buffer.max_bytes)
        } else {
            buffer.initial_bytes
        };
        size.saturating_sub(self.end.saturating_sub(self.una))
    }

    pub(super) fn close(&mut self) {
        self.closed = true;
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// The connection is over: nothing is sent any more.
    pub(super) fn stop(&mut self) {
        self.alarm_at = Time::NEVER;
        self.board = Scoreboard::default();
    }

    /// Whether the FIN is acknowledged.
    pub(super) fn is_finished(&self) -> bool {
        self.closed && self.una > self.end
    }

    // --- estimates ---

    #[inline]
    fn outstanding(&self) -> u64 {
        self.nxt - self.una
    }

    pub(super) fn in_flight(&self) -> u64 {
        let in_flight = self.board.in_flight(self.outstanding());
        // Without SACK each duplicate stands for a segment that has left the network.
        in_flight.saturating_sub(u64::from(self.duplicates) * u64::from(self.mss))
    }

    /// The congestion window in force.
    #[inline]
    pub(super) fn window(&self) -> u64 {
        if self.recovery.phase == Phase::Recovery {
            self.recovery.window
        } else {
            self.controller.window()
        }
    }

    pub(super) fn threshold(&self) -> u64 {
        self.controller.threshold()
    }
    pub(super) fn round_trip(&self) -> &RoundTrip {
        &self.rtt
    }
    pub(super) fn next_offset(&self) -> u64 {
        self.nxt
    }
    /// Bytes acknowledged, without the FIN.
    pub(super) fn bytes_acked(&self) -> u64 {
        self.una.min(self.end)
    }
    /// One before the oldest unacknowledged offset: what a window probe says.
    pub(super) fn probe_offset(&self) -> u64 {
        self.una.wrapping_sub(1)
    }
    pub(super) fn peer_window(&self) -> u64 {
        self.edge.saturating_sub(self.una)
    }
    pub(super) fn timeout(&self, config: &Config) -> Span {
        let factor = 1u64 << self.backoff.min(31);
        (self.rtt.timeout() * factor).min(config.max_rto_ns)
    }
    #[inline]
    pub(super) fn alarm_at(&self) -> Time {
        self.alarm_at
    }
    pub(super) fn capacity(&self) -> usize {
        self.board.capacity()
    }

    // --- acknowledgements ---

    /// A segment with ACK arrived.
    #[inline]
    pub(super) fn on_ack(&mut self, config: &Config, now: Time, segment: &Segment) {
        let ack = segment.ack;
        if ack > self.nxt {
            return;
        }
        let prior_in_flight = self.in_flight();
        let advanced = ack > self.una;
        let window_changed = self.update_window(segment, advanced);
        let mut delivery = Delivery::default();
        if advanced {
            self.una = ack;
            self.board.acknowledge(ack, &mut delivery);
            self.backoff = 0;
            self.retries = 0;
        }
        if self.sack && segment.has_sack() {
            self.board.select(segment.sack_ranges(), &mut delivery);
        }
        let sample = self.take_samples(config, now, segment, advanced, &delivery);
        if self.probed.is_some() {
            self.judge_probe(now, ack, advanced || delivery.sacked || segment.len > 0);
        }
        let duplicate = !advanced
            && ack == self.una
            && segment.len == 0
            && !window_changed
            && !segment.flags.contains(Flags::FIN)
            && self.outstanding() > 0;
        let was_recovering = self.recovery.phase == Phase::Recovery;
        let calm = self.recovery.phase == Phase::Open
            && self.board.sacked_bytes() == 0
            && self.board.lost_bytes() == 0
            && self.duplicates == 0
            && !duplicate
            && delivery.reordered.is_none();
        if !calm {
            self.respond(config, now, segment, advanced, duplicate, &delivery);
        }
        if delivery.bytes > 0 {
            let may_grow = self.may_grow(config, was_recovering, advanced);
            self.grow(now, prior_in_flight, sample, &delivery, may_grow);
        }
        if advanced || delivery.sacked {
            self.set_alarm_after_ack(config, now);
        } else if self.alarm == Alarm::WindowProbe && self.peer_window() > 0 {
            self.alarm_at = Time::NEVER;
            self.backoff = 0;
        }
    }

    #[inline]
    fn update_window(&mut self, segment: &Segment, advanced: bool) -> bool {
        if segment.ack < self.una {
            return false;
        }
        let edge = segment.ack + u64::from(segment.window);
        if advanced || segment.seq > self.edge_said_at || edge > self.edge {
            let changed = edge != self.edge;
            self.edge = edge;
            self.edge_said_at = segment.seq;
            self.largest_window = self.largest_window.max(u64::from(segment.window));
            return changed;
        }
        false
    }

    /// Round-trip samples, the newest delivered segment, and reordering.
    #[inline]
    fn take_samples(
        &mut self,
        config: &Config,
        now: Time,
        segment: &Segment,
        advanced: bool,
        delivery: &Delivery,
    ) -> Option<Span> {
        let acked = if delivery.repeated { None } else { delivery.acked_sent };
        let latest = delivery.sacked_sent.or(acked).map(|(_, newest)| now.since(newest));
        let mut smoothed = acked.or(delivery.sacked_sent).map(|(oldest, _)| now.since(oldest));
        if smoothed.is_none() && advanced && self.timestamps {
            // Karn's ambiguity is solved by the echo (RFC 7323).
            let micros = clock(now).wrapping_sub(segment.echo);
            smoothed = (micros < 1 << 31).then(|| Span::from_micros(u64::from(micros)));
        }
        if let Some(sample) = latest {
            self.rtt.see_least(now, sample);
        }
        if let Some(sample) = smoothed {
            self.rtt.sample(config, sample, self.una, self.nxt);
        }
        if let Some((sent_at, end, repeated)) = delivery.newest {
            let rtt = now.since(sent_at);
            // The acknowledgement of a repeat that comes too soon is the original's.
            if !(repeated && rtt < self.rtt.least()) {
                self.newest_rtt = rtt;
                self.newest = self.newest.max((sent_at, end));
            }
        }
        if let Some(seq) = delivery.reordered {
            self.reordering_seen = true;
            let distance = self.board.highest_sacked().saturating_sub(seq);
            let segments = distance.div_ceil(u64::from(self.mss)) as u32;
            self.reordering = self.reordering.max(segments.min(MOST_REORDERING));
        }
        latest.or(smoothed)
    }

    /// Losses may have happened, be repaired, or prove imaginary.
    #[inline(never)]
    fn respond(
        &mut self,
        config: &Config,
        now: Time,
        segment: &Segment,
        advanced: bool,
        duplicate: bool,
        delivery: &Delivery,
    ) {
        let mss = u64::from(self.mss);
        if !self.sack {
            self.count_duplicates(advanced, duplicate, delivery);
        }
        if advanced && self.recovery.phase != Phase::Open {
            if config.undo && self.was_spurious(segment) {
                self.undo();
            } else if self.una >= self.recovery.high {
                self.recovered(config);
            }
        }
        let lost = self.find_losses(config, now, advanced);
        if self.recovery.phase == Phase::Open && lost {
            self.begin_recovery(config);
        }
        if self.recovery.phase == Phase::Recovery {
            let mut delivered = delivery.bytes;
            if !self.sack && duplicate {
                delivered = mss;
            }
            let in_flight = self.in_flight();
            self.recovery.on_ack(config.reduction, mss, delivered, in_flight, advanced && !lost);
        }
    }

    fn count_duplicates(&mut self, advanced: bool, duplicate: bool, delivery: &Delivery) {
        let mss = u64::from(self.mss);
        if advanced {
            // All but the first of the segments acknowledged were announced by duplicates.
            let segments = delivery.bytes.div_ceil(mss) as u32;
            self.duplicates = match self.recovery.phase {
                Phase::Recovery if self.una < self.recovery.high => {
                    self.duplicates.saturating_sub(segments.saturating_sub(1))
                }
                _ => 0,
            };
        } else if duplicate && self.recovery.phase != Phase::Loss {
            // No more can have left than are outstanding besides the missing one.
            let most = self.outstanding().saturating_sub(1) / mss;
            self.duplicates = (self.duplicates + 1).min(most as u32);
        }
    }

    fn find_losses(&mut self, config: &Config, now: Time, advanced: bool) -> bool {
        if !self.sack {
            return match self.recovery.phase {
                Phase::Open => self.duplicates >= DUPLICATES && self.board.lose_oldest(),
                // A partial acknowledgement: the next hole (RFC 6582).
                Phase::Recovery => advanced && self.outstanding() > 0 && self.board.lose_oldest(),
                Phase::Loss => false,
            };
        }
        let (lost, wait) = self.board.judge(self.criterion(config), now);
        if let Some(wait) = wait {
            self.alarm = Alarm::Reordering;
            self.alarm_at = now + wait + TIMER_GRAIN;
        } else if self.alarm == Alarm::Reordering {
            self.set_timeout(config, now);
        }
        lost
    }

    fn criterion(&self, config: &Config) -> Criterion {
        if config.rack {
            return Criterion::Time {
                newest: self.newest,
                patience: self.newest_rtt + self.reordering_window(),
            };
        }
        if config.forward_ack && !self.reordering_seen {
            return Criterion::Distance((u64::from(DUPLICATES) + 1) * u64::from(self.mss));
        }
        let adaptive = config.forward_ack;
        Criterion::Count(if adaptive { self.reordering } else { DUPLICATES })
    }

    /// How long a segment may be late (RFC 8985, section 6.2, step 4).
    fn reordering_window(&self) -> Span {
        if !self.reordering_seen {
            let enough = self.board.sacked_above() >= DUPLICATES;
            if enough || self.recovery.phase != Phase::Open {
                return Span::ZERO;
            }
        }
        (self.rtt.least() / 4).min(self.rtt.smoothed())
    }

    fn begin_recovery(&mut self, config: &Config) {
        self.counters.recoveries += 1;
        self.probed = None;
        let prior = self.controller.window();
        let loss = self.loss(config);
        self.controller.on_loss(&loss);
        self.recovery.begin(config.reduction, prior, self.controller.window(), self.nxt);
    }

    /// A loss now is a loss at the whole window if windows only grow when they are used.
    fn loss(&self, config: &Config) -> Loss {
        let window = self.controller.window();
        let used =
            if config.app_limited_validation { window } else { window.min(self.outstanding()) };
        Loss { now: self.last_sent, window: used, in_flight: self.in_flight() }
    }

    fn recovered(&mut self, config: &Config) {
        let mss = u64::from(self.mss);
        if self.recovery.phase == Phase::Recovery {
            let limit = match config.reduction {
                // RFC 6582, section 3.2, step 3, option 1: no burst.
                Reduction::Classic => self.in_flight().max(mss) + mss,
                Reduction::RateHalving => self.recovery.window.max(self.in_flight() + 3 * mss),
                Reduction::Prr => u64::MAX,
            };
            self.controller.on_recovered(limit);
        }
        self.duplicates = 0;
        self.recovery.phase = Phase::Open;
        self.recovery.can_undo = false;
    }

    /// Whether the acknowledgement answers an original although a repeat was sent (Eifel, RFC 3522).
    fn was_spurious(&self, segment: &Segment) -> bool {
        self.recovery.can_undo
            && match self.recovery.first_repeat {
                None => true,
                Some(at) => self.timestamps && segment.echo.wrapping_sub(at) as i32 >> 31 != 0,
            }
    }

    fn undo(&mut self) {
        self.counters.undone += 1;
        self.controller.on_undo();
        self.board.lose_nothing();
        self.duplicates = 0;
        self.recovery.phase = Phase::Open;
        self.recovery.can_undo = false;
    }

    /// Whether this acknowledgement may open the window. While reordering is usual, SACKs alone
    /// may (Linux: tcp_may_raise_cwnd).
    #[inline]
    fn may_grow(&self, config: &Config, was_recovering: bool, advanced: bool) -> bool {
        let repaired = was_recovering && config.reduction != Reduction::Prr;
        self.recovery.phase != Phase::Recovery
            && !repaired
            && (advanced || self.reordering > DUPLICATES)
    }

    #[inline]
    fn grow(
        &mut self,
        now: Time,
        prior_in_flight: u64,
        rtt: Option<Span>,
        delivery: &Delivery,
        may_grow: bool,
    ) {
        let in_slow_start = self.controller.window() < self.controller.threshold();
        let window_limited = self.was_limited
            || (in_slow_start && self.controller.window() < 2 * self.most_outstanding);
        self.controller.on_ack(&Ack {
            now,
            acked: delivery.bytes,
            rtt,
            one_way_delay: None,
            in_flight: prior_in_flight,
            window_limited,
            may_grow,
            srtt: self.rtt.smoothed(),
            min_rtt: self.rtt.least(),
            una: self.una,
            nxt: self.nxt,
        });
    }

    // --- timers ---

    fn set_timeout(&mut self, config: &Config, now: Time) {
        self.alarm = Alarm::Retransmit;
        self.alarm_at =
            if self.outstanding() == 0 { Time::NEVER } else { now + self.timeout(config) };
    }

    #[inline]
    fn set_alarm_after_ack(&mut self, config: &Config, now: Time) {
        if self.outstanding() == 0 {
            self.alarm = Alarm::Retransmit;
            self.alarm_at = Time::NEVER;
        } else if self.alarm == Alarm::Reordering && self.alarm_at != Time::NEVER {
            // It was set for this very acknowledgement.
        } else if !self.schedule_probe(config, now) {
            self.set_timeout(config, now);
        }
    }

    /// Sets the tail-loss probe (RFC 8985, section 7.2), if one is due.
    #[inline]
    fn schedule_probe(&mut self, config: &Config, now: Time) -> bool {
        if !config.tail_loss_probe
            || !self.sack
            || self.recovery.phase != Phase::Open
            || self.probed.is_some()
            || self.backoff > 0
        {
            return false;
        }
        let smoothed = self.rtt.smoothed();
        let timeout = self.timeout(config);
        let wait = if smoothed.is_zero() {
            timeout
        } else if self.outstanding() <= u64::from(self.mss) {
            smoothed * 2 + LONGEST_DELAYED_ACK
        } else {
            smoothed * 2 + TIMER_GRAIN
        };
        self.alarm = Alarm::LossProbe;
        self.alarm_at = now + wait.min(timeout);
        true
    }

    /// Acts on the alarm if it is due. `false` if the other end has been silent for too long.
    pub(super) fn on_timer(&mut self, config: &Config, now: Time) -> bool {
        if now < self.alarm_at {
            return true;
        }
        self.alarm_at = Time::NEVER;
        match self.alarm {
            Alarm::Retransmit => return self.time_out(config, now),
            Alarm::LossProbe => {
                self.probe_tail = true;
                self.set_timeout(config, now);
            }
            Alarm::Reordering => {
                self.alarm = Alarm::Retransmit;
                let lost = self.find_losses(config, now, false);
                if lost {
                    if self.recovery.phase == Phase::Open {
                        self.begin_recovery(config);
                    }
                    if self.recovery.phase == Phase::Recovery {
                        let mss = u64::from(self.mss);
                        let in_flight = self.in_flight();
                        self.recovery.on_ack(config.reduction, mss, mss, in_flight, false);
                    }
                }
                if self.alarm_at == Time::NEVER {
                    self.set_timeout(config, now);
                }
            }
            Alarm::WindowProbe => {
                self.probe_window = true;
                self.backoff += 1;
                self.alarm_at = now + self.timeout(config);
            }
        }
        true
    }

    fn time_out(&mut self, config: &Config, now: Time) -> bool {
        if self.outstanding() == 0 {
            return true;
        }
        self.counters.timeouts += 1;
        if self.retries >= config.data_retries {
            return false;
        }
        let again = match self.recovery.phase {
            Phase::Open => false,
            Phase::Recovery => true,
            Phase::Loss => self.retries > 0,
        };
        self.retries += 1;
        self.backoff += 1;
        // What was sent within the last round trip may still arrive (Linux, with RACK).
        let since = if config.rack && self.sack && !self.newest_rtt.is_zero() {
            let patience = self.newest_rtt + self.rtt.least() / 4;
            Time::from_nanos(now.nanos().saturating_sub(patience.nanos()))
        } else {
            Time::NEVER
        };
        if self.board.oldest_is_sacked() {
            self.board.forget_sacks();
        }
        self.duplicates = 0;
        let before = self.loss(config);
        self.board.lose_all(since);
        let loss = Loss { now, in_flight: self.in_flight(), ..before };
        self.controller.on_timeout(&loss, again);
        self.recovery.time_out(self.nxt, again);
        self.probed = None;
        self.probe_tail = false;
        self.set_timeout(config, now);
        true
    }

    /// Decides what a tail-loss probe has shown (RFC 8985, section 7.4).
    fn judge_probe(&mut self, now: Time, ack: u64, news: bool) {
        let Some((high, repeated)) = self.probed else { return };
        if ack < high {
            return;
        }
        if !repeated {
            self.probed = None;
        } else if ack > high {
            // The probe repaired a loss: the window must pay for it.
            self.probed = None;
            if self.recovery.phase == Phase::Open {
                let window = self.controller.window();
                self.controller.on_loss(&Loss { now, window, in_flight: self.in_flight() });
            }
        } else if !news {
            self.probed = None;
        }
    }

    // --- transmission ---

    /// Whether a probe of a closed window is due, once.
    #[inline]
    pub(super) fn take_window_probe(&mut self) -> bool {
        std::mem::take(&mut self.probe_window)
    }

    /// What to send next.
    #[inline]
    pub(super) fn poll(&mut self, config: &Config, now: Time) -> Option<Burst> {
        if self.board.has_unrepeated() && self.recovery.phase != Phase::Open {
            if let Some(burst) = self.repeat(config, now) {
                return Some(burst);
            }
        }
        if self.probe_tail {
            self.probe_tail = false;
            if let Some(burst) = self.probe(config, now) {
                return Some(burst);
            }
        }
        let burst = self.send_new(config, now);
        if burst.is_none() {
            self.rest(config, now);
        }
        burst
    }

    fn repeat(&mut self, config: &Config, now: Time) -> Option<Burst> {
        let mss = u64::from(self.mss);
        let room = self.window().saturating_sub(self.in_flight());
        if room < mss && !self.recovery.force {
            return None;
        }
        let limit = u64::from(config.tso_bytes).min(room).max(mss);
        let (seq, bytes, segments) = self.board.repeat_lost(limit, now, self.nxt)?;
        self.recovery.force = false;
        self.recovery.on_sent(bytes);
        if self.recovery.first_repeat.is_none() {
            self.recovery.first_repeat = Some(clock(now));
        }
        if seq == self.una || self.alarm_at == Time::NEVER {
            self.set_timeout(config, now);
        }
        self.last_sent = now;
        self.sent_now = true;
        Some(self.repeated(seq, bytes, segments))
    }

    fn repeated(&mut self, seq: u64, bytes: u64, segments: u32) -> Burst {
        let fin = self.closed && seq + bytes > self.end;
        let len = (bytes - u64::from(fin)) as u32;
        self.counters.segments_retransmitted += u64::from(segments);
        self.counters.bytes_retransmitted += u64::from(len);
        Burst { seq, len, fin, push: seq + u64::from(len) == self.end }
    }

    /// New data if there is any, else the last segment once more, whatever the congestion window says.
    fn probe(&mut self, config: &Config, now: Time) -> Option<Burst> {
        if self.outstanding() == 0 {
            return None;
        }
        let unsent = self.end.saturating_sub(self.nxt);
        let len = unsent.min(u64::from(self.mss));
        if len > 0 && self.nxt + len <= self.edge {
            let fin = self.closed && len == unsent;
            let burst = self.emit(config, now, len as u32, fin);
            self.probed = Some((self.nxt, false));
            self.set_timeout(config, now);
            return Some(burst);
        }
        let (seq, bytes) = self.board.repeat_last(now, self.nxt)?;
        self.probed = Some((self.nxt, true));
        self.set_timeout(config, now);
        Some(self.repeated(seq, bytes, 1))
    }

    #[inline]
    fn send_new(&mut self, config: &Config, now: Time) -> Option<Burst> {
        if self.nxt >= self.end {
            // A FIN is not held back by any window.
            if self.closed && self.nxt == self.end {
                return Some(self.emit(config, now, 0, true));
            }
            return None;
        }
        let mss = u64::from(self.mss);
        let unsent = self.end - self.nxt;
        let outstanding = self.outstanding();
        if outstanding == 0 && config.idle_restart {
            self.restart_after_idle(config, now);
        }
        let wanted = unsent.min(mss);
        let offered = self.edge.saturating_sub(self.nxt);
        let mut len = wanted;
        if offered < wanted {
            // Silly windows: wait for a full segment or half of the largest window (RFC 1122).
            if offered == 0 || offered < self.largest_window / 2 {
                if outstanding == 0 && self.alarm_at == Time::NEVER {
                    self.alarm = Alarm::WindowProbe;
                    self.alarm_at = now + self.timeout(config);
                }
                return None;
            }
            len = offered;
        }
        let in_flight = self.counted_in_flight(config);
        let window = self.window();
        let room = window.saturating_sub(in_flight);
        if room < len {
            self.limited_now = true;
            return None;
        }
        if u64::from(config.tso_bytes) > mss && unsent > mss && offered > mss {
            len = self.super_segment(config, now, unsent, offered, room)?;
        } else if len < mss {
            let ends = len == unsent && self.closed;
            if !ends && self.must_wait(config, outstanding) {
                return None;
            }
        }
        let fin = self.closed && len == unsent;
        let burst = self.emit(config, now, len as u32, fin);
        if self.board.in_flight(self.outstanding()) >= window {
            self.limited_now = true;
        }
        Some(burst)
    }

    /// Bytes in flight for the question whether new data may go: without limited transmit, what
    /// duplicates announce makes no room until it is known what they mean.
    #[inline]
    fn counted_in_flight(&self, config: &Config) -> u64 {
        if !config.limited_transmit && self.recovery.phase == Phase::Open {
            self.outstanding()
        } else {
            self.in_flight()
        }
    }

    /// How long a super-segment to send; `None` to wait for a longer one.
    fn super_segment(
        &mut self,
        config: &Config,
        now: Time,
        unsent: u64,
        offered: u64,
        room: u64,
    ) -> Option<u64> {
        let mss = u64::from(self.mss);
        let most = u64::from(config.tso_bytes) / mss * mss;
        let limit = offered.min(room);
        let window = self.window().min(self.peer_window());
        // Linux' tcp_tso_should_defer: a third of a window at least, unless that is all there is
        // or it has waited for a tick already.
        if limit < most && unsent > limit && limit < window / 3 && self.outstanding() >= 2 * mss {
            let since = *self.deferred_since.get_or_insert(now);
            if now.since(since) <= DEFERRAL {
                self.limited_now |= room <= offered;
                return None;
            }
        }
        self.deferred_since = None;
        let len = limit.min(most).min(unsent);
        let partial = len % mss;
        if partial == 0 {
            return Some(len);
        }
        let ends = len == unsent;
        let hold = !ends || (!self.closed && self.must_wait(config, len - partial));
        Some(if hold && len > partial { len - partial } else { len })
    }

    /// Nagle's question: whether a segment that is not full must wait.
    fn must_wait(&self, config: &Config, outstanding: u64) -> bool {
        match config.nagle {
            Nagle::Off => false,
            Nagle::Classic => outstanding > 0,
            // Minshall's variant (Linux: tcp_minshall_check): one small segment at a time.
            Nagle::Minshall => {
                outstanding > 0 && self.small_end > self.una && self.small_end <= self.nxt
            }
        }
    }

    /// Records new data as sent.
    #[inline]
    fn emit(&mut self, config: &Config, now: Time, len: u32, fin: bool) -> Burst {
        let seq = self.nxt;
        let outstanding = self.outstanding();
        if self.board.in_flight(outstanding) == 0 {
            self.controller.on_resume(now, now.since(self.last_sent));
        }
        let mut at = seq;
        let mut left = len;
        while left > self.mss {
            self.board.push(at, self.mss, now);
            at += u64::from(self.mss);
            left -= self.mss;
        }
        self.board.push(at, left + u32::from(fin), now);
        self.nxt = at + u64::from(left) + u64::from(fin);
        if left < self.mss {
            self.small_end = self.nxt;
        }
        self.last_sent = now;
        self.sent_now = true;
        self.recovery.on_sent(u64::from(len));
        if self.alarm != Alarm::Reordering || self.alarm_at == Time::NEVER {
            let fresh =
                outstanding == 0 || self.alarm == Alarm::LossProbe || self.alarm_at == Time::NEVER;
            if !self.schedule_probe(config, now) && fresh {
                self.set_timeout(config, now);
            }
        }
        Burst { seq, len, fin, push: seq + u64::from(len) == self.end }
    }

    /// RFC 2861: after silence the window halves once per timeout, down to the initial window.
    fn restart_after_idle(&mut self, config: &Config, now: Time) {
        let timeout = self.timeout(config);
        let idle = now.since(self.last_sent);
        if idle <= timeout {
            return;
        }
        let mss = u64::from(self.mss);
        let window = self.controller.window();
        let least = window.min(u64::from(config.initial_window_segments) * mss);
        let periods = (idle.nanos() - 1) / timeout.nanos().max(1);
        let halved = window.checked_shr(periods.min(63) as u32).unwrap_or(0);
        self.controller.on_decay(halved.max(least));
        // Once per pause, though the poll may be repeated before something is sent.
        self.last_sent = now;
        self.used_since = now;
        self.most_used = 0;
    }

    /// Nothing more to send for now: note whether the window was the reason.
    #[inline]
    fn rest(&mut self, config: &Config, now: Time) {
        if !(self.sent_now || self.limited_now) {
            return;
        }
        let limited = self.limited_now;
        self.sent_now = false;
        self.limited_now = false;
        if !config.app_limited_validation {
            self.was_limited = true;
            return;
        }
        let outstanding = self.outstanding();
        if self.una >= self.usage_end
            || limited
            || (!self.was_limited && outstanding > self.most_outstanding)
        {
            self.was_limited = limited;
            self.most_outstanding = outstanding;
            self.usage_end = self.nxt;
        }
        let window = self.controller.window();
        let in_slow_start = window < self.controller.threshold();
        if self.was_limited || (in_slow_start && window < 2 * self.most_outstanding) {
            self.most_used = 0;
            self.used_since = now;
            return;
        }
        self.most_used = self.most_used.max(outstanding);
        if config.idle_restart && now.since(self.used_since) >= self.timeout(config) {
            let initial = u64::from(config.initial_window_segments) * u64::from(self.mss);
            let used = self.most_used.max(initial);
            // Limited by the application, not by a full send buffer (RFC 2861).
            if self.recovery.phase == Phase::Open && used < window {
                self.controller.on_decay((window + used) / 2);
            }
            self.most_used = 0;
            self.used_since = now;
        }
    }
}

/// The sender's clock in the timestamp option: microseconds, wrapping.
#[inline]
pub(super) fn clock(now: Time) -> u32 {
    (now.nanos() / 1000) as u32
}
