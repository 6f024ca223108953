//! Time series: values that are sampled at fixed intervals.

use crate::{Column, Table, names};
use flashcrowd_base::{Span, Time};
use flashcrowd_plan::{Sampled, Series, Source};
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
                .entry((row.what.name(), row.source))
                .or_insert_with(|| name_of(row.what, row.source));
        }
        let source = |row: &Row| known[&(row.what.name(), row.source)].as_str();
        Table {
            name: "series",
            columns: vec![
                ("what", names(self.rows.iter().map(|row| row.what.name()))),
                ("source", names(self.rows.iter().map(source))),
                ("t_s", Column::F64(self.rows.iter().map(|row| row.at.seconds()).collect())),
                ("value", Column::F64(self.rows.iter().map(|row| row.value).collect())),
            ],
        }
    }
}

/// Series that an engine in wall-clock time samples when it finds that they are due.
#[derive(Clone, Debug)]
pub struct Samples {
    sampler: Sampler,
    /// When each is sampled next.
    next: Vec<(Time, usize)>,
}

impl Samples {
    /// Those about such sources, of what a plan asks for.
    pub fn new(series: &[Series], of: &[Source]) -> Samples {
        let sampler = Sampler::new(series);
        let of_these = |task: &usize| of.contains(&sampler.task(*task).0.source());
        let next = (0..sampler.tasks()).filter(of_these).map(|task| (Time::START, task)).collect();
        Samples { sampler, next }
    }

    /// When a sample is due next; never if none is to come.
    pub fn due(&self) -> Time {
        self.next.iter().map(|(at, _)| *at).min().unwrap_or(Time::NEVER)
    }

    /// Whether a sample of this quantity is due.
    pub fn is_due(&self, now: Time, what: Sampled) -> bool {
        self.next.iter().any(|(at, task)| *at <= now && self.sampler.task(*task).0 == what)
    }

    /// Takes the samples that are due, of the present values: those that were missed, too.
    pub fn look<V>(&mut self, now: Time, values: impl Fn(Sampled) -> V)
    where
        V: IntoIterator<Item = (u32, Sample)>,
    {
        for (at, task) in &mut self.next {
            let (what, every) = self.sampler.task(*task);
            while *at <= now {
                self.sampler.record(*at, *task, values(what).into_iter());
                *at += every;
            }
        }
    }

    /// The table `series`, with a name for each source.
    pub fn table(&self, name_of: impl Fn(Sampled, u32) -> String) -> Table {
        self.sampler.table(name_of)
    }
}
