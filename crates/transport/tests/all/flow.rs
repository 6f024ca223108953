//! Handshake, small segments, the receiver's window, delayed acknowledgements, super-segments, closing.

use crate::pipe::{Fate, Network, Pair, Path};
use crate::script::{Script, full, linux, profile};
use flashcrowd_base::{Span, Time};
use flashcrowd_transport::tcp::{
    CloseReason, Config, Connection, Flags, Nagle, Segment, State, profiles,
};
use std::sync::Arc;

const RTT: Span = Span::from_millis(100);

/// A SYN goes out again after 1, 3, 7 s (Linux 6) or 3, 9 s (FreeBSD 4, Windows XP), and then the call fails.
#[test]
fn a_syn_is_repeated_with_back_off() {
    for (config, expected) in [
        (profiles::linux_6(), vec![0, 1, 3, 7, 15, 31, 63]),
        (profiles::freebsd_4(), vec![0, 3, 9, 21, 45]),
        (profiles::windows_xp(), vec![0, 3, 9]),
    ] {
        let config = Arc::new(config);
        let mut client = Connection::connect(&config, Time::START);
        let mut now = Time::START;
        let mut at = Vec::new();
        loop {
            while let Some(segment) = client.poll_transmit(now) {
                assert!(segment.flags.contains(Flags::SYN));
                at.push(now.nanos() / 1_000_000_000);
            }
            let Some(next) = client.next_timer() else { break };
            now = next;
            client.on_timer(now);
        }
        assert_eq!(at, expected);
        // As Linux' tcpi_total_retrans: __tcp_retransmit_skb counts a SYN like any segment.
        let repeats = client.stats().segments_retransmitted;
        assert_eq!(repeats, expected.len() as u64 - 1);
        assert_eq!(client.state(), State::Closed { reason: CloseReason::TimedOut });
    }
}

/// Loses the first of everything that carries SYN.
struct SynEater(u32);
impl Network for SynEater {
    fn carry(&mut self, _: Time, segment: &Segment) -> Fate {
        if segment.flags.contains(Flags::SYN) && self.0 > 0 {
            self.0 -= 1;
            return Fate::Lost;
        }
        Fate::Arrives(Span::from_millis(50))
    }
}

#[test]
fn what_is_written_early_is_sent_after_the_handshake() {
    let config = profiles::linux_6();
    let mut pair = Pair::new(&config, &config, [SynEater(1), SynEater(1)]);
    assert_eq!(pair.end(0).write(Time::START, 5000), 5000);
    pair.establish();
    // SYN lost: 1 s. Answer lost: both timers run; the server's fires first, at 1.05 + 1 s.
    assert_eq!(pair.now.nanos() / 1_000_000, 2150);
    // A SYN with ACK counts as well (Linux hands num_retrans of the request to the connection).
    let repeats = [0, 1].map(|who| pair.end(who).stats().segments_retransmitted);
    assert_eq!(repeats, [1, 1]);
    let now = pair.now;
    pair.end(0).close(now);
    pair.flush(0);
    pair.run_until(Time::START + Span::from_secs(4));
    assert_eq!(pair.read[1], 5000);
    assert!(pair.end(1).peer_closed());
    assert_eq!(pair.end(1).state(), State::PeerClosed);
}

/// What is written counts as far as the buffer takes it, from before the handshake to after the close.
#[test]
fn what_the_buffer_takes_is_written() {
    let mut config = linux();
    config.send_buffer.autotune = false;
    config.send_buffer.initial_bytes = 20_000;
    let mut caller = Connection::connect(&Arc::new(config.clone()), Time::START);
    assert_eq!((caller.write(Time::START, 500), caller.written()), (500, 500));
    let mut script = Script::new(config, RTT);
    let server = &mut script.server;
    assert_eq!((server.write(script.now, 15_000), server.written()), (15_000, 15_000));
    assert_eq!((server.write(script.now, 15_000), server.written()), (5000, 20_000));
    assert_eq!(script.count(), 10);
    script.quiet(100).ack(10_000);
    let server = &mut script.server;
    server.close(script.now);
    assert_eq!((server.write(script.now, 15_000), server.written()), (0, 20_000));
}

/// A sender remembers what may have to be sent again, a receiver what came out of order.
#[test]
fn memory_is_held_for_what_is_under_way() {
    let mut script = Script::new(linux(), RTT);
    script.write(10_000);
    assert_eq!(script.count(), 10);
    let sent = script.stats().ranges_held;
    assert!(sent >= 9, "the oldest has a place of its own: {sent}");
    script.data(2000, 1000, Flags::ACK).data(4000, 1000, Flags::ACK);
    assert_eq!(script.stats().ranges_held, sent + 2);
}

/// Minshall's variant lets one small segment go and holds the next; classic holds both while
/// anything is unacknowledged; off holds nothing.
#[test]
fn nagle_holds_small_segments() {
    for (nagle, first, second) in
        [(Nagle::Minshall, 2, 0), (Nagle::Classic, 1, 0), (Nagle::Off, 2, 1)]
    {
        let mut config = linux();
        config.nagle = nagle;
        let mut script = Script::new(config, RTT);
        script.write(1400);
        assert_eq!(script.count(), first, "{nagle:?}");
        script.quiet(1).write(300);
        assert_eq!(script.count(), second, "{nagle:?}");
        script.quiet(1).write(1400);
        let more = script.count();
        assert!(more >= 1, "a full segment always goes, {nagle:?}");
        let flight = script.stats().in_flight;
        script.quiet(100).ack(flight);
        script.count();
        script.quiet(100).ack(3100);
        assert_eq!(script.stats().bytes_acked, 3100, "{nagle:?}");
    }
}

/// A FIN takes the last small segment with it.
#[test]
fn the_last_segment_does_not_wait() {
    let mut script = Script::new(linux(), RTT);
    script.write(1400).count();
    script.write(300);
    assert_eq!(script.count(), 0);
    let now = script.now;
    script.server.close(now);
    let last = script.poll();
    assert_eq!(last.len(), 1);
    assert!(last[0].flags.contains(Flags::FIN));
    assert_eq!((last[0].seq, last[0].len), (1400, 300));
}

/// A receiver whose window does not grow.
fn fixed_window() -> Config {
    let mut config = linux();
    config.receive_window.initial_bytes = config.receive_window.buffer_bytes;
    config.receive_window.autotune = false;
    config
}

/// How many acknowledgements each of these segments of 1000 bytes gets, one a millisecond.
fn acknowledgements(script: &mut Script, segments: std::ops::Range<u64>) -> Vec<usize> {
    segments
        .map(|n| {
            script.data(n * 1000, 1000, Flags::default());
            let bytes = script.server.readable();
            let now = script.now;
            script.server.read(now, bytes);
            let count = script.count();
            script.quiet(1);
            count
        })
        .collect()
}

/// Delayed acknowledgements as Linux gives them: the first 16 segments at once, then every second.
#[test]
fn acknowledgements_are_quick_at_first() {
    let mut script = Script::new(fixed_window(), RTT);
    let acks = acknowledgements(&mut script, 0..30);
    assert_eq!(acks[..16], [1; 16]);
    assert_eq!(acks[16..], [0, 1].repeat(7));
    // A lone segment waits for the timer: no less than 40 ms.
    script.data(30_000, 1000, Flags::default());
    assert_eq!(script.count(), 0);
    let late = script.wait(Span::from_millis(300));
    assert_eq!(late.len(), 1);
    let waited = late[0].0 - (100 + 30);
    assert!((40..=41).contains(&waited), "{waited}");
    // After a gap longer than the timeout they are quick again.
    script.quiet(5000).data(31_000, 1000, Flags::default());
    assert_eq!(script.count(), 1);
}

/// Linux: tcp_measure_rcv_mss. A full segment with PSH ends a write, and its sender may wait: where the application has
/// read all, it is acknowledged at once. One that makes a pair with the segment before it would be anyway.
#[test]
fn what_was_pushed_does_not_wait_once_it_is_read() {
    for (flags, acks) in [(Flags::default(), 0), (Flags::PSH, 1)] {
        let mut script = Script::new(fixed_window(), RTT);
        acknowledgements(&mut script, 0..30);
        let now = script.data(30_000, 1000, flags).now;
        assert_eq!(script.count(), 0, "not before it is read");
        script.server.read(now, 1000);
        assert_eq!(script.count(), acks);
    }
}

/// Linux: tcp_grow_window. As long as the window grows, by two segments with each, none waits, and
/// none is counted: the ten that half the window had at first come behind it.
#[test]
fn acknowledgements_are_quick_while_the_window_grows() {
    let mut config = fixed_window();
    config.receive_window.initial_bytes = 20_000;
    config.receive_window.buffer_bytes = 20_000 + 30 * 2000;
    let mut script = Script::new(config, RTT);
    let acks = acknowledgements(&mut script, 0..60);
    let quick = acks.iter().take_while(|count| **count == 1).count();
    assert!((39..=41).contains(&quick), "{quick} at once: {acks:?}");
    assert_eq!(acks[quick..quick + 10], [0, 1].repeat(5));
}

/// Linux: tcp_data_queue_ofo. What fills a gap is acknowledged at once, and the next segments are
/// delayed as before it. Only data that comes twice restarts quick acknowledgements.
#[test]
fn a_gap_does_not_make_acknowledgements_quick_but_a_duplicate_does() {
    let mut script = Script::new(fixed_window(), RTT);
    acknowledgements(&mut script, 0..30);
    assert_eq!(acknowledgements(&mut script, 31..32), [1], "above the gap");
    assert_eq!(acknowledgements(&mut script, 30..31), [1], "the gap");
    assert_eq!(acknowledgements(&mut script, 32..36), [0, 1, 0, 1]);
    assert_eq!(acknowledgements(&mut script, 35..36), [1], "a duplicate");
    let acks = acknowledgements(&mut script, 36..56);
    assert_eq!(acks[..15], [1; 15]);
    assert_eq!(acks[16..], [1, 0, 1, 0]);
}

/// Windows waits 200 ms, from the first segment on.
#[test]
fn the_classic_timer_is_two_hundred_milliseconds() {
    let mut script = Script::new(profile(profiles::windows_xp()), RTT);
    script.data(0, 1000, Flags::default());
    assert_eq!(script.count(), 0);
    assert_eq!(script.wait(Span::from_secs(1)), [(300, 0, 0)]);
    script.data(1000, 1000, Flags::default());
    script.data(2000, 1000, Flags::default());
    assert_eq!(script.count(), 1);
}

/// Data above a gap is acknowledged at once with SACK ranges, the latest first; so is what fills it.
#[test]
fn gaps_are_reported_at_once() {
    let mut script = Script::new(linux(), RTT);
    for (seq, ack, ranges) in [
        (0, 1000, vec![]),
        (2000, 1000, vec![(2000, 3000)]),
        (4000, 1000, vec![(4000, 5000), (2000, 3000)]),
        (6000, 1000, vec![(6000, 7000), (4000, 5000), (2000, 3000)]),
        (8000, 1000, vec![(8000, 9000), (6000, 7000), (4000, 5000)]),
        (3000, 1000, vec![(2000, 5000), (8000, 9000), (6000, 7000)]),
        (1000, 5000, vec![(8000, 9000), (6000, 7000)]),
        (1000, 5000, vec![(1000, 2000), (8000, 9000), (6000, 7000)]),
        (5000, 7000, vec![(8000, 9000)]),
        (7000, 9000, vec![]),
    ] {
        script.data(seq, 1000, Flags::default());
        let sent = script.poll();
        assert_eq!(sent.len(), 1, "for {seq}");
        assert_eq!(sent[0].ack, ack, "for {seq}");
        assert_eq!(sent[0].sack_ranges().collect::<Vec<_>>(), ranges, "for {seq}");
    }
    assert_eq!(script.server.readable(), 9000);
}

/// A TSO packet that is deferred may leave once more data completes its buffer, so its sender is not blocked
/// (`Pair::flush` tries a write wherever it says so).
#[test]
fn more_data_may_complete_a_deferred_packet() {
    let delay = Span::from_millis(5);
    for total in (20_001..90_000).step_by(1460).chain([54_021]) {
        let lines = [Path::new(delay, 1), Path::new(delay, 2)];
        let mut pair = Pair::new(&profiles::ns2_tcp(), &profiles::linux_6(), lines);
        pair.establish();
        let mut left = total;
        while left > 0 || pair.end(1).unacknowledged() > 0 {
            let now = pair.now;
            left -= pair.end(1).write(now, left);
            pair.flush(1);
            assert!(pair.step(), "{left} of {total} are left");
        }
    }
}

/// An application that does not read closes the window; the sender probes with back-off, and
/// the update that a read causes sets it going.
#[test]
fn a_closed_window_is_probed() {
    let mut config = profiles::windows_xp();
    config.time_wait_ns = Span::from_secs(1);
    let delay = Span::from_millis(50);
    let mut pair = Pair::new(&config, &config, [Path::new(delay, 1), Path::new(delay, 2)]);
    pair.establish();
    pair.reads[1] = false;
    pair.log = Some(Vec::new());
    pair.bulk_until(Time::START + Span::from_secs(30));
    assert_eq!(pair.end(1).readable(), 17_520);
    let log = pair.log.take().expect("kept");
    let probes: Vec<u64> = log
        .iter()
        .filter(|(_, who, s)| *who == 0 && s.len == 0 && s.seq < 17_520 && s.seq > 10_000)
        .map(|(at, ..)| at.nanos() / 1_000_000_000)
        .collect();
    assert!((4..=8).contains(&probes.len()), "{probes:?}");
    let gaps: Vec<u64> = probes.windows(2).map(|w| w[1] - w[0]).collect();
    assert!(gaps.windows(2).all(|w| w[1] >= w[0]), "back-off: {gaps:?}");
    // One byte read is no reason to speak (silly window), a few segments are.
    pair.log = Some(Vec::new());
    let now = pair.now;
    pair.end(1).read(now, 1);
    pair.flush(1);
    assert_eq!(pair.log.as_ref().map(Vec::len), Some(0));
    pair.end(1).read(now, 8000);
    pair.flush(1);
    assert_eq!(pair.log.as_ref().map(Vec::len), Some(1));
    pair.bulk_until(now + Span::from_secs(1));
    // Five full segments fit into 8001 bytes; the rest of the window is too small to use.
    assert_eq!(pair.end(1).readable(), 17_520 - 8001 + 5 * 1460);
}

/// The window of Windows XP limits throughput to 17520 bytes per round trip, the send buffer of FreeBSD 4 to
/// 32 KiB or, if an application asks for more, its receiver's window to 64 KiB, and Linux tunes itself beyond
/// its first buffer.
#[test]
fn windows_limit_or_grow() {
    let rate = |config: &flashcrowd_transport::tcp::Config| {
        let delay = Span::from_millis(100);
        let mut pair = Pair::new(config, config, [Path::new(delay, 1), Path::new(delay, 2)]);
        pair.bulk_until(Time::START + Span::from_secs(20));
        let before = pair.read[1];
        pair.bulk_until(Time::START + Span::from_secs(40));
        (pair.read[1] - before) as f64 / 20.0
    };
    let xp = rate(&profiles::windows_xp());
    assert!((xp / (17_520.0 / 0.2) - 1.0).abs() < 0.02, "{xp}");
    let mut freebsd = profiles::freebsd_4();
    let sent = rate(&freebsd);
    assert!((sent / (32_768.0 / 0.2) - 1.0).abs() < 0.05, "{sent}");
    freebsd.send_buffer.max_bytes = 1 << 20;
    freebsd.send_buffer.initial_bytes = 1 << 20;
    let received = rate(&freebsd);
    assert!((received / (65_536.0 / 0.2) - 1.0).abs() < 0.05, "{received}");
    let linux = rate(&profiles::linux_6());
    assert!(linux > 0.9 * 3_932_160.0 / 0.2, "{linux}");
    let mut fixed = profiles::linux_6();
    fixed.receive_window.autotune = false;
    let fixed = rate(&fixed);
    assert!((fixed / (81_920.0 / 0.2) - 1.0).abs() < 0.05, "{fixed}");
}

/// Super-segments are multiples of the segment size, at most 64 KB, and only as long as window
/// and data permit.
#[test]
fn super_segments_fill_what_is_allowed() {
    let mut config = linux();
    config.tso_bytes = 65_536;
    let mut script = Script::new(config, RTT);
    script.write(200_500);
    assert_eq!(script.sent(), [(0, 10_000)]);
    script.quiet(100).ack(10_000);
    assert_eq!(script.sent(), [(10_000, 20_000)]);
    script.quiet(100).ack(30_000);
    assert_eq!(script.sent(), [(30_000, 40_000)]);
    script.quiet(100).ack(70_000);
    // Less than a third of the window is left: it waits for the next event.
    assert_eq!(script.sent(), [(70_000, 65_000)]);
    script.quiet(100).ack(71_000);
    assert_eq!(script.sent(), [(135_000, 17_000)]);
    script.quiet(5).ack(152_000);
    assert_eq!(script.sent(), [(152_000, 48_500)], "the tail goes with the rest");
    // A loss of one frame within is repeated alone.
    script.quiet(100).sack(152_000, &[(153_000, 200_500)]);
    assert_eq!(script.sent(), [(152_000, 1000)]);
}

/// Nagle's algorithm holds back the small end of a super-segment as it would if that came alone, and a FIN takes
/// it with it.
#[test]
fn nagle_cuts_the_small_end_off_a_super_segment() {
    for (nagle, closed, sent) in [
        (Nagle::Classic, false, vec![(0, 3000)]),
        (Nagle::Classic, true, vec![(0, 3500)]),
        (Nagle::Minshall, false, vec![(0, 3500)]),
        (Nagle::Off, false, vec![(0, 3500)]),
    ] {
        let config = Config { nagle, tso_bytes: 65_536, ..linux() };
        let mut script = Script::new(config, RTT);
        script.write(3500);
        if closed {
            script.server.close(script.now);
        }
        assert_eq!(script.sent(), sent, "{nagle:?} {closed}");
    }
}

#[test]
fn both_ends_close() {
    let mut config = profiles::linux_6();
    config.time_wait_ns = Span::from_secs(60);
    let delay = Span::from_millis(50);
    let mut pair = Pair::new(&config, &config, [Path::new(delay, 1), Path::new(delay, 2)]);
    pair.establish();
    let begin = pair.now;
    pair.end(0).write(begin, 100);
    pair.end(0).close(begin);
    pair.flush(0);
    assert_eq!(pair.end(0).state(), State::Closing);
    pair.run_until(begin + Span::from_millis(200));
    assert_eq!(pair.end(1).state(), State::PeerClosed);
    let now = pair.now;
    assert_eq!(pair.end(1).write(now, 50), 50);
    pair.end(1).close(now);
    pair.flush(1);
    assert_eq!(pair.end(1).state(), State::LastAck);
    pair.run_until(now + Span::from_millis(200));
    assert_eq!(pair.end(1).state(), State::Closed { reason: CloseReason::Finished });
    assert_eq!(pair.end(0).state(), State::TimeWait);
    assert_eq!(pair.read, [50, 100]);
    pair.run_until(now + Span::from_secs(61));
    assert_eq!(pair.end(0).state(), State::Closed { reason: CloseReason::Finished });
}

#[test]
fn an_abort_resets_the_other_end() {
    let delay = Span::from_millis(50);
    let config = profiles::linux_6();
    let mut pair = Pair::new(&config, &config, [Path::new(delay, 1), Path::new(delay, 2)]);
    pair.establish();
    let now = pair.now;
    pair.end(0).write(now, 100_000);
    pair.end(0).abort(now);
    pair.flush(0);
    pair.run_until(now + Span::from_secs(1));
    assert_eq!(pair.end(0).state(), State::Closed { reason: CloseReason::Aborted });
    assert_eq!(pair.end(1).state(), State::Closed { reason: CloseReason::Reset });
    assert_eq!(pair.next(), None);
}

/// The offers of both ends are combined.
#[test]
fn options_are_used_only_if_both_offer_them() {
    let delay = Span::from_millis(10);
    let (linux, xp) = (profiles::linux_6(), profiles::windows_xp());
    let mut pair = Pair::new(&linux, &xp, [Path::new(delay, 1), Path::new(delay, 2)]);
    pair.log = Some(Vec::new());
    pair.bulk_until(Time::START + Span::from_secs(1));
    let log = pair.log.take().expect("kept");
    let data = log.iter().find(|(_, who, s)| *who == 0 && s.len > 0).expect("data").2;
    assert_eq!((data.len, data.header_bytes()), (1460, 40));
    assert!(data.window <= 65_535);
    assert_eq!(full(0, 1), [(0, 1000)]);
}

/// RFC 9293, section 3.10.4: before the SYN is answered there is nothing to close but the attempt. The
/// answer meets a closed end, whose RST ends the other one too.
#[test]
fn a_close_before_the_answer_drops_the_connection() {
    let delay = Span::from_millis(50);
    let config = profiles::linux_6();
    let mut pair = Pair::new(&config, &config, [Path::new(delay, 1), Path::new(delay, 2)]);
    pair.end(0).write(Time::START, 5000);
    pair.end(0).close(Time::START);
    assert_eq!(pair.end(0).state(), State::Closed { reason: CloseReason::Aborted });
    assert_eq!(pair.end(0).next_timer(), None);
    pair.run_until(Time::START + Span::from_secs(1));
    assert_eq!(pair.end(1).state(), State::Closed { reason: CloseReason::Reset });
    assert_eq!(pair.read, [0, 0]);
    assert_eq!(pair.next(), None);
}

/// The passive end, whose SYN is not acknowledged yet, keeps what was written and closes afterwards.
#[test]
fn a_close_before_the_last_acknowledgement_waits() {
    let config = Arc::new(linux());
    let syn = Segment { flags: Flags::SYN, mss: 1000, window: 65_535, ..Segment::default() };
    let now = Time::START;
    let mut server = Connection::accept(&config, now, &syn);
    assert!(server.poll_transmit(now).is_some());
    assert_eq!(server.write(now, 500), 500);
    server.close(now);
    assert_eq!(server.state(), State::Connecting);
    let ack = Segment { flags: Flags::ACK, mss: 1000, window: 65_535, ..Segment::default() };
    server.receive(now, &ack);
    let last = server.poll_transmit(now).expect("the data");
    assert_eq!((last.seq, last.len, last.flags.contains(Flags::FIN)), (0, 500, true));
}

/// Loses everything that carries RST, this number of times.
struct ResetEater(u32);
impl Network for ResetEater {
    fn carry(&mut self, _: Time, segment: &Segment) -> Fate {
        if segment.flags.contains(Flags::RST) && self.0 > 0 {
            self.0 -= 1;
            return Fate::Lost;
        }
        Fate::Arrives(Span::from_millis(50))
    }
}

/// RFC 9293, section 3.10.7.1: the RST of an abort is lost, and the next segment is answered with
/// another. No RST answers a RST.
#[test]
fn a_closed_end_answers_with_a_reset() {
    let config = profiles::linux_6();
    let mut pair = Pair::new(&config, &config, [ResetEater(1), ResetEater(0)]);
    pair.establish();
    pair.run_until(pair.now + Span::from_secs(1));
    let now = pair.now;
    pair.end(0).abort(now);
    pair.flush(0);
    pair.run_until(now + Span::from_secs(1));
    assert_eq!(pair.end(1).state(), State::Established, "the RST was lost");
    pair.log = Some(Vec::new());
    let now = pair.now;
    pair.end(1).write(now, 1000);
    pair.flush(1);
    pair.run_until(now + Span::from_millis(101));
    assert_eq!(pair.end(1).state(), State::Closed { reason: CloseReason::Reset });
    assert_eq!(pair.next(), None);
    let log = pair.log.take().expect("kept");
    assert_eq!(log.len(), 2, "one segment, one RST: {log:?}");
    let reset = log[1].2;
    assert_eq!((reset.flags, reset.seq), (Flags::RST, log[0].2.ack));
    // Two closed ends: a stray SYN is answered, the answer is not.
    let now = pair.now;
    let syn = Segment { flags: Flags::SYN, ..Segment::default() };
    pair.end(0).receive(now, &syn);
    let answer = pair.end(0).poll_transmit(now).expect("a RST");
    assert!(answer.flags.contains(Flags::RST | Flags::ACK));
    pair.end(1).receive(now, &answer);
    assert_eq!(pair.end(1).poll_transmit(now), None);
}

/// RFC 7323, section 4.3: a pure acknowledgement that was overtaken brings an older clock, and the echo
/// does not go back to it.
#[test]
fn the_echoed_timestamp_never_goes_back() {
    let config = Arc::new(profiles::linux_6());
    let now = Time::START;
    let stamps = Flags::TIMESTAMPS | Flags::SACK_PERMITTED;
    let syn =
        Segment { flags: Flags::SYN | stamps, mss: 1460, window: 65_535, ..Segment::default() };
    let mut server = Connection::accept(&config, now, &Segment { timestamp: u32::MAX - 20, ..syn });
    server.poll_transmit(now).expect("an answer");
    let plain = Segment { flags: Flags::ACK | Flags::TIMESTAMPS, ..syn };
    // (clock, offset of 100 bytes, echo expected); the clock wraps.
    for (timestamp, seq, len, echo) in [
        (u32::MAX - 10, 0, 0, u32::MAX - 10),
        (5, 0, 100, 5),
        (u32::MAX - 5, 100, 0, 5),
        (7, 100, 100, 7),
        (6, 100, 0, 7),
    ] {
        server.receive(now, &Segment { timestamp, seq, len, ..plain });
        server.write(now, 1);
        let answer = server.poll_transmit(now).expect("an answer");
        assert_eq!(answer.echo, echo, "after {timestamp}");
        while server.poll_transmit(now).is_some() {}
        let acked = server.stats().bytes_acked + server.stats().in_flight;
        server.receive(
            now,
            &Segment { timestamp: 5.max(echo), seq: seq + u64::from(len), ack: acked, ..plain },
        );
        while server.poll_transmit(now).is_some() {}
    }
}

/// RFC 2883: data that arrives twice is reported once, in the first range: below the acknowledgement, or
/// within a range that the second one says. Windows XP knows nothing of it.
#[test]
fn duplicates_are_reported_once() {
    for dsack in [true, false] {
        let mut config = linux();
        config.dsack = dsack;
        let mut script = Script::new(config, RTT);
        for (seq, ack, duplicate, ranges) in [
            (0, 1000, None, vec![]),
            (1000, 2000, None, vec![]),
            (0, 2000, Some((0, 1000)), vec![]),
            (3000, 2000, None, vec![(3000, 4000)]),
            (4000, 2000, None, vec![(3000, 5000)]),
            (3000, 2000, Some((3000, 4000)), vec![(3000, 5000)]),
            (6000, 2000, None, vec![(6000, 7000), (3000, 5000)]),
            (4500, 2000, Some((4500, 5000)), vec![(3000, 5500), (6000, 7000)]),
            (1500, 2500, Some((1500, 2000)), vec![(3000, 5500), (6000, 7000)]),
            (2500, 5500, Some((3000, 3500)), vec![(6000, 7000)]),
            (5500, 7000, Some((6000, 6500)), vec![]),
            (7000, 8000, None, vec![]),
        ] {
            script.data(seq, 1000, Flags::default());
            let sent = script.poll();
            assert_eq!((sent.len(), sent[0].ack), (1, ack), "for {seq}");
            let expected: Vec<_> = duplicate.filter(|_| dsack).into_iter().chain(ranges).collect();
            assert_eq!(sent[0].sack_ranges().collect::<Vec<_>>(), expected, "for {seq}");
        }
    }
}

/// RFC 9293, section 3.10.7.4: what acknowledges bytes that were never sent is no segment of this
/// connection, whatever else it carries (packetdrill, ts_recent/invalid_ack).
#[test]
fn an_impossible_acknowledgement_is_dropped() {
    let mut script = Script::new(linux(), RTT);
    let now = script.now;
    let bad = Segment {
        ack: 9999,
        len: 500,
        flags: Flags::ACK | Flags::FIN,
        mss: 1000,
        ..Segment::default()
    };
    script.server.receive(now, &bad);
    assert_eq!(script.sent(), []);
    assert_eq!((script.server.readable(), script.server.state()), (0, State::Established));
    script.data(0, 1000, Flags::default());
    assert_eq!(script.poll()[0].ack, 1000);
}

/// Has `server` take an acknowledgement that offers `window`; what it sends.
fn offer(server: &mut Connection, ack: u64, window: u32) -> Vec<u32> {
    let flags = Flags::ACK;
    let segment = Segment { flags, ack, window, mss: 1000, ..Segment::default() };
    server.receive(Time::START, &segment);
    let mut sent = Vec::new();
    while let Some(segment) = server.poll_transmit(Time::START) {
        sent.push(segment.len);
    }
    sent
}

/// RFC 1122, section 4.2.3.4: a small piece of a window is used when it is half of the largest ever offered.
#[test]
fn a_silly_window_is_not_used() {
    let config = Arc::new(linux());
    let now = Time::START;
    let syn = Segment { flags: Flags::SYN, mss: 1000, window: 1600, ..Segment::default() };
    let mut server = Connection::accept(&config, now, &syn);
    server.poll_transmit(now).expect("an answer");
    assert!(offer(&mut server, 0, 1600).is_empty());
    server.write(now, 10_000);
    assert_eq!(offer(&mut server, 0, 1600), [1000], "600 are less than half of 1600");
    assert!(offer(&mut server, 1000, 799).is_empty());
    assert_eq!(offer(&mut server, 1000, 800), [800]);
}

/// Linux (tcp_cleanup_rbuf): an application that reads announces its window when that has doubled.
#[test]
fn a_window_that_has_doubled_is_told_of() {
    let mut script = Script::new(profile(profiles::windows_xp()), RTT);
    for at in 0..13 {
        script.data(at * 1000, 1000, Flags::default());
    }
    script.wait(Span::from_millis(300));
    script.count();
    let now = script.now;
    // 4520 of 17520 are offered: 9040 are twice as many.
    script.server.read(now, 4519);
    assert_eq!(script.sent(), []);
    script.server.read(now, 1);
    let update = script.poll();
    assert_eq!(update.len(), 1);
    assert_eq!((update[0].len, update[0].window), (0, 9040));
}
