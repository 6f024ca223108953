use crate::stock::{Incoming, Outgoing};
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
pub(crate) struct End {
    pub(crate) connection: Connection,
    /// The other end.
    pub(crate) remote: SocketAddr,
    pub(crate) outgoing: Outgoing,
    pub(crate) incoming: Incoming,
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
    pub(crate) leave_at: Time,
    /// When the driver looks at it next.
    pub(crate) alarm: Time,
    /// Whether it waits for the driver.
    pub(crate) marked: bool,
    /// Whether somebody may still read from it and write to it.
    pub(crate) owned: bool,
    /// Whether nobody ever will.
    pub(crate) abandoned: bool,
    /// Whether it has been offered to who accepts connections, or is no such connection.
    pub(crate) offered: bool,
}

impl End {
    pub(crate) fn new(connection: Connection, remote: SocketAddr, accepted: bool) -> End {
        End {
            connection,
            remote,
            outgoing: Outgoing::default(),
            incoming: Incoming::default(),
            opener: None,
            reader: None,
            writer: None,
            drain: None,
            shut: false,
            failure: None,
            leave_at: Time::NEVER,
            alarm: Time::NEVER,
            marked: false,
            owned: !accepted,
            abandoned: false,
            offered: !accepted,
        }
    }

    /// Puts this end, whose key is `key`, in the line for the driver, unless it stands there.
    pub(crate) fn mark(&mut self, key: usize, marked: &mut VecDeque<usize>) {
        if !self.marked {
            self.marked = true;
            marked.push_back(key);
        }
    }

    /// A packet arrived.
    pub(crate) fn receive(&mut self, now: Time, packet: &Packet, payload: &[u8]) {
        match self.connection.receive(now, packet) {
            Payload::Drop => {}
            Payload::Append => self.incoming.append(packet.seq_nr, payload),
            Payload::Hold => self.incoming.hold(packet.seq_nr, payload),
        }
        if self.abandoned && self.incoming.len() > 0 {
            // Nobody will read it.
            self.connection.read(now, self.incoming.len() as u64);
            self.incoming.consume(self.incoming.len());
        }
    }

    /// What the next write or read fails with.
    pub(crate) fn error(&self) -> Option<io::Error> {
        let State::Closed { reason } = self.connection.state() else { return None };
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
        let space = self.connection.write_space();
        let room = space + self.outgoing.len();
        space >= WRITE_AT_ONCE.min(room / 4).max(1)
    }

    /// Whom to wake, after anything has happened.
    pub(crate) fn wake(&mut self, woken: &mut Vec<Waker>) {
        let closed = self.connection.is_closed();
        if self.opener.is_some() && (closed || self.connection.is_established()) {
            woken.extend(self.opener.take());
        }
        if self.reader.is_some()
            && (closed || self.incoming.len() > 0 || self.connection.peer_closed())
        {
            woken.extend(self.reader.take());
        }
        if self.writer.is_some() && (closed || self.is_worth_writing()) {
            woken.extend(self.writer.take());
        }
        if self.drain.is_some() && (closed || self.outgoing.len() == 0) {
            woken.extend(self.drain.take());
        }
    }
}
