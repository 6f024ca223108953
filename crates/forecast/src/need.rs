use crate::load::{HOST_BYTES, LINK_BYTES, Load, MIN_BYTES};
use crate::outlook::Outlook;
use crate::{Forecast, capture, costs, forecast, logged_connections, measures};
use flashcrowd_plan::{Error, Plan};
use serde::Serialize;

/// The predicted need of one run. Packets and events of nine of ten ordinary plans are within a factor of
/// 1.5 of what the run then takes (`benches/needs/README.md`). Counted from the plan: bytes to move over
/// segments, acknowledgements, messages of each application; what drives a number in an unusual plan (a
/// controller that starves, a swarm that stalls) is not known before it runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Need {
    /// Events of the event loop.
    pub events: u64,
    /// Packets that reach the hosts that they are for, acknowledgements included.
    pub packets: u64,
    /// Seconds of one processor core, where `make needs` was run.
    pub seconds: f64,
    /// Bytes of memory at the peak, on top of what the process has before.
    pub bytes: u64,
    /// When the run is expected to end, in seconds of its own time: no later than its horizon.
    pub end_s: f64,
}

/// The predicted work of a plan's run, by kinds of work, from which processor time and memory are counted. Only of a
/// plan that [`Plan::check`] accepts.
pub fn work(plan: &Plan) -> Vec<(&'static str, f64)> {
    load(plan).0.kinds()
}

/// All work, and the second at which the run ends.
fn load(plan: &Plan) -> (Load, f64) {
    let workloads: Vec<&dyn Forecast> = plan.workloads.iter().map(forecast).collect();
    let mut outlook = Outlook::new(plan);
    workloads.iter().for_each(|workload| workload.share(&mut outlook));
    // A run ends with what can end; if nothing can, at its horizon.
    let ends = workloads.iter().enumerate().filter_map(|(index, it)| it.end_s(index, &outlook));
    let end_s = ends.reduce(f64::max).unwrap_or(f64::INFINITY).min(outlook.horizon_s);
    let Plan { measures, network, .. } = plan;
    let mut load = Load { bytes: MIN_BYTES, ..Load::default() };
    for (index, workload) in workloads.iter().enumerate() {
        let own = workload.load(index, &outlook, end_s);
        if let Some(capture) = &measures.capture {
            load.add(capture::load(capture, &plan.workloads[index], own.packets, end_s));
        }
        if let Some(connections) = &measures.connections {
            load.bytes += logged_connections::bytes(connections, index, plan, &own, end_s);
        }
        load.add(own);
    }
    load.add(measures::load(measures, plan, end_s));
    load.events += plan.timeline.len() as f64;
    load.bytes += network.hosts.len() as f64 * HOST_BYTES;
    load.bytes += network.links.len() as f64 * LINK_BYTES;
    (load, end_s)
}

impl Need {
    /// Of a plan that [`Plan::check`] accepts.
    pub fn of(plan: &Plan) -> Need {
        let (load, end_s) = load(plan);
        // Conversions from floats saturate.
        Need {
            events: load.events.ceil().max(1.0) as u64,
            packets: load.packets.ceil().max(1.0) as u64,
            seconds: costs::seconds(&load),
            bytes: costs::bytes(&load).ceil() as u64,
            end_s,
        }
    }

    /// Refuses what needs more memory than is available.
    ///
    /// # Errors
    /// It says how much one run needs and how much there is.
    pub fn check(&self, available_bytes: u64) -> Result<(), Error> {
        let (need, available) = (Size(self.bytes), Size(available_bytes));
        if self.bytes <= available_bytes {
            return Ok(());
        }
        Err(Error::new(
            "workloads",
            format_args!(
                "one run is expected to need {need} of memory, and {available} are available here; \
                 fewer hosts, connections or samples need less, and who knows better can force it"
            ),
        ))
    }
}

/// A number of bytes, as people write it.
struct Size(u64);

impl std::fmt::Display for Size {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let bytes = self.0 as f64;
        match self.0 {
            0..1_000_000_000 => write!(f, "{:.0} MB", bytes / 1e6),
            1_000_000_000..1_000_000_000_000 => write!(f, "{:.1} GB", bytes / 1e9),
            _ => write!(f, "{:.1} TB", bytes / 1e12),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_in_words() {
        let need = Need { events: 1, packets: 1, seconds: 1.0, bytes: 41_234_000_000, end_s: 1.0 };
        assert_eq!(need.check(41_234_000_000), Ok(()));
        let refused = need.check(2_000_000).expect_err("it does not fit").to_string();
        let begin = "plan: workloads: one run is expected to need 41.2 GB of memory, and 2 MB are ";
        assert!(refused.starts_with(begin), "{refused}");
        assert_eq!(Size(u64::MAX).to_string(), "18446744.1 TB");
    }
}
