//! Prefetching what the next packets and timers will need of the world: the part that knows the kernel's
//! structures. [`crate::ahead`] decides when to prefetch, and for which events.

use super::in_flight::InFlight;
use super::owner::{Owner, other};
use super::packet::Packet;
use super::prefetch_hint::PrefetchHint;
use super::sockets::Sockets;
use flashcrowd_base::{Time, prefetch};
use flashcrowd_transport::tcp::Connection;

/// How many packets of a FIFO are prefetched for at a time.
const TOGETHER: usize = 16;

impl<M> Sockets<M> {
    /// Whether the sockets, of 768 bytes each, exceed the processor's L1 and L2 caches, so that prefetching
    /// pays.
    pub(crate) fn are_many(&self) -> bool {
        self.all.len() > 1500
    }

    /// Prefetches the cache lines that a packet or a write needs of a socket.
    pub(crate) fn prefetch(&self, look: &PrefetchHint) {
        let lines = &self.all[look.socket as usize].lines;
        if look.sends {
            lines.prefetch(0..1 + Connection::LINES_TO_SEND);
        } else {
            lines.prefetch(0..1 + Connection::LINES_TO_RECEIVE);
            let round_trip = 1 + Connection::LINE_OF_ROUND_TRIP;
            lines.prefetch(round_trip..round_trip + 1);
        }
        prefetch(&self.timers[look.socket as usize]);
    }

    /// Prefetches what a socket points to; the socket itself must have been prefetched before.
    pub(crate) fn prefetch_beyond(&self, look: &PrefetchHint) {
        if look.sends
            && let Some(transport) = &self.all[look.socket as usize].transport
        {
            transport.prefetch_beyond();
        }
    }

    /// Prefetches what a write to `socket` changes at the other end.
    pub(crate) fn prefetch_reader(&self, socket: u32) {
        self.all[other(socket) as usize].lines.prefetch(0..1);
    }

    /// Whether the socket's next timer event will need it, as far as is known.
    pub(crate) fn expects_timer(&self, socket: u32) -> bool {
        let timer = self.timers[socket as usize];
        timer.due <= timer.armed && timer.armed != Time::NEVER
    }

    /// The owner, if what will have arrived brings it a message; prefetches that.
    pub(crate) fn next_reader(&self, look: &PrefetchHint) -> Option<Owner> {
        let end = &self.all[look.socket as usize];
        (end.next_end <= look.offset).then(|| {
            self.messages.prefetch(&end.message_queue);
            end.owner
        })
    }
}

impl InFlight {
    /// The socket and link that the packet of an event will need.
    pub(crate) fn peek(&self, fifo: Option<u32>, slot: u32) -> Option<PrefetchHint> {
        match fifo {
            Some(fifo) => self.fifos[fifo as usize].packets.front(),
            None => self.unordered.get(slot).map(|(stored, _)| stored),
        }
        .and_then(Packet::look)
    }

    /// Adds what the next packets of a FIFO will need to `ahead`, if those prefetched before have been
    /// taken. Returns whether it did.
    pub(crate) fn look_ahead(&mut self, fifo: u32, ahead: &mut Vec<PrefetchHint>) -> bool {
        let ordered = &mut self.fifos[fifo as usize];
        if ordered.prefetched > 0 || ordered.packets.is_empty() {
            return false;
        }
        let count = ordered.packets.len().min(TOGETHER);
        ordered.prefetched = count as u32;
        ahead.extend(ordered.packets.iter().take(count).filter_map(Packet::look));
        true
    }
}
