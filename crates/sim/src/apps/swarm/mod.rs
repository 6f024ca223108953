//! BitTorrent: drives the clients of a plan's swarms, pure state machines of `flashcrowd-swarm`.

mod account;
mod announces;
mod client;
mod completion;
mod control;
mod disks;
mod membership;
mod record;
mod web_seeds;

use super::{App, ConnectionContent, Content, Message, SWARM, Sample, Saying, World};
use crate::kernel::{
    Application, Datagram, Event, Look, Outcome, Owner, SocketEvent, WaitFor, clamp, other,
};
use crate::table::Table;
use account::{Account, Demand, is_acknowledged};
use control::{ControlRow, UploadControl};
use disks::SeedDisk;
use flashcrowd_base::{RandomStream, Slab, Span, Time};
use flashcrowd_plan::{
    self as plan, Change, Departure, Plan, Population, Sampled, TransportChoice, What, Windowed,
    Workload,
};
use flashcrowd_swarm::{
    self as swarm, Action, Availability, ConnId, Download, FromWebSeed, PeerId, Profile, Role,
    Standing, Torrent, Tracker, UnchokeEnd, UploadLimit,
};
use std::sync::Arc;
use web_seeds::WebSeedLink;

/// All swarms of a run and their peers.
pub(crate) struct Swarms<'p> {
    plan: &'p Plan,
    all: Vec<Swarm>,
    /// Peers of all swarms, in the order in which they were planned, replacements after.
    peers: Vec<Peer>,
    /// What each of them spends its time on, apart from what packets need.
    accounts: Vec<Account>,
    /// Seeds that have handed all requested blocks to their transports.
    draining: u32,
    profiles: Vec<Arc<Profile>>,
    /// How many peers run on each host.
    on_host: Vec<u32>,
    /// Announces in flight.
    announces: Slab<Announce>,
    unchokes: Vec<Unchoke>,
    /// How many pieces leechers have, counted at intervals.
    pieces: Vec<Pieces>,
    /// Every piece that a leecher completed.
    have: Vec<Have>,
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
    /// Its index among the plan's workloads.
    workload: u32,
    torrent: Arc<Torrent>,
    tracker: Tracker,
    tracker_stream: RandomStream,
    /// Copies of each piece among those who are there.
    availability: Availability,
    /// Peers of this swarm, by `PeerId`.
    members: Vec<u32>,
    /// Class of its first population; those of the others follow.
    first_class: u32,
    /// The upload limit of each population.
    uploads: Vec<UploadLimit>,
    /// Leechers that are planned, and how many of them have the file.
    leechers: u32,
    completed: u32,
    /// Leechers that left without the file, and were not replaced.
    gave_up: u32,
    /// Seeds and leechers that have not arrived yet.
    seeds_to_come: u32,
    online: u32,
    demand: Demand,
    /// Block bytes that reached leechers; of those that left, and at the last look of the watch.
    departed_bytes: u64,
    watched_bytes: u64,
    last_progress: Time,
    stopped: bool,
    /// Web seeds that are there, if any of its leechers' clients knows them.
    web_seeds: u32,
    /// Whether a peer that leaves is replaced: the swarm then does not end when all are complete.
    replaces: bool,
}

/// One peer, before, while and after it is in its swarm.
struct Peer {
    swarm: u32,
    population: u32,
    id: PeerId,
    host: u32,
    role: Role,
    machine: Option<Box<swarm::Peer>>,
    /// The sockets of each of its connections, by `ConnId`.
    sockets: Vec<PeerSockets>,
    /// Its connections to web seeds, by number, as far as it ever had one.
    web_seeds: Vec<WebSeedLink>,
    /// The number of its disk.
    disk: Option<u32>,
    armed: Time,
    /// What it does now.
    standing: Standing,
    arrived: Option<Time>,
    completed: Option<Time>,
    left: Option<Time>,
    /// What it had done when it left.
    last: Progress,
    /// What web seeds had brought by then.
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

/// What a peer has done.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    down: u64,
    wasted: u64,
    up: u64,
    pieces: u32,
}

struct Announce {
    peer: u32,
    event: swarm::AnnounceEvent,
    numwant: Option<u16>,
}

/// How many pieces the leechers of a population have.
struct Pieces {
    swarm: u32,
    population: u32,
    at: Time,
    leechers: u32,
    mean: f64,
    min: u32,
    max: u32,
}

/// A piece that a leecher completed.
struct Have {
    peer: u32,
    piece: u32,
    at: Time,
}

/// An unchoke that ended.
struct Unchoke {
    peer: u32,
    remote: PeerId,
    seeding: bool,
    started: Time,
    ended: Time,
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
    fn progress(&self) -> Progress {
        self.machine.as_ref().map_or(self.last, |machine| Progress {
            down: machine.bytes_down(),
            wasted: machine.bytes_wasted(),
            up: machine.bytes_up(),
            pieces: machine.pieces_have(),
        })
    }
    fn is_leecher(&self) -> bool {
        self.role == Role::Leecher
    }
    /// Whether it is there, and has not got the file yet.
    fn is_waiting(&self) -> bool {
        self.is_leecher() && self.machine.is_some() && self.completed.is_none()
    }
}

impl<'p> Swarms<'p> {
    pub(crate) fn new(plan: &'p Plan, world: &mut World) -> Swarms<'p> {
        let profiles: Vec<_> = plan.profiles.iter().map(|p| Arc::new(p.clone())).collect();
        let mut swarms = Swarms {
            plan,
            all: Vec::new(),
            peers: Vec::new(),
            accounts: Vec::new(),
            draining: 0,
            profiles,
            on_host: vec![0; plan.network.hosts.len()],
            announces: Slab::default(),
            unchokes: Vec::new(),
            pieces: Vec::new(),
            have: Vec::new(),
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
            let number = swarms.all.len() as u32;
            let mut all = Swarm {
                workload: index as u32,
                availability: Availability::new(torrent.pieces()),
                torrent: Arc::new(torrent),
                tracker: Tracker::new(spec.tracker.rules.clone()),
                tracker_stream: RandomStream::new(world.seed, "tracker", index as u64),
                members: Vec::new(),
                first_class: world.monitor.classes(),
                uploads: spec.populations.iter().map(|p| p.upload_bps).collect(),
                leechers: 0,
                completed: 0,
                gave_up: 0,
                seeds_to_come: 0,
                online: 0,
                demand: Demand::default(),
                departed_bytes: 0,
                watched_bytes: 0,
                last_progress: Time::START,
                stopped: false,
                web_seeds: plan.usable_web_seeds(spec),
                replaces: spec.populations.iter().any(|population| population.replace),
            };
            for (population, of) in spec.populations.iter().enumerate() {
                world.monitor.add_class(&spec.name, &of.name);
                for &host in &of.hosts {
                    all.expect(of.role);
                    swarms.peers.push(Peer::planned(number, population as u32, host, of.role));
                }
            }
            swarms.all.push(all);
        }
        swarms.accounts.resize(swarms.peers.len(), Account::default());
        swarms.install_disks();
        swarms
    }

    fn schedule(&self, world: &mut World, at: Time, code: Code, index: u32) {
        world.schedule(at, SWARM, code as u8, index);
    }
    fn spec(&self, swarm: u32) -> Option<&'p plan::Swarm> {
        match &self.plan.workloads[self.all[swarm as usize].workload as usize] {
            Workload::Swarm(spec) => Some(spec),
            _ => None,
        }
    }
    fn population(&self, peer: u32) -> Option<&'p Population> {
        let peer = &self.peers[peer as usize];
        self.spec(peer.swarm)?.populations.get(peer.population as usize)
    }
    fn number(&self, workload: u32) -> Option<usize> {
        self.all.iter().position(|swarm| swarm.workload == workload)
    }
    /// The connection and the socket that a peer's timer will probably write to.
    fn next_turn(&self, peer: u32) -> Option<(ConnId, u32)> {
        let peer = &self.peers[peer as usize];
        let conn = peer.machine.as_ref()?.next_grant()?;
        let PeerSockets { control, outgoing, .. } = peer.sockets(conn);
        let socket = if outgoing == NO_SOCKET { control } else { outgoing };
        (socket != NO_SOCKET).then_some((conn, socket))
    }
    /// What a peer sent may have been acknowledged.
    fn heard(&mut self, world: &World, peer: u32, socket: u32) {
        if self.draining > 0 && is_acknowledged(world, socket) {
            self.settle_uplink(world, peer);
        }
    }
    /// Prefetches what a message needs of a connection of a peer.
    fn prefetch_connection(&self, peer: u32, conn: ConnId) {
        if let Some(machine) = &self.peers[peer as usize].machine {
            machine.prefetch(conn);
        }
    }
}

impl App for Swarms<'_> {
    fn begin(&mut self, world: &mut World) {
        self.plan_arrivals(world);
        if self.plan.measures.pieces_ns.is_some() {
            self.schedule(world, Time::START, Code::Census, 0);
        }
    }

    fn on_event(&mut self, world: &mut World, event: Event) {
        match Code::ALL[usize::from(event.code)] {
            Code::Timer => self.on_peer_timer(world, event.index),
            Code::Arrival => self.arrive(world, event.index),
            Code::Departure => self.depart(world, event.index),
            Code::Tracker => self.on_tracker(world, event.index),
            Code::Census => self.count_pieces(world),
            Code::UploadControl => self.on_control(world, event.index),
            Code::DiskRead => self.on_disk_read(world, event.index),
            Code::Readable => self.read_on(world, event.index),
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
                self.lose_origin(workload);
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
        self.unfinished().is_empty()
    }
    fn unfinished(&self) -> Vec<String> {
        self.unfinished_swarms()
    }
    fn progress(&self, _world: &World) -> f64 {
        self.swarm_progress()
    }
    fn stopped(&self) -> Option<String> {
        self.swarms_stopped()
    }
    fn undelivered(&self, world: &World) -> Vec<String> {
        self.silent_swarms(world)
    }
    fn stall(&mut self, world: &World) -> Option<String> {
        self.stalled_swarm(world)
    }

    fn payload_bytes(&self) -> u64 {
        self.peers.iter().map(|peer| peer.progress().down).sum()
    }
    fn sample(&self, _world: &World, what: Sampled) -> Vec<(u32, Sample)> {
        self.sample_swarms(what)
    }
    fn source_name(&self, what: Sampled, source: u32) -> Option<String> {
        let swarm = |swarm| self.spec(swarm).map_or_else(String::new, |spec| spec.name.clone());
        match what {
            Sampled::SwarmRate | Sampled::Online | Sampled::Completed => Some(swarm(source)),
            Sampled::UploadLimit => {
                let Peer { swarm: of, host, .. } = self.peers[source as usize];
                let host = &self.plan.network.hosts[host as usize].name;
                // A host may have a peer of each swarm.
                Some(if self.all.len() == 1 {
                    host.clone()
                } else {
                    format!("{host} {}", swarm(of))
                })
            }
            _ => None,
        }
    }
    fn is_on(&self, host: u32) -> bool {
        self.on_host[host as usize] > 0
    }
    fn speaks(&self, owners: [Owner; 2]) -> ConnectionContent {
        let swarm = self.peers[owners[0].index as usize].swarm;
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

    fn prefetch_event(&self, event: Event) -> Option<u32> {
        if event.code != Code::Timer as u8 {
            return None;
        }
        let (conn, socket) = self.next_turn(event.index)?;
        self.prefetch_connection(event.index, conn);
        Some(socket)
    }
    fn prefetch_reader(&self, owner: Owner) {
        if let Some(End::Control { peer, conn } | End::Data { peer, conn }) = End::of(owner) {
            self.prefetch_connection(peer, conn);
        }
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
            || (!self.replaces && self.completed + self.gave_up >= self.leechers)
            || limit.is_some_and(|limit| self.completed >= limit)
    }
}

impl Peer {
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
    fn planned(swarm: u32, population: u32, host: u32, role: Role) -> Peer {
        Peer {
            swarm,
            population,
            id: PeerId(u32::MAX),
            host,
            role,
            machine: None,
            sockets: Vec::new(),
            web_seeds: Vec::new(),
            disk: None,
            armed: Time::NEVER,
            standing: Standing {
                download: match role {
                    Role::Seed => Download::Complete,
                    Role::Leecher => Download::Alone,
                },
                has_blocks: false,
                limited: false,
            },
            arrived: None,
            completed: None,
            left: None,
            last: Progress::default(),
            last_brought: Vec::new(),
        }
    }
}
