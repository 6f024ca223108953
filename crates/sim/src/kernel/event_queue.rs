use flashcrowd_base::{NOWHERE, Slab, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Events in the order in which they happen: by time, and among equal times by what they are, as their number says.
/// When an event was scheduled, and before which others, does not matter, so the order does not depend on the
/// scheduling thread, and two runs of one plan and one seed are one run. Events of one time and one number are the same
/// event twice.
///
/// A hierarchical timing wheel: fine slots of 262 µs for the next two seconds, coarse slots of 16.8
/// ms for the next minute, a heap beyond. A slot is sorted when its time comes, so events leave in
/// exact order while scheduling takes a list insertion, however many are pending. Measured against
/// heaps in `benches/README.md`.
#[derive(Debug)]
pub struct EventQueue<T> {
    /// Events of the slot in progress, the next one last.
    current: Vec<Entry<T>>,
    /// One more event of that slot, likely to be the next; see [`EventQueue::schedule_next`].
    held: Option<Entry<T>>,
    /// The events in slots: each slot is a linked list.
    waiting: Slab<Entry<T>>,
    fine: FineLevel,
    /// Each coarse slot is `LANES` lists.
    coarse: Level<{ COARSE_WORDS * LANES as usize }>,
    far: BinaryHeap<Reverse<Entry<T>>>,
    /// Number of the fine slot in progress, counted from the start of time.
    slot: u64,
    /// Coarse slots before this one have been spread over the fine ones.
    opened: u64,
    pending: usize,
    now: Time,
    /// Of each of the next fine slots, by its number modulo [`SLOTS_AHEAD`]: the event that was prefetched last.
    prefetched: [u32; SLOTS_AHEAD as usize],
    /// The first slot of which nothing has been prefetched.
    prefetched_until: u64,
}

const FINE_BITS: u32 = 18;
const COARSE_BITS: u32 = 24;
const FINE_PER_COARSE: u64 = 1 << (COARSE_BITS - FINE_BITS);
const FINE_WORDS: usize = 128;
const COARSE_WORDS: usize = 64;
const FINE_SLOTS: u64 = FINE_WORDS as u64 * 64;
const COARSE_SLOTS: u64 = COARSE_WORDS as u64 * 64;
/// How many coarse slots are kept open as fine ones: all that are certain to fit beside the one in
/// progress.
const OPEN_AHEAD: u64 = FINE_SLOTS / FINE_PER_COARSE - 1;
/// `pop` takes fine slots together until there are this many events...
const FEW: usize = 4;
/// ...`look_ahead` until there are this many, whose memory an engine can then prefetch...
const BATCH: usize = 32;
/// ...but not beyond 8 ms: what is scheduled within a batch is inserted in order.
const BATCH_SLOTS: u64 = 32;
/// The lists of a coarse slot are walked side by side: an event names the next of its list, and a single list would be
/// waited for event by event.
const LANES: u64 = 8;
/// `look_ahead` prefetches one more event of each of this number of slots behind the batch, where more events than
/// this are pending: fewer are in the processor's cache.
const SLOTS_AHEAD: u64 = 64;
const MANY: usize = 1 << 14;

#[derive(Clone, Copy, Debug)]
struct Entry<T> {
    at: Time,
    event: T,
}

impl<T: Copy + Into<u64>> Entry<T> {
    /// Time, then event, as one number: comparing two takes no branch, which in sorting a batch would be
    /// mispredicted half the time.
    fn key(&self) -> u128 {
        u128::from(self.at.nanos()) << 64 | u128::from(self.event.into())
    }
}
impl<T: Copy + Into<u64>> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}
impl<T: Copy + Into<u64>> Eq for Entry<T> {}
impl<T: Copy + Into<u64>> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
    fn lt(&self, other: &Self) -> bool {
        self.key() < other.key()
    }
}
impl<T: Copy + Into<u64>> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

/// A ring of slots, each a list of events, with a bit set for each slot that has any.
#[derive(Debug)]
struct Level<const WORDS: usize> {
    heads: Vec<u32>,
    occupied: [u64; WORDS],
}

type FineLevel = Level<FINE_WORDS>;

impl<const WORDS: usize> Level<WORDS> {
    fn new() -> Self {
        Level { heads: vec![NOWHERE; WORDS * 64], occupied: [0; WORDS] }
    }
    fn place(slot: u64) -> usize {
        (slot % (WORDS as u64 * 64)) as usize
    }
    fn head(&mut self, slot: u64) -> &mut u32 {
        let place = Self::place(slot);
        self.occupied[place / 64] |= 1 << (place % 64);
        &mut self.heads[place]
    }
    fn take(&mut self, slot: u64) -> u32 {
        let place = Self::place(slot);
        self.occupied[place / 64] &= !(1 << (place % 64));
        std::mem::replace(&mut self.heads[place], NOWHERE)
    }
    /// The first occupied slot at or after `from`, which must be within one turn of all others.
    fn next_occupied(&self, from: u64) -> Option<u64> {
        let start = Self::place(from);
        let first = self.occupied[start / 64] >> (start % 64);
        if first != 0 {
            return Some(from + u64::from(first.trailing_zeros()));
        }
        let base = from - (start % 64) as u64;
        (1..=WORDS).find_map(|step| {
            let word = self.occupied[(start / 64 + step) % WORDS];
            (word != 0).then(|| base + step as u64 * 64 + u64::from(word.trailing_zeros()))
        })
    }
}

impl<T: Copy + Into<u64>> Default for EventQueue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Copy + Into<u64>> EventQueue<T> {
    /// An empty queue at the start of time.
    pub fn new() -> Self {
        EventQueue {
            current: Vec::new(),
            held: None,
            waiting: Slab::default(),
            fine: Level::new(),
            coarse: Level::new(),
            far: BinaryHeap::new(),
            slot: 0,
            opened: OPEN_AHEAD,
            pending: 0,
            now: Time::START,
            prefetched: [NOWHERE; SLOTS_AHEAD as usize],
            prefetched_until: 0,
        }
    }

    /// How many events are pending.
    pub fn len(&self) -> usize {
        self.pending
    }
    /// Whether nothing is pending.
    pub fn is_empty(&self) -> bool {
        self.pending == 0
    }

    /// Schedules `event`. An instant before the event taken last would let time run backwards,
    /// so it counts as that instant.
    pub fn schedule(&mut self, at: Time, event: T) {
        debug_assert!(at >= self.now, "an event was scheduled in the past");
        self.pending += 1;
        self.insert(at.max(self.now), event);
    }

    /// [`schedule`](EventQueue::schedule) for an event that is likely to be the next of all, as the next
    /// packet of a FIFO is. It is kept outside of the sorted list, which saves its insertion there.
    pub fn schedule_next(&mut self, at: Time, event: T) {
        debug_assert!(at >= self.now, "an event was scheduled in the past");
        let at = at.max(self.now);
        self.pending += 1;
        if self.held.is_none() && at.nanos() >> FINE_BITS <= self.slot {
            self.held = Some(Entry { at, event });
        } else {
            self.insert(at, event);
        }
    }

    /// Puts an event into the slot in progress, a fine list, a coarse list or the heap. Takes its time and the event apart,
    /// in two registers: to copy an `Entry` that was just written means to wait for its stores.
    fn insert(&mut self, at: Time, event: T) {
        let entry = Entry { at, event };
        let nanos = at.nanos();
        let slot = nanos >> FINE_BITS;
        let coarse = nanos >> COARSE_BITS;
        if slot <= self.slot {
            // Most are due soon, so their place is near the end.
            let sooner = self.current.iter().rev().take_while(|other| **other < entry).count();
            self.current.insert(self.current.len() - sooner, entry);
        } else if coarse < self.opened {
            let head = self.fine.head(slot);
            *head = self.waiting.insert_before(entry, *head);
        } else if coarse - self.opened < COARSE_SLOTS {
            let head = self.coarse.head(coarse * LANES + event.into() % LANES);
            *head = self.waiting.insert_before(entry, *head);
        } else {
            self.far.push(Reverse(entry));
        }
    }

    /// Takes the next event.
    pub fn pop(&mut self) -> Option<(Time, T)> {
        // `held` lies within the slots in progress, so only `current` can have an earlier event.
        if let Some(held) = self.held
            && self.current.last().is_none_or(|first| held < *first)
        {
            self.held = None;
            self.pending -= 1;
            self.now = held.at;
            return Some((held.at, held.event));
        }
        while self.current.is_empty() {
            if self.is_empty() {
                return None;
            }
            self.advance(FEW);
        }
        let entry = self.current.pop()?;
        self.pending -= 1;
        self.now = entry.at;
        Some((entry.at, entry.event))
    }

    /// Whether the next [`EventQueue::pop`] would have to open slots: the moment to call
    /// [`EventQueue::look_ahead`].
    pub fn is_between_batches(&self) -> bool {
        self.current.is_empty() && self.held.is_none()
    }

    /// The next events, except those that are scheduled later, so that an engine can prefetch their
    /// memory.
    pub fn look_ahead(&mut self) -> impl Iterator<Item = T> + '_ {
        while self.current.is_empty() && !self.is_empty() {
            self.advance(BATCH);
        }
        if self.len() > MANY {
            self.prefetch_slots();
        }
        self.current.iter().map(|entry| entry.event)
    }

    /// Prefetches one more event of each of the next slots. What is scheduled meanwhile is before them, and in the
    /// processor's cache.
    fn prefetch_slots(&mut self) {
        let until = self.slot + 1 + SLOTS_AHEAD;
        for slot in self.slot + 1..until {
            let last = &mut self.prefetched[(slot % SLOTS_AHEAD) as usize];
            *last = if slot < self.prefetched_until {
                self.waiting.next(*last)
            } else {
                self.fine.heads[FineLevel::place(slot)]
            };
            self.waiting.prefetch(*last);
        }
        self.prefetched_until = until;
    }

    /// Moves on to the next occupied fine slot, and to those after it until there are `batch`
    /// events, or, if there is none, opens more of the future.
    fn advance(&mut self, batch: usize) {
        if let Some(first) = self.fine.next_occupied(self.slot) {
            let mut slot = first;
            loop {
                let mut index = self.fine.take(slot);
                while let Some((entry, next)) = self.waiting.unlink(index) {
                    self.current.push(entry);
                    index = next;
                }
                self.slot = slot;
                if self.current.len() >= batch {
                    break;
                }
                match self.fine.next_occupied(slot) {
                    Some(next) if next - first < BATCH_SLOTS => slot = next,
                    _ => break,
                }
            }
            if self.current.len() > 1 {
                self.current.sort_unstable_by_key(|entry| Reverse(entry.key()));
            }
            self.open((slot / FINE_PER_COARSE) + OPEN_AHEAD);
            return;
        }
        let far = self.far.peek().map(|Reverse(entry)| entry.at.nanos() >> COARSE_BITS);
        let near = self.next_coarse();
        let Some(coarse) = near.into_iter().chain(far).min() else { return };
        // Everything before is empty, so time may jump to the beginning of that slot.
        self.slot = self.slot.max(coarse * FINE_PER_COARSE - 1);
        self.open(coarse + OPEN_AHEAD);
    }

    /// The first occupied coarse slot that is not spread.
    fn next_coarse(&self) -> Option<u64> {
        self.coarse.next_occupied(self.opened * LANES).map(|list| list / LANES)
    }

    /// Spreads a coarse slot over the fine ones.
    fn spread(&mut self, coarse: u64) {
        let mut lists: [u32; LANES as usize] =
            std::array::from_fn(|lane| self.coarse.take(coarse * LANES + lane as u64));
        lists.iter().for_each(|&index| self.waiting.prefetch(index));
        while lists.iter().any(|&index| index != NOWHERE) {
            for index in &mut lists {
                let taken = self.waiting.unlink(*index);
                *index = taken.map_or(NOWHERE, |(_, next)| next);
                self.waiting.prefetch(*index);
                if let Some((Entry { at, event }, _)) = taken {
                    self.insert(at, event);
                }
            }
        }
    }

    /// Spreads the coarse slots before `until` over the fine ones.
    fn open(&mut self, until: u64) {
        while self.opened < until {
            let next = self.next_coarse().unwrap_or(u64::MAX);
            let far = self.far.peek().map_or(u64::MAX, |Reverse(e)| e.at.nanos() >> COARSE_BITS);
            if next.min(far) >= until {
                self.opened = until;
                break;
            }
            let coarse = next.min(far);
            self.opened = coarse + 1;
            if next == coarse {
                self.spread(coarse);
            }
            while let Some(Reverse(entry)) = self.far.peek() {
                if entry.at.nanos() >> COARSE_BITS > coarse {
                    break;
                }
                if let Some(Reverse(entry)) = self.far.pop() {
                    self.insert(entry.at, entry.event);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashcrowd_base::Span;
    use proptest::prelude::*;

    #[test]
    fn equal_times_leave_in_the_order_of_their_numbers() {
        let mut queue = EventQueue::new();
        for event in (0..1000u64).map(|number| number * 7 % 1000) {
            queue.schedule(Time::from_nanos(event % 3 * 1_000_000_000), event);
        }
        let order: Vec<u64> = std::iter::from_fn(|| queue.pop().map(|(_, event)| event)).collect();
        let mut expected: Vec<u64> = (0..1000).collect();
        expected.sort_by_key(|event| event % 3);
        assert_eq!(order, expected);
    }

    /// A queue with an event in each of these fine slots.
    fn in_slots(slots: impl IntoIterator<Item = u64>) -> EventQueue<u64> {
        let mut queue = EventQueue::new();
        for slot in slots {
            queue.schedule(Time::from_nanos(slot << FINE_BITS), slot);
        }
        queue
    }

    #[test]
    fn slots_are_opened_together_until_there_are_enough_events() {
        let mut queue = in_slots(1..=40);
        for batch in [32, 8] {
            assert!(queue.is_between_batches());
            assert_eq!(queue.look_ahead().count(), batch);
            for _ in 0..batch {
                assert!(!queue.is_between_batches());
                assert!(queue.pop().is_some());
            }
        }
        assert!(queue.is_between_batches() && queue.is_empty());
        assert_eq!(queue.look_ahead().count(), 0);
        // Without look-ahead it takes fewer.
        let mut queue = in_slots(1..=40);
        for _ in 0..10 {
            assert!(queue.is_between_batches());
            for left in [3, 2, 1, 0] {
                assert!(queue.pop().is_some());
                assert_eq!(queue.current.len(), left);
            }
        }
    }

    #[test]
    fn a_batch_of_slots_lasts_eight_milliseconds() {
        for first in [1, 300] {
            let slots = [0, BATCH_SLOTS - 1, BATCH_SLOTS, BATCH_SLOTS + 1].map(|it| first + it);
            assert_eq!(in_slots(slots).look_ahead().collect::<Vec<_>>(), [slots[1], slots[0]]);
        }
    }

    /// From the coarse slots, and from beyond them.
    #[test]
    fn after_a_quiet_time_a_batch_is_as_large_as_any_other() {
        for coarse in [OPEN_AHEAD + 1, 300, COARSE_SLOTS, 5 * COARSE_SLOTS] {
            let slots = [0, 1, 2, 20].map(|slot| coarse * FINE_PER_COARSE + slot);
            let mut queue = in_slots(slots);
            assert_eq!(queue.look_ahead().count(), 4, "{coarse}");
            for slot in slots {
                assert_eq!(queue.pop(), Some((Time::from_nanos(slot << FINE_BITS), slot)));
            }
        }
    }

    #[test]
    fn one_event_at_a_time_is_held_and_only_of_the_slot_in_progress() {
        let mut queue = EventQueue::new();
        let at = |slot: u64| Time::from_nanos(slot << FINE_BITS);
        queue.schedule_next(at(2), 2u64);
        assert!(queue.held.is_none(), "of a later slot");
        queue.schedule_next(at(0), 0);
        assert!(queue.held.is_some());
        assert!(!queue.is_between_batches());
        queue.schedule_next(at(0), 1);
        assert_eq!((queue.current.len(), queue.len()), (1, 3));
        let order: Vec<u64> = std::iter::from_fn(|| queue.pop().map(|(_, event)| event)).collect();
        assert_eq!(order, [0, 1, 2]);
    }

    /// Events that are requested ahead are walked while events come and go, and places are used
    /// again.
    #[test]
    fn looking_ahead_over_many_events_changes_nothing() {
        let mut stream = flashcrowd_base::RandomStream::new(1, "test", 0);
        let (mut queue, mut heap) = (EventQueue::new(), BinaryHeap::new());
        let mut schedule = |queue: &mut EventQueue<u64>, heap: &mut BinaryHeap<_>, now: Time| {
            // From less than a slot to beyond the fine ones.
            let within = 10 + stream.below(23);
            let at = now + Span::from_nanos(stream.below(1 << within) as u64);
            let event = stream.below(1 << 40) as u64;
            queue.schedule(at, event);
            heap.push(Reverse((at, event)));
        };
        for _ in 0..2 * MANY {
            schedule(&mut queue, &mut heap, Time::START);
        }
        for taken in 0..4 * MANY {
            if queue.is_between_batches() {
                queue.look_ahead().for_each(drop);
            }
            let popped = queue.pop();
            assert_eq!(popped, heap.pop().map(|Reverse(first)| first));
            if let Some((now, _)) = popped.filter(|_| taken < 2 * MANY) {
                schedule(&mut queue, &mut heap, now);
            }
        }
        assert!(queue.is_empty());
    }

    proptest! {
        /// The wheel is a priority queue: the same order as a heap, for gaps from nothing to hours.
        #[test]
        fn the_wheel_pops_in_the_order_of_a_heap(
            steps in prop::collection::vec((0u32..44, 0u64..1000, 1usize..6), 1..400),
        ) {
            let mut wheel = EventQueue::new();
            let mut heap = BinaryHeap::new();
            let mut now = Time::START;
            for (number, &(magnitude, fraction, pops)) in steps.iter().enumerate() {
                let gap = ((1u64 << magnitude) / 1000) * fraction + fraction;
                for copy in 0..3 {
                    let at = now + Span::from_nanos(gap * copy);
                    let event = fraction * 3 + copy;
                    if (number + pops).is_multiple_of(3) {
                        wheel.schedule_next(at, event);
                    } else {
                        wheel.schedule(at, event);
                    }
                    heap.push(Reverse((at, event)));
                }
                for _ in 0..pops {
                    let expected = heap.pop().map(|Reverse(first)| first);
                    let popped = wheel.pop();
                    prop_assert_eq!(popped, expected);
                    prop_assert_eq!(wheel.len(), heap.len());
                    now = popped.map_or(now, |(at, _)| at);
                }
            }
            while let Some(popped) = wheel.pop() {
                let expected = heap.pop().map(|Reverse(first)| first);
                prop_assert_eq!(Some(popped), expected);
            }
            prop_assert!(heap.is_empty());
        }
    }
}
