//! Two ends that are open, and their packets one at a time.

use flashcrowd_base::{Span, Time};
use flashcrowd_transport::tcp::Nagle;
use flashcrowd_transport::utp::{Config, Connection, Packet, profiles};
use std::sync::Arc;

pub(super) const RTT: Span = Span::from_millis(40);

/// Two ends that are open, at a time when timestamps say something.
pub(super) struct Pair {
    pub(super) now: Time,
    pub(super) caller: Connection,
    pub(super) answerer: Connection,
}

impl Pair {
    pub(super) fn new(config: Config) -> Pair {
        assert_eq!(config.check(), Ok(()));
        let config = Arc::new(config);
        let now = Time::START + Span::from_secs(10);
        let mut caller = Connection::connect(&config, now, 100, 0xfffe);
        let syn = caller.poll_transmit(now).expect("a SYN");
        let mut answerer = Connection::accept(&config, now, &syn, 0x8000);
        let answer = answerer.poll_transmit(now).expect("an answer");
        let now = now + RTT;
        caller.receive(now, &answer);
        let confirmation = caller.poll_transmit(now).expect("a confirmation");
        answerer.receive(now, &confirmation);
        assert!(caller.is_established() && answerer.is_established());
        Pair { now, caller, answerer }
    }

    /// What the caller says, with so much to write.
    pub(super) fn write(&mut self, bytes: u64) -> Vec<Packet> {
        self.caller.write(self.now, bytes);
        said(&mut self.caller, self.now)
    }

    /// The answerer gets them; what it says.
    pub(super) fn answer(&mut self, packets: &[Packet]) -> Vec<Packet> {
        packets.iter().for_each(|packet| {
            self.answerer.receive(self.now, packet);
        });
        said(&mut self.answerer, self.now)
    }

    /// The answerer gets them, and the caller what it says.
    pub(super) fn deliver(&mut self, packets: &[Packet]) {
        for reply in self.answer(packets) {
            self.caller.receive(self.now, &reply);
        }
    }

    /// Time passes at the caller; what it says.
    pub(super) fn wait(&mut self, span: Span) -> Vec<Packet> {
        let until = self.now + span;
        let mut packets = Vec::new();
        while let Some(at) = self.caller.next_timer().filter(|at| *at <= until) {
            self.now = at;
            self.caller.on_timer(at);
            packets.extend(said(&mut self.caller, at));
        }
        self.now = until;
        packets
    }
}

pub(super) fn said(end: &mut Connection, now: Time) -> Vec<Packet> {
    std::iter::from_fn(|| end.poll_transmit(now)).collect()
}

/// Calls every timer until there is none; when the last was due.
pub(super) fn to_the_last_timer(end: &mut Connection) -> Time {
    let mut now = Time::START;
    while let Some(at) = end.next_timer() {
        now = at;
        end.on_timer(at);
    }
    now
}

pub(super) fn wide() -> Config {
    Config { initial_window_packets: 20, ..profiles::rfc6817() }
}

pub(super) fn small(packets: u32) -> Config {
    let packet_size = flashcrowd_transport::utp::PacketSize::Fixed { bytes: 100 };
    Config {
        initial_window_packets: packets,
        packet_size,
        nagle: Nagle::Off,
        ..profiles::rfc6817()
    }
}
