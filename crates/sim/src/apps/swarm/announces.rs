//! Announces on their way to the tracker, and its answers.

use super::*;

impl Swarms<'_> {
    /// The answer reaches the peer after two round trips, one for the handshake and one for the
    /// exchange, and what the tracker takes for it.
    pub(super) fn announce(
        &mut self,
        world: &mut World,
        peer: u32,
        event: swarm::AnnounceEvent,
        numwant: Option<u16>,
    ) {
        let state = self.rules.peer(peer);
        let spec = self.spec(state.swarm);
        let host = state.host;
        let delay = spec.map_or(Span::ZERO, |spec| spec.tracker.answer_delay_ns);
        let tracker = spec.and_then(|spec| spec.tracker.host);
        let rtt = tracker.map_or(Span::ZERO, |tracker| world.network.base_rtt(host, tracker));
        let last = self.announces.range((peer, 0)..=(peer, u64::MAX)).next_back();
        let number = last.map_or(0, |(&(_, last), _)| last + 1);
        self.announces.insert((peer, number), Announce { event, numwant });
        self.schedule(world, world.now + rtt * 2 + delay, Code::Tracker, peer);
    }

    /// The first of a peer's announces that are under way is answered: also of one instant, they come in their order.
    pub(super) fn on_tracker(&mut self, world: &mut World, peer: u32) {
        let first = self.announces.range((peer, 0)..=(peer, u64::MAX)).next().map(|(&at, _)| at);
        let Some(Announce { event, numwant }) = first.and_then(|at| self.announces.remove(&at))
        else {
            return;
        };
        let &workload::Peer { swarm, id, .. } = self.rules.peer(peer);
        let state = &mut self.peers[peer as usize];
        let swarm = &mut self.all[swarm as usize];
        let seed = state.machine.as_ref().is_some_and(|machine| machine.is_complete());
        let stream = &mut swarm.tracker_stream;
        let answer = swarm.tracker.announce(world.now, id, event, numwant, seed, stream);
        if let Some(machine) = &mut state.machine {
            machine.on_peers(world.now, answer.interval, &answer.peers);
            self.drain(world, peer);
        }
    }
}
