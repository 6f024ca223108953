//! Plans that tests and benchmarks share.

#![allow(dead_code, unreachable_pub)] // Every user needs only some of them.

use flashcrowd_base::{Probability, Rate, Span};
use flashcrowd_link::{Conditions, Loss, LossModel, Queue, Side};
use flashcrowd_origin::disk::Medium;
use flashcrowd_origin::{Scheduling, Settings};
use flashcrowd_plan::*;
use flashcrowd_sim::{Column, Table};
use flashcrowd_swarm::{Role, TrackerRules, profile};
use flashcrowd_transport::tcp::profiles;

/// An empty plan for one group of `hosts` hosts with the given stack and path between them.
pub fn plan(hosts: u32, stack: &str, core: Conditions) -> Plan {
    let host = |index| Host {
        name: format!("host-{index}"),
        group: 0,
        stack: 0,
        up: Vec::new(),
        down: Vec::new(),
    };
    Plan {
        format: FORMAT,
        title: "test".to_owned(),
        network: Network {
            groups: vec!["all".to_owned()],
            hosts: (0..hosts).map(host).collect(),
            links: Vec::new(),
            cores: vec![CorePath { links: Vec::new(), conditions: core, draw: None }],
            traces: Vec::new(),
            core_of: vec![0],
        },
        stacks: vec![profiles::named(stack).expect("the profile exists")],
        utps: Vec::new(),
        profiles: vec![profile::named("mainline-4.0.2").expect("the profile exists")],
        workloads: Vec::new(),
        timeline: Vec::new(),
        measures: Measures::default(),
        stop: Stop { horizon_ns: Span::from_secs(100_000), stall_ns: Span::from_secs(3600) },
    }
}

/// A path without a queue.
pub fn path(rtt: Span, loss: f64) -> Conditions {
    let probability = Probability::new(loss).expect("a probability");
    let model = LossModel::Bernoulli { probability };
    Conditions {
        delay_ns: rtt / 2,
        loss: (loss > 0.0).then_some(Loss { side: Side::Receiver, model }),
        ..Conditions::default()
    }
}

/// A rate limit as clients mean it: kilobytes of 1024 bytes per second.
pub fn kilobytes(per_second: u64) -> Option<Rate> {
    Rate::from_bps(per_second * 1024 * 8)
}

/// The swarm of a plan whose first workload it is.
pub fn swarm(plan: &mut Plan) -> &mut Swarm {
    match &mut plan.workloads[0] {
        Workload::Swarm(swarm) => swarm,
        other => panic!("{other:?} is no swarm"),
    }
}

/// A flash crowd: one seed and `leechers` leechers who all stay.
pub fn flash_crowd(leechers: u32, bytes: u64, upload: Option<Rate>, core: Conditions) -> Plan {
    let mut plan = plan(leechers + 1, "linux-2.6", core);
    let population = |name: &str, role, hosts: Vec<u32>| Population {
        name: name.to_owned(),
        role,
        hosts,
        profile: 0,
        transport: None,
        data: None,
        answers_utp: true,
        upload_bps: upload.into(),
        upload_control: None,
        storage: None,
        arrivals: Arrivals::FlashCrowd { start_ns: Span::ZERO, spread_ns: Span::from_secs(10) },
        departure: Departure::AllDone,
        replace: false,
        program: None,
    };
    let mut seeds = population("seeds", Role::Seed, vec![0]);
    seeds.arrivals = Arrivals::FlashCrowd { start_ns: Span::ZERO, spread_ns: Span::ZERO };
    let leechers = population("leechers", Role::Leecher, (1..=leechers).collect());
    plan.workloads.push(Workload::Swarm(Swarm {
        name: "swarm".to_owned(),
        size_bytes: bytes,
        piece_bytes: 262_144,
        block_bytes: 16_384,
        tracker: Tracker {
            host: None,
            answer_delay_ns: Span::ZERO,
            rules: TrackerRules::MAINLINE,
            program: None,
        },
        populations: vec![seeds, leechers],
        stop_after_completions: None,
        web_seeds: Vec::new(),
    }));
    plan
}

/// `hosts` hosts on asymmetric access lines around a core without limits, each sending to
/// `flows` others until the horizon.
pub fn star(hosts: u32, flows: u32, seconds: u64) -> Plan {
    let mut plan = plan(hosts, "linux-6", Conditions::default());
    let line = |bps| Conditions {
        rate_bps: Rate::from_bps(bps),
        queue: Queue::packets(200),
        delay_ns: Span::from_micros(12_500),
        ..Conditions::default()
    };
    for (index, host) in plan.network.hosts.iter_mut().enumerate() {
        for (direction, bps) in [("up", 1_000_000), ("down", 8_000_000)] {
            let link = plan.network.links.len() as u32;
            let name = format!("host-{index} {direction}");
            plan.network.links.push(Link { name, conditions: line(bps), trace: None, delay: None });
            if direction == "up" { host.up.push(link) } else { host.down.push(link) }
        }
    }
    for from in 0..hosts {
        for step in 1..=flows {
            let mut flow = transfer(from, (from + step * 7) % hosts);
            flow.name = format!("{from}-{step}");
            flow.spread_ns = Span::from_secs(1);
            plan.workloads.push(Workload::Transfer(flow));
        }
    }
    plan.stop.horizon_ns = Span::from_secs(seconds);
    plan
}

/// One endless flow from the start.
pub fn transfer(from: u32, to: u32) -> Transfer {
    Transfer {
        name: format!("{from} to {to}"),
        from,
        to,
        transport: None,
        flows: 1,
        size_bytes: None,
        rate_bps: None,
        start_ns: Span::ZERO,
        spread_ns: Span::ZERO,
        stop_ns: None,
        program: None,
    }
}

/// The table of this name.
pub fn table<'a>(tables: &'a [Table], name: &str) -> &'a Table {
    tables.iter().find(|table| table.name == name).expect("the table exists")
}
/// The numbers of a column, whatever their type; those that do not exist are left out.
pub fn numbers(tables: &[Table], name: &str, column: &str) -> Vec<f64> {
    match table(tables, name).column(column).expect("the column exists") {
        Column::F64(values) => values.clone(),
        Column::MaybeF64(values) => values.iter().flatten().copied().collect(),
        Column::U64(values) => values.iter().map(|value| *value as f64).collect(),
        Column::U32(values) => values.iter().map(|value| f64::from(*value)).collect(),
        Column::MaybeU64(values) => values.iter().flatten().map(|value| *value as f64).collect(),
        Column::Text(..) | Column::MaybeText(..) | Column::Bytes(..) => {
            panic!("{column} is no number")
        }
    }
}
/// The texts of a column.
pub fn texts(tables: &[Table], name: &str, column: &str) -> Vec<String> {
    match table(tables, name).column(column).expect("the column exists") {
        Column::Text(codes, names) => {
            codes.iter().map(|code| names[*code as usize].clone()).collect()
        }
        _ => panic!("{column} is not a text"),
    }
}
/// Mean of some numbers.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// A swarm on asymmetric lines (1 Mbit/s up, 8 down, queues of `packets` packets) whose blocks go
/// by `data`: one seed that stays, and leechers that come one after another.
pub fn adsl_swarm(leechers: u32, bytes: u64, packets: u32, data: Option<TransportChoice>) -> Plan {
    let lines = star(leechers + 1, 0, 100_000);
    let mut plan = flash_crowd(leechers, bytes, None, Conditions::default());
    plan.network = lines.network;
    for link in &mut plan.network.links {
        link.conditions.queue = Queue::packets(packets);
    }
    plan.stacks = ["ns2-tcp", "ns2-ledbat"]
        .map(|name| profiles::named(name).expect("the profile exists"))
        .to_vec();
    plan.profiles = vec![profile::named("ns2-2011").expect("the profile exists")];
    let Some(Workload::Swarm(swarm)) = plan.workloads.first_mut() else { return plan };
    swarm.tracker.rules = TrackerRules::NS2;
    for population in &mut swarm.populations {
        population.data = data;
        population.departure = Departure::Never;
    }
    if let Some(leechers) = swarm.populations.last_mut() {
        leechers.arrivals = Arrivals::Poisson { start_ns: Span::ZERO, gap_ns: Span::from_secs(10) };
    }
    plan
}

/// Clients of a content server at these hosts, which come together.
pub fn together(hosts: &[u32], in_order: bool) -> Clients {
    Clients {
        name: "clients".to_owned(),
        hosts: hosts.to_vec(),
        in_order,
        arrivals: Arrivals::FlashCrowd { start_ns: Span::ZERO, spread_ns: Span::ZERO },
    }
}

/// A line of its own up from a host.
pub fn line_up(plan: &mut Plan, host: usize, name: &str, conditions: Conditions) {
    plan.network.hosts[host].up.push(plan.network.links.len() as u32);
    plan.network.links.push(Link { name: name.to_owned(), conditions, trace: None, delay: None });
}

/// A line of its own down to a host.
pub fn line_down(plan: &mut Plan, host: usize, conditions: Conditions) {
    let name = format!("down {host}");
    plan.network.hosts[host].down.push(plan.network.links.len() as u32);
    plan.network.links.push(Link { name, conditions, trace: None, delay: None });
}

/// A content server at host 0 with one file of 4 MiB, sixteen extents of which its memory holds five, and no
/// clients.
pub fn origin_of_extents(policy: &str, disk: Medium) -> Origin {
    Origin {
        name: "origin".to_owned(),
        host: 0,
        transport: None,
        files: Files { count: 1, size_bytes: 16 << 18, zipf: 0.0 },
        settings: Settings {
            block_bytes: 1 << 16,
            extent_bytes: 1 << 18,
            memory_bytes: 5 << 18,
            scheduling: Scheduling::named(policy).expect("the policy exists"),
            ..Settings::default()
        },
        disk,
        unsent_bytes: 1 << 16,
        request_bytes: 400,
        head_bytes: 300,
        part_bytes: 150,
        populations: Vec::new(),
    }
}

/// That server, and a client in any order at each of the other hosts, whose lines down have these rates.
pub fn content_server(core: Conditions, lines: &[u64], policy: &str, disk: Medium) -> Plan {
    let mut plan = plan(lines.len() as u32 + 1, "linux-6", core);
    for (host, bps) in (1..).zip(lines) {
        let rate_bps = Rate::from_bps(*bps);
        let queue = Queue::packets(200);
        line_down(&mut plan, host, Conditions { rate_bps, queue, ..Conditions::default() });
    }
    let hosts: Vec<u32> = (1..=lines.len() as u32).collect();
    plan.workloads.push(Workload::Origin(Origin {
        populations: vec![together(&hosts, false)],
        ..origin_of_extents(policy, disk)
    }));
    plan.stop.horizon_ns = Span::from_secs(3600);
    plan
}

/// Captured packets: whether their host sent them, and their bytes.
pub fn captured_packets(tables: &[Table]) -> Vec<(bool, &[u8])> {
    let directions = texts(tables, "captures", "direction");
    let Some(Column::Bytes(bytes, ends)) = table(tables, "captures").column("packet") else {
        panic!("it is a column of bytes")
    };
    let mut start = 0;
    let packet = |(&end, direction): (&u64, String)| {
        let begin = std::mem::replace(&mut start, end as usize);
        (direction == "sent", &bytes[begin..end as usize])
    };
    ends.iter().zip(directions).map(packet).collect()
}
