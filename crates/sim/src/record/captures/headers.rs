//! Headers of IPv4, TCP, UDP and ICMP, with their checksums.

use etherparse::{
    IcmpEchoHeader, Icmpv4Header, Icmpv4Type, IpEcn, IpNumber, Ipv4Header, TcpHeader,
    TcpOptionElement, TcpOptions, UdpHeader,
};
use flashcrowd_transport::tcp::{Flags, Segment};

/// Sender and receiver of a packet.
pub(super) struct Ends {
    pub(super) hosts: [u32; 2],
    pub(super) ports: [u16; 2],
}

/// The same of a segment.
pub(super) struct TcpEnds {
    pub(super) ends: Ends,
    /// The number of the sender's SYN, and of the receiver's.
    pub(super) initial: [u32; 2],
    /// How far the sender shifts its window.
    pub(super) window_shift: u8,
    /// Whether the sender has sent a SYN.
    pub(super) opened: bool,
}

/// An echo request, or its reply.
pub(super) struct Echo {
    pub(super) reply: bool,
    pub(super) identifier: u16,
    pub(super) sequence: u16,
}

/// Bytes of the headers of IP and of UDP, or of IP and an echo.
pub(super) const DATAGRAM_HEADER_BYTES: usize = 28;

/// Time to live of every packet, as hosts send it: what is simulated has no routers to count it down.
const TIME_TO_LIVE: u8 = 64;
/// Hosts in a block of 256 addresses, the first and the last of which look like a network's.
const HOSTS_A_BLOCK: u32 = 254;

/// The address of a host by its index: 10.0.0.1 and those behind it (RFC 1918).
pub(super) fn address(host: u32) -> [u8; 4] {
    let (block, place) = (host / HOSTS_A_BLOCK, host % HOSTS_A_BLOCK);
    [10, (block >> 8) as u8, block as u8, place as u8 + 1]
}

/// Appends a packet with a segment.
pub(super) fn tcp(of: &TcpEnds, segment: &Segment, payload: &[u8], packet: &mut Vec<u8>) {
    let (flags, ends) = (segment.flags, &of.ends);
    let has = |flag| flags.contains(flag);
    // A stream's byte 0 is behind the SYN. Who refuses a SYN has no numbers (RFC 9293, 3.10.7.1).
    let number = |initial: u32, offset: u64| initial.wrapping_add(1).wrapping_add(offset as u32);
    let sequence_number = match (has(Flags::SYN), of.opened) {
        (true, _) => of.initial[0],
        (false, true) => number(of.initial[0], segment.seq),
        (false, false) => 0,
    };
    // The window of a SYN is never scaled.
    let shift = if has(Flags::SYN) { 0 } else { of.window_shift };
    let window = (u64::from(segment.window) + (1 << shift) - 1) >> shift;
    let mut header = TcpHeader {
        source_port: ends.ports[0],
        destination_port: ends.ports[1],
        sequence_number,
        acknowledgment_number: match has(Flags::ACK) {
            true => number(of.initial[1], segment.ack),
            false => 0,
        },
        ns: has(Flags::AE),
        fin: has(Flags::FIN),
        syn: has(Flags::SYN),
        rst: has(Flags::RST),
        psh: has(Flags::PSH),
        ack: has(Flags::ACK),
        ece: has(Flags::ECE),
        cwr: has(Flags::CWR),
        window_size: u16::try_from(window).unwrap_or(u16::MAX),
        ..TcpHeader::default()
    };
    header.options = options(of, segment);
    let ecn = match (has(Flags::ECT_0), has(Flags::ECT_1)) {
        (false, false) => IpEcn::NotEct,
        (false, true) => IpEcn::Ect1,
        (true, false) => IpEcn::Ect0,
        (true, true) => IpEcn::CongestionExperienced,
    };
    let length = header.header_len() + payload.len();
    let ip = ip_header(ends, IpNumber::TCP, ecn, None, length);
    let checksum = header.calc_checksum_ipv4_raw(ip.source, ip.destination, payload);
    header.checksum = checksum.unwrap_or(0);
    packet.extend_from_slice(&ip.to_bytes());
    packet.extend_from_slice(&header.to_bytes());
    packet.extend_from_slice(payload);
}

/// The options of a segment, in the order and with the padding of Linux (tcp_options_write).
fn options(of: &TcpEnds, segment: &Segment) -> TcpOptions {
    use TcpOptionElement::*;
    let has = |flag| segment.flags.contains(flag);
    let stamps = has(Flags::TIMESTAMPS) && !has(Flags::FREE_TIMESTAMPS);
    let mut list = Vec::with_capacity(8);
    if has(Flags::SYN) {
        list.push(MaximumSegmentSize(segment.mss));
    }
    match (has(Flags::SYN) && has(Flags::SACK_PERMITTED), stamps) {
        (true, true) => list.push(SelectiveAcknowledgementPermitted),
        (true, false) => list.extend([Noop, Noop, SelectiveAcknowledgementPermitted]),
        (false, true) => list.extend([Noop, Noop]),
        (false, false) => {}
    }
    if stamps {
        list.push(Timestamp(segment.timestamp, segment.echo));
    }
    if has(Flags::SYN) && has(Flags::WINDOW_SCALE) {
        list.extend([Noop, WindowScale(of.window_shift)]);
    }
    let mut ranges = segment.sack_ranges().map(|(start, end)| {
        let number = |offset: u64| of.initial[1].wrapping_add(1).wrapping_add(offset as u32);
        (number(start), number(end))
    });
    if let Some(first) = ranges.next() {
        let rest = [ranges.next(), ranges.next(), ranges.next()];
        list.extend([Noop, Noop, SelectiveAcknowledgement(first, rest)]);
    }
    TcpOptions::try_from_elements(&list).unwrap_or_default()
}

/// Appends a packet with a UDP datagram; with an id if it may be cut on its way.
pub(super) fn udp(ends: &Ends, id: Option<u16>, payload: &[u8], packet: &mut Vec<u8>) {
    let length = UdpHeader::LEN + payload.len();
    let ip = ip_header(ends, IpNumber::UDP, IpEcn::NotEct, id, length);
    let [from, to] = ends.ports;
    packet.extend_from_slice(&ip.to_bytes());
    if let Ok(header) = UdpHeader::with_ipv4_checksum(from, to, &ip, payload) {
        packet.extend_from_slice(&header.to_bytes());
    }
    packet.extend_from_slice(payload);
}

/// Appends a packet with an echo request or its reply.
pub(super) fn icmp(ends: &Ends, echo: &Echo, payload: &[u8], packet: &mut Vec<u8>) {
    let numbers = IcmpEchoHeader { id: echo.identifier, seq: echo.sequence };
    let kind = match echo.reply {
        true => Icmpv4Type::EchoReply(numbers),
        false => Icmpv4Type::EchoRequest(numbers),
    };
    let header = Icmpv4Header::with_checksum(kind, payload);
    let length = header.header_len() + payload.len();
    let ip = ip_header(ends, IpNumber::ICMP, IpEcn::NotEct, None, length);
    packet.extend_from_slice(&ip.to_bytes());
    packet.extend_from_slice(&header.to_bytes());
    packet.extend_from_slice(payload);
}

/// Without an id the packet is atomic: it must not be cut, and its id says nothing (RFC 6864).
fn ip_header(
    ends: &Ends,
    protocol: IpNumber,
    ecn: IpEcn,
    id: Option<u16>,
    payload_bytes: usize,
) -> Ipv4Header {
    let [source, destination] = ends.hosts.map(address);
    // No packet of the simulator is longer: the sizes of segments and datagrams are checked.
    let length = Ipv4Header::MIN_LEN + payload_bytes;
    let mut header = Ipv4Header {
        ecn,
        total_len: u16::try_from(length).unwrap_or(u16::MAX),
        identification: id.unwrap_or(0),
        dont_fragment: id.is_none(),
        time_to_live: TIME_TO_LIVE,
        protocol,
        source,
        destination,
        ..Ipv4Header::default()
    };
    header.header_checksum = header.calc_header_checksum();
    header
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::TcpHeaderSlice;

    /// The TCP header of a segment from 7 to 9, whose SYNs had the numbers 1000 and `u32::MAX`.
    fn header(opened: bool, window_shift: u8, segment: &Segment) -> TcpHeader {
        let ends = Ends { hosts: [0, 1], ports: [7, 9] };
        let of = TcpEnds { ends, initial: [1000, u32::MAX], window_shift, opened };
        let mut packet = Vec::new();
        tcp(&of, segment, &[], &mut packet);
        TcpHeaderSlice::from_slice(&packet[Ipv4Header::MIN_LEN..]).expect("it is TCP").to_header()
    }

    #[test]
    fn hosts_fill_blocks_of_254_addresses() {
        assert_eq!(address(0), [10, 0, 0, 1]);
        assert_eq!(address(253), [10, 0, 0, 254]);
        assert_eq!(address(254), [10, 0, 1, 1]);
        assert_eq!(address(254 * 256 - 1), [10, 0, 255, 254]);
        assert_eq!(address(254 * 256), [10, 1, 0, 1]);
    }

    #[test]
    fn every_flag_has_its_bit() {
        let bits = |flags: Flags| {
            let it = header(true, 0, &Segment { flags, ..Segment::EMPTY });
            [it.ns, it.cwr, it.ece, it.ack, it.psh, it.rst, it.syn, it.fin]
        };
        let flags = [
            Flags::AE,
            Flags::CWR,
            Flags::ECE,
            Flags::ACK,
            Flags::PSH,
            Flags::RST,
            Flags::SYN,
            Flags::FIN,
        ];
        for (place, flag) in flags.into_iter().enumerate() {
            let mut expected = [false; 8];
            expected[place] = true;
            assert_eq!(bits(flag), expected);
        }
    }

    #[test]
    fn numbers_count_from_the_syn() {
        let segment = Segment { seq: 5, ack: 7, flags: Flags::ACK, ..Segment::EMPTY };
        let syn = Segment { flags: Flags::SYN, ..Segment::EMPTY };
        let numbers = |opened, segment| {
            let it = header(opened, 0, segment);
            (it.source_port, it.destination_port, it.sequence_number, it.acknowledgment_number)
        };
        assert_eq!(numbers(true, &syn), (7, 9, 1000, 0));
        assert_eq!(numbers(true, &segment), (7, 9, 1006, 7));
        // A host that refuses a connection has sent no SYN.
        assert_eq!(numbers(false, &segment), (7, 9, 0, 7));
    }

    #[test]
    fn windows_are_scaled_up_to_the_next_step_but_for_those_of_a_syn() {
        let window = |flags, window_shift, window| {
            header(true, window_shift, &Segment { window, flags, ..Segment::EMPTY }).window_size
        };
        assert_eq!(window(Flags::ACK, 0, 1000), 1000);
        assert_eq!(window(Flags::ACK, 7, 1280), 10);
        assert_eq!(window(Flags::ACK, 7, 1281), 11);
        assert_eq!(window(Flags::ACK, 0, 100_000), u16::MAX);
        assert_eq!(window(Flags::SYN, 7, 1280), 1280);
    }

    #[test]
    fn ranges_of_sack_are_numbers_of_the_other_stream() {
        let mut segment = Segment { ack: 100, flags: Flags::ACK, ..Segment::EMPTY };
        assert!(segment.push_sack(300, 400) && segment.push_sack(150, 200));
        let header = header(true, 0, &segment);
        let options: Vec<_> = header.options_iterator().map(|it| it.expect("an option")).collect();
        use TcpOptionElement::*;
        let ranges = SelectiveAcknowledgement((300, 400), [Some((150, 200)), None, None]);
        assert_eq!(header.acknowledgment_number, 100);
        assert_eq!(options, [Noop, Noop, ranges]);
    }
}
