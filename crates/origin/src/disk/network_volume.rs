use super::{Service, begin};
use crate::Refusal;
use flashcrowd_base::{Rate, Span, Time};
use serde::{Deserialize, Serialize};

/// A volume behind a network: a latency, and two buckets, of requests and of bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct NetworkVolume {
    /// From a request to its first byte.
    pub latency_ns: Span,
    /// Requests a second that are bought.
    pub requests_per_second: u32,
    /// The rate that is bought.
    pub rate_bps: Rate,
    /// The price of a request, in any unit.
    pub price: f64,
}

impl Default for NetworkVolume {
    /// A small volume as clouds sell them: 3,000 requests and 125 MB a second.
    fn default() -> NetworkVolume {
        NetworkVolume {
            latency_ns: Span::from_millis(2),
            requests_per_second: 3000,
            rate_bps: Rate::at_least_one(1_000_000_000),
            price: 0.0,
        }
    }
}

impl NetworkVolume {
    pub(super) fn check(&self) -> Result<(), Refusal> {
        if self.requests_per_second == 0 {
            return Err(Refusal::new("requests_per_second", 0, "more than 0"));
        }
        if !(0.0..=1e12).contains(&self.price) {
            return Err(Refusal::new("price", self.price, "from 0 to 1000000000000"));
        }
        Ok(())
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
