use crate::stream_buffers::{ReceiveBuffer, SendBuffer};
use flashcrowd_base::Time;
use flashcrowd_transport::utp::{CloseReason, Connection, Packet, Payload, State};
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::task::Waker;

/// Low watermark of the send buffer (as `SO_SNDLOWAT`): writers are woken at this much room, or at a
/// quarter of the buffer if that is less.
const WRITE_AT_ONCE: u64 = 64 * 1024;

/// A connection as the driver has it: the state machine, the bytes that the state machine only counts,
/// and the tasks that wait.
#[derive(Debug)]
pub(crate) struct ConnectionState {
    pub(crate) machine: Connection,
    /// Address of the other end.
    pub(crate) remote: SocketAddr,
    pub(crate) send_buffer: SendBuffer,
    pub(crate) receive_buffer: ReceiveBuffer,
    /// Task that waits for the handshake.
    pub(crate) opener: Option<Waker>,
    /// Task that waits for readable bytes.
    pub(crate) reader: Option<Waker>,
    /// Task that waits for room in the send buffer.
    pub(crate) writer: Option<Waker>,
    /// Task that waits until every written byte is acknowledged.
    pub(crate) drain: Option<Waker>,
    /// The application has shut its direction down.
    pub(crate) shut: bool,
    /// The reason that the other end cannot be reached, from the system or an ICMP message.
    pub(crate) failure: Option<io::ErrorKind>,
    /// When an orphan stops waiting for the other end's FIN.
    pub(crate) linger_until: Time,
    /// Time of the connection's entry in the driver's timers; `NEVER` if it has none.
    pub(crate) timer: Time,
    /// Whether the connection is in the driver's queue.
    pub(crate) dirty: bool,
    /// Whether an application holds a stream of this connection.
    pub(crate) owned: bool,
    /// Whether the application has dropped its stream, or none will ever get one.
    pub(crate) orphaned: bool,
    /// Whether the connection has been put into the accept queue, or was opened from here.
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

    /// Appends the connection, under its `key`, to the driver's queue `dirty`, unless it is there.
    pub(crate) fn mark_dirty(&mut self, key: usize, dirty: &mut VecDeque<usize>) {
        if !self.dirty {
            self.dirty = true;
            dirty.push_back(key);
        }
    }

    /// Handles a packet that arrived, and keeps its payload.
    pub(crate) fn receive(&mut self, now: Time, packet: &Packet, payload: &[u8]) {
        match self.machine.receive(now, packet) {
            Payload::Drop => {}
            Payload::Append => self.receive_buffer.append(packet.seq_nr, payload),
            Payload::Hold => self.receive_buffer.hold(packet.seq_nr, payload),
        }
        if self.orphaned && self.receive_buffer.len() > 0 {
            // An orphan has no reader.
            self.machine.read(now, self.receive_buffer.len() as u64);
            self.receive_buffer.consume(self.receive_buffer.len());
        }
    }

    /// The error of the next write or read, if the connection has failed.
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

    /// Whether the room in the send buffer has reached its low watermark, at which writers are woken.
    fn is_worth_writing(&self) -> bool {
        let space = self.machine.write_space();
        let room = space + self.send_buffer.len();
        space >= WRITE_AT_ONCE.min(room / 4).max(1)
    }

    /// Moves the wakers of tasks that can go on into `woken`.
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
