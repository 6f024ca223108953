//! A measurement, both ends in this process.
#![allow(clippy::unwrap_used, reason = "a test")]

use flashcrowd_live::Socket;
use flashcrowd_live::session::{
    Admission, Amount, Direction, FlowHandle, Server, SessionHandle, Stopper, StreamReport,
    TransferRequest, Transport, flow, transfer,
};
use flashcrowd_transport::utp::profiles;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(120);

fn order(server: &Server, amount: Amount) -> TransferRequest {
    TransferRequest::new(server.local_addr(), amount, Arc::new(profiles::libutp()))
}

fn server(once: bool) -> Server {
    let config = Arc::new(profiles::libutp());
    let admission = Admission { once, ..Admission::default() };
    Server::bind("127.0.0.1:0".parse().unwrap(), &config, admission, true).unwrap()
}

/// About one port in fifty has a TCP socket of another program, and 250 servers ask for any port.
#[tokio::test]
async fn any_port_is_one_that_is_free_for_udp_and_tcp() {
    let taken: Vec<_> =
        (0..600).map(|_| std::net::TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    for _ in 0..250 {
        server(true);
    }
    drop(taken);
}

/// One stream, and its result.
async fn send(order: &TransferRequest, control: &SessionHandle) -> io::Result<StreamReport> {
    let mut reports = transfer(order, control).await?;
    assert_eq!(reports.len(), 1);
    Ok(reports.remove(0))
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
        assert!(outcome.verified == Some(true) && outcome.stopped_by.is_none(), "{outcome:?}");
        assert_eq!((outcome.bytes, received[0].bytes), (bytes, bytes));
        assert_eq!((received[0].verified, &received[0].digest), (Some(true), &outcome.digest));
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
    assert!(control.streams()[0].connection.packets_sent > Some(0));
    control.stop();
    let outcome = timeout(PATIENCE, sending).await.unwrap().unwrap().unwrap();
    timeout(PATIENCE, serving).await.unwrap().unwrap().unwrap();
    assert!(outcome.verified == Some(true) && outcome.bytes > 0, "{outcome:?}");
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
    assert_eq!((outcome.verified, receipt.bytes), (Some(true), outcome.bytes));
    assert!(receipt.stopped && receipt.bytes <= outcome.queued_bytes, "{outcome:?}");
    let received = watch.take_finished();
    assert_eq!((received[0].bytes, received[0].verified), (receipt.bytes, Some(true)));
    assert_eq!(received[0].stopped_by, Some(Stopper::Receiver));
}

#[tokio::test]
async fn a_stranger_is_refused_in_words() {
    let config = Arc::new(profiles::libutp());
    let stranger = flashcrowd_live::Socket::bind("127.0.0.1:0".parse().unwrap(), &config).unwrap();
    let remote = stranger.local_addr();
    let order = TransferRequest::new(remote, Amount::Bytes(1000), config);
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
    let admission = Admission { most_streams: 2, ..Admission::default() };
    let server = Server::bind("127.0.0.1:0".parse().unwrap(), &config, admission, true).unwrap();
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
    assert_eq!(refused.kind(), io::ErrorKind::QuotaExceeded);
    assert!(refused.to_string().contains("takes 2 at once"), "{refused}");
    let refusals = watch.take_refusals().unwrap();
    assert_eq!((refusals.count, refusals.why), (1, refused.to_string()));
    assert_eq!(watch.active().len(), 2, "the others go on");
    let (first, sending) = senders.remove(0);
    first.stop();
    assert!(timeout(PATIENCE, sending).await.unwrap().unwrap().unwrap().verified.unwrap());
    while watch.active().len() > 1 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let sent = timeout(PATIENCE, send(&short, &SessionHandle::default())).await.unwrap().unwrap();
    assert_eq!(sent.verified, Some(true));
    control.stop();
    timeout(PATIENCE, serving).await.unwrap().unwrap().unwrap();
    assert!(senders.remove(0).1.await.unwrap().unwrap().verified.unwrap());
}

/// The result of every stream at the caller's end and at the server's, by id at the caller.
async fn measured(order: impl Fn(TransferRequest) -> TransferRequest) -> [Vec<StreamReport>; 2] {
    let server = server(true);
    let order = order(self::order(&server, Amount::Bytes(300_000)));
    let watch = server.watch();
    let serving = tokio::spawn(async move { server.run(&SessionHandle::default()).await });
    let control = SessionHandle::default();
    let ours = timeout(PATIENCE, transfer(&order, &control)).await.unwrap().unwrap();
    timeout(PATIENCE, serving).await.unwrap().unwrap().unwrap();
    let mut theirs = watch.take_finished();
    for report in ours.iter().chain(&theirs) {
        assert_eq!((report.error.as_ref(), report.verified), (None, Some(true)), "{report:?}");
        assert_eq!(report.bytes, 300_000);
        assert_eq!(report.transport, order.transport);
    }
    theirs.sort_by(|one, other| one.digest.cmp(&other.digest));
    [ours, theirs]
}

#[tokio::test]
async fn both_directions_and_several_streams_over_either_transport() {
    for transport in [Transport::Utp, Transport::Tcp] {
        let [mut ours, theirs] = measured(|order| TransferRequest {
            transport,
            to_server: 2,
            to_client: 3,
            rate: Some(200_000_000),
            ..order
        })
        .await;
        let directions: Vec<_> = ours.iter().map(|report| report.direction).collect();
        assert_eq!(directions[..2], [Direction::ToServer; 2]);
        assert_eq!(directions[2..], [Direction::ToClient; 3]);
        ours.sort_by(|one, other| one.digest.cmp(&other.digest));
        let digests = |reports: &[StreamReport]| -> Vec<String> {
            reports.iter().map(|report| report.digest.clone()).collect()
        };
        assert_eq!(digests(&ours), digests(&theirs));
        let mut distinct = digests(&ours);
        distinct.dedup();
        assert_eq!(distinct.len(), 5, "each stream has its own content");
    }
}

#[tokio::test]
async fn what_the_server_sends_can_be_stopped_at_either_end() {
    for (ours, stopper) in [(true, Stopper::Receiver), (false, Stopper::Sender)] {
        let server = server(false);
        let order = TransferRequest {
            to_server: 0,
            to_client: 1,
            ..order(&server, Amount::Time(Duration::from_secs(3600)))
        };
        let controls = [SessionHandle::default(), SessionHandle::default()];
        let [caller, servant] = controls.clone();
        let watch = server.watch();
        let serving = tokio::spawn(async move { server.run(&servant).await });
        let receiving = tokio::spawn(async move { send(&order, &caller).await });
        while controls[0].streams().first().is_none_or(|one| one.bytes == 0) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        controls[usize::from(!ours)].stop();
        let report = timeout(PATIENCE, receiving).await.unwrap().unwrap().unwrap();
        assert_eq!((report.verified, report.error), (Some(true), None));
        assert!(report.bytes > 0);
        controls[1].stop();
        timeout(PATIENCE, serving).await.unwrap().unwrap().unwrap();
        let there = watch.take_finished().remove(0);
        assert_eq!((there.stopped_by, there.verified), (Some(stopper), Some(true)));
        assert_eq!(there.bytes, report.bytes);
    }
}

#[tokio::test]
async fn callers_that_say_nothing_take_no_place() {
    let config = Arc::new(profiles::libutp());
    let admission = Admission { most_streams: 1, ..Admission::default() };
    let server = Server::bind("127.0.0.1:0".parse().unwrap(), &config, admission, false).unwrap();
    let (remote, watch) = (server.local_addr(), server.watch());
    let order = order(&server, Amount::Bytes(1000));
    let control = SessionHandle::default();
    let serving = tokio::spawn({
        let control = control.clone();
        async move { server.run(&control).await }
    });
    let strangers = flashcrowd_live::Socket::bind("127.0.0.1:0".parse().unwrap(), &config).unwrap();
    let mut silent = Vec::new();
    for _ in 0..20 {
        let stream = strangers.connect(remote).await.unwrap();
        tokio::io::AsyncWriteExt::write_all(&mut &stream, b"f").await.unwrap();
        stream.delivered().await.unwrap();
        silent.push(stream);
    }
    let sent = timeout(PATIENCE, send(&order, &SessionHandle::default())).await.unwrap().unwrap();
    assert_eq!(sent.verified, Some(true));
    // A wrong answer and no answer are different errors.
    let stranger = strangers.connect(remote).await.unwrap();
    let hello = b"\x13BitTorrent protocol and so on";
    tokio::io::AsyncWriteExt::write_all(&mut &stranger, hello).await.unwrap();
    let refusals = loop {
        if let Some(refusals) = watch.take_refusals() {
            break refusals;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    assert!(refusals.count == 1 && refusals.why.contains("utp send"), "{refusals:?}");
    control.stop();
    timeout(PATIENCE, serving).await.unwrap().unwrap().unwrap();
}

/// The caller's end of stream comes with its request: the refusal is still under way then.
/// Callers with a right request, who then say nothing, keep the places for a moment and no longer; a stream that moves
/// keeps its own.
#[tokio::test]
async fn streams_on_which_nothing_moves_give_way() {
    let config = Arc::new(profiles::libutp());
    let admission = Admission { once: false, most_streams: 3 };
    let server = Server::bind("127.0.0.1:0".parse().unwrap(), &config, admission, false).unwrap();
    let (watch, to) = (server.watch(), server.local_addr());
    let order = order(&server, Amount::Bytes(1000));
    let slow = TransferRequest {
        amount: Amount::Time(Duration::from_secs(60)),
        rate: Some(20_000),
        ..order.clone()
    };
    let control = SessionHandle::default();
    let serving = tokio::spawn({
        let control = control.clone();
        async move { server.run(&control).await }
    });
    let moving = tokio::spawn(async move { send(&slow, &SessionHandle::default()).await });
    let idle = Socket::bind("127.0.0.1:0".parse().unwrap(), &config).unwrap();
    let mut held = Vec::new();
    for _ in 0..2 {
        let stream = idle.connect(to).await.unwrap();
        let hello = b"flashcrowd-utp/1\n\0\0\0\0\0\0\0\x07";
        tokio::io::AsyncWriteExt::write_all(&mut &stream, hello).await.unwrap();
        held.push(stream);
    }
    while watch.active().len() < 3 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let now = SessionHandle::default();
    let full = transfer(&order, &now).await.unwrap_err();
    assert!(full.to_string().contains("full"), "{full}");
    tokio::time::sleep(Duration::from_secs(11)).await;
    let sent = timeout(PATIENCE, send(&order, &now)).await.unwrap().unwrap();
    assert_eq!(sent.verified, Some(true), "{sent:?}");
    let finished = watch.take_finished();
    let given_way: Vec<_> = finished.iter().filter_map(|one| one.error.clone()).collect();
    assert_eq!(given_way, ["nothing moved for 10 s, and another waited"]);
    control.stop();
    timeout(PATIENCE, serving).await.unwrap().unwrap().unwrap();
    assert_eq!(moving.await.unwrap().unwrap().verified, Some(true), "it moved all the time");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn whoever_is_refused_hears_why() {
    let config = Arc::new(profiles::libutp());
    let admission = Admission { most_streams: 0, ..Admission::default() };
    let server = Server::bind("127.0.0.1:0".parse().unwrap(), &config, admission, true).unwrap();
    let order = order(&server, Amount::Bytes(1000));
    let control = SessionHandle::default();
    let serving = tokio::spawn({
        let control = control.clone();
        async move { server.run(&control).await }
    });
    for round in 0..10 {
        let transport = if round < 8 { Transport::Utp } else { Transport::Tcp };
        let order = TransferRequest { transport, ..order.clone() };
        let mut callers = tokio::task::JoinSet::new();
        for _ in 0..24 {
            let order = order.clone();
            callers.spawn(async move { send(&order, &SessionHandle::default()).await });
        }
        while let Some(refused) = timeout(PATIENCE, callers.join_next()).await.unwrap() {
            let heard = match refused.unwrap() {
                Ok(report) => report.error.map(|error| error.to_string()),
                Err(error) => Some(error.to_string()),
            };
            let full = heard.as_ref().is_some_and(|words| words.contains("the server is full"));
            assert!(full, "over {transport:?}: {heard:?}");
        }
    }
    control.stop();
    timeout(PATIENCE, serving).await.unwrap().unwrap().unwrap();
}

#[tokio::test]
async fn a_server_that_vanishes_leaves_totals() {
    for transport in [Transport::Utp, Transport::Tcp] {
        let server = server(false);
        let amount = Amount::Time(Duration::from_secs(3600));
        let order = TransferRequest { transport, ..order(&server, amount) };
        let control = SessionHandle::default();
        let serving = tokio::spawn({
            let control = control.clone();
            async move { server.run(&control).await }
        });
        let ours = SessionHandle::default();
        let sending = tokio::spawn({
            let ours = ours.clone();
            async move { send(&order, &ours).await }
        });
        while ours.streams().first().is_none_or(|one| one.bytes < 100_000) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        // At once: connections are reset.
        control.stop();
        control.stop();
        let report = timeout(PATIENCE, sending).await.unwrap().unwrap().unwrap();
        timeout(PATIENCE, serving).await.unwrap().unwrap().unwrap();
        if report.error.is_some() {
            assert_eq!(report.verified, None);
        }
        assert!(report.bytes >= 100_000 && report.seconds > 0.0, "{report:?}");
    }
}

/// Both ends of a flow, and its handle.
async fn flowing(
    bytes: Option<u64>,
    rate: Option<u64>,
) -> (FlowHandle, tokio::task::JoinHandle<()>) {
    let config = Arc::new(profiles::libutp());
    let bind = || Socket::bind("127.0.0.1:0".parse().unwrap(), &config).unwrap();
    let (from, receiver) = (bind(), bind());
    let to = receiver.local_addr();
    let handle = FlowHandle::started(rate);
    let theirs = handle.clone();
    let task = tokio::spawn(async move { flow(from, receiver, to, bytes, 7, &theirs).await });
    (handle, task)
}

#[tokio::test]
async fn a_flow_carries_what_it_is_asked_and_keeps_its_counters() {
    for bytes in [1, 3_000_000] {
        let (handle, task) = flowing(Some(bytes), None).await;
        timeout(PATIENCE, task).await.unwrap().unwrap();
        let report = handle.report();
        assert_eq!((report.received, &report.error, report.corrupt), (bytes, &None, false));
        assert!(report.ended_s.is_some_and(|seconds| seconds > 0.0));
        let connection = report.connection.unwrap();
        // The counter has nothing but the content.
        assert_eq!(connection.acknowledged_bytes, Some(bytes));
        assert!(connection.rtt_ms.is_some_and(|rtt| rtt > 0.0));
    }
}

#[tokio::test]
async fn a_flow_without_an_end_goes_on_within_its_limit_until_it_is_stopped() {
    // A chunk of 1448 bytes, and no second one for an hour.
    let (handle, task) = flowing(None, Some(1448 * 8 / 3600)).await;
    let received = async |min: u64| {
        let enough = async {
            while handle.report().received < min {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        timeout(PATIENCE, enough).await.unwrap();
        handle.report().received
    };
    assert_eq!(received(1448).await, 1448);
    handle.limit(None);
    assert!(received(1_000_000).await >= 1_000_000);
    assert_eq!(handle.report().ended_s, None);
    handle.stop();
    timeout(PATIENCE, task).await.unwrap().unwrap();
    let report = handle.report();
    assert!(report.ended_s.is_some() && report.error.is_none(), "{report:?}");
}

#[tokio::test]
async fn a_flow_to_nobody_says_why_it_ended() {
    let config = Arc::new(profiles::libutp());
    let bind = || Socket::bind("127.0.0.1:0".parse().unwrap(), &config).unwrap();
    let (from, receiver, gone) = (bind(), bind(), bind());
    let to = gone.local_addr();
    gone.close().await.unwrap();
    let handle = FlowHandle::started(None);
    timeout(PATIENCE, flow(from, receiver, to, Some(1), 7, &handle)).await.unwrap();
    let report = handle.report();
    assert!(report.error.is_some() && !report.corrupt, "{report:?}");
}
