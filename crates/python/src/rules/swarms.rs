//! Swarms: their members, how far they are, and when they are over.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::{Mutex, MutexGuard};

use flashcrowd_base::{RandomStream, Rate, Span, Time};
use flashcrowd_plan::{Source, Workload};
use flashcrowd_swarm::{AnnounceEvent, PeerId, Role, Tracker, UploadLimit};
use flashcrowd_workload::{
    Due, Held, Progress, RttEstimates, Samples, Standing, Swarms, View, Watch, rtts,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};

use super::{Named, at, due_s, held, named, outcome_of, series_of};
use crate::faults::EngineFault;
use crate::plan::Plan;

/// The swarms of a run, as far as programs play them: arrivals and departures, how far each is, when it is
/// over, and the rows of its tables. Instants are seconds of the run.
#[pyclass(module = "flashcrowd._core", frozen)]
pub(crate) struct SwarmRules {
    plan: Plan,
    seed: u64,
    state: Mutex<State>,
}

struct State {
    rules: Swarms,
    /// What is due in each swarm, and in which order what is due at one instant was planned.
    agenda: Vec<BinaryHeap<Reverse<(Time, u64, Due)>>>,
    planned: u64,
    /// The last report of each client.
    progress: Vec<Progress>,
    /// Limits that controllers set, by peer.
    limits: BTreeMap<u32, UploadLimit>,
    samples: Samples,
    /// By swarm and population.
    rtts: BTreeMap<(u32, u32), RttEstimates>,
}

impl State {
    /// Notes what has become due.
    fn plan_due(&mut self) {
        let due: Vec<(Time, Due)> = self.rules.take_due().collect();
        for (at, due) in due {
            let swarm = match due {
                Due::Arrival(peer) | Due::Departure(peer) => self.rules.peer(peer).swarm,
                Due::Census => 0, // It counts those of all swarms.
            };
            self.planned += 1;
            self.agenda[swarm as usize].push(Reverse((at, self.planned, due)));
        }
        self.progress.resize(self.rules.peers().len(), Progress::default());
    }

    /// The progress of an online peer's client.
    fn online(&self) -> impl Fn(u32) -> Option<Progress> {
        |number| self.rules.peer(number).is_online().then(|| self.progress[number as usize])
    }
}

/// How far a swarm is, and which pieces are there.
#[derive(Serialize, Deserialize)]
struct Part {
    standing: Standing,
    held: Held,
}

/// One peer of a swarm, as it stands.
#[pyclass(module = "flashcrowd._core", frozen, get_all)]
pub(crate) struct SwarmPeer {
    number: u32,
    population: u32,
    host: u32,
    is_leecher: bool,
    member: Option<u32>,
    arrived_s: Option<f64>,
    completed_s: Option<f64>,
    left_s: Option<f64>,
}

#[pymethods]
impl SwarmRules {
    /// The time series of a whole swarm, of which each node that plays it knows a part.
    #[classattr]
    #[pyo3(name = "SERIES")]
    fn series() -> Vec<&'static str> {
        series_of(Source::Swarms)
    }

    /// The swarms of a plan in a run with a seed; with `own`, the peers on these hosts alone.
    #[new]
    #[pyo3(signature = (plan, seed, own = None))]
    fn new(plan: &Plan, seed: u64, own: Option<BTreeSet<u32>>) -> SwarmRules {
        let plays = |host| own.as_ref().is_none_or(|own| own.contains(&host));
        let mut rules = Swarms::new(plan.data(), seed, View::Outside, plays);
        rules.begin();
        let mut state = State {
            agenda: vec![BinaryHeap::new(); rules.all().len()],
            rules,
            planned: 0,
            progress: Vec::new(),
            limits: BTreeMap::new(),
            samples: Samples::new(&plan.data().measures.series, &[Source::Swarms, Source::Clients]),
            rtts: BTreeMap::new(),
        };
        state.plan_due();
        SwarmRules { plan: plan.clone(), seed, state: Mutex::new(state) }
    }

    /// Every peer of the swarm that is this workload of the plan: planned ones, then those that followed others.
    fn peers(&self, workload: u32) -> PyResult<Vec<SwarmPeer>> {
        let (state, swarm) = self.swarm(workload)?;
        let peers = (0..).zip(state.rules.peers()).filter(|(_, peer)| peer.swarm == swarm);
        Ok(peers.map(|(number, peer)| seen(number, peer)).collect())
    }

    /// The peer of this number.
    fn peer(&self, number: u32) -> SwarmPeer {
        seen(number, self.state().rules.peer(number))
    }

    /// When peers of a swarm come that have not come yet, as far as it is known.
    fn arrivals(&self, workload: u32) -> PyResult<Vec<(u32, f64)>> {
        let (state, swarm) = self.swarm(workload)?;
        let mut found: Vec<(Time, u32)> = state.agenda[swarm as usize]
            .iter()
            .filter_map(|Reverse((at, _, due))| match due {
                Due::Arrival(peer) => Some((*at, *peer)),
                Due::Departure(_) | Due::Census => None,
            })
            .collect();
        found.sort_unstable();
        Ok(found.into_iter().map(|(at, peer)| (peer, at.seconds())).collect())
    }

    /// Events of a swarm that are due by now, in order: `("arrive", peer)` or `("leave", peer)`. Pieces are
    /// counted by themselves.
    fn due(&self, now_s: f64, workload: u32) -> PyResult<Vec<(&'static str, u32)>> {
        let (mut state, swarm) = self.swarm(workload)?;
        let mut found = Vec::new();
        while let Some(&Reverse((at, _, due))) = state.agenda[swarm as usize].peek()
            && at <= self::at(now_s)
        {
            state.agenda[swarm as usize].pop();
            match due {
                Due::Arrival(_) if state.rules.swarm(swarm).stopped => {}
                Due::Arrival(peer) => found.push(("arrive", peer)),
                Due::Departure(peer) => {
                    if state.rules.departs(peer) {
                        found.push(("leave", peer));
                    }
                }
                Due::Census => {
                    let State { rules, progress, .. } = &mut *state;
                    rules.count_pieces(at, |number| Some(progress[number as usize]));
                    state.plan_due();
                }
            }
        }
        Ok(found)
    }

    /// When something is due in a swarm next; None if nothing is.
    fn next_due(&self, workload: u32) -> PyResult<Option<f64>> {
        let (state, swarm) = self.swarm(workload)?;
        Ok(state.agenda[swarm as usize].peek().map(|Reverse((at, ..))| at.seconds()))
    }

    /// The client of a peer has joined; whether it may: a stopped swarm takes no peers.
    fn arrive(&self, now_s: f64, number: u32) -> bool {
        let mut state = self.state();
        let comes = state.rules.arrive(at(now_s), number);
        state.plan_due();
        comes
    }

    /// The report of a peer's client: bytes of blocks received and sent, those that it had already, whole pieces,
    /// neighbours, and how many of them interest it and do not choke it. None is what a program does not report.
    #[allow(clippy::too_many_arguments, reason = "a row of what a client says, by name")]
    #[pyo3(signature = (now_s, number, *, down, up, wasted, pieces, neighbours, interested, unchoking))]
    fn observe(
        &self,
        now_s: f64,
        number: u32,
        down: u64,
        up: u64,
        wasted: Option<u64>,
        pieces: u32,
        neighbours: u32,
        interested: Option<u32>,
        unchoking: Option<u32>,
    ) {
        let mut state = self.state();
        let progress = Progress { down, wasted, up, pieces };
        state.progress[number as usize] = progress;
        if state.rules.peer(number).is_online() {
            let download = state.rules.seen(number, neighbours, interested, unchoking);
            state.rules.stand(at(now_s), number, download, false);
        } else {
            state.rules.close(number, progress);
        }
    }

    /// A leecher completed a piece.
    fn has_piece(&self, at_s: f64, number: u32, piece: u32) {
        self.state().rules.has_piece(at(at_s), number, piece);
    }

    /// A leecher has the file.
    fn complete(&self, at_s: f64, number: u32) {
        let mut state = self.state();
        state.rules.complete(at(at_s), number);
        state.plan_due();
    }

    /// A peer has left. Gives the number of the leecher that follows it, if its population replaces and it was
    /// its own departure.
    fn leave(&self, now_s: f64, number: u32, departs: bool) -> Option<u32> {
        let mut state = self.state();
        let last = state.progress[number as usize];
        state.rules.leave(at(now_s), number, last);
        let next = departs.then(|| state.rules.succeed(at(now_s), number)).flatten();
        state.plan_due();
        next
    }

    /// The timeline stops a swarm: arrivals end, and these peers leave.
    fn stop(&self, workload: u32) -> PyResult<Vec<u32>> {
        let (mut state, swarm) = self.swarm(workload)?;
        Ok(state.rules.stop(swarm))
    }

    /// The upload limit of a population changes, in bit/s, None for no limit; the peers that get it.
    fn set_upload(
        &self,
        workload: u32,
        population: u32,
        upload_bps: Option<u64>,
    ) -> PyResult<Vec<u32>> {
        let limit = limit_of(upload_bps);
        let (mut state, swarm) = self.swarm(workload)?;
        Ok(state.rules.set_upload(swarm, population, limit))
    }

    /// The controller of a peer's client set its limit, in bit/s, None for no limit.
    fn controlled(&self, number: u32, upload_bps: Option<u64>) {
        self.state().limits.insert(number, limit_of(upload_bps));
    }

    /// Whether an online peer that another node plays lacks pieces.
    fn wanted_elsewhere(&self, now_s: f64, workload: u32, wanted: bool) -> PyResult<()> {
        let (mut state, swarm) = self.swarm(workload)?;
        state.rules.wanted_elsewhere(at(now_s), swarm, wanted);
        Ok(())
    }

    /// Why a swarm can go on no longer, if it cannot; `held` are the pieces that online peers have, as for `part`.
    fn stall(
        &self,
        now_s: f64,
        workload: u32,
        held: Option<&[u8]>,
        whole: bool,
    ) -> PyResult<Option<String>> {
        let (mut state, swarm) = self.swarm(workload)?;
        let missing = held_of(held, whole).missing(state.rules.swarm(swarm).pieces);
        let State { rules, progress, .. } = &mut *state;
        let online: Vec<Option<Progress>> = (0..)
            .zip(rules.peers())
            .map(|(number, peer): (usize, _)| peer.is_online().then(|| progress[number]))
            .collect();
        Ok(rules.stall(at(now_s), swarm, missing, |number| online[number as usize]))
    }

    /// How far a swarm is (JSON), for `SwarmWatch`. `held` are the pieces that online peers here have, as a
    /// bitfield; None if one has not reported. `whole`: one peer has all.
    fn part(&self, workload: u32, held: Option<&[u8]>, whole: bool) -> PyResult<String> {
        let (state, swarm) = self.swarm(workload)?;
        let standing = state.rules.standing(swarm, None, state.online());
        serde_json::to_string(&Part { standing, held: held_of(held, whole) })
            .map_err(|error| EngineFault::new_err(error.to_string()))
    }

    /// Whether a swarm has nothing more to wait for.
    fn is_done(&self, workload: u32) -> PyResult<bool> {
        let (state, swarm) = self.swarm(workload)?;
        Ok(state.rules.is_done(swarm))
    }

    /// A line for each swarm that is not done.
    fn unfinished(&self) -> Vec<String> {
        self.state().rules.unfinished()
    }

    /// What the timeline stopped before it was complete, if it did.
    fn stopped(&self) -> Option<String> {
        self.state().rules.stopped()
    }

    /// A line for each swarm of which no block reached any leecher, though it should have.
    fn undelivered(&self, now_s: f64, outcome: &str) -> Vec<String> {
        let state = self.state();
        let outcome = outcome_of(outcome, String::new());
        state.rules.undelivered(at(now_s), outcome.as_ref(), state.online())
    }

    /// Share of what leechers of a swarm want that has arrived.
    fn progress(&self, workload: u32) -> PyResult<f64> {
        let (state, swarm) = self.swarm(workload)?;
        Ok(state.rules.progress_of(swarm, state.online()))
    }

    /// A connection of a population has this estimate of its round-trip time, and sent as often.
    fn estimate(&self, workload: u32, population: u32, rtt_s: f64, sends: u64) -> PyResult<()> {
        let (mut state, swarm) = self.swarm(workload)?;
        state.rtts.entry((swarm, population)).or_default().add(Span::from_seconds(rtt_s), sends);
        Ok(())
    }

    /// When a series is sampled next; infinite if none is.
    fn samples_due_s(&self) -> f64 {
        due_s(self.state().samples.due())
    }

    /// Records the values of the series that are due by then, in all swarms.
    fn sample(&self, now_s: f64) {
        let mut state = self.state();
        let State { rules, progress, limits, samples, .. } = &mut *state;
        let online =
            |number: u32| rules.peer(number).is_online().then(|| progress[number as usize]);
        let limit = |number: u32| limit(rules, limits, number);
        samples.look(at(now_s), |what| rules.sample(what, online, limit));
    }

    /// The tables `downloads`, `populations`, `pieces`, `have`, `series` and `rtts` by name, each as its columns by name.
    /// `timeouts` are the retransmission timeouts of each peer, by its number.
    fn tables(&self, now_s: f64, timeouts: BTreeMap<u32, u64>) -> Vec<Named> {
        let state = self.state();
        let sum = |group: (u32, u32, bool)| {
            let mine = timeouts.iter().filter(|(number, _)| {
                let peer = state.rules.peer(**number);
                (peer.swarm, peer.population, peer.is_leecher()) == group
            });
            mine.map(|(_, count)| count).sum()
        };
        let plan = self.plan.data();
        let name = |what, source| state.rules.source_name(plan, what, source).unwrap_or_default();
        let tables = state.rules.tables(plan, at(now_s), state.online(), sum);
        let series = state.samples.table(name);
        let estimates = state.rtts.iter().map(|((swarm, population), estimates)| {
            let spec = &state.rules.swarm(*swarm).spec;
            (&*spec.name, &*spec.populations[*population as usize].name, estimates)
        });
        tables.into_iter().chain([series, rtts(estimates)]).map(named).collect()
    }

    /// Bits that decide the content of a swarm's file.
    fn content(&self, workload: u32) -> u64 {
        RandomStream::new(self.seed, "content", u64::from(workload)).bits()
    }

    /// How long after the arrival of a peer's client its controller is started, in seconds.
    fn control_start(&self, number: u32) -> f64 {
        let state = self.state();
        let spread = state.rules.population(number).upload_control.as_ref();
        let spread = spread.map_or(Span::ZERO, |control| control.start_spread_ns);
        let mut stream = RandomStream::new(self.seed, "upload control", u64::from(number));
        stream.between(Span::ZERO, spread).seconds()
    }
}

impl SwarmRules {
    fn state(&self) -> MutexGuard<'_, State> {
        held(&self.state)
    }

    /// The state, and the number of a swarm.
    fn swarm(&self, workload: u32) -> PyResult<(MutexGuard<'_, State>, u32)> {
        let state = self.state();
        match state.rules.number(workload) {
            Some(number) => Ok((state, number)),
            None => Err(PyValueError::new_err(format!("workload {workload} is no swarm"))),
        }
    }
}

fn seen(number: u32, peer: &flashcrowd_workload::Peer) -> SwarmPeer {
    SwarmPeer {
        number,
        population: peer.population,
        host: peer.host,
        is_leecher: peer.role == Role::Leecher,
        member: peer.arrived.map(|_| peer.id.0),
        arrived_s: peer.arrived.map(Time::seconds),
        completed_s: peer.completed.map(Time::seconds),
        left_s: peer.left.map(Time::seconds),
    }
}

/// The upload limit of a peer now: what its controller set, or that of its population.
fn limit(rules: &Swarms, limits: &BTreeMap<u32, UploadLimit>, number: u32) -> UploadLimit {
    let peer = rules.peer(number);
    let own = rules.swarm(peer.swarm).uploads[peer.population as usize];
    limits.get(&number).copied().unwrap_or(own)
}

fn limit_of(upload_bps: Option<u64>) -> UploadLimit {
    let limited = |bps| Rate::from_bps(bps).map_or(UploadLimit::Nothing, UploadLimit::Rate);
    upload_bps.map_or(UploadLimit::Unlimited, limited)
}

fn held_of(held: Option<&[u8]>, whole: bool) -> Held {
    match (whole, held) {
        (true, _) => Held::All,
        (false, Some(bits)) => Held::Bits(bits.to_vec()),
        (false, None) => Held::Unknown,
    }
}

/// Sees a swarm that several nodes play, each a part.
#[pyclass(module = "flashcrowd._core", frozen)]
pub(crate) struct SwarmWatch(Mutex<Watch>);

#[pymethods]
impl SwarmWatch {
    /// Of the swarm with this index among the workloads of a plan. Raises `ValueError`.
    #[new]
    fn new(plan: &Plan, workload: usize) -> PyResult<SwarmWatch> {
        let plan = plan.data();
        let Some(Workload::Swarm(spec)) = plan.workloads.get(workload) else {
            return Err(PyValueError::new_err(format!("workload {workload} is no swarm")));
        };
        Ok(SwarmWatch(Mutex::new(Watch::of(spec, plan.stop.stall_ns, View::Outside))))
    }

    /// Why the swarm can go on no longer, if it cannot, by the parts of all nodes (JSON).
    fn stall(&self, now_s: f64, parts: Vec<String>) -> PyResult<Option<String>> {
        let mut watch = held(&self.0);
        let standing = together(&watch, &parts)?;
        Ok(watch.look(at(now_s), &standing))
    }

    /// Whether there is nothing more to wait for.
    fn is_done(&self, parts: Vec<String>) -> PyResult<bool> {
        let watch = held(&self.0);
        Ok(watch.is_done(&together(&watch, &parts)?))
    }

    /// A line for a swarm that is not done.
    fn unfinished(&self, parts: Vec<String>) -> PyResult<String> {
        let watch = held(&self.0);
        Ok(watch.unfinished(&together(&watch, &parts)?))
    }

    /// A line if no block reached any leecher, though it should have.
    fn undelivered(&self, now_s: f64, parts: Vec<String>) -> PyResult<Option<String>> {
        let watch = held(&self.0);
        Ok(watch.undelivered(at(now_s), &together(&watch, &parts)?))
    }

    /// That the timeline stopped it before it was complete, if it did.
    fn stopped(&self, parts: Vec<String>) -> PyResult<Option<String>> {
        let watch = held(&self.0);
        Ok(together(&watch, &parts)?.stopped_early())
    }
}

/// Whether a peer lacks pieces in a part of a swarm (JSON).
#[pyfunction]
pub(crate) fn swarm_waits(part: &str) -> PyResult<bool> {
    Ok(parsed(part)?.standing.waits)
}

fn parsed(part: &str) -> PyResult<Part> {
    serde_json::from_str(part).map_err(|error| PyValueError::new_err(error.to_string()))
}

fn together(watch: &Watch, parts: &[String]) -> PyResult<Standing> {
    let mut whole: Option<Part> = None;
    for part in parts {
        let Part { standing, held } = parsed(part)?;
        whole = Some(match whole {
            None => Part { standing, held },
            Some(before) => {
                Part { standing: before.standing.and(standing), held: before.held.and(held) }
            }
        });
    }
    let Some(Part { standing, held }) = whole else { return Ok(Standing::default()) };
    Ok(Standing { missing: held.missing(watch.pieces()), ..standing })
}

/// The tracker of a swarm: its peers, and which peers an answer names.
#[pyclass(module = "flashcrowd._core", frozen)]
pub(crate) struct TrackerRegister {
    state: Mutex<(Tracker, RandomStream)>,
}

#[pymethods]
impl TrackerRegister {
    /// Of the swarm with this index among the workloads of a plan, in a run with this seed. Raises `ValueError`.
    #[new]
    fn new(plan: &Plan, workload: usize, seed: u64) -> PyResult<TrackerRegister> {
        let Some(Workload::Swarm(spec)) = plan.data().workloads.get(workload) else {
            return Err(PyValueError::new_err(format!("workload {workload} is no swarm")));
        };
        let stream = RandomStream::new(seed, "tracker", workload as u64);
        Ok(TrackerRegister {
            state: Mutex::new((Tracker::new(spec.tracker.rules.clone()), stream)),
        })
    }

    /// Seeds and leechers that it knows.
    fn counts(&self) -> (usize, usize) {
        let state = self.state();
        (state.0.seeds(), state.0.leechers())
    }

    /// A peer announces itself; gives other peers. `now_s` are seconds since some instant, `wanted` is the number that
    /// it asks for, if it names one.
    #[pyo3(signature = (now_s, peer, *, stopped, seed, wanted))]
    fn announce(
        &self,
        now_s: f64,
        peer: u32,
        stopped: bool,
        seed: bool,
        wanted: Option<i64>,
    ) -> Vec<u32> {
        let (tracker, stream) = &mut *self.state();
        let event = if stopped { AnnounceEvent::Stopped } else { AnnounceEvent::None };
        // A negative number asks for as many as the tracker likes (opentracker and libtorrent read it so).
        let wanted = wanted.filter(|wanted| *wanted >= 0);
        let wanted = wanted.map(|wanted| u16::try_from(wanted).unwrap_or(u16::MAX));
        let answer = tracker.announce(at(now_s), PeerId(peer), event, wanted, seed, stream);
        answer.peers.into_iter().map(|peer| peer.0).collect()
    }
}

impl TrackerRegister {
    fn state(&self) -> MutexGuard<'_, (Tracker, RandomStream)> {
        held(&self.state)
    }
}
