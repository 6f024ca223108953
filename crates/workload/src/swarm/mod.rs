//! Swarms: their members, how far they are, and when they are over.

mod account;
mod membership;
mod peer;
mod rows;
mod standing;

pub use account::Uplink;
pub use peer::{Peer, Progress};
pub use standing::{Held, Standing, Watch};

use crate::{Outcome, Sample};
use account::Demand;
use flashcrowd_base::{Span, Time};
use flashcrowd_plan::{self as plan, Plan, Population, Sampled, Source, Workload};
use flashcrowd_swarm::{Download, Role, UploadLimit};

/// What is due at an instant: an engine keeps it, and acts then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Due {
    /// The peer of this number comes: its client starts, and [`Swarms::arrive`] hears of it.
    Arrival(u32),
    /// It leaves: if [`Swarms::departs`] agrees, its client stops, and [`Swarms::leave`] hears of it.
    Departure(u32),
    /// The pieces that leechers have are counted ([`Swarms::count_pieces`]).
    Census,
}

/// How an engine sees its clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// It plays them itself, and hears at once what they do. What a peer had sent is lost when it leaves.
    Inside,
    /// It looks at programs at intervals. They do not say why they upload nothing, and what they sent may arrive
    /// after they have left.
    Outside,
}

/// All swarms of a run and their peers.
///
/// Methods that need the present progress of clients take `of`: what a client that runs has done, by the number
/// of its peer; None for a peer without one, whose [`Peer::last`] counts.
#[derive(Clone, Debug)]
pub struct Swarms {
    seed: u64,
    view: View,
    all: Vec<Swarm>,
    /// Peers of all swarms, in the order in which they were planned, replacements after.
    peers: Vec<Peer>,
    due: Vec<(Time, Due)>,
    measures: Measures,
    pieces: Vec<Pieces>,
    have: Vec<Have>,
}

/// What is recorded besides summaries.
#[derive(Clone, Debug)]
struct Measures {
    pieces: Option<Span>,
    have: bool,
}

/// One torrent: its rules, and how far it is.
#[derive(Clone, Debug)]
pub struct Swarm {
    /// Its index among the plan's workloads.
    pub workload: u32,
    /// What the plan says of it.
    pub spec: plan::Swarm,
    /// How many pieces its file has.
    pub pieces: u32,
    /// Its peers by their numbers in it, in the order of arrival.
    pub members: Vec<u32>,
    /// The upload limit of each population now.
    pub uploads: Vec<UploadLimit>,
    /// Leechers that are planned or have followed others.
    pub leechers: u32,
    /// Leechers that have the file.
    pub completed: u32,
    /// Leechers that left without the file, and were not replaced.
    gave_up: u32,
    /// Seeds that have not arrived yet.
    seeds_to_come: u32,
    /// Peers that are there.
    pub online: u32,
    demand: Demand,
    wanted_elsewhere: bool,
    /// Block bytes that reached leechers which have left.
    departed_bytes: u64,
    last_arrival: Time,
    /// Whether the timeline has stopped it.
    pub stopped: bool,
    /// The origin of each web seed that is there, if the client of any leecher knows web seeds.
    web_seeds: Vec<u32>,
    watch: Watch,
}

/// How many pieces the leechers of a population have.
#[derive(Clone, Debug)]
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
#[derive(Clone, Debug)]
struct Have {
    peer: u32,
    piece: u32,
    at: Time,
}

impl Swarms {
    /// The swarms of a plan before anything has happened, in a run with this seed. Peers on hosts that another node
    /// plays never come here.
    pub fn new(plan: &Plan, seed: u64, view: View, plays: impl Fn(u32) -> bool) -> Swarms {
        let measures = Measures { pieces: plan.measures.pieces_ns, have: plan.measures.have };
        let mut swarms = Swarms {
            seed,
            view,
            all: Vec::new(),
            peers: Vec::new(),
            due: Vec::new(),
            measures,
            pieces: Vec::new(),
            have: Vec::new(),
        };
        for (index, workload) in (0..).zip(&plan.workloads) {
            let Workload::Swarm(spec) = workload else { continue };
            let number = swarms.all.len() as u32;
            let mut swarm = Swarm::new(index, spec, plan, view);
            for (population, of) in (0..).zip(&spec.populations) {
                for &host in &of.hosts {
                    let peer = Peer::planned(number, population, host, of.role);
                    let played = plays(host);
                    if played {
                        swarm.expect(of.role);
                    }
                    swarms.peers.push(Peer { played, ..peer });
                }
            }
            swarms.all.push(swarm);
        }
        swarms
    }

    /// Every swarm, in the order of the plan.
    pub fn all(&self) -> &[Swarm] {
        &self.all
    }
    /// The swarm of this number.
    pub fn swarm(&self, number: u32) -> &Swarm {
        &self.all[number as usize]
    }
    /// The number of the swarm that is this workload of the plan.
    pub fn number(&self, workload: u32) -> Option<u32> {
        self.all.iter().position(|swarm| swarm.workload == workload).map(|place| place as u32)
    }
    /// Every peer that is planned or has followed another.
    pub fn peers(&self) -> &[Peer] {
        &self.peers
    }
    /// The peer of this number.
    pub fn peer(&self, number: u32) -> &Peer {
        &self.peers[number as usize]
    }
    /// How a program gets on with its download, by what it says of its neighbours: how many there are, in how many it
    /// is interested, and how many do not choke it.
    pub fn seen(
        &self,
        peer: u32,
        neighbours: u32,
        interested: Option<u32>,
        unchoking: Option<u32>,
    ) -> Option<Download> {
        if !self.peer(peer).is_waiting() {
            return Some(Download::Complete);
        }
        Some(match (neighbours, interested?, unchoking?) {
            (0, ..) => Download::Alone,
            (_, 0, _) => Download::Uninterested,
            (.., 0) => Download::Choked,
            _ => Download::Unchoked,
        })
    }
    /// The population of a peer.
    pub fn population(&self, peer: u32) -> &Population {
        let Peer { swarm, population, .. } = self.peers[peer as usize];
        &self.all[swarm as usize].spec.populations[population as usize]
    }
    /// Takes what has become due at some instant since this was asked last, in the order in which it was planned.
    pub fn take_due(&mut self) -> std::vec::Drain<'_, (Time, Due)> {
        self.due.drain(..)
    }

    /// What a client that has left had done in the end: what was sent to it may arrive while it closes.
    pub fn close(&mut self, number: u32, last: Progress) {
        let peer = &mut self.peers[number as usize];
        let before = std::mem::replace(&mut peer.last, last);
        if peer.is_leecher() && peer.left.is_some() {
            let bytes = &mut self.all[peer.swarm as usize].departed_bytes;
            *bytes = *bytes + last.down - before.down;
        }
    }

    /// Whether an incomplete leecher of a swarm is online that another node plays.
    pub fn wanted_elsewhere(&mut self, now: Time, swarm: u32, wanted: bool) {
        let swarm = &mut self.all[swarm as usize];
        match (std::mem::replace(&mut swarm.wanted_elsewhere, wanted), wanted) {
            (false, true) => swarm.demand.grow(now),
            (true, false) => swarm.demand.shrink(now),
            _ => {}
        }
    }

    fn members(&self, swarm: u32) -> impl Iterator<Item = (u32, &Peer)> {
        let members = &self.all[swarm as usize].members;
        members.iter().map(|&number| (number, &self.peers[number as usize]))
    }

    /// Block bytes that reached the leechers of a swarm so far.
    pub fn bytes(&self, swarm: u32, of: impl Fn(u32) -> Option<Progress>) -> u64 {
        let online = self.members(swarm).filter(|(_, peer)| peer.is_leecher() && peer.is_online());
        let bytes = online.filter_map(|(number, _)| Some(of(number)?.down));
        self.all[swarm as usize].departed_bytes + bytes.sum::<u64>()
    }

    /// Whether a swarm has nothing more to wait for.
    pub fn is_done(&self, swarm: u32) -> bool {
        let swarm = &self.all[swarm as usize];
        swarm.watch.is_done(&swarm.standing())
    }

    /// A line for each swarm that is not done.
    pub fn unfinished(&self) -> Vec<String> {
        let open = self.all.iter().filter(|swarm| !swarm.watch.is_done(&swarm.standing()));
        open.map(|swarm| swarm.watch.unfinished(&swarm.standing())).collect()
    }

    /// What the timeline stopped before it was complete.
    pub fn stopped(&self) -> Option<String> {
        self.all.iter().find_map(|swarm| swarm.standing().stopped_early())
    }

    /// How far a swarm is, for the rules about its end; no peer has the `missing` pieces, if that is known.
    pub fn standing(
        &self,
        number: u32,
        missing: Option<u32>,
        of: impl Fn(u32) -> Option<Progress>,
    ) -> Standing {
        let leechers = || self.members(number).filter(|(_, peer)| peer.is_leecher());
        Standing {
            missing,
            bytes: self.bytes(number, of),
            waits: leechers().any(|(_, peer)| peer.is_waiting()),
            came: leechers().count() as u32,
            first_arrival: leechers().find_map(|(_, peer)| peer.arrived),
            ..self.all[number as usize].standing()
        }
    }

    /// Why a swarm can never finish, if it cannot: a piece that no member has, and that no later peer would
    /// bring.
    pub fn unfinishable(&self, number: u32, missing: u32) -> Option<String> {
        let swarm = &self.all[number as usize];
        swarm.watch.unfinishable(&Standing { missing: Some(missing), ..swarm.standing() })
    }

    /// Why a swarm gets no further, if it does not. Asked at intervals.
    pub fn stall(
        &mut self,
        now: Time,
        number: u32,
        missing: Option<u32>,
        of: impl Fn(u32) -> Option<Progress>,
    ) -> Option<String> {
        let standing = self.standing(number, missing, of);
        self.all[number as usize].watch.look(now, &standing)
    }

    /// A line for each swarm with seeds that may upload of which no block reached any leecher that came, unless
    /// the run was cut and says so.
    pub fn undelivered(
        &self,
        now: Time,
        outcome: Option<&Outcome>,
        of: impl Fn(u32) -> Option<Progress>,
    ) -> Vec<String> {
        if outcome.is_some_and(Outcome::is_cut) {
            return Vec::new();
        }
        let silent = |number: u32| {
            let standing = self.standing(number, None, &of);
            self.all[number as usize].watch.undelivered(now, &standing)
        };
        (0..self.all.len() as u32).filter_map(silent).collect()
    }

    /// Share of the bytes that leechers want which has arrived, of the swarm that is furthest behind.
    pub fn progress(&self, of: impl Fn(u32) -> Option<Progress>) -> f64 {
        let swarms = 0..self.all.len() as u32;
        swarms.map(|number| self.progress_of(number, &of)).fold(1.0, f64::min)
    }

    /// The same of one swarm; more than 1 if bytes came twice.
    pub fn progress_of(&self, number: u32, of: impl Fn(u32) -> Option<Progress>) -> f64 {
        let swarm = &self.all[number as usize];
        let expected = u64::from(swarm.leechers) * swarm.spec.size_bytes;
        self.bytes(number, of) as f64 / expected.max(1) as f64
    }

    /// The present value of each source of a series of swarms. Of an upload limit, which controllers may set, the
    /// engine says what each peer that is online has.
    pub fn sample(
        &self,
        what: Sampled,
        of: impl Fn(u32) -> Option<Progress>,
        limit: impl Fn(u32) -> UploadLimit,
    ) -> Vec<(u32, Sample)> {
        let swarms = 0..self.all.len() as u32;
        match what {
            Sampled::SwarmRate => {
                swarms.map(|swarm| (swarm, Sample::Bytes(self.bytes(swarm, &of)))).collect()
            }
            Sampled::Online => {
                let online = |swarm: u32| f64::from(self.all[swarm as usize].online);
                swarms.map(|swarm| (swarm, Sample::Level(online(swarm)))).collect()
            }
            Sampled::Completed => {
                let completed = |swarm: u32| f64::from(self.all[swarm as usize].completed);
                swarms.map(|swarm| (swarm, Sample::Level(completed(swarm)))).collect()
            }
            Sampled::UploadLimit => {
                let online = (0u32..).zip(&self.peers).filter(|(_, peer)| peer.is_online());
                let bps = |limit| match limit {
                    UploadLimit::Unlimited => None,
                    UploadLimit::Nothing => Some(0.0),
                    UploadLimit::Rate(rate) => Some(rate.bps() as f64),
                };
                let limits = online.filter_map(|(peer, _)| Some((peer, bps(limit(peer))?)));
                limits.map(|(peer, bps)| (peer, Sample::Level(bps))).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The name of such a source; None for another series.
    pub fn source_name(&self, plan: &Plan, what: Sampled, source: u32) -> Option<String> {
        match what.source() {
            Source::Swarms => Some(self.all[source as usize].spec.name.clone()),
            Source::Clients => {
                let Peer { swarm, host, .. } = self.peers[source as usize];
                let host = plan.network.name_of(host);
                // A host may have a peer of each swarm.
                Some(match &self.all[..] {
                    [_] => host.to_owned(),
                    all => format!("{host} {}", all[swarm as usize].spec.name),
                })
            }
            _ => None,
        }
    }
}

impl Swarm {
    fn new(workload: u32, spec: &plan::Swarm, plan: &Plan, view: View) -> Swarm {
        let watch = Watch::of(spec, plan.stop.stall_ns, view);
        let web_seeds = plan.usable_web_seeds(spec).iter();
        Swarm {
            workload,
            pieces: watch.pieces(),
            members: Vec::new(),
            uploads: spec.populations.iter().map(|population| population.upload_bps).collect(),
            leechers: 0,
            completed: 0,
            gave_up: 0,
            seeds_to_come: 0,
            online: 0,
            demand: Demand::default(),
            wanted_elsewhere: false,
            departed_bytes: 0,
            last_arrival: Time::START,
            stopped: false,
            web_seeds: web_seeds.map(|it| it.origin).collect(),
            watch,
            spec: spec.clone(),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.spec.name
    }

    fn expect(&mut self, role: Role) {
        match role {
            Role::Seed => self.seeds_to_come += 1,
            Role::Leecher => self.leechers += 1,
        }
    }

    /// How far it is, without what takes long to find out.
    fn standing(&self) -> Standing {
        Standing {
            leechers: self.leechers,
            completed: self.completed,
            gave_up: self.gave_up,
            last_arrival: self.last_arrival,
            may_upload: self.may_upload(),
            sources: self.seeds_to_come + self.web_seeds.len() as u32,
            stopped: self.stopped,
            ..Standing::default()
        }
    }

    /// Whether some of its seeds may upload or might when it began, or web seeds bring its file.
    fn may_upload(&self) -> bool {
        let mut seeds =
            self.spec.populations.iter().zip(&self.uploads).filter(|(it, _)| it.role == Role::Seed);
        let limited = |(population, now): (&Population, &UploadLimit)| {
            [population.upload_bps, *now] == [UploadLimit::Nothing; 2]
        };
        !self.web_seeds.is_empty() || seeds.any(|it| !limited(it))
    }
}

/// How a peer of a role gets on when it comes.
pub fn at_first(role: Role) -> Download {
    match role {
        Role::Seed => Download::Complete,
        Role::Leecher => Download::Alone,
    }
}
