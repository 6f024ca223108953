use super::flight::{EVER_RETRANSMITTED, Sent};
use super::timestamp::{clock, is_before};
use flashcrowd_base::Time;

/// The delivery of one acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Delivery {
    /// Bytes acknowledged or SACKed for the first time.
    pub(super) bytes: u64,
    /// Whether SACK ranges covered segments that were not SACKed before.
    pub(super) sacked: bool,
    /// Whether a segment was acknowledged that had been retransmitted.
    pub(super) retransmitted: bool,
    /// When the oldest and the newest cumulatively acknowledged segments were sent, if never retransmitted.
    pub(super) acked_sent: Option<(Time, Time)>,
    /// The same for SACKed segments.
    pub(super) sacked_sent: Option<(Time, Time)>,
    /// A D-SACK reported that a retransmitted segment arrived twice: the retransmission was spurious.
    pub(super) disproved: bool,
    /// Retransmissions sent later than this may owe their acknowledgement to the original: RACK
    /// learns nothing from them (RFC 8985, section 6.2, step 2).
    pub(super) ambiguous_after: Time,
    /// The timestamp that the acknowledgement echoes, if the connection has timestamps.
    pub(super) echo: Option<u32>,
    /// Sent time and end of the segment sent last of those delivered (RACK.xmit_ts, RACK.end_seq).
    pub(super) newest: Option<(Time, u64)>,
    /// When the last segment was sent that was cumulatively acknowledged, and the highest of those
    /// that were SACKed with its end: Linux takes RACK's round trip from them, in that order.
    pub(super) last_acked: Option<Time>,
    pub(super) last_sacked: Option<(u64, Time)>,
    /// Lowest offset that arrived after a higher one and was never retransmitted: reordering.
    pub(super) reordered: Option<u64>,
}

impl Delivery {
    #[inline]
    pub(super) fn see(&mut self, sent: &Sent) -> bool {
        if sent.is(EVER_RETRANSMITTED) && sent.sent_at > self.ambiguous_after {
            return false;
        }
        self.newest = self.newest.max(Some((sent.sent_at, sent.end())));
        true
    }
    #[inline]
    pub(super) fn see_acked(&mut self, sent: &Sent) {
        if !self.is_needless(sent) && self.see(sent) {
            self.last_acked = Some(sent.sent_at);
        }
    }
    /// Whether an acknowledgement echoes a clock from before the segment was retransmitted: then an earlier
    /// transmission arrived, and RACK learns nothing (Linux: tcp_skb_spurious_retrans). A segment that is only
    /// SACKed is above a gap, and echoes what came before the gap in any case.
    #[inline]
    fn is_needless(&self, sent: &Sent) -> bool {
        sent.is(EVER_RETRANSMITTED)
            && self.echo.is_some_and(|echo| is_before(echo, clock(sent.sent_at)))
    }
    pub(super) fn see_sacked(&mut self, sent: &Sent) {
        if self.see(sent) {
            self.last_sacked = self.last_sacked.max(Some((sent.end(), sent.sent_at)));
        }
    }
    /// A segment that was never retransmitted is acknowledged.
    #[inline]
    pub(super) fn acknowledge(&mut self, sent: &Sent, highest_sacked: u64) {
        self.bytes += u64::from(sent.len);
        let (oldest, _) = self.acked_sent.unwrap_or((sent.sent_at, sent.sent_at));
        self.acked_sent = Some((oldest, sent.sent_at));
        self.see_acked(sent);
        if sent.seq < highest_sacked {
            self.reorder(sent.seq);
        }
    }
    #[inline]
    pub(super) fn reorder(&mut self, seq: u64) {
        self.reordered = Some(self.reordered.map_or(seq, |lowest| lowest.min(seq)));
    }
}
