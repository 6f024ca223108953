use super::delivery::Delivery;
use super::dsack::Dsack;
use super::flight::{EVER_RETRANSMITTED, Flight, LOST, RETRANSMITTED, SACKED, Sent};
use flashcrowd_base::{Span, Time};
use std::collections::VecDeque;

/// By what a segment counts as lost, and not merely late.
#[derive(Clone, Copy, Debug)]
pub(super) enum Criterion {
    /// This many SACKed segments are above (RFC 6675).
    Count(u32),
    /// The highest SACKed byte is this far above (FACK).
    Distance(u64),
    /// Something sent later has arrived, and this instant has passed (RFC 8985): the newest
    /// delivered segment's time and end, and how long after being sent one is given up.
    Time {
        /// Sent time and end of the newest delivered segment.
        newest: (Time, u64),
        /// Its round trip and the reordering window.
        patience: Span,
    },
}

/// A retransmission in flight; kept in order of sending.
#[derive(Clone, Copy, Debug)]
struct Retransmission {
    index: u64,
    sent_at: Time,
    /// SND.NXT when it was sent: if data above arrives, the retransmission was overtaken.
    nxt: u64,
}

/// Segments between SND.UNA and SND.NXT, in order, and whether each is SACKed, lost or retransmitted.
///
/// Without loss or reordering it is the segments and three zeros; the rest is boxed.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub(super) struct Scoreboard {
    sent: Flight,
    /// Sums over the segments. No more than a window, which has 32 bits.
    sacked_bytes: u32,
    lost_bytes: u32,
    retransmitted_bytes: u32,
    trouble: Option<Box<Trouble>>,
}

/// Bytes by mark (Linux: sacked_out, lost_out, retrans_out).
#[derive(Clone, Copy, Debug)]
pub(super) struct MarkedBytes {
    pub(super) sacked: u32,
    pub(super) lost: u32,
    pub(super) retransmitted: u32,
}

/// State that is kept once there was loss, reordering or a SACK. Segments have an index that grows for
/// ever.
#[derive(Clone, Debug, Default)]
struct Trouble {
    /// Index of the oldest segment.
    first: u64,
    highest_sacked: u64,
    /// First segment whose original transmission RACK has not classified yet. Everything below is SACKed,
    /// lost or retransmitted, so each segment is classified once.
    classified: u64,
    /// No segment below this index is lost and not yet retransmitted.
    next_lost: u64,
    /// SACKed segments at and above `classified`.
    sacked_above: u32,
    retransmissions: VecDeque<Retransmission>,
    /// SACK ranges of the last acknowledgement that had any: their segments are marked already.
    seen: [(u64, u64); super::segment::MAX_SACK_RANGES],
    dsack: Dsack,
    /// How often a segment was declared lost.
    segments_lost: u32,
}

impl Scoreboard {
    #[inline]
    /// The segment after the oldest: the first that is not kept in place.
    pub(super) fn second(&self) -> Option<&Sent> {
        self.sent.later.front()
    }
    /// When the oldest segment was sent last.
    pub(super) fn oldest_sent_at(&self) -> Option<Time> {
        self.sent.get(0).map(|sent| sent.sent_at)
    }
    /// Bytes that left the sender and neither arrived nor got lost, of `outstanding`.
    #[inline]
    pub(super) fn in_flight(&self, outstanding: u64) -> u64 {
        outstanding + u64::from(self.retransmitted_bytes)
            - u64::from(self.sacked_bytes)
            - u64::from(self.lost_bytes)
    }
    /// Whether nothing is SACKed or lost.
    #[inline]
    pub(super) fn is_clean(&self) -> bool {
        self.sacked_bytes | self.lost_bytes == 0
    }
    /// Whether some lost segments are not retransmitted yet.
    #[inline]
    pub(super) fn has_unretransmitted(&self) -> bool {
        self.lost_bytes > self.retransmitted_bytes
    }
    pub(super) fn highest_sacked(&self) -> u64 {
        self.trouble.as_ref().map_or(0, |trouble| trouble.highest_sacked)
    }
    /// SACKed segments among those that are not classified yet.
    pub(super) fn sacked_above(&self) -> u32 {
        self.trouble.as_ref().map_or(0, |trouble| trouble.sacked_above)
    }
    /// Whether the oldest segment is SACKed: the receiver has reneged (RFC 2018, section 8).
    pub(super) fn oldest_is_sacked(&self) -> bool {
        self.sent.get(0).is_some_and(|sent| sent.is(SACKED))
    }

    pub(super) fn marked_bytes(&self) -> MarkedBytes {
        let Scoreboard { sacked_bytes, lost_bytes, retransmitted_bytes, .. } = *self;
        MarkedBytes { sacked: sacked_bytes, lost: lost_bytes, retransmitted: retransmitted_bytes }
    }
    /// The reports of D-SACKs, if there was loss or reordering before.
    pub(super) fn dsack(&self) -> Option<&Dsack> {
        self.trouble.as_ref().map(|trouble| &trouble.dsack)
    }
    /// The same, to be changed.
    pub(super) fn dsack_mut(&mut self) -> &mut Dsack {
        &mut self.trouble.get_or_insert_default().dsack
    }

    /// Records a new segment.
    #[inline]
    pub(super) fn push(&mut self, seq: u64, len: u32, now: Time) {
        self.sent.push(Sent { seq, sent_at: now, len, marks: 0 });
    }

    /// Everything below `ack` has arrived.
    #[inline]
    pub(super) fn acknowledge(&mut self, ack: u64, delivery: &mut Delivery) {
        let highest_sacked = self.highest_sacked();
        let mut retired = 0;
        while let Some(&oldest) = self.sent.get(0) {
            if oldest.end() > ack {
                if oldest.seq < ack {
                    // The receiver's window cut the segment.
                    self.acknowledge_part((ack - oldest.seq) as u32, delivery);
                }
                break;
            }
            self.sent.pop();
            if oldest.marks == 0 {
                delivery.acknowledge(&oldest, highest_sacked);
            } else {
                self.retire(&oldest, retired, highest_sacked, delivery);
            }
            retired += 1;
        }
        if let Some(trouble) = &mut self.trouble {
            trouble.first += retired;
            trouble.classified = trouble.classified.max(trouble.first);
        }
    }

    #[cold]
    fn acknowledge_part(&mut self, part: u32, delivery: &mut Delivery) {
        delivery.bytes += u64::from(part);
        let oldest = &mut self.sent.oldest;
        oldest.seq += u64::from(part);
        oldest.len -= part;
        let oldest = *oldest;
        self.forget(&oldest, part);
    }

    /// Subtracts `bytes` of a segment from the sums of its marks.
    fn forget(&mut self, sent: &Sent, bytes: u32) {
        let less = |marks| if sent.is(marks) { bytes } else { 0 };
        self.sacked_bytes -= less(SACKED);
        self.lost_bytes -= less(LOST);
        self.retransmitted_bytes -= less(RETRANSMITTED);
    }

    /// A segment with marks is acknowledged, after `retired` older ones by the same acknowledgement.
    fn retire(&mut self, sent: &Sent, retired: u64, highest_sacked: u64, delivery: &mut Delivery) {
        self.forget(sent, sent.len);
        delivery.retransmitted |= sent.is(EVER_RETRANSMITTED);
        if !sent.is(SACKED) {
            if sent.is(EVER_RETRANSMITTED) {
                delivery.bytes += u64::from(sent.len);
                delivery.see_acked(sent);
            } else {
                delivery.acknowledge(sent, highest_sacked);
            }
        } else if let Some(trouble) = &mut self.trouble
            && trouble.first + retired >= trouble.classified
        {
            trouble.sacked_above -= 1;
        }
    }

    /// Marks these SACK ranges.
    pub(super) fn select(
        &mut self,
        ranges: impl ExactSizeIterator<Item = (u64, u64)>,
        delivery: &mut Delivery,
    ) {
        let before = std::mem::take(&mut self.trouble.get_or_insert_default().seen);
        let mut seen = [(0, 0); super::segment::MAX_SACK_RANGES];
        for (slot, (start, end)) in seen.iter_mut().zip(ranges) {
            *slot = (start, end);
            // The segments of a range of the last acknowledgement are marked already.
            let known = before.iter().find(|(s, e)| start <= *s && *e <= end && s < e);
            match known.copied() {
                Some((known_start, known_end)) => {
                    self.mark_sacked(start, start, known_start, delivery);
                    self.mark_sacked(start, known_end, end, delivery);
                }
                None => self.mark_sacked(start, start, end, delivery),
            }
        }
        self.trouble.get_or_insert_default().seen = seen;
    }

    /// Marks segments that end above `from` and are within `start..end`.
    fn mark_sacked(&mut self, start: u64, from: u64, end: u64, delivery: &mut Delivery) {
        if from >= end {
            return;
        }
        let trouble = self.trouble.get_or_insert_default();
        let begin = self.sent.above(from);
        let before = trouble.highest_sacked;
        for position in begin.. {
            let Some(sent) = self.sent.get_mut(position).filter(|sent| sent.end() <= end) else {
                break;
            };
            if sent.seq < start || sent.is(SACKED) {
                continue;
            }
            if sent.is(LOST) {
                self.lost_bytes -= sent.len;
            }
            if sent.is(RETRANSMITTED) {
                self.retransmitted_bytes -= sent.len;
            }
            sent.marks = (sent.marks | SACKED) & !(LOST | RETRANSMITTED);
            let sent = *sent;
            self.sacked_bytes += sent.len;
            if trouble.first + position as u64 >= trouble.classified {
                trouble.sacked_above += 1;
            }
            trouble.highest_sacked = trouble.highest_sacked.max(sent.end());
            delivery.bytes += u64::from(sent.len);
            delivery.sacked = true;
            delivery.see_sacked(&sent);
            if !sent.is(EVER_RETRANSMITTED) {
                let (oldest, _) = delivery.sacked_sent.unwrap_or((sent.sent_at, sent.sent_at));
                delivery.sacked_sent = Some((oldest, sent.sent_at));
                if sent.seq < before {
                    delivery.reorder(sent.seq);
                }
            }
        }
    }

    /// Counts the segment at `position` as lost. Returns whether there is one.
    fn lose(&mut self, position: usize) -> bool {
        let Some(sent) = self.sent.get(position) else { return false };
        let news = !sent.is(LOST) || sent.is(RETRANSMITTED);
        self.trouble.get_or_insert_default().segments_lost += u32::from(news);
        self.count_lost(position)
    }

    /// Takes the segment at `position` out of the bytes in flight. Returns whether there is one.
    fn count_lost(&mut self, position: usize) -> bool {
        let Some(sent) = self.sent.get_mut(position) else { return false };
        if sent.is(RETRANSMITTED) {
            sent.marks &= !RETRANSMITTED;
            self.retransmitted_bytes -= sent.len;
        }
        if !sent.is(LOST) {
            sent.marks |= LOST;
            self.lost_bytes += sent.len;
        }
        let trouble = self.trouble.get_or_insert_default();
        trouble.next_lost = trouble.next_lost.min(trouble.first + position as u64);
        true
    }

    /// Marks what is lost by `criterion`. Returns whether something new is, and how long the next
    /// candidate has left where time is the criterion.
    pub(super) fn detect_losses(
        &mut self,
        criterion: Criterion,
        now: Time,
    ) -> (bool, Option<Span>) {
        let mut any = false;
        let mut wait: Option<Span> = None;
        loop {
            let trouble = self.trouble.get_or_insert_default();
            let position = (trouble.classified - trouble.first) as usize;
            let Some(sent) = self.sent.get(position) else { break };
            if sent.is(SACKED) {
                trouble.sacked_above -= 1;
                trouble.classified += 1;
                continue;
            }
            if sent.is(LOST | EVER_RETRANSMITTED) {
                trouble.classified += 1;
                continue;
            }
            let gone = match criterion {
                Criterion::Count(segments) => trouble.sacked_above >= segments,
                Criterion::Distance(bytes) => trouble.highest_sacked >= sent.seq + bytes,
                Criterion::Time { newest, patience } => {
                    let left = sent.patience_left(now, newest, patience);
                    wait = left.filter(|left| !left.is_zero()).or(wait);
                    left.is_some_and(Span::is_zero)
                }
            };
            if !gone {
                break;
            }
            trouble.classified += 1;
            self.lose(position);
            any = true;
        }
        while let Some((retransmission, position)) = self.first_retransmission() {
            let Some(sent) = self.sent.get(position) else { break };
            let gone = match criterion {
                Criterion::Count(_) => false,
                Criterion::Distance(_) => self.highest_sacked() > retransmission.nxt,
                Criterion::Time { newest, patience } => {
                    let left = sent.patience_left(now, newest, patience);
                    wait = left.filter(|left| !left.is_zero()).max(wait);
                    left.is_some_and(Span::is_zero)
                }
            };
            if !gone {
                break;
            }
            self.drop_retransmission();
            self.lose(position);
            any = true;
        }
        (any, wait)
    }

    /// The oldest retransmission still in flight, and its position; drops entries before it that are not.
    fn first_retransmission(&mut self) -> Option<(Retransmission, usize)> {
        loop {
            let trouble = self.trouble.as_ref()?;
            let retransmission = *trouble.retransmissions.front()?;
            if let Some(position) = retransmission.index.checked_sub(trouble.first)
                && let Some(sent) = self.sent.get(position as usize)
                && sent.is(RETRANSMITTED)
                && sent.sent_at == retransmission.sent_at
            {
                return Some((retransmission, position as usize));
            }
            self.drop_retransmission();
        }
    }

    fn drop_retransmission(&mut self) {
        if let Some(trouble) = &mut self.trouble {
            trouble.retransmissions.pop_front();
        }
    }

    /// The oldest segment is lost, whatever the criterion. Returns whether that is news.
    pub(super) fn lose_oldest(&mut self) -> bool {
        let Some(oldest) = self.sent.get(0) else { return false };
        if oldest.is(SACKED) || (oldest.is(LOST) && !oldest.is(RETRANSMITTED)) {
            return false;
        }
        self.lose(0)
    }

    /// Everything that did not arrive is lost, except what was sent after `since` and is not the oldest.
    pub(super) fn lose_all(&mut self, since: Time) {
        for position in 0..self.sent.len() {
            let recent = |sent: &Sent| sent.sent_at > since && position != 0;
            if self.sent.get(position).is_some_and(|sent| !sent.is(SACKED) && !recent(sent)) {
                self.lose(position);
            }
        }
    }

    /// Takes back the losses that were not retransmitted yet: these segments are in flight after all.
    pub(super) fn lose_nothing(&mut self) {
        let mut lowest = None;
        for (position, sent) in self.sent.iter_mut().enumerate() {
            if sent.is(LOST) && !sent.is(RETRANSMITTED) {
                sent.marks &= !LOST;
                self.lost_bytes -= sent.len;
                lowest = lowest.or(Some(position));
            }
        }
        let (Some(lowest), Some(trouble)) = (lowest, &mut self.trouble) else { return };
        trouble.classified = trouble.classified.min(trouble.first + lowest as u64);
        let unclassified = self.sent.iter().skip((trouble.classified - trouble.first) as usize);
        trouble.sacked_above = unclassified.filter(|sent| sent.is(SACKED)).count() as u32;
    }

    /// Removes all SACK marks, since the receiver has reneged, or may have.
    pub(super) fn forget_sacks(&mut self) {
        for sent in self.sent.iter_mut() {
            sent.marks &= !SACKED;
        }
        self.sacked_bytes = 0;
        if let Some(trouble) = &mut self.trouble {
            trouble.sacked_above = 0;
            trouble.seen = Default::default();
        }
    }

    /// Ends and lengths of the lost segments that were not retransmitted since.
    pub(super) fn waiting(&self) -> impl Iterator<Item = (u64, u32)> {
        let waits = |sent: &&Sent| sent.is(LOST) && !sent.is(RETRANSMITTED);
        self.sent.iter().filter(waits).map(|sent| (sent.end(), sent.len))
    }

    /// Retransmits the next run of adjacent lost segments, of at most `limit` bytes unless its first is
    /// longer. Returns its offset, bytes and segments.
    pub(super) fn retransmit_lost(
        &mut self,
        limit: u64,
        now: Time,
        nxt: u64,
    ) -> Option<(u64, u64, u32)> {
        let trouble = self.trouble.as_ref()?;
        let first = trouble.first;
        let mut position = trouble.next_lost.saturating_sub(first) as usize;
        let waits = |sent: &Sent| sent.is(LOST) && !sent.is(RETRANSMITTED);
        while self.sent.get(position).is_some_and(|sent| !waits(sent)) {
            position += 1;
        }
        let seq = self.sent.get(position).map(|sent| sent.seq);
        let (mut bytes, mut segments) = (0, 0);
        while let Some(sent) = self.sent.get(position) {
            let next = bytes + u64::from(sent.len);
            if !waits(sent) || (segments > 0 && next > limit) {
                break;
            }
            bytes = next;
            segments += 1;
            self.retransmit(position, now, nxt);
            position += 1;
        }
        self.trouble.get_or_insert_default().next_lost = first + position as u64;
        Some((seq?, bytes, segments))
    }

    /// Retransmits the last segment as a tail-loss probe, though it is not known to be lost.
    pub(super) fn retransmit_last(&mut self, now: Time, nxt: u64) -> Option<(u64, u64)> {
        let last = *self.sent.last()?;
        if last.is(SACKED) {
            return None;
        }
        let position = self.sent.len() - 1;
        // The probe replaces the original in flight; the original is not declared lost.
        self.count_lost(position);
        self.retransmit(position, now, nxt);
        Some((last.seq, u64::from(last.len)))
    }

    fn retransmit(&mut self, position: usize, now: Time, nxt: u64) {
        self.first_retransmission();
        let Some(sent) = self.sent.get_mut(position) else { return };
        sent.sent_at = now;
        sent.marks |= RETRANSMITTED | EVER_RETRANSMITTED;
        self.retransmitted_bytes += sent.len;
        let trouble = self.trouble.get_or_insert_default();
        let index = trouble.first + position as u64;
        trouble.retransmissions.push_back(Retransmission { index, sent_at: now, nxt });
    }

    /// How often a segment was declared lost.
    pub(super) fn segments_lost(&self) -> u32 {
        self.trouble.as_ref().map_or(0, |trouble| trouble.segments_lost)
    }

    /// Entries that memory is held for.
    pub(super) fn capacity(&self) -> usize {
        self.sent.later.capacity()
            + self.trouble.as_ref().map_or(0, |t| t.retransmissions.capacity())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::START + Span::from_millis(millis)
    }

    /// Five segments of 1000 bytes, 10 ms apart.
    fn five() -> Scoreboard {
        let mut board = Scoreboard::default();
        for number in 0..5 {
            board.push(1000 * number, 1000, at(10 * number));
        }
        board
    }

    #[test]
    fn half_a_segment_leaves_the_other_half() {
        let mut board = five();
        board.lose_oldest();
        assert_eq!((board.in_flight(5000), board.marked_bytes().lost), (4000, 1000));
        let mut delivery = Delivery::default();
        board.acknowledge(400, &mut delivery);
        assert_eq!((delivery.bytes, board.marked_bytes().lost), (400, 600));
        assert_eq!(board.waiting().collect::<Vec<_>>(), [(1000, 600)]);
        board.acknowledge(1000, &mut delivery);
        assert_eq!((delivery.bytes, board.marked_bytes().lost), (1000, 0));
        assert_eq!(board.in_flight(4000), 4000);
    }

    /// Segments sent at the instant itself are lost with the rest; the oldest is in any case.
    #[test]
    fn what_is_recent_is_not_lost_with_the_rest() {
        let mut board = five();
        board.lose_all(at(20));
        assert_eq!(board.waiting().map(|(end, _)| end).collect::<Vec<_>>(), [1000, 2000, 3000]);
        let mut board = five();
        board.lose_all(Time::START);
        assert_eq!(board.waiting().map(|(end, _)| end).collect::<Vec<_>>(), [1000]);
    }

    /// FACK: a retransmission is lost if something arrives that was sent after it.
    #[test]
    fn a_retransmission_that_was_overtaken_is_lost_again() {
        let mut board = five();
        board.lose_oldest();
        let fack = Criterion::Distance(3000);
        let mut delivery = Delivery::default();
        assert!(board.retransmit_lost(u64::MAX, at(100), 5000).is_some());
        board.push(5000, 1000, at(110));
        board.push(6000, 1000, at(120));
        // Everything that was sent before the retransmission arrives: it may still be on its way.
        board.select([(1000, 5000)].into_iter(), &mut delivery);
        assert_eq!((board.detect_losses(fack, at(130)).0, board.waiting().count()), (false, 0));
        board.select([(1000, 6000)].into_iter(), &mut delivery);
        assert_eq!((board.detect_losses(fack, at(140)).0, board.waiting().count()), (true, 1));
    }

    /// A receiver may discard what it has SACKed (RFC 2018, section 8): then all of it is lost, and nothing
    /// counts twice.
    #[test]
    fn what_a_receiver_has_discarded_is_lost_with_the_rest() {
        let mut board = five();
        board.select([(0, 2000), (3000, 4000)].into_iter(), &mut Delivery::default());
        assert!(board.oldest_is_sacked());
        assert_eq!(board.in_flight(5000), 2000);
        board.forget_sacks();
        assert!(!board.oldest_is_sacked() && board.is_clean());
        assert_eq!((board.in_flight(5000), board.sacked_above()), (5000, 0));
        board.lose_all(Time::NEVER);
        let ends = [1000, 2000, 3000, 4000, 5000];
        assert_eq!(board.waiting().map(|(end, _)| end).collect::<Vec<_>>(), ends);
        assert_eq!((board.in_flight(5000), board.marked_bytes().retransmitted), (0, 0));
        // The receiver SACKs the same range again.
        let mut delivery = Delivery::default();
        board.select([(3000, 4000)].into_iter(), &mut delivery);
        assert_eq!((delivery.bytes, board.marked_bytes().lost), (1000, 4000));
    }

    /// Linux: tcp_mark_skb_lost counts a segment again if its retransmission is lost, too.
    #[test]
    fn a_segment_counts_as_lost_once_for_each_transmission() {
        let mut board = five();
        assert!(board.lose_oldest());
        assert_eq!(board.segments_lost(), 1);
        assert!(!board.lose_oldest(), "no news");
        board.lose_all(Time::NEVER);
        assert_eq!(board.segments_lost(), 5);
        assert_eq!(board.retransmit_lost(2000, at(100), 5000), Some((0, 2000, 2)));
        board.lose_all(Time::NEVER);
        assert_eq!(board.segments_lost(), 7);
        // A probe of the tail says nothing of the original.
        let mut board = five();
        assert_eq!(board.retransmit_last(at(100), 5000), Some((4000, 1000)));
        assert_eq!((board.segments_lost(), board.in_flight(5000)), (0, 5000));
    }

    /// An episode was spurious (Linux: tcp_undo_cwnd_reduction, which clears TCPCB_LOST): what was not sent again
    /// is in flight, and may be lost later.
    #[test]
    fn what_was_lost_for_nothing_is_in_flight_again() {
        let mut board = five();
        let three = Criterion::Count(3);
        board.select([(2000, 5000)].into_iter(), &mut Delivery::default());
        assert_eq!(board.detect_losses(three, at(100)), (true, None));
        assert_eq!(board.retransmit_lost(1000, at(100), 5000), Some((0, 1000, 1)));
        assert_eq!((board.in_flight(5000), board.waiting().count()), (1000, 1));
        board.lose_nothing();
        assert_eq!((board.in_flight(5000), board.waiting().count()), (2000, 0));
        assert!(!board.has_unretransmitted());
        assert_eq!(board.sacked_above(), 3, "the three above count for the segment again");
        assert_eq!(board.detect_losses(three, at(200)), (true, None));
        assert_eq!(board.waiting().collect::<Vec<_>>(), [(2000, 1000)]);
    }

    /// A retransmission ends at its limit, at a segment that is not lost, and after one segment at least.
    #[test]
    fn lost_segments_are_retransmitted_in_runs() {
        let mut board = five();
        board.select([(2000, 3000)].into_iter(), &mut Delivery::default());
        board.lose_all(Time::NEVER);
        assert_eq!(board.retransmit_lost(u64::MAX, at(100), 5000), Some((0, 2000, 2)));
        assert_eq!(board.retransmit_lost(999, at(100), 5000), Some((3000, 1000, 1)));
        assert!(board.has_unretransmitted());
        assert_eq!(board.retransmit_lost(1000, at(100), 5000), Some((4000, 1000, 1)));
        assert_eq!(board.retransmit_lost(u64::MAX, at(100), 5000), None);
        assert!(!board.has_unretransmitted());
        assert_eq!(board.in_flight(5000), 4000);
    }

    /// RFC 8985, section 6.2, step 5: lost is what was sent before the newest that has arrived, and has had its
    /// time. The next candidate says how long it has left.
    #[test]
    fn a_segment_is_lost_when_its_patience_is_over() {
        let newest = (at(30), 4000);
        let after = |millis| {
            let mut board = five();
            board.select([(3000, 4000)].into_iter(), &mut Delivery::default());
            let criterion = Criterion::Time { newest, patience: Span::from_millis(100) };
            let (_, wait) = board.detect_losses(criterion, at(millis));
            (board.waiting().count(), wait)
        };
        assert_eq!(after(99), (0, Some(Span::from_millis(1))));
        assert_eq!(after(100), (1, Some(Span::from_millis(10))));
        assert_eq!(after(119), (2, Some(Span::from_millis(1))));
        // The last was sent after the newest, so nothing is known of it.
        assert_eq!(after(500), (3, None));
    }
}
