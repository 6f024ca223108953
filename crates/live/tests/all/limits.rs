//! What strangers may make a socket do: the body that the pure endpoint is tested with, and floods.
//! Linux answers at every address of 127.0.0.0/8, so one machine has many networks.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test")]
#![allow(unreachable_pub)]

#[path = "../../../transport/tests/all/limits/mod.rs"]
mod body;

use body::Port;
use flashcrowd_live::{Options, Socket};
use flashcrowd_transport::utp::{Limits, Packet, PacketKind, profiles, wire};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime::Runtime;
use tokio::time::timeout;

/// Far more than a slow machine needs.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long nothing must come to count as nothing.
const SILENCE: Duration = Duration::from_millis(300);

/// A socket with a runtime of its own, and those who have sent something to it.
struct Real {
    _runtime: Runtime,
    socket: Socket,
    strangers: BTreeMap<SocketAddr, UdpSocket>,
}

impl Real {
    fn new(limits: Limits) -> Real {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.unwrap();
        let socket = {
            let _inside = runtime.enter();
            bind(limits)
        };
        Real { _runtime: runtime, socket, strangers: BTreeMap::new() }
    }

    fn send(&mut self, from: SocketAddr, packet: &Packet, patience: Duration) -> Option<Packet> {
        let to = self.socket.local_addr();
        let udp = self.strangers.entry(from).or_insert_with(|| UdpSocket::bind(from).unwrap());
        udp.set_read_timeout(Some(patience)).unwrap();
        udp.send_to(&datagram(packet), to).unwrap();
        let mut reply = [0; 100];
        let len = udp.recv(&mut reply).ok()?;
        Some(wire::decode(&reply[..len]).unwrap().0)
    }
}

impl Port for Real {
    fn ask(&mut self, from: SocketAddr, packet: Packet) -> Packet {
        self.send(from, &packet, PATIENCE).expect("an answer")
    }

    fn tell(&mut self, from: SocketAddr, packet: Packet) {
        assert_eq!(self.send(from, &packet, SILENCE), None);
    }
}

fn bind(limits: Limits) -> Socket {
    let config = Arc::new(profiles::libutp());
    let options = Options { limits, ..Options::default() };
    Socket::bind_with("127.0.0.1:0".parse().unwrap(), &config, &options).unwrap()
}

fn datagram(packet: &Packet) -> Vec<u8> {
    let mut datagram = Vec::new();
    wire::encode(packet, &mut datagram);
    datagram.resize(datagram.len() + usize::from(packet.len), 7);
    datagram
}

fn syn(connection_id: u16) -> Packet {
    Packet { kind: PacketKind::Syn, connection_id, seq_nr: 1, window: 100_000, ..Packet::default() }
}

#[test]
fn strangers_are_bounded() {
    body::strangers_are_bounded(Real::new);
}

#[tokio::test]
async fn a_flood_of_forged_syns_keeps_nobody_out() {
    let server = bind(Limits::LIBUTP);
    // From twice as many networks as may be half open, and more than once from each.
    for network in 0..600u16 {
        let [high, low] = network.to_be_bytes();
        let forged = UdpSocket::bind(SocketAddr::from(([127, 100 + high, low, 1], 0))).unwrap();
        for id in 0..3 {
            forged.send_to(&datagram(&syn(id * 10)), server.local_addr()).unwrap();
        }
        if network % 20 == 0 {
            tokio::task::yield_now().await;
        }
    }
    let client = bind(Limits::LIBUTP);
    let (opened, accepted) = timeout(PATIENCE, async {
        tokio::join!(client.connect(server.local_addr()), server.accept())
    })
    .await
    .unwrap();
    let (mut opened, mut accepted) = (opened.unwrap(), accepted.unwrap());
    assert_eq!(accepted.peer_addr(), client.local_addr());
    opened.write_all(b"hello").await.unwrap();
    opened.shutdown().await.unwrap();
    let mut heard = String::new();
    timeout(PATIENCE, accepted.read_to_string(&mut heard)).await.unwrap().unwrap();
    assert_eq!(heard, "hello");
}

#[tokio::test]
async fn one_address_cannot_have_all_connections() {
    const ATTEMPTS: u16 = 6000;
    let limits = Limits { network_connections: 100, ..Limits::LIBUTP };
    let server = bind(limits);
    let greedy = tokio::net::UdpSocket::bind("127.9.9.9:0").await.unwrap();
    let mut connected = BTreeSet::new();
    let mut reply = [0; 100];
    for attempt in 0..ATTEMPTS {
        greedy.send_to(&datagram(&syn(2 * attempt)), server.local_addr()).await.unwrap();
        // Every answer is confirmed.
        let wait = Duration::from_millis(match attempt + 1 {
            ATTEMPTS => 1000,
            sent if sent % 40 == 0 => 2,
            _ => continue,
        });
        while let Ok(Ok((len, _))) = timeout(wait, greedy.recv_from(&mut reply)).await {
            let (answer, _) = wire::decode(&reply[..len]).unwrap();
            if answer.kind == PacketKind::State && connected.insert(answer.connection_id) {
                let confirmation = Packet {
                    connection_id: answer.connection_id + 1,
                    seq_nr: 2,
                    ack_nr: answer.seq_nr.wrapping_sub(1),
                    window: 100_000,
                    ..Packet::default()
                };
                greedy.send_to(&datagram(&confirmation), server.local_addr()).await.unwrap();
            }
        }
    }
    let mut accepted = Vec::new();
    while let Ok(stream) = timeout(Duration::from_secs(2), server.accept()).await {
        accepted.push(stream.unwrap());
    }
    assert_eq!(accepted.len(), limits.network_connections);
    // There is room for others.
    let client = bind(Limits::LIBUTP);
    let (opened, other) = timeout(PATIENCE, async {
        tokio::join!(client.connect(server.local_addr()), server.accept())
    })
    .await
    .unwrap();
    assert_eq!(other.unwrap().peer_addr(), client.local_addr());
    opened.unwrap();
}

#[tokio::test]
async fn a_half_open_connection_does_not_keep_a_socket_from_closing() {
    let server = bind(Limits::LIBUTP);
    let mute = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
    mute.send_to(&datagram(&syn(5)), server.local_addr()).await.unwrap();
    let mut reply = [0; 100];
    let len = timeout(PATIENCE, mute.recv(&mut reply)).await.unwrap().unwrap();
    assert_eq!(wire::decode(&reply[..len]).unwrap().0.kind, PacketKind::State);
    // Not after the 60 seconds that a half-open connection has.
    timeout(Duration::from_secs(30), server.close()).await.unwrap().unwrap();
    let len = timeout(PATIENCE, mute.recv(&mut reply)).await.unwrap().unwrap();
    assert_eq!(wire::decode(&reply[..len]).unwrap().0.kind, PacketKind::Reset);
}
