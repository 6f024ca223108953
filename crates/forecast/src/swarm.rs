use crate::Forecast;
use crate::arrivals::{expected_s, shuffled};
use crate::crowd::{Crowd, Peer, Stay};
use crate::load::{Load, PACKET_BYTES, ROW_BYTES};
use crate::outlook::{ENDLESS_BPS, Outlook, Path, mean};
use crate::rules::Rules;
use crate::stream::{TrafficAggregate, opening};
use crate::upload_control;
use flashcrowd_plan::{
    Arrivals, Departure, Origin, Plan, Population, Swarm, WebSeed, What, Workload,
};
use flashcrowd_swarm::{Role, UploadLimit, choker};

impl Forecast for Swarm {
    /// Peers without a limit take what they get, in as many uploads as their client allows.
    fn share(&self, outlook: &mut Outlook<'_>) {
        for population in &self.populations {
            let uploads = uploads(population, outlook.plan);
            let up = if population.upload_bps == UploadLimit::Unlimited { uploads } else { 1.0 };
            let down = if population.role == Role::Leecher { uploads } else { 0.0 };
            population.hosts.iter().for_each(|&host| outlook.add_greedy_at(host, up, down));
        }
        let leechers = self.populations.iter().filter(|it| it.role == Role::Leecher);
        let leechers = leechers.map(|it| it.hosts.len() as f64).sum();
        for host in web_servers(self, outlook.plan).map(|origin| origin.host).collect::<Vec<u32>>()
        {
            outlook.add_greedy_at(host, leechers, 0.0);
        }
        let ends: Vec<u32> =
            self.populations.iter().filter_map(|it| it.hosts.last().copied()).collect();
        outlook.add_crowd(&ends);
    }

    /// When its last completion is expected; `None` if peers are replaced for ever.
    fn end_s(&self, index: usize, outlook: &Outlook<'_>) -> Option<f64> {
        if is_empty(self) {
            return Some(0.0);
        }
        let stop_s = outlook.stop_s(index, None);
        let until_s = stop_s.min(outlook.horizon_s);
        let course = crowd(self, index, &Rules::new(self, outlook), outlook).course(until_s);
        Some(course.end_s.min(stop_s))
    }

    /// The load of blocks to leechers, and of the messages about them.
    fn load(&self, index: usize, outlook: &Outlook<'_>, end_s: f64) -> Load {
        if is_empty(self) {
            return Load::default();
        }
        let rules = Rules::new(self, outlook);
        let crowd = crowd(self, index, &rules, outlook);
        let course = crowd.course(end_s.min(outlook.stop_s(index, None)));
        let Rules { transport_model, forth, back, .. } = rules;
        let size = self.size_bytes as f64;
        let mut load = Load::default();
        let limited = course.limited_bytes / course.bytes.max(1e-9);
        for (share, write_bytes) in [(limited, rules.write_bytes), (1.0 - limited, None)] {
            let stream = TrafficAggregate {
                transport_model,
                forth,
                back,
                bytes: course.bytes * share,
                seconds: course.uploading_s * share,
                connections: 1.0,
                write_bytes,
            };
            load.add(stream.load());
        }
        // A small message, and the acknowledgement that no other packet carries.
        let message = Load {
            packets: 2.0 - forth.loss - back.loss,
            events: forth.stages + back.stages + 1.0,
            ..Load::default()
        };
        let requests = course.bytes / f64::from(self.block_bytes.min(rules.block_bytes).max(1));
        // One to each neighbour, unless they come faster than they are acknowledged.
        let haves = course.told.min(course.pairs_s / crowd.rtt_s.max(1e-3));
        let keepalives = 2.0 * course.pairs_s / rules.keepalive_s;
        let rounds = course.online_s / rules.round_s;
        // Bitfield, handshake and interest each way; in a round a place or two changes hands, which
        // takes CHOKE and UNCHOKE, and an answer to one of them.
        let turns = 3.0 * rounds.min(course.uploading_s / rules.round_s);
        let messages = requests + haves + keepalives + 6.0 * course.opened + turns;
        load.add(message.times(messages));
        // Each block is one more message.
        load.messages += messages + requests;
        load.haves += haves;
        load.choices += requests * (size / f64::from(self.piece_bytes)).ceil();
        load.looks += rules.looks(&course);
        load.shares += rules.shares(&course);
        load.add(opening(&forth, &back).times(course.opened));
        load.events += rules.timers(&course);
        for population in &self.populations {
            if let Some(control) = &population.upload_control {
                let there_s = course.online_s * population.hosts.len() as f64 / crowd.size();
                load.add(upload_control::load(control, &forth, &back).times(there_s));
            }
        }

        let degree = crowd.degree.min((course.most - 1.0).max(0.0));
        let pieces = (size / f64::from(self.piece_bytes)).ceil();
        let blocks = size / f64::from(self.block_bytes);
        let uploads = (course.uploading_s / course.end_s.max(1e-9)).max(1.0);
        load.connections = (course.most * degree / 2.0).max(0.0);
        if rules.splits {
            load.connections += uploads;
        }
        let web_seeds = web_servers(self, outlook.plan).count() as f64;
        load.connections += course.most * web_seeds;
        load.peers = course.most;
        load.bytes += course.joined * ROW_BYTES;
        load.neighbours = course.most * degree;
        load.quota_neighbours = if rules.quota { load.neighbours } else { 0.0 };
        load.bytes += course.most * (PIECE_BYTES * pieces + blocks / 8.0);
        load.bytes += load.neighbours * pieces / 8.0;
        let each_bps = course.bytes * 8.0 / course.uploading_s.max(1e-9);
        load.bytes += uploads * (UPLOAD_BYTES + rules.in_flight(each_bps) * PACKET_BYTES);
        load.add_routes(forth.own, load.neighbours);
        if outlook.plan.measures.unchokes {
            load.bytes += (load.neighbours).min(rounds) * ROW_BYTES;
        }
        if outlook.plan.measures.have {
            load.bytes += course.bytes / size * pieces * ROW_BYTES;
        }
        load
    }
}

/// The origins that its leechers fetch from.
fn web_servers<'p>(swarm: &'p Swarm, plan: &'p Plan) -> impl Iterator<Item = &'p Origin> {
    let workload = |it: &WebSeed| plan.workloads.get(it.origin as usize);
    let workloads = plan.usable_web_seeds(swarm).iter().filter_map(workload);
    workloads.filter_map(|workload| match workload {
        Workload::Origin(origin) => Some(origin),
        _ => None,
    })
}

/// Whether it has no peers.
fn is_empty(swarm: &Swarm) -> bool {
    swarm.populations.iter().all(|population| population.hosts.is_empty())
}

/// Its peers, of which a few represent all.
fn crowd(swarm: &Swarm, index: usize, rules: &Rules, outlook: &Outlook<'_>) -> Crowd {
    let hosts: f64 = swarm.populations.iter().map(|it| it.hosts.len() as f64).sum();
    let mut peers = Vec::new();
    for (number, population) in (0u32..).zip(&swarm.populations) {
        let count = population.hosts.len();
        let share = MEMBERS * count as f64 / hosts;
        let members = count.min((share.ceil() as usize).max(FEW));
        let limit_bps = mean_limit_bps(population, index, number, outlook);
        let opener = population.hosts.first().copied().unwrap_or(0);
        let choice = population.data.or(population.transport);
        let model = outlook.transport_model(choice, opener);
        let slots = uploads(population, outlook.plan).min((hosts - 1.0).max(1.0));
        for member in 0..members {
            let place = (2 * member + 1) * count / (2 * members);
            let host = population.hosts[place];
            let (up_bps, down_bps) = outlook.line_bps(host);
            let way_bps = way_bps(swarm, host, outlook);
            let line = Path { share_bps: up_bps.min(way_bps) / slots, ..rules.forth };
            let upload_bps = limit_bps.min(slots * model.bps(&line, &rules.back));
            // Less is no upload.
            let upload_bps = if upload_bps > 1.0 { upload_bps } else { 0.0 };
            peers.push(Peer {
                weight: count as f64 / members as f64,
                seed: population.role == Role::Seed,
                up_bps: upload_bps,
                down_bps: down_bps.min(way_bps) * model.payload_share(),
                slots,
                limited: population.upload_bps != UploadLimit::Unlimited,
                arrives_s: expected_s(&population.arrivals, place, count),
                stay: stay(population, place, count),
                replaced: population.replace,
            });
        }
    }
    for origin in web_servers(swarm, outlook.plan) {
        let bps = outlook.line_bps(origin.host).0 * rules.transport_model.payload_share();
        peers.push(Peer {
            weight: 1.0,
            seed: true,
            up_bps: bps,
            down_bps: 0.0,
            slots: hosts,
            limited: false,
            arrives_s: 0.0,
            stay: Stay::On,
            replaced: false,
        });
    }
    let rtt_s = rules.forth.delay_s + rules.back.delay_s;
    Crowd {
        peers,
        size_bytes: swarm.size_bytes as f64,
        piece_bytes: f64::from(swarm.piece_bytes).min(swarm.size_bytes as f64),
        degree: rules.degree,
        startup_s: 3.0 * rtt_s,
        rtt_s,
        stall_s: outlook.plan.stop.stall_ns.seconds(),
        end_game: rules.end_game,
        completions: swarm.stop_after_completions.map_or(f64::INFINITY, f64::from),
    }
}

/// The rate of the core from a host to others of the swarm, which may have to share it with other swarms.
fn way_bps(swarm: &Swarm, host: u32, outlook: &Outlook<'_>) -> f64 {
    let others = swarm.populations.iter().filter_map(|it| it.hosts.last().copied());
    let ways = others.filter(|other| *other != host).map(|other| outlook.core_bps(host, other));
    ways.reduce(f64::max).unwrap_or(ENDLESS_BPS)
}

/// Peers that represent all of a swarm, and the least number that represent a population.
const MEMBERS: f64 = 48.0;
const FEW: usize = 4;
/// Of each peer and piece: its state, how many neighbours have it, its place in the picker's order.
const PIECE_BYTES: f64 = 16.0;
/// Of each neighbour that data comes from or goes to: requests, meters, messages on their way.
const UPLOAD_BYTES: f64 = 2_000.0;

/// Uploads of each peer at a time.
fn uploads(population: &Population, plan: &Plan) -> f64 {
    let rules = &plan.profiles[population.profile as usize].choker;
    f64::from(choker::slots(rules.slots, population.upload_bps.rate()).max(rules.min_uploads))
}

/// How long its peer at this place stays. Of what is drawn each has another quantile.
fn stay(population: &Population, place: usize, count: usize) -> Stay {
    if let Arrivals::Sessions { leave_ns, .. } = &population.arrivals
        && let Some(at) = leave_ns[place]
    {
        return Stay::Until { at_s: at.seconds() };
    }
    let part = shuffled(place, count);
    let exponential = -libm::log(1.0 - part);
    match &population.departure {
        Departure::AtOnce => Stay::Complete { seconds: 0.0, share: 0.0 },
        Departure::After { mean_ns } => {
            Stay::Complete { seconds: mean_ns.seconds() * exponential, share: 0.0 }
        }
        Departure::AfterExactly { stay_ns } => {
            Stay::Complete { seconds: stay_ns.seconds(), share: 0.0 }
        }
        Departure::AfterShare { share } => {
            Stay::Complete { seconds: 0.0, share: share * exponential }
        }
        Departure::Never | Departure::AllDone => Stay::On,
        Departure::Session { stay_s } => Stay::Session { seconds: stay_s.at(part) },
    }
}

/// The mean of the upload limit of each peer.
fn mean_limit_bps(
    population: &Population,
    swarm: usize,
    number: u32,
    outlook: &Outlook<'_>,
) -> f64 {
    if let Some(control) = &population.upload_control {
        return upload_control::expected_bps(control).min(ENDLESS_BPS);
    }
    let limit = |limit: UploadLimit| match limit {
        UploadLimit::Unlimited => ENDLESS_BPS,
        UploadLimit::Rate(rate) => rate.bps() as f64,
        UploadLimit::Nothing => 1.0, // As good as nothing, and never divides by it.
    };
    let changes = outlook.plan.timeline.iter().filter_map(|change| match change.what {
        What::Upload { workload, population, upload_bps }
            if workload as usize == swarm && population == number =>
        {
            Some((change.at_ns, limit(upload_bps)))
        }
        _ => None,
    });
    mean(limit(population.upload_bps), changes, outlook.horizon_s).min(ENDLESS_BPS)
}
