use super::{DUPLICATES, NO_TLP, Sender, TIMER_GRAIN, Timer};
use crate::congestion::{Controller, Loss};
use crate::tcp::config::{Config, Reduction};
use crate::tcp::delivery::Delivery;
use crate::tcp::dsack::Dsack;
use crate::tcp::ecn::Feedback;
use crate::tcp::recovery::Phase;
use crate::tcp::scoreboard::Criterion;
use crate::tcp::segment::Segment;
use crate::tcp::timestamp::is_before;
use flashcrowd_base::{Span, Time};

/// Finding losses, and the episodes of fast recovery.
impl Sender {
    /// The slow path of an acknowledgement: finds losses, ends recovery, undoes it if it was spurious
    /// (Linux: tcp_fastretrans_alert).
    #[inline(never)]
    pub(super) fn respond(
        &mut self,
        config: &Config,
        now: Time,
        segment: &Segment,
        before: u64,
        duplicate: bool,
        delivery: &mut Delivery,
    ) {
        let mss = u64::from(self.mss);
        let advanced = self.snd_una > before;
        self.release();
        if !self.sack {
            self.count_duplicates(config, advanced, duplicate, delivery);
        }
        if config.undo && delivery.disproved && self.is_disproved() {
            // In recovery or after it (Linux: tcp_try_undo_dsack).
            self.undo();
        } else if advanced && self.phase != Phase::Open {
            if config.undo && self.was_spurious(segment) {
                self.undo_for_late_original(config, before);
            } else if self.snd_una
                >= self.repairs.recovery.recover + u64::from(self.phase == Phase::Cwr)
            {
                // In CWR SND.UNA must be above `recover`, as the segment with CWR comes after it (Linux).
                self.recovered(config);
            }
        }
        if self.phase == Phase::Recovery {
            self.repairs.recovery.allow_burst();
        }
        let lost = !self.repairs.recovery.hold && self.find_losses(config, now, advanced);
        if self.is_lossless() && lost {
            self.begin_recovery(config);
        }
        if self.is_reducing() {
            let mut delivered = delivery.bytes;
            if !self.sack && duplicate {
                delivered = mss;
            }
            let in_flight = self.in_flight();
            // An ECN-Echo is not a safe acknowledgement (RFC 9937).
            let safe = advanced && !lost && !self.is_ece(segment);
            self.repairs.recovery.on_ack(config.reduction, mss, delivered, in_flight, safe);
        }
    }

    /// Without SACK a duplicate ACK means a delivered segment, which must not count as delivered
    /// again when it is acknowledged (Linux: tcp_add_reno_sack, tcp_remove_reno_sacks).
    pub(super) fn count_duplicates(
        &mut self,
        config: &Config,
        advanced: bool,
        duplicate: bool,
        delivery: &mut Delivery,
    ) {
        let mss = u64::from(self.mss);
        if advanced {
            // All but the first of the segments acknowledged were announced by duplicates.
            let segments = delivery.bytes.div_ceil(mss) as u32;
            let announced = u64::from(self.duplicates) * mss;
            delivery.bytes = delivery.bytes.saturating_sub(announced).max(delivery.bytes.min(mss));
            self.duplicates = match self.phase {
                Phase::Recovery
                    if self.snd_una < self.repairs.recovery.recover
                        && config.reduction != Reduction::Ns2 =>
                {
                    self.duplicates.saturating_sub(segments.saturating_sub(1))
                }
                _ => 0,
            };
            if self.phase == Phase::Loss {
                self.repairs.recovery.forget_late_duplicates();
            }
        } else if duplicate && self.phase == Phase::Loss && config.reduction == Reduction::Ns2 {
            let (window, threshold) = (self.controller.window(), self.controller.threshold());
            if self.repairs.recovery.on_late_duplicate(window, threshold) {
                self.phase = Phase::Recovery;
            }
        } else if duplicate && self.phase != Phase::Loss {
            // No more segments can have left the network than are outstanding besides the missing one.
            let max = self.outstanding().saturating_sub(1) / mss;
            self.duplicates = (self.duplicates + 1).min(max as u32);
        }
    }

    /// Processes a D-SACK, if the first range is one (Linux: tcp_check_dsack, tcp_dsack_seen). Returns
    /// whether it is plausible.
    #[cold]
    pub(super) fn see_duplicate(&mut self, segment: &Segment, una: u64) -> bool {
        let Some((start, end)) = Dsack::duplicate(segment.ack, segment.sack_ranges()) else {
            return false;
        };
        if end - start > u64::from(self.largest_window) {
            return false;
        }
        let segments = (end - start).div_ceil(u64::from(self.mss)) as u32;
        let dsack = self.board.dsack_mut();
        if !dsack.report(segments, self.repairs.counters.segments_retransmitted) {
            return false;
        }
        if self.tlp_end_seq == end {
            // Original and probe arrived: nothing was lost (RFC 8985, section 7.4.2). A probe is sent by a
            // timer, so its D-SACK is no evidence of reordering.
            self.tlp_end_seq = NO_TLP;
        } else if self.reordering_seen {
            dsack.widen(self.snd_una, self.snd_nxt);
        }
        if end <= una {
            dsack.disprove(segments, end);
        }
        true
    }

    /// Whether everything that the last episode retransmitted arrived twice.
    fn is_disproved(&mut self) -> bool {
        self.repairs.recovery.can_undo
            && self.repairs.recovery.retrans_stamp.is_some()
            && self.board.dsack_mut().disproves_all()
    }

    pub(super) fn find_losses(&mut self, config: &Config, now: Time, advanced: bool) -> bool {
        if !self.sack {
            let lost = match self.phase {
                Phase::Open | Phase::Cwr => {
                    self.duplicates >= DUPLICATES && self.board.lose_oldest()
                }
                // A partial acknowledgement: the next hole.
                Phase::Recovery if advanced && self.outstanding() > 0 => {
                    self.repairs.recovery.on_partial_ack(config.reduction, self.snd_nxt);
                    let news = self.board.lose_oldest();
                    // It waits already after a timeout: ns-2 sends it here, and again where it goes on (t_seqno_).
                    self.repairs.recovery.twice = !news && config.reduction == Reduction::Ns2;
                    news
                }
                Phase::Recovery => false,
                Phase::Loss => false,
            };
            if lost && self.paced.is_some() {
                self.report_losses(now);
            }
            return lost;
        }
        let (lost, wait) = self.board.detect_losses(self.criterion(config), now);
        if lost && self.paced.is_some() {
            self.report_losses(now);
        }
        if let Some(wait) = wait {
            self.timer = Timer::Reordering;
            self.timer_at = now + wait + TIMER_GRAIN;
        } else if self.timer == Timer::Reordering {
            self.set_timeout(config, now);
        }
        lost
    }

    pub(super) fn criterion(&self, config: &Config) -> Criterion {
        if config.rack {
            return Criterion::Time {
                newest: self.rack_newest,
                patience: self.rack_rtt + self.reordering_window(),
            };
        }
        if config.forward_ack && !self.reordering_seen {
            return Criterion::Distance((u64::from(DUPLICATES) + 1) * u64::from(self.mss));
        }
        let adaptive = config.forward_ack;
        Criterion::Count(if adaptive { self.reordering() } else { DUPLICATES })
    }

    /// How long a segment may be late (RFC 8985, section 6.2, step 4).
    pub(super) fn reordering_window(&self) -> Span {
        if !self.reordering_seen {
            let enough = self.board.sacked_above() >= DUPLICATES;
            if enough || !self.is_lossless() {
                return Span::ZERO;
            }
        }
        let window = match self.board.dsack() {
            Some(dsack) => dsack.reordering_window(self.rtt.min()),
            None => self.rtt.min() / 4,
        };
        window.min(self.rtt.smoothed())
    }

    pub(super) fn begin_recovery(&mut self, config: &Config) {
        self.repairs.counters.recoveries += 1;
        self.tlp_end_seq = NO_TLP;
        if self.phase == Phase::Cwr {
            // The window is on its way down already, unless the controller governs it.
            if self.controller.governs_recovery() {
                self.controller.on_loss(&self.loss(config));
            }
            self.phase = Phase::Recovery;
            (self.repairs.recovery.recover, self.repairs.recovery.force) = (self.snd_nxt, true);
            return;
        }
        self.forget_old_retransmissions();
        let prior = self.controller.window();
        let loss = self.loss(config);
        self.controller.on_loss(&loss);
        self.phase = Phase::Recovery;
        self.rtt.time_from(config, self.snd_nxt);
        self.repairs.recovery.begin(
            config.reduction,
            prior,
            self.controller.window(),
            self.snd_nxt,
        );
        self.cwr_due = self.feedback == Feedback::Classic;
        self.board.dsack_mut().begin(self.snd_una);
    }

    /// An episode begins: its first retransmission is the first, unless one of the last episode is under way. A probe
    /// of the tail that is under way belongs to no episode (Linux: tcp_send_loss_probe).
    pub(super) fn forget_old_retransmissions(&mut self) {
        let probe = u32::from(self.tlp_is_retrans) * u32::from(self.mss);
        if self.board.marked_bytes().retransmitted <= probe {
            self.repairs.recovery.forget_retransmissions();
        }
    }

    /// A loss now is a loss at the whole window if windows only grow when they are used.
    pub(super) fn loss(&self, config: &Config) -> Loss {
        let window = self.controller.window();
        let used =
            if config.app_limited_validation { window } else { window.min(self.outstanding()) };
        let in_flight = self.in_flight();
        Loss {
            now: self.last_sent,
            window: used,
            in_flight,
            offset: self.snd_una,
            nxt: self.snd_nxt,
        }
    }

    pub(super) fn recovered(&mut self, config: &Config) {
        let mss = u64::from(self.mss);
        if self.phase == Phase::Cwr && self.controller.governs_recovery() {
            // The controller heard of no loss, so it hears of no end of a recovery.
        } else if self.is_reducing() {
            let limit = match config.reduction {
                // RFC 6582, section 3.2, step 3, option 1: no burst.
                Reduction::Classic => self.in_flight().max(mss) + mss,
                Reduction::RateHalving => {
                    self.repairs.recovery.window.max(self.in_flight() + 3 * mss)
                }
                Reduction::Prr | Reduction::Ns2 => u64::MAX,
            };
            self.controller.on_recovered(limit);
        } else if self.ends_loss_phase() {
            self.controller.on_recovered(u64::MAX);
        }
        self.board.dsack_mut().on_recovered();
        self.duplicates = 0;
        self.phase = Phase::Open;
        // Only a D-SACK can still prove that the retransmissions were spurious.
        self.repairs.recovery.can_undo &= config.dsack && self.sack;
    }

    /// Whether the acknowledgement is for an original although it was retransmitted (Eifel, RFC 3522).
    pub(super) fn was_spurious(&self, segment: &Segment) -> bool {
        self.repairs.recovery.can_undo
            && match self.repairs.recovery.retrans_stamp {
                None => true,
                Some(at) => self.timestamps && is_before(segment.echo, at),
            }
    }

    /// An original arrived that was retransmitted already: the reduction was for nothing. In the middle of a recovery
    /// that shows reordering; and while other retransmissions are under way, nothing is given up or retransmitted
    /// until the next acknowledgement (Linux: tcp_try_undo_partial, where only the first was so before 3.11).
    #[cold]
    fn undo_for_late_original(&mut self, config: &Config, before: u64) {
        let partial = self.phase == Phase::Recovery && self.snd_una < self.repairs.recovery.recover;
        if self.sack && partial {
            if before < self.board.highest_sacked() {
                self.note_reordering(before);
            }
            if config.rack && self.board.marked_bytes().retransmitted > 0 {
                self.repairs.recovery.hold = true;
                return;
            }
        }
        self.undo();
    }

    /// Lost segments may be retransmitted again.
    pub(super) fn release(&mut self) {
        if self.repairs.recovery.hold {
            self.repairs.recovery.hold = false;
        }
    }

    pub(super) fn undo(&mut self) {
        self.repairs.counters.undone += 1;
        self.controller.on_undo();
        self.board.lose_nothing();
        self.forgive_losses();
        self.duplicates = 0;
        self.phase = Phase::Open;
        self.repairs.recovery.can_undo = false;
    }
}
