use crate::offload::Offload;
use flashcrowd_base::{Span, Time};
use flashcrowd_link::{Ack, Ecn, Packet};
use flashcrowd_topology::Carried;
use std::collections::BTreeMap;

/// Places that are made at a time.
const CHUNK: usize = 1024;

/// A packet on its way, without its bytes, which are at its place in the [`Pool`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passing {
    /// Its place.
    pub(crate) slot: u32,
    /// The host that it is from.
    pub(crate) source: u32,
    /// The host that it is for.
    pub(crate) target: u32,
    pub(crate) bytes: u32,
    /// The offloads that are left to its receiver.
    pub(crate) offload: Offload,
    /// How many frames it is: more than one if it is a super-segment that stays whole.
    pub(crate) frames: u32,
    pub(crate) route: u32,
    pub(crate) step: u16,
    pub(crate) tag: u32,
    pub(crate) connection: u64,
    pub(crate) ecn: Ecn,
    pub(crate) ack: Option<Ack>,
    /// When it is looked at next; [`Time::NEVER`] while it waits for a discipline, or is no more.
    pub(crate) due: Time,
    /// Whether it waits for the event of a FIFO, and has none of its own.
    pub(crate) in_fifo: bool,
    /// Whether it has reached its host by then.
    pub(crate) arrives: bool,
    /// Whether it goes to another network by then, where it is looked at `ahead` later.
    pub(crate) crosses: bool,
    pub(crate) ahead: Span,
    /// How late it came from other networks.
    pub(crate) late: Span,
}

impl Passing {
    fn nothing(slot: u32) -> Passing {
        Passing {
            slot,
            source: 0,
            target: 0,
            bytes: 0,
            offload: Offload::NOTHING,
            frames: 1,
            route: 0,
            step: 0,
            tag: 0,
            connection: 0,
            ecn: Ecn::NotEct,
            ack: None,
            due: Time::NEVER,
            in_fifo: false,
            arrives: false,
            crosses: false,
            ahead: Span::ZERO,
            late: Span::ZERO,
        }
    }
}

impl Packet for Passing {
    fn bytes(&self) -> u32 {
        self.bytes
    }
    fn tag(&self) -> u32 {
        self.tag
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn ack(&self) -> Option<Ack> {
        self.ack
    }
}

impl Carried for Passing {
    fn route(&self) -> u32 {
        self.route
    }
    fn step(&self) -> u16 {
        self.step
    }
    fn set_step(&mut self, step: u16) {
        self.step = step;
    }
    fn set_tag(&mut self, tag: u32) {
        self.tag = tag;
    }
    fn connection(&self) -> u64 {
        self.connection
    }
}

/// Packets on their way: places of one size, made a thousand at a time and used again, so that no
/// packet takes an allocation. Super-segments that stay whole have places of their own.
#[derive(Debug)]
pub(crate) struct Pool {
    stride: usize,
    chunks: Vec<Box<[u8]>>,
    packets: Vec<Passing>,
    /// Free places. A [`flashcrowd_base::Slab`] has no place before it has the packet, which the bytes need, so that each
    /// packet is written twice: the pool then takes half as long again.
    free: Vec<u32>,
    /// Super-segments, by place.
    long: BTreeMap<u32, Vec<u8>>,
    /// The place that is being written to, which nothing else gets meanwhile.
    next: u32,
}

impl Pool {
    /// A pool of packets of at most `max_bytes` bytes.
    pub(crate) fn new(max_bytes: usize) -> Pool {
        let stride = max_bytes.next_multiple_of(64);
        let (chunks, packets, free) = (Vec::new(), Vec::new(), Vec::new());
        let mut pool = Pool { stride, chunks, packets, free, long: BTreeMap::new(), next: 0 };
        pool.next = pool.reserve();
        pool
    }

    #[cold]
    fn grow(&mut self) {
        let first = self.packets.len() as u32;
        self.chunks.push(vec![0; self.stride * CHUNK].into_boxed_slice());
        self.packets.extend((first..first + CHUNK as u32).map(Passing::nothing));
        self.free.extend((first..first + CHUNK as u32).rev());
    }

    fn reserve(&mut self) -> u32 {
        if self.free.is_empty() {
            self.grow();
        }
        self.free.pop().unwrap_or_default()
    }

    /// The bytes of the place that the next packet will have: to be written to before
    /// [`Pool::take`], whatever is released in between.
    pub(crate) fn next_bytes(&mut self) -> &mut [u8] {
        let begin = self.next as usize % CHUNK * self.stride;
        &mut self.chunks[self.next as usize / CHUNK][begin..begin + self.stride]
    }

    /// Writes the next packet, of any length.
    pub(crate) fn write_next(&mut self, packet: &[u8]) {
        match self.next_bytes().get_mut(..packet.len()) {
            Some(bytes) => bytes.copy_from_slice(packet),
            None => {
                self.long.insert(self.next, packet.to_vec());
            }
        }
    }

    /// The packet that was written to the next place; it is there until [`Pool::release`].
    pub(crate) fn take(&mut self) -> Passing {
        let following = self.reserve();
        Passing::nothing(std::mem::replace(&mut self.next, following))
    }

    pub(crate) fn release(&mut self, slot: u32) {
        if !self.long.is_empty() {
            self.long.remove(&slot);
        }
        self.packets[slot as usize].due = Time::NEVER;
        self.free.push(slot);
    }

    pub(crate) fn get(&self, slot: u32) -> Passing {
        self.packets[slot as usize]
    }
    pub(crate) fn put(&mut self, packet: Passing) {
        self.packets[packet.slot as usize] = packet;
    }
    /// All that are on their way, those that wait for a discipline left out.
    pub(crate) fn due(&mut self) -> impl Iterator<Item = &mut Passing> {
        self.packets.iter_mut().filter(|packet| packet.due < Time::NEVER)
    }

    /// The bytes of a packet.
    pub(crate) fn bytes(&self, packet: &Passing) -> &[u8] {
        if packet.bytes as usize > self.stride {
            return self.long.get(&packet.slot).map_or(&[], Vec::as_slice);
        }
        let begin = packet.slot as usize % CHUNK * self.stride;
        &self.chunks[packet.slot as usize / CHUNK][begin..begin + packet.bytes as usize]
    }
    pub(crate) fn bytes_mut(&mut self, packet: &Passing) -> &mut [u8] {
        if packet.bytes as usize > self.stride {
            return self.long.get_mut(&packet.slot).map_or(&mut [], Vec::as_mut_slice);
        }
        let begin = packet.slot as usize % CHUNK * self.stride;
        &mut self.chunks[packet.slot as usize / CHUNK][begin..begin + packet.bytes as usize]
    }
    /// How many are on their way, and wait.
    pub(crate) fn len(&self) -> usize {
        self.packets.len() - self.free.len() - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet is written while others arrive and give their places back.
    #[test]
    fn what_is_written_stays_until_it_is_taken() {
        let mut pool = Pool::new(1500);
        let mut old = Vec::new();
        for number in 0..3000u32 {
            pool.next_bytes()[..4].copy_from_slice(&number.to_ne_bytes());
            if number % 3 == 2 {
                let packet: Passing = old.remove(old.len() / 2);
                pool.release(packet.slot);
            }
            let mut packet = pool.take();
            packet.bytes = 4;
            packet.tag = number;
            pool.put(packet);
            assert_eq!(pool.bytes(&packet), number.to_ne_bytes());
            old.push(packet);
        }
        assert_eq!(pool.len(), old.len());
        for packet in &old {
            assert_eq!(pool.bytes(packet), packet.tag.to_ne_bytes());
        }
    }
}
