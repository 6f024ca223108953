//! One end under test, and the other played by hand: like packetdrill, in which most of these
//! expectations were first written down for Linux.
#![allow(dead_code, unreachable_pub)]

use flashcrowd_base::{Span, Time};
use flashcrowd_transport::tcp::{Config, Connection, Flags, Segment, Stats, profiles};
use std::sync::Arc;

/// A server with segments of 1000 bytes, whose client is played by hand.
pub struct Script {
    pub now: Time,
    pub server: Connection,
    pub config: Arc<Config>,
    window: u32,
    /// The client's next offset.
    seq: u64,
    /// What its segments echo, in microseconds, where the configuration has timestamps.
    pub echo: u32,
}

/// A profile with 1000-byte segments, no timestamps, and buffers that never matter.
pub fn profile(base: Config) -> Config {
    let mut config = base;
    config.mtu_bytes = 1040;
    config.timestamps = false;
    config.send_buffer.initial_bytes = 4_000_000;
    config.send_buffer.max_bytes = 4_000_000;
    config
}

pub fn linux() -> Config {
    profile(profiles::linux_6())
}

impl Script {
    /// After a handshake with this round trip.
    pub fn new(config: Config, rtt: Span) -> Script {
        let config = Arc::new(config);
        let mut now = Time::START;
        let stamps = if config.timestamps { Flags::TIMESTAMPS } else { Flags::default() };
        let syn = Segment {
            flags: Flags::SYN | Flags::SACK_PERMITTED | Flags::WINDOW_SCALE | stamps,
            mss: if config.timestamps { 1012 } else { 1000 },
            window: 65_535,
            ..Segment::default()
        };
        let mut server = Connection::accept(&config, now, &syn);
        let answer = server.poll_transmit(now).expect("a SYN with ACK");
        assert!(answer.flags.contains(Flags::SYN | Flags::ACK));
        assert_eq!(server.poll_transmit(now), None);
        now += rtt;
        let mut script = Script { now, server, config, window: 1 << 20, seq: 0, echo: 0 };
        script.ack(0);
        assert_eq!(script.sent(), []);
        assert!(script.server.is_established());
        script
    }

    /// Lets time pass, timers included; whatever they send is returned as (ms, offset, length).
    pub fn wait(&mut self, span: Span) -> Vec<(u64, u64, u32)> {
        let until = self.now + span;
        let mut sent = Vec::new();
        while let Some(at) = self.server.next_timer().filter(|at| *at <= until) {
            self.now = at;
            self.server.on_timer(at);
            let ms = at.nanos() / 1_000_000;
            sent.extend(self.sent().into_iter().map(|(seq, len)| (ms, seq, len)));
        }
        self.now = until;
        sent
    }

    /// As `wait`, for a span in which nothing must be sent.
    pub fn quiet(&mut self, millis: u64) -> &mut Script {
        let sent = self.wait(Span::from_millis(millis));
        assert_eq!(sent, [], "sent by a timer");
        self
    }

    pub fn write(&mut self, bytes: u64) -> &mut Script {
        assert_eq!(self.server.write(self.now, bytes), bytes);
        self
    }

    pub fn window(&mut self, bytes: u32) -> &mut Script {
        self.window = bytes;
        self
    }

    pub fn ack(&mut self, ack: u64) -> &mut Script {
        self.sack(ack, &[])
    }

    pub fn sack(&mut self, ack: u64, ranges: &[(u64, u64)]) -> &mut Script {
        let mut segment = Segment {
            seq: self.seq,
            ack,
            window: self.window,
            flags: if self.config.timestamps { Flags::ACK | Flags::TIMESTAMPS } else { Flags::ACK },
            echo: self.echo,
            mss: 1000,
            ..Segment::default()
        };
        for (start, end) in ranges {
            assert!(segment.push_sack(*start, *end));
        }
        self.server.receive(self.now, &segment);
        self
    }

    /// Data from the client, at this offset.
    pub fn data(&mut self, seq: u64, len: u32, flags: Flags) -> &mut Script {
        let segment = Segment {
            seq,
            len,
            ack: self.server.stats().bytes_acked,
            window: self.window,
            flags: Flags::ACK | flags,
            mss: 1000,
            ..Segment::default()
        };
        self.seq = self.seq.max(segment.end());
        self.server.receive(self.now, &segment);
        self
    }

    /// Everything the server sends now.
    pub fn poll(&mut self) -> Vec<Segment> {
        let mut sent = Vec::new();
        while let Some(segment) = self.server.poll_transmit(self.now) {
            sent.push(segment);
            assert!(sent.len() < 10_000, "a poll that never ends");
        }
        sent
    }

    /// As (offset, length), pure acknowledgements included.
    pub fn sent(&mut self) -> Vec<(u64, u32)> {
        self.poll().into_iter().map(|segment| (segment.seq, segment.len)).collect()
    }

    /// Sends what there is, and says how many segments.
    pub fn count(&mut self) -> usize {
        self.poll().len()
    }

    pub fn stats(&self) -> Stats {
        self.server.stats()
    }
    /// The congestion window in segments.
    pub fn cwnd(&self) -> u64 {
        self.stats().cwnd / 1000
    }
    /// The threshold in segments; `None` before the first reduction.
    pub fn ssthresh(&self) -> Option<u64> {
        let threshold = self.stats().ssthresh;
        (threshold < u64::MAX).then_some(threshold / 1000)
    }
}

/// `count` full segments from `first` on.
pub fn full(first: u64, count: u64) -> Vec<(u64, u32)> {
    (first..first + count).map(|n| (n * 1000, 1000)).collect()
}
