//! The bytes of a stream, which the state machine only counts.

use std::collections::VecDeque;

/// Slots for packets out of order. The state machine holds no packet this far ahead of the gap.
const SLOTS: usize = 1024;
/// Empty buffers that are kept for the next reordering.
const SPARE: usize = 64;

/// Send buffer: bytes that the application wrote and the other end has not acknowledged, by stream
/// offset.
#[derive(Debug, Default)]
pub(crate) struct SendBuffer {
    bytes: VecDeque<u8>,
    /// Offset of the first.
    start: u64,
}

impl SendBuffer {
    /// Takes more.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    /// How many there are.
    pub(crate) fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Appends `len` bytes from `offset` to a datagram.
    pub(crate) fn copy(&self, offset: u64, len: usize, datagram: &mut Vec<u8>) {
        let at = (offset - self.start) as usize;
        let (front, back) = self.bytes.as_slices();
        if let Some(behind) = at.checked_sub(front.len()) {
            datagram.extend_from_slice(&back[behind..behind + len]);
        } else {
            let first = len.min(front.len() - at);
            datagram.extend_from_slice(&front[at..at + first]);
            datagram.extend_from_slice(&back[..len - first]);
        }
    }

    /// Forgets what lies before `offset`.
    pub(crate) fn release(&mut self, offset: u64) {
        let gone = offset.saturating_sub(self.start).min(self.bytes.len() as u64);
        self.bytes.drain(..gone as usize);
        self.start += gone;
    }
}

/// Receive buffer: bytes in order that the application has not read, and packets out of order.
#[derive(Debug, Default)]
pub(crate) struct ReceiveBuffer {
    bytes: VecDeque<u8>,
    held: Vec<Option<Vec<u8>>>,
    spare: Vec<Vec<u8>>,
}

impl ReceiveBuffer {
    /// Keeps the payload of packet `seq` until the gap before it is filled.
    pub(crate) fn hold(&mut self, seq: u16, payload: &[u8]) {
        if self.held.is_empty() {
            self.held.resize(SLOTS, None);
        }
        let mut bytes = self.spare.pop().unwrap_or_default();
        bytes.extend_from_slice(payload);
        self.held[usize::from(seq) % SLOTS] = Some(bytes);
    }

    /// The payload of packet `seq` comes next, and behind it whatever is held without a gap.
    pub(crate) fn append(&mut self, seq: u16, payload: &[u8]) {
        self.bytes.extend(payload);
        let mut next = seq.wrapping_add(1);
        while let Some(mut bytes) =
            self.held.get_mut(usize::from(next) % SLOTS).and_then(Option::take)
        {
            self.bytes.extend(&bytes);
            if self.spare.len() < SPARE {
                bytes.clear();
                self.spare.push(bytes);
            }
            next = next.wrapping_add(1);
        }
    }

    /// Bytes that can be read.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Bytes that can be read, without a copy; [`consume`](ReceiveBuffer::consume) those that were.
    pub(crate) fn readable(&self) -> &[u8] {
        let (front, back) = self.bytes.as_slices();
        if front.is_empty() { back } else { front }
    }

    /// Forgets the first `len` bytes.
    pub(crate) fn consume(&mut self, len: usize) {
        self.bytes.drain(..len);
    }

    /// Forgets everything, and gives the memory back.
    pub(crate) fn clear(&mut self) {
        *self = ReceiveBuffer::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_found_after_the_ring_has_turned() {
        let mut send_buffer = SendBuffer::default();
        let mut written = 0u64;
        for round in 0..50u64 {
            let chunk: Vec<u8> = (written..written + 700).map(|at| (at % 251) as u8).collect();
            send_buffer.push(&chunk);
            written += 700;
            send_buffer.release(round * 650);
            for (offset, len) in [(round * 650, 650), (written - 1, 1), (written - 300, 300)] {
                let mut datagram = vec![7];
                send_buffer.copy(offset, len, &mut datagram);
                let expected: Vec<u8> =
                    (offset..offset + len as u64).map(|at| (at % 251) as u8).collect();
                assert_eq!(datagram[1..], expected);
            }
        }
    }

    #[test]
    fn what_was_held_follows_when_the_gap_is_filled_across_the_wrap() {
        let mut receive_buffer = ReceiveBuffer::default();
        receive_buffer.hold(0, b"d");
        receive_buffer.hold(65_535, b"c");
        receive_buffer.hold(2, b"f");
        receive_buffer.append(65_533, b"a");
        assert_eq!(receive_buffer.readable(), b"a");
        receive_buffer.append(65_534, b"b");
        assert_eq!(receive_buffer.len(), 4);
        receive_buffer.consume(3);
        assert_eq!(receive_buffer.readable(), b"d");
        receive_buffer.append(1, b"e");
        assert_eq!(receive_buffer.len(), 3);
    }
}
