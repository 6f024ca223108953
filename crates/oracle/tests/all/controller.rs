//! Our libutp controller beside libutp itself, acknowledgement by acknowledgement: libutp transfers
//! over a drawn network, ours hears what libutp hears (packets, from which delays and round trips
//! follow; losses and timeouts, from its log), and after each update the windows must be equal
//! to the byte.

use flashcrowd_base::{RandomStream, Span, Time};
use flashcrowd_oracle::{Libutp, Settings, SocketId};
use flashcrowd_transport::congestion::{
    Ack, AnyController, Controller, HyStartKind, Kind, Loss, Params, ledbat,
};
use std::collections::{BTreeMap, VecDeque};

/// Payload of the packets that libutp begins with on a path of 1402 bytes.
const PACKET: u32 = 1382;
const STEP: Span = Span::from_millis(1);

/// A one-way path whose conditions change: a rate, a queue, a delay, losses, a clock.
struct Path {
    stream: RandomStream,
    /// Microseconds a byte takes, bytes the queue holds.
    slowness: f64,
    buffer: f64,
    delay: Span,
    loss: f64,
    free: f64,
    under_way: VecDeque<(Time, Vec<u8>)>,
}

impl Path {
    fn send(&mut self, now: Time, datagram: Vec<u8>) {
        let micros = now.nanos() as f64 / 1000.0;
        let begin = self.free.max(micros);
        let bytes = (datagram.len() + 28 + 38) as f64;
        if self.stream.unit() < self.loss || begin - micros > self.buffer * self.slowness.max(0.001)
        {
            return;
        }
        self.free = begin + bytes * self.slowness;
        let arrives = Time::START + Span::from_micros(self.free as u64) + self.delay;
        // A delay that became shorter overtakes nothing.
        let arrives = self.under_way.back().map_or(arrives, |(last, _)| arrives.max(*last));
        self.under_way.push_back((arrives, datagram));
    }

    fn arrived(&mut self, now: Time) -> Option<Vec<u8>> {
        if self.under_way.front().is_some_and(|(at, _)| *at <= now) {
            self.under_way.pop_front().map(|(_, datagram)| datagram)
        } else {
            None
        }
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn half(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// A number in a line of the log.
fn number(line: &str, key: &str) -> u64 {
    let start = line.find(&format!("{key}:")).expect("a key of the log") + key.len() + 1;
    let digits: String = line[start..].chars().take_while(char::is_ascii_digit).collect();
    digits.parse().expect("a number")
}

/// What ours has heard, and how it compares.
struct Shadow {
    controller: AnyController,
    /// When each packet that takes a number was last sent, by number.
    sent: BTreeMap<u16, Time>,
    una: u64,
    updates: u64,
    losses: u64,
    timeouts: u64,
    idle: u64,
    smallest: u64,
}

impl Shadow {
    fn new(settings: &Settings) -> Shadow {
        let table = ledbat::Ledbat {
            target_ns: Span::from_micros(settings.target_micros.into()),
            max_window_bytes: settings.send_buffer.into(),
            ..ledbat::libutp()
        };
        let params = Params {
            now: Time::START + Span::from_secs(1),
            mss: PACKET,
            min_window: 0,
            ledbat: Some(table),
            initial_window: PACKET.into(),
            hystart: HyStartKind::None,
            count_acks: false,
            paced: false,
        };
        Shadow {
            controller: AnyController::new(Kind::Libutp, params),
            sent: BTreeMap::new(),
            una: 0,
            updates: 0,
            losses: 0,
            timeouts: 0,
            idle: 0,
            smallest: u64::MAX,
        }
    }

    fn on_sent(&mut self, now: Time, datagram: &[u8]) {
        // DATA, FIN and SYN take a number.
        if matches!(datagram[0] >> 4, 0 | 1 | 4) {
            self.sent.insert(half(datagram, 16), now);
        }
    }

    /// The least round trip of the packets that a datagram acknowledges.
    fn acknowledged(&mut self, now: Time, datagram: &[u8]) -> Option<Span> {
        let ack_nr = half(datagram, 18);
        let mut masked = Vec::new();
        if datagram[1] == 1 {
            let len = usize::from(datagram[21]);
            for bit in 0..8 * len {
                if datagram[22 + bit / 8] >> (bit % 8) & 1 == 1 {
                    masked.push(ack_nr.wrapping_add(2 + bit as u16));
                }
            }
        }
        let known = |seq: &u16| ack_nr.wrapping_sub(*seq) < 0x8000 || masked.contains(seq);
        let found: Vec<u16> = self.sent.keys().copied().filter(known).collect();
        let times: Vec<Time> = found.iter().filter_map(|seq| self.sent.remove(seq)).collect();
        times.into_iter().map(|at| now.since(at)).min()
    }

    fn loss(&self, now: Time) -> Loss {
        let window = self.controller.window();
        Loss { now, window, in_flight: 0, offset: self.una, nxt: self.una + window }
    }

    /// A datagram arrived, and this is what libutp logged.
    fn on_datagram(&mut self, now: Time, datagram: &[u8], log: &[String]) {
        let micros = (now.nanos() / 1000) as u32;
        let (stamp, echo) = (word(datagram, 4), word(datagram, 8));
        let rtt = self.acknowledged(now, datagram);
        // libutp's clock for everything but delays is in whole milliseconds.
        let now = Time::START + Span::from_millis(now.nanos() / 1_000_000);
        let update = log.iter().find(|line| line.contains("actual_delay:"));
        let acked = update.map_or(0, |line| number(line, "acked_bytes"));
        let full = update.map_or(0, |line| number(line, "last_maxed_out_window"));
        if let Some(line) = update {
            let packet = number(line, "packet_size") as u32;
            self.controller.on_packet_size(packet);
        }
        self.una += acked;
        let ack = Ack {
            now,
            acked,
            uncounted: 0,
            rtt,
            one_way_delay: (echo != 0 && echo != 0x7fff_ffff).then_some(echo),
            opposite_delay: Some(micros.wrapping_sub(stamp)).filter(|it| stamp != 0 && *it != 0),
            in_flight: 0,
            window_limited: true,
            limited_at: Time::START + Span::from_millis(full),
            may_grow: true,
            srtt: Span::ZERO,
            min_rtt: Span::ZERO,
            una: self.una,
            nxt: self.una,
            rate: None,
        };
        if let Some(line) = update {
            self.compare(now, &ack, number(line, "max_window"));
        } else {
            self.controller.on_ack(&ack);
        }
        if log.iter().any(|line| line.contains("lost. Resending")) {
            self.losses += 1;
            self.controller.on_loss(&self.loss(now));
        }
    }

    /// An idle timer leaves no trace in the log: between two updates there may be some.
    fn compare(&mut self, now: Time, ack: &Ack, expected: u64) {
        self.updates += 1;
        let mut before = self.controller.clone();
        let first = before.window();
        for idle in 0..8 {
            self.controller = before.clone();
            self.controller.on_ack(ack);
            if self.controller.window() == expected {
                self.idle += idle;
                self.smallest = self.smallest.min(expected);
                return;
            }
            before.on_idle(now);
        }
        panic!("{first} and something at {now}, not {expected}: {ack:?}");
    }

    /// Timers were looked at.
    fn on_timers(&mut self, now: Time, log: &[String]) {
        for line in log.iter().filter(|line| line.contains("Packet timeout")) {
            // One that only lost a probe of the path costs nothing.
            let expected = number(line, "max_window");
            if self.controller.window() != expected {
                self.controller.on_timeout(&self.loss(now), false);
                assert_eq!(self.controller.window(), expected, "{line}");
            }
            self.timeouts += 1;
        }
    }
}

/// One transfer over one network.
fn transfer(seed: u64) -> Shadow {
    let mut stream = RandomStream::new(seed, "ledbat", 0);
    let draw = |stream: &mut RandomStream, values: &[f64]| values[stream.below(values.len())];
    let settings = Settings {
        seed,
        log: true,
        target_micros: [100_000, 25_000][stream.below(2)],
        send_buffer: [1 << 20, 43_800][stream.below(2)],
        ..Settings::default()
    };
    let answerer = Settings { seed: !seed, log: false, ..settings.clone() };
    let (mut here, mut there) = (Libutp::new(&settings), Libutp::new(&answerer));
    let path = |stream: &mut RandomStream, loss: f64| {
        let rate = draw(stream, &[0.25, 1.0, 10.0, 1000.0]);
        Path {
            stream: RandomStream::new(stream.bits(), "loss", 0),
            slowness: 8.0 / rate,
            buffer: draw(stream, &[10_000.0, 30_000.0, 1e7]),
            delay: Span::from_millis(1 + stream.below(80) as u64),
            loss,
            free: 0.0,
            under_way: VecDeque::new(),
        }
    };
    let loss = draw(&mut stream, &[0.0, 0.0, 0.001, 0.02]);
    let mut forth = path(&mut stream, loss);
    let mut back = path(&mut stream, loss);
    // The answerer's clock: anywhere, and up to 12 % slow or fast.
    let offset = stream.below(1 << 40) as u64;
    let drift = draw(&mut stream, &[0.0, 0.0, 1e-4, -1e-4, 0.12, -0.12]);
    let pauses = stream.below(3) == 0;
    let mut shadow = Shadow::new(&settings);
    let mut now = Time::START + Span::from_secs(1);
    here.set_now(now);
    let id: SocketId = here.connect(2);
    let payload = vec![7u8; 1 << 20];
    let mut answering = None;
    while now < Time::START + Span::from_secs(90) {
        now += STEP;
        // Conditions change every few seconds.
        if stream.below(5000) == 0 {
            forth.slowness = 8.0 / draw(&mut stream, &[0.25, 1.0, 10.0, 1000.0]);
            forth.delay = Span::from_millis(1 + stream.below(80) as u64);
        }
        here.set_now(now);
        let remote = Time::from_nanos(offset * 1000 + (now.nanos() as f64 * (1.0 + drift)) as u64);
        there.set_now(remote);
        while let Some(datagram) = back.arrived(now) {
            // libutp reads one bit behind a mask: let that be a zero.
            let len = datagram.len();
            let padded = [&datagram[..], &[0; 8]].concat();
            here.receive(2, &padded[..len]);
            let log = here.take_log();
            shadow.on_datagram(now, &datagram, &log);
        }
        here.drained();
        while let Some(datagram) = forth.arrived(now) {
            there.receive(1, &datagram);
            answering = there.accepted().or(answering);
        }
        if let Some(id) = answering {
            there.read(id, usize::MAX);
        }
        there.drained();
        let quiet = pauses && (now.nanos() / 3_000_000_000) % 2 == 1;
        if here.status(id).writable && !quiet {
            here.write(id, &payload);
        }
        here.check_timeouts();
        there.check_timeouts();
        let log = here.take_log();
        shadow.on_timers(now, &log);
        while let Some(datagram) = here.poll() {
            shadow.on_sent(now, &datagram.bytes);
            forth.send(now, datagram.bytes);
        }
        while let Some(datagram) = there.poll() {
            back.send(now, datagram.bytes);
        }
        if here.status(id).error.is_some() {
            break;
        }
    }
    shadow
}

/// Losses, timeouts, pauses, steps of rate and delay, clocks up to 12 % off, windows down to 10 bytes.
/// `FLASHCROWD_LOCKSTEP=1000` runs 1000 networks.
#[test]
fn every_window_of_libutp_is_ours() {
    let networks = std::env::var("FLASHCROWD_LOCKSTEP").ok().and_then(|text| text.parse().ok());
    let (mut updates, mut losses, mut timeouts, mut idle, mut smallest) = (0, 0, 0, 0, u64::MAX);
    for seed in 0..networks.unwrap_or(40) {
        let shadow = transfer(seed);
        updates += shadow.updates;
        losses += shadow.losses;
        timeouts += shadow.timeouts;
        idle += shadow.idle;
        smallest = smallest.min(shadow.smallest);
    }
    println!("{updates} updates, {losses} losses, {timeouts} timeouts, {idle} idle, {smallest} B");
    assert!(updates > 20_000 && losses > 50 && timeouts > 5 && idle > 0, "too little was seen");
    assert_eq!(smallest, 10, "the least window was seen");
}
