use crate::Forecast;
use crate::load::{Load, PACKET_BYTES, ROW_BYTES};
use crate::outlook::Outlook;
use crate::stream::ConnectionGroup;
use flashcrowd_plan::Download;

/// Bytes that are kept of a download besides its connections.
const DOWNLOAD_BYTES: f64 = 1000.0;
/// Round trips before the bytes come: one to open the first connection, one for what is asked first, and both again
/// for the other connections.
const OPENING_TRIPS: f64 = 4.0;

impl Forecast for Download {
    /// Each connection takes what it gets.
    fn share(&self, outlook: &mut Outlook<'_>) {
        for (server, connections) in dealt(self) {
            outlook.add_greedy(server, self.to, connections);
        }
    }

    /// When all bytes are there, or it is stopped.
    fn end_s(&self, index: usize, outlook: &Outlook<'_>) -> Option<f64> {
        let start_s = self.start_ns.seconds() + self.spread_ns.seconds();
        let stop_s = outlook.stop_s(index, self.stop_ns);
        Some(stop_s.min(start_s + fetch_s(self, outlook)))
    }

    /// The bytes of each server, by the rate of its connections.
    fn load(&self, index: usize, outlook: &Outlook<'_>, end_s: f64) -> Load {
        let start_s = self.start_ns.seconds() + self.spread_ns.seconds() / 2.0;
        let most_s = (end_s.min(outlook.stop_s(index, self.stop_ns)) - start_s).max(0.0);
        let whole_s = fetch_s(self, outlook);
        let seconds = whole_s.min(most_s);
        let bytes = self.size_bytes as f64 * (seconds / whole_s.max(1e-9)).min(1.0);
        let bps: f64 = groups(self, outlook).map(|(way, count)| way.bps * count).sum();
        let mut load = Load { bytes: DOWNLOAD_BYTES + ROW_BYTES, ..Load::default() };
        for (way, connections) in groups(self, outlook) {
            let part = bytes * way.bps * connections / bps.max(1.0);
            let range = self.range_bytes.filter(|_| self.connections > 1);
            let ranges = range.map_or(connections, |range| (part / range as f64).max(connections));
            load.add(way.stream(part, seconds, connections).load());
            load.add(way.opening().times(connections));
            load.add(Load {
                packets: ranges,
                events: ranges * way.forth.stages,
                ..Load::default()
            });
            load.connections += connections;
            load.bytes += connections * way.in_flight() * PACKET_BYTES + ROW_BYTES;
            load.add_routes(way.forth.own, 2.0);
        }
        load
    }
}

/// How many connections each server has.
fn dealt(download: &Download) -> impl Iterator<Item = (u32, f64)> + '_ {
    let servers = 1 + download.mirrors.len() as u32;
    let of = move |place: u32| {
        download.connections / servers + u32::from(place < download.connections % servers)
    };
    let counted = (0..).zip(download.servers()).map(move |(place, server)| (server, of(place)));
    counted.filter(|(_, count)| *count > 0).map(|(server, count)| (server, f64::from(count)))
}

fn groups<'a>(
    download: &'a Download,
    outlook: &'a Outlook<'_>,
) -> impl Iterator<Item = (ConnectionGroup, f64)> + 'a {
    dealt(download).map(|(server, count)| {
        let way = ConnectionGroup::new(outlook, download.transport, server, download.to, None);
        (way, count)
    })
}

/// How long it takes: with equal parts as long as the slowest connection, else as all together, and a round trip for
/// each range of a connection.
fn fetch_s(download: &Download, outlook: &Outlook<'_>) -> f64 {
    let (mut bps, mut slowest, mut rtt_s) = (0.0, f64::INFINITY, 0.0f64);
    for (way, connections) in groups(download, outlook) {
        let one_s = |bytes: f64| way.fetch_s(bytes);
        let trip_s = one_s(0.0) / 2.0;
        // Between two ranges of a connection there is a round trip.
        let range = download.range_bytes.filter(|_| download.connections > 1);
        let idle_s = range.map_or(0.0, |range| trip_s / (range as f64 * 8.0 / way.bps + trip_s));
        let each = way.bps * (1.0 - idle_s);
        bps += each * connections;
        slowest = slowest.min(each);
        rtt_s = rtt_s.max(trip_s);
    }
    let waits = download.range_bytes.is_none() && download.least_split_bytes.is_none();
    if waits {
        bps = slowest * f64::from(download.connections);
    }
    download.size_bytes as f64 * 8.0 / bps.max(1.0) + OPENING_TRIPS * rtt_s
}
