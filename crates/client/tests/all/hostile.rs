//! Remotes that violate the protocol: each is closed, and the client goes on.

use crate::util::{Running, Shared, Tracker, run, settings, violations};
use flashcrowd_base::Span;
use flashcrowd_client::Happened;
use flashcrowd_swarm::codec::{Decoded, Decoder, Handshake, encode};
use flashcrowd_swarm::{Bitfield, Message};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddrV4, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

fn bytes_of(message: &Message) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(message, &mut bytes);
    bytes
}

fn hello(shared: &Shared) -> Vec<u8> {
    let mut bytes = Vec::new();
    Handshake::new(shared.metainfo.info_hash, *b"-EV0000-evilevilevil").encode(&mut bytes);
    bytes
}

/// Says something, and waits until the other end closes.
fn is_closed_after(at: SocketAddrV4, said: &[u8]) -> bool {
    let mut stream = TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    // It may close before it has heard all.
    let _ = stream.write_all(said);
    let mut heard = Vec::new();
    match stream.read_to_end(&mut heard) {
        Ok(_) => true,
        Err(error) => error.kind() == ErrorKind::ConnectionReset,
    }
}

fn seed(shared: &Shared, folder: &tempfile::TempDir) -> Running {
    shared.put(folder.path());
    let mut settings = settings(shared, folder.path(), 1);
    settings.patience = Span::from_millis(500);
    settings.profile.connections.timeout_ns = Span::from_secs(1);
    settings.profile.connections.timeout_sweep_ns = Span::from_millis(200);
    run(settings)
}

#[test]
fn who_does_not_keep_to_the_protocol_is_closed() {
    let shared = Shared::files(&[300_000], None);
    let folder = tempfile::tempdir().unwrap();
    let seed = seed(&shared, &folder);
    let hello = hello(&shared);
    let after = |message: &[u8]| [&hello, message].concat();
    let request = |piece, begin, length| {
        let interested = bytes_of(&Message::Interested);
        after(&[interested, bytes_of(&Message::Request { piece, begin, length })].concat())
    };
    let mut wrong = Handshake::new([7; 20], *b"-EV0000-evilevilevil");
    wrong.reserved = [255; 8];
    let mut other = Vec::new();
    wrong.encode(&mut other);
    let cases: [(&str, Vec<u8>, &str); 12] = [
        ("a half handshake", hello[..40].to_vec(), ""),
        ("silence", Vec::new(), ""),
        ("silence after the handshake", hello.clone(), ""),
        ("half a message", after(&bytes_of(&Message::Have { piece: 1 })[..6]), ""),
        ("another protocol", b"GET / HTTP/1.1\r\n\r\n".to_vec(), "does not begin"),
        ("another torrent", other, "another torrent"),
        ("an endless message", after(&[0xff, 0xff, 0xff, 0xff, 7]), "the most"),
        ("a long block", after(&[0, 1, 0, 0, 7, 0, 0, 0, 0]), "the most"),
        ("a message of the wrong length", after(&[0, 0, 0, 2, 1, 0]), "do not fit"),
        ("no such piece", after(&bytes_of(&Message::Have { piece: 99 })), "piece 99"),
        ("a request behind the end", request(4, 32_768, 16_384), "a request of 16384"),
        ("a request that overflows", request(4, u32::MAX, u32::MAX), "a request of 4294967295"),
    ];
    for (name, said, _) in &cases {
        assert!(is_closed_after(seed.at, said), "{name}");
    }
    let (_, events) = seed.end(false);
    let heard = violations(&events);
    let expected: Vec<&str> =
        cases.iter().map(|case| case.2).filter(|why| !why.is_empty()).collect();
    assert_eq!(heard.len(), expected.len(), "{heard:?}");
    for (heard, expected) in heard.iter().zip(expected) {
        assert!(heard.contains(expected), "{heard}: {expected}");
    }
}

/// A block that was not requested reaches no file.
#[test]
fn the_files_of_a_seed_stay_as_they_are() {
    let shared = Shared::files(&[300_000], None);
    let folder = tempfile::tempdir().unwrap();
    let seed = seed(&shared, &folder);
    let block = bytes_of(&Message::Piece { piece: 0, begin: 0, length: 1000 });
    let said = [hello(&shared), block, vec![0; 1000]].concat();
    assert!(is_closed_after(seed.at, &said));
    let _ = seed.end(false);
    assert!(shared.is_in(folder.path()));
}

/// Many say nothing: those who come later are served.
#[test]
fn a_lobby_full_of_the_silent_keeps_nobody_out() {
    let shared = Shared::files(&[300_000], None);
    let folder = tempfile::tempdir().unwrap();
    shared.put(folder.path());
    let seed = run(settings(&shared, folder.path(), 1));
    seed.wait_for_all();
    let silent: Vec<TcpStream> = (0..200).map(|_| TcpStream::connect(seed.at).unwrap()).collect();
    let mut stream = TcpStream::connect(seed.at).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream.write_all(&hello(&shared)).unwrap();
    let mut heard = [0; 68];
    stream.read_exact(&mut heard).unwrap();
    drop(silent);
    let _ = seed.end(false);
}

/// A seed whose blocks are wrong.
fn liar(shared: &Shared, ip: &str) -> SocketAddrV4 {
    let listener = TcpListener::bind((ip, 0)).unwrap();
    let std::net::SocketAddr::V4(at) = listener.local_addr().unwrap() else { unreachable!() };
    let pieces = shared.metainfo.hashes.len() as u32;
    let hello = hello(shared);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let all = Message::Bitfield(Arc::new(Bitfield::full(pieces)));
            let said = [hello.clone(), bytes_of(&all), bytes_of(&Message::Unchoke)].concat();
            if stream.write_all(&said).is_err() {
                continue;
            }
            let mut decoder = Decoder::new(pieces, 1 << 14);
            let mut some = [0; 4096];
            while let Ok(read) = stream.read(&mut some)
                && read > 0
            {
                decoder.feed(&some[..read]);
                while let Ok(Some(decoded)) = decoder.next() {
                    if let Decoded::Message(Message::Request { piece, begin, length }, _) = decoded
                    {
                        let block = bytes_of(&Message::Piece { piece, begin, length });
                        let _ = stream.write_all(&[block, vec![0; length as usize]].concat());
                    }
                }
            }
        }
    });
    at
}

#[test]
fn a_piece_that_is_wrong_is_fetched_of_somebody_else() {
    let tracker = Tracker::start();
    let shared = Shared::files(&[1_000_000], Some(tracker.url.clone()));
    tracker.names(liar(&shared, "127.0.0.66"));
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let settings = settings(&shared, to.path(), 2);
    let leecher = run(settings);
    leecher.wait_for("bad piece", |it| it.bad_pieces > 0 && it.neighbours == 0);
    shared.put(from.path());
    let mut settings = crate::util::settings(&shared, from.path(), 1);
    settings.trusted = true;
    let seed = run(settings);
    let progress = leecher.wait_for_all();
    assert!(progress.wasted > 0);
    let (_, events) = leecher.end(false);
    assert!(shared.is_in(to.path()));
    let bad = events.iter().find_map(|it| match &it.what {
        Happened::BadPiece { from, .. } => Some(from.join(" ")),
        _ => None,
    });
    assert_eq!(bad.unwrap(), "127.0.0.66");
    assert_eq!(violations(&events), ["it spoils pieces"]);
    let _ = seed.end(false);
}

/// A second connection of one peer gets a handshake, and the first one stays.
#[test]
fn one_connection_to_a_peer_is_enough() {
    let shared = Shared::files(&[300_000], None);
    let folder = tempfile::tempdir().unwrap();
    shared.put(folder.path());
    let seed = run(settings(&shared, folder.path(), 1));
    seed.wait_for_all();
    let connect = || {
        let mut stream = TcpStream::connect(seed.at).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stream.write_all(&hello(&shared)).unwrap();
        let mut heard = [0; 68];
        stream.read_exact(&mut heard).unwrap();
        stream
    };
    let mut first = connect();
    let mut rest = Vec::new();
    connect().read_to_end(&mut rest).unwrap();
    assert!(rest.is_empty());
    // The first one's bitfield: five pieces.
    let mut heard = [0; 6];
    first.read_exact(&mut heard).unwrap();
    assert_eq!(heard, [0, 0, 0, 2, 5, 0b1111_1000]);
    assert_eq!(seed.wait_for("neighbour", |it| it.neighbours == 1).neighbours, 1);
    let _ = seed.end(false);
}
