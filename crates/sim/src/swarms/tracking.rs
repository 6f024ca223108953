//! Announces on their way to the tracker, and its answers.

use super::*;

impl Sim<'_> {
    /// The question reaches the tracker and its answer the peer after two round trips: one for
    /// the handshake, one for the exchange.
    pub(super) fn announce(&mut self, peer: u32, event: swarm::Event, numwant: Option<u16>) {
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
}
