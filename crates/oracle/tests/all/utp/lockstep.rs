//! Ours and libutp in one network, in both roles, over many networks drawn from seeds: every
//! transfer completes intact. `FLASHCROWD_LOCKSTEP=5000` runs 5000.

use super::host::{Application, Close, Host, Ours, message};
use super::theirs::Theirs;
use super::world::{Clock, Sent, Storm, World};
use flashcrowd_base::{RandomStream, Span, Time};
use flashcrowd_oracle::Settings;
use flashcrowd_transport::utp::{Config, Packet, PacketKind, profiles, wire};
use std::sync::Arc;

/// Networks in an ordinary run.
const NETWORKS: u64 = 150;

fn pick<T: Clone>(stream: &mut RandomStream, values: &[T]) -> T {
    values[stream.below(values.len())].clone()
}

/// What is drawn for one network.
struct Plan {
    config: Config,
    settings: Settings,
    /// Of the caller and of the answerer.
    applications: [Application; 2],
    storms: [Storm; 2],
    clocks: [Clock; 2],
    ids: (u16, u16),
}

fn plan(seed: u64) -> Plan {
    let mut stream = RandomStream::new(seed, "lockstep", 0);
    let stream = &mut stream;
    let mut config = pick(stream, &profiles::all());
    config.receive_buffer_bytes = pick(stream, &[2_000, 20_000, 1 << 20]);
    // Patience beyond libutp's is no help to libutp, but shows that it is libutp that gives up.
    config.data_retries = config.data_retries.max(8);
    config.syn_retries = config.syn_retries.max(4);
    // Where packets overtake each other, three are few.
    config.stale_acks = 256;
    let settings = Settings {
        seed,
        receive_buffer: pick(stream, &[3_000, 20_000, 1 << 20]),
        mtu: pick(stream, &[600, 1402, 1402]),
        ..Settings::default()
    };
    let size = |stream: &mut RandomStream| pick(stream, &[1usize, 700, 5_000, 60_000, 400_000]);
    // libutp lets an answerer write only when the caller has.
    let there = size(stream);
    let back = if stream.below(2) == 0 { 0 } else { size(stream) };
    let lazy = |stream: &mut RandomStream| {
        let pause = Span::from_millis(1 + stream.below(300) as u64);
        (stream.below(4) == 0).then_some((10_000, pause))
    };
    let mut caller = Application::new(message(seed, there), Close::Written);
    caller.lazy = lazy(stream);
    let mut answerer = Application::new(message(!seed, back), Close::Eof);
    answerer.lazy = lazy(stream);
    let loss = pick(stream, &[0.0, 0.0, 0.01, 0.05, 0.1]);
    let duplication = pick(stream, &[0.0, 0.02]);
    let delay = Span::from_millis(stream.below(150) as u64);
    let jitter = Span::from_millis(pick(stream, &[0, 0, 1, 30, 200]));
    let mtu = pick(stream, &[620usize, 1000, 1500, 1500]);
    let jump = Span::from_millis(pick(stream, &[0, 0, 100, 600]));
    let storm = |index| Storm {
        stream: RandomStream::new(seed, "storm", index),
        until: Time::START + Span::from_secs(300),
        loss,
        duplication,
        delay,
        jitter,
        jump: (Time::START + Span::from_secs(2), jump),
        mtu,
        black_hole: false,
        spare: None,
    };
    let clock = |stream: &mut RandomStream| Clock {
        // Timestamps wrap 4295 s after a clock began. libutp counts from a little after its start.
        offset: Span::from_millis(pick(stream, &[1_000, 77_000, 4_290_000, 10_000_000])),
        // Flavours of 2009 mend no drift, and stop at a target of 25 ms: 20 ppm are 16 ms in the
        // 13 minutes that they remember.
        drift_ppm: stream.below(20) as i64 - 10,
    };
    let clocks = [clock(stream), clock(stream)];
    // libutp does not wrap the id after 0xffff.
    let ids = (stream.below(0xffff) as u16, stream.bits() as u16);
    Plan {
        config,
        settings,
        applications: [caller, answerer],
        storms: [storm(0), storm(1)],
        clocks,
        ids,
    }
}

/// How one transfer ended.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Intact,
    /// libutp answered the SYN once, and that was lost: it never answers again.
    AnswerLost,
    /// An end sent the same packet as often as it does, and of all that arrived no answer came
    /// back, though one was sent each time.
    OutOfLuck,
    /// Anything else.
    Unexplained(String),
}

fn judge<A: Host, B: Host>(
    world: &World<A, B, Storm>,
    messages: [&[u8]; 2],
    config: &Config,
    libutp_answers: bool,
) -> Outcome {
    let intact = (0..2).all(|who| world.peek(who).received() == messages[1 - who]);
    if intact {
        return Outcome::Intact;
    }
    // Whatever else happened, nothing wrong was delivered.
    for who in 0..2 {
        assert!(messages[1 - who].starts_with(world.peek(who).received()), "garbled");
    }
    let log = world.log.as_deref().expect("kept");
    let answers: Vec<bool> = log
        .iter()
        .filter(|sent| sent.who == 1)
        .map(|sent| (wire::decode(&sent.bytes).expect("uTP").0.kind, sent.lost))
        .filter(|(kind, _)| *kind == PacketKind::State)
        .map(|(_, lost)| lost)
        .collect();
    if libutp_answers && answers == [true] {
        return Outcome::AnswerLost;
    }
    let failures: [Option<String>; 2] = [0, 1].map(|who| world.peek(who).failure());
    let ours = usize::from(!libutp_answers);
    let patience = |who, kind| match kind {
        // libutp sends a SYN three times, and anything else once and four times more.
        PacketKind::Syn if who != ours => 3,
        PacketKind::Syn => config.syn_retries as usize + 1,
        _ if who == ours && config.max_transmissions > 0 => config.max_transmissions as usize,
        _ => 4,
    };
    if (0..2).any(|who| {
        failures[who].as_deref() == Some("TimedOut")
            && is_out_of_luck(log, who, |kind| patience(who, kind))
    }) {
        return Outcome::OutOfLuck;
    }
    Outcome::Unexplained(format!("{failures:?}"))
}

/// Whether the last packet of `who` was sent at least `times` times, by its kind, and each of the last times
/// either it was lost, or the other end answered and all of that was lost.
fn is_out_of_luck(log: &[Sent], who: usize, times: impl Fn(PacketKind) -> usize) -> bool {
    let packets: Vec<(&Sent, Packet)> =
        log.iter().map(|sent| (sent, wire::decode(&sent.bytes).expect("uTP").0)).collect();
    let numbered = |kind| matches!(kind, PacketKind::Data | PacketKind::Fin | PacketKind::Syn);
    let Some(last) = packets.iter().rev().find(|(sent, p)| sent.who == who && numbered(p.kind))
    else {
        return false;
    };
    let (seq, times) = (last.1.seq_nr, times(last.1.kind));
    let sendings: Vec<usize> = (0..packets.len())
        .filter(|&i| {
            let (sent, p) = packets[i];
            sent.who == who && numbered(p.kind) && p.seq_nr == seq
        })
        .collect();
    let covers = |p: &Packet| p.ack_nr.wrapping_sub(seq) < 0x8000 && p.kind != PacketKind::Syn;
    let before = sendings.len().saturating_sub(times);
    sendings.len() >= times
        && sendings.iter().enumerate().skip(before).all(|(nth, &from)| {
            let to = sendings.get(nth + 1).copied().unwrap_or(packets.len());
            // A keep-alive, 29 s later, gets no answer.
            let soon = |sent: &Sent| sent.at.since(packets[from].0.at) < Span::from_secs(20);
            let mut answers = packets[from..to]
                .iter()
                .filter(|(sent, p)| sent.who != who && covers(p) && soon(sent))
                .peekable();
            packets[from].0.lost || (answers.peek().is_some() && answers.all(|(sent, _)| sent.lost))
        })
}

fn run<A: Host, B: Host>(
    hosts: (A, B),
    plan: &Plan,
    libutp_answers: bool,
) -> (Outcome, Time, String) {
    let messages = plan.applications.each_ref().map(|application| &application.message[..]);
    let mut world = World::new(hosts, plan.storms.clone(), plan.clocks);
    world.log = Some(Vec::new());
    world.run(Time::START + Span::from_secs(100_000));
    let outcome = judge(&world, messages, &plan.config, libutp_answers);
    let trace = if outcome == Outcome::Intact { String::new() } else { world.trace() };
    (outcome, world.now, trace)
}

fn ours_calls(plan: &Plan) -> (Outcome, Time, String) {
    let [caller, answerer] = plan.applications.clone();
    let start = plan.clocks[0].local(Time::START);
    let ours = Ours::caller(&Arc::new(plan.config.clone()), start, caller, plan.ids);
    run((ours, Theirs::answerer(&plan.settings, answerer)), plan, true)
}

fn libutp_calls(plan: &Plan) -> (Outcome, Time, String) {
    let [caller, answerer] = plan.applications.clone();
    let start = plan.clocks[0].local(Time::START);
    let theirs = Theirs::caller(&plan.settings, start, caller);
    let ours = Ours::answerer(&Arc::new(plan.config.clone()), answerer, plan.ids.1);
    run((theirs, ours), plan, false)
}

#[test]
fn every_transfer_with_libutp_arrives_intact() {
    let networks = std::env::var("FLASHCROWD_LOCKSTEP")
        .ok()
        .map_or(NETWORKS, |text| text.parse().expect("FLASHCROWD_LOCKSTEP is a number"));
    // One of them, with its trace.
    let only: Option<u64> =
        std::env::var("FLASHCROWD_NETWORK").ok().and_then(|text| text.parse().ok());
    let mut outcomes = [[0u64; 4]; 2];
    for seed in only.map_or(0..networks, |seed| seed..seed + 1) {
        let plan = plan(seed);
        for (role, (outcome, _, trace)) in
            [ours_calls(&plan), libutp_calls(&plan)].into_iter().enumerate()
        {
            match &outcome {
                Outcome::Intact => outcomes[role][0] += 1,
                Outcome::AnswerLost => outcomes[role][1] += 1,
                Outcome::OutOfLuck => outcomes[role][2] += 1,
                Outcome::Unexplained(why) => {
                    outcomes[role][3] += 1;
                    println!("network {seed}, role {role}, {}: {why}", plan.config.name);
                    if only.is_some() {
                        println!("{trace}");
                    }
                }
            }
        }
    }
    println!(
        "{networks} networks; intact, answer lost, out of luck, unexplained: we call {:?}, libutp calls {:?}",
        outcomes[0], outcomes[1]
    );
    assert_eq!([outcomes[0][3], outcomes[1][3]], [0, 0], "transfers that failed without excuse");
    assert_eq!(outcomes[1][1], 0, "a lost answer is fatal with libutp only");
}
