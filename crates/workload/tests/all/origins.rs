use crate::{millis, numbers, plan, seconds, words};
use flashcrowd_base::{Span, Time};
use flashcrowd_origin::Settings;
use flashcrowd_origin::disk::{Medium, Ssd};
use flashcrowd_plan::{
    Arrivals, Clients, Files, Origin, Plan, Sampled, Series, Window, Windowed, Workload,
};
use flashcrowd_workload::origin::{Counts, Ledger, Status};
use flashcrowd_workload::{Origins, Outcome};
use proptest::prelude::*;

const BLOCK: u64 = 1 << 14;
/// Two blocks, and one that is shorter.
const SIZE: u64 = 2 * BLOCK + 100;

/// A server of a file, to which a client comes each second from the first one on.
fn origin(clients: u32) -> Origin {
    Origin {
        name: "mirror".to_owned(),
        host: 0,
        transport: None,
        files: Files { count: 1, size_bytes: SIZE, zipf: 0.0 },
        settings: Settings { block_bytes: BLOCK as u32, ..Settings::default() },
        disk: Medium::Ssd(Ssd::default()),
        unsent_bytes: 1 << 14,
        request_bytes: 400,
        head_bytes: 300,
        part_bytes: 100,
        populations: vec![Clients {
            name: "all".to_owned(),
            hosts: (1..=clients).collect(),
            in_order: false,
            arrivals: Arrivals::Times {
                at_ns: (1..=clients.into()).map(Span::from_secs).collect(),
            },
        }],
    }
}

fn plan_of(clients: u32) -> Plan {
    plan(vec![Workload::Origin(origin(clients))])
}

/// Those of one server, whose clients have all come at 1 s.
fn crowd(clients: u32) -> Origins {
    let mut origins = Origins::new(&plan_of(clients), 7);
    for number in 0..clients {
        assert!(origins.origins[0].come(seconds(1), number));
    }
    origins
}

#[test]
fn lost_clients_and_silence_are_reported() {
    let line = |origins: &Origins| origins.undelivered(seconds(9), None).pop();
    assert_eq!(line(&Origins::new(&plan_of(2), 7)), None);
    let mut origins = crowd(3);
    assert_eq!(origins.undelivered(millis(1900), None).pop(), None, "a block may be under way");
    origins.origins[0].receive(seconds(3), 1, 0..BLOCK - 1);
    let silent = "origin mirror: no block arrived at 3 clients";
    assert_eq!(line(&origins).as_deref(), Some(silent), "a part of a block is none");
    origins.origins[0].receive(seconds(3), 1, BLOCK - 1..BLOCK + 9);
    assert_eq!(line(&origins), None, "a queue may be long");
    origins.origins[0].lose(seconds(4), 1);
    origins.origins[0].lose(seconds(5), 2);
    let lost = "origin mirror: 2 of 3 clients lost the connection, \
               the first (client 1 at 4.0 s after 16384 bytes)";
    assert_eq!(line(&origins).as_deref(), Some(lost));
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
        let mut origins = crowd(1);
        let found = origins.undelivered(seconds(9), Some(&outcome));
        assert_eq!(found.len() == 1, reported, "{outcome:?}");
        origins.origins[0].lose(seconds(3), 0);
        assert_eq!(origins.undelivered(seconds(9), Some(&outcome)).len(), 1, "{outcome:?}");
    }
}

#[test]
fn a_server_stalls_if_no_block_reaches_a_client_that_is_here() {
    let mut origins = Origins::new(&plan_of(3), 7);
    assert_eq!(origins.stalled(seconds(900)), None, "no client is here");
    origins.origins[0].come(seconds(1), 0);
    origins.origins[0].come(seconds(2), 1);
    origins.origins[0].receive(seconds(12), 1, 0..BLOCK);
    origins.origins[0].receive(seconds(20), 1, BLOCK..BLOCK + 1);
    assert_eq!(origins.stalled(millis(51_999)), None);
    let words = "origin mirror: no block reached any of 2 clients since 12.000000 s";
    assert_eq!(origins.stalled(seconds(52)).as_deref(), Some(words));
    assert_eq!(origins.unfinished(), ["origin mirror: 0 of 3 downloads are complete"]);
    origins.origins[0].come(seconds(52), 2);
    assert_eq!(origins.stalled(seconds(91)), None, "a client has come since then");
    assert!(origins.stalled(seconds(92)).is_some());
    for number in 0..3 {
        origins.origins[0].leave(seconds(92), number);
    }
    assert_eq!(origins.stalled(seconds(900)), None);
    assert!(origins.is_done());
}

#[test]
fn a_stop_sends_clients_away() {
    let mut origins = Origins::new(&plan_of(3), 7);
    origins.origins[0].come(seconds(1), 0);
    origins.origins[0].come(seconds(2), 1);
    assert!(origins.origins[0].receive(seconds(3), 1, 0..SIZE), "it has all");
    assert_eq!(origins.unfinished(), ["origin mirror: 1 of 3 downloads are complete"]);
    assert!(!origins.is_done());
    assert_eq!(origins.origins[0].stop(seconds(4)), [0]);
    assert!(origins.is_done());
    assert!(!origins.origins[0].come(seconds(5), 2));
    assert!(!origins.origins[0].receive(seconds(5), 0, 0..SIZE), "it has left");
    let [downloads, _] = origins.tables(&plan_of(3), 0..1, vec![Default::default()]);
    assert_eq!(numbers(&downloads, "peer"), [0.0, 1.0]);
    assert_eq!(numbers(&downloads, "completed_s"), [-1.0, 3.0]);
    assert_eq!(numbers(&downloads, "left_s"), [4.0, 3.0]);
}

#[test]
fn a_download_counts_if_its_client_is_due_in_the_window() {
    let mut plan = plan_of(4);
    let (from_ns, to_ns) = (Span::from_secs(2), Some(Span::from_secs(4)));
    plan.measures.windows = vec![Window { table: Windowed::Origins, from_ns, to_ns }];
    let mut origins = Origins::new(&plan, 7);
    for number in 0..4 {
        // A program is late.
        origins.origins[0].come(millis(1100 + 1000 * u64::from(number)), number);
    }
    origins.origins[0].receive(seconds(9), 2, BLOCK..SIZE);
    origins.origins[0].receive(seconds(9), 2, 0..BLOCK);
    let count = |at, sent| {
        let mut counts = Counts { at, ..Counts::default() };
        counts.machine.sent = sent;
        counts
    };
    let counts = vec![(count(seconds(2), 100), count(seconds(4), 400))];
    let [downloads, table] = origins.tables(&plan, 0..1, counts);
    assert_eq!(numbers(&downloads, "peer"), [1.0, 2.0]);
    assert_eq!(words(&downloads, "host"), ["host-2", "host-3"]);
    assert_eq!(words(&downloads, "swarm"), ["mirror", "mirror"]);
    assert_eq!(words(&downloads, "population"), ["all", "all"]);
    assert_eq!(numbers(&downloads, "arrived_s"), [2.1, 3.1]);
    assert_eq!(numbers(&downloads, "duration_s"), [-1.0, (seconds(9) - millis(3100)).seconds()]);
    assert_eq!(numbers(&downloads, "downloaded_bytes"), [0.0, SIZE as f64]);
    assert_eq!(numbers(&downloads, "pieces"), [0.0, 3.0]);
    for (column, value) in [("downloads", 2.0), ("completed", 1.0), ("sent_bytes", 300.0)] {
        assert_eq!(numbers(&table, column), [value], "{column}");
    }
    assert_eq!(numbers(&table, "network_bps"), [1200.0]);
}

#[test]
fn each_server_has_its_place() {
    let stalled = Origin { name: "slow".to_owned(), ..origin(1) };
    let both = plan(vec![Workload::Origin(origin(2)), Workload::Origin(stalled)]);
    let mut origins = Origins::new(&both, 7);
    assert_eq!([0, 1, 2].map(|it| origins.place_of(it)), [Some(0), Some(1), None]);
    origins.origins[0].come(seconds(1), 0);
    origins.origins[1].come(seconds(1), 0);
    origins.origins[0].receive(seconds(30), 0, 0..SIZE);
    let words = "origin slow: no block reached any of 1 clients since 1.000000 s";
    assert_eq!(origins.stalled(seconds(41)).as_deref(), Some(words));
    assert_eq!(origins.payload_bytes(), SIZE);
    assert_eq!(origins.progress(), 1.0 / 3.0);
    let [downloads, table] = origins.tables(&both, 1..2, vec![Default::default()]);
    assert_eq!(self::words(&downloads, "swarm"), ["slow"]);
    assert_eq!(self::words(&table, "origin"), ["slow"]);
}

/// A server that has sent 1000 bytes and read 500 a second, by this instant.
fn status(at: Time) -> Status {
    let mut counts = Counts { at, ..Counts::default() };
    counts.machine.sent = (at.seconds() * 1000.0) as u64;
    counts.machine.read = counts.machine.sent / 2;
    Status { counts, queued_reads: 4, waiting: 5, online: 7 }
}

/// The ledger of such a server, each time asked half a second late, until a run ends.
fn kept(plan: &Plan, end: Time) -> Ledger {
    let mut ledger = Ledger::new(plan);
    while ledger.due() < Time::NEVER && ledger.due() + Span::from_millis(500) < end {
        ledger.look(&status(ledger.due() + Span::from_millis(500)));
    }
    ledger.close(&status(end));
    ledger.close(&status(end + Span::from_secs(9)));
    ledger
}

#[test]
fn what_a_server_did_counts_in_the_window() {
    let counted = |window: Option<(u64, Option<u64>)>, end| {
        let mut plan = plan_of(1);
        let window = window.map(|(from, to)| Window {
            table: Windowed::Origins,
            from_ns: Span::from_secs(from),
            to_ns: to.map(Span::from_secs),
        });
        plan.measures.windows = window.into_iter().collect();
        let (from, to) = kept(&plan, seconds(end)).done();
        (from.at.seconds(), from.machine.sent, to.at.seconds(), to.machine.sent)
    };
    assert_eq!(counted(None, 8), (0.0, 0, 8.0, 8000));
    assert_eq!(counted(Some((4, Some(10))), 20), (4.5, 4500, 10.5, 10_500));
    assert_eq!(counted(Some((4, None)), 20), (4.5, 4500, 20.0, 20_000));
    assert_eq!(counted(Some((4, Some(10))), 8), (4.5, 4500, 8.0, 8000));
    assert_eq!(counted(Some((4, Some(10))), 3), (3.0, 3000, 3.0, 3000), "it did nothing in it");
    let mut plan = plan_of(1);
    let (from_ns, to_ns) = (Span::from_secs(4), Some(Span::from_secs(5)));
    plan.measures.windows = vec![Window { table: Windowed::Origins, from_ns, to_ns }];
    let mut ledger = Ledger::new(&plan);
    ledger.close(&status(seconds(9)));
    let (from, to) = ledger.done();
    assert_eq!((from.at, to.at), (seconds(9), seconds(9)), "it was asked too late");
}

#[test]
fn series_of_a_server_are_rates_and_levels_at_their_instants() {
    let mut plan = plan_of(1);
    let every = |what, every: u64| Series { what, every_ns: Span::from_secs(every) };
    plan.measures.series = vec![
        every(Sampled::OriginRate, 2),
        every(Sampled::QueueDelay, 1),
        every(Sampled::DiskRate, 4),
        every(Sampled::DiskQueue, 4),
        every(Sampled::DiskWaiting, 4),
        every(Sampled::OriginClients, 4),
    ];
    let table = kept(&plan, seconds(7)).series("mirror");
    let found: Vec<(&str, f64, f64)> = words(&table, "what")
        .into_iter()
        .zip(numbers(&table, "t_s").into_iter().zip(numbers(&table, "value")))
        .map(|(what, (at, value))| (what, at, value))
        .collect();
    let of = |name: &str| -> Vec<(f64, f64)> {
        let mine = found.iter().filter(|(what, ..)| *what == name);
        mine.map(|(_, at, value)| (*at, *value)).collect()
    };
    let rates = [(0.0, 2000.0), (2.0, 8000.0), (4.0, 8000.0), (6.0, 8000.0)];
    assert_eq!(of("origin-rate"), rates);
    assert_eq!(of("disk-rate"), [(0.0, 500.0), (4.0, 4000.0)]);
    assert_eq!(of("disk-queue"), [(0.0, 4.0), (4.0, 4.0)]);
    assert_eq!(of("disk-waiting"), [(0.0, 5.0), (4.0, 5.0)]);
    assert_eq!(of("origin-clients"), [(0.0, 7.0), (4.0, 7.0)]);
    assert_eq!(found.len(), 4 + 4 * 2, "the network's are not a server's");
    assert!(words(&table, "source").iter().all(|source| *source == "mirror"));
}

/// What may happen, after some milliseconds: to which client, and what.
#[derive(Clone, Copy, Debug)]
enum Step {
    Come,
    /// The next bytes of its file.
    Receive(u64),
    Leave,
    Lose,
    Stop,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => Just(Step::Come),
        8 => (1..SIZE).prop_map(Step::Receive),
        1 => Just(Step::Leave),
        1 => Just(Step::Lose),
        1 => Just(Step::Stop),
    ]
}

/// A client as a test sees it: when it came and left, and its bytes.
#[derive(Clone, Copy, Default)]
struct Seen {
    due: bool,
    came: Option<Time>,
    left: bool,
    bytes: u64,
}

proptest! {
    #[test]
    fn whatever_happens_counts_add_up(
        steps in proptest::collection::vec((0..30_000_u64, 0..5_u32, step()), 1..80)
    ) {
        let plan = plan_of(5);
        let mut origins = Origins::new(&plan, 7);
        let mut seen = [Seen::default(); 5];
        let (mut now, mut moved, mut stopped) = (Time::START, Time::START, false);
        for (after, number, step) in steps {
            now += Span::from_millis(after);
            let (it, origin) = (&mut seen[number as usize], &mut origins.origins[0]);
            let is_here = it.came.is_some() && !it.left;
            match step {
                Step::Come if !it.due => {
                    it.due = true;
                    prop_assert_eq!(origin.come(now, number), !stopped);
                    if !stopped {
                        (it.came, moved) = (Some(now), now);
                    }
                }
                Step::Come => {}
                Step::Receive(bytes) => {
                    let end = (it.bytes + bytes).min(SIZE);
                    let whole = origin.receive(now, number, it.bytes..end);
                    prop_assert_eq!(whole, is_here && end == SIZE);
                    if is_here {
                        let is_block = whole || end / BLOCK > it.bytes / BLOCK;
                        moved = if is_block { now } else { moved };
                        (it.bytes, it.left) = (end, whole);
                    }
                }
                Step::Leave => {
                    prop_assert_eq!(origin.leave(now, number), is_here);
                    it.left |= is_here;
                }
                Step::Lose => {
                    origin.lose(now, number);
                    it.left |= is_here;
                }
                Step::Stop => {
                    stopped = true;
                    origin.stop(now);
                    seen.iter_mut().for_each(|it| it.left |= it.came.is_some());
                }
            }
            let here = seen.iter().filter(|it| it.came.is_some() && !it.left).count();
            prop_assert_eq!(origins.origins[0].online() as usize, here);
            let all_came = seen.iter().all(|it| it.due);
            prop_assert_eq!(origins.is_done(), here == 0 && (stopped || all_came));
            prop_assert_eq!(origins.unfinished().is_empty(), origins.is_done());
            let idle = now.since(moved) >= Span::from_secs(40);
            prop_assert_eq!(origins.stalled(now).is_some(), here > 0 && idle);
        }
        let [downloads, _] = origins.tables(&plan, 0..1, vec![Default::default()]);
        let came = || seen.iter().filter(|it| it.came.is_some());
        let whole = |bytes: u64| if bytes == SIZE { SIZE } else { bytes - bytes % BLOCK };
        let bytes: Vec<f64> = came().map(|it| whole(it.bytes) as f64).collect();
        prop_assert_eq!(numbers(&downloads, "downloaded_bytes"), bytes);
        let blocks: Vec<f64> = came().map(|it| whole(it.bytes).div_ceil(BLOCK) as f64).collect();
        prop_assert_eq!(numbers(&downloads, "pieces"), blocks);
        let has_left = numbers(&downloads, "left_s").into_iter().map(|it| it >= 0.0);
        prop_assert_eq!(has_left.collect::<Vec<_>>(), came().map(|it| it.left).collect::<Vec<_>>());
        let done = numbers(&downloads, "completed_s").into_iter().map(|it| it >= 0.0);
        prop_assert_eq!(
            done.collect::<Vec<_>>(),
            came().map(|it| it.bytes == SIZE).collect::<Vec<_>>()
        );
    }
}
