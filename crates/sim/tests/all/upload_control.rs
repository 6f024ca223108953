//! Upload controllers beside the clients of a swarm: what they hear, and what they do.

use crate::common::*;
use flashcrowd_base::{Probability, Rate, Span};
use flashcrowd_link::{Loss, LossModel, Side};
use flashcrowd_plan::*;
use flashcrowd_sim::{Column, RunHandle, Table, simulate};
use flashcrowd_swarm::profile;
use flashcrowd_upload::UploadControl;
use proptest::prelude::*;

/// Host of the reflector, which has no line of its own.
const SERVER: u32 = 4;
/// A seed's line: 12.5 ms each way, and 64 B at 1 Mbit/s up and at 8 Mbit/s down.
const RTT_S: f64 = 0.025 + 0.000_512 + 0.000_064;

fn controlled(name: &str) -> ControlledUpload {
    ControlledUpload {
        controller: UploadControl::named(name).expect("there is such a controller"),
        reflectors: vec![SERVER],
        probe_bytes: 64,
        start_spread_ns: Span::ZERO,
        lateness_ns: Span::ZERO,
        poll_ns: Span::from_secs(1),
        interface: ClientInterface { refresh_ns: Span::ZERO, window_ns: None, step_bytes: 1 },
    }
}
/// A seed on ADSL with a controller, three leechers at once, and a minute.
fn home(client: &str, control: Option<ControlledUpload>) -> Plan {
    let mut plan = adsl_swarm(3, 100_000_000, 200, None);
    plan.profiles = vec![profile::named(client).expect("there is such a client")];
    let server =
        Host { name: "server".to_owned(), group: 0, stack: 0, up: Vec::new(), down: Vec::new() };
    plan.network.hosts.push(server);
    plan.stop.horizon_ns = Span::from_secs(60);
    let [seeds, leechers] = &mut swarm(&mut plan).populations[..] else { panic!("two of them") };
    seeds.upload_control = control;
    leechers.arrivals = Arrivals::FlashCrowd { start_ns: Span::ZERO, spread_ns: Span::ZERO };
    plan
}
fn run(plan: &Plan, seed: u64) -> Vec<Table> {
    plan.check().expect("the plan is sound");
    simulate(plan, seed, &RunHandle::default()).expect("the plan runs")
}
fn values(tables: &[Table], column: &str) -> Vec<Option<f64>> {
    match table(tables, "control").column(column).expect("the column exists") {
        Column::MaybeF64(values) => values.clone(),
        _ => numbers(tables, "control", column).into_iter().map(Some).collect(),
    }
}
fn bytes_per_second(rate: u64) -> Rate {
    Rate::from_bps(rate * 8).expect("more than zero")
}
fn fixed(rate: u64) -> ControlledUpload {
    let mut control = controlled("fixed");
    let UploadControl::Fixed(parameters) = &mut control.controller else { panic!("it is fixed") };
    parameters.limit_bps = bytes_per_second(rate);
    control
}

#[test]
fn a_controller_that_changes_nothing_changes_no_other_table() {
    for client in ["modern", "libtorrent", "mainline-4.0.2"] {
        let mut plain = home(client, None);
        swarm(&mut plain).populations[0].upload_bps = Some(bytes_per_second(50_000)).into();
        let mut same = plain.clone();
        swarm(&mut same).populations[0].upload_control = Some(fixed(50_000));
        let [plain, same] = [&plain, &same].map(|plan| run(plan, 1));
        assert_eq!(table(&plain, "control").rows(), 0);
        assert_eq!(table(&same, "control").rows(), 60);
        for (before, after) in plain.iter().zip(&same) {
            // Events are counted, and each question to the client is one.
            if !["control", "run"].contains(&before.name) {
                assert_eq!(before, after, "{client}");
            }
        }
    }
}

#[test]
fn a_probe_crosses_the_line_with_its_size() {
    let tables = run(&home("modern", Some(controlled("adaptive-drc-aimd"))), 1);
    let rtts: Vec<f64> = values(&tables, "rtt_s").into_iter().flatten().collect();
    assert!(rtts.len() >= 58, "{rtts:?}");
    let base = numbers(&tables, "control", "base_rtt_s");
    assert!((base[0] - RTT_S).abs() < 1e-9, "{base:?}");
    assert!(rtts.iter().all(|rtt| *rtt >= base[0] - 1e-9), "{rtts:?}");
    let phases = texts(&tables, "control", "phase");
    assert_eq!((phases[5].as_str(), phases[59].as_str()), ("learning", "raising"));
    assert_eq!(texts(&tables, "control", "host")[7], "host-0");
}

/// An echo of RFC 792: its identifier is the number of the peer, from one on.
#[test]
fn a_probe_is_an_echo_request_of_its_peer() {
    let mut plan = home("modern", Some(controlled("adaptive-drc-aimd")));
    plan.stop.horizon_ns = Span::from_millis(9500);
    plan.measures.capture =
        Some(Capture { hosts: vec![SERVER], from_ns: Span::ZERO, to_ns: None, snap_bytes: None });
    let tables = run(&plan, 1);
    let (mut asked, mut answered) = (Vec::new(), Vec::new());
    for (sent, packet) in captured_packets(&tables) {
        let word = |at| u16::from_be_bytes([packet[at], packet[at + 1]]);
        // Last bytes of the addresses, type, identifier, number.
        let seen = ([packet[15], packet[19]], packet[20], word(24), word(26));
        if sent { answered.push(seen) } else { asked.push(seen) }
    }
    let [home, server] = asked[0].0;
    assert_ne!(home, server);
    assert!(asked.len() >= 9, "{asked:?}");
    let numbers = 0..asked.len() as u16;
    assert_eq!(asked, numbers.clone().map(|it| ([home, server], 8, 1, it)).collect::<Vec<_>>());
    assert_eq!(answered, numbers.map(|it| ([server, home], 0, 1, it)).collect::<Vec<_>>());
}

#[test]
fn without_a_limit_probes_wait_in_the_uplink_s_queue() {
    // The rule is quiet for the first 20 samples; a floor above the line leaves the queue as it is.
    let mut control = controlled("adaptive-drc-aimd");
    let UploadControl::AdaptiveDrcAimd(rules) = &mut control.controller else { panic!("it is") };
    rules.floor_bps = bytes_per_second(1_000_000);
    let tables = run(&home("modern", Some(control)), 1);
    let rtts: Vec<f64> = values(&tables, "rtt_s").into_iter().flatten().collect();
    // The seed sends to three windows of 20 segments at most: 60 of 1500 B last 720 ms.
    let mean = mean(&rtts[30..]);
    assert!((0.3..0.75).contains(&mean), "{mean} s");
}

#[test]
fn a_client_rounds_limits_down_to_its_step() {
    let mut control = fixed(50_000);
    control.interface.step_bytes = 1024;
    let limits = values(&run(&home("modern", Some(control)), 1), "limit_bps");
    // The first question comes before the first limit.
    assert_eq!(limits[0], None);
    assert!(limits[1..].iter().all(|limit| *limit == Some(f64::from(48 * 1024 * 8))), "{limits:?}");
    let mut control = fixed(500);
    control.interface.step_bytes = 1024;
    let limits = values(&run(&home("modern", Some(control)), 1), "limit_bps");
    assert_eq!(limits[1], Some(8192.0), "never zero, which clients take for no limit");
}

#[test]
fn what_a_client_says_lags_as_its_interface_does() {
    let uploads = |interface| {
        let control = ControlledUpload { interface, ..fixed(50_000) };
        numbers(&run(&home("libtorrent", Some(control)), 1), "control", "upload_bps")
    };
    let exact = ClientInterface { refresh_ns: Span::ZERO, window_ns: None, step_bytes: 1 };
    let slow = ClientInterface { window_ns: Some(Span::from_secs(10)), ..exact };
    let [now, later] = [exact, slow].map(uploads);
    // After a start without a limit for a moment, both come to the limit, the mean 10 s later.
    assert!((mean(&now[20..]) / 400_000.0 - 1.0).abs() < 0.05, "{now:?}");
    assert!((mean(&later[20..]) / 400_000.0 - 1.0).abs() < 0.05, "{later:?}");
    let spread = |of: &[f64]| of.iter().fold(0.0f64, |max, it| max.max((it - 400_000.0).abs()));
    assert!(spread(&later[20..]) < spread(&now[20..]) / 2.0, "{now:?}\n{later:?}");
    // One that renews every 3 s reports nothing for two seconds of three.
    let seldom = uploads(ClientInterface { refresh_ns: Span::from_secs(3), ..exact });
    let silent = seldom[20..].iter().filter(|rate| **rate == 0.0).count();
    assert!((25..=28).contains(&silent), "{seldom:?}");
}

#[test]
fn a_limit_by_hand_is_overruled_when_the_controller_acts_next() {
    let mut plan = home("modern", Some(fixed(50_000)));
    plan.timeline.push(Change {
        at_ns: Span::from_millis(30_500),
        what: What::Upload {
            workload: 0,
            population: 0,
            upload_bps: Some(bytes_per_second(20_000)).into(),
        },
    });
    plan.measures.series =
        vec![Series { what: Sampled::UploadLimit, every_ns: Span::from_millis(250) }];
    let tables = run(&plan, 1);
    let series = numbers(&tables, "series", "value");
    let at = |seconds: f64| {
        let times = numbers(&tables, "series", "t_s");
        let place = times.iter().position(|it| *it == seconds).expect("it was sampled");
        series[place]
    };
    assert_eq!([at(30.25), at(30.75), at(31.25)], [400_000.0, 160_000.0, 400_000.0]);
    assert_eq!(values(&tables, "limit_bps")[31], Some(160_000.0), "the question found it");
    assert!(texts(&tables, "series", "source").iter().all(|source| source == "host-0"));
}

#[test]
fn a_reflector_that_answers_nothing_is_reported_as_such() {
    let mut plan = home("modern", Some(controlled("adaptive-drc-aimd")));
    let probability = Probability::new(1.0).expect("a probability");
    let mut link = plan.network.links[0].clone();
    link.name = "server down".to_owned();
    link.conditions.loss =
        Some(Loss { side: Side::Receiver, model: LossModel::Bernoulli { probability } });
    plan.network.links.push(link);
    let last = plan.network.links.len() as u32 - 1;
    plan.network.hosts[SERVER as usize].down.push(last);
    let tables = run(&plan, 1);
    assert!(values(&tables, "rtt_s").iter().all(Option::is_none));
    // One a second, given up after 4 s.
    let lost: f64 = numbers(&tables, "control", "lost").iter().sum();
    assert_eq!(lost, 56.0);
    assert!(texts(&tables, "control", "phase").iter().all(|phase| phase == "learning"));
}

#[test]
fn a_peer_that_leaves_takes_its_controller_along_and_its_successor_has_another() {
    let mut plan = home("modern", None);
    let leechers = &mut swarm(&mut plan).populations[1];
    leechers.upload_control = Some(fixed(50_000));
    leechers.departure = Departure::Session {
        stay_s: flashcrowd_base::Quantiles::new(vec![(0.0, 20.0), (1.0, 20.0)]).expect("sound"),
    };
    leechers.replace = true;
    swarm(&mut plan).stop_after_completions = Some(1000);
    let tables = run(&plan, 1);
    let (peers, times) = (numbers(&tables, "control", "peer"), numbers(&tables, "control", "t_s"));
    let of = |peer: f64| peers.iter().zip(&times).filter(move |it| *it.0 == peer).map(|it| *it.1);
    let first: Vec<f64> = of(1.0).collect();
    assert_eq!((first.len(), first[0]), (20, 0.0), "{first:?}");
    let second: Vec<f64> = of(4.0).collect();
    assert_eq!(second[0], 20.0, "{second:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Any controller beside any client, over a line that loses packets: limits are possible ones, two
    /// runs are the same, and no packet comes from nowhere.
    #[test]
    fn limits_stay_within_bounds_on_lossy_lines(
        name in prop::sample::select(&UploadControl::NAMES[..]),
        client in prop::sample::select(&profile::NAMES[..]),
        loss in 0.0..0.2f64,
        rate in 64_000u64..4_000_000,
        refresh in 0u64..3,
        window in 0u64..12,
        seed: u64,
    ) {
        let mut control = controlled(name);
        control.start_spread_ns = Span::from_secs(1);
        control.lateness_ns = Span::from_millis(50);
        control.interface = ClientInterface {
            refresh_ns: Span::from_secs(refresh),
            window_ns: (window > 0).then(|| Span::from_secs(window)),
            step_bytes: 1000,
        };
        let mut plan = home(client, Some(control));
        let probability = Probability::new(loss).expect("a probability");
        for link in &mut plan.network.links {
            let model = LossModel::Bernoulli { probability };
            link.conditions.loss = Some(Loss { side: Side::Receiver, model });
        }
        plan.network.links[0].conditions.rate_bps = Rate::from_bps(rate);
        let tables = run(&plan, seed);
        prop_assert_eq!(&tables, &run(&plan, seed));
        for limit in values(&tables, "limit_bps").into_iter().flatten() {
            // The slow start of mainline 5 begins at 10 MB/s.
            prop_assert!((8000.0..=1e9).contains(&limit) && limit % 8000.0 == 0.0, "{limit}");
        }
        for column in ["upload_bps", "download_bps"] {
            let rates = values(&tables, column);
            prop_assert!(rates.iter().flatten().all(|rate| (0.0..1e9).contains(rate)));
        }
        let total = |column| numbers(&tables, "run", column)[0];
        let over = total("packets_delivered") + total("packets_lost") + total("packets_dropped");
        prop_assert!(over <= total("packets_sent"), "{over}");
        prop_assert!(total("packets_sent") - over < 2000.0, "what is on its way is in queues");
    }
}
