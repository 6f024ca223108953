//! The way into one socket buffer: what it takes goes out, the rest waits here.

use super::outbox::Outbox;
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

impl Channel {
    fn write(self, conn: ConnId, bytes: u32, completes: Option<Message>) -> Action {
        match self {
            Channel::Control => Action::Write { conn, bytes, completes },
            Channel::Data => Action::WriteData { conn, bytes, completes },
        }
    }
}

/// Writes that wait: the bytes left of each, and the message that they complete.
type Pending = VecDeque<(u32, Option<Message>)>;

/// One socket buffer as a peer knows it.
#[derive(Debug)]
pub(super) struct WriteBuffer {
    /// The room of the socket buffer, less what the driver has still to carry out. A value above 32
    /// bits is cut: no peer fills that much before the next report.
    pub(super) space: u32,
    pub(super) unpolled: u32,
    /// Bytes that the socket buffer did not take, once there were any.
    pub(super) pending: Option<Box<Pending>>,
}

impl WriteBuffer {
    /// Of a connection that does not stand yet.
    pub(super) fn new() -> WriteBuffer {
        WriteBuffer { space: 0, unpolled: 0, pending: None }
    }
    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.pending.as_ref().is_none_or(|pending| pending.is_empty())
    }
    /// How many writes wait.
    pub(super) fn len(&self) -> usize {
        self.pending.as_ref().map_or(0, |pending| pending.len())
    }
    /// The first message that ends in what waits.
    pub(super) fn begun(&self) -> Option<&Message> {
        self.pending.iter().flat_map(|pending| pending.iter()).find_map(|(_, of)| of.as_ref())
    }
    pub(super) fn write(
        &mut self,
        channel: Channel,
        conn: ConnId,
        bytes: u32,
        completes: Option<Message>,
        out: &mut Outbox,
    ) {
        if self.is_empty() && bytes <= self.space {
            self.space -= bytes;
            self.unpolled += bytes;
            out.push_back(channel.write(conn, bytes, completes));
        } else {
            let first = || Box::new(Pending::with_capacity(2));
            self.pending.get_or_insert_with(first).push_back((bytes, completes));
            self.drain(channel, conn, out);
        }
    }
    /// Gives the socket buffer as much as it takes.
    fn drain(&mut self, channel: Channel, conn: ConnId, out: &mut Outbox) {
        while let Some(pending) = &mut self.pending
            && let Some((bytes, completes)) = pending.front_mut()
        {
            let part = (*bytes).min(self.space);
            if part == 0 {
                return;
            }
            self.space -= part;
            self.unpolled += part;
            *bytes -= part;
            let whole = *bytes == 0;
            let completes = if whole { completes.take() } else { None };
            if whole {
                pending.pop_front();
            }
            out.push_back(channel.write(conn, part, completes));
        }
    }
    /// The socket buffer takes `space`. True if something waited for it and nothing does any more.
    pub(super) fn set_space(
        &mut self,
        channel: Channel,
        id: ConnId,
        space: u64,
        out: &mut Outbox,
    ) -> bool {
        let space = u32::try_from(space).unwrap_or(u32::MAX);
        self.space = space.saturating_sub(self.unpolled);
        if self.is_empty() {
            return false;
        }
        self.drain(channel, id, out);
        self.is_empty()
    }
}
