use crate::load::{Load, ROW_BYTES};
use flashcrowd_base::Span;
use flashcrowd_plan::{Measures, Plan, Source, Workload};

/// An event for each instant at which something is sampled, and a row for each value.
pub(crate) fn load(measures: &Measures, plan: &Plan, end_s: f64) -> Load {
    let rated = plan.network.links.iter().filter(|link| link.is_rated());
    let links = rated.count() as f64;
    let (mut flows, mut swarms, mut populations, mut peers) = (0.0, 0.0, 0.0, 0.0);
    let mut origins = 0.0;
    for workload in &plan.workloads {
        match workload {
            Workload::Transfer(transfer) => flows += f64::from(transfer.flows),
            Workload::Swarm(swarm) => {
                swarms += 1.0;
                populations += swarm.populations.len() as f64;
                peers += workload.hosts().len() as f64;
            }
            Workload::Origin(_) => origins += 1.0,
            _ => {}
        }
    }
    let mut load = Load::default();
    let mut add = |every: Option<Span>, rows: f64| {
        let times = every.map_or(0.0, |every| end_s / every.seconds());
        load.add(Load { events: times, bytes: times * rows * ROW_BYTES, ..Load::default() });
    };
    for series in &measures.series {
        let rows = match series.what.source() {
            Source::Links => links,
            Source::Flows => flows,
            Source::Swarms => swarms,
            Source::Clients => peers,
            Source::Origins => origins,
        };
        add(Some(series.every_ns), rows);
    }
    add(measures.pieces_ns, populations);
    add(measures.queues_ns, 0.0);
    load
}
