//! Messages of applications over connections.

use super::ORIGIN;
use crate::kernel::Owner;

/// A message on a connection: it is in the world while it is on its way, and means nothing there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// Between BitTorrent clients.
    Peer(flashcrowd_swarm::Message),
    /// To a content server.
    Get(RangeRequest),
}

/// An HTTP request for a range of a file (RFC 9110, section 14.2). Those of a connection are answered one behind the
/// other, each with a head and the range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RangeRequest {
    /// Which of the server's files.
    pub(crate) file: u32,
    /// The first byte.
    pub(crate) begin: u64,
    /// How many.
    pub(crate) length: u32,
}

impl RangeRequest {
    /// The first byte behind it.
    pub(crate) fn end(&self) -> u64 {
        self.begin + u64::from(self.length)
    }
}

/// The role of the server that waits for connections with requests for ranges, and of their end at
/// the server.
pub(super) const LISTENER: u8 = 2;

/// The owner of the server's end, where a connection asks the origin of this index among the plan's
/// workloads for ranges.
pub(crate) fn content_server(workload: u32) -> Owner {
    Owner { app: ORIGIN, role: LISTENER, index: workload, part: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_stay_small_in_memory() {
        assert_eq!(size_of::<Message>(), size_of::<flashcrowd_swarm::Message>());
    }
}
