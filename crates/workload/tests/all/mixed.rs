use crate::{calls, downloads, numbers, pings, seconds, swarms, transfers, webs, words};
use flashcrowd_plan::{Plan, Workload};
use flashcrowd_workload::{
    Calls, Downloads, Ended, Pings, Sender, Swarms, Table, Transfers, View, Webs,
};
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

/// The engine may start what the timeline stopped before.
#[test]
fn what_is_stopped_before_its_start_does_not_start() {
    let plan = mixed();
    let mut downloads = Downloads::new(&plan, 1);
    let mut webs = Webs::new(&plan, 1);
    for download in &mut downloads.downloads {
        assert!(download.end(seconds(1), Ended::Stopped));
        download.begin(seconds(2));
        assert!(!download.is_under_way() && download.next_request(seconds(2)).is_none());
    }
    for user in &mut webs.users {
        assert!(!user.stop(), "no page is under way");
        assert!(user.ask(seconds(2)).is_none());
    }
    for table in downloads.tables(&plan).iter().chain([&webs.table()]) {
        assert_eq!(table.rows(), 0, "{}", table.name);
    }
}

#[test]
fn rows_name_their_workload_and_their_hosts() {
    let all = Plan { workloads: mixed().workloads.into_iter().take(6).collect(), ..mixed() };
    let named = |table: &Table, columns: &[&str]| {
        let columns = columns.iter().map(|name| words(table, name));
        columns.map(|words| words.join(" ")).collect::<Vec<_>>()
    };
    let mut transfers = Transfers::new(&all, 1, |_| true);
    transfers.flows[1].started = Some(seconds(1));
    let table = transfers.table(&all, seconds(2), |_| Sender::default());
    assert_eq!(named(&table, &["transfer", "from", "to"]), ["file", "host-1", "host-2"]);
    assert_eq!(numbers(&table, "flow"), [1.0]);

    let mut downloads = Downloads::new(&all, 1);
    downloads.downloads[0].begin(seconds(1));
    let [fetches, servers] = &downloads.tables(&all)[..] else { panic!("they are two") };
    assert_eq!(named(fetches, &["download", "to"]), ["image", "host-0"]);
    let expected = ["image image image", "host-0 host-0 host-0", "host-1 host-2 host-3"];
    assert_eq!(named(servers, &["download", "to", "server"]), expected);

    let mut webs = Webs::new(&all, 1);
    webs.users[1].ask(seconds(1));
    let table = webs.table();
    assert_eq!(
        (named(&table, &["web"]), numbers(&table, "user")),
        (vec!["news".to_owned()], vec![1.0])
    );

    let mut pings = Pings::new(&all);
    pings.all[0].send(seconds(1));
    assert_eq!(named(&pings.table(), &["ping"]), ["game"]);

    let mut calls = Calls::new(&all);
    calls.all[0].send();
    let expected = ["talk talk", "host-1 host-2", "host-2 host-1"];
    assert_eq!(named(&calls.table(&all), &["call", "from", "to"]), expected);

    let mut measured = all.clone();
    measured.measures.have = true;
    let mut swarms = Swarms::new(&measured, 1, View::Inside, |_| true);
    swarms.arrive(seconds(1), 2);
    swarms.has_piece(seconds(2), 2, 5);
    swarms.count_pieces(seconds(2), |_| None);
    let tables = swarms.tables(&measured, seconds(3), |_| None, |_| 0);
    let [downloads, populations, pieces, have] = &tables[..] else { panic!("they are four") };
    let columns = ["swarm", "population", "host"];
    assert_eq!(named(downloads, &columns), ["crowd", "leechers", "host-2"]);
    let expected = ["crowd crowd", "seed leechers", "seed leecher"];
    assert_eq!(named(populations, &["swarm", "population", "role"]), expected);
    assert_eq!(named(pieces, &columns[..2]), ["crowd", "leechers"]);
    assert_eq!(named(have, &columns[..2]), ["crowd", "leechers"]);
}
