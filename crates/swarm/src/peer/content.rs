//! The interface of a driver whose messages have bytes: pieces that are here from the start, pieces that fail their
//! check, and which message the written bytes belong to.

use super::Peer;
use crate::{Action, Bitfield, ConnId, Message};
use flashcrowd_base::Time;

impl Peer {
    /// These pieces are here already. To be called before anything else.
    pub fn with_pieces(mut self, pieces: &Bitfield) -> Peer {
        let count = self.block_map.torrent().pieces();
        for piece in pieces.iter().filter(|piece| *piece < count) {
            if !self.block_map.have().has(piece) {
                self.block_map.set_whole(piece);
                self.picker.complete(piece);
            }
        }
        self
    }
    /// Whether this block has been asked for over this connection, and is not here.
    pub fn awaits(&self, conn: ConnId, piece: u32, begin: u32, length: u32) -> bool {
        let Some(block) = self.block_map.block_at(piece, begin, length) else { return false };
        let owes = self.conns.get(conn).is_some_and(|c| c.active().contains(&block));
        owes && !self.block_map.has_block(block)
    }
    /// Whether it makes its piece whole, if it comes now. A driver with bytes checks the piece before it reports the
    /// block: with [`on_message`](Peer::on_message), or [`on_bad_piece`](Peer::on_bad_piece).
    pub fn is_last_block(&self, conn: ConnId, piece: u32, begin: u32, length: u32) -> bool {
        let block = self.block_map.block_at(piece, begin, length);
        let last = block.is_some_and(|block| self.block_map.is_last(block));
        last && self.awaits(conn, piece, begin, length)
    }
    /// In place of [`on_message`](Peer::on_message): the [last block](Peer::is_last_block) of a piece came, and the
    /// piece is not what the torrent says. All of it counts as wasted and is requested again, from any peer.
    pub fn on_bad_piece(&mut self, now: Time, conn: ConnId, piece: u32, begin: u32, length: u32) {
        if !self.is_last_block(conn, piece, begin, length) {
            return self.on_message(now, conn, Message::Piece { piece, begin, length });
        }
        self.now = now;
        if let Some(c) = self.conns.get_mut(conn) {
            c.last_heard = now;
        }
        let Some(block) = self.take_in(now, conn, piece, begin, length) else { return };
        self.bytes_wasted += u64::from(self.block_map.torrent().piece_bytes(piece) - length);
        let mut lost = self.block_map.discard(piece);
        lost.push(block);
        if let Some(blocks) = &mut self.endgame {
            lost.retain(|block| !blocks.contains(block));
            blocks.append(&mut lost);
            for number in 0..self.conns.end() {
                self.fix_endgame(now, ConnId(number));
            }
        } else {
            self.release_requests(now, &lost);
            self.request_more(now, conn, None);
        }
    }
    /// How many messages wait for room in this connection's socket buffer. One whose other end does not read, and goes
    /// on asking, has ever more.
    pub fn backlog(&self, conn: ConnId) -> usize {
        self.conns.get(conn).map_or(0, |c| c.backlog())
    }
    /// In how many neighbours it is interested, and how many of these do not choke it.
    pub fn interests(&self) -> (u32, u32) {
        self.wants.interests()
    }
    /// The message that goes on behind a write that [completes](Action::Write) none, when that has been polled.
    pub fn begun(&self, conn: ConnId) -> Option<Message> {
        let queued = self.actions.iter().find_map(|action| match action {
            Action::Write { conn: of, completes, .. } if *of == conn => completes.clone(),
            _ => None,
        });
        queued.or_else(|| self.conns.get(conn)?.begun())
    }
}
