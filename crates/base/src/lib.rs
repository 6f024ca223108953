//! What every room of the house shares: simulated [`Time`] and [`Span`], [`Rate`], [`Probability`],
//! the derivation of random [`Stream`]s from one seed, and a small queue, [`Ring`].
//!
//! Nothing here reads a clock or draws from an ambient generator.

mod prefetch;
mod rate;
mod ring;
mod stream;
mod time;

pub use prefetch::{Lines, prefetch};
pub use rate::{Probability, Rate};
pub use ring::Ring;
pub use stream::{Quantiles, Stream};
pub use time::{Span, Time};
