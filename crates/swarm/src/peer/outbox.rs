//! What a peer will tell its driver.

use crate::{Action, ConnId};
use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};

/// Actions that wait to be polled, and the connections whose send buffers are looked at before there
/// are no more: what is said on one of them at an instant is written together, as libtorrent's `cork`
/// has it.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    actions: VecDeque<Action>,
    corked: VecDeque<ConnId>,
}

impl Outbox {
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

impl Deref for Outbox {
    type Target = VecDeque<Action>;
    fn deref(&self) -> &VecDeque<Action> {
        &self.actions
    }
}
impl DerefMut for Outbox {
    fn deref_mut(&mut self) -> &mut VecDeque<Action> {
        &mut self.actions
    }
}
