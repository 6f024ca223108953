use crate::{Conditions, Jitter, JitterShape, LossModel, Side};
use flashcrowd_base::{Ring, Span, Stream, Time};

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

/// A packet whose arrival moved because the link changed while it was waiting. What its jitter adds
/// is not in these times.
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

/// The state of one direction of a link.
#[derive(Clone, Debug)]
pub struct Direction {
    /// Packets that have not departed yet, the one in transmission first. Those that have are
    /// forgotten when it matters: how many they are cannot be guessed, and looking for each packet
    /// costs more than the rest of it.
    waiting: Ring<Waiting>,
    waiting_bytes: u64,
    free_at: Time,
    last_arrival: Time,
    stream: Stream,
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
            last_arrival: Time::START,
            stream,
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
        let bytes = bytes + conditions.overhead_bytes;
        let departs = match conditions.rate_bps {
            None => now,
            Some(rate) => {
                if self.is_full(conditions, bytes) {
                    self.forget_departed(now);
                    if self.is_full(conditions, bytes) {
                        self.counters.dropped += 1;
                        return Outcome::Dropped;
                    }
                }
                let begins = self.free_at.max(now);
                self.counters.waited += begins - now;
                begins + rate.transmission(u64::from(bytes))
            }
        };
        let delay = self.delay(conditions);
        let arrives = self.in_order(conditions.jitter.as_ref(), departs + delay);
        self.counters.packets += 1;
        self.counters.bytes += u64::from(bytes);
        self.counters.lost += u64::from(lost);
        if conditions.rate_bps.is_some() {
            self.free_at = departs;
            let tag = if lost { NAMELESS } else { tag };
            self.waiting.push_back(Waiting { departs, bytes, tag });
            self.waiting_bytes += u64::from(bytes);
            if self.waiting.len() as u64 > u64::from(self.counters.most_packets) {
                self.forget_departed(now);
                let packets = self.waiting.len() as u32;
                self.counters.most_packets = self.counters.most_packets.max(packets);
            }
        }
        if lost { Outcome::Lost } else { Outcome::Arrives(arrives) }
    }

    /// Changes the link in place: packets in the queue stay there, the one in transmission goes on
    /// with the bits that it still has, and packets that have departed are not touched. Returns
    /// the packets whose arrival moved.
    pub fn change(&mut self, now: Time, old: &Conditions, new: &Conditions) -> Vec<Moved> {
        self.forget_departed(now);
        let mut free_at = now;
        let (mut moved, mut last) = (Vec::new(), None);
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
            let arrived = packet.departs + old.delay_ns;
            packet.departs = free_at;
            let arrives = free_at + new.delay_ns;
            last = Some((arrived, arrives));
            if packet.tag != NAMELESS {
                moved.push(Moved { tag: packet.tag, arrived, arrives });
            }
        }
        if let Some((arrived, arrives)) = last {
            self.last_arrival = arrives + self.last_arrival.since(arrived);
        }
        self.free_at = free_at;
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
    fn in_order(&mut self, jitter: Option<&Jitter>, arrives: Time) -> Time {
        if jitter.is_some_and(|jitter| jitter.reorder) {
            return arrives;
        }
        self.last_arrival = self.last_arrival.max(arrives);
        self.last_arrival
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Loss, QueueLimit};
    use flashcrowd_base::{Probability, Rate};
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
        /// whatever is offered and however the rate changes.
        #[test]
        fn nothing_is_lost_or_made_by_a_changing_link(
            offers in prop::collection::vec((0u64..30, 40u32..1500, 0u8..20), 1..200),
            limit in 1u32..20,
        ) {
            let mut conditions = megabit(Some(limit));
            let mut link = direction();
            let mut now = at(0);
            let mut due = vec![None; offers.len()];
            let mut dropped = 0;
            for (tag, &(gap, bytes, change)) in offers.iter().enumerate() {
                now += Span::from_millis(gap);
                if change == 0 {
                    let kbps = 100 + 37 * u64::from(bytes);
                    let new = Conditions {
                        rate_bps: Rate::from_bps(kbps * 1000), ..conditions.clone()
                    };
                    for moved in link.change(now, &conditions, &new) {
                        due[moved.tag as usize - 1] = Some(moved.arrives);
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
            prop_assert!(arrivals.is_sorted());
            prop_assert_eq!(link.counters().dropped, dropped as u64);
        }
    }
}
