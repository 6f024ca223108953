//! Packet numbers that never wrap. On the wire are the low 16 bits.

/// Distance of the first number of a connection from 0, so that older ones can be expressed.
const ORIGIN: u64 = 1 << 16;

/// The unwrapped form of a connection's first number.
#[inline]
pub(super) fn origin(wire: u16) -> u64 {
    ORIGIN + u64::from(wire)
}

/// The number with these low bits that is nearest to `near`.
#[inline]
pub(super) fn unwrap(near: u64, wire: u16) -> u64 {
    let ahead = wire.wrapping_sub(near as u16) as i16;
    near.wrapping_add_signed(i64::from(ahead))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_unwrap_to_the_nearest() {
        let near = origin(0xfffe);
        assert_eq!(unwrap(near, 0xfffe), near);
        assert_eq!(unwrap(near, 3), near + 5);
        assert_eq!(unwrap(near + 5, 0xfffd), near - 1);
        assert_eq!(unwrap(origin(0), 0xffff), origin(0) - 1);
    }
}
