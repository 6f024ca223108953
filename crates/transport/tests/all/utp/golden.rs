//! Recorded traces of libutp against libutp, packet by packet.

use super::host::{Application, Close, Ours, message};
use super::world::{Clock, Quiet, World};
use flashcrowd_base::{Span, Time};
use flashcrowd_transport::utp::{PacketKind, profiles, wire};
use std::sync::Arc;

/// One line: milliseconds, who, kind, id, difference, seq, ack, datagram length, mask.
type Line = (u64, usize, PacketKind, u16, u32, u16, u16, usize, &'static str);

/// 6000 bytes and a close over 20 ms each way; A lets go when it has written everything, B when A has
/// closed.
fn run(lost: Vec<u64>) -> Vec<Line> {
    let config = Arc::new(profiles::libutp());
    let mut sender = Application::new(message(1, 6000), Close::Written);
    sender.release = true;
    let mut receiver = Application::new(Vec::new(), Close::Eof);
    receiver.release = true;
    // libutp's clock is not at 0, where a timestamp would mean nothing.
    let clocks = [Clock { offset: Span::from_secs(1000), drift_ppm: 0 }; 2];
    let start = clocks[0].local(Time::START);
    let a = Ours::caller(&config, start, sender, (0x1101, 0x1202));
    let b = Ours::answerer(&config, receiver, 0x1303);
    let forward = Quiet { lost, ..Quiet::new(20) };
    let mut world = World::new((a, b), [forward, Quiet::new(20)], clocks);
    world.log = Some(Vec::new());
    world.run(Time::START + Span::from_secs(60));
    assert_eq!(super::host::Host::received(&world.hosts.1), message(1, 6000));
    let log = world.log.take().expect("kept");
    log.iter()
        .map(|sent| {
            let (p, _) = wire::decode(&sent.bytes).expect("uTP");
            let mask = match format!("{:?}", p.sack).as_str() {
                "" => "",
                "01000000" => "01000000",
                "03000000" => "03000000",
                "07000000" => "07000000",
                other => panic!("mask {other}"),
            };
            let millis = sent.at.nanos() / 1_000_000;
            let diff = p.timestamp_difference;
            let (id, len) = (p.connection_id, sent.bytes.len());
            (millis, sent.who, p.kind, id, diff, p.seq_nr, p.ack_nr, len, mask)
        })
        .collect()
}

use PacketKind::{Data, Fin, Reset, State, Syn};

/// How both traces begin and end. The number of a RESET is random in libutp.
fn head() -> Vec<Line> {
    vec![
        (0, 0, Syn, 0x1101, 0, 0x1202, 0, 20, ""),
        (20, 1, State, 0x1101, 0, 0x1303, 0x1202, 20, ""),
        (40, 0, Data, 0x1102, 20_000, 0x1203, 0x1302, 1402, ""),
        (60, 1, State, 0x1101, 20_000, 0x1303, 0x1203, 20, ""),
        (80, 0, Data, 0x1102, 20_000, 0x1204, 0x1302, 1402, ""),
        (80, 0, Data, 0x1102, 20_000, 0x1205, 0x1302, 1402, ""),
        (80, 0, Data, 0x1102, 20_000, 0x1206, 0x1302, 1402, ""),
    ]
}

#[test]
fn the_clean_trace_is_libutps() {
    let mut expected = head();
    expected.extend([
        (100, 1, State, 0x1101, 20_000, 0x1303, 0x1204, 20, ""),
        (100, 1, State, 0x1101, 20_000, 0x1303, 0x1205, 20, ""),
        (100, 1, State, 0x1101, 20_000, 0x1303, 0x1206, 20, ""),
        (120, 0, Data, 0x1102, 20_000, 0x1207, 0x1302, 492, ""),
        (140, 1, State, 0x1101, 20_000, 0x1303, 0x1207, 20, ""),
        (160, 0, Fin, 0x1102, 20_000, 0x1208, 0x1302, 20, ""),
        (180, 1, State, 0x1101, 20_000, 0x1303, 0x1208, 20, ""),
        (180, 1, State, 0x1101, 20_000, 0x1303, 0x1208, 20, ""),
        (180, 1, Fin, 0x1101, 20_000, 0x1303, 0x1208, 20, ""),
        (3500, 1, Fin, 0x1101, 20_000, 0x1303, 0x1208, 20, ""),
        (3520, 0, Reset, 0x1101, 0, 0x1209, 0x1303, 20, ""),
    ]);
    assert_eq!(run(Vec::new()), expected);
}

#[test]
fn the_trace_with_a_loss_is_libutps() {
    let trace = run(vec![2]);
    let mut expected = head();
    expected.extend([
        (100, 1, State, 0x1101, 20_000, 0x1303, 0x1203, 26, "01000000"),
        (100, 1, State, 0x1101, 20_000, 0x1303, 0x1203, 26, "03000000"),
        (120, 0, Data, 0x1102, 20_000, 0x1207, 0x1302, 492, ""),
        (140, 1, State, 0x1101, 20_000, 0x1303, 0x1203, 26, "07000000"),
        (160, 0, Data, 0x1102, 20_000, 0x1204, 0x1302, 1402, ""),
        (180, 1, State, 0x1101, 20_000, 0x1303, 0x1207, 20, ""),
        (200, 0, Fin, 0x1102, 20_000, 0x1208, 0x1302, 20, ""),
        (220, 1, State, 0x1101, 20_000, 0x1303, 0x1208, 20, ""),
        (220, 1, State, 0x1101, 20_000, 0x1303, 0x1208, 20, ""),
        (220, 1, Fin, 0x1101, 20_000, 0x1303, 0x1208, 20, ""),
        (3500, 1, Fin, 0x1101, 20_000, 0x1303, 0x1208, 20, ""),
        (3520, 0, Reset, 0x1101, 0, 0x1209, 0x1303, 20, ""),
    ]);
    assert_eq!(trace, expected);
}
