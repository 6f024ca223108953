use super::load::{Load, PACKET_BYTES, ROW_BYTES};
use super::outlook::Outlook;
use super::stream::Way;
use crate::{Clients, Origin};

/// What is kept of a client besides its connection.
const CLIENT_BYTES: f64 = 1000.0;
/// What is kept of an extent of a file, and of one in memory.
const EXTENT_BYTES: f64 = 16.0;
const SLOT_BYTES: f64 = 300.0;
/// Clients of a population that are looked at for its lines.
const SAMPLES: usize = 16;

impl Origin {
    /// Clients take what they get, as long as they are there.
    pub(crate) fn share(&self, outlook: &mut Outlook<'_>) {
        for clients in &self.populations {
            let there = clients.at_once(self, outlook);
            let each = there / (clients.hosts.len() as f64).max(1.0);
            for host in &clients.hosts {
                outlook.add_greedy(self.host, *host, each);
            }
        }
    }

    /// When the last client has its file.
    pub(crate) fn end_s(&self, index: usize, outlook: &Outlook<'_>) -> Option<f64> {
        let last = |clients: &Clients| {
            let (_, last_s) = clients.arrivals.ends_s(clients.hosts.len());
            last_s + clients.fetch_s(self, outlook)
        };
        let some = self.populations.iter().filter(|clients| !clients.hosts.is_empty());
        let end_s = some.map(last).fold(0.0, f64::max);
        Some(end_s.min(outlook.stop_s(index, None)))
    }

    /// A file for each client that comes by then.
    pub(crate) fn load(&self, index: usize, outlook: &Outlook<'_>, end_s: f64) -> Load {
        let end_s = end_s.min(outlook.stop_s(index, None));
        let size = self.files.size_bytes as f64;
        let mut all = Load::default();
        for clients in &self.populations {
            let Some(way) = clients.way(self, outlook) else { continue };
            let (first_s, last_s) = clients.arrivals.ends_s(clients.hosts.len());
            let come = ((end_s - first_s) / (last_s - first_s).max(1e-9)).clamp(0.0, 1.0);
            let downloads = clients.hosts.len() as f64 * come;
            let fetch_s = way.fetch_s(size);
            // Who comes late has a part by the end.
            let late = downloads * (fetch_s / (end_s - first_s).max(1e-9)).min(1.0);
            let rest_s = (end_s - last_s.min(end_s)).min(fetch_s);
            let part = (downloads - late * (1.0 - rest_s / fetch_s.max(1e-9))).max(0.0);
            let mut load = way.stream(size * part, fetch_s, part).load();
            load.add(way.opening().times(downloads));
            load.connections = clients.at_once(self, outlook).min(downloads);
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

impl Clients {
    /// Clients at a time, if each has the line for itself.
    fn at_once(&self, origin: &Origin, outlook: &Outlook<'_>) -> f64 {
        let clients = self.hosts.len() as f64;
        let Some(host) = self.hosts.first() else { return 0.0 };
        let (first_s, last_s) = self.arrivals.ends_s(self.hosts.len());
        let bps = outlook.path(origin.host, *host).rate_bps;
        let fetch_s = origin.files.size_bytes as f64 * 8.0 / bps;
        (clients * fetch_s / (last_s - first_s).max(1e-9)).clamp(1.0, clients)
    }

    /// The way from the server to the one of some of them that has it hardest.
    fn way(&self, origin: &Origin, outlook: &Outlook<'_>) -> Option<Way> {
        let step = self.hosts.len().div_ceil(SAMPLES).max(1);
        let ways = self.hosts.iter().step_by(step);
        let ways = ways.map(|host| Way::new(outlook, origin.transport, origin.host, *host, None));
        ways.min_by(|a, b| a.bps.total_cmp(&b.bps))
    }

    fn fetch_s(&self, origin: &Origin, outlook: &Outlook<'_>) -> f64 {
        let way = self.way(origin, outlook);
        way.map_or(0.0, |way| way.fetch_s(origin.files.size_bytes as f64))
    }
}
