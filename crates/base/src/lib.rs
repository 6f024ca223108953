//! Shared by all rooms: simulated [`Time`] and [`Span`], [`Rate`], [`Probability`], the derivation
//! of random [`RandomStream`]s from one seed, a small queue, [`Ring`], places that are used again,
//! [`Slab`], and tables of [`settings!`].
//!
//! Nothing here reads a clock or draws from an ambient generator.

mod prefetch;
mod random_stream;
mod rate;
mod ring;
mod settings;
mod slab;
mod time;

pub use prefetch::{CacheLines, TagHere, prefetch};
pub use random_stream::{Quantiles, RandomStream};
pub use rate::{Probability, Rate};
pub use ring::Ring;
pub use settings::{Bounded, Refusal, Settings, check_bound};
pub use slab::{List, NOWHERE, Slab};
pub use time::{Span, Time};
