use crate::apps::World;
use crate::kernel::Link;
use flashcrowd_base::{Span, Time};
use flashcrowd_link::Counters;
use flashcrowd_plan::{Plan, Window, Windowed};

/// What links did inside of the window of their table: the counters at its two instants, so that no
/// packet costs more than without one.
pub(super) struct LinkWindow {
    window: Option<Window>,
    begin: Option<Vec<Reading>>,
    end: Option<Vec<Reading>>,
}

/// A link's counters at an instant.
#[derive(Clone, Copy)]
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
pub(super) struct Carried {
    pub(super) over: Span,
    /// What it could have carried, if a trace says so.
    pub(super) offered_bits: Option<f64>,
    pub(super) packets: u64,
    pub(super) bytes: u64,
    pub(super) dropped: u64,
    pub(super) lost: u64,
    /// The mean wait of what came to its queue.
    pub(super) mean_wait_s: Option<f64>,
    pub(super) most_packets: u32,
}

fn read(link: &Link, now: Time) -> Reading {
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
    pub(super) fn new(plan: &Plan) -> LinkWindow {
        let window = plan.measures.window(Windowed::Links).cloned();
        LinkWindow { window, begin: None, end: None }
    }

    /// It is the begin of the window, or else its end.
    pub(super) fn mark(&mut self, world: &mut World, begins: bool) {
        let readings = world.network.links().map(|link| read(link, world.now)).collect();
        if begins {
            self.begin = Some(readings);
            world.network.restart_most_packets(world.now);
        } else {
            self.end = Some(readings);
        }
    }

    /// What the link of this number did in the window, or in the whole run.
    pub(super) fn carried(&self, index: usize, link: &Link, now: Time) -> Carried {
        let Some(window) = &self.window else {
            let counters = link.counters();
            let all = carried(now - Time::START, &Counters::default(), &counters);
            let offered = link.offered_bits(now);
            return Carried { offered_bits: link.is_traced().then_some(offered), ..all };
        };
        let last = |readings: &Option<Vec<Reading>>| match readings {
            Some(readings) => readings[index],
            None => read(link, now),
        };
        // A run that ended before the window began did nothing in it.
        let (begin, end) = (last(&self.begin), last(&self.end));
        let over = window.end().min(now).since(window.begin());
        let mut all = carried(over, &begin.counters, &end.counters);
        all.packets = end.packets - begin.packets;
        all.bytes = end.bytes - begin.bytes;
        let offered = end.offered_bits - begin.offered_bits;
        all.offered_bits = link.is_traced().then_some(offered);
        if self.begin.is_none() {
            all.most_packets = 0;
        }
        all
    }
}

fn carried(over: Span, begin: &Counters, end: &Counters) -> Carried {
    let offered = end.packets - begin.packets;
    let waited = Span::from_nanos(end.waited.nanos().saturating_sub(begin.waited.nanos()));
    Carried {
        over,
        offered_bits: None,
        packets: offered,
        bytes: end.bytes - begin.bytes,
        dropped: end.dropped - begin.dropped,
        lost: end.lost - begin.lost,
        mean_wait_s: (offered > 0).then(|| waited.seconds() / offered as f64),
        most_packets: end.most_packets,
    }
}
