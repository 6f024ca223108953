//! Whatever the network does, the stream arrives intact, everything ends, and no limit is passed.

use crate::pipe::{Pair, Storm};
use flashcrowd_base::{RandomStream, Span, Time};
use flashcrowd_transport::Pacing;
use flashcrowd_transport::congestion::{HyStartKind, Kind};
use flashcrowd_transport::tcp::{
    CloseReason, Config, Connection, Ecn, Flags, Nagle, Reduction, State, profiles,
};
use proptest::prelude::*;

/// What one application does: pieces to write with pauses before them, and how lazily it reads.
#[derive(Clone, Debug)]
struct Application {
    pieces: Vec<(u64, Span)>,
    lazy: Option<Span>,
}

fn application() -> impl Strategy<Value = Application> {
    let piece = (1u64..60_000, 0u64..3_000).prop_map(|(b, ms)| (b, Span::from_millis(ms)));
    (
        prop::collection::vec(piece, 0..6),
        prop::option::of((1u64..2_000).prop_map(Span::from_millis)),
    )
        .prop_map(|(pieces, lazy)| Application { pieces, lazy })
}

fn config() -> impl Strategy<Value = Config> {
    let choice = (
        prop::sample::select(profiles::all()),
        prop::sample::select(vec![Kind::NewReno, Kind::Cubic, Kind::CubicLinux]),
        prop::sample::select(vec![HyStartKind::None, HyStartKind::Linux, HyStartKind::PlusPlus]),
        prop::sample::select(vec![
            Reduction::Classic,
            Reduction::RateHalving,
            Reduction::Prr,
            Reduction::Ns2,
        ]),
        prop::sample::select(vec![Nagle::Off, Nagle::Classic, Nagle::Minshall]),
        any::<[bool; 10]>(),
        prop::sample::select(vec![0u32, 3000, 65_536]),
        prop::sample::select(vec![576u32, 1500, 9000]),
        (
            prop::sample::select(vec![1u32, 2, 4]),
            prop::sample::select(vec![Ecn::Off, Ecn::Passive, Ecn::On, Ecn::Accurate]),
        ),
    );
    choice.prop_map(
        |(base, controller, hystart, reduction, nagle, on, tso_bytes, mtu, (segments, ecn))| {
            let mut config = base;
            // A profile as it is, half the time.
            if on[0] {
                config.controller = controller;
                config.hystart = hystart;
                config.pacing = if on[1] { Pacing::Fq } else { Pacing::Off };
                config.reduction = reduction;
                config.nagle = nagle;
                config.tso_bytes = tso_bytes;
                config.ecn = ecn;
                config.mtu_bytes = mtu;
                config.sack = on[1];
                config.rack = on[2];
                config.forward_ack = on[3];
                config.timestamps = on[4];
                config.tail_loss_probe = on[5];
                config.limited_transmit = on[6];
                config.undo = on[7];
                config.app_limited_validation = on[8];
                config.receive_window.autotune = on[9];
                config.delayed_ack.segments = segments;
                config.receive_window.initial_bytes =
                    config.receive_window.initial_bytes.max(18_000);
                config.receive_window.buffer_bytes = config.receive_window.buffer_bytes.max(18_000);
                config.receive_window.max_bytes = config.receive_window.max_bytes.max(18_000);
                config.send_buffer.initial_bytes = config.send_buffer.initial_bytes.max(18_000);
                config.send_buffer.max_bytes = config.send_buffer.max_bytes.max(18_000);
            }
            config.data_retries = 100;
            config.syn_retries = 100;
            // Longer than any timeout, so that the last FIN is always answered.
            config.time_wait_ns = Span::from_secs(600);
            assert_eq!(config.check(), Ok(()));
            config
        },
    )
}

/// Watches one direction from outside: what was sent, what the other end said it would take.
#[derive(Default)]
struct Watch {
    edge: u64,
    highest: u64,
    fin: Option<u64>,
}

/// Says which ends have sent new data.
fn check_limits(pair: &mut Pair<Storm>, watch: &mut [Watch; 2]) -> [bool; 2] {
    let log = pair.log.take().expect("kept");
    let mut new = [false; 2];
    for (_, who, segment) in &log {
        let me = *who;
        if segment.flags.contains(Flags::RST) {
            continue;
        }
        if segment.flags.contains(Flags::ACK) || segment.flags.contains(Flags::SYN) {
            let edge = segment.ack + u64::from(segment.window);
            assert!(edge >= watch[1 - me].edge, "the window shrank: {segment:?}");
            watch[1 - me].edge = edge;
        }
        if segment.len > 0 {
            let end = segment.seq + u64::from(segment.len);
            assert!(end <= watch[me].edge, "beyond the window: {segment:?}");
            if let Some(fin) = watch[me].fin {
                assert!(end <= fin, "data after FIN: {segment:?}");
            }
            assert!(segment.seq <= watch[me].highest, "a hole in what was sent: {segment:?}");
            new[me] |= end > watch[me].highest;
            watch[me].highest = watch[me].highest.max(end);
        }
        if segment.flags.contains(Flags::FIN) {
            let fin = segment.end() - 1;
            assert!(watch[me].fin.is_none_or(|known| known == fin), "the FIN moved");
            watch[me].fin = Some(fin);
        }
    }
    pair.log = Some(Vec::new());
    new
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 2000, ..ProptestConfig::default() })]

    #[test]
    fn the_stream_arrives_intact(
        configs in [config(), config()],
        applications in [application(), application()],
        seed in any::<u64>(),
        loss in prop::sample::select(vec![0.0, 0.01, 0.1, 0.4]),
        duplication in prop::sample::select(vec![0.0, 0.05]),
        delay in 0u64..300,
        jitter in prop::sample::select(vec![0u64, 1, 20, 400]),
        calm_after in 0u64..60,
    ) {
        let storm = |index| Storm {
            stream: RandomStream::new(seed, "storm", index),
            until: Time::START + Span::from_secs(calm_after),
            loss,
            duplication,
            delay: Span::from_millis(delay),
            jitter: Span::from_millis(jitter),
        };
        let mut pair = Pair::new(&configs[0], &configs[1], [storm(0), storm(1)]);
        pair.log = Some(Vec::new());
        let mut watch = [Watch::default(), Watch::default()];
        let total = |a: &Application| a.pieces.iter().map(|piece| piece.0).sum::<u64>();
        let mut todo = applications.clone().map(|a| a.pieces.into_iter().collect::<std::collections::VecDeque<_>>());
        let mut next_write = [Time::START; 2];
        let mut next_read = [Time::START; 2];
        let mut left = [0u64; 2];
        let mut closed = [false; 2];
        let mut buffers = [0u64; 2];
        pair.reads = [applications[0].lazy.is_none(), applications[1].lazy.is_none()];
        let limit = Time::START + Span::from_secs(40_000);
        let mut steps = 0u64;
        loop {
            for who in 0..2 {
                let now = pair.now;
                let Some(end) = pair.ends[who].as_mut() else { continue };
                if end.is_closed() { continue; }
                if left[who] == 0 && now >= next_write[who] {
                    if let Some((bytes, pause)) = todo[who].pop_front() {
                        left[who] = bytes;
                        next_write[who] = now + pause;
                    } else if !closed[who] && end.is_established() {
                        closed[who] = true;
                        end.close(now);
                        assert_eq!(end.write(now, 1), 0);
                    }
                }
                if left[who] > 0 {
                    let space = end.write_space();
                    let taken = end.write(now, left[who]);
                    assert_eq!(taken, space.min(left[who]));
                    left[who] -= taken;
                }
                if let Some(lazy) = applications[who].lazy
                    && now >= next_read[who] && end.readable() > 0 {
                    let bytes = end.readable().min(20_000);
                    end.read(now, bytes);
                    pair.read[who] += bytes;
                    next_read[who] = now + lazy;
                }
                pair.flush(who);
                let new = check_limits(&mut pair, &mut watch);
                for (end, _) in pair.ends.iter().zip(new).filter(|(_, new)| *new) {
                    // One probe of the tail may go beyond.
                    let stats = end.as_ref().expect("open").stats();
                    prop_assert!(stats.in_flight <= stats.cwnd + 9000, "{stats:?}");
                }
                let end = pair.ends[who].as_ref().expect("open");
                // The send buffer takes what it promised to the application.
                let buffer = end.write_space() + end.unacknowledged();
                if end.is_established() && end.write_space() > 0 {
                    prop_assert!(buffer >= buffers[who], "{buffer} after {}", buffers[who]);
                    buffers[who] = buffer;
                }
                let stats = end.stats();
                prop_assert!(stats.cwnd >= 64, "{stats:?}");
                prop_assert!(stats.ranges_held < 60_000, "{stats:?}");
            }
            if pair.ends.iter().all(|end| end.as_ref().is_some_and(Connection::is_closed)) {
                break;
            }
            // The next thing that happens, in the network or in an application.
            let mut wake = Time::NEVER;
            for who in 0..2 {
                let Some(end) = pair.ends[who].as_ref() else { continue };
                if end.is_closed() { continue; }
                if left[who] == 0 && !closed[who] && (end.is_established() || !todo[who].is_empty()) {
                    wake = wake.min(next_write[who]);
                }
                if applications[who].lazy.is_some() && end.readable() > 0 {
                    wake = wake.min(next_read[who]);
                }
            }
            match pair.next() {
                Some(at) if at <= wake => { pair.step(); }
                _ if wake != Time::NEVER => pair.now = pair.now.max(wake),
                Some(_) => { pair.step(); }
                None => prop_assert!(false, "deadlock at {}: {:?} {:?}", pair.now,
                    pair.ends[0].as_ref().map(Connection::state), pair.ends[1].as_ref().map(Connection::state)),
            }
            steps += 1;
            prop_assert!(pair.now < limit, "never ends: {:?} {:?}",
                pair.ends[0].as_ref().map(|e| (e.state(), e.stats())), pair.ends[1].as_ref().map(|e| (e.state(), e.stats())));
            prop_assert!(steps < 3_000_000, "too busy");
        }
        for who in 0..2 {
            let end = pair.end(who);
            prop_assert_eq!(end.state(), State::Closed { reason: CloseReason::Finished });
            let rest = end.readable();
            prop_assert_eq!(pair.read[who] + rest, total(&applications[1 - who]));
        }
    }
}
