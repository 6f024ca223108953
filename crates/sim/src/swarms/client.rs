//! Drives the client of a peer: does what it says, and tells it what its sockets bring.

use super::*;
use flashcrowd_swarm::profile::HandOver;

impl Sim<'_> {
    /// Does what a peer says, then sets its timer.
    pub(super) fn drain(&mut self, peer: u32) {
        for done in 0usize.. {
            if done.is_multiple_of(BROADCAST) && self.sockets.are_many() {
                self.prefetch_writes(peer);
            }
            let Some(machine) = &mut self.swarms.peers[peer as usize].machine else { return };
            let Some(action) = machine.poll() else {
                let deadline = machine.next_timer();
                return self.arm_peer(peer, deadline);
            };
            self.act(peer, action);
        }
    }

    /// A HAVE goes to everybody: asks for the next sockets side by side.
    pub(super) fn prefetch_writes(&self, peer: u32) {
        let peer = &self.swarms.peers[peer as usize];
        let Some(machine) = &peer.machine else { return };
        if machine.actions_ahead() < BROADCAST {
            return;
        }
        let sockets = || {
            let socket = |conn| peer.links(conn).control;
            machine.writes_ahead(BROADCAST).map(socket).filter(|socket| *socket != NO_SOCKET)
        };
        let look = |socket| Look { socket, sends: true, offset: 0 };
        for socket in sockets() {
            self.sockets.prefetch(&look(socket));
            self.sockets.prefetch_reader(socket);
        }
        for socket in sockets() {
            self.sockets.prefetch_beyond(&look(socket));
        }
    }

    #[inline]
    pub(super) fn arm_peer(&mut self, peer: u32, deadline: Option<Time>) {
        let state = &mut self.swarms.peers[peer as usize];
        let Some(deadline) = deadline.map(|deadline| deadline.max(self.now)) else { return };
        if deadline < state.armed {
            state.armed = deadline;
            self.queue.schedule(deadline, Event::peer(peer));
        }
    }

    pub(crate) fn on_peer_timer(&mut self, peer: u32) {
        let state = &mut self.swarms.peers[peer as usize];
        if state.armed != self.now {
            return;
        }
        state.armed = Time::NEVER;
        if let Some(machine) = &mut state.machine {
            machine.on_timer(self.now);
            self.drain(peer);
        }
    }

    #[inline]
    pub(super) fn act(&mut self, peer: u32, action: Action) {
        match action {
            Action::Write { conn, bytes, completes } => {
                let socket = self.swarms.peers[peer as usize].links(conn).control;
                if let Some(space) = self.write(peer, socket, bytes, completes)
                    && let Some(machine) = &mut self.swarms.peers[peer as usize].machine
                {
                    machine.on_space(self.now, conn, space);
                    self.peer_done_writing(peer, conn, socket);
                }
            }
            Action::WriteData { conn, bytes, completes } => {
                let socket = self.swarms.peers[peer as usize].links(conn).outgoing;
                if let Some(space) = self.write(peer, socket, bytes, completes)
                    && let Some(machine) = &mut self.swarms.peers[peer as usize].machine
                {
                    machine.on_data_space(self.now, conn, space);
                    self.peer_done_writing(peer, conn, socket);
                }
            }
            Action::OpenData { conn } => self.open_data(peer, conn),
            Action::Connect { conn, remote } => self.connect(peer, conn, remote),
            Action::Close { conn } => {
                let links = self.swarms.peers[peer as usize].take_links(conn);
                self.close_links(links, NO_SOCKET);
            }
            Action::Announce { event, numwant } => self.announce(peer, event, numwant),
            Action::PieceCompleted { .. } => {}
            Action::Completed => self.completed(peer),
            Action::UnchokeEnded { remote, started, bytes, blocks, cause, .. } => {
                if self.plan.measures.unchokes {
                    let machine = self.swarms.peers[peer as usize].machine.as_ref();
                    let seeding = machine.is_some_and(|machine| machine.is_complete());
                    let ended = self.now;
                    self.swarms.unchokes.push(Unchoke {
                        peer,
                        remote,
                        seeding,
                        started,
                        ended,
                        bytes,
                        blocks,
                        cause,
                    });
                }
            }
        }
    }

    /// Writes to one of a peer's connections; the room that is left, if it stands.
    #[inline]
    fn write(
        &mut self,
        peer: u32,
        socket: u32,
        bytes: u32,
        completes: Option<Message>,
    ) -> Option<u64> {
        if socket == NO_SOCKET {
            return None;
        }
        if self.tally.watches_sends() && matches!(completes, None | Some(Message::Piece { .. })) {
            let end = self.sockets.get_mut(socket);
            let last = end.last_send.replace(self.now);
            self.tally.send(end.class, last, self.now, end.transport.as_ref());
        }
        let block = matches!(completes, Some(Message::Piece { .. }));
        let space = self.sockets.write(socket, self.now, u64::from(bytes), completes);
        self.flush(socket);
        self.sockets.get_mut(socket).space_told = clamp(space);
        if block && let Some(machine) = &self.swarms.peers[peer as usize].machine {
            self.sockets.get_mut(socket).awaited = machine.profile().limiter.hand_over;
        }
        Some(space)
    }

    /// The same as [`Sim::peer_done`], from inside the loop that carries out what a peer says.
    #[inline]
    fn peer_done_writing(&mut self, peer: u32, conn: ConnId, socket: u32) {
        if !self.sockets.is_done(socket) {
            return;
        }
        if let Some(machine) = &mut self.swarms.peers[peer as usize].machine {
            machine.on_done(self.now, conn);
            if !machine.is_held(conn) {
                self.sockets.get_mut(socket).awaited = HandOver::Room;
            }
        }
    }
    /// Tells a peer that waits for it that its transport is done with the last block.
    #[inline]
    pub(crate) fn peer_done(&mut self, peer: u32, conn: ConnId, socket: u32) {
        if self.sockets.is_done(socket) {
            self.peer_done_writing(peer, conn, socket);
            self.drain(peer);
        }
    }

    pub(super) fn connect(&mut self, peer: u32, conn: ConnId, remote: PeerId) {
        let state = &self.swarms.peers[peer as usize];
        let target = self.swarms.all[state.swarm as usize].members[remote.0 as usize];
        let carrier = self.population(peer).and_then(|population| population.transport);
        let active = self.client(peer, Owner::Peer { peer, conn }, carrier);
        let passive = self.client(target, Owner::Listener { peer: target }, carrier);
        let socket = self.open(active, passive);
        self.swarms.peers[peer as usize].links_mut(conn).control = socket;
    }

    /// Opens the connection apart for the blocks that a peer uploads to a neighbour.
    fn open_data(&mut self, peer: u32, conn: ConnId) {
        let control = self.swarms.peers[peer as usize].links(conn).control;
        let carrier = self.population(peer).and_then(|population| population.data);
        if control == NO_SOCKET {
            return;
        }
        // If the neighbour has closed, word of it is on its way.
        let Owner::Peer { peer: target, .. } = self.sockets.get(other(control)).owner else {
            return;
        };
        let active = self.client(peer, Owner::Data { peer, conn }, carrier);
        let passive = self.client(target, Owner::Listener { peer: target }, carrier);
        let socket = self.open(active, passive);
        self.swarms.peers[peer as usize].links_mut(conn).outgoing = socket;
    }

    /// Closes all connections to a neighbour but one that is seen to otherwise.
    fn close_links(&mut self, links: Links, but: u32) {
        for socket in [links.control, links.outgoing, links.incoming] {
            if socket != NO_SOCKET && socket != but {
                self.close(socket);
                self.sockets.retire(socket);
            }
        }
    }

    pub(super) fn client(&self, peer: u32, owner: Owner, carrier: Option<Carrier>) -> Application {
        let state = &self.swarms.peers[peer as usize];
        let swarm = &self.swarms.all[state.swarm as usize];
        let profile = self.population(peer).map_or(0, |population| population.profile);
        let profile = &self.swarms.profiles[profile as usize];
        Application {
            host: state.host,
            carrier,
            owner,
            class: swarm.first_class + state.population,
            nagle: profile.nagle,
            plenty: plenty(profile, swarm.uploads[state.population as usize]),
        }
    }

    /// Somebody's SYN arrived at a peer: the owner of the new socket, unless it is refused.
    pub(crate) fn accept_peer(&mut self, peer: u32, socket: u32) -> Option<Owner> {
        match self.sockets.get(other(socket)).owner {
            Owner::Peer { peer: remote, .. } => {
                let remote = self.swarms.peers[remote as usize].id;
                let machine = self.swarms.peers[peer as usize].machine.as_mut()?;
                let conn = machine.accept(self.now, remote);
                if let Some(conn) = conn {
                    self.swarms.peers[peer as usize].links_mut(conn).control = socket;
                }
                self.drain(peer);
                conn.map(|conn| Owner::Peer { peer, conn })
            }
            Owner::Data { peer: remote, conn } => {
                let control = self.swarms.peers[remote as usize].links(conn).control;
                if control == NO_SOCKET {
                    return None;
                }
                let Owner::Peer { conn, .. } = self.sockets.get(other(control)).owner else {
                    return None;
                };
                self.swarms.peers[peer as usize].links_mut(conn).incoming = socket;
                Some(Owner::Data { peer, conn })
            }
            _ => None,
        }
    }

    pub(crate) fn peer_connected(&mut self, peer: u32, conn: ConnId, socket: u32) {
        let space = self
            .sockets
            .get(socket)
            .transport
            .as_ref()
            .map_or(0, |transport| transport.write_space());
        self.sockets.get_mut(socket).space_told = clamp(space);
        if let Some(machine) = &mut self.swarms.peers[peer as usize].machine {
            machine.on_connected(self.now, conn, space);
            self.drain(peer);
        }
    }

    #[inline]
    pub(crate) fn peer_reads(&mut self, peer: u32, conn: ConnId, socket: u32) {
        while let Some(message) = self.sockets.next_message(socket) {
            // The peer may have closed it meanwhile. A socket that is its owner's is that of the
            // connection; which one carries blocks may have changed.
            let owner = self.sockets.get(socket).owner;
            let state = &mut self.swarms.peers[peer as usize];
            if owner != (Owner::Peer { peer, conn }) && state.links(conn).incoming != socket {
                return;
            }
            let Some(machine) = &mut state.machine else { return };
            machine.on_message(self.now, conn, message);
            self.drain(peer);
        }
    }

    /// Tells a peer that waits for it that its socket buffer has room.
    #[inline]
    pub(crate) fn peer_space(&mut self, peer: u32, conn: ConnId, socket: u32) {
        let end = self.sockets.get_mut(socket);
        if end.space_told >= end.plenty || end.owner != (Owner::Peer { peer, conn }) {
            return;
        }
        let space = end.transport.as_ref().map_or(0, |transport| transport.write_space());
        if clamp(space) <= end.space_told {
            return;
        }
        end.space_told = clamp(space);
        if let Some(machine) = &mut self.swarms.peers[peer as usize].machine {
            machine.on_space(self.now, conn, space);
            self.drain(peer);
        }
    }

    /// The same for the connection apart that carries its blocks, which may just have been set up.
    #[inline]
    pub(crate) fn data_space(&mut self, peer: u32, conn: ConnId, socket: u32, connected: bool) {
        let end = self.sockets.get_mut(socket);
        let waits = end.space_told < end.plenty || connected;
        if !waits || self.swarms.peers[peer as usize].links(conn).outgoing != socket {
            return;
        }
        let space = end.transport.as_ref().map_or(0, |transport| transport.write_space());
        if clamp(space) <= end.space_told {
            return;
        }
        end.space_told = clamp(space);
        if let Some(machine) = &mut self.swarms.peers[peer as usize].machine {
            machine.on_data_space(self.now, conn, space);
            self.drain(peer);
        }
    }

    /// One of the connections to a neighbour was closed by the other side, or failed: the others
    /// go with it.
    pub(crate) fn peer_disconnected(&mut self, peer: u32, conn: ConnId, socket: u32) {
        let links = self.swarms.peers[peer as usize].take_links(conn);
        self.close_links(links, socket);
        if let Some(machine) = &mut self.swarms.peers[peer as usize].machine {
            machine.on_closed(self.now, conn);
            self.drain(peer);
        }
    }
}
