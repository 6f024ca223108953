use flashcrowd_base::Span;
use flashcrowd_plan::{Link, Network, Plan, What};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use thiserror::Error;

/// Which node plays each host and each shared link of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Division {
    hosts: Vec<u32>,
    links: Vec<u32>,
}

/// Why a plan cannot be divided among this number of nodes.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "the network cannot be divided among {nodes} nodes, which takes {} ms of delay wherever it is \
     cut: {parts} of it are so far apart{}",
    millis(*min),
    if why.is_empty() { String::new() } else { format!(" ({})", why.join("; ")) }
)]
pub struct Indivisible {
    nodes: u32,
    min: Span,
    /// Parts with hosts that are far enough apart.
    parts: usize,
    /// An example of hosts that are too near, and one of hosts that stay on one node.
    why: Vec<String>,
}

/// For people: to a microsecond.
fn millis(span: Span) -> f64 {
    (span.nanos() / 1000) as f64 / 1e3
}

impl Division {
    /// Divides a plan that has passed its check, so that packets have at least `min` of delay before them wherever
    /// they go from one node to another. Hosts stay with their own lines, and with those that one process plays with
    /// them (a transfer, a call, pages). Parts that may be apart are dealt so that each node has about as many hosts.
    ///
    /// # Errors
    /// There are fewer such parts than nodes.
    pub fn new(plan: &Plan, nodes: u32, min: Span) -> Result<Division, Indivisible> {
        let network = &plan.network;
        let hosts = network.hosts.len();
        let mut parts = Parts::new(hosts + network.links.len());
        for (number, host) in network.hosts.iter().enumerate() {
            for link in host.up.iter().chain(&host.down) {
                parts.join(number, hosts + *link as usize);
            }
        }
        let mut held: Option<&str> = None;
        for workload in &plan.workloads {
            let mut hosts = workload.hosts_of_one_process().into_iter().map(|host| host as usize);
            let Some(first) = hosts.next() else { continue };
            for host in hosts {
                if parts.root(first) != parts.root(host) {
                    held.get_or_insert(workload.name());
                    parts.join(first, host);
                }
            }
        }
        let mut nearest: Option<(Span, usize, usize)> = None;
        Cuts::of(plan).each(|from, to, delay| {
            if delay < min && parts.root(from) != parts.root(to) {
                parts.join(from, to);
                if nearest.is_none_or(|(other, ..)| delay < other) {
                    nearest = Some((delay, from, to));
                }
            }
        });
        let roots: Vec<usize> = (0..hosts + network.links.len()).map(|it| parts.root(it)).collect();
        let mut sizes = vec![0usize; roots.len()];
        for root in &roots[..hosts] {
            sizes[*root] += 1;
        }
        let mut order: Vec<usize> = Vec::new();
        for &root in &roots[..hosts] {
            if sizes[root] > 0 && !order.contains(&root) {
                order.push(root);
            }
        }
        order.sort_by_key(|root| Reverse(sizes[*root])); // stable: otherwise as in the plan
        if order.len() < nodes as usize {
            let named = |number: usize| match number.checked_sub(hosts) {
                None => network.hosts[number].name.clone(),
                Some(link) => network.links[link].name.clone(),
            };
            let nearest = nearest.map(|(delay, from, to)| {
                format!("{} and {}: {} ms", named(from), named(to), millis(delay))
            });
            let held = held.map(|name| format!("both ends of {name} are played on one node"));
            let why = nearest.into_iter().chain(held).collect();
            return Err(Indivisible { nodes, min, parts: order.len(), why });
        }
        let mut loads = vec![0usize; nodes as usize];
        let mut node_of = vec![0u32; roots.len()];
        for root in order {
            let node = (0..loads.len()).min_by_key(|node| loads[*node]).unwrap_or_default();
            loads[node] += sizes[root];
            node_of[root] = node as u32;
        }
        let of = |root: &usize| node_of[*root];
        let (hosts, links) = roots.split_at(hosts);
        Ok(Division {
            hosts: hosts.iter().map(of).collect(),
            links: links.iter().map(of).collect(),
        })
    }

    /// Whether it says a node of each host and each link of a plan, and of nothing else.
    pub fn fits(&self, plan: &Plan) -> bool {
        (self.hosts.len(), self.links.len()) == (plan.network.hosts.len(), plan.network.links.len())
    }
    /// The node of a host.
    pub fn of_host(&self, host: u32) -> u32 {
        self.hosts[host as usize]
    }
    /// The node of a shared link.
    pub fn of_link(&self, link: u32) -> u32 {
        self.links[link as usize]
    }
    /// The hosts of a node.
    pub fn hosts(&self, node: u32) -> impl Iterator<Item = u32> {
        (0..).zip(&self.hosts).filter(move |(_, of)| **of == node).map(|(host, _)| host)
    }

    /// The least delay that packets have before them when they go from one node to another: what there
    /// is for the way. [`Span::MAX`] if none does.
    pub fn time_in_hand(&self, plan: &Plan) -> Span {
        let node = |number: usize| match number.checked_sub(self.hosts.len()) {
            None => self.hosts[number],
            Some(link) => self.links[link],
        };
        let mut min = Span::MAX;
        Cuts::of(plan).each(|from, to, delay| {
            if node(from) != node(to) {
                min = min.min(delay);
            }
        });
        min
    }
}

/// Hosts and, behind them, links that belong together.
struct Parts(Vec<usize>);

impl Parts {
    fn new(count: usize) -> Parts {
        Parts((0..count).collect())
    }
    fn root(&mut self, mut of: usize) -> usize {
        while self.0[of] != of {
            self.0[of] = self.0[self.0[of]];
            of = self.0[of];
        }
        of
    }
    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.root(one), self.root(other));
        self.0[one.max(other)] = one.min(other);
    }
}

/// Where a network could be cut: between what follows each other on some route, hosts with their lines.
struct Cuts<'a> {
    network: &'a Network,
    /// The least delay that each link, and each core's own piece, ever has.
    links: Vec<Span>,
    cores: Vec<Span>,
}

impl Cuts<'_> {
    fn of(plan: &Plan) -> Cuts<'_> {
        let network = &plan.network;
        let min_delay = |link: &Link| match link.delay {
            Some(drawn) => drawn.least_ns,
            None => link.conditions.min_delay(),
        };
        let core = |core: &flashcrowd_plan::CorePath| {
            let drawn = core.draw.as_ref().and_then(|draw| draw.rtt_s.as_ref());
            drawn.map_or(core.conditions.min_delay(), |rtt| {
                Span::from_seconds(rtt.at(0.0).max(0.0)) / 2
            })
        };
        let mut cuts = Cuts {
            network,
            links: network.links.iter().map(min_delay).collect(),
            cores: network.cores.iter().map(core).collect(),
        };
        for change in &plan.timeline {
            let (known, conditions) = match &change.what {
                What::Link { link, conditions, .. } => {
                    let drawn = network.links[*link as usize].delay.is_some();
                    if drawn {
                        continue;
                    }
                    (&mut cuts.links[*link as usize], conditions)
                }
                What::Core { core, conditions } => (&mut cuts.cores[*core as usize], conditions),
                _ => continue,
            };
            *known = (*known).min(conditions.min_delay());
        }
        cuts
    }

    /// Calls `tell` for each cut: what is before it, what is behind it, and the delay that a packet has
    /// before it when it leaves the first.
    fn each(&self, mut tell: impl FnMut(usize, usize, Span)) {
        let network = self.network;
        let (hosts, groups) = (network.hosts.len(), network.groups.len());
        let mut members: Vec<Vec<usize>> = vec![Vec::new(); groups];
        for (number, host) in network.hosts.iter().enumerate() {
            members[host.group as usize].push(number);
        }
        let exit = |host: usize| {
            network.hosts[host].up.last().map_or(Span::ZERO, |link| self.links[*link as usize])
        };
        for (from, sources) in members.iter().enumerate() {
            for (to, targets) in members.iter().enumerate() {
                if from == to && sources.len() < 2 {
                    continue;
                }
                let core = network.core_of[from * groups + to] as usize;
                let (links, own) = (&network.cores[core].links, self.cores[core]);
                let (Some(first), Some(last)) = (links.first(), links.last()) else {
                    for &source in sources {
                        for &target in targets.iter().filter(|target| **target != source) {
                            tell(source, target, exit(source) + own);
                        }
                    }
                    continue;
                };
                for &source in sources {
                    tell(source, hosts + *first as usize, exit(source));
                }
                for pair in links.windows(2) {
                    let [one, next] = [pair[0] as usize, pair[1] as usize];
                    tell(hosts + one, hosts + next, self.links[one]);
                }
                for &target in targets {
                    tell(hosts + *last as usize, target, self.links[*last as usize] + own);
                }
            }
        }
    }
}
