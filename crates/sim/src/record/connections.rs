use crate::apps::World;
use crate::kernel::{ConnectionLog, LogEvent, Logged, Metrics, PacketSeen};
use flashcrowd_base::Span;
use flashcrowd_plan::Plan;
use flashcrowd_workload::{Column, Table, maybe_names, names, seconds};

/// The connections that were logged, and what happened to them.
pub(super) fn tables(world: &World, plan: &Plan) -> [Table; 2] {
    let logs = world.monitor.logs.as_ref();
    let (ends, events) = logs.map_or((&[][..], &[][..]), |it| (&it.logs[..], &it.events[..]));
    [connections(world, plan, ends), connection_events(events)]
}

fn connections(world: &World, plan: &Plan, logs: &[ConnectionLog]) -> Table {
    let host = |host: u32| world.network.host(host).name.as_str();
    let workload = |log: &ConnectionLog| plan.workloads[log.end.workload as usize].name();
    let each = || logs.iter();
    Table {
        name: "connections",
        columns: vec![
            ("connection", Column::U32((0..logs.len() as u32).collect())),
            ("workload", names(logs.iter().map(workload))),
            ("member", Column::U32(each().map(|log| log.end.member).collect())),
            ("host", names(each().map(|log| host(log.end.host)))),
            ("remote", names(each().map(|log| host(log.end.remote)))),
            ("role", names(each().map(|it| if it.end.active { "client" } else { "server" }))),
            ("transport", names(each().map(|log| log.end.transport))),
            ("stack", names(each().map(|log| log.end.stack.as_str()))),
            ("controller", names(each().map(|log| log.end.controller))),
            ("target_delay_s", spans(each().map(|log| log.end.target))),
            ("opened_s", Column::F64(each().map(|log| log.opened.seconds()).collect())),
            ("closed_s", Column::MaybeF64(each().map(|log| seconds(log.closed)).collect())),
        ],
    }
}

fn connection_events(events: &[Logged]) -> Table {
    let metrics = |of: fn(&Metrics) -> Option<u64>| {
        counts(events.iter().map(|row| match &row.event {
            LogEvent::Metrics(metrics) => of(metrics),
            _ => None,
        }))
    };
    let estimates = |of: fn(&Metrics) -> Option<Span>| {
        spans(events.iter().map(|row| match &row.event {
            LogEvent::Metrics(metrics) => of(metrics),
            _ => None,
        }))
    };
    let packets = |of: fn(&PacketSeen) -> Option<u64>| {
        counts(events.iter().map(|row| match &row.event {
            LogEvent::Packet { packet, .. } => of(packet),
            _ => None,
        }))
    };
    let words = |of: fn(&LogEvent) -> Option<&str>| {
        maybe_names(events.iter().map(move |row| of(&row.event)))
    };
    Table {
        name: "connection_events",
        columns: vec![
            ("connection", Column::U32(events.iter().map(|row| row.log).collect())),
            ("t_s", Column::F64(events.iter().map(|row| row.at.seconds()).collect())),
            ("event", names(events.iter().map(|row| row.event.name()))),
            ("packet_number", counts(events.iter().map(|row| number(&row.event)))),
            ("packet_type", words(packet_type)),
            ("ip_bytes", packets(|packet| Some(packet.ip_bytes.into()))),
            ("payload_bytes", counts(events.iter().map(|row| payload(&row.event)))),
            ("offset", counts(events.iter().map(|row| offset(&row.event)))),
            ("seq_nr", packets(|packet| packet.seq_nr.map(u64::from))),
            ("ack", packets(|packet| packet.ack)),
            ("sack", words(sack)),
            ("window", packets(|packet| Some(packet.window.into()))),
            ("retransmission", packets(|packet| packet.again.map(u64::from))),
            ("ecn", words(ecn)),
            ("old", words(old)),
            ("new", words(new)),
            ("trigger", words(trigger)),
            ("timer", words(timer)),
            ("timer_delay_s", spans(events.iter().map(|row| delay(&row.event)))),
            ("congestion_window", metrics(|it| Some(it.congestion_window))),
            ("bytes_in_flight", metrics(|it| Some(it.bytes_in_flight))),
            ("ssthresh", metrics(|it| it.ssthresh)),
            ("smoothed_rtt_s", estimates(|it| it.smoothed_rtt)),
            ("rtt_variance_s", estimates(|it| it.rtt_variance)),
            ("min_rtt_s", estimates(|it| it.min_rtt)),
            ("latest_rtt_s", estimates(|it| it.latest_rtt)),
            ("rto_s", estimates(|it| Some(it.rto))),
            ("backoff", metrics(|it| Some(it.backoff.into()))),
            ("pacing_rate_bps", rates(events)),
            ("bytes_acked", metrics(|it| Some(it.bytes_acked))),
            ("packets_lost", metrics(|it| Some(it.packets_lost))),
            ("peer_window", metrics(|it| Some(it.peer_window))),
            ("ce_packets", metrics(|it| it.ce_packets)),
            ("queueing_delay_s", estimates(|it| it.queueing_delay)),
        ],
    }
}

fn rates(events: &[Logged]) -> Column {
    let rate = |row: &Logged| match &row.event {
        LogEvent::Metrics(metrics) => metrics.pacing_rate.map(|rate| rate.bps() as f64),
        _ => None,
    };
    Column::MaybeF64(events.iter().map(rate).collect())
}

fn counts(values: impl Iterator<Item = Option<u64>>) -> Column {
    Column::MaybeU64(values.collect())
}

fn spans(values: impl Iterator<Item = Option<Span>>) -> Column {
    Column::MaybeF64(values.map(|value| value.map(Span::seconds)).collect())
}

fn number(event: &LogEvent) -> Option<u64> {
    match event {
        LogEvent::Packet { packet, .. } => packet.number,
        LogEvent::Lost { number, .. } => Some(*number),
        _ => None,
    }
}

fn payload(event: &LogEvent) -> Option<u64> {
    match event {
        LogEvent::Packet { packet, .. } => Some(packet.payload_bytes.into()),
        LogEvent::Lost { bytes, .. } => Some((*bytes).into()),
        _ => None,
    }
}

fn offset(event: &LogEvent) -> Option<u64> {
    match event {
        LogEvent::Packet { packet, .. } => packet.offset,
        LogEvent::Lost { offset, .. } => Some(*offset),
        _ => None,
    }
}

fn packet_type(event: &LogEvent) -> Option<&str> {
    let LogEvent::Packet { packet, .. } = event else { return None };
    Some(packet.kind)
}

fn sack(event: &LogEvent) -> Option<&str> {
    let LogEvent::Packet { packet, .. } = event else { return None };
    packet.sack.as_deref()
}

fn ecn(event: &LogEvent) -> Option<&str> {
    let LogEvent::Packet { packet, .. } = event else { return None };
    packet.ecn
}

fn old(event: &LogEvent) -> Option<&str> {
    match event {
        LogEvent::State { old, .. } | LogEvent::Congestion { old, .. } => *old,
        _ => None,
    }
}

fn new(event: &LogEvent) -> Option<&str> {
    match event {
        LogEvent::State { new, .. } | LogEvent::Congestion { new, .. } => Some(new),
        _ => None,
    }
}

fn trigger(event: &LogEvent) -> Option<&str> {
    match event {
        LogEvent::Congestion { trigger, .. } => *trigger,
        LogEvent::Lost { trigger, .. } | LogEvent::Closed { trigger } => Some(trigger),
        LogEvent::Timer { change, .. } => Some(change),
        _ => None,
    }
}

fn timer(event: &LogEvent) -> Option<&str> {
    let LogEvent::Timer { timer, .. } = event else { return None };
    Some(timer)
}

fn delay(event: &LogEvent) -> Option<Span> {
    let LogEvent::Timer { delay, .. } = event else { return None };
    *delay
}
