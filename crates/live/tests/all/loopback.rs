//! Two sockets of this machine, end to end.
#![allow(clippy::unwrap_used, reason = "a test")]

use flashcrowd_live::{Socket, Stream};
use flashcrowd_transport::utp::{Config, profiles};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

/// Far more than a slow machine needs: nothing here is about speed.
const PATIENCE: Duration = Duration::from_secs(120);

fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at ^ (at >> 8) ^ (at >> 15)) as u8).collect()
}

async fn pair(address: &str, config: &Arc<Config>) -> (Socket, Socket, Stream, Stream) {
    let address = address.parse().unwrap();
    let server = Socket::bind(address, config).unwrap();
    let client = Socket::bind(address, config).unwrap();
    let (opened, accepted) = timeout(PATIENCE, async {
        tokio::join!(client.connect(server.local_addr()), server.accept())
    })
    .await
    .unwrap();
    (client, server, opened.unwrap(), accepted.unwrap())
}

async fn carry(from: &mut Stream, to: &mut Stream, content: &[u8]) {
    let write = async {
        from.write_all(content).await.unwrap();
        from.shutdown().await.unwrap();
    };
    let mut heard = Vec::new();
    let (read, ()) =
        timeout(PATIENCE, async { tokio::join!(to.read_to_end(&mut heard), write) }).await.unwrap();
    assert_eq!(read.unwrap(), content.len());
    assert!(heard == content, "the bytes differ");
}

#[tokio::test]
async fn every_profile_carries_both_directions_and_closes() {
    for config in profiles::all() {
        let config = Arc::new(config);
        let (client, server, mut opened, mut accepted) = pair("127.0.0.1:0", &config).await;
        carry(&mut opened, &mut accepted, &bytes(3_000_001)).await;
        carry(&mut accepted, &mut opened, &bytes(300_001)).await;
        drop((opened, accepted));
        timeout(PATIENCE, async { tokio::try_join!(client.close(), server.close()) })
            .await
            .unwrap_or_else(|_| panic!("{} does not end", config.name))
            .unwrap();
    }
}

#[tokio::test]
async fn ipv6_and_ipv4_meet_at_the_unspecified_address() {
    let config = Arc::new(profiles::libutp());
    let Ok(server) = Socket::bind("[::]:0".parse().unwrap(), &config) else {
        return; // A machine without IPv6.
    };
    let port = server.local_addr().port();
    for (from, to) in
        [("127.0.0.1:0", format!("127.0.0.1:{port}")), ("[::1]:0", format!("[::1]:{port}"))]
    {
        let client = Socket::bind(from.parse().unwrap(), &config).unwrap();
        let (opened, accepted) = tokio::join!(client.connect(to.parse().unwrap()), server.accept());
        let (mut opened, mut accepted) = (opened.unwrap(), accepted.unwrap());
        assert_eq!(accepted.peer_addr(), client.local_addr());
        carry(&mut opened, &mut accepted, &bytes(100_000)).await;
    }
    let v4 = Socket::bind("127.0.0.1:0".parse().unwrap(), &config).unwrap();
    let error = v4.connect("[::1]:9".parse().unwrap()).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::AddrNotAvailable);
}

#[tokio::test]
async fn many_connections_share_two_sockets() {
    let config = Arc::new(profiles::libutp());
    let server = Socket::bind("127.0.0.1:0".parse().unwrap(), &config).unwrap();
    let client = Socket::bind("127.0.0.1:0".parse().unwrap(), &config).unwrap();
    let content = Arc::new(bytes(200_000));
    let mut tasks = Vec::new();
    for _ in 0..40 {
        let mut opened = client.connect(server.local_addr()).await.unwrap();
        let mut accepted = server.accept().await.unwrap();
        let content = Arc::clone(&content);
        tasks.push(tokio::spawn(async move {
            carry(&mut opened, &mut accepted, &content).await;
        }));
    }
    for task in tasks {
        timeout(PATIENCE, task).await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn a_reader_that_waits_closes_the_window_and_loses_nothing() {
    let config = Arc::new(profiles::libutp());
    let (_client, _server, mut opened, mut accepted) = pair("127.0.0.1:0", &config).await;
    let content = bytes(4 << 20);
    let mut written = 0;
    // The send buffer here and the receive buffer there fill up; then nothing moves.
    while let Ok(more) =
        timeout(Duration::from_millis(500), opened.write(&content[written..])).await
    {
        written += more.unwrap();
    }
    assert!(written < content.len());
    let (rest, mut heard) = (&content[written..], Vec::new());
    let write = async {
        opened.write_all(rest).await.unwrap();
        opened.shutdown().await.unwrap();
        opened.delivered().await.unwrap();
    };
    timeout(PATIENCE, async { tokio::join!(write, accepted.read_to_end(&mut heard)) })
        .await
        .unwrap()
        .1
        .unwrap();
    assert!(heard == content);
}

#[tokio::test]
async fn an_end_that_gives_up_tells_the_other() {
    let config = Arc::new(profiles::libutp());
    let (_client, _server, mut opened, accepted) = pair("127.0.0.1:0", &config).await;
    accepted.abort();
    let error = timeout(PATIENCE, opened.read_u8()).await.unwrap().unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    assert_eq!(opened.write(b"x").await.unwrap_err().kind(), io::ErrorKind::ConnectionReset);
}

#[tokio::test]
async fn nobody_listening_and_a_port_in_use_are_told_apart() {
    let config = Arc::new(profiles::libutp());
    let client = Socket::bind("127.0.0.1:0".parse().unwrap(), &config).unwrap();
    let free = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = timeout(PATIENCE, client.connect(free)).await.unwrap().unwrap_err();
    let expected = if cfg!(target_os = "linux") {
        io::ErrorKind::ConnectionRefused
    } else {
        io::ErrorKind::TimedOut
    };
    assert_eq!(error.kind(), expected);
    let taken = Socket::bind(client.local_addr(), &config).unwrap_err();
    assert_eq!(taken.kind(), io::ErrorKind::AddrInUse);
}

#[tokio::test]
async fn a_socket_that_closes_refuses_who_comes_later() {
    let config = Arc::new(profiles::libutp());
    let (client, server, mut opened, accepted) = pair("127.0.0.1:0", &config).await;
    let address = server.local_addr();
    drop(accepted);
    let closing = tokio::spawn(server.close());
    assert_eq!(timeout(PATIENCE, opened.read(&mut [0; 8])).await.unwrap().unwrap(), 0);
    drop(opened);
    timeout(PATIENCE, closing).await.unwrap().unwrap().unwrap();
    assert!(timeout(PATIENCE, client.connect(address)).await.unwrap().is_err());
}

#[tokio::test]
async fn an_end_that_leaves_waits_for_the_other_to_close() {
    let config = Arc::new(profiles::libutp());
    for order in 0..3 {
        let (client, server, mut opened, mut accepted) = pair("127.0.0.1:0", &config).await;
        opened.write_all(b"hello").await.unwrap();
        opened.shutdown().await.unwrap();
        let mut heard = String::new();
        timeout(PATIENCE, accepted.read_to_string(&mut heard)).await.unwrap().unwrap();
        match order {
            0 => {
                accepted.shutdown().await.unwrap();
                drop((opened, accepted));
            }
            1 => drop((accepted, opened)),
            _ => drop((opened, accepted)),
        }
        timeout(PATIENCE, async { tokio::try_join!(client.close(), server.close()) })
            .await
            .unwrap()
            .unwrap();
    }
}

#[tokio::test]
async fn what_comes_before_anybody_accepts_is_kept() {
    let config = Arc::new(profiles::libutp());
    let server = Socket::bind("127.0.0.1:0".parse().unwrap(), &config).unwrap();
    let client = Socket::bind("127.0.0.1:0".parse().unwrap(), &config).unwrap();
    let content = bytes(300_000);
    let mut opened = client.connect(server.local_addr()).await.unwrap();
    opened.write_all(&content).await.unwrap();
    opened.shutdown().await.unwrap();
    timeout(PATIENCE, opened.delivered()).await.unwrap().unwrap();
    let mut accepted = timeout(PATIENCE, server.accept()).await.unwrap().unwrap();
    let mut heard = Vec::new();
    timeout(PATIENCE, accepted.read_to_end(&mut heard)).await.unwrap().unwrap();
    assert!(heard == content, "{} of {} bytes", heard.len(), content.len());
}

#[tokio::test]
async fn an_opening_that_nobody_waits_for_is_given_up() {
    let config = Arc::new(profiles::libutp());
    let client = Socket::bind("127.0.0.1:0".parse().unwrap(), &config).unwrap();
    let mute = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let opening = client.connect(mute.local_addr().unwrap());
    assert!(timeout(Duration::from_millis(50), opening).await.is_err());
    // Not after the 21 seconds in which it would have failed: nothing is left to wait for.
    timeout(Duration::from_secs(15), client.close()).await.unwrap().unwrap();
}
