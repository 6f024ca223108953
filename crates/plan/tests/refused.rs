//! Plans that are refused in words, before anything is allocated for them.

use flashcrowd_base::Span;
use flashcrowd_link::Conditions;
use flashcrowd_plan::{
    Arrivals, CorePath, Departure, FORMAT, Host, Measures, Network, Plan, Population, Stop, Swarm,
    Tracker, Workload,
};
use flashcrowd_swarm::{Profile, Role, TrackerRules, UploadLimit, profile};
use flashcrowd_transport::tcp::profiles;

/// A seed and a leecher, each on a host of its own.
fn swarm() -> Swarm {
    let population = |name: &str, role, host| Population {
        name: name.to_owned(),
        role,
        hosts: vec![host],
        profile: 0,
        transport: None,
        data: None,
        answers_utp: true,
        upload_bps: UploadLimit::Unlimited,
        upload_control: None,
        storage: None,
        arrivals: Arrivals::FlashCrowd { start_ns: Span::ZERO, spread_ns: Span::ZERO },
        departure: Departure::AllDone,
        replace: false,
        program: None,
    };
    Swarm {
        name: "swarm".to_owned(),
        size_bytes: 1_000_000,
        piece_bytes: 262_144,
        block_bytes: 16_384,
        tracker: Tracker {
            host: None,
            answer_delay_ns: Span::ZERO,
            rules: TrackerRules::MAINLINE,
            program: None,
        },
        populations: vec![population("seed", Role::Seed, 0), population("home", Role::Leecher, 1)],
        stop_after_completions: None,
        web_seeds: Vec::new(),
    }
}

/// Two hosts with nothing between them, and this swarm.
fn plan(swarm: Swarm) -> Plan {
    let host = |name: &str| Host {
        name: name.to_owned(),
        group: 0,
        stack: 0,
        up: Vec::new(),
        down: Vec::new(),
    };
    Plan {
        format: FORMAT,
        title: "a swarm".to_owned(),
        network: Network {
            groups: vec!["all".to_owned()],
            hosts: vec![host("all-1"), host("all-2")],
            links: Vec::new(),
            traces: Vec::new(),
            cores: vec![CorePath {
                links: Vec::new(),
                conditions: Conditions::default(),
                draw: None,
            }],
            core_of: vec![0],
        },
        stacks: vec![profiles::linux_6()],
        utps: Vec::new(),
        profiles: vec![client()],
        workloads: vec![Workload::Swarm(swarm)],
        timeline: Vec::new(),
        measures: Measures::default(),
        stop: Stop { horizon_ns: Span::from_secs(3600), stall_ns: Span::from_secs(600) },
    }
}

fn client() -> Profile {
    profile::named("modern").expect("a profile")
}

#[test]
fn a_swarm_without_populations_is_refused() {
    assert_eq!(plan(swarm()).check(), Ok(()));
    let error = plan(Swarm { populations: Vec::new(), ..swarm() }).check().expect_err("no peers");
    let words = "plan: workloads[0].populations: must not be empty: a swarm has peers";
    assert_eq!(error.to_string(), words);
}
