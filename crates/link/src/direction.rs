use crate::{Conditions, Jitter, JitterShape, LossModel, Side};
use flashcrowd_base::{Rate, Ring, Span, Stream, Time};

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It reaches the other end at this instant.
    Arrives(Time),
    /// It is lost at random.
    Lost,
    /// The queue is full.
    Dropped,
}

/// A packet whose arrival moved because the link changed while it was waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The tag it was offered with.
    pub tag: u32,
    /// When it was to arrive.
    pub arrived: Time,
    /// When it arrives now.
    pub arrives: Time,
}

/// What a direction has carried so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets transmitted, those lost at the receiving side included.
    pub packets: u64,
    /// Their bytes, framing included.
    pub bytes: u64,
    /// Packets that found the queue full.
    pub dropped: u64,
    /// Packets lost at random.
    pub lost: u64,
    /// Sum of the waiting times of transmitted packets, without their own transmission.
    pub waited: Span,
    /// Most packets ever at the link at once, the one in transmission included.
    pub most_packets: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Waiting {
    departs: Time,
    bytes: u32,
    /// [`NAMELESS`] for one that is lost: its arrival will never be asked for.
    tag: u32,
}

const NAMELESS: u32 = 0;

/// What is kept of a direction only where a packet's arrival does not follow from its departure:
/// with jitter, or after a change of the delay.
#[derive(Clone, Debug, Default)]
struct Detail {
    /// For each of the waiting packets, when it would arrive if there were no other: its departure,
    /// the delay, and what its jitter adds. There may be more at the front, of packets that have
    /// departed.
    own_arrivals: Ring<Time>,
    /// The last arrival of those that have departed.
    departed: Time,
}

impl Detail {
    /// Forgets all packets but the last `waiting`.
    fn keep(&mut self, waiting: usize) {
        while self.own_arrivals.len() > waiting {
            self.departed = self.departed.max(self.own_arrivals.pop_front().unwrap_or_default());
        }
    }
}

/// The state of one direction of a link.
#[derive(Clone, Debug)]
pub struct Direction {
    /// Packets that have not departed yet, the one in transmission first. Those that have are
    /// forgotten when it matters: how many they are cannot be guessed, and looking for each packet
    /// costs more than the rest of it.
    waiting: Ring<Waiting>,
    waiting_bytes: u64,
    free_at: Time,
    /// When the last packet was known to depart that [`Direction::forget_departed`] has forgotten.
    departed: Time,
    /// The last arrival of all packets so far: on a link that keeps the order, no newcomer arrives
    /// before that.
    last_arrival: Time,
    stream: Stream,
    detail: Option<Box<Detail>>,
    /// State of the Gilbert-Elliott chain.
    bad: bool,
    counters: Counters,
}

impl Direction {
    /// An idle direction that draws its jitter and losses from `stream`.
    pub fn new(stream: Stream) -> Direction {
        Direction {
            waiting: Ring::new(),
            waiting_bytes: 0,
            free_at: Time::START,
            departed: Time::START,
            last_arrival: Time::START,
            stream,
            detail: None,
            bad: false,
            counters: Counters::default(),
        }
    }

    /// Offers a packet of `bytes` (IP packet; the framing is added here) at `now`. `tag` names it
    /// in [`Direction::change`]; 0 is no name.
    #[inline]
    pub fn offer(&mut self, conditions: &Conditions, now: Time, bytes: u32, tag: u32) -> Outcome {
        let lost = self.loses(conditions);
        if lost && conditions.loss.is_some_and(|loss| loss.side == Side::Sender) {
            self.counters.lost += 1;
            return Outcome::Lost;
        }
        let bytes = conditions.framing.wire_bytes(bytes);
        let Some(rate) = conditions.rate_bps else {
            let own = now + self.delay(conditions);
            let arrives = self.in_order(conditions.jitter.as_ref(), own);
            self.count(bytes, lost);
            return if lost { Outcome::Lost } else { Outcome::Arrives(arrives) };
        };
        if self.detail.is_some() || conditions.jitter.is_some() {
            return self.offer_in_detail(conditions, rate, now, bytes, tag, lost);
        }
        if self.is_full(conditions, bytes) {
            self.forget_departed(now);
            if self.is_full(conditions, bytes) {
                self.counters.dropped += 1;
                return Outcome::Dropped;
            }
        }
        let departs = self.transmit(rate, now, bytes, tag, lost);
        // Without detail, all packets have had this delay: the order needs no care.
        let arrives = departs + conditions.delay_ns;
        self.last_arrival = arrives;
        if lost { Outcome::Lost } else { Outcome::Arrives(arrives) }
    }

    /// The same where a packet's arrival has to be kept beside its departure.
    #[inline(never)]
    fn offer_in_detail(
        &mut self,
        conditions: &Conditions,
        rate: Rate,
        now: Time,
        bytes: u32,
        tag: u32,
        lost: bool,
    ) -> Outcome {
        self.forget_departed(now);
        if self.is_full(conditions, bytes) {
            self.counters.dropped += 1;
            return Outcome::Dropped;
        }
        let waiting = self.waiting.len();
        self.detail(conditions.delay_ns).keep(waiting);
        let departs = self.transmit(rate, now, bytes, tag, lost);
        let own = departs + self.delay(conditions);
        self.detail(conditions.delay_ns).own_arrivals.push_back(own);
        let arrives = self.in_order(conditions.jitter.as_ref(), own);
        if lost { Outcome::Lost } else { Outcome::Arrives(arrives) }
    }

    /// Puts a packet behind those that wait, and gives the end of its transmission.
    #[inline]
    fn transmit(&mut self, rate: Rate, now: Time, bytes: u32, tag: u32, lost: bool) -> Time {
        let begins = self.free_at.max(now);
        self.counters.waited += begins - now;
        self.count(bytes, lost);
        let departs = begins + rate.transmission(u64::from(bytes));
        self.free_at = departs;
        let tag = if lost { NAMELESS } else { tag };
        self.waiting.push_back(Waiting { departs, bytes, tag });
        self.waiting_bytes += u64::from(bytes);
        if self.waiting.len() as u64 > u64::from(self.counters.most_packets) {
            self.forget_departed(now);
            let packets = self.waiting.len() as u32;
            self.counters.most_packets = self.counters.most_packets.max(packets);
        }
        departs
    }

    #[inline]
    fn count(&mut self, bytes: u32, lost: bool) {
        self.counters.packets += 1;
        self.counters.bytes += u64::from(bytes);
        self.counters.lost += u64::from(lost);
    }

    /// The arrivals of what waits, worked out if they were not kept so far: all of it has had this
    /// delay then, and no jitter.
    fn detail(&mut self, delay: Span) -> &mut Detail {
        self.detail.get_or_insert_with(|| {
            let departed = match self.waiting.front() {
                None => self.last_arrival,
                Some(_) if self.departed == Time::START => Time::START,
                Some(_) => self.departed + delay,
            };
            let mut detail = Box::new(Detail { own_arrivals: Ring::new(), departed });
            for packet in self.waiting.iter() {
                detail.own_arrivals.push_back(packet.departs + delay);
            }
            detail
        })
    }

    /// Changes the link in place: packets in the queue stay there, the one in transmission goes on
    /// with the bits that it still has, and packets that have departed are not touched. Returns
    /// the packets whose arrival moved.
    ///
    /// Order is kept (unless the jitter may break it) when the delay falls, whether or not a queue
    /// stands: what departs later arrives when the last packet that is in flight does, or after it.
    /// So does a route that becomes shorter behind a router that keeps flows in order, and so do
    /// two packets in one fibre.
    pub fn change(&mut self, now: Time, old: &Conditions, new: &Conditions) -> Vec<Moved> {
        self.forget_departed(now);
        let jittered = old.jitter.is_some() || new.jitter.is_some();
        if jittered || (old.delay_ns != new.delay_ns && self.last_arrival > now) {
            self.detail(old.delay_ns);
        }
        let mut detail = self.detail.take();
        let departed = detail.as_mut().map_or(Time::START, |detail| {
            detail.keep(self.waiting.len());
            detail.departed
        });
        let (kept_order, keeps_order) = (keeps_order(old), keeps_order(new));
        let (mut free_at, mut last_before, mut last) = (now, departed, departed);
        let mut moved = Vec::new();
        for (place, packet) in self.waiting.iter_mut().enumerate() {
            // Of the packet in transmission, only the rest is sent at the new rate.
            let bits_left = match old.rate_bps {
                Some(rate) if place == 0 => {
                    let left = packet.departs.since(now).nanos();
                    let bits = u128::from(left) * u128::from(rate.bps()) / 1_000_000_000;
                    (bits as u64).min(u64::from(packet.bytes) * 8)
                }
                _ => u64::from(packet.bytes) * 8,
            };
            if let Some(rate) = new.rate_bps {
                let nanos = u128::from(bits_left) * 1_000_000_000 / u128::from(rate.bps());
                free_at += Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
            }
            let (expected, expects) = (packet.departs + old.delay_ns, free_at + new.delay_ns);
            packet.departs = free_at;
            let mut slot = detail.as_mut().and_then(|detail| detail.own_arrivals.get_mut(place));
            let own_before = slot.as_deref().copied().unwrap_or(expected);
            // What its jitter adds or takes away stays.
            let early = expected.since(own_before);
            let own = (expects + own_before.since(expected)).nanos().saturating_sub(early.nanos());
            let own = Time::from_nanos(own).max(free_at);
            if let Some(slot) = &mut slot {
                **slot = own;
            }
            last_before = last_before.max(own_before);
            last = last.max(own);
            if packet.tag != NAMELESS {
                let arrived = if kept_order { last_before } else { own_before };
                let arrives = if keeps_order { last } else { own };
                moved.push(Moved { tag: packet.tag, arrived, arrives });
            }
        }
        if !self.waiting.is_empty() {
            self.last_arrival = last;
        }
        self.free_at = free_at;
        self.detail = detail;
        moved
    }

    /// Packets at the link at `now`, the one in transmission included.
    pub fn queued_packets(&mut self, now: Time) -> u32 {
        self.forget_departed(now);
        self.waiting.len() as u32
    }

    /// How long a packet that comes at `now` would wait before its transmission begins.
    pub fn queueing_delay(&self, now: Time) -> Span {
        self.free_at.since(now)
    }

    /// What has been carried so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    #[inline]
    fn forget_departed(&mut self, now: Time) {
        while let Some(first) = self.waiting.front() {
            if first.departs > now {
                break;
            }
            self.waiting_bytes -= u64::from(first.bytes);
            self.departed = first.departs;
            self.waiting.pop_front();
        }
    }

    #[inline]
    fn is_full(&self, conditions: &Conditions, bytes: u32) -> bool {
        let limit = conditions.queue;
        limit.packets.is_some_and(|most| self.waiting.len() as u64 >= u64::from(most))
            || limit.bytes.is_some_and(|most| self.waiting_bytes + u64::from(bytes) > most)
    }

    #[inline]
    fn loses(&mut self, conditions: &Conditions) -> bool {
        let Some(loss) = conditions.loss else { return false };
        match loss.model {
            LossModel::Bernoulli { probability } => self.stream.chance(probability),
            LossModel::GilbertElliott { to_bad, to_good, loss_good, loss_bad } => {
                let step = if self.bad { to_good } else { to_bad };
                self.bad ^= self.stream.chance(step);
                self.stream.chance(if self.bad { loss_bad } else { loss_good })
            }
        }
    }

    #[inline]
    fn delay(&mut self, conditions: &Conditions) -> Span {
        let Some(jitter) = conditions.jitter else { return conditions.delay_ns };
        let spread = jitter.spread_ns.seconds();
        match jitter.shape {
            JitterShape::Uniform => {
                conditions.delay_ns + Span::from_seconds(self.stream.unit() * spread)
            }
            JitterShape::Normal => {
                let seconds = conditions.delay_ns.seconds() + self.stream.normal() * spread;
                Span::from_seconds(seconds)
            }
        }
    }

    /// A link is first in, first out, unless its jitter says otherwise.
    #[inline]
    fn in_order(&mut self, jitter: Option<&Jitter>, own: Time) -> Time {
        self.last_arrival = self.last_arrival.max(own);
        if jitter.is_some_and(|jitter| jitter.reorder) { own } else { self.last_arrival }
    }
}

fn keeps_order(conditions: &Conditions) -> bool {
    conditions.jitter.is_none_or(|jitter| !jitter.reorder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Framing, Loss, QueueLimit};
    use flashcrowd_base::Probability;
    use proptest::prelude::*;

    fn direction() -> Direction {
        Direction::new(Stream::new(1, "test", 0))
    }
    fn megabit(queue: Option<u32>) -> Conditions {
        Conditions {
            rate_bps: Rate::from_bps(1_000_000),
            queue: QueueLimit { packets: queue, bytes: None },
            delay_ns: Span::from_millis(10),
            ..Conditions::default()
        }
    }
    fn at(millis: u64) -> Time {
        Time::START + Span::from_millis(millis)
    }
    fn lossy(model: LossModel, side: Side) -> Conditions {
        Conditions { loss: Some(Loss { side, model }), ..Conditions::default() }
    }
    fn p(value: f64) -> Probability {
        Probability::new(value).unwrap()
    }

    #[test]
    fn packets_are_serialised_one_after_the_other() {
        let (mut link, line) = (direction(), megabit(None));
        // 1500 B take 12 ms at 1 Mbit/s
        assert_eq!(link.offer(&line, at(0), 1500, 0), Outcome::Arrives(at(22)));
        assert_eq!(link.offer(&line, at(0), 1500, 1), Outcome::Arrives(at(34)));
        assert_eq!(link.queueing_delay(at(4)), Span::from_millis(20));
        assert_eq!(link.queued_packets(at(12)), 1);
        assert_eq!(link.offer(&line, at(100), 1500, 2), Outcome::Arrives(at(122)));
        assert_eq!(link.counters().waited, Span::from_millis(12));
    }

    #[test]
    fn a_full_queue_drops_the_newcomer() {
        let (mut link, line) = (direction(), megabit(Some(2)));
        link.offer(&line, at(0), 1500, 0);
        link.offer(&line, at(0), 1500, 1);
        assert_eq!(link.offer(&line, at(11), 1500, 2), Outcome::Dropped);
        assert_eq!(link.offer(&line, at(12), 1500, 3), Outcome::Arrives(at(46)));
        let bytes =
            Conditions { queue: QueueLimit { packets: None, bytes: Some(3000) }, ..megabit(None) };
        let mut link = direction();
        link.offer(&bytes, at(0), 1500, 0);
        assert_eq!(link.offer(&bytes, at(0), 1501, 1), Outcome::Dropped);
        assert_ne!(link.offer(&bytes, at(0), 1500, 1), Outcome::Dropped);
    }

    #[test]
    fn a_link_without_a_rate_never_queues() {
        let mut link = direction();
        let wire = Conditions { delay_ns: Span::from_millis(5), ..Conditions::default() };
        for tag in 0..1000 {
            assert_eq!(link.offer(&wire, at(1), 65536, tag), Outcome::Arrives(at(6)));
        }
        assert_eq!(link.queued_packets(at(1)), 0);
    }

    #[test]
    fn a_new_rate_holds_for_what_is_still_queued() {
        let (mut link, old) = (direction(), megabit(None));
        link.offer(&old, at(0), 1500, 1);
        link.offer(&old, at(0), 1500, 2);
        let new = Conditions { rate_bps: Rate::from_bps(500_000), ..megabit(None) };
        // After 6 ms half of the first packet is left: 12 ms at half the rate.
        let moved = link.change(at(6), &old, &new);
        let expected = [
            Moved { tag: 1, arrived: at(22), arrives: at(6 + 12 + 10) },
            Moved { tag: 2, arrived: at(34), arrives: at(52) },
        ];
        assert_eq!(moved, expected);
        assert_eq!(link.offer(&new, at(6), 1500, 2), Outcome::Arrives(at(76)));
    }

    /// At 1 Mbit/s, when 100 ms become 10: no later packet arrives before one that is in flight,
    /// whether it was waiting at the change or comes after it.
    #[test]
    fn a_falling_delay_does_not_reorder() {
        let new = megabit(None);
        let old = Conditions { delay_ns: Span::from_millis(100), ..new.clone() };
        for waits in [true, false] {
            let mut link = direction();
            assert_eq!(link.offer(&old, at(0), 1500, 1), Outcome::Arrives(at(112)));
            if waits {
                assert_eq!(link.offer(&old, at(0), 1500, 2), Outcome::Arrives(at(124)));
            }
            let moved = link.change(at(12), &old, &new);
            let expected = Moved { tag: 2, arrived: at(124), arrives: at(112) };
            assert_eq!(moved, if waits { vec![expected] } else { vec![] });
            // By itself it would arrive at 46 ms, or at 35.
            assert_eq!(link.offer(&new, at(13), 1500, 3), Outcome::Arrives(at(112)));
            assert_eq!(link.offer(&new, at(100), 1500, 4), Outcome::Arrives(at(122)));
            // Back again: what has to wait for others to arrive waits no longer than for them.
            assert_eq!(link.offer(&new, at(100), 1500, 5), Outcome::Arrives(at(134)));
            let moved = link.change(at(112), &new, &old);
            assert_eq!(moved, [Moved { tag: 5, arrived: at(134), arrives: at(224) }]);
        }
    }

    /// A delay that was raised and falls again before anything left with it holds nothing back.
    #[test]
    fn only_what_is_in_flight_holds_newcomers_back() {
        let short = megabit(None);
        let long = Conditions { delay_ns: Span::from_millis(100), ..short.clone() };
        let mut link = direction();
        link.offer(&short, at(0), 1500, 1);
        assert_eq!(link.change(at(13), &short, &long), []);
        assert_eq!(link.change(at(14), &long, &short), []);
        assert_eq!(link.offer(&short, at(14), 1500, 2), Outcome::Arrives(at(36)));
        // Nothing has departed when the delay falls: nothing is in flight.
        let mut link = direction();
        link.offer(&long, at(0), 1500, 1);
        let moved = link.change(at(6), &long, &short);
        assert_eq!(moved, [Moved { tag: 1, arrived: at(112), arrives: at(22) }]);
    }

    #[test]
    fn a_rising_delay_holds_for_what_is_still_queued() {
        let old = megabit(None);
        let new = Conditions { delay_ns: Span::from_millis(60), ..old.clone() };
        let mut link = direction();
        link.offer(&old, at(0), 1500, 1);
        link.offer(&old, at(0), 1500, 2);
        let moved = link.change(at(12), &old, &new);
        assert_eq!(moved, [Moved { tag: 2, arrived: at(34), arrives: at(84) }]);
        assert_eq!(link.offer(&new, at(24), 1500, 3), Outcome::Arrives(at(96)));
    }

    #[test]
    fn a_packet_keeps_its_jitter_when_the_delay_changes() {
        let jitter =
            Jitter { shape: JitterShape::Uniform, spread_ns: Span::from_millis(20), reorder: true };
        let old = Conditions { jitter: Some(jitter), ..megabit(None) };
        let mut link = direction();
        let Outcome::Arrives(first) = link.offer(&old, at(0), 1500, 1) else { panic!() };
        assert!(first > at(22) && first < at(42), "{first}");
        let new = Conditions { delay_ns: Span::from_millis(4), ..old.clone() };
        let six = Span::from_millis(6);
        let moved = link.change(at(6), &old, &new);
        assert_eq!(moved.len(), 1);
        assert_eq!(moved[0].arrived, first);
        assert_eq!(moved[0].arrives + six, first);
        // From now on without jitter: it is in the way of no one who comes later than it does.
        let plain = Conditions { jitter: None, ..new.clone() };
        assert_eq!(link.change(at(12), &new, &plain), []);
        let Outcome::Arrives(second) = link.offer(&plain, at(12), 40, 2) else { panic!() };
        assert!(second + six >= first, "{second} overtakes {first}");
    }

    #[test]
    fn framing_counts_in_time_in_bytes_and_in_the_queue() {
        let framed =
            Conditions { framing: Framing::Plain { overhead_bytes: 500 }, ..megabit(None) };
        let limit = QueueLimit { packets: None, bytes: Some(2999) };
        let framed = Conditions { queue: limit, ..framed };
        let mut link = direction();
        assert_eq!(link.offer(&framed, at(0), 1000, 1), Outcome::Arrives(at(22)));
        assert_eq!(link.counters().bytes, 1500);
        assert_eq!(link.offer(&framed, at(0), 1000, 2), Outcome::Dropped);
    }

    #[test]
    fn cells_count_in_time_and_in_bytes() {
        let framing = Framing::Atm { encapsulation_bytes: 40 };
        let adsl = Conditions { framing, ..megabit(None) };
        let mut link = direction();
        let Outcome::Arrives(time) = link.offer(&adsl, at(0), 1500, 1) else { panic!() };
        assert_eq!(time, at(10) + Span::from_micros(33 * 53 * 8));
        assert_eq!(link.counters().bytes, 33 * 53);
    }

    #[test]
    fn a_frame_of_any_size_can_be_added_up() {
        let framing = Framing::Plain { overhead_bytes: u32::MAX };
        let wide = Conditions { framing, ..megabit(None) };
        let mut link = direction();
        assert!(matches!(link.offer(&wide, at(0), 1500, 1), Outcome::Arrives(_)));
        assert_eq!(link.counters().bytes, u64::from(u32::MAX));
    }

    #[test]
    fn bernoulli_and_gilbert_elliott_lose_their_share() {
        let bernoulli = lossy(LossModel::Bernoulli { probability: p(0.05) }, Side::Receiver);
        let bursts = lossy(
            LossModel::GilbertElliott {
                to_bad: p(0.01),
                to_good: p(0.2),
                loss_good: p(0.0),
                loss_bad: p(1.0),
            },
            Side::Sender,
        );
        // Stationary share of the bad state: 0.01 / (0.01 + 0.2).
        for (conditions, share) in [(bernoulli, 0.05), (bursts, 0.01 / 0.21)] {
            let mut link = direction();
            let n = 200_000;
            let lost = (0..n)
                .filter(|&tag| link.offer(&conditions, at(0), 100, tag) == Outcome::Lost)
                .count();
            let measured = lost as f64 / f64::from(n);
            assert!((measured - share).abs() < 0.004, "{measured} instead of {share}");
            assert_eq!(link.counters().lost, lost as u64);
        }
    }

    #[test]
    fn losses_at_the_receiver_take_their_share_of_the_line() {
        let all = LossModel::Bernoulli { probability: p(1.0) };
        for (side, waits) in [(Side::Receiver, 12), (Side::Sender, 0)] {
            let line = Conditions { loss: Some(Loss { side, model: all }), ..megabit(None) };
            let mut link = direction();
            assert_eq!(link.offer(&line, at(0), 1500, 0), Outcome::Lost);
            assert_eq!(link.queueing_delay(at(0)), Span::from_millis(waits));
        }
    }

    #[test]
    fn jitter_overtakes_only_where_it_may() {
        for reorder in [false, true] {
            for shape in [JitterShape::Uniform, JitterShape::Normal] {
                let jitter = Jitter { shape, spread_ns: Span::from_millis(20), reorder };
                let wire = Conditions {
                    delay_ns: Span::from_millis(50),
                    jitter: Some(jitter),
                    ..Conditions::default()
                };
                let mut link = direction();
                let arrivals: Vec<Time> = (0..200)
                    .map(|i| match link.offer(&wire, at(i), 100, i as u32) {
                        Outcome::Arrives(time) => time,
                        other => panic!("{other:?}"),
                    })
                    .collect();
                assert_eq!(arrivals.is_sorted(), !reorder);
            }
        }
    }

    proptest! {
        /// Packets are conserved, the line is never faster than its rate, and order holds,
        /// whatever is offered and however rate, delay and jitter change.
        #[test]
        fn nothing_is_lost_or_made_by_a_changing_link(
            offers in prop::collection::vec((0u64..30, 40u32..1500, 0u8..20), 1..200),
            limit in 1u32..20,
            jitters in any::<bool>(),
        ) {
            let mut conditions = megabit(Some(limit));
            let mut link = direction();
            let mut now = at(0);
            let mut due = vec![None; offers.len()];
            let mut dropped = 0;
            for (tag, &(gap, bytes, change)) in offers.iter().enumerate() {
                now += Span::from_millis(gap);
                if change < 3 {
                    let kbps = 100 + 37 * u64::from(bytes);
                    let jitter = Jitter {
                        shape: JitterShape::Normal,
                        spread_ns: Span::from_millis(u64::from(bytes) / 100),
                        reorder: false,
                    };
                    let new = Conditions {
                        rate_bps: Rate::from_bps(kbps * 1000),
                        delay_ns: Span::from_millis(u64::from(bytes) % 97),
                        jitter: (jitters && bytes % 3 == 0).then_some(jitter),
                        ..conditions.clone()
                    };
                    for moved in link.change(now, &conditions, &new) {
                        let due = &mut due[moved.tag as usize - 1];
                        prop_assert_eq!(*due, Some(moved.arrived));
                        *due = Some(moved.arrives);
                    }
                    conditions = new;
                }
                match link.offer(&conditions, now, bytes, tag as u32 + 1) {
                    Outcome::Arrives(time) => due[tag] = Some(time),
                    Outcome::Dropped => dropped += 1,
                    Outcome::Lost => prop_assert!(false, "there is no loss"),
                }
                prop_assert!(link.queued_packets(now) <= limit);
            }
            let arrivals: Vec<Time> = due.iter().flatten().copied().collect();
            prop_assert_eq!(arrivals.len() + dropped, offers.len());
            prop_assert!(arrivals.is_sorted(), "{:?}", arrivals);
            prop_assert_eq!(link.counters().dropped, dropped as u64);
        }
    }
}
