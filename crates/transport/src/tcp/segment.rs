use super::config::{BARE_HEADER_BYTES, TIMESTAMP_BYTES};
use std::ops::{BitOr, BitOrAssign};

/// How many SACK ranges a segment carries at most (what fits beside timestamps).
pub const MAX_SACK_RANGES: usize = 3;

/// The control bits of a segment, and what its SYN offers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u16);

impl Flags {
    /// Opens a connection.
    pub const SYN: Flags = Flags(1);
    /// `ack` and `window` are valid.
    pub const ACK: Flags = Flags(2);
    /// Nothing follows this segment's data.
    pub const FIN: Flags = Flags(4);
    /// The connection is gone.
    pub const RST: Flags = Flags(8);
    /// The sender has nothing more to send right now.
    pub const PSH: Flags = Flags(16);
    /// The segment carries the timestamp option (in a SYN: the sender offers it).
    pub const TIMESTAMPS: Flags = Flags(32);
    /// In a SYN: the sender takes SACK ranges.
    pub const SACK_PERMITTED: Flags = Flags(64);
    /// In a SYN: the sender scales its window.
    pub const WINDOW_SCALE: Flags = Flags(128);
    /// The timestamps take no room ([`Config::free_timestamps`](super::Config::free_timestamps)).
    pub const FREE_TIMESTAMPS: Flags = Flags(256);
    /// Congestion was experienced (RFC 3168, ECN-Echo); a bit of the ACE field (RFC 9768).
    pub const ECE: Flags = Flags(512);
    /// The congestion window was reduced (RFC 3168); a bit of the ACE field (RFC 9768).
    pub const CWR: Flags = Flags(1024);
    /// The highest bit of the ACE field, and in a SYN the request for it (RFC 9768).
    pub const AE: Flags = Flags(2048);
    /// In the IP header: the transport answers marks, ECT(1).
    pub const ECT_1: Flags = Flags(4096);
    /// In the IP header: the transport answers marks, ECT(0).
    pub const ECT_0: Flags = Flags(8192);
    /// In the IP header: marked as having met congestion, both bits.
    pub const CE: Flags = Flags(4096 | 8192);

    /// Whether all of `other` is set.
    #[inline]
    pub const fn contains(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
    /// Whether any of `other` is set.
    #[inline]
    pub const fn intersects(self, other: Flags) -> bool {
        self.0 & other.0 != 0
    }
    /// These flags without `other`.
    #[inline]
    pub const fn without(self, other: Flags) -> Flags {
        Flags(self.0 & !other.0)
    }
}

impl BitOr for Flags {
    type Output = Flags;
    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}
impl BitOrAssign for Flags {
    fn bitor_assign(&mut self, other: Flags) {
        self.0 |= other.0;
    }
}

/// One TCP segment without its payload: 64 bytes, copied freely.
///
/// `len` may be more than `mss`: then this is a super-segment, which a network card (or a link
/// model) cuts into [`frames`](Segment::frames).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Offset of the first payload byte in the sender's stream; see the [module](super) on offsets.
    /// A window probe has the offset before the oldest unacknowledged one, wrapping below 0.
    pub seq: u64,
    /// Everything below this offset of the other stream has arrived. One more than the stream's
    /// length once the FIN has.
    pub ack: u64,
    /// Payload bytes.
    pub len: u32,
    /// How many bytes above `ack` the sender of this segment accepts, scaled.
    pub window: u32,
    /// The sender's clock in microseconds, wrapping.
    pub timestamp: u32,
    /// The timestamp echoed.
    pub echo: u32,
    /// SACK ranges as (start, end) relative to `ack`, modulo 2^32, the most recent first. The first may
    /// report a duplicate (D-SACK, RFC 2883), below `ack` or within the second. Only the first
    /// `sack_len` count; [`sack_ranges`](Segment::sack_ranges) reads them.
    pub sack: [(u32, u32); MAX_SACK_RANGES],
    /// The sender's segment size: in a SYN the largest it accepts.
    pub mss: u16,
    /// Control bits.
    pub flags: Flags,
    /// How many SACK ranges there are.
    pub sack_len: u8,
}

impl Segment {
    /// Nothing at all, as [`Segment::default`] has it.
    pub const EMPTY: Segment = Segment {
        seq: 0,
        ack: 0,
        len: 0,
        window: 0,
        timestamp: 0,
        echo: 0,
        sack: [(0, 0); MAX_SACK_RANGES],
        mss: 0,
        flags: Flags(0),
        sack_len: 0,
    };

    /// Adds the SACK range `start..end` in stream offsets, above `ack` or, for a D-SACK, below. `false`
    /// if there is no room, or if it is 2 GiB away from `ack`, too far for a 32-bit sequence number.
    pub fn push_sack(&mut self, start: u64, end: u64) -> bool {
        debug_assert!(start < end);
        let distance = |offset: u64| i32::try_from(offset.wrapping_sub(self.ack) as i64);
        let (Ok(low), Ok(high)) = (distance(start), distance(end)) else { return false };
        let Some(slot) = self.sack.get_mut(usize::from(self.sack_len)) else { return false };
        *slot = (low as u32, high as u32);
        self.sack_len += 1;
        true
    }

    /// The SACK ranges in stream offsets, the most recent first.
    pub fn sack_ranges(&self) -> impl ExactSizeIterator<Item = (u64, u64)> + '_ {
        let ack = self.ack;
        let offset = move |distance: u32| ack.wrapping_add_signed(i64::from(distance as i32));
        self.sack[..usize::from(self.sack_len)]
            .iter()
            .map(move |&(low, high)| (offset(low), offset(high)))
    }

    /// Whether there is a SACK range.
    #[inline]
    pub fn has_sack(&self) -> bool {
        self.sack_len > 0
    }

    /// Bytes of IP and TCP headers, options included, of each frame.
    #[inline]
    pub fn header_bytes(&self) -> u32 {
        if self.flags.contains(Flags::SYN) {
            // Segment size 4; SACK permitted and timestamps share 12; window scale 4 (all padded).
            let sack = self.flags.contains(Flags::SACK_PERMITTED);
            let options = match (self.timestamp_bytes() > 0, sack) {
                (true, _) => TIMESTAMP_BYTES,
                (false, true) => 4,
                (false, false) => 0,
            };
            let scale = if self.flags.contains(Flags::WINDOW_SCALE) { 4 } else { 0 };
            return BARE_HEADER_BYTES + 4 + options + scale;
        }
        let timestamps = self.timestamp_bytes();
        let sack = if self.has_sack() { 4 + 8 * u32::from(self.sack_len) } else { 0 };
        BARE_HEADER_BYTES + timestamps + sack
    }

    fn timestamp_bytes(&self) -> u32 {
        let takes = Flags(Flags::TIMESTAMPS.0 | Flags::FREE_TIMESTAMPS.0);
        if self.flags.0 & takes.0 == Flags::TIMESTAMPS.0 { TIMESTAMP_BYTES } else { 0 }
    }

    /// How many packets this is on the wire.
    #[inline]
    pub fn frames(&self) -> u32 {
        let mss = u32::from(self.mss.max(1));
        if self.len <= mss { 1 } else { self.len.div_ceil(mss) }
    }

    /// Bytes of payload in a full frame: the maximum segment size of a super-segment, otherwise all.
    #[inline]
    pub(super) fn frame_bytes(&self) -> u32 {
        self.len.min(u32::from(self.mss.max(1)))
    }

    /// Bytes of all frames together, IP and TCP headers included. Framing below IP is the link's business.
    #[inline]
    pub fn wire_bytes(&self) -> u64 {
        u64::from(self.len) + u64::from(self.frames()) * u64::from(self.header_bytes())
    }

    /// The `index`th frame of a super-segment. FIN and PSH travel in the last one.
    pub fn frame(&self, index: u32) -> Segment {
        let frames = self.frames();
        debug_assert!(index < frames);
        if frames == 1 {
            return *self;
        }
        let skipped = index * u32::from(self.mss);
        let last = index + 1 == frames;
        Segment {
            seq: self.seq + u64::from(skipped),
            len: if last { self.len - skipped } else { u32::from(self.mss) },
            flags: if last { self.flags } else { self.flags.without(Flags::FIN | Flags::PSH) },
            ..*self
        }
    }

    /// The offset after this segment: data, and the FIN's own.
    #[inline]
    pub fn end(&self) -> u64 {
        self.seq
            .wrapping_add(u64::from(self.len))
            .wrapping_add(u64::from(self.flags.contains(Flags::FIN)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_fills_one_cache_line() {
        assert_eq!(size_of::<Segment>(), 64);
    }

    #[test]
    fn headers_are_those_of_real_stacks() {
        let syn = Flags::SYN | Flags::SACK_PERMITTED;
        let linux =
            Segment { flags: syn | Flags::TIMESTAMPS | Flags::WINDOW_SCALE, ..Segment::default() };
        let xp = Segment { flags: syn, ..Segment::default() };
        assert_eq!((linux.header_bytes(), xp.header_bytes()), (60, 48));
        let mut ack = Segment { flags: Flags::ACK | Flags::TIMESTAMPS, ..Segment::default() };
        assert_eq!(ack.header_bytes(), 52);
        for n in 1..=3 {
            assert!(ack.push_sack(10 * n, 10 * n + 5));
        }
        assert_eq!(ack.header_bytes(), 80, "the full header of TCP over IPv4");
        assert!(!ack.push_sack(100, 200));
        assert_eq!(ack.sack_ranges().collect::<Vec<_>>(), [(10, 15), (20, 25), (30, 35)]);
    }

    #[test]
    fn a_super_segment_is_cut_into_full_frames() {
        let flags = Flags::ACK | Flags::PSH | Flags::FIN;
        let whole = Segment { seq: 5, len: 2500, mss: 1000, flags, ..Segment::default() };
        assert_eq!(whole.frames(), 3);
        assert_eq!(whole.wire_bytes(), 2500 + 3 * 40);
        let parts: Vec<Segment> = (0..3).map(|i| whole.frame(i)).collect();
        assert_eq!(parts.iter().map(|p| p.len).collect::<Vec<_>>(), [1000, 1000, 500]);
        assert_eq!(parts.iter().map(|p| p.seq).collect::<Vec<_>>(), [5, 1005, 2005]);
        assert_eq!(parts.iter().filter(|p| p.flags.contains(Flags::FIN)).count(), 1);
        assert_eq!(parts[2].end(), whole.end());
    }
}
