use std::collections::VecDeque;

/// Packets that wait for a discipline to send or drop them, by tag.
///
/// Tags of one link grow (modulo 2^32) as packets are offered, so they are in order and a packet is
/// found by bisection; one that left before an older one leaves a gap until that one goes.
#[derive(Debug)]
pub(crate) struct Held<K> {
    packets: VecDeque<(u32, Option<K>)>,
}

impl<K> Held<K> {
    pub(crate) fn new() -> Held<K> {
        Held { packets: VecDeque::new() }
    }

    /// Keeps a packet whose tag is newer than all others'.
    pub(crate) fn keep(&mut self, tag: u32, packet: K) {
        self.packets.push_back((tag, Some(packet)));
    }

    /// Takes a packet out, if it is here.
    pub(crate) fn take(&mut self, tag: u32) -> Option<K> {
        let first = self.packets.front()?.0;
        let age = |tag: u32| tag.wrapping_sub(first);
        let place = self.packets.binary_search_by_key(&age(tag), |(tag, _)| age(*tag)).ok()?;
        let packet = self.packets[place].1.take();
        while self.packets.front().is_some_and(|(_, packet)| packet.is_none()) {
            self.packets.pop_front();
        }
        packet
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_leave_in_any_order_and_tags_wrap() {
        let mut held = Held::new();
        let tags: Vec<u32> = (0..10).map(|i| (u32::MAX - 4).wrapping_add(i)).collect();
        for &tag in &tags {
            held.keep(tag, tag);
        }
        for &place in &[3, 0, 9, 1, 2, 5, 4, 8, 6, 7] {
            assert_eq!(held.take(tags[place]), Some(tags[place]));
            assert_eq!(held.take(tags[place]), None);
        }
        assert!(held.packets.is_empty());
        assert_eq!(held.take(1), None);
    }
}
