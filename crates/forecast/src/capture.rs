use crate::load::Load;
use flashcrowd_plan::{Capture, Workload};

/// A captured packet as its headers have it, in a list that grows.
const SEEN_BYTES: f64 = 150.0;
/// A packet without payload, its row in the table included.
const MIN_BYTES: f64 = 100.0;
/// An ordinary packet, acknowledgements among them.
const MEAN_BYTES: f64 = 1000.0;
/// How often a table is held while it is made and while it is written. 200 MB in one transfer, seen at
/// both ends, took 343 MB with 160 bytes of each packet and 1790 MB with all of them, to the end of the
/// writing; with this it is 390 and 1430.
const COPIES: f64 = 3.0;

/// Memory for the captured packets of a workload that sends `packets` in a run that ends at `end_s`,
/// spread evenly over time and over its hosts.
pub(crate) fn load(capture: &Capture, workload: &Workload, packets: f64, end_s: f64) -> Load {
    let end = capture.to_ns.map_or(end_s, |to| to.seconds().min(end_s));
    let share = ((end - capture.from_ns.seconds()) / end_s).clamp(0.0, 1.0);
    let seen = packets * 2.0 * share_of(capture, workload) * share;
    let kept = capture.snap_bytes.map_or(MEAN_BYTES, |snap| f64::from(snap).min(MEAN_BYTES));
    let bytes = seen * (SEEN_BYTES + COPIES * (MIN_BYTES + kept));
    Load { bytes: if bytes.is_finite() { bytes } else { 0.0 }, ..Load::default() }
}

/// The share of the hosts of a workload that are captured.
fn share_of(capture: &Capture, workload: &Workload) -> f64 {
    let hosts = workload.hosts();
    let captured = hosts.iter().filter(|host| capture.hosts.binary_search(host).is_ok());
    captured.count() as f64 / (hosts.len() as f64).max(1.0)
}
