//! Membership of swarms: arrivals, completions, departures, and changes by the timeline.

use super::*;

impl Swarms<'_> {
    /// Draws when every planned peer comes.
    pub(super) fn plan_arrivals(&mut self, world: &mut World) {
        let mut peer = 0;
        for swarm in 0..self.all.len() as u32 {
            let Some(spec) = self.spec(swarm) else { continue };
            for (population, spec) in spec.populations.iter().enumerate() {
                let stream = u64::from(swarm) << 32 | population as u64;
                let stream = RandomStream::new(world.seed, "arrivals", stream);
                for (at, leave) in spec.arrivals.instants(spec.hosts.len(), stream) {
                    self.schedule(world, Time::START + at, Code::Arrival, peer);
                    if let Some(leave) = leave {
                        self.schedule(world, Time::START + leave, Code::Departure, peer);
                    }
                    peer += 1;
                }
            }
        }
    }

    /// A peer comes.
    pub(super) fn arrive(&mut self, world: &mut World, peer: u32) {
        let Some(population) = self.population(peer) else { return };
        let profile = population.profile as usize;
        let departure = population.departure.clone();
        let split = population.data.is_some();
        let reads = population.storage.is_some();
        let web_seeds = self
            .spec(self.peers[peer as usize].swarm)
            .map_or(0, |spec| spec.web_seeds.len() as u32);
        let stream = RandomStream::new(world.seed, "peer", u64::from(peer));
        let state = &mut self.peers[peer as usize];
        let swarm = &mut self.all[state.swarm as usize];
        if swarm.stopped {
            return;
        }
        state.id = PeerId(swarm.members.len() as u32);
        swarm.members.push(peer);
        swarm.online += 1;
        swarm.last_progress = world.now;
        state.arrived = Some(world.now);
        if state.role == Role::Leecher {
            swarm.demand.grow(world.now);
        }
        self.accounts[peer as usize] = Account::open(world.now, &swarm.demand);
        let profile = Arc::clone(&self.profiles[profile]);
        let torrent = Arc::clone(&swarm.torrent);
        let (role, id) = (state.role, state.id);
        self.on_host[state.host as usize] += 1;
        let upload = swarm.uploads[state.population as usize];
        let mut machine = swarm::Peer::new(profile, torrent, role, id, upload, stream, world.now);
        if split {
            machine = machine.with_data_connections();
        }
        if reads && role == Role::Seed {
            machine = machine.with_disk();
        }
        if web_seeds > 0 {
            machine = machine.with_web_seeds(web_seeds);
        }
        swarm.availability.joined(machine.bitfield());
        machine.start(world.now);
        state.machine = Some(Box::new(machine));
        if role == Role::Seed {
            swarm.seeds_to_come -= 1;
        }
        if role == Role::Seed || matches!(departure, Departure::Session { .. }) {
            self.plan_departure(world, peer, &departure, Span::ZERO);
        }
        self.begin_control(world, peer);
        self.drain(world, peer);
    }

    pub(super) fn plan_departure(
        &mut self,
        world: &mut World,
        peer: u32,
        departure: &Departure,
        download: Span,
    ) {
        let mut stream = RandomStream::new(world.seed, "departure", u64::from(peer));
        let stay = match departure {
            Departure::AtOnce => Span::ZERO,
            Departure::After { mean_ns } => stream.exponential(*mean_ns),
            Departure::AfterShare { share } => {
                stream.exponential(Span::from_seconds(download.seconds() * share))
            }
            Departure::Session { stay_s } => Span::from_seconds(stay_s.draw(&mut stream).max(0.0)),
            Departure::Never | Departure::AllDone => return,
        };
        self.schedule(world, world.now + stay, Code::Departure, peer);
    }

    /// A peer goes, and is replaced if its population replaces.
    pub(super) fn depart(&mut self, world: &mut World, peer: u32) {
        let Some(was_complete) = self.leave(world, peer) else { return };
        let state = &self.peers[peer as usize];
        let (swarm, population, host) = (state.swarm, state.population, state.host);
        let gave_up = state.is_leecher() && state.completed.is_none();
        if self.population(peer).is_some_and(|population| population.replace) {
            let next = self.peers.len() as u32;
            self.all[swarm as usize].expect(Role::Leecher);
            self.peers.push(Peer::planned(swarm, population, host, Role::Leecher));
            self.accounts.push(Account::default());
            self.schedule(world, world.now, Code::Arrival, next);
        } else if gave_up {
            self.all[swarm as usize].gave_up += 1;
            world.something_ended = true;
        }
        if (was_complete || gave_up)
            && let Some(reason) = self.unfinishable(swarm)
        {
            world.outcome = Some(Outcome::Stalled(reason));
        }
    }

    /// Takes a peer out of its swarm; whether it was complete, or `None` if it is not there.
    pub(super) fn leave(&mut self, world: &mut World, peer: u32) -> Option<bool> {
        let machine = self.peers[peer as usize].machine.as_mut()?;
        machine.leave(world.now);
        self.drain(world, peer);
        self.close_account(world, peer);
        self.end_control(peer);
        let state = &mut self.peers[peer as usize];
        state.last = state.progress();
        state.last_brought = state.brought();
        state.left = Some(world.now);
        state.armed = Time::NEVER;
        self.on_host[state.host as usize] -= 1;
        let swarm = &mut self.all[state.swarm as usize];
        swarm.online -= 1;
        if state.role == Role::Leecher {
            swarm.departed_bytes += state.last.down;
            if state.completed.is_none() {
                swarm.demand.shrink(world.now);
            }
        }
        let machine = state.machine.take()?;
        swarm.availability.left(machine.bitfield());
        Some(machine.is_complete())
    }

    pub(super) fn completed(&mut self, world: &mut World, peer: u32) {
        let state = &mut self.peers[peer as usize];
        state.completed = Some(world.now);
        let download = state.arrived.map_or(Span::ZERO, |arrived| world.now - arrived);
        let swarm = &mut self.all[state.swarm as usize];
        swarm.completed += 1;
        swarm.demand.shrink(world.now);
        let departure = self.population(peer).map(|population| population.departure.clone());
        if let Some(departure) = departure
            && !matches!(departure, Departure::Session { .. })
        {
            self.plan_departure(world, peer, &departure, download);
        }
        world.something_ended = true;
    }

    pub(super) fn stop_swarm(&mut self, world: &mut World, workload: u32) {
        let Some(number) = self.number(workload) else { return };
        self.all[number].stopped = true;
        for peer in self.all[number].members.clone() {
            self.leave(world, peer);
        }
        world.something_ended = true;
    }

    pub(super) fn set_upload(
        &mut self,
        world: &mut World,
        workload: u32,
        population: u32,
        limit: UploadLimit,
    ) {
        let Some(number) = self.number(workload) else { return };
        let swarm = &mut self.all[number];
        swarm.uploads[population as usize] = limit;
        for peer in swarm.members.clone() {
            if self.peers[peer as usize].population == population {
                self.set_peer_upload(world, peer, limit);
            }
        }
    }

    /// The client of a peer gets another upload limit, if it is there.
    pub(super) fn set_peer_upload(&mut self, world: &mut World, peer: u32, limit: UploadLimit) {
        let state = &mut self.peers[peer as usize];
        let Some(machine) = &mut state.machine else { return };
        machine.set_upload_limit(world.now, limit);
        let low_watermark = clamp(low_watermark(machine.profile(), limit));
        let sockets = state.sockets.iter().flat_map(|to| [to.control, to.outgoing]);
        for socket in sockets.filter(|socket| *socket != NO_SOCKET) {
            world.sockets.get_mut(socket).low_watermark = low_watermark;
        }
        self.note_limit(peer, limit);
        self.drain(world, peer);
    }
}
