//! One peer against any sequence of operations: it never panics, its books balance, and it keeps
//! to its limit.

use super::*;
use crate::peer_exchange::{Neighbour, PeerExchange};

#[derive(Clone, Debug)]
enum Op {
    Start,
    Peers(Vec<u32>),
    Failed,
    Accept(u32),
    Connected(u32, u64),
    Closed(u32),
    UtpFailed(u32),
    Say(u32, Message),
    Answer(usize),
    Reject(usize),
    Received(u32, u64),
    Space(u32, u64),
    DataSpace(u32, u64),
    Done(u32),
    Read(usize),
    Wait(u64),
    Limit(u64),
    WebConnected(u32),
    WebBrings(u32, u64),
    WebClosed(u32),
    Leave,
}

fn op() -> impl Strategy<Value = Op> {
    let conn = || 0u32..6;
    let piece = || 0u32..PIECES + 1;
    let begin = || prop_oneof![4 => (0u32..4).prop_map(|n| n * 1000), 1 => any::<u32>()];
    let length = || prop_oneof![4 => Just(1000u32), 1 => Just(500), 1 => any::<u32>()];
    let range = move || (piece(), begin(), length());
    let bits = prop::collection::vec(any::<bool>(), PIECES as usize);
    let peers = || prop::collection::vec(((0u32..300).prop_map(PeerId), any::<bool>()), 0..60);
    let message = prop_oneof![
        3 => Just(Message::Handshake(Extensions::NONE)),
        3 => Just(Message::Handshake(Extensions::FAST)),
        3 => Just(Message::Handshake(Extensions { fast: true, protocol: true })),
        4 => Just(Message::ExtensionHandshake),
        4 => (peers(), peers()).prop_map(|(added, dropped)| {
            let added = added.into_iter().map(|(peer, is_seed)| Neighbour { peer, is_seed });
            let dropped = dropped.into_iter().map(|(peer, _)| peer).collect();
            Message::PeerExchange(Arc::new(PeerExchange::new(added.collect(), dropped)))
        }),
        1 => Just(Message::HaveAll),
        1 => Just(Message::HaveNone),
        4 => piece().prop_map(|piece| Message::AllowedFast { piece }),
        2 => any::<u32>().prop_map(|piece| Message::Suggest { piece }),
        4 => piece().prop_map(|piece| Message::Suggest { piece }),
        1 => range().prop_map(|(piece, begin, length)| Message::Reject { piece, begin, length }),
        1 => Just(Message::KeepAlive),
        2 => Just(Message::Choke),
        4 => Just(Message::Unchoke),
        4 => Just(Message::Interested),
        1 => Just(Message::NotInterested),
        4 => (0u32..PIECES).prop_map(|piece| Message::Have { piece }),
        3 => bits.prop_map(|bits| {
            let mut pieces = Bitfield::new(PIECES);
            for (piece, _) in (0..).zip(bits).filter(|(_, has)| *has) {
                pieces.set(piece);
            }
            Message::Bitfield(Arc::new(pieces))
        }),
        4 => range().prop_map(|(piece, begin, length)| {
            Message::Request { piece, begin, length }
        }),
        1 => range().prop_map(|(piece, begin, length)| Message::Piece { piece, begin, length }),
        1 => range().prop_map(|(piece, begin, length)| Message::Cancel { piece, begin, length }),
    ];
    prop_oneof![
        1 => Just(Op::Start),
        2 => prop::collection::vec(0u32..8, 0..5).prop_map(Op::Peers),
        1 => Just(Op::Failed),
        3 => (0u32..8).prop_map(Op::Accept),
        4 => (conn(), 0u64..5000).prop_map(|(conn, space)| Op::Connected(conn, space)),
        1 => conn().prop_map(Op::Closed),
        1 => conn().prop_map(Op::UtpFailed),
        20 => (conn(), message).prop_map(|(conn, message)| Op::Say(conn, message)),
        12 => any::<usize>().prop_map(Op::Answer),
        2 => any::<usize>().prop_map(Op::Reject),
        4 => (conn(), 1u64..5000).prop_map(|(conn, bytes)| Op::Received(conn, bytes)),
        6 => (conn(), 0u64..5000).prop_map(|(conn, space)| Op::Space(conn, space)),
        4 => (conn(), 0u64..5000).prop_map(|(conn, space)| Op::DataSpace(conn, space)),
        4 => conn().prop_map(Op::Done),
        8 => any::<usize>().prop_map(Op::Read),
        8 => (0u64..20_000).prop_map(Op::Wait),
        1 => (0u64..200_000).prop_map(Op::Limit),
        4 => (0u32..2).prop_map(Op::WebConnected),
        8 => (0u32..2, 0u64..7000).prop_map(|(seed, bytes)| Op::WebBrings(seed, bytes)),
        1 => (0u32..2).prop_map(Op::WebClosed),
        1 => prop_oneof![20 => Just(Op::Start), 1 => Just(Op::Leave)],
    ]
}

/// The client of today, with some of what it has switched off.
fn today() -> impl Strategy<Value = Option<Profile>> {
    prop::option::of(any::<[bool; 15]>()).prop_map(|switch| {
        let switch = switch?;
        let mut profile = named("libtorrent").unwrap();
        profile.fast.enabled = switch[0];
        profile.fast.allowed_set = if switch[1] { 2 } else { 5 };
        profile.limiter.quota.idle_earns = switch[2];
        profile.limiter.quota.messages = switch[3];
        profile.limiter.quota.whole_requests = switch[4];
        profile.requests.strict_end_game = switch[5];
        profile.requests.cancel_doubles = switch[13];
        profile.connections.drop_new_seeds = switch[14];
        profile.picker.finish_first = switch[6];
        if switch[7] {
            profile.picker.whole_pieces_ns = Span::from_secs(2);
        }
        if switch[8] {
            profile.limiter.sharing = Sharing::Turns;
        }
        if switch[9] {
            profile.fast.choked_request_ns = None;
        }
        if switch[10] && profile.fast.enabled {
            profile.fast.suggest = SuggestMode::ReadCache;
        }
        if switch[11] {
            profile.fast.max_suggested = 1;
        }
        if switch[12] {
            profile.connections.max_connections = 6;
            profile.connections.turnover_ns = Some(Span::from_secs(3));
            profile.connections.inactivity_ns = Some(Span::from_secs(5));
            profile.peer_exchange.interval_ns = Span::from_secs(1);
        }
        Some(profile)
    })
}

fn any_profile() -> impl Strategy<Value = Profile> {
    (any::<[bool; 17]>(), 0usize..5, 0usize..4, today()).prop_map(
        |(switch, seed, backlog, today)| {
            let name = match (switch[0], switch[10]) {
                (true, _) => "modern",
                (_, true) => "ns2-2011",
                _ => "mainline-4.0.2",
            };
            let mut profile = today.unwrap_or_else(|| named(name).unwrap());
            profile.super_seeding = switch[15];
            if switch[11] {
                profile.requests.interest = Interest::MissingPieces;
            }
            if switch[12] {
                profile.limiter.hand_over = HandOver::Sent;
            }
            if switch[13] {
                profile.choker.leech = LeechChoker::Ns2;
                profile.choker.choke_uninterested = true;
            }
            if switch[14] {
                profile.choker.first_round = FirstRound::FirstInterest;
                profile.picker.begun = BegunOrder::MostRequested;
                profile.requests.reoffer = false;
            }
            profile.requests.block_bytes = 1000;
            profile.control_behind_piece = switch[1];
            profile.connections.drop_seed_to_seed = switch[2];
            profile.requests.end_game = switch[3];
            profile.requests.snubbing = switch[4];
            profile.picker.strict_priority = switch[5];
            if switch[6] {
                profile.choker.free_slot = FreeSlot::Rechoke;
            }
            if switch[7] {
                profile.meter.start = MeterStart::Unchoke;
            }
            if switch[8] {
                profile.picker.order =
                    if switch[16] { PieceOrder::Sequential } else { PieceOrder::Random };
            }
            if switch[9] {
                profile.connections.max_initiate = 2;
                profile.connections.max_connections = 3;
            }
            profile.choker.seed = [
                SeedChoker::Mainline,
                SeedChoker::RoundRobin,
                SeedChoker::FastestUpload,
                SeedChoker::AntiLeech,
                SeedChoker::Ns2,
            ][seed];
            match backlog {
                0 => profile.requests.backlog = RequestPipeline::Fixed(1),
                1 => profile.requests.backlog = RequestPipeline::Mainline { initial: 10 },
                _ => {}
            }
            profile
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn no_sequence_of_operations_upsets_the_books(
        profile in any_profile(),
        seed in any::<bool>(),
        (split, disk) in any::<(bool, bool)>(),
        (web_seeds, gaps, request_bytes) in (0u32..3, any::<bool>(), 1u32..10_000),
        ops in prop::collection::vec(op(), 0..150),
    ) {
        let mut profile = profile;
        profile.web_seeds.connections = 2;
        profile.web_seeds.request_bytes = request_bytes;
        profile.web_seeds.leave_gaps = gaps;
        profile.web_seeds.order = if gaps { WebSeedOrder::Gaps } else { WebSeedOrder::Rarest };
        let unit = u64::from(profile.limiter.write_unit);
        let tick = match profile.limiter.sharing {
            Sharing::Quota => 0.5,
            Sharing::Turns => 0.0,
        };
        let credit = profile.limiter.credit_ns.seconds();
        let peer = peer(profile, if seed { Role::Seed } else { Role::Leecher });
        let peer = peer.with_web_seeds(web_seeds);
        let peer = if disk { peer.with_disk() } else { peer };
        let mut rig = Rig::new(if split { peer.with_data_connections() } else { peer });
        let mut highest = 10_000.0f64;
        let mut forgiven = 1;
        for op in ops {
            match op {
                Op::Start => rig.peer.start(rig.now),
                Op::Peers(peers) => {
                    let peers: Vec<_> = peers.into_iter().map(PeerId).collect();
                    rig.peer.on_peers(rig.now, INTERVAL, &peers);
                }
                Op::Failed => rig.peer.on_announce_failed(rig.now),
                Op::Accept(remote) => {
                    let accepted = rig.peer.accept(rig.now, PeerId(remote));
                    rig.conns.extend(accepted.map(|conn| (conn, (0, false))));
                }
                Op::Connected(conn, space) => {
                    if let Some(entry) = rig.conns.get_mut(&ConnId(conn)).filter(|c| !c.1) {
                        *entry = (space, true);
                        rig.peer.on_connected(rig.now, ConnId(conn), space);
                    }
                }
                Op::Closed(conn) => {
                    rig.conns.remove(&ConnId(conn));
                    rig.data.remove(&ConnId(conn));
                    rig.asked.retain(|(other, _)| other.0 != conn);
                    rig.peer.on_closed(rig.now, ConnId(conn));
                }
                Op::UtpFailed(conn) => {
                    let opening = |end: &(u64, bool)| !end.1;
                    if rig.conns.get(&ConnId(conn)).is_some_and(opening) {
                        rig.conns.remove(&ConnId(conn));
                        rig.peer.on_utp_failed(rig.now, ConnId(conn));
                    }
                }
                Op::Say(conn, message) => rig.peer.on_message(rig.now, ConnId(conn), message),
                Op::Answer(which) => {
                    if !rig.asked.is_empty() {
                        let (conn, asked) = rig.asked.remove(which % rig.asked.len());
                        let (Message::Request { piece, begin, length }
                        | Message::StampedRequest { piece, begin, length, .. }) = asked
                        else {
                            continue;
                        };
                        // Every fourth piece is not what it should be.
                        if which % 4 == 3 {
                            rig.peer.on_bad_piece(rig.now, conn, piece, begin, length);
                        } else {
                            let block = Message::Piece { piece, begin, length };
                            rig.peer.on_message(rig.now, conn, block);
                        }
                    }
                }
                Op::Reject(which) => {
                    if !rig.asked.is_empty() {
                        let (conn, asked) = rig.asked.remove(which % rig.asked.len());
                        if let Message::Request { piece, begin, length } = asked {
                            let reject = Message::Reject { piece, begin, length };
                            rig.peer.on_message(rig.now, conn, reject);
                        }
                    }
                }
                Op::Received(conn, bytes) => rig.peer.on_received(rig.now, ConnId(conn), bytes),
                Op::Space(conn, space) => {
                    if let Some(entry) = rig.conns.get_mut(&ConnId(conn)).filter(|c| c.1) {
                        entry.0 = space;
                        rig.peer.on_space(rig.now, ConnId(conn), space);
                    }
                }
                Op::DataSpace(conn, space) => {
                    if let Some(entry) = rig.data.get_mut(&ConnId(conn)) {
                        *entry = space;
                        rig.peer.on_data_space(rig.now, ConnId(conn), space);
                    }
                }
                Op::Done(conn) => rig.peer.on_done(rig.now, ConnId(conn)),
                Op::Read(which) => {
                    rig.read(which);
                }
                Op::Wait(millis) => {
                    rig.wait(Span::from_millis(millis));
                }
                Op::Limit(bps) => {
                    let limit = Rate::from_bps(bps + 1);
                    highest = highest.max((bps + 1) as f64 / 8.0);
                    forgiven += 1;
                    rig.peer.set_upload_limit(rig.now, limit);
                }
                Op::WebConnected(seed) => rig.web_connected(seed),
                Op::WebBrings(seed, bytes) => rig.web_brings(seed, bytes),
                Op::WebClosed(seed) => rig.web_closed(seed),
                Op::Leave => rig.peer.leave(rig.now),
            }
            rig.drain();
            // The debt is forgiven at every change of the limit; the last unit may overshoot.
            // Quota is for whole ticks, the one before the first request included.
            let span = rig.now.seconds() + credit + tick;
            let max = highest * span + (forgiven * unit) as f64;
            prop_assert!(rig.limited as f64 <= max, "{} of {max}", rig.limited);
        }
    }
}
