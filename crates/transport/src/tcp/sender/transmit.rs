use super::{Burst, Sender, Timer};
use crate::congestion::Controller;
use crate::pacing::{fq_rate, quantum_bytes};
use crate::tcp::config::{Config, Nagle, Reduction};
use crate::tcp::ecn::Feedback;
use crate::tcp::recovery::Phase;
use crate::tcp::segment::Flags;
use crate::tcp::timestamp::clock;
use flashcrowd_base::{Span, Time};

/// How long a super-segment waits to become longer (Linux 2.6: a tick).
const DEFERRAL: Span = Span::from_millis(1);

/// For how long after the last segment a TSO packet may wait for room (Linux: tcp_tso_should_defer).
const SENT_RECENTLY: Span = Span::from_millis(1);

/// For how long it waits for the next acknowledgement at most.
const SOON: Span = Span::from_millis(1);

/// Bytes that the kernel keeps in one buffer (skb) at most: sk_gso_max_size less MAX_TCP_HEADER.
const LONGEST_SKB: u64 = (1 << 16) - 321;

/// Bytes of a TSO packet at most (Linux: sk_gso_max_size), and the microseconds of round trip with each of
/// which the part of them halves that needs no pacing rate, as a power of two (tcp_tso_rtt_log).
const LONGEST_TSO_PACKET: u64 = 1 << 16;
const TSO_RTT_LOG: u32 = 9;

/// The next segments to send: retransmissions, probes, new data.
impl Sender {
    /// Whether a zero-window probe is due; clears it.
    #[inline]
    pub(in crate::tcp) fn take_window_probe(&mut self) -> bool {
        std::mem::take(&mut self.window_probe_due)
    }

    /// The next segment to send. `paces` says what [`Sender::paces`] does, far behind what an acknowledgement
    /// needs.
    #[inline(always)]
    pub(in crate::tcp) fn poll(
        &mut self,
        config: &Config,
        now: Time,
        paces: bool,
    ) -> Option<Burst> {
        if paces && self.is_held_by_pacing(now) {
            self.rest(config, now);
            return None;
        }
        if self.has_unretransmitted()
            && self.phase != Phase::Open
            && !self.repairs.recovery.hold
            && let Some(burst) = self.retransmit(config, now)
        {
            return Some(burst);
        }
        if self.tlp_due {
            self.tlp_due = false;
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

    #[inline(never)]
    pub(super) fn retransmit(&mut self, config: &Config, now: Time) -> Option<Burst> {
        let mss = u64::from(self.mss);
        let room = self.window().saturating_sub(self.in_flight());
        if room < mss && !self.repairs.recovery.force {
            return None;
        }
        let limit = u64::from(config.tso_bytes).min(room).max(mss);
        let (seq, bytes, segments) = self.board.retransmit_lost(limit, now, self.snd_nxt)?;
        self.repairs.recovery.force = false;
        if self.repairs.recovery.twice {
            self.repairs.recovery.twice = false;
            self.board.lose_oldest();
        }
        self.repairs.recovery.on_sent(bytes);
        if self.paced.is_some() {
            self.pace_retransmission(now, seq, bytes, segments);
        }
        if self.repairs.recovery.retrans_stamp.is_none() {
            self.repairs.recovery.retrans_stamp = Some(clock(now));
        }
        if seq == self.snd_una || self.timer_at == Time::NEVER {
            self.set_timeout(config, now);
        }
        self.last_sent = now;
        self.sent_now = true;
        Some(self.retransmission_burst(seq, bytes, segments))
    }

    pub(super) fn retransmission_burst(&mut self, seq: u64, bytes: u64, segments: u32) -> Burst {
        let fin = self.closed && seq + bytes > self.write_end;
        let len = (bytes - u64::from(fin)) as u32;
        self.board.dsack_mut().on_retransmit(segments);
        self.repairs.counters.segments_retransmitted += segments;
        self.repairs.counters.bytes_retransmitted += u64::from(len);
        Burst { seq, len, flags: self.flags(seq, len, fin) }
    }

    /// A tail-loss probe: new data if there is any, else the last segment again, whatever the congestion
    /// window (RFC 8985, section 7.3).
    #[inline(never)]
    pub(super) fn probe(&mut self, config: &Config, now: Time) -> Option<Burst> {
        if self.outstanding() == 0 {
            return None;
        }
        self.disturbed = true;
        let unsent = self.write_end.saturating_sub(self.snd_nxt);
        let len = unsent.min(u64::from(self.mss));
        if len > 0 && self.snd_nxt + len <= self.snd_wnd_end {
            let fin = self.closed && len == unsent;
            let burst = self.emit_rarely(config, now, len as u32, fin);
            (self.tlp_end_seq, self.tlp_is_retrans) = (self.snd_nxt, false);
            self.set_timeout(config, now);
            return Some(burst);
        }
        let (seq, bytes) = self.board.retransmit_last(now, self.snd_nxt)?;
        (self.tlp_end_seq, self.tlp_is_retrans) = (self.snd_nxt, true);
        if self.paced.is_some() {
            self.report_losses(now);
            self.pace_retransmission(now, seq, bytes, 1);
        }
        self.set_timeout(config, now);
        Some(self.retransmission_burst(seq, bytes, 1))
    }

    #[inline(always)]
    pub(super) fn send_new(&mut self, config: &Config, now: Time) -> Option<Burst> {
        if self.snd_nxt >= self.write_end {
            // A FIN is not held back by any window.
            if self.closed && self.snd_nxt == self.write_end {
                return Some(self.emit_rarely(config, now, 0, true));
            }
            return None;
        }
        let mss = u64::from(self.mss);
        let unsent = self.write_end - self.snd_nxt;
        let outstanding = self.outstanding();
        if outstanding == 0 && config.idle_restart {
            self.restart_after_idle(config, now);
        }
        let wanted = unsent.min(mss);
        let offered = self.snd_wnd_end.saturating_sub(self.snd_nxt);
        let mut len = wanted;
        if offered < wanted {
            // Silly windows: wait for a full segment or half of the largest window (RFC 1122).
            if offered == 0 || offered < u64::from(self.largest_window / 2) {
                if outstanding == 0 && self.timer_at == Time::NEVER {
                    self.timer = Timer::WindowProbe;
                    self.timer_at = now + self.timeout(config);
                }
                return None;
            }
            len = offered;
        }
        let in_flight = self.counted_in_flight(config);
        let window = self.window();
        let room = window.saturating_sub(in_flight);
        if room < len || (config.reduction == Reduction::Ns2 && !self.takes_burst()) {
            self.limited_now = true;
            return None;
        }
        if u64::from(config.tso_bytes) > mss && unsent > mss && offered > mss {
            len = self.super_segment(config, now, unsent, offered, room)?;
        } else if len < mss {
            let ends = len == unsent && self.closed;
            if !ends && self.nagle_defers(config, outstanding) {
                return None;
            }
            self.skb_left = 0;
        }
        let fin = self.closed && len == unsent;
        let mut pushes = len > mss;
        if len == mss && (config.tso_push || config.tso_defer) && self.paced.is_none() {
            if self.tso_left > 0 && self.last_sent == now {
                self.tso_left -= 1;
                pushes = self.tso_left == 0;
            } else if !self.begin_tso_packet(config, now, unsent, offered.min(room)) {
                self.limited_now |= room < offered;
                return None;
            }
            self.skb_left = self.skb_left.saturating_sub(1);
        }
        let pushes = pushes && config.tso_push;
        let mut burst = self.emit(config, now, len as u32, fin);
        if pushes {
            burst.flags |= Flags::PSH;
        }
        if self.board.in_flight(self.outstanding()) >= window {
            self.limited_now = true;
        }
        Some(burst)
    }

    /// Counts a new segment of a recovery; `false` if no more may leave for this acknowledgement.
    #[inline(never)]
    fn takes_burst(&mut self) -> bool {
        if self.phase != Phase::Recovery || self.repairs.recovery.burst == u8::MAX {
            return true;
        }
        let left = self.repairs.recovery.burst;
        self.repairs.recovery.burst = left.saturating_sub(1);
        left > 0
    }

    /// Decides on the next TSO packet, of full segments, where `limit` bytes may be sent; `false` to wait until it may
    /// be longer. They leave one by one here, and belong together by the instant at which they do.
    #[inline]
    fn begin_tso_packet(&mut self, config: &Config, now: Time, unsent: u64, limit: u64) -> bool {
        let mss = u64::from(self.mss);
        let mut possible = limit.min(unsent);
        if config.tso_defer {
            let head = unsent.min(self.head_buffer());
            let recent = now.since(self.last_sent) <= SENT_RECENTLY;
            if head > mss && recent && self.tso_should_defer(now, head, unsent, limit) {
                return false;
            }
            possible = limit.min(head);
        }
        self.tso_left = if possible < 2 * mss {
            0
        } else if possible < 3 * mss {
            1
        } else {
            self.tso_segments().min(possible / mss) as u8 - 1
        };
        true
    }

    /// Bytes that are left of the buffer at the head of the queue, of full segments: a TSO packet ends where it does.
    fn head_buffer(&mut self) -> u64 {
        let mss = u64::from(self.mss);
        if self.skb_left == 0 {
            let half = u64::from(self.largest_window / 2); // Linux: tcp_bound_to_half_wnd
            self.skb_left = (LONGEST_SKB.min(half) / mss).clamp(1, u8::MAX.into()) as u8;
        }
        u64::from(self.skb_left) * mss
    }

    /// Whether all that is unsent is in that buffer: more data may complete it, which lets a TSO packet leave that is
    /// deferred.
    #[inline(never)]
    pub(in crate::tcp) fn fits_head_buffer(&self) -> bool {
        self.skb_left == 0 || self.unsent() <= u64::from(self.skb_left) * u64::from(self.mss)
    }

    /// Linux: tcp_tso_should_defer, of a sender that has just sent something.
    fn tso_should_defer(&self, now: Time, head: u64, unsent: u64, limit: u64) -> bool {
        let mss = u64::from(self.mss);
        if !self.is_lossless()
            || limit >= self.window().min(self.peer_window()) / 3
            || (limit >= 2 * mss && limit >= self.tso_segments() * mss)
        {
            return false;
        }
        // All of a buffer fits, and nothing will be added to it.
        let complete = if unsent > head { limit >= head } else { limit > head && self.closed };
        if complete {
            return false;
        }
        // Is the next acknowledgement expected soon? (Since 6.18; before, when the oldest segment had left half a
        // round trip ago.)
        let srtt = self.rtt.smoothed();
        let soon = SOON.min(srtt / 2);
        self.board.oldest_sent_at().is_some_and(|at| at + srtt <= now + soon)
    }

    /// The most segments of a TSO packet: what a millisecond brings at the pacing rate, and more where the
    /// round trip is short, but two at least (Linux: tcp_tso_autosize), and no more than are counted here.
    #[inline(never)]
    fn tso_segments(&self) -> u64 {
        let srtt = self.rtt.smoothed();
        let rate = fq_rate(&self.controller, srtt, self.outstanding());
        let halvings = (self.rtt.min().nanos() / 1000) >> TSO_RTT_LOG;
        let near = LONGEST_TSO_PACKET >> halvings.min(32);
        let paced = rate.map_or(LONGEST_TSO_PACKET, quantum_bytes);
        let bytes = paced.saturating_add(near).min(LONGEST_TSO_PACKET);
        (bytes / u64::from(self.mss)).clamp(2, u8::MAX.into())
    }

    /// Bytes in flight as new data has to reckon with: without limited transmit (RFC 3042), duplicate
    /// ACKs make no room for new data before recovery begins.
    #[inline]
    pub(super) fn counted_in_flight(&self, config: &Config) -> u64 {
        if !config.limited_transmit && self.is_lossless() {
            self.outstanding()
        } else {
            self.in_flight()
        }
    }

    /// How long a super-segment to send; `None` to wait for a longer one.
    #[inline(never)]
    pub(super) fn super_segment(
        &mut self,
        config: &Config,
        now: Time,
        unsent: u64,
        offered: u64,
        room: u64,
    ) -> Option<u64> {
        let mss = u64::from(self.mss);
        let max = u64::from(config.tso_bytes).min(self.quantum()) / mss * mss;
        let limit = offered.min(room);
        let window = self.window().min(self.peer_window());
        // Linux' tcp_tso_should_defer: a third of a window at least, unless that is all there is
        // or it has waited for a tick already.
        if limit < max && unsent > limit && limit < window / 3 && self.outstanding() >= 2 * mss {
            self.deferred_since = self.deferred_since.min(now);
            if now.since(self.deferred_since) <= DEFERRAL {
                self.limited_now |= room <= offered;
                return None;
            }
        }
        self.deferred_since = Time::NEVER;
        let len = limit.min(max).min(unsent);
        let partial = len % mss;
        if partial == 0 {
            return Some(len);
        }
        let ends = len == unsent;
        let hold = !ends || (!self.closed && self.nagle_defers(config, len - partial));
        Some(if hold && len > partial { len - partial } else { len })
    }

    /// Whether Nagle's algorithm holds back a segment that is not full.
    pub(super) fn nagle_defers(&self, config: &Config, outstanding: u64) -> bool {
        match config.nagle {
            Nagle::Off => false,
            Nagle::Classic => outstanding > 0,
            // Minshall's variant (Linux: tcp_minshall_check): one small segment at a time.
            Nagle::Minshall => {
                outstanding > 0 && self.small_end > self.snd_una && self.small_end <= self.snd_nxt
            }
        }
    }

    /// Whether Nagle's algorithm alone holds back the rest of the data, and no window does.
    #[inline]
    pub(super) fn is_held_by_nagle(&self, config: &Config) -> bool {
        let unsent = self.unsent();
        unsent < u64::from(self.mss)
            && !self.closed
            && self.snd_nxt + unsent <= self.snd_wnd_end
            && self.counted_in_flight(config) + unsent <= self.window()
            && self.nagle_defers(config, self.outstanding())
    }

    #[inline]
    fn flags(&self, seq: u64, len: u32, fin: bool) -> Flags {
        let fin = if fin { Flags::FIN } else { Flags::default() };
        if seq + u64::from(len) == self.write_end { fin | Flags::PSH } else { fin }
    }

    /// [`emit`](Sender::emit), not inlined, for rare callers.
    #[inline(never)]
    fn emit_rarely(&mut self, config: &Config, now: Time, len: u32, fin: bool) -> Burst {
        self.emit(config, now, len, fin)
    }

    /// Records new data as sent.
    #[inline(always)]
    pub(super) fn emit(&mut self, config: &Config, now: Time, len: u32, fin: bool) -> Burst {
        let seq = self.snd_nxt;
        let outstanding = self.outstanding();
        if self.board.in_flight(outstanding) == 0 {
            self.controller.on_resume(now, now.since(self.last_sent));
        }
        let mut at = seq;
        let mut left = len;
        let mss = u32::from(self.mss);
        while left > mss {
            self.board.push(at, mss, now);
            at += u64::from(mss);
            left -= mss;
        }
        self.board.push(at, left + u32::from(fin), now);
        self.snd_nxt = at + u64::from(left) + u64::from(fin);
        if left < mss {
            self.small_end = self.snd_nxt;
        }
        if self.paced.is_some() {
            self.pace_new(now, seq);
        }
        self.last_sent = now;
        self.sent_now = true;
        if self.phase != Phase::Open {
            self.repairs.recovery.on_sent(u64::from(len));
        }
        if self.timer != Timer::Reordering || self.timer_at == Time::NEVER {
            let fresh =
                outstanding == 0 || self.timer == Timer::LossProbe || self.timer_at == Time::NEVER;
            if !self.schedule_tlp(config, now) && fresh {
                self.set_timeout(config, now);
            }
        }
        let mut flags = self.flags(seq, len, fin);
        if self.feedback != Feedback::None && len > 0 {
            flags |= self.ecn_flags();
        }
        Burst { seq, len, flags }
    }
}
