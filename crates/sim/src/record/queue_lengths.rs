use crate::apps::{AnyApp, App, World};
use crate::table::{Column, Table, names};
use flashcrowd_base::Span;
use flashcrowd_plan::Plan;
use std::collections::BTreeMap;

/// How often queues of each kind were found to hold so many packets: what a distribution over all
/// uplinks of a swarm needs, in a table that does not grow with the length of a run.
pub(crate) struct QueueLengths {
    pub(crate) every: Option<Span>,
    /// Links with a rate: index, kind, and the host whose line it is.
    watched: Vec<Watched>,
    kinds: Vec<QueueKind>,
}

struct Watched {
    link: u32,
    kind: u32,
    host: Option<u32>,
}

/// Links that are counted together.
struct QueueKind {
    /// The group of hosts whose lines they are, or the link's own name.
    owner: String,
    /// `up`, `down`, or nothing for a link that is not of a host alone.
    way: &'static str,
    /// By packets: how often so many were found; and how often while a peer ran on the host.
    found: Vec<(u64, u64)>,
}

impl QueueLengths {
    pub(crate) fn new(plan: &Plan) -> QueueLengths {
        let network = &plan.network;
        let mut queues =
            QueueLengths { every: plan.measures.queues_ns, watched: Vec::new(), kinds: Vec::new() };
        if queues.every.is_none() {
            return queues;
        }
        // Whose a link is; one that several hosts cross is nobody's.
        let mut owners: BTreeMap<u32, (usize, u32, &'static str)> = BTreeMap::new();
        for (number, host) in network.hosts.iter().enumerate() {
            for (way, links) in [("up", &host.up), ("down", &host.down)] {
                for &link in links {
                    owners.entry(link).or_insert((0, number as u32, way)).0 += 1;
                }
            }
        }
        let mut known: BTreeMap<(String, &'static str), u32> = BTreeMap::new();
        for (link, spec) in network.links.iter().enumerate() {
            if !spec.is_rated() {
                continue;
            }
            let link = link as u32;
            let owned = owners.get(&link).filter(|(hosts, ..)| *hosts == 1);
            let (owner, way) = match owned {
                Some(&(_, host, way)) => {
                    let group = network.hosts[host as usize].group as usize;
                    (network.groups[group].clone(), way)
                }
                None => (spec.name.clone(), ""),
            };
            let kinds = &mut queues.kinds;
            let kind = *known.entry((owner.clone(), way)).or_insert_with(|| {
                kinds.push(QueueKind { owner, way, found: Vec::new() });
                kinds.len() as u32 - 1
            });
            queues.watched.push(Watched { link, kind, host: owned.map(|&(_, host, _)| host) });
        }
        queues
    }

    /// Looks at every queue.
    pub(crate) fn count(&mut self, world: &mut World, apps: &[AnyApp<'_>]) {
        for watched in &self.watched {
            let packets = world.network.queued_packets(watched.link, world.now) as usize;
            let online = watched.host.is_some_and(|host| apps.iter().any(|app| app.is_on(host)));
            let found = &mut self.kinds[watched.kind as usize].found;
            if found.len() <= packets {
                found.resize(packets + 1, (0, 0));
            }
            found[packets].0 += 1;
            found[packets].1 += u64::from(online);
        }
    }

    pub(crate) fn table(&self) -> Table {
        let rows: Vec<_> = self
            .kinds
            .iter()
            .flat_map(|kind| {
                let found = kind.found.iter().enumerate().filter(|(_, (count, _))| *count > 0);
                found.map(move |(packets, count)| (kind, packets as u32, *count))
            })
            .collect();
        Table {
            name: "queues",
            columns: vec![
                ("owner", names(rows.iter().map(|(kind, ..)| kind.owner.as_str()))),
                ("way", names(rows.iter().map(|(kind, ..)| kind.way))),
                ("packets", Column::U32(rows.iter().map(|(_, packets, _)| *packets).collect())),
                ("count", Column::U64(rows.iter().map(|(.., (count, _))| *count).collect())),
                ("online", Column::U64(rows.iter().map(|(.., (_, online))| *online).collect())),
            ],
        }
    }
}
