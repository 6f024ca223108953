use crate::stream_buffers::{ReceiveBuffer, SendBuffer};
use flashcrowd_base::Time;
use flashcrowd_transport::utp::{CloseReason, Connection, Packet, Payload, State};
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::task::Waker;

/// A writer is woken when it can write this much at once, or a quarter of the buffer.
const WRITE_AT_ONCE: u64 = 64 * 1024;

/// One end of a connection: the state machine, and the bytes that it counts.
#[derive(Debug)]
pub(crate) struct ConnectionState {
    pub(crate) machine: Connection,
    /// The other end.
    pub(crate) remote: SocketAddr,
    pub(crate) send_buffer: SendBuffer,
    pub(crate) receive_buffer: ReceiveBuffer,
    /// Who waits for the connection to open, for bytes, for room.
    pub(crate) opener: Option<Waker>,
    pub(crate) reader: Option<Waker>,
    pub(crate) writer: Option<Waker>,
    /// Who waits for everything to be acknowledged.
    pub(crate) drain: Option<Waker>,
    /// The application has ended its direction.
    pub(crate) shut: bool,
    /// Why the system or the network said that the other end cannot be reached.
    pub(crate) failure: Option<io::ErrorKind>,
    /// When it no longer waits for the other end to close.
    pub(crate) linger_until: Time,
    /// When the driver looks at it next.
    pub(crate) timer: Time,
    /// Whether it waits for the driver.
    pub(crate) dirty: bool,
    /// Whether somebody may still read from it and write to it.
    pub(crate) owned: bool,
    /// Whether nobody ever will.
    pub(crate) orphaned: bool,
    /// Whether it has been offered to who accepts connections, or is no such connection.
    pub(crate) offered: bool,
}

impl ConnectionState {
    pub(crate) fn new(
        connection: Connection,
        remote: SocketAddr,
        accepted: bool,
    ) -> ConnectionState {
        ConnectionState {
            machine: connection,
            remote,
            send_buffer: SendBuffer::default(),
            receive_buffer: ReceiveBuffer::default(),
            opener: None,
            reader: None,
            writer: None,
            drain: None,
            shut: false,
            failure: None,
            linger_until: Time::NEVER,
            timer: Time::NEVER,
            dirty: false,
            owned: !accepted,
            orphaned: false,
            offered: !accepted,
        }
    }

    /// Puts this end, whose key is `key`, in the line for the driver, unless it stands there.
    pub(crate) fn mark_dirty(&mut self, key: usize, dirty: &mut VecDeque<usize>) {
        if !self.dirty {
            self.dirty = true;
            dirty.push_back(key);
        }
    }

    /// A packet arrived.
    pub(crate) fn receive(&mut self, now: Time, packet: &Packet, payload: &[u8]) {
        match self.machine.receive(now, packet) {
            Payload::Drop => {}
            Payload::Append => self.receive_buffer.append(packet.seq_nr, payload),
            Payload::Hold => self.receive_buffer.hold(packet.seq_nr, payload),
        }
        if self.orphaned && self.receive_buffer.len() > 0 {
            // Nobody will read it.
            self.machine.read(now, self.receive_buffer.len() as u64);
            self.receive_buffer.consume(self.receive_buffer.len());
        }
    }

    /// What the next write or read fails with.
    pub(crate) fn error(&self) -> Option<io::Error> {
        let State::Closed { reason } = self.machine.state() else { return None };
        let (kind, text) = match reason {
            CloseReason::Finished => return None,
            CloseReason::Aborted => {
                (io::ErrorKind::ConnectionAborted, "this end gave the connection up")
            }
            CloseReason::Reset => {
                (io::ErrorKind::ConnectionReset, "the other end has reset the connection")
            }
            CloseReason::TimedOut => (io::ErrorKind::TimedOut, "the other end does not answer"),
        };
        Some(match self.failure {
            Some(kind) => kind.into(),
            None => io::Error::new(kind, text),
        })
    }

    /// Whether who waits for room should try again.
    fn is_worth_writing(&self) -> bool {
        let space = self.machine.write_space();
        let room = space + self.send_buffer.len();
        space >= WRITE_AT_ONCE.min(room / 4).max(1)
    }

    /// Whom to wake, after anything has happened.
    pub(crate) fn wake(&mut self, woken: &mut Vec<Waker>) {
        let closed = self.machine.is_closed();
        if self.opener.is_some() && (closed || self.machine.is_established()) {
            woken.extend(self.opener.take());
        }
        if self.reader.is_some()
            && (closed || self.receive_buffer.len() > 0 || self.machine.peer_closed())
        {
            woken.extend(self.reader.take());
        }
        if self.writer.is_some() && (closed || self.is_worth_writing()) {
            woken.extend(self.writer.take());
        }
        if self.drain.is_some() && (closed || self.send_buffer.len() == 0) {
            woken.extend(self.drain.take());
        }
    }
}
