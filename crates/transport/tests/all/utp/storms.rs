//! What two storms make of the same transfer over uTP, by each profile, controller and switch: a table in which a
//! change of anything that is sent shows. Its numbers have no source but our code; other tests say what they ought
//! to be.

use super::host::{Application, Close, Ours, message};
use super::world::{Clock, Storm, World};
use flashcrowd_base::{RandomStream, Span, Time};
use flashcrowd_transport::Pacing;
use flashcrowd_transport::congestion::Kind;
use flashcrowd_transport::tcp::Nagle;
use flashcrowd_transport::utp::{
    Backoff, Config, DelayedAck, IdleTimer, PacketSize, SackPolicy, SmallWindow, WindowFill,
    profiles,
};
use std::sync::Arc;

/// One that loses and whose path is small, and one that only brings out of order, doubles, and then is longer.
fn storm(kind: usize, direction: u64) -> Storm {
    let (loss, duplication, jitter, mtu, jump) =
        [(0.03, 0.0, 1, 1000, 0), (0.0, 0.02, 40, 1500, 60)][kind];
    Storm {
        stream: RandomStream::new(kind as u64, "storm", direction),
        until: Time::START + Span::from_secs(60),
        loss,
        duplication,
        delay: Span::from_millis(30),
        jitter: Span::from_millis(jitter),
        jump: (Time::START + Span::from_secs(4), Span::from_millis(jump)),
        mtu,
        black_hole: false,
        spare: None,
    }
}

/// 600 kB in pieces with pauses, to a reader that is slow at times, and 20 kB back. Everything arrives.
fn transfer(mut config: Config, kind: usize) -> String {
    config.data_retries = 100;
    config.syn_retries = 100;
    config.max_transmissions = 0;
    config.linger_ns = Span::from_secs(600);
    assert_eq!(config.check(), Ok(()));
    let config = Arc::new(config);
    let messages = [message(1, 600_000), message(2, 20_000)];
    let mut applications = messages.clone().map(|bytes| Application::new(bytes, Close::Written));
    applications[0].pieces = Some((29_000, Span::from_millis(350)));
    applications[1].pieces = Some((700, Span::from_millis(230)));
    applications[1].lazy = Some((50_000, Span::from_millis(900)));
    let [first, second] = applications;
    let hosts = (
        Ours::caller(&config, Time::START, first, (7, 65_500)),
        Ours::answerer(&config, second, 11),
    );
    let mut world = World::new(hosts, [storm(kind, 0), storm(kind, 1)], [Clock::default(); 2]);
    let mut windows = Vec::new();
    world.flush(0);
    for millis in [1500, 4000, 7000] {
        let at = Time::START + Span::from_millis(millis);
        while world.next().is_some_and(|next| next <= at) {
            world.step();
        }
        let stats = world.peek(0).stats().expect("it is open");
        windows.push(format!("{:>7} {:>5}", stats.cwnd, stats.packet_bytes));
    }
    while [0, 1].into_iter().any(|who| world.peek(who).received().len() < messages[1 - who].len()) {
        assert!(world.step() && world.now < Time::START + Span::from_secs(600));
    }
    let took = world.now.seconds();
    let [sender, other] = [0, 1].map(|who| world.peek(who).stats().expect("it is open"));
    for (who, message) in messages.iter().enumerate() {
        assert!(world.peek(1 - who).received() == &message[..], "not what was written");
    }
    world.run(Time::START + Span::from_secs(7200));
    for who in [0, 1] {
        assert_eq!((world.peek(who).is_over(), world.peek(who).failure()), (true, None));
    }
    format!(
        "{took:>9.6} {:>5} {:>5} {:>4} {:>4} {:>3} {:>4} {:>7} {:>6} {} {:>5} {:>5} {:>8}",
        sender.packets_sent,
        sender.packets_retransmitted,
        sender.packets_lost,
        sender.reductions,
        sender.timeouts,
        sender.probes_lost,
        sender.srtt.nanos() / 1000,
        sender.queueing_delay.nanos() / 1000,
        windows.join(" "),
        other.packets_sent,
        other.packets_retransmitted,
        other.rto.nanos() / 1000,
    )
}

fn variants() -> Vec<(String, Config)> {
    let mut variants: Vec<(String, Config)> =
        profiles::all().into_iter().map(|config| (config.name.to_string(), config)).collect();
    for controller in Kind::ALL {
        let pacing = if controller.needs_rates() { Pacing::Fq } else { Pacing::Off };
        let ledbat = controller.ledbat();
        let config = Config { controller, ledbat, pacing, ..profiles::libutp() };
        variants.push((format!("libutp, {}", controller.name()), config));
    }
    let mut switch = |name: &str, change: &dyn Fn(&mut Config)| {
        for base in [profiles::libutp(), profiles::libtorrent()] {
            let mut config = base;
            change(&mut config);
            variants.push((format!("{}, {name}", config.name), config));
        }
    };
    switch("paced", &|config| config.pacing = Pacing::Fq);
    switch("no masks", &|config| config.sack = SackPolicy::Off);
    switch("three duplicates", &|config| config.loss_detection.duplicate_acks = 3);
    switch("duplicates as TCP's", &|config| config.loss_detection.any_window = false);
    switch("duplicates in a row", &|config| config.loss_detection.in_a_row = true);
    switch("masks count alone", &|config| config.masked_bytes_only = true);
    switch("Nagle", &|config| config.nagle = Nagle::Minshall);
    switch("no Nagle", &|config| config.nagle = Nagle::Off);
    switch("packets of 350", &|config| config.packet_size = PacketSize::Fixed { bytes: 350 });
    switch("steps", &|config| config.packet_size = profiles::alpha2().packet_size);
    switch("acks delayed", &|config| {
        config.delayed_ack = DelayedAck { bytes: 2400, max_ns: Span::from_millis(100) };
    });
    switch("timers at once", &|config| config.timer_grain_ns = Span::ZERO);
    switch("timer that doubles", &|config| {
        config.backoff = Backoff::Doubling;
        config.idle_timer = IdleTimer::BackingOff;
    });
    switch("timer by seconds", &|config| {
        config.backoff = Backoff::Seconds;
        config.idle_timer = IdleTimer::Steady;
    });
    switch("small window", &|config| {
        config.receive_buffer_bytes = 9_000;
        config.small_window = SmallWindow::Wait;
    });
    switch("exact window", &|config| config.window_fill = WindowFill::Exact { least_bytes: 150 });
    variants
}

#[test]
fn two_storms() {
    let columns = "   took s  sent again lost cuts TOs prob srtt us  queue \
                   cwnd, packet: 1.5 s,         4 s,          7 s  back again   RTO us";
    insta::assert_snapshot!(crate::storms::table(columns, &variants(), transfer));
}
