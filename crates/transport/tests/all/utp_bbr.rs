//! BBR on uTP: one connection over a bottleneck with random loss.

use crate::road::Road;
use flashcrowd_base::{RandomStream, Rate, Span, Time};
use flashcrowd_link::Queue;
use flashcrowd_transport::Pacing;
use flashcrowd_transport::congestion::Kind;
use flashcrowd_transport::utp::{Config, Connection, Packet, profiles};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

const RATE: u64 = 10_000_000;
const DELAY: Span = Span::from_millis(20);
const QUEUE: Span = Span::from_millis(80);

/// Two ends, a bottleneck from the first to the second, and what is under way.
struct World {
    now: Time,
    ends: [Option<Connection>; 2],
    config: Arc<Config>,
    packets: Vec<Packet>,
    queue: BinaryHeap<Reverse<(Time, usize, usize)>>,
    /// The way of data from the first end; everything else takes only its delay.
    road: Road,
    losses: (f64, RandomStream),
    delivered: u64,
}

impl World {
    fn new(controller: Kind, pacing: Pacing, loss: f64) -> World {
        let base = profiles::libutp();
        let ledbat = controller.ledbat();
        let config = Config {
            controller,
            ledbat,
            pacing,
            initial_window_packets: 10,
            send_buffer_bytes: 1 << 20,
            ..base
        };
        let config = Arc::new(config);
        let mut caller = Connection::connect(&config, Time::START, 7, 1);
        caller.draw_from(RandomStream::new(1, "congestion", 0));
        World {
            now: Time::START,
            ends: [Some(caller), None],
            config,
            packets: Vec::new(),
            queue: BinaryHeap::new(),
            road: Road::new(2, DELAY, Rate::from_bps(RATE), Queue::default()),
            losses: (loss, RandomStream::new(1, "loss", 0)),
            delivered: 0,
        }
    }

    fn flush(&mut self, who: usize) {
        while let Some(packet) = self.ends[who].as_mut().and_then(|end| end.poll_transmit(self.now))
        {
            let mut arrives = self.now + DELAY;
            if who == 0 && packet.len > 0 {
                if self.losses.1.unit() < self.losses.0 || self.road.wait(self.now) > QUEUE {
                    continue;
                }
                let crossed = self.road.cross(self.now, 0, 1, 0, packet.wire_bytes() as u32);
                arrives = crossed.expect("the queue has no other limit");
            }
            self.packets.push(packet);
            self.queue.push(Reverse((arrives, self.packets.len() - 1, 1 - who)));
        }
    }

    fn fill(&mut self) {
        let now = self.now;
        if let Some(end) = &mut self.ends[0]
            && end.write_space() > 0
        {
            end.write(now, u64::MAX);
        }
        self.flush(0);
    }

    fn run(&mut self, until: Time) {
        self.fill();
        loop {
            let timer = |end: &Option<Connection>| end.as_ref().and_then(Connection::next_timer);
            let timers = self.ends.iter().filter_map(timer).min().unwrap_or(Time::NEVER);
            let arrival = self.queue.peek().map_or(Time::NEVER, |Reverse((at, ..))| *at);
            let next = timers.min(arrival);
            if next > until {
                return;
            }
            self.now = self.now.max(next);
            if arrival <= timers {
                let Some(Reverse((_, slot, to))) = self.queue.pop() else { return };
                let packet = self.packets[slot];
                let now = self.now;
                match &mut self.ends[to] {
                    Some(end) => {
                        end.receive(now, &packet);
                        let bytes = end.readable();
                        end.read(now, bytes);
                        self.delivered += if to == 1 { bytes } else { 0 };
                    }
                    None => {
                        self.ends[to] = Some(Connection::accept(&self.config, now, &packet, 100));
                    }
                }
                self.flush(to);
            } else {
                for who in 0..2 {
                    if let Some(end) = &mut self.ends[who]
                        && end.next_timer().is_some_and(|at| at <= self.now)
                    {
                        end.on_timer(self.now);
                        self.flush(who);
                    }
                }
            }
            self.fill();
        }
    }

    /// The part of the link that payload has from 5 s to 45 s, and the mean wait.
    fn measure(mut self) -> (f64, Span) {
        self.run(Time::START + Span::from_secs(5));
        let before = (self.delivered, self.road.counters());
        self.run(Time::START + Span::from_secs(45));
        let share = (self.delivered - before.0) as f64 * 8.0 / 40.0 / RATE as f64;
        let (now, then) = (self.road.counters(), before.1);
        let wait = now.waited.saturating_sub(then.waited) / (now.packets - then.packets).max(1);
        (share, wait)
    }
}

#[test]
fn bbr_fills_the_link_and_survives_losses() {
    for kind in [Kind::Bbr, Kind::BbrV3] {
        for (loss, min) in [(0.0, 0.91), (0.01, 0.75)] {
            let (share, wait) = World::new(kind, Pacing::Off, loss).measure();
            println!("{kind:?} at {loss}: payload {share:.3} of the link, mean wait {wait:?}");
            assert!(share > min && wait < Span::from_millis(40), "{kind:?} {loss}: {share}");
        }
    }
    let (share, _) = World::new(Kind::NewReno, Pacing::Off, 0.01).measure();
    println!("NewReno at 0.01: {share:.3}");
    assert!(share < 0.5, "{share}");
}

/// A flow of Reno's that spreads its packets loses nearly nothing of the link.
#[test]
fn pacing_takes_nothing_from_reno() {
    let (plain, _) = World::new(Kind::NewReno, Pacing::Off, 0.0).measure();
    let (paced, _) = World::new(Kind::NewReno, Pacing::Fq, 0.0).measure();
    println!("NewReno: {plain:.3} without pacing, {paced:.3} with");
    assert!((paced / plain - 1.0).abs() < 0.03, "{plain} {paced}");
}

/// BBR draws; what does not needs no stream.
#[test]
fn a_connection_has_a_stream_if_its_controller_draws() {
    for kind in [Kind::Bbr, Kind::BbrV3, Kind::Ledbat, Kind::Cubic] {
        let config = Config {
            controller: kind,
            ledbat: kind.ledbat(),
            pacing: Pacing::Fq,
            ..profiles::libutp()
        };
        let mut connection = Connection::connect(&Arc::new(config), Time::START, 1, 1);
        assert_eq!(connection.random_stream().is_some(), kind.draws(), "{kind:?}");
    }
}
