//! Orders of a peer that its driver has not polled.

use super::scratch;
use crate::{Action, ConnId};
use std::collections::VecDeque;

/// Actions that wait to be polled, and connections whose send buffers are written once no action is
/// left, so that all messages on one of them at an instant go out together (libtorrent's `cork`).
///
/// A thread keeps one empty list for actions: an outbox takes it with its first action, and gives it back
/// with its last; others allocate one meanwhile.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    actions: VecDeque<Action>,
    corked: VecDeque<ConnId>,
}

impl Outbox {
    pub(super) fn push_back(&mut self, action: Action) {
        if self.actions.capacity() == 0 {
            self.actions = scratch::ACTIONS.take();
        }
        self.actions.push_back(action);
    }
    pub(super) fn extend(&mut self, actions: impl IntoIterator<Item = Action>) {
        actions.into_iter().for_each(|action| self.push_back(action));
    }
    pub(super) fn pop_front(&mut self) -> Option<Action> {
        let action = self.actions.pop_front()?;
        if self.actions.is_empty() {
            self.actions.clear(); // The next begins where this one did.
            scratch::ACTIONS.set(std::mem::take(&mut self.actions));
        }
        Some(action)
    }
    /// Actions that wait to be polled, the next first.
    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = &Action> {
        self.actions.iter()
    }
    /// Something has been put into the send buffer of this connection.
    pub(super) fn cork(&mut self, conn: ConnId) {
        if self.corked.back() != Some(&conn) {
            self.corked.push_back(conn);
        }
    }
    /// The next connection to look at.
    pub(super) fn uncork(&mut self) -> Option<ConnId> {
        self.corked.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_of_several_peers_are_kept_apart() {
        let action = |conn| Action::OpenData { conn: ConnId(conn) };
        let mut boxes: [Outbox; 3] = Default::default();
        for number in 0..12 {
            boxes[number as usize % 3].push_back(action(number));
        }
        for round in 0..2 {
            for (place, outbox) in boxes.iter_mut().enumerate() {
                let waits: Vec<_> = outbox.iter().cloned().collect();
                let polled: Vec<_> = std::iter::from_fn(|| outbox.pop_front()).collect();
                let sent = if round == 0 { (0..4).collect() } else { vec![4] };
                let expected = sent.into_iter().map(|at| action(place as u32 + 3 * at));
                assert!(polled == waits && polled.into_iter().eq(expected));
                outbox.push_back(action(place as u32 + 12));
            }
        }
    }
}
