use crate::{numbers, plan, seconds};
use flashcrowd_base::Span;
use flashcrowd_plan::{PageSize, Plan, Reading, Web, Workload};
use flashcrowd_workload::Webs;
use proptest::prelude::*;

/// Two users of pages of about 100 kB over up to six connections.
pub(crate) fn reading() -> Plan {
    plan(vec![Workload::Web(Web {
        name: "news".to_owned(),
        from: 1,
        to: 2,
        transport: None,
        users: 2,
        connections: 6,
        request_bytes: 400,
        page: PageSize {
            median_bytes: 100_000,
            sigma: 1.0,
            tail_from_bytes: 1_000_000,
            tail_shape: 1.1,
            largest_bytes: 10_000_000,
        },
        reading: Reading::Exponential { mean_ns: Span::from_secs(5) },
        start_ns: Span::from_secs(1),
        spread_ns: Span::from_secs(3),
        stop_ns: None,
    })])
}

#[test]
fn the_third_page_is_the_same_however_long_the_first_two_took() {
    let lengths = |slow: u64, lost: bool| {
        let mut webs = Webs::new(&reading(), 7);
        let user = &mut webs.users[0];
        let mut now = user.start;
        for _ in 0..3 {
            user.ask(now).expect("nobody has stopped");
            now += Span::from_secs(slow);
            let next = if lost { user.lose(now) } else { user.complete(now) };
            now = next.expect("nobody has stopped");
        }
        user.pages.iter().map(|page| page.bytes).collect::<Vec<_>>()
    };
    assert_eq!(lengths(1, false), lengths(50, true));
}

#[test]
fn who_stops_gives_up_what_is_under_way_and_asks_no_more() {
    let mut webs = Webs::new(&reading(), 7);
    let user = &mut webs.users[1];
    assert!(!user.stop(), "nothing is under way");
    assert!(user.ask(seconds(9)).is_none());
    let user = &mut webs.users[0];
    user.ask(seconds(2));
    user.receive(seconds(3), 500);
    assert!(user.stop());
    assert!(!user.stop(), "it is given up once");
    assert_eq!(user.complete(seconds(4)), None);
    assert_eq!(webs.payload_bytes(), 500);
}

#[test]
fn lost_pages_and_silence_are_told() {
    let mut webs = Webs::new(&reading(), 7);
    webs.users[0].ask(seconds(2));
    assert!(webs.undelivered(seconds(2)).is_empty());
    assert_eq!(webs.undelivered(seconds(3)), ["web news: no byte arrived of 1 pages"]);
    webs.users[1].ask(seconds(2));
    webs.users[1].lose(seconds(4));
    let line = "web news: 1 of 2 pages lost the connection, the first (page 0 of user 1 at 4.0 s)";
    assert_eq!(webs.undelivered(seconds(5)), [line]);
    let table = webs.table();
    assert_eq!(numbers(&table, "duration_s"), [-1.0, -1.0], "neither has a time");
    webs.users[0].receive(seconds(6), 1);
    webs.users[0].complete(seconds(7));
    let table = webs.table();
    assert_eq!(numbers(&table, "first_byte_s"), [6.0, -1.0]);
    assert_eq!(numbers(&table, "duration_s"), [5.0, -1.0]);
}

proptest! {
    /// Connections bring all of a page, in parts that differ by a byte at most, and none brings nothing.
    #[test]
    fn parts_are_the_page(connections in 1_u32..40, seed in 0_u64..50) {
        let mut webs = Webs::new(&reading(), seed);
        let page = webs.users[0].ask(seconds(1)).expect("nobody has stopped");
        let parts: Vec<u64> = page.parts(connections).collect();
        prop_assert_eq!(parts.iter().sum::<u64>(), page.bytes);
        prop_assert_eq!(parts.len() as u64, u64::from(connections).min(page.bytes));
        let (least, most) = (parts.iter().min(), parts.iter().max());
        prop_assert!(least.zip(most).is_some_and(|(least, most)| *least > 0 && most - least <= 1));
    }
}
