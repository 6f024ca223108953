use flashcrowd_base::{List, Slab};

/// All messages on their way, in one slab for all sockets, each of which has a list in it. Freed places are used first, so the working
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
    pub(crate) fn push(&mut self, inbox: &mut List, at: u64, message: M) {
        self.0.push_back(inbox, Ending { at, message });
    }

    /// Takes the first message.
    pub(crate) fn pop(&mut self, inbox: &mut List) -> Option<M> {
        self.0.pop_front(inbox).map(|ending| ending.message)
    }

    /// Offset at which the first message ends; the greatest of all if there is none.
    pub(crate) fn next_end(&self, inbox: &List) -> u64 {
        self.0.front(inbox).map_or(u64::MAX, |ending| ending.at)
    }

    #[cfg(test)]
    pub(crate) fn in_use(&self) -> usize {
        self.0.len()
    }

    /// Nobody will read these.
    pub(crate) fn clear(&mut self, inbox: &mut List) {
        while self.pop(inbox).is_some() {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inboxes_share_their_place_and_keep_their_order() {
        let mut messages = Messages::default();
        let mut inboxes = [List::EMPTY; 3];
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
