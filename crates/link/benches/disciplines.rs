//! What a discipline costs: one packet offered and one taken, of 50 flows whose queue stands.
//! `cargo bench -p flashcrowd-link`

use criterion::{Criterion, criterion_group, criterion_main};
use flashcrowd_base::{RandomStream, Rate, Time};
use flashcrowd_link::{
    Ack, AckFilter, Cake, Choke, CoDel, Conditions, Direction, Drr, Ecn, Flow, FqCoDel, Frame,
    Outcome, Packet, Pie, Queue, Red, Sfq,
};
use std::hint::black_box;

struct Probe {
    tag: u32,
    flow: u64,
}

impl Packet for Probe {
    fn bytes(&self) -> u32 {
        if self.flow.is_multiple_of(2) { 1500 } else { 52 }
    }
    fn tag(&self) -> u32 {
        self.tag
    }
    fn flow(&self) -> Flow {
        Flow { connection: self.flow, source: self.flow as u32 % 7, target: self.flow as u32 % 5 }
    }
    fn ecn(&self) -> Ecn {
        Ecn::Ect0
    }
    fn ack(&self) -> Option<Ack> {
        let pure = self.bytes() < 60;
        Some(Ack { pure, number: self.tag, sacked: 0, flags: 0 })
    }
}

fn line(queue: Queue) -> Conditions {
    Conditions { rate_bps: Rate::from_bps(100_000_000), queue, ..Conditions::default() }
}

fn drop_tail(criterion: &mut Criterion) {
    let line = line(Queue::packets(200));
    let mut link = Direction::new(RandomStream::new(1, "bench", 0));
    let (mut now, mut tag) = (Time::START, 0u32);
    let wire = line.rate_bps.map(|rate| rate.transmission(1500)).unwrap_or_default();
    criterion.bench_function("drop-tail, offer", |bencher| {
        bencher.iter(|| {
            tag = tag.wrapping_add(1);
            now += wire;
            black_box(link.offer(&line, now, &Frame { bytes: 1500, tag }, &mut |_, _| {}))
        });
    });
}

fn managed(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("offer and dequeue");
    let cake = Cake { ack_filter: AckFilter::Conservative, ..Cake::default() };
    let queues: [(&str, Queue); 9] = [
        ("codel", CoDel { ecn: true, ..CoDel::default() }.into()),
        ("fq-codel", FqCoDel::default().into()),
        ("pie", Pie { ecn: true, ..Pie::default() }.into()),
        ("red", Red { ecn: true, ..Red::default() }.into()),
        ("choke", Choke { ecn: true, ..Choke::default() }.into()),
        ("sfq", Sfq { limit_packets: 1000, ..Sfq::default() }.into()),
        ("drr", Drr::default().into()),
        ("cake", Cake::default().into()),
        ("cake with ack filter", cake.into()),
    ];
    for (name, queue) in queues {
        let line = line(queue);
        let mut link = Direction::new(RandomStream::new(1, "bench", 0));
        let (mut now, mut tag) = (Time::START, 0u32);
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                // As many come as leave, so that some hundred always wait.
                while link.waiting_packets() < 300 {
                    tag = tag.wrapping_add(1).max(1);
                    let packet = Probe { tag, flow: u64::from(tag % 50) };
                    if link.offer(&line, now, &packet, &mut |_, _| {}) != Outcome::Queued {
                        break;
                    }
                }
                now = now.max(link.next_dequeue().unwrap_or(now));
                black_box(link.dequeue(&line, now, &mut |_, _| {}))
            });
        });
    }
}

criterion_group!(benches, drop_tail, managed);
criterion_main!(benches);
