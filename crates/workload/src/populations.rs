//! Measurements of the sockets of a population, as the paper of Rao et al. (2010) plots them.

use crate::{Column, Names, Table, names};
use flashcrowd_base::Span;

/// TCP's smoothed round-trip time, sampled at each send.
#[derive(Clone, Debug, Default)]
pub struct RttEstimates {
    samples: u64,
    sum: Span,
    min: Option<Span>,
    max: Span,
}

impl RttEstimates {
    /// It is this at that number of sends.
    pub fn add(&mut self, estimate: Span, sends: u64) {
        self.samples += sends;
        self.sum += estimate * sends;
        self.min = Some(self.min.map_or(estimate, |min| min.min(estimate)));
        self.max = self.max.max(estimate);
    }
}

/// The table `rtts`: of each population its swarm, its name and its estimates, if it has any.
pub fn rtts<'a>(populations: impl Iterator<Item = (&'a str, &'a str, &'a RttEstimates)>) -> Table {
    let row = |(swarm, population, it): (_, _, &'a RttEstimates)| {
        let mean = it.sum.seconds() / it.samples as f64;
        Some((swarm, population, it.samples, mean, it.min?.seconds(), it.max.seconds()))
    };
    let rows: Vec<(&str, &str, u64, f64, f64, f64)> = populations.filter_map(row).collect();
    Table {
        name: "rtts",
        columns: vec![
            ("swarm", names(rows.iter().map(|row| row.0))),
            ("population", names(rows.iter().map(|row| row.1))),
            ("samples", Column::U64(rows.iter().map(|row| row.2).collect())),
            ("mean_s", Column::F64(rows.iter().map(|row| row.3).collect())),
            ("min_s", Column::F64(rows.iter().map(|row| row.4).collect())),
            ("max_s", Column::F64(rows.iter().map(|row| row.5).collect())),
        ],
    }
}

/// A table of the bins of histograms that are not empty: of each its swarm, its population, its edge and its count.
pub fn histogram<'a>(
    name: &'static str,
    edge: &'static str,
    bins: impl Iterator<Item = (&'a str, &'a str, u32, u64)>,
) -> Table {
    let (mut swarms, mut populations) = (Names::default(), Names::default());
    let (mut edges, mut counts) = (Vec::new(), Vec::new());
    for (swarm, population, bin, count) in bins.filter(|(.., count)| *count > 0) {
        swarms.push(swarm);
        populations.push(population);
        edges.push(bin);
        counts.push(count);
    }
    Table {
        name,
        columns: vec![
            ("swarm", swarms.column()),
            ("population", populations.column()),
            (edge, Column::U32(edges)),
            ("count", Column::U64(counts)),
        ],
    }
}
