use crate::{millis, numbers, plan, seconds};
use flashcrowd_base::Span;
use flashcrowd_plan::{Ping, Plan, Window, Windowed, Workload};
use flashcrowd_workload::Pings;
use proptest::prelude::*;

/// A request each second from 2 s on, until 8 s.
pub(crate) fn pinging() -> Plan {
    plan(vec![Workload::Ping(Ping {
        name: "game".to_owned(),
        from: 1,
        to: 2,
        size_bytes: 64,
        interval_ns: Span::from_secs(1),
        start_ns: Span::from_secs(2),
        stop_ns: Some(Span::from_secs(8)),
    })])
}

#[test]
fn requests_keep_their_instants_when_one_is_late() {
    let mut pings = Pings::new(&pinging());
    let ping = &mut pings.all[0];
    assert_eq!(ping.next_due(), seconds(2));
    assert_eq!(ping.send(millis(2700)), Some(0));
    assert_eq!(ping.next_due(), seconds(3), "what was late moves nothing");
    assert_eq!(ping.send(seconds(3)), Some(1));
    ping.answer(0, millis(2750));
    ping.answer(0, millis(2900));
    assert_eq!(ping.echoes[0], (millis(2700), Some(Span::from_millis(50))), "the first answer");
    ping.answer(9, seconds(4));
    assert_eq!(ping.echoes.len(), 2, "nobody sent the ninth");
}

#[test]
fn it_ends_by_its_time_and_by_the_timeline() {
    let mut pings = Pings::new(&pinging());
    let sent = |pings: &mut Pings| {
        let due = pings.all[0].next_due();
        pings.all[0].send(due)
    };
    let all: Vec<u64> = std::iter::from_fn(|| sent(&mut pings)).collect();
    assert_eq!(all, [0, 1, 2, 3, 4, 5], "none at 8 s");
    let mut pings = Pings::new(&pinging());
    assert_eq!(sent(&mut pings), Some(0));
    pings.stop(7);
    assert_eq!(sent(&mut pings), Some(1), "another workload was stopped");
    pings.stop(0);
    assert_eq!(sent(&mut pings), None);
}

#[test]
fn silence_is_told_once_it_is_due() {
    let mut pings = Pings::new(&pinging());
    pings.all[0].send(seconds(2));
    assert!(pings.undelivered(millis(2900)).is_empty(), "an answer may be under way");
    let line = "ping game: no answer arrived to 1 requests";
    assert_eq!(pings.undelivered(seconds(3)), [line]);
    pings.all[0].answer(0, seconds(4));
    assert!(pings.undelivered(seconds(5)).is_empty());
}

proptest! {
    /// A row for each request that was sent inside of the window, with its own number.
    #[test]
    fn a_window_takes_rows_and_changes_none(from in 0_u64..10, length in 0_u64..10, lost in 0_u64..6) {
        let mut windowed = pinging();
        windowed.measures.windows.push(Window {
            table: Windowed::Pings,
            from_ns: Span::from_secs(from),
            to_ns: Some(Span::from_secs(from + length)),
        });
        let played = |plan: &Plan| {
            let mut pings = Pings::new(plan);
            while let Some(number) = { let due = pings.all[0].next_due(); pings.all[0].send(due) } {
                if number != lost {
                    let (sent, _) = pings.all[0].echoes[number as usize];
                    pings.all[0].answer(number, sent + Span::from_millis(10 + number));
                }
            }
            pings.table()
        };
        let (all, some) = (played(&pinging()), played(&windowed));
        let rows = |table| {
            let [seq, sent, rtt] = ["seq", "sent_s", "rtt_s"].map(|name| numbers(table, name));
            (0..seq.len()).map(|row| [seq[row], sent[row], rtt[row]]).collect::<Vec<_>>()
        };
        let inside: Vec<[f64; 3]> = rows(&all)
            .into_iter()
            .filter(|row| (from as f64..(from + length) as f64).contains(&row[1]))
            .collect();
        prop_assert_eq!(rows(&some), inside);
    }
}
