/// The common part of the loss-based controllers: a window, a threshold, and how to go back.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct Window {
    pub(super) bytes: u64,
    pub(super) threshold: u64,
    pub(super) mss: u64,
    count_acks: bool,
    /// Window and threshold before the last reduction.
    before: (u64, u64),
}

impl Window {
    pub(super) fn new(params: &super::Params) -> Window {
        Window {
            mss: u64::from(params.mss),
            bytes: params.initial_window,
            threshold: u64::MAX,
            before: (0, u64::MAX),
            count_acks: params.count_acks,
        }
    }

    #[inline]
    pub(super) fn in_slow_start(&self) -> bool {
        self.bytes < self.threshold
    }

    #[inline]
    pub(super) fn segments(&self) -> u64 {
        self.bytes / self.mss
    }

    /// The bytes that an acknowledgement of `acked` bytes counts for.
    #[inline]
    pub(super) fn counted(&self, acked: u64) -> u64 {
        if self.count_acks { acked.min(self.mss) } else { acked }
    }

    /// Opens the window by `acked` bytes, up to the threshold; returns the bytes left over for
    /// congestion avoidance.
    #[inline]
    pub(super) fn slow_start(&mut self, acked: u64) -> u64 {
        let step = acked.min(self.threshold - self.bytes);
        self.bytes += step;
        acked - step
    }

    /// Comes down to `threshold`, but not below two segments.
    pub(super) fn reduce(&mut self, threshold: u64) {
        self.before = (self.bytes, self.threshold);
        self.threshold = threshold.max(2 * self.mss);
        self.bytes = self.threshold;
    }

    /// Starts over from what is in flight and one segment.
    pub(super) fn collapse(&mut self, in_flight: u64) {
        self.bytes = in_flight + self.mss;
    }

    pub(super) fn limit(&mut self, limit: u64) {
        self.bytes = self.bytes.min(limit.max(self.mss));
    }

    pub(super) fn undo(&mut self) {
        self.bytes = self.bytes.max(self.before.0);
        self.threshold = self.threshold.max(self.before.1);
    }

    /// RFC 2861: the window was not used, but three quarters of it are remembered as safe.
    pub(super) fn decay(&mut self, window: u64) {
        self.decay_above(window, self.bytes / 4 * 3);
    }

    /// The same, with this much remembered.
    pub(super) fn decay_above(&mut self, window: u64, safe: u64) {
        self.threshold = self.threshold.max(safe);
        self.bytes = self.bytes.min(window);
    }
}

/// The common answers of controllers with a [`Window`] called `window`.
macro_rules! answers_of_window {
    () => {
        fn on_recovered(&mut self, limit: u64) {
            self.window.limit(limit);
        }

        /// RFC 2861 halves it: what was in flight before the silence is gone.
        fn on_idle(&mut self, _: Time) {
            self.window.decay((self.window.bytes / 2).max(self.window.mss));
        }

        fn on_packet_size(&mut self, bytes: u32) {
            self.window.mss = u64::from(bytes);
        }

        #[inline]
        fn window(&self) -> u64 {
            self.window.bytes
        }

        #[inline]
        fn threshold(&self) -> u64 {
            self.window.threshold
        }
    };
}
pub(super) use answers_of_window;

/// What a controller leaves to the one that it builds on.
macro_rules! left_to {
    ($below:ident) => {
        left_to!(@each $below
            on_loss(loss: &Loss)
            on_timeout(loss: &Loss, again: bool)
            on_undo()
            on_decay(window: u64)
            on_recovered(limit: u64)
            on_idle(now: Time)
            on_packet_size(bytes: u32));

        #[inline]
        fn window(&self) -> u64 {
            self.$below.window()
        }

        #[inline]
        fn threshold(&self) -> u64 {
            self.$below.threshold()
        }
    };
    (@each $below:ident $($event:ident($($name:ident: $type:ty),*))+) => {
        $(fn $event(&mut self $(, $name: $type)*) {
            self.$below.$event($($name),*);
        })+
    };
}
pub(super) use left_to;
