//! What sockets take from memory without a copy.

use crate::client::{Answer, Client, Part, get};
use crate::stand::{Stand, contents};
use serde_json::json;
use socket2::SockRef;
use std::io::Read;
use std::thread;
use std::time::Duration;

const ANY: [(&str, &str); 2] = [("Range", "bytes=0-65535,65536-"), ("Prefer", "part-order=any")];
const LENGTH: usize = 6 << 20;

/// With a memory into which one of two files fits, and of which some may be lent.
fn stand() -> (Stand, [Vec<u8>; 2]) {
    let files = [contents(LENGTH, 1), contents(LENGTH, 2)];
    let with = json!({"metrics": "127.0.0.1:0", "origin": {"memory_bytes": 8 << 20, "extent_bytes": 1 << 16}});
    (Stand::with(&[("a", &files[0]), ("b", &files[1])], with), files)
}

fn counted(stand: &Stand, name: &str) -> u64 {
    let answer = get(stand.metrics.unwrap(), "/metrics", &[]);
    let text = String::from_utf8(answer.body).unwrap();
    let row = text.lines().find_map(|row| row.strip_prefix(&format!("flashcrowd_{name} ")));
    row.expect(&text).parse().unwrap()
}

/// Ordinary clients, those that take any order, and ranges that begin and end anywhere: until much was not copied, which needs
/// sockets that take what they get at once.
#[test]
fn it_is_what_a_copy_would_be() {
    let (stand, [file, _]) = stand();
    let mut client = Client::connect(stand.address);
    for _ in 0..100 {
        for (begin, end) in [(0, LENGTH), (1, LENGTH - 1), (131_071, 400_000), (70_000, 90_001)] {
            let range = format!("bytes={begin}-{}", end - 1);
            let answer = client.ask("GET", "/a", &[("Range", &range)]);
            assert!(answer.whole && answer.body == file[begin..end], "{range}");
        }
        let answer = client.ask("GET", "/a", &ANY);
        assert!(answer.whole && of(&answer, &file));
        if counted(&stand, "uncopied_bytes_total") > LENGTH as u64 {
            return;
        }
    }
    panic!("all was copied");
}

/// Whether the parts of an answer are those of a file.
fn of(answer: &Answer, file: &[u8]) -> bool {
    let is = |part: &Part| part.bytes == file[part.range.start as usize..part.range.end as usize];
    answer.parts().iter().all(is)
}

/// A client whose socket has taken much, and which has read nothing of it: the memory goes to another file meanwhile, again and
/// again.
#[test]
fn it_stays_as_it_was_while_the_kernel_has_it() {
    let (stand, [first, second]) = stand();
    for fields in [&[][..], &ANY] {
        let uncopied = (0..100).any(|_| {
            let mut client = Client::connect(stand.address);
            SockRef::from(client.stream.get_ref()).set_recv_buffer_size(2 << 20).unwrap();
            let sent = stand.snapshot().sent_bytes;
            let before = counted(&stand, "uncopied_bytes_total");
            client.send("GET", "/a", fields);
            stand.until(|now| now.sent_bytes > sent + (1 << 17));
            thread::sleep(Duration::from_millis(50));
            let uncopied = counted(&stand, "uncopied_bytes_total") > before + (1 << 16);
            for _ in 0..3 {
                assert!(get(stand.address, "/b", &[]).body == second);
                let rest = get(stand.address, "/a", &[("Range", "bytes=2000000-")]);
                assert!(rest.body == first[2_000_000..]);
            }
            let answer = client.receive("GET");
            assert!(answer.whole);
            assert!(if fields.is_empty() { answer.body == first } else { of(&answer, &first) });
            uncopied
        });
        assert!(uncopied, "all was copied");
    }
    assert!(counted(&stand, "given_up_bytes_total") > 0);
}

/// A client that goes while the kernel has something of its download.
#[test]
fn who_vanishes_leaves_the_memory() {
    let (stand, [file, other]) = stand();
    for _ in 0..8 {
        let mut clients: Vec<Client> = (0..6).map(|_| Client::connect(stand.address)).collect();
        for client in &mut clients {
            client.send("GET", "/a", &[]);
            client.stream.read_exact(&mut vec![0; 300_000]).unwrap();
        }
        drop(clients);
        assert!(get(stand.address, "/b", &[]).body == other);
    }
    stand.until(|now| now.connections == 0 && now.clients == 0);
    assert!(get(stand.address, "/a", &[]).body == file);
    assert!(counted(&stand, "memory_allocated_bytes") <= 8 << 20);
}
