//! Arrivals, completions and departures.

use super::account::{Account, Uplink};
use super::{Due, Have, Peer, Progress, Swarms, View, at_first};
use flashcrowd_base::{RandomStream, Span, Time};
use flashcrowd_plan::Departure;
use flashcrowd_swarm::{Download, PeerId, Role, UploadLimit};

impl Swarms {
    /// Draws when every planned peer comes.
    pub fn begin(&mut self) {
        let mut peer = 0;
        for (number, swarm) in (0u64..).zip(&self.all) {
            for (population, spec) in (0u64..).zip(&swarm.spec.populations) {
                let stream = RandomStream::new(self.seed, "arrivals", number << 32 | population);
                for (at, leave) in spec.arrivals.instants(spec.hosts.len(), stream) {
                    if self.peers[peer as usize].played {
                        self.due.push((Time::START + at, Due::Arrival(peer)));
                        let leave = leave.map(|at| (Time::START + at, Due::Departure(peer)));
                        self.due.extend(leave);
                    }
                    peer += 1;
                }
            }
        }
        if self.measures.pieces.is_some() {
            self.due.push((Time::START, Due::Census));
        }
    }

    /// A peer comes; whether it does: a stopped swarm takes no peers.
    pub fn arrive(&mut self, now: Time, number: u32) -> bool {
        let peer = &mut self.peers[number as usize];
        let swarm = &mut self.all[peer.swarm as usize];
        if swarm.stopped {
            return false;
        }
        peer.id = PeerId(swarm.members.len() as u32);
        peer.arrived = Some(now);
        swarm.members.push(number);
        swarm.online += 1;
        swarm.last_arrival = now;
        match peer.role {
            Role::Leecher => swarm.demand.grow(now),
            Role::Seed => swarm.seeds_to_come -= 1,
        }
        peer.account = Account::open(now, &swarm.demand, at_first(peer.role));
        let (role, overdue) = (peer.role, peer.overdue);
        let session = matches!(self.population(number).departure, Departure::Session { .. });
        if role == Role::Seed || session {
            self.plan_departure(now, number, Span::ZERO);
        }
        if overdue {
            self.due.push((now, Due::Departure(number)));
        }
        true
    }

    /// Draws how long a peer stays from now on.
    fn plan_departure(&mut self, now: Time, number: u32, download: Span) {
        let mut stream = RandomStream::new(self.seed, "departure", u64::from(number));
        let stay = match &self.population(number).departure {
            Departure::AtOnce => Span::ZERO,
            Departure::After { mean_ns } => stream.exponential(*mean_ns),
            Departure::AfterExactly { stay_ns } => *stay_ns,
            Departure::AfterShare { share } => {
                stream.exponential(Span::from_seconds(download.seconds() * share))
            }
            Departure::Session { stay_s } => Span::from_seconds(stay_s.draw(&mut stream)),
            Departure::Never | Departure::AllDone => return,
        };
        self.due.push((now + stay, Due::Departure(number)));
    }

    /// A leecher completed a piece.
    pub fn has_piece(&mut self, now: Time, peer: u32, piece: u32) {
        if self.measures.have {
            self.have.push(Have { peer, piece, at: now });
        }
    }

    /// A leecher that is online has the file.
    pub fn complete(&mut self, now: Time, number: u32) {
        let peer = &mut self.peers[number as usize];
        peer.completed = Some(now);
        let download = peer.arrived.map_or(Span::ZERO, |arrived| now.since(arrived));
        let swarm = &mut self.all[peer.swarm as usize];
        swarm.completed += 1;
        swarm.demand.shrink(now);
        if !matches!(self.population(number).departure, Departure::Session { .. }) {
            self.plan_departure(now, number, download);
        }
    }

    /// Whether the departure of a peer is to be carried out. One that has not come yet leaves when it comes.
    pub fn departs(&mut self, number: u32) -> bool {
        let peer = &mut self.peers[number as usize];
        peer.overdue |= peer.arrived.is_none();
        peer.is_online()
    }

    /// A peer has left, with what it had done then.
    pub fn leave(&mut self, now: Time, number: u32, last: Progress) {
        let peer = &mut self.peers[number as usize];
        let swarm = &mut self.all[peer.swarm as usize];
        peer.account.send(now, &swarm.demand, Uplink::Idle);
        peer.last = last;
        peer.left = Some(now);
        swarm.online -= 1;
        if peer.role == Role::Leecher {
            swarm.departed_bytes += last.down;
            if peer.completed.is_none() {
                swarm.demand.shrink(now);
            }
        }
    }

    /// What follows the departure of a peer: the number of the leecher that takes its place, if its population
    /// replaces.
    pub fn succeed(&mut self, now: Time, number: u32) -> Option<u32> {
        let peer = &self.peers[number as usize];
        let (swarm, population, host) = (peer.swarm, peer.population, peer.host);
        let gave_up = peer.gave_up();
        if !self.population(number).replace {
            self.all[swarm as usize].gave_up += u32::from(gave_up);
            return None;
        }
        let next = self.peers.len() as u32;
        self.all[swarm as usize].expect(Role::Leecher);
        self.peers.push(Peer::planned(swarm, population, host, Role::Leecher));
        self.due.push((now, Due::Arrival(next)));
        Some(next)
    }

    /// The timeline stops a swarm: arrivals end, and these peers leave.
    pub fn stop(&mut self, number: u32) -> Vec<u32> {
        self.all[number as usize].stopped = true;
        self.members(number).filter(|(_, peer)| peer.is_online()).map(|(peer, _)| peer).collect()
    }

    /// The timeline stops a workload: if it is an origin, swarms lose web seeds.
    pub fn lose_origin(&mut self, workload: u32) {
        for swarm in &mut self.all {
            swarm.web_seeds.retain(|origin| *origin != workload);
        }
    }

    /// The upload limit of a population changes; the peers that are there and get it.
    pub fn set_upload(&mut self, number: u32, population: u32, limit: UploadLimit) -> Vec<u32> {
        self.all[number as usize].uploads[population as usize] = limit;
        let of = |peer: &Peer| peer.population == population && peer.is_online();
        self.members(number).filter(|(_, peer)| of(peer)).map(|(peer, _)| peer).collect()
    }

    /// The download of a peer gets on in another way, which an incomplete program may not say, or its own upload
    /// limit begins or ceases to hold it back.
    pub fn stand(&mut self, now: Time, number: u32, download: Option<Download>, limited: bool) {
        let peer = &mut self.peers[number as usize];
        peer.account.stand(now, &self.all[peer.swarm as usize].demand, download, limited);
    }

    /// The uploads of a seed begin, or end.
    pub fn send(&mut self, now: Time, number: u32, uplink: Uplink) {
        let peer = &mut self.peers[number as usize];
        peer.account.send(now, &self.all[peer.swarm as usize].demand, uplink);
    }

    /// How the uploads of a peer stand.
    pub fn uplink(&self, number: u32) -> Uplink {
        self.peers[number as usize].account.uplink()
    }

    /// Bytes that a peer received in vain: as its client says, or else what a complete download had beyond the file.
    pub(super) fn wasted(&self, peer: &Peer, progress: &Progress) -> u64 {
        let size = self.all[peer.swarm as usize].spec.size_bytes;
        let beyond = match (self.view, peer.completed) {
            (View::Outside, Some(_)) => progress.down.saturating_sub(size),
            _ => 0,
        };
        progress.wasted.unwrap_or(beyond)
    }
}
