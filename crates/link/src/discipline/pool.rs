use crate::{Ack, Ecn, Flow};
pub(crate) use flashcrowd_base::List;
use flashcrowd_base::{Slab, Time};

/// A packet that waits in a discipline.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub(crate) offered: Time,
    pub(crate) flow: Flow,
    pub(crate) ack: Option<Ack>,
    pub(crate) tag: u32,
    /// On the wire, framing included.
    pub(crate) bytes: u32,
    /// Its size at a shaper with a framing of its own; `bytes` elsewhere.
    pub(crate) shaped_bytes: u32,
    pub(crate) ecn: Ecn,
    /// Whether this link has marked it.
    pub(crate) marked: bool,
    /// Rises from packet to packet, in all lists together.
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

/// All packets of a discipline, in any of its lists. Places are used again, so that nothing is
/// allocated once the queue has been as long as it gets.
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
        self.places.push_back(list, Held { number: self.pushed, ..packet });
        self.pushed += 1;
    }

    pub(crate) fn pop(&mut self, list: &mut List) -> Option<Held> {
        self.places.pop_front(list).inspect(|packet| self.bytes -= u64::from(packet.bytes))
    }

    /// Removes the first packet that `found` chooses; it sees them in order.
    pub(crate) fn remove_first(
        &mut self,
        list: &mut List,
        found: impl FnMut(&Held) -> bool,
    ) -> Option<Held> {
        let removed = self.places.remove_first(list, found);
        removed.inspect(|packet| self.bytes -= u64::from(packet.bytes))
    }

    /// Takes out the last packet of a list, which takes a walk along it.
    pub(crate) fn pop_last(&mut self, list: &mut List) -> Option<Held> {
        let number = self.last(list)?.number;
        self.remove_first(list, |packet| packet.number == number)
    }

    /// The packets of a list, the first one first.
    pub(crate) fn iter(&self, list: &List) -> impl Iterator<Item = &Held> {
        self.places.iter_list(list)
    }

    /// The first packet of a list.
    pub(crate) fn first(&self, list: &List) -> Option<&Held> {
        self.places.front(list)
    }

    /// The last packet of a list.
    pub(crate) fn last(&self, list: &List) -> Option<&Held> {
        self.places.back(list)
    }
}
