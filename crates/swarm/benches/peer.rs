//! What a peer costs per event: a HAVE, a turn of the limiter, a block, a round of the choker.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use flashcrowd_base::{RandomStream, Rate, Span, Time};
use flashcrowd_swarm::picker::Picker;
use flashcrowd_swarm::profile::{Profile, named};
use flashcrowd_swarm::{
    Action, Bitfield, ConnId, Extensions, Message, Peer, PeerId, Role, Torrent,
};
use std::hint::black_box;
use std::sync::Arc;

const PIECES: u32 = 200;
const NEIGHBOURS: u32 = 70;
const SPACE: u64 = 1 << 40;

fn mainline() -> Arc<Profile> {
    Arc::new(named("mainline-4.0.2").expect("it ships"))
}
fn torrent() -> Arc<Torrent> {
    Arc::new(Torrent::new(u64::from(PIECES) << 18, 1 << 18, 1 << 14).expect("a sane geometry"))
}
fn drain(peer: &mut Peer) -> usize {
    std::iter::from_fn(|| peer.poll()).count()
}
/// A peer with open connections to this number of others.
fn joined(role: Role, limit: Option<Rate>) -> Peer {
    let stream = RandomStream::new(1, "bench", 0);
    let mut peer = Peer::new(mainline(), torrent(), role, PeerId(0), limit, stream, Time::START);
    peer.start(Time::START);
    for remote in 1..=NEIGHBOURS {
        let conn = peer.accept(Time::START, PeerId(remote)).expect("there is room");
        peer.on_connected(Time::START, conn, SPACE);
        peer.on_message(Time::START, conn, Message::Handshake(Extensions::NONE));
    }
    drain(&mut peer);
    peer
}

fn have(c: &mut Criterion) {
    let mut group = c.benchmark_group("peer");
    let all = PIECES * NEIGHBOURS;
    group.throughput(Throughput::Elements(u64::from(all)));
    for (name, role) in [("have/leecher", Role::Leecher), ("have/seed", Role::Seed)] {
        let fresh = || joined(role, Rate::from_bps(163_840));
        group.bench_function(name, |b| {
            b.iter_batched_ref(
                fresh,
                |peer| {
                    // All but the last piece, for a seed drops those that are complete.
                    for piece in 0..PIECES - 1 {
                        for conn in 0..NEIGHBOURS {
                            peer.on_message(Time::START, ConnId(conn), Message::Have { piece });
                        }
                    }
                    drain(peer)
                },
                criterion::BatchSize::LargeInput,
            );
        });
    }
    group.finish();
}

/// Four neighbours always have requests queued: the seed writes 1380 bytes at a time.
fn limiter_write(c: &mut Criterion) {
    let mut group = c.benchmark_group("peer");
    let mut peer = joined(Role::Seed, Rate::from_bps(163_840));
    for conn in 0..NEIGHBOURS {
        peer.on_message(Time::START, ConnId(conn), Message::Interested);
    }
    let mut now = Time::START + Span::from_secs(10);
    let mut unchoked = Vec::new();
    peer.on_timer(now);
    while let Some(action) = peer.poll() {
        if let Action::Write { conn, completes: Some(Message::Unchoke), .. } = action {
            unchoked.push(conn);
        }
    }
    let request = Message::Request { piece: 0, begin: 0, length: 1 << 14 };
    for conn in &unchoked {
        (0..3).for_each(|_| peer.on_message(now, *conn, request.clone()));
    }
    group.throughput(Throughput::Elements(1));
    group.bench_function("limiter write", |b| {
        b.iter(|| {
            now = peer.next_timer().expect("a ring that is never empty");
            peer.on_timer(now);
            while let Some(action) = peer.poll() {
                if let Action::Write { conn, completes, .. } = action {
                    peer.on_space(now, conn, SPACE);
                    match completes {
                        Some(Message::Piece { .. }) => {
                            peer.on_message(now, conn, request.clone());
                        }
                        Some(Message::Unchoke) => {
                            (0..3).for_each(|_| peer.on_message(now, conn, request.clone()));
                        }
                        _ => {}
                    }
                }
            }
        });
    });
    group.finish();
}

/// A leecher fetches the whole file from one seed; 70 other connections get its HAVEs.
fn download(c: &mut Criterion) {
    let mut group = c.benchmark_group("peer");
    group.throughput(Throughput::Elements(u64::from(PIECES) * 16));
    group.bench_function("block/in", |b| {
        b.iter_batched_ref(
            || joined(Role::Leecher, Rate::from_bps(163_840)),
            |peer| {
                let (seed, mut now) = (ConnId(0), Time::START);
                peer.on_message(now, seed, Message::Bitfield(Arc::new(Bitfield::full(PIECES))));
                peer.on_message(now, seed, Message::Unchoke);
                while let Some(action) = peer.poll() {
                    if let Action::Write {
                        completes: Some(Message::Request { piece, begin, length, .. }),
                        ..
                    } = action
                    {
                        now += Span::from_millis(100);
                        peer.on_message(now, seed, Message::Piece { piece, begin, length });
                    }
                }
                assert!(peer.is_complete());
            },
            criterion::BatchSize::LargeInput,
        );
    });
    group.finish();
}

fn picker(c: &mut Criterion) {
    let mut stream = RandomStream::new(1, "bench", 0);
    let rules = mainline().picker.clone();
    let mut picker = Picker::new(rules, PIECES, false, &mut stream);
    for piece in 0..PIECES {
        (0..=piece % 40).for_each(|_| picker.gained(piece, &mut stream));
    }
    c.bench_function("picker/next of half", |b| {
        b.iter(|| black_box(picker.next(false, &mut stream, |piece| piece % 2 == 1, |_| 0)));
    });
}

fn choke_round(c: &mut Criterion) {
    for (name, role) in [("choke round/leecher", Role::Leecher), ("choke round/seed", Role::Seed)] {
        let mut peer = joined(role, Rate::from_bps(163_840));
        for conn in 0..NEIGHBOURS {
            peer.on_message(Time::START, ConnId(conn), Message::Interested);
        }
        let mut now = Time::START;
        c.bench_function(name, |b| {
            b.iter(|| {
                now += Span::from_secs(10);
                for conn in 0..NEIGHBOURS {
                    peer.on_message(now, ConnId(conn), Message::KeepAlive);
                }
                peer.on_timer(now);
                drain(&mut peer)
            });
        });
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(std::time::Duration::from_millis(500))
        .measurement_time(std::time::Duration::from_secs(2));
    targets = have, limiter_write, download, picker, choke_round
}
criterion_main!(benches);
