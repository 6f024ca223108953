//! How losses are found and repaired.

use crate::script::{Script, full, linux, profile};
use flashcrowd_base::{Span, Time};
use flashcrowd_transport::congestion::Kind;
use flashcrowd_transport::tcp::{
    CloseReason, Config, Connection, Flags, Reduction, Segment, State, profiles,
};
use std::sync::Arc;

const RTT: Span = Span::from_millis(100);

fn reno_without_sack() -> Config {
    let mut config = linux();
    config.sack = false;
    config.controller = Kind::NewReno;
    config.reduction = Reduction::Classic;
    config.tail_loss_probe = false;
    config
}

/// packetdrill, prr-ss-10pkt-lost-1: threshold and window 7 all through, one new segment for each
/// one SACKed.
#[test]
fn prr_sends_one_segment_per_sack() {
    let mut script = Script::new(linux(), RTT);
    script.write(10_000);
    assert_eq!(script.sent(), full(0, 10));
    script.quiet(110).sack(0, &[(1000, 2000)]);
    assert_eq!(script.sent(), []);
    script.quiet(10).sack(0, &[(1000, 3000)]);
    assert_eq!(script.sent(), []);
    script.quiet(10).sack(0, &[(1000, 4000)]);
    assert_eq!(script.sent(), [(0, 1000)]);
    assert_eq!((script.cwnd(), script.ssthresh()), (7, Some(7)));
    script.quiet(20).write(7000);
    for segment in 5..=10 {
        assert_eq!(script.sent(), [], "nothing before the SACK");
        script.quiet(10).sack(0, &[(1000, segment * 1000)]);
        assert_eq!(script.sent(), full(segment + 5, 1));
        assert_eq!(script.cwnd(), 7);
    }
    script.quiet(20).ack(10_000);
    assert_eq!(script.sent(), full(16, 1));
    assert_eq!((script.cwnd(), script.ssthresh()), (7, Some(7)));
}

/// RFC 3042: one new segment for each of the first two duplicates.
#[test]
fn limited_transmit_sends_two() {
    for limited in [true, false] {
        let mut config = reno_without_sack();
        config.limited_transmit = limited;
        let mut script = Script::new(config, RTT);
        script.write(100_000);
        assert_eq!(script.count(), 10);
        script.quiet(100);
        let mut sent = Vec::new();
        for _ in 0..2 {
            sent.extend(script.ack(0).sent());
            // Within a millisecond the second would wait for a third, to make a TSO packet of two.
            script.quiet(2);
        }
        assert_eq!(sent, if limited { full(10, 2) } else { vec![] });
        let third = script.ack(0).sent();
        assert_eq!(third[0], (0, 1000), "the third is a loss");
    }
}

/// RFC 5681, section 2: what carries data, changes the window or is older is no duplicate acknowledgement.
#[test]
fn three_duplicates_are_three_that_say_nothing_else() {
    let mut script = Script::new(reno_without_sack(), RTT);
    script.write(100_000);
    assert_eq!(script.count(), 10);
    script.quiet(100).ack(1000).count();
    for n in 0..4 {
        script.data(n * 100, 100, Flags::PSH);
        script.window((2 << 20) + n as u32).ack(1000);
        script.ack(0);
        assert!(script.sent().iter().all(|(seq, len)| *seq != 1000 && *len == 0));
    }
    for repeats in [false, false, true] {
        let sent = script.ack(1000).sent();
        assert_eq!(sent.contains(&(1000, 1000)), repeats, "{sent:?}");
    }
}

/// RFC 6582 by hand: ten in flight, 0 and 4000 lost. Window 5 after three duplicates, inflated by
/// each further one; the partial acknowledgement repeats the next hole.
#[test]
fn new_reno_repairs_one_hole_per_round_trip() {
    let mut config = reno_without_sack();
    config.limited_transmit = false;
    let mut script = Script::new(config, RTT);
    script.write(100_000);
    assert_eq!(script.count(), 10);
    script.quiet(100).ack(0).ack(0);
    assert_eq!(script.sent(), []);
    script.ack(0);
    assert_eq!(script.sent(), [(0, 1000)]);
    assert_eq!(script.ssthresh(), Some(5));
    // Eight duplicates in all (segments 1 to 3 and 5 to 9 arrived). Window 5 + 8, flight 10.
    let mut new = 0;
    for _ in 0..5 {
        new += script.ack(0).count();
    }
    assert_eq!(new, 3);
    // The repeat of 0 arrives: everything below 4000.
    script.quiet(100).ack(4000);
    let sent = script.sent();
    assert_eq!(sent[0], (4000, 1000));
    // 13 - 4 + 1 = 10 of window, flight 9: one new segment.
    assert_eq!(sent[1..], full(13, 1));
    // The rest: out of recovery, min(ssthresh, flight + 1).
    script.quiet(100).ack(14_000);
    assert_eq!((script.cwnd(), script.ssthresh()), (2, Some(5)));
    assert_eq!(script.stats().timeouts, 0);
    assert_eq!(script.stats().recoveries, 1);
}

/// RFC 6675: a segment with three SACKed above it is lost, and only that one.
#[test]
fn sacked_segments_are_never_repeated() {
    for rack in [false, true] {
        let mut config = linux();
        config.rack = rack;
        let mut script = Script::new(config, RTT);
        script.write(10_000);
        assert_eq!(script.count(), 10);
        script.quiet(100).sack(0, &[(1000, 3000), (5000, 6000)]);
        let mut repeated: Vec<_> = script.sent();
        script.quiet(1).sack(0, &[(7000, 10_000), (5000, 6000), (1000, 3000)]);
        repeated.extend(script.sent());
        for step in 0..4 {
            script.quiet(20);
            let next = [(0, 3000), (4000, 6000), (4000, 6000), (4000, 6000)][step];
            if next.0 == 0 {
                script.sack(3000, &[(7000, 10_000), (5000, 6000)]);
            }
            repeated.extend(script.sent());
        }
        repeated.sort_unstable();
        repeated.dedup();
        assert!(
            repeated.iter().all(|(seq, _)| [0, 3000, 4000, 6000].contains(seq)),
            "{repeated:?}"
        );
        assert!(repeated.contains(&(0, 1000)) && repeated.contains(&(3000, 1000)), "{repeated:?}");
    }
}

/// RFC 6298: the timeout doubles, to the limit, and then the connection gives up.
#[test]
fn the_timer_backs_off_and_gives_up() {
    let mut config = linux();
    config.tail_loss_probe = false;
    config.data_retries = 5;
    config.max_rto_ns = Span::from_secs(2);
    let mut script = Script::new(config, RTT);
    script.write(1000);
    assert_eq!(script.count(), 1);
    // srtt 100 ms, and the floor of 200 ms under the variance.
    let at: Vec<u64> = script.wait(Span::from_secs(30)).into_iter().map(|sent| sent.0).collect();
    assert_eq!(at, [400, 1000, 2200, 4200, 6200]);
    assert_eq!(script.server.state(), State::Closed { reason: CloseReason::TimedOut });
    assert_eq!(script.server.next_timer(), None);
}

/// After a timeout what was SACKed is not sent again, and the threshold falls once.
#[test]
fn a_timeout_does_not_go_back_over_sacked_data() {
    let mut config = linux();
    config.tail_loss_probe = false;
    config.rack = false;
    let mut script = Script::new(config, RTT);
    script.write(10_000);
    assert_eq!(script.count(), 10);
    script.quiet(100).sack(0, &[(8000, 10_000)]);
    assert_eq!(script.count(), 0);
    let repeats = script.wait(Span::from_millis(301));
    assert_eq!(repeats.iter().map(|r| r.1).collect::<Vec<_>>(), [0]);
    assert_eq!((script.cwnd(), script.ssthresh()), (1, Some(7)));
    script.quiet(100).sack(1000, &[(8000, 10_000)]);
    assert_eq!(script.sent(), full(1, 2));
    script.quiet(100).sack(3000, &[(8000, 10_000)]);
    assert_eq!(script.sent(), full(3, 4));
    script.quiet(100).sack(7000, &[(8000, 10_000)]);
    assert_eq!(script.sent(), full(7, 1));
    script.quiet(100).ack(10_000);
    assert_eq!(script.stats().bytes_retransmitted, 8000);
    assert_eq!(script.ssthresh(), Some(7));
}

/// RFC 8985, section 7: two round trips after the last segment a probe goes out; its SACK reveals
/// the hole, and the loss is repaired without a timeout.
#[test]
fn a_lost_tail_is_probed() {
    let mut script = Script::new(linux(), RTT);
    script.write(5000);
    assert_eq!(script.count(), 5);
    // 0 and 1000 arrive, the rest is lost.
    script.quiet(100).ack(2000);
    assert_eq!(script.wait(Span::from_millis(302)), [(402, 4000, 1000)]);
    script.sack(2000, &[(4000, 5000)]);
    assert_eq!(script.sent(), [(2000, 1000)], "the first repeat");
    assert_eq!(script.stats().recoveries, 1);
    script.quiet(100).sack(3000, &[(4000, 5000)]);
    assert_eq!(script.sent(), [(3000, 1000)]);
    script.quiet(100).ack(5000);
    assert_eq!(script.stats().timeouts, 0);
    assert_eq!(script.server.next_timer(), None);
}

/// RFC 8985: late by less than a quarter of the least round trip is not lost; later is.
#[test]
fn rack_waits_for_reordered_segments() {
    let late = || {
        let mut script = Script::new(linux(), RTT);
        script.write(3000);
        assert_eq!(script.count(), 3);
        script.quiet(100).sack(0, &[(1000, 2000)]);
        assert_eq!(script.sent(), []);
        script
    };
    assert_eq!(late().wait(Span::from_millis(30)), [(200 + 27, 0, 1000)]);
    let mut script = late();
    script.quiet(10).ack(3000);
    assert_eq!(script.stats().bytes_retransmitted, 0);
    script.write(3000);
    assert_eq!(script.count(), 3);
    script.quiet(100).sack(3000, &[(4000, 5000)]);
    assert_eq!(script.sent(), []);
    // 100 ms of round trip and 25 ms of patience have passed 25 ms from now, and the grain.
    assert_eq!(script.wait(Span::from_millis(30)), [(310 + 27, 3000, 1000)]);
}

/// The timer of the oldest segment restarts when it is retransmitted (Linux: tcp_retransmit_skb, tcp_rearm_rto).
#[test]
fn a_repeat_of_the_oldest_has_a_timeout_of_its_own() {
    let mut config = linux();
    config.tail_loss_probe = false;
    let mut script = Script::new(config, RTT);
    script.write(10_000);
    assert_eq!(script.count(), 10);
    script.quiet(150).sack(0, &[(1000, 10_000)]);
    assert_eq!(script.sent(), [(0, 1000)]);
    let (now, rto) = (script.now, script.stats().rto);
    assert_eq!(script.server.next_timer(), Some(now + rto));
}

/// RACK finds a repeat that is lost again; counting does not, and needs the timer.
#[test]
fn a_lost_repeat_is_repeated() {
    for rack in [true, false] {
        let mut config = linux();
        config.rack = rack;
        config.tail_loss_probe = false;
        let mut script = Script::new(config, RTT);
        script.write(30_000);
        assert_eq!(script.count(), 10);
        script.quiet(100).sack(0, &[(1000, 10_000)]);
        let first = script.sent();
        assert_eq!(first[0], (0, 1000));
        let new = first.len() as u64 - 1;
        // What was sent after the repeat arrives, the repeat does not.
        let mut repeats = 0;
        let mut edge = 10_000 + new * 1000;
        for _ in 0..6 {
            script.wait(Span::from_millis(40));
            script.sack(0, &[(1000, edge)]);
            for (seq, len) in script.sent() {
                repeats += u32::from(seq == 0);
                if seq > 0 {
                    edge = seq + u64::from(len);
                }
            }
        }
        assert_eq!(repeats > 0, rack, "{repeats}");
    }
}

/// Rate halving (Linux 2.6): a segment goes out for every second acknowledgement.
#[test]
fn rate_halving_paces_recovery() {
    let mut config = profile(profiles::linux_2_6());
    config.initial_window_segments = 20;
    config.controller = Kind::NewReno;
    let mut script = Script::new(config, RTT);
    script.write(100_000);
    assert_eq!(script.count(), 20);
    script.quiet(100);
    let mut sent = Vec::new();
    for segment in 2..=20 {
        script.quiet(1).sack(0, &[(1000, segment * 1000)]);
        sent.extend(script.sent());
    }
    assert!(sent.contains(&(0, 1000)));
    let new = sent.iter().filter(|(seq, _)| *seq >= 20_000).count();
    // About half of nineteen acknowledgements, and the limited transmit at first.
    assert!((8..=13).contains(&new), "{sent:?}");
    assert_eq!(script.ssthresh(), Some(10));
}

/// RFC 3522: the acknowledgement echoes a timestamp from before the repeat, so that nothing was
/// lost, and the window comes back.
#[test]
fn a_spurious_recovery_is_taken_back() {
    use flashcrowd_base::RandomStream;
    // Reordering beyond three segments, and no loss at all.
    for undo in [true, false] {
        let mut config = profiles::linux_6();
        config.undo = undo;
        config.rack = false;
        let mut pair = reorder::pair(&config, RandomStream::new(7, "reorder", 0));
        pair.bulk_until(Time::START + Span::from_secs(5));
        let stats = pair.end(0).stats();
        assert!(stats.recoveries > 0, "{stats:?}");
        assert_eq!(stats.undone > 0, undo, "{stats:?}");
    }
}

mod reorder {
    use crate::pipe::{Fate, Network, Pair};
    use flashcrowd_base::{RandomStream, Span, Time};
    use flashcrowd_transport::tcp::{Config, Segment};

    pub(super) struct Reordering(RandomStream);

    impl Network for Reordering {
        fn carry(&mut self, _: Time, segment: &Segment) -> Fate {
            let late = segment.len > 0 && self.0.unit() < 0.01;
            Fate::Arrives(Span::from_millis(if late { 35 } else { 20 }))
        }
    }

    pub(super) fn pair(config: &Config, stream: RandomStream) -> Pair<Reordering> {
        Pair::new(config, config, [Reordering(stream.clone()), Reordering(stream)])
    }
}

/// Without SACK a duplicate announces a segment that was delivered; the acknowledgement that covers it
/// later does not deliver it again (Linux: tcp_remove_reno_sacks).
#[test]
fn what_duplicates_announced_does_not_grow_the_window() {
    let mut script = Script::new(reno_without_sack(), RTT);
    script.write(100_000);
    assert_eq!(script.count(), 10);
    script.quiet(100).ack(0).ack(0);
    assert_eq!(script.count(), 2, "limited transmit");
    script.ack(10_000);
    assert_eq!(script.cwnd(), 18, "eight of the ten are news");
    script.count();
    script.quiet(100).ack(20_000);
    assert_eq!(script.cwnd(), 28, "all ten are");
}

/// Ten in flight, and a delay of the first that looks like a loss; there are no timestamps. At last
/// the window is what this is after everything has arrived and the duplicate was reported.
fn repeated_for_nothing(config: Config) -> Script {
    let mut script = Script::new(config, RTT);
    script.write(10_000);
    assert_eq!(script.count(), 10);
    script.quiet(100).sack(0, &[(1000, 5000)]);
    assert_eq!(script.sent(), [(0, 1000)]);
    // The original arrives, and everything is acknowledged.
    script.quiet(30).ack(10_000);
    assert_eq!((script.cwnd(), script.ssthresh(), script.stats().undone), (7, Some(7), 0));
    // The repeat arrives.
    script.quiet(70).sack(10_000, &[(0, 1000)]);
    script
}

/// RFC 3708, as Linux does it (tcp_try_undo_dsack): every repeat arrived twice, so nothing was lost.
#[test]
fn a_duplicate_takes_a_recovery_back() {
    let script = repeated_for_nothing(linux());
    assert_eq!((script.cwnd(), script.ssthresh(), script.stats().undone), (10, None, 1));
    for (dsack, undo) in [(false, true), (true, false)] {
        let mut config = linux();
        (config.dsack, config.undo) = (dsack, undo);
        let script = repeated_for_nothing(config);
        assert_eq!((script.cwnd(), script.ssthresh(), script.stats().undone), (7, Some(7), 0));
    }
}

/// Two segments were repeated, and one of them was needed: the reduction stands. So it does when more
/// is reported than was ever repeated.
#[test]
fn a_duplicate_of_one_of_two_repeats_proves_nothing() {
    let mut script = Script::new(linux(), RTT);
    script.write(10_000);
    assert_eq!(script.count(), 10);
    script.quiet(100).sack(0, &[(2000, 6000)]);
    let mut repeats = script.sent();
    script.quiet(10).sack(0, &[(2000, 10_000)]);
    repeats.extend(script.sent());
    assert_eq!(repeats, [(0, 1000), (1000, 1000)]);
    script.quiet(90).ack(10_000);
    script.quiet(10).sack(10_000, &[(0, 1000)]);
    assert_eq!((script.cwnd(), script.stats().undone), (7, 0));
    // A range of four was never repeated: it is not believed.
    script.quiet(10).sack(10_000, &[(0, 4000)]);
    assert_eq!((script.cwnd(), script.stats().undone), (7, 0));
}

/// A timeout that was too early: the acknowledgement of the whole window was late. Without timestamps
/// the duplicate shows it.
#[test]
fn a_duplicate_takes_a_timeout_back() {
    let mut config = linux();
    config.tail_loss_probe = false;
    let mut script = Script::new(config, RTT);
    script.write(10_000);
    assert_eq!(script.count(), 10);
    let repeats = script.wait(Span::from_millis(310));
    assert_eq!(repeats.iter().map(|sent| sent.1).collect::<Vec<_>>(), [0]);
    assert_eq!((script.cwnd(), script.ssthresh()), (1, Some(7)));
    script.quiet(10).ack(10_000);
    assert_eq!(script.ssthresh(), Some(7));
    script.quiet(90).sack(10_000, &[(0, 1000)]);
    assert_eq!((script.stats().undone, script.ssthresh()), (1, None));
    assert!(script.cwnd() >= 10, "{}", script.cwnd());
}

/// RFC 8985, section 6.2, step 4: each round with a D-SACK widens the reordering window by a quarter of
/// the least round trip, once reordering has been seen.
#[test]
fn duplicates_widen_the_reordering_window() {
    let mut script = Script::new(linux(), RTT);
    script.write(10_000);
    assert_eq!(script.count(), 10);
    // Reordering: 0 arrives after 1000.
    script.quiet(100).sack(0, &[(1000, 2000)]);
    script.quiet(5).ack(10_000);
    let mut at = 10_000;
    let mut waits = Vec::new();
    for _ in 0..4 {
        script.write(3000);
        script.count();
        let sent = script.now;
        // The first is late by more than RACK waits: 100 ms and a step of 25 ms for each duplicate.
        script.quiet(100).sack(at, &[(at + 1000, at + 3000)]);
        let repeats = script.wait(Span::from_millis(200));
        assert_eq!((repeats[0].1, repeats[0].2), (at, 1000));
        waits.push(repeats[0].0 - sent.nanos() / 1_000_000);
        script.ack(at + 3000);
        script.quiet(10).sack(at + 3000, &[(at, at + 1000)]);
        script.quiet(300);
        at += 3000;
    }
    // 127, 152, 177, and the smoothed round trip is the limit.
    assert_eq!(waits[..3], [127, 152, 177]);
    assert!((200..=230).contains(&waits[3]), "{waits:?}");
}

/// packetdrill, prr-ss-ack-below-snd_una-cubic: SACKs of an acknowledgement that was overtaken count, and
/// the ambiguous round trip of a repeat does not.
#[test]
fn an_old_acknowledgement_brings_new_sacks() {
    let mut script = Script::new(linux(), Span::from_millis(10));
    script.window(320 << 8).write(10_000);
    assert_eq!(script.count(), 10);
    script.quiet(10).sack(0, &[(1000, 2000)]).sack(0, &[(1000, 3000)]);
    assert_eq!(script.sent(), []);
    script.sack(0, &[(1000, 3000), (8000, 9000)]);
    assert_eq!(script.sent(), [(0, 1000)]);
    script.quiet(12).sack(4000, &[(8000, 9000)]);
    assert_eq!(script.sent(), full(4, 3));
    script.write(10_000);
    assert_eq!(script.sent(), []);
    script.quiet(2).sack(3000, &[(5000, 7000)]);
    assert_eq!(script.sent(), [(7000, 1000), (10_000, 1000)]);
}

/// Karn's rule (RFC 6298, section 3): an acknowledgement that covers a retransmitted segment gives no sample,
/// not even of the segments behind it, which waited for the repair.
#[test]
fn a_repaired_hole_gives_no_sample() {
    let mut script = Script::new(reno_without_sack(), RTT);
    script.write(10_000);
    assert_eq!(script.count(), 10);
    script.quiet(100).ack(0).ack(0).ack(0);
    assert_eq!(script.sent(), [(0, 1000)]);
    script.quiet(90).ack(10_000);
    assert_eq!((script.stats().srtt, script.stats().rtt), (RTT, RTT));
    // The next one is a sample again.
    script.write(1000).count();
    script.quiet(180).ack(11_000);
    assert_eq!(script.stats().rtt, Span::from_millis(180));
}

/// Karn's algorithm (RFC 6298, section 5; Linux: tcp_ack_update_rtt): an acknowledgement of what was sent twice measures
/// nothing, so that the next timeout is still a doubled one. Else a path that has become longer than the timeout makes
/// every segment time out, and nothing is ever measured.
#[test]
fn a_doubled_timeout_stays_until_something_sent_once_is_measured() {
    let mut script = Script::new(Config { timestamps: false, ..reno_without_sack() }, RTT);
    script.write(1000);
    assert_eq!(script.count(), 1);
    assert_eq!(script.wait(Span::from_millis(1000)), [(400, 0, 1000), (1000, 0, 1000)]);
    script.ack(1000).write(1000);
    assert_eq!(script.sent(), [(1000, 1000)]);
    assert_eq!(script.wait(Span::from_millis(1300)), [(2300, 1000, 1000)]);
    script.ack(2000).write(1000);
    assert_eq!(script.sent(), [(2000, 1000)]);
    script.quiet(100).ack(3000).write(1000);
    assert_eq!(script.stats().backoff, 0);
}

/// RFC 7323, section 4: the echo says which transmission was acknowledged, so that there is a sample after all.
#[test]
fn a_timestamp_gives_a_sample_of_a_repaired_segment() {
    let config = Arc::new(Config { timestamps: true, ..reno_without_sack() });
    let at = |millis| Time::START + Span::from_millis(millis);
    // (echo in microseconds, sample in milliseconds): of the repeat, of the original, of no time yet.
    for (echo, rtt) in [(400_000, 50), (100_000, 350), (450_001, 100)] {
        let flags = Flags::SYN | Flags::TIMESTAMPS;
        let syn = Segment { flags, mss: 1000, window: 60_000, ..Segment::EMPTY };
        let mut server = Connection::accept(&config, at(0), &syn);
        server.poll_transmit(at(0)).expect("an answer");
        let ack = Segment { flags: Flags::ACK | Flags::TIMESTAMPS, ..syn };
        server.receive(at(100), &ack);
        server.write(at(100), 900);
        let original = server.poll_transmit(at(100)).expect("data");
        assert_eq!(server.next_timer(), Some(at(400)));
        server.on_timer(at(400));
        let repeat = server.poll_transmit(at(400)).expect("the same data");
        assert_eq!((original.timestamp, repeat.timestamp), (100_000, 400_000));
        server.receive(at(450), &Segment { ack: 900, echo, ..ack });
        assert_eq!(server.stats().rtt, Span::from_millis(rtt), "echo {echo}");
    }
}

/// RFC 5681, section 3.1 (Linux: tcp_enter_loss): the timeout that follows another without progress between them
/// does not lower the threshold again. After progress it does.
#[test]
fn a_threshold_falls_once_for_timeouts_in_a_row() {
    let mut script = Script::new(reno_without_sack(), RTT);
    script.write(100_000);
    assert_eq!(script.count(), 10);
    assert_eq!(script.wait(Span::from_millis(1000)), [(400, 0, 1000), (1000, 0, 1000)]);
    assert_eq!((script.cwnd(), script.ssthresh()), (1, Some(5)));
    script.ack(1000);
    assert_eq!(script.sent(), full(1, 2));
    assert_eq!((script.cwnd(), script.ssthresh()), (2, Some(5)));
    assert_eq!(script.wait(Span::from_millis(1300)), [(2300, 1000, 1000)]);
    assert_eq!((script.cwnd(), script.ssthresh()), (1, Some(2)));
}

/// RFC 8985, section 7.2: the probe goes out two round trips after the last segment (and 2 ms, as in Linux), or 200 ms
/// more after a lone one, whose acknowledgement may be delayed. Without SACK there is none.
#[test]
fn a_lone_segment_is_probed_later() {
    for (segments, sack, at) in [(1, true, 300 + 800), (2, true, 300 + 602), (2, false, 300 + 900)]
    {
        let mut config = linux();
        config.sack = sack;
        let mut script = Script::new(config, Span::from_millis(300));
        script.write(segments * 1000);
        assert_eq!(script.count() as u64, segments);
        let first = script.wait(Span::from_millis(950))[0].0;
        assert_eq!(first, at, "{segments} {sack}");
        assert_eq!(script.stats().timeouts, u32::from(!sack));
    }
}

/// The reordering degree is the distance of a late segment from the highest SACKed byte, in segments, and at most
/// 300 (Linux: tcp_check_sack_reordering, tcp_max_reordering).
#[test]
fn the_reordering_degree_is_the_distance_of_what_is_late() {
    for (segments, late, degree) in [(10, 8, 3), (10, 5, 5), (10, 1, 9), (400, 1, 300)] {
        let config = Config { initial_window_segments: 400, ..linux() };
        let mut script = Script::new(config, RTT);
        script.write(segments * 1000);
        assert_eq!(script.count() as u64, segments);
        let (late, end) = (late * 1000, segments * 1000);
        script.quiet(100).sack(0, &[(end - 1000, end)]);
        assert_eq!(script.stats().reordering, 3);
        script.sack(0, &[(late, late + 1000), (end - 1000, end)]);
        assert_eq!(script.stats().reordering, degree, "{segments} {late}");
    }
}

/// RFC 8985, section 7.4: the probe of the tail repaired a loss, which is known when something later is
/// acknowledged, and the window pays for it. Unless a D-SACK says that the probe was needless.
#[test]
fn a_loss_that_a_probe_repaired_reduces_the_window() {
    for (needless, threshold) in [(false, Some(9)), (true, None)] {
        let mut script = Script::new(linux(), RTT);
        script.write(5000);
        assert_eq!(script.count(), 5);
        script.quiet(100).ack(4000);
        let probe = script.wait(Span::from_millis(400));
        assert_eq!((probe.len(), probe[0].1), (1, 4000));
        script.ack(5000);
        assert_eq!(script.ssthresh(), None, "nothing is known yet");
        if needless {
            script.sack(5000, &[(4000, 5000)]);
        }
        let cwnd = script.cwnd();
        script.write(1000).count();
        script.quiet(50).ack(6000);
        assert_eq!(script.ssthresh().is_some(), threshold.is_some(), "{cwnd}");
        if let Some(ssthresh) = script.ssthresh() {
            assert_eq!(ssthresh, cwnd * 7 / 10);
        }
        assert_eq!(script.stats().timeouts, 0);
    }
}

mod rising {
    use crate::pipe::{Fate, Network, Pair};
    use flashcrowd_base::{Span, Time};
    use flashcrowd_transport::tcp::{Config, Segment};

    /// Loses and reorders nothing. From each of the instants on a packet takes at least so long.
    pub(super) struct Rising {
        pub(super) delays: Vec<(Time, Span)>,
        last: Time,
    }

    impl Network for Rising {
        fn carry(&mut self, now: Time, _: &Segment) -> Fate {
            let delay =
                self.delays.iter().rev().find(|(from, _)| *from <= now).map(|known| known.1);
            self.last = self.last.max(now + delay.unwrap_or(Span::from_millis(25)));
            Fate::Arrives(self.last - now)
        }
    }

    pub(super) fn pair(config: &Config, delays: [Vec<(Time, Span)>; 2]) -> Pair<Rising> {
        let networks = delays.map(|delays| Rising { delays, last: Time::START });
        Pair::new(config, config, networks)
    }
}

/// Times at which an acknowledgement made the client of this pair retransmit, within twenty seconds.
fn retransmitted_on_arrival(pair: &mut crate::pipe::Pair<rising::Rising>) -> Vec<Time> {
    let mut times = Vec::new();
    pair.fill(0);
    while pair.next().is_some_and(|at| at <= Time::START + Span::from_secs(20)) {
        let (delivered, before) = (pair.delivered, pair.end(0).stats().segments_retransmitted);
        pair.step();
        pair.fill(0);
        let arrival = pair.delivered > delivered;
        if arrival && pair.end(0).stats().segments_retransmitted > before {
            times.push(pair.now);
        }
    }
    times
}

/// Delays that grow beyond the retransmission timeout fire the timer, once or a few times, and nothing else is
/// sent again: the echoed timestamp shows that the original arrived (Linux: tcp_skb_spurious_retrans).
#[test]
fn a_late_original_of_a_timed_out_segment_does_not_count_as_its_retransmission() {
    for (timestamps, needless) in [(true, false), (false, true)] {
        let config = Config { timestamps, ..profiles::linux_6() };
        let rise = (Time::START + Span::from_secs(1), Span::from_secs(2));
        let mut pair = rising::pair(&config, [vec![rise], vec![]]);
        let times = retransmitted_on_arrival(&mut pair);
        let stats = pair.end(0).stats();
        assert!(stats.timeouts > 0, "{stats:?}");
        assert_eq!(!times.is_empty(), needless, "{times:?} {stats:?}");
    }
}

/// Ten in flight, and the first three look lost. Then the original of the first arrives after all: an acknowledgement
/// up to the second that echoes a time from before the retransmissions. `true`: it says what the retransmission said.
fn partly_late(config: Config, retransmission: bool) -> Script {
    let config =
        Config { timestamps: true, mtu_bytes: 1052, initial_window_segments: 10, ..config };
    let mut script = Script::new(config, RTT);
    script.write(20_000);
    let first = script.poll();
    script.quiet(100).sack(0, &[(3000, 10_000)]);
    let again: Vec<_> = script.poll();
    let lost = again.iter().filter(|segment| segment.seq < 3000).count();
    assert!(lost > 0 && !first.is_empty(), "{again:?}");
    script.quiet(10);
    script.echo = if retransmission { again[0].timestamp } else { first[0].timestamp };
    script.sack(1000, &[(3000, 10_000)]);
    script
}

/// Linux: tcp_try_undo_partial. A late original in the middle of a recovery shows reordering. While other
/// retransmissions are under way the recovery goes on, but retransmits nothing for this acknowledgement; Linux 2.6 took
/// the reduction back at once.
#[test]
fn a_late_original_in_a_recovery_shows_reordering() {
    let mut late = partly_late(linux(), false);
    let sent = late.sent();
    assert!(sent.iter().all(|(seq, _)| *seq >= 10_000), "{sent:?}");
    assert_eq!((late.stats().undone, late.stats().reordering), (0, 10));
    assert_eq!(partly_late(linux(), true).stats().reordering, 3);
    let old = partly_late(profile(profiles::linux_2_6()), false);
    assert_eq!((old.stats().undone, old.stats().recoveries), (1, 1));
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]

    /// Where nothing is lost or reordered no acknowledgement makes a sender with timestamps retransmit, whatever
    /// the delays: only its timers do.
    #[test]
    fn without_loss_only_timers_retransmit(
        there in proptest::collection::vec((0u64..15_000, 1u64..6000), 0..6),
        back in proptest::collection::vec((0u64..15_000, 1u64..6000), 0..6),
        probe in proptest::bool::ANY,
    ) {
        let config = Config { tail_loss_probe: probe, ..profiles::linux_6() };
        let delays = [there, back].map(|mut delays| {
            delays.sort_unstable();
            let instant = |(from, delay)| (Time::START + Span::from_millis(from), Span::from_millis(delay));
            delays.into_iter().map(instant).collect::<Vec<_>>()
        });
        let mut pair = rising::pair(&config, delays);
        let times = retransmitted_on_arrival(&mut pair);
        proptest::prop_assert!(times.is_empty(), "{times:?} {:?}", pair.end(0).stats());
    }
}

/// RFC 6582, section 3.2, step 5: a partial acknowledgement retransmits the next hole whatever the window, which half of
/// the flight and more still fills. Else each hole would wait for the timer.
#[test]
fn a_partial_acknowledgement_repairs_the_next_hole_at_once() {
    for reduction in [Reduction::Classic, Reduction::Ns2] {
        let mut script = Script::new(Config { reduction, ..reno_without_sack() }, RTT);
        script.write(10_000);
        assert_eq!(script.count(), 10);
        // 0, 2000, 4000 and 6000 are lost, and three more.
        script.quiet(100).ack(0).ack(0).ack(0);
        assert_eq!(script.sent(), [(0, 1000)]);
        for hole in [2000, 4000, 6000] {
            script.quiet(100).ack(hole);
            assert_eq!(script.sent()[0], (hole, 1000), "{reduction:?}");
        }
        assert_eq!(script.stats().timeouts, 0);
    }
}

/// ns-2: tcp-full.cc, FullTcpAgent::newack sets t_backoff_ to 1, also where nothing is measured.
#[test]
fn without_karn_an_acknowledgement_of_new_data_ends_the_back_off() {
    let config = Config { karn: false, timestamps: false, ..reno_without_sack() };
    let mut script = Script::new(config, RTT);
    script.write(1000);
    assert_eq!(script.count(), 1);
    assert_eq!(script.wait(Span::from_millis(1000)).len(), 2);
    script.ack(1000);
    assert_eq!((script.stats().backoff, script.stats().rtt), (0, RTT));
}

/// ns-2: rtt_active_ and rtt_seq_; a segment is measured once the one before it that was measured is acknowledged.
#[test]
fn one_segment_at_a_time_is_measured() {
    let last = |one_rtt_sample| {
        let mut script =
            Script::new(Config { one_rtt_sample, timestamps: false, ..reno_without_sack() }, RTT);
        script.write(100_000);
        assert_eq!(script.count(), 10);
        let mut samples = Vec::new();
        // The segment at 10,000 is the first that is sent after the first sample.
        for (millis, acked) in [(120, 1000), (30, 2000), (30, 10_000), (30, 11_000)] {
            script.quiet(millis).ack(acked).count();
            samples.push(script.stats().rtt.nanos() / 1_000_000);
        }
        samples
    };
    assert_eq!(last(false), [120, 150, 180, 90]);
    assert_eq!(last(true), [120, 120, 120, 90]);
}

/// ns-2: tcp-full.cc, FullTcpAgent::fast_retransmit moves recover_, so that a recovery in which new data leaves takes
/// what follows for lost, too; and dupack_action begins the same with three duplicates after a timeout.
#[test]
fn a_recovery_of_ns2_takes_new_segments_along() {
    let retransmitted = |reduction, timeout: bool| {
        let mut script = Script::new(Config { reduction, ..reno_without_sack() }, RTT);
        script.write(40_000);
        assert_eq!(script.count(), 10);
        if timeout {
            let sent = script.wait(Span::from_millis(450));
            assert_eq!(sent.len(), 1, "{sent:?}");
        } else {
            script.quiet(100);
        }
        for _ in 0..9 {
            script.ack(0).count();
        }
        for acked in 1..=20 {
            script.quiet(10).ack(acked * 1000).count();
        }
        script.stats().segments_retransmitted
    };
    for timeout in [false, true] {
        let classic = retransmitted(Reduction::Classic, timeout);
        let ns2 = retransmitted(Reduction::Ns2, timeout);
        assert!(classic <= 11 && ns2 >= classic + 8, "{timeout}: {classic} {ns2}");
    }
}
