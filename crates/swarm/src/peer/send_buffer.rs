//! The send buffer of a connection, into which blocks and messages go in one line, and the quota with
//! which they leave it (libtorrent: `peer_connection::m_send_buffer`, `m_quota`, `setup_send`).

use crate::Message;
use crate::profile::Quota;
use std::collections::VecDeque;

/// A block that was requested from us.
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

/// Messages that wait to be written to one connection.
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
    /// Free bytes in the last of the pieces of memory that messages are copied into.
    room: u32,
    /// Bytes that waited when a message that needs quota was put in here, since quota was requested last:
    /// at the first time, and at the first time that it was more than the quota.
    first: u32,
    short: u32,
    /// The header of the block in front is written before the block is there.
    pub(super) header_apart: bool,
}

/// A message gets this much memory, and those behind it go there as well, as far as there is room
/// (`peer_connection::send_buffer`).
const PIECE_OF_MEMORY: u32 = 128;

/// Bytes of PIECE in the send buffer before the block.
const PIECE_HEADER: u32 = 13;

/// A part of a message that is written.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) bytes: u32,
    /// The message, if this is its end.
    pub(super) completes: Option<Message>,
    /// Whether it belongs to a block.
    pub(super) of_block: bool,
    /// Whether what follows is another write.
    pub(super) ends: bool,
}

impl SendBuffer {
    pub(super) fn push(&mut self, message: Message) {
        let left = message.size();
        let block = matches!(message, Message::Piece { .. });
        let copied = if block { PIECE_HEADER } else { left };
        if let Some(room) = self.room.checked_sub(copied) {
            self.room = room;
        } else {
            let rest = copied - self.room;
            self.room = PIECE_OF_MEMORY.saturating_sub(rest);
            self.note(self.bytes.saturating_add(copied));
        }
        self.bytes = self.bytes.saturating_add(left);
        if block {
            // `write_piece`: whatever has nothing to wait for is written as soon as it is there, and the header is
            // there first.
            self.header_apart |= self.queue.is_empty();
            // It is in a buffer of the disk's, behind which nothing is copied.
            self.room = 0;
            self.note(self.bytes);
        }
        self.blocks += u32::from(block);
        self.queue.push_back(Unsent { message, left });
    }
    /// `bytes` bytes wait now, or will when they are read, and quota would be requested for them.
    pub(super) fn note(&mut self, bytes: u32) {
        if self.first == 0 {
            self.first = bytes;
        }
        if self.short == 0 && bytes > self.quota {
            self.short = bytes;
        }
    }
    /// Messages that wait.
    pub(super) fn len(&self) -> usize {
        self.queue.len()
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
    /// How much quota is to be asked for, for what waits and for what will follow at the present rate
    /// (`peer_connection::wanted_transfer`: twice of what goes out in a tick).
    pub(super) fn lacks(&mut self, upload_rate: u32, tick_ms: u32, rules: &Quota) -> u32 {
        let ahead = u64::from(upload_rate) * 2 * u64::from(tick_ms) / 1000;
        let ahead = u32::try_from(ahead).unwrap_or(u32::MAX);
        let (first, short) = (std::mem::take(&mut self.first), std::mem::take(&mut self.short));
        if self.waits || self.bytes == 0 || (!rules.messages && self.blocks == 0) {
            return 0;
        }
        let waiting = match (first, short) {
            _ if !rules.asks_at_once => self.bytes,
            (1.., _) if ahead > self.quota => first,
            (_, 1..) => short,
            _ => self.bytes,
        };
        waiting.max(ahead).saturating_sub(self.quota)
    }
    /// Takes the next part that may be written, if the socket buffer takes `space`.
    pub(super) fn take(&mut self, space: u32, free_messages: bool) -> Option<Part> {
        let front = self.queue.front_mut()?;
        let of_block = matches!(front.message, Message::Piece { .. });
        let free = free_messages && !of_block;
        let may = if free { u32::MAX } else { self.quota };
        let whole = if self.header_apart { PIECE_HEADER } else { front.left };
        let bytes = whole.min(space).min(may);
        if bytes == 0 {
            return None;
        }
        let ends = std::mem::take(&mut self.header_apart);
        if !free {
            self.quota -= bytes;
        }
        front.left -= bytes;
        self.bytes -= bytes;
        let whole = front.left == 0;
        let completes =
            if whole { self.queue.pop_front().map(|unsent| unsent.message) } else { None };
        self.blocks -= u32::from(whole && of_block);
        if self.bytes == 0 {
            self.room = 0;
        }
        Some(Part { bytes, completes, of_block, ends })
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
        let rules = named("libtorrent").unwrap().limiter.quota;
        assert_eq!(buffer.lacks(0, 500, &rules), 413, "for the block, and not for what follows");
        let part =
            |bytes, completes, of_block| Some(Part { bytes, completes, of_block, ends: false });
        let header = Part { bytes: 13, completes: None, of_block: true, ends: true };
        assert_eq!(buffer.take(500, false), Some(header), "a write of its own");
        assert_eq!(buffer.take(487, false), part(487, None, true));
        assert_eq!(buffer.half_written(), Some(&BLOCK));
        assert_eq!(buffer.take(500, false), part(100, None, true));
        assert_eq!(buffer.take(500, false), None, "the quota is used up");
        assert_eq!(buffer.lacks(0, 500, &rules), 418);
        assert_eq!(buffer.lacks(5000, 500, &rules), 5000, "and a second's worth");
        buffer.quota = 500;
        assert_eq!(buffer.take(500, false), part(413, Some(BLOCK), true));
        assert_eq!(buffer.take(0, false), None, "the socket is full");
        assert_eq!(buffer.take(9, false), part(5, Some(Message::Unchoke), false));
        assert_eq!((buffer.bytes(), buffer.blocks, buffer.quota), (0, 0, 82));
    }

    /// As captures of libtorrent 2.1.1 have it: a block that finds nothing before it begins with a segment of 13
    /// bytes, and one behind another does not.
    #[test]
    fn a_header_with_nothing_before_it_is_a_write_of_its_own() {
        let mut buffer = SendBuffer { quota: 10_000, ..SendBuffer::default() };
        let mut written = |messages: &[Message], space: &[u32]| {
            messages.iter().for_each(|message| buffer.push(message.clone()));
            let parts = space.iter().map_while(|space| buffer.take(*space, false));
            parts.map(|part| (part.bytes, part.ends)).collect::<Vec<_>>()
        };
        let all = [u32::MAX; 4];
        let apart = [(13, true), (1000, false)];
        assert_eq!(written(&[BLOCK], &all), apart);
        assert_eq!(written(&[BLOCK, BLOCK], &all), [&apart[..], &[(1013, false)]].concat());
        assert_eq!(written(&[Message::Unchoke, BLOCK], &all), [(5, false), (1013, false)]);
        // The write that a full socket has not taken is that of the header alone.
        assert_eq!(written(&[BLOCK], &[0]), []);
        assert_eq!(written(&[], &all), apart);
    }

    #[test]
    fn messages_may_be_free_of_quota() {
        let mut buffer = SendBuffer::default();
        let rules = named("libtorrent").unwrap().limiter.quota;
        let free = Quota { messages: false, ..rules.clone() };
        buffer.push(Message::Unchoke);
        assert_eq!((buffer.lacks(0, 500, &free), buffer.lacks(0, 500, &rules)), (0, 5));
        assert_eq!(buffer.take(100, false), None);
        assert_eq!(buffer.take(100, true).map(|part| part.bytes), Some(5));
    }

    /// As a log of libtorrent 2.1.1 has it: a seed whose upload rate to a peer is 4132 B/s.
    #[test]
    fn quota_is_asked_for_with_the_header_of_a_block() {
        let rules = named("libtorrent").unwrap().limiter.quota;
        let block = Message::Piece { piece: 0, begin: 0, length: 16_384 };
        let asked = |rate, quota| {
            let mut buffer = SendBuffer { quota, ..SendBuffer::default() };
            buffer.push(block.clone());
            buffer.lacks(rate, 500, &rules)
        };
        assert_eq!(asked(4132, 0), 4132);
        assert_eq!(asked(0, 0), 13);
        assert_eq!(asked(0, 13), 16_384, "which covers the header");
        assert_eq!(asked(20_000, 0), 20_000);
        let mut buffer = SendBuffer { quota: 4132, ..SendBuffer::default() };
        buffer.push(block.clone());
        assert_eq!(buffer.lacks(4132, 500, &rules), 12_265, "the rest");
        let at_once = Quota { asks_at_once: false, ..rules };
        let mut buffer = SendBuffer::default();
        buffer.push(block);
        assert_eq!(buffer.lacks(4132, 500, &at_once), 16_397);
    }

    #[test]
    fn messages_behind_the_first_wait_for_the_next_quota() {
        let rules = named("libtorrent").unwrap().limiter.quota;
        let mut buffer = SendBuffer::default();
        buffer.push(Message::Have { piece: 1 });
        buffer.push(Message::Unchoke);
        assert_eq!(buffer.lacks(0, 500, &rules), 9);
        buffer.quota = 9;
        assert_eq!(buffer.take(100, false).map(|part| part.bytes), Some(9));
        assert_eq!(buffer.lacks(0, 500, &rules), 5);
        // A message that has room behind another requests nothing until all is there.
        buffer.push(Message::Have { piece: 2 });
        assert_eq!(buffer.lacks(0, 500, &rules), 14);
    }

    #[test]
    fn a_message_without_room_behind_the_others_asks_for_them_and_itself() {
        let rules = named("libtorrent").unwrap().limiter.quota;
        let mut buffer = SendBuffer::default();
        let mut asks_for = |messages| {
            (0..messages).for_each(|_| buffer.push(Message::Unchoke));
            buffer.lacks(0, 500, &rules)
        };
        assert_eq!(asks_for(1), 5);
        assert_eq!(asks_for(24), 125, "which leaves 3 of 128 bytes");
        assert_eq!(asks_for(26), 130, "the first of them, and not those that have room behind it");
        assert_eq!(asks_for(2), 260, "again the first: 2 and 125 bytes left 1 of 128");
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
