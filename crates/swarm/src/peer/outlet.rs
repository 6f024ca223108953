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

/// Writes that wait: the bytes left of each, and the message that they complete.
type Pending = VecDeque<(u32, Option<Message>)>;

/// One socket buffer as a peer knows it.
#[derive(Debug)]
pub(super) struct Outlet {
    channel: Channel,
    /// What the socket buffer takes, less what the driver has still to carry out.
    pub(super) space: u64,
    pub(super) unpolled: u64,
    /// What the socket buffer did not take, once there was such a thing.
    pending: Option<Box<Pending>>,
}

impl Outlet {
    /// Of a connection that does not stand yet.
    pub(super) fn new(channel: Channel) -> Outlet {
        Outlet { channel, space: 0, unpolled: 0, pending: None }
    }
    /// Whether nothing waits.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.pending.as_ref().is_none_or(|pending| pending.is_empty())
    }
    #[inline]
    pub(super) fn write(
        &mut self,
        conn: ConnId,
        bytes: u32,
        completes: Option<Message>,
        out: &mut VecDeque<Action>,
    ) {
        if self.is_empty() && u64::from(bytes) <= self.space {
            self.space -= u64::from(bytes);
            self.unpolled += u64::from(bytes);
            out.push_back(self.action(conn, bytes, completes));
        } else {
            self.pending.get_or_insert_default().push_back((bytes, completes));
            self.drain(conn, out);
        }
    }
    /// Gives the socket buffer as much as it takes.
    fn drain(&mut self, conn: ConnId, out: &mut VecDeque<Action>) {
        while let Some(pending) = &mut self.pending
            && let Some((bytes, completes)) = pending.front_mut()
        {
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
            if whole {
                pending.pop_front();
            }
            out.push_back(self.action(conn, part, completes));
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
        if self.is_empty() {
            return false;
        }
        self.drain(id, out);
        self.is_empty()
    }
}
