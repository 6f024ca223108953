//! What a driver of thousands of connections has fetched before it uses them.

use super::Connection;
use flashcrowd_base::prefetch;

impl Connection {
    /// How many lines of a cache any segment needs, from the beginning of a connection, and how many
    /// sending and acknowledgements. A driver of thousands of connections asks for those that will
    /// be used next ahead of time; see [`CacheLines`](flashcrowd_base::CacheLines).
    pub const LINES_TO_RECEIVE: usize = 4;
    /// See [`LINES_TO_RECEIVE`](Connection::LINES_TO_RECEIVE).
    pub const LINES_TO_SEND: usize = 10;

    /// Asks for what sending and acknowledgements need of what the connection points to, when the
    /// connection itself is at hand.
    #[inline]
    pub fn prefetch_beyond(&self) {
        if let Some(second) = self.sender.second_in_flight() {
            prefetch(second);
        }
    }
}
