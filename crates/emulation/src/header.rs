use flashcrowd_link::{Ack, Ecn};

/// Protocol numbers (IANA).
const TCP: u8 = 6;
const UDP: u8 = 17;
/// The longest TCP header without options.
const TCP_HEADER_BYTES: usize = 20;
/// Flags of TCP (RFC 9293, 3.1).
pub(crate) const FIN: u8 = 1;
const SYN: u8 = 2;
const RST: u8 = 4;
const ACK: u8 = 16;
/// Kinds of TCP options: the end of the list, padding, SACK ranges (RFC 9293, RFC 2018).
const END: u8 = 0;
const NO_OPERATION: u8 = 1;
const SACK: u8 = 5;

/// The fields of an IPv4 packet that links and hosts read. A missing field reads as nothing: a
/// packet that contradicts itself is carried as it is, and judged by the kernel that receives it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header<'a> {
    bytes: &'a [u8],
}

/// The place of a TCP segment in its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TcpSegment {
    /// Of the sender and the receiver.
    pub(crate) ports: [u16; 2],
    pub(crate) sequence: u32,
    pub(crate) payload_bytes: u32,
    pub(crate) syn: bool,
    pub(crate) fin: bool,
    pub(crate) ack: bool,
}

impl<'a> Header<'a> {
    /// The header of an IPv4 packet; `None` if it is something else.
    pub(crate) fn of(bytes: &'a [u8]) -> Option<Header<'a>> {
        (bytes.len() >= 20 && bytes[0] >> 4 == 4).then_some(Header { bytes })
    }

    /// Where it goes.
    #[cfg(target_os = "linux")]
    pub(crate) fn destination(&self) -> [u8; 4] {
        [self.bytes[16], self.bytes[17], self.bytes[18], self.bytes[19]]
    }

    /// The ECN field (RFC 3168, section 5).
    pub(crate) fn ecn(&self) -> Ecn {
        match self.bytes[1] & 3 {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }

    /// A number that is the same for packets of one connection in one direction, and seldom for
    /// others: of addresses, protocol and ports.
    pub(crate) fn connection(&self) -> u64 {
        let word =
            |at: usize| u32::from_be_bytes(self.bytes[at..at + 4].try_into().unwrap_or([0; 4]));
        let ports = match (self.bytes[9], self.payload()) {
            (TCP | UDP, [a, b, c, d, ..]) if !self.is_later_fragment() => {
                u32::from_be_bytes([*a, *b, *c, *d])
            }
            _ => 0,
        };
        let pair = u64::from(word(12)) << 32 | u64::from(word(16));
        let flow = u64::from(ports) << 8 | u64::from(self.bytes[9]);
        // The finaliser of SplitMix64 spreads what addresses and ports have in common.
        let mixed =
            (pair ^ flow.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ mixed >> 31).wrapping_mul(0x94d0_49bb_1331_11eb)
    }

    /// The acknowledgement of a TCP segment with the ACK flag and without SYN, FIN, RST; else none.
    pub(crate) fn ack(&self) -> Option<Ack> {
        let segment = self.payload();
        if self.bytes[9] != TCP || self.is_later_fragment() || segment.len() < TCP_HEADER_BYTES {
            return None;
        }
        let (flags, header_bytes) = (segment[13], usize::from(segment[12] >> 4) * 4);
        if flags & (FIN | SYN | RST) != 0 || flags & ACK == 0 {
            return None;
        }
        let options = segment.get(TCP_HEADER_BYTES..header_bytes)?;
        let accurate = segment[12] & 1; // AE (RFC 9768)
        Some(Ack {
            // One with SACK ranges may say more than a later one: the filter leaves it alone (docs/queues.md).
            pure: segment.len() == header_bytes && !has_sacks(options),
            number: u32::from_be_bytes(segment[8..12].try_into().unwrap_or([0; 4])),
            sacked: 0,
            flags: flags >> 6 & 3 | accurate << 2,
        })
    }

    /// Where the TCP header begins and ends; `None` if it is no segment of TCP with its header.
    pub(crate) fn tcp_headers(&self) -> Option<(usize, usize)> {
        let segment = self.payload();
        if self.bytes[9] != TCP || self.is_later_fragment() || segment.len() < TCP_HEADER_BYTES {
            return None;
        }
        let header_bytes = usize::from(segment[12] >> 4) * 4;
        let begin = usize::from(self.bytes[0] & 15) * 4;
        (TCP_HEADER_BYTES..=segment.len())
            .contains(&header_bytes)
            .then_some((begin, begin + header_bytes))
    }

    /// The fields of a TCP segment that say its place in the stream; `None` if it is something
    /// else.
    pub(crate) fn tcp_segment(&self) -> Option<TcpSegment> {
        let payload_bytes = self.tcp_payload()?;
        let segment = self.payload();
        let word = |at: usize| u16::from_be_bytes([segment[at], segment[at + 1]]);
        let flags = segment[13];
        Some(TcpSegment {
            ports: [word(0), word(2)],
            sequence: u32::from(word(4)) << 16 | u32::from(word(6)),
            payload_bytes,
            syn: flags & SYN != 0,
            fin: flags & FIN != 0,
            ack: flags & ACK != 0,
        })
    }

    /// Bytes of TCP's payload; `None` if it is no segment of TCP.
    pub(crate) fn tcp_payload(&self) -> Option<u32> {
        let (begin, end) = self.tcp_headers()?;
        Some((begin + self.payload().len() - end) as u32)
    }

    fn is_later_fragment(&self) -> bool {
        u16::from_be_bytes([self.bytes[6], self.bytes[7]]) & 0x1fff != 0
    }

    /// The payload behind the IP header, as far as the packet says that it is that long.
    fn payload(&self) -> &'a [u8] {
        let begin = usize::from(self.bytes[0] & 15) * 4;
        let end = usize::from(u16::from_be_bytes([self.bytes[2], self.bytes[3]]));
        self.bytes.get(begin..end.min(self.bytes.len())).unwrap_or_default()
    }
}

fn has_sacks(mut options: &[u8]) -> bool {
    loop {
        let length = match options {
            [] | [END, ..] => return false,
            [NO_OPERATION, ..] => 1,
            [SACK, ..] => return true,
            [_, length, ..] => usize::from(*length),
            [_] => return false,
        };
        match options.get(length.max(1)..) {
            Some(rest) => options = rest,
            None => return false,
        }
    }
}

/// Sets the codepoint CE of an IPv4 packet, and keeps its checksum true (RFC 1624, equation 3).
pub(crate) fn mark(packet: &mut [u8]) {
    let Some(_) = Header::of(packet) else { return };
    let before = u16::from_be_bytes([packet[0], packet[1]]);
    packet[1] |= 3;
    let after = u16::from_be_bytes([packet[0], packet[1]]);
    let checksum = u16::from_be_bytes([packet[10], packet[11]]);
    let sum = u32::from(!checksum) + u32::from(!before) + u32::from(after);
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    packet[10..12].copy_from_slice(&(!(folded as u16)).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 1071: the sum of all words, the checksum included, is all ones.
    fn is_true(packet: &[u8]) -> bool {
        let words =
            packet[..20].chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
        let sum: u32 = words.sum();
        (sum & 0xffff) + (sum >> 16) == 0xffff
    }

    /// A segment of TCP without payload, from 198.18.0.1:1000 to 198.18.0.2:80.
    fn segment(flags: u8, options: &[u8]) -> Vec<u8> {
        let length = 40 + options.len() as u8;
        let mut packet = vec![0x45, 2, 0, length, 0, 0, 0x40, 0, 64, 6, 0, 0];
        packet.extend([198, 18, 0, 1, 198, 18, 0, 2]);
        let words = packet.chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
        let sum: u32 = words.sum();
        let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        packet.extend([3, 232, 0, 80, 0, 0, 0, 1, 0, 0, 0, 77]);
        packet.extend([(5 + options.len() as u8 / 4) << 4, flags, 0, 0, 0, 0, 0, 0]);
        packet.extend(options);
        packet
    }

    #[test]
    fn a_mark_keeps_the_checksum_true() {
        let mut packet = segment(16, &[]);
        assert!(is_true(&packet));
        assert_eq!(Header::of(&packet).map(|it| it.ecn()), Some(Ecn::Ect0));
        mark(&mut packet);
        assert!(is_true(&packet));
        assert_eq!(Header::of(&packet).map(|it| it.ecn()), Some(Ecn::Ce));
    }

    #[test]
    fn acknowledgements_are_told_from_what_carries_more() {
        let ack = |packet: &[u8]| Header::of(packet).and_then(|it| it.ack());
        let timestamps = [1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2];
        let sacks = [1, 1, 5, 10, 0, 0, 0, 1, 0, 0, 0, 2];
        let pure = Ack { pure: true, number: 77, sacked: 0, flags: 0 };
        assert_eq!(ack(&segment(16, &timestamps)), Some(pure));
        assert_eq!(ack(&segment(16, &sacks)), Some(Ack { pure: false, ..pure }));
        assert_eq!(ack(&segment(16 | 64 | 128, &[])), Some(Ack { flags: 3, ..pure }));
        assert_eq!(ack(&segment(18, &[])), None);
        assert_eq!(ack(&segment(17, &[])), None);
        let mut data = segment(16, &[]);
        data.push(1);
        data[3] += 1;
        assert_eq!(ack(&data), Some(Ack { pure: false, ..pure }));
    }

    #[test]
    fn directions_and_ports_are_other_connections() {
        let one = segment(16, &[]);
        let mut other = one.clone();
        other[21] += 1;
        let mut back = one.clone();
        back[12..20].rotate_left(4);
        let number = |packet: &[u8]| Header::of(packet).map(|it| it.connection());
        assert_eq!(number(&one), number(&one.clone()));
        assert!(number(&one) != number(&other) && number(&one) != number(&back));
    }

    #[test]
    fn what_is_cut_short_is_read_as_far_as_it_goes() {
        let whole = segment(16, &[1, 1, 5, 10, 0, 0, 0, 1, 0, 0, 0, 2]);
        for length in 0..whole.len() {
            if let Some(header) = Header::of(&whole[..length]) {
                let _ = (header.connection(), header.ack(), header.ecn());
            }
        }
        assert!(Header::of(&[0x60; 40]).is_none());
    }
}
