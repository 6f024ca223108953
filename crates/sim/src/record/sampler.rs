use crate::apps::{AnyApp, App, Sample, World};
use flashcrowd_base::{Span, Time};
use flashcrowd_plan::{Sampled, Series};
use flashcrowd_workload::{Column, Table, names};
use std::collections::BTreeMap;

/// Time series of every link, flow or swarm that has them, sampled at fixed intervals.
pub(crate) struct Sampler {
    tasks: Vec<Task>,
    rows: Vec<Row>,
}

struct Task {
    what: Sampled,
    every: Span,
    /// The counters at the last sample, for rates.
    last: Vec<u64>,
}

/// One value of one series.
struct Row {
    what: Sampled,
    /// Index of the link, flow or swarm.
    source: u32,
    at: Time,
    value: f64,
}

impl Sampler {
    pub(crate) fn new(series: &[Series]) -> Sampler {
        let task =
            |series: &Series| Task { what: series.what, every: series.every_ns, last: Vec::new() };
        Sampler { tasks: series.iter().map(task).collect(), rows: Vec::new() }
    }

    pub(crate) fn tasks(&self) -> usize {
        self.tasks.len()
    }

    /// Samples one kind of series; its interval.
    pub(crate) fn sample(&mut self, world: &mut World, apps: &[AnyApp<'_>], task: usize) -> Span {
        let Task { what, every, last } = &mut self.tasks[task];
        for (place, (source, value)) in values(world, apps, *what).into_iter().enumerate() {
            let value = match value {
                Sample::Level(level) => level,
                Sample::Bytes(bytes) => rate(last, place, bytes * 8, *every),
                Sample::Bits(bits) => rate(last, place, bits, *every),
            };
            self.rows.push(Row { what: *what, source, at: world.now, value });
        }
        *every
    }

    pub(crate) fn table(&self, world: &World, apps: &[AnyApp<'_>]) -> Table {
        // A source's name is looked up once, not once a sample.
        let mut known: BTreeMap<(&str, u32), String> = BTreeMap::new();
        for row in &self.rows {
            known
                .entry((name(row.what), row.source))
                .or_insert_with(|| source_name(world, apps, row.what, row.source));
        }
        let source = |row: &Row| known[&(name(row.what), row.source)].as_str();
        Table {
            name: "series",
            columns: vec![
                ("what", names(self.rows.iter().map(|row| name(row.what)))),
                ("source", names(self.rows.iter().map(source))),
                ("t_s", Column::F64(self.rows.iter().map(|row| row.at.seconds()).collect())),
                ("value", Column::F64(self.rows.iter().map(|row| row.value).collect())),
            ],
        }
    }
}

/// The rate in bit/s over the time since the last sample of this place.
fn rate(last: &mut Vec<u64>, place: usize, bits: u64, every: Span) -> f64 {
    if last.len() <= place {
        last.resize(place + 1, 0);
    }
    let before = std::mem::replace(&mut last[place], bits);
    bits.saturating_sub(before) as f64 / every.seconds()
}

/// The present value for every source that has one: links are the world's, all else belongs to
/// some application.
fn values(world: &mut World, apps: &[AnyApp<'_>], what: Sampled) -> Vec<(u32, Sample)> {
    match what {
        Sampled::QueuePackets | Sampled::QueueDelay | Sampled::LinkRate => links(world, what),
        _ => apps.iter().flat_map(|app| app.sample(world, what)).collect(),
    }
}

/// The same for links with a rate.
fn links(world: &mut World, what: Sampled) -> Vec<(u32, Sample)> {
    let now = world.now;
    let indexed = (0u32..).zip(world.network.links());
    let rated: Vec<u32> =
        indexed.filter(|(_, link)| link.is_rated()).map(|(index, _)| index).collect();
    let mut value = |link: u32| match what {
        Sampled::QueuePackets => Sample::Level(f64::from(world.network.queued_packets(link, now))),
        Sampled::QueueDelay => {
            Sample::Level(world.network.link(link).queueing_delay(now).seconds())
        }
        _ => Sample::Bits(world.network.link(link).sent(now).bits),
    };
    rated.into_iter().map(|link| (link, value(link))).collect()
}

/// The name of the link, flow or swarm that a series is about.
fn source_name(world: &World, apps: &[AnyApp<'_>], what: Sampled, source: u32) -> String {
    match what {
        Sampled::QueuePackets | Sampled::QueueDelay | Sampled::LinkRate => {
            world.network.link(source).name().to_owned()
        }
        _ => apps.iter().find_map(|app| app.source_name(what, source)).unwrap_or_default(),
    }
}

/// What a kind of series is called in tables and plans.
fn name(what: Sampled) -> &'static str {
    match what {
        Sampled::QueuePackets => "queue-packets",
        Sampled::QueueDelay => "queue-delay",
        Sampled::LinkRate => "link-rate",
        Sampled::Goodput => "goodput",
        Sampled::Window => "window",
        Sampled::Rtt => "rtt",
        Sampled::OwnDelay => "own-delay",
        Sampled::SwarmRate => "swarm-rate",
        Sampled::Online => "online",
        Sampled::Completed => "completed",
        Sampled::UploadLimit => "upload-limit",
        Sampled::OriginRate => "origin-rate",
        Sampled::DiskRate => "disk-rate",
        Sampled::DiskQueue => "disk-queue",
        Sampled::DiskWaiting => "disk-waiting",
        Sampled::OriginClients => "origin-clients",
    }
}
