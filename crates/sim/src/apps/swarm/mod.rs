//! BitTorrent: drives the clients of a plan's swarms, pure state machines of `flashcrowd-swarm`.

mod announces;
mod client;
mod control;
mod disks;
mod membership;
mod record;
mod uplink;
mod web_seeds;

use super::{App, ConnectionContent, Content, Message, SWARM, Saying, World};
use crate::kernel::{
    Application, Datagram, Event, Owner, PrefetchHint, SocketEvent, WaitFor, clamp, other,
};
use control::{ControlRow, UploadControl};
use disks::SeedDisk;
use flashcrowd_base::{RandomStream, Span, Time, prefetch};
use flashcrowd_plan::{
    self as plan, Change, Plan, Population, Sampled, TransportChoice, What, Windowed, Workload,
};
use flashcrowd_swarm::{
    self as swarm, Action, Availability, ConnId, FromWebSeed, PeerId, Profile, Role, Standing,
    Torrent, Tracker, UnchokeEnd, UploadLimit,
};
use flashcrowd_workload::{self as workload, Due, Outcome, Progress, Sample, Table, Uplink, View};
use std::collections::BTreeMap;
use std::sync::Arc;
use uplink::is_acknowledged;
use web_seeds::WebSeedLink;

/// All swarms of a run and their peers.
pub(crate) struct Swarms<'p> {
    plan: &'p Plan,
    /// The members of each swarm, and their records; apart from what packets need.
    rules: workload::Swarms,
    /// By their numbers there.
    all: Vec<Swarm>,
    peers: Vec<Peer>,
    /// Seeds that have handed all requested blocks to their transports.
    draining: u32,
    profiles: Vec<Arc<Profile>>,
    /// How many peers run on each host.
    on_host: Vec<u32>,
    /// Announces in flight, by peer and in the order in which it made them.
    announces: BTreeMap<(u32, u64), Announce>,
    unchokes: Vec<Unchoke>,
    /// Upload controllers by peer, as far as there are any; apart from what packets need.
    controls: Vec<Option<Box<UploadControl<'p>>>>,
    control_rows: Vec<ControlRow>,
    /// Of seeds that have one.
    disks: Vec<SeedDisk<'p>>,
}

/// The events of this application.
#[derive(Clone, Copy)]
#[repr(u8)]
enum Code {
    /// A peer comes.
    Arrival,
    /// A peer goes.
    Departure,
    /// A client's timer.
    Timer,
    /// An announce reaches the tracker, and its answer the peer.
    Tracker,
    /// The pieces that leechers have are counted.
    Census,
    /// A timer of an upload controller.
    UploadControl,
    /// The disk of a seed has answered.
    DiskRead,
    /// A socket whose client limits what it reads may be read again.
    Readable,
}

impl Code {
    const ALL: [Code; 8] = [
        Code::Arrival,
        Code::Departure,
        Code::Timer,
        Code::Tracker,
        Code::Census,
        Code::UploadControl,
        Code::DiskRead,
        Code::Readable,
    ];
}

/// The role of a socket for a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// Waits for a SYN to this peer.
    Listener { peer: u32 },
    /// A connection of a peer.
    Control { peer: u32, conn: ConnId },
    /// The separate data connection, for the blocks that one of two peers uploads to the other.
    Data { peer: u32, conn: ConnId },
    /// The connection of a peer to one of its web seeds.
    WebSeed { peer: u32, seed: u32 },
}

impl End {
    fn owner(self) -> Owner {
        let (role, index, part) = match self {
            End::Listener { peer } => (0, peer, 0),
            End::Control { peer, conn } => (1, peer, conn.0),
            End::Data { peer, conn } => (2, peer, conn.0),
            End::WebSeed { peer, seed } => (3, peer, seed),
        };
        Owner { app: SWARM, role, index, part }
    }
    /// None if the end is orphaned.
    fn of(owner: Owner) -> Option<End> {
        let Owner { app: SWARM, role, index: peer, part } = owner else { return None };
        let conn = ConnId(part);
        Some(match role {
            0 => End::Listener { peer },
            1 => End::Control { peer, conn },
            2 => End::Data { peer, conn },
            _ => End::WebSeed { peer, seed: part },
        })
    }
}

/// One torrent.
struct Swarm {
    torrent: Arc<Torrent>,
    tracker: Tracker,
    tracker_stream: RandomStream,
    /// Copies of each piece among those who are there.
    availability: Availability,
    /// Class of its first population; those of the others follow.
    first_class: u32,
}

/// The client of one peer, before, while and after it is in its swarm; what packets need of it is in one line of the
/// cache.
#[repr(C, align(64))]
struct Peer {
    machine: Option<Box<swarm::Peer>>,
    /// The sockets of each of its connections, by `ConnId`.
    sockets: Vec<PeerSockets>,
    armed: Time,
    /// Whether its client counts what is read by the second.
    counts_reads: bool,
    /// The number of its disk.
    disk: Option<u32>,
    /// Its connections to web seeds, by number, as far as it ever had one.
    web_seeds: Vec<WebSeedLink>,
    /// Its state.
    standing: Standing,
    /// Bytes that web seeds had brought when it left.
    last_brought: Vec<FromWebSeed>,
}

/// The sockets between two peers, as one of them sees them; `NO_SOCKET` where there is none.
#[derive(Clone, Copy)]
struct PeerSockets {
    /// All messages, except blocks on a separate data connection.
    control: u32,
    /// The data connection for blocks that this peer uploads, if it is separate.
    outgoing: u32,
    /// The data connection for blocks that the other uploads, if it is separate.
    incoming: u32,
}

impl PeerSockets {
    const NONE: PeerSockets =
        PeerSockets { control: NO_SOCKET, outgoing: NO_SOCKET, incoming: NO_SOCKET };
}

struct Announce {
    event: swarm::AnnounceEvent,
    numwant: Option<u16>,
}

/// An unchoke that ended.
struct Unchoke {
    peer: u32,
    remote: PeerId,
    seeding: bool,
    started: Time,
    ended: Time,
    idle: Span,
    bytes: u64,
    blocks: u32,
    cause: UnchokeEnd,
}

const NO_SOCKET: u32 = u32::MAX;
/// How many writes of one peer are prefetched for at a time.
const BROADCAST: usize = 8;
/// Low watermark of a client's socket buffer: room for a quantum of its limiter and control messages.
fn low_watermark(profile: &Profile, upload: UploadLimit) -> u64 {
    let rules = &profile.limiter;
    let limited = upload != UploadLimit::Unlimited;
    let unit = if limited { rules.write_unit } else { rules.unlimited_write_unit };
    u64::from(unit) + 4096
}

impl Peer {
    /// Its progress, while it is there.
    fn progress(&self) -> Option<Progress> {
        self.machine.as_ref().map(|machine| Progress {
            down: machine.bytes_down(),
            wasted: Some(machine.bytes_wasted()),
            up: machine.bytes_up(),
            pieces: machine.pieces_have(),
        })
    }
}

impl<'p> Swarms<'p> {
    pub(crate) fn new(plan: &'p Plan, world: &mut World) -> Swarms<'p> {
        let profiles: Vec<_> = plan.profiles.iter().map(|p| Arc::new(p.clone())).collect();
        let mut swarms = Swarms {
            plan,
            rules: workload::Swarms::new(plan, world.seed, View::Inside, |_| true),
            all: Vec::new(),
            peers: Vec::new(),
            draining: 0,
            profiles,
            on_host: vec![0; plan.network.hosts.len()],
            announces: BTreeMap::new(),
            unchokes: Vec::new(),
            controls: Vec::new(),
            control_rows: Vec::new(),
            disks: Vec::new(),
        };
        for (index, workload) in plan.workloads.iter().enumerate() {
            let Workload::Swarm(spec) = workload else { continue };
            let Ok(torrent) = Torrent::new(spec.size_bytes, spec.piece_bytes, spec.block_bytes)
            else {
                continue; // The check has refused it.
            };
            let content = RandomStream::new(world.seed, "content", index as u64).bits();
            let torrent = torrent.of_content(content);
            swarms.all.push(Swarm {
                availability: Availability::new(torrent.pieces()),
                torrent: Arc::new(torrent),
                tracker: Tracker::new(spec.tracker.rules.clone()),
                tracker_stream: RandomStream::new(world.seed, "tracker", index as u64),
                first_class: world.monitor.classes(),
            });
            for population in &spec.populations {
                world.monitor.add_class(&spec.name, &population.name);
            }
        }
        let roles = swarms.rules.peers().iter().map(|peer| peer.role);
        swarms.peers = roles.map(Peer::planned).collect();
        world.sockets.reserve(swarms.most_sockets());
        swarms.install_disks();
        swarms
    }

    /// How many sockets all peers have between them at most, if all are there at the same time, blocks
    /// share a connection with messages, and each pair has one connection.
    fn most_sockets(&self) -> usize {
        let mut crowds = vec![0u32; self.all.len()];
        self.rules.peers().iter().for_each(|peer| crowds[peer.swarm as usize] += 1);
        let most = |peer: u32| {
            let rules = &self.profiles[self.population(peer)?.profile as usize].connections;
            let others = crowds[self.rules.peer(peer).swarm as usize] - 1;
            Some(rules.max_connections.min(others) as usize)
        };
        (0..self.peers.len() as u32).filter_map(most).sum()
    }

    fn schedule(&self, world: &mut World, at: Time, code: Code, index: u32) {
        world.schedule(at, SWARM, code as u8, index);
    }
    fn spec(&self, swarm: u32) -> Option<&'p plan::Swarm> {
        match &self.plan.workloads[self.rules.swarm(swarm).workload as usize] {
            Workload::Swarm(spec) => Some(spec),
            _ => None,
        }
    }
    fn population(&self, peer: u32) -> Option<&'p Population> {
        let peer = self.rules.peer(peer);
        self.spec(peer.swarm)?.populations.get(peer.population as usize)
    }
    /// The progress of a peer's client, while it is there.
    fn progress(&self, peer: u32) -> Option<Progress> {
        self.peers[peer as usize].progress()
    }
    /// Bytes of a peer may have been acknowledged.
    fn heard(&mut self, world: &World, peer: u32, socket: u32) {
        if self.draining > 0 && is_acknowledged(world, socket) {
            self.settle_uplink(world, peer);
        }
    }
    /// The peer and the connection that a message at a socket of `owner` is for.
    fn reader(&self, owner: Owner) -> Option<(&Peer, &swarm::Peer, ConnId)> {
        let (End::Control { peer, conn } | End::Data { peer, conn }) = End::of(owner)? else {
            return None;
        };
        let peer = &self.peers[peer as usize];
        Some((peer, peer.machine.as_ref()?, conn))
    }
}

impl App for Swarms<'_> {
    fn begin(&mut self, world: &mut World) {
        self.rules.begin();
        self.schedule_due(world);
    }

    fn on_event(&mut self, world: &mut World, event: Event) {
        match Code::ALL[usize::from(event.code())] {
            Code::Timer => self.on_peer_timer(world, event.index()),
            Code::Arrival => self.arrive(world, event.index()),
            Code::Departure => self.depart(world, event.index()),
            Code::Tracker => self.on_tracker(world, event.index()),
            Code::Census => {
                self.rules.count_pieces(world.now, |peer| self.peers[peer as usize].progress());
                self.schedule_due(world);
            }
            Code::UploadControl => self.on_control(world, event.index()),
            Code::DiskRead => self.on_disk_read(world, event.index()),
            Code::Readable => self.read_on(world, event.index()),
        }
    }

    fn hears(&self, world: &World, owner: Owner, socket: u32) -> bool {
        match End::of(owner) {
            Some(End::Listener { peer }) => self.hears_peer(world, peer, socket),
            _ => true,
        }
    }
    fn accept(&mut self, world: &mut World, owner: Owner, socket: u32) -> Option<Owner> {
        match End::of(owner)? {
            End::Listener { peer } => self.accept_peer(world, peer, socket),
            _ => None,
        }
    }

    fn on_socket_event(&mut self, world: &mut World, socket: u32, socket_event: SocketEvent) {
        match End::of(socket_event.owner) {
            Some(End::Control { peer, conn }) => {
                if socket_event.connected {
                    self.peer_connected(world, peer, conn, socket);
                }
                if socket_event.bytes > 0 {
                    self.peer_received(world, peer, conn, socket, socket_event.bytes);
                    self.peer_reads(world, peer, conn, socket);
                }
                self.peer_space(world, peer, conn, socket);
                self.peer_done(world, peer, conn, socket);
                self.heard(world, peer, socket);
            }
            Some(End::Data { peer, conn }) => {
                if socket_event.bytes > 0 {
                    self.peer_received(world, peer, conn, socket, socket_event.bytes);
                    self.peer_reads(world, peer, conn, socket);
                }
                self.data_space(world, peer, conn, socket, socket_event.connected);
                self.peer_done(world, peer, conn, socket);
                self.heard(world, peer, socket);
            }
            Some(End::WebSeed { peer, seed }) => {
                self.web_seed_news(world, peer, seed, socket, socket_event);
            }
            Some(End::Listener { .. }) | None => {
                while world.sockets.next_message(socket).is_some() {}
            }
        }
    }

    fn on_closed(&mut self, world: &mut World, socket: u32, owner: Owner) {
        if let Some(End::Control { peer, conn } | End::Data { peer, conn }) = End::of(owner) {
            self.peer_disconnected(world, peer, conn, socket);
            self.settle_uplink(world, peer);
        } else if let Some(End::WebSeed { peer, seed }) = End::of(owner) {
            self.web_seed_closed(world, peer, seed, socket);
        }
    }

    fn on_datagram(&mut self, world: &mut World, datagram: Datagram) {
        self.on_echo(world, datagram);
    }

    fn change(&mut self, world: &mut World, change: &Change) {
        match change.what {
            What::Stop { workload } => {
                self.rules.lose_origin(workload);
                self.stop_swarm(world, workload);
            }
            What::Upload { workload, population, upload_bps } => {
                self.set_upload(world, workload, population, upload_bps);
            }
            _ => {}
        }
    }

    fn mark(&mut self, world: &World, table: Windowed, begins: bool) {
        if table == Windowed::Origins {
            self.mark_disks(world.now, begins);
        }
    }

    fn is_finite(&self) -> bool {
        !self.all.is_empty()
    }
    fn is_done(&self) -> bool {
        (0..self.all.len() as u32).all(|number| self.rules.is_done(number))
    }
    fn unfinished(&self) -> Vec<String> {
        self.rules.unfinished()
    }
    fn progress(&self, _world: &World) -> f64 {
        self.rules.progress(|peer| self.progress(peer))
    }
    fn stopped(&self) -> Option<String> {
        self.rules.stopped()
    }
    fn undelivered(&self, world: &World) -> Vec<String> {
        self.rules.undelivered(world.now, world.outcome.as_ref(), |peer| self.progress(peer))
    }
    fn stall(&mut self, world: &World) -> Option<String> {
        let (rules, peers) = (&mut self.rules, &self.peers);
        (0..).zip(&self.all).find_map(|(number, swarm)| {
            let missing = Some(swarm.availability.missing());
            rules.stall(world.now, number, missing, |peer| peers[peer as usize].progress())
        })
    }

    fn payload_bytes(&self) -> u64 {
        let bytes = |(number, peer): (u32, &workload::Peer)| {
            self.progress(number).unwrap_or(peer.last).down
        };
        (0..).zip(self.rules.peers()).map(bytes).sum()
    }
    fn sample(&self, _world: &World, what: Sampled) -> Vec<(u32, Sample)> {
        self.rules.sample(what, |peer| self.progress(peer), |peer| self.limit(peer))
    }
    fn source_name(&self, what: Sampled, source: u32) -> Option<String> {
        self.rules.source_name(self.plan, what, source)
    }
    fn is_on(&self, host: u32) -> bool {
        self.on_host[host as usize] > 0
    }
    fn speaks(&self, owners: [Owner; 2]) -> ConnectionContent {
        let swarm = self.rules.peer(owners[0].index).swarm;
        if let Some(End::WebSeed { seed, .. }) = End::of(owners[0]) {
            return self.web_seed_stream(swarm, seed);
        }
        let piece_bytes = self.all[swarm as usize].torrent.piece_bytes(0);
        let content = |owner: Owner| Content::bit_torrent(swarm, owner.index, piece_bytes);
        ConnectionContent::bit_torrent(swarm, owners.map(content))
    }
    fn says(&self, datagram: &Datagram) -> Option<Saying> {
        Some(self.says_echo(datagram))
    }
    fn tables(&self, world: &World) -> Vec<Table> {
        self.swarm_tables(world)
    }

    fn prefetch_event(&self, event: Event, step: u32) -> Option<u32> {
        if event.code() != Code::Timer as u8 {
            return None;
        }
        let peer = &self.peers[event.index() as usize];
        if step == 0 {
            prefetch(peer);
            return None;
        }
        let machine = peer.machine.as_ref()?;
        match step {
            1 => machine.prefetch_limiter(),
            2 => machine.prefetch_next_grant(),
            3 => {
                let conn = machine.next_grant()?;
                machine.prefetch(conn);
                peer.prefetch_sockets(conn);
            }
            _ => {
                let conn = machine.next_grant()?;
                machine.prefetch_work(conn);
                return peer.writes_to(conn);
            }
        }
        None
    }
    fn prefetch_reader(&self, owner: Owner) {
        if let Some((peer, machine, conn)) = self.reader(owner) {
            machine.prefetch(conn);
            peer.prefetch_sockets(conn);
        }
    }
    fn prefetch_beyond_reader(&self, owner: Owner) {
        if let Some((_, machine, conn)) = self.reader(owner) {
            machine.prefetch_request(conn);
        }
    }
}

impl Peer {
    /// The socket that a block for a neighbour is written to.
    fn writes_to(&self, conn: ConnId) -> Option<u32> {
        let PeerSockets { control, outgoing, .. } = self.sockets(conn);
        let socket = if outgoing == NO_SOCKET { control } else { outgoing };
        (socket != NO_SOCKET).then_some(socket)
    }
    fn prefetch_sockets(&self, conn: ConnId) {
        if let Some(sockets) = self.sockets.get(conn.0 as usize) {
            prefetch(sockets);
        }
    }
    fn sockets(&self, conn: ConnId) -> PeerSockets {
        self.sockets.get(conn.0 as usize).copied().unwrap_or(PeerSockets::NONE)
    }
    fn sockets_mut(&mut self, conn: ConnId) -> &mut PeerSockets {
        let place = conn.0 as usize;
        if self.sockets.len() <= place {
            self.sockets.resize(place + 1, PeerSockets::NONE);
        }
        &mut self.sockets[place]
    }
    fn take_sockets(&mut self, conn: ConnId) -> PeerSockets {
        let ends = self.sockets.get_mut(conn.0 as usize);
        ends.map_or(PeerSockets::NONE, |ends| std::mem::replace(ends, PeerSockets::NONE))
    }
    fn planned(role: Role) -> Peer {
        Peer {
            machine: None,
            sockets: Vec::new(),
            web_seeds: Vec::new(),
            disk: None,
            armed: Time::NEVER,
            counts_reads: false,
            standing: Standing {
                download: workload::at_first(role),
                has_blocks: false,
                limited: false,
            },
            last_brought: Vec::new(),
        }
    }
}
