use crate::Forecast;
use crate::arrivals::ends_s;
use crate::load::{Load, PACKET_BYTES, ROW_BYTES};
use crate::outlook::Outlook;
use crate::stream::ConnectionGroup;
use flashcrowd_plan::{Clients, Origin};

/// Bytes that are kept of a client besides its connection.
const CLIENT_BYTES: f64 = 1000.0;
/// Bytes that are kept of an extent of a file, and of one in memory.
const EXTENT_BYTES: f64 = 16.0;
const SLOT_BYTES: f64 = 300.0;
/// Clients of a population that are looked at for its lines.
const SAMPLES: usize = 16;

impl Forecast for Origin {
    /// Clients take what they get, as long as they are there.
    fn share(&self, outlook: &mut Outlook<'_>) {
        for clients in &self.populations {
            let there = at_once(clients, self, outlook);
            let each = there / (clients.hosts.len() as f64).max(1.0);
            for host in &clients.hosts {
                outlook.add_greedy(self.host, *host, each);
            }
        }
    }

    /// When the last client has its file.
    fn end_s(&self, index: usize, outlook: &Outlook<'_>) -> Option<f64> {
        let last = |clients: &Clients| {
            let (_, last_s) = ends_s(&clients.arrivals, clients.hosts.len());
            last_s + fetch_s(clients, self, outlook)
        };
        let some = self.populations.iter().filter(|clients| !clients.hosts.is_empty());
        let end_s = some.map(last).fold(0.0, f64::max);
        Some(end_s.min(outlook.stop_s(index, None)))
    }

    /// A file for each client that comes by then.
    fn load(&self, index: usize, outlook: &Outlook<'_>, end_s: f64) -> Load {
        let end_s = end_s.min(outlook.stop_s(index, None));
        let size = self.files.size_bytes as f64;
        let mut all = Load::default();
        for clients in &self.populations {
            let Some(way) = way(clients, self, outlook) else { continue };
            let (first_s, last_s) = ends_s(&clients.arrivals, clients.hosts.len());
            let come = ((end_s - first_s) / (last_s - first_s).max(1e-9)).clamp(0.0, 1.0);
            let downloads = clients.hosts.len() as f64 * come;
            let fetch_s = way.fetch_s(size);
            // A late client has a part by the end.
            let late = downloads * (fetch_s / (end_s - first_s).max(1e-9)).min(1.0);
            let rest_s = (end_s - last_s.min(end_s)).min(fetch_s);
            let part = (downloads - late * (1.0 - rest_s / fetch_s.max(1e-9))).max(0.0);
            let mut load = way.stream(size * part, fetch_s, part).load();
            load.add(way.opening().times(downloads));
            load.connections = at_once(clients, self, outlook).min(downloads);
            load.bytes += clients.hosts.len() as f64 * (CLIENT_BYTES + ROW_BYTES);
            load.bytes += load.connections * way.in_flight() * PACKET_BYTES;
            load.add_routes(way.forth.own, 2.0 * downloads);
            // A read and what it wakes.
            load.events += size * part / f64::from(self.settings.extent_bytes);
            all.add(load);
        }
        let extents = f64::from(self.settings.extent_bytes);
        all.bytes += self.files.bytes() as f64 / extents * EXTENT_BYTES;
        all.bytes += self.settings.memory_bytes as f64 / extents * SLOT_BYTES;
        all
    }
}

/// Clients at a time, if each has the line for itself.
fn at_once(clients: &Clients, origin: &Origin, outlook: &Outlook<'_>) -> f64 {
    let count = clients.hosts.len() as f64;
    let Some(host) = clients.hosts.first() else { return 0.0 };
    let (first_s, last_s) = ends_s(&clients.arrivals, clients.hosts.len());
    let bps = outlook.path(origin.host, *host).rate_bps;
    let fetch_s = origin.files.size_bytes as f64 * 8.0 / bps;
    (count * fetch_s / (last_s - first_s).max(1e-9)).clamp(1.0, count)
}

/// The way from the server to the one of some of them that has it hardest.
fn way(clients: &Clients, origin: &Origin, outlook: &Outlook<'_>) -> Option<ConnectionGroup> {
    let step = clients.hosts.len().div_ceil(SAMPLES).max(1);
    let ways = clients.hosts.iter().step_by(step);
    let ways =
        ways.map(|host| ConnectionGroup::new(outlook, origin.transport, origin.host, *host, None));
    ways.min_by(|a, b| a.bps.total_cmp(&b.bps))
}

fn fetch_s(clients: &Clients, origin: &Origin, outlook: &Outlook<'_>) -> f64 {
    let way = way(clients, origin, outlook);
    way.map_or(0.0, |way| way.fetch_s(origin.files.size_bytes as f64))
}
