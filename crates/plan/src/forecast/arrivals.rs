use crate::Arrivals;
use crate::rate_clock::RateClock;

impl Arrivals {
    /// When the first and the last peer are expected, in seconds.
    pub(crate) fn expected_s(&self, hosts: usize) -> (f64, f64) {
        let count = hosts as f64;
        match self {
            Arrivals::FlashCrowd { start_ns, spread_ns } => {
                (start_ns.seconds(), start_ns.seconds() + spread_ns.seconds())
            }
            Arrivals::Poisson { start_ns, gap_ns } => {
                (start_ns.seconds(), start_ns.seconds() + count * gap_ns.seconds())
            }
            Arrivals::Times { at_ns } | Arrivals::Sessions { at_ns, .. } => {
                let seconds = at_ns.iter().map(|at| at.seconds());
                let first = seconds.clone().fold(f64::INFINITY, f64::min);
                (first, seconds.fold(0.0, f64::max))
            }
            Arrivals::Rates { steps, period_ns } => {
                let mut clock = RateClock::new(steps, *period_ns);
                (0.0, clock.after(count))
            }
        }
    }
}
