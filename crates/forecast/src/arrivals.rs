use flashcrowd_plan::{Arrivals, RateClock};

/// The fraction in which a place in a row ends up when the row is shuffled: each other one, evenly spread.
pub(crate) fn shuffled(place: usize, count: usize) -> f64 {
    const GOLDEN: f64 = 0.618_033_988_749_895;
    let part = (place as f64 + 0.5) * GOLDEN;
    let part = part - libm::floor(part);
    if count > 1 { part.clamp(1e-9, 1.0 - 1e-9) } else { 0.5 }
}

/// When the peer at this place of so many is expected, in seconds.
pub(crate) fn expected_s(arrivals: &Arrivals, place: usize, count: usize) -> f64 {
    match arrivals {
        Arrivals::FlashCrowd { start_ns, spread_ns } => {
            start_ns.seconds() + spread_ns.seconds() * shuffled(place, count)
        }
        Arrivals::Poisson { start_ns, gap_ns } => {
            start_ns.seconds() + (place as f64 + 1.0) * gap_ns.seconds()
        }
        Arrivals::Times { at_ns } | Arrivals::Sessions { at_ns, .. } => {
            at_ns.get(place).map_or(0.0, |at| at.seconds())
        }
        Arrivals::Rates { steps, period_ns } => {
            RateClock::new(steps, *period_ns).after(place as f64 + 1.0)
        }
    }
}

/// When the first and the last of so many are expected, in seconds.
pub(crate) fn ends_s(arrivals: &Arrivals, count: usize) -> (f64, f64) {
    match arrivals {
        Arrivals::FlashCrowd { start_ns, spread_ns } => {
            (start_ns.seconds(), start_ns.seconds() + spread_ns.seconds())
        }
        Arrivals::Times { at_ns } | Arrivals::Sessions { at_ns, .. } => {
            let seconds = at_ns.iter().map(|at| at.seconds());
            let first = seconds.clone().fold(f64::INFINITY, f64::min);
            (first, seconds.fold(0.0, f64::max))
        }
        _ => (expected_s(arrivals, 0, count), expected_s(arrivals, count.saturating_sub(1), count)),
    }
}
