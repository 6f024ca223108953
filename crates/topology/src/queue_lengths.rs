use flashcrowd_plan::Network;
use std::collections::BTreeMap;

/// Histogram of queue lengths, for queues of each kind: what a distribution over all
/// uplinks of a swarm needs, in a table that does not grow with the length of a run.
#[derive(Clone, Debug, Default)]
pub struct QueueLengths {
    /// Links with a rate: index, kind, and the host whose line it is.
    watched: Vec<Watched>,
    kinds: Vec<QueueKind>,
}

#[derive(Clone, Debug)]
struct Watched {
    link: u32,
    kind: u32,
    host: Option<u32>,
}

/// Links that are counted together.
#[derive(Clone, Debug)]
struct QueueKind {
    /// The group of hosts whose lines they are, or the link's own name.
    owner: String,
    /// `up`, `down`, or nothing for a link that is not of a host alone.
    way: &'static str,
    /// By packets: how often this length was found, and how often while a peer ran on the host.
    found: Vec<(u64, u64)>,
}

/// A length at which queues of one kind were found.
#[derive(Clone, Copy, Debug)]
pub struct QueueLength<'a> {
    /// The group of hosts whose lines they are, or the name of a shared link.
    pub owner: &'a str,
    /// `up`, `down`, or nothing for a shared link.
    pub way: &'static str,
    /// Packets, the one in transmission included.
    pub packets: u32,
    /// How often one of them was found with this length.
    pub count: u64,
    /// How often while something ran on its host.
    pub online: u64,
}

impl QueueLengths {
    /// For all links of a network that have a rate.
    pub fn new(network: &Network) -> QueueLengths {
        let mut queues = QueueLengths::default();
        // The host that owns a link; a link that several hosts cross has no owner.
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

    /// Looks at no other links than these any more.
    pub fn retain(&mut self, watches: impl Fn(u32) -> bool) {
        self.watched.retain(|watched| watches(watched.link));
    }

    /// Looks at every queue: `queued` says how many packets a link holds now, `is_on` whether something
    /// runs on a host.
    pub fn count(&mut self, mut queued: impl FnMut(u32) -> u32, is_on: impl Fn(u32) -> bool) {
        for watched in &self.watched {
            let packets = queued(watched.link) as usize;
            let online = watched.host.is_some_and(&is_on);
            let found = &mut self.kinds[watched.kind as usize].found;
            if found.len() <= packets {
                found.resize(packets + 1, (0, 0));
            }
            found[packets].0 += 1;
            found[packets].1 += u64::from(online);
        }
    }

    /// The lengths, shortest queues of each kind first.
    pub fn rows(&self) -> impl Iterator<Item = QueueLength<'_>> {
        self.kinds.iter().flat_map(|kind| {
            let found = kind.found.iter().enumerate().filter(|(_, (count, _))| *count > 0);
            found.map(move |(packets, &(count, online))| QueueLength {
                owner: kind.owner.as_str(),
                way: kind.way,
                packets: packets as u32,
                count,
                online,
            })
        })
    }
}
