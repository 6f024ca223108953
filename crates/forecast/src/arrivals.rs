use flashcrowd_plan::{Arrivals, RateClock};

/// The fraction in which a place in a row ends up when the row is shuffled: each other one, evenly spread.
pub(crate) fn shuffled(place: usize, count: usize) -> f64 {
    const GOLDEN: f64 = 0.618_033_988_749_895;
    let part = (place as f64 + 0.5) * GOLDEN;
    let part = part - libm::floor(part);
    if count > 1 { part.clamp(1e-9, 1.0 - 1e-9) } else { 0.5 }
}

/// When the peer at `place` of `count` is expected, in seconds.
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

/// When the first and the last of `count` peers are expected, in seconds.
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

#[cfg(test)]
mod tests {
    use super::*;
    use flashcrowd_base::{RandomStream, Span};

    #[test]
    fn peers_are_expected_when_they_come_on_average() {
        const PEERS: usize = 50;
        let start_ns = Span::from_secs(30);
        let all = [
            Arrivals::FlashCrowd { start_ns, spread_ns: Span::from_secs(20) },
            Arrivals::Poisson { start_ns, gap_ns: Span::from_secs(3) },
            Arrivals::Times {
                at_ns: (0..PEERS as u64).rev().map(|at| Span::from_secs(5 + at)).collect(),
            },
        ];
        for arrivals in all {
            let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
            let drawn = |seed| -> Vec<f64> {
                let stream = RandomStream::new(seed, "arrivals", 0);
                arrivals.instants(PEERS, stream).map(|(at, _)| at.seconds()).collect()
            };
            let runs: Vec<Vec<f64>> = (0..400).map(drawn).collect();
            let least = |run: &Vec<f64>| run.iter().copied().fold(f64::INFINITY, f64::min);
            let most = |run: &Vec<f64>| run.iter().copied().fold(0.0, f64::max);
            let [middle, first, last] = [
                mean(&runs.iter().map(|run| mean(run)).collect::<Vec<_>>()),
                mean(&runs.iter().map(least).collect::<Vec<_>>()),
                mean(&runs.iter().map(most).collect::<Vec<_>>()),
            ];
            let expected: Vec<f64> =
                (0..PEERS).map(|place| expected_s(&arrivals, place, PEERS)).collect();
            let ends = ends_s(&arrivals, PEERS);
            let near = |found: f64, drawn: f64| (found - drawn).abs() < 0.03 * (last - first);
            assert!(near(mean(&expected), middle), "{arrivals:?}: {expected:?}, {middle}");
            assert!(
                near(ends.0, first) && near(ends.1, last),
                "{arrivals:?}: {ends:?}, {first}, {last}"
            );
        }
    }
}
