use crate::connection_state::ConnectionState;
use crate::gso_batch::{Sizing, TransmitQueue};
use crate::udp::{IPV6_MIN_MTU, is_ipv4};
use flashcrowd_base::{RandomStream, Span, Time};
use flashcrowd_transport::utp::{Config, Connection, Endpoint, Limits, Packet, Route, State, wire};
use slab::Slab;
use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV6};
use std::sync::Arc;
use std::task::Waker;

/// Quantum of the round robin over connections: packets that one may send before the next one's turn.
const BURST_PACKETS: usize = 128;
/// Connection ids that are drawn before they count as used up.
const ATTEMPTS: usize = 1000;
/// Packets of no connection that wait to be sent, at most.
const MAX_REPLIES: usize = 1024;
/// Linger time: how long a connection that no application owns waits for the other end's FIN before
/// it is released.
const LINGER: Span = Span::from_secs(10);

/// Multiplexer of one UDP socket: its connections by key, their timers, and the queues of the driver.
#[derive(Debug)]
pub(crate) struct Mux {
    config: Arc<Config>,
    connections: Slab<ConnectionState>,
    /// Demultiplexer: the connection of each packet, and the limits on strangers.
    endpoint: Endpoint<SocketAddr, usize>,
    /// Connections that may have packets to send, or whose timer may have changed, in the order in which
    /// the driver serves them.
    dirty: VecDeque<usize>,
    /// The next wake-up of each connection that has a timer; one entry a connection.
    timers: BTreeSet<(Time, usize)>,
    /// Accept queue: connections that peers have opened and the application has not accepted.
    accepted: VecDeque<usize>,
    /// Packets of no connection that is remembered: RESETs, and answers to SYNs.
    replies: VecDeque<(SocketAddr, Packet)>,
    /// Waker of the driver, which waits for work.
    pub(crate) driver: Option<Waker>,
    /// Wakers of tasks that wait for a connection to accept.
    pub(crate) acceptors: Vec<Waker>,
    /// Wakers that are called when the lock is released.
    pub(crate) woken: Vec<Waker>,
    /// The socket is being closed: no connection is accepted or opened any more.
    pub(crate) closing: bool,
    /// Why the UDP socket has failed, if it has.
    pub(crate) fault: Option<io::ErrorKind>,
}

impl Mux {
    /// `key` is a secret.
    pub(crate) fn new(config: Arc<Config>, limits: Limits, key: [u64; 2]) -> Mux {
        Mux {
            config,
            connections: Slab::new(),
            endpoint: Endpoint::new(limits, key),
            dirty: VecDeque::new(),
            timers: BTreeSet::new(),
            accepted: VecDeque::new(),
            replies: VecDeque::new(),
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
            return Ok(self.insert(now, ConnectionState::new(connection, remote, false)));
        }
        let text = "no free connection id: there are too many connections to this address";
        Err(io::Error::new(io::ErrorKind::AddrNotAvailable, text))
    }

    fn insert(&mut self, now: Time, mut conn: ConnectionState) -> usize {
        conn.machine.pad_probes(now, certain_bytes(conn.remote, conn.machine.config()));
        if let Some(stream) = conn.machine.random_stream() {
            *stream = RandomStream::new(random().into(), "congestion", 0);
        }
        let (remote, half_open) = (conn.remote, !conn.offered);
        let (receive_id, send_id) = (conn.machine.receive_id(), conn.machine.send_id());
        let key = self.connections.insert(conn);
        self.endpoint.insert(remote, receive_id, send_id, key, half_open);
        self.mark_dirty(key);
        key
    }

    /// The first connection of the accept queue; the caller owns it.
    pub(crate) fn accept(&mut self) -> Option<usize> {
        let key = self.accepted.pop_front()?;
        self.connections[key].owned = true;
        Some(key)
    }

    /// Handles a datagram that arrived. Returns whether it was a uTP packet.
    pub(crate) fn receive(&mut self, now: Time, from: SocketAddr, datagram: &[u8]) -> bool {
        let Ok((packet, payload)) = wire::decode(datagram) else { return false };
        match self.endpoint.route(now, &from, &packet, random) {
            Route::To(key) => self.deliver(now, key, &packet, payload),
            Route::Accept { seq_nr } => {
                let connection = Connection::accept(&self.config, now, &packet, seq_nr);
                self.insert(now, ConnectionState::new(connection, from, true));
            }
            Route::Answer { seq_nr } => {
                let mut connection = Connection::accept(&self.config, now, &packet, seq_nr);
                if let Some(answer) = connection.poll_transmit(now) {
                    self.reply(from, answer);
                }
            }
            Route::Readmit { syn, seq_nr, evicted } => {
                if let Some(key) = evicted {
                    self.forget(key);
                }
                let connection = Connection::accept(&self.config, now, &syn, seq_nr);
                let key = self.insert(now, ConnectionState::new(connection, from, true));
                self.deliver(now, key, &packet, payload);
            }
            Route::Refuse(reset) => self.reply(from, reset),
            Route::Ignore => {}
        }
        true
    }

    /// A packet of a connection.
    fn deliver(&mut self, now: Time, key: usize, packet: &Packet, payload: &[u8]) {
        let conn = &mut self.connections[key];
        conn.receive(now, packet, payload);
        if !conn.offered && conn.machine.is_established() {
            self.endpoint.confirm(&conn.remote, conn.machine.receive_id());
        }
        self.mark_dirty(key);
    }

    /// Queues a packet of no connection. While the socket takes nothing, at most `MAX_REPLIES` wait.
    fn reply(&mut self, to: SocketAddr, packet: Packet) {
        if self.replies.len() < MAX_REPLIES {
            self.replies.push_back((to, packet));
        }
    }

    /// Queues a connection for the driver.
    pub(crate) fn mark_dirty(&mut self, key: usize) {
        self.connections[key].mark_dirty(key, &mut self.dirty);
    }

    /// Queues a connection for the driver, and wakes the driver.
    pub(crate) fn wake_driver(&mut self, key: usize) {
        self.mark_dirty(key);
        self.woken.extend(self.driver.take());
    }

    /// Calls the timers that are due at `now`.
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

    /// Gathers packets until no connection has any or the transmit queue is full. Returns whether all
    /// were gathered.
    pub(crate) fn transmit(&mut self, now: Time, transmit_queue: &mut TransmitQueue) -> bool {
        while !transmit_queue.is_full()
            && let Some((to, reply)) = self.replies.pop_front()
        {
            let len = reply.datagram_bytes() as usize;
            wire::encode(&reply, transmit_queue.push(to, len, Sizing::Ordinary));
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
                let sizing = if packet.dont_fragment {
                    Sizing::Probe
                } else if packet.datagram_bytes() > conn.machine.path_bytes() {
                    Sizing::Oversize
                } else {
                    Sizing::Ordinary
                };
                let datagram = transmit_queue.push(conn.remote, len, sizing);
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

    /// Brings the driver's view of a connection up to date after the connection has sent its packets: frees
    /// acknowledged bytes, schedules the timer, wakes waiting tasks, queues the connection for accept, and
    /// drops it once it is closed and owned by no one.
    fn update(&mut self, key: usize) {
        let conn = &mut self.connections[key];
        conn.send_buffer.release(conn.machine.stats().bytes_acked);
        // Lazy timers: one that moved into the future keeps its entry, and is rescheduled when that
        // entry is due. Acknowledgements move the retransmission timer with every packet.
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

    /// Drops a connection that the endpoint has removed already.
    fn forget(&mut self, key: usize) {
        let conn = self.connections.remove(key);
        self.timers.remove(&(conn.timer, key));
        if conn.dirty {
            self.dirty.retain(|other| *other != key);
        }
    }

    /// The application has dropped its stream: the connection becomes an orphan. It delivers what was
    /// written and closes, or is reset if bytes that arrived were never read (RFC 1122, 4.2.2.13).
    pub(crate) fn orphan(&mut self, now: Time, key: usize) {
        let conn = &mut self.connections[key];
        conn.owned = false;
        conn.orphaned = true;
        conn.reader = None;
        conn.writer = None;
        if conn.receive_buffer.len() > 0 || !conn.machine.is_established() {
            // The other end must not believe that the application has read those bytes; and a
            // connection that is still being opened has no purpose any more.
            conn.machine.abort(now);
        } else {
            conn.machine.close(now);
            conn.linger_until = now + LINGER;
        }
        conn.receive_buffer.clear();
        self.wake_driver(key);
    }

    /// Whether no connection has packets to send or to wait for: the driver of a closed socket may end.
    pub(crate) fn is_idle(&self) -> bool {
        self.accepted.is_empty()
            && self.dirty.is_empty()
            && self
                .connections
                .iter()
                .all(|(_, conn)| !conn.owned && conn.machine.state() == State::Lingering)
    }

    /// Accepts and opens no connections any more; resets those in the accept queue and the half-open
    /// ones.
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

    /// Handles ICMP "destination unreachable" for `address`: connections that are being opened to it
    /// fail, and orphans with no bytes to deliver end. Open connections go on, because such messages
    /// are easily forged (RFC 5927).
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

    /// Handles `EMSGSIZE`: the system refused a datagram of `bytes` bytes to `address` as larger than the path MTU.
    pub(crate) fn too_large(&mut self, now: Time, address: SocketAddr, bytes: usize) {
        for key in self.endpoint.between(address, address) {
            let conn = &mut self.connections[key];
            if conn.machine.probe_bytes().is_some_and(|probe| probe as usize >= bytes) {
                // The size that it would take is not in the message.
                conn.machine.on_path_limit(now, 0);
                conn.mark_dirty(key, &mut self.dirty);
            }
        }
    }

    /// Handles ICMP "packet too big" of a router that takes IP packets of `mtu` bytes. It is of one destination,
    /// which the system does not name here: where connections probe the paths to several hosts, none of them
    /// gets it, and the probe is missed like any other.
    pub(crate) fn path_is_smaller(&mut self, now: Time, mtu: u32) {
        let limit = |conn: &ConnectionState| mtu.saturating_sub(headers_bytes(conn.remote));
        let probes =
            |conn: &ConnectionState| conn.machine.probe_bytes().is_some_and(|it| it > limit(conn));
        let mut hosts = self.connections.iter().filter(|(_, conn)| probes(conn));
        let Some(host) = hosts.next().map(|(_, conn)| conn.remote.ip()) else { return };
        if hosts.any(|(_, conn)| conn.remote.ip() != host) {
            return;
        }
        for (key, conn) in self.connections.iter_mut().filter(|(_, conn)| probes(conn)) {
            let limit = limit(conn);
            conn.machine.on_path_limit(now, limit);
            conn.mark_dirty(key, &mut self.dirty);
        }
        self.woken.extend(self.driver.take());
    }

    /// The UDP socket has failed: aborts every connection and wakes every waiting task.
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

/// Randomness that need not be secret: the sequence number of a RESET, the choice of an eviction, the seed
/// of a controller that draws (BBR: when to probe, which connections should not do together).
fn random() -> u32 {
    getrandom::u32().unwrap_or_default()
}

/// Bytes of the IP and UDP headers of packets to an address.
fn headers_bytes(address: SocketAddr) -> u32 {
    if is_ipv4(address) { 20 + 8 } else { 40 + 8 }
}

/// The UDP payload that every path to an address takes: what the configuration says, and over IPv6 what the protocol
/// grants.
fn certain_bytes(address: SocketAddr, config: &Config) -> u32 {
    let granted = if is_ipv4(address) { 0 } else { IPV6_MIN_MTU.unsigned_abs() };
    config.path_mtu.floor_bytes.max(granted.saturating_sub(headers_bytes(address)))
}

/// The ranges of socket addresses that belong to one host, as packets from it may carry them: a socket
/// for both families sees IPv4 addresses as mapped into IPv6.
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
    use flashcrowd_transport::congestion::Kind;
    use flashcrowd_transport::utp::profiles;

    #[test]
    fn connections_draw_from_streams_of_their_own() {
        let config = Config { controller: Kind::Bbr, ledbat: None, ..profiles::libutp() };
        let config = Arc::new(config);
        let mut mux = Mux::new(Arc::clone(&config), Limits::LIBUTP, [1, 2]);
        for port in 1..=8 {
            let remote = SocketAddr::from(([192, 0, 2, 1], port));
            mux.connect(Time::START, remote, &config).expect("entropy");
            let mut caller = Connection::connect(&config, Time::START, 100, 1);
            let syn = caller.poll_transmit(Time::START).expect("a SYN");
            let mut datagram = Vec::new();
            wire::encode(&syn, &mut datagram);
            let caller = SocketAddr::from(([192, 0, 2, 2], port));
            assert!(mux.receive(Time::START, caller, &datagram));
        }
        let streams = mux.connections.iter_mut().filter_map(|(_, it)| it.machine.random_stream());
        let drawn: BTreeSet<u64> = streams.map(RandomStream::bits).collect();
        assert_eq!(drawn.len(), 16);
    }

    #[test]
    fn an_icmp_message_ends_openings_to_its_address_and_no_other() {
        let config = Arc::new(profiles::libutp());
        let mut mux = Mux::new(Arc::clone(&config), Limits::LIBUTP, [1, 2]);
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
