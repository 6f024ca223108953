//! A measurement, both ends in this process.
#![allow(clippy::unwrap_used, reason = "a test")]

use flashcrowd_live::session::{Admission, Amount, Order, Server, SessionHandle, Stopper, send};
use flashcrowd_transport::utp::profiles;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(120);

fn order(server: &Server, amount: Amount) -> Order {
    Order { remote: server.local_addr(), amount, config: Arc::new(profiles::libutp()) }
}

fn server(once: bool) -> Server {
    let config = Arc::new(profiles::libutp());
    let admission = Admission { once, ..Admission::default() };
    Server::bind("127.0.0.1:0".parse().unwrap(), &config, admission).unwrap()
}

#[tokio::test]
async fn both_ends_agree_on_the_digest() {
    for bytes in [0, 1, 5_000_000] {
        let server = server(true);
        let order = order(&server, Amount::Bytes(bytes));
        let (watch, control) = (server.watch(), SessionHandle::default());
        let serving = tokio::spawn({
            let control = control.clone();
            async move { server.run(&control).await }
        });
        let outcome =
            timeout(PATIENCE, send(&order, &SessionHandle::default())).await.unwrap().unwrap();
        timeout(PATIENCE, serving).await.unwrap().unwrap().unwrap();
        let received = watch.take_finished();
        assert!(outcome.verified && outcome.stopped_by.is_none(), "{outcome:?}");
        assert_eq!((outcome.bytes, received[0].bytes), (bytes, bytes));
        assert_eq!((received[0].equal, &received[0].digest), (Some(true), &outcome.digest));
        assert_eq!(received[0].error, None);
    }
}

#[tokio::test]
async fn the_sender_stops_and_what_was_sent_is_verified() {
    let server = server(true);
    let order = order(&server, Amount::Time(Duration::from_secs(3600)));
    let watch = server.watch();
    let serving = tokio::spawn(async move { server.run(&SessionHandle::default()).await });
    let control = SessionHandle::default();
    let sending = tokio::spawn({
        let control = control.clone();
        async move { send(&order, &control).await }
    });
    while watch.active().first().is_none_or(|one| one.bytes == 0) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(control.snapshot().unwrap().packets_sent > 0);
    control.stop();
    let outcome = timeout(PATIENCE, sending).await.unwrap().unwrap().unwrap();
    timeout(PATIENCE, serving).await.unwrap().unwrap().unwrap();
    assert!(outcome.verified && outcome.bytes > 0, "{outcome:?}");
    assert_eq!(outcome.stopped_by, Some(Stopper::Sender));
    assert_eq!(watch.take_finished()[0].bytes, outcome.bytes);
}

#[tokio::test]
async fn the_receiver_stops_and_what_arrived_is_verified() {
    let server = server(false);
    let order = order(&server, Amount::Time(Duration::from_secs(3600)));
    let (watch, control) = (server.watch(), SessionHandle::default());
    let serving = tokio::spawn({
        let control = control.clone();
        async move { server.run(&control).await }
    });
    let sending = tokio::spawn(async move { send(&order, &SessionHandle::default()).await });
    while watch.active().first().is_none_or(|one| one.bytes == 0) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    control.stop();
    let outcome = timeout(PATIENCE, sending).await.unwrap().unwrap().unwrap();
    timeout(PATIENCE, serving).await.unwrap().unwrap().unwrap();
    assert_eq!(outcome.stopped_by, Some(Stopper::Receiver));
    let receipt = outcome.receipt.clone().unwrap();
    assert!(outcome.verified && receipt.stopped && receipt.bytes <= outcome.bytes, "{outcome:?}");
    let received = watch.take_finished();
    assert_eq!((received[0].bytes, received[0].equal), (receipt.bytes, Some(true)));
    assert_eq!(received[0].stopped_by, Some(Stopper::Receiver));
}

#[tokio::test]
async fn a_stranger_is_refused_in_words() {
    let config = Arc::new(profiles::libutp());
    let stranger = flashcrowd_live::Socket::bind("127.0.0.1:0".parse().unwrap(), &config).unwrap();
    let remote = stranger.local_addr();
    let order = Order { remote, amount: Amount::Bytes(1000), config };
    let answer = tokio::spawn(async move {
        let stream = stranger.accept().await.unwrap();
        tokio::io::AsyncWriteExt::write_all(&mut &stream, b"\x13BitTorrent protocol")
            .await
            .unwrap();
        (stranger, stream)
    });
    let error =
        timeout(PATIENCE, send(&order, &SessionHandle::default())).await.unwrap().unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    drop(answer.await.unwrap());
}

#[tokio::test]
async fn one_sender_more_than_are_wanted_is_refused_until_another_leaves() {
    let config = Arc::new(profiles::libutp());
    let admission = Admission { most_senders: 2, ..Admission::default() };
    let server = Server::bind("127.0.0.1:0".parse().unwrap(), &config, admission).unwrap();
    let endless = order(&server, Amount::Time(Duration::from_secs(3600)));
    let short = order(&server, Amount::Bytes(1000));
    let (watch, control) = (server.watch(), SessionHandle::default());
    let serving = tokio::spawn({
        let control = control.clone();
        async move { server.run(&control).await }
    });
    let mut senders: Vec<_> = (0..2)
        .map(|_| {
            let (order, control) = (endless.clone(), SessionHandle::default());
            let theirs = control.clone();
            (control, tokio::spawn(async move { send(&order, &theirs).await }))
        })
        .collect();
    while watch.active().len() < 2 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let refused =
        timeout(PATIENCE, send(&short, &SessionHandle::default())).await.unwrap().unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::ConnectionReset);
    assert_eq!(watch.active().len(), 2, "the others go on");
    let (first, sending) = senders.remove(0);
    first.stop();
    assert!(timeout(PATIENCE, sending).await.unwrap().unwrap().unwrap().verified);
    while watch.active().len() > 1 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let sent = timeout(PATIENCE, send(&short, &SessionHandle::default())).await.unwrap().unwrap();
    assert!(sent.verified);
    control.stop();
    timeout(PATIENCE, serving).await.unwrap().unwrap().unwrap();
    assert!(senders.remove(0).1.await.unwrap().unwrap().verified);
}
