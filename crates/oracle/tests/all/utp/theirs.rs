//! libutp as an end that carries real bytes.

use super::host::{Application, Close, Datagram, Host};
use flashcrowd_base::{Span, Time};
use flashcrowd_oracle::{Failure, Libutp, Settings, SocketId};

/// libutp.
pub struct Theirs {
    host: Libutp,
    socket: Option<SocketId>,
    application: Application,
    to: u16,
    written: usize,
    received: Vec<u8>,
    shut: bool,
    closed: bool,
    next_read: Time,
    next_check: Time,
    unread: bool,
}

const LIBUTP_CHECKS: Span = Span::from_millis(500);

impl Theirs {
    pub fn caller(settings: &Settings, now: Time, application: Application) -> Theirs {
        let mut theirs = Theirs::answerer(settings, application);
        theirs.host.set_now(now);
        theirs.socket = Some(theirs.host.connect(theirs.to));
        theirs
    }

    pub fn answerer(settings: &Settings, application: Application) -> Theirs {
        Theirs {
            host: Libutp::new(settings),
            socket: None,
            application,
            to: 1,
            written: 0,
            received: Vec::new(),
            shut: false,
            closed: false,
            next_read: Time::START,
            next_check: Time::START + LIBUTP_CHECKS,
            unread: false,
        }
    }
}

impl Host for Theirs {
    fn receive(&mut self, now: Time, datagram: &[u8]) {
        self.host.set_now(now);
        assert!(self.host.receive(self.to, datagram), "libutp takes it for uTP");
        self.socket = self.socket.or_else(|| self.host.accepted());
    }

    fn settle(&mut self, now: Time) {
        self.host.set_now(now);
        let Some(socket) = self.socket else { return };
        let status = self.host.status(socket);
        if status.gone {
            return;
        }
        if status.error.is_some() {
            if !self.closed {
                self.closed = true;
                self.host.close(socket);
            }
            return;
        }
        if !self.closed {
            let mut max = usize::MAX;
            if let Some((bytes, pause)) = self.application.lazy {
                max = if now >= self.next_read { bytes as usize } else { 0 };
                if max > 0 {
                    self.next_read = now + pause;
                }
            }
            if max > 0 {
                let bytes = self.host.read(socket, max);
                self.unread = self.application.lazy.is_some() && !bytes.is_empty();
                self.received.extend(bytes);
            } else {
                self.unread = true;
            }
        }
        let total = self.application.message.len();
        // A socket that was accepted becomes writable without a word.
        if self.written < total && !self.closed {
            self.written += self.host.write(socket, &self.application.message[self.written..]);
        }
        let close = self.written == total
            && match self.application.close {
                Close::Written | Close::Acknowledged => true,
                Close::Eof => status.eof && !self.unread,
            };
        // libutp forgets a socket that is closed before it is connected.
        let connected = status.writable || !self.received.is_empty() || total > 0 || status.eof;
        if close && connected && !self.shut {
            self.shut = true;
            if !self.application.release {
                self.host.shutdown(socket);
            }
        }
        if self.shut && !self.closed && (self.application.release || (status.eof && !self.unread)) {
            self.closed = true;
            self.host.close(socket);
        }
        self.host.drained();
    }

    fn poll(&mut self, now: Time) -> Option<Datagram> {
        self.host.set_now(now);
        let datagram = self.host.poll()?;
        Some((datagram.bytes, datagram.dont_fragment))
    }

    fn next_timer(&self, now: Time) -> Option<Time> {
        let socket = self.socket?;
        if self.host.status(socket).gone {
            return None;
        }
        let mut at = self.next_check;
        if self.application.lazy.is_some() && self.unread && !self.closed {
            at = at.min(self.next_read.max(now));
        }
        Some(at)
    }

    fn on_timer(&mut self, now: Time) {
        self.host.set_now(now);
        if now >= self.next_check {
            self.next_check = now + LIBUTP_CHECKS;
            self.host.check_timeouts();
        }
    }

    fn received(&self) -> &[u8] {
        &self.received
    }

    fn is_over(&self) -> bool {
        self.socket.is_some_and(|socket| self.host.status(socket).gone)
    }

    fn failure(&self) -> Option<String> {
        match self.host.status(self.socket?).error? {
            Failure::Reset => Some("Reset".into()),
            Failure::TimedOut => Some("TimedOut".into()),
        }
    }
}
