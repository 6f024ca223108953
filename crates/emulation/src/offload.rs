use crate::header::{FIN, Header};

/// Flags and kinds of linux/virtio_net.h.
const NEEDS_CSUM: u8 = 1;
const GSO_NONE: u8 = 0;
const GSO_TCPV4: u8 = 1;
const GSO_ECN: u8 = 0x80;
/// Flags of TCP (RFC 9293, RFC 3168).
const PSH: u8 = 8;
const CWR: u8 = 0x80;
/// The place of the checksum in a TCP header, and in one of UDP.
const TCP_CHECKSUM: usize = 16;
const UDP_CHECKSUM: usize = 6;

/// The offloads of a packet, as a device has them before each packet (struct virtio_net_hdr of
/// linux/virtio_net.h, in the order of this machine's bytes): to complete the checksum, and to cut a
/// super-segment of TCP into frames (TSO).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offload {
    flags: u8,
    kind: u8,
    header_bytes: u16,
    segment_bytes: u16,
    checksum_from: u16,
    checksum_at: u16,
}

impl Offload {
    /// Bytes of the structure.
    pub const BYTES: usize = 10;
    /// The host has done everything itself.
    pub const NOTHING: Offload = Offload {
        flags: 0,
        kind: GSO_NONE,
        header_bytes: 0,
        segment_bytes: 0,
        checksum_from: 0,
        checksum_at: 0,
    };

    /// Reads the structure.
    pub fn read(bytes: &[u8; Offload::BYTES]) -> Offload {
        let [flags, kind, a, b, c, d, e, f, g, h] = *bytes;
        Offload {
            flags,
            kind,
            header_bytes: u16::from_ne_bytes([a, b]),
            segment_bytes: u16::from_ne_bytes([c, d]),
            checksum_from: u16::from_ne_bytes([e, f]),
            checksum_at: u16::from_ne_bytes([g, h]),
        }
    }

    /// Writes it.
    pub fn bytes(&self) -> [u8; Offload::BYTES] {
        let mut bytes = [self.flags, self.kind, 0, 0, 0, 0, 0, 0, 0, 0];
        let words = [self.header_bytes, self.segment_bytes, self.checksum_from, self.checksum_at];
        for (to, word) in bytes[2..].chunks_exact_mut(2).zip(words) {
            to.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }

    /// How many frames a packet is cut into: 1 if it is no super-segment.
    pub fn frames(&self, packet: &[u8]) -> u32 {
        match self.layout(packet) {
            Some(Layout { headers, segment, .. }) => {
                (packet.len() - headers).div_ceil(segment).max(1) as u32
            }
            None => 1,
        }
    }

    /// Writes a frame of a super-segment, as Linux cuts it (`tcp_gso_segment`, `inet_gso_segment`): its bytes,
    /// and what is left to do about it, which is the checksum. `None` if it is no super-segment, has no such
    /// frame, or there is no room.
    pub fn frame(&self, packet: &[u8], index: u32, to: &mut [u8]) -> Option<(usize, Offload)> {
        let Layout { tcp, headers, segment } = self.layout(packet)?;
        let payload = &packet[headers..];
        let begin = segment.checked_mul(index as usize).filter(|begin| *begin < payload.len())?;
        let rest = &payload[begin..];
        let own = &rest[..segment.min(rest.len())];
        let length = headers + own.len();
        let frame = to.get_mut(..length)?;
        frame[..headers].copy_from_slice(&packet[..headers]);
        frame[headers..].copy_from_slice(own);
        let number = u16::from_be_bytes([packet[4], packet[5]]).wrapping_add(index as u16);
        frame[2..4].copy_from_slice(&(length as u16).to_be_bytes());
        frame[4..6].copy_from_slice(&number.to_be_bytes());
        frame[10..12].fill(0);
        let sum = !folded(words(&frame[..tcp]));
        frame[10..12].copy_from_slice(&sum.to_be_bytes());
        let sequence = u32::from_be_bytes([
            packet[tcp + 4],
            packet[tcp + 5],
            packet[tcp + 6],
            packet[tcp + 7],
        ]);
        let sequence = sequence.wrapping_add(begin as u32);
        frame[tcp + 4..tcp + 8].copy_from_slice(&sequence.to_be_bytes());
        if own.len() < rest.len() {
            frame[tcp + 13] &= !(FIN | PSH);
        }
        if index > 0 {
            frame[tcp + 13] &= !CWR;
        }
        // The sum of the pseudo-header (RFC 9293, 3.1), to which the sum over the segment is to be added.
        let ends = words(&frame[12..20]);
        let pseudo = ends + u64::from(frame[9]) + (length - tcp) as u64;
        let at = tcp + TCP_CHECKSUM;
        frame[at..at + 2].copy_from_slice(&folded(pseudo).to_be_bytes());
        let left = Offload {
            flags: NEEDS_CSUM,
            checksum_from: tcp as u16,
            checksum_at: TCP_CHECKSUM as u16,
            ..Offload::NOTHING
        };
        Some((length, left))
    }

    /// Completes the checksum of a packet, if that was left to the network card.
    pub(crate) fn complete(&self, packet: &mut [u8]) {
        let (from, at) = (usize::from(self.checksum_from), usize::from(self.checksum_at));
        if self.flags & NEEDS_CSUM == 0 || from + at + 2 > packet.len() {
            return;
        }
        let covered = &packet[from..];
        let odd = covered.chunks_exact(2).remainder().first();
        let sum = !folded(words(covered) + odd.map_or(0, |byte| u64::from(*byte) << 8));
        // In UDP 0 says that there is none (RFC 768).
        let sum = if sum == 0 && at == UDP_CHECKSUM { u16::MAX } else { sum };
        packet[from + at..from + at + 2].copy_from_slice(&sum.to_be_bytes());
    }

    /// Where things are in a super-segment; `None` if this is none, or contradicts itself.
    fn layout(&self, packet: &[u8]) -> Option<Layout> {
        if self.kind & !GSO_ECN != GSO_TCPV4 || self.segment_bytes == 0 {
            return None;
        }
        let (tcp, headers) = Header::of(packet)?.tcp_headers()?;
        (headers < packet.len()).then_some(Layout {
            tcp,
            headers,
            segment: usize::from(self.segment_bytes),
        })
    }
}

/// A super-segment: where its TCP header begins and ends, and the payload of a frame.
struct Layout {
    tcp: usize,
    headers: usize,
    segment: usize,
}

/// The sum of whole 16-bit words (RFC 1071).
fn words(bytes: &[u8]) -> u64 {
    bytes.chunks_exact(2).map(|word| u64::from(u16::from_be_bytes([word[0], word[1]]))).sum()
}

fn folded(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::TcpOptionElement::{Noop, Timestamp};
    use etherparse::{IpNumber, Ipv4Header, NetSlice, SlicedPacket, TcpHeader, TransportSlice};
    use proptest::prelude::*;

    /// A super-segment with sequence number `sequence`, timestamps, and all flags that frames share or not.
    fn super_segment(payload: &[u8], sequence: u32) -> Vec<u8> {
        let mut tcp = TcpHeader::new(1000, 80, sequence, 5000);
        (tcp.acknowledgment_number, tcp.ack) = (77, true);
        (tcp.psh, tcp.fin, tcp.cwr) = (true, true, true);
        let options = [Noop, Noop, Timestamp(1, 2)];
        tcp.set_options(&options).expect("they fit");
        let bytes = (tcp.header_len() + payload.len()) as u16;
        let ends = ([198, 18, 0, 1], [198, 18, 0, 2]);
        let ip = Ipv4Header::new(bytes, 64, IpNumber::TCP, ends.0, ends.1).expect("it is short");
        [ip.to_bytes().as_slice(), &tcp.to_bytes(), payload].concat()
    }

    proptest! {
        #[test]
        fn frames_have_all_of_a_super_segment_once(
            payload in prop::collection::vec(any::<u8>(), 1..20_000),
            sequence in any::<u32>(),
            segment_bytes in 500u16..1500,
        ) {
            let packet = super_segment(&payload, sequence);
            let offload = Offload { kind: GSO_TCPV4, segment_bytes, ..Offload::NOTHING };
            let frames = offload.frames(&packet);
            prop_assert_eq!(frames as usize, payload.len().div_ceil(usize::from(segment_bytes)));
            let mut together = Vec::new();
            for index in 0..frames {
                let mut room = [0; 1600];
                let (length, left) = offload.frame(&packet, index, &mut room).expect("there is one");
                let frame = &mut room[..length];
                left.complete(frame);
                let read = SlicedPacket::from_ip(frame).expect("it is a packet");
                let Some(TransportSlice::Tcp(tcp)) = read.transport else { panic!("of TCP") };
                let Some(NetSlice::Ipv4(ip)) = read.net else { panic!("of IPv4") };
                let header = ip.header().to_header();
                prop_assert_eq!(header.header_checksum, header.calc_header_checksum());
                let sum = tcp.calc_checksum_ipv4(header.source, header.destination);
                prop_assert_eq!(sum.expect("it is short"), tcp.checksum());
                let before = together.len() as u32;
                prop_assert_eq!(tcp.sequence_number(), sequence.wrapping_add(before));
                let last = index + 1 == frames;
                prop_assert_eq!([tcp.fin(), tcp.psh(), tcp.cwr()], [last, last, index == 0]);
                prop_assert_eq!(tcp.options().len(), 12);
                together.extend_from_slice(tcp.payload());
            }
            prop_assert_eq!(together, payload);
            prop_assert!(offload.frame(&packet, frames, &mut [0; 1600]).is_none());
            prop_assert!(offload.frame(&packet, 0, &mut [0; 40]).is_none());
        }

        #[test]
        fn anything_can_stand_before_anything(
            mut packet in prop::collection::vec(any::<u8>(), 0..200),
            mut bytes in any::<[u8; Offload::BYTES]>(),
            own in any::<bool>(),
        ) {
            bytes[1] = if own { GSO_TCPV4 } else { bytes[1] };
            let offload = Offload::read(&bytes);
            prop_assert_eq!(offload.bytes(), bytes);
            for index in 0..offload.frames(&packet) {
                let _ = offload.frame(&packet, index, &mut [0; 1600]);
            }
            offload.complete(&mut packet);
        }
    }

    #[test]
    fn what_is_no_super_segment_stays_as_it_is() {
        let packet = super_segment(&[1; 100], 0);
        let checksum = Offload { flags: NEEDS_CSUM, ..Offload::NOTHING };
        assert_eq!((Offload::NOTHING.frames(&packet), checksum.frames(&packet)), (1, 1));
        assert!(checksum.frame(&packet, 0, &mut [0; 1600]).is_none());
    }
}
