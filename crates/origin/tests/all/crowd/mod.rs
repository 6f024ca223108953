//! A crowd before an origin: a disk in virtual time, and clients whose sockets drain at the rate of their lines. No
//! packets and no processor: what is left is the order of the blocks and of the reads.

#![allow(dead_code, clippy::unwrap_used)]

use flashcrowd_base::{RandomStream, Rate, Span, Time};
use flashcrowd_origin::disk::{HardDisk, Medium};
use flashcrowd_origin::{ClientId, FileId, Origin, Output, ReadId, Request, Settings};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// The clients that come, and what they want.
#[derive(Clone)]
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    /// One behind the other on the disk.
    pub(crate) files: u32,
    /// The exponent of their popularity: the n-th is wanted n^-zipf as often as the first. 0: equally popular.
    pub(crate) zipf: f64,
    pub(crate) file_bytes: u64,
    /// The rates of the clients' lines, equally often.
    pub(crate) lines: Vec<Line>,
    /// What is asked for, as a part of 1 Gbit/s. Arrivals are a Poisson process.
    pub(crate) load: f64,
    pub(crate) memory: u64,
    /// Clients that take their blocks in the order of the file only, as a part of all.
    pub(crate) in_order: f64,
    /// Nothing is counted before.
    pub(crate) warm_up: Span,
    pub(crate) end: Span,
    pub(crate) seed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Line {
    pub(crate) name: &'static str,
    pub(crate) bps: u64,
}

pub(crate) const T1: Line = Line { name: "T1", bps: 1_544_000 };
pub(crate) const TEN: Line = Line { name: "10T", bps: 10_000_000 };
pub(crate) const T3: Line = Line { name: "T3", bps: 44_736_000 };

/// What came out.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// Handed to sockets, MB/s.
    pub(crate) network: f64,
    /// Read, MB/s.
    pub(crate) disk: f64,
    pub(crate) requests: f64,
    pub(crate) seeks: f64,
    pub(crate) misses: f64,
    pub(crate) busy: f64,
    /// For each line the mean time of the downloads that ended, and how many did.
    pub(crate) downloads: Vec<(f64, usize)>,
    /// Clients at the end.
    pub(crate) left: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Completed(ReadId),
    Writable(u32),
    Arrives,
}

struct Member {
    client: ClientId,
    line: usize,
    began: Time,
    /// When its socket's buffer will be empty.
    empty: Time,
    blocks: Vec<u64>,
    left: u32,
}

/// The socket's buffer, in blocks.
const BUFFER: u64 = 2;

pub(crate) fn run(workload: &Workload, settings: &Settings, medium: &Medium) -> Outcome {
    let mut settings = settings.clone();
    settings.memory_bytes = workload.memory;
    let mut origin = Origin::new(&settings).unwrap();
    let files: Vec<FileId> =
        (0..workload.files).map(|_| origin.open(workload.file_bytes).unwrap()).collect();
    let mut disk = medium.build(Span::ZERO);
    let mut arrivals = RandomStream::new(workload.seed, "arrivals", 0);
    let mut kinds = RandomStream::new(workload.seed, "kinds", 0);
    let mut sum = 0.0;
    let popularity: Vec<f64> = (1..=workload.files)
        .map(|rank| {
            sum += libm::pow(f64::from(rank), -workload.zipf);
            sum
        })
        .collect();
    let mean = Span::from_seconds(workload.file_bytes as f64 * 8.0 / (workload.load * 1e9));
    let end = Time::START + workload.end;
    let warm = Time::START + workload.warm_up;

    let mut events: BinaryHeap<Reverse<(Time, u64, Event)>> = BinaryHeap::new();
    let mut order = 0u64;
    let mut members: BTreeMap<usize, Member> = BTreeMap::new();
    let mut downloads = vec![(0.0, 0usize); workload.lines.len()];
    let blocks = origin.world().file(0).layout.blocks();
    let mut before = None;
    macro_rules! push {
        ($time:expr, $event:expr) => {{
            order += 1;
            events.push(Reverse(($time, order, $event)));
        }};
    }
    push!(Time::START, Event::Arrives);
    while let Some(Reverse((now, _, event))) = events.pop() {
        if now >= end {
            break;
        }
        if before.is_none() && now >= warm {
            before = Some((origin.counters(), disk.counters()));
        }
        match event {
            Event::Arrives => {
                push!(now + arrivals.exponential(mean), Event::Arrives);
                let popular = kinds.unit() * popularity[files.len() - 1];
                let file = files[popularity.partition_point(|sum| *sum <= popular)];
                let line = kinds.below(workload.lines.len());
                let in_order = kinds.unit() < workload.in_order;
                let request = Request { ranges: None, in_order };
                let client = origin.join(now, file, request);
                let sent = vec![0; blocks.div_ceil(64) as usize];
                let member =
                    Member { client, line, began: now, empty: now, blocks: sent, left: blocks };
                assert!(members.insert(client.number(), member).is_none());
                origin.writable(now, client);
            }
            Event::Writable(number) => {
                let client = members[&(number as usize)].client;
                origin.writable(now, client);
            }
            Event::Completed(read) => origin.completed(now, read, true),
        }
        assert!(origin.world().cache().used() <= workload.memory);
        while let Some(output) = origin.poll() {
            match output {
                Output::Read { read, file, offset, length, .. } => {
                    let address = file.number() as u64 * workload.file_bytes + offset;
                    push!(disk.submit(now, address, length), Event::Completed(read));
                }
                Output::Send { client, offset, length, .. } => {
                    let member = members.get_mut(&client.number()).unwrap();
                    let block = offset / u64::from(settings.block_bytes);
                    let bit = 1 << (block % 64);
                    assert_eq!(member.blocks[block as usize / 64] & bit, 0, "a block twice");
                    member.blocks[block as usize / 64] |= bit;
                    member.left -= 1;
                    let rate = Rate::at_least_one(workload.lines[member.line].bps);
                    member.empty = member.empty.max(now) + rate.transmission(u64::from(length));
                    let room = (BUFFER - 1) * u64::from(settings.block_bytes);
                    let drained = rate.transmission(room).nanos();
                    let next = member.empty.nanos().saturating_sub(drained).max(now.nanos());
                    if member.left > 0 {
                        push!(Time::from_nanos(next), Event::Writable(client.number() as u32));
                    }
                    origin.accepted(now, client, length);
                }
                Output::Done { client } => {
                    let member = members.remove(&client.number()).unwrap();
                    assert_eq!(member.left, 0);
                    if now >= warm {
                        let mean = &mut downloads[member.line];
                        mean.0 += member.empty.since(member.began).seconds();
                        mean.1 += 1;
                    }
                }
                Output::Failed { client, failure } => panic!("{client:?} {failure:?}"),
            }
        }
    }
    let (then, disk_then) = before.unwrap();
    let (after, disk_after) = (origin.counters(), disk.counters());
    let seconds = (workload.end.saturating_sub(workload.warm_up)).seconds();
    let (sent, read) = ((after.sent - then.sent) as f64, (after.read - then.read) as f64);
    Outcome {
        network: sent / seconds / 1e6,
        disk: read / seconds / 1e6,
        requests: (after.reads - then.reads) as f64 / seconds,
        seeks: (disk_after.seeks - disk_then.seeks) as f64 / seconds,
        misses: read / sent,
        busy: disk_after.busy.saturating_sub(disk_then.busy).seconds() / seconds,
        downloads: downloads.iter().map(|(sum, n)| (sum / *n as f64, *n)).collect(),
        left: members.len(),
    }
}

/// The disk of the paper.
pub(crate) fn paper_disk() -> Medium {
    Medium::HardDisk(HardDisk::default())
}

const MB: u64 = 1_000_000;

/// The workloads that the prototype of this crate was tried with, and more mixes: 512 MB files on the paper's disk.
pub(crate) fn workloads(seed: u64) -> Vec<Workload> {
    let row = |name, files, lines: &[Line], load, memory| {
        // Slow lines take 46 minutes.
        let slow = if lines.iter().any(|line| line.bps == T1.bps) { 3 } else { 1 };
        Workload {
            name,
            files,
            zipf: 0.0,
            file_bytes: 1 << 29,
            lines: lines.to_vec(),
            load,
            memory: memory * MB,
            in_order: 0.0,
            warm_up: Span::from_secs(1500 * slow),
            end: Span::from_secs(4000 * slow),
            seed,
        }
    };
    vec![
        row("1 file, T1, 30 %", 1, &[T1], 0.3, 128),
        row("1 file, 10T, 40 %", 1, &[TEN], 0.4, 128),
        row("1 file, T3, 40 %", 1, &[T3], 0.4, 128),
        row("1 file, 10T+T3, 40 %", 1, &[TEN, T3], 0.4, 128),
        row("1 file, T1+T3, 30 %", 1, &[T1, T3], 0.3, 128),
        row("1 file, T1+10T+T3, 40 %", 1, &[T1, TEN, T3], 0.4, 128),
        row("1 file, 10T+T3, 80 %, little memory", 1, &[TEN, T3], 0.8, 64),
        row("4 files, 10T+T3, 40 %, little memory", 4, &[TEN, T3], 0.4, 64),
        row("16 files, 10T, 40 %", 16, &[TEN], 0.4, 300),
        row("16 files, 10T+T3, 20 %", 16, &[TEN, T3], 0.2, 300),
        row("16 files, 10T+T3, 40 %", 16, &[TEN, T3], 0.4, 300),
        row("32 files, 10T, 40 %", 32, &[TEN], 0.4, 600),
        row("64 files, 10T, 40 %", 64, &[TEN], 0.4, 1200),
        Workload { zipf: 1.0, ..row("64 files by Zipf, 10T+T3, 40 %", 64, &[TEN, T3], 0.4, 300) },
        Workload {
            in_order: 0.5,
            ..row("1 file, 10T+T3, 40 %, half in order", 1, &[TEN, T3], 0.4, 128)
        },
    ]
}

impl Outcome {
    /// A line of a table.
    pub(crate) fn row(&self, name: &str) -> String {
        let Outcome { network, disk, requests, seeks, misses, busy, left, .. } = self;
        let times: Vec<String> =
            self.downloads.iter().map(|(mean, n)| format!("{mean:.0} ({n})")).collect();
        let times = times.join(" / ");
        format!(
            "  {name:10} network {network:5.1}  disk {disk:4.1}  requests {requests:5.1}  seeks {seeks:5.1}  \
             misses {misses:.3}  busy {busy:.2}  left {left:3}  downloads {times}"
        )
    }
}
