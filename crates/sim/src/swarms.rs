use crate::engine::{Application, Event, Outcome, Sim};
use crate::plan::{Arrivals, Departure, Plan, Population, Workload};
use crate::sockets::{Owner, other};
use crate::tally::Tally;
use flashcrowd_base::{Rate, Span, Stream, Time};
use flashcrowd_swarm::{
    self as swarm, Action, Bitfield, ConnId, Message, PeerId, Profile, Role, Torrent, Tracker,
    UnchokeEnd,
};
use std::sync::Arc;

/// All swarms of a run and their peers.
pub(crate) struct Swarms {
    pub(crate) all: Vec<Swarm>,
    /// Peers of all swarms, in the order in which they were planned, replacements after.
    pub(crate) peers: Vec<Peer>,
    profiles: Vec<Arc<Profile>>,
    announces: Vec<Announce>,
    free_announces: Vec<u32>,
    pub(crate) unchokes: Vec<Unchoke>,
}

/// One torrent.
pub(crate) struct Swarm {
    /// Its index among the plan's workloads.
    pub(crate) workload: u32,
    torrent: Arc<Torrent>,
    tracker: Tracker,
    tracker_stream: Stream,
    /// Peers of this swarm, by `PeerId`.
    members: Vec<u32>,
    /// First class of its populations in the tally.
    first_class: u32,
    /// The upload limit of each population.
    uploads: Vec<Option<Rate>>,
    /// Leechers that are planned, and how many of them have the file.
    leechers: u32,
    pub(crate) completed: u32,
    /// Seeds and leechers that have not arrived yet.
    seeds_to_come: u32,
    pub(crate) online: u32,
    /// Block bytes that reached leechers; of those that left, and at the last look of the watch.
    departed_bytes: u64,
    watched_bytes: u64,
    last_progress: Time,
    stopped: bool,
}

/// One peer, before, while and after it is in its swarm.
pub(crate) struct Peer {
    pub(crate) swarm: u32,
    pub(crate) population: u32,
    pub(crate) id: PeerId,
    pub(crate) host: u32,
    role: Role,
    machine: Option<Box<swarm::Peer>>,
    /// The socket of each of its connections, by `ConnId`.
    sockets: Vec<u32>,
    armed: Time,
    pub(crate) arrived: Option<Time>,
    pub(crate) completed: Option<Time>,
    pub(crate) left: Option<Time>,
    /// What it had done when it left.
    last: Progress,
}

/// What a peer has done.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Progress {
    pub(crate) down: u64,
    pub(crate) up: u64,
    pub(crate) pieces: u32,
}

struct Announce {
    peer: u32,
    event: swarm::Event,
    numwant: Option<u16>,
}

/// An unchoke that ended.
pub(crate) struct Unchoke {
    pub(crate) peer: u32,
    pub(crate) remote: PeerId,
    pub(crate) seeding: bool,
    pub(crate) started: Time,
    pub(crate) ended: Time,
    pub(crate) bytes: u64,
    pub(crate) blocks: u32,
    pub(crate) cause: UnchokeEnd,
}

const NO_SOCKET: u32 = u32::MAX;
/// So many writes of one peer are looked at together.
const BROADCAST: usize = 8;
/// With this much room in its socket buffer a client waits for no more: a turn of its limiter, and
/// control messages.
fn plenty(profile: &Profile, upload: Option<Rate>) -> u64 {
    let rules = &profile.limiter;
    let unit = if upload.is_some() { rules.write_unit } else { rules.unlimited_write_unit };
    u64::from(unit) + 4096
}

impl Peer {
    pub(crate) fn progress(&self) -> Progress {
        self.machine.as_ref().map_or(self.last, |machine| Progress {
            down: machine.bytes_down(),
            up: machine.bytes_up(),
            pieces: machine.pieces_have(),
        })
    }
    pub(crate) fn is_leecher(&self) -> bool {
        self.role == Role::Leecher
    }
}

impl Swarms {
    pub(crate) fn new(plan: &Plan, seed: u64, tally: &mut Tally) -> Swarms {
        let profiles: Vec<_> = plan.profiles.iter().map(|p| Arc::new(p.clone())).collect();
        let mut swarms = Swarms {
            all: Vec::new(),
            peers: Vec::new(),
            profiles,
            announces: Vec::new(),
            free_announces: Vec::new(),
            unchokes: Vec::new(),
        };
        for (index, workload) in plan.workloads.iter().enumerate() {
            let Workload::Swarm(spec) = workload else { continue };
            let Ok(torrent) = Torrent::new(spec.size_bytes, spec.piece_bytes, spec.block_bytes)
            else {
                continue; // The check has refused it.
            };
            let number = swarms.all.len() as u32;
            let first_class = tally.classes();
            let rules = spec.populations.first().map(|p| p.profile as usize).unwrap_or(0);
            let mut all = Swarm {
                workload: index as u32,
                torrent: Arc::new(torrent),
                tracker: Tracker::new(swarms.profiles[rules].tracker.clone()),
                tracker_stream: Stream::new(seed, "tracker", index as u64),
                members: Vec::new(),
                first_class,
                uploads: spec.populations.iter().map(|p| p.upload_bps).collect(),
                leechers: 0,
                completed: 0,
                seeds_to_come: 0,
                online: 0,
                departed_bytes: 0,
                watched_bytes: 0,
                last_progress: Time::START,
                stopped: false,
            };
            for (population, spec) in spec.populations.iter().enumerate() {
                tally.add_class(index as u32, population as u32);
                for &host in &spec.hosts {
                    all.expect(spec.role);
                    swarms.peers.push(Peer::planned(number, population as u32, host, spec.role));
                }
            }
            swarms.all.push(all);
        }
        swarms
    }

    pub(crate) fn spec<'p>(&self, plan: &'p Plan, swarm: u32) -> Option<&'p crate::plan::Swarm> {
        match &plan.workloads[self.all[swarm as usize].workload as usize] {
            Workload::Swarm(spec) => Some(spec),
            _ => None,
        }
    }
    /// Reads a little of one connection of a peer, for
    /// [`Sim::touch_what_is_next`](crate::engine::Sim).
    #[inline]
    pub(crate) fn touch_connection(&self, peer: u32, conn: ConnId) -> u64 {
        self.peers[peer as usize].machine.as_ref().map_or(0, |machine| machine.touch(conn))
    }
    /// The connection and the socket that a peer's timer will probably write to.
    #[inline]
    pub(crate) fn next_turn(&self, peer: u32) -> Option<(ConnId, u32)> {
        let peer = &self.peers[peer as usize];
        let conn = peer.machine.as_ref()?.next_turn()?;
        let socket = peer.sockets.get(conn.0 as usize).filter(|socket| **socket != NO_SOCKET);
        socket.map(|socket| (conn, *socket))
    }
    fn number(&self, workload: u32) -> Option<usize> {
        self.all.iter().position(|swarm| swarm.workload == workload)
    }
}

impl Swarm {
    fn expect(&mut self, role: Role) {
        match role {
            Role::Seed => self.seeds_to_come += 1,
            Role::Leecher => self.leechers += 1,
        }
    }
    fn done(&self, limit: Option<u32>) -> bool {
        self.stopped
            || self.completed >= self.leechers
            || limit.is_some_and(|limit| self.completed >= limit)
    }
}

impl Peer {
    fn planned(swarm: u32, population: u32, host: u32, role: Role) -> Peer {
        Peer {
            swarm,
            population,
            id: PeerId(u32::MAX),
            host,
            role,
            machine: None,
            sockets: Vec::new(),
            armed: Time::NEVER,
            arrived: None,
            completed: None,
            left: None,
            last: Progress::default(),
        }
    }
}

impl Sim<'_> {
    fn population(&self, peer: u32) -> Option<&Population> {
        let peer = &self.swarms.peers[peer as usize];
        self.swarms.spec(self.plan, peer.swarm)?.populations.get(peer.population as usize)
    }

    /// Draws when every planned peer comes.
    pub(crate) fn begin_swarms(&mut self) {
        let mut peer = 0;
        for swarm in 0..self.swarms.all.len() as u32 {
            let Some(spec) = self.swarms.spec(self.plan, swarm) else { continue };
            for (population, spec) in spec.populations.iter().enumerate() {
                let stream = u64::from(swarm) << 32 | population as u64;
                let mut stream = Stream::new(self.seed, "arrivals", stream);
                let mut last = Span::ZERO;
                for place in 0..spec.hosts.len() {
                    let at = match &spec.arrivals {
                        Arrivals::FlashCrowd { start_ns, spread_ns } => {
                            *start_ns + stream.between(Span::ZERO, *spread_ns)
                        }
                        Arrivals::Poisson { start_ns, gap_ns } => {
                            last += stream.exponential(*gap_ns);
                            *start_ns + last
                        }
                        Arrivals::Times { at_ns } => at_ns[place],
                    };
                    self.queue.schedule(Time::START + at, Event::arrival(peer));
                    peer += 1;
                }
            }
        }
    }

    /// A peer comes.
    pub(crate) fn arrive(&mut self, peer: u32) {
        let Some(population) = self.population(peer) else { return };
        let profile = population.profile as usize;
        let departure = population.departure.clone();
        let stream = Stream::new(self.seed, "peer", u64::from(peer));
        let state = &mut self.swarms.peers[peer as usize];
        let swarm = &mut self.swarms.all[state.swarm as usize];
        if swarm.stopped {
            return;
        }
        state.id = PeerId(swarm.members.len() as u32);
        swarm.members.push(peer);
        swarm.online += 1;
        swarm.last_progress = self.now;
        state.arrived = Some(self.now);
        let profile = Arc::clone(&self.swarms.profiles[profile]);
        let torrent = Arc::clone(&swarm.torrent);
        let (role, id) = (state.role, state.id);
        let upload = swarm.uploads[state.population as usize];
        let mut machine = swarm::Peer::new(profile, torrent, role, id, upload, stream, self.now);
        machine.start(self.now);
        state.machine = Some(Box::new(machine));
        if role == Role::Seed {
            swarm.seeds_to_come -= 1;
            self.plan_departure(peer, &departure, Span::ZERO);
        }
        self.drain(peer);
    }

    fn plan_departure(&mut self, peer: u32, departure: &Departure, download: Span) {
        let mut stream = Stream::new(self.seed, "departure", u64::from(peer));
        let stay = match departure {
            Departure::AtOnce => Span::ZERO,
            Departure::After { mean_ns } => stream.exponential(*mean_ns),
            Departure::AfterShare { share } => {
                stream.exponential(Span::from_seconds(download.seconds() * share))
            }
            Departure::Never | Departure::AllDone => return,
        };
        self.queue.schedule(self.now + stay, Event::departure(peer));
    }

    /// A peer goes, and is replaced if its population says so.
    pub(crate) fn depart(&mut self, peer: u32) {
        let Some(was_complete) = self.leave(peer) else { return };
        let state = &self.swarms.peers[peer as usize];
        let (swarm, population, host) = (state.swarm, state.population, state.host);
        if self.population(peer).is_some_and(|population| population.replace) {
            let next = self.swarms.peers.len() as u32;
            self.swarms.all[swarm as usize].expect(Role::Leecher);
            self.swarms.peers.push(Peer::planned(swarm, population, host, Role::Leecher));
            self.queue.schedule(self.now, Event::arrival(next));
        }
        if was_complete && let Some(reason) = self.unfinishable(swarm) {
            self.outcome = Some(Outcome::Stalled(reason));
        }
    }

    /// Takes a peer out of its swarm; whether it was complete, or `None` if it is not there.
    fn leave(&mut self, peer: u32) -> Option<bool> {
        let machine = self.swarms.peers[peer as usize].machine.as_mut()?;
        machine.leave(self.now);
        self.drain(peer);
        let state = &mut self.swarms.peers[peer as usize];
        state.last = state.progress();
        state.left = Some(self.now);
        state.armed = Time::NEVER;
        let swarm = &mut self.swarms.all[state.swarm as usize];
        swarm.online -= 1;
        if state.role == Role::Leecher {
            swarm.departed_bytes += state.last.down;
        }
        state.machine.take().map(|machine| machine.is_complete())
    }

    /// Why a swarm can never finish, if it cannot: a piece that nobody has, and nobody who would
    /// bring it.
    fn unfinishable(&self, number: u32) -> Option<String> {
        let swarm = &self.swarms.all[number as usize];
        let spec = self.swarms.spec(self.plan, number)?;
        if swarm.done(spec.stop_after_completions) || swarm.seeds_to_come > 0 {
            return None;
        }
        let pieces = swarm.torrent.pieces();
        let mut present = Bitfield::new(pieces);
        let online =
            swarm.members.iter().filter_map(|p| self.swarms.peers[*p as usize].machine.as_ref());
        for machine in online {
            if machine.is_complete() {
                return None;
            }
            for piece in (0..pieces).filter(|piece| machine.bitfield().has(*piece)) {
                present.set(piece);
            }
        }
        let missing = pieces - present.count();
        (missing > 0).then(|| {
            format!(
                "swarm {}: no seed left, {missing} of {pieces} pieces missing, \
                 {} of {} leechers complete",
                spec.name, swarm.completed, swarm.leechers
            )
        })
    }

    /// A swarm that made no progress for the plan's stall time, or cannot finish at all.
    pub(crate) fn stalled_swarm(&mut self) -> Option<String> {
        for number in 0..self.swarms.all.len() as u32 {
            if let Some(reason) = self.unfinishable(number) {
                return Some(reason);
            }
            let bytes = self.swarm_bytes(number);
            let spec = self.swarms.spec(self.plan, number)?;
            let swarm = &mut self.swarms.all[number as usize];
            if bytes > swarm.watched_bytes {
                swarm.watched_bytes = bytes;
                swarm.last_progress = self.now;
            }
            let arrived = swarm.members.len() as u32;
            let idle = self.now - swarm.last_progress;
            let waiting = swarm.completed < swarm.leechers && arrived > swarm.completed;
            let done = swarm.done(spec.stop_after_completions);
            if !done && waiting && idle >= self.plan.stop.stall_ns {
                return Some(format!(
                    "swarm {}: no block arrived for {:.0} s, {} of {} leechers complete",
                    spec.name,
                    idle.seconds(),
                    swarm.completed,
                    swarm.leechers
                ));
            }
        }
        None
    }

    /// Block bytes that reached the leechers of a swarm so far.
    pub(crate) fn swarm_bytes(&self, number: u32) -> u64 {
        let swarm = &self.swarms.all[number as usize];
        let online = swarm.members.iter().map(|peer| &self.swarms.peers[*peer as usize]);
        let bytes = online
            .filter(|peer| peer.is_leecher() && peer.machine.is_some())
            .map(|peer| peer.progress().down);
        swarm.departed_bytes + bytes.sum::<u64>()
    }

    /// Does what a peer says, then sets its timer.
    fn drain(&mut self, peer: u32) {
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
    fn touch_writes(&self, peer: u32) {
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
    fn arm_peer(&mut self, peer: u32, deadline: Option<Time>) {
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
    fn act(&mut self, peer: u32, action: Action) {
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
    fn write(&mut self, peer: u32, conn: ConnId, bytes: u32, completes: Option<Message>) {
        let socket = self.swarms.peers[peer as usize].sockets[conn.0 as usize];
        if socket == NO_SOCKET {
            return;
        }
        if self.tally.watches_sends() && matches!(completes, None | Some(Message::Piece { .. })) {
            let end = self.sockets.get_mut(socket);
            let last = end.last_send.replace(self.now);
            self.tally.send(end.class, last, self.now, end.tcp.as_ref());
        }
        let space = self.sockets.write(socket, self.now, u64::from(bytes), completes);
        self.flush(socket);
        self.sockets.get_mut(socket).space_told = space;
        if let Some(machine) = &mut self.swarms.peers[peer as usize].machine {
            machine.on_space(self.now, conn, space);
        }
    }

    fn connect(&mut self, peer: u32, conn: ConnId, remote: PeerId) {
        let state = &self.swarms.peers[peer as usize];
        let target = self.swarms.all[state.swarm as usize].members[remote.0 as usize];
        let active = self.client(peer, Owner::Peer { peer, conn });
        let passive = self.client(target, Owner::Listener { peer: target });
        let socket = self.open(active, passive);
        self.put_socket(peer, conn, socket);
    }

    fn client(&self, peer: u32, owner: Owner) -> Application {
        let state = &self.swarms.peers[peer as usize];
        let swarm = &self.swarms.all[state.swarm as usize];
        let profile = self.population(peer).map_or(0, |population| population.profile);
        let profile = &self.swarms.profiles[profile as usize];
        Application {
            host: state.host,
            owner,
            class: swarm.first_class + state.population,
            nagle: profile.nagle,
            plenty: plenty(profile, swarm.uploads[state.population as usize]),
        }
    }

    fn put_socket(&mut self, peer: u32, conn: ConnId, socket: u32) {
        let sockets = &mut self.swarms.peers[peer as usize].sockets;
        let place = conn.0 as usize;
        if sockets.len() <= place {
            sockets.resize(place + 1, NO_SOCKET);
        }
        sockets[place] = socket;
    }
    fn take_socket(&mut self, peer: u32, conn: ConnId) -> u32 {
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
        let space = self.sockets.get(socket).tcp.as_ref().map_or(0, |tcp| tcp.write_space());
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
        let space = end.tcp.as_ref().map_or(0, |tcp| tcp.write_space());
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

    /// The question reaches the tracker and its answer the peer after two round trips: one for
    /// the handshake, one for the exchange.
    fn announce(&mut self, peer: u32, event: swarm::Event, numwant: Option<u16>) {
        let state = &self.swarms.peers[peer as usize];
        let spec = self.swarms.spec(self.plan, state.swarm);
        let host = state.host;
        let announce = Announce { peer, event, numwant };
        let index = match self.swarms.free_announces.pop() {
            Some(index) => {
                self.swarms.announces[index as usize] = announce;
                index
            }
            None => {
                self.swarms.announces.push(announce);
                (self.swarms.announces.len() - 1) as u32
            }
        };
        let tracker = spec.and_then(|spec| spec.tracker);
        let rtt = tracker.map_or(Span::ZERO, |tracker| self.network.base_rtt(host, tracker));
        self.queue.schedule(self.now + rtt * 2, Event::tracker(index));
    }

    pub(crate) fn on_tracker(&mut self, index: u32) {
        let Announce { peer, event, numwant } = self.swarms.announces[index as usize];
        self.swarms.free_announces.push(index);
        let state = &mut self.swarms.peers[peer as usize];
        let swarm = &mut self.swarms.all[state.swarm as usize];
        let seed = state.machine.as_ref().is_some_and(|machine| machine.is_complete());
        let stream = &mut swarm.tracker_stream;
        let answer = swarm.tracker.announce(self.now, state.id, event, numwant, seed, stream);
        if let Some(machine) = &mut state.machine {
            machine.on_peers(self.now, &answer.peers);
            self.drain(peer);
        }
    }

    fn completed(&mut self, peer: u32) {
        let state = &mut self.swarms.peers[peer as usize];
        state.completed = Some(self.now);
        let download = state.arrived.map_or(Span::ZERO, |arrived| self.now - arrived);
        self.swarms.all[state.swarm as usize].completed += 1;
        let departure = self.population(peer).map(|population| population.departure.clone());
        if let Some(departure) = departure {
            self.plan_departure(peer, &departure, download);
        }
        self.finish_if_done();
    }

    pub(crate) fn stop_swarm(&mut self, workload: u32) {
        let Some(number) = self.swarms.number(workload) else { return };
        self.swarms.all[number].stopped = true;
        for peer in self.swarms.all[number].members.clone() {
            self.leave(peer);
        }
        self.finish_if_done();
    }

    pub(crate) fn set_upload(&mut self, workload: u32, population: u32, limit: Option<Rate>) {
        let Some(number) = self.swarms.number(workload) else { return };
        let swarm = &mut self.swarms.all[number];
        swarm.uploads[population as usize] = limit;
        for peer in swarm.members.clone() {
            let state = &mut self.swarms.peers[peer as usize];
            if state.population != population {
                continue;
            }
            let Some(machine) = &mut state.machine else { continue };
            machine.set_upload_limit(self.now, limit);
            let plenty = plenty(machine.profile(), limit);
            for &socket in state.sockets.iter().filter(|socket| **socket != NO_SOCKET) {
                self.sockets.get_mut(socket).plenty = plenty;
            }
            self.drain(peer);
        }
    }

    pub(crate) fn swarms_done(&self) -> bool {
        self.unfinished_swarms().is_empty()
    }
    pub(crate) fn swarms_finite(&self) -> bool {
        !self.swarms.all.is_empty()
    }
    pub(crate) fn swarms_stopped(&self) -> Option<String> {
        let stopped = self
            .swarms
            .all
            .iter()
            .find(|swarm| swarm.stopped && swarm.completed < swarm.leechers)?;
        Some(format!(
            "the timeline stopped a swarm with {} of {} leechers complete",
            stopped.completed, stopped.leechers
        ))
    }

    /// A line for each swarm that is not done.
    pub(crate) fn unfinished_swarms(&self) -> Vec<String> {
        (0..self.swarms.all.len() as u32)
            .filter_map(|number| {
                let spec = self.swarms.spec(self.plan, number)?;
                let swarm = &self.swarms.all[number as usize];
                (!swarm.done(spec.stop_after_completions)).then(|| {
                    let (completed, leechers) = (swarm.completed, swarm.leechers);
                    format!("swarm {}: {completed} of {leechers} leechers complete", spec.name)
                })
            })
            .collect()
    }

    pub(crate) fn swarm_progress(&self) -> f64 {
        (0..self.swarms.all.len() as u32)
            .map(|number| {
                let swarm = &self.swarms.all[number as usize];
                let expected = u64::from(swarm.leechers) * swarm.torrent.bytes();
                self.swarm_bytes(number) as f64 / expected.max(1) as f64
            })
            .fold(1.0, f64::min)
    }
}
