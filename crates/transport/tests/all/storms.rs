//! What two storms make of the same transfer, by each profile, controller and switch: a table in which a change of
//! anything that is sent shows. Its numbers have no source but our code; other tests say what they ought to be.

use crate::pipe::{Pair, Storm};
use flashcrowd_base::{RandomStream, Span, Time};
use flashcrowd_transport::Pacing;
use flashcrowd_transport::congestion::{HyStartKind, Kind};
use flashcrowd_transport::tcp::{
    CloseReason, Config, Connection, Ecn, Nagle, Reduction, State, profiles,
};

/// One that loses, and one that only brings out of order and doubles.
fn storm(kind: usize, direction: u64) -> Storm {
    let (loss, duplication, jitter) = [(0.03, 0.0, 1), (0.0, 0.02, 40)][kind];
    Storm {
        stream: RandomStream::new(kind as u64, "storm", direction),
        until: Time::START + Span::from_secs(60),
        loss,
        duplication,
        delay: Span::from_millis(30),
        jitter: Span::from_millis(jitter),
    }
}

/// The piece at which the server reads nothing for 3 s.
const ASLEEP: (u64, u64) = (150_000, 10_000);

/// The client writes 150 kB twice, at the second of which the server reads nothing for 3 s; eighty small pieces; and,
/// after a silence, 300 kB. The server answers with 2 kB to each. Everything arrives.
fn transfer(mut config: Config, kind: usize) -> String {
    config.send_buffer.initial_bytes = 1 << 20;
    config.send_buffer.max_bytes = 1 << 20;
    config.data_retries = 100;
    config.syn_retries = 100;
    config.time_wait_ns = Span::from_secs(300);
    assert_eq!(config.check(), Ok(()));
    let mut pair = Pair::new(&config, &config, [storm(kind, 0), storm(kind, 1)]);
    pair.establish();
    let start = pair.now;
    let small = (0..80).map(|n| (500 + n * 997 % 4000, 100 + n * 61 % 300));
    // Bytes, and milliseconds until the next ones.
    let mut pieces = vec![(150_000, 2000), ASLEEP];
    pieces.extend(small);
    pieces.extend([(1, 5000), (300_000, 400)]);
    let mut windows = Vec::new();
    let mut written = [0; 2];
    for (bytes, pause) in pieces {
        let now = pair.now;
        for (who, bytes) in [(0, bytes), (1, 2000)] {
            assert_eq!(pair.end(who).write(now, bytes), bytes);
            written[who] += bytes;
            pair.flush(who);
        }
        pair.reads[1] = (bytes, pause) != ASLEEP;
        pair.run_until(now + Span::from_millis(pause.min(3000)));
        if pause >= 400 {
            windows.push(format!("{:>7}", pair.end(0).stats().cwnd));
        }
        if !pair.reads[1] {
            pair.reads[1] = true;
            let (now, bytes) = (pair.now, pair.end(1).readable());
            pair.end(1).read(now, bytes);
            pair.read[1] += bytes;
            pair.flush(1);
        }
        pair.run_until(now + Span::from_millis(pause));
    }
    for who in [0, 1] {
        let now = pair.now;
        pair.end(who).close(now);
        pair.flush(who);
    }
    while pair.read != [written[1], written[0]] {
        assert!(
            pair.step() && pair.now < Time::START + Span::from_secs(3600),
            "{:?}",
            pair.end(0).stats()
        );
    }
    let took = (pair.now - start).seconds();
    let stats = [0, 1].map(|who| pair.end(who).stats());
    while !pair.ends.iter().flatten().all(Connection::is_closed) {
        assert!(pair.step(), "it never ends");
    }
    for who in [0, 1] {
        assert_eq!(pair.end(who).state(), State::Closed { reason: CloseReason::Finished });
    }
    let [sender, other] = &stats;
    format!(
        "{took:>9.6} {:>5} {:>5} {:>4} {:>4} {:>3} {:>4} {:>7} {} {:>5} {:>6} {:>7}",
        sender.segments_sent,
        sender.segments_retransmitted,
        sender.segments_lost,
        sender.recoveries,
        sender.timeouts,
        sender.undone,
        sender.srtt.nanos() / 1000,
        windows.join(" "),
        other.segments_sent,
        other.segments_retransmitted,
        other.rto.nanos() / 1000,
    )
}

fn variants() -> Vec<(String, Config)> {
    let linux = profiles::linux_6;
    let mut variants: Vec<(String, Config)> =
        profiles::all().into_iter().map(|config| (config.name.to_string(), config)).collect();
    for controller in Kind::ALL.into_iter().filter(|kind| kind.ledbat().is_none()) {
        for pacing in [Pacing::Off, Pacing::Fq] {
            if pacing == Pacing::Fq || !controller.needs_rates() {
                let paced = if pacing == Pacing::Fq { ", paced" } else { "" };
                let config = Config { controller, pacing, ..linux() };
                variants.push((format!("{}{paced}", controller.name()), config));
            }
        }
    }
    let mut switch = |name: &str, change: &dyn Fn(&mut Config)| {
        let mut config = linux();
        change(&mut config);
        variants.push((name.to_owned(), config));
    };
    switch("no SACK", &|config| config.sack = false);
    switch("no SACK, NewReno", &|config| {
        config.sack = false;
        config.controller = Kind::NewReno;
        config.reduction = Reduction::Classic;
    });
    switch("no D-SACK", &|config| config.dsack = false);
    switch("no timestamps", &|config| config.timestamps = false);
    switch("no RACK", &|config| config.rack = false);
    switch("no RACK, FACK", &|config| {
        config.rack = false;
        config.forward_ack = true;
    });
    switch("no tail loss probe", &|config| config.tail_loss_probe = false);
    switch("no limited transmit", &|config| config.limited_transmit = false);
    switch("no undo", &|config| config.undo = false);
    switch("no validation", &|config| config.app_limited_validation = false);
    switch("no restart after silence", &|config| config.idle_restart = false);
    switch("fixed window", &|config| config.receive_window.autotune = false);
    switch("rate halving", &|config| config.reduction = Reduction::RateHalving);
    switch("classic reduction", &|config| config.reduction = Reduction::Classic);
    switch("HyStart++", &|config| config.hystart = HyStartKind::PlusPlus);
    switch("no HyStart", &|config| config.hystart = HyStartKind::None);
    switch("no Nagle", &|config| config.nagle = Nagle::Off);
    switch("ECN", &|config| config.ecn = Ecn::On);
    switch("accurate ECN", &|config| config.ecn = Ecn::Accurate);
    switch("no TSO, each acknowledged", &|config| {
        config.tso_bytes = 0;
        config.delayed_ack.segments = 1;
    });
    variants
}

/// The result of a transfer by each variant in each storm, one below the other.
pub(crate) fn table<C: Clone>(
    columns: &str,
    variants: &[(String, C)],
    transfer: impl Fn(C, usize) -> String,
) -> String {
    let width = variants.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let mut table = String::new();
    for (kind, storm) in ["3 % lost", "out of order and twice"].into_iter().enumerate() {
        table += &format!("{storm:<width$} {columns}\n");
        for (name, config) in variants {
            table += &format!("{name:<width$} {}\n", transfer(config.clone(), kind));
        }
    }
    table
}

#[test]
fn two_storms() {
    let columns = "   took s  sent again lost recs TOs undo srtt us \
                   cwnd: 2 s,     5 s,    37 s,  at end  back  again  RTO us";
    insta::assert_snapshot!(table(columns, &variants(), transfer));
}
