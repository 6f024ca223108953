//! The mean rate of the last seconds, as aria2 has it (`SpeedCalc`): bytes since the oldest second that counts.

use flashcrowd_base::{Rate, Span, Time};
use std::collections::VecDeque;

/// Bytes within this time are counted together.
const SLOT: Span = Span::from_secs(1);

/// Bytes of the last seconds.
#[derive(Clone, Debug)]
pub struct RateWindow {
    length: Span,
    /// When each begins, and its bytes.
    slots: VecDeque<(Time, u64)>,
    bytes: u64,
}

impl RateWindow {
    /// Without bytes; they count for `length`.
    pub fn new(length: Span) -> RateWindow {
        RateWindow { length, slots: VecDeque::new(), bytes: 0 }
    }
    /// `bytes` bytes are written now.
    pub fn add(&mut self, now: Time, bytes: u32) {
        self.forget(now);
        match self.slots.back_mut() {
            Some((begin, sum)) if now.since(*begin) < SLOT => *sum += u64::from(bytes),
            _ => self.slots.push_back((now, u64::from(bytes))),
        }
        self.bytes += u64::from(bytes);
    }
    /// The first instant from now on at which the mean is not above a rate.
    pub fn within(&mut self, now: Time, rate: Rate) -> Time {
        self.forget(now);
        let (mut from, mut bytes) = (now, self.bytes);
        for (begin, sum) in &self.slots {
            let takes = (u128::from(bytes) * 8_000_000_000).div_ceil(u128::from(rate.bps()));
            let takes = Span::from_nanos(u64::try_from(takes).unwrap_or(u64::MAX));
            if takes <= self.length {
                return from.max(*begin + takes);
            }
            // Not as long as this one counts.
            from = from.max(*begin + self.length + Span::from_nanos(1));
            bytes -= sum;
        }
        from
    }
    fn forget(&mut self, now: Time) {
        while let Some((begin, sum)) = self.slots.front().copied() {
            if now.since(begin) <= self.length {
                break;
            }
            self.bytes -= sum;
            self.slots.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::START + Span::from_millis(millis)
    }

    #[test]
    fn a_mean_falls_as_time_passes_and_when_its_oldest_second_is_forgotten() {
        let mut window = RateWindow::new(Span::from_secs(10));
        let rate = Rate::from_bps(80_000).unwrap(); // 10 kB/s
        assert_eq!(window.within(at(0), rate), at(0));
        window.add(at(0), 50_000);
        assert_eq!(window.within(at(0), rate), at(5000));
        window.add(at(500), 20_000);
        assert_eq!(window.within(at(500), rate), at(7000));
        // Too much for ten seconds: the first 70 kB have to be forgotten, and then the mean is over a shorter time.
        window.add(at(7000), 80_000);
        assert_eq!(window.within(at(7000), rate), at(15_000));
        assert_eq!(window.within(at(15_001), rate), at(15_001));
        assert_eq!(window.within(at(60_000), rate), at(60_000));
        assert_eq!(window.bytes, 0);
    }
}
