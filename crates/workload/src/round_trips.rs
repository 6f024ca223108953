use flashcrowd_base::{Span, Time};
use std::ops::Range;

/// A flow's round-trip time as a function of time: each sample of its transport holds until the next
/// one, so the mean is over time. Per sample it would be a mean over acknowledgements, of which
/// there are most while the flow is fast.
#[derive(Clone, Debug)]
pub(crate) struct RoundTrips {
    /// What counts.
    window: Range<Time>,
    /// The sample that holds, and since when.
    latest: Option<(Span, Time)>,
    min: Span,
    max: Span,
    /// For how long samples have held, and the integral of the round-trip time over that, in
    /// nanoseconds squared.
    held: Span,
    integral: u128,
    /// For how long each length held, in nanoseconds, by [`bin`]s from the first one in use.
    first: usize,
    bins: Vec<u64>,
}

/// Summary of a flow's round trips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Summary {
    /// Over the time in which it is known.
    pub(crate) mean: Span,
    /// The least that held for any time.
    pub(crate) min: Span,
    /// The least that was not exceeded for 95 % of the time, or at most a 64th more.
    pub(crate) p95: Span,
}

/// A power of two is this many bins, as a number of bits.
const BITS: u32 = 6;

/// Lengths below 128 ns have bins of their own; of the longer ones, a bin is a 64th of the power of
/// two at or below it.
fn bin(length: Span) -> usize {
    let nanos = length.nanos();
    let shift = nanos.max(1).ilog2().saturating_sub(BITS);
    ((shift as usize) << BITS) + (nanos >> shift) as usize
}

/// The longest span of a bin.
fn longest(bin: usize) -> Span {
    let shift = (bin >> BITS).saturating_sub(1);
    let min = (bin - (shift << BITS)) as u64;
    Span::from_nanos(((min + 1) << shift) - 1)
}

impl RoundTrips {
    /// Of which those in `window` count.
    pub(crate) fn within(window: Range<Time>) -> RoundTrips {
        RoundTrips {
            window,
            latest: None,
            min: Span::MAX,
            max: Span::ZERO,
            held: Span::ZERO,
            integral: 0,
            first: 0,
            bins: Vec::new(),
        }
    }

    /// The transport's latest sample at `now`. A sample that equals the one before changes nothing,
    /// so the caller need not know whether it is a new one.
    pub(crate) fn see(&mut self, now: Time, sample: Span) {
        if self.latest.is_some_and(|(latest, _)| latest == sample) {
            return;
        }
        self.hold(now);
        self.latest = Some((sample, now));
    }

    /// The latest sample held until `now`.
    pub(crate) fn hold(&mut self, now: Time) {
        let Some((sample, since)) = &mut self.latest else { return };
        let held = now.min(self.window.end).since((*since).max(self.window.start));
        let sample = *sample;
        *since = now;
        if held.is_zero() {
            return;
        }
        self.min = self.min.min(sample);
        self.max = self.max.max(sample);
        self.held += held;
        self.integral += u128::from(held.nanos()) * u128::from(sample.nanos());
        let bin = bin(sample);
        if self.bins.is_empty() {
            self.first = bin;
        } else if bin < self.first {
            self.bins.splice(..0, std::iter::repeat_n(0, self.first - bin));
            self.first = bin;
        }
        if self.bins.len() <= bin - self.first {
            self.bins.resize(bin - self.first + 1, 0);
        }
        self.bins[bin - self.first] += held.nanos();
    }

    /// Over all samples, the latest one until `now`; `None` without one in the window. If samples hold
    /// for no time, the latest counts alone.
    pub(crate) fn summary(&self, now: Time) -> Option<Summary> {
        let mut all = self.clone();
        all.hold(now);
        let (latest, at) = all.latest?;
        if all.held.is_zero() {
            let inside = self.window.contains(&at);
            return inside.then_some(Summary { mean: latest, min: latest, p95: latest });
        }
        let held = u128::from(all.held.nanos());
        let mean = Span::from_nanos((all.integral / held) as u64);
        let mut sum = 0;
        let bin = all.bins.iter().position(|nanos| {
            sum += u128::from(*nanos);
            sum * 100 >= held * 95
        });
        let p95 = bin.map_or(all.max, |bin| longest(all.first + bin).min(all.max));
        Some(Summary { mean, min: all.min, p95 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(millis: u64) -> Time {
        Time::START + Span::from_millis(millis)
    }
    fn millis(millis: u64) -> Span {
        Span::from_millis(millis)
    }

    #[test]
    fn a_bin_is_a_64th_wide() {
        let mut last = None;
        for nanos in (0..10_000).chain((10_000..10_000_000).step_by(997)).chain([u64::MAX / 4]) {
            let (length, bin) = (Span::from_nanos(nanos), bin(Span::from_nanos(nanos)));
            assert!(last <= Some(bin), "{nanos}");
            last = Some(bin);
            let longest = longest(bin);
            assert!(length <= longest && longest.nanos() <= nanos + nanos / 64, "{nanos}");
        }
    }

    #[test]
    fn each_sample_holds_until_the_next() {
        let mut rtts = RoundTrips::within(Time::START..Time::NEVER);
        assert_eq!(rtts.summary(at(5)), None);
        rtts.see(at(100), millis(100));
        let [mean, min, p95] = [millis(100); 3];
        assert_eq!(rtts.summary(at(100)), Some(Summary { mean, min, p95 }));
        // 300 ms at 100 ms, 600 ms at 40 ms, 100 ms at 500 ms: (30 + 24 + 50) / 1 ms.
        rtts.see(at(400), millis(40));
        for repeat in [500, 600, 700] {
            rtts.see(at(repeat), millis(40));
        }
        rtts.see(at(1000), millis(500));
        let expected = Summary { mean: millis(104), min: millis(40), p95: millis(500) };
        assert_eq!(rtts.summary(at(1100)), Some(expected));
        // Longer than 40 ms for 340 ms: 4.25 % of 8 s, and 5.7 % of 6 s.
        rtts.see(at(1040), millis(40));
        let p95 = |until| rtts.summary(at(until)).map_or(0.0, |summary| summary.p95.seconds());
        assert!((0.04..0.04 * 65.0 / 64.0).contains(&p95(8100)), "{}", p95(8100));
        assert!((0.1..0.1 * 65.0 / 64.0).contains(&p95(6100)), "{}", p95(6100));
    }

    #[test]
    fn what_holds_outside_of_the_window_does_not_count() {
        let mut rtts = RoundTrips::within(at(300)..at(500));
        rtts.see(at(100), millis(100));
        assert_eq!(rtts.summary(at(299)), None);
        rtts.see(at(350), millis(40));
        rtts.see(at(450), millis(20));
        rtts.see(at(600), millis(5));
        // 50 ms at 100 ms, 100 at 40, 50 at 20: (5 + 4 + 1) / 0.2 ms.
        let found = rtts.summary(at(700)).map(|it| (it.mean, it.min));
        assert_eq!(found, Some((millis(50), millis(20))));
        let mut late = RoundTrips::within(at(300)..at(500));
        late.see(at(600), millis(5));
        assert_eq!(late.summary(at(700)), None);
    }

    proptest! {
        /// Each sample counts for as long as it held inside of the window, in any order.
        #[test]
        fn a_summary_is_over_the_time_in_the_window(
            samples in prop::collection::vec((0_u64..50, 1_u64..2_000_000_000), 1..40),
            from in 0_u64..600,
            length in 0_u64..1000,
            rest in 0_u64..50,
        ) {
            let window = at(from)..at(from + length);
            let mut rtts = RoundTrips::within(window.clone());
            let mut seen = Vec::new();
            let mut now = Time::START;
            for (gap, nanos) in samples {
                now += millis(gap);
                rtts.see(now, Span::from_nanos(nanos));
                seen.push((nanos, now));
            }
            now += millis(rest);
            let ends = seen.iter().skip(1).map(|(_, since)| *since).chain([now]);
            let held = |since: Time, end: Time| end.min(window.end).since(since.max(window.start));
            let mut held: Vec<(u128, u128)> = (seen.iter().zip(ends))
                .map(|((nanos, since), end)| (u128::from(*nanos), u128::from(held(*since, end).nanos())))
                .filter(|(_, held)| *held > 0)
                .collect();
            held.sort_unstable();
            let total: u128 = held.iter().map(|(_, held)| held).sum();
            let found = rtts.summary(now);
            if total == 0 {
                let latest = seen.last().map(|(nanos, _)| Span::from_nanos(*nanos));
                let inside = latest.filter(|_| window.contains(&now));
                let expected = inside.map(|latest| Summary { mean: latest, min: latest, p95: latest });
                prop_assert_eq!(found, expected);
                return Ok(());
            }
            let found = found.expect("a sample held in the window");
            let integral: u128 = held.iter().map(|(nanos, held)| nanos * held).sum();
            prop_assert_eq!(u128::from(found.mean.nanos()), integral / total);
            prop_assert_eq!(u128::from(found.min.nanos()), held[0].0);
            let mut sum = 0;
            let rank = held.iter().find(|(_, held)| {
                sum += held;
                sum * 100 >= total * 95
            });
            let (p95, most) = (rank.map_or(0, |(nanos, _)| *nanos), held[held.len() - 1].0);
            let found = u128::from(found.p95.nanos());
            prop_assert!((p95..=most.min(p95 + p95 / 64)).contains(&found), "{} for {}", found, p95);
        }
    }
}
