use super::{NO_TLP, Sender, TIMER_GRAIN, Timer};
use crate::congestion::{Controller, Loss};
use crate::tcp::config::{Config, Reduction};
use crate::tcp::recovery::Phase;
use flashcrowd_base::{Span, Time};

/// The time that a probe for a single segment allows for a delayed acknowledgement (RFC 8985:
/// WCDelAckT).
const LONGEST_DELAYED_ACK: Span = Span::from_millis(200);

/// The one timer: retransmission, tail-loss probe, reordering, window probe.
impl Sender {
    pub(super) fn set_timeout(&mut self, config: &Config, now: Time) {
        self.timer = Timer::Retransmit;
        self.timer_at =
            if self.outstanding() == 0 { Time::NEVER } else { now + self.timeout(config) };
    }

    #[inline]
    pub(super) fn set_timer_after_ack(&mut self, config: &Config, now: Time) {
        if self.outstanding() == 0 {
            self.timer = Timer::Retransmit;
            self.timer_at = Time::NEVER;
        } else if self.timer == Timer::Reordering && self.timer_at != Time::NEVER {
            // This acknowledgement has just set it.
        } else if !self.schedule_tlp(config, now) {
            self.set_timeout(config, now);
        }
    }

    /// Sets the tail-loss probe (RFC 8985, section 7.2), if one is due.
    #[inline]
    pub(super) fn schedule_tlp(&mut self, config: &Config, now: Time) -> bool {
        if !config.tail_loss_probe
            || !self.sack
            || !self.is_lossless()
            || self.tlp_end_seq != NO_TLP
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
        self.timer = Timer::LossProbe;
        self.timer_at = now + wait.min(timeout);
        true
    }

    /// Acts on the timer if it is due. `false` if the other end has been silent for too long.
    pub(in crate::tcp) fn on_timer(&mut self, config: &Config, now: Time) -> bool {
        if now < self.timer_at {
            return true;
        }
        self.timer_at = Time::NEVER;
        match self.timer {
            Timer::Retransmit => return self.time_out(config, now),
            Timer::LossProbe => {
                self.tlp_due = true;
                self.set_timeout(config, now);
            }
            Timer::Reordering => {
                self.timer = Timer::Retransmit;
                self.release();
                let lost = self.find_losses(config, now, false);
                if lost {
                    if self.is_lossless() {
                        self.begin_recovery(config);
                    }
                    if self.phase == Phase::Recovery {
                        let mss = u64::from(self.mss);
                        let in_flight = self.in_flight();
                        self.repairs.recovery.on_ack(config.reduction, mss, mss, in_flight, false);
                    }
                }
                if self.timer_at == Time::NEVER {
                    self.set_timeout(config, now);
                }
            }
            Timer::WindowProbe => {
                self.window_probe_due = true;
                self.backoff = self.backoff.saturating_add(1);
                self.timer_at = now + self.timeout(config);
            }
        }
        true
    }

    /// One more retransmission timeout, of data or of a SYN.
    pub(in crate::tcp) fn count_timeout(&mut self) {
        self.repairs.counters.timeouts += 1;
    }

    pub(super) fn time_out(&mut self, config: &Config, now: Time) -> bool {
        if self.outstanding() == 0 {
            return true;
        }
        self.count_timeout();
        self.disturbed = true;
        if u32::from(self.retries) >= config.data_retries {
            return false;
        }
        let again = match self.phase {
            Phase::Open => false,
            Phase::Cwr | Phase::Recovery => true,
            Phase::Loss => self.retries > 0,
        };
        self.retries += 1;
        self.backoff = self.backoff.saturating_add(1);
        // Segments sent within the last round trip may still arrive (Linux, with RACK).
        let since = if config.rack && self.sack && !self.rack_rtt.is_zero() {
            let patience = self.rack_rtt + self.rtt.min() / 4;
            Time::from_nanos(now.nanos().saturating_sub(patience.nanos()))
        } else {
            Time::NEVER
        };
        if self.board.oldest_is_sacked() {
            self.board.forget_sacks();
        }
        self.duplicates = 0;
        let before = self.loss(config);
        if !again {
            self.forget_old_retransmissions();
        }
        self.board.lose_all(since);
        if self.paced.is_some() {
            self.report_losses(now);
        }
        let loss = Loss { now, in_flight: self.in_flight(), ..before };
        let reduced = again && !(config.reduction == Reduction::Ns2 && self.phase == Phase::Loss);
        self.controller.on_timeout(&loss, reduced);
        self.phase = Phase::Loss;
        self.rtt.time_from(config, self.snd_nxt);
        self.repairs.recovery.time_out(self.snd_nxt, again);
        if !again {
            self.board.dsack_mut().begin(self.snd_una);
        }
        self.tlp_end_seq = NO_TLP;
        self.tlp_due = false;
        self.set_timeout(config, now);
        true
    }

    /// Decides whether a tail-loss probe repaired a loss (RFC 8985, section 7.4).
    pub(super) fn process_tlp_ack(&mut self, now: Time, ack: u64, progress: bool) {
        let tlp_end_seq = self.tlp_end_seq;
        if ack < tlp_end_seq {
            return;
        }
        if !self.tlp_is_retrans {
            self.tlp_end_seq = NO_TLP;
        } else if ack > tlp_end_seq {
            // The probe repaired a loss: the window is reduced as for any loss.
            self.tlp_end_seq = NO_TLP;
            if self.phase == Phase::Open {
                self.repairs.recovery.can_undo = false;
                let window = self.controller.window();
                let in_flight = self.in_flight();
                let (offset, nxt) = (self.snd_una, self.snd_nxt);
                self.controller.on_loss(&Loss { now, window, in_flight, offset, nxt });
            }
        } else if !progress {
            self.tlp_end_seq = NO_TLP;
        }
    }
}
