//! What a controller costs: one acknowledgement of a packet, in a window of 100 at a queue near the
//! target, ten a millisecond.

use criterion::{Criterion, criterion_group, criterion_main};
use flashcrowd_base::{Span, Time};
use flashcrowd_transport::congestion::{
    Ack, AnyController, Controller, HyStartKind, Kind, Loss, Params,
};
use std::hint::black_box;

fn acknowledgements(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("on_ack");
    for kind in Kind::ALL {
        let params = Params {
            now: Time::START,
            mss: 1448,
            min_window: 1448,
            ledbat: kind.ledbat(),
            initial_window: 200 * 1448,
            hystart: HyStartKind::None,
            count_acks: false,
            paced: false,
        };
        let mut controller = AnyController::new(kind, params);
        let loss = Loss {
            now: Time::START,
            window: 200 * 1448,
            in_flight: 100 * 1448,
            offset: 0,
            nxt: 100 * 1448,
        };
        controller.on_loss(&loss);
        let target = kind.ledbat().map_or(100_000, |table| table.target_ns.nanos() / 1000);
        let mut step = 0u64;
        group.bench_function(format!("{kind:?}"), |bencher| {
            bencher.iter(|| {
                step += 1;
                let queue = target - 400 + step % 800;
                let rtt = Span::from_micros(50_000 + if step < 1000 { 0 } else { queue });
                let now = Time::START + Span::from_micros(100 * step);
                let una = 1448 * step;
                controller.on_ack(black_box(&Ack {
                    now,
                    acked: 1448,
                    uncounted: 0,
                    rtt: Some(rtt),
                    one_way_delay: Some((rtt.nanos() / 1000) as u32),
                    opposite_delay: Some(25_000),
                    in_flight: 100 * 1448,
                    window_limited: true,
                    limited_at: now,
                    may_grow: true,
                    srtt: Span::from_millis(150),
                    min_rtt: Span::from_millis(50),
                    una,
                    nxt: una + 100 * 1448,
                    rate: None,
                }));
                black_box(controller.window())
            });
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = acknowledgements
}
criterion_main!(benches);
