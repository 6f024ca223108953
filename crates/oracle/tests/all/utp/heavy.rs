//! Under heavy loss each way ours takes as long as libutp, each with itself.

use super::host::{Application, Close, Host, Ours, message};
use super::theirs::Theirs;
use super::world::{Clock, Storm, World};
use flashcrowd_base::{RandomStream, Span, Time};
use flashcrowd_oracle::Settings;
use flashcrowd_transport::utp::profiles;
use std::sync::Arc;

const BYTES: usize = 300_000;
const CLOCKS: [Clock; 2] = [Clock { offset: Span::from_secs(1000), drift_ppm: 0 }; 2];

fn storm(seed: u64, way: u64, loss: f64) -> Storm {
    Storm {
        stream: RandomStream::new(seed, "heavy", way),
        until: Time::START + Span::from_secs(1_000_000),
        loss,
        duplication: 0.0,
        delay: Span::from_millis(20),
        jitter: Span::ZERO,
        jump: (Time::START, Span::ZERO),
        mtu: 1500,
        black_hole: false,
        spare: None,
    }
}

fn seconds<A: Host, B: Host>(hosts: (A, B), seed: u64, loss: f64) -> (f64, usize) {
    let mut world = World::new(hosts, [storm(seed, 0, loss), storm(seed, 1, loss)], CLOCKS);
    world.flush(0);
    while world.peek(1).received().len() < BYTES
        && world.now < Time::START + Span::from_secs(2000)
        && world.peek(0).failure().is_none()
        && world.step()
    {}
    let got = world.peek(1).received().len();
    (if got == BYTES { world.now.seconds() } else { f64::INFINITY }, got)
}

/// The times of those that have all bytes, sorted; and how many were opened.
fn times(loss: f64, run: impl Fn(u64) -> (f64, usize)) -> (Vec<f64>, usize) {
    let outcomes: Vec<(f64, usize)> = (0..100).map(run).collect();
    let mut whole: Vec<f64> =
        outcomes.iter().map(|it| it.0).filter(|seconds| seconds.is_finite()).collect();
    whole.sort_by(f64::total_cmp);
    let opened = outcomes.iter().filter(|it| it.1 > 0).count();
    let soon = whole.iter().filter(|seconds| **seconds < 400.0).count();
    let quartile = |part: usize| whole.get(whole.len() * part / 4).copied().unwrap_or(f64::NAN);
    println!(
        "loss {loss}: {opened} opened, {soon} whole within 400 s, {} in all; quartiles {:.1} {:.1} {:.1} s",
        whole.len(),
        quartile(1),
        quartile(2),
        quartile(3)
    );
    (whole, opened)
}

#[test]
fn under_heavy_loss_ours_takes_as_long_as_libutp() {
    let start = CLOCKS[0].local(Time::START);
    let config = Arc::new(profiles::libutp());
    let applications = |seed| {
        let caller = Application::new(message(seed, BYTES), Close::Written);
        (caller, Application::new(Vec::new(), Close::Eof))
    };
    for loss in [0.1, 0.2, 0.3] {
        let (ours, opened) = times(loss, |seed| {
            let (caller, answerer) = applications(seed);
            let caller = Ours::caller(&config, start, caller, (1, 1));
            seconds((caller, Ours::answerer(&config, answerer, 7)), seed, loss)
        });
        let (theirs, called) = times(loss, |seed| {
            let settings = Settings { seed, ..Settings::default() };
            let (caller, answerer) = applications(seed);
            let caller = Theirs::caller(&settings, start, caller);
            seconds((caller, Theirs::answerer(&settings, answerer)), seed, loss)
        });
        let share = |whole: usize, of: usize| whole as f64 / of as f64;
        let (mine, other) = (share(ours.len(), opened), share(theirs.len(), called));
        assert!((mine - other).abs() < 0.2, "{mine} and {other} of those that were opened");
        let ratio = ours[ours.len() / 2] / theirs[theirs.len() / 2];
        assert!((0.6..1.6).contains(&ratio), "the median is {ratio} of libutp's");
    }
}
