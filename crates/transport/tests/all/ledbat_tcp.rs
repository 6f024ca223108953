//! The LEDBAT family as controllers of TCP segments.

use crate::pipe::{Pair, Path};
use flashcrowd_base::{Rate, Span, Time};
use flashcrowd_transport::congestion::{Kind, Ledbat};
use flashcrowd_transport::tcp::{Config, Flags, profiles};
use proptest::prelude::*;

const FAMILY: [Kind; 6] = [
    Kind::Ledbat,
    Kind::LedbatDraft,
    Kind::Libutp,
    Kind::Libutp2010,
    Kind::Libtorrent,
    Kind::LedbatPlusPlus,
];

/// The family without ns-2's bound of the window: libtorrent's rests where another bound than its own
/// window keeps it from being full.
fn stack(kind: Kind, target_ms: u64) -> Config {
    let table = kind.ledbat().expect("one of the family");
    let table = Ledbat { target_ns: Span::from_millis(target_ms), ..table };
    let mut stack = Config { controller: kind, ledbat: Some(table), ..profiles::ns2_ledbat() };
    stack.receive_window.buffer_bytes = 1 << 20;
    stack.receive_window.max_bytes = 1 << 20;
    assert_eq!(stack.check(), Ok(()));
    stack
}

fn path(bps: u64, delay_ms: u64) -> Path {
    Path::over_line(Span::from_millis(delay_ms), 1, Rate::from_bps(bps), Span::MAX)
}

#[test]
fn a_delay_controller_is_refused_where_no_delay_is_measured() {
    for kind in FAMILY {
        let good = stack(kind, 25);
        let deaf = Config { timestamps: false, ..good.clone() };
        let refused = deaf.check().err().map(|refusal| refusal.path);
        let expected = (kind != Kind::LedbatPlusPlus).then(|| "timestamps".to_owned());
        assert_eq!(refused, expected, "{kind:?}");
        let error = Config { ledbat: None, ..good.clone() }.check().expect_err("no table");
        assert_eq!(error.path, "ledbat");
        let knobs = Ledbat { noise_filter: 17, ..good.ledbat.expect("there is one") };
        let error = Config { ledbat: Some(knobs), ..good }.check().expect_err("a bad table");
        assert_eq!(error.to_string(), "ledbat.noise_filter: 17 is not allowed, at most 16");
    }
}

/// ns-2's timestamps travel besides its 40 bytes: full segments are 1500 bytes in both stacks.
#[test]
fn free_timestamps_take_no_room() {
    let stack = profiles::ns2_ledbat();
    assert_eq!(stack.segment_bytes(), 1460);
    let mut pair = Pair::new(&stack, &stack, [path(1_000_000, 10), path(8_000_000, 10)]);
    pair.log = Some(Vec::new());
    pair.establish();
    pair.bulk_until(Time::START + Span::from_secs(2));
    let log = pair.log.take().expect("it was kept");
    let data: Vec<_> = log.iter().filter(|(.., segment)| segment.len > 0).collect();
    assert!(data.len() > 50);
    for (.., segment) in data {
        assert!(segment.flags.contains(Flags::TIMESTAMPS));
        assert_eq!((segment.len, segment.wire_bytes()), (1460, 1500));
    }
    let costly = Config { free_timestamps: false, ..stack };
    assert_eq!(costly.segment_bytes(), 1448);
}

/// ns-2's window_: 20 segments in flight and no more, whatever the path could hold; in both stacks, and
/// with an acknowledgement for every second segment as well. The application reads after the
/// stack has answered, as in the simulator.
#[test]
fn the_window_of_ns2_is_twenty_segments() {
    let mut delayed = profiles::ns2_tcp();
    delayed.delayed_ack.segments = 2;
    for stack in [profiles::ns2_tcp(), delayed, profiles::ns2_ledbat()] {
        let mut pair = Pair::new(&stack, &stack, [path(100_000_000, 50), path(100_000_000, 50)]);
        pair.reads = [true, false];
        pair.establish();
        let (mut max, mut read, end) = (0, 0, Time::START + Span::from_secs(20));
        pair.fill(0);
        while pair.next().is_some_and(|at| at <= end) {
            pair.step();
            let (now, bytes) = (pair.now, pair.end(1).readable());
            pair.end(1).read(now, bytes);
            pair.flush(1);
            pair.fill(0);
            read += bytes;
            max = max.max(pair.end(0).stats().outstanding);
        }
        assert_eq!(max, 20 * 1460, "{}", stack.name);
        // A window a round trip of 100.1 ms, once the congestion window is as large.
        let full = read as f64 / 20.0 / (20.0 * 1460.0 / 0.1001);
        assert!((0.9..1.0).contains(&full), "{full} of a window a round trip, {}", stack.name);
    }
}

/// Mean wait in the queue and share of the line that one transfer takes between seconds 20 and 80.
fn alone(stack: &Config, bps: u64, delay_ms: u64) -> (f64, f64) {
    let mut pair = Pair::new(stack, stack, [path(bps, delay_ms), path(8 * bps, delay_ms)]);
    pair.establish();
    pair.bulk_until(Time::START + Span::from_secs(20));
    let (carried, waited) = pair.networks[0].carried();
    pair.bulk_until(Time::START + Span::from_secs(80));
    let (carried_then, waited_then) = pair.networks[0].carried();
    let packets = (carried_then - carried) as f64;
    let mean = (waited_then.seconds() - waited.seconds()) / packets;
    (mean * 1e3, packets * 1500.0 * 8.0 / bps as f64 / 60.0)
}

/// Alone on an ADSL uplink each fills the line, with the queue that it aims at, in packets of 12 ms.
#[test]
fn alone_on_an_uplink_the_queue_is_the_target() {
    for kind in FAMILY {
        let (wait, used) = alone(&stack(kind, 100), 1_000_000, 25);
        // LEDBAT++ empties the queue a tenth of the time.
        let (min, line) = if kind == Kind::LedbatPlusPlus { (75.0, 0.93) } else { (85.0, 0.99) };
        assert!((min..=107.0).contains(&wait), "{kind:?}: {wait} ms");
        assert!(used > line, "{kind:?}: {used} of the line");
    }
    // Two packets, as in testa2011.
    let (wait, used) = alone(&profiles::ns2_ledbat(), 1_000_000, 25);
    assert!((12.0..=27.0).contains(&wait), "{wait} ms");
    assert!(used > 0.99, "{used}");
}

/// An acknowledgement that waits for a second segment echoes the first one, so its wait looks like a
/// queue: a packet, 12 ms. But the base delay is measured with that wait as well, so that it cancels
/// in a bulk transfer; what remains is that segments leave in pairs, and that the draft counts
/// acknowledgements.
#[test]
fn a_delayed_acknowledgement_hides_in_the_base_delay() {
    let prompt = profiles::ns2_ledbat();
    let mut delayed = prompt.clone();
    delayed.delayed_ack.segments = 2;
    let (wait, _) = alone(&prompt, 1_000_000, 25);
    let (pairs, used) = alone(&delayed, 1_000_000, 25);
    assert!((wait..wait + 12.0).contains(&pairs), "{pairs} ms, and {wait} ms without");
    assert!(used > 0.99, "{used}");
}

/// The other end has no timestamps: nothing is known, and the window stays where it began.
#[test]
fn without_samples_the_window_stays() {
    let ours = stack(Kind::Ledbat, 100);
    let theirs = profiles::ns2_tcp();
    let mut pair = Pair::new(&ours, &theirs, [path(10_000_000, 10), path(10_000_000, 10)]);
    pair.establish();
    pair.bulk_until(Time::START + Span::from_secs(5));
    assert_eq!(pair.end(0).stats().cwnd, 2 * 1460);
    assert!(pair.read[1] > 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A transfer ends, whatever is lost and however small the windows become.
    #[test]
    fn a_transfer_ends(
        kind in prop::sample::select(&FAMILY[..]),
        sack: bool,
        slow_start: bool,
        loss in prop::sample::select(&[0.0, 0.01, 0.1][..]),
        target in 1u64..200,
        delay in 1u64..100,
        queue in 5u64..500,
        seed: u64,
    ) {
        let mut config = stack(kind, target);
        config.sack = sack;
        config.ledbat = config.ledbat.map(|table| Ledbat {
            slow_start,
            min_window_packets: 0,
            min_window_bytes: 10,
            ..table
        });
        let (rate, queue) = (Rate::from_bps(2_000_000), Span::from_millis(queue));
        let up = Path::over_line(Span::from_millis(delay), seed, rate, queue).losing(loss);
        let mut pair = Pair::new(&config, &config, [up, Path::new(Span::from_millis(delay), seed)]);
        pair.establish();
        let now = pair.now;
        let bytes = 200_000;
        prop_assert_eq!(pair.end(0).write(now, bytes), bytes);
        pair.end(0).close(now);
        pair.flush(0);
        let deadline = now + Span::from_secs(3000);
        while pair.read[1] < bytes {
            prop_assert!(pair.now < deadline && pair.step(), "{} at {}", pair.read[1], pair.now);
            let cwnd = pair.end(0).stats().cwnd;
            prop_assert!((1460..=1 << 30).contains(&cwnd), "{cwnd}");
        }
    }
}
