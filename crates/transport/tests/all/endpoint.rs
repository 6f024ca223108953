//! The pure endpoint, with the smallest driver that it can have.

use crate::limits::{Caller, LIMITS, Port, stranger};
use flashcrowd_base::{Span, Time};
use flashcrowd_transport::utp::{Config, Connection, Endpoint, Limits, Packet, Route, profiles};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;

/// Connections by number, an endpoint that finds them, and a generator whose numbers are all
/// different (Knuth's MMIX).
struct Driver {
    config: Arc<Config>,
    endpoint: Endpoint<SocketAddr, u32>,
    connections: BTreeMap<u32, Connection>,
    next: u32,
    random: u64,
}

impl Driver {
    fn new(limits: Limits) -> Driver {
        Driver {
            config: Arc::new(profiles::libutp()),
            endpoint: Endpoint::new(limits, [1, 2]),
            connections: BTreeMap::new(),
            next: 0,
            random: 1,
        }
    }

    fn draw(&mut self) -> u32 {
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) as u32
    }

    fn insert(&mut self, from: SocketAddr, syn: &Packet, seq_nr: u16) -> u32 {
        let connection = Connection::accept(&self.config, Time::START, syn, seq_nr);
        let ids = (connection.receive_id(), connection.send_id());
        self.next += 1;
        self.endpoint.insert(from, ids.0, ids.1, self.next, true);
        self.connections.insert(self.next, connection);
        self.next
    }

    /// What a packet is answered with.
    fn receive(&mut self, from: SocketAddr, packet: &Packet) -> Vec<Packet> {
        let now = Time::START;
        let random = self.draw();
        let key = match self.endpoint.route(now, &from, packet, || random) {
            Route::To(key) => {
                let connection = self.connections.get_mut(&key).expect("as the endpoint says");
                connection.receive(now, packet);
                if connection.is_established() {
                    self.endpoint.confirm(&from, connection.receive_id());
                }
                key
            }
            Route::Accept { seq_nr } => self.insert(from, packet, seq_nr),
            Route::Answer { seq_nr } => {
                let mut connection = Connection::accept(&self.config, now, packet, seq_nr);
                return std::iter::from_fn(|| connection.poll_transmit(now)).collect();
            }
            Route::Readmit { syn, seq_nr, evicted } => {
                if let Some(key) = evicted {
                    self.connections.remove(&key).expect("as the endpoint says");
                }
                let key = self.insert(from, &syn, seq_nr);
                let connection = self.connections.get_mut(&key).expect("there");
                connection.receive(now, packet);
                assert!(connection.is_established(), "its first packet confirms");
                self.endpoint.confirm(&from, connection.receive_id());
                key
            }
            Route::Refuse(reset) => return vec![reset],
            Route::Ignore => return Vec::new(),
        };
        assert_eq!(self.endpoint.len(), self.connections.len());
        let connection = self.connections.get_mut(&key).expect("there");
        std::iter::from_fn(|| connection.poll_transmit(now)).collect()
    }
}

impl Port for Driver {
    fn ask(&mut self, from: SocketAddr, packet: Packet) -> Packet {
        let replies = self.receive(from, &packet);
        assert_eq!(replies.len(), 1, "{packet:?}");
        replies[0]
    }

    fn tell(&mut self, from: SocketAddr, packet: Packet) {
        assert_eq!(self.receive(from, &packet), []);
    }
}

#[test]
fn strangers_are_bounded() {
    crate::limits::strangers_are_bounded(Driver::new);
}

#[test]
fn whoever_has_a_round_trip_comes_through_a_flood() {
    // Between SYN and confirmation come ten times as many forged SYNs as there are half-open places, half of them
    // from the caller's own network.
    let mut port = Driver::new(Limits { connections: 5000, resets: 5000, ..LIMITS });
    for trial in 0..1000u16 {
        let [high, low] = trial.to_be_bytes();
        let caller = Caller::opens(&mut port, SocketAddr::from(([10, high, low, 1], 9)));
        for forged in 0..40u8 {
            let network = if forged % 2 == 0 { 10 } else { 11 + forged };
            Caller::opens(&mut port, SocketAddr::from(([network, high, low, 2 + forged], 9)));
        }
        assert!(port.endpoint.half_open() <= LIMITS.half_open);
        assert!(caller.confirms(&mut port), "{trial}");
    }
}

proptest! {
    /// A caller that got an answer comes in while there is room for open connections, in whatever order callers
    /// confirm; and no bound is passed at any time.
    #[test]
    fn an_answer_is_a_promise(
        limits in (1usize..8, 1usize..8, 1usize..5, 1usize..5),
        steps in prop::collection::vec((any::<bool>(), 0u8..3, 0u8..12), 1..150),
    ) {
        let limits = Limits {
            connections: limits.0,
            network_connections: limits.1,
            half_open: limits.2,
            network_half_open: limits.3,
            resets: 10_000,
            reset_memory: Span::from_secs(60),
        };
        let mut port = Driver::new(limits);
        let mut waiting: BTreeMap<(u8, u8), Caller> = BTreeMap::new();
        let mut open: BTreeMap<u8, usize> = BTreeMap::new();
        let mut callers = BTreeSet::new();
        for (confirms, network, host) in steps {
            let all: usize = open.values().sum();
            let here = open.get(&network).copied().unwrap_or(0);
            let room = all < limits.connections && here < limits.network_connections;
            if !confirms {
                if callers.insert((network, host)) {
                    let caller = Caller::opens(&mut port, stranger(network, host));
                    prop_assert_eq!(caller.is_answered(), room);
                    if room {
                        waiting.insert((network, host), caller);
                    }
                }
            } else if let Some(caller) = waiting.remove(&(network, host)) {
                // A half-open connection has its place already, and none that is answered is refused one.
                let came_in = caller.confirms(&mut port);
                prop_assert_eq!(came_in, room);
                *open.entry(network).or_default() += usize::from(came_in);
            }
            prop_assert!(port.endpoint.len() <= limits.connections);
            prop_assert!(port.endpoint.half_open() <= limits.half_open);
        }
    }
}
