use crate::{calls, downloads, pings, seconds, swarms, transfers, webs};
use flashcrowd_plan::{Plan, Workload};
use flashcrowd_workload::{Calls, Downloads, Pings, Swarms, Transfers, View, Webs};
use std::mem::discriminant;

/// Two workloads of each kind, the kinds one after another, twice.
fn mixed() -> Plan {
    let kinds = [
        transfers::sized(),
        downloads::of(downloads::download()),
        webs::reading(),
        pings::pinging(),
        calls::calling(),
        swarms::plan(swarms::crowd()),
    ];
    let each = kinds.iter().flat_map(|plan| &plan.workloads);
    let workloads = each.clone().chain(each).cloned().collect();
    Plan { workloads, ..swarms::plan(Vec::new()) }
}

#[test]
fn the_rules_of_a_kind_find_a_workload_by_its_number_in_the_plan() {
    let plan = mixed();
    let transfers = Transfers::new(&plan, 1, |_| true);
    let downloads = Downloads::new(&plan, 1);
    let webs = Webs::new(&plan, 1);
    let swarms = Swarms::new(&plan, 1, View::Inside, |_| true);
    for (workload, spec) in (0..).zip(&plan.workloads) {
        let earlier = plan.workloads[..workload as usize].iter();
        let place = earlier.filter(|it| discriminant(*it) == discriminant(spec)).count();
        let is = |kind| if kind { vec![place] } else { Vec::new() };
        // A transfer has two flows, and a web two users.
        let are = |kind| if kind { vec![2 * place, 2 * place + 1] } else { Vec::new() };
        let found: Vec<usize> = transfers.flows_of(workload).collect();
        assert_eq!(found, are(matches!(spec, Workload::Transfer(_))));
        let found: Vec<usize> = webs.users_of(workload).collect();
        assert_eq!(found, are(matches!(spec, Workload::Web(_))));
        let found = Vec::from_iter(downloads.place_of(workload));
        assert_eq!(found, is(matches!(spec, Workload::Download(_))));
        let found = Vec::from_iter(swarms.number(workload).map(|number| number as usize));
        assert_eq!(found, is(matches!(spec, Workload::Swarm(_))));
    }
}

#[test]
fn the_timeline_stops_the_workload_that_it_names() {
    let plan = mixed();
    for (workload, spec) in (0..).zip(&plan.workloads) {
        let (mut pings, mut calls) = (Pings::new(&plan), Calls::new(&plan));
        pings.stop(workload);
        calls.stop(workload);
        let stopped: Vec<u32> = pings
            .all
            .iter_mut()
            .filter_map(|it| it.send(seconds(2)).is_none().then_some(it.workload))
            .collect();
        assert_eq!(stopped, Vec::from_iter(matches!(spec, Workload::Ping(_)).then_some(workload)));
        let stopped: Vec<u32> = calls
            .all
            .iter_mut()
            .filter_map(|it| it.send().is_none().then_some(it.workload))
            .collect();
        assert_eq!(stopped, Vec::from_iter(matches!(spec, Workload::Call(_)).then_some(workload)));
    }
}
