//! The outlook of a plan's network before it runs: the means over a run of what changes, shares of
//! links, and the packets and events of a stream of bytes. Expectations only: no engine reads them.

use crate::load::{Load, Own};
use crate::network::{core, delay_s, expected, losses, mean_bps, own, steps};
use flashcrowd_base::Span;
use flashcrowd_link::{Conditions, Queue};
use flashcrowd_plan::{Plan, What};

/// In place of "no limit": more than any line has, and far from the end of the numbers.
pub(crate) const ENDLESS_BPS: f64 = 1e13;
/// The packets that an endless queue is taken to hold.
const LONG_QUEUE_PACKETS: f64 = 1e5;

/// The network of a plan, as its workloads share it.
pub(crate) struct Outlook<'p> {
    pub(crate) plan: &'p Plan,
    /// Longest time that a run may take, in seconds.
    pub(crate) horizon_s: f64,
    links: Vec<Shared>,
    /// Whether the timeline changes a core.
    cores_change: bool,
    /// When the timeline stops each workload, in seconds.
    stops_s: Vec<f64>,
}

/// A shared link.
#[derive(Clone, Copy)]
struct Shared {
    /// Its mean rate.
    rate_bps: f64,
    /// Traffic that is sent whatever the network does: calls, limited flows.
    reserved_bps: f64,
    /// Connections that take what they get.
    greedy: f64,
    /// How many packets its queue holds.
    queue_packets: f64,
    /// Swarms whose peers reach each other through it.
    crowds: f64,
}

/// The way from one host to another.
#[derive(Clone, Copy)]
pub(crate) struct Path {
    /// Events per packet: one for each queue that it waits in, and one for a delay before the
    /// first; another where a discipline decides.
    pub(crate) stages: f64,
    pub(crate) delay_s: f64,
    /// The share of packets that are lost, and of those that begin a burst of losses.
    pub(crate) loss: f64,
    pub(crate) bursts: f64,
    /// The rate that another greedy connection gets on its narrowest link.
    pub(crate) share_bps: f64,
    /// The rate of its narrowest link.
    pub(crate) rate_bps: f64,
    /// Packets in the queue of that link, of one greedy connection.
    pub(crate) queued: f64,
    /// Whether a pair of hosts has a record of its own for it.
    pub(crate) own: Own,
}

impl<'p> Outlook<'p> {
    pub(crate) fn new(plan: &'p Plan) -> Outlook<'p> {
        let horizon_s = plan.stop.horizon_ns.seconds();
        let rate = |conditions: &Conditions, trace: Option<u32>| {
            mean_bps(&plan.network, conditions, trace, horizon_s).unwrap_or(ENDLESS_BPS)
        };
        let link = |(index, link): (u32, &flashcrowd_plan::Link)| {
            let changes = plan.timeline.iter().filter_map(|change| match &change.what {
                What::Link { link, conditions, trace } if *link == index => {
                    Some((change.at_ns, rate(conditions, *trace)))
                }
                _ => None,
            });
            Shared {
                rate_bps: mean(rate(&link.conditions, link.trace), changes, horizon_s),
                reserved_bps: 0.0,
                greedy: 0.0,
                queue_packets: queue_packets(&link.conditions.queue),
                crowds: 0.0,
            }
        };
        let mut stops_s = vec![f64::INFINITY; plan.workloads.len()];
        for change in &plan.timeline {
            if let What::Stop { workload } = change.what
                && let Some(stop) = stops_s.get_mut(workload as usize)
            {
                *stop = stop.min(change.at_ns.seconds());
            }
        }
        let links = (0u32..).zip(&plan.network.links).map(link).collect();
        let cores_change = plan.timeline.iter().any(|it| matches!(it.what, What::Core { .. }));
        Outlook { plan, horizon_s, links, cores_change, stops_s }
    }

    /// When a workload is over at the latest.
    pub(crate) fn stop_s(&self, index: usize, stop_ns: Option<Span>) -> f64 {
        let own = stop_ns.map_or(f64::INFINITY, |stop| stop.seconds());
        own.min(self.stops_s.get(index).copied().unwrap_or(f64::INFINITY))
    }

    /// For how many seconds a workload goes on in a run that ends at this second.
    pub(crate) fn active_s(
        &self,
        index: usize,
        start_ns: Span,
        stop_ns: Option<Span>,
        end_s: f64,
    ) -> f64 {
        (end_s.min(self.stop_s(index, stop_ns)) - start_ns.seconds()).max(0.0)
    }

    /// Counts `connections` greedy ones, which take what they get, on the links from one host to another.
    pub(crate) fn add_greedy(&mut self, from: u32, to: u32, connections: f64) {
        self.each_link(from, to, |link| link.greedy += connections);
    }
    /// Reserves `bps` on the links from one host to another: what is sent whatever the network does.
    pub(crate) fn reserve(&mut self, from: u32, to: u32, bps: f64) {
        self.each_link(from, to, |link| link.reserved_bps += bps);
    }
    /// Reserves the rate of a datagram each way at every interval.
    pub(crate) fn reserve_datagrams(&mut self, from: u32, to: u32, bytes: u32, interval: Span) {
        let bps = f64::from(bytes) * 8.0 / interval.seconds();
        self.reserve(from, to, bps);
        self.reserve(to, from, bps);
    }
    /// Counts greedy connections on the lines of one host: `up` and `down` of them.
    pub(crate) fn add_greedy_at(&mut self, host: u32, up: f64, down: f64) {
        let Some(host) = self.plan.network.hosts.get(host as usize) else { return };
        let lines = [(&host.up, up), (&host.down, down)];
        for (links, connections) in lines {
            for &link in links {
                self.links[link as usize].greedy += connections;
            }
        }
    }

    /// Counts a swarm at the links of the core between these of its hosts.
    pub(crate) fn add_crowd(&mut self, hosts: &[u32]) {
        let network = &self.plan.network;
        let pairs = hosts.iter().flat_map(|from| hosts.iter().map(|to| (*from, *to)));
        let cores = pairs.filter(|(from, to)| from != to).map(|(from, to)| core(network, from, to));
        let mut links: Vec<u32> = cores.flat_map(|core| &core.links).copied().collect();
        links.sort_unstable();
        links.dedup();
        links.iter().for_each(|&link| self.links[link as usize].crowds += 1.0);
    }

    /// The rate that a swarm may have of the links of the core from one of its hosts to another.
    pub(crate) fn core_bps(&self, from: u32, to: u32) -> f64 {
        let links = core(&self.plan.network, from, to).links.iter();
        let links = links.map(|&link| &self.links[link as usize]);
        links.map(|link| link.rate_bps / link.crowds.max(1.0)).fold(ENDLESS_BPS, f64::min)
    }

    /// Load of datagrams from each of two hosts to the other, `times` times: `packets` gives how many
    /// arrive by the share of those that are lost there and back, `bytes` what is remembered of both.
    pub(crate) fn datagrams(
        &self,
        from: u32,
        to: u32,
        times: f64,
        bytes: f64,
        packets: impl Fn(f64, f64) -> f64,
    ) -> Load {
        let (forth, back) = self.paths(from, to);
        let packets = packets(forth.loss, back.loss);
        let events = 1.0 + forth.stages + back.stages;
        let mut load = Load { packets, events, bytes, ..Load::default() }.times(times);
        load.add_routes(forth.own, 2.0);
        load
    }

    fn each_link(&mut self, from: u32, to: u32, mut say: impl FnMut(&mut Shared)) {
        let network = &self.plan.network;
        for link in steps(network, from, to).flatten() {
            say(&mut self.links[link as usize]);
        }
    }

    /// The rates at which a host sends and receives at most, in bits per second.
    pub(crate) fn line_bps(&self, host: u32) -> (f64, f64) {
        let host = &self.plan.network.hosts[host as usize];
        let min = |links: &[u32]| {
            let rates = links.iter().map(|&link| self.links[link as usize].rate_bps);
            rates.fold(ENDLESS_BPS, f64::min)
        };
        (min(&host.up), min(&host.down))
    }

    /// The way from one host to another.
    pub(crate) fn path(&self, from: u32, to: u32) -> Path {
        let network = &self.plan.network;
        let core = core(network, from, to);
        let mut path = Path {
            stages: 1.0,
            delay_s: 0.0,
            loss: 0.0,
            bursts: 0.0,
            share_bps: ENDLESS_BPS,
            rate_bps: ENDLESS_BPS,
            queued: 0.0,
            own: Own::Nothing,
        };
        let (mut delayed, mut left) = (false, false);
        for step in steps(network, from, to) {
            let Some(link) = step else {
                let (delay, loss, bursts) = expected(core);
                path.cross(delay, loss, bursts);
                delayed |= delay > 0.0;
                path.own = path.own.max(own(core, self.cores_change));
                continue;
            };
            path.own = path.own.max(Own::Route);
            let conditions = &network.links[link as usize].conditions;
            let delay = delay_s(&network.links[link as usize]);
            if network.links[link as usize].is_rated() {
                path.stages += f64::from(u8::from(delayed || left));
                path.stages += f64::from(u8::from(conditions.queue.is_managed()));
                (delayed, left) = (false, true);
                let shared = &self.links[link as usize];
                let free = (shared.rate_bps - shared.reserved_bps).max(shared.rate_bps * 0.05);
                let share = free / shared.greedy.max(1.0);
                if share < path.share_bps {
                    path.share_bps = share;
                    path.queued = shared.queue_packets / shared.greedy.max(1.0);
                }
                path.rate_bps = path.rate_bps.min(shared.rate_bps);
            }
            delayed |= delay > 0.0;
            let (loss, bursts) = losses(conditions);
            path.cross(delay, loss, bursts);
        }
        path
    }

    /// The ways from one host to another, and back.
    pub(crate) fn paths(&self, from: u32, to: u32) -> (Path, Path) {
        (self.path(from, to), self.path(to, from))
    }
}

impl Path {
    /// The mean of several, of which there is at least one.
    pub(crate) fn mean(paths: &[Path]) -> Path {
        let count = paths.len().max(1) as f64;
        let mean = |value: fn(&Path) -> f64| paths.iter().map(value).sum::<f64>() / count;
        Path {
            stages: mean(|it| it.stages),
            delay_s: mean(|it| it.delay_s),
            loss: mean(|it| it.loss),
            bursts: mean(|it| it.bursts),
            share_bps: mean(|it| it.share_bps),
            rate_bps: mean(|it| it.rate_bps),
            queued: mean(|it| it.queued),
            own: paths.iter().map(|it| it.own).max().unwrap_or(Own::Nothing),
        }
    }

    fn cross(&mut self, delay_s: f64, loss: f64, bursts: f64) {
        self.delay_s += delay_s;
        self.loss = 1.0 - (1.0 - self.loss) * (1.0 - loss);
        self.bursts = 1.0 - (1.0 - self.bursts) * (1.0 - bursts);
    }

    /// The share of a packet in those that arrive; with nothing arriving, of one in a thousand.
    pub(crate) fn tries(&self) -> f64 {
        1.0 / (1.0 - self.loss).max(1e-3)
    }
}

/// The mean over a run of what is `first` and changes at some instants.
pub(crate) fn mean(first: f64, changes: impl Iterator<Item = (Span, f64)>, end_s: f64) -> f64 {
    let mut changes: Vec<(f64, f64)> = changes.map(|(at, value)| (at.seconds(), value)).collect();
    changes.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut sum, mut since, mut value) = (0.0, 0.0, first);
    for (at, next) in changes {
        let at = at.min(end_s);
        sum += value * (at - since);
        (since, value) = (at, next);
    }
    (sum + value * (end_s - since)) / end_s
}

/// How many packets of the usual length a queue holds.
fn queue_packets(queue: &Queue) -> f64 {
    let of_bytes = |bytes: u64| bytes as f64 / 1500.0;
    let max = match queue {
        Queue::DropTail(limit) => {
            let packets = limit.packets.map_or(f64::INFINITY, f64::from);
            packets.min(limit.bytes.map_or(f64::INFINITY, of_bytes))
        }
        // These keep their queues far below their limits.
        _ => 100.0,
    };
    max.min(LONG_QUEUE_PACKETS)
}
