//! Two connections, a pipe of fixed delay that is two queues, bulk data one way. One element of
//! throughput is one packet received, data or acknowledgement, with the polls that follow it.

use criterion::{Criterion, Throughput};
use flashcrowd_base::{RandomStream, Span, Time};
use std::collections::VecDeque;
use std::hint::black_box;

const DELAY: Span = Span::from_millis(10);
/// Per data packet: the bottleneck's time.
const SLOT: Span = Span::from_micros(12);
const PACKETS: u64 = 100_000;

/// One end of a connection of the transport that is measured.
pub(crate) trait End: Sized {
    type Config;
    type Packet;

    /// Both ends, the caller first. The answerer has its SYN.
    fn pair(config: Self::Config) -> [Self; 2];
    fn is_data(packet: &Self::Packet) -> bool;
    fn poll_transmit(&mut self, now: Time) -> Option<Self::Packet>;
    fn receive(&mut self, now: Time, packet: &Self::Packet);
    fn next_timer(&self) -> Option<Time>;
    fn on_timer(&mut self, now: Time);
    fn read_all(&mut self, now: Time);
    fn write_all(&mut self, now: Time);
}

struct Pipe<E: End> {
    now: Time,
    ends: [E; 2],
    queues: [VecDeque<(Time, E::Packet)>; 2],
    stream: RandomStream,
    loss: f64,
    /// When the bottleneck is free again.
    free: Time,
    received: u64,
}

impl<E: End> Pipe<E> {
    fn new(config: E::Config, loss: f64) -> Pipe<E> {
        let mut pipe = Pipe {
            now: Time::START,
            ends: E::pair(config),
            queues: [VecDeque::new(), VecDeque::new()],
            stream: RandomStream::new(1, "loss", 0),
            loss,
            free: Time::START,
            received: 0,
        };
        pipe.flush(1);
        pipe
    }

    fn flush(&mut self, who: usize) {
        while let Some(packet) = self.ends[who].poll_transmit(self.now) {
            let mut leaves = self.now;
            if E::is_data(&packet) {
                if self.loss > 0.0 && self.stream.unit() < self.loss {
                    continue;
                }
                leaves = self.free.max(self.now) + SLOT;
                self.free = leaves;
            }
            self.queues[1 - who].push_back((leaves + DELAY, packet));
        }
    }

    fn run(&mut self, packets: u64) {
        let until = self.received + packets;
        while self.received < until {
            let first =
                |queue: &VecDeque<(Time, E::Packet)>| queue.front().map_or(Time::NEVER, |s| s.0);
            let arrivals = [first(&self.queues[0]), first(&self.queues[1])];
            let timers = self.ends.each_ref().map(|end| end.next_timer().unwrap_or(Time::NEVER));
            let who = usize::from(arrivals[1] < arrivals[0]);
            self.now = arrivals[who].min(timers[0]).min(timers[1]);
            if self.now == arrivals[who] {
                let Some((_, packet)) = self.queues[who].pop_front() else { return };
                let end = &mut self.ends[who];
                end.receive(self.now, &packet);
                self.received += 1;
                if who == 1 {
                    end.read_all(self.now);
                } else {
                    end.write_all(self.now);
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

/// Measures each of these configurations without loss and with a little.
pub(crate) fn bulk<E: End>(
    criterion: &mut Criterion,
    group: &str,
    configs: impl IntoIterator<Item = (String, E::Config)>,
) where
    E::Config: Clone,
{
    let mut group = criterion.benchmark_group(group);
    group.throughput(Throughput::Elements(PACKETS));
    for (profile, config) in configs {
        for (name, loss) in [("perfect", 0.0), ("1 % loss", 0.01)] {
            let mut pipe = Pipe::<E>::new(config.clone(), loss);
            pipe.run(PACKETS);
            group.bench_function(format!("{profile}, {name}"), |bencher| {
                bencher.iter(|| black_box(&mut pipe).run(PACKETS));
            });
        }
    }
    group.finish();
}

/// What both transports' connections are asked in the same words.
macro_rules! answers_as_an_end {
    () => {
        fn poll_transmit(&mut self, now: Time) -> Option<Self::Packet> {
            Connection::poll_transmit(self, now)
        }

        fn is_data(packet: &Self::Packet) -> bool {
            packet.len > 0
        }

        fn receive(&mut self, now: Time, packet: &Self::Packet) {
            std::hint::black_box(Connection::receive(self, now, packet));
        }

        fn next_timer(&self) -> Option<Time> {
            Connection::next_timer(self)
        }

        fn on_timer(&mut self, now: Time) {
            Connection::on_timer(self, now);
        }

        fn read_all(&mut self, now: Time) {
            let bytes = self.readable();
            self.read(now, bytes);
        }

        fn write_all(&mut self, now: Time) {
            self.write(now, u64::MAX);
        }
    };
}
pub(crate) use answers_as_an_end;
