use flashcrowd_base::{Span, Time};
use std::collections::VecDeque;

/// A segment that was sent and is not cumulatively acknowledged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) seq: u64,
    pub(super) sent_at: Time,
    /// Offsets it occupies: its bytes, and one for a FIN.
    pub(super) len: u32,
    marks: u8,
}

const SACKED: u8 = 1;
/// Counted as lost; it may be under way again.
const LOST: u8 = 2;
/// The latest repeat is believed to be under way.
const REPEATED: u8 = 4;
/// It was repeated at some time, so that its acknowledgement is ambiguous.
const EVER_REPEATED: u8 = 8;

impl Sent {
    #[inline]
    pub(super) fn end(&self) -> u64 {
        self.seq + u64::from(self.len)
    }
    fn is(&self, marks: u8) -> bool {
        self.marks & marks != 0
    }
}

/// What one acknowledgement delivered.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Delivery {
    /// Bytes acknowledged or SACKed for the first time.
    pub(super) bytes: u64,
    /// Whether SACK ranges told of something new.
    pub(super) sacked: bool,
    /// Whether something was acknowledged that had been repeated.
    pub(super) repeated: bool,
    /// When the oldest and the newest cumulatively acknowledged segments were sent, if never repeated.
    pub(super) acked_sent: Option<(Time, Time)>,
    /// Likewise for SACKed ones.
    pub(super) sacked_sent: Option<(Time, Time)>,
    /// The latest sent of all: when, its end, and whether it was a repeat.
    pub(super) newest: Option<(Time, u64, bool)>,
    /// Lowest offset that arrived, unrepeated, after a higher one.
    pub(super) reordered: Option<u64>,
}

impl Delivery {
    #[inline]
    fn see(&mut self, sent: &Sent) {
        let key = (sent.sent_at, sent.end());
        if self.newest.is_none_or(|(at, end, _)| key > (at, end)) {
            self.newest = Some((key.0, key.1, sent.is(EVER_REPEATED)));
        }
    }
    #[inline]
    fn reorder(&mut self, seq: u64) {
        self.reordered = Some(self.reordered.map_or(seq, |lowest| lowest.min(seq)));
    }
}

/// How losses are told from delays.
#[derive(Clone, Copy, Debug)]
pub(super) enum Criterion {
    /// This many SACKed segments lie above (RFC 6675).
    Count(u32),
    /// The highest SACKed byte lies this far above (FACK).
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

/// A repeat that is under way, in order of sending.
#[derive(Clone, Copy, Debug)]
struct Repeat {
    index: u64,
    sent_at: Time,
    /// Next new offset when it was sent: if something above arrives, it was overtaken.
    nxt: u64,
}

/// Segments between the cumulative acknowledgement and the next new offset, in order, and what is
/// believed of each. Segments are addressed by an index that grows for ever.
#[derive(Clone, Debug, Default)]
pub(super) struct Scoreboard {
    sent: VecDeque<Sent>,
    /// Index of the first in `sent`.
    first: u64,
    sacked_bytes: u64,
    lost_bytes: u64,
    repeated_bytes: u64,
    highest_sacked: u64,
    /// Segments below this index are SACKed, lost, or have been repeated: their first transmission
    /// has been judged. In time order, as first transmissions are.
    judged: u64,
    /// SACKed segments at and above `judged`.
    sacked_above: u32,
    /// No segment below this index is lost and waiting to be repeated.
    next_lost: u64,
    trouble: Option<Box<Trouble>>,
}

/// What is kept once something went wrong.
#[derive(Clone, Debug, Default)]
struct Trouble {
    repeats: VecDeque<Repeat>,
    /// SACK ranges of the last acknowledgement that had any: they need no second look.
    seen: [(u64, u64); super::segment::MAX_SACK_RANGES],
}

impl Scoreboard {
    #[inline]
    pub(super) fn touch(&self) -> u64 {
        self.first ^ self.judged ^ self.sent.capacity() as u64
    }
    #[inline]
    pub(super) fn touch_beyond(&self) -> u64 {
        self.sent.front().map_or(0, |sent| sent.seq)
    }
    /// Bytes that left the sender and neither arrived nor got lost, of `outstanding`.
    #[inline]
    pub(super) fn in_flight(&self, outstanding: u64) -> u64 {
        outstanding + self.repeated_bytes - self.sacked_bytes - self.lost_bytes
    }
    #[inline]
    pub(super) fn sacked_bytes(&self) -> u64 {
        self.sacked_bytes
    }
    #[inline]
    pub(super) fn lost_bytes(&self) -> u64 {
        self.lost_bytes
    }
    /// Whether lost segments wait to be repeated.
    #[inline]
    pub(super) fn has_unrepeated(&self) -> bool {
        self.lost_bytes > self.repeated_bytes
    }
    pub(super) fn highest_sacked(&self) -> u64 {
        self.highest_sacked
    }
    /// How many segments are SACKed above what is judged.
    pub(super) fn sacked_above(&self) -> u32 {
        self.sacked_above
    }
    /// Whether the oldest is SACKed, so that the receiver must have thrown it away since.
    pub(super) fn oldest_is_sacked(&self) -> bool {
        self.sent.front().is_some_and(|sent| sent.is(SACKED))
    }

    fn end_index(&self) -> u64 {
        self.first + self.sent.len() as u64
    }

    /// Records a new segment.
    #[inline]
    pub(super) fn push(&mut self, seq: u64, len: u32, now: Time) {
        self.sent.push_back(Sent { seq, sent_at: now, len, marks: 0 });
    }

    /// Everything below `ack` has arrived.
    #[inline]
    pub(super) fn acknowledge(&mut self, ack: u64, delivery: &mut Delivery) {
        while let Some(front) = self.sent.front_mut() {
            if front.seq >= ack {
                break;
            }
            if front.end() > ack {
                // Part of a segment, after the receiver's window cut it.
                let part = (ack - front.seq) as u32;
                delivery.bytes += u64::from(part);
                front.seq = ack;
                front.len -= part;
                let marks = front.marks;
                if marks & SACKED != 0 {
                    self.sacked_bytes -= u64::from(part);
                }
                if marks & LOST != 0 {
                    self.lost_bytes -= u64::from(part);
                }
                if marks & REPEATED != 0 {
                    self.repeated_bytes -= u64::from(part);
                }
                break;
            }
            let sent = *front;
            self.sent.pop_front();
            if sent.marks == 0 {
                delivery.bytes += u64::from(sent.len);
                let (oldest, _) = delivery.acked_sent.unwrap_or((sent.sent_at, sent.sent_at));
                delivery.acked_sent = Some((oldest, sent.sent_at));
                delivery.see(&sent);
                if sent.seq < self.highest_sacked {
                    delivery.reorder(sent.seq);
                }
            } else {
                self.retire(&sent, delivery);
            }
            self.first += 1;
        }
        if self.judged < self.first {
            self.judged = self.first;
        }
    }

    /// A segment with marks is acknowledged.
    fn retire(&mut self, sent: &Sent, delivery: &mut Delivery) {
        let len = u64::from(sent.len);
        if sent.is(LOST) {
            self.lost_bytes -= len;
        }
        if sent.is(REPEATED) {
            self.repeated_bytes -= len;
        }
        delivery.repeated |= sent.is(EVER_REPEATED);
        if sent.is(SACKED) {
            self.sacked_bytes -= len;
            if self.first >= self.judged {
                self.sacked_above -= 1;
            }
        } else {
            delivery.bytes += len;
            delivery.see(sent);
            if !sent.is(EVER_REPEATED) {
                let (oldest, _) = delivery.acked_sent.unwrap_or((sent.sent_at, sent.sent_at));
                delivery.acked_sent = Some((oldest, sent.sent_at));
                if sent.seq < self.highest_sacked {
                    delivery.reorder(sent.seq);
                }
            }
        }
    }

    /// These ranges have arrived.
    pub(super) fn select(
        &mut self,
        ranges: impl ExactSizeIterator<Item = (u64, u64)>,
        delivery: &mut Delivery,
    ) {
        let before = std::mem::take(&mut self.trouble.get_or_insert_default().seen);
        let mut seen = [(0, 0); super::segment::MAX_SACK_RANGES];
        for (slot, (start, end)) in seen.iter_mut().zip(ranges) {
            *slot = (start, end);
            // What lay in one range last time is marked already.
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

    /// Marks segments that end above `from` and lie within `start..end`.
    fn mark_sacked(&mut self, start: u64, from: u64, end: u64, delivery: &mut Delivery) {
        if from >= end {
            return;
        }
        let begin = self.sent.partition_point(|sent| sent.end() <= from);
        let before = self.highest_sacked;
        for position in begin..self.sent.len() {
            let sent = &mut self.sent[position];
            if sent.end() > end {
                break;
            }
            if sent.seq < start || sent.is(SACKED) {
                continue;
            }
            let len = u64::from(sent.len);
            if sent.is(LOST) {
                self.lost_bytes -= len;
            }
            if sent.is(REPEATED) {
                self.repeated_bytes -= len;
            }
            sent.marks = (sent.marks | SACKED) & !(LOST | REPEATED);
            let sent = *sent;
            self.sacked_bytes += len;
            if self.first + position as u64 >= self.judged {
                self.sacked_above += 1;
            }
            self.highest_sacked = self.highest_sacked.max(sent.end());
            delivery.bytes += len;
            delivery.sacked = true;
            delivery.see(&sent);
            if !sent.is(EVER_REPEATED) {
                let (oldest, _) = delivery.sacked_sent.unwrap_or((sent.sent_at, sent.sent_at));
                delivery.sacked_sent = Some((oldest, sent.sent_at));
                if sent.seq < before {
                    delivery.reorder(sent.seq);
                }
            }
        }
    }

    fn lose(&mut self, index: u64) {
        let sent = &mut self.sent[(index - self.first) as usize];
        let len = u64::from(sent.len);
        if sent.is(REPEATED) {
            sent.marks &= !REPEATED;
            self.repeated_bytes -= len;
        }
        if !sent.is(LOST) {
            sent.marks |= LOST;
            self.lost_bytes += len;
        }
        self.next_lost = self.next_lost.min(index);
    }

    /// Marks what is lost by `criterion`. Returns whether something new is, and how long the next
    /// candidate has left where time is the criterion.
    pub(super) fn judge(&mut self, criterion: Criterion, now: Time) -> (bool, Option<Span>) {
        let mut any = false;
        let mut wait: Option<Span> = None;
        let end = self.end_index();
        self.judged = self.judged.max(self.first);
        while self.judged < end {
            let sent = self.sent[(self.judged - self.first) as usize];
            if sent.is(SACKED) {
                self.sacked_above -= 1;
                self.judged += 1;
                continue;
            }
            if sent.is(LOST | EVER_REPEATED) {
                self.judged += 1;
                continue;
            }
            let gone = match criterion {
                Criterion::Count(segments) => self.sacked_above >= segments,
                Criterion::Distance(bytes) => self.highest_sacked >= sent.seq + bytes,
                Criterion::Time { newest, patience } => {
                    if (sent.sent_at, sent.end()) >= newest {
                        false
                    } else {
                        let left = patience.saturating_sub(now.since(sent.sent_at));
                        if !left.is_zero() {
                            wait = Some(left);
                        }
                        left.is_zero()
                    }
                }
            };
            if !gone {
                break;
            }
            self.lose(self.judged);
            self.judged += 1;
            any = true;
        }
        while let Some(repeat) = self.first_repeat() {
            let sent = self.sent[(repeat.index - self.first) as usize];
            let gone = match criterion {
                Criterion::Count(_) => false,
                Criterion::Distance(_) => self.highest_sacked > repeat.nxt,
                Criterion::Time { newest, patience } => {
                    if (sent.sent_at, sent.end()) >= newest {
                        false
                    } else {
                        let left = patience.saturating_sub(now.since(sent.sent_at));
                        if !left.is_zero() {
                            wait = Some(wait.map_or(left, |other| other.max(left)));
                        }
                        left.is_zero()
                    }
                }
            };
            if !gone {
                break;
            }
            self.drop_repeat();
            self.lose(repeat.index);
            any = true;
        }
        (any, wait)
    }

    /// The oldest repeat that is still under way; forgets those before it.
    fn first_repeat(&mut self) -> Option<Repeat> {
        loop {
            let repeat = *self.trouble.as_ref()?.repeats.front()?;
            if self.is_current(&repeat) {
                return Some(repeat);
            }
            self.drop_repeat();
        }
    }

    fn drop_repeat(&mut self) {
        if let Some(trouble) = &mut self.trouble {
            trouble.repeats.pop_front();
        }
    }

    fn is_current(&self, repeat: &Repeat) -> bool {
        repeat.index >= self.first && {
            let sent = &self.sent[(repeat.index - self.first) as usize];
            sent.is(REPEATED) && sent.sent_at == repeat.sent_at
        }
    }

    /// The oldest segment is lost, whatever the criterion. Returns whether that is news.
    pub(super) fn lose_oldest(&mut self) -> bool {
        let Some(front) = self.sent.front() else { return false };
        if front.is(SACKED) || (front.is(LOST) && !front.is(REPEATED)) {
            return false;
        }
        self.lose(self.first);
        true
    }

    /// Everything that did not arrive is lost, except what was sent after `since` and is not the oldest.
    pub(super) fn lose_all(&mut self, since: Time) {
        for index in self.first..self.end_index() {
            let sent = &self.sent[(index - self.first) as usize];
            let recent = sent.sent_at > since && index != self.first;
            if !sent.is(SACKED) && !recent {
                self.lose(index);
            }
        }
    }

    /// What is counted as lost and was not repeated is in flight after all.
    pub(super) fn lose_nothing(&mut self) {
        let mut lowest = None;
        for (position, sent) in self.sent.iter_mut().enumerate() {
            if sent.is(LOST) && !sent.is(REPEATED) {
                sent.marks &= !LOST;
                self.lost_bytes -= u64::from(sent.len);
                lowest = lowest.or(Some(position));
            }
        }
        let Some(lowest) = lowest else { return };
        self.judged = self.judged.min(self.first + lowest as u64);
        let unjudged = self.sent.iter().skip((self.judged - self.first) as usize);
        self.sacked_above = unjudged.filter(|sent| sent.is(SACKED)).count() as u32;
    }

    /// All SACK marks go: the receiver has thrown that data away, or may have.
    pub(super) fn forget_sacks(&mut self) {
        for sent in &mut self.sent {
            sent.marks &= !SACKED;
        }
        self.sacked_bytes = 0;
        self.sacked_above = 0;
        if let Some(trouble) = &mut self.trouble {
            trouble.seen = Default::default();
        }
    }

    /// The next run of lost segments to repeat: its offset and length, at most `limit` bytes and
    /// `segments` segments. It is marked as repeated.
    pub(super) fn repeat_lost(
        &mut self,
        limit: u64,
        now: Time,
        nxt: u64,
    ) -> Option<(u64, u64, u32)> {
        let mut index = self.next_lost.max(self.first);
        let end = self.end_index();
        while index < end {
            let sent = &self.sent[(index - self.first) as usize];
            if sent.is(LOST) && !sent.is(REPEATED) {
                break;
            }
            index += 1;
        }
        self.next_lost = index;
        let seq = self.sent.get((index - self.first) as usize)?.seq;
        let (mut bytes, mut segments) = (0, 0);
        while index < end {
            let sent = &self.sent[(index - self.first) as usize];
            let next = bytes + u64::from(sent.len);
            if !sent.is(LOST) || sent.is(REPEATED) || (segments > 0 && next > limit) {
                break;
            }
            bytes = next;
            segments += 1;
            self.repeat(index, now, nxt);
            index += 1;
        }
        self.next_lost = index;
        Some((seq, bytes, segments))
    }

    /// Repeats the last segment as a probe, though it is not known to be lost.
    pub(super) fn repeat_last(&mut self, now: Time, nxt: u64) -> Option<(u64, u64)> {
        let index = self.end_index().checked_sub(1)?;
        let last = *self.sent.back()?;
        if last.is(SACKED) {
            return None;
        }
        self.lose(index);
        self.repeat(index, now, nxt);
        Some((last.seq, u64::from(last.len)))
    }

    fn repeat(&mut self, index: u64, now: Time, nxt: u64) {
        self.first_repeat();
        let sent = &mut self.sent[(index - self.first) as usize];
        sent.sent_at = now;
        sent.marks |= REPEATED | EVER_REPEATED;
        self.repeated_bytes += u64::from(sent.len);
        self.trouble.get_or_insert_default().repeats.push_back(Repeat { index, sent_at: now, nxt });
    }

    /// Entries that memory is held for.
    pub(super) fn capacity(&self) -> usize {
        self.sent.capacity() + self.trouble.as_ref().map_or(0, |trouble| trouble.repeats.capacity())
    }
}
