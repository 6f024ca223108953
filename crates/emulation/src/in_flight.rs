use flashcrowd_base::Time;
use std::collections::VecDeque;

/// Packets in flight that left one link, or cross paths of one delay: first in, first out, and only the
/// first of a FIFO has an event.
///
/// As in the simulator, whose order this keeps: of two packets that reach a queue at one nanosecond from
/// two FIFOs, that one comes first which has been the first of its FIFO for longer.
#[derive(Debug)]
pub(crate) struct InFlight {
    /// When each packet is due, and its place.
    fifos: Vec<VecDeque<(Time, u32)>>,
}

/// Which event a packet waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// That of its FIFO, which has none yet.
    First,
    /// That of its FIFO, after others.
    Later,
    /// One of its own: it is due before the last of its FIFO.
    Unordered,
}

impl InFlight {
    pub(crate) fn new(fifos: usize) -> InFlight {
        InFlight { fifos: vec![VecDeque::new(); fifos] }
    }

    /// Keeps a packet, unless it would overtake: one that is due when another is comes after it.
    pub(crate) fn keep(&mut self, fifo: u32, due: Time, slot: u32) -> Turn {
        let packets = &mut self.fifos[fifo as usize];
        let place = match packets.back() {
            None => 0,
            Some((last, _)) if *last <= due => packets.len(),
            Some(_) => {
                let place = packets.partition_point(|(other, _)| *other <= due);
                if place == 0 || packets[place - 1].0 != due {
                    return Turn::Unordered;
                }
                place
            }
        };
        packets.insert(place, (due, slot));
        if packets.len() == 1 { Turn::First } else { Turn::Later }
    }

    /// Takes the first packet of a FIFO, and says when the next one is due; `None` if the event is out of
    /// date.
    pub(crate) fn take(&mut self, fifo: u32, now: Time) -> Option<(u32, Option<Time>)> {
        let packets = &mut self.fifos[fifo as usize];
        let slot = packets.front().filter(|(due, _)| *due == now)?.1;
        packets.pop_front();
        Some((slot, packets.front().map(|(due, _)| *due)))
    }

    /// Gives packets of a FIFO other instants; those due at one instant keep their order. Returns when the
    /// first is due.
    pub(crate) fn reschedule(
        &mut self,
        fifo: u32,
        mut due: impl FnMut(u32, Time) -> Time,
    ) -> Option<Time> {
        let packets = &mut self.fifos[fifo as usize];
        packets.iter_mut().for_each(|(at, slot)| *at = due(*slot, *at));
        packets.make_contiguous().sort_by_key(|(at, _)| *at);
        packets.front().map(|(at, _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> Time {
        Time::from_nanos(nanos)
    }

    #[test]
    fn only_the_first_of_a_fifo_has_an_event() {
        let mut in_flight = InFlight::new(2);
        assert_eq!(in_flight.keep(0, at(5), 1), Turn::First);
        assert_eq!(in_flight.keep(0, at(7), 2), Turn::Later);
        assert_eq!(in_flight.keep(1, at(5), 3), Turn::First);
        assert_eq!(in_flight.keep(0, at(6), 4), Turn::Unordered);
        assert_eq!(in_flight.keep(0, at(5), 5), Turn::Later, "behind the one of the same instant");
        assert_eq!(in_flight.take(0, at(4)), None);
        assert_eq!(in_flight.take(0, at(5)), Some((1, Some(at(5)))));
        assert_eq!(in_flight.take(0, at(5)), Some((5, Some(at(7)))));
        assert_eq!(in_flight.take(0, at(7)), Some((2, None)));
        assert_eq!(in_flight.take(0, at(7)), None);
    }

    #[test]
    fn packets_that_move_to_one_instant_keep_their_order() {
        let mut in_flight = InFlight::new(1);
        for (slot, due) in [(9, 10), (4, 20), (7, 30)] {
            in_flight.keep(0, at(due), slot);
        }
        let moved = |slot, due| if slot == 9 { due } else { at(8) };
        assert_eq!(in_flight.reschedule(0, moved), Some(at(8)));
        assert_eq!(in_flight.take(0, at(8)), Some((4, Some(at(8)))));
        assert_eq!(in_flight.take(0, at(8)), Some((7, Some(at(10)))));
    }
}
