//! The rules of most peers of a swarm: their client's, and the way between two of them.

use crate::crowd::Course;
use crate::outlook::{Outlook, Path};
use crate::stream::TransportModel;
use flashcrowd_plan::Swarm;
use flashcrowd_swarm::UploadLimit;
use flashcrowd_swarm::profile::{FreeSlot, Sharing};

/// Pairs of peers whose way is looked at.
const SAMPLES: usize = 16;

/// The rules of most peers of a swarm.
pub(crate) struct Rules {
    /// Between two peers.
    pub(crate) transport_model: TransportModel,
    pub(crate) forth: Path,
    pub(crate) back: Path,
    /// Neighbours of each at most.
    pub(crate) degree: f64,
    /// Whether clients limit their uploads, by writes of a fixed size or at ticks.
    limited: bool,
    tick_s: Option<f64>,
    /// Whether the limiter shares a quota among neighbours.
    pub(crate) quota: bool,
    unit_bytes: f64,
    /// Bytes that a limited client writes at a time.
    pub(crate) write_bytes: Option<f64>,
    pub(crate) block_bytes: u32,
    pub(crate) keepalive_s: f64,
    pub(crate) round_s: f64,
    /// How often a client looks for free slots, if it does.
    look_s: Option<f64>,
    /// Whether the last blocks are requested from all owners.
    pub(crate) end_game: bool,
    /// Whether blocks have connections of their own.
    pub(crate) splits: bool,
}

impl Rules {
    pub(crate) fn new(swarm: &Swarm, outlook: &Outlook<'_>) -> Rules {
        let plan = outlook.plan;
        let hosts: Vec<u32> = swarm.populations.iter().flat_map(|it| &it.hosts).copied().collect();
        // The rules are those of most of the peers.
        let largest = swarm.populations.iter().max_by_key(|it| it.hosts.len());
        let largest = largest.unwrap_or(&swarm.populations[0]); // The check has refused a swarm without any.
        let profile = &plan.profiles[largest.profile as usize];
        let opener = largest.hosts.first().copied().unwrap_or(0);
        let transport_model = outlook.transport_model(largest.data.or(largest.transport), opener);
        let (forth, back) = between(&hosts, outlook);
        let rules = &profile.connections;
        let told = profile.announce.numwant.unwrap_or(swarm.tracker.rules.default_peers);
        let degree = (2.0 * f64::from(rules.max_initiate.min(u32::from(told))))
            .min(f64::from(rules.max_connections))
            .min((hosts.len() as f64 - 1.0).max(0.0));
        let mut limits = swarm.populations.iter().map(|it| it.upload_bps);
        let limited = limits.any(|limit| limit != UploadLimit::Unlimited);
        let limiter = &profile.limiter;
        let unit_bytes = f64::from(limiter.write_unit.max(1));
        // Without Nagle's algorithm each write leaves as it is.
        let turns = limiter.sharing == Sharing::Turns && !profile.nagle && !transport_model.utp;
        let looks = profile.choker.free_slot == FreeSlot::Tick;
        Rules {
            transport_model,
            forth,
            back,
            degree,
            limited,
            quota: limiter.sharing == Sharing::Quota,
            tick_s: limiter.tick_ns.map(|tick| tick.seconds().max(1e-3)),
            unit_bytes,
            write_bytes: (limited && (turns || unit_bytes < transport_model.segment_bytes))
                .then_some(unit_bytes),
            block_bytes: profile.requests.block_bytes,
            keepalive_s: rules.keepalive_ns.seconds().max(1e-3),
            round_s: profile.choker.round_ns.seconds().max(1e-3),
            look_s: looks.then(|| profile.choker.tick_ns.seconds().max(1e-3)),
            end_game: profile.requests.end_game && !profile.requests.strict_end_game,
            splits: largest.data.is_some(),
        }
    }

    /// Timers of clients that go off: those of the choker, and those of a limiter.
    pub(crate) fn timers(&self, course: &Course) -> f64 {
        let looks = self.look_s.map_or(0.0, |look_s| course.loading_s / look_s);
        let grants = match (self.limited, self.tick_s) {
            (false, _) => 0.0,
            (true, None) => course.limited_bytes / self.unit_bytes,
            (true, Some(tick_s)) => course.loading_s / tick_s,
        };
        course.online_s / self.round_s + looks + grants
    }

    /// Neighbours that clients look at: all of them in each round, and when they look for free slots.
    pub(crate) fn looks(&self, course: &Course) -> f64 {
        let looks = 1.0 / self.round_s + self.look_s.map_or(0.0, |look_s| 1.0 / look_s);
        2.0 * course.pairs_s * looks
    }

    /// Neighbours among which limiters share a quota.
    pub(crate) fn shares(&self, course: &Course) -> f64 {
        let shares = self.limited && self.quota;
        self.tick_s.filter(|_| shares).map_or(0.0, |tick_s| 2.0 * course.pairs_s / tick_s)
    }

    /// Packets of an upload that are on their way.
    pub(crate) fn in_flight(&self, each_bps: f64) -> f64 {
        // With limits below the rates of lines no queue stands.
        let queued = if self.limited { 0.0 } else { self.forth.queued };
        let forth = Path { share_bps: each_bps, queued, ..self.forth };
        self.transport_model.in_flight(&forth, &self.back)
    }
}

/// The mean way between two of these hosts, and back.
fn between(hosts: &[u32], outlook: &Outlook<'_>) -> (Path, Path) {
    let count = hosts.len();
    // Steps of all lengths, so that near and far are met as often as they are among all pairs.
    let pair = |sample: usize| {
        let first = sample * count / SAMPLES;
        let other = (first + 1 + sample * count.saturating_sub(2) / SAMPLES) % count;
        (hosts[first], hosts[other])
    };
    let pairs: Vec<(u32, u32)> = (0..SAMPLES).map(pair).collect();
    let forth: Vec<Path> = pairs.iter().map(|&(from, to)| outlook.path(from, to)).collect();
    let back: Vec<Path> = pairs.iter().map(|&(from, to)| outlook.path(to, from)).collect();
    (Path::mean(&forth), Path::mean(&back))
}
