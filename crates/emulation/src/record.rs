use crate::header::Header;
use flashcrowd_base::{Span, Time};
use flashcrowd_plan::{Plan, Source, Windowed, Workload};
use flashcrowd_topology::{LinkWindow, QueueLengths, Topology};
use flashcrowd_workload::{Sampler, Table, histogram};
use std::collections::BTreeMap;

/// The records of the network: the links in their window, their series, the lengths of queues and of
/// TCP's payloads.
#[derive(Debug)]
pub(crate) struct Recorder {
    sampler: Sampler,
    /// The numbers of the series of links.
    of_links: Vec<usize>,
    queues_every: Option<Span>,
    queue_lengths: QueueLengths,
    link_window: LinkWindow,
    /// Packets by the host that sent them and the length of their TCP payload, before its network card cut them.
    payloads: Option<BTreeMap<(u32, u32), u64>>,
    /// Swarm, name and hosts of each population.
    populations: Vec<(String, String, Vec<u32>)>,
}

impl Recorder {
    /// For the links of a plan that are played in this network.
    pub(crate) fn new(plan: &Plan, plays: impl Fn(u32) -> bool) -> Recorder {
        let measures = &plan.measures;
        let sampler = Sampler::new(&measures.series);
        let is_of_links = |task: &usize| sampler.task(*task).0.source() == Source::Links;
        let of_links = (0..sampler.tasks()).filter(is_of_links).collect();
        let every = measures.queues_ns;
        let mut queue_lengths = every.map(|_| QueueLengths::new(&plan.network)).unwrap_or_default();
        queue_lengths.retain(plays);
        let swarms = plan.workloads.iter().filter_map(|workload| match workload {
            Workload::Swarm(swarm) => Some(swarm),
            _ => None,
        });
        let populations = swarms.flat_map(|swarm| {
            let named = |it: &flashcrowd_plan::Population| {
                (swarm.name.clone(), it.name.clone(), it.hosts.clone())
            };
            swarm.populations.iter().map(named)
        });
        Recorder {
            sampler,
            of_links,
            queues_every: every,
            queue_lengths,
            link_window: LinkWindow::new(measures.window(Windowed::Links).cloned()),
            payloads: measures.payloads.then(BTreeMap::new),
            populations: populations.collect(),
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
        (self.of_links.len() + usize::from(self.queues_every.is_some())) as u32
    }

    /// Takes the sample of a kind; how long until the next.
    pub(crate) fn sample<K>(&mut self, topology: &mut Topology<K>, now: Time, task: u32) -> Span {
        let Some(&series) = self.of_links.get(task as usize) else {
            self.queue_lengths.count(|link| topology.link_mut(link).queued_packets(now), |_| false);
            return self.queues_every.unwrap_or(Span::MAX);
        };
        let (what, every) = self.sampler.task(series);
        self.sampler.record(now, series, topology.sample(now, what).into_iter());
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

    /// Packets by the host that sent them and the length of their TCP payload.
    pub(crate) fn payloads(&self) -> impl Iterator<Item = (u32, u32, u64)> {
        let payloads = self.payloads.iter().flatten();
        payloads.map(|(&(host, bytes), &count)| (host, bytes, count))
    }

    /// The tables `links`, `series` (those of links), `queues` and `payloads`.
    pub(crate) fn tables<K>(&self, topology: &Topology<K>, now: Time) -> Vec<Table> {
        vec![
            self.link_window.table(topology.links(), now),
            self.sampler.table(|_, link| topology.link(link).name().to_owned()),
            self.queue_lengths.table(),
            self.payload_table(),
        ]
    }

    /// All TCP of a host counts, so also the few requests to the tracker, and for each of its populations.
    fn payload_table(&self) -> Table {
        let sent = self.populations.iter().flat_map(|(swarm, population, hosts)| {
            let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
            for (_, bytes, count) in self.payloads().filter(|(host, ..)| hosts.contains(host)) {
                *counts.entry(bytes).or_default() += count;
            }
            let of_these =
                move |(bytes, count)| (swarm.as_str(), population.as_str(), bytes, count);
            counts.into_iter().map(of_these)
        });
        histogram("payloads", "bytes", sent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashcrowd_workload::Column;

    #[test]
    fn a_host_counts_for_each_population_that_it_is_in() {
        let population = |name: &str, hosts| ("s".to_owned(), name.to_owned(), hosts);
        let recorder = Recorder {
            sampler: Sampler::new(&[]),
            of_links: Vec::new(),
            queues_every: None,
            queue_lengths: QueueLengths::default(),
            link_window: LinkWindow::new(None),
            payloads: Some(BTreeMap::from([((0, 10), 2), ((1, 10), 3), ((2, 10), 4)])),
            populations: vec![population("one", vec![0, 1]), population("two", vec![1])],
        };
        let table = recorder.payload_table();
        assert_eq!(table.column("count"), Some(&Column::U64(vec![5, 3])));
        let names = ["one", "two"].map(str::to_owned).to_vec();
        assert_eq!(table.column("population"), Some(&Column::Text(vec![0, 1], names)));
    }
}
