use crate::{Ack, Ecn, Flow};
use flashcrowd_base::Time;

/// A packet that waits in a discipline.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub(crate) offered: Time,
    pub(crate) flow: Flow,
    pub(crate) ack: Option<Ack>,
    pub(crate) tag: u32,
    /// On the wire, framing included.
    pub(crate) bytes: u32,
    /// What it counts for at a shaper with a framing of its own; `bytes` elsewhere.
    pub(crate) shaped_bytes: u32,
    pub(crate) ecn: Ecn,
    /// Whether this link has marked it.
    pub(crate) marked: bool,
    next: u32,
    /// Rises from packet to packet, whichever list they are in.
    pub(crate) number: u64,
}

impl Held {
    pub(crate) fn new(offered: Time, bytes: u32, packet: &impl crate::Packet) -> Held {
        Held {
            offered,
            flow: packet.flow(),
            ack: packet.ack(),
            tag: packet.tag(),
            bytes,
            shaped_bytes: bytes,
            ecn: packet.ecn(),
            marked: false,
            next: NONE,
            number: 0,
        }
    }
}

const NONE: u32 = u32::MAX;

/// Packets one behind the other, in a [`Pool`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct List {
    head: u32,
    tail: u32,
}

impl Default for List {
    fn default() -> List {
        List { head: NONE, tail: NONE }
    }
}

impl List {
    pub(crate) fn is_empty(&self) -> bool {
        self.head == NONE
    }
}

/// All packets of a discipline, in whichever of its lists. Places are used again, so that nothing
/// is allocated once the queue has been as long as it gets.
#[derive(Clone, Debug)]
pub(crate) struct Pool {
    places: Vec<Held>,
    free: u32,
    packets: u32,
    bytes: u64,
    pushed: u64,
}

impl Default for Pool {
    fn default() -> Pool {
        Pool { places: Vec::new(), free: NONE, packets: 0, bytes: 0, pushed: 0 }
    }
}

impl Pool {
    /// Packets that wait.
    pub(crate) fn packets(&self) -> u32 {
        self.packets
    }
    /// Their bytes on the wire.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn push(&mut self, list: &mut List, packet: Held) {
        let packet = Held { next: NONE, number: self.pushed, ..packet };
        self.pushed += 1;
        let place = self.free;
        let place = if place == NONE {
            self.places.push(packet);
            (self.places.len() - 1) as u32
        } else {
            self.free = self.places[place as usize].next;
            self.places[place as usize] = packet;
            place
        };
        match list.tail {
            NONE => list.head = place,
            tail => self.places[tail as usize].next = place,
        }
        list.tail = place;
        self.packets += 1;
        self.bytes += u64::from(packet.bytes);
    }

    pub(crate) fn pop(&mut self, list: &mut List) -> Option<Held> {
        (!list.is_empty()).then(|| self.remove(list, None))
    }

    /// Removes the packet behind the one at place `before`, or else the first.
    fn remove(&mut self, list: &mut List, before: Option<u32>) -> Held {
        let place = match before {
            None => list.head,
            Some(before) => self.places[before as usize].next,
        };
        let packet = self.places[place as usize];
        match before {
            None => list.head = packet.next,
            Some(before) => self.places[before as usize].next = packet.next,
        }
        if list.tail == place {
            list.tail = before.unwrap_or(NONE);
        }
        self.places[place as usize].next = self.free;
        self.free = place;
        self.packets -= 1;
        self.bytes -= u64::from(packet.bytes);
        packet
    }

    /// Removes the first packet that `found` chooses; it sees them in order.
    pub(crate) fn remove_first(
        &mut self,
        list: &mut List,
        mut found: impl FnMut(&Held) -> bool,
    ) -> Option<Held> {
        let (mut before, mut place) = (None, list.head);
        while place != NONE {
            let packet = &self.places[place as usize];
            if found(packet) {
                return Some(self.remove(list, before));
            }
            (before, place) = (Some(place), packet.next);
        }
        None
    }

    /// The packets of a list, the first one first.
    pub(crate) fn iter(&self, list: &List) -> impl Iterator<Item = &Held> {
        let mut place = list.head;
        std::iter::from_fn(move || {
            let packet = self.places.get(place as usize)?;
            place = packet.next;
            Some(packet)
        })
    }

    /// The last packet of a list.
    pub(crate) fn last(&self, list: &List) -> Option<&Held> {
        self.places.get(list.tail as usize)
    }
}
