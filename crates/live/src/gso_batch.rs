use std::collections::VecDeque;
use std::net::SocketAddr;

/// Bytes of a batch at most: the payload of an IPv4 datagram, which segmentation offload cuts up.
const MAX_BYTES: usize = 65_507;
/// Batches in the queue at most: the one that the socket refused, and the next one.
const MAX_WAITING: usize = 2;

/// How the system sends datagrams of this size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sizing {
    /// Datagrams of the size have arrived before.
    Ordinary,
    /// It measures the path MTU: no router may fragment it.
    Probe,
    /// The path once took the size and does no more: it may arrive in fragments.
    Oversize,
}

/// Datagrams for one call with generic segmentation offload (GSO): to one address, back to back, all of
/// the same size but for a shorter last one.
#[derive(Debug)]
pub(crate) struct GsoBatch {
    pub(crate) destination: SocketAddr,
    pub(crate) bytes: Vec<u8>,
    /// Size of every datagram but the last.
    pub(crate) each: usize,
    /// A batch of another sizing than ordinary is a single datagram.
    pub(crate) sizing: Sizing,
    /// Whether another datagram may follow.
    open: bool,
    /// Number of datagrams.
    pub(crate) count: usize,
}

/// Datagrams that are to be sent, gathered into batches.
#[derive(Debug)]
pub(crate) struct TransmitQueue {
    batches: VecDeque<GsoBatch>,
    spare: Vec<Vec<u8>>,
    max: usize,
}

impl TransmitQueue {
    /// An empty queue, with batches of at most `max` datagrams.
    pub(crate) fn new(max: usize) -> TransmitQueue {
        TransmitQueue { batches: VecDeque::with_capacity(MAX_WAITING + 1), spare: Vec::new(), max }
    }

    /// Bounds the length of batches from now on.
    pub(crate) fn limit(&mut self, max: usize) {
        self.max = max;
    }

    /// Whether no more may be gathered before something is sent.
    pub(crate) fn is_full(&self) -> bool {
        self.batches.len() >= MAX_WAITING
    }

    /// How many batches wait.
    pub(crate) fn len(&self) -> usize {
        self.batches.len()
    }

    /// Returns the buffer to which the caller appends a datagram of exactly `len` bytes. One of no ordinary
    /// size gets a batch of its own: its failure must not concern other datagrams.
    pub(crate) fn push(
        &mut self,
        destination: SocketAddr,
        len: usize,
        sizing: Sizing,
    ) -> &mut Vec<u8> {
        let ordinary = sizing == Sizing::Ordinary;
        let joins = self.batches.back().is_some_and(|batch| {
            batch.open
                && ordinary
                && batch.destination == destination
                && len <= batch.each
                && batch.count < self.max
                && batch.bytes.len() + len <= MAX_BYTES
        });
        if !joins {
            let bytes = self.spare.pop().unwrap_or_else(|| Vec::with_capacity(MAX_BYTES));
            let batch =
                GsoBatch { destination, bytes, each: len, sizing, open: ordinary, count: 0 };
            self.batches.push_back(batch);
        }
        let batch = self.batches.back_mut().expect("there is one, or one was made");
        batch.count += 1;
        batch.open &= len == batch.each;
        &mut batch.bytes
    }

    /// The batch to send first.
    pub(crate) fn first(&self) -> Option<&GsoBatch> {
        self.batches.front()
    }

    /// Drops the first batch, after it was sent or refused for good.
    pub(crate) fn pop(&mut self) {
        if let Some(mut batch) = self.batches.pop_front() {
            batch.bytes.clear();
            self.spare.push(batch.bytes);
        }
    }

    /// Replaces the first batch by its datagrams one by one, for a system that refused to cut it.
    pub(crate) fn split(&mut self) {
        let Some(batch) = self.batches.pop_front() else { return };
        for part in batch.bytes.chunks(batch.each).rev() {
            self.batches.push_front(GsoBatch {
                destination: batch.destination,
                bytes: part.to_vec(),
                each: part.len(),
                sizing: batch.sizing,
                open: false,
                count: 1,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: SocketAddr =
        SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 1);
    const THERE: SocketAddr =
        SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 2);

    /// (datagrams, bytes) of each batch.
    fn batches(transmit_queue: &TransmitQueue) -> Vec<(usize, usize)> {
        transmit_queue.batches.iter().map(|batch| (batch.count, batch.bytes.len())).collect()
    }

    fn push(transmit_queue: &mut TransmitQueue, to: SocketAddr, len: usize, probe: bool) {
        let sizing = if probe { Sizing::Probe } else { Sizing::Ordinary };
        transmit_queue.push(to, len, sizing).extend(std::iter::repeat_n(len as u8, len));
    }

    #[test]
    fn equal_datagrams_travel_together_and_a_shorter_one_ends_the_batch() {
        let mut transmit_queue = TransmitQueue::new(64);
        for len in [1402, 1402, 300, 300, 1402] {
            push(&mut transmit_queue, HERE, len, false);
        }
        assert_eq!(batches(&transmit_queue), [(3, 3104), (1, 300), (1, 1402)]);
    }

    #[test]
    fn another_address_a_full_batch_and_a_lone_datagram_begin_a_new_one() {
        let mut transmit_queue = TransmitQueue::new(2);
        for (to, probe) in [
            (HERE, false),
            (HERE, false),
            (HERE, false),
            (THERE, false),
            (THERE, true),
            (THERE, false),
        ] {
            push(&mut transmit_queue, to, 100, probe);
        }
        assert_eq!(batches(&transmit_queue), [(2, 200), (1, 100), (1, 100), (1, 100), (1, 100)]);
        let mut long = TransmitQueue::new(64);
        for _ in 0..64 {
            push(&mut long, HERE, 1402, false);
        }
        assert_eq!(batches(&long), [(46, 64_492), (18, 25_236)]);
    }

    #[test]
    fn a_batch_that_cannot_be_cut_goes_as_single_datagrams_in_order() {
        let mut transmit_queue = TransmitQueue::new(64);
        for len in [90, 90, 80] {
            push(&mut transmit_queue, HERE, len, false);
        }
        push(&mut transmit_queue, THERE, 10, false);
        transmit_queue.split();
        assert_eq!(batches(&transmit_queue), [(1, 90), (1, 90), (1, 80), (1, 10)]);
        assert_eq!(transmit_queue.first().map(|batch| batch.bytes[0]), Some(90));
    }
}
