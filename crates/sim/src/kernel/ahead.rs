//! What the packets and timers that come next will need of the world, and asking for it: the part of
//! looking ahead that knows the kernel's structures. [`crate::ahead`] knows when to ask, and for whom.

use super::in_flight::InFlight;
use super::look::Look;
use super::owner::{Owner, other};
use super::packet::Packet;
use super::sockets::Sockets;
use flashcrowd_base::{Time, prefetch};
use flashcrowd_transport::tcp::Connection;

/// So many packets of a FIFO are looked at together.
const TOGETHER: usize = 8;

impl<M> Sockets<M> {
    /// Whether there are so many that the processor's nearer caches do not hold them, and looking
    /// ahead pays: a socket takes 768 bytes.
    pub(crate) fn are_many(&self) -> bool {
        self.all.len() > 1500
    }

    /// Asks for what a packet or a write needs of a socket.
    pub(crate) fn prefetch(&self, look: &Look) {
        let lines =
            if look.sends { Connection::LINES_TO_SEND } else { Connection::LINES_TO_RECEIVE };
        self.all[look.socket as usize].lines.prefetch(0..1 + lines);
    }

    /// Asks for what a socket that has come points to.
    pub(crate) fn prefetch_beyond(&self, look: &Look) {
        if look.sends
            && let Some(transport) = &self.all[look.socket as usize].transport
        {
            transport.prefetch_beyond();
        }
    }

    /// Asks for what a write to `socket` changes at the other end.
    pub(crate) fn prefetch_reader(&self, socket: u32) {
        self.all[other(socket) as usize].lines.prefetch(0..1);
    }

    /// Whether the socket's next timer event will need it, as far as is known.
    pub(crate) fn expects_timer(&self, socket: u32) -> bool {
        let timer = self.timers[socket as usize];
        timer.due <= timer.armed && timer.armed != Time::NEVER
    }

    /// The owner, if what will have arrived brings it a message.
    pub(crate) fn next_reader(&self, look: &Look) -> Option<Owner> {
        let end = &self.all[look.socket as usize];
        (end.next_end <= look.offset).then_some(end.owner)
    }
}

impl InFlight {
    /// What the packet that an event is about will need.
    pub(crate) fn peek(&self, fifo: Option<u32>, slot: u32) -> Option<Look> {
        match fifo {
            Some(fifo) => self.fifos[fifo as usize].packets.front(),
            None => self.unordered.get(slot).map(|(stored, _)| stored),
        }
        .and_then(Packet::look)
    }

    /// Adds what the next packets of a FIFO will need to `ahead`, if it is time to look at that.
    pub(crate) fn look_ahead(&mut self, fifo: u32, ahead: &mut Vec<Look>) -> bool {
        let ordered = &mut self.fifos[fifo as usize];
        if ordered.prefetched > 0 || ordered.packets.is_empty() {
            return false;
        }
        let count = ordered.packets.len().min(TOGETHER);
        ordered.prefetched = count as u32;
        ahead.extend(ordered.packets.iter().take(count).filter_map(Packet::look));
        true
    }

    /// Asks for the line of the packet after the next of a FIFO: it is at hand by the time that its
    /// turn has come.
    pub(super) fn prefetch_second(&self, fifo: u32) {
        if let Some(second) = self.fifos[fifo as usize].packets.get(1) {
            prefetch(second);
        }
    }
}
