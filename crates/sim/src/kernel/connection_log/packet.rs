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

/// The runs of numbers that a mask of uTP names: the first bit stands for the second number after what is
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
