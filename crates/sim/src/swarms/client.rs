//! Drives the client of a peer: does what it says, and tells it what its sockets bring.

use super::*;

impl Sim<'_> {
    /// Does what a peer says, then sets its timer.
    pub(super) fn drain(&mut self, peer: u32) {
        for done in 0usize.. {
            if done.is_multiple_of(BROADCAST) && self.sockets.are_many() {
                self.touch_writes(peer);
            }
            let Some(machine) = &mut self.swarms.peers[peer as usize].machine else { return };
            let Some(action) = machine.poll() else {
                let deadline = machine.next_timer();
                return self.arm_peer(peer, deadline);
            };
            self.act(peer, action);
        }
    }

    /// A HAVE goes to everybody: reads a little of the next sockets side by side.
    pub(super) fn touch_writes(&self, peer: u32) {
        let peer = &self.swarms.peers[peer as usize];
        let Some(machine) = &peer.machine else { return };
        if machine.actions_ahead() < BROADCAST {
            return;
        }
        let sockets = || {
            machine.writes_ahead(BROADCAST).filter_map(|conn| {
                peer.sockets.get(conn.0 as usize).copied().filter(|socket| *socket != NO_SOCKET)
            })
        };
        let near = sockets().fold(0, |read, socket| {
            read ^ self.sockets.touch(socket) ^ self.sockets.touch_reader(socket)
        });
        let far = sockets().fold(0, |read, socket| {
            read ^ self.sockets.touch_beyond(socket) ^ self.sockets.touch_reader_beyond(socket)
        });
        std::hint::black_box(near ^ far);
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
                self.write(peer, conn, bytes, completes);
            }
            Action::Connect { conn, remote } => self.connect(peer, conn, remote),
            Action::Close { conn } => {
                let socket = self.take_socket(peer, conn);
                if socket != NO_SOCKET {
                    self.close(socket);
                    self.sockets.retire(socket);
                }
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

    #[inline]
    pub(super) fn write(
        &mut self,
        peer: u32,
        conn: ConnId,
        bytes: u32,
        completes: Option<Message>,
    ) {
        let socket = self.swarms.peers[peer as usize].sockets[conn.0 as usize];
        if socket == NO_SOCKET {
            return;
        }
        if self.tally.watches_sends() && matches!(completes, None | Some(Message::Piece { .. })) {
            let end = self.sockets.get_mut(socket);
            let last = end.last_send.replace(self.now);
            self.tally.send(end.class, last, self.now, end.transport.as_ref());
        }
        let space = self.sockets.write(socket, self.now, u64::from(bytes), completes);
        self.flush(socket);
        self.sockets.get_mut(socket).space_told = space;
        if let Some(machine) = &mut self.swarms.peers[peer as usize].machine {
            machine.on_space(self.now, conn, space);
        }
    }

    pub(super) fn connect(&mut self, peer: u32, conn: ConnId, remote: PeerId) {
        let state = &self.swarms.peers[peer as usize];
        let target = self.swarms.all[state.swarm as usize].members[remote.0 as usize];
        let carrier = self.population(peer).and_then(|population| population.transport);
        let active = self.client(peer, Owner::Peer { peer, conn }, carrier);
        let passive = self.client(target, Owner::Listener { peer: target }, carrier);
        let socket = self.open(active, passive);
        self.put_socket(peer, conn, socket);
    }

    pub(super) fn client(
        &self,
        peer: u32,
        owner: Owner,
        carrier: Option<Carrier>,
    ) -> Application {
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

    pub(super) fn put_socket(&mut self, peer: u32, conn: ConnId, socket: u32) {
        let sockets = &mut self.swarms.peers[peer as usize].sockets;
        let place = conn.0 as usize;
        if sockets.len() <= place {
            sockets.resize(place + 1, NO_SOCKET);
        }
        sockets[place] = socket;
    }

    pub(super) fn take_socket(&mut self, peer: u32, conn: ConnId) -> u32 {
        let sockets = &mut self.swarms.peers[peer as usize].sockets;
        sockets.get_mut(conn.0 as usize).map_or(NO_SOCKET, |s| std::mem::replace(s, NO_SOCKET))
    }

    /// Somebody's SYN arrived at a peer: the owner of the new socket, unless it is refused.
    pub(crate) fn accept_peer(&mut self, peer: u32, socket: u32) -> Option<Owner> {
        let Owner::Peer { peer: remote, .. } = self.sockets.get(other(socket)).owner else {
            return None;
        };
        let remote = self.swarms.peers[remote as usize].id;
        let machine = self.swarms.peers[peer as usize].machine.as_mut()?;
        let conn = machine.accept(self.now, remote);
        if let Some(conn) = conn {
            self.put_socket(peer, conn, socket);
        }
        self.drain(peer);
        conn.map(|conn| Owner::Peer { peer, conn })
    }

    pub(crate) fn peer_connected(&mut self, peer: u32, conn: ConnId, socket: u32) {
        let space = self
            .sockets
            .get(socket)
            .transport
            .as_ref()
            .map_or(0, |transport| transport.write_space());
        self.sockets.get_mut(socket).space_told = space;
        if let Some(machine) = &mut self.swarms.peers[peer as usize].machine {
            machine.on_connected(self.now, conn, space);
            self.drain(peer);
        }
    }

    #[inline]
    pub(crate) fn peer_reads(&mut self, peer: u32, conn: ConnId, socket: u32) {
        while let Some(message) = self.sockets.next_message(socket) {
            let state = &mut self.swarms.peers[peer as usize];
            if state.sockets.get(conn.0 as usize) != Some(&socket) {
                return; // Closed by the peer meanwhile.
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
        if space <= end.space_told {
            return;
        }
        end.space_told = space;
        if let Some(machine) = &mut self.swarms.peers[peer as usize].machine {
            machine.on_space(self.now, conn, space);
            self.drain(peer);
        }
    }

    pub(crate) fn peer_disconnected(&mut self, peer: u32, conn: ConnId) {
        self.take_socket(peer, conn);
        if let Some(machine) = &mut self.swarms.peers[peer as usize].machine {
            machine.on_closed(self.now, conn);
            self.drain(peer);
        }
    }
}
