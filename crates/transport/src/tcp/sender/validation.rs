use super::Sender;
use crate::congestion::Controller;
use crate::tcp::config::Config;
use crate::tcp::recovery::Phase;
use flashcrowd_base::Time;

/// Congestion window validation (RFC 2861): a window that is not used is no estimate of the network.
impl Sender {
    /// RFC 2861: after silence the window halves once per timeout, down to the initial window. RFC 5681: at once.
    pub(super) fn restart_after_idle(&mut self, config: &Config, now: Time) {
        let timeout = self.timeout(config);
        let idle = now.since(self.last_sent);
        if idle <= timeout {
            return;
        }
        let mss = u64::from(self.mss);
        let window = self.controller.window();
        let min = window.min(u64::from(config.initial_window_segments) * mss);
        let periods = (idle.nanos() - 1) / timeout.nanos().max(1);
        let halved = window.checked_shr(periods.min(63) as u32).unwrap_or(0);
        self.controller.on_decay(if config.idle_restart_at_once { min } else { halved.max(min) });
        // Once per pause, though the poll may be repeated before something is sent. The silence until now is over for
        // the controller, too.
        self.controller.on_resume(now, idle);
        self.last_sent = now;
        self.cwnd_stamp = now;
        self.cwnd_used = 0;
    }

    /// Nothing more can be sent for now: records whether the congestion window was the limit.
    #[inline]
    pub(super) fn rest(&mut self, config: &Config, now: Time) {
        if self.sent_now || self.limited_now {
            self.validate_cwnd(config, now);
        }
    }

    fn validate_cwnd(&mut self, config: &Config, now: Time) {
        let limited = self.limited_now;
        self.sent_now = false;
        self.limited_now = false;
        if !config.app_limited_validation {
            self.is_cwnd_limited = true;
            return;
        }
        let outstanding = self.outstanding();
        if self.snd_una >= self.cwnd_usage_end
            || limited
            || (!self.is_cwnd_limited && outstanding > u64::from(self.max_outstanding))
        {
            self.is_cwnd_limited = limited;
            self.max_outstanding = outstanding as u32;
            self.cwnd_usage_end = self.snd_nxt;
        }
        let window = self.controller.window();
        let in_slow_start = window < self.controller.threshold();
        if self.is_cwnd_limited || (in_slow_start && window < 2 * u64::from(self.max_outstanding)) {
            self.cwnd_used = 0;
            self.cwnd_stamp = now;
            return;
        }
        self.cwnd_used = self.cwnd_used.max(outstanding as u32);
        if config.idle_restart && now.since(self.cwnd_stamp) >= self.timeout(config) {
            let initial = u64::from(config.initial_window_segments) * u64::from(self.mss);
            let used = u64::from(self.cwnd_used).max(initial);
            // Limited by the application, not by a full send buffer (RFC 2861).
            if self.phase == Phase::Open && used < window {
                self.controller.on_decay((window + used) / 2);
            }
            self.cwnd_used = 0;
            self.cwnd_stamp = now;
        }
    }
}
