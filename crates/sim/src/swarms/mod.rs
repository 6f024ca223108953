mod client;
mod completion;
mod membership;
mod tracking;

use crate::engine::{Application, Outcome, Sim};
use crate::event::Event;
use crate::packet::Look;
use crate::plan::{Arrivals, Carrier, Departure, Plan, Population, Workload};
use crate::sockets::{Owner, clamp, other};
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
    /// How many peers run on each host.
    on_host: Vec<u32>,
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
    /// Whether somebody who leaves is replaced: that everybody is complete is then no end.
    replaces: bool,
}

/// One peer, before, while and after it is in its swarm.
pub(crate) struct Peer {
    pub(crate) swarm: u32,
    pub(crate) population: u32,
    pub(crate) id: PeerId,
    pub(crate) host: u32,
    role: Role,
    machine: Option<Box<swarm::Peer>>,
    /// The sockets of each of its connections, by `ConnId`.
    links: Vec<Links>,
    armed: Time,
    pub(crate) arrived: Option<Time>,
    pub(crate) completed: Option<Time>,
    pub(crate) left: Option<Time>,
    /// What it had done when it left.
    last: Progress,
}

/// The sockets between two peers, as one of them sees them; `NO_SOCKET` where there is none.
#[derive(Clone, Copy)]
struct Links {
    /// All messages, but for blocks that go apart.
    control: u32,
    /// The blocks that this peer uploads, if they go apart.
    outgoing: u32,
    /// The blocks that the other uploads, if they go apart.
    incoming: u32,
}

impl Links {
    const NONE: Links = Links { control: NO_SOCKET, outgoing: NO_SOCKET, incoming: NO_SOCKET };
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
            on_host: vec![0; plan.network.hosts.len()],
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
                replaces: spec.populations.iter().any(|population| population.replace),
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
    /// Whether a peer runs on a host.
    pub(crate) fn is_online(&self, host: u32) -> bool {
        self.on_host[host as usize] > 0
    }
    /// Asks for what a message needs of a connection of a peer.
    #[inline]
    pub(crate) fn prefetch_connection(&self, peer: u32, conn: ConnId) {
        if let Some(machine) = &self.peers[peer as usize].machine {
            machine.prefetch(conn);
        }
    }
    /// The connection and the socket that a peer's timer will probably write to.
    #[inline]
    pub(crate) fn next_turn(&self, peer: u32) -> Option<(ConnId, u32)> {
        let peer = &self.peers[peer as usize];
        let conn = peer.machine.as_ref()?.next_turn()?;
        let Links { control, outgoing, .. } = peer.links(conn);
        let socket = if outgoing == NO_SOCKET { control } else { outgoing };
        (socket != NO_SOCKET).then_some((conn, socket))
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
            || (!self.replaces && self.completed >= self.leechers)
            || limit.is_some_and(|limit| self.completed >= limit)
    }
}

impl Peer {
    #[inline]
    fn links(&self, conn: ConnId) -> Links {
        self.links.get(conn.0 as usize).copied().unwrap_or(Links::NONE)
    }
    fn links_mut(&mut self, conn: ConnId) -> &mut Links {
        let place = conn.0 as usize;
        if self.links.len() <= place {
            self.links.resize(place + 1, Links::NONE);
        }
        &mut self.links[place]
    }
    fn take_links(&mut self, conn: ConnId) -> Links {
        let links = self.links.get_mut(conn.0 as usize);
        links.map_or(Links::NONE, |links| std::mem::replace(links, Links::NONE))
    }
    fn planned(swarm: u32, population: u32, host: u32, role: Role) -> Peer {
        Peer {
            swarm,
            population,
            id: PeerId(u32::MAX),
            host,
            role,
            machine: None,
            links: Vec::new(),
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
}
