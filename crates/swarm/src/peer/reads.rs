//! Blocks that come from a disk before they are sent (libtorrent: `peer_connection::fill_send_buffer`, `m_reading_bytes`,
//! `on_disk_read_complete`).

use super::Peer;
use super::connection::Conn;
use super::outbox::Outbox;
use super::send_buffer::BlockRequest;
use super::send_buffer::watermark;
use crate::profile::{MeterRules, Quota};
use crate::{Action, ConnId, Message};
use flashcrowd_base::Time;

impl Peer {
    /// Blocks have to be read before they can be sent: the driver is asked for each with [`Action::ReadBlock`], and says
    /// with [`on_block_read`](Peer::on_block_read) when it is in memory. Only of a client whose limit is shared by quotas,
    /// which has a buffer for what was read. To be called before anything else.
    pub fn with_disk(mut self) -> Peer {
        self.reads_disk = true;
        self
    }
    /// A block that [`Action::ReadBlock`] asked for is in memory: it is sent behind those that were read before it, also
    /// to a neighbour that was choked meanwhile.
    pub fn on_block_read(&mut self, now: Time, conn: ConnId, piece: u32, begin: u32, length: u32) {
        self.now = now;
        let read = BlockRequest { piece, begin, length };
        let Some(c) = self.conns.get_mut(conn) else { return };
        let Some(buffer) = c.send_buffer_mut() else { return };
        // One for a connection that had this number before.
        let Some(place) = buffer.reading.iter().position(|it| *it == read) else { return };
        buffer.reading.remove(place);
        buffer.push(Message::Piece { piece, begin, length });
        self.block_was_read(piece);
        self.actions.cork(conn);
    }
}

impl Conn {
    /// Has blocks read that were asked for, while little waits to be sent or read.
    pub(super) fn read_blocks(
        &mut self,
        id: ConnId,
        now: Time,
        rules: &Quota,
        meter: &MeterRules,
        out: &mut Outbox,
    ) {
        let Some(extras) = &mut self.extras else { return };
        let below = watermark(rules, extras.statistics.up.last_second());
        let (Some(buffer), Some(work)) = (&mut extras.send, &mut self.work) else { return };
        while buffer.bytes() + buffer.reading_bytes() < below
            && let Some(next) = work.queue.pop_front()
        {
            work.up_meter.update(now, next.length, meter);
            buffer.reading.push(next);
            let BlockRequest { piece, begin, length } = next;
            out.push_back(Action::ReadBlock { conn: id, piece, begin, length });
            if buffer.bytes() > 0 {
                buffer.note(buffer.bytes().max(buffer.reading_bytes()));
            }
        }
    }
}
