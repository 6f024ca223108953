//! Any bytes that come to the socket between nodes that play a run together: packets in them that have a place in the
//! plan go on, all others are refused, none is lost from the count, and what leaves for another node is understood there.

#![no_main]

#[path = "../../crates/emulation/tests/networks/mod.rs"]
mod networks;

use arbitrary::Arbitrary;
use flashcrowd_base::{Span, Time};
use flashcrowd_emulation::datagram::{self, Datagram, Parcel};
use flashcrowd_emulation::{Division, InTransit, Network};
use flashcrowd_link::Conditions;
use flashcrowd_plan::Plan;
use libfuzzer_sys::fuzz_target;
use networks::{line, network};
use std::sync::LazyLock;

const RUN: u64 = 7;
const HOSTS: u32 = 4;
/// Magic, run and node.
const HEAD: usize = 16;

static PLAN: LazyLock<(Plan, Division)> = LazyLock::new(|| {
    let core = Conditions { delay_ns: Span::from_millis(20), ..Conditions::default() };
    let mut plan = network(HOSTS, line(), line(), core);
    plan.workloads.clear(); // they would keep hosts together
    let division = Division::new(&plan, 2, Span::from_millis(1)).expect("lines are 3 ms long");
    (plan, division)
});

#[derive(Arbitrary, Debug)]
enum Came {
    /// Of anybody.
    Bytes(Vec<u8>),
    /// Of the other node, as far as the head says.
    Own(Vec<u8>),
    /// Of the other node, with places that may be there.
    Packets(Vec<Packet>),
    /// Nothing, for a while.
    Nothing(u32),
}

#[derive(Arbitrary, Debug)]
struct Packet {
    due_ns: u64,
    late_ns: u64,
    from: u8,
    to: u8,
    step: u8,
    arrives: bool,
    bytes: Vec<u8>,
}

impl Came {
    fn bytes(self) -> Vec<u8> {
        match self {
            Came::Bytes(bytes) => bytes,
            Came::Own(bytes) => [&datagram::echo(RUN, 1, 0)[..HEAD], &bytes].concat(),
            Came::Packets(packets) => {
                let mut parcel = Parcel::new(RUN, 1);
                for packet in &packets {
                    let place = InTransit {
                        due: Time::from_nanos(packet.due_ns),
                        late: Span::from_nanos(packet.late_ns),
                        from: u32::from(packet.from) % (HOSTS + 1),
                        to: u32::from(packet.to) % (HOSTS + 1),
                        step: u16::from(packet.step % 8),
                        arrives: packet.arrives,
                    };
                    parcel.add(place, &packet.bytes);
                }
                parcel.bytes().to_vec()
            }
            Came::Nothing(_) => Vec::new(),
        }
    }
}

/// Takes what a datagram has; how many packets have a place here.
fn take(network: &mut Network, now: Time, bytes: &[u8]) -> u64 {
    let Some((_, Datagram::Packets { records, .. })) = datagram::read(RUN, bytes) else { return 0 };
    let (mut taken, mut read) = (0, 0);
    for (place, packet) in records {
        read += packet.len();
        let buffer = network.buffer();
        if packet.len() <= buffer.len() {
            buffer[..packet.len()].copy_from_slice(packet);
            taken += u64::from(network.take_over(now, place, packet.len()));
        }
    }
    assert!(read <= bytes.len());
    taken
}

/// What is due goes on; the datagram for the other node, and how many packets it has.
fn go_on(network: &mut Network, own: u32, now: Time) -> (Vec<u8>, u64) {
    network.run(now, &mut |delivery| assert!(delivery.host < HOSTS));
    let mut parcel = Parcel::new(RUN, own);
    network.hand_over(&mut |crossing| {
        assert_ne!(crossing.node, own);
        parcel.add(crossing.place, crossing.packet);
    });
    (parcel.bytes().to_vec(), parcel.packets())
}

fuzz_target!(|came: Vec<Came>| {
    let (plan, division) = &*PLAN;
    let mut here = Network::share(plan, 1, division, 0);
    let mut there = Network::share(plan, 1, division, 1);
    let mut now = Time::START;
    for one in came.into_iter().take(64) {
        if let Came::Nothing(nanos) = one {
            now += Span::from_nanos(u64::from(nanos));
        }
        take(&mut here, now, &one.bytes());
        let (sent, packets) = go_on(&mut here, 0, now);
        assert_eq!(take(&mut there, now, &sent), packets, "all of it has a place there");
        let (back, packets) = go_on(&mut there, 1, now);
        assert_eq!(take(&mut here, now, &back), packets, "and back");
    }
    for network in [&mut here, &mut there] {
        go_on(network, u32::MAX, now + Span::from_secs(3600));
        let totals = network.totals();
        let gone = totals.delivered + totals.lost + totals.dropped + totals.handed_over;
        assert_eq!(
            totals.taken_over,
            gone + network.packets() as u64,
            "none is lost from the count"
        );
    }
});
