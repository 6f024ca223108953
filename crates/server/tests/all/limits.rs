//! Slow, silent, greedy and vanishing clients; disks and files that fail; the end.

use crate::client::{Client, get};
use crate::stand::{Stand, contents};
use serde_json::{Value, json};
use socket2::SockRef;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

const ANY: [(&str, &str); 2] = [("Range", "bytes=0-65535,65536-"), ("Prefer", "part-order=any")];

/// Slow-loris: a client that does not finish a head in time is let go, silent or drop by drop, at the begin or between
/// requests.
#[test]
fn slow_heads_end() {
    let stand = Stand::with(&[("f", b"x")], json!({"limits": {"header_s": 0.3}}));
    let mut silent = Client::connect(stand.address);
    let mut idle = Client::connect(stand.address);
    assert_eq!(idle.ask("GET", "/f", &[]).status, 200);
    let mut slow = Client::connect(stand.address);
    slow.raw(b"GET /f HTTP/1.1\r\nHost: x\r\n");
    let dripping = thread::spawn(move || {
        for _ in 0..1000 {
            if slow.stream.get_mut().write_all(b"X: y\r\n").is_err() {
                return true;
            }
            thread::sleep(Duration::from_millis(20));
        }
        false
    });
    let mut bytes = Vec::new();
    for client in [&mut silent, &mut idle] {
        // The end, or a reset: it is over.
        let _ = client.stream.read_to_end(&mut bytes);
    }
    assert!(dripping.join().unwrap());
    stand.until(|now| now.connections == 0);
}

/// A client that takes nothing is let go, and holds nothing of the memory meanwhile: as many of them as there are extents in
/// memory, and others are served all the same.
#[test]
fn sockets_that_take_nothing_hold_nothing() {
    let file = contents(3_000_000, 1);
    let stand = Stand::with(&[("f", &file)], json!({"limits": {"stall_s": 2.0}}));
    let mut dead = Vec::new();
    for number in 0..16 {
        let mut client = Client::connect(stand.address);
        SockRef::from(client.stream.get_ref()).set_recv_buffer_size(4096).unwrap();
        client.send("GET", "/f", if number % 2 == 0 { &ANY } else { &[] });
        dead.push(client);
    }
    stand.until(|now| now.clients == 16 && now.served_bytes >= 16 << 14);
    let answer = get(stand.address, "/f", &[]);
    assert!(answer.whole && answer.body == file);
    stand.until(|now| now.connections == 0 && now.clients == 0);
    drop(dead);
}

/// What a server has written for a client that reads nothing, once it writes no more: what the client's socket takes, and what may wait in
/// its own.
#[test]
fn what_waits_in_a_socket_is_bounded_as_it_is_set() {
    let file = contents(3_000_000, 1);
    let written = |limits: Value| {
        let stand = Stand::with(&[("f", &file)], json!({"limits": limits}));
        let mut client = Client::connect(stand.address);
        SockRef::from(client.stream.get_ref()).set_recv_buffer_size(4096).unwrap();
        client.send("GET", "/f", &[]);
        let mut before = 0;
        loop {
            thread::sleep(Duration::from_millis(200));
            let now = stand.snapshot().sent_bytes;
            if now > 0 && now == before {
                return now;
            }
            before = now;
        }
    };
    let of_the_kernel = |unsent: u32| json!({"send_buffer_bytes": null, "unsent_bytes": unsent});
    let max = written(of_the_kernel(1 << 20));
    assert!(max > 500_000, "{max}");
    for bounded in [of_the_kernel(4096), json!({"unsent_bytes": 1 << 20})] {
        let less = written(bounded);
        assert!(less < 400_000, "{less}");
    }
}

#[test]
fn clients_that_vanish_leave_nothing() {
    let file = contents(3_000_000, 2);
    let stand = Stand::new(&[("f", &file)]);
    for number in 0..30 {
        let mut client = Client::connect(stand.address);
        client.send("GET", "/f", if number % 2 == 0 { &ANY } else { &[] });
        if number % 3 == 0 {
            // A reset instead of an end.
            let socket = SockRef::from(client.stream.get_ref());
            socket.set_linger(Some(Duration::ZERO)).unwrap();
        } else if number % 3 == 1 {
            client.stream.read_exact(&mut vec![0; 100_000]).unwrap();
        }
    }
    stand.until(|now| now.connections == 0 && now.clients == 0);
    let answer = get(stand.address, "/f", &[]);
    assert!(answer.whole && answer.body == file);
}

#[test]
fn too_many_are_turned_away_in_words() {
    let limits = json!({"limits": {"connections": 3, "connections_per_address": 2}});
    let stand = Stand::with(&[("f", b"x")], limits);
    let mut first = Client::connect(stand.address);
    let mut second = Client::connect(stand.address);
    for client in [&mut first, &mut second] {
        assert_eq!(client.ask("GET", "/f", &[]).status, 200);
    }
    let answer = get(stand.address, "/f", &[]);
    assert_eq!((answer.status, answer.field("retry-after")), (429, "10"));
    drop(first);
    stand.until(|now| now.connections == 1);
    assert_eq!(get(stand.address, "/f", &[]).status, 200);
    assert_eq!(stand.snapshot().turned_away, 1);
}

#[test]
fn a_connection_ends_after_its_requests() {
    let stand = Stand::with(&[("f", b"x")], json!({"limits": {"requests_per_connection": 2}}));
    let mut client = Client::connect(stand.address);
    assert_eq!(client.ask("GET", "/f", &[]).field("connection"), "");
    assert_eq!(client.ask("GET", "/f", &[]).field("connection"), "close");
    assert_eq!(client.stream.read(&mut [0]).unwrap(), 0);
}

/// A head that never ends is refused before it fills the memory.
#[test]
fn large_heads_are_refused() {
    let stand = Stand::new(&[("f", b"x")]);
    let mut client = Client::connect(stand.address);
    let head = format!("GET /f HTTP/1.1\r\nHost: x\r\nX: {}", "y".repeat(1 << 20));
    // It may get an answer, or be cut off while it sends.
    let _ = client.stream.get_mut().write_all(head.as_bytes());
    if let Some(answer) = client.head() {
        assert_eq!(answer.status, 431);
    }
    stand.until(|now| now.connections == 0);
    // A thousand ranges fit.
    let ranges: Vec<String> =
        (0..1000).map(|at| format!("{}-{}", 1_u64 << 40, (1_u64 << 40) + at)).collect();
    let value = format!("bytes={}", ranges.join(","));
    assert_eq!(get(stand.address, "/f", &[("Range", &value)]).status, 416);
}

/// Downloads of a file that changes under way end without an end; no client gets a mixture.
#[test]
fn a_file_that_changes_ends_its_downloads() {
    let (old, new) = (contents(20_000_000, 3), contents(20_000_000, 4));
    let stand = Stand::new(&[("f", &old)]);
    for fields in [&[][..], &ANY] {
        std::fs::write(stand.path("f"), &old).unwrap();
        let mut client = Client::connect(stand.address);
        client.send("GET", "/f", fields);
        let mut answer = client.head().unwrap();
        let etag = answer.field("etag").to_owned();
        std::fs::write(stand.path("f"), &new).unwrap();
        let body = client.stream.read_to_end(&mut answer.body);
        assert!(body.is_err() || answer.body.len() < 19_000_000, "it did not break off");
        if fields.is_empty() {
            assert!(answer.body[..] == old[..answer.body.len()], "a mixture");
        }
        // What comes now is the new file; the old one's tag resumes nothing.
        let resume = [("Range", "bytes=100-"), ("If-Range", &etag[..])];
        let answer = get(stand.address, "/f", &resume);
        assert_eq!(answer.status, 200);
        assert!(answer.whole && answer.body == new);
    }
    // One that was cut has another length, one that has gone is gone, and an old descriptor is no way back.
    std::fs::write(stand.path("f"), b"short").unwrap();
    assert_eq!(get(stand.address, "/f", &[]).body, b"short");
    std::fs::remove_file(stand.path("f")).unwrap();
    assert_eq!(get(stand.address, "/f", &[]).status, 404);
}

/// A request for a file is judged by its length now, not by what is in memory of it.
#[test]
fn a_file_that_shrinks_has_its_new_length() {
    let stand = Stand::new(&[("f", &contents(1_000_000, 5))]);
    let answer = get(stand.address, "/f", &[("Range", "bytes=0-0")]);
    assert_eq!(answer.status, 206);
    let file = std::fs::File::options().write(true).open(stand.path("f")).unwrap();
    file.set_len(10).unwrap();
    assert_eq!(get(stand.address, "/f", &[("Range", "bytes=500000-")]).status, 416);
    assert_eq!(get(stand.address, "/f", &[]).body.len(), 10);
}

#[test]
fn the_end_lets_answers_end() {
    let file = contents(5_000_000, 6);
    let mut stand = Stand::new(&[("f", &file)]);
    let idle = Client::connect(stand.address);
    let mut client = Client::connect(stand.address);
    client.send("GET", "/f", &[]);
    let mut answer = client.head().unwrap();
    stand.stop();
    let read = client.stream.read_to_end(&mut answer.body).unwrap();
    assert_eq!((read, answer.body == file), (5_000_000, true));
    assert!(stand.join());
    drop(idle);
    let mut stand = Stand::with(&[("f", &file)], json!({"limits": {"drain_s": 0.2}}));
    let mut client = Client::connect(stand.address);
    client.send("GET", "/f", &[]);
    client.head().unwrap();
    stand.stop();
    assert!(!stand.join());
}

/// They say nothing, and one more is let go.
#[test]
fn connections_to_the_metrics_are_bounded() {
    let stand = Stand::with(&[("f", b"x")], json!({"metrics": "127.0.0.1:0"}));
    let visit = || TcpStream::connect(stand.metrics.unwrap()).unwrap();
    let mut silent: Vec<TcpStream> = (0..65).map(|_| visit()).collect();
    let mut last = silent.pop().unwrap();
    last.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    assert_eq!(last.read(&mut [0]).unwrap(), 0);
    for visitor in &silent {
        visitor.set_nonblocking(true).unwrap();
        let error = visitor.peek(&mut [0]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WouldBlock, "it is not let go");
    }
}

#[test]
fn metrics_are_in_the_text_format() {
    let stand = Stand::with(&[("f", &contents(200_000, 7))], json!({"metrics": "127.0.0.1:0"}));
    get(stand.address, "/f", &ANY);
    stand.until(|now| now.clients == 0 && now.connections == 0);
    let answer = get(stand.metrics.unwrap(), "/metrics", &[]);
    assert_eq!(answer.field("content-type"), "text/plain; version=0.0.4; charset=utf-8");
    let text = String::from_utf8(answer.body).unwrap();
    for row in [
        "flashcrowd_served_bytes_total 200000\n",
        "flashcrowd_disk_read_bytes_total 200000\n",
        "flashcrowd_answers_by_mode_total{mode=\"stream\"} 1\n",
        "flashcrowd_answers_by_ending_total{ending=\"complete\"} 1\n",
        "flashcrowd_answers_total{class=\"2xx\"} 1\n",
        "flashcrowd_connections 0\n",
        "# TYPE flashcrowd_disk_queue gauge\n",
    ] {
        assert!(text.contains(row), "{row} in\n{text}");
    }
}

#[test]
fn the_log_has_a_line_for_each_answer() {
    let place = tempfile::tempdir().unwrap();
    let log = place.path().join("access.log");
    let mut stand = Stand::with(&[("f", &contents(200_000, 8))], json!({"access_log": log}));
    get(stand.address, "/f", &[ANY[0], ANY[1], ("User-Agent", "a \"b\" é")]);
    stand.until(|now| now.connections == 0);
    get(stand.address, "/none", &[]);
    stand.stop();
    stand.join();
    drop(stand);
    let text = std::fs::read_to_string(&log).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(lines[0].starts_with("127.0.0.1 - - ["), "{text}");
    assert!(lines[0].contains("\"GET /f HTTP/1.1\" 206 20"), "{text}");
    assert!(lines[0].contains(" \"-\" \"a \\\"b\\\" \\xc3\\xa9\" "), "{text}");
    assert!(lines[0].ends_with(" stream 1 complete"), "{text}");
    assert!(
        lines[1].contains("\"GET /none HTTP/1.1\" 404 ") && lines[1].ends_with(" text 0 complete"),
        "{text}"
    );
}

/// Also for those that no request reaches: heads that are none, that are too large, that do not come; and for clients
/// that are refused.
#[test]
fn answers_below_the_service_have_a_line_too() {
    let place = tempfile::tempdir().unwrap();
    let log = place.path().join("access.log");
    let limits = json!({"header_s": 0.5, "connections_per_address": 1});
    let mut stand = Stand::with(&[("f", b"x")], json!({"access_log": log, "limits": limits}));
    let large = format!("GET /f HTTP/1.1\r\nHost: x\r\nX: {}", "y".repeat(1 << 20));
    let long = format!("GET /{} HTTP/1.1\r\nHost: x\r\n\r\n", "y".repeat(70_000));
    let mut expected = Vec::new();
    for (bytes, status) in [
        (&b"GET /\0 HTTP/1.1\r\nHost: x\r\n\r\n"[..], 400),
        (b"garbage\r\n\r\n", 400),
        (b"GET /f HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400),
        (large.as_bytes(), 431),
        (long.as_bytes(), 414),
        // Silent, amid the first three bytes, amid a head.
        (b"", 408),
        (b"P", 408),
        (b"GET /f HTTP/1.1\r\nHo", 408),
    ] {
        let mut client = Client::connect(stand.address);
        // It may be cut off while it sends.
        let _ = client.stream.get_mut().write_all(bytes);
        let mut answer = Vec::new();
        let _ = client.stream.read_to_end(&mut answer);
        // Where there is an answer, the line has its status.
        let answer = String::from_utf8_lossy(&answer);
        let sent = answer.split(' ').nth(1).filter(|_| status != 408);
        assert!(sent.is_none_or(|sent| sent == status.to_string()), "{answer}");
        expected.push(status);
        stand.until(|now| now.connections == 0);
    }
    // One that was of use and says nothing more is no answer; one that has begun to say something is.
    for rest in ["", "GET"] {
        let mut client = Client::connect(stand.address);
        assert_eq!(client.ask("GET", "/f", &[]).status, 200);
        assert_eq!(get(stand.address, "/f", &[]).status, 429);
        client.raw(rest.as_bytes());
        let _ = client.stream.read_to_end(&mut Vec::new());
        expected.extend([200, 429]);
        expected.extend((!rest.is_empty()).then_some(408));
        stand.until(|now| now.connections == 0);
    }
    stand.stop();
    stand.join();
    drop(stand);
    let text = std::fs::read_to_string(&log).unwrap();
    let status =
        |line: &str| line.split("] \"").nth(1)?.split("\" ").nth(1)?.get(..3)?.parse().ok();
    let mut statuses: Vec<u16> = text.lines().filter_map(status).collect();
    // Answers that two clients get side by side have their lines in either order.
    statuses.sort_unstable();
    expected.sort_unstable();
    assert_eq!(statuses, expected, "{text}");
    assert_eq!(text.matches(" text 0 late\n").count(), 4, "{text}");
}

/// The attack of a client that fills a log without a reader: two heads of 60 kB, each byte of which is escaped.
#[test]
fn lines_have_a_bound_and_so_has_the_memory_for_them() {
    let place = tempfile::tempdir().unwrap();
    let log = place.path().join("log");
    assert!(std::process::Command::new("mkfifo").arg(&log).status().unwrap().success());
    let reader = rustix::fs::open(
        &log,
        rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::NONBLOCK,
        rustix::fs::Mode::empty(),
    )
    .unwrap();
    let with = json!({"access_log": log, "metrics": "127.0.0.1:0"});
    let mut stand = Stand::with(&[("f", b"x")], with);
    let much = "\u{ff}".repeat(14_000);
    let mut client = Client::connect(stand.address);
    for _ in 0..4000 {
        client.send("GET", "/none", &[("Referer", &much), ("User-Agent", &much)]);
        assert_eq!(client.receive("GET").status, 404);
    }
    let metrics = String::from_utf8(get(stand.metrics.unwrap(), "/metrics", &[]).body).unwrap();
    let value = |name: &str| {
        let row = metrics.lines().find(|row| row.starts_with(name)).unwrap();
        row.rsplit(' ').next().unwrap().parse::<u64>().unwrap()
    };
    let (waiting, lost) =
        (value("flashcrowd_log_waiting_bytes "), value("flashcrowd_log_lines_lost_total "));
    assert!(waiting > 1 << 20 && waiting <= 8 << 20, "{waiting}");
    // A line is about 1.6 kB: 4000 of them have room.
    assert_eq!(lost, 0);
    let mut begin = [0; 65_536];
    let read = rustix::io::read(&reader, &mut begin).unwrap();
    let lines: Vec<&[u8]> = begin[..read].split(|byte| *byte == b'\n').collect();
    assert!(lines.len() > 10 && lines.iter().all(|line| line.len() <= 4096), "{}", lines.len());
    stand.stop();
    stand.join();
    assert!(stand.snapshot().log_lines_lost > 3000);
}
