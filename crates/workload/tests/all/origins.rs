use crate::{millis, seconds};
use flashcrowd_workload::Outcome;
use flashcrowd_workload::origin::{Client, stalled, undelivered, unfinished};

/// A client that came at 1 s, and to which nothing has come.
fn silent(number: u32) -> Client {
    Client { number, arrived: seconds(1), left: None, bytes: 0, is_silent: true, is_lost: false }
}

fn served(number: u32) -> Client {
    Client { bytes: 300, is_silent: false, ..silent(number) }
}

fn lost(number: u32) -> Client {
    Client { left: Some(seconds(4)), is_lost: true, ..served(number) }
}

#[test]
fn lost_clients_and_silence_are_reported() {
    let line = |came: &[Client]| undelivered("mirror", came, seconds(9), None);
    assert_eq!(line(&[]), None);
    assert_eq!(line(&[silent(0), served(1)]), None, "a queue may be long");
    let words = "origin mirror: no block arrived at 2 clients";
    assert_eq!(line(&[silent(0), silent(1)]).as_deref(), Some(words));
    let words = "origin mirror: 2 of 3 clients lost the connection, \
                the first (client 1 at 4.0 s after 300 bytes)";
    assert_eq!(line(&[silent(0), lost(1), lost(2)]).as_deref(), Some(words));
    let early = undelivered("mirror", &[silent(0)], millis(1900), None);
    assert_eq!(early, None, "a first block may be under way");
}

#[test]
fn a_cut_covers_silence_but_no_lost_connection() {
    let outcomes = [
        (Outcome::Stalled(String::new()), false),
        (Outcome::Horizon(String::new()), false),
        (Outcome::Completed, true),
        (Outcome::Stopped(String::new()), true),
    ];
    for (outcome, reported) in outcomes {
        let of = |client| undelivered("mirror", &[client], seconds(9), Some(&outcome));
        assert_eq!(of(silent(0)).is_some(), reported, "{outcome:?}");
        assert!(of(lost(0)).is_some(), "{outcome:?}");
    }
}

#[test]
fn what_an_origin_waits_for_is_counted() {
    assert_eq!(unfinished("mirror", 3, 5), "origin mirror: 3 of 5 downloads are complete");
    let words = "origin mirror: no block reached any of 2 clients since 12.000000 s";
    assert_eq!(stalled("mirror", 2, seconds(12)), words);
}
