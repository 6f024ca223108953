use crate::load::Load;
use flashcrowd_base::Span;
use flashcrowd_plan::{LoggedConnections, Plan, Workload};

/// Memory of an event of a log: a row of the recorder, then columns, most of which are empty in any
/// one row. 657 were measured over the 420,000 events of an upload of 150 MB.
const EVENT_BYTES: f64 = 660.0;
/// Changes of metrics, or of the timer, for a packet that is sent or arrives: each segment changes what is in
/// flight, each acknowledgement more; an end that only receives has none. In the same place 0.36.
const CHANGES: f64 = 0.5;

/// Memory of the logs of a workload of this `load`: an event for each packet at each of its ends, and a
/// fixed share of events for what changed with it.
pub(crate) fn bytes(
    logged: &LoggedConnections,
    workload: usize,
    plan: &Plan,
    load: &Load,
    end_s: f64,
) -> f64 {
    if !logged.workloads.contains(&(workload as u32)) {
        return 0.0;
    }
    let to_s = logged.to_ns.map_or(end_s, Span::seconds).min(end_s);
    let time = ((to_s - logged.from_ns.seconds()) / end_s.max(1e-9)).clamp(0.0, 1.0);
    let one = |wanted: bool| f64::from(u8::from(wanted));
    let kinds = one(logged.packets) + CHANGES * (one(logged.metrics) + one(logged.timers));
    load.packets * ends(logged, &plan.workloads[workload]) * time * kinds * EVENT_BYTES
}

/// How many of both ends of a connection are logged, on average.
fn ends(logged: &LoggedConnections, workload: &Workload) -> f64 {
    let Some(hosts) = &logged.hosts else { return 2.0 };
    let members = workload.hosts();
    let logged = members.iter().filter(|host| hosts.contains(host)).count();
    2.0 * logged as f64 / (members.len() as f64).max(1.0)
}
