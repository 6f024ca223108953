use std::collections::VecDeque;
use std::mem;

use flashcrowd_base::Span;

/// A power of two has 2^BITS bins.
const BITS: u32 = 4;
/// Lengths up to 2^40 ns, 18 minutes; longer ones share the last bin.
const BINS: usize = (40 - BITS as usize + 1) << BITS;

/// How many packets were how late, by bins of at most a 16th of their length, in memory that does not
/// grow.
#[derive(Clone, Debug)]
pub(crate) struct Lateness {
    bins: Box<[u32]>,
    count: u64,
    max: Span,
}

fn bin(length: Span) -> usize {
    let nanos = length.nanos();
    let shift = nanos.max(1).ilog2().saturating_sub(BITS);
    (((shift as usize) << BITS) + (nanos >> shift) as usize).min(BINS - 1)
}

/// The longest span of a bin.
fn longest(bin: usize) -> Span {
    let shift = (bin >> BITS).saturating_sub(1);
    let min = (bin - (shift << BITS)) as u64;
    Span::from_nanos(((min + 1) << shift) - 1)
}

impl Lateness {
    pub(crate) fn new() -> Lateness {
        Lateness { bins: vec![0; BINS].into_boxed_slice(), count: 0, max: Span::ZERO }
    }

    pub(crate) fn add(&mut self, late: Span) {
        self.bins[bin(late)] += 1;
        self.count += 1;
        self.max = self.max.max(late);
    }

    pub(crate) fn clear(&mut self) {
        self.bins.fill(0);
        (self.count, self.max) = (0, Span::ZERO);
    }

    fn add_all(&mut self, other: &Lateness) {
        for (bin, more) in self.bins.iter_mut().zip(&other.bins) {
            *bin += more;
        }
        self.count += other.count;
        self.max = self.max.max(other.max);
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }
    pub(crate) fn max(&self) -> Span {
        self.max
    }

    /// The `of_thousand`/1000 quantile, at most 1/16 too high.
    pub(crate) fn quantile(&self, of_thousand: u64) -> Span {
        let mut sum = 0;
        for (bin, count) in self.bins.iter().enumerate() {
            sum += u64::from(*count);
            if sum > 0 && sum * 1000 >= self.count * of_thousand {
                return longest(bin).min(self.max);
            }
        }
        Span::ZERO
    }
}

/// A hundredth of fewer packets is less than one of them.
const LEAST: u64 = 100;

/// The lateness of a second and of as many seconds before it as make it that of [`LEAST`] packets.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    seconds: VecDeque<Lateness>,
    count: u64,
}

impl Recent {
    /// The 99th percentile of the lateness of a second, which is emptied, with as many seconds before
    /// it as make a hundred packets; zero if it has none.
    pub(crate) fn close(&mut self, second: &mut Lateness) -> Span {
        let second = mem::replace(second, Lateness::new());
        if second.count == 0 {
            return Span::ZERO;
        }
        self.count += second.count;
        self.seconds.push_back(second);
        while let Some(first) = self.seconds.front()
            && self.count - first.count >= LEAST
        {
            self.count -= first.count;
            self.seconds.pop_front();
        }
        let mut all = Lateness::new();
        self.seconds.iter().for_each(|second| all.add_all(second));
        all.quantile(990)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_at_most_a_16th_too_large() {
        let mut lateness = Lateness::new();
        assert_eq!(lateness.quantile(990), Span::ZERO);
        for micros in 1..=1000 {
            lateness.add(Span::from_micros(micros));
        }
        for (of_thousand, micros) in [(500, 500), (990, 990), (1000, 1000)] {
            let found = lateness.quantile(of_thousand).nanos() as f64 / 1e3;
            assert!((micros as f64..=micros as f64 * 17.0 / 16.0).contains(&found), "{found}");
        }
        assert_eq!((lateness.count(), lateness.max()), (1000, Span::from_millis(1)));
        lateness.add(Span::from_secs(100_000));
        assert_eq!(lateness.max(), Span::from_secs(100_000));
        lateness.clear();
        assert_eq!((lateness.count(), lateness.quantile(1000)), (0, Span::ZERO));
    }

    #[test]
    fn a_hundredth_is_that_of_a_hundred_packets() {
        let (late, prompt) = (Span::from_millis(7), Span::from_micros(20));
        let mut recent = Recent::default();
        let mut close = |packets: &[Span]| {
            let mut second = Lateness::new();
            packets.iter().for_each(|it| second.add(*it));
            let found = recent.close(&mut second);
            assert_eq!(second.count(), 0);
            found >= late
        };
        let fifty = [prompt; 50];
        let with_late = |packets: usize| [vec![late; packets], vec![prompt; 50 - packets]].concat();
        assert!(close(&with_late(1)), "of fifty in all, one is more than a hundredth");
        assert!(!close(&fifty), "one of a hundred");
        assert!(!close(&with_late(1)), "the first is forgotten, and this one is one of a hundred");
        assert!(close(&with_late(1)), "two of a hundred");
        assert!(close(&with_late(2)), "three");
        assert!(!close(&[prompt; 200]), "a second of more than a hundred stands for itself");
        assert!(close(&[vec![late; 3], vec![prompt; 197]].concat()));
        assert!(!close(&[]), "nothing was late");
    }
}
