//! What every room of the house shares: simulated [`Time`] and [`Span`], [`Rate`], [`Probability`],
//! and the derivation of random [`Stream`]s from one seed.
//!
//! Nothing here reads a clock or draws from an ambient generator.

mod rate;
mod stream;
mod time;

pub use rate::{Probability, Rate};
pub use stream::{Quantiles, Stream};
pub use time::{Span, Time};
