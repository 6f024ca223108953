//! Links that follow a trace: departures worked out by hand, and a reference that knows nothing but the
//! cumulative capacity.

use flashcrowd_base::{RandomStream, Rate, Span, Time};
use flashcrowd_link::{
    Cake, CoDel, Conditions, Direction, FqCoDel, Frame, Framing, Jitter, JitterShape, Moved,
    Outcome, Pie, Queue, Red, Trace,
};
use proptest::prelude::*;

fn at(millis: u64) -> Time {
    Time::START + Span::from_millis(millis)
}
fn ms(millis: u64) -> Span {
    Span::from_millis(millis)
}
fn rates(points: &[(u64, u64)], length: Option<u64>) -> Trace {
    let points: Vec<(Span, u64)> = points.iter().map(|&(at, bps)| (ms(at), bps)).collect();
    Trace::rates(&points, length.map(ms)).expect("a trace")
}
fn opportunities(at_ms: &[u64]) -> Trace {
    Trace::opportunities(at_ms, 1500).expect("a trace")
}
fn following(trace: Trace) -> Conditions {
    Conditions { trace: Some(trace), ..Conditions::default() }
}
fn at_rate(bps: u64) -> Conditions {
    Conditions { rate_bps: Rate::from_bps(bps), ..Conditions::default() }
}
fn direction() -> Direction {
    Direction::new(RandomStream::new(1, "test", 0))
}

/// A link, and the millisecond at which each packet arrives that it is offered.
struct Line {
    link: Direction,
    like: Conditions,
    tag: u32,
}

impl Line {
    fn new(like: Conditions) -> Line {
        Line { link: direction(), like, tag: 0 }
    }
    fn offer(&mut self, millis: u64, bytes: u32) -> f64 {
        self.tag += 1;
        let packet = Frame { bytes, tag: self.tag };
        match self.link.offer(&self.like, at(millis), &packet, &mut |_, _| {}) {
            Outcome::Arrives(time) => time.seconds() * 1e3,
            other => panic!("{other:?}"),
        }
    }
    fn change(&mut self, millis: u64, new: Conditions) -> Vec<(u32, f64)> {
        let moved = self.link.change(at(millis), &self.like, &new);
        self.like = new;
        moved.iter().map(|it: &Moved| (it.tag, it.arrives.seconds() * 1e3)).collect()
    }
}

/// 1 Mbit/s for 10 ms, nothing for 20, 2 Mbit/s for 10, and again.
fn outage() -> Trace {
    rates(&[(0, 1_000_000), (10, 0), (30, 2_000_000)], Some(40))
}

/// Of the first packet's 12 kbit, 10 are sent before the outage and 2 after it; the third sends 6 before
/// the trace begins again and 6 after.
#[test]
fn packets_wait_for_the_end_of_an_outage() {
    let mut line = Line::new(Conditions { delay_ns: ms(5), ..following(outage()) });
    assert_eq!([0, 0, 0].map(|now| line.offer(now, 1500)), [36.0, 42.0, 51.0]);
    assert_eq!(line.link.counters().waited, ms(31 + 37));
    // In the third outage, at 90 to 110 ms; 125 bytes are a kilobit.
    assert_eq!([95, 95, 109].map(|now| line.offer(now, 125)), [115.5, 116.0, 116.5]);
    // After 25 rounds, and many more.
    assert_eq!([1_000, 40_000_005].map(|now| line.offer(now, 125)), [1_006.0, 40_000_011.0]);
}

#[test]
fn the_last_rate_holds_where_nothing_begins_again() {
    let mut line = Line::new(following(rates(&[(0, 1_000_000), (10, 100_000)], None)));
    assert_eq!(line.offer(0, 1500), 10.0 + 20.0);
    assert_eq!(line.offer(1_000, 1500), 1_120.0);
}

/// 150 kB are 40 rounds of 30 kbit; whole rounds need no look at each piece.
#[test]
fn a_long_train_takes_many_rounds() {
    let mut line = Line::new(following(outage()));
    assert_eq!(line.offer(0, 150_000), 1_600.0);
    assert_eq!(line.offer(0, 125), 1_601.0);
    let mut line = Line::new(following(rates(&[(0, 1), (1, 0)], Some(2))));
    // A bit per second, half of the time: 400 kbit take 800 ks, and their last millisecond is on.
    assert_eq!(line.offer(0, 50_000), 800_000_000.0 - 1.0);
}

/// Mahimahi's rule: each line carries one packet of full size, opportunities with an empty queue are
/// lost, the last instant is the first of the next round.
#[test]
fn an_opportunity_carries_a_packet() {
    let mut line = Line::new(following(opportunities(&[5, 5, 10, 20])));
    assert_eq!([0; 7].map(|now| line.offer(now, 1500)), [5.0, 5.0, 10.0, 20.0, 25.0, 25.0, 30.0]);
    // One of that very instant has gone by.
    assert_eq!([45, 45].map(|now| line.offer(now, 1500)), [50.0, 60.0]);
    assert_eq!(line.offer(1_007, 1500), 1_010.0);
    assert_eq!(line.offer(2_000_000_019, 1500), 2_000_000_020.0);
}

#[test]
fn small_packets_share_an_opportunity() {
    let mut line = Line::new(following(opportunities(&[5, 10, 20])));
    assert_eq!([0, 0, 4, 4].map(|now| line.offer(now, 500)), [5.0, 5.0, 5.0, 10.0]);
    // The rest of it is lost with an empty queue: at 11 ms the queue has been empty since 10.
    assert_eq!(line.offer(11, 500), 20.0);
    assert_eq!(line.link.counters().waited, ms(5 + 5 + 1 + 6 + 9));
}

#[test]
fn a_large_packet_takes_several_opportunities() {
    let mut line = Line::new(following(opportunities(&[5, 5, 10, 20])));
    // 4000 bytes of 4500, 500 of the rest, and none is left.
    assert_eq!(line.offer(0, 4000), 10.0);
    assert_eq!([1, 1].map(|now| line.offer(now, 500)), [10.0, 20.0]);
    // It waited for its first one.
    assert_eq!(line.link.counters().waited, ms(5 + 9 + 19));
}

#[test]
fn framing_takes_its_part_of_an_opportunity() {
    let framing = Framing::Plain { overhead_bytes: 4 };
    let trace = Trace::opportunities(&[10, 20, 30], 1504).expect("a trace");
    let mut line = Line::new(Conditions { framing, ..following(trace) });
    // As in Mahimahi, where each packet has the 4 bytes of its TUN device: two of 750 do not fit.
    assert_eq!([0; 4].map(|now| line.offer(now, 750)), [10.0, 20.0, 20.0, 30.0]);
}

#[test]
fn a_full_queue_drops_on_a_trace_too() {
    let queue = Queue::packets(2);
    let mut line = Line::new(Conditions { queue, ..following(opportunities(&[10, 20])) });
    assert_eq!([line.offer(0, 1500), line.offer(0, 1500)], [10.0, 20.0]);
    let third = Frame { bytes: 1500, tag: 3 };
    let outcome = line.link.offer(&line.like, at(9), &third, &mut |_, _| {});
    assert_eq!(outcome, Outcome::Dropped);
    assert_eq!((line.link.queued_packets(at(9)), line.link.queued_packets(at(10))), (2, 1));
    assert_eq!(line.offer(10, 1500), 30.0);
}

#[test]
fn the_delay_of_the_queue_is_that_of_the_trace() {
    let mut line = Line::new(following(outage()));
    line.offer(0, 1500);
    assert_eq!(line.link.queueing_delay(&line.like, at(6)), ms(25));
    let mut line = Line::new(following(opportunities(&[10, 20])));
    // Also of one that finds an empty queue: it waits for the next opportunity.
    assert_eq!(line.link.queueing_delay(&line.like, at(3)), ms(7));
    line.offer(4, 1500);
    assert_eq!(line.link.queueing_delay(&line.like, at(4)), ms(16));
    assert_eq!(line.link.queueing_delay(&line.like, at(113)), ms(7));
}

/// Another delay moves arrivals by its difference and no departure: the trace goes on.
#[test]
fn a_trace_goes_on_when_something_else_changes() {
    for trace in [outage(), opportunities(&[7, 31, 37, 40])] {
        let (mut kept, mut changed) =
            (Line::new(following(trace.clone())), Line::new(following(trace)));
        let departs = [0, 0, 3].map(|now| (kept.offer(now, 1500), changed.offer(now, 1500)));
        let later = Conditions { delay_ns: ms(100), ..changed.like.clone() };
        let moved = changed.change(6, later);
        assert_eq!(moved, [1, 2, 3].map(|tag| (tag, departs[tag as usize - 1].0 + 100.0)));
        for now in [6, 35, 36, 99] {
            assert_eq!(changed.offer(now, 1500), kept.offer(now, 1500) + 100.0);
        }
        assert_eq!(changed.link.counters().waited, kept.link.counters().waited);
    }
}

/// Half of a packet is sent when the rate gives way to a trace: the trace begins then, and carries the
/// other half at its first opportunity, with half of the next packet.
#[test]
fn a_trace_begins_when_the_link_gets_it() {
    let mut line = Line::new(at_rate(1_000_000));
    assert_eq!([0, 0].map(|now| line.offer(now, 1500)), [12.0, 24.0]);
    let moved = line.change(6, following(opportunities(&[5, 20])));
    assert_eq!(moved, [(1, 11.0), (2, 26.0)]);
    // 750 bytes of that of 26 ms are left; the round ends then, the next has 31 and 46 ms.
    assert_eq!([7, 7].map(|now| line.offer(now, 750)), [26.0, 31.0]);
    // And so does one of rates, a link that has been idle, and one that is given it before any packet.
    for used in [false, true] {
        let mut line = Line::new(at_rate(1_000_000));
        if used {
            line.offer(0, 125);
        }
        line.change(100, following(outage()));
        assert_eq!([100, 100].map(|now| line.offer(now, 1500)), [131.0, 137.0]);
    }
}

/// Rounds in which nothing was sent count from when the trace began, however many there were.
#[test]
fn a_long_pause_keeps_the_phase_of_the_trace() {
    let mut line = Line::new(at_rate(1_000_000));
    line.change(105, following(opportunities(&[5, 20])));
    // Rounds of 20 ms from 105 on: the 496th begins at 10,005.
    assert_eq!([10_007, 10_012].map(|now| line.offer(now, 1500)), [10_010.0, 10_025.0]);
}

/// The wait of each packet is until the one before it has been sent: half of the first one is when the
/// second trace halves the rate, and its end moves from 12 to 18 ms.
#[test]
fn another_trace_changes_what_packets_waited() {
    let mut line = Line::new(following(rates(&[(0, 1_000_000)], None)));
    assert_eq!([0; 3].map(|now| line.offer(now, 1500)), [12.0, 24.0, 36.0]);
    assert_eq!(line.link.counters().waited, ms(12 + 24));
    let moved = line.change(6, following(rates(&[(0, 500_000)], None)));
    assert_eq!(moved, [(1, 18.0), (2, 42.0), (3, 66.0)]);
    assert_eq!(line.link.counters().waited, ms(18 + 42));
}

#[test]
fn what_is_left_of_a_packet_follows_the_new_rate() {
    // Opportunities at 10 and 20 ms: the first 1500 of 3000 bytes are gone at 12 ms.
    let mut line = Line::new(following(opportunities(&[10, 20])));
    assert_eq!([0, 0].map(|now| line.offer(now, 3000)), [20.0, 40.0]);
    assert_eq!(line.change(12, at_rate(1_000_000)), [(1, 24.0), (2, 48.0)]);
    assert_eq!(line.offer(13, 1500), 60.0);
    // The second has 500 bytes of the opportunity at 10 ms, and the others still to come.
    let mut line = Line::new(following(opportunities(&[10, 20])));
    assert_eq!([0; 3].map(|now| line.offer(now, 1000)), [10.0, 20.0, 20.0]);
    assert_eq!(line.change(15, at_rate(1_000_000)), [(2, 19.0), (3, 27.0)]);
    // 2 kbit after the outage are left of the first.
    let mut line = Line::new(following(outage()));
    assert_eq!([0, 0].map(|now| line.offer(now, 1500)), [31.0, 37.0]);
    let moved = line.change(20, following(opportunities(&[1])));
    assert_eq!(moved, [(1, 21.0), (2, 22.0)]);
}

/// The instants at which packets leave a link whose discipline decides, each with its bytes.
fn managed(like: &Conditions, offers: &[(u64, u32)]) -> Vec<(Time, u32)> {
    let mut link = direction();
    let mut left = Vec::new();
    let mut offers = (1u32..).zip(offers).peekable();
    loop {
        let next = link.next_dequeue();
        let offer = offers.peek().map(|(_, (millis, _))| at(*millis));
        // What is due at the instant of an arrival leaves first.
        match (next, offer) {
            (Some(due), coming) if coming.is_none_or(|coming| due <= coming) => {
                let gone = link.dequeue(like, due, &mut |_, _| panic!("dropped"));
                let gone = gone.expect("one is due");
                left.push((gone.departs, gone.tag));
            }
            (_, Some(_)) => {
                let Some((tag, &(millis, bytes))) = offers.next() else { break };
                let packet = Frame { bytes, tag };
                let outcome = link.offer(like, at(millis), &packet, &mut |_, _| panic!("dropped"));
                assert_eq!(outcome, Outcome::Queued);
            }
            _ => break,
        }
    }
    left
}

/// Disciplines that have no reason to drop anything.
fn patient() -> [Queue; 5] {
    let hour = Span::from_secs(3600);
    let codel = CoDel { target_ns: hour, interval_ns: hour, ..CoDel::default() };
    let fq = FqCoDel { target_ns: hour, interval_ns: hour, ..FqCoDel::default() };
    let red = Red { min_packets: 900.0, max_packets: 990.0, ..Red::default() };
    let pie = Pie { target_ns: hour, max_burst_ns: hour, ..Pie::default() };
    let cake = Cake { rtt_ns: hour, ..Cake::default() };
    [codel.into(), fq.into(), red.into(), pie.into(), cake.into()]
}

/// A discipline is asked at the opportunity, and sends what a plain queue would send then.
#[test]
fn disciplines_use_the_same_opportunities() {
    let offers = [(0, 1500), (0, 500), (4, 1200), (5, 1500), (33, 4000), (34, 100), (100, 1500)];
    for trace in [opportunities(&[5, 5, 10, 20]), outage()] {
        let mut plain = Line::new(following(trace.clone()));
        let expected: Vec<f64> =
            offers.iter().map(|&(millis, bytes)| plain.offer(millis, bytes)).collect();
        for queue in patient() {
            let like = Conditions { queue: queue.clone(), ..following(trace.clone()) };
            let left = managed(&like, &offers);
            let millis: Vec<f64> = left.iter().map(|(time, _)| time.seconds() * 1e3).collect();
            assert_eq!(millis, expected, "{queue:?}");
            assert!(left.iter().map(|(_, tag)| *tag).eq(1..=7), "{queue:?}");
        }
    }
}

/// The class `LinkQueue` of Mahimahi's mm-link (commit ae477d4), fed in virtual time: what its log gives as
/// the departures of packets of these sizes, the 4 bytes of the TUN device included.
#[test]
fn departures_are_those_of_mahimahi() {
    let at_ms = [0, 1, 1, 8, 8, 8, 11, 23, 24, 24, 49, 51, 51, 51, 52, 61];
    // Milliseconds at which it comes, bytes, milliseconds at which it leaves.
    let log: [(u64, u32, u64); 48] = [
        (41, 604, 49),
        (41, 1004, 51),
        (41, 44, 51),
        (42, 56, 51),
        (82, 1504, 84),
        (82, 604, 85),
        (84, 1504, 85),
        (86, 754, 110),
        (86, 56, 110),
        (87, 1004, 112),
        (88, 1504, 112),
        (128, 56, 130),
        (128, 44, 130),
        (128, 56, 130),
        (129, 1004, 130),
        (131, 604, 133),
        (133, 44, 145),
        (138, 44, 145),
        (138, 1004, 145),
        (139, 604, 146),
        (141, 604, 146),
        (146, 604, 171),
        (148, 754, 171),
        (148, 604, 173),
        (148, 1504, 173),
        (149, 754, 173),
        (189, 44, 191),
        (189, 1504, 191),
        (189, 754, 191),
        (191, 754, 194),
        (196, 44, 206),
        (201, 56, 206),
        (202, 56, 206),
        (202, 754, 206),
        (207, 1504, 232),
        (207, 1504, 234),
        (207, 1004, 234),
        (209, 1504, 234),
        (209, 44, 234),
        (214, 754, 235),
        (219, 604, 235),
        (219, 1504, 244),
        (219, 754, 244),
        (221, 754, 244),
        (223, 56, 244),
        (225, 1504, 245),
        (226, 754, 245),
        (226, 1504, 252),
    ];
    let trace = Trace::opportunities(&at_ms, 1504).expect("a trace");
    let framing = Framing::Plain { overhead_bytes: 4 };
    let like = Conditions { framing, ..following(trace) };
    let mut line = Line::new(like.clone());
    for (comes, bytes, leaves) in log {
        assert_eq!(line.offer(comes, bytes - 4), leaves as f64, "{bytes} B at {comes} ms");
    }
    // A discipline that drops nothing sends them then, too.
    let offers: Vec<(u64, u32)> = log.iter().map(|it| (it.0, it.1 - 4)).collect();
    for queue in patient() {
        let left = managed(&Conditions { queue, ..like.clone() }, &offers);
        assert!(left.iter().map(|it| it.0).eq(log.iter().map(|it| at(it.2))));
    }
}

/// CAKE's own shaper keeps its rate: 1500 bytes a 12 ms, of which the line makes its next opportunity.
#[test]
fn cake_shapes_on_top_of_a_trace() {
    let cake = Cake { bandwidth_bps: Rate::from_bps(1_000_000), ..Cake::default() };
    let every: Vec<u64> = (1..=1000).map(|it| it * 5).collect();
    let like = Conditions { queue: cake.into(), ..following(opportunities(&every)) };
    let left = managed(&like, &[(0, 1500), (0, 1500), (0, 1500)]);
    let millis: Vec<f64> = left.iter().map(|(time, _)| time.seconds() * 1e3).collect();
    // The shaper lets them go at 0, 12 and 24 ms; the line is at 5, 15 and 25.
    assert_eq!(millis, [5.0, 15.0, 25.0]);
}

#[derive(Clone, Debug)]
struct Offered {
    gap_us: u64,
    bytes: u32,
}

fn offered() -> impl Strategy<Value = Vec<Offered>> {
    let one = (prop_oneof![Just(0u64), 0..3_000u64, 0..60_000u64], 1..4_000u32)
        .prop_map(|(gap_us, bytes)| Offered { gap_us, bytes });
    prop::collection::vec(one, 1..60)
}

/// Points of rates, and after how long they begin again.
fn pieces() -> impl Strategy<Value = (Vec<(u64, u64)>, Option<u64>)> {
    let rate = prop_oneof![Just(0u64), 1_000..10_000_000u64, Just(3_000_000u64)];
    let gaps = prop::collection::vec((1..20_000_000u64, rate), 1..12);
    (gaps, 1..20_000_000u64, any::<bool>(), 1_000..10_000_000u64).prop_map(
        |(gaps, last, repeats, rate)| {
            let mut begins = 0;
            let mut points = Vec::new();
            for (gap, bps) in gaps {
                points.push((begins, bps));
                begins += gap;
            }
            points.push((begins, rate));
            (points, repeats.then_some(begins + last))
        },
    )
}

fn instants() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(prop_oneof![Just(0u64), 0..4u64, 0..40u64], 1..30).prop_map(|gaps| {
        let mut at = 0;
        let mut all: Vec<u64> = gaps.into_iter().map(|gap| (at += gap, at).1).collect();
        if at == 0 {
            all.push(1);
        }
        all
    })
}

/// Bit/s times nanoseconds by an instant, added up piece by piece.
fn work(points: &[(u64, u64)], length: Option<u64>, until: u64) -> u128 {
    let within = |until: u64| -> u128 {
        let piece = |(place, &(begins, bps)): (usize, &(u64, u64))| {
            let ends = points.get(place + 1).map_or(u64::MAX, |next| next.0).min(until);
            u128::from(bps) * u128::from(ends.saturating_sub(begins))
        };
        points.iter().enumerate().map(piece).sum()
    };
    match length {
        Some(length) => within(length) * u128::from(until / length) + within(until % length),
        None => within(until),
    }
}

/// The least instant, from `low` on, at which this holds.
fn first(low: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let mut step = 1;
    while !holds(low + step) {
        step *= 2;
    }
    let (mut low, mut high) = (low, low + step);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) { high = middle } else { low = middle + 1 }
    }
    low
}

fn run(like: &Conditions, packets: &[Offered]) -> Vec<(u64, u64)> {
    let mut link = direction();
    let mut now = 0;
    let depart = |(tag, packet): (u32, &Offered)| {
        now += packet.gap_us * 1_000;
        let frame = Frame { bytes: packet.bytes, tag };
        match link.offer(like, Time::from_nanos(now), &frame, &mut |_, _| {}) {
            Outcome::Arrives(time) => (now, time.nanos()),
            other => panic!("{other:?}"),
        }
    };
    (1u32..).zip(packets).map(depart).collect()
}

proptest! {
    /// Each departure is the least instant by which the rates have sent the packet since it could begin.
    #[test]
    fn departures_on_rates_are_those_of_the_area((points, length) in pieces(), packets in offered()) {
        let spans: Vec<(Span, u64)> =
            points.iter().map(|&(at, bps)| (Span::from_nanos(at), bps)).collect();
        let trace = Trace::rates(&spans, length.map(Span::from_nanos)).expect("a trace");
        let mut free = 0;
        for ((now, departs), packet) in run(&following(trace), &packets).into_iter().zip(&packets) {
            let begins = now.max(free);
            let goal = work(&points, length, begins) + u128::from(packet.bytes) * 8_000_000_000;
            free = first(begins, |it| work(&points, length, it) >= goal);
            prop_assert_eq!(departs, free);
        }
    }

    /// Each departure is the least instant by which the opportunities are enough: those with an empty
    /// queue are lost, and no others. No interval carries more than they offer.
    #[test]
    fn departures_on_opportunities_are_those_of_the_count(instants in instants(), packets in offered()) {
        let trace = opportunities(&instants);
        let length = instants[instants.len() - 1] * 1_000_000;
        let count = |until: u64| -> u64 {
            let within = instants.iter().filter(|&it| it * 1_000_000 <= until % length).count();
            (until / length * instants.len() as u64 + within as u64) * 1500
        };
        let (mut used, mut carried) = (0, Vec::new());
        for ((now, departs), packet) in run(&following(trace), &packets).into_iter().zip(&packets) {
            used = count(now).max(used) + u64::from(packet.bytes);
            let expected = first(now, |it| count(it) >= used);
            prop_assert_eq!(departs, expected);
            carried.push((departs, u64::from(packet.bytes)));
        }
        prop_assert!(carried.is_sorted_by_key(|it| it.0));
        for (place, &(from, first)) in carried.iter().enumerate() {
            // Packets that depart after `from`: the first of them may have had a part of it.
            let after: Vec<_> = carried[place..].iter().filter(|it| it.0 > from).collect();
            let mut sum = 0;
            for (to, bytes) in after {
                sum += bytes;
                prop_assert!(sum <= count(*to) - count(from) + bytes.max(&4_000) + first);
            }
        }
    }

    /// A trace of one rate, in one piece or in several, is that rate: each outcome, each counter, also
    /// with jitter and framing.
    #[test]
    fn a_trace_of_one_rate_is_that_rate(
        bps in 1_000..50_000_000u64,
        cuts in prop::collection::vec(1..5_000u64, 0..5),
        repeats in any::<bool>(),
        jitter in any::<bool>(),
        packets in offered(),
    ) {
        let mut points = vec![(0, bps)];
        for gap in cuts {
            points.push((points[points.len() - 1].0 + gap, bps));
        }
        let length = repeats.then_some(points[points.len() - 1].0 + 7);
        let shape = JitterShape::Uniform;
        let like = Conditions {
            queue: Queue::packets(20),
            delay_ns: ms(3),
            jitter: jitter.then_some(Jitter { shape, spread_ns: ms(4), reorder: true }),
            framing: Framing::Plain { overhead_bytes: 38 },
            ..Conditions::default()
        };
        let plain = Conditions { rate_bps: Rate::from_bps(bps), ..like.clone() };
        let traced = Conditions { trace: Some(rates(&points, length)), ..like };
        let (mut one, mut other) = (direction(), direction());
        let mut now = Time::START;
        for (tag, packet) in (1u32..).zip(&packets) {
            now += Span::from_micros(packet.gap_us);
            let frame = Frame { bytes: packet.bytes, tag };
            let expected = one.offer(&plain, now, &frame, &mut |_, _| {});
            prop_assert_eq!(other.offer(&traced, now, &frame, &mut |_, _| {}), expected);
            prop_assert_eq!(other.queued_packets(now), one.queued_packets(now));
            let delay = one.queueing_delay(&plain, now);
            prop_assert_eq!(other.queueing_delay(&traced, now), delay);
        }
        prop_assert_eq!(other.counters(), one.counters());
    }

    /// Whatever changes in the middle, packets leave in order and none is forgotten.
    #[test]
    fn changes_keep_the_order(
        (points, length) in pieces(),
        instants in instants(),
        bps in 1_000..10_000_000u64,
        steps in prop::collection::vec((0..4usize, offered()), 1..5),
    ) {
        let spans: Vec<(Span, u64)> =
            points.iter().map(|&(at, bps)| (Span::from_nanos(at), bps)).collect();
        let rated = Trace::rates(&spans, length.map(Span::from_nanos)).expect("a trace");
        let kinds = [
            following(rated),
            following(opportunities(&instants)),
            at_rate(bps),
            Conditions { delay_ns: ms(9), ..following(opportunities(&instants)) },
        ];
        let (mut link, mut like) = (direction(), kinds[0].clone());
        let (mut now, mut tag) = (Time::START, 0u32);
        let mut arrivals: Vec<Time> = Vec::new();
        for (kind, packets) in steps {
            let moved = link.change(now, &like, &kinds[kind]);
            like = kinds[kind].clone();
            for it in moved {
                prop_assert_eq!(arrivals[it.tag as usize - 1], it.arrived);
                prop_assert!(it.arrives >= now);
                arrivals[it.tag as usize - 1] = it.arrives;
            }
            for packet in packets {
                now += Span::from_micros(packet.gap_us);
                tag += 1;
                let frame = Frame { bytes: packet.bytes, tag };
                match link.offer(&like, now, &frame, &mut |_, _| {}) {
                    Outcome::Arrives(time) => arrivals.push(time),
                    other => prop_assert!(false, "{:?}", other),
                }
            }
            prop_assert!(arrivals.is_sorted());
        }
        prop_assert_eq!(link.counters().packets, arrivals.len() as u64);
        prop_assert_eq!(link.queued_packets(Time::NEVER), 0);
    }
}
