//! Throughput under random loss, against the formulas of the literature where they hold.

use crate::pipe::{Fate, Network, Pair, Path};
use flashcrowd_base::{RandomStream, Rate, Span, Time};
use flashcrowd_transport::congestion::{HyStartKind, Kind};
use flashcrowd_transport::tcp::{Config, Segment, profiles};
use std::fmt::Write;

/// Mean window in segments: what is delivered per round trip, over `seeds` runs.
fn window(config: &Config, rtt: Span, loss: f64, span: Span, seeds: u64) -> f64 {
    let mut delivered = 0;
    let mut rounds = 0.0;
    for seed in 1..=seeds {
        let forth = Path::new(rtt / 2, seed).losing(loss);
        let mut pair = Pair::new(config, config, [forth, Path::new(rtt / 2, seed + 1000)]);
        let begin = Time::START + Span::from_secs(20);
        pair.bulk_until(begin);
        let before = pair.read[1];
        pair.bulk_until(begin + span);
        delivered += pair.read[1] - before;
        // Little's law needs the round trip that was, which is the path's.
        rounds += span.seconds() / rtt.seconds();
    }
    delivered as f64 / f64::from(config.segment_bytes()) / rounds
}

fn reno() -> Config {
    Config { controller: Kind::NewReno, hystart: HyStartKind::None, ..profiles::linux_6() }
}

/// Runs per loss rate: three stay within the bounds, and cost little.
const SEEDS: u64 = 3;
/// Runs of the tests that are ignored unless asked for: by `make test-slow`, or `cargo test --test all formula -- --ignored`.
const MANY_SEEDS: u64 = 8;

#[test]
fn reno_follows_the_square_root_of_the_loss() {
    mathis(SEEDS);
}

#[test]
#[ignore = "the same from more runs, 4 s; make test-slow"]
fn reno_follows_the_square_root_of_the_loss_in_many_runs() {
    mathis(MANY_SEEDS);
}

/// Mathis et al. 1997: W = sqrt(3 / 2p), where every byte acknowledged counts and timeouts are rare.
fn mathis(seeds: u64) {
    for loss in [0.0005, 0.001, 0.003, 0.01] {
        let measured = window(&reno(), Span::from_millis(100), loss, Span::from_secs(300), seeds);
        let formula = libm::sqrt(1.5 / loss);
        let ratio = measured / formula;
        println!("p {loss}: W {measured:.1}, Mathis {formula:.1}, ratio {ratio:.3}");
        assert!((0.85..1.15).contains(&ratio), "p {loss}: {measured:.1} and {formula:.1}");
    }
}

#[test]
fn with_timeouts_reno_follows_padhye() {
    padhye(SEEDS);
}

#[test]
#[ignore = "the same from more runs; make test-slow"]
fn with_timeouts_reno_follows_padhye_in_many_runs() {
    padhye(MANY_SEEDS);
}

/// Padhye et al. 1998, with delayed acknowledgements and timeouts, for losses where those count.
fn padhye(seeds: u64) {
    let mut config = reno();
    // What the model describes: growth per acknowledgement, one of two, recovery by duplicates.
    config.count_acks = true;
    config.rack = false;
    config.tail_loss_probe = false;
    config.delayed_ack.quick_acks = 0;
    let rtt = 0.1;
    for loss in [0.003f64, 0.01, 0.03, 0.06] {
        let measured = window(&config, Span::from_millis(100), loss, Span::from_secs(300), seeds);
        let (b, timeout) = (2.0, 0.3);
        let fast = rtt * libm::sqrt(2.0 * b * loss / 3.0);
        let share = (3.0 * libm::sqrt(3.0 * b * loss / 8.0)).min(1.0);
        let slow = timeout * share * loss * (1.0 + 32.0 * loss * loss);
        let formula = rtt / (fast + slow);
        let ratio = measured / formula;
        println!("p {loss}: W {measured:.2}, Padhye {formula:.2}, ratio {ratio:.3}");
        assert!((0.8..1.3).contains(&ratio), "p {loss}: {measured:.2} and {formula:.2}");
    }
}

/// Loses data segments at regular distances.
struct Regular {
    delay: Span,
    every: u64,
    count: u64,
}

impl Network for Regular {
    fn carry(&mut self, _: Time, segment: &Segment) -> Fate {
        if segment.len > 0 && self.every > 0 {
            self.count += 1;
            if self.count.is_multiple_of(self.every) {
                return Fate::Lost;
            }
        }
        Fate::Arrives(self.delay)
    }
}

#[test]
fn cubic_has_the_window_of_its_rfc() {
    // The losses are regular: after the first cycles each is as the one before, of about 5 s.
    windows_of_the_rfc(Span::from_secs(60), Span::from_secs(150));
}

#[test]
#[ignore = "the same over a longer time, 18 s; make test-slow"]
fn cubic_has_the_window_of_its_rfc_for_long() {
    windows_of_the_rfc(Span::from_secs(200), Span::from_secs(1000));
}

/// RFC 9438, section 5.1 and table 1: a round trip of 0.1 s and one loss in 10^4 segments give a
/// mean window of 187 segments to CUBIC and 120 to Reno; one in 10^3 gives 38 to both.
fn windows_of_the_rfc(warm_up: Span, span: Span) {
    for (kind, every, expected) in [
        (Kind::Cubic, 10_000, 187.0),
        (Kind::CubicLinux, 10_000, 187.0),
        (Kind::NewReno, 10_000, 122.0),
        (Kind::Cubic, 1000, 38.7),
        (Kind::CubicLinux, 1000, 38.7),
        (Kind::NewReno, 1000, 38.7),
    ] {
        // Of CUBIC as Linux computes it a range of cycles repeat themselves, as in whole segments it is back at its
        // maximum up to a second before its curve is. Which one does is not the formula's matter: with TSO packets
        // that wait it is one from 250 segments at one loss in 10^4, 1.21 of the formula, without from 212, 1.04.
        let config = Config {
            controller: kind,
            hystart: HyStartKind::None,
            tso_defer: false,
            ..profiles::linux_6()
        };
        let path = |every| Regular { delay: Span::from_millis(50), every, count: 0 };
        let mut pair = Pair::new(&config, &config, [path(every), path(0)]);
        let begin = Time::START + warm_up;
        pair.bulk_until(begin);
        let before = pair.read[1];
        pair.bulk_until(begin + span);
        let window = (pair.read[1] - before) as f64 / 1448.0 / (span.seconds() / 0.1);
        let ratio = window / expected;
        println!("{kind:?}, 1 in {every}: W {window:.1}, formula {expected}, ratio {ratio:.3}");
        // Linux rounds the price of a segment of growth down, and so grows a little faster.
        let max = if kind == Kind::CubicLinux { 1.2 } else { 1.1 };
        assert!((0.9..max).contains(&ratio), "{kind:?} {every}: {window:.1} and {expected}");
    }
}

/// A change to recovery or to a controller shows up here as a changed table.
#[test]
fn a_table_of_throughput_in_short() {
    insta::assert_snapshot!(table_of_throughput(1, 30));
}

#[test]
#[ignore = "the same from four runs of twice the time, 4 s; make test-slow"]
fn a_table_of_throughput() {
    insta::assert_snapshot!(table_of_throughput(4, 60));
}

/// Loss, round trip and controller over 10 Mbit/s with a queue of 100 ms: Mbit/s of goodput.
fn table_of_throughput(runs: u64, seconds: u64) -> String {
    let plural = if runs == 1 { "one run" } else { &format!("mean of {runs} runs") };
    let mut table = format!(
        "Mbit/s over 10 Mbit/s with a queue of 100 ms, {plural} of {seconds} s\n\
         stack       controller   loss    10 ms  100 ms  400 ms\n",
    );
    let stacks = [
        (profiles::linux_2_6(), Kind::NewReno),
        (profiles::linux_2_6(), Kind::CubicLinux),
        (profiles::linux_6(), Kind::NewReno),
        (profiles::linux_6(), Kind::Cubic),
        (profiles::linux_6(), Kind::CubicLinux),
        (profiles::windows_xp(), Kind::NewReno),
    ];
    for (base, controller) in stacks {
        let config = Config { controller, ..base };
        for loss in [0.0, 0.001, 0.01, 0.05] {
            let name = format!("{controller:?}");
            write!(table, "{:<11} {name:<12} {:>4.1} %", config.name, loss * 100.0)
                .expect("a string takes everything");
            for rtt in [10, 100, 400] {
                let mut goodput = 0;
                for seed in 1..=runs {
                    let (rate, queue) = (Rate::from_bps(10_000_000), Span::from_millis(100));
                    let forth =
                        Path::over_line(Span::from_millis(rtt / 2), seed, rate, queue).losing(loss);
                    let back = Path::new(Span::from_millis(rtt / 2), seed + 100);
                    let mut pair = Pair::new(&config, &config, [forth, back]);
                    pair.bulk_until(Time::START + Span::from_secs(seconds));
                    goodput += pair.read[1];
                }
                let rate = goodput as f64 * 8.0 / (runs * seconds) as f64 / 1e6;
                write!(table, " {rate:>7.2}").expect("a string takes everything");
            }
            table.push('\n');
        }
    }
    table
}

/// Two runs of one seed are the same to the last segment.
#[test]
fn runs_repeat() {
    let run = || {
        let config = profiles::linux_6();
        let mut forth = Path::new(Span::from_millis(20), 3).losing(0.01);
        forth.stream = RandomStream::new(3, "loss", 7);
        let mut pair = Pair::new(&config, &config, [forth, Path::new(Span::from_millis(20), 4)]);
        pair.bulk_until(Time::START + Span::from_secs(20));
        (pair.delivered, pair.end(0).stats(), pair.end(1).stats())
    };
    assert_eq!(run(), run());
}
