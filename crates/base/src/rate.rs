use crate::Span;
use serde::{Deserialize, Serialize};

/// A data rate in bits per second, more than zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "u64", into = "u64")]
pub struct Rate(u64);

impl Rate {
    /// A rate of `bps` bits per second; `None` for zero, at which nothing would ever arrive.
    pub const fn from_bps(bps: u64) -> Option<Rate> {
        if bps == 0 { None } else { Some(Rate(bps)) }
    }
    /// The same, and the least rate there is, 1 bit/s, in place of zero.
    pub const fn at_least_one(bps: u64) -> Rate {
        if bps == 0 { Rate(1) } else { Rate(bps) }
    }
    /// Bits per second.
    pub const fn bps(self) -> u64 {
        self.0
    }
    /// Bytes per second.
    pub fn bytes_per_second(self) -> f64 {
        self.0 as f64 / 8.0
    }
    /// How long `bytes` take at this rate, rounded up to a nanosecond.
    pub fn transmission(self, bytes: u64) -> Span {
        // 2^64 / 8e9 = 2.3 GB fit in 64 bits; longer trains take the slow path.
        match bytes.checked_mul(8_000_000_000) {
            Some(bits_nanos) => Span::from_nanos(bits_nanos.div_ceil(self.0)),
            None => {
                let nanos = (u128::from(bytes) * 8_000_000_000).div_ceil(u128::from(self.0));
                Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
            }
        }
    }
}

impl TryFrom<u64> for Rate {
    type Error = &'static str;
    fn try_from(bps: u64) -> Result<Rate, Self::Error> {
        Rate::from_bps(bps).ok_or("a rate must be more than zero; leave it out for no limit")
    }
}
impl From<Rate> for u64 {
    fn from(rate: Rate) -> u64 {
        rate.0
    }
}

/// A probability between 0 and 1, both included.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "f64", into = "f64")]
pub struct Probability(f64);

impl Probability {
    /// The probability of an impossible event.
    pub const ZERO: Probability = Probability(0.0);

    /// `None` unless `value` is between 0 and 1.
    pub fn new(value: f64) -> Option<Probability> {
        (0.0..=1.0).contains(&value).then_some(Probability(value))
    }
    /// The value between 0 and 1.
    pub const fn value(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Probability {
    type Error = &'static str;
    fn try_from(value: f64) -> Result<Probability, Self::Error> {
        Probability::new(value).ok_or("a probability lies between 0 and 1")
    }
}
impl From<Probability> for f64 {
    fn from(probability: Probability) -> f64 {
        probability.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_packet_takes_twelve_milliseconds_at_one_megabit() {
        let rate = Rate::from_bps(1_000_000).unwrap();
        assert_eq!(rate.transmission(1500), Span::from_millis(12));
        assert_eq!(rate.transmission(u64::MAX), Span::MAX);
    }

    #[test]
    fn impossible_values_are_refused() {
        assert_eq!(Rate::from_bps(0), None);
        assert_eq!([0, 1, 2].map(Rate::at_least_one).map(Rate::bps), [1, 1, 2]);
        assert_eq!(Probability::new(1.01), None);
        assert_eq!(Probability::new(f64::NAN), None);
    }
}
