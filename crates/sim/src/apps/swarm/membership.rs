//! Membership of swarms, as their rules say: arrivals, completions, departures, and changes by the timeline.

use super::*;

impl Swarms<'_> {
    /// Schedules what has become due.
    pub(super) fn schedule_due(&mut self, world: &mut World) {
        for (at, due) in self.rules.take_due() {
            let (code, index) = match due {
                Due::Arrival(peer) => (Code::Arrival, peer),
                Due::Departure(peer) => (Code::Departure, peer),
                Due::Census => (Code::Census, 0),
            };
            world.schedule(at, SWARM, code as u8, index);
        }
    }

    /// A peer comes.
    pub(super) fn arrive(&mut self, world: &mut World, peer: u32) {
        let Some(population) = self.population(peer) else { return };
        if !self.rules.arrive(world.now, peer) {
            return;
        }
        self.schedule_due(world);
        let &workload::Peer { swarm: number, population: kind, id, host, role, .. } =
            self.rules.peer(peer);
        let web_seeds = self.spec(number).map_or(0, |spec| spec.web_seeds.len() as u32);
        let stream = RandomStream::new(world.seed, "peer", u64::from(peer));
        let swarm = &mut self.all[number as usize];
        let profile = Arc::clone(&self.profiles[population.profile as usize]);
        let torrent = Arc::clone(&swarm.torrent);
        self.on_host[host as usize] += 1;
        let upload = self.rules.swarm(number).uploads[kind as usize];
        let mut machine = swarm::Peer::new(profile, torrent, role, id, upload, stream, world.now);
        if population.data.is_some() {
            machine = machine.with_data_connections();
        }
        if population.storage.is_some() && role == Role::Seed {
            machine = machine.with_disk();
        }
        if web_seeds > 0 {
            machine = machine.with_web_seeds(web_seeds);
        }
        swarm.availability.joined(machine.bitfield());
        machine.start(world.now);
        self.peers[peer as usize].counts_reads = machine.counts_reads();
        self.peers[peer as usize].machine = Some(Box::new(machine));
        self.begin_control(world, peer);
        self.drain(world, peer);
    }

    /// A peer goes, and is replaced if its population replaces.
    pub(super) fn depart(&mut self, world: &mut World, peer: u32) {
        if !self.rules.departs(peer) {
            return;
        }
        self.leave(world, peer);
        match self.rules.succeed(world.now, peer) {
            Some(next) => self.peers.push(Peer::planned(self.rules.peer(next).role)),
            None => world.something_ended |= self.rules.peer(peer).gave_up(),
        }
        self.schedule_due(world);
        let swarm = self.rules.peer(peer).swarm;
        let missing = self.all[swarm as usize].availability.missing();
        if let Some(reason) = self.rules.unfinishable(swarm, missing) {
            world.outcome = Some(Outcome::Stalled(reason));
        }
    }

    /// Takes a peer out of its swarm.
    pub(super) fn leave(&mut self, world: &mut World, peer: u32) {
        let Some(machine) = self.peers[peer as usize].machine.as_mut() else { return };
        machine.leave(world.now);
        self.drain(world, peer);
        self.set_uplink(world, peer, Uplink::Idle);
        self.end_control(peer);
        let &workload::Peer { swarm, host, .. } = self.rules.peer(peer);
        let state = &mut self.peers[peer as usize];
        self.rules.leave(world.now, peer, state.progress().unwrap_or_default());
        state.last_brought = state.brought();
        state.armed = Time::NEVER;
        self.on_host[host as usize] -= 1;
        if let Some(machine) = state.machine.take() {
            self.all[swarm as usize].availability.left(machine.bitfield());
        }
    }

    pub(super) fn completed(&mut self, world: &mut World, peer: u32) {
        self.rules.complete(world.now, peer);
        self.schedule_due(world);
        world.something_ended = true;
    }

    pub(super) fn stop_swarm(&mut self, world: &mut World, workload: u32) {
        let Some(number) = self.rules.number(workload) else { return };
        for peer in self.rules.stop(number) {
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
        let Some(number) = self.rules.number(workload) else { return };
        for peer in self.rules.set_upload(number, population, limit) {
            self.set_peer_upload(world, peer, limit);
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
