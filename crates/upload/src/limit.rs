use flashcrowd_base::Rate;

/// How fast a client may upload. There is no limit of zero: several clients read zero as "unlimited",
/// and a [`Rate`] cannot be zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Limit {
    /// As fast as the network takes it.
    #[default]
    Unlimited,
    /// At most at this rate.
    At(Rate),
}

impl Limit {
    /// The rate in bytes per second; infinite without a limit.
    pub fn bytes_per_second(self) -> f64 {
        match self {
            Limit::Unlimited => f64::INFINITY,
            Limit::At(rate) => rate.bytes_per_second(),
        }
    }

    /// The limit of `bytes` bytes per second, rounded down to a bit per second and at least 1; infinite
    /// and undefined values are no limit.
    pub fn from_bytes_per_second(bytes: f64) -> Limit {
        if bytes.is_finite() {
            Limit::At(Rate::at_least_one((bytes * 8.0) as u64))
        } else {
            Limit::Unlimited
        }
    }

    /// The lower one of two limits.
    pub fn min(self, other: Limit) -> Limit {
        match (self, other) {
            (Limit::Unlimited, limit) | (limit, Limit::Unlimited) => limit,
            (Limit::At(one), Limit::At(two)) => Limit::At(one.min(two)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_limit_is_above_all_and_zero_does_not_exist() {
        let low = Limit::from_bytes_per_second(1000.0);
        assert_eq!(Limit::Unlimited.min(low), low);
        assert_eq!(low.min(Limit::from_bytes_per_second(2000.0)), low);
        assert_eq!(Limit::from_bytes_per_second(f64::NAN), Limit::Unlimited);
        assert_eq!(Limit::from_bytes_per_second(-3.0).bytes_per_second(), 0.125);
    }
}
