use super::super::shared_rules;
use super::*;
use crate::congestion::tests::{ack, loss, params};

fn probing(gain: u64) -> Bbr {
    let mut bbr = Bbr::new(params(10));
    bbr.mode = Mode::ProbeBw;
    bbr.min_rtt = Span::from_millis(100);
    bbr.bandwidth.update(0, 1_000_000, 10);
    bbr.pacing_gain = gain;
    bbr
}

/// Whether a phase of this gain is over, `millis` ms after it began and with `in_flight` bytes in
/// flight; the path holds 100 kB.
fn is_over(gain: u64, millis: u64, in_flight: u64, newly_lost: u64) -> bool {
    let mut bbr = probing(gain);
    let now = Time::START + Span::from_millis(millis);
    let sample = RateSample { newly_lost, ..RateSample::default() };
    let before = bbr.phase;
    bbr.update_phase(&Ack { now, in_flight, ..ack(1000) }, &sample);
    bbr.phase != before
}

/// Linux: bbr_is_next_cycle_phase.
#[test]
fn a_phase_ends_by_its_length_and_by_what_is_in_flight() {
    let (up, down) = (UNIT * 5 / 4, UNIT * 3 / 4);
    // Probing goes on until 1.25 times the path is there, or something is lost.
    assert!(!is_over(up, 150, 110_000, 0));
    assert!(is_over(up, 150, 140_000, 0) && is_over(up, 150, 110_000, 1));
    assert!(!is_over(up, 50, 140_000, 0), "a round trip at least");
    // Draining ends as soon as the queue is gone.
    assert!(is_over(down, 50, 90_000, 0) && is_over(down, 150, 110_000, 0));
    assert!(!is_over(down, 50, 110_000, 0));
    assert!(is_over(UNIT, 150, 0, 0) && !is_over(UNIT, 50, 0, 0));
}

#[test]
fn only_an_application_that_was_silent_restarts() {
    for (in_flight, app_limited, restarts) in
        [(0, true, true), (1000, true, false), (0, false, false), (1000, false, false)]
    {
        let mut bbr = probing(UNIT);
        bbr.on_sent(&SentData { now: Time::START, bytes: 1000, in_flight, app_limited });
        assert_eq!(bbr.idle_restart, restarts, "{in_flight} {app_limited}");
    }
}

/// A recovery or a ProbeRtt makes the window small on purpose. Then the larger one of before stays
/// known, and otherwise the window of now counts (Linux: bbr_save_cwnd).
#[test]
fn a_recovery_gives_the_window_of_before_back() {
    let probe_round_trip = |bbr: &mut Bbr| bbr.mode = Mode::ProbeRtt;
    shared_rules::a_recovery_gives_the_window_of_before_back(
        probing(UNIT),
        |bbr| &mut bbr.window,
        probe_round_trip,
    );
}

/// Linux: bbr_set_cwnd_to_recover_or_restore.
#[test]
fn a_recovery_takes_off_what_is_lost_and_first_sends_what_arrives() {
    let mut bbr = probing(UNIT);
    bbr.window = 50_000;
    let after = |bbr: &mut Bbr, newly_lost, in_flight| {
        let sample = RateSample { newly_lost, in_flight, ..RateSample::default() };
        let follows = bbr.follows_recovery(2000, &sample);
        (follows, bbr.window)
    };
    assert_eq!(after(&mut bbr, 3000, 20_000), (false, 47_000));
    assert_eq!(after(&mut bbr, 0, 20_000), (false, 47_000));
    bbr.on_loss(&loss(47_000));
    assert_eq!(after(&mut bbr, 1000, 20_000), (true, 22_000));
    // In this round the window follows what is in flight up, and only losses lower it.
    assert_eq!(after(&mut bbr, 0, 21_000), (true, 23_000));
    assert_eq!(after(&mut bbr, 0, 10_000), (true, 23_000));
    assert_eq!(after(&mut bbr, 4000, 10_000), (true, 19_000));
    // After it the losses still count, but a packet is left.
    bbr.conserves = false;
    assert_eq!(after(&mut bbr, 4000, 10_000), (false, 15_000));
    assert_eq!(after(&mut bbr, 90_000, 10_000), (false, 1000));
}

/// After how many further rounds of these rates the pipe is full.
fn full_after(rates: &[u64], started: bool, app_limited: bool) -> Option<usize> {
    let mut bbr = Bbr::new(params(10));
    bbr.rounds.started = started;
    rates.iter().position(|&rate| {
        bbr.bandwidth.reset(0, rate);
        bbr.check_full(&RateSample { app_limited, ..RateSample::default() });
        bbr.full
    })
}

/// Linux: bbr_check_full_bw_reached.
#[test]
fn three_rounds_without_a_quarter_more_are_a_full_pipe() {
    shared_rules::three_rounds_without_a_quarter_more_are_a_full_pipe(full_after);
}

/// Linux: bbr_check_drain. The path holds 100 kB, and three bursts of two packets come to it.
#[test]
fn a_full_pipe_is_drained_before_it_is_probed() {
    let mut bbr = probing(UNIT);
    bbr.mode = Mode::Startup;
    bbr.check_drain(Time::START, 0);
    assert_eq!(bbr.state_name(), Some("startup"));
    bbr.full = true;
    bbr.check_drain(Time::START, 107_000);
    assert_eq!(bbr.state_name(), Some("drain"));
    bbr.check_drain(Time::START, 106_000);
    assert_eq!(bbr.state_name(), Some("probe_bw"));
    assert_ne!(bbr.phase, 1, "a cycle does not begin with the phase that drains");
}

/// Linux: bbr_quantization_budget. Whole packets, three bursts, an even number, and two packets for a
/// phase that probes.
#[test]
fn a_window_has_room_for_bursts() {
    let mut bbr = probing(UNIT);
    bbr.phase = 2;
    assert_eq!(bbr.in_flight_at(1_000_000, UNIT), 106_000);
    assert_eq!(bbr.in_flight_at(989_999, UNIT), 106_000, "99 packets and a bit");
    assert_eq!(bbr.in_flight_at(1_000_000, 2 * UNIT), 206_000);
    bbr.phase = 0;
    assert_eq!(bbr.in_flight_at(1_000_000, UNIT), 108_000);
    bbr.mode = Mode::Drain;
    assert_eq!(bbr.in_flight_at(1_000_000, UNIT), 106_000);
    // Below 1.2 Mbit/s a burst is a packet.
    bbr.pacing = 150_000;
    assert_eq!(bbr.in_flight_at(1_000_000, UNIT), 106_000);
    bbr.pacing = 149_999;
    assert_eq!(bbr.in_flight_at(1_000_000, UNIT), 104_000);
    // Before the first round trip it is the first window.
    bbr.min_rtt = Span::MAX;
    assert_eq!(bbr.in_flight_at(1_000_000, UNIT), 14_000);
}

/// Linux: bbr_update_gains, with bbr_high_gain, bbr_drain_gain and bbr_pacing_gain in 256ths.
#[test]
fn each_mode_has_its_gains() {
    for (mode, phase, gains) in [
        (Mode::Startup, 0, (739, 739)),
        (Mode::Drain, 0, (88, 739)),
        (Mode::ProbeBw, 0, (320, 512)),
        (Mode::ProbeBw, 1, (192, 512)),
        (Mode::ProbeBw, 2, (256, 512)),
        (Mode::ProbeRtt, 0, (256, 256)),
    ] {
        let mut bbr = probing(UNIT);
        (bbr.mode, bbr.phase) = (mode, phase);
        bbr.update_gains();
        assert_eq!((bbr.pacing_gain, bbr.window_gain), gains, "{mode:?} {phase}");
    }
}

/// Linux: bbr_init_pacing_rate_from_rtt, bbr_set_pacing_rate. Ten packets in 100 ms, times 739/256,
/// less one per cent.
#[test]
fn until_the_pipe_is_full_the_rate_only_rises() {
    let mut bbr = Bbr::new(params(10));
    let bytes = |bbr: &Bbr| bbr.pacing_rate().map(|rate| rate.bps() / 8);
    bbr.set_pacing(Span::from_millis(100), 0, HIGH_GAIN);
    assert_eq!(bytes(&bbr), Some(285_784));
    // Only the first round trip says what the first window is worth.
    bbr.set_pacing(Span::from_millis(1), 50_000, HIGH_GAIN);
    assert_eq!(bytes(&bbr), Some(285_784));
    bbr.set_pacing(Span::from_millis(100), 300_000, UNIT);
    assert_eq!(bytes(&bbr), Some(297_000));
    bbr.full = true;
    bbr.set_pacing(Span::from_millis(100), 50_000, UNIT);
    assert_eq!(bytes(&bbr), Some(49_500));
}

/// Linux: bbr_update_bw. What an application limited counts if it is no less.
#[test]
fn a_limited_sample_only_raises_the_bandwidth() {
    for (rate, app_limited, bandwidth) in [
        (500_000, true, 1_000_000),
        (1_000_000, true, 1_000_000),
        (1_500_000, true, 1_500_000),
        (500_000, false, 500_000),
    ] {
        let mut bbr = probing(UNIT);
        // The last sample is older than ten rounds.
        bbr.rounds.count = 20;
        let sample = RateSample {
            delivered: rate,
            interval: Span::from_secs(1),
            app_limited,
            ..RateSample::default()
        };
        bbr.update_bandwidth(Time::START, &sample);
        assert_eq!(bbr.rate(), bandwidth, "{rate} {app_limited}");
    }
}

/// Linux: bbr_update_min_rtt. A round trip that was not seen again for 10 s is looked for with four
/// packets in flight, for 200 ms and a round.
#[test]
fn an_old_round_trip_is_looked_for() {
    for (full, then) in [(true, "probe_bw"), (false, "startup")] {
        let mut bbr = probing(UNIT);
        (bbr.window, bbr.full) = (50_000, full);
        for (millis, in_flight, started, state) in [
            (10_000, 50_000, true, "probe_bw"),
            (10_001, 50_000, true, "probe_rtt"),
            (10_040, 4001, true, "probe_rtt"),
            // The 200 ms begin.
            (10_050, 4000, true, "probe_rtt"),
            (10_250, 4000, true, "probe_rtt"),
            (10_251, 4000, false, then),
        ] {
            bbr.rounds.started = started;
            let now = Time::START + Span::from_millis(millis);
            let rtt = Some(Span::from_millis(120));
            let sample = RateSample { in_flight, ..RateSample::default() };
            bbr.update_min_rtt(&Ack { now, rtt, ..ack(1000) }, &sample);
            assert_eq!(bbr.state_name(), Some(state), "at {millis} ms");
            let least = if millis > 10_000 { 120 } else { 100 };
            assert_eq!(bbr.min_rtt, Span::from_millis(least), "at {millis} ms");
            bbr.set_window(&ack(0), &sample);
            let window = if state == "probe_rtt" { 4000 } else { 50_000 };
            assert_eq!(bbr.window(), window, "at {millis} ms");
        }
    }
}

/// A round belongs to it, however long that takes; and after silence none is needed.
#[test]
fn a_round_trip_is_looked_for_through_a_round_and_not_after_silence() {
    let at = |millis| Time::START + Span::from_millis(millis);
    let mut bbr = probing(UNIT);
    let sample = RateSample { in_flight: 4000, delivered: 1000, ..RateSample::default() };
    for millis in [10_001, 10_300, 10_900] {
        bbr.rounds.started = false;
        bbr.update_min_rtt(&Ack { now: at(millis), ..ack(1000) }, &sample);
        assert!(bbr.is_withholding(), "at {millis} ms");
    }
    bbr.rounds.started = true;
    bbr.update_min_rtt(&Ack { now: at(11_000), ..ack(1000) }, &sample);
    assert!(!bbr.is_withholding());

    let mut bbr = probing(UNIT);
    bbr.idle_restart = true;
    bbr.update_min_rtt(&Ack { now: at(10_001), ..ack(1000) }, &sample);
    assert!(!bbr.is_withholding() && !bbr.idle_restart);
}

/// Linux: bbr_set_cwnd. The path holds 100 kB; the aim is twice that, and three bursts.
#[test]
fn the_window_grows_by_what_is_acknowledged_towards_its_aim() {
    for (full, window, total_delivered, after) in [
        (true, 100_000, 500_000, 102_000),
        (true, 205_000, 500_000, 206_000),
        (true, 300_000, 500_000, 206_000),
        (true, 1000, 500_000, 4000),
        // Until the pipe is full it does not come down, and the first window's worth always counts.
        (false, 205_000, 500_000, 207_000),
        (false, 300_000, 500_000, 300_000),
        (false, 300_000, 9999, 302_000),
        (false, 300_000, 10_000, 300_000),
    ] {
        let mut bbr = probing(UNIT);
        (bbr.phase, bbr.window_gain, bbr.full, bbr.window) = (2, WINDOW_GAIN, full, window);
        bbr.set_window(&ack(2000), &RateSample { total_delivered, ..RateSample::default() });
        assert_eq!(bbr.window(), after, "{full} {window} {total_delivered}");
    }
}

/// Linux: bbr_lt_bw_sampling, bbr_lt_bw_max_rtts. A policer that lets 1 MB/s through is found in eight rounds.
/// Its rate is used for 48 rounds of probing for bandwidth, and in the other modes for as long as they last.
#[test]
fn a_policer_s_rate_is_used_for_48_rounds_of_probing() {
    for (mode, used) in [(Mode::ProbeBw, Some(48)), (Mode::Startup, None)] {
        let mut bbr = probing(UNIT);
        bbr.mode = mode;
        let mut delivered = 0;
        let mut round = |bbr: &mut Bbr, newly_lost| {
            let sample = RateSample {
                delivered: 200_000,
                interval: Span::from_millis(100),
                prior_delivered: delivered,
                total_delivered: delivered + 100_000,
                newly_lost,
                ..RateSample::default()
            };
            delivered += 100_000;
            bbr.update_bandwidth(Time::START + Span::from_micros(delivered), &sample);
            bbr.rate()
        };
        let begin: Vec<u64> = (0..8).map(|_| round(&mut bbr, 20_000)).collect();
        assert_eq!(begin, [[2_000_000; 7].as_slice(), &[1_000_000]].concat());
        let last = (1..100).find(|_| round(&mut bbr, 0) == 2_000_000);
        assert_eq!(last, used, "{mode:?}");
        assert_eq!(bbr.mode, mode);
    }
}
