use crate::header::Header;
use flashcrowd_base::{Span, Time};
use flashcrowd_plan::{Plan, Sampled, Series, Windowed};
use flashcrowd_topology::{LinkWindow, QueueLengths, Topology};
use serde::Serialize;
use std::collections::BTreeMap;

/// The records of the network: the links in their window, their series, the lengths of queues and of
/// TCP's payloads.
#[derive(Debug)]
pub(crate) struct Recorder {
    series: Vec<LinkSeries>,
    queues_every: Option<Span>,
    queue_lengths: QueueLengths,
    link_window: LinkWindow,
    rows: Vec<(usize, u32, Time, f64)>,
    /// Packets by the host that sent them and the length of their TCP payload.
    payloads: Option<BTreeMap<(u32, u32), u64>>,
}

/// One kind of series of links.
#[derive(Debug)]
struct LinkSeries {
    spec: Series,
    /// Bits that had left at the last sample, by link.
    last: Vec<u64>,
}

/// The records of the network, as rows of the tables of results.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// Of the table `links`.
    pub links: Vec<LinkRow>,
    /// Of the table `series`: those of links.
    pub series: Vec<SeriesRow>,
    /// Of the table `queues`.
    pub queues: Vec<QueueRow>,
    /// For the table `payloads`.
    pub payloads: Vec<PayloadRow>,
}

/// How many packets of one length of TCP payload a host sent, before its network card cut them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the columns are documented with their table")]
pub struct PayloadRow {
    pub host: u32,
    pub bytes: u32,
    pub count: u64,
}

/// A row of the table `links`; `docs/tables.md` says what the columns mean.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs, reason = "the columns are documented with their table")]
pub struct LinkRow {
    pub link: String,
    pub packets: u64,
    pub bytes: u64,
    pub dropped: u64,
    pub lost: u64,
    pub mean_queue_delay_s: Option<f64>,
    pub max_queue_packets: u32,
    pub utilisation: Option<f64>,
}

/// A row of the table `series`.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs, reason = "the columns are documented with their table")]
pub struct SeriesRow {
    pub what: Sampled,
    pub source: String,
    pub t_s: f64,
    pub value: f64,
}

/// A row of the table `queues`.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs, reason = "the columns are documented with their table")]
pub struct QueueRow {
    pub owner: String,
    pub way: &'static str,
    pub packets: u32,
    pub count: u64,
    pub online: u64,
}

impl Recorder {
    /// For the links of a plan that are played in this network.
    pub(crate) fn new(plan: &Plan, plays: impl Fn(u32) -> bool) -> Recorder {
        let measures = &plan.measures;
        let of_links = |series: &&Series| {
            matches!(series.what, Sampled::QueuePackets | Sampled::QueueDelay | Sampled::LinkRate)
        };
        let links = plan.network.links.len();
        let watched = |spec: &Series| LinkSeries { spec: spec.clone(), last: vec![0; links] };
        let every = measures.queues_ns;
        let mut queue_lengths = every.map(|_| QueueLengths::new(&plan.network)).unwrap_or_default();
        queue_lengths.retain(plays);
        Recorder {
            series: measures.series.iter().filter(of_links).map(watched).collect(),
            queues_every: every,
            queue_lengths,
            link_window: LinkWindow::new(measures.window(Windowed::Links).cloned()),
            rows: Vec::new(),
            payloads: measures.payloads.then(BTreeMap::new),
        }
    }

    /// A host has sent a packet. Those without payload are not counted.
    pub(crate) fn sent(&mut self, host: u32, packet: &[u8]) {
        let Some(payloads) = &mut self.payloads else { return };
        let payload = Header::of(packet).and_then(|header| header.tcp_payload());
        if let Some(bytes) = payload.filter(|bytes| *bytes > 0) {
            *payloads.entry((host, bytes)).or_default() += 1;
        }
    }

    /// How many kinds of samples there are.
    pub(crate) fn tasks(&self) -> u32 {
        (self.series.len() + usize::from(self.queues_every.is_some())) as u32
    }

    /// Takes the sample of a kind; how long until the next.
    pub(crate) fn sample<K>(&mut self, topology: &mut Topology<K>, now: Time, task: u32) -> Span {
        let Some(series) = self.series.get_mut(task as usize) else {
            self.queue_lengths.count(|link| topology.link_mut(link).queued_packets(now), |_| false);
            return self.queues_every.unwrap_or(Span::MAX);
        };
        let every = series.spec.every_ns;
        for link in 0..series.last.len() as u32 {
            let shared = topology.link_mut(link);
            if shared.is_elsewhere() || !shared.is_rated() {
                continue;
            }
            let value = match series.spec.what {
                Sampled::QueuePackets => f64::from(shared.queued_packets(now)),
                Sampled::QueueDelay => shared.queueing_delay(now).seconds(),
                _ => {
                    let bits = shared.sent(now).bits;
                    let before = std::mem::replace(&mut series.last[link as usize], bits);
                    bits.saturating_sub(before) as f64 / every.seconds()
                }
            };
            self.rows.push((task as usize, link, now, value));
        }
        every
    }

    /// The window of the links' table begins, or ends.
    pub(crate) fn mark<K>(&mut self, topology: &mut Topology<K>, now: Time, begins: bool) {
        self.link_window.mark(topology.links(), now, begins);
        if begins {
            for link in 0..topology.links().count() as u32 {
                topology.link_mut(link).restart_max_packets(now);
            }
        }
    }

    pub(crate) fn report<K>(&self, topology: &Topology<K>, now: Time) -> Report {
        let own = topology.links().enumerate().filter(|(_, link)| !link.is_elsewhere());
        let links = own.map(|(index, link)| {
            let used = self.link_window.used(index, link, now);
            LinkRow {
                link: link.name().to_owned(),
                packets: used.packets,
                bytes: used.bytes,
                dropped: used.dropped,
                lost: used.lost,
                mean_queue_delay_s: used.mean_wait_s,
                max_queue_packets: used.max_packets,
                utilisation: used.utilisation,
            }
        });
        let series = self.rows.iter().map(|&(task, link, at, value)| SeriesRow {
            what: self.series[task].spec.what,
            source: topology.link(link).name().to_owned(),
            t_s: at.seconds(),
            value,
        });
        let queues = self.queue_lengths.rows().map(|row| QueueRow {
            owner: row.owner.to_owned(),
            way: row.way,
            packets: row.packets,
            count: row.count,
            online: row.online,
        });
        let payloads = self.payloads.iter().flatten();
        let payloads = payloads.map(|(&(host, bytes), &count)| PayloadRow { host, bytes, count });
        Report {
            links: links.collect(),
            series: series.collect(),
            queues: queues.collect(),
            payloads: payloads.collect(),
        }
    }
}
