//! Time series: values that are sampled at fixed intervals.

use crate::{Column, Table, names};
use flashcrowd_base::{Span, Time};
use flashcrowd_plan::{Sampled, Series};
use std::collections::BTreeMap;

/// The value of one source of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sample {
    /// Recorded as it is.
    Level(f64),
    /// A count of bytes, recorded as the bits per second since the last sample.
    Bytes(u64),
    /// A count of bits, recorded as the bits per second since the last sample.
    Bits(u64),
}

/// The series of a run.
#[derive(Clone, Debug)]
pub struct Sampler {
    tasks: Vec<Task>,
    rows: Vec<Row>,
}

/// One series, of all its sources.
#[derive(Clone, Debug)]
struct Task {
    what: Sampled,
    every: Span,
    /// The bits of each source at its last sample, for rates.
    last: Vec<u64>,
}

/// One value of one source.
#[derive(Clone, Debug)]
struct Row {
    what: Sampled,
    source: u32,
    at: Time,
    value: f64,
}

impl Sampler {
    /// Of what a plan asks for.
    pub fn new(series: &[Series]) -> Sampler {
        let task =
            |series: &Series| Task { what: series.what, every: series.every_ns, last: Vec::new() };
        Sampler { tasks: series.iter().map(task).collect(), rows: Vec::new() }
    }

    /// How many series there are.
    pub fn tasks(&self) -> usize {
        self.tasks.len()
    }

    /// What a series is about, and how often it is sampled.
    pub fn task(&self, number: usize) -> (Sampled, Span) {
        let Task { what, every, .. } = self.tasks[number];
        (what, every)
    }

    /// Records values of a series, by source.
    pub fn record(&mut self, now: Time, task: usize, values: impl Iterator<Item = (u32, Sample)>) {
        let Task { what, every, last } = &mut self.tasks[task];
        for (source, value) in values {
            let mut rate = |bits: u64| {
                if last.len() <= source as usize {
                    last.resize(source as usize + 1, 0);
                }
                let before = std::mem::replace(&mut last[source as usize], bits);
                bits.saturating_sub(before) as f64 / every.seconds()
            };
            let value = match value {
                Sample::Level(level) => level,
                Sample::Bytes(bytes) => rate(bytes * 8),
                Sample::Bits(bits) => rate(bits),
            };
            self.rows.push(Row { what: *what, source, at: now, value });
        }
    }

    /// The table `series`, with a name for each source.
    pub fn table(&self, name_of: impl Fn(Sampled, u32) -> String) -> Table {
        // A source's name is looked up once, not once a sample.
        let mut known: BTreeMap<(&str, u32), String> = BTreeMap::new();
        for row in &self.rows {
            known
                .entry((name(row.what), row.source))
                .or_insert_with(|| name_of(row.what, row.source));
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
