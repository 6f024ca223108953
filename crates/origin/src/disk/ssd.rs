use super::{Service, begin};
use flashcrowd_base::{Rate, Span, Time};

flashcrowd_base::settings! {
    /// Flash: reads are served side by side, each with a latency, and share the rate of the bus.
    #[serde(default)]
    pub struct Ssd {
        /// From a request to its first byte.
        #[max(Span::from_secs(600))]
        pub latency_ns: Span,
        /// Reads side by side.
        #[min(1)]
        #[max(1024)]
        pub channels: u32,
        /// The rate of all together; the default is that of a SATA drive.
        pub rate_bps: Rate,
    }
}

impl Default for Ssd {
    fn default() -> Ssd {
        Ssd {
            latency_ns: Span::from_micros(100),
            channels: 16,
            rate_bps: Rate::at_least_one(4_400_000_000),
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Channels {
    ssd: Ssd,
    credit: Span,
    free: Vec<Time>,
    bus: Time,
}

impl Channels {
    pub(super) fn new(ssd: &Ssd, credit: Span) -> Channels {
        let free = vec![Time::START; ssd.channels.max(1) as usize];
        Channels { ssd: ssd.clone(), credit, free, bus: Time::START }
    }

    pub(super) fn serve(&mut self, now: Time, length: u32) -> Service {
        let mut first = 0;
        for (channel, free) in self.free.iter().enumerate() {
            if *free < self.free[first] {
                first = channel;
            }
        }
        let found = begin(now, self.free[first], self.credit) + self.ssd.latency_ns;
        let busy = self.ssd.rate_bps.transmission(u64::from(length));
        let done = found.max(self.bus) + busy;
        self.bus = done;
        self.free[first] = done;
        Service { done, busy: busy + self.ssd.latency_ns, seek: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latency_is_hidden_by_requests_side_by_side() {
        let ssd = Ssd { channels: 4, ..Ssd::default() };
        // 64 KiB take 119 us on the bus: alone one takes 219 us, four together 100 + 4 * 119.
        let mut channels = Channels::new(&ssd, Span::ZERO);
        let done: Vec<u64> =
            (0..4).map(|_| channels.serve(Time::START, 1 << 16).done.nanos() / 1000).collect();
        assert_eq!(done, [219, 338, 457, 576]);
    }
}
