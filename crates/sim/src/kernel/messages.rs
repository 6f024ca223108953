use flashcrowd_base::{NOWHERE, Slab};

/// The messages on their way to one socket, as a list in [`Messages`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inbox {
    first: u32,
    last: u32,
}

impl Inbox {
    pub(crate) const EMPTY: Inbox = Inbox { first: NOWHERE, last: NOWHERE };
}

/// All messages on their way, in one slab for all sockets. Freed places are used first, so the working
/// set is the messages in flight; a queue for each socket would touch two cold pages a message.
#[derive(Debug)]
pub(crate) struct Messages<M>(Slab<Ending<M>>);

/// A message, and the offset of the stream at which it ends.
#[derive(Debug)]
struct Ending<M> {
    at: u64,
    message: M,
}

impl<M> Default for Messages<M> {
    fn default() -> Self {
        Messages(Slab::default())
    }
}

impl<M> Messages<M> {
    /// A message that ends at this offset is written to the socket with this inbox.
    pub(crate) fn push(&mut self, inbox: &mut Inbox, at: u64, message: M) {
        let place = self.0.insert(Ending { at, message });
        match inbox.last {
            NOWHERE => inbox.first = place,
            last => self.0.link(last, place),
        }
        inbox.last = place;
    }

    /// Takes the first message.
    pub(crate) fn pop(&mut self, inbox: &mut Inbox) -> Option<M> {
        let (Ending { message, .. }, next) = self.0.unlink(inbox.first)?;
        inbox.first = next;
        if next == NOWHERE {
            inbox.last = NOWHERE;
        }
        Some(message)
    }

    /// Offset at which the first message ends; the greatest of all if there is none.
    pub(crate) fn next_end(&self, inbox: &Inbox) -> u64 {
        self.0.get(inbox.first).map_or(u64::MAX, |ending| ending.at)
    }

    #[cfg(test)]
    pub(crate) fn in_use(&self) -> usize {
        self.0.len()
    }

    /// Nobody will read these.
    pub(crate) fn clear(&mut self, inbox: &mut Inbox) {
        while self.pop(inbox).is_some() {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inboxes_share_their_place_and_keep_their_order() {
        let mut messages = Messages::default();
        let mut inboxes = [Inbox::EMPTY; 3];
        let have = |piece: u32| format!("have {piece}");
        for round in 0..4 {
            for piece in 0..30u32 {
                messages.push(&mut inboxes[piece as usize % 3], u64::from(piece), have(piece));
            }
            for piece in 0..24u32 {
                let inbox = &mut inboxes[piece as usize % 3];
                assert_eq!(messages.next_end(inbox), u64::from(piece), "round {round}");
                assert_eq!(messages.pop(inbox), Some(have(piece)));
            }
            for inbox in &mut inboxes {
                messages.clear(inbox);
                assert_eq!((messages.pop(inbox), messages.next_end(inbox)), (None, u64::MAX));
            }
        }
        assert_eq!(messages.0.places(), 30);
        assert!(messages.0.is_empty());
    }
}
