//! HTTP/2 without TLS, by prior knowledge (RFC 9113, 3.3): the same answers, and the same limits for streams.

use crate::client::{Client, get};
use crate::stand::{PATIENCE, Stand, contents};
use bytes::Bytes;
use h2::client::{Builder, ResponseFuture, SendRequest};
use h2::{Reason, RecvStream};
use http::{HeaderMap, Method, Request, Response};
use serde_json::json;
use std::future::Future;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;

const ANY: [(&str, &str); 2] = [("range", "bytes=0-65535,65536-"), ("prefer", "part-order=any")];

pub(crate) struct Connection {
    pub(crate) requests: SendRequest<Bytes>,
    end: JoinHandle<Result<(), h2::Error>>,
}

/// Runs what must end.
pub(crate) fn run<T>(what: impl Future<Output = T>) -> T {
    // Connections go on while the test waits for the server.
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(async { timeout(PATIENCE, what).await.expect("it ends") })
}

/// A connection whose streams take `window` bytes before they need a WINDOW_UPDATE.
pub(crate) async fn connect(stand: &Stand, window: u32) -> Connection {
    let stream = TcpStream::connect(stand.address).await.unwrap();
    let mut builder = Builder::new();
    builder.initial_window_size(window).initial_connection_window_size(1 << 24);
    let (requests, connection) = builder.handshake(stream).await.unwrap();
    Connection { requests, end: tokio::spawn(connection) }
}

impl Connection {
    async fn send(
        &mut self,
        method: Method,
        path: &str,
        fields: &[(&str, &str)],
    ) -> Result<(ResponseFuture, h2::SendStream<Bytes>), h2::Error> {
        let uri = format!("http://test{path}");
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        let mut ready = self.requests.clone().ready().await?;
        ready.send_request(request.body(()).unwrap(), true)
    }

    async fn head(
        &mut self,
        method: Method,
        path: &str,
        fields: &[(&str, &str)],
    ) -> Response<RecvStream> {
        self.send(method, path, fields).await.unwrap().0.await.unwrap()
    }

    pub(crate) async fn ask(
        &mut self,
        method: Method,
        path: &str,
        fields: &[(&str, &str)],
    ) -> (u16, HeaderMap, Vec<u8>) {
        let (head, body) = self.head(method, path, fields).await.into_parts();
        let body = drain(body).await.expect("a whole body");
        (head.status.as_u16(), head.headers, body)
    }
}

pub(crate) async fn drain(mut body: RecvStream) -> Result<Vec<u8>, h2::Error> {
    let mut bytes = Vec::new();
    while let Some(data) = body.data().await {
        let data = data?;
        body.flow_control().release_capacity(data.len())?;
        bytes.extend(data);
    }
    Ok(bytes)
}

#[test]
fn answers_are_those_of_http_1() {
    let file = contents(1_000_003, 1);
    let stand = Stand::new(&[("f", &file)]);
    let plain = get(stand.address, "/f", &[]);
    run(async {
        let mut connection = connect(&stand, 1 << 16).await;
        let (status, fields, body) = connection.ask(Method::GET, "/f", &[]).await;
        assert_eq!((status, body == file), (200, true));
        for name in ["content-length", "etag", "last-modified", "vary", "link", "content-type"] {
            assert_eq!(fields[name], plain.field(name), "{name}");
        }
        let (status, fields, body) = connection.ask(Method::HEAD, "/f", &[]).await;
        assert_eq!((status, body.len()), (200, 0));
        assert_eq!(fields["content-length"], "1000003");
        let range = [("range", "bytes=5-99")];
        let (status, fields, body) = connection.ask(Method::GET, "/f", &range).await;
        assert_eq!((status, &body[..]), (206, &file[5..100]));
        assert_eq!(fields["content-range"], "bytes 5-99/1000003");
        let (status, fields, body) = connection.ask(Method::GET, "/f", &ANY).await;
        assert_eq!(
            (status, &fields["preference-applied"]),
            (206, &"part-order=any".parse().unwrap())
        );
        assert!(!fields.contains_key("content-length") && body.len() > file.len());
        let same = [("if-none-match", plain.field("etag"))];
        let (status, fields, body) = connection.ask(Method::GET, "/f", &same).await;
        assert_eq!((status, body.len()), (304, 0));
        assert!(!fields.contains_key("content-length"));
        let (status, fields, _) = connection.ask(Method::POST, "/f", &[]).await;
        assert_eq!((status, &fields["allow"]), (405, &"GET, HEAD".parse().unwrap()));
        assert_eq!(connection.ask(Method::GET, "/none", &[]).await.0, 404);
    });
    stand.until(|now| now.connections == 0 && now.clients == 0);
}

#[test]
fn streams_go_side_by_side() {
    let file = contents(2_000_000, 2);
    let stand = Stand::with(&[("f", &file)], json!({"limits": {"streams": 5}}));
    run(async {
        let mut connection = connect(&stand, 1 << 16).await;
        assert_eq!(connection.ask(Method::HEAD, "/f", &[]).await.0, 200);
        assert_eq!(connection.requests.current_max_send_streams(), 5);
        let mut bodies = Vec::new();
        for _ in 0..5 {
            let answer = connection.head(Method::GET, "/f", &[]).await;
            bodies.push(tokio::spawn(drain(answer.into_body())));
        }
        for body in bodies {
            assert!(body.await.unwrap().unwrap() == file);
        }
    });
}

/// One of two streams takes nothing: it holds nothing of the memory, and after a while its connection ends, though the
/// other one goes on.
#[test]
fn streams_that_take_nothing_hold_nothing() {
    let file = contents(3_000_000, 3);
    let stand = Stand::with(&[("f", &file)], json!({"limits": {"stall_s": 1.0}}));
    run(async {
        let mut connection = connect(&stand, 1000).await;
        let mut dead = Vec::new();
        for number in 0..16 {
            let fields = if number % 2 == 0 { &ANY[..] } else { &[] };
            dead.push(connection.head(Method::GET, "/f", fields).await);
        }
        stand.until(|now| now.clients == 16 && now.served_bytes >= 16 << 14);
        let others = tokio::task::spawn_blocking({
            let address = stand.address;
            move || get(address, "/f", &[])
        });
        assert!(others.await.unwrap().body == file);
        // Small answers meanwhile: the connection is not idle.
        while let Ok((answer, _)) = connection.send(Method::HEAD, "/f", &[]).await {
            if answer.await.is_err() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let _ = connection.end.await.unwrap();
    });
    stand.until(|now| now.connections == 0 && now.clients == 0);
}

#[test]
fn a_stream_that_takes_a_little_now_and_then_goes_on() {
    let file = contents(20_000, 4);
    let stand = Stand::with(&[("f", &file)], json!({"limits": {"stall_s": 0.8}}));
    run(async {
        let mut connection = connect(&stand, 1000).await;
        let mut body = connection.head(Method::GET, "/f", &[]).await.into_body();
        let mut bytes = Vec::new();
        while let Some(data) = body.data().await {
            let data = data.unwrap();
            bytes.extend_from_slice(&data);
            // Two seconds for the block that the server has handed out.
            tokio::time::sleep(Duration::from_millis(100)).await;
            body.flow_control().release_capacity(data.len()).unwrap();
        }
        assert!(bytes == file);
    });
}

#[test]
fn streams_beside_the_first_one_count_as_connections() {
    let file = contents(3_000_000, 5);
    let stand = Stand::with(&[("f", &file)], json!({"limits": {"connections_per_address": 2}}));
    run(async {
        let mut connection = connect(&stand, 1000).await;
        let first = connection.head(Method::GET, "/f", &[]).await;
        let second = connection.head(Method::GET, "/f", &[]).await;
        let (status, fields, _) = connection.ask(Method::GET, "/f", &[]).await;
        assert_eq!((status, &fields["retry-after"]), (429, &"10".parse().unwrap()));
        drop((first, second));
        stand.until(|now| now.clients == 0);
        assert_eq!(connection.ask(Method::HEAD, "/f", &[]).await.0, 200);
    });
    assert_eq!(stand.snapshot().turned_away, 1);
}

/// "Rapid reset" (CVE-2023-44487): requests that are taken back at once, more than streams may be open.
#[test]
fn a_flood_of_resets_ends_its_connection() {
    let file = contents(300_000, 6);
    let stand = Stand::new(&[("f", &file)]);
    run(async {
        let mut connection = connect(&stand, 1000).await;
        let mut sent = 0;
        while let Ok((answer, mut stream)) = connection.send(Method::GET, "/f", &[]).await {
            stream.send_reset(Reason::CANCEL);
            drop(answer);
            sent += 1;
            // So that some come to the service, and others are still on the way when they are taken back.
            if sent % 7 == 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            assert!(sent < 1_000_000, "nobody stops it");
        }
        let _ = connection.end.await.unwrap();
    });
    stand.until(|now| now.connections == 0 && now.clients == 0);
    assert!(get(stand.address, "/f", &[]).body == file);
}

/// Silent ones at each stage: before a byte, within the first bytes, before a request, and after one.
#[test]
fn idle_connections_end() {
    let stand = Stand::with(&[("f", b"x")], json!({"limits": {"header_s": 0.3}}));
    let mut silent: Vec<Client> = (0..4).map(|_| Client::connect(stand.address)).collect();
    for (client, begin) in
        silent.iter_mut().zip(["", "PR", "PRI * HT", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"])
    {
        client.raw(begin.as_bytes());
    }
    run(async {
        let mut connection = connect(&stand, 1000).await;
        assert_eq!(connection.ask(Method::GET, "/f", &[]).await.0, 200);
        // It gets a GOAWAY.
        connection.end.await.unwrap().unwrap();
    });
    stand.until(|now| now.connections == 0);
}

#[test]
fn a_connection_ends_after_its_requests() {
    let limits = json!({"limits": {"requests_per_connection": 3, "header_s": 2.0}});
    let stand = Stand::with(&[("f", b"x")], limits);
    run(async {
        let mut connection = connect(&stand, 1000).await;
        for _ in 0..3 {
            assert_eq!(connection.ask(Method::GET, "/f", &[]).await.0, 200);
        }
        connection.end.await.unwrap().unwrap();
    });
}

#[test]
fn a_file_that_changes_resets_its_streams() {
    let (old, new) = (contents(5_000_000, 7), contents(5_000_000, 8));
    let stand = Stand::new(&[("f", &old)]);
    run(async {
        let mut connection = connect(&stand, 1000).await;
        let body = connection.head(Method::GET, "/f", &[]).await.into_body();
        std::fs::write(stand.path("f"), &new).unwrap();
        let error = drain(body).await.expect_err("it breaks off");
        assert!(error.is_reset(), "{error}");
        assert!(connection.ask(Method::GET, "/f", &[]).await.2 == new);
    });
}

#[test]
fn the_end_lets_streams_end() {
    let file = contents(3_000_000, 9);
    let mut stand = Stand::new(&[("f", &file)]);
    run(async {
        let mut connection = connect(&stand, 1 << 16).await;
        let body = connection.head(Method::GET, "/f", &[]).await.into_body();
        stand.stop();
        assert!(drain(body).await.unwrap() == file);
        connection.end.await.unwrap().unwrap();
    });
    assert!(stand.join());
}
