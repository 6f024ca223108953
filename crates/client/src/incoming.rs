//! Bytes and messages from neighbours.

use crate::events::Happened;
use crate::link::READ_BYTES;
use crate::session::Session;
use flashcrowd_swarm::codec::{Decoded, Handshake};
use flashcrowd_swarm::{ConnId, Message};
use rustix::event::PollFlags;
use std::io;
use std::net::IpAddr;

/// Messages that may wait for a neighbour that does not read.
const MOST_BACKLOG: usize = 100_000;

/// What came.
enum Came {
    Handshake(Handshake),
    Message(Message),
}

impl Session<'_> {
    /// A socket can do something.
    pub(crate) fn on_ready(
        &mut self,
        conn: ConnId,
        serial: u64,
        flags: PollFlags,
    ) -> io::Result<()> {
        if !self.is(conn, serial) {
            return Ok(());
        }
        let Some(link) = self.links.get_mut(conn.0 as usize).and_then(Option::as_mut) else {
            return Ok(());
        };
        if !link.is_connected() {
            self.connected(conn);
            return self.drain();
        }
        if flags.contains(PollFlags::OUT) {
            if link.flush().is_err() {
                self.lose(conn);
                return self.drain();
            }
            let space = link.space();
            self.peer.on_space(self.now, conn, space);
            self.hand_over(conn);
            self.drain()?;
        }
        if flags.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR) {
            self.read(conn, serial)?;
        }
        Ok(())
    }
    /// Whether a connection is still the one that it was.
    fn is(&self, conn: ConnId, serial: u64) -> bool {
        let link = self.links.get(conn.0 as usize).and_then(Option::as_ref);
        link.is_some_and(|link| link.serial == serial)
    }
    fn read(&mut self, conn: ConnId, serial: u64) -> io::Result<()> {
        if !self.is(conn, serial) {
            return Ok(());
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.resize(READ_BYTES, 0);
        let link = self.links.get_mut(conn.0 as usize).and_then(Option::as_mut);
        let read = link.map_or(Ok(None), |link| link.read(&mut buffer));
        let done = match read {
            Ok(None) => Ok(()),
            Ok(Some(0)) | Err(_) => {
                self.lose(conn);
                self.drain()
            }
            Ok(Some(bytes)) => self.take_in(conn, serial, &buffer[..bytes]),
        };
        self.buffer = buffer;
        done
    }
    fn take_in(&mut self, conn: ConnId, serial: u64, bytes: &[u8]) -> io::Result<()> {
        if self.peer.counts_reads() {
            self.peer.on_received(self.now, conn, bytes.len() as u64);
        }
        if let Some(link) = self.links.get_mut(conn.0 as usize).and_then(Option::as_mut) {
            link.decoder.feed(bytes);
        }
        self.decode(conn, serial)
    }
    /// Takes the messages that are complete.
    pub(crate) fn decode(&mut self, conn: ConnId, serial: u64) -> io::Result<()> {
        self.drain()?;
        while self.is(conn, serial) {
            let Some(link) = self.links.get_mut(conn.0 as usize).and_then(Option::as_mut) else {
                break;
            };
            let came = match link.decoder.next() {
                Ok(None) => break,
                Ok(Some(Decoded::Handshake(handshake))) => Came::Handshake(handshake),
                Ok(Some(Decoded::Message(message, block))) => {
                    self.block.clear();
                    self.block.extend_from_slice(block);
                    Came::Message(message)
                }
                // A sign of life.
                Ok(Some(Decoded::Skipped { .. })) => Came::Message(Message::KeepAlive),
                Err(error) => {
                    self.violation(conn, error.to_string());
                    return self.drain();
                }
            };
            match came {
                Came::Handshake(handshake) => self.on_handshake(conn, &handshake)?,
                Came::Message(message) => self.on_message(conn, message)?,
            }
            self.drain()?;
        }
        Ok(())
    }
    fn on_message(&mut self, conn: ConnId, message: Message) -> io::Result<()> {
        match message {
            Message::Request { piece, begin, length } | Message::Piece { piece, begin, length }
                if !self.exists(piece, begin, length) =>
            {
                let what =
                    if matches!(message, Message::Piece { .. }) { "a block" } else { "a request" };
                let why = format!("{what} of {length} bytes at {begin} of piece {piece}");
                self.violation(conn, why);
            }
            Message::Piece { piece, begin, length } => self.on_block(conn, piece, begin, length)?,
            message => self.peer.on_message(self.now, conn, message),
        }
        if self.peer.backlog(conn) > MOST_BACKLOG {
            self.violation(conn, "it does not read what it asks for".to_owned());
        }
        Ok(())
    }
    /// Whether the torrent has these bytes.
    fn exists(&self, piece: u32, begin: u32, length: u32) -> bool {
        let metainfo = &self.settings.metainfo;
        let start = u64::from(piece) * u64::from(metainfo.piece_bytes) + u64::from(begin);
        let end = u64::from(begin) + u64::from(length);
        let in_piece = length > 0 && end <= u64::from(metainfo.piece_bytes);
        in_piece && start + u64::from(length) <= metainfo.bytes()
    }
    /// A block: what was not asked for reaches no file, and a piece that is not what the torrent says no neighbour.
    fn on_block(&mut self, conn: ConnId, piece: u32, begin: u32, length: u32) -> io::Result<()> {
        let whole = Message::Piece { piece, begin, length };
        let link = self.links.get(conn.0 as usize).and_then(Option::as_ref);
        let from = link.map(|link| link.remote.ip());
        let Some(from) = from.filter(|_| self.peer.awaits(conn, piece, begin, length)) else {
            self.peer.on_message(self.now, conn, whole);
            return Ok(());
        };
        let is_last = self.peer.is_last_block(conn, piece, begin, length);
        self.content.write(piece, begin, &self.block)?;
        let brought = self.brought.entry(piece).or_default();
        if !brought.contains(&from) {
            brought.push(from);
        }
        if !is_last {
            self.peer.on_message(self.now, conn, whole);
            return Ok(());
        }
        let from = self.brought.remove(&piece).unwrap_or_default();
        if self.content.is_right(piece)? {
            self.directory.credit(&from);
            self.peer.on_message(self.now, conn, whole);
            return Ok(());
        }
        self.peer.on_bad_piece(self.now, conn, piece, begin, length);
        self.drain()?;
        self.blame(piece, &from)
    }
    fn blame(&mut self, piece: u32, from: &[IpAddr]) -> io::Result<()> {
        self.bad_pieces += 1;
        let shown = from.iter().map(IpAddr::to_string).collect();
        self.note(Happened::BadPiece { piece, from: shown });
        if !self.directory.blame(from) {
            return Ok(());
        }
        for number in 0..self.links.len() {
            let link = self.links[number].as_ref();
            if link.is_some_and(|link| self.directory.is_banned(link.remote.ip())) {
                self.violation(ConnId(number as u32), "it spoils pieces".to_owned());
            }
        }
        self.drain()
    }
}
