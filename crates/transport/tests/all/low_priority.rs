//! What gives way to TCP, and what becomes of it when TCP has gone.

use crate::bottleneck::{Bottleneck, Flow, Path, at, shares};
use flashcrowd_transport::congestion::Kind;

const KINDS: [Kind; 5] = [Kind::Vegas, Kind::Nice, Kind::Lp, Kind::Ledbat, Kind::Fledbat];

fn flow(kind: Kind, path: &Path, start: u64) -> Flow {
    Flow::new(kind, kind.ledbat(), path, at(start))
}

/// 200 packets are 240 ms, nearly five times the path: a flow that fills them leaves little to one that goes by delay.
/// When it has gone, TCP-LP, which halves for 4 ms of its own queue, uses half of the line, and the others all of it.
#[test]
fn they_give_way_to_new_reno_and_use_what_it_leaves() {
    let path = Path { buffer: 200, ..Path::ten_megabits() };
    for kind in KINDS {
        for start in [0, 5] {
            let flows = vec![flow(Kind::NewReno, &path, start), flow(kind, &path, 5 - start)];
            let mut both = Bottleneck::new(path.clone(), flows);
            both.run_until(at(30));
            let share = shares(&both.deliver_until(at(150)))[1];
            assert!(share < 0.1, "{kind:?}: {share} beside NewReno");
            both.flows[0].cap = 0;
            both.run_until(at(160));
            let rate = both.deliver_until(at(260))[1] as f64 * 8e-6 / 100.0;
            let expected = if kind == Kind::Lp { 4.5..6.0 } else { 9.3..9.5 };
            assert!(expected.contains(&rate), "{kind:?}: {rate} Mbit/s afterwards");
        }
    }
}

/// A NICE flow that has never met a queue takes a packet's wait for one: 1.2 ms of the 5 that its own slow start made.
#[test]
fn nice_has_to_meet_a_queue_before_it_fills_a_line() {
    let path = Path { buffer: 200, ..Path::ten_megabits() };
    let mut alone = Bottleneck::new(path.clone(), vec![flow(Kind::Nice, &path, 0)]);
    alone.run_until(at(30));
    let rate = alone.deliver_until(at(150))[0] as f64 * 8e-6 / 120.0;
    assert!((0.3..1.0).contains(&rate), "{rate} Mbit/s");
}
