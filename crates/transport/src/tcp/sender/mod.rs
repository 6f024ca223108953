mod arrival;
mod marks;
mod paced;
mod repair;
mod repairs;
mod timer;
mod transmit;
mod validation;

use super::config::Config;
use super::ecn::Feedback;
use super::flight::Sent;
use super::recovery::Phase;
use super::rtt::RoundTrip;
use super::scoreboard::{MarkedBytes, Scoreboard};
use super::segment::Flags;
use super::state::LossTimer;
use crate::congestion::{AnyController, Controller, Params};
use crate::pacing::{Paced, Pacing};
use flashcrowd_base::{Span, Time};

use repairs::Repairs;

/// Duplicate acknowledgements that signal a loss (RFC 5681).
const DUPLICATES: u32 = 3;
/// Added to timers, as they have this granularity (Linux: `TCP_TIMEOUT_MIN`, two ticks).
const TIMER_GRAIN: Span = Span::from_millis(2);

/// No tail-loss probe is open.
const NO_TLP: u64 = u64::MAX;

/// The purpose of the sender's one timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Timer {
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
    /// FIN and PSH.
    pub(super) flags: Flags,
}

/// The sending half: what is queued, what is in flight, and when it is retransmitted.
///
/// The fields are in the order in which segments need them. What a segment looks at that acknowledges
/// nothing new fills one line of the cache; what an acknowledgement or a new segment changes comes next.
/// Last come the newest segment of RACK, and what deferral, reordering, marks and losses need.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct Sender {
    snd_una: u64,
    snd_nxt: u64,
    /// End of what the application wrote.
    write_end: u64,
    /// Right edge of the send window (SND.UNA + SND.WND).
    snd_wnd_end: u64,
    /// Sequence number of the segment that updated it last (SND.WL1).
    snd_wl1: u64,
    timer_at: Time,
    /// Largest window that the other end has advertised.
    largest_window: u32,
    mss: u16,
    /// The application has closed: a FIN follows `write_end`.
    closed: bool,
    sack: bool,
    timer: Timer,
    phase: Phase,
    /// Which probes are due: one for a lost tail, one for a closed window.
    tlp_due: bool,
    window_probe_due: bool,
    /// Since the last validation of the window: it limited the sender; data was sent.
    limited_now: bool,
    sent_now: bool,
    /// Congestion window validation, as Linux' tcp_cwnd_validate.
    is_cwnd_limited: bool,
    /// Set at the first SACK, duplicate acknowledgement, timeout or probe, and never cleared. Until then
    /// an acknowledgement without news takes the short way through `on_ack`.
    disturbed: bool,

    // The next line of the cache.
    board: Scoreboard,
    last_sent: Time,
    /// End of the last segment that was not full (Minshall).
    small_end: u64,
    /// More of congestion window validation: sizes are no larger than a window, which has 32 bits.
    cwnd_usage_end: u64,
    cwnd_stamp: Time,
    max_outstanding: u32,
    cwnd_used: u32,
    /// RFC 8985, section 7.1: TLP.end_seq, SND.NXT after the probe, or [`NO_TLP`]; and TLP.is_retrans,
    /// whether the probe was a retransmission.
    tlp_end_seq: u64,
    /// Duplicate acknowledgements of `snd_una` (without SACK).
    duplicates: u32,
    /// The largest congestion window yet, which the send buffer follows.
    largest_cwnd: u32,

    // From here on in one line what the acknowledgement of arriving data waits for.
    pub(super) rtt: RoundTrip,
    /// Doublings of the RTO; 31 and more count as 31.
    backoff: u8,
    retries: u8,
    tlp_is_retrans: bool,
    timestamps: bool,
    /// The kind of ECN feedback, and whether CWR is to be sent.
    feedback: Feedback,
    cwr_due: bool,
    /// Segments of the present TSO packet that are still to be sent, and of the buffer (skb) that it is cut from.
    tso_left: u8,
    skb_left: u8,
    controller: AnyController,
    /// Pacer and rate sampler; none where the controller needs neither.
    paced: Option<Box<Paced>>,

    /// RACK (RFC 8985, section 5.3): sent time, end and round trip of the newest segment delivered.
    rack_newest: (Time, u64),
    rack_rtt: Span,
    /// Since when a super-segment is deferred (Linux: tcp_tso_should_defer).
    deferred_since: Time,
    /// Reordering degree in segments (Linux: tp->reordering).
    reordering: u16,
    reordering_seen: bool,
    /// The counter of marked packets (s.cep of RFC 9768).
    cep: u8,
    /// Packets that arrived marked, by accurate feedback (Linux: delivered_ce).
    pub(super) delivered_marked: u32,
    pub(super) repairs: Repairs,
}

impl Sender {
    /// A sender that may begin with data, once the handshake has agreed on these.
    pub(super) fn new(
        config: &Config,
        now: Time,
        mss: u16,
        sack: bool,
        timestamps: bool,
    ) -> Sender {
        let initial_window = u64::from(config.initial_window_segments) * u64::from(mss);
        let params = Params {
            now,
            mss: u32::from(mss),
            min_window: u64::from(mss),
            ledbat: config.ledbat,
            initial_window,
            hystart: config.hystart,
            count_acks: config.count_acks,
            paced: config.pacing == Pacing::Fq,
        };
        Sender {
            snd_una: 0,
            snd_nxt: 0,
            write_end: 0,
            closed: false,
            mss,
            sack,
            timestamps,
            tlp_due: false,
            window_probe_due: false,
            limited_now: false,
            sent_now: false,
            snd_wnd_end: 0,
            snd_wl1: 0,
            largest_window: 0,
            board: Scoreboard::default(),
            rtt: RoundTrip::new(config),
            controller: AnyController::new(config.controller, params),
            feedback: Feedback::None,
            cep: 0,
            cwr_due: false,
            tso_left: 0,
            skb_left: 0,
            paced: Paced::new(config.controller, config.pacing, now),
            phase: Phase::Open,
            duplicates: 0,
            // A thousand segments of 64 KiB at most.
            largest_cwnd: initial_window as u32,
            reordering: DUPLICATES as u16,
            delivered_marked: 0,
            reordering_seen: false,
            rack_newest: (Time::START, 0),
            rack_rtt: Span::ZERO,
            tlp_end_seq: NO_TLP,
            tlp_is_retrans: false,
            timer: Timer::Retransmit,
            timer_at: Time::NEVER,
            backoff: 0,
            retries: 0,
            last_sent: now,
            deferred_since: Time::NEVER,
            small_end: 0,
            is_cwnd_limited: false,
            disturbed: false,
            max_outstanding: 0,
            cwnd_usage_end: 0,
            cwnd_used: 0,
            cwnd_stamp: now,
            repairs: Repairs::default(),
        }
    }

    /// The agreement of the handshake. Nothing has been sent yet; written bytes stay queued.
    pub(super) fn agree(&mut self, config: &Config, mss: u16, sack: bool, timestamps: bool) {
        let (end, closed) = (self.write_end, self.closed);
        let stream = self.controller.stream().cloned();
        *self = Sender::new(config, self.last_sent, mss, sack, timestamps);
        (self.write_end, self.closed) = (end, closed);
        if let Some(stream) = stream {
            self.draw_from(stream);
        }
    }

    /// The handshake is done; the other end advertises this window.
    pub(super) fn open(&mut self, now: Time, window: u32) {
        self.snd_wnd_end = u64::from(window);
        self.largest_window = window;
        self.last_sent = now;
        self.cwnd_stamp = now;
    }

    /// The handshake took this long.
    pub(super) fn sample(&mut self, config: &Config, now: Time, sample: Span) {
        self.rtt.sample_min(now, sample);
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
        self.note_application_limit();
        self.write_end += taken;
        taken
    }

    #[inline]
    pub(super) fn written(&self) -> u64 {
        self.write_end
    }

    pub(super) fn write_space(&self, config: &Config) -> u64 {
        if self.closed {
            return 0;
        }
        let buffer = &config.send_buffer;
        let size = if buffer.autotune {
            let window = self.controller.window().max(u64::from(self.largest_cwnd));
            (2 * window).clamp(buffer.initial_bytes, buffer.max_bytes)
        } else {
            buffer.initial_bytes
        };
        size.saturating_sub(self.write_end.saturating_sub(self.snd_una))
    }

    pub(super) fn unsent(&self) -> u64 {
        self.write_end.saturating_sub(self.snd_nxt)
    }

    pub(super) fn unacknowledged(&self) -> u64 {
        self.write_end.saturating_sub(self.snd_una)
    }

    pub(super) fn close(&mut self) {
        self.closed = true;
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// The connection is over: nothing is sent any more.
    pub(super) fn stop(&mut self) {
        self.timer_at = Time::NEVER;
        self.paced = None;
        self.board = Scoreboard::default();
    }

    /// Whether a poll would neither send nor change anything.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        let noted = self.tlp_due | self.window_probe_due | self.sent_now | self.limited_now;
        self.snd_nxt >= self.write_end && !(noted | self.closed) && !self.has_unretransmitted()
    }

    /// Whether neither new data nor lost data can be sent before the next timer. What Nagle's algorithm
    /// holds back waits for an acknowledgement, not for a timer.
    #[inline]
    pub(super) fn can_sleep(&self, config: &Config) -> bool {
        !self.has_unretransmitted()
            && (self.snd_nxt >= self.write_end || self.is_held_by_nagle(config))
    }

    /// Whether some lost segments are not retransmitted yet.
    #[inline]
    fn has_unretransmitted(&self) -> bool {
        self.disturbed && self.board.has_unretransmitted()
    }

    /// Whether the FIN is acknowledged.
    pub(super) fn is_finished(&self) -> bool {
        self.closed && self.snd_una > self.write_end
    }

    // --- estimates ---

    pub(super) fn phase(&self) -> Phase {
        self.phase
    }
    pub(super) fn reordering(&self) -> u32 {
        self.reordering.into()
    }
    pub(super) fn marked_bytes(&self) -> MarkedBytes {
        self.board.marked_bytes()
    }
    #[inline]
    pub(super) fn outstanding(&self) -> u64 {
        self.snd_nxt - self.snd_una
    }

    pub(super) fn in_flight(&self) -> u64 {
        let in_flight = self.board.in_flight(self.outstanding());
        // Without SACK each duplicate means that a segment has left the network.
        in_flight.saturating_sub(u64::from(self.duplicates) * u64::from(self.mss))
    }

    /// The congestion window in force.
    #[inline]
    pub(super) fn window(&self) -> u64 {
        if self.is_reducing() && !self.controller.governs_recovery() {
            self.repairs.recovery.window
        } else {
            self.controller.window()
        }
    }

    /// Whether the window is on its way down, for losses or marks.
    #[inline]
    fn is_reducing(&self) -> bool {
        matches!(self.phase, Phase::Recovery | Phase::Cwr)
    }

    /// Whether nothing is known to be lost.
    #[inline]
    fn is_lossless(&self) -> bool {
        matches!(self.phase, Phase::Open | Phase::Cwr)
    }

    #[inline]
    pub(super) fn second_in_flight(&self) -> Option<&Sent> {
        self.board.second()
    }

    pub(super) fn threshold(&self) -> u64 {
        self.controller.threshold()
    }
    pub(super) fn round_trip(&self) -> &RoundTrip {
        &self.rtt
    }
    pub(super) fn next_offset(&self) -> u64 {
        self.snd_nxt
    }
    /// Bytes acknowledged, without the FIN.
    pub(super) fn bytes_acked(&self) -> u64 {
        self.snd_una.min(self.write_end)
    }
    /// SND.UNA - 1, the sequence number of a window probe (Linux: tcp_xmit_probe_skb).
    pub(super) fn probe_offset(&self) -> u64 {
        self.snd_una.wrapping_sub(1)
    }
    pub(super) fn peer_window(&self) -> u64 {
        self.snd_wnd_end.saturating_sub(self.snd_una)
    }
    pub(super) fn timeout(&self, config: &Config) -> Span {
        let factor = 1u64 << self.backoff.min(31);
        (self.rtt.timeout() * factor).min(config.max_rto_ns)
    }
    pub(super) fn backoff(&self) -> u32 {
        u32::from(self.backoff)
    }
    pub(super) fn segments_lost(&self) -> u32 {
        self.board.segments_lost()
    }
    pub(super) fn lost_segments(&self) -> impl Iterator<Item = (u64, u32)> {
        self.board.waiting().map(|(end, len)| (end - u64::from(len), len))
    }
    pub(super) fn controller_state(&self) -> Option<&'static str> {
        self.controller.state_name()
    }
    /// The purpose of the timer, and its expiry, if it is set.
    pub(super) fn loss_timer(&self) -> Option<(LossTimer, Time)> {
        let kind = match self.timer {
            Timer::Retransmit => LossTimer::Retransmission,
            Timer::LossProbe => LossTimer::LossProbe,
            Timer::Reordering => LossTimer::Reordering,
            Timer::WindowProbe => LossTimer::Persist,
        };
        (self.timer_at != Time::NEVER).then_some((kind, self.timer_at))
    }
    #[inline]
    pub(super) fn timer_at(&self) -> Time {
        self.timer_at
    }
    pub(super) fn capacity(&self) -> usize {
        self.board.capacity()
    }
}
