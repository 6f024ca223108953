//! The tracker (`clients.md` A.9).

use crate::{AnnounceEvent, PeerId};
use flashcrowd_base::{RandomStream, Span, Time};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How a tracker answers, whatever its clients are. Its operator chooses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TrackerRules {
    /// The interval that it tells its clients. Mainline 1800 s.
    pub interval_ns: Span,
    /// Peers in an answer to a client that names no number. Mainline 50.
    pub default_peers: u16,
    /// Peers in an answer at most. Mainline 200.
    pub max_peers: u16,
    /// The lists from which answers are dealt live no longer than this. Mainline 600 s; zero deals
    /// every answer from lists of its instant.
    pub reshuffle_ns: Span,
    /// Whether seeds are listed to seeds. Mainline no.
    pub seeds_to_seeds: bool,
    /// A peer that has not announced for this long is forgotten. Mainline
    /// `timeout_downloaders_interval` 2700 s.
    pub forget_ns: Span,
}

impl TrackerRules {
    /// The tracker that comes with Mainline 4.0.2 (`clients.md` A.9).
    pub const MAINLINE: TrackerRules = TrackerRules {
        interval_ns: Span::from_secs(1800),
        default_peers: 50,
        max_peers: 200,
        reshuffle_ns: Span::from_secs(600),
        seeds_to_seeds: false,
        forget_ns: Span::from_secs(2700),
    };

    /// The tracker of the module for ns-2 (`clients.md` B): every answer is a sample of all who are
    /// there, whatever they have.
    pub const NS2: TrackerRules = TrackerRules {
        default_peers: 25,
        reshuffle_ns: Span::ZERO,
        seeds_to_seeds: true,
        ..TrackerRules::MAINLINE
    };
}

/// The answer of a tracker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// How long to wait before the next regular announce.
    pub interval: Span,
    /// Other peers.
    pub peers: Vec<PeerId>,
}

/// Knows the peers of a swarm, and deals them out from shuffled lists, from which it takes until they
/// are used up or too old. A list may name peers that have left since it was made.
#[derive(Clone, Debug)]
pub struct Tracker {
    rules: TrackerRules,
    members: BTreeMap<PeerId, Member>,
    seeds: usize,
    /// To be dealt, from the end.
    lists: Option<Lists>,
    swept: Time,
}

#[derive(Clone, Copy, Debug)]
struct Member {
    seed: bool,
    heard: Time,
}

#[derive(Clone, Debug)]
struct Lists {
    made: Time,
    leechers: Vec<PeerId>,
    seeds: Vec<PeerId>,
}

impl Tracker {
    /// A tracker without peers.
    pub fn new(rules: TrackerRules) -> Tracker {
        Tracker { rules, members: BTreeMap::new(), seeds: 0, lists: None, swept: Time::START }
    }
    /// How many peers it knows that lack something.
    pub fn leechers(&self) -> usize {
        self.members.len() - self.seeds
    }
    /// How many peers it knows that have everything.
    pub fn seeds(&self) -> usize {
        self.seeds
    }
    /// `peer` announces itself. `is_seed` says whether it has everything now.
    pub fn announce(
        &mut self,
        now: Time,
        peer: PeerId,
        event: AnnounceEvent,
        numwant: Option<u16>,
        is_seed: bool,
        stream: &mut RandomStream,
    ) -> Answer {
        self.sweep(now);
        if event == AnnounceEvent::Stopped {
            self.remove(peer);
            return self.answer(Vec::new());
        }
        self.remove(peer);
        self.members.insert(peer, Member { seed: is_seed, heard: now });
        self.seeds += usize::from(is_seed);
        let wanted = numwant.unwrap_or(self.rules.default_peers).min(self.rules.max_peers);
        let mut peers = if wanted == 0 {
            Vec::new()
        } else {
            self.deal(now, usize::from(wanted), is_seed && !self.rules.seeds_to_seeds, stream)
        };
        peers.retain(|other| *other != peer);
        self.answer(peers)
    }
    fn answer(&self, peers: Vec<PeerId>) -> Answer {
        Answer { interval: self.rules.interval_ns, peers }
    }
    fn remove(&mut self, peer: PeerId) {
        if let Some(member) = self.members.remove(&peer) {
            self.seeds -= usize::from(member.seed);
        }
    }
    /// Forgets peers that have not announced for long. Looks as rarely.
    fn sweep(&mut self, now: Time) {
        let age = self.rules.forget_ns;
        if now.since(self.swept) >= age {
            self.swept = now;
            self.members.retain(|_, member| now.since(member.heard) <= age);
            self.seeds = self.members.values().filter(|member| member.seed).count();
        }
    }
    /// Leechers in proportion to their share, and seeds, unless only `leechers_only`.
    fn deal(
        &mut self,
        now: Time,
        wanted: usize,
        leechers_only: bool,
        stream: &mut RandomStream,
    ) -> Vec<PeerId> {
        let share = wanted * self.leechers() / self.members.len().max(1);
        let reshuffle = self.rules.reshuffle_ns;
        let usable = |lists: &Lists| {
            now.since(lists.made) <= reshuffle
                && !(leechers_only && lists.leechers.len() < wanted)
                && lists.leechers.len() >= share
                && !lists.leechers.is_empty()
        };
        let mut lists = match self.lists.take() {
            Some(lists) if usable(&lists) => lists,
            _ => self.shuffled(now, stream),
        };
        let mut peers = Vec::with_capacity(wanted);
        if lists.leechers.len() < share {
            peers.append(&mut lists.leechers);
            if !leechers_only {
                peers.append(&mut lists.seeds);
            }
            lists.seeds.clear();
        } else {
            if !leechers_only {
                take_last(&mut lists.seeds, wanted - share, &mut peers);
            }
            take_last(&mut lists.leechers, wanted - peers.len(), &mut peers);
        }
        self.lists = Some(lists);
        peers
    }
    fn shuffled(&self, now: Time, stream: &mut RandomStream) -> Lists {
        let list = |seed| {
            let members = self.members.iter().filter(move |(_, member)| member.seed == seed);
            members.map(|(peer, _)| *peer).collect()
        };
        let mut lists = Lists { made: now, leechers: list(false), seeds: list(true) };
        stream.shuffle(&mut lists.leechers);
        stream.shuffle(&mut lists.seeds);
        lists
    }
}

fn take_last(from: &mut Vec<PeerId>, count: usize, to: &mut Vec<PeerId>) {
    to.extend(from.drain(from.len() - count.min(from.len())..));
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Swarm {
        tracker: Tracker,
        stream: RandomStream,
    }
    impl Swarm {
        /// Leechers 0.., then seeds.
        fn new(leechers: u32, seeds: u32) -> Swarm {
            let tracker = Tracker::new(TrackerRules::MAINLINE);
            let mut swarm = Swarm { tracker, stream: RandomStream::new(1, "tracker", 0) };
            for peer in 0..leechers + seeds {
                swarm.ask(0, peer, AnnounceEvent::Started, Some(0), peer >= leechers);
            }
            swarm
        }
        fn ask(
            &mut self,
            at: u64,
            peer: u32,
            event: AnnounceEvent,
            numwant: Option<u16>,
            seed: bool,
        ) -> Vec<u32> {
            let now = Time::START + Span::from_secs(at);
            let answer =
                self.tracker.announce(now, PeerId(peer), event, numwant, seed, &mut self.stream);
            assert_eq!(answer.interval, Span::from_secs(1800));
            answer.peers.iter().map(|peer| peer.0).collect()
        }
    }

    #[test]
    fn fifty_peers_by_default_two_hundred_at_most_and_none_for_none() {
        let mut swarm = Swarm::new(400, 0);
        // Oneself may be among those dealt, and is left out.
        assert!((49..=50).contains(&swarm.ask(1, 0, AnnounceEvent::None, None, false).len()));
        assert!(
            (199..=200).contains(&swarm.ask(1, 0, AnnounceEvent::None, Some(1000), false).len())
        );
        assert_eq!(swarm.ask(1, 0, AnnounceEvent::None, Some(0), false).len(), 0);
    }

    #[test]
    fn seeds_are_mixed_in_by_their_share_and_never_told_to_seeds() {
        let mut swarm = Swarm::new(150, 50);
        let peers = swarm.ask(1, 0, AnnounceEvent::None, Some(40), false);
        let seeds = peers.iter().filter(|peer| **peer >= 150).count();
        assert_eq!(seeds, 10);
        let peers = swarm.ask(1, 160, AnnounceEvent::None, Some(40), true);
        assert_eq!(peers.len(), 40);
        assert!(peers.iter().all(|peer| *peer < 150));
    }

    #[test]
    fn a_single_seed_is_told_once_a_list() {
        let mut swarm = Swarm::new(300, 1);
        let told: Vec<bool> = (0..6)
            .map(|n| swarm.ask(1, n, AnnounceEvent::None, None, false).contains(&300))
            .collect();
        assert_eq!(told, [true, false, false, false, false, false]);
        // The list has fewer than 49 left and is made again.
        assert!(swarm.ask(1, 7, AnnounceEvent::None, None, false).contains(&300));
    }

    #[test]
    fn nobody_is_told_twice_from_one_list_and_the_list_gets_old() {
        let mut swarm = Swarm::new(300, 0);
        let mut seen = Vec::new();
        (0..5).for_each(|n| seen.extend(swarm.ask(1, n, AnnounceEvent::None, Some(50), false)));
        seen.sort_unstable();
        let count = seen.len();
        seen.dedup();
        assert_eq!(seen.len(), count);
        swarm.ask(602, 0, AnnounceEvent::None, Some(50), false);
        let left = swarm.tracker.lists.as_ref().unwrap().leechers.len();
        assert_eq!(left, 250, "made anew after 600 s");
    }

    #[test]
    fn leavers_and_the_silent_are_forgotten_and_leechers_become_seeds() {
        let mut swarm = Swarm::new(10, 1);
        swarm.ask(1, 3, AnnounceEvent::Stopped, None, false);
        swarm.ask(1, 4, AnnounceEvent::Completed, Some(0), true);
        assert_eq!((swarm.tracker.leechers(), swarm.tracker.seeds()), (8, 2));
        swarm.ask(2702, 4, AnnounceEvent::None, None, true);
        assert_eq!((swarm.tracker.leechers(), swarm.tracker.seeds()), (0, 1));
    }

    #[test]
    fn the_first_of_a_crowd_is_told_nobody() {
        let mut swarm = Swarm::new(0, 0);
        assert!(swarm.ask(0, 0, AnnounceEvent::Started, None, false).is_empty());
        assert_eq!(swarm.ask(0, 1, AnnounceEvent::Started, None, false), [0]);
    }

    /// The defaults of a scenario's tracker are compared with the same file.
    #[test]
    fn the_wire_form_of_mainline_s_rules_is_known() {
        let rules: TrackerRules =
            serde_json::from_str(include_str!("../tests/tracker.json")).unwrap();
        assert_eq!(rules, TrackerRules::MAINLINE);
    }
}
