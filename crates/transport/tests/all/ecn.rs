//! Explicit congestion notification: the handshake, what is marked, who answers, and how often the window
//! comes down.

use crate::pipe::{Fate, Network, Pair, Path};
use crate::script::{full, linux};
use flashcrowd_base::{Rate, Span, Time};
use flashcrowd_transport::congestion::Kind;
use flashcrowd_transport::tcp::{Config, Connection, Ecn, Flags, Segment, profiles};
use std::sync::Arc;

/// A server whose client, played by hand, asks for ECN with these flags and then says `last`.
struct Server {
    now: Time,
    tcp: Connection,
    ack: Segment,
}

fn server(config: Config, request: Flags, last: Flags) -> (Server, Flags) {
    let config = Arc::new(config);
    let now = Time::START;
    let flags = Flags::SYN | Flags::SACK_PERMITTED | Flags::WINDOW_SCALE | request;
    let syn = Segment { flags, mss: 1000, window: 1 << 20, ..Segment::EMPTY };
    let mut tcp = Connection::accept(&config, now, &syn);
    let answer = tcp.poll_transmit(now).expect("an answer").flags;
    let ack = Segment { flags: Flags::ACK, ..syn };
    let mut server = Server { now, tcp, ack };
    server.now += Span::from_millis(100);
    server.receive(Segment { flags: Flags::ACK | last, ..ack });
    (server, answer)
}

impl Server {
    fn receive(&mut self, segment: Segment) {
        self.tcp.receive(self.now, &segment);
    }
    fn ack(&mut self, ack: u64, flags: Flags) {
        self.receive(Segment { ack, flags: Flags::ACK | flags, ..self.ack });
    }
    fn data(&mut self, seq: u64, flags: Flags) -> Flags {
        let ack = self.tcp.stats().bytes_acked;
        self.receive(Segment { seq, len: 1000, ack, flags: Flags::ACK | flags, ..self.ack });
        let bytes = self.tcp.readable();
        self.tcp.read(self.now, bytes);
        self.poll().first().expect("an acknowledgement").flags
    }
    fn write(&mut self, bytes: u64) {
        assert_eq!(self.tcp.write(self.now, bytes), bytes);
    }
    fn poll(&mut self) -> Vec<Segment> {
        std::iter::from_fn(|| self.tcp.poll_transmit(self.now)).collect()
    }
    fn wait(&mut self, millis: u64) {
        self.now += Span::from_millis(millis);
    }
    fn cwnd(&self) -> u64 {
        self.tcp.stats().cwnd / 1000
    }
}

fn with(ecn: Ecn) -> Config {
    Config { ecn, ..linux() }
}

const ASKS: Flags = Flags::ECE;

/// RFC 3168, section 6.1.1: a SYN with ECE and CWR is answered with ECE; nothing else is agreed to, and
/// without agreement nothing is ECN-capable.
#[test]
fn a_server_answers_and_does_not_ask() {
    for (ecn, request, answer) in [
        (Ecn::Passive, ASKS | Flags::CWR, Flags::ECE),
        (Ecn::Passive, ASKS, Flags::default()),
        (Ecn::Passive, Flags::default(), Flags::default()),
        (Ecn::Off, ASKS | Flags::CWR, Flags::default()),
        (Ecn::Passive, ASKS | Flags::CWR | Flags::AE, Flags::ECE),
    ] {
        let (mut server, said) = server(with(ecn), request, Flags::default());
        let bits = Flags::ECE | Flags::CWR | Flags::AE;
        assert_eq!(said.without(said.without(bits)), answer, "{ecn:?} {request:?}");
        server.write(1000);
        let data = server.poll()[0].flags;
        assert_eq!(data.intersects(Flags::CE), answer == Flags::ECE);
        assert!(!data.contains(Flags::CE));
    }
    // A caller asks once: a SYN that is repeated does without.
    let config = Arc::new(with(Ecn::On));
    let mut client = Connection::connect(&config, Time::START);
    let first = client.poll_transmit(Time::START).expect("a SYN").flags;
    assert!(first.contains(ASKS | Flags::CWR) && !first.contains(Flags::AE));
    let at = client.next_timer().expect("set");
    client.on_timer(at);
    let again = client.poll_transmit(at).expect("a SYN").flags;
    assert!(!again.intersects(ASKS | Flags::CWR));
}

/// RFC 3168, section 6.1.3: ECE from the first mark to the segment with CWR.
#[test]
fn a_receiver_echoes_until_the_window_is_reduced() {
    let (mut server, _) = server(with(Ecn::Passive), ASKS | Flags::CWR, Flags::default());
    for (at, flags, echo) in [
        (0, Flags::ECT_0, false),
        (1, Flags::CE, true),
        (2, Flags::ECT_0, true),
        (3, Flags::ECT_0 | Flags::CWR, false),
        (4, Flags::ECT_0, false),
        (5, Flags::CE | Flags::CWR, true),
    ] {
        let said = server.data(at * 1000, flags);
        assert_eq!(said.contains(Flags::ECE), echo, "segment {at}");
    }
}

/// RFC 3168, section 6.1.2, and Linux' CWR state: one reduction for the data in flight, however many
/// acknowledgements carry ECE; CWR with the next new data; ECT on new data only. NewReno halves, CUBIC
/// takes 0.7.
#[test]
fn a_sender_reduces_once_a_window() {
    for (controller, cwnd, again) in [(Kind::NewReno, 5, 2), (Kind::CubicLinux, 7, 4)] {
        let mut config = with(Ecn::Passive);
        config.controller = controller;
        let (mut server, _) = server(config, ASKS | Flags::CWR, Flags::default());
        server.write(40_000);
        let sent = server.poll();
        assert_eq!(sent.len(), 10);
        assert!(
            sent.iter().all(|s| s.flags.contains(Flags::ECT_0) && !s.flags.contains(Flags::CWR))
        );
        server.wait(100);
        let mut sent = Vec::new();
        for acked in 1..=10 {
            server.ack(acked * 1000, Flags::ECE);
            sent.extend(server.poll());
        }
        assert_eq!(server.cwnd(), cwnd, "{controller:?}");
        assert_eq!(server.tcp.stats().ssthresh, cwnd * 1000);
        // PRR: as many as the new window has, and the first of them says why.
        assert_eq!(sent.len() as u64, cwnd);
        assert!(sent[0].flags.contains(Flags::CWR));
        assert!(sent[1..].iter().all(|s| !s.flags.contains(Flags::CWR)));
        assert_eq!(server.tcp.stats().recoveries, 0);
        assert_eq!(server.tcp.stats().bytes_retransmitted, 0);
        // What was sent after the reduction arrives marked: the next one.
        server.wait(100);
        server.ack(11_000, Flags::default());
        assert_eq!(server.cwnd(), cwnd, "no growth on the way down");
        server.ack(12_000, Flags::ECE);
        for acked in 13..=10 + cwnd {
            server.poll();
            server.ack(acked * 1000, Flags::ECE);
        }
        assert_eq!(server.cwnd(), again, "{controller:?}");
    }
}

/// RFC 3168, section 6.1.2, and Linux' tcp_enter_cwr: CWR once a window, also of a sender whose window is the least
/// that CUBIC knows and cannot come down.
#[test]
fn a_sender_at_its_least_window_confirms_marks() {
    for controller in [Kind::Cubic, Kind::CubicLinux] {
        let config = Config { controller, initial_window_segments: 2, ..with(Ecn::Passive) };
        let (mut server, _) = server(config, ASKS | Flags::CWR, Flags::default());
        server.write(40_000);
        assert_eq!(server.poll().len(), 2);
        server.wait(100);
        let confirms = [1, 2, 3, 4, 5, 6].map(|acked| {
            server.ack(acked * 1000, Flags::ECE);
            let sent = server.poll();
            assert_eq!(sent.len(), 1, "{controller:?}");
            sent[0].flags.contains(Flags::CWR)
        });
        assert_eq!(confirms, [true, false, true, false, true, false], "{controller:?}");
        assert_eq!(server.cwnd(), 2, "{controller:?}");
    }
}

/// A loss within the window that a mark has reduced costs nothing more (Linux: tcp_in_cwnd_reduction).
#[test]
fn a_loss_after_a_mark_is_of_the_same_window() {
    let (mut server, _) = server(with(Ecn::Passive), ASKS | Flags::CWR, Flags::default());
    server.write(40_000);
    assert_eq!(server.poll().len(), 10);
    server.wait(100);
    server.ack(1000, Flags::ECE);
    server.poll();
    let mut segment = Segment { ack: 1000, flags: Flags::ACK, ..server.ack };
    assert!(segment.push_sack(2000, 6000));
    server.receive(segment);
    let repeated = server.poll();
    assert_eq!((repeated[0].seq, repeated[0].len), full(1, 1)[0]);
    assert!(!repeated[0].flags.intersects(Flags::CE), "retransmissions are not marked");
    assert_eq!(server.tcp.stats().ssthresh, 7000);
    assert_eq!(server.tcp.stats().recoveries, 1);
}

/// RFC 9768: a SYN with AE, CWR and ECE is answered with the codepoint that it arrived with; the counter
/// begins at 5 and says how many packets were marked, modulo 8.
#[test]
fn the_accurate_answer_counts_marked_packets() {
    let asks = ASKS | Flags::CWR | Flags::AE;
    let code = |flags: Flags| {
        u32::from(flags.contains(Flags::AE)) * 4
            + u32::from(flags.contains(Flags::CWR)) * 2
            + u32::from(flags.contains(Flags::ECE))
    };
    let (mut server, answer) = server(with(Ecn::Accurate), asks, Flags::CWR);
    assert_eq!(code(answer), 0b010, "a SYN that is not ECN-capable");
    assert_eq!(code(server.data(0, Flags::ECT_0)), 5);
    let counts: Vec<u32> = (1..=6).map(|at| code(server.data(at * 1000, Flags::CE))).collect();
    assert_eq!(counts, [6, 7, 0, 1, 2, 3]);
    assert_eq!(code(server.data(7000, Flags::ECT_0)), 3);
}

/// Accurate answers go to the controller packet by packet; one that has no other use for them reduces
/// once a window.
#[test]
fn accurate_answers_reduce_once_a_window() {
    let asks = ASKS | Flags::CWR | Flags::AE;
    let (mut server, _) = server(with(Ecn::Accurate), asks, Flags::CWR);
    server.write(40_000);
    assert_eq!(server.poll().len(), 10);
    server.wait(100);
    // The counter at 5: no mark.
    server.ack(1000, Flags::AE | Flags::ECE);
    assert_eq!(server.tcp.stats().ssthresh, u64::MAX);
    server.ack(2000, Flags::AE | Flags::CWR);
    server.ack(3000, Flags::AE | Flags::CWR | Flags::ECE);
    assert_eq!(server.tcp.stats().ssthresh, 7000, "11 segments, and 0.7 of them");
    assert!(server.poll().iter().all(|s| s.flags.contains(Flags::ECT_0)));
}

/// Marks one packet in a number instead of dropping it.
struct Marker(u64, u64);
impl Network for Marker {
    fn carry(&mut self, _: Time, segment: &Segment) -> Fate {
        let delay = Span::from_millis(20);
        if segment.len == 0 {
            return Fate::Arrives(delay);
        }
        self.0 += 1;
        match (self.0.is_multiple_of(self.1), segment.flags.intersects(Flags::CE)) {
            (true, true) => Fate::Marked(delay),
            (true, false) => Fate::Lost,
            _ => Fate::Arrives(delay),
        }
    }
}

/// Two ends by themselves: with ECN the window comes down as without, and nothing is sent twice.
#[test]
fn marks_take_the_place_of_losses() {
    let mut rates = Vec::new();
    for (caller, answerer) in
        [(Ecn::Passive, Ecn::Passive), (Ecn::On, Ecn::Passive), (Ecn::Accurate, Ecn::Accurate)]
    {
        let config = |ecn| Config { ecn, ..profiles::linux_6() };
        let mut pair =
            Pair::new(&config(caller), &config(answerer), [Marker(0, 400), Marker(0, 400)]);
        pair.bulk_until(Time::START + Span::from_secs(60));
        let stats = pair.end(0).stats();
        assert!(stats.ssthresh < u64::MAX, "{caller:?}: {stats:?}");
        assert_eq!(stats.bytes_retransmitted > 0, caller == Ecn::Passive, "{caller:?}: {stats:?}");
        rates.push(pair.read[1] as f64);
    }
    for ecn in &rates[1..] {
        let ratio = ecn / rates[0];
        assert!((0.85..1.2).contains(&ratio), "{rates:?}");
    }
}

/// packetdrill, cwnd-moderation-ecn-enter-cwr: the reduction begins with the acknowledgement that asks
/// for it. Three of four are in flight, and one more may follow.
#[test]
fn the_reduction_begins_at_once() {
    let (mut server, _) = server(with(Ecn::Passive), ASKS | Flags::CWR, Flags::default());
    server.write(4000);
    assert_eq!(server.poll().len(), 4);
    server.wait(100);
    server.ack(1000, Flags::ECE);
    assert_eq!((server.cwnd(), server.tcp.stats().ssthresh), (4, 7000));
}

/// 10 Mbit/s and 20 ms, of whose data segments one in a number is marked.
struct MarkingLine {
    line: Path,
    one_in: u64,
    seen: u64,
}

impl MarkingLine {
    fn new(one_in: u64) -> MarkingLine {
        let (delay, queue) = (Span::from_millis(20), Span::from_millis(100));
        let line = Path::over_line(delay, 1, Rate::from_bps(10_000_000), queue);
        MarkingLine { line, one_in, seen: 0 }
    }
}

impl Network for MarkingLine {
    fn carry(&mut self, now: Time, segment: &Segment) -> Fate {
        self.seen += u64::from(segment.len > 0);
        let marks = segment.len > 0 && self.seen.is_multiple_of(self.one_in);
        match self.line.carry(now, segment) {
            Fate::Arrives(delay) if marks => Fate::Marked(delay),
            fate => fate,
        }
    }
}

/// Linux' BBR makes nothing of marks, and TCP answers them all the same: CWR once for each, so that the receiver stops
/// echoing, and the rate is that of a line that marks nothing.
#[test]
fn bbr_keeps_its_rate_and_confirms_marks() {
    for controller in [Kind::Bbr, Kind::BbrV3] {
        let [plain, marked] = [u64::MAX, 1000].map(|one_in| {
            let config = Config { controller, ecn: Ecn::On, tso_bytes: 0, ..profiles::linux_6() };
            let lines = [MarkingLine::new(one_in), MarkingLine::new(u64::MAX)];
            let mut pair = Pair::new(&config, &config, lines);
            pair.log = Some(Vec::new());
            pair.bulk_until(Time::START + Span::from_secs(10));
            pair
        });
        let log = marked.log.as_ref().expect("kept");
        let count = |who, flag| {
            let established = log.iter().filter(|(_, _, it)| !it.flags.contains(Flags::SYN));
            established.filter(|(_, by, it)| *by == who && it.flags.contains(flag)).count() as u64
        };
        let marks = marked.networks[0].seen / 1000;
        let (confirmed, echoes, all) =
            (count(0, Flags::CWR), count(1, Flags::ECE), count(1, Flags::ACK));
        assert!(
            marks > 5 && (marks - 1..=marks).contains(&confirmed),
            "{controller:?}: {confirmed}"
        );
        assert!(echoes * 5 < all, "{controller:?}: {echoes} echoes in {all} acknowledgements");
        let ratio = marked.read[1] as f64 / plain.read[1] as f64;
        assert!((0.98..1.02).contains(&ratio), "{controller:?}: {ratio}");
    }
}

/// A loss after a mark begins recovery, and BBR hears of it, since the mark was nothing to it: the first round sends
/// what arrives (Linux: bbr_set_cwnd_to_recover_or_restore).
#[test]
fn bbr_hears_of_a_loss_after_a_mark() {
    let config = Config { controller: Kind::Bbr, ..with(Ecn::Passive) };
    let (mut server, _) = server(config, ASKS | Flags::CWR, Flags::default());
    server.write(40_000);
    let mut sent = 0;
    while sent < 10 {
        sent += server.poll().len();
        server.wait(1);
        server.tcp.on_timer(server.now);
    }
    server.wait(100);
    server.ack(1000, Flags::ECE);
    assert_eq!(server.cwnd(), 11);
    let mut segment = Segment { ack: 1000, flags: Flags::ACK, ..server.ack };
    assert!(segment.push_sack(2000, 6000));
    server.receive(segment);
    assert_eq!(server.tcp.stats().recoveries, 1);
    assert_eq!(server.cwnd(), 8);
}
