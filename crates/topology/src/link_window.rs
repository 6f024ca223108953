use crate::shared_link::SharedLink;
use flashcrowd_base::{Span, Time};
use flashcrowd_link::{Counters, Sent};
use flashcrowd_plan::Window;

/// The use of links inside of the window of their table: the counters at its two instants, so that
/// no packet takes longer than without one.
#[derive(Clone, Debug)]
pub struct LinkWindow {
    window: Option<Window>,
    begin: Option<Vec<Reading>>,
    end: Option<Vec<Reading>>,
}

/// A link's counters at an instant.
#[derive(Clone, Copy, Debug, Default)]
struct Reading {
    counters: Counters,
    sent: Sent,
    /// The bits that it could have carried.
    offered_bits: f64,
}

/// The use of a link in some time.
#[derive(Clone, Debug)]
pub struct LinkUse {
    /// The time.
    pub over: Span,
    /// Packets that left it.
    pub packets: u64,
    /// Their bytes, framing included.
    pub bytes: u64,
    /// Packets that its full queue dropped.
    pub dropped: u64,
    /// Packets lost at random.
    pub lost: u64,
    /// The mean wait of packets that came to its queue, in seconds; `None` without any.
    pub mean_wait_s: Option<f64>,
    /// Most packets that ever waited.
    pub max_packets: u32,
    /// Bits that left it over those that its rates and traces allowed, from 0 to 1; `None` for a link
    /// without a rate, and where nothing was allowed.
    pub utilisation: Option<f64>,
}

fn read<K>(link: &SharedLink<K>, now: Time) -> Reading {
    Reading {
        counters: link.counters(),
        sent: link.sent(now),
        offered_bits: link.offered_bits(now),
    }
}

impl LinkWindow {
    /// For this window, or for a whole run.
    pub fn new(window: Option<Window>) -> LinkWindow {
        LinkWindow { window, begin: None, end: None }
    }

    /// It is the begin of the window, or else its end; at a begin the caller resets each link's
    /// [most packets](SharedLink::restart_max_packets).
    pub fn mark<'a, K: 'a>(
        &mut self,
        links: impl Iterator<Item = &'a SharedLink<K>>,
        now: Time,
        begins: bool,
    ) {
        let readings = links.map(|link| read(link, now)).collect();
        *(if begins { &mut self.begin } else { &mut self.end }) = Some(readings);
    }

    /// The use of the link of this number in the window, or in the whole run.
    pub fn used<K>(&self, index: usize, link: &SharedLink<K>, now: Time) -> LinkUse {
        let Some(window) = &self.window else {
            return used(now - Time::START, &Reading::default(), &read(link, now));
        };
        let last = |readings: &Option<Vec<Reading>>| match readings {
            Some(readings) => readings[index],
            None => read(link, now),
        };
        // A run that ended before the window began did nothing in it.
        let (begin, end) = (last(&self.begin), last(&self.end));
        let mut all = used(window.end().min(now).since(window.begin()), &begin, &end);
        if self.begin.is_none() {
            all.max_packets = 0;
        }
        all
    }
}

/// The use of a link between two readings.
fn used(over: Span, begin: &Reading, end: &Reading) -> LinkUse {
    let offered_bits = end.offered_bits - begin.offered_bits;
    // After a change in transmission, bits are whole again.
    let bits = end.sent.bits.saturating_sub(begin.sent.bits);
    let came = end.counters.packets - begin.counters.packets;
    let waited = end.counters.waited.nanos().saturating_sub(begin.counters.waited.nanos());
    LinkUse {
        over,
        packets: end.sent.packets - begin.sent.packets,
        bytes: end.sent.bytes - begin.sent.bytes,
        dropped: end.counters.dropped - begin.counters.dropped,
        lost: end.counters.lost - begin.counters.lost,
        mean_wait_s: (came > 0).then(|| Span::from_nanos(waited).seconds() / came as f64),
        max_packets: end.counters.max_packets,
        // Instants are whole nanoseconds, so that a full link may be a hair above 1.
        utilisation: (offered_bits > 0.0).then(|| (bits as f64 / offered_bits).min(1.0)),
    }
}
