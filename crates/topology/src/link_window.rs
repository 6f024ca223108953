use crate::shared_link::SharedLink;
use flashcrowd_base::{Span, Time};
use flashcrowd_link::Counters;
use flashcrowd_plan::Window;

/// What links did inside of the window of their table: the counters at its two instants, so that no
/// packet costs more than without one.
#[derive(Clone, Debug)]
pub struct LinkWindow {
    window: Option<Window>,
    begin: Option<Vec<Reading>>,
    end: Option<Vec<Reading>>,
}

/// A link's counters at an instant.
#[derive(Clone, Copy, Debug)]
struct Reading {
    counters: Counters,
    /// Packets that its queue has let go, and their bytes: a first-in-first-out queue counts what it
    /// takes, as it knows by then when that will leave.
    packets: u64,
    bytes: u64,
    /// What it could have carried.
    offered_bits: f64,
}

/// What a link did in some time.
#[derive(Clone, Debug)]
pub struct LinkUse {
    /// The time.
    pub over: Span,
    /// Packets that it carried.
    pub packets: u64,
    /// Their bytes, framing included.
    pub bytes: u64,
    /// Packets that its full queue dropped.
    pub dropped: u64,
    /// Packets lost at random.
    pub lost: u64,
    /// The mean wait of what came to its queue, in seconds; `None` if nothing did.
    pub mean_wait_s: Option<f64>,
    /// Most packets that ever waited.
    pub max_packets: u32,
    /// Bytes carried over what it could have carried; `None` for a link without a rate.
    pub utilisation: Option<f64>,
}

fn read<K>(link: &SharedLink<K>, now: Time) -> Reading {
    let counters = link.counters();
    let (packets, bytes) = link.transmitting(now);
    Reading {
        counters,
        packets: counters.packets - packets,
        bytes: counters.bytes - bytes,
        offered_bits: link.offered_bits(now),
    }
}

impl LinkWindow {
    /// For this window, or for a whole run.
    pub fn new(window: Option<Window>) -> LinkWindow {
        LinkWindow { window, begin: None, end: None }
    }

    /// It is the begin of the window, or else its end; whoever tells of a begin has each link's
    /// [most packets](SharedLink::restart_max_packets) counted anew.
    pub fn mark<'a, K: 'a>(
        &mut self,
        links: impl Iterator<Item = &'a SharedLink<K>>,
        now: Time,
        begins: bool,
    ) {
        let readings = links.map(|link| read(link, now)).collect();
        *(if begins { &mut self.begin } else { &mut self.end }) = Some(readings);
    }

    /// What the link of this number did in the window, or in the whole run.
    pub fn used<K>(&self, index: usize, link: &SharedLink<K>, now: Time) -> LinkUse {
        let Some(window) = &self.window else {
            let counters = link.counters();
            let over = now - Time::START;
            return used(link, over, &Counters::default(), &counters, link.offered_bits(now));
        };
        let last = |readings: &Option<Vec<Reading>>| match readings {
            Some(readings) => readings[index],
            None => read(link, now),
        };
        // A run that ended before the window began did nothing in it.
        let (begin, end) = (last(&self.begin), last(&self.end));
        let over = window.end().min(now).since(window.begin());
        let counted = |reading: &Reading| Counters {
            packets: reading.packets,
            bytes: reading.bytes,
            ..reading.counters
        };
        let came = end.counters.packets - begin.counters.packets;
        let offered = end.offered_bits - begin.offered_bits;
        let mut all = used(link, over, &counted(&begin), &counted(&end), offered);
        all.mean_wait_s = mean_wait(&begin.counters, &end.counters, came);
        if self.begin.is_none() {
            all.max_packets = 0;
        }
        all
    }
}

fn mean_wait(begin: &Counters, end: &Counters, came: u64) -> Option<f64> {
    let waited = Span::from_nanos(end.waited.nanos().saturating_sub(begin.waited.nanos()));
    (came > 0).then(|| waited.seconds() / came as f64)
}

/// `offered_bits` counts if the link has followed a trace.
fn used<K>(
    link: &SharedLink<K>,
    over: Span,
    begin: &Counters,
    end: &Counters,
    offered_bits: f64,
) -> LinkUse {
    let (packets, bytes) = (end.packets - begin.packets, end.bytes - begin.bytes);
    let rated = || link.rate().map(|rate| rate.bps() as f64 * over.seconds());
    let capacity = if link.is_traced() { Some(offered_bits) } else { rated() };
    let share = |capacity: f64| (capacity > 0.0).then(|| bytes as f64 * 8.0 / capacity);
    LinkUse {
        over,
        packets,
        bytes,
        dropped: end.dropped - begin.dropped,
        lost: end.lost - begin.lost,
        mean_wait_s: mean_wait(begin, end, packets),
        max_packets: end.max_packets,
        utilisation: capacity.and_then(share),
    }
}
