use crate::connection_state::ConnectionState;
use crate::gso_batch::TransmitQueue;
use flashcrowd_base::{Span, Time};
use flashcrowd_transport::utp::{Config, Connection, Endpoint, Limits, Packet, Route, State, wire};
use slab::Slab;
use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV6};
use std::sync::Arc;
use std::task::Waker;

/// Packets that one connection may send before it is another's turn.
const BURST_PACKETS: usize = 128;
/// Connection ids that are drawn before they count as used up.
const ATTEMPTS: usize = 1000;
/// How long the other end has to close after this one did and nobody listens any more.
const LINGER: Span = Span::from_secs(10);

/// Everything that goes through one UDP socket: the ends of its connections, by key.
#[derive(Debug)]
pub(crate) struct Mux {
    config: Arc<Config>,
    connections: Slab<ConnectionState>,
    /// Whose packet it is, and what strangers may have.
    endpoint: Endpoint<SocketAddr, usize>,
    /// Ends that may have something to send, or whose timer may have changed.
    dirty: VecDeque<usize>,
    /// When each end that has a timer is looked at next.
    timers: BTreeSet<(Time, usize)>,
    /// Connections that others have opened and nobody has accepted yet.
    accepted: VecDeque<usize>,
    resets: VecDeque<(SocketAddr, Packet)>,
    /// Who waits: the driver, for work; others, for connections.
    pub(crate) driver: Option<Waker>,
    pub(crate) acceptors: Vec<Waker>,
    /// To be woken when the lock is released.
    pub(crate) woken: Vec<Waker>,
    /// Nobody can accept or open connections any more.
    pub(crate) closing: bool,
    /// The socket has failed.
    pub(crate) fault: Option<io::ErrorKind>,
}

impl Mux {
    pub(crate) fn new(config: Arc<Config>, limits: Limits) -> Mux {
        Mux {
            config,
            connections: Slab::new(),
            endpoint: Endpoint::new(limits),
            dirty: VecDeque::new(),
            timers: BTreeSet::new(),
            accepted: VecDeque::new(),
            resets: VecDeque::new(),
            driver: None,
            acceptors: Vec::new(),
            woken: Vec::new(),
            closing: false,
            fault: None,
        }
    }

    pub(crate) fn connection(&mut self, key: usize) -> &mut ConnectionState {
        &mut self.connections[key]
    }

    /// Opens a connection.
    pub(crate) fn connect(
        &mut self,
        now: Time,
        remote: SocketAddr,
        config: &Arc<Config>,
    ) -> io::Result<usize> {
        for _ in 0..ATTEMPTS {
            let random = getrandom::u32().map_err(io::Error::other)?;
            let (id, seq) = (random as u16, (random >> 16) as u16);
            // The answers come to the next id, and libutp does not wrap.
            if id == u16::MAX || !self.endpoint.is_free(&remote, id) {
                continue;
            }
            let connection = Connection::connect(config, now, id, seq);
            return Ok(self.insert(ConnectionState::new(connection, remote, false)));
        }
        let text = "no free connection id: there are too many connections to this address";
        Err(io::Error::new(io::ErrorKind::AddrNotAvailable, text))
    }

    fn insert(&mut self, conn: ConnectionState) -> usize {
        let (remote, half_open) = (conn.remote, !conn.offered);
        let (receive_id, send_id) = (conn.machine.receive_id(), conn.machine.send_id());
        let key = self.connections.insert(conn);
        self.endpoint.insert(remote, receive_id, send_id, key, half_open);
        self.mark_dirty(key);
        key
    }

    /// Someone else's connection, if one is ready.
    pub(crate) fn accept(&mut self) -> Option<usize> {
        let key = self.accepted.pop_front()?;
        self.connections[key].owned = true;
        Some(key)
    }

    /// A datagram arrived. Whether it was a packet.
    pub(crate) fn receive(&mut self, now: Time, from: SocketAddr, datagram: &[u8]) -> bool {
        let Ok((packet, payload)) = wire::decode(datagram) else { return false };
        match self.endpoint.route(now, &from, &packet, random) {
            Route::To(key) => {
                let conn = &mut self.connections[key];
                conn.receive(now, &packet, payload);
                if !conn.offered && conn.machine.is_established() {
                    self.endpoint.confirm(&from, conn.machine.receive_id());
                }
                self.mark_dirty(key);
            }
            Route::Accept { evicted } => {
                if let Some(key) = evicted {
                    self.forget(key);
                }
                // The first sequence number proves that the other end has its address.
                let Ok(seq_nr) = getrandom::u32() else { return true };
                let connection = Connection::accept(&self.config, now, &packet, seq_nr as u16);
                self.insert(ConnectionState::new(connection, from, true));
            }
            Route::Answer(reset) => self.resets.push_back((from, reset)),
            Route::Ignore => {}
        }
        true
    }

    /// Have the driver look at this end.
    pub(crate) fn mark_dirty(&mut self, key: usize) {
        self.connections[key].mark_dirty(key, &mut self.dirty);
    }

    /// [`mark_dirty`](Mux::mark_dirty), and wake the driver.
    pub(crate) fn wake_driver(&mut self, key: usize) {
        self.mark_dirty(key);
        self.woken.extend(self.driver.take());
    }

    /// Calls the timers that are due.
    pub(crate) fn fire_timers(&mut self, now: Time) {
        while let Some(&(time, key)) = self.timers.first()
            && time <= now
        {
            self.timers.pop_first();
            let conn = &mut self.connections[key];
            conn.timer = Time::NEVER;
            if conn.machine.next_timer().is_some_and(|due| due <= now) {
                conn.machine.on_timer(now);
            }
            if now >= conn.linger_until {
                conn.linger_until = Time::NEVER;
                conn.machine.release(now);
            }
            self.mark_dirty(key);
        }
    }

    /// When to call [`fire_timers`](Mux::fire_timers) next.
    pub(crate) fn next_timer(&self) -> Option<Time> {
        self.timers.first().map(|&(time, _)| time)
    }

    /// Gathers what is to be sent, until nothing is left or the transmit queue is full. Whether all was.
    pub(crate) fn transmit(&mut self, now: Time, transmit_queue: &mut TransmitQueue) -> bool {
        while !transmit_queue.is_full()
            && let Some((to, reset)) = self.resets.pop_front()
        {
            wire::encode(&reset, transmit_queue.push(to, reset.datagram_bytes() as usize, false));
        }
        while let Some(&key) = self.dirty.front() {
            let conn = &mut self.connections[key];
            let mut finished = false;
            for _ in 0..BURST_PACKETS {
                if transmit_queue.is_full() {
                    return false;
                }
                let Some(packet) = conn.machine.poll_transmit(now) else {
                    finished = true;
                    break;
                };
                let len = packet.datagram_bytes() as usize;
                let datagram = transmit_queue.push(conn.remote, len, packet.dont_fragment);
                wire::encode(&packet, datagram);
                if packet.len > 0 {
                    conn.send_buffer.copy(packet.offset, usize::from(packet.len), datagram);
                }
            }
            self.dirty.pop_front();
            if finished {
                self.connections[key].dirty = false;
                self.update(key);
            } else {
                self.dirty.push_back(key);
            }
        }
        true
    }

    /// After anything has happened to an end and it has sent what it has: its timer, who waits for
    /// it, and whether it is done with.
    fn update(&mut self, key: usize) {
        let conn = &mut self.connections[key];
        conn.send_buffer.release(conn.machine.stats().bytes_acked);
        // A timer that was put off keeps its entry, which is looked at when it is due.
        let due = conn.machine.next_timer().unwrap_or(Time::NEVER).min(conn.linger_until);
        if due < conn.timer {
            self.timers.remove(&(conn.timer, key));
            self.timers.insert((due, key));
            conn.timer = due;
        }
        conn.wake(&mut self.woken);
        let closed = conn.machine.is_closed();
        if !conn.offered && (closed || conn.machine.is_established()) {
            conn.offered = true;
            if !closed {
                self.accepted.push_back(key);
                self.woken.append(&mut self.acceptors);
            }
        }
        let conn = &mut self.connections[key];
        if closed && !conn.owned && !self.accepted.contains(&key) {
            self.remove(key);
        }
    }

    fn remove(&mut self, key: usize) {
        let conn = &self.connections[key];
        self.endpoint.remove(&conn.remote, conn.machine.receive_id());
        self.forget(key);
    }

    /// Drops an end that the endpoint knows no more.
    fn forget(&mut self, key: usize) {
        let conn = self.connections.remove(key);
        self.timers.remove(&(conn.timer, key));
        if conn.dirty {
            self.dirty.retain(|other| *other != key);
        }
    }

    /// Nobody reads from this end or writes to it any more: it closes in its own time.
    pub(crate) fn orphan(&mut self, now: Time, key: usize) {
        let conn = &mut self.connections[key];
        conn.owned = false;
        conn.orphaned = true;
        conn.reader = None;
        conn.writer = None;
        if conn.receive_buffer.len() > 0 || !conn.machine.is_established() {
            // Bytes that nobody reads: the other end must not believe that they were. And an
            // opening that nobody waits for.
            conn.machine.abort(now);
        } else {
            conn.machine.close(now);
            conn.linger_until = now + LINGER;
        }
        conn.receive_buffer.clear();
        self.wake_driver(key);
    }

    /// Whether no connection has anything to send or to wait for.
    pub(crate) fn is_idle(&self) -> bool {
        self.accepted.is_empty()
            && self.dirty.is_empty()
            && self
                .connections
                .iter()
                .all(|(_, conn)| !conn.owned && conn.machine.state() == State::Lingering)
    }

    /// Nobody can accept or open connections any more: those that wait to be accepted are reset,
    /// half-open ones too.
    pub(crate) fn stop_listening(&mut self, now: Time) {
        self.closing = true;
        self.endpoint.stop_listening();
        self.accepted.clear();
        for (key, conn) in
            self.connections.iter_mut().filter(|(_, conn)| !conn.owned && !conn.orphaned)
        {
            conn.orphaned = true;
            conn.machine.abort(now);
            conn.mark_dirty(key, &mut self.dirty);
        }
    }

    /// A router, or the other host, says that `address` cannot be reached: connections that are
    /// being opened to it fail, and those that have nothing to lose any more are over. Others are
    /// not: such messages are easily forged.
    pub(crate) fn unreachable(&mut self, now: Time, address: IpAddr, why: io::ErrorKind) {
        for (first, last) in every_port_of(address) {
            for key in self.endpoint.between(first, last) {
                let conn = &mut self.connections[key];
                let opens = conn.owned && !conn.machine.is_established();
                let parts = conn.orphaned && conn.send_buffer.len() == 0;
                if (opens || parts) && !conn.machine.is_closed() {
                    conn.failure = Some(why);
                    conn.machine.abort(now);
                    conn.mark_dirty(key, &mut self.dirty);
                }
            }
        }
        self.woken.extend(self.driver.take());
    }

    /// The system would not send a datagram of so many bytes to `address`: too large for the way.
    pub(crate) fn too_large(&mut self, now: Time, address: SocketAddr) {
        for key in self.endpoint.between(address, address) {
            let conn = &mut self.connections[key];
            conn.machine.on_path_limit(now, 0);
            conn.mark_dirty(key, &mut self.dirty);
        }
    }

    /// The socket has failed: nothing moves any more.
    pub(crate) fn fail(&mut self, now: Time, why: io::ErrorKind) {
        self.fault = Some(why);
        for (_, conn) in &mut self.connections {
            conn.failure = Some(why);
            conn.machine.abort(now);
            conn.wake(&mut self.woken);
        }
        self.woken.append(&mut self.acceptors);
    }
}

/// For what harms nobody if it can be guessed: the number of a RESET, who loses a half-open place.
fn random() -> u32 {
    getrandom::u32().unwrap_or_default()
}

/// The addresses of one host, from its first port to its last, as packets from there may have them:
/// on a socket for both families, IPv4 addresses are mapped into IPv6.
fn every_port_of(address: IpAddr) -> impl Iterator<Item = (SocketAddr, SocketAddr)> {
    let v4 = match address.to_canonical() {
        IpAddr::V4(v4) => Some(v4),
        IpAddr::V6(_) => None,
    };
    let v6 = match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped(),
        IpAddr::V6(v6) => v6,
    };
    let all = |v4: Ipv4Addr| ((v4, 0).into(), (v4, u16::MAX).into());
    let last = SocketAddrV6::new(v6, u16::MAX, u32::MAX, u32::MAX);
    v4.map(all).into_iter().chain([((v6, 0).into(), last.into())])
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashcrowd_transport::utp::profiles;

    #[test]
    fn an_icmp_message_ends_openings_to_its_address_and_no_other() {
        let config = Arc::new(profiles::libutp());
        let mut mux = Mux::new(Arc::clone(&config), Limits::LIBUTP);
        // As a socket for both families names an IPv4 address, and as one for IPv4 does.
        let remotes = [
            "[::ffff:192.0.2.1]:6881",
            "192.0.2.1:6882",
            "[2001:db8::1]:6881",
            "192.0.2.2:6881",
            "[2001:db8::2]:6881",
        ];
        let keys = remotes.map(|remote| {
            let remote = remote.parse().expect("an address");
            mux.connect(Time::START, remote, &config).expect("entropy")
        });
        let closed = |mux: &Mux| keys.map(|key| mux.connections[key].machine.is_closed());
        let why = io::ErrorKind::ConnectionRefused;
        mux.unreachable(Time::START, "192.0.2.1".parse().expect("an address"), why);
        assert_eq!(closed(&mux), [true, true, false, false, false]);
        mux.unreachable(Time::START, "2001:db8::1".parse().expect("an address"), why);
        assert_eq!(closed(&mux), [true, true, true, false, false]);
        mux.unreachable(Time::START, "::ffff:192.0.2.2".parse().expect("an address"), why);
        assert_eq!(closed(&mux), [true, true, true, true, false]);
        assert_eq!(mux.connections[keys[0]].error().map(|error| error.kind()), Some(why));
    }
}
