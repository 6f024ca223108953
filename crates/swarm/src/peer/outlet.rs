//! The way into one socket buffer: what it takes goes out, the rest waits here.

use crate::{Action, ConnId, Message};
use std::collections::VecDeque;

/// Which of the connections between two peers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Channel {
    /// The one that every pair has.
    Control,
    /// The one for blocks alone.
    Data,
}

/// One socket buffer as a peer knows it.
#[derive(Debug)]
pub(super) struct Outlet {
    channel: Channel,
    /// What the socket buffer takes, less what the driver has still to carry out.
    pub(super) space: u64,
    pub(super) unpolled: u64,
    /// What the socket buffer did not take.
    pub(super) pending: VecDeque<(u32, Option<Message>)>,
}

impl Outlet {
    /// Of a connection that does not stand yet.
    pub(super) fn new(channel: Channel) -> Outlet {
        Outlet { channel, space: 0, unpolled: 0, pending: VecDeque::new() }
    }
    #[inline]
    pub(super) fn write(
        &mut self,
        conn: ConnId,
        bytes: u32,
        completes: Option<Message>,
        out: &mut VecDeque<Action>,
    ) {
        if self.pending.is_empty() && u64::from(bytes) <= self.space {
            self.space -= u64::from(bytes);
            self.unpolled += u64::from(bytes);
            out.push_back(self.action(conn, bytes, completes));
        } else {
            self.pending.push_back((bytes, completes));
            self.drain(conn, out);
        }
    }
    /// Gives the socket buffer as much as it takes.
    fn drain(&mut self, conn: ConnId, out: &mut VecDeque<Action>) {
        while let Some((bytes, completes)) = self.pending.front_mut() {
            let part = u64::from(*bytes).min(self.space);
            if part == 0 {
                return;
            }
            self.space -= part;
            self.unpolled += part;
            // No more than `bytes`, which has 32 bits.
            let part = part as u32;
            *bytes -= part;
            let whole = *bytes == 0;
            let completes = if whole { completes.take() } else { None };
            out.push_back(self.action(conn, part, completes));
            if whole {
                self.pending.pop_front();
            }
        }
    }
    #[inline]
    fn action(&self, conn: ConnId, bytes: u32, completes: Option<Message>) -> Action {
        match self.channel {
            Channel::Control => Action::Write { conn, bytes, completes },
            Channel::Data => Action::WriteData { conn, bytes, completes },
        }
    }
    /// The socket buffer takes `space`. True if something waited for it and nothing does any more.
    #[inline]
    pub(super) fn set_space(&mut self, id: ConnId, space: u64, out: &mut VecDeque<Action>) -> bool {
        self.space = space.saturating_sub(self.unpolled);
        if self.pending.is_empty() {
            return false;
        }
        self.drain(id, out);
        self.pending.is_empty()
    }
}
