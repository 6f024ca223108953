//! The uploads of seeds, for the account of their time.

use super::*;

impl Swarms<'_> {
    /// A peer changes its state.
    #[cold]
    pub(super) fn stand(&mut self, world: &World, peer: u32, standing: Standing) {
        let before = std::mem::replace(&mut self.peers[peer as usize].standing, standing);
        self.rules.stand(world.now, peer, Some(standing.download), standing.limited);
        if self.is_seed(peer) && before.has_blocks != standing.has_blocks {
            let uplink = match standing.has_blocks {
                true => Uplink::Busy,
                false if self.is_sending(world, peer) => Uplink::Draining,
                false => Uplink::Idle,
            };
            self.set_uplink(world, peer, uplink);
        }
    }

    /// A part of a block has been handed to a transport: perhaps at the instant at which it was asked
    /// for, so that the peer never stood with blocks to send.
    pub(super) fn sent_block(&mut self, world: &World, peer: u32) {
        if self.is_seed(peer) && self.rules.uplink(peer) == Uplink::Idle {
            self.set_uplink(world, peer, Uplink::Draining);
        }
    }

    /// A socket of a seed has received something, or is closed.
    pub(super) fn settle_uplink(&mut self, world: &World, peer: u32) {
        if self.rules.uplink(peer) == Uplink::Draining && !self.is_sending(world, peer) {
            self.set_uplink(world, peer, Uplink::Idle);
        }
    }

    pub(super) fn set_uplink(&mut self, world: &World, peer: u32, uplink: Uplink) {
        self.draining -= u32::from(self.rules.uplink(peer) == Uplink::Draining);
        self.rules.send(world.now, peer, uplink);
        self.draining += u32::from(uplink == Uplink::Draining);
    }

    fn is_seed(&self, peer: u32) -> bool {
        self.rules.peer(peer).role == Role::Seed
    }

    /// Whether something that a peer wrote is not acknowledged.
    fn is_sending(&self, world: &World, peer: u32) -> bool {
        let sockets = &self.peers[peer as usize].sockets;
        let mut own = sockets.iter().flat_map(|to| [to.control, to.outgoing]);
        own.any(|socket| socket != NO_SOCKET && !is_acknowledged(world, socket))
    }
}

/// Whether nothing that was written to a socket is on its way.
pub(super) fn is_acknowledged(world: &World, socket: u32) -> bool {
    let transport = world.sockets.get(socket).transport.as_ref();
    transport.is_none_or(|transport| transport.unacknowledged() == 0)
}
