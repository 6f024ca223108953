//! The clock of the timestamp option (RFC 7323): microseconds, wrapping.

use flashcrowd_base::Time;

/// The clock's reading.
#[inline]
pub(super) fn clock(now: Time) -> u32 {
    (now.nanos() / 1000) as u32
}

/// Microseconds since a reading that came back; none if it is in the future.
#[inline]
pub(super) fn micros_since(echo: u32, now: Time) -> Option<u32> {
    let micros = clock(now).wrapping_sub(echo);
    (micros < 1 << 31).then_some(micros)
}

/// Whether one reading is earlier than another.
#[inline]
pub(super) fn is_before(reading: u32, other: u32) -> bool {
    (reading.wrapping_sub(other) as i32) < 0
}
