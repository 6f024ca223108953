//! Transfer statistics by the second, as libtorrent keeps them for each connection (`stat_channel`,
//! `peer_connection::second_tick`): what the last second brought, and a low-passed rate.
//!
//! Nothing ticks here: the seconds that went by are made up for at the next query.

/// One kind of bytes on one connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Channel {
    /// Since the second began.
    counter: u32,
    /// In the second before.
    last: u32,
    /// Each second contributes a fifth (`stat_channel::second_tick`, whole numbers).
    average: u32,
}

impl Channel {
    /// Adds `bytes` bytes.
    pub fn add(&mut self, bytes: u32) {
        self.counter = self.counter.saturating_add(bytes);
    }
    /// `bytes` of the bytes that were added this second were something else.
    pub fn take_back(&mut self, bytes: u32) {
        self.counter = self.counter.saturating_sub(bytes);
    }
    /// Bytes in the second before.
    pub fn last_second(&self) -> u32 {
        self.last
    }
    /// Bytes since the second began.
    pub fn this_second(&self) -> u32 {
        self.counter
    }
    /// Bytes per second, low-passed.
    pub fn rate(&self) -> u32 {
        self.average
    }
    /// A second is over.
    pub fn second_tick(&mut self) {
        let mean = u64::from(self.average) * 4 / 5 + u64::from(self.counter) / 5;
        self.average = u32::try_from(mean).unwrap_or(u32::MAX);
        self.last = std::mem::take(&mut self.counter);
    }
    /// Nothing came lately.
    pub(crate) fn is_quiet(&self) -> bool {
        *self == Channel::default()
    }
}

/// The bytes of one connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// The number of the second that `counter`s count.
    second: u64,
    /// Blocks that came.
    pub down: Channel,
    /// Blocks that went.
    pub up: Channel,
    /// Messages that went, and the headers of all packets (`stat::trancieve_ip_packet`).
    pub up_protocol: Channel,
}

impl Statistics {
    /// Makes up for seconds that are over; `each` sees the statistics before each tick.
    pub fn roll(&mut self, second: u64, mut each: impl FnMut(&Statistics)) {
        while self.second < second {
            each(self);
            self.down.second_tick();
            self.up.second_tick();
            self.up_protocol.second_tick();
            self.second += 1;
            if self.down.is_quiet() && self.up.is_quiet() && self.up_protocol.is_quiet() {
                self.second = second;
            }
        }
    }
    /// All that goes out, in bytes per second.
    pub fn upload_rate(&self) -> u32 {
        self.up.rate().saturating_add(self.up_protocol.rate())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_rate_is_known_to_one_minus_four_fifths_to_the_seconds() {
        let mut all = Statistics::default();
        let mut rates = Vec::new();
        for second in 1..=20 {
            all.down.add(10_000);
            all.roll(second, |_| {});
            rates.push(all.down.rate());
        }
        assert_eq!(rates[..3], [2000, 3600, 4880]);
        assert!((9880..=9890).contains(&rates[19]), "{}", rates[19]);
        assert_eq!((all.down.last_second(), all.down.this_second()), (10_000, 0));
    }

    #[test]
    fn idle_seconds_are_made_up_for_one_by_one_and_a_quiet_hour_at_once() {
        let mut all = Statistics::default();
        all.up.add(5000);
        let mut ticks = 0;
        all.roll(3600, |_| ticks += 1);
        assert_eq!(all, Statistics { second: 3600, ..Statistics::default() });
        // 1000 B/s lose a fifth a second, rounded down, until nothing is left.
        assert!(ticks < 40, "{ticks}");
        let mut all = Statistics::default();
        all.up.add(5000);
        all.up_protocol.add(50);
        all.roll(2, |_| {});
        assert_eq!((all.up.rate(), all.upload_rate(), all.up.last_second()), (800, 808, 0));
    }
}
