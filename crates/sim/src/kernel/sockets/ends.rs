//! Two ends without a network between them: their timers, their numbers, and what an owner may read.

use super::*;
use flashcrowd_transport::congestion::Kind;
use flashcrowd_transport::tcp;
use std::collections::BTreeSet;
use std::sync::Arc;

const SOMEBODY: Owner = Owner { app: 0, role: 0, index: 0, part: 0 };

fn spec(stack: &Stack) -> SocketSpec {
    SocketSpec {
        owner: SOMEBODY,
        stack: stack.clone(),
        route: 0,
        direct: None,
        class: NO_CLASS,
        captured: u32::MAX,
        low_watermark: 0,
    }
}

fn linux() -> tcp::Config {
    tcp::profiles::named("linux-6").expect("the profile exists")
}

fn tcp(sockets: &mut Sockets<u32>, socket: u32) -> &mut Connection {
    match &mut sockets.get_mut(socket).transport {
        Some(Transport::Tcp(tcp)) => tcp,
        _ => panic!("it speaks TCP"),
    }
}

/// A pair of ends of which the second has heard the SYN of the first.
fn open(sockets: &mut Sockets<u32>, stack: &Stack) -> u32 {
    let first = sockets.open(Time::START, [0, 1], [spec(stack), spec(stack)]);
    match &mut sockets.get_mut(first).transport {
        Some(Transport::Tcp(tcp)) => {
            let syn = tcp.poll_transmit(Time::START).expect("its SYN waits");
            sockets.accept(first + 1, Time::START, Syn::Tcp(&syn), SOMEBODY);
        }
        Some(Transport::Utp(utp)) => {
            let syn = utp.poll_transmit(Time::START).expect("its SYN waits");
            sockets.accept(first + 1, Time::START, Syn::Utp(&syn), SOMEBODY);
        }
        None => panic!("it opens the connection"),
    }
    first
}

/// Both ends send all they have, and no time passes.
fn carry(sockets: &mut Sockets<u32>) {
    let mut quiet = 0;
    for from in [0, 1].into_iter().cycle() {
        quiet += 1;
        while let Some(segment) = tcp(sockets, from).poll_transmit(Time::START) {
            tcp(sockets, other(from)).receive(Time::START, &segment);
            quiet = 0;
        }
        if quiet == 2 {
            return;
        }
    }
}

fn established() -> Sockets<u32> {
    let mut sockets = Sockets::new(1, None);
    open(&mut sockets, &Stack::Tcp(Arc::new(linux())));
    carry(&mut sockets);
    assert!(tcp(&mut sockets, 0).is_established() && tcp(&mut sockets, 1).is_established());
    sockets
}

#[test]
fn an_owner_reads_no_more_than_it_may_and_a_message_when_all_of_it_is_read() {
    let mut sockets = established();
    let now = Time::START;
    assert!(!sockets.limit_reads(1, None), "nothing is there");
    sockets.write(0, now, 3000, Some(7));
    carry(&mut sockets);
    assert!(!sockets.limit_reads(1, Some(0)), "it may read nothing");
    assert_eq!((sockets.get_mut(1).read(now), sockets.next_message(1)), (0, None));
    assert!(sockets.limit_reads(1, Some(1000)));
    assert_eq!((sockets.get_mut(1).read(now), sockets.next_message(1)), (1000, None));
    assert_eq!(sockets.get_mut(1).read(now), 0, "the limit is used up");
    assert!(sockets.limit_reads(1, Some(1999)));
    assert_eq!((sockets.get_mut(1).read(now), sockets.next_message(1)), (1999, None));
    assert!(sockets.limit_reads(1, None));
    assert_eq!((sockets.get_mut(1).read(now), sockets.next_message(1)), (1, Some(7)));
    assert_eq!((sockets.get_mut(1).read(now), sockets.next_message(1)), (0, None));
    assert!(!sockets.limit_reads(1, Some(1)), "all is read");
}

#[test]
fn a_transport_is_done_when_what_its_owner_waits_for_has_come() {
    let mut sockets = established();
    let done = |sockets: &mut Sockets<u32>| {
        [WaitFor::Room, WaitFor::Sent, WaitFor::Acknowledged].map(|what| {
            sockets.get_mut(0).wait_for = what;
            sockets.is_done(0)
        })
    };
    sockets.write(0, Time::START, 1000, None);
    assert_eq!(done(&mut sockets), [false, false, false]);
    let segment = tcp(&mut sockets, 0).poll_transmit(Time::START).expect("it has data");
    assert_eq!(done(&mut sockets), [false, true, false]);
    tcp(&mut sockets, 1).receive(Time::START, &segment);
    carry(&mut sockets);
    assert_eq!(done(&mut sockets), [false, true, true]);
}

#[test]
fn room_is_reported_only_if_it_is_more_than_before() {
    let mut sockets = established();
    let end = sockets.get_mut(0);
    let space = end.more_space();
    assert!(space.is_some_and(|space| space > 0));
    assert_eq!(end.more_space(), None);
    end.reported_space -= 1;
    assert_eq!(end.more_space(), space);
    assert_eq!(u64::from(end.reported_space), space.unwrap_or(0));
    let most = u64::from(u32::MAX);
    assert_eq!([0, most - 1, most, most + 1].map(clamp), [0, u32::MAX - 1, u32::MAX, u32::MAX]);
}

/// State that an end must not keep when its pair is used again.
#[test]
fn a_pair_is_free_when_both_ends_are_over_and_nothing_is_between_them() {
    let mut sockets = established();
    sockets.write(0, Time::START, 10, Some(7));
    let in_use = |sockets: &Sockets<u32>| (sockets.census().in_use, sockets.census().messages);
    for end in [0, 1] {
        sockets.release_pair(end);
        assert_eq!(in_use(&sockets), (2, 1), "somebody owns it");
        sockets.get_mut(end).owner = Owner::NOBODY;
    }
    sockets.release_pair(0);
    assert_eq!(in_use(&sockets), (2, 1), "it stands");
    tcp(&mut sockets, 0).abort(Time::START);
    carry(&mut sockets);
    sockets.get_mut(0).in_flight = 1;
    sockets.release_pair(1);
    assert_eq!(in_use(&sockets), (2, 1), "a packet is on its way");
    sockets.get_mut(1).packet_gone();
    sockets.release_pair(1);
    assert_eq!(in_use(&sockets), (0, 0));
    sockets.release_pair(0);
    assert_eq!(sockets.free, [0], "once");
    assert_eq!(open(&mut sockets, &Stack::Tcp(Arc::new(linux()))), 0);
    assert_eq!(open(&mut sockets, &Stack::Tcp(Arc::new(linux()))), 2);
}

#[test]
fn a_timer_has_one_event_at_its_earliest_deadline() {
    let mut sockets = established();
    let mut queue = EventQueue::new();
    let at = |millis| Time::START + Span::from_millis(millis);
    let arm = |sockets: &mut Sockets<u32>, queue: &mut EventQueue<Event>, deadline, sleeps| {
        sockets.timers[0].arm(0, at(0), deadline, sleeps, queue);
    };
    arm(&mut sockets, &mut queue, None, true);
    assert!(queue.is_empty());
    for (millis, pending) in [(50, 1), (50, 1), (80, 1), (20, 2)] {
        arm(&mut sockets, &mut queue, Some(at(millis)), true);
        assert_eq!(queue.len(), pending, "{millis}");
    }
    arm(&mut sockets, &mut queue, Some(at(90)), true);
    // At 20 ms it finds that it was put off to 90 ms, so what comes at 50 ms is stale.
    for (millis, expired, pending) in [(20, false, 2), (50, false, 1), (90, true, 0)] {
        let Some((now, event)) = queue.pop() else { panic!("an event is pending") };
        assert_eq!((now, event.kind(), event.index()), (at(millis), EventKind::Socket, 0));
        assert_eq!(sockets.take_timer(0, now, &mut queue), expired, "{millis}");
        assert_eq!(queue.len(), pending, "{millis}");
    }
    assert!(!sockets.take_timer(0, at(90), &mut queue), "once");
    // A deadline that is off leaves a stale event; a transport that cannot sleep is woken by it.
    for (sleeps, expired) in [(true, false), (false, true)] {
        arm(&mut sockets, &mut queue, Some(at(100)), true);
        arm(&mut sockets, &mut queue, None, sleeps);
        let now = queue.pop().map_or(Time::NEVER, |(now, _)| now);
        assert_eq!(sockets.take_timer(0, now, &mut queue), expired);
        assert!(queue.is_empty());
    }
}

/// BEP 29 asks for a random id; both ends draw their first numbers.
#[test]
fn numbers_of_utp_are_drawn_from_all_that_there_are() {
    let mut sockets: Sockets<u32> = Sockets::new(1, None);
    let config = utp::profiles::named("libutp").expect("the configuration exists");
    let stack = Stack::Utp(Arc::new(config));
    let (mut ids, mut active, mut passive) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for _ in 0..64 {
        let first = sockets.open(Time::START, [0, 1], [spec(&stack), spec(&stack)]);
        let utp = |end: &mut Socket| match &mut end.transport {
            Some(Transport::Utp(utp)) => utp.poll_transmit(Time::START).expect("it has a packet"),
            _ => panic!("it speaks uTP"),
        };
        let syn = utp(sockets.get_mut(first));
        sockets.accept(first + 1, Time::START, Syn::Utp(&syn), SOMEBODY);
        let answer = utp(sockets.get_mut(first + 1));
        ids.insert(syn.connection_id);
        active.insert(syn.seq_nr);
        passive.insert(answer.seq_nr);
    }
    for numbers in [ids, active, passive] {
        // Of 64 among 2^16 hardly two are the same, and hardly all lie in three quarters.
        assert!(numbers.len() >= 62, "{numbers:?}");
        assert!(numbers.first() < Some(&0x4000) && numbers.last() > Some(&0xc000), "{numbers:?}");
    }
}

#[test]
fn each_end_whose_controller_draws_has_a_stream_of_its_own() {
    for controller in Kind::ALL {
        let mut sockets: Sockets<u32> = Sockets::new(1, None);
        let config = tcp::Config { controller, ledbat: controller.ledbat(), ..linux() };
        let stack = Stack::Tcp(Arc::new(config));
        for pair in 1..=2 {
            open(&mut sockets, &stack);
            let drawing = if controller.draws() { 2 * pair } else { 0 };
            assert_eq!(sockets.drawing, drawing, "{controller:?}");
        }
    }
}

#[test]
fn timeouts_are_counted_by_class() {
    let mut timeouts = Vec::new();
    for (class, more) in [(NO_CLASS, 3), (5, 0), (2, 1), (0, 4), (2, 2)] {
        count_timeouts(&mut timeouts, class, more);
    }
    assert_eq!(timeouts, [4, 0, 3]);
}
