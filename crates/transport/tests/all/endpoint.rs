//! The pure endpoint, with the smallest driver that it can have.

use crate::limits::{Caller, LIMITS, Port};
use flashcrowd_base::Time;
use flashcrowd_transport::utp::{Config, Connection, Endpoint, Limits, Packet, Route, profiles};
use std::collections::BTreeMap;
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
            endpoint: Endpoint::new(limits),
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
            Route::Accept { evicted } => {
                if let Some(key) = evicted {
                    self.connections.remove(&key).expect("as the endpoint says");
                }
                self.next += 1;
                let seq_nr = self.draw() as u16;
                let connection = Connection::accept(&self.config, now, packet, seq_nr);
                let ids = (connection.receive_id(), connection.send_id());
                self.endpoint.insert(from, ids.0, ids.1, self.next, true);
                self.connections.insert(self.next, connection);
                self.next
            }
            Route::Answer(reset) => return vec![reset],
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
    // Between SYN and confirmation come as many forged SYNs as there are half-open places. The
    // caller still has its own with probability (1 - 1/4)^4. An endpoint that refuses newcomers
    // would let nobody in, and one that evicts the oldest nobody either.
    let mut port = Driver::new(Limits { connections: 5000, resets: 5000, ..LIMITS });
    let trials = 1000u16;
    let mut through = 0;
    for trial in 0..trials {
        let [high, low] = trial.to_be_bytes();
        let caller = Caller::opens(&mut port, SocketAddr::from(([10, high, low, 1], 9)));
        for forged in 0..4 {
            Caller::opens(&mut port, SocketAddr::from(([11 + forged, high, low, 1], 9)));
        }
        through += usize::from(caller.confirms(&mut port));
    }
    let (share, expected) = (through as f64 / f64::from(trials), 0.75 * 0.75 * 0.75 * 0.75);
    // Four standard deviations.
    assert!((share - expected).abs() < 0.06, "{share}, and (3/4)^4 is {expected}");
}
