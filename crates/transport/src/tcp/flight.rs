use flashcrowd_base::{Ring, Span, Time};

/// A segment that was sent and is not cumulatively acknowledged.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sent {
    pub(super) seq: u64,
    pub(super) sent_at: Time,
    /// Offsets it occupies: its bytes, and one for a FIN.
    pub(super) len: u32,
    pub(super) marks: u8,
}

pub(super) const SACKED: u8 = 1;
/// Counted as lost; it may be under way again.
pub(super) const LOST: u8 = 2;
/// The latest retransmission is in flight, as far as is known.
pub(super) const RETRANSMITTED: u8 = 4;
/// It was retransmitted at some time, so that its acknowledgement is ambiguous (Linux: TCPCB_EVER_RETRANS).
pub(super) const EVER_RETRANSMITTED: u8 = 8;

impl Sent {
    #[inline]
    pub(super) fn end(&self) -> u64 {
        self.seq + u64::from(self.len)
    }
    pub(super) fn is(&self, marks: u8) -> bool {
        self.marks & marks != 0
    }
    /// Time left until RACK gives the segment up, if it was sent before the newest delivered one.
    pub(super) fn patience_left(
        &self,
        now: Time,
        newest: (Time, u64),
        patience: Span,
    ) -> Option<Span> {
        let older = (self.sent_at, self.end()) < newest;
        older.then(|| patience.saturating_sub(now.since(self.sent_at)))
    }
}

/// The segments in order. The oldest is stored inline, as a connection with little to send has no other,
/// and each of the others is a cache miss away.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub(super) struct Flight {
    /// Its length is 0 if there is none.
    pub(super) oldest: Sent,
    pub(super) later: Ring<Sent>,
}

impl Flight {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.oldest.len == 0
    }
    #[inline]
    pub(super) fn len(&self) -> usize {
        usize::from(!self.is_empty()) + self.later.len()
    }
    #[inline]
    pub(super) fn push(&mut self, sent: Sent) {
        if self.is_empty() {
            self.oldest = sent;
        } else {
            self.later.push_back(sent);
        }
    }
    #[inline]
    pub(super) fn pop(&mut self) {
        self.oldest = self.later.pop_front().unwrap_or_default();
    }
    #[inline]
    pub(super) fn get(&self, position: usize) -> Option<&Sent> {
        match position.checked_sub(1) {
            Some(later) => self.later.get(later),
            None => Some(&self.oldest).filter(|oldest| oldest.len > 0),
        }
    }
    #[inline]
    pub(super) fn get_mut(&mut self, position: usize) -> Option<&mut Sent> {
        match position.checked_sub(1) {
            Some(later) => self.later.get_mut(later),
            None => Some(&mut self.oldest).filter(|oldest| oldest.len > 0),
        }
    }
    pub(super) fn last(&self) -> Option<&Sent> {
        self.later.back().or_else(|| self.get(0))
    }
    pub(super) fn iter(&self) -> impl Iterator<Item = &Sent> {
        self.get(0).into_iter().chain(self.later.iter())
    }
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Sent> {
        let oldest = Some(&mut self.oldest).filter(|oldest| oldest.len > 0);
        oldest.into_iter().chain(self.later.iter_mut())
    }
    /// Position of the first segment that ends above `offset`.
    pub(super) fn above(&self, offset: u64) -> usize {
        let below = |position| self.get(position).is_some_and(|sent: &Sent| sent.end() <= offset);
        if !below(0) {
            return 0;
        }
        // Most segments are full, so the position follows from the offset; the branches of a binary search
        // among dozens are mispredicted.
        let guess = ((offset - self.oldest.seq) / u64::from(self.oldest.len)) as usize;
        let search = || 1 + self.later.partition_point(|sent| sent.end() <= offset);
        if guess > 0 && below(guess - 1) && !below(guess) {
            debug_assert_eq!(guess, search());
            return guess;
        }
        search()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_flight_has_no_oldest() {
        let mut flight = Flight::default();
        assert_eq!((flight.iter().count(), flight.iter_mut().count(), flight.len()), (0, 0, 0));
        flight.oldest = Sent { len: 1, ..Sent::default() };
        flight.later.push_back(Sent { seq: 1, len: 1, ..Sent::default() });
        assert_eq!((flight.iter().count(), flight.iter_mut().count(), flight.len()), (2, 2, 2));
    }
}
