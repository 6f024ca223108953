/// The messages on their way to one socket, as a list in [`Messages`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inbox {
    first: u32,
    last: u32,
}

const NONE: u32 = u32::MAX;

impl Inbox {
    pub(crate) const EMPTY: Inbox = Inbox { first: NONE, last: NONE };
}

/// All messages on their way. They share one place: what has just been read is where the next one
/// is written, so the memory in use is that of the messages under way, while a queue in each socket
/// would be two pages per message that nothing else has touched for seconds.
#[derive(Debug)]
pub(crate) struct Messages<M> {
    nodes: Vec<Node<M>>,
    free: u32,
}

#[derive(Debug)]
struct Node<M> {
    /// Offset of the stream at which the message ends.
    end: u64,
    message: Option<M>,
    next: u32,
}

impl<M> Default for Messages<M> {
    fn default() -> Self {
        Messages { nodes: Vec::new(), free: NONE }
    }
}

impl<M> Messages<M> {
    /// A message that ends at this offset is written to the socket with this inbox.
    #[inline]
    pub(crate) fn push(&mut self, inbox: &mut Inbox, end: u64, message: M) {
        let node = Node { end, message: Some(message), next: NONE };
        let place = if self.free == NONE {
            self.nodes.push(node);
            (self.nodes.len() - 1) as u32
        } else {
            let place = self.free;
            self.free = std::mem::replace(&mut self.nodes[place as usize], node).next;
            place
        };
        if inbox.first == NONE {
            inbox.first = place;
        } else {
            self.nodes[inbox.last as usize].next = place;
        }
        inbox.last = place;
    }

    /// Takes the first message.
    #[inline]
    pub(crate) fn pop(&mut self, inbox: &mut Inbox) -> Option<M> {
        let place = inbox.first;
        let node = self.nodes.get_mut(place as usize)?;
        let message = node.message.take();
        inbox.first = std::mem::replace(&mut node.next, self.free);
        self.free = place;
        message
    }

    /// Offset at which the first message ends; the greatest of all if there is none.
    #[inline]
    pub(crate) fn next_end(&self, inbox: &Inbox) -> u64 {
        self.nodes.get(inbox.first as usize).map_or(u64::MAX, |node| node.end)
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
        assert_eq!(messages.nodes.len(), 30);
    }
}
