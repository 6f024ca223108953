//! One peer and its web seeds: what it asks of them, what peers bring meanwhile, and what it does when they fail.

use super::*;

/// A leecher of `web_seeds` web seeds, the first of which are connected, and its rules.
fn leecher(name: &str, web_seeds: u32, change: impl FnOnce(&mut Profile)) -> Rig {
    let mut profile = named(name).unwrap();
    profile.requests.block_bytes = 1000;
    profile.web_seeds.connections = 3;
    change(&mut profile);
    let stream = RandomStream::new(1, "peer", 0);
    let (profile, id) = (Arc::new(profile), PeerId(0));
    let peer = Peer::new(profile, torrent(), Role::Leecher, id, None, stream, Time::START);
    let mut rig = Rig::new(peer.with_web_seeds(web_seeds));
    rig.peer.start(rig.now);
    rig.drain();
    for seed in 0..web_seeds {
        rig.web_connected(seed);
    }
    rig
}
/// The pieces that the ranges which a web seed owes begin in, and how many bytes they have.
fn owed(rig: &Rig, seed: u32) -> Vec<(u64, u64)> {
    rig.web[&seed].1.iter().map(|(begin, length)| (begin / 4000, *length)).collect()
}

#[test]
fn a_client_that_knows_no_web_seeds_and_a_seed_join_none() {
    let rig = leecher("modern", 1, |profile| profile.web_seeds.connections = 0);
    assert!(rig.web.is_empty() && rig.peer.from_web_seed(0).is_none());
    let mut seed = Rig::new(peer(profile(), Role::Seed).with_web_seeds(1));
    seed.peer.start(seed.now);
    seed.drain();
    assert!(seed.web.is_empty());
}

#[test]
fn a_web_seed_is_asked_for_everything_in_one_request_unless_requests_are_short() {
    let mut rig = leecher("modern", 1, |_| {});
    // The fixed random order of the first pieces, and all that lie beside the first.
    assert_eq!(owed(&rig, 0), [(0, 17_500)]);
    rig.web_brings(0, 17_500);
    assert!(rig.peer.is_complete() && rig.web.is_empty(), "who is complete leaves");
    let brought = rig.peer.from_web_seed(0).unwrap();
    let all = FromWebSeed { connections: 1, requests: 1, bytes: 17_500, ..FromWebSeed::default() };
    assert_eq!(brought, all);
    assert_eq!((rig.peer.bytes_down(), rig.peer.bytes_wasted()), (17_500, 0));

    // Pieces one by one, the next one before the last has come: two blocks are under way at least.
    let mut rig = leecher("libtorrent", 1, |profile| profile.web_seeds.request_bytes = 1);
    let [(_, first)] = owed(&rig, 0)[..] else { panic!("one request") };
    rig.web_brings(0, first - 500);
    assert_eq!(owed(&rig, 0).len(), 2);
}

#[test]
fn gaps_are_filled_from_their_begin_to_their_end() {
    let gaps = |profile: &mut Profile| {
        profile.web_seeds.order = WebSeedOrder::Gaps;
        profile.web_seeds.request_bytes = 4000;
    };
    let mut rig = leecher("modern", 1, gaps);
    let [(first, _)] = owed(&rig, 0)[..] else { panic!("one request") };
    let mut order = vec![first];
    for _ in 0..30 {
        let last = rig.web.get(&0).and_then(|(_, owed)| owed.last().copied());
        order.extend(last.map(|(begin, _)| begin / 4000));
        rig.web_brings(0, 1000);
    }
    order.dedup();
    assert!(rig.peer.is_complete());
    let wrapped: Vec<u64> = (first..5).chain(0..first).collect();
    assert_eq!(order, wrapped, "from a random piece to the end, and then the gap before it");
}

#[test]
fn one_that_refuses_or_is_silent_is_tried_again_and_others_are_asked_meanwhile() {
    let mut rig = leecher("modern", 1, |profile| profile.requests.end_game = false);
    let conn = rig.join(1, Bitfield::full(PIECES));
    assert!(rig.say(conn, Message::Unchoke).is_empty(), "the web seed was asked for all of it");
    rig.web_brings(0, 1200);
    rig.wait(Span::from_millis(19_900));
    assert!(rig.web.contains_key(&0));
    let asked = rig.wait(Span::from_millis(200));
    assert!(rig.web.is_empty(), "20 s of silence");
    assert!(!asked.is_empty(), "its blocks are asked of the peer");
    assert_eq!(rig.peer.from_web_seed(0).unwrap().failures, 1);
    rig.wait(Span::from_secs(1));
    assert!(rig.web.contains_key(&0), "and it is tried again");
    rig.web_closed(0);
    rig.wait(Span::from_millis(29_900));
    assert!(rig.web.is_empty(), "it refused");
    rig.wait(Span::from_millis(200));
    assert!(rig.web.contains_key(&0));
}

#[test]
fn what_a_peer_brings_first_comes_twice() {
    let mut rig = leecher("modern", 1, |_| {});
    let conn = rig.join(1, Bitfield::full(PIECES));
    // Everything has been asked for, so the end game asks the peer for the same.
    rig.say(conn, Message::Unchoke);
    let (_, request) = rig.asked.remove(0);
    let Message::Request { piece, begin, length } = request else { panic!("{request:?}") };
    rig.say(conn, Message::Piece { piece, begin, length });
    rig.web_brings(0, 17_500);
    let brought = rig.peer.from_web_seed(0).unwrap();
    assert_eq!((brought.bytes, brought.wasted_bytes), (17_500, u64::from(length)));
    assert_eq!(rig.peer.bytes_wasted(), u64::from(length));
    assert_eq!(rig.peer.bytes_down(), 17_500 + u64::from(length));
}

#[test]
fn no_more_web_seeds_are_connected_than_the_client_allows() {
    let rig = leecher("modern", 5, |_| {});
    assert_eq!(rig.web.keys().copied().collect::<Vec<u32>>(), [0, 1, 2]);
}

#[test]
fn one_that_refused_is_let_be_and_takes_no_place_until_its_time_has_come() {
    let mut rig = leecher("modern", 2, |profile| profile.web_seeds.connections = 1);
    let joined = |rig: &Rig| rig.web.keys().copied().collect::<Vec<u32>>();
    assert_eq!(joined(&rig), [0], "there is one place");
    // It is lost, and refuses when it is tried again.
    rig.web_closed(0);
    rig.wait(Span::from_secs(1));
    assert_eq!(joined(&rig), [0]);
    rig.web_closed(0);
    rig.wait(Span::from_millis(999));
    assert!(joined(&rig).is_empty());
    rig.wait(Span::from_millis(1));
    assert_eq!(joined(&rig), [1], "the other one has its place");
    rig.web_closed(1);
    rig.wait(Span::from_millis(28_900));
    assert!(joined(&rig).is_empty(), "both refused");
    rig.wait(Span::from_millis(200));
    assert_eq!(joined(&rig), [0], "30 s after it refused");
}

#[test]
fn an_attempt_that_is_not_answered_is_given_up_after_a_while() {
    let mut rig = leecher("modern", 1, |_| {});
    rig.web_closed(0);
    rig.wait(Span::from_secs(1));
    assert!(rig.web.contains_key(&0), "it is tried again");
    rig.wait(Span::from_millis(19_900));
    assert!(rig.web.contains_key(&0));
    rig.wait(Span::from_millis(200));
    assert!(rig.web.is_empty(), "20 s without an answer");
    let brought = rig.peer.from_web_seed(0).unwrap();
    assert_eq!((brought.connections, brought.failures), (1, 2));
    rig.wait(Span::from_millis(29_800));
    assert!(rig.web.is_empty());
    rig.wait(Span::from_millis(200));
    assert!(rig.web.contains_key(&0), "as one that refused");
    rig.peer.leave(rig.now);
    rig.drain();
    assert!(rig.web.is_empty(), "who goes leaves it");
}

/// The first one refuses and is back when another has its place: both are connected then, and each is
/// left for its own silence.
#[test]
fn one_beyond_the_places_is_left_when_it_is_silent() {
    let mut rig = leecher("modern", 2, |profile| profile.web_seeds.connections = 1);
    rig.web_closed(0);
    rig.wait(Span::from_secs(1));
    rig.web_closed(0);
    rig.wait(Span::from_secs(1));
    rig.web_connected(1);
    for _ in 0..29 {
        rig.wait(Span::from_secs(1));
        rig.web_brings(1, 100);
    }
    rig.web_connected(0);
    assert_eq!(rig.web.len(), 2);
    for _ in 0..21 {
        rig.wait(Span::from_secs(1));
        rig.web_brings(0, 10);
    }
    assert_eq!(rig.web.keys().copied().collect::<Vec<u32>>(), [0]);
    assert_eq!(rig.peer.from_web_seed(1).unwrap().failures, 1);
}
