use super::sending::Sending;
use crate::apps::RangeRequest;
use std::collections::VecDeque;

/// A client of another workload, of which the server knows only the connection. It requests ranges, which are sent one
/// behind the other, each in the order of the file, as a client gets them that asks for no order.
pub(super) struct Visitor {
    /// Its server.
    pub(super) server: u32,
    pub(super) sending: Sending,
    /// What it has asked for and has not been answered, the first one under way.
    pub(super) requests: VecDeque<RangeRequest>,
}

/// The receiver of a block of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Served {
    /// One of its own clients.
    Client(u32),
    /// A visitor.
    Visitor(u32),
}

impl Visitor {
    pub(super) fn new(server: u32, socket: u32) -> Visitor {
        Visitor { server, sending: Sending::new(socket), requests: VecDeque::new() }
    }

    /// How many bytes at the begin and at the end of what the machine hands over belong to the range under way.
    pub(super) fn cut(&self, offset: u64, length: u64) -> (u64, u64) {
        let Some(range) = self.requests.front() else { return (0, 0) };
        let before = range.begin.saturating_sub(offset);
        let behind = (offset + length).saturating_sub(range.end());
        (before, behind)
    }
}
