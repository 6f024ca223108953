use super::config::DelayedAck;
use flashcrowd_base::{Span, Time};

/// Delayed acknowledgements (RFC 1122, section 4.2.3.2) as in Linux: at once in quickack mode, which
/// begins a connection and follows idle times and what came twice, else every second full segment or
/// after `ato`.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct DelayedAckState {
    /// When the delayed acknowledgement is sent at the latest.
    pub(super) deadline: Time,
    /// Everything below has been acknowledged.
    acknowledged: u64,
    /// Expected time between segments, from which the delay follows (Linux: `ato`); zero before the first.
    ato: Span,
    last_data: Time,
    /// Acknowledgements left in quickack mode (Linux: `icsk_ack.quick`).
    quick_acks: u32,
    /// Largest segment seen.
    segment: u32,
    /// An acknowledgement is due with the next poll.
    pub(super) due: bool,
    /// Data flows the other way in answer, so that acknowledgements may ride on it (Linux: `pingpong`).
    pingpong: bool,
    /// Segments since the last acknowledgement that looked like the end of a write: 0, 1, 2 or more (Linux:
    /// `ICSK_ACK_PUSHED`, `ICSK_ACK_PUSHED2`).
    small_segments: u8,
}

impl DelayedAckState {
    pub(super) fn new(now: Time) -> DelayedAckState {
        DelayedAckState {
            due: false,
            deadline: Time::NEVER,
            acknowledged: 0,
            ato: Span::ZERO,
            quick_acks: 0,
            pingpong: false,
            last_data: now,
            segment: 536,
            small_segments: 0,
        }
    }

    /// Everything below has been acknowledged.
    #[inline]
    pub(super) fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    #[cold]
    fn enter_quickack(&mut self, config: &DelayedAck, window: u64) {
        if config.quick_acks > 0 {
            let half = window / (2 * u64::from(self.segment));
            self.quick_acks = self.quick_acks.max((half.max(2) as u32).min(config.quick_acks));
        }
    }

    /// A data segment arrived, in order or not. `window` is what is offered, `timeout` our own
    /// retransmission timeout.
    #[inline]
    pub(super) fn on_data(
        &mut self,
        config: &DelayedAck,
        now: Time,
        frame: u32,
        push: bool,
        window: u64,
        timeout: impl Fn() -> Span,
    ) {
        if frame >= self.segment {
            self.segment = frame;
            if push {
                self.small_segments = self.small_segments.max(1);
            }
        } else {
            self.small_segments = self.small_segments.saturating_add(1).min(2);
        }
        if self.ato.is_zero() {
            self.enter_quickack(config, window);
            self.ato = config.min_ns.max(Span::from_nanos(1));
        } else {
            let gap = now.since(self.last_data);
            if gap <= config.min_ns / 2 {
                self.ato = self.ato / 2 + config.min_ns / 2;
            } else if gap < self.ato {
                self.ato = (self.ato / 2 + gap).min(timeout());
            } else if gap > timeout() {
                // The sender seems to have restarted after an idle time.
                self.enter_quickack(config, window);
            }
        }
        self.last_data = now;
    }

    /// Data arrived twice: enters quickack mode (Linux: tcp_enter_quickack_mode). Data above a gap does
    /// not; it is acknowledged at once, and what follows the filled gap is delayed as ever.
    #[cold]
    pub(super) fn on_duplicate(&mut self, config: &DelayedAck, window: u64) {
        if config.quick_acks > 0 {
            self.enter_quickack(config, window);
            self.ato = config.min_ns;
        }
        self.pingpong = false;
        self.due = true;
    }

    /// The window has grown with this segment, which is acknowledged at once (Linux: tcp_grow_window).
    #[inline]
    pub(super) fn on_growth(&mut self, config: &DelayedAck) {
        if config.quick_acks > 0 {
            self.quick_acks |= 1;
        }
    }

    /// Data has arrived in order up to `next`: acknowledges it now or sets the deadline. `opens`: the
    /// right edge of the window can move.
    #[inline]
    pub(super) fn consider(
        &mut self,
        config: &DelayedAck,
        now: Time,
        next: u64,
        opens: bool,
        smoothed: impl FnOnce() -> Span,
    ) {
        if self.due {
            return;
        }
        let quick = self.quick_acks > 0 && !self.pingpong;
        if quick || ((opens || !config.on_read) && self.is_enough(config, next)) {
            self.due = true;
            return;
        }
        let mut wait = self.ato;
        if wait > config.min_ns {
            let mut max = Span::from_millis(500);
            if self.pingpong || self.small_segments > 0 {
                max = config.max_ns;
            }
            let smoothed = smoothed();
            if !smoothed.is_zero() {
                max = max.min(smoothed.max(config.min_ns));
            }
            wait = wait.min(max);
        }
        self.deadline = self.deadline.min(now + wait.min(config.max_ns));
    }

    fn is_enough(&self, config: &DelayedAck, next: u64) -> bool {
        let unacknowledged = next - self.acknowledged;
        if config.segments == 1 {
            return unacknowledged > 0;
        }
        unacknowledged > u64::from(config.segments - 1) * u64::from(self.segment)
    }

    /// The application has read; `all` if nothing is left.
    #[inline]
    pub(super) fn on_read(&mut self, config: &DelayedAck, next: u64, all: bool) {
        let ends = self.small_segments >= 2 || (self.small_segments == 1 && !self.pingpong);
        if next > self.acknowledged
            && config.on_read
            && (self.is_enough(config, next) || (all && ends))
        {
            self.due = true;
        }
    }

    /// The deadline has passed.
    pub(super) fn on_timer(&mut self, config: &DelayedAck, timeout: Span) {
        if self.pingpong {
            self.pingpong = false;
            self.ato = config.min_ns;
        } else {
            self.ato = (self.ato * 2).min(timeout);
        }
        self.deadline = Time::NEVER;
        self.due = true;
    }

    /// An acknowledgement of everything below `next` is sent, with `data` or alone.
    #[inline]
    pub(super) fn on_sent(&mut self, now: Time, next: u64, data: bool) {
        if data && now.since(self.last_data) < self.ato {
            self.pingpong = true;
        }
        self.quick_acks = self.quick_acks.saturating_sub(1);
        self.acknowledged = next;
        self.due = false;
        self.small_segments = 0;
        self.deadline = Time::NEVER;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux: tcp_send_delayed_ack. After the expected gap between segments, but not later than a round trip where
    /// one is known, nor sooner than the least.
    #[test]
    fn a_delayed_acknowledgement_waits_for_a_round_trip_at_most() {
        let config = crate::tcp::profiles::linux_6().delayed_ack;
        let waits = |ato, smoothed| {
            let mut acks = DelayedAckState {
                ato: Span::from_millis(ato),
                ..DelayedAckState::new(Time::START)
            };
            acks.consider(&config, Time::START, 1, true, || Span::from_millis(smoothed));
            assert!(!acks.due);
            acks.deadline.since(Time::START)
        };
        let ms = Span::from_millis;
        assert_eq!([0, 60, 300].map(|smoothed| waits(100, smoothed)), [ms(100), ms(60), ms(100)]);
        assert_eq!([0, 10, 300].map(|smoothed| waits(40, smoothed)), [ms(40); 3]);
        assert_eq!((waits(100, 10), waits(900, 0)), (config.min_ns, config.max_ns));
    }

    /// Linux: inet_csk_enter_pingpong_mode, for an answer that comes sooner than the next data would.
    #[test]
    fn an_answer_within_the_expected_gap_may_carry_acknowledgements() {
        for (millis, data, pingpong) in [(39, true, true), (40, true, false), (39, false, false)] {
            let mut acks =
                DelayedAckState { ato: Span::from_millis(40), ..DelayedAckState::new(Time::START) };
            acks.on_sent(Time::START + Span::from_millis(millis), 1000, data);
            assert_eq!(acks.pingpong, pingpong, "{millis} ms, data {data}");
            assert_eq!((acks.acknowledged(), acks.due), (1000, false));
        }
    }
}
