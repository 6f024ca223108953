//! Clients behind a proxy: who they are, what is counted and what is logged.

use crate::client::{Client, get};
use crate::stand::{Stand, contents};
use serde_json::json;
use std::io::Read;

const FIELD: &str = "X-Forwarded-For";

fn logged(log: &std::path::Path) -> Vec<String> {
    let text = std::fs::read_to_string(log).unwrap();
    text.lines().map(|line| line.split(' ').next().unwrap().to_owned()).collect()
}

#[test]
fn the_log_names_the_client_that_a_trusted_proxy_names() {
    let place = tempfile::tempdir().unwrap();
    // Sorted: answers of several connections may be logged in another order.
    for (trusted, expected) in [
        (json!(["127.0.0.0/8"]), ["127.0.0.1", "127.0.0.1", "192.0.2.7", "2001:db8::1"]),
        (json!([]), ["127.0.0.1"; 4]),
        (json!(["192.0.2.7"]), ["127.0.0.1"; 4]),
    ] {
        let log = place.path().join("log");
        let mut stand =
            Stand::with(&[("f", b"x")], json!({"access_log": log, "trust_proxy": trusted}));
        for field in ["1.2.3.4, 192.0.2.7", "[2001:db8::1]:80", "who, knows"] {
            assert_eq!(get(stand.address, "/f", &[(FIELD, field)]).status, 200);
        }
        assert_eq!(get(stand.address, "/f", &[]).status, 200);
        stand.stop();
        stand.join();
        let mut clients = logged(&log);
        clients.sort();
        assert_eq!(clients, expected);
        std::fs::remove_file(&log).unwrap();
    }
}

/// One address of many, however many connections its proxy has; and a refusal has a line with the client's address.
#[test]
fn the_bound_of_an_address_is_that_of_the_client() {
    let place = tempfile::tempdir().unwrap();
    let log = place.path().join("log");
    let file = contents(8_000_000, 3);
    let with = json!({
        "trust_proxy": ["127.0.0.1"], "access_log": log, "limits": {"connections_per_address": 2},
    });
    let mut stand = Stand::with(&[("f", &file)], with);
    // Answers under way: their clients take nothing yet.
    let mut taking: Vec<Client> = (0..2)
        .map(|host| {
            let mut client = Client::connect(stand.address);
            // Of one network of 64 bits.
            client.send("GET", "/f", &[(FIELD, &format!("2001:db8::{host}"))]);
            assert_eq!(client.head().unwrap().status, 200);
            client
        })
        .collect();
    let answer = get(stand.address, "/f", &[(FIELD, "2001:db8::99")]);
    assert_eq!((answer.status, answer.field("retry-after")), (429, "10"));
    assert_eq!(stand.snapshot().turned_away, 1);
    // Others have places of their own on connections of the same proxy.
    for client in ["192.0.2.1", "192.0.2.2", "192.0.2.3"] {
        let mut proxy = Client::connect(stand.address);
        let range = [(FIELD, client), ("Range", "bytes=0-9")];
        assert_eq!(proxy.ask("GET", "/f", &range).status, 206);
        taking.push(proxy);
    }
    // An answer that has ended has given its place back, though its connection goes on.
    let mut body = vec![0; file.len()];
    taking[0].stream.read_exact(&mut body).unwrap();
    assert!(body == file);
    let range = [(FIELD, "2001:db8::99"), ("Range", "bytes=0-9")];
    for _ in 0..1000 {
        if get(stand.address, "/f", &range).status == 206 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    stand.until(|now| now.connections == taking.len() as u64);
    assert_eq!(taking[0].ask("GET", "/f", &range).status, 206);
    drop(taking);
    stand.stop();
    stand.join();
    let text = std::fs::read_to_string(&log).unwrap();
    let refused = text.lines().find(|line| line.contains(" 429 ")).unwrap();
    assert!(refused.starts_with("2001:db8::99 - - ["), "{refused}");
    assert!(refused.contains("\"GET /f HTTP/1.1\" 429"), "{refused}");
}

/// Without the trust, its own connections are what counts.
#[test]
fn a_proxy_that_is_not_trusted_is_one_client() {
    let limits = json!({"limits": {"connections_per_address": 1}});
    let stand = Stand::with(&[("f", b"x")], limits);
    let mut first = Client::connect(stand.address);
    assert_eq!(first.ask("GET", "/f", &[(FIELD, "192.0.2.1")]).status, 200);
    assert_eq!(get(stand.address, "/f", &[(FIELD, "192.0.2.2")]).status, 429);
}
