//! A small network: hosts on lines of their own around one link that all share.

use flashcrowd_base::{Rate, Span};
use flashcrowd_link::{Conditions, Queue};
use flashcrowd_plan::{
    Capture, CorePath, FORMAT, Host, Link, Measures, Ping, Plan, Stop, Transfer, Workload,
};
use flashcrowd_transport::tcp::profiles;

pub(crate) fn rate(bps: u64) -> Option<Rate> {
    Rate::from_bps(bps)
}

/// A few hosts on lines of their own around one bottleneck, that send to each other and ping.
pub(crate) fn network(hosts: u32, line: Conditions, shared: Conditions, core: Conditions) -> Plan {
    let mut links =
        vec![Link { name: "shared".into(), conditions: shared, trace: None, delay: None }];
    let mut host = |index: u32| {
        let first = links.len() as u32;
        for way in ["up", "down"] {
            // No two lines alike: what is due at one instant on two of them has no order.
            let own = u64::from(index) * 1_003;
            let rate_bps = line.rate_bps.and_then(|it| rate(it.bps() + own));
            let conditions = Conditions { rate_bps, ..line.clone() };
            links.push(Link {
                name: format!("host-{index} {way}"),
                conditions,
                trace: None,
                delay: None,
            });
        }
        Host {
            name: format!("host-{index}"),
            group: 0,
            stack: 0,
            up: vec![first],
            down: vec![first + 1],
        }
    };
    let hosts: Vec<Host> = (0..hosts).map(&mut host).collect();
    let count = hosts.len() as u32;
    let transfer = |from: u32| {
        Workload::Transfer(Transfer {
            name: format!("from {from}"),
            from,
            to: (from + 1) % count,
            transport: None,
            flows: 2,
            size_bytes: None,
            rate_bps: None,
            start_ns: Span::from_millis(u64::from(from) * 37),
            spread_ns: Span::from_millis(200),
            stop_ns: None,
            program: None,
        })
    };
    let ping = Workload::Ping(Ping {
        name: "ping".into(),
        from: 0,
        to: count - 1,
        size_bytes: 84,
        interval_ns: Span::from_nanos(20_000_003),
        start_ns: Span::ZERO,
        stop_ns: None,
    });
    let capture =
        Capture { hosts: (0..count).collect(), from_ns: Span::ZERO, to_ns: None, snap_bytes: None };
    Plan {
        format: FORMAT,
        title: "test".into(),
        network: flashcrowd_plan::Network {
            groups: vec!["all".into()],
            hosts,
            links,
            traces: Vec::new(),
            cores: vec![CorePath { links: vec![0], conditions: core, draw: None }],
            core_of: vec![0],
        },
        stacks: vec![profiles::linux_6()],
        utps: Vec::new(),
        profiles: Vec::new(),
        workloads: (0..count).map(transfer).chain([ping]).collect(),
        timeline: Vec::new(),
        measures: Measures { capture: Some(capture), ..Measures::default() },
        stop: Stop { horizon_ns: Span::from_secs(4), stall_ns: Span::from_secs(60) },
    }
}

pub(crate) fn line() -> Conditions {
    Conditions {
        rate_bps: rate(7_000_003),
        queue: Queue::packets(40),
        delay_ns: Span::from_nanos(3_000_017),
        ..Conditions::default()
    }
}
