use super::*;
use crate::{Frame, Framing, Jitter, Loss, QueueLimit};
use flashcrowd_base::Probability;
use proptest::prelude::*;

fn direction() -> Direction {
    Direction::new(RandomStream::new(1, "test", 0))
}
fn offer(link: &mut Direction, line: &Conditions, now: Time, bytes: u32, tag: u32) -> Outcome {
    link.offer(line, now, &Frame { bytes, tag }, &mut |_, _| panic!("nothing is dropped later"))
}
fn megabit(queue: Option<u32>) -> Conditions {
    Conditions {
        rate_bps: Rate::from_bps(1_000_000),
        queue: QueueLimit { packets: queue, bytes: None }.into(),
        delay_ns: Span::from_millis(10),
        ..Conditions::default()
    }
}
fn at(millis: u64) -> Time {
    Time::START + Span::from_millis(millis)
}
fn lossy(model: LossModel, side: Side) -> Conditions {
    Conditions { loss: Some(Loss { side, model }), ..Conditions::default() }
}
fn p(value: f64) -> Probability {
    Probability::new(value).unwrap()
}

#[test]
fn packets_are_serialised_one_after_the_other() {
    let (mut link, line) = (direction(), megabit(None));
    // 1500 B take 12 ms at 1 Mbit/s
    assert_eq!(offer(&mut link, &line, at(0), 1500, 0), Outcome::Arrives(at(22)));
    assert_eq!(offer(&mut link, &line, at(0), 1500, 1), Outcome::Arrives(at(34)));
    assert_eq!(link.queueing_delay(&line, at(4)), Span::from_millis(20));
    assert_eq!(link.queued_packets(at(12)), 1);
    assert_eq!(offer(&mut link, &line, at(100), 1500, 2), Outcome::Arrives(at(122)));
    assert_eq!(link.counters().waited, Span::from_millis(12));
}

#[test]
fn what_is_taken_has_left_bit_by_bit() {
    let (mut link, line) = (direction(), megabit(None));
    for tag in 1..4 {
        offer(&mut link, &line, at(0), 1000 + tag, tag);
    }
    // 8.008 ms, then as long again and a little.
    let sent = |millis| {
        let sent = link.sent(&line, at(millis));
        (sent.packets, sent.bytes, sent.bits)
    };
    assert_eq!(sent(0), (0, 0, 0));
    assert_eq!(sent(8), (0, 0, 8_000));
    assert_eq!(sent(9), (1, 1001, 9_000));
    assert_eq!(sent(25), (3, 3006, 24_048));
}

/// A discipline's packets wait behind the one in transmission, as those of a plain queue do.
#[test]
fn the_delay_of_a_discipline_is_that_of_its_packets() {
    let line = Conditions { queue: crate::CoDel::default().into(), ..megabit(None) };
    let mut link = direction();
    for tag in 1..4 {
        assert_eq!(offer(&mut link, &line, at(0), 1500, tag), Outcome::Queued);
    }
    assert_eq!(link.queueing_delay(&line, at(0)), Span::from_millis(36));
    link.dequeue(&line, at(0), &mut |_, _| panic!("nothing is dropped"));
    assert_eq!(link.queueing_delay(&line, at(4)), Span::from_millis(32));
}

#[test]
fn a_full_queue_drops_the_newcomer() {
    let (mut link, line) = (direction(), megabit(Some(2)));
    offer(&mut link, &line, at(0), 1500, 0);
    offer(&mut link, &line, at(0), 1500, 1);
    assert_eq!(offer(&mut link, &line, at(11), 1500, 2), Outcome::Dropped);
    assert_eq!(offer(&mut link, &line, at(12), 1500, 3), Outcome::Arrives(at(46)));
    let bytes = Conditions {
        queue: QueueLimit { packets: None, bytes: Some(3000) }.into(),
        ..megabit(None)
    };
    let mut link = direction();
    offer(&mut link, &bytes, at(0), 1500, 0);
    assert_eq!(offer(&mut link, &bytes, at(0), 1501, 1), Outcome::Dropped);
    assert_ne!(offer(&mut link, &bytes, at(0), 1500, 1), Outcome::Dropped);
}

#[test]
fn a_link_without_a_rate_never_queues() {
    let mut link = direction();
    let wire = Conditions { delay_ns: Span::from_millis(5), ..Conditions::default() };
    for tag in 0..1000 {
        assert_eq!(offer(&mut link, &wire, at(1), 65536, tag), Outcome::Arrives(at(6)));
    }
    assert_eq!(link.queued_packets(at(1)), 0);
}

#[test]
fn a_new_rate_holds_for_what_is_still_queued() {
    let (mut link, old) = (direction(), megabit(None));
    offer(&mut link, &old, at(0), 1500, 1);
    offer(&mut link, &old, at(0), 1500, 2);
    let new = Conditions { rate_bps: Rate::from_bps(500_000), ..megabit(None) };
    // After 6 ms half of the first packet is left: 12 ms at half the rate.
    let moved = link.change(at(6), &old, &new);
    let expected = [
        Moved { tag: 1, arrived: at(22), arrives: at(6 + 12 + 10) },
        Moved { tag: 2, arrived: at(34), arrives: at(52) },
    ];
    assert_eq!(moved, expected);
    assert_eq!(offer(&mut link, &new, at(6), 1500, 2), Outcome::Arrives(at(76)));
}

/// Three packets at 1 Mbit/s, of which 6 ms later half of the first is left: the wait that counts is
/// the one for the rate that sends, whether it has risen, fallen, or nothing has to wait any more.
#[test]
fn waits_are_those_of_the_rate_that_sends() {
    let old = megabit(None);
    for (kbps, departures) in [(2_000, [9, 15, 21]), (500, [18, 42, 66]), (0, [6, 6, 6])] {
        let mut link = direction();
        for tag in 1..=3 {
            offer(&mut link, &old, at(0), 1500, tag);
        }
        assert_eq!(link.counters().waited, Span::from_millis(12 + 24));
        let new = Conditions { rate_bps: Rate::from_bps(kbps * 1000), ..old.clone() };
        let arrivals: Vec<Time> =
            link.change(at(6), &old, &new).iter().map(|moved| moved.arrives).collect();
        assert_eq!(arrivals, departures.map(|departs| at(departs + 10)), "{kbps}");
        let waited = Span::from_millis(departures[0] + departures[1]);
        assert_eq!(link.counters().waited, waited, "{kbps}");
        assert_eq!(link.queued_packets(at(6)), if kbps == 0 { 0 } else { 3 });
        assert_eq!(link.queueing_delay(&new, at(6)), Span::from_millis(departures[2] - 6));
    }
}

/// At 1 Mbit/s, when 100 ms become 10: no later packet arrives before one that is in flight,
/// whether it was waiting at the change or comes after it.
#[test]
fn a_falling_delay_does_not_reorder() {
    let new = megabit(None);
    let old = Conditions { delay_ns: Span::from_millis(100), ..new.clone() };
    for waits in [true, false] {
        let mut link = direction();
        assert_eq!(offer(&mut link, &old, at(0), 1500, 1), Outcome::Arrives(at(112)));
        if waits {
            assert_eq!(offer(&mut link, &old, at(0), 1500, 2), Outcome::Arrives(at(124)));
        }
        let moved = link.change(at(12), &old, &new);
        let expected = Moved { tag: 2, arrived: at(124), arrives: at(112) };
        assert_eq!(moved, if waits { vec![expected] } else { vec![] });
        // By itself it would arrive at 46 ms, or at 35.
        assert_eq!(offer(&mut link, &new, at(13), 1500, 3), Outcome::Arrives(at(112)));
        assert_eq!(offer(&mut link, &new, at(100), 1500, 4), Outcome::Arrives(at(122)));
        // Back again: what has to wait for others to arrive waits no longer than for them.
        assert_eq!(offer(&mut link, &new, at(100), 1500, 5), Outcome::Arrives(at(134)));
        let moved = link.change(at(112), &new, &old);
        assert_eq!(moved, [Moved { tag: 5, arrived: at(134), arrives: at(224) }]);
    }
}

/// A delay that was raised and falls again before anything left with it holds nothing back.
#[test]
fn only_what_is_in_flight_holds_newcomers_back() {
    let short = megabit(None);
    let long = Conditions { delay_ns: Span::from_millis(100), ..short.clone() };
    let mut link = direction();
    offer(&mut link, &short, at(0), 1500, 1);
    assert_eq!(link.change(at(13), &short, &long), []);
    assert_eq!(link.change(at(14), &long, &short), []);
    assert_eq!(offer(&mut link, &short, at(14), 1500, 2), Outcome::Arrives(at(36)));
    // Nothing has departed when the delay falls: nothing is in flight.
    let mut link = direction();
    offer(&mut link, &long, at(0), 1500, 1);
    let moved = link.change(at(6), &long, &short);
    assert_eq!(moved, [Moved { tag: 1, arrived: at(112), arrives: at(22) }]);
}

#[test]
fn a_rising_delay_holds_for_what_is_still_queued() {
    let old = megabit(None);
    let new = Conditions { delay_ns: Span::from_millis(60), ..old.clone() };
    let mut link = direction();
    offer(&mut link, &old, at(0), 1500, 1);
    offer(&mut link, &old, at(0), 1500, 2);
    let moved = link.change(at(12), &old, &new);
    assert_eq!(moved, [Moved { tag: 2, arrived: at(34), arrives: at(84) }]);
    assert_eq!(offer(&mut link, &new, at(24), 1500, 3), Outcome::Arrives(at(96)));
}

#[test]
fn a_packet_keeps_its_jitter_when_the_delay_changes() {
    let jitter =
        Jitter { shape: JitterShape::Uniform, spread_ns: Span::from_millis(20), reorder: true };
    let old = Conditions { jitter: Some(jitter), ..megabit(None) };
    let mut link = direction();
    let Outcome::Arrives(first) = offer(&mut link, &old, at(0), 1500, 1) else { panic!() };
    assert!(first > at(22) && first < at(42), "{first}");
    let new = Conditions { delay_ns: Span::from_millis(4), ..old.clone() };
    let six = Span::from_millis(6);
    let moved = link.change(at(6), &old, &new);
    assert_eq!(moved.len(), 1);
    assert_eq!(moved[0].arrived, first);
    assert_eq!(moved[0].arrives + six, first);
    // From now on without jitter: it delays no packet that comes later than it does.
    let plain = Conditions { jitter: None, ..new.clone() };
    assert_eq!(link.change(at(12), &new, &plain), []);
    let Outcome::Arrives(second) = offer(&mut link, &plain, at(12), 40, 2) else { panic!() };
    assert!(second + six >= first, "{second} overtakes {first}");
}

/// A normal jitter may also take something from the delay, and a change leaves that as it is.
#[test]
fn what_jitter_takes_away_stays_taken_away() {
    let jitter =
        Jitter { shape: JitterShape::Normal, spread_ns: Span::from_millis(3), reorder: true };
    let old = Conditions { delay_ns: Span::from_millis(50), jitter: Some(jitter), ..megabit(None) };
    let new = Conditions { delay_ns: Span::from_millis(40), ..old.clone() };
    let (mut early, mut late) = (0, 0);
    for seed in 0..40 {
        let mut link = Direction::new(RandomStream::new(seed, "test", 0));
        let Outcome::Arrives(before) = offer(&mut link, &old, at(0), 1500, 1) else { panic!() };
        early += u32::from(before < at(62));
        late += u32::from(before > at(62));
        let moved = link.change(at(6), &old, &new);
        assert_eq!((moved.len(), moved[0].arrived), (1, before));
        assert_eq!(moved[0].arrives + Span::from_millis(10), before);
    }
    assert!(early > 5 && late > 5, "{early} and {late}");
}

/// Mean and standard deviation of what is drawn: [0, 20] ms has 10 and 20 / sqrt(12).
#[test]
fn jitter_has_the_shape_that_it_says() {
    for (shape, spread, mean, deviation) in [
        (JitterShape::Uniform, 20, 60.0, 20.0 / libm::sqrt(12.0)),
        (JitterShape::Normal, 10, 50.0, 10.0),
    ] {
        let jitter = Jitter { shape, spread_ns: Span::from_millis(spread), reorder: true };
        let wire = Conditions {
            delay_ns: Span::from_millis(50),
            jitter: Some(jitter),
            ..Conditions::default()
        };
        let mut link = direction();
        let delays: Vec<f64> = (0..20_000)
            .map(|tag| match offer(&mut link, &wire, at(1000), 100, tag) {
                Outcome::Arrives(time) => time.since(at(1000)).seconds() * 1e3,
                other => panic!("{other:?}"),
            })
            .collect();
        let count = delays.len() as f64;
        let found = delays.iter().sum::<f64>() / count;
        let square = delays.iter().map(|delay| (delay - found) * (delay - found)).sum::<f64>();
        // Five standard errors of the mean of the wider one are 0.35 ms.
        assert!((found - mean).abs() < 0.35, "{shape:?}: {found}");
        assert!((libm::sqrt(square / count) - deviation).abs() < 0.35, "{shape:?}");
        if shape == JitterShape::Uniform {
            assert!(delays.iter().all(|delay| (50.0..=70.0).contains(delay)));
        }
    }
}

/// A drop-tail queue with jitter holds as many as one without, and what has departed leaves room.
#[test]
fn limits_hold_with_jitter_too() {
    let jitter =
        Jitter { shape: JitterShape::Uniform, spread_ns: Span::from_millis(1), reorder: false };
    for jitter in [None, Some(jitter)] {
        let (packets, bytes) = (Some(2), Some(3000));
        for limit in [(packets, None), (None, bytes)] {
            let queue = QueueLimit { packets: limit.0, bytes: limit.1 }.into();
            let line = Conditions { jitter, queue, ..megabit(None) };
            let mut link = direction();
            let mut takes = |now, bytes| {
                matches!(offer(&mut link, &line, at(now), bytes, 1), Outcome::Arrives(_))
            };
            assert_eq!([takes(0, 1500), takes(0, 1500), takes(11, 1500)], [true, true, false]);
            assert_eq!([takes(12, 1501), takes(12, 1500)], [limit.1.is_none(), limit.0.is_none()]);
            assert_eq!([takes(60, 1500), takes(60, 1500), takes(60, 1)], [true, true, false]);
            assert_eq!((link.counters().max_packets, link.counters().packets), (2, 5));
        }
    }
}

/// A packet that departs at the instant at which another comes is not there any more.
#[test]
fn the_longest_queue_is_that_of_packets_which_meet() {
    let (mut link, line) = (direction(), megabit(None));
    for now in [0, 12, 24] {
        offer(&mut link, &line, at(now), 1500, 1);
        assert_eq!(link.counters().max_packets, 1);
    }
    offer(&mut link, &line, at(35), 1500, 1);
    assert_eq!(link.counters().max_packets, 2);
}

#[test]
fn framing_counts_in_time_in_bytes_and_in_the_queue() {
    let framed = Conditions { framing: Framing::Plain { overhead_bytes: 500 }, ..megabit(None) };
    let limit = QueueLimit { packets: None, bytes: Some(2999) };
    let framed = Conditions { queue: limit.into(), ..framed };
    let mut link = direction();
    assert_eq!(offer(&mut link, &framed, at(0), 1000, 1), Outcome::Arrives(at(22)));
    assert_eq!(link.counters().bytes, 1500);
    assert_eq!(offer(&mut link, &framed, at(0), 1000, 2), Outcome::Dropped);
}

#[test]
fn cells_count_in_time_and_in_bytes() {
    let framing = Framing::Atm { encapsulation_bytes: 40 };
    let adsl = Conditions { framing, ..megabit(None) };
    let mut link = direction();
    let Outcome::Arrives(time) = offer(&mut link, &adsl, at(0), 1500, 1) else { panic!() };
    assert_eq!(time, at(10) + Span::from_micros(33 * 53 * 8));
    assert_eq!(link.counters().bytes, 33 * 53);
}

#[test]
fn a_frame_of_any_size_can_be_added_up() {
    let framing = Framing::Plain { overhead_bytes: u32::MAX };
    let wide = Conditions { framing, ..megabit(None) };
    let mut link = direction();
    assert!(matches!(offer(&mut link, &wide, at(0), 1500, 1), Outcome::Arrives(_)));
    assert_eq!(link.counters().bytes, u64::from(u32::MAX));
}

#[test]
fn bernoulli_and_gilbert_elliott_lose_their_share() {
    let bernoulli = lossy(LossModel::Bernoulli { probability: p(0.05) }, Side::Receiver);
    let bursts = lossy(
        LossModel::GilbertElliott {
            to_bad: p(0.01),
            to_good: p(0.2),
            loss_good: p(0.0),
            loss_bad: p(1.0),
        },
        Side::Sender,
    );
    // Stationary share of the bad state: 0.01 / (0.01 + 0.2).
    for (conditions, share) in [(bernoulli, 0.05), (bursts, 0.01 / 0.21)] {
        let mut link = direction();
        let n = 200_000;
        let lost = (0..n)
            .filter(|&tag| offer(&mut link, &conditions, at(0), 100, tag) == Outcome::Lost)
            .count();
        let measured = lost as f64 / f64::from(n);
        assert!((measured - share).abs() < 0.004, "{measured} instead of {share}");
        assert_eq!(link.counters().lost, lost as u64);
    }
}

#[test]
fn losses_at_the_receiver_take_their_share_of_the_line() {
    let all = LossModel::Bernoulli { probability: p(1.0) };
    for (side, waits) in [(Side::Receiver, 12), (Side::Sender, 0)] {
        let line = Conditions { loss: Some(Loss { side, model: all }), ..megabit(None) };
        let mut link = direction();
        assert_eq!(offer(&mut link, &line, at(0), 1500, 0), Outcome::Lost);
        assert_eq!(link.queueing_delay(&line, at(0)), Span::from_millis(waits));
    }
}

/// A packet lost at the receiver has been sent and counts, one lost at the sender has not: with a
/// rate and without, with jitter, and where a discipline decides.
#[test]
fn losses_are_counted_where_they_happen() {
    let all = LossModel::Bernoulli { probability: p(1.0) };
    let jitter =
        Jitter { shape: JitterShape::Uniform, spread_ns: Span::from_millis(1), reorder: true };
    for (side, sent) in [(Side::Sender, 0), (Side::Receiver, 3)] {
        let framing = Framing::Plain { overhead_bytes: 20 };
        let loss = Some(Loss { side, model: all });
        let line = Conditions { loss, framing, ..megabit(None) };
        let codel = crate::CoDel::default().into();
        for line in [
            Conditions { rate_bps: None, ..line.clone() },
            Conditions { jitter: Some(jitter), ..line.clone() },
            Conditions { queue: codel, ..line.clone() },
            line,
        ] {
            let mut link = direction();
            for tag in 1..=3 {
                let outcome = offer(&mut link, &line, at(0), 1000, tag);
                if outcome == Outcome::Queued {
                    let left = link.dequeue(&line, at(1000), &mut |_, _| panic!()).unwrap();
                    assert_eq!((left.tag, left.arrives), (tag, None));
                } else {
                    assert_eq!(outcome, Outcome::Lost);
                }
            }
            let counters = link.counters();
            assert_eq!((counters.lost, counters.dropped), (3, 0));
            assert_eq!((counters.packets, counters.bytes), (sent, sent * 1020));
        }
    }
}

#[test]
fn jitter_overtakes_only_where_it_may() {
    for reorder in [false, true] {
        for shape in [JitterShape::Uniform, JitterShape::Normal] {
            let jitter = Jitter { shape, spread_ns: Span::from_millis(20), reorder };
            let wire = Conditions {
                delay_ns: Span::from_millis(50),
                jitter: Some(jitter),
                ..Conditions::default()
            };
            let mut link = direction();
            let arrivals: Vec<Time> = (0..200)
                .map(|i| match offer(&mut link, &wire, at(i), 100, i as u32) {
                    Outcome::Arrives(time) => time,
                    other => panic!("{other:?}"),
                })
                .collect();
            assert_eq!(arrivals.is_sorted(), !reorder);
        }
    }
}

proptest! {
    /// Packets are conserved, the line is never faster than its rate, and order holds,
    /// whatever is offered and however rate, delay and jitter change.
    #[test]
    fn nothing_is_lost_or_made_by_a_changing_link(
        offers in prop::collection::vec((0u64..30, 40u32..1500, 0u8..20), 1..200),
        limit in 1u32..20,
        jitters in any::<bool>(),
    ) {
        let mut conditions = megabit(Some(limit));
        let mut link = direction();
        let mut now = at(0);
        let mut due = vec![None; offers.len()];
        let mut dropped = 0;
        for (tag, &(gap, bytes, change)) in offers.iter().enumerate() {
            now += Span::from_millis(gap);
            if change < 3 {
                let kbps = 100 + 37 * u64::from(bytes);
                let jitter = Jitter {
                    shape: JitterShape::Normal,
                    spread_ns: Span::from_millis(u64::from(bytes) / 100),
                    reorder: false,
                };
                let new = Conditions {
                    rate_bps: Rate::from_bps(kbps * 1000),
                    delay_ns: Span::from_millis(u64::from(bytes) % 97),
                    jitter: (jitters && bytes % 3 == 0).then_some(jitter),
                    ..conditions.clone()
                };
                for moved in link.change(now, &conditions, &new) {
                    let due = &mut due[moved.tag as usize - 1];
                    prop_assert_eq!(*due, Some(moved.arrived));
                    *due = Some(moved.arrives);
                }
                conditions = new;
            }
            match offer(&mut link, &conditions, now, bytes, tag as u32 + 1) {
                Outcome::Arrives(time) => due[tag] = Some(time),
                Outcome::Dropped => dropped += 1,
                other => prop_assert!(false, "{other:?}"),
            }
            prop_assert!(link.queued_packets(now) <= limit);
        }
        let arrivals: Vec<Time> = due.iter().flatten().copied().collect();
        prop_assert_eq!(arrivals.len() + dropped, offers.len());
        prop_assert!(arrivals.is_sorted(), "{:?}", arrivals);
        prop_assert_eq!(link.counters().dropped, dropped as u64);
    }
}
