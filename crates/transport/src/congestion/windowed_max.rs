/// Windowed maximum filter over rounds, in constant memory: the best sample, the
/// best of those after it, and the best of those after that (K. Nichols' filter; Linux:
/// `lib/win_minmax.c`). Time is any number that does not go back: rounds, or cycles of a probe.
#[derive(Clone, Debug)]
pub(super) struct WindowedMax {
    /// When, and what; values fall, times rise.
    best: [(u64, u64); 3],
}

impl WindowedMax {
    pub(super) fn new() -> WindowedMax {
        WindowedMax { best: [(0, 0); 3] }
    }

    /// The greatest of the window.
    #[inline]
    pub(super) fn get(&self) -> u64 {
        self.best[0].1
    }

    /// Forgets everything but this sample.
    pub(super) fn reset(&mut self, now: u64, value: u64) {
        self.best = [(now, value); 3];
    }

    /// Takes a sample into a window of this `length`; returns the greatest.
    pub(super) fn update(&mut self, now: u64, value: u64, length: u64) -> u64 {
        let sample = (now, value);
        if value >= self.best[0].1 || now - self.best[2].0 > length {
            // A new maximum, or nothing of the window is left.
            self.reset(now, value);
            return value;
        }
        if value >= self.best[1].1 {
            self.best[1..].fill(sample);
        } else if value >= self.best[2].1 {
            self.best[2] = sample;
        }
        let age = now - self.best[0].0;
        if age > length {
            // The best has left: the next take its place, twice if that is as old.
            self.best = [self.best[1], self.best[2], sample];
            if now - self.best[0].0 > length {
                self.best = [self.best[1], self.best[2], sample];
            }
        } else if self.best[1].0 == self.best[0].0 && age > length / 4 {
            // A quarter of the window without a second choice: take one from the part since.
            self.best[1..].fill(sample);
        } else if self.best[2].0 == self.best[1].0 && age > length / 2 {
            self.best[2] = sample;
        }
        self.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashcrowd_base::RandomStream;

    #[test]
    fn the_greatest_leaves_with_the_window() {
        let mut filter = WindowedMax::new();
        assert_eq!(filter.update(0, 100, 10), 100);
        for now in 1..=10 {
            assert_eq!(filter.update(now, 50 - now, 10), 100, "at {now}");
        }
        let after = filter.update(11, 30, 10);
        assert!((40..50).contains(&after), "one of the ten of the window: {after}");
        assert_eq!(filter.update(12, 70, 10), 70);
    }

    /// Never above the true maximum of the window, never below the latest sample.
    #[test]
    fn it_lies_between_the_latest_and_the_true_maximum() {
        let mut stream = RandomStream::new(1, "test", 0);
        let mut filter = WindowedMax::new();
        let mut all = Vec::new();
        for now in 0..2000u64 {
            let value = stream.below(1000) as u64;
            all.push(value);
            let greatest = filter.update(now, value, 10);
            let window = all.iter().rev().take(11).max().copied();
            assert!(greatest >= value && Some(greatest) <= window, "at {now}");
        }
    }
}
