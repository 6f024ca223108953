use super::{Service, begin};
use flashcrowd_base::{Rate, Span, Time};

flashcrowd_base::settings! {
    /// A volume behind a network: requests and bytes a second are bought, and each request may cost.
    ///
    /// The defaults are a small volume as clouds sell them.
    #[serde(default)]
    pub struct NetworkVolume {
        /// From a request to its first byte.
        #[max(Span::from_secs(600))]
        pub latency_ns: Span,
        /// Requests a second that are bought.
        #[min(1)]
        #[max(1_000_000_000)]
        pub requests_per_second: u32,
        /// The rate that is bought.
        pub rate_bps: Rate,
        /// What a request costs, in any unit.
        #[min(0.0)]
        #[max(1e12)]
        pub price: f64,
    }
}

impl Default for NetworkVolume {
    fn default() -> NetworkVolume {
        NetworkVolume {
            latency_ns: Span::from_millis(2),
            requests_per_second: 3000,
            rate_bps: Rate::at_least_one(1_000_000_000),
            price: 0.0,
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Buckets {
    volume: NetworkVolume,
    credit: Span,
    free: Time,
}

impl Buckets {
    pub(super) fn new(volume: &NetworkVolume, credit: Span) -> Buckets {
        Buckets { volume: volume.clone(), credit, free: Time::START }
    }

    pub(super) fn price(&self) -> f64 {
        self.volume.price
    }

    pub(super) fn serve(&mut self, now: Time, length: u32) -> Service {
        let turn =
            Span::from_nanos(1_000_000_000 / u64::from(self.volume.requests_per_second.max(1)));
        let busy = turn.max(self.volume.rate_bps.transmission(u64::from(length)));
        self.free = begin(now, self.free, self.credit) + busy;
        Service { done: self.free + self.volume.latency_ns, busy, seek: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_requests_are_bound_by_their_number_and_large_ones_by_their_bytes() {
        let rate = |length: u32| {
            let mut buckets = Buckets::new(&NetworkVolume::default(), Span::ZERO);
            let mut last = Time::START;
            for _ in 0..3000 {
                last = buckets.serve(Time::START, length).done;
            }
            f64::from(length) * 3000.0 / last.seconds() / 1e6
        };
        assert!((rate(4096) - 12.3).abs() < 0.1, "{}", rate(4096));
        assert!((rate(1 << 20) - 125.0).abs() < 0.5, "{}", rate(1 << 20));
    }
}
