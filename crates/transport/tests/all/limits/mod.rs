//! What strangers may make a uTP port do: one body of tests for every driver of an `Endpoint`.

use flashcrowd_base::Span;
use flashcrowd_transport::utp::{Limits, Packet, PacketKind};
use std::net::SocketAddr;

/// Small enough to be reached.
pub const LIMITS: Limits = Limits {
    connections: 6,
    network_connections: 3,
    half_open: 4,
    network_half_open: 2,
    resets: 100,
    reset_memory: Span::from_secs(60),
};

/// A uTP port that accepts any caller, as strangers see it.
pub trait Port {
    /// Sends a packet from an address, and waits for what comes back.
    fn ask(&mut self, from: SocketAddr, packet: Packet) -> Packet;
    /// Sends a packet from an address to which nothing comes back.
    fn tell(&mut self, from: SocketAddr, packet: Packet);
}

/// Host `host` of network `network`.
pub fn stranger(network: u8, host: u8) -> SocketAddr {
    ([127, 1, network, host], 0).into()
}

/// A host that opens a connection, and the answer that it got.
pub struct Caller {
    from: SocketAddr,
    answer: Packet,
}

const ID: u16 = 700;

impl Caller {
    /// Sends a SYN.
    pub fn opens(port: &mut impl Port, from: SocketAddr) -> Caller {
        let syn = Packet {
            kind: PacketKind::Syn,
            connection_id: ID,
            seq_nr: 1,
            window: 100_000,
            ..Packet::default()
        };
        Caller { from, answer: port.ask(from, syn) }
    }

    /// Whether the SYN was answered by STATE.
    pub fn is_answered(&self) -> bool {
        assert!(matches!(self.answer.kind, PacketKind::State | PacketKind::Reset));
        self.answer.kind == PacketKind::State
    }

    /// Confirms by a byte of data. Whether the connection exists.
    pub fn confirms(&self, port: &mut impl Port) -> bool {
        let data = Packet {
            kind: PacketKind::Data,
            connection_id: ID + 1,
            seq_nr: 2,
            ack_nr: self.answer.seq_nr.wrapping_sub(1),
            window: 100_000,
            len: 1,
            ..Packet::default()
        };
        let reply = port.ask(self.from, data);
        assert!(matches!(reply.kind, PacketKind::State | PacketKind::Reset));
        reply.kind == PacketKind::State
    }
}

/// The whole of it. `make` opens a port.
pub fn strangers_are_bounded<P: Port>(make: impl Fn(Limits) -> P) {
    one_network_has_its_share(&mut make(LIMITS));
    all_networks_have_no_more_than_there_is(&mut make(LIMITS));
    a_crowd_of_callers_comes_in(&mut make(LIMITS));
    packets_for_nobody_are_answered_once(&mut make(LIMITS));
}

fn one_network_has_its_share(port: &mut impl Port) {
    // Two half-open places and three connections: a caller with an answer comes in while there is
    // room.
    let callers = [1, 2, 3, 4, 5].map(|host| Caller::opens(port, stranger(1, host)));
    assert!(callers.iter().all(Caller::is_answered));
    for (caller, in_time) in [(4, true), (0, true), (3, true), (1, false), (2, false)] {
        assert_eq!(callers[caller].confirms(port), in_time, "{caller}");
    }
    // All three are open: no caller of this network comes in, and others do.
    assert!(!Caller::opens(port, stranger(1, 6)).is_answered());
    let neighbour = Caller::opens(port, stranger(2, 6));
    assert!(neighbour.is_answered() && neighbour.confirms(port));
}

fn all_networks_have_no_more_than_there_is(port: &mut impl Port) {
    let mut open = 0;
    for network in 1..=6 {
        let caller = Caller::opens(port, stranger(network, 1));
        assert!(caller.is_answered() && caller.confirms(port));
        open += 1;
    }
    assert_eq!(open, LIMITS.connections);
    assert!(!Caller::opens(port, stranger(7, 1)).is_answered(), "six is enough");
}

fn a_crowd_of_callers_comes_in(port: &mut impl Port) {
    let callers: Vec<Caller> =
        (1..=20).map(|network| Caller::opens(port, stranger(network, 1))).collect();
    assert!(callers.iter().all(Caller::is_answered), "nobody is kept out");
    let confirmed = callers.iter().rev().filter(|caller| caller.confirms(port)).count();
    assert_eq!(confirmed, LIMITS.connections, "until there is no room");
}

fn packets_for_nobody_are_answered_once(port: &mut impl Port) {
    let data = Packet { kind: PacketKind::Data, connection_id: 9, seq_nr: 5, ..Packet::default() };
    let reset = port.ask(stranger(1, 1), data);
    assert_eq!((reset.kind, reset.connection_id, reset.ack_nr), (PacketKind::Reset, 9, 5));
    port.tell(stranger(1, 1), data);
    for kind in [PacketKind::State, PacketKind::Reset] {
        port.tell(stranger(1, 1), Packet { kind, seq_nr: 6, ..data });
    }
    let fin = Packet { kind: PacketKind::Fin, seq_nr: 7, ..data };
    assert_eq!(port.ask(stranger(1, 1), fin).kind, PacketKind::Reset);
}
