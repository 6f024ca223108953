use crate::seconds;
use flashcrowd_base::Time;
use flashcrowd_workload::{Ending, Outcome};

/// Workloads that answer so.
#[derive(Clone, Default)]
struct Given {
    failed: Option<String>,
    stalled: Option<String>,
    is_finite: bool,
    is_done: bool,
    stopped: Option<String>,
    unfinished: Vec<String>,
}

impl Ending for Given {
    fn failed(&self) -> Option<String> {
        self.failed.clone()
    }
    fn stalled(&mut self, _now: Time) -> Option<String> {
        self.stalled.clone()
    }
    fn is_finite(&self) -> bool {
        self.is_finite
    }
    fn is_done(&self) -> bool {
        self.is_done
    }
    fn stopped(&self) -> Option<String> {
        self.stopped.clone()
    }
    fn unfinished(&self) -> Vec<String> {
        self.unfinished.clone()
    }
}

fn look(mut given: Given, at_s: u64, ended: bool) -> Option<Outcome> {
    given.look(seconds(at_s), seconds(60), ended)
}

#[test]
fn a_run_that_cannot_finish_ends_at_its_horizon() {
    let given = Given { is_done: true, ..Given::default() };
    assert_eq!(look(given.clone(), 59, true), None, "nothing of it is finite");
    assert_eq!(look(given, 60, false), Some(Outcome::Completed));
}

#[test]
fn a_run_ends_when_something_has_ended_and_nothing_is_left() {
    let given = Given { is_finite: true, is_done: true, ..Given::default() };
    assert_eq!(look(given.clone(), 3, false), None);
    assert_eq!(look(given.clone(), 3, true), Some(Outcome::Completed));
    let stopped = Some("it".to_owned());
    let given = Given { stopped, ..given };
    assert_eq!(look(given.clone(), 3, true), Some(Outcome::Stopped("it".to_owned())));
    assert_eq!(look(Given { is_done: false, ..given }, 3, true), None);
}

#[test]
fn what_comes_first_is_how_it_ended() {
    let mut given = Given {
        failed: Some("a program".to_owned()),
        stalled: Some("a swarm".to_owned()),
        is_finite: true,
        is_done: true,
        unfinished: vec!["one".to_owned(), "two".to_owned()],
        ..Given::default()
    };
    assert_eq!(look(given.clone(), 60, true), Some(Outcome::Failed("a program".to_owned())));
    given.failed = None;
    assert_eq!(look(given.clone(), 60, true), Some(Outcome::Stalled("a swarm".to_owned())));
    given.stalled = None;
    assert_eq!(look(given.clone(), 60, true), Some(Outcome::Completed), "before the horizon");
    given.is_done = false;
    assert_eq!(look(given, 60, true), Some(Outcome::Horizon("one; two".to_owned())));
}

#[test]
fn a_run_that_failed_stays_so() {
    let failed = Outcome::Failed("a program".to_owned());
    assert_eq!(failed.words(), ("failed", "a program"));
    assert!(!failed.is_cut());
    assert_eq!(failed.clone().with_undelivered(vec!["nothing".to_owned()]), failed);
}
