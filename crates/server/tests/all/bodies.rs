//! Requests with bodies, which the server does not read: they fill no memory, and what is in them is never taken for a
//! request.

use crate::client::{Answer, Client, get};
use crate::http_2::{connect, drain, run};
use crate::stand::{PATIENCE, Stand, contents};
use bytes::Bytes;
use http::{Method, Request};
use serde_json::json;
use std::future::poll_fn;
use std::io::{BufRead, Read, Write};
use std::thread;

/// What a body says, as if it were the next request.
const TRAP: &str = "GET /trap HTTP/1.1\r\nHost: test\r\n\r\n";
const NEXT: &str = "GET /next HTTP/1.1\r\nHost: test\r\n\r\n";
static CHUNK: [u8; 1 << 16] = [b'x'; 1 << 16];
/// A body of this number of bytes is large.
const LARGE: usize = 100_000_000;
/// What may be written of it: what lies in the buffers of two sockets, of 4 and 6 MiB with Linux' defaults.
const BUFFERS: usize = 16 << 20;

/// Its framing fields, and it.
fn bodies() -> [(&'static str, String, String); 4] {
    let (length, hex) = (TRAP.len(), format!("{:x}", TRAP.len()));
    let chunked = || "Transfer-Encoding: chunked\r\n".to_owned();
    [
        ("a length", format!("Content-Length: {length}\r\n"), TRAP.to_owned()),
        ("chunks", chunked(), format!("{hex}\r\n{TRAP}\r\n0\r\n\r\n")),
        (
            "an extension and trailers",
            chunked(),
            format!("{hex};a=b\r\n{TRAP}\r\n0\r\nX: y\r\n\r\n"),
        ),
        ("an empty chunk", chunked(), "0\r\n\r\n".to_owned()),
    ]
}

/// The next answer, if the connection goes on.
fn answer(client: &mut Client, method: &str) -> Option<Answer> {
    let goes_on = client.stream.fill_buf().is_ok_and(|bytes| !bytes.is_empty());
    goes_on.then(|| client.receive(method))
}

/// With the body and the next request behind the head at once, and after the answer, when the connection may have ended. If it
/// has not, the next answer is that to the next request.
#[test]
fn a_body_is_no_request() {
    let (file, next) = (contents(100_000, 1), contents(1000, 2));
    let place = tempfile::tempdir().unwrap();
    let log = place.path().join("access.log");
    let files: [(&str, &[u8]); 3] = [("f", &file), ("next", &next), ("trap", b"it fell for it")];
    let mut stand = Stand::with(&files, json!({"access_log": log}));
    for (what, fields, body) in bodies() {
        for (method, status) in [("GET", 200), ("HEAD", 200), ("POST", 405), ("PUT", 405)] {
            for late in [false, true] {
                let what = format!("{method} with {what}, late: {late}");
                let mut client = Client::connect(stand.address);
                let head = format!("{method} /f HTTP/1.1\r\nHost: test\r\n{fields}\r\n");
                let rest = format!("{body}{NEXT}");
                client.raw(if late { head.clone() } else { format!("{head}{rest}") }.as_bytes());
                let first = answer(&mut client, method).unwrap_or_else(|| panic!("{what}"));
                assert_eq!(first.status, status, "{what}");
                if method == "GET" {
                    assert!(first.whole && first.body == file, "{what}");
                }
                if late {
                    // It may have ended.
                    let _ = client.stream.get_mut().write_all(rest.as_bytes());
                }
                let second = answer(&mut client, "GET");
                assert!(late || second.is_some(), "{what}: the body was there, and was read over");
                if let Some(second) = second {
                    assert_eq!(second.status, 200, "{what}");
                    assert!(second.body == next, "{what}");
                }
            }
        }
    }
    // Two framings that differ are how requests are smuggled (RFC 9112, 11.2).
    let mut client = Client::connect(stand.address);
    let both = format!("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{TRAP}");
    client.raw(format!("GET /f HTTP/1.1\r\nHost: test\r\n{both}").as_bytes());
    if let Some(first) = answer(&mut client, "GET")
        && first.status == 200
        && let Some(second) = answer(&mut client, "GET")
    {
        // What goes behind the last chunk is a request.
        assert_eq!(second.body, b"it fell for it");
    }
    drop(client);
    stand.stop();
    stand.join();
    let text = std::fs::read_to_string(&log).unwrap();
    assert!(text.matches("/trap").count() <= 1, "{text}");
}

/// A client that announces a body and sends none, or one without end in drops, has an answer at once, and no connection
/// for long.
#[test]
fn a_body_that_does_not_come_holds_nothing() {
    let file = contents(100_000, 3);
    let stand = Stand::with(&[("f", &file)], json!({"limits": {"header_s": 0.5}}));
    for framing in ["Content-Length: 1000", "Transfer-Encoding: chunked"] {
        for (method, status) in [("GET", 200), ("POST", 405)] {
            let mut client = Client::connect(stand.address);
            client
                .raw(format!("{method} /f HTTP/1.1\r\nHost: test\r\n{framing}\r\n\r\n").as_bytes());
            let first = answer(&mut client, method).expect("an answer without the body");
            assert_eq!(first.status, status);
            assert!(first.whole && (status != 200 || first.body == file));
            let _ = client.stream.read_to_end(&mut Vec::new());
            stand.until(|now| now.connections == 0 && now.clients == 0);
        }
    }
    // The server asks for no body that it does not read (RFC 9110, 10.1.1).
    let mut client = Client::connect(stand.address);
    let fields = [("Content-Length", "1000"), ("Expect", "100-continue")];
    assert_eq!(client.ask("POST", "/f", &fields).status, 405);
}

#[test]
fn a_large_body_is_not_taken() {
    let file = contents(300_000, 4);
    let stand = Stand::new(&[("f", &file)]);
    for chunked in [false, true] {
        for method in ["GET", "POST"] {
            let mut client = Client::connect(stand.address);
            let mut socket = client.stream.get_ref().try_clone().unwrap();
            socket.set_write_timeout(Some(PATIENCE)).unwrap();
            let framing = if chunked {
                "Transfer-Encoding: chunked".to_owned()
            } else {
                format!("Content-Length: {LARGE}")
            };
            client
                .raw(format!("{method} /f HTTP/1.1\r\nHost: test\r\n{framing}\r\n\r\n").as_bytes());
            let sending = thread::spawn(move || {
                let mut chunk = CHUNK.to_vec();
                if chunked {
                    chunk = format!("{:x}\r\n", CHUNK.len()).into_bytes();
                    chunk.extend_from_slice(&CHUNK);
                    chunk.extend_from_slice(b"\r\n");
                }
                let mut sent = 0;
                while sent < LARGE && socket.write_all(&chunk).is_ok() {
                    sent += chunk.len();
                }
                sent
            });
            // The end of the connection may overtake the answer.
            let mut bytes = Vec::new();
            let _ = client.stream.read_to_end(&mut bytes);
            if !bytes.is_empty() {
                let status: &[u8] =
                    if method == "GET" { b"HTTP/1.1 200 " } else { b"HTTP/1.1 405 " };
                assert!(bytes.starts_with(status), "{:?}", &bytes[..bytes.len().min(100)]);
                assert!(bytes.len() < file.len() + 2000, "one answer");
            }
            let sent = sending.join().unwrap();
            assert!(sent < BUFFERS, "{sent} of {LARGE} bytes were taken");
            stand.until(|now| now.connections == 0 && now.clients == 0);
        }
    }
    assert!(get(stand.address, "/f", &[]).body == file);
}

/// Over HTTP/2 a stream's window bounds what is taken of its body, and other streams go on.
#[test]
fn a_stream_with_a_large_body_is_answered() {
    let (file, next) = (contents(300_000, 5), contents(1000, 6));
    let stand = Stand::new(&[("f", &file), ("next", &next)]);
    run(async {
        let mut connection = connect(&stand, 1 << 16).await;
        for (method, status) in [(Method::GET, 200), (Method::POST, 405), (Method::GET, 200)] {
            let request = Request::builder().method(method).uri("http://test/f");
            let mut ready = connection.requests.clone().ready().await.unwrap();
            let request = request.body(()).unwrap();
            let (answer, mut stream) = ready.send_request(request, false).unwrap();
            let sending = tokio::spawn(async move {
                let mut sent = 0;
                while sent < LARGE {
                    stream.reserve_capacity(CHUNK.len());
                    let Some(Ok(room)) = poll_fn(|context| stream.poll_capacity(context)).await
                    else {
                        break;
                    };
                    let room = room.min(CHUNK.len());
                    if stream.send_data(Bytes::from_static(&CHUNK[..room]), false).is_err() {
                        break;
                    }
                    sent += room;
                }
                sent
            });
            let (head, body) = answer.await.unwrap().into_parts();
            assert_eq!(head.status, status);
            let body = drain(body).await.unwrap();
            assert!(status != 200 || body == file);
            let sent = sending.await.unwrap();
            assert!(sent <= 4 << 16, "{sent} of {LARGE} bytes were taken");
            let (status, _, body) = connection.ask(Method::GET, "/next", &[]).await;
            assert_eq!((status, body == next), (200, true));
        }
    });
    stand.until(|now| now.connections == 0 && now.clients == 0);
}
