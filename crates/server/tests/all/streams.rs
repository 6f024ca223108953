//! Clients that take parts in any order, and what they may rely on (docs/protocol.md).

use crate::client::{Answer, Client, content_range, get};
use crate::stand::{Stand, contents};
use serde_json::json;
use std::thread;

const STREAM: (&str, &str) = ("Prefer", "part-order=any");
const ALL: (&str, &str) = ("Range", "bytes=0-65535,65536-");

/// Puts the parts into a file of zeros; every byte at most once.
fn assembled(answer: &Answer, length: usize) -> (Vec<u8>, u64) {
    let (mut file, mut there) = (vec![0; length], vec![false; length]);
    let mut count = 0;
    for part in answer.parts() {
        assert_eq!((part.total, &part.kind[..]), (length as u64, "application/octet-stream"));
        assert!(part.bytes.len() <= 65_536);
        let range = part.range.start as usize..part.range.end as usize;
        assert!(there[range.clone()].iter().all(|there| !there), "twice: {range:?}");
        there[range.clone()].fill(true);
        count += part.bytes.len() as u64;
        file[range].copy_from_slice(&part.bytes);
    }
    (file, count)
}

#[test]
fn a_stream_has_every_byte_once() {
    let file = contents(1_234_567, 4);
    for policy in ["in-order", "attach", "circus", "relevance"] {
        let scheduling = json!({"origin": {"scheduling": {"kind": policy}}});
        let stand = Stand::with(&[("f", &file)], scheduling);
        let answer = get(stand.address, "/f", &[ALL, STREAM]);
        assert_eq!((answer.status, answer.whole), (206, true));
        assert_eq!(answer.field("preference-applied"), "part-order=any");
        assert_eq!(answer.field("transfer-encoding"), "chunked");
        assert!(assembled(&answer, file.len()) == (file.clone(), file.len() as u64), "{policy}");
    }
}

/// A client that takes them at once gets up to four blocks in a part, which are of 16 KiB here; there is memory of
/// which some may be lent.
#[test]
fn quick_clients_get_several_blocks_in_a_part() {
    let file = contents(1_000_000, 11);
    let stand = Stand::with(&[("f", &file)], json!({"origin": {"memory_bytes": 8 << 20}}));
    let longest = |_| {
        let answer = get(stand.address, "/f", &[ALL, STREAM]);
        assert!(assembled(&answer, file.len()) == (file.clone(), file.len() as u64));
        answer.parts().iter().map(|part| part.bytes.len()).max()
    };
    assert!((0..300).map(longest).any(|longest| longest == Some(65_536)));
}

/// Ranges that overlap are merged, parts are cut to them, several within one block too.
#[test]
fn a_stream_of_holes_has_those() {
    let file = contents(300_000, 5);
    let stand = Stand::new(&[("f", &file)]);
    let holes = ("Range", "bytes=10-19,30-39,16380-16390,35-60000,299999-,131072-131072,999999-");
    let answer = get(stand.address, "/f", &[holes, STREAM]);
    let mut ranges: Vec<_> = answer.parts().into_iter().map(|part| part.range).collect();
    ranges.sort_by_key(|range| range.start);
    let mut expected = vec![10..20, 30..16_384];
    expected.extend([16_384..32_768, 32_768..49_152, 49_152..60_001]);
    expected.extend([131_072..131_073, 299_999..300_000]);
    assert_eq!(ranges, expected);
    for part in answer.parts() {
        assert_eq!(part.bytes, file[part.range.start as usize..part.range.end as usize]);
    }
    let none = get(stand.address, "/f", &[("Range", "bytes=300000-,400000-"), STREAM]);
    assert_eq!((none.status, none.field("content-range")), (416, "bytes */300000"));
}

/// A client that did not ask for it gets no other order: by preference alone, or by ranges alone.
#[test]
fn nobody_gets_an_order_unasked() {
    let file = contents(400_000, 6);
    let stand = Stand::new(&[("f", &file)]);
    // Others have moved the origin to the middle of the file.
    let mut other = Client::connect(stand.address);
    other.ask("GET", "/f", &[("Range", "bytes=200000-300000")]);
    for (fields, status) in [
        (vec![STREAM], 200),
        (vec![STREAM, ("Range", "bytes=0-")], 206),
        (vec![("Prefer", "part-order=ascending"), ALL], 206),
        (vec![("Prefer", "parts=1"), ALL], 206),
        (vec![ALL], 206),
    ] {
        let answer = get(stand.address, "/f", &fields);
        assert_eq!((answer.status, answer.field("preference-applied")), (status, ""), "{fields:?}");
        if answer.field("content-type").starts_with("multipart") {
            let parts = answer.parts();
            assert_eq!(
                [parts[0].range.clone(), parts[1].range.clone()],
                [0..65_536, 65_536..400_000]
            );
        } else {
            assert!(answer.body == file, "{fields:?}");
        }
    }
}

#[test]
fn pulled_parts_are_the_file() {
    let file = contents(500_000, 7);
    let stand = Stand::new(&[("f", &file)]);
    let mut client = Client::connect(stand.address);
    // Something is in memory: it comes first.
    client.ask("GET", "/f", &[("Range", "bytes=262144-300000")]);
    let mut missing = vec![true; file.len()];
    let mut asked = 0;
    while let Some(first) = missing.iter().position(|missing| *missing) {
        let mut ranges = Vec::new();
        let mut at = first;
        while at < missing.len() {
            let end = missing[at..]
                .iter()
                .position(|missing| !missing)
                .map_or(missing.len(), |end| at + end);
            ranges.push(format!("{at}-{}", end - 1));
            at = missing[end..]
                .iter()
                .position(|missing| *missing)
                .map_or(missing.len(), |next| end + next);
        }
        let range = format!("bytes={}", ranges.join(","));
        let fields = [("Range", &range[..]), ("Prefer", "part-order=any; parts=1")];
        let answer = client.ask("GET", "/f", &fields);
        assert_eq!((answer.status, answer.field("preference-applied")), (206, "part-order=any"));
        let (range, total) = content_range(answer.field("content-range"));
        assert_eq!(total, 500_000);
        let range = range.start as usize..range.end as usize;
        assert!(missing[range.clone()].iter().all(|missing| *missing), "not asked for: {range:?}");
        assert!(asked > 0 || range.start == 262_144, "not what is in memory: {range:?}");
        assert!(range.len() <= 1 << 17 && answer.body == file[range.clone()]);
        missing[range].fill(false);
        asked += 1;
    }
    assert_eq!(asked, 4);
}

#[test]
fn hints_are_what_is_in_memory() {
    let file = contents(1 << 19, 8);
    let stand = Stand::new(&[("f", &file)]);
    let mut client = Client::connect(stand.address);
    let hint = ("Prefer", "resident-ranges");
    assert_eq!(client.ask("HEAD", "/f", &[hint]).fields.get("resident-ranges"), None);
    client.ask("GET", "/f", &[("Range", "bytes=131072-131072")]);
    client.ask("GET", "/f", &[("Range", "bytes=400000-400000")]);
    let answer = client.ask("HEAD", "/f", &[hint]);
    assert_eq!(answer.field("resident-ranges"), "bytes=131072-262143,393216-524287");
    assert_eq!(client.ask("HEAD", "/f", &[]).fields.get("resident-ranges"), None);
}

#[test]
fn hints_are_bounded() {
    const EXTENT: usize = 1 << 17;
    let file = contents(80 * EXTENT, 9);
    let stand = Stand::with(&[("f", &file)], json!({"origin": {"memory_bytes": 1 << 24}}));
    let mut client = Client::connect(stand.address);
    for place in 0..40 {
        let at = 2 * place * EXTENT;
        client.ask("GET", "/f", &[("Range", &format!("bytes={at}-{at}"))]);
    }
    let answer = client.ask("HEAD", "/f", &[("Prefer", "resident-ranges")]);
    assert_eq!(answer.field("resident-ranges").split(',').count(), 32);
}

/// Many at once with little memory: each has every byte, and the disk was read for all of them together.
#[test]
fn a_crowd_shares_what_is_read() {
    let file = contents(2_000_000, 9);
    let stand = Stand::new(&[("f", &file)]);
    thread::scope(|scope| {
        for number in 0..12 {
            let (stand, file) = (&stand, &file);
            scope.spawn(move || {
                let any = number % 3 > 0;
                let fields = if any { vec![ALL, STREAM] } else { vec![] };
                let answer = get(stand.address, "/f", &fields);
                let got = if any { assembled(&answer, file.len()).0 } else { answer.body };
                assert!(got == *file, "client {number}");
            });
        }
    });
    let end = stand.until(|now| now.clients == 0);
    assert_eq!(end.served_bytes, 24_000_000);
    assert!(end.memory_bytes <= 1 << 20, "{end:?}");
    assert!(end.sent_bytes > end.served_bytes, "{end:?}");
}

/// Extents of all lengths, short ones after long ones and the other way round: what is in memory stays within the bound (the
/// desk asserts it at each buffer), and every byte is right.
#[test]
fn files_of_all_sizes_share_the_memory() {
    let files: Vec<(String, Vec<u8>)> = (0..150_u32)
        .map(|number| {
            let length =
                if number % 10 == 0 { 500_000 } else { (number * number * 7) as usize % 9_000 };
            (format!("f{number}"), contents(length, number))
        })
        .collect();
    let named: Vec<(&str, &[u8])> =
        files.iter().map(|(name, bytes)| (&name[..], &bytes[..])).collect();
    let stand = Stand::new(&named);
    let mut client = Client::connect(stand.address);
    for round in 0..3 {
        for (number, (name, bytes)) in files.iter().enumerate() {
            if round == 1 && number % 10 != 0 {
                continue;
            }
            let answer = client.ask("GET", &format!("/{name}"), &[]);
            assert!(answer.whole && answer.body == *bytes, "{name}");
        }
    }
    assert!(stand.snapshot().memory_bytes <= 1 << 20);
}

#[test]
fn digests_are_of_the_file() {
    use sha2::{Digest, Sha256};
    let file = contents((1 << 20) + 100_000, 10);
    let stand = Stand::new(&[("d/f", &file), ("empty", b"")]);
    let etag = get(stand.address, "/d/f", &[("Range", "bytes=0-0")]).field("etag").to_owned();
    let hex = |bytes: &[u8]| -> String {
        Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
    };
    let ready = |target: &str| loop {
        let answer = get(stand.address, target, &[]);
        let manifest: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(answer.field("content-type"), "application/json");
        if answer.status == 200 {
            return manifest;
        }
        assert_eq!((answer.status, answer.field("retry-after")), (202, "1"));
        assert_eq!(manifest["state"], "computing");
        thread::sleep(std::time::Duration::from_millis(10));
    };
    let expected = json!({
        "format": "flashcrowd-digests", "version": 1, "etag": etag, "length": file.len(),
        "algorithm": "sha-256", "block_bytes": 1 << 20,
        "blocks": [hex(&file[..1 << 20]), hex(&file[1 << 20..])], "whole": hex(&file),
    });
    assert_eq!(ready("/d/f?digests"), expected);
    let empty = ready("/empty?digests");
    assert_eq!((&empty["blocks"], &empty["whole"]), (&json!([]), &json!(hex(b""))));
    let answer = get(stand.address, "/empty", &[]);
    let of_nothing = "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:";
    assert_eq!(answer.field("repr-digest"), of_nothing);
    assert_eq!(get(stand.address, "/none?digests", &[]).status, 404);
    let without = Stand::with(&[("f", &file)], json!({"digests": false}));
    assert_eq!(get(without.address, "/f?digests", &[]).status, 404);
    assert_eq!(get(without.address, "/f", &[]).field("link"), "");
}
