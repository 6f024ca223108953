//! Drives the client of a peer: carries out its actions, and passes it what its sockets bring.

use super::disks::Block;
use super::*;
use flashcrowd_swarm::profile::{HandOver, Sharing};

impl Swarms<'_> {
    /// Carries out the actions of a peer, then sets its timer.
    pub(super) fn drain(&mut self, world: &mut World, peer: u32) {
        for done in 0usize.. {
            if done.is_multiple_of(BROADCAST) && world.sockets.are_many() {
                self.prefetch_writes(world, peer);
            }
            let Some(machine) = &mut self.peers[peer as usize].machine else { return };
            let Some(action) = machine.poll() else {
                let (deadline, standing) = (machine.next_timer(), machine.standing());
                if standing != self.peers[peer as usize].standing {
                    self.stand(world, peer, standing);
                }
                return self.arm_peer(world, peer, deadline);
            };
            self.act(world, peer, action);
        }
    }

    /// A HAVE goes to all neighbours: prefetches the next sockets together.
    pub(super) fn prefetch_writes(&self, world: &World, peer: u32) {
        let peer = &self.peers[peer as usize];
        let Some(machine) = &peer.machine else { return };
        if machine.actions_ahead() < BROADCAST {
            return;
        }
        let sockets = || {
            let socket = |conn| peer.sockets(conn).control;
            machine.writes_ahead(BROADCAST).map(socket).filter(|socket| *socket != NO_SOCKET)
        };
        for socket in sockets() {
            world.sockets.prefetch(&PrefetchHint::write(socket));
            world.sockets.prefetch_reader(socket);
        }
        for socket in sockets() {
            world.sockets.prefetch_beyond(&PrefetchHint::write(socket));
        }
    }

    pub(super) fn arm_peer(&mut self, world: &mut World, peer: u32, deadline: Option<Time>) {
        let state = &mut self.peers[peer as usize];
        let Some(deadline) = deadline.map(|deadline| deadline.max(world.now)) else { return };
        if deadline < state.armed {
            state.armed = deadline;
            self.schedule(world, deadline, Code::Timer, peer);
        }
    }

    pub(super) fn on_peer_timer(&mut self, world: &mut World, peer: u32) {
        let state = &mut self.peers[peer as usize];
        if state.armed != world.now {
            return;
        }
        state.armed = Time::NEVER;
        if let Some(machine) = &mut state.machine {
            machine.on_timer(world.now);
            self.drain(world, peer);
        }
    }

    pub(super) fn act(&mut self, world: &mut World, peer: u32, action: Action) {
        match action {
            Action::Write { conn, bytes, completes } => {
                let socket = self.peers[peer as usize].sockets(conn).control;
                if let Some(space) = self.write(world, peer, conn, socket, bytes, completes)
                    && let Some(machine) = &mut self.peers[peer as usize].machine
                {
                    machine.on_space(world.now, conn, space);
                    self.peer_done_writing(world, peer, conn, socket);
                }
            }
            Action::WriteData { conn, bytes, completes } => {
                let socket = self.peers[peer as usize].sockets(conn).outgoing;
                if let Some(space) = self.write(world, peer, conn, socket, bytes, completes)
                    && let Some(machine) = &mut self.peers[peer as usize].machine
                {
                    machine.on_data_space(world.now, conn, space);
                    self.peer_done_writing(world, peer, conn, socket);
                }
            }
            Action::OpenData { conn } => self.open_data(world, peer, conn),
            Action::Connect { conn, remote, tcp } => self.connect(world, peer, conn, remote, tcp),
            Action::Close { conn } => {
                let sockets = self.peers[peer as usize].take_sockets(conn);
                self.close_sockets(world, sockets, NO_SOCKET);
                self.settle_uplink(world, peer);
            }
            Action::Announce { event, numwant } => self.announce(world, peer, event, numwant),
            Action::LimitReads { conn, bytes } => {
                let socket = self.peers[peer as usize].sockets(conn).control;
                if socket != NO_SOCKET && world.sockets.limit_reads(socket, bytes) {
                    self.schedule(world, world.now, Code::Readable, socket);
                }
            }
            Action::ReadBlock { conn, piece, begin, length } => {
                self.read_block(world, peer, Block { conn, piece, begin, length });
            }
            Action::JoinWebSeed { seed } => self.join_web_seed(world, peer, seed),
            Action::LeaveWebSeed { seed } => self.leave_web_seed(world, peer, seed),
            Action::AskWebSeed { seed, begin, length } => {
                self.ask_web_seed(world, peer, seed, (begin, length));
            }
            Action::PieceCompleted { piece } => {
                let swarm = self.rules.peer(peer).swarm;
                self.all[swarm as usize].availability.gained(piece);
                self.rules.has_piece(world.now, peer, piece);
            }
            Action::Completed => self.completed(world, peer),
            Action::UnchokeEnded { remote, started, idle, bytes, blocks, cause, .. } => {
                if self.plan.measures.unchokes {
                    let machine = self.peers[peer as usize].machine.as_ref();
                    let seeding = machine.is_some_and(|machine| machine.is_complete());
                    let ended = world.now;
                    self.unchokes.push(Unchoke {
                        peer,
                        remote,
                        seeding,
                        started,
                        ended,
                        idle,
                        bytes,
                        blocks,
                        cause,
                    });
                }
            }
        }
    }

    /// Writes to one of a peer's connections. Returns the room that is left, if the connection is open.
    pub(super) fn write(
        &mut self,
        world: &mut World,
        peer: u32,
        conn: ConnId,
        socket: u32,
        bytes: u32,
        completes: Option<swarm::Message>,
    ) -> Option<u64> {
        if socket == NO_SOCKET {
            return None;
        }
        let of_block = matches!(completes, None | Some(swarm::Message::Piece { .. }));
        if world.monitor.watches_sends() && of_block {
            let end = world.sockets.get_mut(socket);
            let last = std::mem::replace(&mut end.last_send, world.now);
            let last = (last != Time::NEVER).then_some(last);
            world.monitor.send(end.class, last, world.now, end.transport.as_ref());
        }
        // A block that ends within a message ends a write.
        let ends = completes.is_none();
        if ends {
            let machine = self.peers[peer as usize].machine.as_ref();
            world.sockets.begins(socket, || machine?.half_written(conn).map(Message::Peer));
        }
        let header = match &completes {
            Some(message @ swarm::Message::Piece { length, .. }) => Some(message.size() - length),
            _ => None,
        };
        let completes = completes.map(Message::Peer);
        let space = world.sockets.write(socket, world.now, u64::from(bytes), completes);
        if ends || !self.goes_on(peer, conn) {
            world.flush(socket);
        }
        world.sockets.get_mut(socket).reported_space = clamp(space);
        if of_block {
            self.count_upload(peer, bytes, header.unwrap_or(0));
            self.sent_block(world, peer);
        }
        if header.is_some()
            && let Some(machine) = &self.peers[peer as usize].machine
        {
            world.sockets.get_mut(socket).wait_for = match machine.profile().limiter.hand_over {
                HandOver::Room => WaitFor::Room,
                HandOver::Sent => WaitFor::Sent,
                HandOver::Acknowledged => WaitFor::Acknowledged,
            };
        }
        Some(space)
    }

    /// Whether a client that writes its send buffer at once (cork) has more in it: its next message belongs
    /// to the same write.
    fn goes_on(&self, peer: u32, conn: ConnId) -> bool {
        let Some(machine) = &self.peers[peer as usize].machine else { return false };
        machine.profile().limiter.sharing == Sharing::Quota
            && machine.writes_ahead(1).next() == Some(conn)
    }

    /// The same as [`Sim::peer_done`], from inside the loop that carries out a peer's actions.
    pub(super) fn peer_done_writing(
        &mut self,
        world: &mut World,
        peer: u32,
        conn: ConnId,
        socket: u32,
    ) {
        if !world.sockets.is_done(socket) {
            return;
        }
        if let Some(machine) = &mut self.peers[peer as usize].machine {
            machine.on_done(world.now, conn);
            if !machine.awaits_transport(conn) {
                world.sockets.get_mut(socket).wait_for = WaitFor::Room;
            }
        }
    }
    /// Reports to a peer that waits for it that its transport is done with the last block.
    pub(super) fn peer_done(&mut self, world: &mut World, peer: u32, conn: ConnId, socket: u32) {
        if world.sockets.is_done(socket) {
            self.peer_done_writing(world, peer, conn, socket);
            self.drain(world, peer);
        }
    }

    /// Opens a connection over what the population says; with `tcp` over the host's own TCP stack.
    pub(super) fn connect(
        &mut self,
        world: &mut World,
        peer: u32,
        conn: ConnId,
        remote: PeerId,
        tcp: bool,
    ) {
        let swarm = self.rules.peer(peer).swarm;
        let target = self.rules.swarm(swarm).members[remote.0 as usize];
        let preferred = self.population(peer).filter(|_| !tcp);
        let transport = preferred.and_then(|population| population.transport);
        let active = self.client(peer, End::Control { peer, conn }, transport);
        let passive = self.client(target, End::Listener { peer: target }, transport);
        let socket = world.open(active, passive);
        self.peers[peer as usize].sockets_mut(conn).control = socket;
    }

    /// Opens the separate data connection for the blocks that a peer uploads to a neighbour.
    pub(super) fn open_data(&mut self, world: &mut World, peer: u32, conn: ConnId) {
        let control = self.peers[peer as usize].sockets(conn).control;
        let transport = self.population(peer).and_then(|population| population.data);
        if control == NO_SOCKET {
            return;
        }
        // If the neighbour has closed, its FIN is in flight.
        let Some(End::Control { peer: target, .. }) =
            End::of(world.sockets.get(other(control)).owner)
        else {
            return;
        };
        let active = self.client(peer, End::Data { peer, conn }, transport);
        let passive = self.client(target, End::Listener { peer: target }, transport);
        let socket = world.open(active, passive);
        self.peers[peer as usize].sockets_mut(conn).outgoing = socket;
    }

    /// Closes all connections to a neighbour except one that the caller closes.
    pub(super) fn close_sockets(&mut self, world: &mut World, ends: PeerSockets, but: u32) {
        for socket in [ends.control, ends.outgoing, ends.incoming] {
            if socket != NO_SOCKET && socket != but {
                world.close(socket);
                world.sockets.release_pair(socket);
            }
        }
    }

    pub(super) fn client(
        &self,
        peer: u32,
        end: End,
        transport: Option<TransportChoice>,
    ) -> Application {
        let state = self.rules.peer(peer);
        let swarm = &self.all[state.swarm as usize];
        let profile = self.population(peer).map_or(0, |population| population.profile);
        let profile = &self.profiles[profile as usize];
        Application {
            host: state.host,
            transport,
            owner: end.owner(),
            workload: self.rules.swarm(state.swarm).workload,
            member: state.id.0,
            captured: None,
            class: swarm.first_class + state.population,
            nagle: profile.nagle,
            low_watermark: low_watermark(profile, self.limit(peer)),
        }
    }

    /// Whether a peer listens to the transport of a SYN. Blocks that have a connection of their own come by
    /// whatever their sender chose.
    pub(super) fn hears_peer(&self, world: &World, peer: u32, socket: u32) -> bool {
        let opener = world.sockets.get(other(socket));
        let over_utp = opener.transport.as_ref().is_some_and(|transport| transport.is_utp());
        let for_blocks = matches!(End::of(opener.owner), Some(End::Data { .. }));
        !over_utp || for_blocks || self.population(peer).is_none_or(|it| it.answers_utp)
    }

    /// A SYN arrived at a peer. Returns the owner of the new socket, unless the peer refuses it.
    pub(super) fn accept_peer(
        &mut self,
        world: &mut World,
        peer: u32,
        socket: u32,
    ) -> Option<Owner> {
        match End::of(world.sockets.get(other(socket)).owner)? {
            End::Control { peer: remote, .. } => {
                let remote = self.rules.peer(remote).id;
                let machine = self.peers[peer as usize].machine.as_mut()?;
                let conn = machine.accept(world.now, remote);
                if let Some(conn) = conn {
                    self.peers[peer as usize].sockets_mut(conn).control = socket;
                }
                self.drain(world, peer);
                conn.map(|conn| End::Control { peer, conn }.owner())
            }
            End::Data { peer: remote, conn } => {
                let control = self.peers[remote as usize].sockets(conn).control;
                if control == NO_SOCKET {
                    return None;
                }
                let Some(End::Control { conn, .. }) =
                    End::of(world.sockets.get(other(control)).owner)
                else {
                    return None;
                };
                self.peers[peer as usize].sockets_mut(conn).incoming = socket;
                Some(End::Data { peer, conn }.owner())
            }
            _ => None,
        }
    }

    pub(super) fn peer_connected(
        &mut self,
        world: &mut World,
        peer: u32,
        conn: ConnId,
        socket: u32,
    ) {
        let transport = world.sockets.get(socket).transport.as_ref();
        let space = transport.map_or(0, |transport| transport.write_space());
        let utp = transport.is_some_and(|transport| transport.is_utp());
        world.sockets.get_mut(socket).reported_space = clamp(space);
        if let Some(machine) = &mut self.peers[peer as usize].machine {
            if utp {
                machine.is_over_utp(conn);
            }
            machine.on_connected(world.now, conn, space);
            self.drain(world, peer);
        }
    }

    /// Reports to a peer how many bytes arrived at once.
    pub(super) fn peer_received(
        &mut self,
        world: &World,
        peer: u32,
        conn: ConnId,
        socket: u32,
        bytes: u64,
    ) {
        let state = &mut self.peers[peer as usize];
        if !state.counts_reads {
            return;
        }
        let owner = world.sockets.get(socket).owner;
        let mine = owner == (End::Control { peer, conn }).owner();
        if (mine || state.sockets(conn).incoming == socket)
            && let Some(machine) = &mut state.machine
        {
            machine.on_received(world.now, conn, bytes);
        }
    }

    pub(super) fn peer_reads(&mut self, world: &mut World, peer: u32, conn: ConnId, socket: u32) {
        while let Some(message) = world.sockets.next_message(socket) {
            // The peer may have closed it meanwhile. A socket that is its owner's is that of the
            // connection; which one carries blocks may have changed.
            let owner = world.sockets.get(socket).owner;
            let state = &mut self.peers[peer as usize];
            if owner != (End::Control { peer, conn }).owner()
                && state.sockets(conn).incoming != socket
            {
                return;
            }
            let Some(machine) = &mut state.machine else { return };
            let Message::Peer(message) = message else { continue };
            machine.on_message(world.now, conn, message);
            self.drain(world, peer);
        }
    }

    /// Bytes that have arrived at a socket may be read.
    pub(super) fn read_on(&mut self, world: &mut World, socket: u32) {
        let Some(news) = world.socket_event(socket) else { return };
        self.on_socket_event(world, socket, news);
        if world.after_socket_event(socket, news.bytes) {
            let end = world.sockets.get_mut(socket);
            let owner = std::mem::replace(&mut end.owner, Owner::NOBODY);
            self.on_closed(world, socket, owner);
            world.close(socket);
            world.sockets.release_pair(socket);
        }
    }

    /// Reports to a peer that waits for it that its socket buffer has room.
    pub(super) fn peer_space(&mut self, world: &mut World, peer: u32, conn: ConnId, socket: u32) {
        let end = world.sockets.get_mut(socket);
        if end.reported_space >= end.low_watermark
            || end.owner != (End::Control { peer, conn }).owner()
        {
            return;
        }
        let Some(space) = end.more_space() else { return };
        if let Some(machine) = &mut self.peers[peer as usize].machine {
            machine.on_space(world.now, conn, space);
            self.drain(world, peer);
        }
    }

    /// The same for its separate data connection, which may just have been established.
    pub(super) fn data_space(
        &mut self,
        world: &mut World,
        peer: u32,
        conn: ConnId,
        socket: u32,
        connected: bool,
    ) {
        let end = world.sockets.get_mut(socket);
        let waits = end.reported_space < end.low_watermark || connected;
        if !waits || self.peers[peer as usize].sockets(conn).outgoing != socket {
            return;
        }
        let Some(space) = end.more_space() else { return };
        if let Some(machine) = &mut self.peers[peer as usize].machine {
            machine.on_data_space(world.now, conn, space);
            self.drain(world, peer);
        }
    }

    /// One of the connections to a neighbour was closed by the other side, or failed: the others
    /// go with it.
    pub(super) fn peer_disconnected(
        &mut self,
        world: &mut World,
        peer: u32,
        conn: ConnId,
        socket: u32,
    ) {
        let sockets = self.peers[peer as usize].take_sockets(conn);
        self.close_sockets(world, sockets, socket);
        let end = world.sockets.get(socket);
        let utp_failed = sockets.control == socket
            && !end.connected_reported
            && end.transport.as_ref().is_some_and(|transport| transport.utp_timed_out());
        if let Some(machine) = &mut self.peers[peer as usize].machine {
            if utp_failed {
                machine.on_utp_failed(world.now, conn);
            } else {
                machine.on_closed(world.now, conn);
            }
            self.drain(world, peer);
        }
    }
}
