//! From the SYN to the end of a connection: opening, a shut window, FIN, RST and release, one packet at a
//! time.

use super::pair::{Pair, RTT, said, small, to_the_last_timer, wide};
use flashcrowd_base::{Span, Time};
use flashcrowd_transport::utp::{
    CloseReason, Config, Connection, Packet, PacketKind, Payload, State, profiles,
};
use std::sync::Arc;

#[test]
fn a_repeated_syn_is_answered_until_the_connection_is_open() {
    let config = Arc::new(profiles::libutp());
    let now = Time::START;
    let mut caller = Connection::connect(&config, now, 5, 50);
    let syn = caller.poll_transmit(now).expect("a SYN");
    let mut answerer = Connection::accept(&config, now, &syn, 70);
    let first = said(&mut answerer, now);
    answerer.receive(now, &syn);
    assert_eq!(said(&mut answerer, now), first);
    answerer.write(now, 100);
    assert_eq!(said(&mut answerer, now), [], "no data before the other end has shown itself");
    let later = answerer.next_timer().expect("impatience");
    answerer.on_timer(later);
    assert_eq!(
        said(&mut answerer, later).len(),
        1,
        "the answer once more: there is something to say"
    );
    caller.receive(now, &first[0]);
    assert_eq!(said(&mut caller, now).len(), 1);
    caller.receive(now, &first[0]);
    let confirmation = said(&mut caller, now);
    assert_eq!(confirmation.len(), 1, "the confirmation was lost");
    answerer.receive(later, &confirmation[0]);
    assert_eq!(said(&mut answerer, later)[0].len, 100);
    let other = Packet { seq_nr: 51, ..syn };
    answerer.receive(later, &other);
    assert!(answerer.is_established());
}

#[test]
fn an_accepted_connection_that_nobody_confirms_ends() {
    let config = Arc::new(profiles::libutp());
    let mut caller = Connection::connect(&config, Time::START, 5, 50);
    let syn = caller.poll_transmit(Time::START).expect("a SYN");
    let mut answerer = Connection::accept(&config, Time::START, &syn, 70);
    said(&mut answerer, Time::START);
    let now = to_the_last_timer(&mut answerer);
    assert_eq!(answerer.state(), State::Closed { reason: CloseReason::TimedOut });
    assert_eq!(now, Time::START + config.half_open_ns);
}

#[test]
fn what_could_not_have_been_said_is_ignored() {
    let mut pair = Pair::new(wide());
    let data = pair.write(3 * 1382);
    let replies = pair.answer(&data);
    let last = *replies.last().expect("acknowledged");
    let acked = pair.caller.stats().bytes_acked;
    for ack_nr in [last.ack_nr.wrapping_add(1), data[0].seq_nr.wrapping_sub(5)] {
        pair.caller.receive(pair.now, &Packet { ack_nr, ..last });
    }
    for seq_nr in [last.seq_nr.wrapping_add(1024), last.seq_nr.wrapping_add(0x8000)] {
        pair.caller.receive(pair.now, &Packet { seq_nr, ..last });
    }
    pair.caller.receive(pair.now, &Packet { connection_id: 7, ..last });
    assert_eq!(pair.caller.stats().bytes_acked, acked);
    assert_eq!(pair.caller.stats().packets_ignored, 5);
    // Three before what is all acknowledged may have been overtaken.
    let old = Packet { ack_nr: data[0].seq_nr.wrapping_sub(4), ..last };
    pair.caller.receive(pair.now, &old);
    pair.caller.receive(pair.now, &last);
    assert_eq!(pair.caller.stats().bytes_acked, 3 * 1382);
    assert_eq!(pair.caller.stats().packets_ignored, 5);
}

#[test]
fn old_data_is_acknowledged_again_and_data_far_ahead_is_not() {
    let mut pair = Pair::new(wide());
    let data = pair.write(1000);
    assert_eq!(pair.answer(&data).len(), 1);
    assert_eq!(pair.answerer.receive(pair.now, &data[0]), Payload::Drop);
    assert!(pair.answerer.has_acknowledgement());
    said(&mut pair.answerer, pair.now);
    // Nor is what only acknowledges, or lies too far back to have been said.
    for (kind, back) in [(PacketKind::State, 0), (PacketKind::Data, 1024)] {
        let seq_nr = data[0].seq_nr.wrapping_sub(back);
        let old = Packet { kind, seq_nr, ..data[0] };
        assert_eq!(pair.answerer.receive(pair.now, &old), Payload::Drop);
        assert!(!pair.answerer.has_acknowledgement(), "{kind:?}");
    }
    let ahead = Packet { seq_nr: data[0].seq_nr.wrapping_add(1025), ..data[0] };
    assert_eq!(pair.answerer.receive(pair.now, &ahead), Payload::Drop);
    assert!(!pair.answerer.has_acknowledgement());
    let edge = Packet { seq_nr: data[0].seq_nr.wrapping_add(1024), ..data[0] };
    assert_eq!(pair.answerer.receive(pair.now, &edge), Payload::Hold);
    assert_eq!(pair.answerer.readable(), 1000);
}

#[test]
fn nothing_counts_behind_the_fin_and_it_does_not_move() {
    let mut pair = Pair::new(small(20));
    let data = pair.write(200);
    pair.caller.close(pair.now);
    pair.answer(&data[..1]);
    let fin =
        Packet { kind: PacketKind::Fin, len: 0, seq_nr: data[1].seq_nr.wrapping_add(1), ..data[1] };
    let behind = Packet { seq_nr: fin.seq_nr.wrapping_add(1), ..data[1] };
    assert_eq!(pair.answerer.receive(pair.now, &behind), Payload::Hold, "nobody knows yet");
    assert_eq!(pair.answerer.receive(pair.now, &fin), Payload::Hold);
    let second = Packet { seq_nr: fin.seq_nr.wrapping_add(2), ..fin };
    assert_eq!(pair.answerer.receive(pair.now, &second), Payload::Drop);
    let again = Packet { seq_nr: fin.seq_nr.wrapping_add(3), ..behind };
    assert_eq!(pair.answerer.receive(pair.now, &again), Payload::Drop);
    assert_eq!(pair.answerer.receive(pair.now, &data[1]), Payload::Append);
    assert_eq!((pair.answerer.readable(), pair.answerer.state()), (200, State::PeerClosed));
    pair.answerer.read(pair.now, 200);
    assert!(pair.answerer.peer_closed());
    assert_eq!(pair.answer(&[])[0].ack_nr, fin.seq_nr);
}

#[test]
fn a_fin_is_resent_and_a_reset_after_it_is_clean() {
    let mut pair = Pair::new(profiles::libutp());
    let data = pair.write(100);
    let replies = pair.answer(&data);
    replies.iter().for_each(|reply| {
        pair.caller.receive(pair.now, reply);
    });
    pair.caller.close(pair.now);
    let fin = said(&mut pair.caller, pair.now);
    assert_eq!((fin.len(), fin[0].kind), (1, PacketKind::Fin));
    let again = pair.wait(Span::from_secs(2));
    assert_eq!((again[0].kind, again[0].seq_nr), (PacketKind::Fin, fin[0].seq_nr));
    // The other end has closed and gone.
    let bye = Packet { kind: PacketKind::Fin, seq_nr: replies[0].seq_nr, ..replies[0] };
    pair.caller.receive(pair.now, &bye);
    let reset = Packet { kind: PacketKind::Reset, ..bye };
    pair.caller.receive(pair.now, &reset);
    assert_eq!(pair.caller.state(), State::Closed { reason: CloseReason::Finished });
}

#[test]
fn a_reset_counts_with_either_id_and_no_other() {
    for (id, open) in [(100, false), (101, false), (102, true)] {
        let mut pair = Pair::new(wide());
        let reset = Packet { kind: PacketKind::Reset, connection_id: id, ..Packet::default() };
        pair.caller.receive(pair.now, &reset);
        assert_eq!(pair.caller.is_established(), open);
        assert_eq!(said(&mut pair.caller, pair.now), [], "a RESET is not answered");
    }
    let mut pair = Pair::new(wide());
    pair.caller.abort(pair.now);
    let reset = said(&mut pair.caller, pair.now)[0];
    pair.answerer.receive(pair.now, &reset);
    assert_eq!(pair.answerer.state(), State::Closed { reason: CloseReason::Reset });
    // A connection that has ended by itself stays so.
    pair.caller.receive(pair.now, &Packet { connection_id: 100, ..reset });
    assert_eq!(pair.caller.state(), State::Closed { reason: CloseReason::Aborted });
}

#[test]
fn an_answerer_sends_no_more_than_the_syn_allowed() {
    let config = Arc::new(small(40));
    let now = Time::START + Span::from_secs(10);
    let mut caller = Connection::connect(&config, now, 100, 0xfffe);
    let mut syn = caller.poll_transmit(now).expect("a SYN");
    syn.window = 1_500;
    let mut answerer = Connection::accept(&config, now, &syn, 0x8000);
    caller.receive(now, &answerer.poll_transmit(now).expect("an answer"));
    let mut confirmation = caller.poll_transmit(now).expect("a confirmation");
    confirmation.window = 1_500;
    assert_eq!(answerer.stats().peer_window, 1_500);
    answerer.receive(now, &confirmation);
    answerer.write(now, 4_000);
    assert_eq!(said(&mut answerer, now).len(), 15);
}

/// ICMP "fragmentation needed": no datagram is longer, the header of 20 bytes included.
#[test]
fn a_limit_of_the_path_is_kept() {
    let mut pair = Pair::new(profiles::libutp());
    assert!(pair.caller.stats().packet_bytes > 980);
    pair.caller.on_path_limit(pair.now, 1000);
    let limit = pair.caller.stats().packet_bytes;
    assert!((556..=980).contains(&limit), "{limit}");
    pair.caller.abort(pair.now);
    pair.caller.on_path_limit(pair.now, 600);
    assert_eq!(pair.caller.stats().packet_bytes, limit, "it is over");
}

#[test]
fn what_is_unsent_has_not_been_sent_once() {
    let mut pair = Pair::new(small(4));
    let waits = |pair: &Pair| (pair.caller.unsent(), pair.caller.unacknowledged());
    pair.caller.write(pair.now, 1_000);
    assert_eq!(waits(&pair), (1_000, 1_000));
    let before = pair.caller.stats().packets_sent;
    let sent = said(&mut pair.caller, pair.now);
    assert_eq!((sent.len(), waits(&pair)), (4, (600, 1_000)));
    assert_eq!(pair.caller.stats().packets_sent, before + 4);
    // The first is lost, and sent again: that sends nothing new.
    let again = pair.wait(pair.caller.stats().rto);
    assert_eq!((again.is_empty(), waits(&pair)), (false, (600, 1_000)));
    pair.deliver(&sent);
    assert_eq!(waits(&pair), (600, 600));
}

#[test]
fn a_closed_window_is_probed() {
    let mut config = small(20);
    config.receive_buffer_bytes = 2_000;
    let mut pair = Pair::new(config);
    let mut sent = pair.write(5_000);
    for _ in 0..3 {
        pair.deliver(&sent);
        sent = said(&mut pair.caller, pair.now);
    }
    assert_eq!((sent.len(), pair.caller.stats().peer_window), (0, 0));
    let rto = pair.caller.stats().rto;
    assert!(rto < Span::from_secs(2), "{rto:?}");
    assert_eq!(pair.wait(Span::from_nanos(rto.nanos() - 1)), []);
    let probe = pair.wait(Span::from_nanos(1));
    assert_eq!((probe.len(), probe[0].len), (1, 100));
    let reply = pair.answer(&probe)[0];
    assert_eq!(reply.window, 0);
    pair.caller.receive(pair.now, &reply);
    // Two packets of less than the largest are as good as none.
    let readable = pair.answerer.readable();
    pair.answerer.read(pair.now, 300);
    assert!(!pair.answerer.has_acknowledgement());
    pair.answerer.read(pair.now, readable - 300);
    let update = pair.answer(&[]);
    assert_eq!((update.len(), update[0].window), (1, 2_000));
    pair.caller.receive(pair.now, &update[0]);
    let sent = said(&mut pair.caller, pair.now);
    assert_eq!(sent.len(), 2, "RFC 6817: as much as was in flight, and one more");
}

/// A caller that has filled the answerer's window, and the packet that said so.
fn shut_out() -> (Pair, Packet) {
    let mut config = small(20);
    config.receive_buffer_bytes = 2_000;
    let mut pair = Pair::new(config);
    let mut sent = pair.write(5_000);
    let mut full = None;
    while !sent.is_empty() {
        pair.now += RTT;
        for reply in pair.answer(&sent) {
            pair.caller.receive(pair.now, &reply);
            full = Some(reply);
        }
        sent = said(&mut pair.caller, pair.now);
    }
    let full = full.expect("acknowledged");
    assert_eq!((full.window, pair.caller.stats().peer_window), (0, 0));
    (pair, full)
}

#[test]
fn an_overtaken_packet_does_not_close_the_window_again() {
    let (mut pair, full) = shut_out();
    pair.now += RTT;
    let readable = pair.answerer.readable();
    pair.answerer.read(pair.now, readable);
    let update = pair.answer(&[])[0];
    assert_eq!(
        (update.ack_nr, update.seq_nr),
        (full.ack_nr, full.seq_nr),
        "only time tells them apart"
    );
    pair.now += RTT;
    pair.caller.receive(pair.now, &update);
    for _ in 0..3 {
        pair.caller.receive(pair.now, &full);
        assert_eq!(pair.caller.stats().peer_window, 2_000);
    }
    assert_ne!(said(&mut pair.caller, pair.now), []);
}

#[test]
fn a_packet_of_the_past_neither_opens_nor_closes_the_window() {
    let mut pair = Pair::new(small(20));
    let data = pair.write(1_000);
    let mut said_before = Vec::new();
    for packet in &data[..3] {
        pair.now += RTT;
        said_before.extend(pair.answer(&[*packet]));
    }
    let newest = *said_before.last().expect("acknowledged");
    pair.caller.receive(pair.now, &newest);
    let known = pair.caller.stats().peer_window;
    for window in [0, 50, 1 << 30] {
        // As far back as acknowledgement numbers are believed at all.
        for old in &said_before[..2] {
            pair.caller.receive(pair.now, &Packet { window, ..*old });
            assert_eq!(pair.caller.stats().peer_window, known);
        }
    }
    pair.caller
        .receive(pair.now, &Packet { window: 50, timestamp: newest.timestamp + 1, ..newest });
    assert_eq!(pair.caller.stats().peer_window, 50);
}

#[test]
fn a_lost_update_of_the_window_costs_a_timeout_and_probes_back_off() {
    let (mut pair, _) = shut_out();
    // The reader sleeps: probes are answered, and each says that there is no room.
    let mut waits = Vec::new();
    for _ in 0..6 {
        let before = pair.now;
        let probe = loop {
            let at = pair.caller.next_timer().expect("a probe is due");
            pair.now = at;
            pair.caller.on_timer(at);
            let sent = said(&mut pair.caller, at);
            if !sent.is_empty() {
                break sent;
            }
        };
        assert_eq!(probe.len(), 1);
        waits.push(pair.now.since(before));
        pair.deliver(&probe);
        assert_eq!(pair.caller.stats().peer_window, 0);
    }
    assert!(waits[0] < Span::from_secs(2), "one timeout: {waits:?}");
    assert!(waits.windows(2).all(|pair| pair[0] <= pair[1]), "back-off: {waits:?}");
    assert!(waits.iter().all(|wait| *wait <= Span::from_secs(15)), "{waits:?}");
    assert!(waits[5] >= waits[0] * 8, "{waits:?}");
    // It reads, and what says so is lost; the answer to the next probe says it again.
    let readable = pair.answerer.readable();
    pair.answerer.read(pair.now, readable);
    assert_eq!(pair.answer(&[]).len(), 1);
    let probe = pair.wait(Span::from_secs(15));
    assert_eq!(probe.len(), 1);
    pair.deliver(&probe);
    assert_ne!(said(&mut pair.caller, pair.now), []);
}

#[test]
fn silence_is_broken_by_an_old_number() {
    let mut pair = Pair::new(profiles::libutp());
    let packets = pair.wait(Span::from_secs(60));
    assert_eq!(packets.len(), 2, "after 29 s, at the next half second: {packets:?}");
    assert_eq!(packets[0].ack_nr, 0x7ffe, "one before the last that arrived");
    assert_eq!(pair.answer(&packets), [], "which says nothing that asks for an answer");
}

#[test]
fn an_end_that_nobody_answers_gives_up() {
    let mut pair = Pair::new(profiles::libutp());
    // Not a packet that measures, whose loss is forgiven.
    pair.caller.on_path_limit(pair.now, 576);
    let first = pair.write(500);
    let resent = pair.wait(Span::from_secs(1000));
    assert_eq!(resent.iter().filter(|packet| packet.seq_nr == first[0].seq_nr).count(), 4);
    assert_eq!(pair.caller.state(), State::Closed { reason: CloseReason::TimedOut });
    assert_eq!(pair.caller.next_timer(), None);
}

/// An end with `bytes` to deliver, and a peer that has read nothing of them: its window is shut.
fn facing_a_shut_window(bytes: u64) -> Pair {
    let config = Config { receive_buffer_bytes: 20_000, ..profiles::libutp() };
    let mut pair = Pair::new(Config { initial_window_packets: 20, ..config });
    let mut sent = pair.write(bytes);
    while !sent.is_empty() {
        pair.deliver(&sent);
        sent = said(&mut pair.caller, pair.now);
    }
    assert_eq!(pair.caller.stats().peer_window, 0);
    pair
}

/// Runs both ends until the caller is over, or for `max`; `at_answerer` is called after every
/// packet that the answerer gets. Returns how long it took.
fn outlast(pair: &mut Pair, max: Span, mut at_answerer: impl FnMut(&mut Pair)) -> Span {
    let begin = pair.now;
    while let Some(at) = pair.caller.next_timer().filter(|at| at.since(begin) <= max) {
        pair.now = at;
        pair.caller.on_timer(at);
        let mut sent = said(&mut pair.caller, at);
        while !sent.is_empty() {
            let mut replies = pair.answer(&sent);
            at_answerer(pair);
            replies.extend(said(&mut pair.answerer, at));
            for reply in replies {
                pair.caller.receive(at, &reply);
            }
            sent = said(&mut pair.caller, at);
        }
        if pair.caller.is_closed() {
            break;
        }
    }
    pair.now.since(begin)
}

#[test]
fn a_released_end_whose_peer_keeps_its_window_shut_is_reset_after_a_minute() {
    let mut pair = facing_a_shut_window(500_000);
    pair.caller.release(pair.now);
    // The peer answers every probe, and each takes a packet along.
    let took = outlast(&mut pair, Span::from_secs(10_000), |_| {});
    assert_eq!(pair.caller.state(), State::Closed { reason: CloseReason::TimedOut });
    assert_eq!(took, Span::from_secs(60));
    assert!(pair.caller.stats().bytes_acked > 20_000, "probes were answered");
    let told = State::Closed { reason: CloseReason::Reset };
    assert_eq!((pair.answerer.state(), pair.caller.next_timer()), (told, None));
}

#[test]
fn a_released_end_whose_peer_reads_now_and_then_delivers_everything() {
    let mut pair = facing_a_shut_window(200_000);
    pair.caller.release(pair.now);
    let mut read_at = pair.now;
    let took = outlast(&mut pair, Span::from_secs(10_000), |pair| {
        if pair.now.since(read_at) >= Span::from_secs(45) {
            read_at = pair.now;
            let readable = pair.answerer.readable();
            pair.answerer.read(pair.now, readable);
        }
    });
    assert_eq!(pair.caller.state(), State::Closed { reason: CloseReason::Finished });
    assert_eq!(pair.caller.stats().bytes_acked, 200_000);
    assert!(took > Span::from_secs(120), "{took:?}");
}

#[test]
fn an_end_with_an_application_waits_for_the_window_as_long_as_probes_are_answered() {
    let mut pair = facing_a_shut_window(500_000);
    pair.caller.close(pair.now);
    outlast(&mut pair, Span::from_secs(300), |_| {});
    assert_eq!(pair.caller.state(), State::Closing);
}

#[test]
fn a_released_end_that_nobody_confirms_ends_like_any_other() {
    let config = Arc::new(profiles::libutp());
    let mut caller = Connection::connect(&config, Time::START, 5, 50);
    let syn = caller.poll_transmit(Time::START).expect("a SYN");
    let mut answerer = Connection::accept(&config, Time::START, &syn, 70);
    answerer.write(Time::START, 1000);
    answerer.release(Time::START);
    let now = to_the_last_timer(&mut answerer);
    assert_eq!(answerer.state(), State::Closed { reason: CloseReason::TimedOut });
    assert_eq!(now, Time::START + config.half_open_ns);
}
