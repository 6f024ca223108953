//! What a choice costs: a client's socket has room, the origin says which block, the socket accepts it. Clients take turns
//! in an order that is shuffled once, so that each one's state has to come from main memory; the list of them, which is not the
//! origin's, is in that order. And what a visit costs: a client begins, takes one block, and ends.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use flashcrowd_base::{RandomStream, Time};
use flashcrowd_origin::{ClientId, FileId, Origin, Output, Request, Scheduling, Settings};
use std::hint::black_box;

/// A server in the middle of its work: every client has a tenth of its file.
struct Server {
    origin: Origin,
    /// In the order of their turns.
    clients: Vec<ClientId>,
    /// By their numbers: when it is their turn, and what they download.
    turns: Vec<(usize, FileId)>,
    next: usize,
    /// Clients that are served together; the origin is given their list.
    batch: usize,
}

/// Blocks chosen in one turn.
const TURN: usize = 200_000;
/// Sockets that have room when a driver asks its poller.
const BATCH: usize = 32;

fn server(name: &str, clients: usize, files: u32, blocks: u32) -> Server {
    let settings = Settings {
        // A tenth of the content: reads go on all the time, and extents come and go.
        memory_bytes: u64::from(files) * u64::from(blocks) * 65_536 / 10,
        scheduling: Scheduling::named(name).expect("a name of the list"),
        ..Settings::default()
    };
    let mut origin = Origin::new(&settings).expect("settings within their bounds");
    let mut stream = RandomStream::new(1, "bench", 0);
    let ids: Vec<_> = (0..files)
        .map(|_| origin.open(u64::from(blocks) * 65_536).expect("not too long"))
        .collect();
    let now = Time::START;
    let file = |number: usize| ids[number % ids.len()];
    let mut clients: Vec<ClientId> =
        (0..clients).map(|at| origin.join(now, file(at), Request::ANY_ORDER)).collect();
    stream.shuffle(&mut clients);
    let mut turns: Vec<_> = (0..clients.len()).map(|number| (0, file(number))).collect();
    for (turn, client) in clients.iter().enumerate() {
        turns[client.number()].0 = turn;
    }
    let mut server = Server { origin, clients, turns, next: 0, batch: 1 };
    // Two blocks for each, so that each is somewhere.
    let two = 2 * server.clients.len();
    server.turn(two);
    server
}

impl Server {
    /// Hands out `blocks` blocks; the disk answers at once.
    fn turn(&mut self, blocks: usize) -> u64 {
        let now = Time::START;
        let mut sum = 0;
        let mut sent = 0;
        while sent < blocks {
            self.next = (self.next + 1) % self.clients.len();
            if self.batch > 1 && self.next.is_multiple_of(self.batch) {
                let end = self.clients.len().min(self.next + self.batch);
                self.origin.expect(&self.clients[self.next..end]);
            }
            self.origin.writable(now, self.clients[self.next]);
            while let Some(output) = self.origin.poll() {
                match output {
                    Output::Read { read, .. } => self.origin.completed(now, read, true),
                    Output::Send { client, offset, length, .. } => {
                        sum += offset;
                        sent += 1;
                        self.origin.accepted(now, client, length);
                    }
                    // Another one comes in its place, under the same number.
                    Output::Done { client } | Output::Failed { client, .. } => {
                        let (turn, file) = self.turns[client.number()];
                        self.clients[turn] = self.origin.join(now, file, Request::ANY_ORDER);
                    }
                }
            }
        }
        sum
    }
}

fn choices(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("choices");
    group.sample_size(10).throughput(Throughput::Elements(TURN as u64));
    for (clients, files, blocks, batch) in
        [(1000, 1, 8192, 1), (100_000, 1000, 10_000, 1), (100_000, 1000, 10_000, BATCH)]
    {
        for name in Scheduling::NAMES {
            let mut made = None;
            let label = format!("{name}, {clients} clients by {batch}, {files} x {blocks} blocks");
            group.bench_function(&label, |b| {
                let server = made.get_or_insert_with(|| server(name, clients, files, blocks));
                server.batch = batch;
                b.iter(|| black_box(server.turn(TURN)));
            });
            // Nothing was made of what a filter leaves out.
            let Some(server) = made else { continue };
            let world = server.origin.world();
            let memory: usize =
                (0..clients as u32).map(|client| world.needs(client).memory()).sum();
            let counters = server.origin.counters();
            println!(
                "{label}: {} blocks, {} reads, {} bytes for what each client needs",
                counters.blocks,
                counters.reads,
                memory / clients
            );
        }
    }
    group.finish();
}

/// Clients that come and go, one after the other, while 1000 extents of their file are in memory and another client downloads it.
fn visits(criterion: &mut Criterion) {
    const EXTENT: u64 = 1 << 20;
    const GIB: u64 = 1 << 30;
    let mut group = criterion.benchmark_group("visits");
    group.sample_size(10);
    let now = Time::START;
    for (what, length, range) in [
        ("a file of 8 GiB", 8 * GIB, None),
        ("8 GiB but the first extent", 8 * GIB, Some(EXTENT..8 * GIB)),
        ("1 TiB but the first extent", 1024 * GIB, Some(EXTENT..1024 * GIB)),
    ] {
        let request = Request { ranges: range.as_ref().map(std::slice::from_ref), in_order: false };
        for name in Scheduling::NAMES {
            let mut made = None;
            group.bench_function(format!("{name}, {what}"), |b| {
                let (origin, file) = made.get_or_insert_with(|| {
                    let settings = Settings {
                        memory_bytes: 1000 * EXTENT,
                        scheduling: Scheduling::named(name).expect("a name of the list"),
                        ..Settings::default()
                    };
                    let mut origin = Origin::new(&settings).expect("settings within their bounds");
                    let file = origin.open(length).expect("not too long");
                    let reader = origin.join(now, file, Request::ANY_ORDER);
                    (0..17_000).for_each(|_| take(&mut origin, reader));
                    (origin, file)
                });
                b.iter(|| {
                    let client = origin.join(now, *file, request);
                    take(origin, client);
                    origin.leave(now, client);
                });
            });
        }
    }
    group.finish();
}

/// A client takes a block; the disk answers at once.
fn take(origin: &mut Origin, client: ClientId) {
    let now = Time::START;
    origin.writable(now, client);
    while let Some(output) = origin.poll() {
        match output {
            Output::Read { read, .. } => origin.completed(now, read, true),
            Output::Send { client, length, .. } => origin.accepted(now, client, length),
            Output::Done { .. } | Output::Failed { .. } => {}
        }
    }
}

criterion_group!(benches, choices, visits);
criterion_main!(benches);
