use super::sending::Sending;
use crate::kernel::other;
use flashcrowd_origin::{Layout, Needs};
use flashcrowd_plan as plan;
use std::collections::VecDeque;

/// A client, as both ends of its connection know it. When it comes and goes, and what it has, is the rules'.
pub(super) struct Client {
    /// The place of its server, and its population there.
    pub(super) server: u32,
    pub(super) population: u32,
    pub(super) host: u32,
    /// Its number among the clients of its server.
    pub(super) number: u32,
    pub(super) file: u32,
    /// While it is under way.
    pub(super) download: Option<Box<Download>>,
}

/// A download that is under way: what both ends know of it.
pub(super) struct Download {
    /// The client's end of the connection.
    pub(super) socket: u32,
    /// What the client still has to write of its request, and the server to read of it.
    pub(super) request: u64,
    pub(super) awaited_request: u64,
    /// Whether the whole request has come.
    pub(super) asked: bool,
    /// What the server does about it.
    pub(super) sending: Sending,
    /// What the client has read.
    received: u64,
    /// Blocks on their way, with where they end in the stream.
    on_the_way: VecDeque<(u64, u32)>,
    /// What has not come.
    missing: Needs,
}

impl Download {
    pub(super) fn new(socket: u32, spec: &plan::Origin, layout: Layout) -> Download {
        Download {
            socket,
            request: spec.request_bytes,
            awaited_request: spec.request_bytes,
            asked: false,
            sending: Sending::new(other(socket)),
            received: 0,
            on_the_way: VecDeque::new(),
            missing: Needs::whole(layout),
        }
    }

    /// The server has written a block to its end.
    pub(super) fn sent(&mut self) {
        self.on_the_way.extend(self.sending.last());
    }

    /// `bytes` of the stream have come; whether a block is whole by that.
    pub(super) fn receive(&mut self, bytes: u64) -> bool {
        self.received += bytes;
        self.on_the_way.front().is_some_and(|(end, _)| *end <= self.received)
    }

    /// The next block that has become whole.
    pub(super) fn next_whole(&mut self) -> Option<u32> {
        let (_, block) = *self.on_the_way.front().filter(|(end, _)| *end <= self.received)?;
        self.on_the_way.pop_front();
        let new = self.missing.remove(block);
        debug_assert!(new, "block {block} came twice");
        Some(block)
    }
}
