use super::config::DelayedAck;
use flashcrowd_base::{Span, Time};

/// Decides when to acknowledge, as Linux does: at once for the first segments and after gaps, then
/// every second full segment or after a while that follows the sender's pace.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct Acknowledger {
    /// Send one at this instant.
    pub(super) deadline: Time,
    /// Everything below has been acknowledged.
    acknowledged: u64,
    /// Expected time between segments; zero before the first.
    pace: Span,
    last_data: Time,
    /// Segments that still are acknowledged one by one.
    quick: u32,
    /// Largest segment seen.
    segment: u32,
    /// Send an acknowledgement with the next poll.
    pub(super) due: bool,
    /// Data flows the other way in answer, so that acknowledgements may ride on it.
    interactive: bool,
    /// Segments since the last acknowledgement that looked like the end of a write: 0, 1, 2 or more.
    pushed: u8,
}

impl Acknowledger {
    pub(super) fn new(now: Time) -> Acknowledger {
        Acknowledger {
            due: false,
            deadline: Time::NEVER,
            acknowledged: 0,
            pace: Span::ZERO,
            quick: 0,
            interactive: false,
            last_data: now,
            segment: 536,
            pushed: 0,
        }
    }

    /// Everything below has been acknowledged.
    #[inline]
    pub(super) fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    #[cold]
    fn acknowledge_quickly(&mut self, config: &DelayedAck, window: u64) {
        if config.quick_acks > 0 {
            let half = window / (2 * u64::from(self.segment));
            self.quick = self.quick.max((half.max(2) as u32).min(config.quick_acks));
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
        timeout: Span,
    ) {
        if frame >= self.segment {
            self.segment = frame;
            if push {
                self.pushed = self.pushed.max(1);
            }
        } else {
            self.pushed = self.pushed.saturating_add(1).min(2);
        }
        if self.pace.is_zero() {
            self.acknowledge_quickly(config, window);
            self.pace = config.min_ns.max(Span::from_nanos(1));
        } else {
            let gap = now.since(self.last_data);
            if gap <= config.min_ns / 2 {
                self.pace = self.pace / 2 + config.min_ns / 2;
            } else if gap < self.pace {
                self.pace = (self.pace / 2 + gap).min(timeout);
            } else if gap > timeout {
                // The sender seems to have started anew.
                self.acknowledge_quickly(config, window);
            }
        }
        self.last_data = now;
    }

    /// Something about the data was out of the ordinary: answer at once for a while.
    pub(super) fn on_disorder(&mut self, config: &DelayedAck, window: u64) {
        self.acknowledge_quickly(config, window);
        self.interactive = false;
        self.due = true;
    }

    /// Data has arrived in order up to `next`: now or later? `opens` if the window can move on.
    #[inline]
    pub(super) fn consider(
        &mut self,
        config: &DelayedAck,
        now: Time,
        next: u64,
        opens: bool,
        smoothed: Span,
    ) {
        if self.due {
            return;
        }
        let quick = self.quick > 0 && !self.interactive;
        if quick || ((opens || !config.on_read) && self.is_enough(config, next)) {
            self.due = true;
            return;
        }
        let mut wait = self.pace;
        if wait > config.min_ns {
            let mut most = Span::from_millis(500);
            if self.interactive || self.pushed > 0 {
                most = config.max_ns;
            }
            if !smoothed.is_zero() {
                most = most.min(smoothed.max(config.min_ns));
            }
            wait = wait.min(most);
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
        let ends = self.pushed >= 2 || (self.pushed == 1 && !self.interactive);
        if next > self.acknowledged
            && config.on_read
            && (self.is_enough(config, next) || (all && ends))
        {
            self.due = true;
        }
    }

    /// The deadline has passed.
    pub(super) fn on_timer(&mut self, config: &DelayedAck, timeout: Span) {
        if self.interactive {
            self.interactive = false;
            self.pace = config.min_ns;
        } else {
            self.pace = (self.pace * 2).min(timeout);
        }
        self.deadline = Time::NEVER;
        self.due = true;
    }

    /// An acknowledgement of everything below `next` is sent, with `data` or alone.
    #[inline]
    pub(super) fn on_sent(&mut self, now: Time, next: u64, data: bool) {
        if data && now.since(self.last_data) < self.pace {
            self.interactive = true;
        }
        self.quick = self.quick.saturating_sub(1);
        self.acknowledged = next;
        self.due = false;
        self.pushed = 0;
        self.deadline = Time::NEVER;
    }
}
