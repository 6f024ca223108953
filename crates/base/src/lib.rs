//! What every room of the house shares: simulated [`Time`] and [`Span`], [`Rate`], [`Probability`],
//! the derivation of random [`RandomStream`]s from one seed, and a small queue, [`Ring`].
//!
//! Nothing here reads a clock or draws from an ambient generator.

mod prefetch;
mod random_stream;
mod rate;
mod ring;
mod time;

pub use prefetch::{Lines, prefetch};
pub use random_stream::{Quantiles, RandomStream};
pub use rate::{Probability, Rate};
pub use ring::Ring;
pub use time::{Span, Time};
