use crate::engine::{Outcome, Sim};
use crate::plan::Sampled;
use crate::table::{Column, Table};
use crate::trace::Sent;
use crate::transfers::Transfers;
use flashcrowd_base::Time;
use flashcrowd_swarm::UnchokeEnd;
use std::collections::BTreeMap;

/// A text column in the making.
#[derive(Default)]
struct Names {
    codes: Vec<u32>,
    names: Vec<String>,
    code_of: BTreeMap<String, u32>,
}

impl Names {
    fn push(&mut self, name: &str) {
        let code = self.code_of.get(name).copied().unwrap_or_else(|| {
            let code = self.names.len() as u32;
            self.names.push(name.to_owned());
            self.code_of.insert(name.to_owned(), code);
            code
        });
        self.codes.push(code);
    }
    fn column(self) -> Column {
        Column::Text(self.codes, self.names)
    }
}

fn names<'a>(values: impl Iterator<Item = &'a str>) -> Column {
    let mut names = Names::default();
    values.for_each(|value| names.push(value));
    names.column()
}
fn seconds(time: Option<Time>) -> Option<f64> {
    time.map(Time::seconds)
}

/// Everything that a run recorded. `docs/tables.md` says what the columns mean.
pub(crate) fn tables(sim: &mut Sim<'_>) -> Vec<Table> {
    vec![
        run(sim),
        downloads(sim),
        transfers(sim),
        pings(sim),
        series(sim),
        pieces(sim),
        queues(sim),
        send_gaps(sim),
        payloads(sim),
        rtts(sim),
        unchokes(sim),
        packets(sim),
        links(sim),
    ]
}

fn run(sim: &Sim<'_>) -> Table {
    let (outcome, reason) = match &sim.outcome {
        Some(Outcome::Completed) => ("completed", ""),
        Some(Outcome::Stalled(reason)) => ("stalled", reason.as_str()),
        Some(Outcome::Horizon(reason)) => ("horizon", reason.as_str()),
        Some(Outcome::Stopped(reason)) => ("stopped", reason.as_str()),
        None => ("stalled", "nothing was left to happen"),
    };
    let totals = sim.network.totals;
    let flows = 0..sim.transfers.flows.len() as u32;
    let payload = sim.swarms.peers.iter().map(|peer| peer.progress().down).sum::<u64>()
        + flows.map(|flow| sim.transfers.flows[flow as usize].received).sum::<u64>();
    let live = sim.sockets.iter().filter_map(|socket| socket.transport.as_ref());
    let retransmitted =
        sim.sockets.retransmitted + live.map(|end| end.stats().segments_retransmitted).sum::<u64>();
    let one = |value: u64| Column::U64(vec![value]);
    Table {
        name: "run",
        columns: vec![
            ("outcome", Column::text(outcome)),
            ("reason", Column::text(reason)),
            ("end_s", Column::F64(vec![sim.now.seconds()])),
            ("events", one(sim.events)),
            ("packets_sent", one(totals.sent)),
            ("packets_delivered", one(totals.delivered)),
            ("packets_lost", one(totals.lost)),
            ("packets_dropped", one(totals.dropped)),
            ("payload_bytes_delivered", one(payload)),
            ("retransmitted_packets", one(retransmitted)),
        ],
    }
}

/// Name of a swarm, and of one of its populations.
fn population<'a>(sim: &'a Sim<'_>, swarm: u32, population: u32) -> (&'a str, &'a str) {
    sim.swarms.spec(sim.plan, swarm).map_or(("", ""), |spec| {
        let population = spec.populations.get(population as usize);
        (&spec.name, population.map_or("", |population| &population.name))
    })
}

fn downloads(sim: &Sim<'_>) -> Table {
    let peers: Vec<_> = sim.swarms.peers.iter().filter(|peer| peer.is_leecher()).collect();
    let place = |peer: &crate::swarms::Peer| population(sim, peer.swarm, peer.population);
    let peers: Vec<_> = peers.into_iter().filter(|peer| peer.arrived.is_some()).collect();
    let progress: Vec<_> = peers.iter().map(|peer| peer.progress()).collect();
    let duration = |peer: &crate::swarms::Peer| Some((peer.completed? - peer.arrived?).seconds());
    Table {
        name: "downloads",
        columns: vec![
            ("swarm", names(peers.iter().map(|peer| place(peer).0))),
            ("population", names(peers.iter().map(|peer| place(peer).1))),
            ("host", names(peers.iter().map(|peer| sim.network.host(peer.host).name.as_str()))),
            ("peer", Column::U32(peers.iter().map(|peer| peer.id.0).collect())),
            (
                "arrived_s",
                Column::F64(
                    peers.iter().map(|p| p.arrived.unwrap_or(Time::START).seconds()).collect(),
                ),
            ),
            (
                "completed_s",
                Column::MaybeF64(peers.iter().map(|peer| seconds(peer.completed)).collect()),
            ),
            ("left_s", Column::MaybeF64(peers.iter().map(|peer| seconds(peer.left)).collect())),
            ("duration_s", Column::MaybeF64(peers.iter().map(|peer| duration(peer)).collect())),
            ("downloaded_bytes", Column::U64(progress.iter().map(|p| p.down).collect())),
            ("uploaded_bytes", Column::U64(progress.iter().map(|p| p.up).collect())),
            ("pieces", Column::U32(progress.iter().map(|p| p.pieces).collect())),
        ],
    }
}

fn transfers(sim: &Sim<'_>) -> Table {
    let mut flows = Vec::new();
    for (index, flow) in sim.transfers.flows.iter().enumerate() {
        let spec = Transfers::spec(sim.plan, flow.transfer);
        if let (Some(spec), Some(started)) = (spec, flow.started) {
            flows.push((spec, flow, started, sim.flow_stats(index as u32)));
        }
    }
    let host = |host: u32| sim.network.host(host).name.as_str();
    let goodput = |flow: &crate::transfers::Flow, started: Time| {
        let span = flow.ended.unwrap_or(sim.now) - started;
        if span.is_zero() { 0.0 } else { flow.received as f64 * 8.0 / span.seconds() }
    };
    Table {
        name: "transfers",
        columns: vec![
            ("transfer", names(flows.iter().map(|(spec, ..)| spec.name.as_str()))),
            ("flow", Column::U32(flows.iter().map(|(_, flow, ..)| flow.number).collect())),
            ("from", names(flows.iter().map(|(spec, ..)| host(spec.from)))),
            ("to", names(flows.iter().map(|(spec, ..)| host(spec.to)))),
            ("start_s", Column::F64(flows.iter().map(|(.., start, _)| start.seconds()).collect())),
            (
                "end_s",
                Column::MaybeF64(flows.iter().map(|(_, flow, ..)| seconds(flow.ended)).collect()),
            ),
            ("bytes", Column::U64(flows.iter().map(|(_, flow, ..)| flow.received).collect())),
            (
                "goodput_bps",
                Column::F64(flows.iter().map(|(_, flow, at, _)| goodput(flow, *at)).collect()),
            ),
            ("segments", Column::U64(flows.iter().map(|(.., s)| s.segments_sent).collect())),
            (
                "retransmits",
                Column::U64(flows.iter().map(|(.., s)| s.segments_retransmitted).collect()),
            ),
            ("timeouts", Column::U32(flows.iter().map(|(.., s)| s.timeouts).collect())),
            ("mean_rtt_s", Column::F64(flows.iter().map(|(.., s)| s.srtt.seconds()).collect())),
            ("min_rtt_s", Column::F64(flows.iter().map(|(.., s)| s.min_rtt.seconds()).collect())),
        ],
    }
}

fn pings(sim: &Sim<'_>) -> Table {
    let mut name = Names::default();
    let (mut seq, mut sent, mut rtt) = (Vec::new(), Vec::new(), Vec::new());
    for (index, pinger) in sim.pings.all.iter().enumerate() {
        let spec = sim.pings.spec(sim.plan, index as u32);
        for (number, (at, answer)) in pinger.echoes.iter().enumerate() {
            name.push(spec.map_or("", |spec| &spec.name));
            seq.push(number as u32);
            sent.push(at.seconds());
            rtt.push(answer.map(|answer| answer.seconds()));
        }
    }
    Table {
        name: "pings",
        columns: vec![
            ("ping", name.column()),
            ("seq", Column::U32(seq)),
            ("sent_s", Column::F64(sent)),
            ("rtt_s", Column::MaybeF64(rtt)),
        ],
    }
}

fn series(sim: &Sim<'_>) -> Table {
    let rows = &sim.sampler.rows;
    // A source's name is looked up once, not once a sample.
    let mut known: BTreeMap<(&str, u32), String> = BTreeMap::new();
    for row in rows {
        known
            .entry((sampled_name(row.what), row.source))
            .or_insert_with(|| sim.source_name(row.what, row.source));
    }
    Table {
        name: "series",
        columns: vec![
            ("what", names(rows.iter().map(|row| sampled_name(row.what)))),
            (
                "source",
                names(rows.iter().map(|row| known[&(sampled_name(row.what), row.source)].as_str())),
            ),
            ("t_s", Column::F64(rows.iter().map(|row| row.at.seconds()).collect())),
            ("value", Column::F64(rows.iter().map(|row| row.value).collect())),
        ],
    }
}

fn sampled_name(what: Sampled) -> &'static str {
    match what {
        Sampled::QueuePackets => "queue-packets",
        Sampled::QueueDelay => "queue-delay",
        Sampled::LinkRate => "link-rate",
        Sampled::Goodput => "goodput",
        Sampled::Window => "window",
        Sampled::Rtt => "rtt",
        Sampled::SwarmRate => "swarm-rate",
        Sampled::Online => "online",
        Sampled::Completed => "completed",
    }
}

fn pieces(sim: &Sim<'_>) -> Table {
    let rows = &sim.sampler.pieces;
    let place = |row: &crate::sampler::Pieces| population(sim, row.swarm, row.population);
    Table {
        name: "pieces",
        columns: vec![
            ("swarm", names(rows.iter().map(|row| place(row).0))),
            ("population", names(rows.iter().map(|row| place(row).1))),
            ("t_s", Column::F64(rows.iter().map(|row| row.at.seconds()).collect())),
            ("leechers", Column::U32(rows.iter().map(|row| row.leechers).collect())),
            ("mean", Column::F64(rows.iter().map(|row| row.mean).collect())),
            ("min", Column::U32(rows.iter().map(|row| row.min).collect())),
            ("max", Column::U32(rows.iter().map(|row| row.max).collect())),
        ],
    }
}

fn queues(sim: &Sim<'_>) -> Table {
    let rows: Vec<_> = sim
        .queues
        .kinds
        .iter()
        .flat_map(|kind| {
            let found = kind.found.iter().enumerate().filter(|(_, (count, _))| *count > 0);
            found.map(move |(packets, count)| (kind, packets as u32, *count))
        })
        .collect();
    Table {
        name: "queues",
        columns: vec![
            ("owner", names(rows.iter().map(|(kind, ..)| kind.owner.as_str()))),
            ("way", names(rows.iter().map(|(kind, ..)| kind.way))),
            ("packets", Column::U32(rows.iter().map(|(_, packets, _)| *packets).collect())),
            ("count", Column::U64(rows.iter().map(|(.., (count, _))| *count).collect())),
            ("online", Column::U64(rows.iter().map(|(.., (_, online))| *online).collect())),
        ],
    }
}

/// A table of bins that are not empty, for each population.
fn histogram(
    sim: &Sim<'_>,
    name: &'static str,
    bin_name: &'static str,
    bins: impl Fn(&crate::tally::Class) -> &Vec<u64>,
) -> Table {
    let (mut swarm, mut kind) = (Names::default(), Names::default());
    let (mut bin, mut count) = (Vec::new(), Vec::new());
    for class in &sim.tally.populations {
        let (swarm_name, population_name) = class_names(sim, class);
        for (value, &n) in bins(class).iter().enumerate().filter(|(_, n)| **n > 0) {
            swarm.push(swarm_name);
            kind.push(population_name);
            bin.push(value as u32);
            count.push(n);
        }
    }
    Table {
        name,
        columns: vec![
            ("swarm", swarm.column()),
            ("population", kind.column()),
            (bin_name, Column::U32(bin)),
            ("count", Column::U64(count)),
        ],
    }
}

fn class_names<'a>(sim: &'a Sim<'_>, class: &crate::tally::Class) -> (&'a str, &'a str) {
    let number = sim.swarms.all.iter().position(|swarm| swarm.workload == class.workload);
    number.map_or(("", ""), |number| population(sim, number as u32, class.population))
}

fn send_gaps(sim: &Sim<'_>) -> Table {
    histogram(sim, "send_gaps", "gap_ms", |class| &class.gaps)
}

fn payloads(sim: &Sim<'_>) -> Table {
    histogram(sim, "payloads", "bytes", |class| &class.payloads)
}

fn rtts(sim: &Sim<'_>) -> Table {
    let rows: Vec<_> = sim
        .tally
        .populations
        .iter()
        .filter_map(|class| {
            let (mean, min, max) = class.rtts.summary()?;
            Some((class_names(sim, class), class.rtts.samples, mean, min, max))
        })
        .collect();
    Table {
        name: "rtts",
        columns: vec![
            ("swarm", names(rows.iter().map(|((swarm, _), ..)| *swarm))),
            ("population", names(rows.iter().map(|((_, population), ..)| *population))),
            ("samples", Column::U64(rows.iter().map(|(_, samples, ..)| *samples).collect())),
            ("mean_s", Column::F64(rows.iter().map(|(_, _, mean, ..)| *mean).collect())),
            ("min_s", Column::F64(rows.iter().map(|(_, _, _, min, _)| *min).collect())),
            ("max_s", Column::F64(rows.iter().map(|(.., max)| *max).collect())),
        ],
    }
}

fn unchokes(sim: &Sim<'_>) -> Table {
    let rows = &sim.swarms.unchokes;
    let peer = |row: &crate::swarms::Unchoke| &sim.swarms.peers[row.peer as usize];
    let place =
        |row: &crate::swarms::Unchoke| population(sim, peer(row).swarm, peer(row).population);
    let cause = |row: &crate::swarms::Unchoke| match row.cause {
        UnchokeEnd::Idle => "idle",
        UnchokeEnd::Rotation => "rotation",
        UnchokeEnd::Outranked => "outranked",
        UnchokeEnd::NotInterested => "not-interested",
        UnchokeEnd::Disconnected => "disconnected",
    };
    Table {
        name: "unchokes",
        columns: vec![
            ("swarm", names(rows.iter().map(|row| place(row).0))),
            ("population", names(rows.iter().map(|row| place(row).1))),
            ("peer", Column::U32(rows.iter().map(|row| peer(row).id.0).collect())),
            ("remote", Column::U32(rows.iter().map(|row| row.remote.0).collect())),
            ("seeding", Column::U32(rows.iter().map(|row| u32::from(row.seeding)).collect())),
            ("start_s", Column::F64(rows.iter().map(|row| row.started.seconds()).collect())),
            ("end_s", Column::F64(rows.iter().map(|row| row.ended.seconds()).collect())),
            ("bytes", Column::U64(rows.iter().map(|row| row.bytes).collect())),
            ("blocks", Column::U32(rows.iter().map(|row| row.blocks).collect())),
            ("cause", names(rows.iter().map(cause))),
        ],
    }
}

fn packets(sim: &Sim<'_>) -> Table {
    let rows = sim.tally.trace.as_ref().map_or(&[][..], |trace| &trace.packets);
    let flow = |row: &Sent| &sim.transfers.flows[row.flow as usize];
    let transfer =
        |row| Transfers::spec(sim.plan, flow(row).transfer).map_or("", |spec| spec.name.as_str());
    Table {
        name: "packets",
        columns: vec![
            ("transfer", names(rows.iter().map(transfer))),
            ("flow", Column::U32(rows.iter().map(|row| flow(row).number).collect())),
            ("t_s", Column::F64(rows.iter().map(|row| row.at.seconds()).collect())),
            ("ip_bytes", Column::U32(rows.iter().map(|row| row.ip_bytes).collect())),
            ("payload_bytes", Column::U32(rows.iter().map(|row| row.payload_bytes).collect())),
            ("retransmission", Column::U32(rows.iter().map(|row| u32::from(row.again)).collect())),
        ],
    }
}

fn links(sim: &Sim<'_>) -> Table {
    let now = sim.now;
    let links: Vec<_> = sim.network.links().collect();
    let utilisation = |link: &crate::network::LinkView<'_>| {
        let capacity = link.rate()?.bps() as f64 * now.seconds();
        (capacity > 0.0).then(|| link.counters().bytes as f64 * 8.0 / capacity)
    };
    let waited = |link: &crate::network::LinkView<'_>| {
        let counters = link.counters();
        counters.waited.seconds() / counters.packets.max(1) as f64
    };
    Table {
        name: "links",
        columns: vec![
            ("link", names(links.iter().map(|link| link.name()))),
            ("packets", Column::U64(links.iter().map(|l| l.counters().packets).collect())),
            ("bytes", Column::U64(links.iter().map(|l| l.counters().bytes).collect())),
            ("dropped", Column::U64(links.iter().map(|l| l.counters().dropped).collect())),
            ("lost", Column::U64(links.iter().map(|l| l.counters().lost).collect())),
            ("mean_queue_delay_s", Column::F64(links.iter().map(waited).collect())),
            (
                "max_queue_packets",
                Column::U32(links.iter().map(|l| l.counters().most_packets).collect()),
            ),
            ("utilisation", Column::MaybeF64(links.iter().map(utilisation).collect())),
        ],
    }
}
