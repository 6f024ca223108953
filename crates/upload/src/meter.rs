use flashcrowd_base::{Ring, Span, Time};

/// How far back a meter remembers.
const MEMORY: Span = Span::from_secs(30);

/// And how many readings, should a driver ask without end.
const MAX: usize = 256;

/// Mean rates over moving windows of a counter of bytes.
#[derive(Clone, Debug)]
pub(crate) struct Meter(Ring<(Time, u64)>);

impl Meter {
    pub(crate) fn new() -> Meter {
        Meter(Ring::new())
    }

    /// The counter is at `bytes`. If it fell, or the clock went back, the meter restarts.
    pub(crate) fn note(&mut self, now: Time, bytes: u64) {
        if self.0.back().is_some_and(|(at, before)| now < *at || bytes < *before) {
            *self = Meter::new();
        }
        let old = |(at, _): &(Time, u64)| now.since(*at) > MEMORY;
        while self.0.len() > 1 && (self.0.len() >= MAX || self.0.front().is_some_and(old)) {
            self.0.pop_front();
        }
        self.0.push_back((now, bytes));
    }

    /// Bytes per second over the last `window`, or over what is known of it; nothing before two
    /// readings at two instants.
    pub(crate) fn rate(&self, window: Span) -> Option<f64> {
        let &(last, bytes) = self.0.back()?;
        // The youngest reading that is at least a window old, else the oldest one.
        let first = self.0.partition_point(|(at, _)| last.since(*at) >= window).saturating_sub(1);
        let &(since, before) = self.0.get(first)?;
        let seconds = last.since(since).seconds();
        (seconds > 0.0).then(|| bytes.saturating_sub(before) as f64 / seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::START + Span::from_millis(millis)
    }

    #[test]
    fn rates_are_means_over_the_window() {
        let mut meter = Meter::new();
        assert_eq!(meter.rate(Span::from_secs(3)), None);
        meter.note(at(0), 0);
        assert_eq!(meter.rate(Span::from_secs(3)), None, "one reading is no rate");
        for second in 1..=10 {
            meter.note(at(second * 1000), if second <= 5 { second * 100 } else { 500 });
        }
        assert_eq!(meter.rate(Span::from_secs(10)), Some(50.0));
        assert_eq!(meter.rate(Span::from_secs(6)), Some(100.0 / 6.0));
        assert_eq!(meter.rate(Span::from_secs(3)), Some(0.0));
    }

    #[test]
    fn a_client_that_starts_again_and_a_clock_that_goes_back_begin_anew() {
        let mut meter = Meter::new();
        meter.note(at(0), 1000);
        meter.note(at(1000), 500);
        assert_eq!(meter.rate(Span::from_secs(3)), None);
        meter.note(at(2000), 700);
        assert_eq!(meter.rate(Span::from_secs(3)), Some(200.0));
        meter.note(at(100), 800);
        assert_eq!(meter.rate(Span::from_secs(3)), None);
        meter.note(at(100), 800);
        assert_eq!(meter.rate(Span::from_secs(3)), None, "no time, no rate");
    }
}
