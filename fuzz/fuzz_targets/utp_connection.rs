//! Any operations on two connections that talk to each other, with packets lost, repeated, delayed,
//! altered and made up in between: nothing panics, limits hold, timers lie in the future, and without
//! forgeries the stream arrives in order.

#![no_main]

use arbitrary::Arbitrary;
use flashcrowd_base::{Span, Time};
use flashcrowd_transport::congestion::Kind;
use flashcrowd_transport::tcp::Nagle;
use flashcrowd_transport::utp::{
    Config, Connection, Extension, Packet, PacketKind, PacketSize, Payload, Sack, profiles,
};
use libfuzzer_sys::fuzz_target;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

#[derive(Arbitrary, Debug)]
struct Input {
    configs: [Choice; 2],
    ids: [u16; 3],
    offset: u32,
    ops: Vec<Op>,
}

#[derive(Arbitrary, Debug)]
struct Choice {
    profile: u8,
    controller: u8,
    buffer: u16,
    size: u16,
    switches: [bool; 3],
}

#[derive(Arbitrary, Debug)]
enum Op {
    /// The packet that was under way for so long arrives, and stays if `again`.
    Deliver {
        to: bool,
        which: u8,
        again: bool,
    },
    Drop {
        to: bool,
        which: u8,
    },
    /// A packet under way arrives with another field.
    Alter {
        to: bool,
        which: u8,
        what: Field,
    },
    /// Something that was never sent arrives.
    Forge {
        to: bool,
        kind: u8,
        seq: u16,
        ack: u16,
        window: u32,
        len: u16,
        mask: Vec<u8>,
    },
    Write {
        who: bool,
        bytes: u16,
    },
    Read {
        who: bool,
        bytes: u16,
    },
    Wait(u16),
    Timer,
    Close(bool),
    Release(bool),
    Abort(bool),
    Limit(bool, u16),
}

#[derive(Arbitrary, Debug)]
enum Field {
    Kind(u8),
    Seq(i8),
    Ack(i8),
    Window(u16),
    Timestamp(u32),
    Difference(u32),
    Length(u16),
    Mask(Vec<u8>),
    Id(u16),
    Extension([u8; 8]),
}

fn config(choice: &Choice) -> Arc<Config> {
    let all = profiles::all();
    let mut config = all[usize::from(choice.profile) % all.len()].clone();
    if choice.switches[0] {
        config.controller = Kind::ALL[usize::from(choice.controller) % Kind::ALL.len()];
        config.ledbat = config.controller.ledbat();
        config.receive_buffer_bytes = u64::from(choice.buffer).max(1);
    }
    if choice.switches[1] {
        config.packet_size = PacketSize::Fixed { bytes: u32::from(choice.size % 1400).max(1) };
    }
    if choice.switches[2] {
        config.nagle = [Nagle::Off, Nagle::Classic, Nagle::Minshall][usize::from(choice.size % 3)];
    }
    assert_eq!(config.check(), Ok(()));
    Arc::new(config)
}

struct End {
    config: Arc<Config>,
    connection: Option<Connection>,
    first: u16,
    written: u64,
    arrived: u64,
    /// Lengths of what is held, and where its bytes lie in the sender's stream.
    held: BTreeMap<u16, (u64, u16)>,
    /// Packets under way to this end.
    in_flight: VecDeque<Packet>,
    fin: Option<u16>,
}

struct World {
    now: Time,
    ends: [End; 2],
    /// Something arrived that was not sent so.
    forged: bool,
}

impl World {
    fn flush(&mut self, who: usize) {
        for turn in 0.. {
            assert!(turn < 5000, "a poll that never ends");
            let end = &mut self.ends[who];
            let Some(connection) = &mut end.connection else { return };
            let Some(packet) = connection.poll_transmit(self.now) else { break };
            assert!(packet.offset + u64::from(packet.len) <= end.written, "never written");
            if packet.kind == PacketKind::Fin {
                assert!(end.fin.is_none_or(|fin| fin == packet.seq_nr), "the FIN moved");
                end.fin = Some(packet.seq_nr);
            }
            if packet.kind == PacketKind::Data {
                let past = |fin: u16| (packet.seq_nr.wrapping_sub(fin) as i16) < 0;
                assert!(end.fin.is_none_or(past), "data after FIN");
            }
            let in_flight = &mut self.ends[1 - who].in_flight;
            if in_flight.len() < 300 {
                in_flight.push_back(packet);
            }
        }
        let end = &self.ends[who];
        let Some(connection) = &end.connection else { return };
        if let Some(at) = connection.next_timer() {
            let now = self.now;
            assert!(!connection.is_closed() && at >= now, "{at} {now} {:?}", connection.state());
        }
        let stats = connection.stats();
        assert!(stats.packets_held <= 2048);
        assert!(stats.bytes_held <= 2 * (end.config.receive_buffer_bytes + 65_536 + 65_535));
        assert!(end.held.len() < 1024);
        assert!(stats.bytes_acked <= end.written);
    }

    fn arrive(&mut self, to: usize, packet: &Packet) {
        let end = &mut self.ends[to];
        match &mut end.connection {
            None if packet.kind == PacketKind::Syn => {
                end.connection = Some(Connection::accept(&end.config, self.now, packet, end.first));
            }
            None => {}
            Some(connection) => {
                let before = connection.readable();
                match connection.receive(self.now, packet) {
                    Payload::Drop => assert_eq!(before, connection.readable()),
                    Payload::Hold => {
                        let place = (packet.offset, packet.len);
                        assert!(end.held.insert(packet.seq_nr, place).is_none());
                        assert_eq!(before, connection.readable());
                    }
                    Payload::Append => {
                        let (mut seq, mut place) = (packet.seq_nr, (packet.offset, packet.len));
                        let mut grown = 0;
                        loop {
                            if !self.forged {
                                assert_eq!(place.0, end.arrived, "out of order");
                            }
                            end.arrived += u64::from(place.1);
                            grown += u64::from(place.1);
                            seq = seq.wrapping_add(1);
                            let Some(next) = end.held.remove(&seq) else { break };
                            place = next;
                        }
                        // Behind the end of the stream nothing counts.
                        if !self.forged {
                            assert_eq!(before + grown, connection.readable());
                        }
                    }
                }
            }
        }
        self.flush(to);
    }

    fn timers(&mut self) {
        for who in 0..2 {
            if let Some(connection) = &mut self.ends[who].connection {
                connection.on_timer(self.now);
            }
            self.flush(who);
        }
    }

    fn carry_out(&mut self, op: Op) {
        let now = self.now;
        match op {
            Op::Deliver { to, which, again } => {
                let to = usize::from(to);
                let in_flight = &mut self.ends[to].in_flight;
                if in_flight.is_empty() {
                    return;
                }
                let at = usize::from(which) % in_flight.len();
                let packet = if again { in_flight.get(at).copied() } else { in_flight.remove(at) };
                packet.iter().for_each(|packet| self.arrive(to, packet));
            }
            Op::Drop { to, which } => {
                let in_flight = &mut self.ends[usize::from(to)].in_flight;
                in_flight.remove(usize::from(which));
            }
            Op::Alter { to, which, what } => {
                let to = usize::from(to);
                let Some(mut packet) = self.ends[to].in_flight.remove(usize::from(which)) else {
                    return;
                };
                self.forged = true;
                match what {
                    Field::Kind(kind) => {
                        packet.kind = PacketKind::from_number(kind % 5).expect("one of five");
                    }
                    Field::Seq(by) => packet.seq_nr = packet.seq_nr.wrapping_add_signed(by.into()),
                    Field::Ack(by) => packet.ack_nr = packet.ack_nr.wrapping_add_signed(by.into()),
                    Field::Window(window) => packet.window = window.into(),
                    Field::Timestamp(time) => packet.timestamp = time,
                    Field::Difference(delay) => packet.timestamp_difference = delay,
                    Field::Length(len) => packet.len = len,
                    Field::Mask(mask) => packet.sack = Sack::from_wire(&mask),
                    Field::Id(id) => packet.connection_id = id,
                    Field::Extension(bits) => packet.extension = Extension::Bits(bits),
                }
                self.arrive(to, &packet);
            }
            Op::Forge { to, kind, seq, ack, window, len, mask } => {
                self.forged = true;
                let to = usize::from(to);
                let id = self.ends[to].connection.as_ref().map_or(seq, Connection::receive_id);
                let packet = Packet {
                    kind: PacketKind::from_number(kind % 5).expect("one of five"),
                    connection_id: id,
                    seq_nr: seq,
                    ack_nr: ack,
                    window,
                    len,
                    sack: Sack::from_wire(&mask),
                    timestamp: window,
                    timestamp_difference: window,
                    ..Packet::default()
                };
                self.arrive(to, &packet);
            }
            Op::Write { who, bytes } => {
                let end = &mut self.ends[usize::from(who)];
                if let Some(connection) = &mut end.connection {
                    let space = connection.write_space();
                    let taken = connection.write(now, u64::from(bytes));
                    assert_eq!(taken, space.min(u64::from(bytes)));
                    end.written += taken;
                }
                self.flush(usize::from(who));
            }
            Op::Read { who, bytes } => {
                if let Some(connection) = &mut self.ends[usize::from(who)].connection {
                    let bytes = u64::from(bytes).min(connection.readable());
                    connection.read(now, bytes);
                }
                self.flush(usize::from(who));
            }
            Op::Wait(millis) => {
                let until = now + Span::from_millis(u64::from(millis));
                for turn in 0.. {
                    assert!(turn < 10_000, "timers without end");
                    let ends = self.ends.iter().filter_map(|end| end.connection.as_ref());
                    let next = ends.filter_map(Connection::next_timer).min();
                    let Some(next) = next.filter(|next| *next <= until) else { break };
                    self.now = next;
                    self.timers();
                }
                self.now = until;
            }
            Op::Timer => self.timers(),
            Op::Close(who) => self.with(who, |connection| connection.close(now)),
            Op::Release(who) => {
                // What is thrown away is out of order with what is kept.
                self.forged = true;
                self.with(who, |connection| connection.release(now));
            }
            Op::Abort(who) => self.with(who, |connection| connection.abort(now)),
            Op::Limit(who, bytes) => {
                self.with(who, |connection| connection.on_path_limit(now, bytes.into()));
            }
        }
    }

    fn with(&mut self, who: bool, act: impl FnOnce(&mut Connection)) {
        let who = usize::from(who);
        if let Some(connection) = &mut self.ends[who].connection {
            act(connection);
            let _ = connection.state();
        }
        self.flush(who);
    }
}

fuzz_target!(|input: Input| {
    let now = Time::START + Span::from_millis(u64::from(input.offset));
    let [caller, answerer] = input.configs.each_ref().map(|choice| config(choice));
    let end = |config: Arc<Config>, connection| End {
        config,
        connection,
        first: input.ids[2],
        written: 0,
        arrived: 0,
        held: BTreeMap::new(),
        in_flight: VecDeque::new(),
        fin: None,
    };
    let connection = Connection::connect(&caller, now, input.ids[0], input.ids[1]);
    let ends = [end(caller, Some(connection)), end(answerer, None)];
    let mut world = World { now, ends, forged: false };
    world.flush(0);
    for op in input.ops {
        world.carry_out(op);
    }
});
