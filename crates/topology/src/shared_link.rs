use crate::held::Held;
use flashcrowd_base::{RandomStream, Rate, Span, Time};
use flashcrowd_link::{Conditions, Counters, Direction};
use flashcrowd_plan as plan;

/// One direction of a link that several flows share: an access line, a bottleneck.
#[derive(Debug)]
pub struct SharedLink<K> {
    name: String,
    pub(crate) conditions: Conditions,
    /// The delay that was drawn for this run.
    drawn: Option<Span>,
    pub(crate) direction: Direction,
    /// Whether its discipline decides when packets leave, or did so before a change.
    pub(crate) decides: bool,
    /// What waits in it, where its discipline decides.
    pub(crate) held: Held<K>,
}

impl<K> SharedLink<K> {
    pub(crate) fn new(link: &plan::Link, seed: u64, index: u32) -> SharedLink<K> {
        let drawn = link.delay.as_ref().map(|delay| {
            let mut stream = RandomStream::new(seed, "delay", u64::from(delay.number));
            stream.between(delay.least_ns, delay.most_ns)
        });
        let mut conditions = link.conditions.clone();
        conditions.delay_ns = drawn.unwrap_or(conditions.delay_ns);
        SharedLink {
            name: link.name.clone(),
            decides: conditions.queue.is_managed(),
            conditions,
            drawn,
            direction: Direction::new(RandomStream::new(seed, "link", u64::from(index))),
            held: Held::new(),
        }
    }

    /// New conditions, but for the delay if it was drawn for this run.
    pub(crate) fn with_drawn_delay(&self, conditions: &Conditions) -> Conditions {
        let mut conditions = conditions.clone();
        conditions.delay_ns = self.drawn.unwrap_or(conditions.delay_ns);
        conditions
    }

    /// What the plan calls it.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// Its rate; `None` if packets never wait.
    pub fn rate(&self) -> Option<Rate> {
        self.conditions.rate_bps
    }
    /// How long a packet that comes now would wait in a first-in-first-out queue of that length.
    pub fn queueing_delay(&self, now: Time) -> Span {
        self.direction.queueing_delay(&self.conditions, now)
    }
    /// Packets at the link, the one in transmission included.
    pub fn queued_packets(&mut self, now: Time) -> u32 {
        self.direction.queued_packets(now)
    }
    /// Packets and bytes of [`counters`](SharedLink::counters) that have not left it yet.
    pub fn transmitting(&self, now: Time) -> (u64, u64) {
        self.direction.transmitting(now)
    }
    /// Its counter of the most packets begins anew.
    pub fn restart_most_packets(&mut self, now: Time) {
        self.direction.restart_most_packets(now);
    }
    /// What it has carried so far.
    pub fn counters(&self) -> Counters {
        self.direction.counters()
    }
}
