//! The processor time and the memory of each kind of work.

use crate::fitted::{BYTES, SECONDS, SLOWER_BYTES};
use crate::load::Load;

/// Both ends of a connection: sockets of 768 bytes with a timer of 16, and half of that again while
/// the list of them grows and stands twice.
const CONNECTION_BYTES: f64 = 2400.0;
/// Caches that miss make all work slower, but not by more than this. By hand: it is reached at about 200 MB, and nothing
/// larger was measured.
const SLOWEST: f64 = 5.0;
/// The time of an idle run. By hand: next to it what is measured is noise.
const MIN_S: f64 = 200e-6;

/// Seconds of processor time.
pub(crate) fn seconds(load: &Load) -> f64 {
    let slower = (1.0 + bytes(load) / SLOWER_BYTES).min(SLOWEST);
    MIN_S + slower * sum(load, &SECONDS)
}

/// Bytes of memory at the peak.
pub(crate) fn bytes(load: &Load) -> f64 {
    load.bytes + load.connections * CONNECTION_BYTES + sum(load, &BYTES)
}

fn sum(load: &Load, costs: &[(&str, f64)]) -> f64 {
    let kinds = load.kinds();
    let of = |name: &str| kinds.iter().find(|(kind, _)| *kind == name).map_or(0.0, |(_, it)| *it);
    costs.iter().map(|(name, cost)| of(name) * cost).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_takes_longer_in_more_memory_but_not_for_ever() {
        let took = |bytes| seconds(&Load { events: 1e9, bytes, ..Load::default() });
        let plain = took(0.0);
        assert!((took(SLOWER_BYTES / 2.0) / plain - 1.5).abs() < 1e-3);
        assert!((took(SLOWER_BYTES * 100.0) / plain - SLOWEST).abs() < 1e-3);
        let twice = seconds(&Load { events: 2e9, ..Load::default() });
        assert!((twice / plain - 2.0).abs() < 1e-3, "{twice} s, {plain} s");
        assert!((seconds(&Load::default()) / MIN_S - 1.0).abs() < 1e-3);
    }
}
