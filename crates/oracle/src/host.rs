use crate::state::{Datagram, Inner, SocketId, Status};
use crate::sys;
use flashcrowd_base::{RandomStream, Time};
use libutp_rs2_sys as utp;
use std::collections::VecDeque;
use std::ptr::{self, NonNull};

/// How a host is set up.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Seeds what libutp draws: connection ids and first sequence numbers.
    pub seed: u64,
    /// The first draws of libutp, before it goes on with the seed.
    pub draws: Vec<u16>,
    /// The largest datagram that it tries.
    pub mtu: u16,
    /// Receive buffer of each socket, in bytes.
    pub receive_buffer: u32,
    /// Send buffer of each socket, in bytes, which is also the greatest window.
    pub send_buffer: u32,
    /// Target delay in microseconds.
    pub target_micros: u32,
    /// Keep the log: a line for each update of the window, among others.
    pub log: bool,
}

impl Default for Settings {
    /// As libutp ships.
    fn default() -> Settings {
        Settings {
            seed: 0,
            draws: Vec::new(),
            mtu: 1402,
            receive_buffer: 1 << 20,
            send_buffer: 1 << 20,
            target_micros: 100_000,
            log: false,
        }
    }
}

/// libutp on a host of its own.
#[derive(Debug)]
pub struct Libutp {
    context: NonNull<utp::utp_context>,
    /// Shared with the callbacks. References to it live only while libutp does not run.
    inner: NonNull<Inner>,
}

// SAFETY: neither the context nor what callbacks see is bound to a thread; `sys::enter` keeps
// libutp's static memory to one thread at a time.
unsafe impl Send for Libutp {}

impl Libutp {
    /// A host that accepts every connection. Its clock is at the start.
    ///
    /// # Panics
    ///
    /// If libutp does not know its own version.
    pub fn new(settings: &Settings) -> Libutp {
        let inner = Box::new(Inner {
            micros: 0,
            stream: RandomStream::new(settings.seed, "libutp", 0),
            draws: settings.draws.iter().copied().collect(),
            mtu: settings.mtu,
            outgoing: VecDeque::new(),
            slots: Vec::new(),
            accepted: VecDeque::new(),
            log: Vec::new(),
        });
        let inner = NonNull::from(Box::leak(inner));
        let _inside = sys::enter();
        // SAFETY: a new context, to which user data and callbacks are given before anything else.
        let context = unsafe {
            let context = NonNull::new(utp::utp_init(2)).expect("libutp 2");
            utp::utp_context_set_userdata(context.as_ptr(), inner.as_ptr().cast());
            for (name, callback) in sys::CALLBACKS {
                utp::utp_set_callback(context.as_ptr(), name as i32, Some(callback));
            }
            let options = [
                (utp::UTP_RCVBUF, settings.receive_buffer),
                (utp::UTP_SNDBUF, settings.send_buffer),
                (utp::UTP_TARGET_DELAY, settings.target_micros),
                (utp::UTP_LOG_NORMAL, u32::from(settings.log)),
            ];
            for (option, value) in options {
                utp::utp_context_set_option(context.as_ptr(), option as i32, value as i32);
            }
            context
        };
        Libutp { context, inner }
    }

    fn inner(&self) -> &Inner {
        // SAFETY: it lives as long as `self`, and libutp does not run while `self` is borrowed here.
        unsafe { self.inner.as_ref() }
    }
    fn inner_mut(&mut self) -> &mut Inner {
        // SAFETY: as above.
        unsafe { self.inner.as_mut() }
    }

    /// The host's clock.
    pub fn set_now(&mut self, now: Time) {
        self.inner_mut().micros = now.nanos() / 1000;
    }

    /// Opens a connection to this port.
    pub fn connect(&mut self, to: u16) -> SocketId {
        let (address, len) = sys::address(to);
        let _inside = sys::enter();
        // SAFETY: the context lives. The slot exists before the SYN is sent, so that callbacks find it.
        let socket = unsafe { utp::utp_create_socket(self.context.as_ptr()) };
        let id = self.inner_mut().add(socket);
        // SAFETY: a socket that was not used yet, and an address that lives until the call returns.
        unsafe { utp::utp_connect(socket, (&raw const address).cast(), len) };
        id
    }

    /// A connection that was accepted since the last call.
    pub fn accepted(&mut self) -> Option<SocketId> {
        self.inner_mut().accepted.pop_front()
    }

    /// A datagram arrived from this port. Whether it was uTP.
    pub fn receive(&mut self, from: u16, datagram: &[u8]) -> bool {
        let (address, len) = sys::address(from);
        let _inside = sys::enter();
        // SAFETY: the context lives; bytes and address live until the call returns.
        let taken = unsafe {
            utp::utp_process_udp(
                self.context.as_ptr(),
                datagram.as_ptr(),
                datagram.len(),
                (&raw const address).cast(),
                len,
            )
        };
        taken == 1
    }

    /// Everything that had arrived was delivered: acknowledge it.
    pub fn drained(&mut self) {
        let _inside = sys::enter();
        // SAFETY: the context lives.
        unsafe { utp::utp_issue_deferred_acks(self.context.as_ptr()) };
    }

    /// Time has passed. libutp looks at its timers at most every 500 ms, however often this is
    /// called.
    pub fn check_timeouts(&mut self) {
        let _inside = sys::enter();
        // SAFETY: the context lives.
        unsafe { utp::utp_check_timeouts(self.context.as_ptr()) };
    }

    /// The next datagram to be sent.
    pub fn poll(&mut self) -> Option<Datagram> {
        self.inner_mut().outgoing.pop_front()
    }

    /// Where a socket stands.
    pub fn status(&self, id: SocketId) -> Status {
        self.inner().slots[id.0].status
    }

    /// Writes as many bytes as the window has room for; returns how many.
    pub fn write(&mut self, id: SocketId, bytes: &[u8]) -> usize {
        let socket = self.inner().slots[id.0].socket;
        if socket.is_null() || bytes.is_empty() {
            return 0;
        }
        let _inside = sys::enter();
        // SAFETY: a socket that was neither closed nor forgotten; libutp only reads the bytes.
        let taken =
            unsafe { utp::utp_write(socket, bytes.as_ptr().cast_mut().cast(), bytes.len()) };
        let taken = usize::try_from(taken).unwrap_or(0);
        if taken < bytes.len() {
            self.inner_mut().slots[id.0].status.writable = false;
        }
        taken
    }

    /// Takes up to `max` bytes that were received.
    pub fn read(&mut self, id: SocketId, max: usize) -> Vec<u8> {
        let slot = &mut self.inner_mut().slots[id.0];
        let max = max.min(slot.received.len());
        let bytes = slot.received.drain(..max).collect();
        let socket = slot.socket;
        if !socket.is_null() && max > 0 {
            let _inside = sys::enter();
            // SAFETY: a socket that was neither closed nor forgotten.
            unsafe { utp::utp_read_drained(socket) };
        }
        bytes
    }

    /// Sends FIN; reading goes on.
    pub fn shutdown(&mut self, id: SocketId) {
        let socket = self.inner().slots[id.0].socket;
        if !socket.is_null() {
            let _inside = sys::enter();
            // SAFETY: a socket that was neither closed nor forgotten.
            unsafe { utp::utp_shutdown(socket, libc::SHUT_WR) };
        }
    }

    /// Closes: what was written is still delivered, and nothing is read any more.
    pub fn close(&mut self, id: SocketId) {
        let slot = &mut self.inner_mut().slots[id.0];
        let socket = std::mem::replace(&mut slot.socket, ptr::null_mut());
        if !socket.is_null() {
            let _inside = sys::enter();
            // SAFETY: a socket that was not closed before, and is not spoken of afterwards.
            unsafe { utp::utp_close(socket) };
        }
    }

    /// The log since the last call.
    pub fn take_log(&mut self) -> Vec<String> {
        std::mem::take(&mut self.inner_mut().log)
    }
}

impl Drop for Libutp {
    fn drop(&mut self) {
        let _inside = sys::enter();
        // SAFETY: both were made in `new` and end here, the context first, since it calls back.
        unsafe {
            utp::utp_destroy(self.context.as_ptr());
            drop(Box::from_raw(self.inner.as_ptr()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashcrowd_base::Span;

    /// Two hosts, 10 ms apart.
    #[test]
    fn libutp_speaks_with_itself() {
        let mut hosts = [1, 2].map(|seed| Libutp::new(&Settings { seed, ..Settings::default() }));
        let caller = hosts[0].connect(1);
        let mut answerer = None;
        let mut wire: VecDeque<(Time, usize, Vec<u8>)> = VecDeque::new();
        let mut sent = 0;
        let mut received = Vec::new();
        let message: Vec<u8> = (0..100_000u32).map(|i| (i % 251) as u8).collect();
        for millis in 1..20_000 {
            let now = Time::START + Span::from_millis(millis);
            for host in &mut hosts {
                host.set_now(now);
                host.check_timeouts();
            }
            while wire.front().is_some_and(|entry| entry.0 <= now) {
                let Some((_, to, bytes)) = wire.pop_front() else { break };
                assert!(hosts[to].receive(1 - to as u16, &bytes));
            }
            if hosts[0].status(caller).writable && sent < message.len() {
                sent += hosts[0].write(caller, &message[sent..]);
                if sent == message.len() {
                    hosts[0].close(caller);
                }
            }
            answerer = answerer.or_else(|| hosts[1].accepted());
            if let Some(id) = answerer {
                received.extend(hosts[1].read(id, usize::MAX));
                if hosts[1].status(id).eof {
                    hosts[1].close(id);
                }
            }
            for (who, host) in hosts.iter_mut().enumerate() {
                host.drained();
                while let Some(datagram) = host.poll() {
                    wire.push_back((now + Span::from_millis(10), 1 - who, datagram.bytes));
                }
            }
        }
        assert_eq!(received, message);
        assert!(hosts[0].status(caller).gone);
    }
}
