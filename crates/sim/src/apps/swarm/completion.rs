//! Progress of swarms, and whether they can still finish.

use super::*;
use crate::apps::undelivered::is_due;

impl Swarms<'_> {
    /// Why a swarm can never finish, if it cannot: a piece that no member has, and no member who would
    /// bring it.
    pub(super) fn unfinishable(&self, number: u32) -> Option<String> {
        let swarm = &self.all[number as usize];
        let spec = self.spec(number)?;
        let sources = swarm.seeds_to_come + swarm.web_seeds;
        if swarm.done(spec.stop_after_completions) || sources > 0 {
            return None;
        }
        let (pieces, missing) = (swarm.torrent.pieces(), swarm.availability.missing());
        (missing > 0).then(|| {
            format!(
                "swarm {}: no seed left, {missing} of {pieces} pieces missing, \
                 {} of {} leechers complete",
                spec.name, swarm.completed, swarm.leechers
            )
        })
    }

    /// A swarm that made no progress for the plan's stall time, or cannot finish at all.
    pub(super) fn stalled_swarm(&mut self, world: &World) -> Option<String> {
        for number in 0..self.all.len() as u32 {
            if let Some(reason) = self.unfinishable(number) {
                return Some(reason);
            }
            let bytes = self.swarm_bytes(number);
            let spec = self.spec(number)?;
            let swarm = &mut self.all[number as usize];
            if bytes > swarm.watched_bytes {
                swarm.watched_bytes = bytes;
                swarm.last_progress = world.now;
            }
            let idle = world.now - swarm.last_progress;
            let done = swarm.done(spec.stop_after_completions);
            let mut members = swarm.members.iter().map(|peer| &self.peers[*peer as usize]);
            if !done && idle >= self.plan.stop.stall_ns && members.any(Peer::is_waiting) {
                return Some(format!(
                    "swarm {}: no block arrived for {:.0} s, {} of {} leechers complete",
                    spec.name,
                    idle.seconds(),
                    swarm.completed,
                    swarm.leechers
                ));
            }
        }
        None
    }

    /// Block bytes that reached the leechers of a swarm so far.
    pub(super) fn swarm_bytes(&self, number: u32) -> u64 {
        let swarm = &self.all[number as usize];
        let online = swarm.members.iter().map(|peer| &self.peers[*peer as usize]);
        let bytes = online
            .filter(|peer| peer.is_leecher() && peer.machine.is_some())
            .map(|peer| peer.progress().down);
        swarm.departed_bytes + bytes.sum::<u64>()
    }

    pub(super) fn swarms_stopped(&self) -> Option<String> {
        let stopped =
            self.all.iter().find(|swarm| swarm.stopped && swarm.completed < swarm.leechers)?;
        Some(format!(
            "the timeline stopped a swarm with {} of {} leechers complete",
            stopped.completed, stopped.leechers
        ))
    }

    /// A line for each swarm that is not done.
    pub(super) fn unfinished_swarms(&self) -> Vec<String> {
        (0..self.all.len() as u32)
            .filter_map(|number| {
                let spec = self.spec(number)?;
                let swarm = &self.all[number as usize];
                (!swarm.done(spec.stop_after_completions)).then(|| {
                    let (completed, leechers) = (swarm.completed, swarm.leechers);
                    format!("swarm {}: {completed} of {leechers} leechers complete", spec.name)
                })
            })
            .collect()
    }

    /// A line for each swarm with seeds that may upload of which no block reached any leecher that came, unless the
    /// run was cut and says so.
    pub(super) fn silent_swarms(&self, world: &World) -> Vec<String> {
        if world.outcome.as_ref().is_some_and(Outcome::is_cut) {
            return Vec::new();
        }
        let silent = |number: u32| {
            let plan::Swarm { name, populations, .. } = self.spec(number)?;
            let swarm = &self.all[number as usize];
            let may_upload = populations.iter().zip(&swarm.uploads).any(|(population, now)| {
                let limits = [population.upload_bps, *now];
                population.role == Role::Seed && limits != [UploadLimit::Nothing; 2]
            });
            if !may_upload && swarm.web_seeds == 0 {
                return None;
            }
            let came = || {
                let mine = self.peers.iter().filter(|peer| peer.swarm == number);
                mine.filter(|peer| peer.is_leecher() && peer.arrived.is_some())
            };
            let due = came().any(|it| it.arrived.is_some_and(|at| is_due(at, world.now)));
            let silent = due && self.swarm_bytes(number) == 0;
            silent.then(|| format!("swarm {name}: no block arrived at {} leechers", came().count()))
        };
        (0..self.all.len() as u32).filter_map(silent).collect()
    }

    pub(super) fn swarm_progress(&self) -> f64 {
        (0..self.all.len() as u32)
            .map(|number| {
                let swarm = &self.all[number as usize];
                let expected = u64::from(swarm.leechers) * swarm.torrent.bytes();
                self.swarm_bytes(number) as f64 / expected.max(1) as f64
            })
            .fold(1.0, f64::min)
    }
}
