use super::table::Ledbat;
use crate::congestion::{Loss, Params};

/// A window in bytes between its bounds, what a loss does to it, and how to go back.
#[derive(Clone, Debug)]
pub(super) struct Cwnd {
    /// With the part that is less than a byte.
    pub(super) bytes: f64,
    /// Payload of a full packet.
    pub(super) packet: f64,
    pub(super) slow_start: bool,
    /// Slow start ends here; `u64::MAX` before the first reduction.
    pub(super) threshold: u64,
    /// Losses below this offset belong to a reduction that was made (RFC 6582, `recover`).
    recover: u64,
    /// Window, threshold and slow start before the last reduction.
    before: (f64, u64, bool),
    min_packets: f64,
    min_bytes: f64,
    max: f64,
    factor: f64,
}

impl Cwnd {
    pub(super) fn new(table: &Ledbat, params: &Params) -> Cwnd {
        let mut cwnd = Cwnd {
            bytes: params.initial_window as f64,
            packet: f64::from(params.mss),
            slow_start: table.slow_start,
            threshold: u64::MAX,
            recover: 0,
            before: (0.0, 0, false),
            min_packets: f64::from(table.min_window_packets),
            min_bytes: f64::from(table.min_window_bytes).max(params.min_window as f64),
            max: table.max_window_bytes as f64,
            factor: table.loss_factor,
        };
        cwnd.set(cwnd.bytes);
        cwnd
    }

    /// The least that the window may be.
    #[inline]
    pub(super) fn floor(&self) -> f64 {
        (self.min_packets * self.packet).max(self.min_bytes)
    }

    /// Sets the window within its bounds. The least bound wins: without room for a packet nothing
    /// would ever be learnt.
    #[inline]
    pub(super) fn set(&mut self, bytes: f64) {
        self.bytes = bytes.min(self.max).max(self.floor());
    }

    /// Ends slow start here.
    pub(super) fn leave_slow_start(&mut self) {
        self.slow_start = false;
        self.threshold = self.bytes as u64;
    }

    /// Opens the window as slow start does: by what was acknowledged, up to the threshold.
    pub(super) fn open(&mut self, acked: f64) {
        self.set((self.bytes + acked).min(self.threshold as f64));
        if self.bytes >= self.threshold as f64 {
            self.slow_start = false;
        }
    }

    /// Whether no reduction was made for a loss yet; remembers that one is made now.
    pub(super) fn begins_reduction(&mut self, loss: &Loss) -> bool {
        let begins = loss.offset >= self.recover;
        if begins {
            self.recover = loss.nxt;
        }
        begins
    }

    /// Remembers where it was.
    pub(super) fn remember(&mut self) {
        self.before = (self.bytes, self.threshold, self.slow_start);
    }

    /// The last reduction cannot be taken back any more.
    pub(super) fn forget(&mut self) {
        self.before = (0.0, 0, false);
    }

    /// Comes down for a loss.
    pub(super) fn reduce(&mut self) {
        self.remember();
        let bytes = self.bytes;
        self.set(bytes * self.factor);
        // RFC 6817: a window that a timeout left below the least is not raised by a loss.
        self.bytes = self.bytes.min(bytes);
        self.leave_slow_start();
    }

    /// Starts over from one packet, with slow start if that is in use. `again` if the window
    /// that was too large is the one that is remembered already.
    pub(super) fn collapse(&mut self, table: &Ledbat, loss: &Loss, again: bool) {
        if !again {
            self.remember();
            self.threshold = (self.bytes * self.factor).max(2.0 * self.packet) as u64;
        }
        self.recover = loss.nxt;
        self.slow_start = table.slow_start;
        self.bytes = self.packet.max(self.min_bytes);
    }

    /// Not above `limit`, but a packet.
    pub(super) fn limit(&mut self, limit: u64) {
        self.bytes = self.bytes.min((limit as f64).max(self.packet));
    }

    pub(super) fn undo(&mut self) {
        self.bytes = self.bytes.max(self.before.0);
        self.threshold = self.threshold.max(self.before.1);
        self.slow_start |= self.before.2;
    }

    /// For the window that went unused.
    pub(super) fn decay(&mut self, window: u64) {
        self.set(self.bytes.min(window as f64));
    }

    /// The threshold that a driver sees: above the window only in slow start.
    #[inline]
    pub(super) fn shown_threshold(&self) -> u64 {
        if self.slow_start { self.threshold } else { self.threshold.min(self.bytes as u64) }
    }
}

/// The common answers of controllers with a [`Cwnd`] called `cwnd`; with `undo`, that reduction is
/// taken back there alone.
macro_rules! answers_of_cwnd {
    (undo) => {
        fn on_undo(&mut self) {
            self.cwnd.undo();
        }

        answers_of_cwnd!();
    };
    () => {
        fn on_recovered(&mut self, limit: u64) {
            self.cwnd.limit(limit);
        }

        fn on_decay(&mut self, window: u64) {
            self.cwnd.decay(window);
        }

        fn on_packet_size(&mut self, bytes: u32) {
            self.cwnd.packet = f64::from(bytes);
        }

        #[inline]
        fn window(&self) -> u64 {
            self.cwnd.bytes as u64
        }

        #[inline]
        fn threshold(&self) -> u64 {
            self.cwnd.shown_threshold()
        }
    };
}
pub(super) use answers_of_cwnd;
