use crate::Forecast;
use crate::load::{Load, PACKET_BYTES, ROW_BYTES};
use crate::outlook::{ENDLESS_BPS, Outlook, mean};
use crate::stream::{ConnectionGroup, WRITE_BYTES};
use flashcrowd_base::Rate;
use flashcrowd_plan::{Transfer, What};

/// Bytes that are kept of a flow besides its connection; most of it is the distribution of its
/// round trips over three powers of two, 512 bytes each.
const FLOW_BYTES: f64 = 2000.0;

impl Forecast for Transfer {
    /// A limited application sends what it produces, any other what the network takes.
    fn share(&self, outlook: &mut Outlook<'_>) {
        let flows = f64::from(self.flows);
        match self.rate_bps {
            Some(rate) => outlook.reserve(self.from, self.to, rate.bps() as f64 * flows),
            None => outlook.add_greedy(self.from, self.to, flows),
        }
    }

    /// When the last flow has sent its bytes, or is stopped.
    fn end_s(&self, index: usize, outlook: &Outlook<'_>) -> Option<f64> {
        if self.flows == 0 || (self.size_bytes.is_none() && self.stop_ns.is_none()) {
            return None;
        }
        let stop_s = outlook.stop_s(index, self.stop_ns);
        let start_s = self.start_ns.seconds() + self.spread_ns.seconds();
        let size = self.size_bytes.map_or(f64::INFINITY, |bytes| bytes as f64);
        Some(stop_s.min(start_s + way(self, index, outlook).fetch_s(size)))
    }

    /// The bytes of each flow: its size, or what its rate brings until it stops.
    fn load(&self, index: usize, outlook: &Outlook<'_>, end_s: f64) -> Load {
        let way = way(self, index, outlook);
        let flows = f64::from(self.flows);
        let start_s = self.start_ns.seconds() + self.spread_ns.seconds() / 2.0;
        let max_s = (end_s.min(outlook.stop_s(index, self.stop_ns)) - start_s).max(0.0);
        let size = self.size_bytes.map_or(f64::INFINITY, |bytes| bytes as f64);
        let bytes = size.min(way.bps / 8.0 * max_s);
        let seconds = max_s.min(way.fetch_s(bytes));
        let mut load = way.stream(bytes * flows, seconds, flows).load();
        load.add(way.opening().times(flows));
        if let Some(limit) = way.limit_bps {
            load.events += limit / 8.0 / WRITE_BYTES * seconds * flows;
        }
        if let Some(until) = outlook.plan.measures.packets_ns {
            let share = ((until.seconds() - start_s) / max_s.max(1e-9)).clamp(0.0, 1.0);
            load.bytes += load.packets * share * ROW_BYTES;
        }
        load.connections = flows;
        load.bytes += flows * (FLOW_BYTES + way.in_flight() * PACKET_BYTES);
        load.add_routes(way.forth.own, 2.0);
        load
    }
}

fn way(transfer: &Transfer, index: usize, outlook: &Outlook<'_>) -> ConnectionGroup {
    let limit = |rate: Option<Rate>| rate.map_or(ENDLESS_BPS, |rate| rate.bps() as f64);
    let changes = outlook.plan.timeline.iter().filter_map(|change| match change.what {
        What::TransferRate { workload, rate_bps } if workload as usize == index => {
            Some((change.at_ns, limit(rate_bps)))
        }
        _ => None,
    });
    let limited = transfer
        .rate_bps
        .is_some()
        .then(|| mean(limit(transfer.rate_bps), changes, outlook.horizon_s).min(ENDLESS_BPS));
    let limited = limited.map(|bps| (bps, f64::from(transfer.flows)));
    ConnectionGroup::new(outlook, transfer.transport, transfer.from, transfer.to, limited)
}
