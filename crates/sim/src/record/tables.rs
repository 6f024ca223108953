use super::recorders::Recorders;
use super::{captures, connections, sources};
use crate::apps::{AnyApp, App, World};
use crate::kernel::{Class, Link, TracedPacket};
use flashcrowd_plan::Plan;
use flashcrowd_topology::{LinkUse, LinkWindow, QueueLength, QueueLengths};
use flashcrowd_workload::{Column, Names, Outcome, Table, names};

/// Everything that a run recorded. `docs/tables.md` says what the columns mean.
pub(crate) fn tables(
    world: &World,
    apps: &[AnyApp<'_>],
    recorders: &Recorders,
    plan: &Plan,
    events: u64,
) -> Vec<Table> {
    let mut tables = vec![run(world, apps, events)];
    for table in apps.iter().flat_map(|app| app.tables(world)) {
        match tables.iter_mut().find(|other| other.name == table.name) {
            Some(other) => other.append(table),
            None => tables.push(table),
        }
    }
    tables.extend([
        recorders.sampler.table(|what, source| sources::source_name(world, apps, what, source)),
        queues(&recorders.queue_lengths),
        histogram(world, "send_gaps", "gap_ms", |class| &class.gaps),
        histogram(world, "payloads", "bytes", |class| &class.payloads),
        rtts(world),
        packets(world),
        captures::table(world, apps),
        links(world, &recorders.link_window),
    ]);
    tables.extend(connections::tables(world, plan));
    tables
}

fn run(world: &World, apps: &[AnyApp<'_>], events: u64) -> Table {
    let nothing_left = Outcome::nothing_left();
    let (outcome, reason) = world.outcome.as_ref().unwrap_or(&nothing_left).words();
    let totals = world.network.totals;
    let payload: u64 = apps.iter().map(App::payload_bytes).sum();
    let one = |value: u64| Column::U64(vec![value]);
    Table {
        name: "run",
        columns: vec![
            ("outcome", Column::text(outcome)),
            ("reason", Column::text(reason)),
            ("end_s", Column::F64(vec![world.now.seconds()])),
            ("events", one(events)),
            ("packets_sent", one(totals.sent)),
            ("packets_delivered", one(totals.delivered)),
            ("packets_lost", one(totals.lost)),
            ("packets_dropped", one(totals.dropped)),
            ("payload_bytes_delivered", one(payload)),
            ("retransmitted_packets", one(world.retransmitted())),
        ],
    }
}

/// A table of bins that are not empty, for each population.
fn histogram(
    world: &World,
    name: &'static str,
    bin_name: &'static str,
    bins: impl Fn(&Class) -> &Vec<u64>,
) -> Table {
    let (mut swarm, mut kind) = (Names::default(), Names::default());
    let (mut bin, mut count) = (Vec::new(), Vec::new());
    for class in &world.monitor.classes {
        for (value, &n) in bins(class).iter().enumerate().filter(|(_, n)| **n > 0) {
            swarm.push(&class.workload);
            kind.push(&class.group);
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

fn rtts(world: &World) -> Table {
    let row = |class| {
        let class: &Class = class;
        let (mean, min, max) = class.rtts.summary()?;
        Some((class, mean, min, max))
    };
    let rows: Vec<_> = world.monitor.classes.iter().filter_map(row).collect();
    Table {
        name: "rtts",
        columns: vec![
            ("swarm", names(rows.iter().map(|(class, ..)| class.workload.as_str()))),
            ("population", names(rows.iter().map(|(class, ..)| class.group.as_str()))),
            ("samples", Column::U64(rows.iter().map(|(class, ..)| class.rtts.samples).collect())),
            ("mean_s", Column::F64(rows.iter().map(|(_, mean, ..)| *mean).collect())),
            ("min_s", Column::F64(rows.iter().map(|(_, _, min, _)| *min).collect())),
            ("max_s", Column::F64(rows.iter().map(|(.., max)| *max).collect())),
        ],
    }
}

fn packets(world: &World) -> Table {
    let trace = world.monitor.trace.as_ref();
    let rows = trace.map_or(&[][..], |trace| &trace.packets);
    let streams = trace.map_or(&[][..], |trace| &trace.streams);
    let stream = |row: &TracedPacket| &streams[row.stream as usize];
    Table {
        name: "packets",
        columns: vec![
            ("transfer", names(rows.iter().map(|row| stream(row).owner.as_str()))),
            ("flow", Column::U32(rows.iter().map(|row| stream(row).number).collect())),
            ("t_s", Column::F64(rows.iter().map(|row| row.at.seconds()).collect())),
            ("ip_bytes", Column::U32(rows.iter().map(|row| row.ip_bytes).collect())),
            ("payload_bytes", Column::U32(rows.iter().map(|row| row.payload_bytes).collect())),
            ("retransmission", Column::U32(rows.iter().map(|row| u32::from(row.again)).collect())),
        ],
    }
}

fn links(world: &World, window: &LinkWindow) -> Table {
    let links = world.network.links().enumerate();
    let rows: Vec<(&Link, LinkUse)> =
        links.map(|(index, link)| (link, window.used(index, link, world.now))).collect();
    let counts =
        |of: fn(&LinkUse) -> u64| Column::U64(rows.iter().map(|(_, used)| of(used)).collect());
    let waits = rows.iter().map(|(_, used)| used.mean_wait_s).collect();
    let max = rows.iter().map(|(_, used)| used.max_packets).collect();
    let utilisation = rows.iter().map(|(_, used)| used.utilisation).collect();
    Table {
        name: "links",
        columns: vec![
            ("link", names(rows.iter().map(|(link, _)| link.name()))),
            ("packets", counts(|used| used.packets)),
            ("bytes", counts(|used| used.bytes)),
            ("dropped", counts(|used| used.dropped)),
            ("lost", counts(|used| used.lost)),
            ("mean_queue_delay_s", Column::MaybeF64(waits)),
            ("max_queue_packets", Column::U32(max)),
            ("utilisation", Column::MaybeF64(utilisation)),
        ],
    }
}

fn queues(lengths: &QueueLengths) -> Table {
    let rows: Vec<QueueLength<'_>> = lengths.rows().collect();
    let counts = |of: fn(&QueueLength<'_>) -> u64| Column::U64(rows.iter().map(of).collect());
    Table {
        name: "queues",
        columns: vec![
            ("owner", names(rows.iter().map(|row| row.owner))),
            ("way", names(rows.iter().map(|row| row.way))),
            ("packets", Column::U32(rows.iter().map(|row| row.packets).collect())),
            ("count", counts(|row| row.count)),
            ("online", counts(|row| row.online)),
        ],
    }
}
