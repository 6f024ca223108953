use super::event::PacketSeen;
use super::flight::Flight;
use flashcrowd_transport::tcp::{Flags, Segment};
use flashcrowd_transport::utp::{self, PacketKind};
use std::fmt::Write;

impl PacketSeen {
    /// A frame of TCP.
    pub(super) fn frame(frame: &Segment) -> PacketSeen {
        let is = |flags| frame.flags.contains(flags);
        let kind = match () {
            () if is(Flags::RST) => "rst",
            () if is(Flags::SYN | Flags::ACK) => "syn_ack",
            () if is(Flags::SYN) => "syn",
            () if is(Flags::FIN) => "fin",
            () if frame.len > 0 => "data",
            () => "ack",
        };
        let ecn = [(Flags::CE, "ce"), (Flags::ECT_0, "ect0"), (Flags::ECT_1, "ect1")];
        PacketSeen {
            kind,
            number: None,
            ip_bytes: frame.wire_bytes() as u32,
            payload_bytes: frame.len,
            offset: (frame.len > 0 || is(Flags::FIN)).then_some(frame.seq),
            seq_nr: None,
            ack: is(Flags::ACK).then_some(frame.ack),
            sack: ranges(frame.sack_ranges()),
            window: frame.window,
            again: None,
            ecn: ecn.into_iter().find(|(flags, _)| is(*flags)).map(|(_, name)| name),
        }
    }

    /// The same, as it is sent.
    pub(super) fn sent_frame(frame: &Segment, flight: &mut Flight) -> PacketSeen {
        let number = flight.count();
        let again = if frame.flags.contains(Flags::SYN) {
            flight.send_syn()
        } else if frame.end() != frame.seq && !frame.flags.contains(Flags::RST) {
            flight.send(number, frame.seq, frame.end())
        } else {
            false
        };
        PacketSeen { number: Some(number), again: Some(again), ..PacketSeen::frame(frame) }
    }

    /// A packet of uTP.
    pub(super) fn utp(packet: &utp::Packet) -> PacketSeen {
        let kind = match packet.kind {
            PacketKind::Data => "data",
            PacketKind::Fin => "fin",
            PacketKind::State => "state",
            PacketKind::Reset => "reset",
            PacketKind::Syn => "syn",
        };
        let numbered = matches!(packet.kind, PacketKind::Data | PacketKind::Fin);
        PacketSeen {
            kind,
            number: None,
            ip_bytes: packet.wire_bytes() as u32,
            payload_bytes: u32::from(packet.len),
            offset: numbered.then_some(packet.offset),
            seq_nr: Some(packet.seq_nr),
            ack: (packet.kind != PacketKind::Syn).then_some(u64::from(packet.ack_nr)),
            sack: ranges(runs(packet).into_iter()),
            window: packet.window,
            again: None,
            ecn: None,
        }
    }

    /// The same, as it is sent.
    pub(super) fn sent_utp(packet: &utp::Packet, flight: &mut Flight) -> PacketSeen {
        let number = flight.count();
        let takes = matches!(packet.kind, PacketKind::Data | PacketKind::Fin | PacketKind::Syn);
        let seq = flight.unwrap(packet.seq_nr);
        let again = takes && flight.send(number, seq, seq + 1);
        PacketSeen { number: Some(number), again: Some(again), ..PacketSeen::utp(packet) }
    }
}

/// Ranges as text, each with the first number that it has not; none if there are none.
fn ranges(ranges: impl Iterator<Item = (u64, u64)>) -> Option<Box<str>> {
    let mut text = String::new();
    for (start, end) in ranges {
        let gap = if text.is_empty() { "" } else { " " };
        // Writing to a text does not fail.
        let _ = write!(text, "{gap}{start}-{end}");
    }
    (!text.is_empty()).then(|| text.into())
}

/// The runs of numbers that a mask of uTP names: the first bit is the second number after what is
/// acknowledged (BEP 29).
fn runs(packet: &utp::Packet) -> Vec<(u64, u64)> {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for (position, byte) in (0u16..).zip(packet.sack.as_bytes()) {
        for bit in (0..8).filter(|bit| byte & (1 << bit) != 0) {
            let number = packet.ack_nr.wrapping_add(2 + 8 * position + bit);
            let number = u64::from(number);
            match runs.last_mut() {
                Some((_, end)) if *end == number => *end += 1,
                _ => runs.push((number, number + 1)),
            }
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashcrowd_transport::utp::Sack;

    fn segment(flags: Flags, seq: u64, len: u32) -> Segment {
        Segment { seq, ack: 7, len, window: 5, mss: 1000, flags, ..Segment::EMPTY }
    }

    #[test]
    fn a_frame_is_called_by_the_first_of_its_flags() {
        let offset = Some(100);
        for (flags, len, kind, offset) in [
            (Flags::RST | Flags::ACK, 0, "rst", None),
            (Flags::RST | Flags::FIN, 10, "rst", offset),
            (Flags::SYN | Flags::ACK, 0, "syn_ack", None),
            (Flags::SYN, 0, "syn", None),
            (Flags::FIN | Flags::ACK, 10, "fin", offset),
            (Flags::FIN | Flags::ACK, 0, "fin", offset),
            (Flags::ACK, 1, "data", offset),
            (Flags::ACK, 0, "ack", None),
        ] {
            let seen = PacketSeen::frame(&segment(flags, 100, len));
            assert_eq!((seen.kind, seen.offset), (kind, offset), "{flags:?} {len}");
            assert_eq!(seen.ack, flags.contains(Flags::ACK).then_some(7), "{flags:?}");
            // The option for the segment size takes four bytes of a SYN.
            let header = if flags.contains(Flags::SYN) { 44 } else { 40 };
            assert_eq!((seen.payload_bytes, seen.window, seen.ip_bytes), (len, 5, header + len));
            assert_eq!((seen.ecn, seen.sack, seen.number, seen.again), (None, None, None, None));
        }
        for (flag, name) in [(Flags::CE, "ce"), (Flags::ECT_0, "ect0"), (Flags::ECT_1, "ect1")] {
            let seen = PacketSeen::frame(&segment(Flags::ACK | flag, 100, 0));
            assert_eq!(seen.ecn, Some(name));
        }
        let mut frame = segment(Flags::ACK, 100, 0);
        assert!(frame.push_sack(10, 20) && frame.push_sack(30, 31));
        assert_eq!(PacketSeen::frame(&frame).sack.as_deref(), Some("10-20 30-31"));
    }

    #[test]
    fn only_what_takes_numbers_is_a_retransmission_the_second_time() {
        let mut flight = Flight::default();
        let mut again = |flags, seq, len| {
            let seen = PacketSeen::sent_frame(&segment(flags, seq, len), &mut flight);
            (seen.number, seen.again)
        };
        assert_eq!(again(Flags::SYN, 0, 0), (Some(0), Some(false)));
        assert_eq!(again(Flags::SYN, 0, 0), (Some(1), Some(true)));
        assert_eq!(again(Flags::ACK, 0, 0), (Some(2), Some(false)));
        assert_eq!(again(Flags::ACK, 0, 100), (Some(3), Some(false)));
        assert_eq!(again(Flags::ACK, 100, 0), (Some(4), Some(false)));
        assert_eq!(again(Flags::ACK, 0, 100), (Some(5), Some(true)));
        assert_eq!(again(Flags::RST, 0, 100), (Some(6), Some(false)));
        assert_eq!(again(Flags::FIN | Flags::ACK, 100, 0), (Some(7), Some(false)));
        assert_eq!(again(Flags::FIN | Flags::ACK, 100, 0), (Some(8), Some(true)));
    }

    fn utp(kind: PacketKind, seq_nr: u16) -> utp::Packet {
        utp::Packet { kind, seq_nr, ack_nr: 9, offset: 50, len: 4, window: 3, ..Default::default() }
    }

    #[test]
    fn a_packet_of_utp_has_an_offset_if_it_has_a_place_in_the_stream() {
        for (kind, name, offset, ack) in [
            (PacketKind::Data, "data", Some(50), Some(9)),
            (PacketKind::Fin, "fin", Some(50), Some(9)),
            (PacketKind::State, "state", None, Some(9)),
            (PacketKind::Reset, "reset", None, Some(9)),
            (PacketKind::Syn, "syn", None, None),
        ] {
            let seen = PacketSeen::utp(&utp(kind, 2));
            assert_eq!((seen.kind, seen.offset, seen.ack), (name, offset, ack));
            assert_eq!((seen.seq_nr, seen.payload_bytes, seen.ip_bytes), (Some(2), 4, 52));
            assert_eq!((seen.window, seen.sack), (3, None));
            let takes = !matches!(kind, PacketKind::State | PacketKind::Reset);
            let mut flight = Flight::default();
            for number in 0..2 {
                let seen = PacketSeen::sent_utp(&utp(kind, 2), &mut flight);
                assert_eq!(seen.number, Some(number));
                assert_eq!(seen.again, Some(takes && number == 1), "{name}");
            }
            // The next one is new.
            let seen = PacketSeen::sent_utp(&utp(kind, 3), &mut flight);
            assert_eq!(seen.again, Some(false), "{name}");
        }
    }

    /// BEP 29: the first bit is the second number after what is acknowledged.
    #[test]
    fn a_mask_is_told_as_runs_of_numbers() {
        let told = |ack_nr: u16, bits: &[usize]| {
            let mut sack = Sack::of_bytes(4);
            bits.iter().for_each(|bit| sack.set(*bit));
            runs(&utp::Packet { ack_nr, sack, ..Default::default() })
        };
        assert_eq!(told(10, &[]), []);
        assert_eq!(told(10, &[0]), [(12, 13)]);
        assert_eq!(told(10, &[0, 1, 5, 7, 8, 9, 20]), [(12, 14), (17, 18), (19, 22), (32, 33)]);
        // Numbers on the wire wrap around, and a run ends there.
        assert_eq!(told(65_532, &[0, 1, 2, 3]), [(65_534, 65_536), (0, 2)]);
        let mut packet = utp(PacketKind::State, 1);
        packet.sack = Sack::of_bytes(4);
        packet.sack.set(0);
        packet.sack.set(2);
        assert_eq!(PacketSeen::utp(&packet).sack.as_deref(), Some("11-12 13-14"));
    }
}
