use crate::{numbers, plan, seconds};
use flashcrowd_base::Span;
use flashcrowd_plan::{Download, Plan, Workload};
use flashcrowd_workload::{Came, Division, Downloads, Ended, Request};
use proptest::prelude::*;
use std::iter::once;

/// A file of 1,000 bytes from hosts 1, 2 and 3 over four connections, in ranges of 100.
pub(crate) fn download() -> Download {
    Download {
        name: "image".to_owned(),
        from: 1,
        to: 0,
        mirrors: vec![2, 3],
        transport: None,
        size_bytes: 1000,
        connections: 4,
        range_bytes: Some(100),
        least_split_bytes: Some(10),
        use_head: true,
        request_bytes: 400,
        head_bytes: 300,
        start_ns: Span::from_secs(1),
        spread_ns: Span::ZERO,
        stop_ns: None,
    }
}

pub(crate) fn of(download: Download) -> Plan {
    plan(vec![Workload::Download(download)])
}

fn begun(download: Download) -> Downloads {
    let mut downloads = Downloads::new(&of(download), 7);
    downloads.downloads[0].begin(seconds(1));
    downloads
}

/// The connections that ask now, each with its server, and whether it is opened.
fn due(downloads: &mut Downloads) -> Vec<(u32, u32, bool, u64)> {
    let download = &mut downloads.downloads[0];
    let next = std::iter::from_fn(|| download.next_request(seconds(2)));
    next.map(|it: Request| (it.connection, it.server, it.opens, it.answer)).collect()
}

#[test]
fn the_first_server_is_asked_alone_and_then_each_mirror_by_one_connection() {
    let mut downloads = begun(download());
    assert_eq!(due(&mut downloads), [(0, 1, true, 300)]);
    assert_eq!(downloads.downloads[0].receive(seconds(2), 0, 299), Came::More);
    assert!(due(&mut downloads).is_empty(), "its head is not whole");
    assert_eq!(downloads.downloads[0].receive(seconds(2), 0, 1), Came::Answered);
    let expected = [(0, 1, false, 400), (1, 2, true, 300), (2, 3, true, 300), (3, 1, true, 400)];
    assert_eq!(due(&mut downloads), expected);
    // Without HEAD the length is known with the head of the first answer, and nothing waits for
    // mirrors.
    let mut downloads = begun(Download { use_head: false, ..download() });
    assert_eq!(due(&mut downloads), [(0, 1, true, 400)]);
    downloads.downloads[0].receive(seconds(2), 0, 300);
    assert_eq!(downloads.downloads[0].servers[0].first_byte, None, "a head is no byte of the file");
    downloads.downloads[0].receive(seconds(3), 0, 10);
    assert_eq!(downloads.downloads[0].servers[0].first_byte, Some(seconds(3)));
    assert_eq!(due(&mut downloads), [(1, 2, true, 400), (2, 3, true, 400), (3, 1, true, 400)]);
}

#[test]
fn equal_parts_are_one_for_each_connection_and_one_connection_asks_for_all() {
    let parts = |connections, range| {
        let mut division = Division::new(once(0..1001), connections, range, None);
        (0..connections).map(|it| division.ask(it)).collect::<Vec<_>>()
    };
    assert_eq!(parts(1, Some(100)), [Some(0..1001)]);
    assert_eq!(parts(2, None), [Some(0..501), Some(501..1001)]);
    assert_eq!(parts(3, Some(100)), [Some(0..100), Some(100..200), Some(200..300)]);
}

#[test]
fn who_is_free_takes_half_of_the_longest_rest() {
    let mut division = Division::new(once(0..1000), 2, None, Some(100));
    assert_eq!(division.ask(0), Some(0..500));
    assert_eq!(division.ask(1), Some(500..1000));
    assert_eq!(division.receive(0, 100), (100, Came::More));
    assert_eq!(division.receive(1, 500), (500, Came::Answered));
    assert_eq!(division.ask(1), Some(300..500));
    // The answer to the first one goes on to byte 500; it has all that it is to bring.
    assert_eq!(division.receive(0, 250), (200, Came::Cut));
    assert_eq!(division.receive(1, 100), (100, Came::More));
    assert_eq!(division.ask(0), Some(450..500));
    assert!(!division.has_work(), "50 bytes are not halved");
    assert_eq!(division.receive(0, 50), (50, Came::Answered));
    assert_eq!(division.ask(0), None);
    assert_eq!(division.receive(1, 100), (50, Came::Cut));
    assert!(division.is_whole());
    // Without the rule no connection helps.
    let mut division = Division::new(once(0..1000), 2, None, None);
    division.ask(0);
    division.ask(1);
    division.receive(1, 500);
    assert_eq!(division.ask(1), None);
}

#[test]
fn a_lost_connection_goes_on_elsewhere_and_with_the_last_server_the_download_is_lost() {
    let mut downloads = begun(Download { connections: 1, ..download() });
    for server in [1, 2, 3] {
        assert_eq!(due(&mut downloads), [(0, server, true, 300)]);
        downloads.downloads[0].receive(seconds(2), 0, 300);
        assert_eq!(due(&mut downloads).len(), 1);
        downloads.downloads[0].receive(seconds(2), 0, 400);
        assert!(downloads.undelivered(seconds(9)).is_empty());
        downloads.downloads[0].lose(seconds(3), 0);
    }
    assert!(due(&mut downloads).is_empty());
    assert!(downloads.is_done());
    let line = "download image: the last connection was lost at 3.0 s after 300 of 1000 bytes";
    assert_eq!(downloads.undelivered(seconds(9)), [line]);
    let tables = downloads.tables(&of(download()));
    assert_eq!(numbers(&tables[0], "duration_s"), [-1.0]);
    assert_eq!(numbers(&tables[1], "bytes"), [100.0; 3]);
    assert_eq!(numbers(&tables[1], "lost"), [1.0; 3]);
}

#[test]
fn silence_and_a_stop_are_told() {
    let mut downloads = begun(download());
    due(&mut downloads);
    assert!(downloads.undelivered(seconds(1)).is_empty());
    assert_eq!(downloads.undelivered(seconds(5)), ["download image: no byte arrived"]);
    assert_eq!(downloads.unfinished(), ["download image: 0 of 1000 bytes"]);
    assert!(downloads.downloads[0].end(seconds(5), Ended::Stopped));
    assert!(!downloads.downloads[0].end(seconds(6), Ended::Stopped));
    assert!(due(&mut downloads).is_empty());
    assert!(downloads.unfinished().is_empty());
}

#[test]
fn progress_is_that_of_the_download_that_is_furthest_behind() {
    let workloads = vec![Workload::Download(download()), Workload::Download(download())];
    let mut downloads = Downloads::new(&plan(workloads), 7);
    for (download, ranges) in downloads.downloads.iter_mut().zip([3, 6]) {
        download.begin(seconds(1));
        download.next_request(seconds(1));
        download.receive(seconds(2), 0, 300);
        for _ in 0..ranges {
            download.next_request(seconds(2));
            download.receive(seconds(2), 0, 400);
        }
    }
    assert_eq!((downloads.progress(), downloads.payload_bytes()), (0.3, 900));
    assert!(downloads.downloads[0].end(seconds(3), Ended::Stopped));
    assert_eq!((downloads.progress(), downloads.is_done()), (0.6, false));
    assert!(downloads.downloads[1].end(seconds(3), Ended::Stopped));
    assert_eq!((downloads.progress(), downloads.is_done()), (1.0, true));
}

#[test]
fn rates_are_those_of_each_server() {
    let two = Download { connections: 2, mirrors: vec![2], least_split_bytes: None, ..download() };
    let mut downloads = begun(two.clone());
    let download = &mut downloads.downloads[0];
    download.next_request(seconds(1));
    download.receive(seconds(2), 0, 300);
    while download.next_request(seconds(2)).is_some() {}
    download.receive(seconds(2), 1, 300);
    while download.next_request(seconds(3)).is_some() {}
    for second in 4..9 {
        for connection in 0..2 {
            download.receive(seconds(second), connection, 400);
            while download.next_request(seconds(second)).is_some() {}
        }
    }
    let tables = downloads.tables(&of(two));
    assert_eq!(numbers(&tables[0], "duration_s"), [7.0]);
    assert_eq!(numbers(&tables[1], "bytes"), [500.0, 500.0]);
    assert_eq!(numbers(&tables[1], "ranges"), [5.0, 5.0]);
    assert_eq!(numbers(&tables[1], "rate_bps"), [4000.0 / 6.0, 4000.0 / 5.0]);
}

/// What happens to a connection.
#[derive(Clone, Copy, Debug)]
enum Happening {
    Bytes(u32, u64),
    Loss(u32),
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        12 => (0_u32..6, 1_u64..400).prop_map(|(connection, bytes)| Happening::Bytes(connection, bytes)),
        1 => (0_u32..6).prop_map(Happening::Loss),
    ]
}

/// Where a byte of a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Byte {
    /// It was there from the start.
    Had,
    Free,
    /// A connection is to bring it.
    Asked(u32),
    Came,
}

proptest! {
    /// Every byte comes once, whatever is lost and if any connection is slow. What is asked for is the first that is
    /// free, or else the second half of the longest rest.
    #[test]
    fn every_byte_comes_once(
        holes in prop::collection::vec((0_u64..50, 1_u64..200), 1..5),
        connections in 1_u32..7,
        range in prop::option::of(0_u64..300),
        least_split in prop::option::of(0_u64..200),
        happenings in prop::collection::vec(happening(), 0..400),
    ) {
        let (mut bytes, mut missing) = (Vec::new(), Vec::new());
        for (gap, length) in holes {
            bytes.resize(bytes.len() + gap as usize, Byte::Had);
            let start = bytes.len() as u64;
            bytes.resize(bytes.len() + length as usize, Byte::Free);
            missing.push(start..start + length);
        }
        let mut division = Division::new(missing, connections, range, least_split);
        let mut turns = 0;
        let ends = (0..).map(|turn| Happening::Bytes(turn, 37));
        for happening in happenings.into_iter().chain(ends) {
            for connection in 0..connections {
                let rest = |of| bytes.iter().filter(|byte| **byte == Byte::Asked(of)).count();
                if rest(connection) > 0 {
                    continue;
                }
                let longest = (0..connections).map(rest).max().unwrap_or(0);
                let first = bytes.iter().position(|byte| *byte == Byte::Free);
                let helps = least_split.is_some_and(|least| longest as u64 >= least.max(2));
                prop_assert_eq!(division.has_work(), first.is_some() || helps);
                let Some(asked) = division.ask(connection) else {
                    prop_assert!(first.is_none() && !helps, "nothing for {connection}");
                    continue;
                };
                let asked = asked.start as usize..asked.end as usize;
                if let Some(first) = first {
                    prop_assert_eq!(asked.start, first);
                    prop_assert!(bytes[asked.clone()].iter().all(|byte| *byte == Byte::Free));
                } else {
                    let Byte::Asked(other) = bytes[asked.start] else { panic!("{asked:?}") };
                    prop_assert_eq!((rest(other), asked.len()), (longest, longest / 2));
                    prop_assert!(bytes[asked.clone()].iter().all(|byte| *byte == Byte::Asked(other)));
                }
                bytes[asked].fill(Byte::Asked(connection));
            }
            match happening {
                Happening::Bytes(connection, count) => {
                    let connection = connection % connections;
                    let rest = bytes.iter_mut().filter(|byte| **byte == Byte::Asked(connection));
                    let mut rest: Vec<&mut Byte> = rest.collect();
                    let (came, how) = division.receive(connection, count);
                    prop_assert_eq!(came, count.min(rest.len() as u64));
                    prop_assert_eq!(how == Came::More, came < rest.len() as u64);
                    rest.iter_mut().take(came as usize).for_each(|byte| **byte = Byte::Came);
                }
                Happening::Loss(connection) => {
                    let connection = connection % connections;
                    division.lose(connection);
                    let rest = bytes.iter_mut().filter(|byte| **byte == Byte::Asked(connection));
                    rest.for_each(|byte| *byte = Byte::Free);
                }
            }
            let whole = bytes.iter().all(|byte| matches!(byte, Byte::Had | Byte::Came));
            prop_assert_eq!(division.is_whole(), whole);
            if whole {
                break;
            }
            turns += 1;
            prop_assert!(turns < 10_000, "it gets no further");
        }
    }

    /// A download is whole or lost in the end, with any failures of connections, and its servers brought just the
    /// file.
    #[test]
    fn a_download_is_whole_or_has_lost_all_its_servers(
        connections in 1_u32..7,
        mirrors in 0_usize..3,
        range in prop::option::of(1_u64..600),
        use_head in any::<bool>(),
        happenings in prop::collection::vec(happening(), 0..300),
    ) {
        let mirrors: Vec<u32> = [2, 3].into_iter().take(mirrors).collect();
        let servers = mirrors.len() + 1;
        let mut downloads =
            begun(Download { connections, mirrors, range_bytes: range, use_head, ..download() });
        // What each connection's answer still has, while it is open.
        let mut open: Vec<Option<u64>> = vec![None; 8];
        let mut lost = 0;
        // One connection alone takes four turns of six for each range, the head included, and ranges may be a byte long.
        let ends = (0..).map(|turn: u32| Happening::Bytes(turn % 6, 91)).take(30_000);
        for happening in happenings.into_iter().chain(ends) {
            let download = &mut downloads.downloads[0];
            while let Some(request) = download.next_request(seconds(2)) {
                let before = open[request.connection as usize].replace(request.answer);
                prop_assert_eq!(before.is_none(), request.opens, "{:?}", request);
                prop_assert!(before.is_none_or(|left| left == 0), "one request at a time");
            }
            if !download.is_under_way() {
                break;
            }
            match happening {
                Happening::Bytes(connection, bytes) => {
                    let Some(left) = open[connection as usize].as_mut().filter(|left| **left > 0)
                    else {
                        continue;
                    };
                    let bytes = bytes.min(*left);
                    *left -= bytes;
                    if download.receive(seconds(3), connection, bytes) == Came::Cut {
                        open[connection as usize] = None;
                    }
                }
                Happening::Loss(connection) => {
                    if open[connection as usize].take().is_some() {
                        lost += 1;
                        download.lose(seconds(3), connection);
                    }
                }
            }
        }
        let download = &downloads.downloads[0];
        prop_assert!(!download.is_under_way(), "it gets no further: {:?}", downloads.unfinished());
        let undelivered = downloads.undelivered(seconds(3));
        if undelivered.is_empty() {
            prop_assert_eq!(download.received(), 1000);
        } else {
            prop_assert!(lost >= servers, "{} lost, and {:?}", lost, undelivered);
            prop_assert!(download.servers.iter().all(|server| server.lost > 0));
        }
    }
}
