//! Queue disciplines that decide when a packet leaves, one a file. Parameters are what a plan says
//! and may change in place; the state beside them belongs to one direction of a link.

pub(crate) mod cake;
pub(crate) mod choke;
pub(crate) mod codel;
pub(crate) mod drr;
pub(crate) mod flows;
pub(crate) mod fq_codel;
pub(crate) mod pie;
pub(crate) mod pool;
pub(crate) mod red;
pub(crate) mod sfq;
#[cfg(test)]
pub(crate) mod testing;

use crate::{Ecn, Queue};
use cake::CakeQueue;
use choke::ChokeQueue;
use codel::CoDelQueue;
use drr::DrrQueue;
use flashcrowd_base::{RandomStream, Rate, Time};
use fq_codel::FqCoDelQueue;
use pie::PieQueue;
use pool::{Held, List, Pool};
use red::RedQueue;
use sfq::SfqQueue;

/// Why a discipline dropped a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// There was no room.
    Full,
    /// To tell its sender to slow down.
    Early,
    /// A later acknowledgement of the same connection says all that it says.
    Superseded,
}

/// Packets that a discipline has dropped, by cause, or marked.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DisciplineCounters {
    pub(crate) full: u64,
    pub(crate) early: u64,
    pub(crate) superseded: u64,
    pub(crate) marked: u64,
}

/// The input of a discipline, and the counters of what it has done.
pub(crate) struct Context<'a> {
    pub(crate) now: Time,
    pub(crate) rate: Rate,
    /// Since when the line has had nothing to do, if so.
    pub(crate) idle_since: Option<Time>,
    pub(crate) stream: &'a mut RandomStream,
    pub(crate) counters: &'a mut DisciplineCounters,
    /// The packet that is being offered, and whether it was dropped.
    pub(crate) newcomer: Option<(u32, bool)>,
    /// Called for each other packet that is dropped.
    pub(crate) dropped: &'a mut dyn FnMut(u32, Cause),
}

impl Context<'_> {
    pub(crate) fn drop(&mut self, packet: &Held, cause: Cause) {
        *match cause {
            Cause::Full => &mut self.counters.full,
            Cause::Early => &mut self.counters.early,
            Cause::Superseded => &mut self.counters.superseded,
        } += 1;
        match &mut self.newcomer {
            Some((tag, dropped)) if *tag == packet.tag => *dropped = true,
            _ => (self.dropped)(packet.tag, cause),
        }
    }

    /// Marks a packet with CE if its transport answers marks; `false` if it has to be dropped.
    pub(crate) fn mark(&mut self, packet: &mut Held) -> bool {
        if packet.ecn == Ecn::NotEct {
            return false;
        }
        self.counters.marked += u64::from(!packet.marked);
        packet.ecn = Ecn::Ce;
        packet.marked = true;
        true
    }
}

#[derive(Clone, Debug)]
enum State {
    /// The rest of a discipline after a change to drop-tail, until it has been sent.
    Fifo(List),
    CoDel(CoDelQueue),
    FqCoDel(Box<FqCoDelQueue>),
    Pie(PieQueue),
    Red(RedQueue),
    Choke(ChokeQueue),
    Sfq(Box<SfqQueue>),
    Drr(Box<DrrQueue>),
    Cake(Box<CakeQueue>),
}

impl State {
    fn new(queue: &Queue, now: Time, stream: &mut RandomStream) -> State {
        match queue {
            Queue::DropTail(_) => State::Fifo(List::default()),
            Queue::CoDel(_) => State::CoDel(CoDelQueue::default()),
            Queue::FqCoDel(fq) => State::FqCoDel(Box::new(FqCoDelQueue::new(fq, stream.bits()))),
            Queue::Pie(pie) => State::Pie(PieQueue::new(pie, now)),
            Queue::Red(_) => State::Red(RedQueue::default()),
            Queue::Choke(_) => State::Choke(ChokeQueue::default()),
            Queue::Sfq(sfq) => State::Sfq(Box::new(SfqQueue::new(sfq, now, stream.bits()))),
            Queue::Drr(drr) => State::Drr(Box::new(DrrQueue::new(drr, stream.bits()))),
            Queue::Cake(cake) => State::Cake(Box::new(CakeQueue::new(cake, stream.bits()))),
        }
    }

    /// Whether this is the state of such a queue.
    fn fits(&self, queue: &Queue) -> bool {
        match (self, queue) {
            (State::FqCoDel(state), Queue::FqCoDel(fq)) => state.flows.buckets() == fq.flows,
            (State::Cake(state), Queue::Cake(cake)) => state.isolation() == cake.isolation,
            (State::Fifo(_), queue) => matches!(queue, Queue::DropTail(_)),
            (State::CoDel(_), queue) => matches!(queue, Queue::CoDel(_)),
            (State::Pie(_), queue) => matches!(queue, Queue::Pie(_)),
            (State::Red(_), queue) => matches!(queue, Queue::Red(_)),
            (State::Choke(_), queue) => matches!(queue, Queue::Choke(_)),
            (State::Sfq(state), Queue::Sfq(sfq)) => state.flows.buckets() == sfq.divisor,
            (State::Drr(state), Queue::Drr(drr)) => state.flows.buckets() == drr.flows,
            (State::FqCoDel(_) | State::Sfq(_) | State::Drr(_) | State::Cake(_), _) => false,
        }
    }
}

/// A queue with a discipline: its packets and its state.
#[derive(Clone, Debug)]
pub(crate) struct Managed {
    pub(crate) pool: Pool,
    state: State,
    stream: RandomStream,
    pub(crate) counters: DisciplineCounters,
}

impl Managed {
    /// An empty queue that draws from `stream`.
    pub(crate) fn new(queue: &Queue, now: Time, mut stream: RandomStream) -> Managed {
        let state = State::new(queue, now, &mut stream);
        Managed { pool: Pool::default(), state, stream, counters: DisciplineCounters::default() }
    }

    /// Moves what waits over to another discipline, if that is what the link has now: in the order in
    /// which it came, and nothing is dropped.
    fn fit(&mut self, queue: &Queue, now: Time) {
        if self.state.fits(queue) {
            return;
        }
        let lists: Vec<List> = match &self.state {
            State::Fifo(list) => vec![*list],
            State::CoDel(state) => vec![*state.list()],
            State::Pie(state) => vec![*state.list()],
            State::Red(state) => vec![*state.list()],
            State::Choke(state) => vec![*state.list()],
            State::Sfq(state) => state.flows.iter().map(|flow| flow.list).collect(),
            State::Drr(state) => state.flows.iter().map(|flow| flow.list).collect(),
            State::FqCoDel(state) => state.flows.iter().map(|flow| flow.list).collect(),
            State::Cake(state) => state.lists().copied().collect(),
        };
        let mut packets: Vec<Held> =
            lists.iter().flat_map(|list| self.pool.iter(list)).copied().collect();
        packets.sort_by_key(|packet| packet.number);
        self.pool = Pool::default();
        let shaper = self.not_before();
        self.state = State::new(queue, now, &mut self.stream);
        if let State::Cake(state) = &mut self.state {
            state.shape_from(shaper);
        }
        let pool = &mut self.pool;
        for packet in packets {
            match (&mut self.state, queue) {
                (State::FqCoDel(state), Queue::FqCoDel(fq)) => state.push(fq, pool, packet),
                (State::Cake(state), Queue::Cake(cake)) => state.push(cake, pool, packet),
                (State::CoDel(state), _) => state.push(pool, packet),
                (State::Pie(state), _) => state.push(pool, packet),
                (State::Red(state), _) => state.push(pool, packet),
                (State::Choke(state), _) => state.push(pool, packet),
                (State::Sfq(state), Queue::Sfq(sfq)) => state.push(sfq, pool, packet),
                (State::Drr(state), _) => state.push(pool, packet),
                (State::Fifo(list), _) => pool.push(list, packet),
                (State::FqCoDel(_) | State::Sfq(_) | State::Cake(_), _) => {}
            }
        }
    }

    /// Offers a packet; `false` if it is dropped.
    pub(crate) fn offer(
        &mut self,
        queue: &Queue,
        line: Line,
        packet: Held,
        dropped: &mut dyn FnMut(u32, Cause),
    ) -> bool {
        self.fit(queue, line.now);
        let mut context = Context {
            now: line.now,
            rate: line.rate,
            idle_since: line.idle_since,
            stream: &mut self.stream,
            counters: &mut self.counters,
            newcomer: Some((packet.tag, false)),
            dropped,
        };
        let (pool, context_ref) = (&mut self.pool, &mut context);
        match (&mut self.state, queue) {
            (State::CoDel(state), Queue::CoDel(codel)) => {
                state.offer(codel, pool, packet, context_ref);
            }
            (State::FqCoDel(state), Queue::FqCoDel(fq)) => {
                state.offer(fq, pool, packet, context_ref);
            }
            (State::Pie(state), Queue::Pie(pie)) => state.offer(pie, pool, packet, context_ref),
            (State::Red(state), Queue::Red(red)) => state.offer(red, pool, packet, context_ref),
            (State::Choke(state), Queue::Choke(choke)) => {
                state.offer(choke, pool, packet, context_ref);
            }
            (State::Sfq(state), Queue::Sfq(sfq)) => state.offer(sfq, pool, packet, context_ref),
            (State::Drr(state), Queue::Drr(drr)) => state.offer(drr, pool, packet, context_ref),
            (State::Cake(state), Queue::Cake(cake)) => {
                state.offer(cake, pool, packet, context_ref);
            }
            (State::Fifo(list), Queue::DropTail(limit)) => {
                let packets = u64::from(pool.packets()) + u64::from(line.busy);
                let bytes = pool.bytes() + line.sending_bytes + u64::from(packet.bytes);
                if limit.packets.is_some_and(|max| packets >= u64::from(max))
                    || limit.bytes.is_some_and(|max| bytes > max)
                {
                    context_ref.drop(&packet, Cause::Full);
                } else {
                    pool.push(list, packet);
                }
            }
            (
                State::CoDel(_)
                | State::FqCoDel(_)
                | State::Pie(_)
                | State::Red(_)
                | State::Choke(_)
                | State::Sfq(_)
                | State::Drr(_)
                | State::Cake(_)
                | State::Fifo(_),
                _,
            ) => debug_assert!(false, "the state fits the queue"),
        }
        context.newcomer.is_some_and(|(_, dropped)| !dropped)
    }

    /// Takes the packet that is to be sent now.
    pub(crate) fn take(
        &mut self,
        queue: &Queue,
        line: Line,
        dropped: &mut dyn FnMut(u32, Cause),
    ) -> Option<Held> {
        self.fit(queue, line.now);
        let mut context = Context {
            now: line.now,
            rate: line.rate,
            idle_since: line.idle_since,
            stream: &mut self.stream,
            counters: &mut self.counters,
            newcomer: None,
            dropped,
        };
        let (pool, context) = (&mut self.pool, &mut context);
        match (&mut self.state, queue) {
            (State::CoDel(state), Queue::CoDel(codel)) => state.take(codel, pool, context),
            (State::FqCoDel(state), Queue::FqCoDel(fq)) => state.take(fq, pool, context),
            (State::Pie(state), Queue::Pie(pie)) => state.take(pie, pool, context),
            (State::Red(state), _) => state.take(pool),
            (State::Choke(state), _) => state.take(pool),
            (State::Sfq(state), Queue::Sfq(sfq)) => state.take(sfq, pool, context),
            (State::Drr(state), Queue::Drr(drr)) => state.take(drr, pool),
            (State::Cake(state), Queue::Cake(cake)) => state.take(cake, pool, context),
            (State::Fifo(list), _) => pool.pop(list),
            (
                State::CoDel(_)
                | State::FqCoDel(_)
                | State::Pie(_)
                | State::Sfq(_)
                | State::Drr(_)
                | State::Cake(_),
                _,
            ) => None,
        }
    }

    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.pool.packets() == 0
    }

    /// The earliest time at which a packet may leave, for a discipline that shapes.
    pub(crate) fn not_before(&self) -> Time {
        match &self.state {
            State::Cake(state) => state.not_before(),
            _ => Time::START,
        }
    }
}

/// The state of the line while a discipline is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    pub(crate) now: Time,
    pub(crate) rate: Rate,
    pub(crate) idle_since: Option<Time>,
    /// Whether a packet is in transmission, and its bytes.
    pub(crate) busy: bool,
    pub(crate) sending_bytes: u64,
}

/// The bucket of a key, of `buckets`: the finaliser of SplitMix64 and a multiplication.
pub(crate) fn bucket(key: u64, buckets: u32) -> u32 {
    ((u128::from(mix(key)) * u128::from(buckets)) >> 64) as u32
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014).
pub(crate) fn mix(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use testing::{Bottleneck, at};

    /// The first number of Steele, Lea and Flood's generator from the seed 0, whose step is the golden
    /// ratio of 2^64.
    #[test]
    fn mixing_is_splitmix64() {
        let golden = 0x9e37_79b9_7f4a_7c15;
        assert_eq!(mix(golden), 0xe220_a839_7b1d_cdaf);
        // 0.8833 of the buckets.
        assert_eq!([1, 10, 1024, 65_536].map(|n| bucket(golden, n)), [0, 8, 904, 0xe220]);
    }

    /// There are many links, so a state is small: one with queues of its own is in a box.
    #[test]
    fn a_state_is_no_larger_than_pies() {
        assert!(size_of::<State>() <= size_of::<PieQueue>() + 8, "{}", size_of::<State>());
    }

    /// A packet that is marked twice has got one mark, one that came with a mark gets none here but
    /// is not dropped, and one whose transport does not answer marks cannot be marked.
    #[test]
    fn a_packet_is_marked_once() {
        for (ecn, marks) in [(Ecn::NotEct, 0), (Ecn::Ect0, 1), (Ecn::Ect1, 1), (Ecn::Ce, 1)] {
            let mut line = Bottleneck::with(Queue::default());
            line.ecn = ecn;
            let mut packet = line.held(1, 1000, at(0));
            let (both, counters) = line.context(|context| {
                ([context.mark(&mut packet), context.mark(&mut packet)], context.counters.marked)
            });
            assert_eq!((both, counters, packet.marked), ([marks > 0; 2], marks, marks > 0));
            assert_eq!(packet.ecn, if marks > 0 { Ecn::Ce } else { Ecn::NotEct });
        }
    }
}
