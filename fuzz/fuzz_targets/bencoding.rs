//! Any bytes as a value, as a torrent and as a tracker's answer: each ends in what was read, whose parts fit together, or
//! in an error.

#![no_main]

use flashcrowd_client::bencode::Value;
use flashcrowd_client::{Answer, Metainfo};
use libfuzzer_sys::fuzz_target;
use std::path::Component;

fuzz_target!(|bytes: &[u8]| {
    let _ = Value::parse(bytes);
    if let Ok(made) = Metainfo::parse(bytes) {
        let torrent = made.geometry(1 << 14).expect("it was cut when it was read");
        assert_eq!(torrent.pieces() as usize, made.hashes.len());
        assert_eq!(torrent.bytes(), made.bytes());
        for (path, _) in &made.files {
            assert!(path.components().all(|part| matches!(part, Component::Normal(_))));
        }
    }
    for response in [bytes.to_vec(), [b"HTTP/1.0 200 OK\r\n\r\n", bytes].concat()] {
        if let Ok(answer) = Answer::parse(&response) {
            assert!(answer.peers.len() <= bytes.len() && !answer.interval.is_zero());
        }
    }
});
