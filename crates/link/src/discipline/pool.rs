use crate::{Ack, Ecn, Flow};
use flashcrowd_base::{NOWHERE, Slab, Time};

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
            number: 0,
        }
    }
}

/// Packets one behind the other, in a [`Pool`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct List {
    head: u32,
    tail: u32,
}

impl Default for List {
    fn default() -> List {
        List { head: NOWHERE, tail: NOWHERE }
    }
}

impl List {
    pub(crate) fn is_empty(&self) -> bool {
        self.head == NOWHERE
    }
}

/// All packets of a discipline, in whichever of its lists. Places are used again, so that nothing
/// is allocated once the queue has been as long as it gets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pool {
    places: Slab<Held>,
    bytes: u64,
    pushed: u64,
}

impl Pool {
    /// Packets that wait.
    pub(crate) fn packets(&self) -> u32 {
        self.places.len() as u32
    }
    /// Their bytes on the wire.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn push(&mut self, list: &mut List, packet: Held) {
        self.bytes += u64::from(packet.bytes);
        let place = self.places.insert(Held { number: self.pushed, ..packet });
        self.pushed += 1;
        match list.tail {
            NOWHERE => list.head = place,
            tail => self.places.link(tail, place),
        }
        list.tail = place;
    }

    pub(crate) fn pop(&mut self, list: &mut List) -> Option<Held> {
        self.remove(list, None)
    }

    /// Removes the packet behind the one at place `before`, or else the first.
    fn remove(&mut self, list: &mut List, before: Option<u32>) -> Option<Held> {
        let place = before.map_or(list.head, |before| self.places.next(before));
        let (packet, next) = self.places.unlink(place)?;
        match before {
            None => list.head = next,
            Some(before) => self.places.link(before, next),
        }
        if list.tail == place {
            list.tail = before.unwrap_or(NOWHERE);
        }
        self.bytes -= u64::from(packet.bytes);
        Some(packet)
    }

    /// Removes the first packet that `found` chooses; it sees them in order.
    pub(crate) fn remove_first(
        &mut self,
        list: &mut List,
        mut found: impl FnMut(&Held) -> bool,
    ) -> Option<Held> {
        let (mut before, mut place) = (None, list.head);
        while let Some(packet) = self.places.get(place) {
            if found(packet) {
                return self.remove(list, before);
            }
            (before, place) = (Some(place), self.places.next(place));
        }
        None
    }

    /// The packets of a list, the first one first.
    pub(crate) fn iter(&self, list: &List) -> impl Iterator<Item = &Held> {
        let mut place = list.head;
        std::iter::from_fn(move || {
            let packet = self.places.get(place)?;
            place = self.places.next(place);
            Some(packet)
        })
    }

    /// The last packet of a list.
    pub(crate) fn last(&self, list: &List) -> Option<&Held> {
        self.places.get(list.tail)
    }
}
