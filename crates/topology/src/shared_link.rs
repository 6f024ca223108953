use crate::held::Held;
use flashcrowd_base::{RandomStream, Span, Time};
use flashcrowd_link::{Conditions, Counters, Direction, Moved, Plain, Sent, Trace};
use flashcrowd_plan as plan;

/// One direction of a link that several flows share: an access line, a bottleneck.
///
/// The fields that a packet on a plain link needs are in its first three lines of the cache.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct SharedLink<K> {
    /// Whether another topology of the same plan plays it.
    pub(crate) elsewhere: bool,
    /// Whether its discipline decides when packets leave, or did so before a change.
    pub(crate) decides: bool,
    /// Whether packets can wait here: it has a rate, or follows a trace.
    pub(crate) rated: bool,
    /// Replaces the conditions as long as the link and the packets on it are plain.
    pub(crate) plain: Option<Plain>,
    pub(crate) direction: Direction,
    pub(crate) conditions: Conditions,
    /// Packets that wait in it, where its discipline decides.
    pub(crate) held: Held<K>,
    /// The departure that an engine waits for; [`Time::NEVER`] if there is none, as without a discipline.
    pub(crate) departs: Time,
    name: String,
    /// The delay that was drawn for this run.
    drawn: Option<Span>,
    offered: Offered,
}

/// Bits that a link could have carried.
#[derive(Clone, Copy, Debug)]
struct Offered {
    /// Those before its present rate or trace.
    before: f64,
    /// Since when it has had that.
    since: Time,
}

impl Offered {
    /// Bits by now; without a rate, none count.
    fn bits(self, conditions: &Conditions, now: Time) -> f64 {
        let over = now.since(self.since);
        let rate = conditions.rate_bps.map_or(0.0, |rate| rate.bps() as f64);
        let traced = conditions.trace.as_ref().map(|trace| trace.bits(Span::ZERO, over));
        self.before + traced.unwrap_or(rate * over.seconds())
    }

    /// From now on it has another rate or trace.
    fn changed(self, now: Time, old: &Conditions, new: &Conditions) -> Offered {
        let at_once = new.trace.as_ref().map_or(0.0, Trace::bits_at_once);
        let before = self.bits(old, now) + at_once;
        Offered { before, since: now }
    }
}

impl<K> SharedLink<K> {
    /// A link of a plan that follows this trace, if any.
    pub(crate) fn new(
        link: &plan::Link,
        trace: Option<Trace>,
        seed: u64,
        index: u32,
    ) -> SharedLink<K> {
        let drawn = link.delay.as_ref().map(|delay| {
            let mut stream = RandomStream::new(seed, "delay", u64::from(delay.number));
            stream.between(delay.least_ns, delay.most_ns)
        });
        let mut conditions = link.conditions.clone();
        conditions.delay_ns = drawn.unwrap_or(conditions.delay_ns);
        conditions.trace = trace;
        SharedLink {
            name: link.name.clone(),
            decides: conditions.queue.is_managed(),
            rated: conditions.is_rated(),
            plain: Plain::of(&conditions),
            conditions,
            drawn,
            offered: Offered { before: 0.0, since: Time::START },
            direction: Direction::new(RandomStream::new(seed, "link", u64::from(index))),
            held: Held::new(),
            departs: Time::NEVER,
            elsewhere: false,
        }
    }

    /// Gives it new conditions and a trace, but for the delay if that was drawn for this run.
    pub(crate) fn change(
        &mut self,
        now: Time,
        conditions: &Conditions,
        trace: Option<Trace>,
    ) -> Vec<Moved> {
        let mut conditions = Conditions { trace, ..conditions.clone() };
        conditions.delay_ns = self.drawn.unwrap_or(conditions.delay_ns);
        let old = &self.conditions;
        let other = old.rate_bps != conditions.rate_bps || old.trace != conditions.trace;
        if other {
            self.offered = self.offered.changed(now, old, &conditions);
        }
        let moved = self.direction.change(now, old, &conditions);
        self.decides |= conditions.queue.is_managed();
        self.departs = Time::NEVER;
        self.rated = conditions.is_rated();
        let plain = !self.decides && !self.elsewhere && self.direction.is_plain();
        self.plain = Plain::of(&conditions).filter(|_| plain);
        self.conditions = conditions;
        moved
    }

    /// Its name in the plan.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// Whether another topology of the same plan plays it; see
    /// [`Topology::leave`](crate::Topology::leave).
    pub fn is_elsewhere(&self) -> bool {
        self.elsewhere
    }
    /// Whether packets can wait here: it has a rate, or follows a trace.
    pub fn is_rated(&self) -> bool {
        self.rated
    }
    /// Whether super-segments are cut into frames for it: they can wait here, or be lost.
    pub(crate) fn cuts(&self) -> bool {
        self.is_rated() || self.conditions.loss.is_some()
    }
    /// Bits that it could have carried by now, at its rates and as its traces say.
    pub fn offered_bits(&self, now: Time) -> f64 {
        self.offered.bits(&self.conditions, now)
    }
    /// How long a packet that comes now would wait in a first-in-first-out queue of that length.
    pub fn queueing_delay(&self, now: Time) -> Span {
        self.direction.queueing_delay(&self.conditions, now)
    }
    /// Packets at the link, the one in transmission included.
    pub fn queued_packets(&mut self, now: Time) -> u32 {
        self.direction.queued_packets(now)
    }
    /// The packets and bytes that have left it by now.
    pub fn sent(&self, now: Time) -> Sent {
        self.direction.sent(&self.conditions, now)
    }
    /// Resets its maximum number of packets.
    pub fn restart_max_packets(&mut self, now: Time) {
        self.direction.restart_max_packets(now);
    }
    /// Its counters; see [`sent`](SharedLink::sent) for what has left it.
    pub fn counters(&self) -> Counters {
        self.direction.counters()
    }
}
