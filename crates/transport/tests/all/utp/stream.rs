//! Whatever the network does, the stream arrives intact, everything ends, and no limit is passed.

use super::host::{Application, Close, Host, Ours, message};
use super::pair::{Pair, said, small};
use super::world::{Clock, Storm, World};
use flashcrowd_base::{RandomStream, Span, Time};
use flashcrowd_transport::Pacing;
use flashcrowd_transport::congestion::{Kind, ledbat};
use flashcrowd_transport::tcp::Nagle;
use flashcrowd_transport::utp::{
    Backoff, Config, DelayedAck, IdleTimer, PacketKind, PacketSize, SackPolicy, SmallWindow,
    TimerRestart, WindowFill, profiles, wire,
};
use proptest::prelude::*;
use std::sync::Arc;

fn config() -> impl Strategy<Value = Config> {
    let choice = (
        prop::sample::select(profiles::all()),
        prop::sample::select(Kind::ALL.to_vec()),
        any::<[bool; 8]>(),
        prop::sample::select(vec![1u64, 700, 3000, 20_000, 1 << 20]),
        prop::sample::select(vec![
            SackPolicy::Off,
            SackPolicy::Fixed { bytes: 4 },
            SackPolicy::Fixed { bytes: 24 },
            SackPolicy::AsNeeded,
        ]),
        prop::sample::select(vec![
            PacketSize::PathMtu,
            PacketSize::Fixed { bytes: 1 },
            PacketSize::Fixed { bytes: 350 },
            profiles::alpha2().packet_size,
        ]),
        prop::sample::select(vec![0u32, 1, 3, 40]),
        prop::sample::select(vec![0u32, 1, 3, 32]),
        prop::sample::select(vec![0u64, 100, 500]),
    );
    choice.prop_map(|(base, kind, on, buffer, sack, size, duplicates, sacked, grain)| {
        let mut config = base;
        // A profile as it is, half the time.
        if on[0] {
            config.controller = kind;
            config.ledbat = kind.ledbat();
            config.receive_buffer_bytes = buffer;
            config.sack = sack;
            config.packet_size = size;
            config.loss_detection.duplicate_acks = duplicates;
            config.loss_detection.sacked_after = sacked;
            config.timer_grain_ns = Span::from_millis(grain);
            config.nagle = if on[1] { Nagle::Minshall } else { Nagle::Off };
            config.pacing = if on[6] { Pacing::Fq } else { Pacing::Off };
            config.idle_timer = if on[2] { IdleTimer::BackingOff } else { IdleTimer::Steady };
            config.keep_backoff = on[1] ^ on[2];
            config.acknowledge_end_twice = on[3];
            config.backoff = if on[4] { Backoff::Doubling } else { Backoff::Seconds };
            config.small_window = if on[5] { SmallWindow::Wait } else { SmallWindow::Paced };
            config.window_fill =
                if on[6] { WindowFill::Whole } else { WindowFill::Exact { least_bytes: 150 } };
            if on[7] {
                config.delayed_ack = DelayedAck { bytes: 2400, max_ns: Span::from_millis(100) };
            }
        }
        if kind == Kind::Libutp2010 && on[0] {
            config.ledbat = Some(ledbat::alpha2());
        }
        // Patient with the storm, and with a reader that sleeps.
        config.data_retries = 100;
        config.syn_retries = 100;
        config.max_transmissions = 0;
        // A timer that any packet restarts never expires if it is longer than the other end's keep-alive (29 s).
        let any_packet = config.timer_restart == TimerRestart::AnyPacket;
        config.max_rto_ns = Span::from_secs(if any_packet { 25 } else { 60 });
        config.half_open_ns = Span::from_secs(3600);
        // Longer than any timeout, so that the last FIN is always answered.
        config.linger_ns = Span::from_secs(600);
        assert_eq!(config.check(), Ok(()));
        config
    })
}

fn application(seed: u64) -> impl Strategy<Value = Application> {
    (
        prop::sample::select(vec![0usize, 1, 500, 3000, 40_000, 150_000]),
        prop::sample::select(vec![Close::Written, Close::Eof, Close::Acknowledged]),
        prop::option::of((1u64..30_000, 1u64..2_000)),
        prop::option::of((1u64..30_000, 1u64..2_000)),
    )
        .prop_map(move |(len, close, lazy, pieces)| {
            let pause = |x: (u64, u64)| (x.0.max(len as u64 / 100), Span::from_millis(x.1));
            let mut application = Application::new(message(seed, len), close);
            application.lazy = lazy.map(pause);
            application.pieces = pieces.map(pause);
            application
        })
}

/// What one end said, watched from outside.
#[derive(Default)]
struct Watch {
    fin: Option<u16>,
    highest: Option<u16>,
}

impl Watch {
    fn see(&mut self, bytes: &[u8]) {
        let (packet, payload) = wire::decode(bytes).expect("uTP");
        if packet.kind == PacketKind::Fin {
            assert!(self.fin.is_none_or(|fin| fin == packet.seq_nr), "the FIN moved");
            assert_eq!(payload.len(), 0);
            self.fin = Some(packet.seq_nr);
        }
        if packet.kind == PacketKind::Data {
            let ahead = |from: u16| packet.seq_nr.wrapping_sub(from) as i16;
            assert!(self.fin.is_none_or(|fin| ahead(fin) < 0), "data after FIN");
            assert!(
                self.highest.is_none_or(|highest| ahead(highest) <= 1),
                "a hole in the numbers"
            );
            if self.highest.is_none_or(|highest| ahead(highest) > 0) {
                self.highest = Some(packet.seq_nr);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 2000, ..ProptestConfig::default() })]

    #[test]
    fn the_stream_arrives_intact(
        configs in [config(), config()],
        mut applications in [application(1), application(2)],
        seed in any::<u64>(),
        ids in any::<(u16, u16, u16)>(),
        loss in prop::sample::select(vec![0.0, 0.01, 0.1, 0.3]),
        duplication in prop::sample::select(vec![0.0, 0.05]),
        delay in 0u64..300,
        jitter in prop::sample::select(vec![0u64, 1, 20, 400]),
        jump in (0u64..100, prop::sample::select(vec![0u64, 50, 3000])),
        calm_after in 0u64..60,
        mtu in prop::sample::select(vec![576usize, 600, 1000, 1500, 9000]),
        offsets in (prop::sample::select(vec![0u64, 1_000, 4_294_960, 100_000_000]), 0u64..10_000),
        drift in [-500i64..500, -500i64..500],
        pads in any::<bool>(),
    ) {
        if applications.iter().all(|application| application.close == Close::Eof) {
            applications[0].close = Close::Written;
        }
        // A byte at a time and a packet of one byte at a time take their time.
        for who in 0..2 {
            let max = 300 * configs[1 - who].receive_buffer_bytes as usize;
            let tiny = configs[who].packet_size == PacketSize::Fixed { bytes: 1 };
            let max = if tiny { max.min(3000) } else { max };
            applications[who].message.truncate(max);
        }
        let totals = applications.each_ref().map(|application| application.message.clone());
        let storm = |index| Storm {
            stream: RandomStream::new(seed, "storm", index),
            until: Time::START + Span::from_secs(calm_after),
            loss,
            duplication,
            delay: Span::from_millis(delay),
            jitter: Span::from_millis(jitter),
            jump: (Time::START + Span::from_secs(jump.0), Span::from_millis(jump.1)),
            mtu,
            // With padded probes, nothing that is too large needs to arrive in fragments.
            black_hole: pads,
            spare: None,
        };
        // Timestamps wrap 4295 s after a clock began.
        let clock = |offset, drift_ppm| Clock { offset: Span::from_millis(offset), drift_ppm };
        let clocks = [clock(offsets.0, drift[0]), clock(offsets.1, drift[1])];
        let arcs = configs.clone().map(Arc::new);
        let [first, second] = applications.clone();
        let start = clocks[0].local(Time::START);
        let certain = pads.then_some(576);
        let hosts = (
            Ours::caller(&arcs[0], start, first, (ids.0, ids.1)).padded(start, certain),
            Ours::answerer(&arcs[1], second, ids.2).padded(start, certain),
        );
        let mut world = World::new(hosts, [storm(0), storm(1)], clocks);
        world.log = Some(Vec::new());
        let mut watch = [Watch::default(), Watch::default()];
        let limit = Time::START + Span::from_secs(400_000);
        let (mut steps, mut seen) = (0u64, 0);
        world.flush(0);
        loop {
            let log = world.log.as_ref().expect("kept");
            let fresh = [0, 1].map(|who| log[seen..].iter().any(|sent| {
                sent.who == who && sent.bytes.len() > 60
            }));
            for sent in &log[seen..] {
                watch[sent.who].see(&sent.bytes);
            }
            seen = log.len();
            for (who, fresh) in fresh.into_iter().enumerate() {
                let Some(stats) = world.peek(who).stats() else { continue };
                prop_assert!(stats.packets_held < 2048, "{stats:?}");
                if fresh && stats.timeouts == 0 && stats.packets_retransmitted == 0 {
                    let room = stats.cwnd.min(stats.peer_window).max(stats.packet_bytes);
                    // A probe of the path may be larger than an ordinary packet.
                    prop_assert!(stats.in_flight <= room + 1500, "{stats:?}");
                }
            }
            if world.hosts.0.is_over() && world.hosts.1.is_over() {
                break;
            }
            if !world.step() {
                prop_assert!(false, "deadlock at {}: {:?} {:?}", world.now,
                    world.peek(0).stats(), world.peek(1).stats());
            }
            steps += 1;
            prop_assert!(world.now < limit, "never ends: {:?} {:?} {:?} {:?}",
                world.hosts.0.connection.as_ref().map(|c| (c.state(), c.next_timer())),
                world.hosts.1.connection.as_ref().map(|c| (c.state(), c.next_timer())),
                world.peek(0).stats(), world.peek(1).stats());
            prop_assert!(steps < 3_000_000, "too busy: {:?} {:?}", world.peek(0).stats(), world.peek(1).stats());
        }
        for who in 0..2 {
            prop_assert_eq!(world.peek(who).failure(), None);
            prop_assert!(world.peek(who).received() == &totals[1 - who][..], "not what was written");
        }
    }
}

#[test]
fn a_window_holds_1023_packets() {
    let config = Config {
        receive_buffer_bytes: 1 << 20,
        send_buffer_bytes: 1 << 20,
        initial_window_bytes: 1 << 20,
        ..small(1000)
    };
    let mut pair = Pair::new(config);
    let packets = pair.write(1 << 19);
    assert_eq!(packets.len(), 1023);
    // One that arrives makes room for one.
    pair.deliver(&packets[..1]);
    assert_eq!(said(&mut pair.caller, pair.now).len(), 1);
}
