//! Link capacity that changes with time, as a trace gives it: rates from a file of two columns, or the
//! delivery opportunities of a Mahimahi trace (Winstein, Sivaraman, Balakrishnan: Stochastic forecasts,
//! NSDI 2013; Netravali et al.: Mahimahi, USENIX ATC 2015).
//!
//! Either is a cumulative function C(t) of the bytes that the line could have carried by t. A packet
//! departs at the least t with C(t) at least its own bytes beyond what was used before, and what C
//! grows by while nothing waits is lost.

mod cursor;
mod form;

pub(crate) use cursor::Cursor;
pub use form::{Invalid, MAX_ENTRIES};

use flashcrowd_base::{Rate, Span};
use form::Form;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The capacity of one direction of a link over time. A clone is the same trace, not another one.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(with = "Form"))]
#[serde(try_from = "Form", into = "Form")]
pub struct Trace(Arc<Course>);

#[derive(Debug, PartialEq)]
pub(crate) enum Course {
    Rates(Rates),
    Opportunities(Opportunities),
}

/// A rate that is constant from one instant to the next.
#[derive(Debug, PartialEq)]
pub(crate) struct Rates {
    /// When each piece begins, after the beginning of the trace; the first at zero.
    pub(crate) begins: Box<[u64]>,
    /// Its rate in bit/s; zero while the line is dead.
    pub(crate) bps: Box<[u64]>,
    /// Bit/s times nanoseconds from the beginning to each piece.
    pub(crate) before: Box<[u128]>,
    /// After how many nanoseconds it begins again; none if the last rate holds.
    pub(crate) length: Option<u64>,
}

/// Delivery opportunities: instants at each of which the line carries a fixed number of waiting bytes.
#[derive(Debug, PartialEq)]
pub(crate) struct Opportunities {
    /// Nanoseconds after the beginning of the trace, which begins again at the last of them.
    pub(crate) at: Box<[u64]>,
    pub(crate) bytes: u32,
}

/// The span over which the present rate of a trace is reckoned.
const RECENT: Span = Span::from_millis(100);
const NANOS: u128 = 1_000_000_000;

impl PartialEq for Trace {
    fn eq(&self, other: &Trace) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}

impl Trace {
    /// Rates in bit/s, each from an instant after the beginning of the trace on. After `length` it begins
    /// again; without one, the last rate holds.
    ///
    /// # Errors
    /// There are no points or too many, the first is not at the beginning, times do not rise, a rate is
    /// beyond a terabit per second, nothing is ever sent, or the last rate holds and is zero.
    pub fn rates(points: &[(Span, u64)], length: Option<Span>) -> Result<Trace, Invalid> {
        let points = points.iter().map(|(at, bps)| (at.nanos(), *bps)).collect();
        Form::Rates { points, length_ns: length.map(Span::nanos) }.try_into()
    }

    /// Opportunities to send `bytes` at instants in milliseconds after the beginning of the trace, which
    /// begins again at the last one.
    ///
    /// # Errors
    /// There are none or too many, times fall, all are at the beginning, or `bytes` is zero.
    pub fn opportunities(at_ms: &[u64], bytes: u32) -> Result<Trace, Invalid> {
        Form::Opportunities { at_ms: at_ms.to_vec(), bytes }.try_into()
    }

    pub(crate) fn course(&self) -> &Course {
        &self.0
    }

    /// Whether the line sends at instants, and nothing between them.
    pub(crate) fn is_in_bursts(&self) -> bool {
        matches!(self.course(), Course::Opportunities(_))
    }

    /// Bits that the line could have carried from one instant after the beginning of the trace to
    /// another; of opportunities, those after the first instant.
    pub fn bits(&self, from: Span, to: Span) -> f64 {
        match self.course() {
            Course::Rates(rates) => {
                let work = rates.work(to.nanos()).saturating_sub(rates.work(from.nanos()));
                work as f64 / NANOS as f64
            }
            Course::Opportunities(them) => {
                let count = them.count(to.nanos()).saturating_sub(them.count(from.nanos()));
                count as f64 * f64::from(them.bytes) * 8.0
            }
        }
    }

    /// Bits of opportunities at its very beginning, which what waits already can use.
    pub fn bits_at_once(&self) -> f64 {
        match self.course() {
            Course::Rates(_) => 0.0,
            Course::Opportunities(them) => them.count(0) as f64 * f64::from(them.bytes) * 8.0,
        }
    }

    /// The mean rate of its first `seconds` seconds in bit/s.
    pub fn mean_bps(&self, seconds: f64) -> f64 {
        let over = Span::from_seconds(seconds);
        if over.is_zero() { 0.0 } else { self.bits(Span::ZERO, over) / over.seconds() }
    }

    /// The rate of the last 100 ms before an instant after its beginning, for disciplines that reckon
    /// with one; where it offered nothing in these, its mean so far, or of its first round.
    pub(crate) fn recent(&self, age: Span) -> Rate {
        let since = age.saturating_sub(RECENT);
        let first = Span::from_nanos(self.length());
        let spans = [(since, age), (Span::ZERO, age), (Span::ZERO, first.max(RECENT))];
        let bps = |(from, to): (Span, Span)| {
            (self.bits(from, to) / to.saturating_sub(from).seconds()) as u64
        };
        Rate::at_least_one(spans.into_iter().map(bps).find(|&bps| bps > 0).unwrap_or_default())
    }

    /// Nanoseconds of a round; where the last rate holds, up to its beginning.
    fn length(&self) -> u64 {
        match self.course() {
            Course::Rates(rates) => rates.length.unwrap_or(rates.begins[rates.begins.len() - 1]),
            Course::Opportunities(them) => them.length(),
        }
    }
}

impl Rates {
    /// Bit/s times nanoseconds up to an instant after the beginning.
    pub(crate) fn work(&self, at: u64) -> u128 {
        let (rounds, within) = match self.length {
            Some(length) => (at / length, at % length),
            None => (0, at),
        };
        let piece = self.piece(within);
        let here = u128::from(self.bps[piece]) * u128::from(within - self.begins[piece]);
        self.round() * u128::from(rounds) + self.before[piece] + here
    }

    /// Bit/s times nanoseconds of a round; none where there is one only.
    pub(crate) fn round(&self) -> u128 {
        let last = self.begins.len() - 1;
        self.length.map_or(0, |length| {
            self.before[last] + u128::from(self.bps[last]) * u128::from(length - self.begins[last])
        })
    }

    /// The piece that an instant of a round lies in.
    pub(crate) fn piece(&self, within: u64) -> usize {
        self.begins.partition_point(|&begins| begins <= within) - 1
    }
}

impl Opportunities {
    pub(crate) fn length(&self) -> u64 {
        self.at[self.at.len() - 1]
    }

    /// How many there have been by an instant after the beginning, those of that instant included.
    pub(crate) fn count(&self, at: u64) -> u64 {
        let (rounds, within) = (at / self.length(), at % self.length());
        rounds * self.at.len() as u64 + self.at.partition_point(|&it| it <= within) as u64
    }
}

/// The service of a link's packets.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Service<'a> {
    Rate(Rate),
    Trace(&'a Trace),
}

#[cfg(test)]
mod tests;
