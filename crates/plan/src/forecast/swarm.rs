use super::load::{Load, PACKET_BYTES, ROW_BYTES};
use super::outlook::{ENDLESS_BPS, Outlook, Path, TrafficAggregate, TransportModel, mean, opening};
use crate::{Origin, Plan, Population, Swarm, WebSeed, What, Workload};
use flashcrowd_swarm::{Role, UploadLimit, choker};

impl Swarm {
    /// The origins that its leechers fetch from.
    fn web_servers<'p>(&'p self, plan: &'p Plan) -> impl Iterator<Item = &'p Origin> {
        let usable = plan.usable_web_seeds(self) as usize;
        let workload = |it: &WebSeed| plan.workloads.get(it.origin as usize);
        self.web_seeds[..usable].iter().filter_map(workload).filter_map(|workload| match workload {
            Workload::Origin(origin) => Some(origin),
            _ => None,
        })
    }

    /// Whether it has no peers.
    fn is_empty(&self) -> bool {
        self.populations.iter().all(|population| population.hosts.is_empty())
    }

    /// Peers without a limit take what they get, in as many uploads as their client allows.
    pub(crate) fn share(&self, outlook: &mut Outlook<'_>) {
        for population in &self.populations {
            let uploads = population.uploads(outlook.plan);
            let up = if population.upload_bps == UploadLimit::Unlimited { uploads } else { 1.0 };
            let down = if population.role == Role::Leecher { uploads } else { 0.0 };
            population.hosts.iter().for_each(|&host| outlook.add_greedy_at(host, up, down));
        }
        let leechers = self.populations.iter().filter(|it| it.role == Role::Leecher);
        let leechers = leechers.map(|it| it.hosts.len() as f64).sum();
        for host in self.web_servers(outlook.plan).map(|origin| origin.host).collect::<Vec<u32>>() {
            outlook.add_greedy_at(host, leechers, 0.0);
        }
    }

    /// When its last completion is expected; `None` if peers are replaced for ever.
    pub(crate) fn end_s(&self, index: usize, outlook: &Outlook<'_>) -> Option<f64> {
        if self.is_empty() {
            return Some(0.0);
        }
        let crowd = Crowd::new(self, index, outlook);
        let stop_s = outlook.stop_s(index, None);
        let end_s = if crowd.completions.is_finite() { crowd.end_s(self) } else { stop_s };
        Some(end_s.min(stop_s))
    }

    /// What reaches leechers, and what peers tell each other about it.
    pub(crate) fn load(&self, index: usize, outlook: &Outlook<'_>, end_s: f64) -> Load {
        if self.is_empty() {
            return Load::default();
        }
        let crowd = Crowd::new(self, index, outlook);
        let Crowd { transport_model, forth, back, .. } = crowd;
        let end_s = end_s.min(outlook.stop_s(index, None));
        let seconds = (end_s - crowd.begin_s).max(0.0);
        let peers = crowd.peers * crowd.arrived(seconds);
        let size = self.size_bytes as f64;
        let all = (crowd.completions + crowd.begun) * size;
        let bytes = all.min(crowd.bytes_after(seconds, self));
        let stream = TrafficAggregate {
            transport_model,
            forth,
            back,
            bytes,
            seconds,
            connections: crowd.uploads,
            write_bytes: crowd.write_bytes,
        };
        let mut load = stream.load();
        // A small message, and the acknowledgement that no other packet carries.
        let message = Load {
            packets: 2.0 - forth.loss - back.loss,
            events: forth.stages + back.stages + 1.0,
            ..Load::default()
        };
        let leechers = (crowd.leechers * crowd.arrived(seconds)).max(1.0);
        let degree = crowd.degree.min(peers);
        let downloads = bytes / size;
        let pieces = (size / f64::from(self.piece_bytes)).ceil();
        let requests = bytes / f64::from(self.block_bytes.min(crowd.block_bytes).max(1));
        // One to each neighbour, unless they come faster than they are acknowledged.
        let rtt_s = (forth.delay_s + back.delay_s).max(1e-3);
        let haves = (downloads * pieces).min(leechers * seconds / rtt_s) * degree;
        // Those that come are as many as those that go, but for the first.
        let joined = peers + (downloads - leechers).max(0.0) * crowd.replaced;
        let connections = joined * degree / 2.0;
        let keepalives = peers * degree * seconds / crowd.keepalive_s;
        let rounds = peers * seconds / crowd.round_s;
        // Bitfield, handshake and interest each way; in a round a place or two changes hands, which
        // takes CHOKE and UNCHOKE, and an answer to one of them.
        load.add(message.times(requests + haves + keepalives + 6.0 * connections + 3.0 * rounds));
        load.add(opening(&forth, &back).times(connections));
        load.events += bytes / crowd.turn_bytes + rounds;

        let blocks = size / f64::from(self.block_bytes);
        for population in &self.populations {
            if let Some(control) = &population.upload_control {
                let peers = population.hosts.len() as f64 * crowd.arrived(seconds);
                load.add(control.load(&forth, &back).times(peers * seconds));
            }
        }

        load.connections = (peers * degree / 2.0).max(0.0);
        if crowd.splits {
            load.connections += crowd.uploads;
        }
        load.connections += leechers * self.web_servers(outlook.plan).count() as f64;
        load.bytes += joined * PEER_BYTES + peers * (PIECE_BYTES * pieces + blocks / 8.0);
        load.bytes += peers * degree * (NEIGHBOUR_BYTES + pieces / 8.0);
        load.bytes += crowd.uploads * (UPLOAD_BYTES + crowd.in_flight() * PACKET_BYTES);
        load.add_routes(forth.own, peers * degree);
        if outlook.plan.measures.unchokes {
            load.bytes += (peers * degree).min(rounds) * ROW_BYTES;
        }
        if outlook.plan.measures.have {
            load.bytes += downloads * pieces * ROW_BYTES;
        }
        load
    }
}

impl Population {
    /// Uploads of each peer at a time.
    fn uploads(&self, plan: &Plan) -> f64 {
        let rules = &plan.profiles[self.profile as usize].choker;
        f64::from(choker::slots(rules.slots, self.upload_bps.rate()).max(rules.min_uploads))
    }
}

/// The share of what all uplinks could carry that peers send from when everybody has a piece until the
/// last one is complete. Not derived: with it the last completions of the swarms in `studies/` are
/// met within a third. It decides what a horizon cuts off, and what goes by time: keep-alives,
/// rounds, what runs beside a swarm.
const EFFICIENCY: f64 = 0.6;
/// Pairs of peers that are looked at for what lies between two of them.
const SAMPLES: usize = 16;
/// A peer: its client, its part of the tables.
const PEER_BYTES: f64 = 2_000.0;
/// Of each peer and piece: its state, how many neighbours have it, its place in the picker's order.
const PIECE_BYTES: f64 = 16.0;
/// Of each peer and neighbour: 192 bytes, the sockets between the two, room for lists to grow.
const NEIGHBOUR_BYTES: f64 = 500.0;
/// Of each neighbour that data comes from or goes to: requests, meters, messages on their way.
const UPLOAD_BYTES: f64 = 2_000.0;

/// A swarm in numbers.
struct Crowd {
    peers: f64,
    leechers: f64,
    /// Neighbours of each.
    degree: f64,
    /// Uploads at a time, of all peers.
    uploads: f64,
    /// Downloads that are to be complete before it ends, and the part of others that is done by then.
    completions: f64,
    begun: f64,
    /// One if peers that leave are replaced, and none if not.
    replaced: f64,
    /// When the first peer comes, and the last that is waited for; how long all of them take to come.
    begin_s: f64,
    last_s: f64,
    arriving_s: f64,
    /// What seeds and leechers send, and a leecher receives at most, in bits of payload per second.
    seeds_bps: f64,
    leechers_bps: f64,
    down_bps: f64,
    /// Between two peers.
    transport_model: TransportModel,
    forth: Path,
    back: Path,
    /// How long a piece takes from a seed that serves all of its slots, and from one peer to another,
    /// and how often it has to be passed on until each has one.
    first_hop_s: f64,
    hop_s: f64,
    hops: f64,
    /// Whether clients limit their uploads.
    limited: bool,
    /// Bytes that a limited client writes at a time, and bytes for each turn of a limiter.
    write_bytes: Option<f64>,
    turn_bytes: f64,
    block_bytes: u32,
    keepalive_s: f64,
    round_s: f64,
    /// Whether blocks have connections of their own.
    splits: bool,
}

impl Crowd {
    fn new(swarm: &Swarm, index: usize, outlook: &Outlook<'_>) -> Crowd {
        let plan = outlook.plan;
        let hosts: Vec<u32> = swarm.populations.iter().flat_map(|it| &it.hosts).copied().collect();
        let peers = hosts.len() as f64;
        let of = |role| {
            let counts = swarm.populations.iter().filter(move |it| it.role == role);
            counts.map(|it| it.hosts.len() as f64).sum::<f64>()
        };
        // The rules are those of most of the peers.
        let largest = swarm.populations.iter().max_by_key(|it| it.hosts.len());
        let largest = largest.unwrap_or(&swarm.populations[0]); // The check has refused a swarm without any.
        let profile = &plan.profiles[largest.profile as usize];
        let opener = largest.hosts.first().copied().unwrap_or(0);
        let transport_model = outlook.transport_model(largest.data.or(largest.transport), opener);
        let (forth, back) = between(&hosts, outlook);
        let overhead = transport_model.payload_share();
        let (mut seeds_bps, mut leechers_bps, mut down_bps) = (0.0, 0.0, 0.0);
        let (mut uploads, mut seeds_uploads) = (0.0, 0.0);
        for (number, population) in (0u32..).zip(&swarm.populations) {
            let limit = population.mean_limit_bps(index, number, outlook);
            let slots = population.uploads(plan).min((peers - 1.0).max(1.0));
            let all = slots * population.hosts.len() as f64;
            uploads += all;
            seeds_uploads += if population.role == Role::Seed { all } else { 0.0 };
            for &host in &population.hosts {
                let (up, down) = outlook.line_bps(host);
                let line = Path { share_bps: up / slots, ..forth };
                let up = limit.min(slots * transport_model.bps(&line, &back));
                match population.role {
                    Role::Seed => seeds_bps += up,
                    Role::Leecher => {
                        leechers_bps += up;
                        down_bps += down * overhead;
                    }
                }
            }
        }
        for origin in swarm.web_servers(plan) {
            seeds_bps += outlook.line_bps(origin.host).0 * overhead;
        }
        let leechers = of(Role::Leecher);
        let begins = swarm.populations.iter().map(|it| it.arrivals.expected_s(it.hosts.len()).0);
        let lasts = swarm.populations.iter().map(|it| it.arrivals.expected_s(it.hosts.len()).1);
        let replaces = swarm.populations.iter().any(|it| it.replace);
        let enough = swarm.stop_after_completions.map_or(f64::INFINITY, f64::from);
        let completions = if replaces { enough } else { enough.min(leechers) };
        let rules = &profile.connections;
        let told = profile.announce.numwant.unwrap_or(swarm.tracker.rules.default_peers);
        let degree = (2.0 * f64::from(rules.max_initiate.min(u32::from(told))))
            .min(f64::from(rules.max_connections))
            .min((peers - 1.0).max(0.0));
        let limited = largest.upload_bps != UploadLimit::Unlimited;
        let limiter = &profile.limiter;
        let unit = if limited { limiter.write_unit } else { limiter.unlimited_write_unit };
        let each_bps = ((seeds_bps + leechers_bps) / uploads.max(1.0)).max(1.0);
        let piece_bits = f64::from(swarm.piece_bytes) * 8.0;
        let request_s = 2.0 * (forth.delay_s + back.delay_s);
        let last_s = lasts.fold(0.0, f64::max);
        let begin_s = begins.fold(f64::INFINITY, f64::min).min(last_s);
        Crowd {
            peers,
            leechers,
            degree,
            uploads,
            completions,
            begun: if replaces || completions < leechers { leechers / 2.0 } else { 0.0 },
            replaced: f64::from(u8::from(replaces)),
            begin_s,
            arriving_s: last_s - begin_s,
            // Who comes after enough others are complete is not waited for.
            last_s: last_s * (completions / leechers.max(1.0)).min(1.0),
            seeds_bps,
            leechers_bps,
            down_bps: down_bps / leechers.max(1.0),
            transport_model,
            forth,
            back,
            first_hop_s: piece_bits * seeds_uploads / seeds_bps.max(1.0) + request_s,
            hop_s: piece_bits / each_bps + request_s,
            hops: libm::log(1.0 + peers) / libm::log(1.0 + uploads / peers.max(1.0)),
            limited,
            write_bytes: (limited && limiter.tick_ns.is_none()).then(|| f64::from(unit)),
            turn_bytes: f64::from(unit.max(1)),
            block_bytes: profile.requests.block_bytes,
            keepalive_s: rules.keepalive_ns.seconds().max(1e-3),
            round_s: profile.choker.round_ns.seconds().max(1e-3),
            splits: largest.data.is_some(),
        }
    }

    /// What arrives in all, in bits per second, while everybody is there.
    fn bps(&self) -> f64 {
        (self.seeds_bps + self.leechers_bps).min(self.down_bps * self.leechers)
    }

    /// The last completion: the bound for the whole crowd, or the time of the last one to come.
    fn end_s(&self, swarm: &Swarm) -> f64 {
        let bits = swarm.size_bytes as f64 * 8.0;
        let bound = (bits / self.seeds_bps.max(1.0))
            .max(bits / self.down_bps.max(1.0))
            .max(self.completions * bits / self.bps().max(1.0));
        let alone = bits / (self.bps() / self.leechers.max(1.0)).max(1.0);
        (self.begin_s + self.startup_s() + bound / EFFICIENCY).max(self.last_s + alone)
    }

    /// Bytes that have arrived after `seconds`: first what the seeds send, until a piece is whole; then
    /// the peers that have one double (with one upload each) in the time that a piece takes, until all
    /// have one; then the uplinks of all peers that have come are busy.
    fn bytes_after(&self, seconds: f64, swarm: &Swarm) -> f64 {
        let piece = (swarm.size_bytes as f64).min(f64::from(swarm.piece_bytes));
        let startup_s = self.startup_s();
        let share = (seconds - self.first_hop_s) / (startup_s - self.first_hop_s).max(1e-9);
        let share = share.clamp(0.0, 1.0);
        let leechers = self.leechers * self.arrived(seconds);
        let first = piece * (libm::pow(leechers.max(1.0), share) - 1.0).max(0.0);
        let seed = (self.seeds_bps / 8.0 * seconds.min(startup_s)).min(leechers * piece);
        let rest = (seconds - startup_s).max(0.0) * EFFICIENCY;
        // Over that time the mean of those who have come; the seeds are there.
        let present = (self.arrived(startup_s) + self.arrived(seconds)) / 2.0;
        let bps = (self.seeds_bps + self.leechers_bps * present).min(self.down_bps * self.leechers);
        let bytes = first.min(self.bps() / 8.0 * seconds).max(seed) + bps / 8.0 * rest;
        // Nobody can have more than what left the seeds, and pass on more than was whole.
        let whole_s = (seconds - self.first_hop_s / 2.0).max(0.0);
        bytes.min(self.seeds_bps / 8.0 * (seconds + leechers * whole_s))
    }

    /// When everybody has a first piece: one round trip for interest and one for a request at each
    /// hop, and two to connect.
    fn startup_s(&self) -> f64 {
        let others_s = self.hop_s * (self.hops - 1.0).max(0.0);
        self.first_hop_s + others_s + 2.0 * (self.forth.delay_s + self.back.delay_s)
    }

    /// The share of peers that have come after `seconds`.
    fn arrived(&self, seconds: f64) -> f64 {
        (seconds / self.arriving_s.max(1e-9)).min(1.0)
    }

    /// Packets of an upload that are on their way.
    fn in_flight(&self) -> f64 {
        let each = (self.seeds_bps + self.leechers_bps) / self.uploads.max(1.0);
        // With limits below the rates of lines no queue stands.
        let queued = if self.limited { 0.0 } else { self.forth.queued };
        let forth = Path { share_bps: each, queued, ..self.forth };
        self.transport_model.in_flight(&forth, &self.back)
    }
}

impl Population {
    /// The mean of the upload limit of each peer.
    fn mean_limit_bps(&self, swarm: usize, number: u32, outlook: &Outlook<'_>) -> f64 {
        if let Some(control) = &self.upload_control {
            return control.expected_bps().min(ENDLESS_BPS);
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
        mean(limit(self.upload_bps), changes, outlook.horizon_s).min(ENDLESS_BPS)
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
