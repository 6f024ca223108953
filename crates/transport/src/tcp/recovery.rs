use super::config::Reduction;

/// New segments for one acknowledgement after a partial one (ns-2: recov_maxburst_).
const PARTIAL_BURST: u8 = 2;

/// Duplicates in a row that ns-2 counts (tcprexmtthresh_).
const DUPLICATES: u8 = 3;

/// The phase of the sender after losses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Nothing is known to be lost.
    #[default]
    Open,
    /// Congestion marks are being answered, and the window comes down if the controller reduces it for
    /// marks; nothing is known to be lost (Linux: TCP_CA_CWR).
    Cwr,
    /// Fast recovery: a loss was found from acknowledgements.
    Recovery,
    /// The retransmission timer has fired.
    Loss,
}

/// Which data a loss event covers, and how the window comes down meanwhile.
#[derive(Clone, Debug)]
pub(super) struct Recovery {
    /// The episode ends when this offset is acknowledged (RFC 6582, `recover`).
    pub(super) recover: u64,
    /// Window in force during fast recovery.
    pub(super) window: u64,
    /// The controller's new window, to which it comes down.
    target: u64,
    /// Window before.
    prior: u64,
    delivered: u64,
    sent: u64,
    /// An acknowledgement whose half of a segment is still to come (rate halving).
    odd: bool,
    /// The first retransmission of the episode is sent whatever the window (RFC 6675, section 5, step 4.3).
    pub(super) force: bool,
    /// Timestamp-option clock at the episode's first retransmission (Linux: retrans_stamp).
    pub(super) retrans_stamp: Option<u32>,
    /// Whether the reduction may still be taken back.
    pub(super) can_undo: bool,
    /// Until the next acknowledgement nothing is retransmitted: the last one showed reordering.
    pub(super) hold: bool,
    /// New segments that may leave until the next acknowledgement (ns-2).
    pub(super) burst: u8,
    /// The oldest segment is retransmitted twice (ns-2).
    pub(super) twice: bool,
    /// Duplicates in a row after a timeout (ns-2).
    late: u8,
}

impl Recovery {
    /// Before the first loss.
    pub(super) const NONE: Recovery = Recovery {
        recover: 0,
        window: 0,
        target: 0,
        prior: 0,
        delivered: 0,
        sent: 0,
        odd: false,
        force: false,
        retrans_stamp: None,
        can_undo: false,
        hold: false,
        burst: u8::MAX,
        twice: false,
        late: 0,
    };

    /// Fast recovery begins: from `prior` the window is to come down to `target`. What was retransmitted before and is
    /// still under way keeps its stamp (`forget_retransmissions`): its acknowledgement is not that of an original.
    pub(super) fn begin(&mut self, reduction: Reduction, prior: u64, target: u64, recover: u64) {
        *self = Recovery {
            recover,
            window: if reduction.is_at_once() { target } else { prior },
            target,
            prior,
            force: true,
            can_undo: true,
            retrans_stamp: self.retrans_stamp,
            ..Recovery::NONE
        };
    }

    /// Nothing that was retransmitted is under way (Linux: tcp_any_retrans_done, tcp_try_to_open).
    pub(super) fn forget_retransmissions(&mut self) {
        self.retrans_stamp = None;
    }

    /// The timer has fired.
    pub(super) fn time_out(&mut self, recover: u64, keep_undo: bool) {
        let retrans_stamp = self.retrans_stamp;
        let can_undo = !keep_undo || self.can_undo;
        *self = Recovery { recover, retrans_stamp, can_undo, force: true, ..Recovery::NONE };
    }

    /// A partial acknowledgement: the next hole is retransmitted whatever the window (RFC 6582, section 3.2, step 5).
    ///
    /// In ns-2 each moves `recover` to what was sent last (FullTcpAgent::fast_retransmit). While new data leaves, each
    /// acknowledgement is a partial one, and each segment is sent twice.
    pub(super) fn on_partial_ack(&mut self, reduction: Reduction, nxt: u64) {
        self.force |= reduction.is_at_once();
        if reduction == Reduction::Ns2 {
            self.recover = nxt;
            self.window = self.target;
            self.burst = PARTIAL_BURST;
        }
    }

    /// New segments may leave for an acknowledgement.
    pub(super) fn allow_burst(&mut self) {
        if self.burst < PARTIAL_BURST {
            self.burst = PARTIAL_BURST;
        }
    }

    /// After a timeout a duplicate arrived; `true` for the third in a row, from which ns-2 takes acknowledgements for
    /// partial ones (FullTcpAgent::dupack_action sets fastrecov_ before it returns).
    pub(super) fn on_late_duplicate(&mut self, window: u64, threshold: u64) -> bool {
        self.late += 1;
        if self.late < DUPLICATES {
            return false;
        }
        (self.late, self.window, self.target) = (0, window, threshold);
        true
    }

    /// After a timeout something new was acknowledged.
    pub(super) fn forget_late_duplicates(&mut self) {
        self.late = 0;
    }

    /// Something was sent.
    #[inline]
    pub(super) fn on_sent(&mut self, bytes: u64) {
        self.sent += bytes;
    }

    /// An acknowledgement delivered `delivered` bytes, with `in_flight` left. It is safe if it
    /// advanced SND.UNA and revealed no new loss.
    pub(super) fn on_ack(
        &mut self,
        reduction: Reduction,
        mss: u64,
        delivered: u64,
        in_flight: u64,
        safe: bool,
    ) {
        match reduction {
            Reduction::Classic | Reduction::Ns2 => {}
            Reduction::RateHalving => {
                if self.odd && self.window > self.target {
                    self.window = (self.window - mss).max(self.target);
                }
                self.odd = !self.odd;
                self.window = self.window.min(in_flight + mss);
            }
            Reduction::Prr => {
                if delivered == 0 {
                    return;
                }
                self.delivered += delivered;
                // RFC 9937, section 5, with Linux' rounding up to whole segments.
                let allowed = if in_flight > self.target {
                    let share = u128::from(self.delivered) * u128::from(self.target);
                    let share = share.div_ceil(u128::from(self.prior.max(1))) as u64;
                    share.next_multiple_of(mss).saturating_sub(self.sent)
                } else {
                    let limit = self.delivered.saturating_sub(self.sent).max(delivered);
                    let limit = if safe { limit + mss } else { limit };
                    limit.min(self.target - in_flight)
                };
                let min = if self.sent == 0 { mss } else { 0 };
                // Where Linux counts a packet, RFC 9937 counts bytes: an acknowledgement of a FIN, with
                // nothing left in flight, must not leave a window of one byte.
                self.window = (in_flight + allowed.max(min)).max(mss);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten segments in flight, the first lost, ssthresh 7: RFC 9937's arithmetic as Linux does it.
    #[test]
    fn prr_sends_seven_for_ten() {
        let mss = 1000;
        let mut recovery = Recovery::NONE;
        recovery.begin(Reduction::Prr, 10 * mss, 7 * mss, 10 * mss);
        // Three SACKs arrived; the head is lost. One retransmission is forced.
        let mut in_flight = 6 * mss;
        recovery.on_ack(Reduction::Prr, mss, 3 * mss, in_flight, false);
        assert!(recovery.window >= in_flight + mss);
        recovery.on_sent(mss);
        in_flight += mss;
        for _ in 0..6 {
            in_flight -= mss;
            recovery.on_ack(Reduction::Prr, mss, mss, in_flight, false);
            assert_eq!(recovery.window, 7 * mss);
            recovery.on_sent(mss);
            in_flight += mss;
        }
    }

    #[test]
    fn prr_leaves_room_for_a_segment() {
        let mss = 1000;
        let mut recovery = Recovery::NONE;
        recovery.begin(Reduction::Prr, 10 * mss, 7 * mss, 10 * mss);
        recovery.on_sent(2 * mss);
        recovery.on_ack(Reduction::Prr, mss, 1, 0, false);
        assert_eq!(recovery.window, mss);
    }

    #[test]
    fn rate_halving_takes_one_segment_off_for_two_acknowledgements() {
        let mut recovery = Recovery::NONE;
        recovery.begin(Reduction::RateHalving, 20_000, 10_000, 0);
        for _ in 0..8 {
            recovery.on_ack(Reduction::RateHalving, 1000, 1000, 50_000, false);
        }
        assert_eq!(recovery.window, 16_000);
        for _ in 0..80 {
            recovery.on_ack(Reduction::RateHalving, 1000, 1000, 50_000, false);
        }
        assert_eq!(recovery.window, 10_000);
        recovery.on_ack(Reduction::RateHalving, 1000, 1000, 4000, false);
        assert_eq!(recovery.window, 5000);
    }
}
