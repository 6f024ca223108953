//! Servers do at once what their machines ask for: nothing waits for an event that happens to come.

use super::Run;
use crate::apps::AnyApp;
use crate::common::*;
use flashcrowd_base::{Rate, Span};
use flashcrowd_link::Conditions;
use flashcrowd_origin::Scheduling;
use flashcrowd_origin::disk::{HardDisk, Medium};
use flashcrowd_plan::{Arrivals, Clients, Plan, WebSeed, Workload};
use flashcrowd_swarm::profile;
use flashcrowd_workload::Outcome;

/// A server of 1 MiB with little memory at host 0, three clients of its own, one of which leaves early, and
/// two leechers of a swarm; 100 ms there and back, and lines down of 1, 2, 3, 4 and 5 Mbit/s.
fn crowd(policy: &str, unsent_bytes: u64) -> Plan {
    let mut plan = flash_crowd(5, 1 << 20, None, path(Span::from_millis(100), 0.001));
    for host in 1..=5 {
        let rate_bps = Rate::from_bps(host as u64 * 1_000_000);
        line_down(&mut plan, host, Conditions { rate_bps, ..Conditions::default() });
    }
    plan.profiles = vec![profile::named("libtorrent").expect("the profile exists")];
    let swarm = swarm(&mut plan);
    swarm.web_seeds = vec![WebSeed { origin: 1, file: 0 }];
    swarm.populations.remove(0);
    swarm.populations[0].hosts = vec![4, 5];
    let second = Span::from_secs(1);
    let mut origin = origin_of_extents(policy, Medium::HardDisk(HardDisk::default()));
    origin.files.size_bytes = 1 << 20;
    origin.settings.block_bytes = 1 << 14;
    origin.settings.extent_bytes = 1 << 16;
    origin.settings.memory_bytes = 4 << 16;
    origin.unsent_bytes = unsent_bytes;
    let arrivals = Arrivals::Sessions {
        at_ns: vec![Span::ZERO, second, second],
        leave_ns: vec![None, None, Some(second * 2)],
    };
    origin.populations = vec![Clients { arrivals, ..together(&[1, 2, 3], false) }];
    plan.workloads.push(Workload::Origin(origin));
    plan.stop.horizon_ns = Span::from_secs(600);
    plan
}

#[test]
fn whatever_a_machine_asks_for_is_done_with_the_event_that_it_follows() {
    for policy in Scheduling::NAMES {
        for unsent_bytes in [1, 4000, 1 << 16] {
            let plan = crowd(policy, unsent_bytes);
            plan.check().expect("the plan makes sense");
            let mut run = Run::new(&plan, 1);
            run.begin();
            while run.world.outcome.is_none() {
                let (now, event) = run.world.queue.pop().expect("the horizon comes");
                run.world.now = now;
                run.handle(event);
                run.world.forget_evicted();
                for app in &mut run.apps {
                    if let AnyApp::Origin(origins) = app {
                        assert!(origins.is_settled(), "{policy} {unsent_bytes}: {now} {event:?}");
                    }
                }
                if run.world.something_ended {
                    run.finish_if_done();
                }
            }
            let outcome = run.world.outcome.as_ref();
            assert!(matches!(outcome, Some(Outcome::Completed)), "{policy} {unsent_bytes}");
        }
    }
}
