//! Packets as they are on the wire (BEP 29, version 1; the extensions of uTorrent and libtorrent).
//!
//! A datagram is a header of 20 bytes, a chain of extensions (type of the next one, length, body)
//! and payload. Extensions of unknown type are skipped by their length.

use super::packet::{Extension, HEADER_BYTES, Packet, PacketKind};
use super::sack::{MAX_SACK_BYTES, Sack};

/// The longest header that [`encode`] writes.
pub const MAX_HEADER_BYTES: usize = HEADER_BYTES as usize + 2 + MAX_SACK_BYTES + 2 + 8;

const VERSION: u8 = 1;
const SELECTIVE_ACK: u8 = 1;
const EXTENSION_BITS: u8 = 2;
const CLOSE_REASON: u8 = 3;
/// An unassigned type; receivers skip it by its length. libutp refuses a datagram whose first extension it does
/// not know, and so padding begins with extension bits.
const PADDING: u8 = 0xfc;

/// Why a datagram is not a uTP packet. Others may share its port: a driver offers it to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Shorter than a header.
    #[error("{0} bytes, and a uTP header has 20")]
    TooShort(usize),
    /// Not version 1.
    #[error("uTP version {0}, and only version 1 is understood")]
    Version(u8),
    /// No such kind of packet.
    #[error("packet type {0}, and the greatest is 4")]
    Kind(u8),
    /// An extension is longer than the datagram.
    #[error("extension {0} reaches beyond the datagram")]
    Extension(u8),
}

/// Reads a datagram: the packet, and its payload.
pub fn decode(datagram: &[u8]) -> Result<(Packet, &[u8]), DecodeError> {
    let Some((header, mut rest)) = datagram.split_first_chunk::<{ HEADER_BYTES as usize }>() else {
        return Err(DecodeError::TooShort(datagram.len()));
    };
    if header[0] & 0xf != VERSION {
        return Err(DecodeError::Version(header[0] & 0xf));
    }
    let kind = PacketKind::from_number(header[0] >> 4).ok_or(DecodeError::Kind(header[0] >> 4))?;
    let short = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    let long = |at: usize| {
        u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
    };
    let mut packet = Packet {
        kind,
        connection_id: short(2),
        timestamp: long(4),
        timestamp_difference: long(8),
        window: long(12),
        seq_nr: short(16),
        ack_nr: short(18),
        ..Packet::default()
    };
    let mut extension = header[1];
    while extension != 0 {
        let Some((&[next, len], after)) = rest.split_first_chunk::<2>() else {
            return Err(DecodeError::Extension(extension));
        };
        let Some((body, after)) = after.split_at_checked(usize::from(len)) else {
            return Err(DecodeError::Extension(extension));
        };
        match extension {
            SELECTIVE_ACK => packet.sack = Sack::from_wire(body),
            EXTENSION_BITS => {
                if let Ok(bits) = body.try_into() {
                    packet.extension = Extension::Bits(bits);
                }
            }
            CLOSE_REASON => {
                if let Ok(reason) = body.try_into() {
                    packet.extension = Extension::CloseReason(reason);
                }
            }
            _ => {}
        }
        (extension, rest) = (next, after);
    }
    // A UDP datagram has less than 2^16 bytes; a driver that has longer ones has something else.
    packet.len = u16::try_from(rest.len()).unwrap_or(u16::MAX);
    Ok((packet, &rest[..usize::from(packet.len)]))
}

/// Appends the header with its extensions. The payload, `packet.len` bytes from `packet.offset` of
/// the stream, goes behind it.
pub fn encode(packet: &Packet, datagram: &mut Vec<u8>) {
    let extension = match packet.extension {
        Extension::None => 0,
        Extension::Bits(_) | Extension::Padding(_) => EXTENSION_BITS,
        Extension::CloseReason(_) => CLOSE_REASON,
    };
    let first = if packet.sack.is_empty() { extension } else { SELECTIVE_ACK };
    let mut header = [0; HEADER_BYTES as usize];
    header[0] = (packet.kind as u8) << 4 | VERSION;
    header[1] = first;
    header[2..4].copy_from_slice(&packet.connection_id.to_be_bytes());
    header[4..8].copy_from_slice(&packet.timestamp.to_be_bytes());
    header[8..12].copy_from_slice(&packet.timestamp_difference.to_be_bytes());
    header[12..16].copy_from_slice(&packet.window.to_be_bytes());
    header[16..18].copy_from_slice(&packet.seq_nr.to_be_bytes());
    header[18..20].copy_from_slice(&packet.ack_nr.to_be_bytes());
    datagram.extend_from_slice(&header);
    if !packet.sack.is_empty() {
        let mask = packet.sack.as_bytes();
        datagram.extend_from_slice(&[extension, mask.len() as u8]);
        datagram.extend_from_slice(mask);
    }
    match packet.extension {
        Extension::None => {}
        Extension::Bits(bits) => {
            datagram.extend_from_slice(&[0, 8]);
            datagram.extend_from_slice(&bits);
        }
        Extension::CloseReason(reason) => {
            datagram.extend_from_slice(&[0, 4]);
            datagram.extend_from_slice(&reason);
        }
        Extension::Padding(bytes) => {
            let mut left = usize::from(u16::from_be_bytes(bytes)).saturating_sub(10);
            datagram.extend_from_slice(&[PADDING, 8]);
            datagram.resize(datagram.len() + 8, 0);
            while left > 0 {
                // One byte alone would be no extension.
                let mut len = left.min(2 + 255);
                len -= usize::from(left - len == 1);
                left -= len;
                let next = if left > 0 { PADDING } else { 0 };
                datagram.extend_from_slice(&[next, (len - 2) as u8]);
                datagram.resize(datagram.len() + len - 2, 0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(first: u8) -> Vec<u8> {
        let packet = Packet { kind: PacketKind::State, connection_id: 0x1101, ..Packet::default() };
        let mut datagram = Vec::new();
        encode(&packet, &mut datagram);
        datagram[1] = first;
        datagram
    }

    #[test]
    fn fields_lie_where_bep_29_has_them() {
        let packet = Packet {
            kind: PacketKind::Syn,
            connection_id: 0x0102,
            timestamp: 0x0304_0506,
            timestamp_difference: 0x0708_090a,
            window: 0x0b0c_0d0e,
            seq_nr: 0x0f10,
            ack_nr: 0x1112,
            ..Packet::default()
        };
        let mut datagram = Vec::new();
        encode(&packet, &mut datagram);
        let mut expected = vec![0x41, 0];
        expected.extend(1..=0x12);
        assert_eq!(datagram, expected);
        assert_eq!(decode(&datagram), Ok((packet, &[][..])));
    }

    #[test]
    fn padding_is_as_long_as_it_says_and_means_nothing() {
        for bytes in (super::super::packet::MIN_PADDING_BYTES as u16..2000).chain([60_000]) {
            let extension = Extension::Padding(bytes.to_be_bytes());
            let packet = Packet { kind: PacketKind::Data, len: 7, extension, ..Packet::default() };
            let mut datagram = Vec::new();
            encode(&packet, &mut datagram);
            datagram.extend(b"payload");
            assert_eq!(datagram.len() as u32, packet.datagram_bytes());
            let (read, payload) = decode(&datagram).expect("uTP");
            assert_eq!((payload, read.extension), (&b"payload"[..], Extension::Bits([0; 8])));
        }
    }

    #[test]
    fn unknown_extensions_are_skipped_and_odd_ones_forgiven() {
        let mut datagram = header(77);
        datagram.extend([2, 3, 9, 9, 9]);
        datagram.extend([1, 3, 1, 2, 3]); // extension bits of an odd length
        datagram.extend([3, 1, 0x81]); // a mask of one byte
        datagram.extend([0, 4, 0, 0, 0, 15]); // a reason
        datagram.extend(b"payload");
        let (packet, payload) = decode(&datagram).expect("sane");
        assert_eq!(payload, b"payload");
        assert_eq!(packet.sack.iter().collect::<Vec<_>>(), [0, 7]);
        assert_eq!(packet.extension, Extension::CloseReason([0, 0, 0, 15]));
        let mut empty = header(1);
        empty.extend([0, 0]);
        assert!(decode(&empty).expect("sane").0.sack.is_empty());
    }

    #[test]
    fn what_is_not_utp_says_why() {
        assert_eq!(decode(b"d1:ad2:id20:abcdef"), Err(DecodeError::TooShort(18)));
        let mut other = header(0);
        other[0] = 0x22;
        assert_eq!(decode(&other), Err(DecodeError::Version(2)));
        other[0] = 0x51;
        assert_eq!(decode(&other), Err(DecodeError::Kind(5)));
        let mut cut = header(1);
        assert_eq!(decode(&cut), Err(DecodeError::Extension(1)));
        cut.extend([0, 4, 0, 0, 0]);
        assert_eq!(decode(&cut), Err(DecodeError::Extension(1)));
    }
}
