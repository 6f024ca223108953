//! The peers of a swarm over time, in rates: which are there when, what each of them has by then, and how fast the
//! rest comes. A few peers represent all, each at the mean of what is drawn.

/// A peer, and how many others are like it.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    /// How many peers it represents.
    pub(crate) weight: f64,
    pub(crate) seed: bool,
    /// Its greatest sending and receiving rate, in bits of payload per second.
    pub(crate) up_bps: f64,
    pub(crate) down_bps: f64,
    /// Its uploads at a time, and whether its client limits them.
    pub(crate) slots: f64,
    pub(crate) limited: bool,
    pub(crate) arrives_s: f64,
    pub(crate) stay: Stay,
    /// Whether another one comes when it goes.
    pub(crate) replaced: bool,
}

/// How long a peer stays.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stay {
    /// This long after it is complete: a number of seconds, and a share of the time that its download took.
    Complete { seconds: f64, share: f64 },
    /// To the end of the run, or until all leechers are complete.
    On,
    /// This long after its arrival, complete or not.
    Session { seconds: f64 },
    /// Until an instant, complete or not.
    Until { at_s: f64 },
}

/// A swarm: its peers, and what all of them go by.
#[derive(Clone, Debug)]
pub(crate) struct Crowd {
    pub(crate) peers: Vec<Peer>,
    pub(crate) size_bytes: f64,
    pub(crate) piece_bytes: f64,
    /// Neighbours of a peer at most, and those that it opens connections to.
    pub(crate) degree: f64,
    /// From a peer's arrival to its first request.
    pub(crate) startup_s: f64,
    /// From a request to the first byte of its answer.
    pub(crate) rtt_s: f64,
    /// A swarm in which nothing arrives for this long is given up.
    pub(crate) stall_s: f64,
    /// The run ends at this completion.
    pub(crate) completions: f64,
    /// Whether the last blocks are requested from all owners.
    pub(crate) end_game: bool,
}

/// The counts by an instant. Times are summed over peers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Course {
    pub(crate) end_s: f64,
    /// Bytes that have arrived, and those of them that clients with an upload limit sent.
    pub(crate) bytes: f64,
    pub(crate) limited_bytes: f64,
    pub(crate) completed: f64,
    /// Peers that have come, and those that were there at a time at most.
    pub(crate) joined: f64,
    pub(crate) most: f64,
    /// Time online, and that of it without the whole file.
    pub(crate) online_s: f64,
    pub(crate) loading_s: f64,
    /// Time of connections between two peers.
    pub(crate) pairs_s: f64,
    /// Connections that were opened.
    pub(crate) opened: f64,
    /// Time of uploads that were under way.
    pub(crate) uploading_s: f64,
    /// HAVEs of whole pieces: each counts as often as there were neighbours.
    pub(crate) told: f64,
}

/// A download is followed in at least this number of steps.
const STEPS: f64 = 12.0;
/// Seconds of a download that are under way: clients ask for what arrives in 3 s.
const UNDER_WAY_S: f64 = 3.0;
/// Steps at most. What goes on afterwards goes on as it did on average.
const MAX_STEPS: usize = 2000;
/// The share of their uplinks that leechers send with while they have what others lack. Not derived: chosen so that
/// the ends of the swarms in `studies/` are met (the table of `make needs`).
const EFFICIENCY: f64 = 0.7;
/// The share of what seeds send that no leecher has yet, while they have the only whole copies; the rest goes to others
/// who lack it. Chosen in the same way.
const NEW: f64 = 0.6;

#[derive(Clone, Copy, PartialEq)]
enum Phase {
    Away,
    Loading,
    Complete,
    Gone,
}

#[derive(Clone, Copy)]
struct State {
    phase: Phase,
    /// When it came, and when it leaves as far as that is known.
    since_s: f64,
    leaves_s: f64,
    bytes: f64,
    bps: f64,
}

impl Crowd {
    /// Follows the swarm until all leechers that come have the file or are gone, or enough of them have it, or this
    /// instant.
    pub(crate) fn course(&self, until_s: f64) -> Course {
        let mut course = Course::default();
        let away = |peer: &Peer| State {
            phase: Phase::Away,
            since_s: peer.arrives_s,
            leaves_s: f64::INFINITY,
            bytes: if peer.seed { self.size_bytes } else { 0.0 },
            bps: 0.0,
        };
        let mut states: Vec<State> = self.peers.iter().map(away).collect();
        let mut injected = 0.0;
        let mut now_s = 0.0;
        for _ in 0..MAX_STEPS {
            self.move_on(now_s, &mut states, &mut course);
            let waits = |(peer, state): (&Peer, &State)| match state.phase {
                Phase::Away | Phase::Loading => !peer.seed,
                Phase::Complete => peer.replaced && state.leaves_s.is_finite(),
                Phase::Gone => false,
            };
            let unfinished = self.peers.iter().zip(&states).any(waits);
            if now_s >= until_s || !unfinished || course.completed >= self.completions {
                break;
            }
            let inject_bps = self.rate(injected, now_s, &mut states);
            let mut step_s = self.step_s(now_s, &states);
            if !step_s.is_finite() {
                // Those who wait wait in vain, until the run counts as stalled.
                now_s = (now_s + self.stall_s).min(until_s);
                break;
            }
            step_s = step_s.min(until_s - now_s);
            self.pass(step_s, &mut states, &mut course);
            injected = (injected + inject_bps / 8.0 * step_s).min(self.size_bytes);
            now_s += step_s;
        }
        course.end_s = now_s;
        let all = 1.0 + self.wasted(&course);
        course.bytes *= all;
        course.limited_bytes *= all;
        if now_s > 0.0 && now_s < until_s && course.completed < self.completions {
            self.extend(now_s, until_s, &states, &mut course);
        }
        course
    }

    /// What arrives twice, as a share of what arrives once: the last blocks are requested from several, those that are
    /// under way when nothing else is left to ask for. Not derived: it is met by half on the random studies.
    fn wasted(&self, course: &Course) -> f64 {
        let download_s = course.loading_s / (course.bytes / self.size_bytes).max(1e-9);
        if self.end_game { 0.3 * (UNDER_WAY_S / download_s.max(1e-9)).min(1.0) } else { 0.0 }
    }

    /// Peers come, are complete, and go.
    fn move_on(&self, now_s: f64, states: &mut [State], course: &mut Course) {
        let late = |at_s: f64| at_s <= now_s + 1e-9 * now_s.max(1e-3);
        for (place, peer) in self.peers.iter().enumerate() {
            let mut state = states[place];
            if state.phase == Phase::Away && late(state.since_s) {
                state.phase = if peer.seed { Phase::Complete } else { Phase::Loading };
                state.leaves_s = match peer.stay {
                    Stay::Session { seconds } => now_s + seconds,
                    Stay::Until { at_s } => at_s,
                    Stay::Complete { seconds, .. } if peer.seed => now_s + seconds,
                    _ => f64::INFINITY,
                };
                let there = self.present(states);
                course.opened += peer.weight * self.degree.min(there + peer.weight / 2.0);
                course.joined += peer.weight;
                course.most = course.most.max(there + peer.weight);
            }
            if state.phase == Phase::Loading && state.bytes >= self.size_bytes * (1.0 - 1e-6) {
                state.phase = Phase::Complete;
                course.completed += peer.weight;
                if let Stay::Complete { seconds, share } = peer.stay {
                    state.leaves_s = now_s + seconds + share * (now_s - state.since_s);
                }
            }
            let there = matches!(state.phase, Phase::Loading | Phase::Complete);
            if there && late(state.leaves_s) {
                state.phase = Phase::Gone;
                if peer.replaced {
                    let (phase, leaves_s) = (Phase::Away, f64::INFINITY);
                    state = State { phase, since_s: now_s, leaves_s, bytes: 0.0, bps: 0.0 };
                }
            }
            states[place] = state;
        }
    }

    fn present(&self, states: &[State]) -> f64 {
        let there = |state: &State| matches!(state.phase, Phase::Loading | Phase::Complete);
        let peers = self.peers.iter().zip(states);
        peers.filter(|(_, state)| there(state)).map(|(peer, _)| peer.weight).sum()
    }

    /// The share of its uplink that a peer sends with: a leecher needs something that others lack. Each round of uploads
    /// makes one peer that has a piece one and as many as it has slots.
    fn able(&self, peer: &Peer, state: &State) -> f64 {
        if state.phase != Phase::Loading {
            return 1.0;
        }
        let ready = self.piece_bytes * peer.slots / libm::log(1.0 + peer.slots);
        EFFICIENCY * (state.bytes / ready.min(self.size_bytes / 2.0)).min(1.0)
    }

    /// How fast each leecher receives. Uplinks are shared equally, except by leechers whose downlink takes less; none
    /// has more than has left the seeds. Returns how fast that grows.
    fn rate(&self, injected: f64, now_s: f64, states: &mut [State]) -> f64 {
        let (mut seeds_bps, mut leechers_bps, mut copies) = (0.0, 0.0, 0.0);
        let mut slots: f64 = 1.0;
        for (peer, state) in self.peers.iter().zip(states.iter()) {
            let all_bps = peer.weight * peer.up_bps;
            match state.phase {
                Phase::Complete if peer.seed => {
                    seeds_bps += all_bps;
                    slots = slots.max(peer.slots);
                }
                Phase::Complete => {
                    seeds_bps += all_bps;
                    copies += peer.weight;
                }
                Phase::Loading => leechers_bps += all_bps * self.able(peer, state),
                _ => {}
            }
        }
        let whole = copies > 0.0 || injected >= self.size_bytes;
        let takes = |peer: &Peer, state: &State| {
            state.phase == Phase::Loading
                && now_s >= state.since_s + self.startup_s
                && peer.down_bps > 0.0
        };
        let pairs = self.peers.iter().zip(states.iter());
        let takers: f64 = pairs.filter(|(it, at)| takes(it, at)).map(|(it, _)| it.weight).sum();
        // A piece that has left the seeds is passed on when it is whole: they send a piece on each
        // slot.
        let begun = (self.piece_bytes * slots.min(takers)).min(self.size_bytes / 2.0);
        let new_bps = if injected < begun { seeds_bps / takers.max(1.0) } else { NEW * seeds_bps };
        let top = match whole {
            true => f64::INFINITY,
            false if injected < begun => 0.0,
            false => injected - begun / 2.0,
        };
        let most_bps = |peer: &Peer, state: &State| match takes(peer, state) {
            false => 0.0,
            true if state.bytes >= top => peer.down_bps.min(new_bps),
            true => peer.down_bps,
        };
        let (mut bps, mut takers) = (seeds_bps + leechers_bps, 0.0);
        for (peer, state) in self.peers.iter().zip(states.iter_mut()) {
            state.bps = most_bps(peer, state);
            takers += if state.bps > 0.0 { peer.weight } else { 0.0 };
        }
        let mut fair_bps = bps / f64::max(takers, 1e-9);
        for _ in 0..4 {
            // Those that take less than an equal share leave more to others.
            (bps, takers) = (seeds_bps + leechers_bps, 0.0);
            for (peer, state) in self.peers.iter().zip(states.iter()) {
                if state.bps > fair_bps {
                    takers += peer.weight;
                } else {
                    bps -= peer.weight * state.bps;
                }
            }
            if takers > 0.0 {
                fair_bps = fair_bps.max(bps / takers);
            }
        }
        for state in states.iter_mut() {
            state.bps = state.bps.min(fair_bps);
        }
        let taken: f64 =
            self.peers.iter().zip(states.iter()).map(|(it, at)| it.weight * at.bps).sum();
        NEW * seeds_bps.min(taken)
    }

    /// Until when nothing changes much.
    fn step_s(&self, now_s: f64, states: &[State]) -> f64 {
        let mut step_s = f64::INFINITY;
        for state in states {
            match state.phase {
                Phase::Away => step_s = step_s.min(state.since_s - now_s),
                Phase::Loading => {
                    let begins_s = state.since_s + self.startup_s;
                    if begins_s > now_s {
                        step_s = step_s.min(begins_s - now_s);
                    }
                    if state.bps > 0.0 {
                        let rest = (self.size_bytes - state.bytes).max(self.size_bytes * 1e-7);
                        let least =
                            (self.size_bytes / STEPS).min(state.bytes.max(self.piece_bytes / 2.0));
                        step_s = step_s.min(rest.min(least) * 8.0 / state.bps);
                    }
                    step_s = step_s.min(state.leaves_s - now_s);
                }
                Phase::Complete => step_s = step_s.min(state.leaves_s - now_s),
                Phase::Gone => {}
            }
        }
        step_s.max(1e-6)
    }

    fn pass(&self, step_s: f64, states: &mut [State], course: &mut Course) {
        let there = self.present(states);
        let degree = self.degree.min((there - 1.0).max(0.0));
        let (mut loading, mut slots) = (0.0, 0.0);
        let (mut limited_bps, mut all_bps, before) = (0.0, 1e-9, course.bytes);
        for (peer, state) in self.peers.iter().zip(states.iter_mut()) {
            if matches!(state.phase, Phase::Loading | Phase::Complete) {
                slots += if peer.up_bps > 0.0 { peer.weight * peer.slots } else { 0.0 };
                let bps = peer.weight * peer.up_bps * self.able(peer, state);
                all_bps += bps;
                limited_bps += if peer.limited { bps } else { 0.0 };
            }
            if state.phase == Phase::Loading {
                let bytes = state.bps / 8.0 * step_s;
                state.bytes += bytes;
                course.bytes += peer.weight * bytes;
                course.told += peer.weight * bytes / self.piece_bytes.min(self.size_bytes) * degree;
                loading += peer.weight;
            }
        }
        course.limited_bytes += (course.bytes - before) * limited_bps / all_bps;
        // Two who are complete part.
        let complete = (there - loading) / f64::max(there, 1.0);
        course.pairs_s += there * degree / 2.0 * (1.0 - complete * complete) * step_s;
        course.online_s += there * step_s;
        course.loading_s += loading * step_s;
        course.uploading_s += slots.min(loading * degree) * step_s;
    }

    /// How many peers it has, with the number that each represents.
    pub(crate) fn size(&self) -> f64 {
        self.peers.iter().map(|peer| peer.weight).sum()
    }

    /// What the rest of the time brings, if it goes on as before.
    fn extend(&self, now_s: f64, until_s: f64, states: &[State], course: &mut Course) {
        let replaced = self.peers.iter().any(|peer| peer.replaced);
        let going =
            self.peers.iter().zip(states).any(|(peer, state)| {
                !peer.seed && state.phase == Phase::Loading && state.bps > 0.0
            });
        if !(replaced && going) {
            return;
        }
        let rest_s = until_s.min(now_s * self.completions / course.completed.max(1e-9));
        let times = rest_s / now_s;
        course.end_s = rest_s;
        course.bytes *= times;
        course.limited_bytes *= times;
        course.completed *= times;
        course.joined *= times;
        course.online_s *= times;
        course.loading_s *= times;
        course.pairs_s *= times;
        course.opened *= times;
        course.uploading_s *= times;
        course.told *= times;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SIZE: f64 = 100e6;

    /// Seeds, and leechers by their weight, their downlink in Mbit/s and the second of their arrival. All send with
    /// 1 Mbit/s and stay.
    fn crowd(seeds: f64, leechers: &[(f64, f64, f64)]) -> Crowd {
        let peer = |weight, down_bps, arrives_s, seed| Peer {
            weight,
            seed,
            up_bps: 1e6,
            down_bps,
            slots: 4.0,
            limited: !seed,
            arrives_s,
            stay: Stay::On,
            replaced: false,
        };
        let leechers =
            leechers.iter().map(|(weight, mbps, at)| peer(*weight, mbps * 1e6, *at, false));
        Crowd {
            peers: leechers.chain([peer(seeds, 0.0, 0.0, true)]).collect(),
            size_bytes: SIZE,
            piece_bytes: 1e6,
            degree: 3.0,
            startup_s: 2.0,
            rtt_s: 0.1,
            stall_s: 100.0,
            completions: f64::INFINITY,
            end_game: false,
        }
    }

    fn near(found: f64, expected: f64) -> bool {
        (found - expected).abs() <= 1e-5 * expected.abs().max(1.0)
    }

    proptest! {
        /// All leechers get the file, no sooner than lines allow, and sums of times are those of the peers.
        #[test]
        fn the_course_of_a_crowd_adds_up(
            seeds in 1_u32..4,
            leechers in prop::collection::vec((1_u32..20, 1_u32..50, 0_u32..2000), 1..6),
            cut in 0.1_f64..0.9,
        ) {
            let seeds = f64::from(seeds);
            let leechers: Vec<(f64, f64, f64)> = leechers.into_iter()
                .map(|(weight, down, at)| (f64::from(weight), f64::from(down), f64::from(at)))
                .collect();
            let sum = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
                leechers.iter().map(|(weight, mbps, at)| weight * of(*mbps, *at)).sum()
            };
            let swarm = crowd(seeds, &leechers);
            let all = sum(&|_, _| 1.0);
            prop_assert!(near(swarm.size(), all + seeds));
            let course = swarm.course(1e7);
            let end_s = course.end_s;
            prop_assert!(near(course.completed, all) && near(course.bytes, all * SIZE), "{:?}", course);
            prop_assert!(near(course.joined, all + seeds) && near(course.most, all + seeds));
            let alone_s = |mbps: f64| 2.0 + SIZE * 8.0 / (mbps * 1e6);
            for (_, mbps, at) in &leechers {
                prop_assert!(end_s >= (at + alone_s(*mbps)) * (1.0 - 1e-5), "{:?}", course);
            }
            prop_assert!(end_s * (all + seeds) * 1e6 >= all * SIZE * 8.0 * (1.0 - 1e-5), "uplinks");
            let online_s = sum(&|_, at| end_s - at) + seeds * end_s;
            prop_assert!(near(course.online_s, online_s), "{:?}", course);
            prop_assert!(course.loading_s >= sum(&|mbps, _| alone_s(mbps)) * (1.0 - 1e-5));
            prop_assert!(course.loading_s <= sum(&|_, at| end_s - at) * (1.0 + 1e-5));
            prop_assert!(course.uploading_s <= 3.0 * course.loading_s * (1.0 + 1e-5));
            prop_assert!(course.pairs_s <= 1.5 * course.online_s && course.pairs_s > 0.0);
            prop_assert!(course.told <= 3.0 * course.bytes / 1e6 * (1.0 + 1e-5));
            prop_assert!((0.0..course.bytes).contains(&course.limited_bytes));
            // Cut off earlier, less has happened.
            let part = swarm.course(end_s * cut);
            prop_assert!(near(part.end_s, end_s * cut));
            prop_assert!(part.bytes <= course.bytes && part.completed <= course.completed);
            prop_assert!(part.joined <= course.joined && part.loading_s <= course.loading_s * (1.0 + 1e-5));
            let enough = Crowd { completions: 1.0, ..swarm.clone() }.course(1e7);
            prop_assert!(enough.completed >= 1.0 && enough.end_s <= end_s);
            // Blocks that are requested twice come twice, but for less than a third.
            let twice = Crowd { end_game: true, ..swarm.clone() }.course(1e7).bytes / course.bytes;
            prop_assert!((1.0..1.31).contains(&twice), "{}", twice);
        }

        /// Peers that leave once they have the file, and are replaced, go on as before.
        #[test]
        fn a_crowd_of_replacements_goes_on(seconds in 0_u32..500, weight in 1_u32..20, times in 2_u32..5) {
            let mut swarm = crowd(2.0, &[(f64::from(weight), 10.0, 0.0)]);
            swarm.peers[0].replaced = true;
            swarm.peers[0].stay = Stay::Complete { seconds: f64::from(seconds), share: 0.5 };
            let once = Crowd { completions: 1.0, ..swarm.clone() }.course(1e7);
            let until_s = f64::from(times) * (once.end_s * 1.5 + f64::from(seconds)) + 1.0;
            let course = swarm.course(until_s);
            prop_assert!(near(course.end_s, until_s));
            prop_assert!(course.completed >= f64::from(times * weight) * (1.0 - 1e-5), "{:?}", course);
            prop_assert!(near(course.online_s, (f64::from(weight) + 2.0) * until_s), "{:?}", course);
        }
    }

    #[test]
    fn a_crowd_without_a_seed_waits_until_it_counts_as_stalled() {
        let course = crowd(0.0, &[(3.0, 1.0, 5.0)]).course(1e7);
        assert_eq!((course.completed, course.bytes), (0.0, 0.0));
        assert!((100.0..110.0).contains(&course.end_s), "{course:?}");
    }
}
