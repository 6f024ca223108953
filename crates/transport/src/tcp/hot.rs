//! Cache lines that a driver of thousands of connections prefetches.

use super::Connection;
use super::rtt::RoundTrip;
use super::sender::Sender;
use flashcrowd_base::prefetch;
use std::mem::offset_of;

/// One line of the round trip is fetched.
const _: () = {
    let begin = offset_of!(Connection, sender) + offset_of!(Sender, rtt);
    assert!(begin.is_multiple_of(64) && RoundTrip::OF_TIMEOUT < 64);
};

impl Connection {
    /// How many cache lines any segment needs, from the beginning of a connection, and how many sending
    /// and acknowledgements. A driver of thousands of connections prefetches those of the next events;
    /// see [`CacheLines`](flashcrowd_base::CacheLines).
    pub const LINES_TO_RECEIVE: usize = 4;
    /// See [`LINES_TO_RECEIVE`](Connection::LINES_TO_RECEIVE).
    pub const LINES_TO_SEND: usize = 10;
    /// The line that arriving data needs besides: the estimates of the round trip, by which its acknowledgement waits.
    pub const LINE_OF_ROUND_TRIP: usize =
        (offset_of!(Connection, sender) + offset_of!(Sender, rtt)) / 64;

    /// Prefetches what sending and acknowledgements need of what the connection points to; the
    /// connection itself must have been prefetched before.
    #[inline]
    pub fn prefetch_beyond(&self) {
        if let Some(second) = self.sender.second_in_flight() {
            prefetch(second);
        }
    }
}
