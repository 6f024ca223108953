use super::recorders::Recorders;
use super::{captures, connections, sources};
use crate::apps::{AnyApp, App, World};
use crate::kernel::TracedPacket;
use flashcrowd_plan::Plan;
use flashcrowd_workload::{Column, Outcome, Table, Totals, histogram, names, rtts};

/// Everything that a run recorded. `docs/tables.md` says what the columns mean.
pub(crate) fn tables(
    world: &World,
    apps: &[AnyApp<'_>],
    recorders: &Recorders,
    plan: &Plan,
    events: u64,
) -> Vec<Table> {
    let mut tables = vec![run(world, apps, events)];
    for table in apps.iter().flat_map(|app| app.tables(world)) {
        match tables.iter_mut().find(|other| other.name == table.name) {
            Some(other) => other.append(table),
            None => tables.push(table),
        }
    }
    let classes = || world.monitor.classes.iter();
    tables.extend([
        recorders.sampler.table(|what, source| sources::source_name(world, apps, what, source)),
        recorders.queue_lengths.table(),
        histogram("send_gaps", "gap_ms", classes().flat_map(|it| it.bins(&it.gaps))),
        histogram("payloads", "bytes", classes().flat_map(|it| it.bins(&it.payloads))),
        rtts(classes().map(|it| (&*it.workload, &*it.group, &it.rtts))),
        packets(world),
        captures::table(world, apps),
        recorders.link_window.table(world.network.links(), world.now),
    ]);
    tables.extend(connections::tables(world, plan));
    tables
}

fn run(world: &World, apps: &[AnyApp<'_>], events: u64) -> Table {
    let nothing_left = Outcome::nothing_left();
    let (outcome, reason) = world.outcome.as_ref().unwrap_or(&nothing_left).words();
    let network = world.network.totals;
    let totals = Totals {
        events,
        packets_sent: network.sent,
        packets_delivered: network.delivered,
        packets_lost: network.lost,
        packets_dropped: network.dropped,
        payload_bytes_delivered: apps.iter().map(App::payload_bytes).sum(),
        retransmitted_packets: world.retransmitted(),
    };
    totals.table(outcome, reason, world.now.seconds())
}

fn packets(world: &World) -> Table {
    let trace = world.monitor.trace.as_ref();
    let rows = trace.map_or(&[][..], |trace| &trace.packets);
    let streams = trace.map_or(&[][..], |trace| &trace.streams);
    let stream = |row: &TracedPacket| &streams[row.stream as usize];
    Table {
        name: "packets",
        columns: vec![
            ("transfer", names(rows.iter().map(|row| stream(row).owner.as_str()))),
            ("flow", Column::U32(rows.iter().map(|row| stream(row).number).collect())),
            ("t_s", Column::F64(rows.iter().map(|row| row.at.seconds()).collect())),
            ("ip_bytes", Column::U32(rows.iter().map(|row| row.ip_bytes).collect())),
            ("payload_bytes", Column::U32(rows.iter().map(|row| row.payload_bytes).collect())),
            ("retransmission", Column::U32(rows.iter().map(|row| u32::from(row.again)).collect())),
        ],
    }
}
