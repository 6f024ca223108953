//! Canned cases, packet by packet: libutp with itself, and ours with ours beside it.

use super::host::{Application, Close, Host, Ours, message};
use super::theirs::Theirs;
use super::world::{Clock, Quiet, World};
use flashcrowd_base::{Span, Time};
use flashcrowd_oracle::Settings;
use flashcrowd_transport::utp::profiles;
use std::sync::Arc;

/// A caller and an answerer, 20 ms apart.
struct Case {
    applications: [Application; 2],
    /// Of the caller's datagrams: those lost, and those late.
    lost: Vec<u64>,
    late: Vec<(u64, Span)>,
    receive_buffer: u32,
}

impl Case {
    fn new(there: usize, back: usize) -> Case {
        let mut caller = Application::new(message(1, there), Close::Written);
        let mut answerer = Application::new(message(2, back), Close::Eof);
        caller.release = false;
        answerer.release = true;
        let (lost, late) = (Vec::new(), Vec::new());
        Case { applications: [caller, answerer], lost, late, receive_buffer: 1 << 20 }
    }

    /// libutp's clock must not be at 0, and its timers are examined at whole half seconds.
    const CLOCKS: [Clock; 2] = [Clock { offset: Span::from_secs(1000), drift_ppm: 0 }; 2];

    fn run<A: Host, B: Host>(&self, hosts: (A, B)) -> String {
        let forward = Quiet {
            delay: Span::from_millis(20),
            lost: self.lost.clone(),
            late: self.late.clone(),
        };
        let mut world = World::new(hosts, [forward, Quiet::new(20)], Case::CLOCKS);
        world.log = Some(Vec::new());
        world.run(Time::START + Span::from_secs(100));
        for who in 0..2 {
            let message = &self.applications[1 - who].message;
            assert!(world.peek(who).received() == message, "not what was written");
        }
        world.trace()
    }

    /// Both stacks, each with itself.
    fn table(&self) -> String {
        let start = Case::CLOCKS[0].local(Time::START);
        let mut config = profiles::libutp();
        config.receive_buffer_bytes = u64::from(self.receive_buffer);
        let config = Arc::new(config);
        let [caller, answerer] = self.applications.clone();
        let ours = self.run((
            Ours::caller(&config, start, caller, (0x1101, 0x1202)),
            Ours::answerer(&config, answerer, 0x1303),
        ));
        let settings = |draws: &[u16]| Settings {
            draws: draws.to_vec(),
            receive_buffer: self.receive_buffer,
            ..Settings::default()
        };
        let [caller, answerer] = self.applications.clone();
        let theirs = self.run((
            Theirs::caller(&settings(&[0x1101, 0x1202]), start, caller),
            Theirs::answerer(&settings(&[0x1303]), answerer),
        ));
        format!("libutp\n{theirs}\nours\n{ours}")
    }
}

#[test]
fn clean() {
    insta::assert_snapshot!(Case::new(20_000, 0).table());
}

#[test]
fn one_loss() {
    let case = Case { lost: vec![4], ..Case::new(20_000, 0) };
    insta::assert_snapshot!(case.table());
}

#[test]
fn a_lost_tail() {
    let case = Case { lost: vec![5], ..Case::new(6_000, 0) };
    insta::assert_snapshot!(case.table());
}

#[test]
fn reordering() {
    let case = Case {
        late: vec![(3, Span::from_millis(5)), (8, Span::from_millis(30))],
        ..Case::new(20_000, 0)
    };
    insta::assert_snapshot!(case.table());
}

#[test]
fn a_closed_window() {
    let mut case = Case { receive_buffer: 3_000, ..Case::new(9_000, 0) };
    case.applications[1].lazy = Some((3_000, Span::from_secs(2)));
    insta::assert_snapshot!(case.table());
}

#[test]
fn data_both_ways_and_a_close_from_both_sides() {
    let mut case = Case::new(4_000, 4_000);
    case.applications[1].close = Close::Written;
    case.applications[1].release = false;
    insta::assert_snapshot!(case.table());
}
