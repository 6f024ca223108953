use flashcrowd_base::{List, Slab};

/// All messages in flight, in one slab with a queue for each socket. Freed slots are reused first, so
/// the working set is the messages in flight; a container for each socket would touch two cold pages a
/// message.
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
    /// A message that ends at this offset is written to the socket with this queue of messages.
    pub(crate) fn push(&mut self, queue: &mut List, at: u64, message: M) {
        self.0.push_back(queue, Ending { at, message });
    }

    /// Takes the first message.
    pub(crate) fn pop(&mut self, queue: &mut List) -> Option<M> {
        self.0.pop_front(queue).map(|ending| ending.message)
    }

    /// Offset at which the first message ends; the greatest of all if there is none.
    pub(crate) fn next_end(&self, queue: &List) -> u64 {
        self.0.front(queue).map_or(u64::MAX, |ending| ending.at)
    }

    /// Prefetches the first message.
    pub(crate) fn prefetch(&self, queue: &List) {
        self.0.prefetch_front(queue);
    }

    #[cfg(test)]
    pub(crate) fn in_use(&self) -> usize {
        self.0.len()
    }

    /// Discards the messages of a queue that is never read again.
    pub(crate) fn clear(&mut self, queue: &mut List) {
        while self.pop(queue).is_some() {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_share_one_slab_and_keep_their_order() {
        let mut messages = Messages::default();
        let mut queues = [List::EMPTY; 3];
        let have = |piece: u32| format!("have {piece}");
        for round in 0..4 {
            for piece in 0..30u32 {
                messages.push(&mut queues[piece as usize % 3], u64::from(piece), have(piece));
            }
            for piece in 0..24u32 {
                let queue = &mut queues[piece as usize % 3];
                assert_eq!(messages.next_end(queue), u64::from(piece), "round {round}");
                assert_eq!(messages.pop(queue), Some(have(piece)));
            }
            for queue in &mut queues {
                messages.clear(queue);
                assert_eq!((messages.pop(queue), messages.next_end(queue)), (None, u64::MAX));
            }
        }
        assert_eq!(messages.0.places(), 30);
        assert!(messages.0.is_empty());
    }
}
