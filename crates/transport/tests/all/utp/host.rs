//! An end of a connection that carries real bytes.

use flashcrowd_base::{Span, Time};
use flashcrowd_transport::utp::{
    CloseReason, Config, Connection, Extension, Payload, State, Stats, wire,
};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// A datagram to be sent, and whether it may not be fragmented.
pub type Datagram = (Vec<u8>, bool);

/// When an application closes, once it has written everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Close {
    /// At once.
    Written,
    /// When the other end has closed.
    Eof,
    /// When everything that it wrote is acknowledged (ours), or could be written (libutp).
    Acknowledged,
}

/// What an application does with its end.
#[derive(Clone, Debug)]
pub struct Application {
    pub message: Vec<u8>,
    pub close: Close,
    /// Close for reading too.
    pub release: bool,
    /// Read this many bytes at a time with pauses; otherwise everything at once.
    pub lazy: Option<(u64, Span)>,
    /// Write this many bytes at a time with pauses.
    pub pieces: Option<(u64, Span)>,
}

impl Application {
    pub fn new(message: Vec<u8>, close: Close) -> Application {
        Application { message, close, release: false, lazy: None, pieces: None }
    }
}

/// Bytes that differ where they should.
pub fn message(seed: u64, len: usize) -> Vec<u8> {
    (0..len as u64).map(|i| (i.wrapping_mul(0x9e37_79b9) >> 7 ^ seed ^ (i >> 11)) as u8).collect()
}

pub trait Host {
    /// A datagram arrived.
    fn receive(&mut self, now: Time, datagram: &[u8]);
    /// The application gets its turn, and everything that was delivered is acknowledged.
    fn settle(&mut self, now: Time);
    fn poll(&mut self, now: Time) -> Option<Datagram>;
    fn next_timer(&self, now: Time) -> Option<Time>;
    fn on_timer(&mut self, now: Time);
    fn received(&self) -> &[u8];
    /// Whether it will never say anything of its own accord any more.
    fn is_over(&self) -> bool;
    fn failure(&self) -> Option<String>;
    fn stats(&self) -> Option<Stats> {
        None
    }
}

/// Our stack.
pub struct Ours {
    config: Arc<Config>,
    pub connection: Option<Connection>,
    pub application: Application,
    first_seq: u16,
    /// What every path takes, if probes are padded.
    certain: Option<u32>,
    written: u64,
    next_write: Time,
    next_read: Time,
    /// Payload out of order, by sequence number, and what is readable.
    held: BTreeMap<u16, Vec<u8>>,
    readable: Vec<u8>,
    received: Vec<u8>,
    next_seq: u16,
    /// Datagrams that came before the application was called.
    said: VecDeque<Datagram>,
}

impl Ours {
    /// The end that calls.
    pub fn caller(
        config: &Arc<Config>,
        now: Time,
        application: Application,
        ids: (u16, u16),
    ) -> Ours {
        let mut ours = Ours::answerer(config, application, ids.1);
        ours.connection = Some(Connection::connect(config, now, ids.0, ids.1));
        ours
    }

    /// The end that waits for a SYN.
    pub fn answerer(config: &Arc<Config>, application: Application, first_seq: u16) -> Ours {
        Ours {
            config: Arc::clone(config),
            connection: None,
            application,
            first_seq,
            certain: None,
            written: 0,
            next_write: Time::START,
            next_read: Time::START,
            held: BTreeMap::new(),
            readable: Vec::new(),
            received: Vec::new(),
            next_seq: 0,
            said: VecDeque::new(),
        }
    }

    /// The same with padded probes, over a path that takes `certain` bytes for certain. To be called at
    /// once.
    pub fn padded(mut self, now: Time, certain: Option<u32>) -> Ours {
        self.certain = certain;
        if let (Some(connection), Some(bytes)) = (&mut self.connection, certain) {
            connection.pad_probes(now, bytes);
        }
        self
    }

    fn say(&mut self, now: Time) -> Option<Datagram> {
        let connection = self.connection.as_mut()?;
        let packet = connection.poll_transmit(now)?;
        let mut datagram = Vec::new();
        wire::encode(&packet, &mut datagram);
        let start = packet.offset as usize;
        let end = start + usize::from(packet.len);
        assert!(packet.len == 0 || end as u64 <= self.written, "never written: {packet:?}");
        datagram.extend_from_slice(self.application.message.get(start..end).unwrap_or(&[]));
        let (again, _) = wire::decode(&datagram).expect("what we encode can be decoded");
        assert_eq!(
            flashcrowd_transport::utp::Packet {
                offset: packet.offset,
                dont_fragment: packet.dont_fragment,
                extension: match packet.extension {
                    Extension::Padding(_) => packet.extension,
                    _ => again.extension,
                },
                ..again
            },
            packet
        );
        Some((datagram, packet.dont_fragment))
    }

    fn keep(&mut self, packet: &flashcrowd_transport::utp::Packet, payload: &[u8], what: Payload) {
        match what {
            Payload::Drop => {}
            Payload::Hold => {
                assert!(self.held.insert(packet.seq_nr, payload.to_vec()).is_none(), "held twice");
                assert!(self.held.len() < 1024, "held without end");
            }
            Payload::Append => {
                self.readable.extend_from_slice(payload);
                self.next_seq = packet.seq_nr.wrapping_add(1);
                while let Some(payload) = self.held.remove(&self.next_seq) {
                    self.readable.extend(payload);
                    self.next_seq = self.next_seq.wrapping_add(1);
                }
            }
        }
    }
}

impl Host for Ours {
    fn receive(&mut self, now: Time, datagram: &[u8]) {
        let (packet, payload) = wire::decode(datagram).expect("our own networks carry uTP");
        match &mut self.connection {
            Some(connection) => {
                let what = connection.receive(now, &packet);
                let readable = connection.readable();
                self.keep(&packet, payload, what);
                let over = self.connection.as_ref().is_some_and(Connection::is_closed);
                if !self.application.release && !over {
                    assert_eq!(self.readable.len() as u64, readable, "what may be read");
                }
            }
            None if packet.kind == flashcrowd_transport::utp::PacketKind::Syn => {
                let mut connection = Connection::accept(&self.config, now, &packet, self.first_seq);
                if let Some(bytes) = self.certain {
                    connection.pad_probes(now, bytes);
                }
                self.connection = Some(connection);
            }
            None => {}
        }
    }

    fn settle(&mut self, now: Time) {
        let Some(connection) = &mut self.connection else { return };
        let application = &self.application;
        // Reading.
        let mut max = u64::MAX;
        if let Some((bytes, pause)) = application.lazy {
            max = if now >= self.next_read { bytes } else { 0 };
            if max > 0 && !self.readable.is_empty() {
                self.next_read = now + pause;
            }
        }
        let bytes = max.min(self.readable.len() as u64);
        if bytes > 0 {
            self.received.extend(self.readable.drain(..bytes as usize));
            if connection.readable() >= bytes {
                connection.read(now, bytes);
            }
        }
        // Writing.
        let total = application.message.len() as u64;
        let mut offer = total - self.written;
        if let Some((bytes, pause)) = application.pieces {
            offer = if now >= self.next_write { offer.min(bytes) } else { 0 };
            if offer > 0 {
                self.next_write = now + pause;
            }
        }
        if offer > 0 {
            let space = connection.write_space();
            let taken = connection.write(now, offer);
            assert_eq!(taken, space.min(offer));
            self.written += taken;
        }
        let stats = connection.stats();
        let close = self.written == total
            && match application.close {
                Close::Written => true,
                Close::Eof => connection.peer_closed(),
                Close::Acknowledged => stats.bytes_acked == total && connection.is_established(),
            };
        let open = [State::Connecting, State::Established, State::PeerClosed];
        if close && open.contains(&connection.state()) {
            if application.close == Close::Eof {
                // An end of file is acknowledged before the application hears of it.
                while let Some(datagram) = self.say(now) {
                    self.said.push_back(datagram);
                }
            }
            let (connection, application) =
                (self.connection.as_mut().expect("open"), &self.application);
            if application.release {
                connection.release(now);
            } else {
                connection.close(now);
                assert_eq!(connection.write(now, 1), 0, "closed is closed");
            }
        }
        let application = &self.application;
        let Some(connection) = &self.connection else { return };
        let stats = connection.stats();
        let held: usize = self.held.values().map(Vec::len).sum();
        if !connection.peer_closed() && !connection.is_closed() && !application.release {
            assert_eq!(stats.bytes_held, (held + self.readable.len()) as u64);
        }
        let limit = self.config.receive_buffer_bytes + 65_536 + 65_536;
        assert!(stats.bytes_held <= self.config.receive_buffer_bytes + limit, "{stats:?}");
    }

    fn poll(&mut self, now: Time) -> Option<Datagram> {
        self.said.pop_front().or_else(|| self.say(now))
    }

    fn next_timer(&self, now: Time) -> Option<Time> {
        let connection = self.connection.as_ref()?;
        let mut at = connection.next_timer();
        assert!(!connection.is_closed() || at.is_none(), "it is over");
        let mut wake = |when: Time| at = Some(at.map_or(when, |at| at.min(when)));
        if self.application.lazy.is_some() && !self.readable.is_empty() {
            wake(self.next_read.max(now));
        }
        let total = self.application.message.len() as u64;
        if self.application.pieces.is_some() && self.written < total && connection.write_space() > 0
        {
            wake(self.next_write.max(now));
        }
        at
    }

    fn on_timer(&mut self, now: Time) {
        if let Some(connection) = &mut self.connection {
            connection.on_timer(now);
        }
    }

    fn received(&self) -> &[u8] {
        &self.received
    }

    fn is_over(&self) -> bool {
        self.connection.as_ref().is_some_and(Connection::is_closed) && self.readable.is_empty()
    }

    fn failure(&self) -> Option<String> {
        match self.connection.as_ref()?.state() {
            State::Closed { reason: CloseReason::Finished } => None,
            State::Closed { reason } => Some(format!("{reason:?}")),
            _ => None,
        }
    }

    fn stats(&self) -> Option<Stats> {
        self.connection.as_ref().map(Connection::stats)
    }
}
