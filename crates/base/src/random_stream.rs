use crate::{Probability, Span};
use rand_core::Rng;
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};

/// A random stream with a name: the same (seed, purpose, index) yields the same values on every
/// machine and in every version of the toolchain.
///
/// The derivation is ours and pinned by test vectors, so that no library can move it: the purpose
/// is hashed with 64-bit FNV-1a, and two SplitMix64 outputs of each mixed word form the 128-bit
/// state of a PCG-XSL-RR 128/64 (MCG) generator (O'Neill 2014).
#[derive(Clone, Debug)]
pub struct RandomStream(Pcg64Mcg);

fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014).
fn mix(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

impl RandomStream {
    /// The stream for `purpose` number `index` of a run with this `seed`.
    pub fn new(seed: u64, purpose: &str, index: u64) -> RandomStream {
        let key = mix(mix(mix(seed.wrapping_add(GOLDEN)) ^ fnv1a(purpose)).wrapping_add(index));
        let high = mix(key.wrapping_add(GOLDEN));
        let low = mix(key.wrapping_add(GOLDEN.wrapping_mul(2)));
        RandomStream(Pcg64Mcg::new((u128::from(high) << 64) | u128::from(low)))
    }

    /// 64 uniform bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }
    /// Uniform in [0, 1), with 53 bits.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }
    /// Uniform in 0..n; 0 if `n` is 0 or 1. The bias is below n / 2^64.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.bits()) * n as u128) >> 64) as usize
    }
    /// True with the given probability. Draws even when the answer is certain, so that two
    /// variants of a study stay in step.
    pub fn chance(&mut self, probability: Probability) -> bool {
        self.unit() < probability.value()
    }
    /// Exponential with this mean.
    pub fn exponential(&mut self, mean: Span) -> Span {
        Span::from_seconds(-libm::log(1.0 - self.unit()) * mean.seconds())
    }
    /// Uniform between `low` and `high`.
    pub fn between(&mut self, low: Span, high: Span) -> Span {
        let width = high.saturating_sub(low).nanos();
        low + Span::from_nanos((self.unit() * width as f64) as u64)
    }
    /// Standard normal (Box and Muller 1958, the cosine half).
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.unit()));
        radius * libm::cos(2.0 * std::f64::consts::PI * self.unit())
    }
    /// Puts `items` into a uniformly random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

/// An empirical distribution given by its quantile function: (probability, value) points in rising
/// order of both, with straight lines between them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Quantiles(Vec<(f64, f64)>);

impl Quantiles {
    /// `None` unless there is a point and both columns rise, with probabilities in [0, 1].
    pub fn new(points: Vec<(f64, f64)>) -> Option<Quantiles> {
        let rises = points.windows(2).all(|w| w[0].0 <= w[1].0 && w[0].1 <= w[1].1);
        let within = points.iter().all(|(p, v)| (0.0..=1.0).contains(p) && v.is_finite());
        (!points.is_empty() && rises && within).then_some(Quantiles(points))
    }
    /// The value below which the fraction `p` lies; beyond the first and last point, their values.
    pub fn at(&self, p: f64) -> f64 {
        let next = self.0.partition_point(|(q, _)| *q < p);
        let Some(&(q1, v1)) = self.0.get(next) else {
            return self.0.last().map_or(0.0, |(_, v)| *v);
        };
        match next.checked_sub(1).map(|i| self.0[i]) {
            Some((q0, v0)) if q1 > q0 => v0 + (v1 - v0) * (p - q0) / (q1 - q0),
            _ => v1,
        }
    }
    /// Draws one value.
    pub fn draw(&self, stream: &mut RandomStream) -> f64 {
        self.at(stream.unit())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// These words are the contract: results of old seeds must not move. They were computed by a
    /// separate program from the definition above.
    #[test]
    fn the_derivation_is_pinned() {
        let first = |seed, purpose, index| RandomStream::new(seed, purpose, index).bits();
        assert_eq!(first(0, "", 0), PINNED[0]);
        assert_eq!(first(1, "loss", 0), PINNED[1]);
        assert_eq!(first(1, "loss", 1), PINNED[2]);
        assert_eq!(first(u64::MAX, "arrivals", 7), PINNED[3]);
    }
    const PINNED: [u64; 4] =
        [0xce95a7f7c28d252f, 0x46c4d823e22fd54e, 0xfbca5798b50d83ad, 0xaf463dd84c9b3ab0];

    #[test]
    fn moments_are_right() {
        let mut stream = RandomStream::new(1, "test", 0);
        let n = 100_000;
        let mean = (0..n).map(|_| stream.exponential(Span::from_secs(2)).seconds()).sum::<f64>()
            / f64::from(n);
        assert!((mean - 2.0).abs() < 0.03, "{mean}");
        let normals: Vec<f64> = (0..n).map(|_| stream.normal()).collect();
        let mean = normals.iter().sum::<f64>() / f64::from(n);
        let variance = normals.iter().map(|x| x * x).sum::<f64>() / f64::from(n);
        assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.02, "{mean} {variance}");
        assert!((0..1000).all(|_| stream.below(3) < 3));
    }

    #[test]
    fn quantiles_interpolate_and_clamp() {
        let q = Quantiles::new(vec![(0.0, 10.0), (0.5, 20.0), (1.0, 120.0)]).unwrap();
        assert_eq!(q.at(0.25), 15.0);
        assert_eq!(q.at(0.75), 70.0);
        assert_eq!(q.at(1.0), 120.0);
        assert!(Quantiles::new(vec![(0.5, 2.0), (0.4, 3.0)]).is_none());
        assert!(Quantiles::new(vec![]).is_none());
    }
}
