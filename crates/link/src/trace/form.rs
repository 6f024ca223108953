use super::{Course, Opportunities, Rates, Trace};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// More entries than this are surely a mistake: an hour at 3 Mbit/s of Mahimahi's packets.
pub const MAX_ENTRIES: usize = 1_000_000;
/// A terabit per second.
const MAX_BPS: u64 = 1_000_000_000_000;
/// A year of 366 days.
const LONGEST_MS: u64 = 366 * 86_400_000;
const NANOS_PER_MILLI: u64 = 1_000_000;

/// A trace as a plan has it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Form {
    /// A rate from each of some instants on.
    Rates {
        /// Nanoseconds after the beginning and bit/s; the first at zero.
        points: Vec<(u64, u64)>,
        /// After how many nanoseconds it begins again; none if the last rate holds.
        length_ns: Option<u64>,
    },
    /// Delivery opportunities, as in Mahimahi: instants at each of which a fixed number of waiting bytes is carried.
    Opportunities {
        /// Milliseconds after the beginning; it begins again at the last of them.
        at_ms: Vec<u64>,
        /// The bytes of each opportunity, framing included.
        bytes: u32,
    },
}

/// The mistake in a trace: which of its entries, if it is one, and what is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// Place of the entry, from zero.
    pub entry: Option<usize>,
    /// The allowed values.
    pub allowed: &'static str,
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.entry {
            Some(entry) => write!(f, "entry {entry} of a trace {}", self.allowed),
            None => write!(f, "a trace {}", self.allowed),
        }
    }
}

fn require(holds: bool, allowed: &'static str) -> Result<(), Invalid> {
    if holds { Ok(()) } else { Err(Invalid { entry: None, allowed }) }
}

fn counted(entries: usize) -> Result<(), Invalid> {
    require(entries > 0, "has at least one entry")?;
    require(entries <= MAX_ENTRIES, "has at most a million entries")
}

impl TryFrom<Form> for Trace {
    type Error = Invalid;

    fn try_from(form: Form) -> Result<Trace, Invalid> {
        let course = match form {
            Form::Rates { points, length_ns } => Course::Rates(rates(&points, length_ns)?),
            Form::Opportunities { at_ms, bytes } => {
                Course::Opportunities(opportunities(&at_ms, bytes)?)
            }
        };
        Ok(Trace(Arc::new(course)))
    }
}

fn rates(points: &[(u64, u64)], length: Option<u64>) -> Result<Rates, Invalid> {
    counted(points.len())?;
    require(points[0].0 == 0, "has its first entry at zero")?;
    let (last_begins, last_bps) = points[points.len() - 1];
    let longest = LONGEST_MS * NANOS_PER_MILLI;
    require(length.unwrap_or(last_begins) <= longest, "lasts for at most a year")?;
    let ends = length.is_none_or(|length| length > last_begins);
    require(ends, "ends after its last entry")?;
    let mut before = Vec::with_capacity(points.len());
    let (mut sum, mut since, mut rate) = (0u128, 0, 0);
    for (entry, &(begins, bps)) in points.iter().enumerate() {
        let wrong = |allowed| Invalid { entry: Some(entry), allowed };
        if entry > 0 && begins <= since {
            return Err(wrong("is later than the one before"));
        }
        if bps > MAX_BPS {
            return Err(wrong("has at most 1000 Gbit/s"));
        }
        sum += u128::from(rate) * u128::from(begins - since);
        before.push(sum);
        (since, rate) = (begins, bps);
    }
    let sends = points.iter().any(|(_, bps)| *bps > 0);
    require(sends, "has a rate of more than zero somewhere")?;
    require(length.is_some() || last_bps > 0, "whose last rate holds has one of more than zero")?;
    Ok(Rates {
        begins: points.iter().map(|(begins, _)| *begins).collect(),
        bps: points.iter().map(|(_, bps)| *bps).collect(),
        before: before.into(),
        length,
    })
}

fn opportunities(at_ms: &[u64], bytes: u32) -> Result<Opportunities, Invalid> {
    counted(at_ms.len())?;
    require(bytes > 0, "carries more than zero bytes at each opportunity")?;
    if let Some(place) = at_ms.windows(2).position(|pair| pair[1] < pair[0]) {
        let allowed = "is not earlier than the one before";
        return Err(Invalid { entry: Some(place + 1), allowed });
    }
    let last = at_ms[at_ms.len() - 1];
    require(last > 0, "lasts for more than zero milliseconds")?;
    require(last <= LONGEST_MS, "lasts for at most a year")?;
    Ok(Opportunities { at: at_ms.iter().map(|ms| ms * NANOS_PER_MILLI).collect(), bytes })
}

impl From<Trace> for Form {
    fn from(trace: Trace) -> Form {
        match trace.course() {
            Course::Rates(rates) => Form::Rates {
                points: rates.begins.iter().copied().zip(rates.bps.iter().copied()).collect(),
                length_ns: rates.length,
            },
            Course::Opportunities(them) => Form::Opportunities {
                at_ms: them.at.iter().map(|at| at / NANOS_PER_MILLI).collect(),
                bytes: them.bytes,
            },
        }
    }
}
