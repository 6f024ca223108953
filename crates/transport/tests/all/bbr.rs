//! What BBR is for: TCP connections over one bottleneck, beside CUBIC.

use crate::pipe::{Fate, Network, Pair, Path};
use crate::script::{Script, full, linux};
use flashcrowd_base::{RandomStream, Rate, Span, Time};
use flashcrowd_transport::Pacing;
use flashcrowd_transport::congestion::{HyStartKind, Kind};
use flashcrowd_transport::tcp::{Config, Segment, profiles};
use std::cell::RefCell;
use std::rc::Rc;

const RATE: u64 = 10_000_000;

fn config(kind: Kind) -> Config {
    Config { controller: kind, tso_bytes: 0, ..profiles::linux_6() }
}

fn at(seconds: u64) -> Time {
    Time::START + Span::from_secs(seconds)
}

/// A path of 40 ms with a queue of `queue_ms` milliseconds.
fn pair(config: &Config, queue_ms: u64, loss: f64) -> Pair<Path> {
    pair_over(config, line(queue_ms).losing(loss))
}

/// 20 ms behind a line with a queue of `queue_ms` milliseconds.
fn line(queue_ms: u64) -> Path {
    let (rate, queue) = (Rate::from_bps(RATE), Span::from_millis(queue_ms));
    Path::over_line(Span::from_millis(20), 1, rate, queue)
}

/// This path, and 20 ms back.
fn pair_over(config: &Config, forth: Path) -> Pair<Path> {
    let mut pair = Pair::new(config, config, [forth, Path::new(Span::from_millis(20), 2)]);
    pair.end(0).draw_from(RandomStream::new(1, "congestion", 0));
    pair
}

/// The part of what a full link would carry as payload, between two instants; and the mean wait.
fn share(pair: &mut Pair<Path>, from: u64, until: u64) -> (f64, Span) {
    pair.bulk_until(at(from));
    let (read, (carried, waited)) = (pair.read[1], pair.networks[0].carried());
    pair.bulk_until(at(until));
    let payload = 1448.0 / 1500.0;
    let bits = (pair.read[1] - read) as f64 * 8.0 / payload;
    let (carried_then, waited_then) = pair.networks[0].carried();
    let mean = waited_then.saturating_sub(waited) / (carried_then - carried).max(1);
    (bits / (RATE as f64 * (until - from) as f64), mean)
}

#[test]
fn one_flow_fills_the_bottleneck_with_a_queue_of_less_than_the_path_holds() {
    for kind in [Kind::Bbr, Kind::BbrV3] {
        for queue in [40, 400] {
            let mut pair = pair(&config(kind), queue, 0.0);
            let (share, wait) = share(&mut pair, 5, 65);
            println!("{kind:?}, queue of {queue} ms: {share:.3} of the link, mean wait {wait:?}");
            assert!(share > 0.95, "{kind:?} {queue}: {share}");
            assert!(wait < Span::from_millis(40), "{kind:?} {queue}: {wait:?}");
        }
    }
    // CUBIC fills whatever there is.
    let mut pair = pair(&config(Kind::CubicLinux), 400, 0.0);
    let (share, wait) = share(&mut pair, 5, 65);
    assert!(share > 0.95 && wait > Span::from_millis(150), "{share} {wait:?}");
}

/// Cardwell et al. 2016, figure 8: where one packet in a hundred is lost, BBR loses about that of the
/// rate, and CUBIC nearly all of it.
#[test]
fn random_loss_of_one_per_cent_is_survived() {
    let mut shares = Vec::new();
    for kind in [Kind::Bbr, Kind::BbrV3, Kind::CubicLinux] {
        let (share, _) = share(&mut pair(&config(kind), 80, 0.01), 5, 65);
        println!("{kind:?} at 1 % loss: {share:.3} of the link");
        shares.push(share);
    }
    assert!(shares[0] > 0.9 && shares[1] > 0.8, "{shares:?}");
    assert!(shares[2] < 0.5, "{shares:?}");
}

/// Version 1 looks for the least round trip every 10 s, with four packets for 200 ms; version 3 every
/// 5 s, with half of what the path holds.
#[test]
fn the_pipe_is_emptied_to_see_the_round_trip() {
    for (kind, period, packets) in [(Kind::Bbr, 10.0, 4.0), (Kind::BbrV3, 5.0, 18.0)] {
        let mut pair = pair(&config(kind), 100, 0.0);
        pair.bulk_until(at(3));
        let mut dips = Vec::new();
        let mut low_since = None;
        let mut now = at(3);
        while now < at(60) {
            now += Span::from_millis(5);
            pair.bulk_until(now);
            let cwnd = pair.end(0).stats().cwnd as f64 / 1448.0;
            if cwnd <= packets {
                low_since.get_or_insert(now);
            } else if let Some(since) = low_since.take() {
                dips.push((since, now.since(since)));
            }
        }
        println!("{kind:?}: {dips:?}");
        let apart = |pair: &[(Time, Span)]| pair[1].0.since(pair[0].0).seconds();
        assert!(dips.len() >= 4, "{kind:?} {dips:?}");
        for gap in dips.windows(2).map(apart) {
            assert!((period..period + 1.5).contains(&gap), "{kind:?}: {gap} s apart");
        }
        for (_, long) in &dips {
            assert!((0.2..0.4).contains(&long.seconds()), "{kind:?}: {long:?}");
        }
    }
}

/// Behind a window that a slow application leaves unused the model stays, and no queue is built.
#[test]
fn a_limited_application_does_not_lower_the_model() {
    for kind in [Kind::Bbr, Kind::BbrV3] {
        let mut pair = pair(&config(kind), 100, 0.0);
        pair.bulk_until(at(5));
        let mut now = at(5);
        // A tenth of the link.
        while now < at(25) {
            now += Span::from_millis(10);
            pair.run_until(now);
            pair.end(0).write(now, 1250);
            pair.flush(0);
        }
        let (share, _) = share(&mut pair, 25, 35);
        assert!(share > 0.95, "{kind:?}: {share}");
    }
}

/// Linux' pacing of CUBIC: in slow start the window of a round leaves over half of the round trip
/// instead of in bursts, so that a short queue is not overrun.
#[test]
fn pacing_spreads_a_window_over_the_round_trip() {
    let gaps = |pacing| {
        let config = Config { pacing, hystart: HyStartKind::None, ..config(Kind::NewReno) };
        let mut pair = pair_over(&config, Path::new(Span::from_millis(20), 1));
        pair.log = Some(Vec::new());
        pair.bulk_until(Time::START + Span::from_millis(39 * 5));
        let sent: Vec<Time> = pair
            .log
            .take()
            .unwrap()
            .into_iter()
            .filter(|(_, who, segment)| *who == 0 && segment.len > 0)
            .map(|(at, ..)| at)
            .collect();
        let back_to_back = sent.windows(2).filter(|pair| pair[0] == pair[1]).count();
        back_to_back as f64 / sent.len() as f64
    };
    let (off, fq) = (gaps(Pacing::Off), gaps(Pacing::Fq));
    println!("back to back: {off:.2} without pacing, {fq:.2} with");
    assert!(off > 0.6 && fq < 0.3, "{off} {fq}");
}

/// What pacing holds back waits for its time, even if the timers are called early; and once its time has come it
/// is polled, and no timer asks for it again.
#[test]
fn an_early_call_does_not_make_a_packet_forgotten() {
    let config = Config { pacing: Pacing::Fq, controller: Kind::NewReno, ..linux() };
    let mut script = Script::new(config, Span::from_millis(100));
    script.write(100_000).count();
    script.wait(Span::from_millis(100));
    script.ack(10_000);
    assert_eq!(script.sent(), full(10, 1));
    // The window is 20 segments in a round trip of 100 ms, and slow start sends twice as fast: a segment in 2.5 ms,
    // of which half is made up for after the wait.
    let due = script.now + Span::from_micros(1250);
    assert_eq!(script.server.next_timer(), Some(due));
    script.server.on_timer(script.now);
    assert_eq!(script.server.next_timer(), Some(due));
    script.now = due;
    script.server.on_timer(due);
    assert!(script.server.next_timer().is_none_or(|at| at > due));
    assert_eq!(script.sent(), full(11, 1));
}

/// A sender whose path was empty need not empty it to see the round trip (Linux: idle_restart). One that always had
/// something in flight must.
#[test]
fn silence_takes_the_place_of_looking_for_the_round_trip() {
    for kind in [Kind::Bbr, Kind::BbrV3] {
        for silent in [true, false] {
            let config = Config { controller: kind, ..linux() };
            let mut script = Script::new(config, Span::from_millis(40));
            let mut looked = false;
            let mut arrives = |script: &mut Script, offset| {
                script.wait(Span::from_millis(50));
                script.ack(offset);
                looked |= script.server.controller_state() == Some("probe_rtt");
            };
            script.write(1000).count();
            for segment in 1..=220 {
                if !silent {
                    script.write(1000).count();
                }
                arrives(&mut script, if silent { 1000 } else { 1000 * segment });
            }
            script.write(1000).count();
            let written = script.server.written();
            arrives(&mut script, written);
            assert_eq!(looked, !silent, "{kind:?}");
        }
    }
}

/// One bottleneck of several connections.
#[derive(Clone)]
struct Shared(Rc<RefCell<Path>>);

impl Network for Shared {
    fn carry(&mut self, now: Time, segment: &Segment) -> Fate {
        self.0.borrow_mut().carry(now, segment)
    }
}

/// Bytes that each of these delivers between 20 s and 80 s; flow n starts after n half seconds.
fn together(kinds: &[Kind], queue_ms: u64) -> Vec<u64> {
    let forth = Shared(Rc::new(RefCell::new(line(queue_ms))));
    let mut pairs: Vec<Pair<Shared>> = kinds
        .iter()
        .zip(0..)
        .map(|(&kind, index)| {
            let back = Shared(Rc::new(RefCell::new(Path::new(Span::from_millis(20), 2))));
            let mut pair = Pair::new(&config(kind), &config(kind), [forth.clone(), back]);
            pair.end(0).draw_from(RandomStream::new(1, "congestion", index));
            pair
        })
        .collect();
    let mut before = vec![0; kinds.len()];
    let mut begun = false;
    let starts = |index: usize| Time::START + Span::from_millis(500) * index as u64;
    loop {
        let next = |pair: &Pair<Shared>| pair.next().unwrap_or(Time::NEVER);
        let first = (0..pairs.len()).min_by_key(|&index| next(&pairs[index])).unwrap_or(0);
        let now = next(&pairs[first]);
        if !begun && now >= at(20) {
            begun = true;
            before = pairs.iter().map(|pair| pair.read[1]).collect();
        }
        if now >= at(80) {
            return pairs.iter().zip(before).map(|(pair, before)| pair.read[1] - before).collect();
        }
        pairs[first].step();
        if now >= starts(first) {
            pairs[first].fill(0);
        }
        // One that has nothing to do until its start is begun by the others' clock.
        for (index, pair) in pairs.iter_mut().enumerate() {
            if pair.end(0).written() == 0 && now >= starts(index) {
                pair.now = now;
                pair.fill(0);
            }
        }
    }
}

/// Two flows of one kind share to within a factor of two over a minute; together they fill the link.
#[test]
fn two_flows_share() {
    for kind in [Kind::Bbr, Kind::BbrV3] {
        let bytes = together(&[kind; 2], 80);
        let all = bytes.iter().sum::<u64>() as f64 * 8.0 / 60.0 / RATE as f64 * 1500.0 / 1448.0;
        let part = *bytes.iter().min().unwrap() as f64 / bytes.iter().sum::<u64>() as f64;
        println!("{kind:?}: {bytes:?}, {all:.3} of the link, the lesser has {part:.2}");
        assert!(part > 1.0 / 3.0 && all > 0.93, "{kind:?}: {bytes:?}");
    }
}

/// Beside CUBIC behind a queue of twice what the path holds neither starves; version 3, which
/// answers losses, leaves CUBIC more than version 1 does.
#[test]
fn beside_cubic_nobody_starves() {
    let parts: Vec<f64> = [Kind::Bbr, Kind::BbrV3]
        .into_iter()
        .map(|kind| {
            let bytes = together(&[kind, Kind::CubicLinux], 80);
            let part = bytes[0] as f64 / (bytes[0] + bytes[1]) as f64;
            println!("{kind:?} beside CUBIC: {part:.2} of what both have");
            part
        })
        .collect();
    assert!(parts.iter().all(|part| (0.1..0.9).contains(part)), "{parts:?}");
}

/// Spread over the round trip, a flow of Reno's or CUBIC's loses nearly nothing of the link.
#[test]
fn pacing_takes_nothing_from_a_single_flow() {
    for kind in [Kind::NewReno, Kind::CubicLinux] {
        let paced = Config { pacing: Pacing::Fq, ..config(kind) };
        let (plain, _) = share(&mut pair(&config(kind), 80, 0.0), 5, 65);
        let (spread, _) = share(&mut pair(&paced, 80, 0.0), 5, 65);
        println!("{kind:?}: {plain:.3} of the link without pacing, {spread:.3} with");
        assert!(spread > plain - 0.03, "{kind:?}: {plain} {spread}");
    }
}

/// What is random of BBR (when it probes) comes from the connection's own stream.
#[test]
fn a_connection_draws_from_the_stream_that_it_was_given() {
    for kind in [Kind::Bbr, Kind::BbrV3] {
        let after_a_minute = |number| {
            let mut pair = pair(&config(kind), 80, 0.0);
            pair.end(0).draw_from(RandomStream::new(1, "congestion", number));
            pair.bulk_until(at(60));
            (pair.read[1], pair.networks[0].carried())
        };
        assert_eq!(after_a_minute(0), after_a_minute(0), "{kind:?}");
        assert!((1..4).any(|number| after_a_minute(number) != after_a_minute(0)), "{kind:?}");
    }
}

/// Version 3 hears of what is lost and bounds what it has in flight: behind a queue of an eighth of what
/// the path holds it sends a fraction of what version 1 sends again.
#[test]
fn version_3_answers_losses_and_version_1_does_not() {
    let again = [Kind::Bbr, Kind::BbrV3].map(|kind| {
        let mut pair = pair(&config(kind), 5, 0.0);
        pair.bulk_until(at(60));
        let stats = pair.end(0).stats();
        println!("{kind:?}: {} of {} again", stats.segments_retransmitted, stats.segments_sent);
        stats.segments_retransmitted as f64 / stats.segments_sent as f64
    });
    assert!(again[1] < again[0] / 2.0 && again[1] < 0.02, "{again:?}");
}
