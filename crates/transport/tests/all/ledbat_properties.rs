//! What holds for every controller of the LEDBAT family, whatever a transport tells it.

use flashcrowd_base::{Span, Time};
use flashcrowd_transport::congestion::{
    Ack, AnyController, Controller, HyStartKind, Kind, Ledbat, Loss, Params,
};
use proptest::prelude::*;

const FAMILY: [Kind; 7] = [
    Kind::Ledbat,
    Kind::Fledbat,
    Kind::LedbatDraft,
    Kind::Libutp,
    Kind::Libutp2010,
    Kind::Libtorrent,
    Kind::LedbatPlusPlus,
];

/// What may happen.
#[derive(Clone, Debug)]
enum Event {
    Ack { acked: u64, delay: Option<u32>, opposite: Option<u32>, rtt: Option<u32>, limited: bool },
    Repair { delay: u32 },
    Loss { ago: u64 },
    Timeout { again: bool },
    Undo,
    Idle,
    Decay { to: u64 },
    Recovered { to: u64 },
    Resume,
    PacketSize { bytes: u32 },
}

fn event() -> impl Strategy<Value = Event> {
    let micros = 1u32..3_000_000;
    prop_oneof![
        20 => (
            prop::sample::select(&[0u64, 1, 1000, 30_000][..]),
            prop::option::weighted(0.9, micros.clone()),
            prop::option::of(micros.clone()),
            prop::option::weighted(0.9, micros.clone()),
            any::<bool>(),
        )
            .prop_map(|(acked, delay, opposite, rtt, limited)| {
                Event::Ack { acked, delay, opposite, rtt, limited }
            }),
        2 => micros.prop_map(|delay| Event::Repair { delay }),
        2 => (0u64..200_000).prop_map(|ago| Event::Loss { ago }),
        1 => any::<bool>().prop_map(|again| Event::Timeout { again }),
        1 => Just(Event::Undo),
        1 => Just(Event::Idle),
        1 => (1000u64..100_000).prop_map(|to| Event::Decay { to }),
        1 => (1000u64..100_000).prop_map(|to| Event::Recovered { to }),
        1 => Just(Event::Resume),
        1 => (150u32..1500).prop_map(|bytes| Event::PacketSize { bytes }),
    ]
}

fn table() -> impl Strategy<Value = (Kind, Ledbat)> {
    (
        prop::sample::select(&FAMILY[..]),
        1u64..200,
        1u32..=16,
        0u32..4,
        10u32..3000,
        any::<bool>(),
        0.1f64..=1.0,
        0u32..3,
    )
        .prop_map(|(kind, target, filter, packets, bytes, slow_start, factor, increase)| {
            let table = kind.ledbat().expect("one of the family");
            let table = Ledbat {
                target_ns: Span::from_millis(target),
                noise_filter: filter,
                min_window_packets: packets,
                min_window_bytes: bytes,
                max_window_bytes: 200_000,
                slow_start,
                loss_factor: factor,
                allowed_increase_packets: increase,
                ..table
            };
            assert_eq!(table.check(), Ok(()));
            (kind, table)
        })
}

/// A controller, and what a transport around it knows.
struct Rig {
    controller: AnyController,
    now: Time,
    table: Ledbat,
    packet: u64,
    una: u64,
    nxt: u64,
    /// The receiver's clock less the sender's.
    offset: u32,
}

impl Rig {
    fn new(kind: Kind, table: Ledbat, offset: u32) -> Rig {
        let params = Params {
            now: Time::START,
            mss: 1000,
            min_window: 0,
            ledbat: Some(table),
            initial_window: 2000,
            hystart: HyStartKind::None,
            count_acks: false,
            paced: false,
        };
        let controller = AnyController::new(kind, params);
        Rig { controller, table, now: Time::START, packet: 1000, una: 0, nxt: 2000, offset }
    }

    fn min(&self) -> u64 {
        let packets = u64::from(self.table.min_window_packets) * self.packet;
        packets.max(self.table.min_window_bytes.into()).next_multiple_of(self.packet)
    }

    fn loss(&self, ago: u64) -> Loss {
        Loss {
            now: self.now,
            window: self.controller.window(),
            in_flight: self.nxt - self.una,
            offset: self.nxt.saturating_sub(ago).max(self.una),
            nxt: self.nxt,
        }
    }

    fn apply(&mut self, event: &Event) {
        self.now += Span::from_millis(7);
        let in_flight = self.nxt - self.una;
        let mut ack = Ack {
            now: self.now,
            acked: 0,
            uncounted: 0,
            rtt: None,
            one_way_delay: None,
            opposite_delay: None,
            in_flight,
            window_limited: true,
            limited_at: self.now,
            may_grow: true,
            srtt: Span::from_millis(100),
            min_rtt: Span::from_millis(50),
            una: self.una,
            nxt: self.nxt,
            rate: None,
        };
        match *event {
            Event::Ack { acked, delay, opposite, rtt, limited } => {
                let acked = acked.min(in_flight);
                self.una += acked;
                ack.acked = acked;
                ack.una = self.una;
                ack.one_way_delay = delay.map(|delay| delay.wrapping_add(self.offset));
                ack.opposite_delay = opposite.map(|delay| delay.wrapping_sub(self.offset));
                ack.rtt = rtt.map(|rtt| Span::from_micros(rtt.into()));
                ack.window_limited = limited;
                ack.limited_at = if limited { self.now } else { Time::START };
                self.controller.on_ack(&ack);
            }
            Event::Repair { delay } => {
                ack.acked = self.packet.min(in_flight);
                ack.may_grow = false;
                ack.one_way_delay = Some(delay.wrapping_add(self.offset));
                // A timeout may have left less than the least.
                let before = self.controller.window().max(self.min());
                self.controller.on_ack(&ack);
                assert!(self.controller.window() <= before, "it grew during a repair");
            }
            Event::Loss { ago } => {
                let before = self.controller.window().max(self.min());
                self.controller.on_loss(&self.loss(ago));
                assert!(self.controller.window() <= before, "it grew by a loss");
            }
            Event::Timeout { again } => self.controller.on_timeout(&self.loss(0), again),
            Event::Undo => self.controller.on_undo(),
            Event::Idle => {
                self.controller.on_idle(self.now);
                assert!(self.controller.window() >= self.packet, "no room for a packet, for ever");
            }
            Event::Decay { to } => self.controller.on_decay(to),
            Event::Recovered { to } => self.controller.on_recovered(to),
            Event::Resume => self.controller.on_resume(self.now, Span::from_secs(1)),
            Event::PacketSize { bytes } => {
                self.packet = bytes.into();
                self.controller.on_packet_size(bytes);
            }
        }
        // The transport sends what it may.
        self.nxt = self.nxt.max(self.una + self.controller.window());
    }
}

proptest! {
    /// The window is at least the least that its table allows or a packet, and never above the most.
    #[test]
    fn the_window_stays_within_bounds(
        (kind, table) in table(),
        events in prop::collection::vec(event(), 1..200),
    ) {
        let mut rig = Rig::new(kind, table, 0);
        for event in &events {
            rig.apply(event);
            let window = rig.controller.window();
            // The draft counts in packets, which may have become larger since.
            let max = if kind == Kind::LedbatDraft { 200_000 * 10 } else { 200_000 };
            prop_assert!(window <= max, "{window} after {event:?}");
            let floor = u64::from(table.min_window_bytes).min(rig.packet.min(150));
            prop_assert!(window >= floor, "{window} after {event:?}");
        }
    }

    /// Where the clocks stand, and when they wrap, does not matter.
    #[test]
    fn the_offset_of_the_clocks_does_not_matter(
        (kind, table) in table(),
        offset: u32,
        events in prop::collection::vec(event(), 1..200),
    ) {
        let (mut here, mut there) = (Rig::new(kind, table, 0), Rig::new(kind, table, offset));
        for event in &events {
            here.apply(event);
            there.apply(event);
            prop_assert_eq!(here.controller.window(), there.controller.window());
            prop_assert_eq!(here.controller.threshold(), there.controller.threshold());
        }
    }

    /// All but libutp's two reduce once per window of data, however many of it are lost, and those
    /// and libtorrent once in 100 ms.
    #[test]
    fn a_window_of_losses_is_one_reduction(
        (kind, table) in table(),
        warm in prop::collection::vec(event(), 0..50),
        losses in 1u64..20,
    ) {
        let mut rig = Rig::new(kind, table, 0);
        for event in &warm {
            rig.apply(event);
        }
        rig.now += Span::from_secs(1);
        rig.controller.on_loss(&rig.loss(0));
        let once = rig.controller.window();
        for _ in 0..losses {
            rig.now += Span::from_millis(4);
            rig.controller.on_loss(&rig.loss(1));
            prop_assert_eq!(rig.controller.window(), once);
        }
    }
}
