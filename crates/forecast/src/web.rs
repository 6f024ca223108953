use crate::Forecast;
use crate::load::{Load, PACKET_BYTES, ROW_BYTES};
use crate::outlook::Outlook;
use crate::stream::ConnectionGroup;
use flashcrowd_plan::Web;

/// Bytes that are kept of a user besides connections and pages.
const USER_BYTES: f64 = 300.0;

impl Forecast for Web {
    /// Pages take what they get, as long as they are fetched.
    fn share(&self, outlook: &mut Outlook<'_>) {
        let fetch_s = self.page.mean() * 8.0 / outlook.path(self.to, self.from).rate_bps;
        let busy = fetch_s / (fetch_s + self.reading.mean_s()).max(1e-9);
        let connections = f64::from(self.users) * f64::from(self.connections) * busy;
        outlook.add_greedy(self.to, self.from, connections);
    }

    /// A run does not wait for it.
    fn end_s(&self, _index: usize, _outlook: &Outlook<'_>) -> Option<f64> {
        None
    }

    /// Pages one after another, each over connections of its own.
    fn load(&self, index: usize, outlook: &Outlook<'_>, end_s: f64) -> Load {
        let way = ConnectionGroup::new(outlook, self.transport, self.to, self.from, None);
        let (users, connections) = (f64::from(self.users), f64::from(self.connections));
        let start_s = self.start_ns.seconds() + self.spread_ns.seconds() / 2.0;
        let active_s = (end_s.min(outlook.stop_s(index, self.stop_ns)) - start_s).max(0.0);
        let page = self.page.mean();
        let fetch_s = way.fetch_s(page / connections);
        let cycle_s = fetch_s + self.reading.mean_s();
        let pages = users * (active_s / cycle_s.max(1e-6)).max(f64::from(u8::from(active_s > 0.0)));
        let mut load = way.stream(page, fetch_s, connections).load();
        let requests = (self.request_bytes as f64 / way.transport_model.segment_bytes).ceil();
        let request =
            Load { packets: requests, events: requests * way.forth.stages, ..Load::default() };
        load.add(way.opening().times(connections));
        load.add(request.times(connections));
        load.bytes += ROW_BYTES;
        load = load.times(pages);
        // A connection that is closed stays until its TIME-WAIT is over.
        let kept =
            (1.0 + way.transport_model.linger_s / cycle_s.max(1e-6)).min(pages / users.max(1.0));
        load.connections = users * connections * kept.max(1.0);
        load.bytes += users * (USER_BYTES + connections * way.in_flight() * PACKET_BYTES);
        load.add_routes(way.forth.own, 2.0);
        load
    }
}
