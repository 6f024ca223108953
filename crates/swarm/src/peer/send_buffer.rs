//! The send buffer of a connection, into which blocks and messages go in one line, and the quota with
//! which they leave it (libtorrent: `peer_connection::m_send_buffer`, `m_quota`, `setup_send`).

use crate::Message;
use crate::profile::Quota;
use std::collections::VecDeque;

/// A block that was asked of us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockRequest {
    pub(super) piece: u32,
    pub(super) begin: u32,
    pub(super) length: u32,
}

/// A message that has not been written to its last byte.
#[derive(Debug)]
struct Unsent {
    message: Message,
    left: u32,
}

/// What waits to be written to one connection.
#[derive(Debug, Default)]
pub(super) struct SendBuffer {
    queue: VecDeque<Unsent>,
    bytes: u32,
    /// How many of the messages are blocks.
    pub(super) blocks: u32,
    /// Blocks that the disk was asked for and that go in here when they come.
    pub(super) reading: Vec<BlockRequest>,
    /// Bytes that may be written.
    pub(super) quota: u32,
    /// A request for quota has not been answered.
    pub(super) waits: bool,
}

/// A part of a message that is written.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) bytes: u32,
    /// The message, if this is its end.
    pub(super) completes: Option<Message>,
    /// Whether it belongs to a block.
    pub(super) of_block: bool,
}

impl SendBuffer {
    pub(super) fn push(&mut self, message: Message) {
        let left = message.size();
        self.bytes = self.bytes.saturating_add(left);
        self.blocks += u32::from(matches!(message, Message::Piece { .. }));
        self.queue.push_back(Unsent { message, left });
    }
    /// Bytes that wait.
    pub(super) fn bytes(&self) -> u32 {
        self.bytes
    }
    /// Bytes of blocks that are being read.
    pub(super) fn reading_bytes(&self) -> u32 {
        self.reading.iter().map(|block| block.length).sum()
    }
    /// Whether a block is in here, or will be.
    pub(super) fn has_block(&self) -> bool {
        self.blocks > 0 || !self.reading.is_empty()
    }
    /// Whether the first part of what waits is of a block; nothing if nothing waits.
    pub(super) fn begins_with_block(&self) -> Option<bool> {
        Some(matches!(self.queue.front()?.message, Message::Piece { .. }))
    }
    /// The PIECE of which a part has been written, and the rest has not.
    pub(super) fn half_written(&self) -> Option<&Message> {
        let front = self.queue.front()?;
        (front.left < front.message.size()).then_some(&front.message)
    }
    /// How much quota is lacking for what waits and for what will follow at the present rate
    /// (`peer_connection::wanted_transfer`: twice of what goes out in a tick).
    pub(super) fn lacks(&self, upload_rate: u32, tick_ms: u32, free_messages: bool) -> u32 {
        let ahead = u64::from(upload_rate) * 2 * u64::from(tick_ms) / 1000;
        let wanted = u32::try_from(ahead).unwrap_or(u32::MAX).max(self.bytes);
        if self.waits || self.bytes == 0 || (free_messages && self.blocks == 0) {
            return 0;
        }
        wanted.saturating_sub(self.quota)
    }
    /// Takes the next part that may be written, if the socket buffer takes `space`.
    pub(super) fn take(&mut self, space: u32, free_messages: bool) -> Option<Part> {
        let front = self.queue.front_mut()?;
        let of_block = matches!(front.message, Message::Piece { .. });
        let free = free_messages && !of_block;
        let may = if free { u32::MAX } else { self.quota };
        let bytes = front.left.min(space).min(may);
        if bytes == 0 {
            return None;
        }
        if !free {
            self.quota -= bytes;
        }
        front.left -= bytes;
        self.bytes -= bytes;
        let whole = front.left == 0;
        let completes =
            if whole { self.queue.pop_front().map(|unsent| unsent.message) } else { None };
        self.blocks -= u32::from(whole && of_block);
        Some(Part { bytes, completes, of_block })
    }
}

/// Below how many bytes in the send buffer the next block is put there
/// (`peer_connection::fill_send_buffer`).
pub(super) fn watermark(rules: &Quota, sent_last_second: u32) -> u32 {
    let share = (f64::from(sent_last_second) * rules.watermark_factor) as u32;
    share.min(rules.watermark).max(rules.low_watermark)
}

/// Headers of the packets of one write or read (`stat::trancieve_ip_packet`): one for each 1460 bytes, in
/// each direction.
pub(super) fn headers(bytes: u32, header_bytes: u32) -> u32 {
    let payload = 1500u32.saturating_sub(header_bytes).max(1);
    bytes.div_ceil(payload).max(1).saturating_mul(header_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::named;

    const BLOCK: Message = Message::Piece { piece: 3, begin: 0, length: 1000 };

    #[test]
    fn what_waits_leaves_in_its_order_as_far_as_quota_and_space_go() {
        let mut buffer = SendBuffer { quota: 600, ..SendBuffer::default() };
        buffer.push(BLOCK);
        buffer.push(Message::Unchoke);
        assert_eq!((buffer.bytes(), buffer.blocks), (1018, 1));
        let part = |bytes, completes, of_block| Some(Part { bytes, completes, of_block });
        assert_eq!(buffer.take(500, false), part(500, None, true));
        assert_eq!(buffer.half_written(), Some(&BLOCK));
        assert_eq!(buffer.take(500, false), part(100, None, true));
        assert_eq!(buffer.take(500, false), None, "the quota is used up");
        assert_eq!(buffer.lacks(0, 500, false), 418);
        assert_eq!(buffer.lacks(5000, 500, false), 5000, "and a second's worth");
        buffer.quota = 500;
        assert_eq!(buffer.take(500, false), part(413, Some(BLOCK), true));
        assert_eq!(buffer.take(0, false), None, "the socket is full");
        assert_eq!(buffer.take(9, false), part(5, Some(Message::Unchoke), false));
        assert_eq!((buffer.bytes(), buffer.blocks, buffer.quota), (0, 0, 82));
    }

    #[test]
    fn messages_may_be_free_of_quota() {
        let mut buffer = SendBuffer::default();
        buffer.push(Message::Unchoke);
        assert_eq!((buffer.lacks(0, 500, true), buffer.lacks(0, 500, false)), (0, 5));
        assert_eq!(buffer.take(100, false), None);
        assert_eq!(buffer.take(100, true).map(|part| part.bytes), Some(5));
    }

    #[test]
    fn the_watermark_follows_the_rate_between_its_bounds() {
        let rules = named("libtorrent").unwrap().limiter.quota;
        let at = [0, 20_480, 100_000, 10_000_000].map(|rate| watermark(&rules, rate));
        assert_eq!(at, [10_240, 10_240, 50_000, 512_000]);
    }

    #[test]
    fn each_packet_has_its_header() {
        assert_eq!([1, 1460, 1461, 16_397].map(|bytes| headers(bytes, 40)), [40, 40, 80, 480]);
        assert_eq!(headers(16_397, 0), 0);
    }
}
