//! The disk is shared by addresses before it is shared by connections.

use crate::client::Client;
use crate::stand::{Stand, contents};
use serde_json::json;
use socket2::{Domain, Socket, Type};
use std::io::BufReader;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

const EXTENT: usize = 1 << 17;

/// A connection from an address of this machine.
fn connect_from(source: &str, to: SocketAddr) -> Client {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    let source: SocketAddr = format!("{source}:0").parse().unwrap();
    socket.bind(&source.into()).unwrap();
    socket.connect(&to.into()).unwrap();
    socket.set_read_timeout(Some(crate::stand::PATIENCE)).unwrap();
    Client { stream: BufReader::new(socket.into()) }
}

/// Extents that the disk reads in all while a reader gets 20 of them, beside 60 connections of `crowd` that ask for a byte each, each
/// time of another extent.
fn reads_beside_a_crowd(crowd: &str, reader: &str) -> u64 {
    let file = contents(20 * EXTENT, 1);
    let disk = json!({
        "kind": "hard-disk",
        "positioning": {"kind": "constant", "time_ns": 5_000_000},
        "rate_bps": 1_000_000_000,
    });
    let stand = Stand::with(&[("f", &file), ("large", b"")], json!({"trial_disk": disk}));
    let large = std::fs::File::options().write(true).open(stand.path("large")).unwrap();
    large.set_len(4000 * EXTENT as u64).unwrap();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for number in 0..60 {
            let mut client = connect_from(crowd, stand.address);
            let is_over = &is_over;
            scope.spawn(move || {
                let mut place = number * 61;
                while !is_over.load(Relaxed) {
                    place = (place + 1237) % 4000;
                    let range = format!("bytes={}-{0}", place * EXTENT);
                    assert_eq!(client.ask("GET", "/large", &[("Range", &range)]).status, 206);
                }
            });
        }
        stand.until(|now| now.waiting > 50);
        let before = stand.snapshot().reads;
        let answer = connect_from(reader, stand.address).ask("GET", "/f", &[]);
        let reads = stand.snapshot().reads - before;
        is_over.store(true, Relaxed);
        assert!(answer.whole && answer.body == file);
        reads
    })
}

#[test]
fn connections_of_one_address_keep_the_disk_from_no_other() {
    // Its own, one of the crowd's for each, and what is under way; many more where the machine lets the reader wait.
    let apart = reads_beside_a_crowd("127.0.0.2", "127.0.0.3");
    let together = reads_beside_a_crowd("127.0.0.2", "127.0.0.2");
    assert!(together > 20 * 20, "the crowd is too small to say anything: {together}");
    assert!(3 * apart < together, "{apart} of {together}");
}
