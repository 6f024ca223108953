//! Captured packets, read by a parser that knows nothing of the simulator.

use crate::common::*;
use etherparse::{IpNumber, NetSlice, SlicedPacket, TcpOptionElement, TransportSlice};
use flashcrowd_base::{Rate, Span};
use flashcrowd_link::{Jitter, JitterShape, Queue};
use flashcrowd_plan::{
    Call, Capture, PageSize, Ping, Plan, Reading, Transfer, TransportChoice, Web, Workload,
};
use flashcrowd_sim::{RunHandle, Table, simulate};
use flashcrowd_swarm::Message;
use flashcrowd_swarm::codec::{Decoded, Decoder};
use flashcrowd_transport::tcp::Ecn;
use flashcrowd_transport::utp::{self, PacketKind, wire};
use proptest::prelude::*;
use std::collections::BTreeMap;

fn captured(mut plan: Plan, seed: u64, snap_bytes: Option<u32>) -> Vec<Table> {
    let hosts = (0..plan.network.hosts.len() as u32).collect();
    let capture = Capture { hosts, from_ns: Span::ZERO, to_ns: None, snap_bytes };
    plan.measures.capture = plan.measures.capture.or(Some(capture));
    simulate(&plan, seed, &RunHandle::default()).expect("the plan makes sense")
}

/// One row of the table.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    host: String,
    t_ns: u64,
    sent: bool,
    length: u32,
    bytes: Vec<u8>,
}

fn rows(tables: &[Table]) -> Vec<Row> {
    let times = numbers(tables, "captures", "t_ns");
    let hosts = texts(tables, "captures", "host");
    let lengths = numbers(tables, "captures", "ip_bytes");
    let row = |(index, (sent, bytes)): (usize, (bool, &[u8]))| Row {
        host: hosts[index].clone(),
        t_ns: times[index] as u64,
        sent,
        length: lengths[index] as u32,
        bytes: bytes.to_vec(),
    };
    captured_packets(tables).into_iter().enumerate().map(row).collect()
}

/// What a parser reads of a packet.
#[derive(Debug)]
struct Parsed {
    from: (u8, u16),
    to: (u8, u16),
    ecn: u8,
    protocol: IpNumber,
    tcp: Option<etherparse::TcpHeader>,
    payload: Vec<u8>,
}

/// Parses a whole packet; every checksum has to be right.
fn parse(row: &Row) -> Parsed {
    let packet = SlicedPacket::from_ip(&row.bytes).expect("it is a packet");
    let Some(NetSlice::Ipv4(ip)) = &packet.net else { panic!("it is IPv4") };
    let header = ip.header().to_header();
    assert_eq!(header.header_checksum, header.calc_header_checksum());
    assert_eq!(usize::from(header.total_len), row.bytes.len());
    assert_eq!((&header.source[..3], &header.destination[..3]), (&[10, 0, 0][..], &[10, 0, 0][..]));
    let (ports, tcp, payload) = match packet.transport.expect("there is a transport") {
        TransportSlice::Tcp(tcp) => {
            let read = tcp.to_header();
            let sum = read.calc_checksum_ipv4(&header, tcp.payload()).expect("it is short");
            assert_eq!(read.checksum, sum);
            ([read.source_port, read.destination_port], Some(read), tcp.payload().to_vec())
        }
        TransportSlice::Udp(udp) => {
            let read = udp.to_header();
            let sum = read.calc_checksum_ipv4(&header, udp.payload()).expect("it is short");
            assert_eq!(read.checksum, sum);
            ([read.source_port, read.destination_port], None, udp.payload().to_vec())
        }
        TransportSlice::Icmpv4(icmp) => {
            assert_eq!(icmp.header().checksum, icmp.icmp_type().calc_checksum(icmp.payload()));
            ([0, 0], None, icmp.payload().to_vec())
        }
        other => panic!("nobody sends {other:?}"),
    };
    Parsed {
        from: (header.source[3], ports[0]),
        to: (header.destination[3], ports[1]),
        ecn: header.ecn.value(),
        protocol: header.protocol,
        tcp,
        payload,
    }
}

/// A text of lines that say where they are, as the first bytes of a stream without meaning.
fn lines(len: usize) -> Vec<u8> {
    let all: String = (0..len.div_ceil(16)).map(|line| format!("{:015x}\n", 16 * line)).collect();
    all.as_bytes()[..len].to_vec()
}

/// What a host received of a TCP stream, put together by sequence numbers alone. No byte may differ
/// from one at the same place before.
fn reassembled(rows: &[Row], host: &str) -> Vec<u8> {
    let mut initial = None;
    let mut stream = BTreeMap::new();
    for row in rows.iter().filter(|row| row.host == host && !row.sent) {
        let Parsed { tcp: Some(tcp), payload, .. } = parse(row) else { continue };
        if tcp.syn {
            assert!(initial.is_none_or(|number| number == tcp.sequence_number));
            initial = Some(tcp.sequence_number);
        }
        let first = initial.expect("the SYN comes first").wrapping_add(1);
        let offset = u64::from(tcp.sequence_number.wrapping_sub(first));
        for (place, byte) in (offset..).zip(payload) {
            assert_eq!(*stream.entry(place).or_insert(byte), byte);
        }
    }
    assert!(stream.keys().copied().eq(0..stream.len() as u64), "there is a gap");
    stream.into_values().collect()
}

/// The same for uTP, whose sequence numbers count packets.
fn reassembled_utp(rows: &[Row], host: &str) -> Vec<u8> {
    let mut first = None;
    let mut packets: BTreeMap<u16, Vec<u8>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.host == host && !row.sent) {
        let parsed = parse(row);
        let (packet, payload) = wire::decode(&parsed.payload).expect("it is uTP");
        match packet.kind {
            PacketKind::Syn => first = Some(packet.seq_nr),
            PacketKind::Data => {
                let number = packet.seq_nr.wrapping_sub(first.expect("the SYN comes first"));
                let known = packets.entry(number).or_insert_with(|| payload.to_vec());
                assert_eq!(known, payload);
            }
            _ => {}
        }
    }
    packets.into_values().flatten().collect()
}

fn one_transfer(bytes: u64, stack: &str, loss: f64, spread_ms: u64) -> Plan {
    let mut conditions = path(Span::from_millis(40), loss);
    let spread_ns = Span::from_millis(spread_ms);
    conditions.jitter =
        (spread_ms > 0).then_some(Jitter { shape: JitterShape::Uniform, spread_ns, reorder: true });
    let mut plan = plan(2, stack, conditions);
    plan.workloads =
        vec![Workload::Transfer(Transfer { size_bytes: Some(bytes), ..transfer(0, 1) })];
    plan
}

fn over_utp(mut plan: Plan) -> Plan {
    // Patient with losses: libtorrent itself ends a connection with the first SYN that is lost.
    plan.utps = vec![utp::Config {
        syn_retries: 100,
        data_retries: 100,
        max_transmissions: 0,
        ..utp::profiles::named("libtorrent").expect("the configuration exists")
    }];
    let Workload::Transfer(flow) = &mut plan.workloads[0] else { panic!("it is a transfer") };
    flow.transport = Some(TransportChoice::Utp(0));
    plan
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever is lost, sent again and overtaken: the bytes that arrive are those that were written.
    #[test]
    fn streams_are_put_together_again(
        bytes in 1u64..300_000,
        loss in 0.0..0.08,
        spread in 0u64..12,
        seed: u64,
        utp: bool,
    ) {
        let plan = one_transfer(bytes, "linux-6", loss, spread);
        let tables = captured(if utp { over_utp(plan) } else { plan }, seed, None);
        let rows = rows(&tables);
        let arrived = match utp {
            true => reassembled_utp(&rows, "host-1"),
            false => reassembled(&rows, "host-1"),
        };
        prop_assert!(arrived == lines(bytes as usize), "{} of {bytes} bytes", arrived.len());
    }
}

#[test]
fn a_handshake_offers_what_the_stack_offers() {
    let tables = captured(one_transfer(10_000, "linux-6", 0.0, 0), 1, None);
    let rows = rows(&tables);
    let sent: Vec<Parsed> = rows.iter().filter(|row| row.sent).map(parse).collect();
    let (syn, answer) = (&sent[0], &sent[1]);
    assert_eq!((syn.from.0, syn.to), (1, (2, 5001)));
    assert_eq!((answer.from, answer.to), (syn.to, syn.from));
    let [first, second] = [syn, answer].map(|it| it.tcp.clone().expect("it is TCP"));
    assert_eq!((first.syn, first.ack, second.syn, second.ack), (true, false, true, true));
    assert_eq!(first.acknowledgment_number, 0);
    assert_eq!(second.acknowledgment_number, first.sequence_number.wrapping_add(1));
    let options: Vec<_> = first.options_iterator().map(|it| it.expect("an option")).collect();
    use TcpOptionElement::*;
    // As Linux writes them, 40 bytes of headers without options and 20 with.
    assert!(
        matches!(
            options[..],
            [
                MaximumSegmentSize(1460),
                SelectiveAcknowledgementPermitted,
                Timestamp(_, 0),
                Noop,
                WindowScale(1..=14)
            ]
        ),
        "{options:?}"
    );
    assert_eq!(rows[0].length, 60);
    // Every packet is as long as the simulator says, and every instant of a run between is kept.
    assert!(rows.iter().all(|row| row.length as usize == row.bytes.len()));
    assert!(rows.is_sorted_by_key(|row| row.t_ns));
    let last = sent.iter().filter_map(|it| it.tcp.as_ref()).filter(|tcp| tcp.fin).count();
    assert_eq!(last, 2, "each end says that it is done");
}

/// A packet that is lost is seen by its sender alone; one that arrives is the same at both.
#[test]
fn what_arrives_is_what_was_sent_but_for_losses() {
    let tables = captured(one_transfer(400_000, "linux-6", 0.02, 0), 3, None);
    let rows = rows(&tables);
    let of = |host: &str, sent: bool| {
        let some = rows.iter().filter(|row| row.host == host && row.sent == sent);
        some.map(|row| row.bytes.clone()).collect::<Vec<_>>()
    };
    let mut lost = 0;
    for (from, to) in [("host-0", "host-1"), ("host-1", "host-0")] {
        let mut arrived = of(to, false).into_iter().peekable();
        for packet in of(from, true) {
            if arrived.next_if_eq(&packet).is_none() {
                lost += 1;
            }
        }
        // Nothing overtakes here, so all were found in their order, but those under way at the end.
        assert_eq!(arrived.next(), None);
    }
    let run = |column: &str| numbers(&tables, "run", column)[0];
    assert_eq!(run("packets_sent"), run("packets_delivered") + f64::from(lost));
    assert!(run("packets_lost") > 5.0 && run("packets_lost") <= f64::from(lost));
}

#[test]
fn a_capture_has_its_hosts_its_time_and_its_length_of_packets() {
    let mut plan = one_transfer(3_000_000, "linux-6", 0.0, 0);
    let whole = rows(&captured(plan.clone(), 1, None));
    let (from, to) = (Span::from_millis(150), Span::from_millis(300));
    plan.measures.capture =
        Some(Capture { hosts: vec![1], from_ns: from, to_ns: Some(to), snap_bytes: Some(100) });
    let part = rows(&captured(plan, 1, None));
    let inside =
        |row: &&Row| row.host == "host-1" && (from.nanos()..to.nanos()).contains(&row.t_ns);
    let cut = |row: &Row| {
        let bytes = row.bytes[..row.bytes.len().min(100)].to_vec();
        Row { bytes, ..row.clone() }
    };
    let expected: Vec<Row> = whole.iter().filter(inside).map(cut).collect();
    assert!(expected.len() > 50 && expected.len() < whole.len() / 3);
    assert!(part == expected);
}

/// The sequence numbers of a stream of some hundred kilobytes pass 2^32 for one seed of ten thousand.
#[test]
fn sequence_numbers_wrap() {
    let first = |seed: u64| {
        let numbers =
            flashcrowd_base::RandomStream::new(seed, "initial sequence numbers", 0).bits();
        numbers as u32
    };
    let near = u32::MAX - 200_000..u32::MAX - 150_000;
    let seed = (0..).find(|seed| near.contains(&first(*seed))).expect("there are many");
    let tables = captured(one_transfer(400_000, "linux-6", 0.01, 0), seed, None);
    let rows = rows(&tables);
    let numbers = rows.iter().filter_map(|row| Some(parse(row).tcp?.sequence_number));
    let (mut high, mut low) = (0, 0);
    for number in numbers {
        high += u32::from(number > u32::MAX - 200_000);
        low += u32::from(number < 300_000);
    }
    assert!(high > 50 && low > 50, "{high} before, {low} behind");
    assert_eq!(reassembled(&rows, "host-1"), lines(400_000));
}

/// A megabyte through a queue that marks, between hosts that take ECN.
fn marking(ecn: Ecn) -> Plan {
    let mut plan = star(2, 0, 20);
    let codel = r#"{"kind": "codel", "limit_packets": 1000, "target_ns": 5000000,
        "interval_ns": 100000000, "mtu_bytes": 1514, "ecn": true, "ce_threshold_ns": null}"#;
    let codel: Queue = serde_json::from_str(codel).expect("a queue");
    plan.network.links[0].conditions.queue = codel;
    plan.stacks[0].ecn = ecn;
    let size_bytes = Some(1_000_000);
    plan.workloads = vec![Workload::Transfer(Transfer { size_bytes, ..transfer(0, 1) })];
    plan
}

/// A queue that marks: the IP header says so where it arrives and not where it was sent, and the
/// receiver echoes it.
#[test]
fn marks_are_seen_where_they_arrive() {
    let rows = rows(&captured(marking(Ecn::On), 1, None));
    let data = |host: &str| {
        let some = rows.iter().filter(|row| row.host == host && row.sent == (host == "host-0"));
        some.map(parse).filter(|it| !it.payload.is_empty()).collect::<Vec<_>>()
    };
    assert!(data("host-0").iter().all(|it| it.ecn == 0b10 || it.ecn == 0));
    let marked = data("host-1").iter().filter(|it| it.ecn == 0b11).count();
    let answers = rows.iter().filter(|row| row.host == "host-1" && row.sent).map(parse);
    let echoes = answers.filter(|it| it.tcp.as_ref().is_some_and(|tcp| tcp.ece)).count();
    let reduced =
        data("host-0").into_iter().filter(|it| it.tcp.as_ref().is_some_and(|tcp| tcp.cwr));
    assert!(marked > 0 && echoes >= marked && reduced.count() > 0, "{marked} {echoes}");
}

/// The same queue and accurate ECN (RFC 9768): a SYN asks for it with all three bits, its answer says that
/// the SYN came unmarked, and the bits of what follows count the marks that arrived, from five on.
#[test]
fn accurate_ecn_counts_marks_in_three_bits() {
    let rows = rows(&captured(marking(Ecn::Accurate), 1, None));
    let bits = |of: &Parsed| {
        let tcp = of.tcp.as_ref().expect("it is TCP");
        u32::from(tcp.ns) << 2 | u32::from(tcp.cwr) << 1 | u32::from(tcp.ece)
    };
    let is_syn = |of: &Parsed| of.tcp.as_ref().is_some_and(|tcp| tcp.syn);
    let mut marked = 0;
    let mut counts = Vec::new();
    for row in rows.iter().filter(|row| row.host == "host-1") {
        let packet = parse(row);
        match (row.sent, is_syn(&packet)) {
            (false, true) => assert_eq!(bits(&packet), 0b111),
            (true, true) => assert_eq!(bits(&packet), 0b010),
            (false, false) => marked += u32::from(packet.ecn == 0b11),
            (true, false) => {
                assert_eq!(bits(&packet), (5 + marked) % 8);
                counts.push(bits(&packet));
            }
        }
    }
    counts.dedup();
    assert!(marked > 3 && counts.starts_with(&[5, 6, 7, 0]), "{marked} {counts:?}");
}

#[test]
fn pings_are_echoes_and_calls_are_rtp() {
    let mut plan = plan(2, "linux-6", path(Span::from_millis(40), 0.0));
    plan.workloads = vec![
        Workload::Ping(Ping {
            name: "ping".to_owned(),
            from: 0,
            to: 1,
            size_bytes: 84,
            interval_ns: Span::from_millis(100),
            start_ns: Span::ZERO,
            stop_ns: None,
        }),
        Workload::Call(Call {
            name: "call".to_owned(),
            from: 1,
            to: 0,
            size_bytes: 200,
            interval_ns: Span::from_millis(20),
            every_ns: None,
            start_ns: Span::ZERO,
            stop_ns: None,
        }),
    ];
    plan.stop.horizon_ns = Span::from_millis(950);
    let rows = rows(&captured(plan, 1, None));
    let at_asker: Vec<&Row> = rows.iter().filter(|row| row.host == "host-0").collect();
    let mut echoes = Vec::new();
    let mut calls = Vec::new();
    for row in at_asker {
        let parsed = parse(row);
        match parsed.protocol {
            IpNumber::ICMP => echoes.push((row.sent, row.bytes[20], row.bytes[27], row.t_ns)),
            _ if !row.sent => calls.push(parsed.payload),
            _ => {}
        }
    }
    // Type 8 asks, type 0 answers 40 ms later, with the same number.
    assert_eq!(echoes.iter().filter(|(sent, kind, ..)| *sent && *kind == 8).count(), 10);
    for (sent, kind, number, t_ns) in echoes {
        let late = if sent { 0 } else { 40_000_000 };
        assert_eq!(
            (kind, t_ns),
            (if sent { 8 } else { 0 }, u64::from(number) * 100_000_000 + late)
        );
    }
    assert!(calls.len() > 40);
    for (number, payload) in calls.iter().enumerate() {
        assert_eq!((payload.len(), &payload[..2]), (172, &[0x80, 96][..]));
        assert_eq!(payload[2..4], (number as u16).to_be_bytes());
        // 20 ms of a clock of 48 kHz.
        assert_eq!(payload[4..8], (960 * number as u32).to_be_bytes());
    }
}

/// A closed end keeps sending its FIN until that is acknowledged, however many packets are lost, and
/// though no application has it open any more.
#[test]
fn every_fin_is_acknowledged() {
    let mut plan = one_transfer(1000, "linux-6", 0.2, 0);
    let Workload::Transfer(flow) = &mut plan.workloads[0] else { panic!("it is a transfer") };
    flow.flows = 30;
    // A flow of its own keeps the run going until all are done.
    let (size_bytes, start_ns) = (Some(1), Span::from_secs(500));
    plan.workloads.push(Workload::Transfer(Transfer { size_bytes, start_ns, ..transfer(1, 0) }));
    let hosts = vec![0, 1];
    let to_ns = Some(start_ns);
    plan.measures.capture = Some(Capture { hosts, from_ns: Span::ZERO, to_ns, snap_bytes: None });
    let rows = rows(&captured(plan, 1, None));
    let mut sent = BTreeMap::new();
    let mut acknowledged = BTreeMap::new();
    for row in &rows {
        let Parsed { from, to, tcp: Some(tcp), payload, .. } = parse(row) else { continue };
        if row.sent && tcp.fin {
            let behind = tcp.sequence_number.wrapping_add(payload.len() as u32 + 1);
            sent.insert((from, to), behind);
        }
        if !row.sent && tcp.ack {
            acknowledged.insert((to, from), tcp.acknowledgment_number);
        }
    }
    assert_eq!(sent.len(), 2 * 30, "both ends of each connection");
    for (ends, behind) in sent {
        assert_eq!(acknowledged.get(&ends), Some(&behind), "{ends:?}");
    }
}

/// Each connection of a page asks for its part and gets an answer of that length.
#[test]
fn a_page_is_asked_for_in_parts() {
    let mut plan = plan(2, "linux-6", path(Span::from_millis(40), 0.0));
    plan.workloads = vec![Workload::Web(Web {
        name: "home".to_owned(),
        from: 0,
        to: 1,
        transport: None,
        users: 2,
        connections: 3,
        request_bytes: 400,
        page: PageSize {
            median_bytes: 20_000,
            sigma: 0.0,
            tail_from_bytes: 20_000,
            tail_shape: 1.1,
            largest_bytes: 20_000,
        },
        reading: Reading::Exponential { mean_ns: Span::from_secs(1) },
        start_ns: Span::ZERO,
        spread_ns: Span::ZERO,
        stop_ns: Some(Span::from_secs(20)),
    })];
    plan.stop.horizon_ns = Span::from_secs(30);
    let tables = captured(plan, 1, None);
    let streams = streams(&rows(&tables), false);
    let text = |name: &[u32]| String::from_utf8(streams[name].clone()).expect("it is a text");
    let mut answers = BTreeMap::new();
    for name in streams.keys().filter(|name| name[0] == 1) {
        let (request, answer) = (text(name), text(&[name[1], name[0], name[3], name[2]]));
        let (asked, _) = request.split_once(" HTTP/1.1\r\n").expect("it is a request");
        assert_eq!((name[3], request.len()), (80, 400));
        let (head, body) = answer.split_once("\r\n\r\n").expect("it has a head");
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        assert!(head.ends_with(&format!("Content-Length: {:>10}", body.len())), "{head}");
        answers.insert(asked.to_owned(), answer.len());
    }
    let (users, pages) = (numbers(&tables, "pages", "user"), numbers(&tables, "pages", "page"));
    assert!(pages.len() > 20, "{pages:?}");
    assert_eq!(answers.len(), 3 * pages.len());
    for (user, page) in users.iter().zip(&pages) {
        // 20,000 bytes in three parts.
        for (part, bytes) in [6667, 6667, 6666].into_iter().enumerate() {
            assert_eq!(answers[&format!("GET /home/{user}/{page}/{part}")], bytes);
        }
    }
}

/// Every stream of a swarm decodes, and holds each block that a leecher says it got.
#[test]
fn a_swarm_speaks_bit_torrent() {
    for utp in [false, true] {
        let upload = Rate::from_bps(2_000_000);
        let mut plan = flash_crowd(3, 2_000_000, upload, path(Span::from_millis(30), 0.01));
        if utp {
            plan.utps = vec![utp::profiles::named("libutp").expect("the configuration exists")];
            let Workload::Swarm(swarm) = &mut plan.workloads[0] else { panic!("it is a swarm") };
            for population in &mut swarm.populations {
                population.transport = Some(TransportChoice::Utp(0));
            }
        }
        let tables = captured(plan, 5, None);
        let rows = rows(&tables);
        let mut blocks = 0u64;
        let mut files: BTreeMap<u32, BTreeMap<usize, u32>> = BTreeMap::new();
        for (name, stream) in &streams(&rows, utp) {
            let mut decoder = Decoder::new(8, 16_384);
            decoder.feed(stream);
            let mut greeted = false;
            while let Some(decoded) = decoder.next().expect("it is BitTorrent") {
                match decoded {
                    Decoded::Handshake(handshake) => {
                        greeted = true;
                        assert_eq!(&handshake.info_hash, b"flashcrowd 000000000");
                    }
                    Decoded::Message(Message::Piece { piece, begin, length }, block) => {
                        blocks += u64::from(length);
                        let from = piece as usize * 262_144 + begin as usize;
                        assert!(block == &lines(from + block.len())[from..]);
                        files.entry(name[1]).or_default().insert(from, length);
                    }
                    Decoded::Message(..) => {}
                    Decoded::Skipped { kind, .. } => panic!("nobody sends type {kind}"),
                }
            }
            assert!(greeted || stream.is_empty());
        }
        let got: f64 = numbers(&tables, "downloads", "downloaded_bytes").iter().sum();
        // Some reach a host whose client has just closed: it does not need them.
        let unread = blocks - got as u64;
        assert!(unread < 4 * 16_384, "{unread} bytes over {}", if utp { "uTP" } else { "TCP" });
        assert!(files.keys().eq(&[2, 3, 4]), "each leecher downloads");
        for file in files.values() {
            assert_eq!(file.values().sum::<u32>(), 2_000_000);
        }
    }
}

/// The bytes of each direction of each connection, as they were sent.
fn streams(rows: &[Row], utp: bool) -> BTreeMap<Vec<u32>, Vec<u8>> {
    let mut starts = BTreeMap::new();
    let mut streams: BTreeMap<Vec<u32>, BTreeMap<u32, Vec<u8>>> = BTreeMap::new();
    for row in rows.iter().filter(|row| !row.sent) {
        let parsed = parse(row);
        let ends = [parsed.from.0, parsed.to.0].map(u32::from);
        if utp {
            let (packet, payload) = wire::decode(&parsed.payload).expect("it is uTP");
            let mut name = ends.to_vec();
            match packet.kind {
                // The answer comes to the id of the SYN, all else goes to the next one.
                PacketKind::Syn => {
                    name.push(u32::from(packet.connection_id.wrapping_add(1)));
                    starts.insert(name, packet.seq_nr);
                }
                PacketKind::Data => {
                    name.push(u32::from(packet.connection_id));
                    let first = *starts.entry(name.clone()).or_insert(packet.seq_nr);
                    let number = packet.seq_nr.wrapping_sub(first) as i16;
                    // One that overtook the first; the order is all that counts.
                    let place = (i32::from(number) + 40_000) as u32;
                    streams.entry(name).or_default().insert(place, payload.to_vec());
                }
                _ => {}
            }
            continue;
        }
        let tcp = parsed.tcp.expect("it is TCP");
        let name = vec![ends[0], ends[1], parsed.from.1.into(), parsed.to.1.into()];
        if tcp.syn {
            starts.insert(name.clone(), 0);
            streams.entry(name).or_default().insert(tcp.sequence_number, Vec::new());
        } else if !parsed.payload.is_empty() {
            streams.entry(name).or_default().insert(tcp.sequence_number, parsed.payload);
        }
    }
    let whole = |(name, parts): (Vec<u32>, BTreeMap<u32, Vec<u8>>)| {
        let mut bytes: Vec<u8> = Vec::new();
        let first = parts.keys().next().copied().unwrap_or(0);
        for (place, part) in parts {
            // Sequence numbers of bytes overlap where a repeat was cut otherwise.
            let known = if utp { 0 } else { (first + 1 + bytes.len() as u32).wrapping_sub(place) };
            let known = if place == first { 0 } else { known as usize };
            bytes.extend_from_slice(part.get(known..).unwrap_or_default());
        }
        (name, bytes)
    };
    streams.into_iter().map(whole).collect()
}
