//! What was lost: masks, duplicates, timeouts and the window, one packet at a time.

use super::pair::{Pair, RTT, said, small, wide};
use flashcrowd_base::Span;
use flashcrowd_transport::congestion::Kind;
use flashcrowd_transport::tcp::Nagle;
use flashcrowd_transport::utp::{
    CloseReason, Config, Connection, Packet, PacketKind, Sack, SackPolicy, State, TimerRestart,
    profiles,
};
use std::collections::VecDeque;

#[test]
fn masks_name_what_arrived_and_three_overtaking_make_a_loss() {
    let mut pair = Pair::new(Config { sack: SackPolicy::AsNeeded, ..small(20) });
    let data = pair.write(1000);
    assert_eq!(data.len(), 10);
    pair.now += RTT;
    let mut masks = Vec::new();
    let mut resent = Vec::new();
    // Packets 1 and 4 are lost; the others arrive one by one.
    for at in [0, 2, 3, 5, 6, 7, 8, 9] {
        for reply in pair.answer(&data[at..=at]) {
            masks.push(reply.sack.iter().collect::<Vec<_>>());
            pair.caller.receive(pair.now, &reply);
            resent.extend(said(&mut pair.caller, pair.now).iter().map(|packet| packet.seq_nr));
        }
    }
    assert_eq!(masks[1..4], [vec![0], vec![0, 1], vec![0, 1, 3]]);
    assert_eq!(resent, [data[1].seq_nr, data[4].seq_nr], "once each");
    let stats = pair.caller.stats();
    assert_eq!((stats.packets_lost, stats.reductions), (2, 1), "one window, one cut");
}

/// What loggers ask: how much was written, the latest sample, and when the timer expires.
#[test]
fn a_connection_tells_of_its_writing_its_samples_and_its_timer() {
    let fresh = Connection::connect(&small(20).into(), Pair::new(small(20)).now, 100, 0xfffe);
    assert_eq!((fresh.latest_rtt(), fresh.written()), (None, 0));
    let mut pair = Pair::new(small(20));
    assert_eq!(pair.caller.latest_rtt(), Some(RTT));
    assert_eq!((pair.caller.written(), pair.caller.loss_timer()), (0, None));
    let data = pair.write(1000);
    assert_eq!(pair.caller.written(), 1000);
    assert!(pair.caller.loss_timer().is_some_and(|at| at > pair.now + RTT));
    pair.now += RTT * 2;
    pair.deliver(&data);
    assert_eq!(pair.caller.loss_timer(), None);
    assert_eq!(pair.caller.latest_rtt(), Some(RTT * 2));
}

#[test]
fn an_empty_mask_says_nothing() {
    let mut pair = Pair::new(small(20));
    let data = pair.write(1000);
    let reply = pair.answer(&data[..1])[0];
    pair.caller.receive(pair.now, &Packet { sack: Sack::of_bytes(0), ..reply });
    pair.caller.receive(pair.now, &Packet { sack: Sack::of_bytes(4), ..reply });
    assert_eq!(said(&mut pair.caller, pair.now), []);
    assert_eq!(pair.caller.stats().in_flight, 900);
}

#[test]
fn duplicates_count_in_state_packets_only() {
    for (kind, resends) in [(PacketKind::Data, 0), (PacketKind::State, 1)] {
        let mut pair = Pair::new(small(10));
        let data = pair.write(1000);
        let reply = pair.answer(&data[..1])[0];
        pair.caller.receive(pair.now, &reply);
        for _ in 0..3 {
            pair.caller.receive(pair.now, &Packet { kind, ..reply });
        }
        let resent = said(&mut pair.caller, pair.now);
        let count = resent.iter().filter(|packet| packet.kind == PacketKind::Data).count();
        assert_eq!(count, resends, "{kind:?}");
    }
}

#[test]
fn the_delay_is_taken_when_a_packet_arrives() {
    let mut config = wide();
    config.delayed_ack.bytes = 100_000;
    config.delayed_ack.max_ns = Span::from_millis(100);
    let mut pair = Pair::new(config);
    let data = pair.write(500);
    pair.now += Span::from_millis(25);
    pair.answerer.receive(pair.now, &data[0]);
    let later = pair.answerer.next_timer().expect("an acknowledgement");
    assert_eq!(later, pair.now + Span::from_millis(100));
    pair.answerer.on_timer(later);
    assert_eq!(said(&mut pair.answerer, later)[0].timestamp_difference, 25_000);
    // One that says nothing of its time leaves none to tell.
    let mute = Packet { timestamp: 0, seq_nr: data[0].seq_nr.wrapping_add(1), ..data[0] };
    pair.answerer.receive(later, &mute);
    pair.answerer.on_timer(later + Span::from_secs(1));
    assert_eq!(said(&mut pair.answerer, later)[0].timestamp_difference, 0);
}

/// What a packet waited is what its delay has above the least; timestamps have no other meaning from clock to clock.
#[test]
fn the_queueing_delay_is_what_is_above_the_least() {
    let mut pair = Pair::new(small(20));
    let mut waited = Vec::new();
    for difference in [25_000, 20_000, 32_000, u32::MAX - 9_999, 30_000] {
        let data = pair.write(100);
        for reply in pair.answer(&data) {
            pair.caller.receive(pair.now, &Packet { timestamp_difference: difference, ..reply });
        }
        waited.push(pair.caller.stats().queueing_delay.nanos() / 1000);
    }
    // The other clock may be behind ours, which makes a difference negative.
    assert_eq!(waited[1..], [0, 12_000, 0, 40_000]);
}

/// A caller whose oldest packet is lost, and what it has sent behind it: the first measures the path's MTU.
fn probing(endless: bool, sack: SackPolicy) -> (Pair, Packet, Vec<Packet>) {
    let mut config =
        Config { initial_window_packets: 40, sack, nagle: Nagle::Off, ..profiles::libtorrent() };
    config.loss_detection.duplicate_acks = 0;
    config.loss_detection.sacked_after = 3;
    config.loss_detection.resends_per_ack = 2;
    config.path_mtu.endless = endless;
    config.path_mtu.probe_window_datagrams = 0;
    let mut pair = Pair::new(config);
    let earlier = pair.write(5000);
    let (lost, arrived) = earlier.split_last().expect("packets");
    assert!(arrived[0].dont_fragment && !lost.dont_fragment);
    pair.deliver(arrived);
    let later = pair.write(8000);
    assert!(later[0].dont_fragment && later.len() > 4);
    (pair, *lost, later)
}

/// Three duplicates while the probe of the path MTU is under way as well: a search that ends takes it for lost with
/// them, and sends another; libtorrent, whose search is endless, waits for it.
#[test]
fn duplicates_that_are_not_of_the_probe_are_no_evidence_against_it() {
    for (endless, probes) in [(false, 1), (true, 0)] {
        let (mut pair, _, later) = probing(endless, SackPolicy::Off);
        let measures = |packet: &&Packet| packet.dont_fragment;
        pair.deliver(&later[1..2]);
        pair.deliver(&later[2..3]);
        assert_eq!(pair.write(3000).iter().filter(measures).count(), 0, "one is under way");
        pair.deliver(&later[3..4]);
        assert_eq!(pair.write(3000).iter().filter(measures).count(), probes);
    }
}

/// Three packets that a mask names overtake the oldest and the probe. Both are resent. Only a search that ends
/// judges whether the probe was too large; libtorrent's endless one does so only if it is the oldest
/// (`resend_packet`).
#[test]
fn a_probe_that_a_mask_passes_over_was_too_large() {
    for (endless, probes_lost) in [(false, 1), (true, 0)] {
        let (mut pair, oldest, later) = probing(endless, SackPolicy::AsNeeded);
        pair.deliver(&later[1..4]);
        let again: Vec<u16> =
            said(&mut pair.caller, pair.now).iter().map(|packet| packet.seq_nr).collect();
        assert_eq!(again, [oldest.seq_nr, later[0].seq_nr]);
        assert_eq!(pair.caller.stats().probes_lost, probes_lost);
    }
}

#[test]
fn a_lone_lost_probe_costs_no_window() {
    let mut pair = Pair::new(Config { initial_window_packets: 1, ..profiles::libutp() });
    let probe = pair.write(1382)[0];
    assert!(probe.dont_fragment);
    let before = pair.caller.stats();
    let again = pair.wait(Span::from_secs(2))[0];
    assert!(!again.dont_fragment && again.len == probe.len, "as it was, but in fragments");
    let after = pair.caller.stats();
    assert_eq!((after.cwnd, after.rto), (before.cwnd, before.rto));
    assert_eq!(after.packet_bytes, (576 + 1401) / 2 - 20);
    assert_eq!(after.probes_lost, 1);
}

/// Packets that every path takes say nothing about the path when they are lost.
#[test]
fn small_packets_that_are_lost_are_no_black_hole() {
    for (bytes, falls) in [(100, false), (1382, true)] {
        let mut pair = Pair::new(profiles::libutp());
        let before = pair.caller.stats().packet_bytes;
        pair.write(bytes);
        pair.wait(Span::from_secs(20));
        assert!(pair.caller.stats().timeouts >= 3);
        assert_eq!(pair.caller.stats().packet_bytes < before, falls, "{bytes} bytes");
    }
}

#[test]
fn the_window_is_cut_once_in_its_interval() {
    let mut config = Config { initial_window_packets: 60, ..profiles::libutp() };
    config.packet_size = flashcrowd_transport::utp::PacketSize::Fixed { bytes: 100 };
    config.sack = SackPolicy::AsNeeded;
    let interval = config.ledbat.expect("libutp's").loss_interval_ns;
    let mut pair = Pair::new(config);
    let data = pair.write(6000);
    let mut cuts = Vec::new();
    // Every fifth packet is lost, and every 30 ms five more have passed.
    for five in data.chunks(5) {
        pair.now += Span::from_millis(30);
        for reply in pair.answer(&five[1..]) {
            let before = pair.caller.stats();
            pair.caller.receive(pair.now, &reply);
            said(&mut pair.caller, pair.now);
            let after = pair.caller.stats();
            if after.reductions > before.reductions {
                assert!(after.cwnd < before.cwnd);
                cuts.push(pair.now);
            }
        }
    }
    assert!(cuts.len() > 1 && cuts.windows(2).all(|two| two[1] - two[0] >= interval), "{cuts:?}");
    assert!(pair.caller.stats().packets_retransmitted > cuts.len() as u64);
}

/// The times that pass between one transmission of a packet and the next without an answer.
fn silences(config: Config) -> Vec<Span> {
    let mut pair = Pair::new(config);
    // Not a packet that measures the path, whose loss is forgiven.
    pair.caller.on_path_limit(pair.now, 576);
    let first = pair.write(500)[0];
    let mut times = vec![pair.now];
    while let Some(at) = pair.caller.next_timer() {
        pair.now = at;
        pair.caller.on_timer(at);
        let again = said(&mut pair.caller, at);
        times.extend(again.iter().filter(|packet| packet.seq_nr == first.seq_nr).map(|_| at));
    }
    assert_eq!(pair.caller.state(), State::Closed { reason: CloseReason::TimedOut });
    times.windows(2).map(|two| two[1].since(two[0])).collect()
}

#[test]
fn each_timeout_in_a_row_waits_longer() {
    let millis = |spans: Vec<Span>| -> Vec<u64> {
        spans.into_iter().map(|span| span.nanos() / 1_000_000).collect()
    };
    // RFC 6298 (5.5): twice as long each time, here to one minute (5.7 in Linux's TCP_RTO_MAX: two).
    let seconds = [1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60, 60, 60, 60, 60];
    assert_eq!(millis(silences(profiles::rfc6817())), seconds.map(|second| 1000 * second));
    // libutp looks at its timers every 500 ms; the packet is sent 40 ms after one of these.
    assert_eq!(millis(silences(profiles::libutp())), [1460, 2000, 4000, 8000]);
    // libtorrent (packet_timeout): half a second, and 1, 2, ... seconds more; looked at every 500 ms,
    // and over when the packet was sent three times (utp_num_resends).
    assert_eq!(millis(silences(profiles::libtorrent())), [960, 1500]);
    let patient =
        Config { max_transmissions: 0, timer_grain_ns: Span::ZERO, ..profiles::libtorrent() };
    assert_eq!(millis(silences(patient)), [500, 1500, 2500]);
}

/// libtorrent (`m_nagle_seq_nr`): a block's last packet does not wait for the packets before it.
#[test]
fn minshall_holds_a_small_packet_for_another_small_one_only() {
    for (nagle, tail, second) in
        [(Nagle::Off, 1, 1), (Nagle::Minshall, 1, 0), (Nagle::Classic, 0, 0)]
    {
        let mut pair = Pair::new(Config { nagle, ..small(20) });
        assert_eq!(pair.write(250).len(), 2 + tail, "{nagle:?}");
        assert_eq!(pair.write(30).len(), second, "{nagle:?}");
    }
}

/// libtorrent (`send_pkt` with `pkt_ack`): an acknowledgement takes with it what Minshall's rule holds.
#[test]
fn what_is_held_leaves_with_an_acknowledgement() {
    for (nagle, payload) in [(Nagle::Minshall, 30), (Nagle::Classic, 0)] {
        let mut pair = Pair::new(Config { nagle, ..small(20) });
        assert_eq!((pair.write(50).len(), pair.write(30).len()), (1, 0), "{nagle:?}");
        // The other end has something to say, and has not heard of the packet.
        pair.answerer.write(pair.now, 100);
        for packet in said(&mut pair.answerer, pair.now) {
            pair.caller.receive(pair.now, &packet);
        }
        let answers = said(&mut pair.caller, pair.now);
        assert_eq!(answers.iter().map(|packet| packet.len).collect::<Vec<_>>(), [payload]);
    }
}

fn libtorrent_with(packets: u32) -> Config {
    let packet_size = flashcrowd_transport::utp::PacketSize::Fixed { bytes: 100 };
    Config { initial_window_packets: packets, packet_size, ..profiles::libtorrent() }
}

#[test]
fn any_packet_starts_the_timer_anew_in_libtorrent_alone() {
    for (rule, again) in [(TimerRestart::Progress, 1), (TimerRestart::AnyPacket, 0)] {
        let config =
            Config { timer_restart: rule, timer_grain_ns: Span::ZERO, ..libtorrent_with(20) };
        let mut pair = Pair::new(config);
        let lost = pair.write(100);
        assert_eq!(lost.len(), 1);
        assert_eq!(pair.wait(Span::from_millis(300)).len(), 0);
        // The other end has something to say, and has not heard of the packet.
        pair.answerer.write(pair.now, 100);
        for packet in said(&mut pair.answerer, pair.now) {
            pair.caller.receive(pair.now, &packet);
        }
        said(&mut pair.caller, pair.now);
        let repeated = pair.wait(Span::from_millis(300));
        assert_eq!(repeated.len(), again, "{rule:?}");
    }
}

/// Ten packets of which the first arrives in none of its transmissions; the times that it was sent.
fn transmissions_of_a_lost_packet(config: Config) -> usize {
    let mut pair = Pair::new(config);
    let data = pair.write(1000);
    pair.now += RTT;
    let mut sent = 1;
    for reply in data[1..].iter().flat_map(|packet| pair.answer(&[*packet])).collect::<Vec<_>>() {
        pair.caller.receive(pair.now, &reply);
        sent += said(&mut pair.caller, pair.now).len();
    }
    assert_eq!(sent, 2, "found by masks");
    while pair.caller.next_timer().is_some() && !pair.caller.is_closed() {
        sent += pair.wait(Span::from_millis(500)).len();
    }
    sent
}

#[test]
fn fast_retransmissions_count_towards_the_end() {
    let config = libtorrent_with(20);
    assert_eq!(transmissions_of_a_lost_packet(config.clone()), 3);
    assert_eq!(transmissions_of_a_lost_packet(Config { max_transmissions: 0, ..config }), 5);
}

#[test]
fn what_a_timeout_repeats_waits_for_the_next() {
    for after_timeout in [false, true] {
        // After the timeout, the window has room for one packet.
        let packet_size = flashcrowd_transport::utp::PacketSize::Fixed { bytes: 1000 };
        let mut config = Config { packet_size, ..libtorrent_with(20) };
        config.loss_detection.after_timeout = after_timeout;
        let mut pair = Pair::new(config);
        let data = pair.write(10_000);
        let repeated: Vec<u16> =
            pair.wait(Span::from_secs(1)).iter().map(|packet| packet.seq_nr).collect();
        assert_eq!(repeated, [data[0].seq_nr], "all are lost, the first is repeated");
        // It is lost again. The others were not lost, but late.
        let mut repeated = Vec::new();
        for packet in &data[1..] {
            for reply in pair.answer(&[*packet]) {
                pair.caller.receive(pair.now, &reply);
                repeated.extend(said(&mut pair.caller, pair.now));
            }
        }
        let repeats = repeated.iter().filter(|packet| packet.seq_nr == data[0].seq_nr).count();
        assert_eq!(repeats, usize::from(after_timeout));
    }
}

/// libtorrent (`tick`): with nothing in flight, two thirds of the window each time, down to a packet.
#[test]
fn an_idle_window_decays_without_a_timer() {
    let mut pair = Pair::new(libtorrent_with(50));
    let data = pair.write(5000);
    pair.now += RTT;
    pair.deliver(&data);
    let full = pair.caller.stats().cwnd;
    assert!(pair.caller.stats().in_flight == 0 && full > 5000, "{full}");
    let quiet = pair.caller.next_timer().expect("keep-alives");
    assert!(quiet > pair.now + Span::from_secs(20), "nothing wakes up for it");
    for (seconds, thirds) in [(1, 2.0 / 3.0), (1, 8.0 / 27.0)] {
        pair.now += Span::from_secs(seconds);
        said(&mut pair.caller, pair.now);
        let cwnd = pair.caller.stats().cwnd as f64;
        assert!((cwnd / full as f64 - thirds).abs() < 0.001, "{cwnd} of {full}");
    }
    pair.now += Span::from_secs(100);
    said(&mut pair.caller, pair.now);
    assert_eq!(pair.caller.stats().cwnd, (548 + 1472) / 2);
}

#[test]
fn a_packet_that_was_sent_twice_gives_no_round_trip_and_keeps_the_longer_timeout() {
    let mut pair = Pair::new(Config { initial_window_packets: 20, ..profiles::rfc6817() });
    pair.caller.on_path_limit(pair.now, 576);
    pair.write(500);
    let again = pair.wait(Span::from_millis(3500));
    assert_eq!(again.len(), 2, "after 1 s and 3 s");
    pair.deliver(&again);
    // Karn's algorithm: it is unknown which of the three was acknowledged (RFC 6298, 3), and the
    // timeout stays backed off until a packet that was sent once is (5.7).
    let stats = pair.caller.stats();
    assert_eq!((stats.rtt, stats.srtt, stats.bytes_acked), (RTT, RTT, 500));
    assert_eq!(stats.rto, Span::from_secs(4));
    let once = pair.write(500);
    pair.now += RTT;
    pair.deliver(&once);
    assert_eq!((pair.caller.stats().rtt, pair.caller.stats().rto), (RTT, Span::from_secs(1)));
}

#[test]
fn an_acknowledgement_waits_for_so_many_bytes_and_no_more() {
    let config = profiles::libutp_2010();
    assert_eq!(config.delayed_ack.bytes, 2400);
    let packet_size = flashcrowd_transport::utp::PacketSize::Fixed { bytes: 800 };
    let mut pair = Pair::new(Config { packet_size, initial_window_packets: 20, ..config });
    let data = pair.write(6 * 800 + 799);
    let acks: Vec<usize> = data.iter().map(|packet| pair.answer(&[*packet]).len()).collect();
    assert_eq!(acks, [0, 0, 1, 0, 0, 1], "every third of 800 bytes makes 2400");
    // What is less waits for the timer, which runs from the first packet.
    pair.caller.close(pair.now);
    let rest = Packet { len: 799, seq_nr: data[5].seq_nr.wrapping_add(1), ..data[5] };
    assert_eq!(pair.answer(&[rest]), []);
    let due = pair.answerer.next_timer().expect("an acknowledgement that waits");
    assert_eq!(due, pair.now + Span::from_millis(5));
    pair.answerer.on_timer(due);
    assert_eq!(said(&mut pair.answerer, due).len(), 1);
}

/// A DATA packet has no mask: what is out of order is reported beside it.
#[test]
fn data_does_not_take_the_place_of_a_mask() {
    let mut pair = Pair::new(Config { sack: SackPolicy::AsNeeded, ..small(20) });
    let data = pair.write(300);
    pair.answerer.write(pair.now, 100);
    pair.answerer.receive(pair.now, &data[1]);
    let sent = said(&mut pair.answerer, pair.now);
    let kinds: Vec<(PacketKind, usize)> =
        sent.iter().map(|packet| (packet.kind, packet.sack.iter().count())).collect();
    assert!(kinds.contains(&(PacketKind::State, 1)), "{kinds:?}");
    assert!(kinds.contains(&(PacketKind::Data, 0)), "{kinds:?}");
}

#[test]
fn a_timeout_resends_nothing_that_a_mask_has_delivered() {
    let mut config = Config { sack: SackPolicy::AsNeeded, ..small(20) };
    // Masks are read, and make no loss by themselves.
    config.loss_detection.sacked_after = 32;
    config.loss_detection.duplicate_acks = 0;
    let mut pair = Pair::new(config);
    let data = pair.write(1000);
    let lost = [1, 4, 5];
    let arrived: Vec<Packet> = (0..10).filter(|at| !lost.contains(at)).map(|at| data[at]).collect();
    for packet in arrived {
        pair.deliver(&[packet]);
    }
    assert_eq!(pair.caller.stats().in_flight, 300);
    let mut resent = Vec::new();
    let mut sent: VecDeque<Packet> = pair.wait(Span::from_millis(1500)).into();
    while let Some(packet) = sent.pop_front() {
        resent.push(packet.seq_nr);
        for reply in pair.answer(&[packet]) {
            // No second mask says what the first ones have said.
            pair.caller.receive(pair.now, &Packet { sack: Sack::NONE, ..reply });
            sent.extend(said(&mut pair.caller, pair.now));
        }
    }
    assert_eq!(resent, lost.map(|at| data[at].seq_nr));
    assert_eq!(pair.answerer.readable(), 1000);
}

#[test]
fn a_mask_resends_the_gaps_and_counts_only_these() {
    let mut config = Config { sack: SackPolicy::AsNeeded, ..small(20) };
    config.loss_detection.duplicate_acks = 0;
    config.loss_detection.resends_per_ack = 2;
    let mut pair = Pair::new(config);
    let data = pair.write(1000);
    // Packets 0, 2, 4, ... are lost; the one acknowledgement that arrives names all others.
    let odd: Vec<Packet> = data.iter().copied().skip(1).step_by(2).collect();
    let replies = pair.answer(&odd);
    let last = replies.last().expect("disorder is acknowledged at once");
    pair.caller.receive(pair.now, last);
    let resent: Vec<u16> =
        said(&mut pair.caller, pair.now).iter().map(|packet| packet.seq_nr).collect();
    assert_eq!(resent, [data[0].seq_nr, data[2].seq_nr], "two for one acknowledgement");
}

/// Whether three packets that repeat a number make a loss: such that open the window are no duplicates for TCP
/// (RFC 5681), and such with another packet between them none for libutp; libtorrent counts both.
#[test]
fn duplicates_count_by_their_windows_and_what_came_between() {
    let resent = |any_window, in_a_row, opening: u32, data_between: bool| {
        let mut config = Config { sack: SackPolicy::Off, ..small(20) };
        config.loss_detection.duplicate_acks = 3;
        config.loss_detection.any_window = any_window;
        config.loss_detection.in_a_row = in_a_row;
        let mut pair = Pair::new(config);
        let data = pair.write(1000);
        let repeats = pair.answer(&data[1..2])[0];
        assert_eq!(repeats.kind, PacketKind::State);
        let mut again = Vec::new();
        for number in 0..3 {
            if data_between && number == 2 {
                let carries = Packet { kind: PacketKind::Data, len: 10, ..repeats };
                pair.caller.receive(pair.now, &carries);
            }
            let window = repeats.window + opening * number;
            let seq_nr = repeats.seq_nr + u16::from(data_between && number == 2);
            pair.caller.receive(pair.now, &Packet { window, seq_nr, ..repeats });
            again.extend(said(&mut pair.caller, pair.now));
        }
        again.iter().any(|packet| packet.seq_nr == data[0].seq_nr)
    };
    for switch in [false, true] {
        assert!(resent(switch, true, 0, false), "plain ones count");
        assert_eq!(resent(switch, true, 1, false), switch, "windows that open");
        assert_eq!(resent(true, switch, 0, true), !switch, "data between them");
    }
}

/// libtorrent: where an acknowledgement has a mask, what its number acknowledges adds nothing to the window.
#[test]
fn a_mask_hides_what_the_number_acknowledges_from_the_window() {
    let grown = |masked_bytes_only| {
        let mut pair = Pair::new(Config { masked_bytes_only, ..libtorrent_with(20) });
        let data = pair.write(40_000);
        pair.now += RTT;
        // One is late; the acknowledgement of the three before it comes with a mask.
        let reply = *pair.answer(&[data[0], data[1], data[2], data[4]]).last().expect("one");
        assert_eq!((reply.ack_nr, reply.sack.iter().count()), (data[2].seq_nr, 1));
        let before = pair.caller.stats().cwnd;
        pair.caller.receive(pair.now, &reply);
        pair.caller.stats().cwnd - before
    };
    // 3000 bytes for a whole flight of 2000.
    assert_eq!(grown(false), 600, "four packets");
    assert_eq!(grown(true), 150, "the one of the mask");
}

/// What a connection keeps in memory: packets that may have to be sent again, and those out of order.
#[test]
fn packets_held_are_those_not_acknowledged_and_those_out_of_order() {
    let mut pair = Pair::new(profiles::libutp());
    // Until the window is wide enough.
    for _ in 0..20 {
        let packets = pair.write(4000);
        pair.deliver(&packets);
        pair.wait(RTT);
    }
    let packets = pair.write(4000);
    let held = |end: &Connection| end.stats().packets_held;
    assert_eq!(held(&pair.caller), packets.len());
    assert!(packets.len() >= 3, "{}", packets.len());
    // All but the first arrive.
    let replies = pair.answer(&packets[1..]);
    assert_eq!(held(&pair.answerer), packets.len() - 1);
    for reply in replies {
        pair.caller.receive(pair.now, &reply);
    }
    let rest = pair.answer(&packets[..1]);
    for reply in rest {
        pair.caller.receive(pair.now, &reply);
    }
    assert_eq!((held(&pair.caller), held(&pair.answerer)), (0, 0));
}

/// A sender with BBR whose path was empty need not empty it to see the round trip (Linux: idle_restart). One that
/// always had something in flight must.
#[test]
fn silence_takes_the_place_of_looking_for_the_round_trip() {
    for kind in [Kind::Bbr, Kind::BbrV3] {
        for silent in [true, false] {
            let mut pair = Pair::new(Config { controller: kind, ledbat: None, ..small(10) });
            let mut looked = false;
            let mut arrive = |pair: &mut Pair, packets: &[Packet]| {
                pair.wait(Span::from_millis(50));
                pair.deliver(packets);
                looked |= pair.caller.controller_state() == Some("probe_rtt");
            };
            let mut under_way = pair.write(100);
            for _ in 0..220 {
                let next = if silent { Vec::new() } else { pair.write(100) };
                arrive(&mut pair, &under_way);
                under_way = next;
            }
            under_way.extend(pair.write(100));
            arrive(&mut pair, &under_way);
            assert_eq!(looked, !silent, "{kind:?}");
        }
    }
}
