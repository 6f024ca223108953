//! The event queue and the link, per operation. `cargo bench -p flashcrowd-sim --bench parts`

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use flashcrowd_base::{RandomStream, Rate, Span, Time};
use flashcrowd_link::{Conditions, Direction, Frame, Queue};
use flashcrowd_sim::EventQueue;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::black_box;

/// Pops one event and schedules another up to half a second later, with this number pending.
fn queues(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("event queue, pop and schedule");
    for pending in [1_000u32, 10_000, 100_000] {
        let mut stream = RandomStream::new(1, "bench", 0);
        let mut gap = move || Span::from_nanos(stream.bits() >> 35);
        let mut wheel = EventQueue::new();
        let mut heap = BinaryHeap::new();
        for event in 0..pending {
            let at = Time::START + gap();
            wheel.schedule(at, event);
            heap.push(Reverse((at, u64::from(event), event)));
        }
        let mut more = gap.clone();
        group.bench_function(format!("wheel, {pending} pending"), |bencher| {
            bencher.iter(|| {
                if let Some((now, event)) = wheel.pop() {
                    wheel.schedule(now + more(), event);
                }
            });
        });
        let mut order = u64::from(pending);
        group.bench_function(format!("binary heap, {pending} pending"), |bencher| {
            bencher.iter(|| {
                if let Some(Reverse((now, _, event))) = heap.pop() {
                    order += 1;
                    heap.push(Reverse((now + gap(), order, event)));
                }
            });
        });
    }
}

fn links(criterion: &mut Criterion) {
    let line = Conditions {
        rate_bps: Rate::from_bps(1_000_000),
        queue: Queue::packets(200),
        delay_ns: Span::from_millis(10),
        ..Conditions::default()
    };
    criterion.bench_function("link, offer a packet", |bencher| {
        let link = Direction::new(RandomStream::new(1, "bench", 0));
        bencher.iter_batched_ref(
            || (link.clone(), Time::START),
            |(link, now)| {
                for tag in 0..1000 {
                    *now += Span::from_millis(12);
                    black_box(link.offer(&line, *now, &Frame { bytes: 1500, tag }, &mut |_, _| {}));
                }
            },
            BatchSize::SmallInput,
        );
    });
}

criterion_group!(benches, queues, links);
criterion_main!(benches);
