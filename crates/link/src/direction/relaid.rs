use crate::Conditions;
use crate::trace::{Cursor, Service, Trace};
use flashcrowd_base::{Rate, Span, Time};

/// When what waits at a link departs after a change of its conditions.
pub(super) enum Relaid<'a> {
    /// When it was to depart anyway: the trace is the same and goes on.
    Kept,
    /// At once: there is no rate any more.
    Wire,
    /// One after the other at a rate.
    Rate(Rate),
    /// As a trace says that begins now.
    Trace { trace: &'a Trace, cursor: Cursor, free_at: Time },
}

impl<'a> Relaid<'a> {
    pub(super) fn new(old: &Conditions, new: &'a Conditions, now: Time) -> Relaid<'a> {
        match new.service() {
            None => Relaid::Wire,
            Some(Service::Rate(rate)) => Relaid::Rate(rate),
            Some(Service::Trace(trace)) if old.trace.as_ref() == Some(trace) => Relaid::Kept,
            Some(Service::Trace(trace)) => {
                // A packet that waits already may have an opportunity of this very instant.
                let cursor = Cursor::new(now);
                let free_at = cursor.begin(trace);
                Relaid::Trace { trace, cursor, free_at }
            }
        }
    }

    /// The departure of the next packet, with `bits` left, behind one that departs at `free_at`;
    /// it was to depart at `departs`.
    pub(super) fn departure(&mut self, free_at: Time, bits: u64, departs: Time) -> Time {
        match self {
            Relaid::Kept => departs,
            Relaid::Wire => free_at,
            Relaid::Rate(rate) => {
                let nanos = u128::from(bits) * 1_000_000_000 / u128::from(rate.bps());
                free_at + Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
            }
            Relaid::Trace { trace, cursor, free_at: line } => {
                let served = cursor.serve(trace, *line, *line, bits.div_ceil(8));
                *line = served.free_at;
                served.departs
            }
        }
    }
}

/// Bits that are left of the packet in transmission, which departs at `departs` and has `behind` bytes
/// of others behind it.
pub(super) fn bits_left(
    service: Service<'_>,
    cursor: Option<&Cursor>,
    now: Time,
    departs: Time,
    behind: u64,
) -> u64 {
    match (service, cursor) {
        (Service::Rate(rate), _) => {
            let left = departs.since(now).nanos();
            (u128::from(left) * u128::from(rate.bps()) / 1_000_000_000) as u64
        }
        (Service::Trace(trace), Some(cursor)) => cursor.rest(trace, now, departs, behind),
        (Service::Trace(_), None) => 0,
    }
}
