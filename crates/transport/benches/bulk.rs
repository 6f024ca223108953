//! What a segment costs: two connections, a pipe of fixed delay that is two queues, bulk data one way.
//! One element is one segment received, data or acknowledgement, with the polls that follow it.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use flashcrowd_base::{RandomStream, Span, Time};
use flashcrowd_transport::tcp::{Config, Connection, Segment, profiles};
use std::collections::VecDeque;
use std::hint::black_box;
use std::sync::Arc;

const DELAY: Span = Span::from_millis(10);
const SEGMENTS: u64 = 100_000;

struct Pipe {
    now: Time,
    ends: [Connection; 2],
    queues: [VecDeque<(Time, Segment)>; 2],
    stream: RandomStream,
    loss: f64,
    /// When the bottleneck is free again, and its time per data segment.
    free: Time,
    slot: Span,
    received: u64,
}

impl Pipe {
    fn new(config: &Config, loss: f64) -> Pipe {
        let config = Arc::new(config.clone());
        let mut client = Connection::connect(&config, Time::START);
        let syn = client.poll_transmit(Time::START).expect("a SYN");
        let server = Connection::accept(&config, Time::START, &syn);
        let mut pipe = Pipe {
            now: Time::START,
            ends: [client, server],
            queues: [VecDeque::new(), VecDeque::new()],
            stream: RandomStream::new(1, "loss", 0),
            loss,
            free: Time::START,
            slot: Span::from_micros(12),
            received: 0,
        };
        pipe.flush(1);
        pipe
    }

    fn flush(&mut self, who: usize) {
        while let Some(segment) = self.ends[who].poll_transmit(self.now) {
            let mut leaves = self.now;
            if segment.len > 0 {
                if self.loss > 0.0 && self.stream.unit() < self.loss {
                    continue;
                }
                leaves = self.free.max(self.now) + self.slot;
                self.free = leaves;
            }
            self.queues[1 - who].push_back((leaves + DELAY, segment));
        }
    }

    fn run(&mut self, segments: u64) {
        let until = self.received + segments;
        while self.received < until {
            let first =
                |queue: &VecDeque<(Time, Segment)>| queue.front().map_or(Time::NEVER, |s| s.0);
            let arrivals = [first(&self.queues[0]), first(&self.queues[1])];
            let timers = self.ends.each_ref().map(|end| end.next_timer().unwrap_or(Time::NEVER));
            let who = usize::from(arrivals[1] < arrivals[0]);
            self.now = arrivals[who].min(timers[0]).min(timers[1]);
            if self.now == arrivals[who] {
                let Some((_, segment)) = self.queues[who].pop_front() else { return };
                let end = &mut self.ends[who];
                end.receive(self.now, &segment);
                self.received += 1;
                if who == 1 {
                    let bytes = end.readable();
                    end.read(self.now, bytes);
                } else {
                    end.write(self.now, u64::MAX);
                }
                self.flush(who);
            } else {
                for (who, timer) in timers.into_iter().enumerate() {
                    if timer <= self.now {
                        self.ends[who].on_timer(self.now);
                        self.flush(who);
                    }
                }
            }
        }
    }
}

fn bulk(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("bulk");
    group.throughput(Throughput::Elements(SEGMENTS));
    for profile in [profiles::linux_2_6(), profiles::linux_6(), profiles::windows_xp()] {
        for (name, loss) in [("perfect", 0.0), ("1 % loss", 0.01)] {
            let mut pipe = Pipe::new(&profile, loss);
            pipe.run(SEGMENTS);
            group.bench_function(format!("{}, {name}", profile.name), |bencher| {
                bencher.iter(|| black_box(&mut pipe).run(SEGMENTS));
            });
        }
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = bulk
}
criterion_main!(benches);
