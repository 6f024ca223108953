use super::*;

fn ms(millis: u64) -> Span {
    Span::from_millis(millis)
}

/// 1 Mbit/s for 10 ms, nothing for 20, 2 Mbit/s for 10: 30 kbit in a round of 40 ms.
fn outage() -> Trace {
    let points = [(ms(0), 1_000_000), (ms(10), 0), (ms(30), 2_000_000)];
    Trace::rates(&points, Some(ms(40))).unwrap()
}

#[test]
fn capacity_is_the_area_under_the_rates() {
    let trace = outage();
    for (from, to, bits) in
        [(0, 10, 10e3), (5, 30, 5e3), (0, 40, 30e3), (30, 50, 30e3), (0, 4_000, 3e6), (40, 45, 5e3)]
    {
        assert!((trace.bits(ms(from), ms(to)) - bits).abs() < 1e-6, "{from} to {to}");
    }
    assert!((trace.mean_bps(4.0) - 750e3).abs() < 1e-6);
    let held = Trace::rates(&[(ms(0), 0), (ms(10), 1_000)], None).unwrap();
    assert!((held.bits(ms(0), ms(1_010)) - 1e3).abs() < 1e-9);
}

/// An instant at the end of a round belongs to it, and so does each of several at one instant.
#[test]
fn opportunities_are_counted_with_their_instant() {
    let trace = Trace::opportunities(&[0, 5, 5, 20], 1500).unwrap();
    for (from, to, count) in [
        (0, 4, 0),
        (0, 5, 2),
        (4, 5, 2),
        (5, 19, 0),
        (5, 20, 2), // that of 20 ms, and the first of the next round
        (0, 40, 8),
        (0, 20_000, 4_000),
    ] {
        let bits = count as f64 * 12_000.0;
        assert!((trace.bits(ms(from), ms(to)) - bits).abs() < 1e-6, "{from} to {to}");
    }
}

#[test]
fn the_present_rate_is_that_of_the_last_tenth_of_a_second() {
    let trace =
        Trace::rates(&[(ms(0), 1_000_000), (ms(1_000), 0), (ms(2_000), 500_000)], None).unwrap();
    let at = |millis| trace.recent(ms(millis)).bps();
    assert_eq!([at(50), at(1_000), at(1_050), at(2_100)], [1_000_000, 1_000_000, 500_000, 500_000]);
    // Nothing for 100 ms: what it has been so far. Nothing so far: what the first round will be.
    assert_eq!(at(1_250), 800_000);
    let late = Trace::opportunities(&[500], 1500).unwrap();
    assert_eq!(late.recent(ms(10)).bps(), 24_000);
    assert_eq!(late.recent(ms(550)).bps(), 120_000);
    // Less than one bit per second counts as that.
    let slow = Trace::rates(&[(ms(0), 0), (ms(100_000), 1)], None).unwrap();
    assert_eq!(slow.recent(ms(10)).bps(), 1);
}

#[test]
fn what_cannot_be_a_trace_is_refused() {
    let rates = |points: &[(u64, u64)], length: Option<u64>| {
        let points: Vec<(Span, u64)> = points.iter().map(|&(at, bps)| (ms(at), bps)).collect();
        Trace::rates(&points, length.map(ms)).map(|_| ()).map_err(|wrong| wrong.to_string())
    };
    assert_eq!(rates(&[(0, 5), (10, 0)], Some(11)), Ok(()));
    for (points, length, message) in [
        (&[][..], None, "a trace has at least one entry"),
        (&[(1, 5)], None, "a trace has its first entry at zero"),
        (&[(0, 5), (0, 6)], None, "entry 1 of a trace is later than the one before"),
        (&[(0, 5), (9, 6), (8, 6)], None, "entry 2 of a trace is later than the one before"),
        (&[(0, 1 << 60)], None, "entry 0 of a trace has at most 1000 Gbit/s"),
        (&[(0, 0), (5, 0)], Some(9), "a trace has a rate of more than zero somewhere"),
        (&[(0, 5), (5, 0)], None, "a trace whose last rate holds has one of more than zero"),
        (&[(0, 5), (5, 6)], Some(5), "a trace ends after its last entry"),
        (&[(0, 5)], Some(1 << 40), "a trace lasts for at most a year"),
    ] {
        assert_eq!(rates(points, length), Err(message.to_owned()));
    }
    let opportunities = |at: &[u64], bytes| {
        Trace::opportunities(at, bytes).map(|_| ()).map_err(|wrong| wrong.to_string())
    };
    assert_eq!(opportunities(&[0, 0, 1], 1), Ok(()));
    for (at, bytes, message) in [
        (&[][..], 1500, "a trace has at least one entry"),
        (&[0, 0], 1500, "a trace lasts for more than zero milliseconds"),
        (&[4, 9, 8], 1500, "entry 2 of a trace is not earlier than the one before"),
        (&[4], 0, "a trace carries more than zero bytes at each opportunity"),
        (&[u64::MAX], 1500, "a trace lasts for at most a year"),
    ] {
        assert_eq!(opportunities(at, bytes), Err(message.to_owned()));
    }
    let many = vec![1; MAX_ENTRIES + 1];
    assert_eq!(opportunities(&many, 1500), Err("a trace has at most a million entries".to_owned()));
}

#[test]
fn a_plan_has_it_as_it_was_given() {
    let opportunities = Trace::opportunities(&[0, 5, 5, 20], 1504).unwrap();
    for (trace, text) in [
        (
            outage(),
            r#"{"kind":"rates","points":[[0,1000000],[10000000,0],[30000000,2000000]],"length_ns":40000000}"#,
        ),
        (opportunities, r#"{"kind":"opportunities","at_ms":[0,5,5,20],"bytes":1504}"#),
    ] {
        assert_eq!(serde_json::to_string(&trace).unwrap(), text);
        assert_eq!(serde_json::from_str::<Trace>(text).unwrap(), trace);
    }
    let wrong = serde_json::from_str::<Trace>(r#"{"kind":"opportunities","at_ms":[],"bytes":1}"#);
    assert!(wrong.unwrap_err().to_string().starts_with("a trace has at least one entry"));
}
