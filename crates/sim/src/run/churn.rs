//! Connections that come and go by the ten thousand leave nothing behind.

use super::Run;
use crate::RunHandle;
use crate::common::*;
use crate::kernel::Census;
use crate::record;
use flashcrowd_base::{Span, Time};
use flashcrowd_plan::{
    Arrivals, Change, Departure, PageSize, Plan, Reading, Transfer, TransportChoice, Web, What,
    Workload,
};
use flashcrowd_transport::utp;

/// The sockets that were left of a run, and its tables.
fn left_of(plan: &Plan) -> (Census, Vec<crate::Table>) {
    plan.check().expect("the plan makes sense");
    let mut run = Run::new(plan, 1);
    run.begin();
    run.advance(Time::NEVER, &RunHandle::default()).expect("nobody cancels it");
    (
        run.world.sockets.census(),
        record::tables(&run.world, &run.apps, &run.recorders, run.plan, run.events),
    )
}

/// Fifty users who fetch a page of 2 kB about every second, each over a new connection, until
/// `stop`; the path loses some of the packets.
fn readers(transport: Option<TransportChoice>, stop: Span) -> Plan {
    let mut plan = plan(2, "linux-6", path(Span::from_millis(20), 0.01));
    plan.utps = vec![utp::profiles::named("libutp").expect("the configuration exists")];
    plan.workloads = vec![Workload::Web(Web {
        name: "readers".to_owned(),
        from: 0,
        to: 1,
        transport,
        users: 50,
        connections: 1,
        request_bytes: 400,
        page: PageSize {
            median_bytes: 2000,
            sigma: 0.0,
            tail_from_bytes: 2000,
            tail_shape: 1.1,
            largest_bytes: 2000,
        },
        reading: Reading::Exponential { mean_ns: Span::from_secs(1) },
        start_ns: Span::ZERO,
        spread_ns: Span::from_secs(1),
        stop_ns: Some(stop),
    })];
    // Long enough for all that wait for an answer to give up.
    plan.stop.horizon_ns = stop + Span::from_secs(1000);
    plan
}

#[test]
fn ten_thousand_connections_share_the_sockets_of_those_open_at_once() {
    for (transport, seconds) in [(None, 250), (Some(TransportChoice::Utp(0)), 60)] {
        let (left, tables) = left_of(&readers(transport, Span::from_secs(seconds)));
        let pages = table(&tables, "pages").rows();
        assert!(pages > if transport.is_none() { 10_000 } else { 2000 }, "{pages}");
        // A page is asked for when the one before is there, whose connection may still be closing:
        // 50 users, two connections of two ends; a few linger for a lost packet.
        assert!(left.sockets <= 250, "{left:?}");
        assert_eq!(left, Census { sockets: left.sockets, ..Census::default() }, "{transport:?}");
    }
}

#[test]
fn peers_that_come_and_go_leave_neither_sockets_nor_messages() {
    let mut plan = flash_crowd(12, 1 << 18, None, path(Span::from_millis(20), 0.01));
    let Workload::Swarm(swarm) = &mut plan.workloads[0] else { panic!("it is a swarm") };
    swarm.populations[1].departure = Departure::AtOnce;
    swarm.populations[1].replace = true;
    swarm.populations[1].arrivals =
        Arrivals::FlashCrowd { start_ns: Span::ZERO, spread_ns: Span::from_secs(1) };
    let what = What::Stop { workload: 0 };
    plan.timeline = vec![Change { at_ns: Span::from_secs(100), what }];
    // A flow keeps the run going until the last connection is closed.
    let start_ns = Span::from_secs(2100);
    plan.workloads.push(Workload::Transfer(Transfer {
        start_ns,
        size_bytes: Some(1),
        ..transfer(0, 1)
    }));
    let (left, tables) = left_of(&plan);
    let peers = table(&tables, "downloads").rows();
    assert!(peers > 1000, "{peers}");
    // Twelve leechers and a seed, all connected to all, and those of the peers before them that
    // still close; at the end those of the flow.
    assert!(left.sockets <= 400, "{left:?}");
    assert_eq!(left, Census { sockets: left.sockets, in_use: 2, ..Census::default() });
}
