//! The packets that captured hosts saw, as bytes: headers from what the transports sent, payload from
//! what the applications wrote.

mod headers;

use crate::apps::{AnyApp, App, ConnectionContent, DatagramContent, Message, World, lines};
use crate::kernel::{Carries, Connection, Datagram, Tap, TappedPacket};
use flashcrowd_base::{RandomStream, Span, Time};
use flashcrowd_transport::tcp::Segment;
use flashcrowd_transport::utp::{self, wire};
use flashcrowd_workload::{Column, Names, Table};
use headers::{Ends, TcpEnds};

/// The table `captures`: a row for each packet that passed the interface of a captured host.
pub(super) fn table(world: &World, apps: &[AnyApp<'_>]) -> Table {
    let (mut host, mut peer) = (Names::default(), Names::default());
    let mut direction = Names::default();
    let (mut at, mut length) = (Vec::new(), Vec::new());
    let (mut bytes, mut ends) = (Vec::new(), Vec::new());
    if let Some(tap) = &world.sockets.tap {
        let snap = tap.snap_bytes.map_or(usize::MAX, |snap| snap as usize);
        let mut packets = Packets::new(tap, apps, world.seed);
        for seen in tap.seen() {
            let Some(packet) = packets.bytes(seen) else { continue };
            host.push(&world.network.host(seen.host).name);
            peer.push(&world.network.host(seen.peer).name);
            direction.push(if seen.sent { "sent" } else { "received" });
            at.push(seen.at.nanos());
            length.push(packet.len() as u32);
            bytes.extend_from_slice(&packet[..packet.len().min(snap)]);
            ends.push(bytes.len() as u64);
        }
    }
    Table {
        name: "captures",
        columns: vec![
            ("host", host.column()),
            ("peer", peer.column()),
            ("t_ns", Column::U64(at)),
            ("direction", direction.column()),
            ("ip_bytes", Column::U32(length)),
            ("packet", Column::Bytes(bytes, ends)),
        ],
    }
}

/// Makes bytes of what was seen.
struct Packets<'a> {
    apps: &'a [AnyApp<'a>],
    streams: Vec<Dressed<'a>>,
    payload: Vec<u8>,
    packet: Vec<u8>,
}

/// A connection, and what it is called on the wire.
struct Dressed<'a> {
    of: &'a Connection<Message>,
    stream: ConnectionContent,
    ports: [u16; 2],
    /// The number of each end's SYN. Drawn for each connection (RFC 6528 asks that an attacker cannot guess
    /// it), so streams pass the end of 32 bits where they happen to.
    initial: [u32; 2],
}

/// Ports of clients: those of Linux (ip_local_port_range).
const FIRST_CLIENT_PORT: u32 = 32_768;
const CLIENT_PORTS: u32 = 28_232;
/// Ports of calls: that of RTP and those behind it, of which each call has an even one.
const CALL_PORT: u16 = 5004;
/// The clock of RTP: that of Opus (RFC 7587).
const RTP_HZ: u64 = 48_000;
/// The first of the payload types that parties agree on (RFC 3551).
const RTP_TYPE: u8 = 96;
const RTP_HEADER_BYTES: usize = 12;

impl<'a> Packets<'a> {
    fn new(tap: &'a Tap<Message>, apps: &'a [AnyApp<'a>], seed: u64) -> Packets<'a> {
        let dress = |(number, of): (u32, &'a Connection<Message>)| {
            let app = apps.get(usize::from(of.owners[0].app));
            let stream = app.map_or_else(ConnectionContent::lines, |app| app.speaks(of.owners));
            let numbers =
                RandomStream::new(seed, "initial sequence numbers", u64::from(number)).bits();
            let client = (FIRST_CLIENT_PORT + number % CLIENT_PORTS) as u16;
            let client = if stream.shares_port && of.is_utp { stream.port } else { client };
            let ports = [client, stream.port];
            Dressed { of, stream, ports, initial: [numbers as u32, (numbers >> 32) as u32] }
        };
        let streams = (0..).zip(tap.connections()).map(dress).collect();
        Packets { apps, streams, payload: Vec::new(), packet: Vec::new() }
    }

    /// The packet from its IP header on; none if its content is unknown.
    fn bytes(&mut self, seen: &TappedPacket) -> Option<&[u8]> {
        self.payload.clear();
        self.packet.clear();
        match &seen.what {
            Carries::Tcp { connection, by, opened, segment } => {
                self.tcp(*connection, usize::from(*by), *opened, segment);
            }
            Carries::Utp { connection, by, packet } => {
                self.utp(*connection, usize::from(*by), packet);
            }
            Carries::Datagram(datagram) => self.datagram(datagram)?,
        }
        Some(&self.packet)
    }

    fn tcp(&mut self, connection: u32, by: usize, opened: bool, segment: &Segment) {
        let dressed = &self.streams[connection as usize];
        dressed.payload(by, segment.seq, segment.len, &mut self.payload);
        let ends = TcpEnds {
            ends: dressed.ends(by),
            initial: [dressed.initial[by], dressed.initial[1 - by]],
            window_shift: dressed.of.window_shifts[by],
            opened,
        };
        headers::tcp(&ends, segment, &self.payload, &mut self.packet);
    }

    fn utp(&mut self, connection: u32, by: usize, packet: &utp::Packet) {
        let dressed = &self.streams[connection as usize];
        wire::encode(packet, &mut self.payload);
        dressed.payload(by, packet.offset, u32::from(packet.len), &mut self.payload);
        // One that may be cut has to have an id (RFC 6864); the clock gives it one.
        let id = (!packet.dont_fragment).then_some(packet.timestamp as u16);
        headers::udp(&dressed.ends(by), id, &self.payload, &mut self.packet);
    }

    fn datagram(&mut self, datagram: &Datagram) -> Option<()> {
        let saying = self.apps.get(usize::from(datagram.app))?.says(datagram)?;
        let ends = |ports| Ends { hosts: saying.hosts, ports };
        let bytes = (datagram.bytes as usize).saturating_sub(headers::DATAGRAM_HEADER_BYTES);
        match saying.content {
            DatagramContent::Echo { reply, identifier, sequence } => {
                lines(0, bytes, &mut self.payload);
                let echo = headers::Echo { reply, identifier, sequence };
                headers::icmp(&ends([0; 2]), &echo, &self.payload, &mut self.packet);
            }
            DatagramContent::Rtp { call, source, sequence, sent } => {
                if bytes >= RTP_HEADER_BYTES {
                    rtp(source, sequence, sent, &mut self.payload);
                }
                lines(0, bytes - self.payload.len(), &mut self.payload);
                let port = CALL_PORT.wrapping_add(2 * call as u16);
                headers::udp(&ends([port; 2]), None, &self.payload, &mut self.packet);
            }
        }
        Some(())
    }
}

impl Dressed<'_> {
    /// Sender and receiver.
    fn ends(&self, by: usize) -> Ends {
        let (hosts, ports) = (self.of.hosts, self.ports);
        Ends { hosts: [hosts[by], hosts[1 - by]], ports: [ports[by], ports[1 - by]] }
    }

    fn payload(&self, by: usize, offset: u64, len: u32, out: &mut Vec<u8>) {
        if len > 0 {
            let written = &self.of.written[by];
            let begun = written.begun.as_ref();
            self.stream.ends[by].bytes(&written.messages, begun, offset, len as usize, out);
        }
    }
}

/// The header of RTP (RFC 3550, 5.1): version 2 and nothing optional.
fn rtp(source: u32, sequence: u16, sent: Time, out: &mut Vec<u8>) {
    let second = Span::from_secs(1).nanos();
    let ticks = u128::from(sent.nanos()) * u128::from(RTP_HZ) / u128::from(second);
    out.extend_from_slice(&[0x80, RTP_TYPE]);
    out.extend_from_slice(&sequence.to_be_bytes());
    out.extend_from_slice(&(ticks as u32).to_be_bytes());
    out.extend_from_slice(&source.to_be_bytes());
}
