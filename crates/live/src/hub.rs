use crate::end::End;
use crate::train::Outbox;
use flashcrowd_base::{Span, Time};
use flashcrowd_transport::utp::{Config, Connection, Packet, PacketKind, State, wire};
use slab::Slab;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::task::Waker;

/// Packets that one connection may send before it is another's turn.
const TURN: usize = 128;
/// Connections that wait for their second packet, or to be accepted, at most.
const BACKLOG: usize = 128;
/// How long the other end has to close after this one did and nobody listens any more.
const PARTING: Span = Span::from_secs(10);
/// RESETs for unknown connections in a second at most.
const RESETS: u32 = 100;

/// Everything that goes through one UDP socket: the ends of its connections, by key.
#[derive(Debug)]
pub(crate) struct Hub {
    config: Arc<Config>,
    ends: Slab<End>,
    /// By the other end's address and the identifier in its packets.
    table: BTreeMap<(SocketAddr, u16), usize>,
    /// Who was found last.
    latest: Option<((SocketAddr, u16), usize)>,
    /// Ends that may have something to send, or whose timer may have changed.
    marked: VecDeque<usize>,
    alarms: BinaryHeap<Reverse<(Time, usize)>>,
    /// Connections that others have opened and nobody has accepted yet.
    accepted: VecDeque<usize>,
    half_open: usize,
    resets: VecDeque<(SocketAddr, Packet)>,
    resets_left: u32,
    resets_until: Time,
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

impl Hub {
    pub(crate) fn new(config: Arc<Config>) -> Hub {
        Hub {
            config,
            ends: Slab::new(),
            table: BTreeMap::new(),
            latest: None,
            marked: VecDeque::new(),
            alarms: BinaryHeap::new(),
            accepted: VecDeque::new(),
            half_open: 0,
            resets: VecDeque::new(),
            resets_left: 0,
            resets_until: Time::START,
            driver: None,
            acceptors: Vec::new(),
            woken: Vec::new(),
            closing: false,
            fault: None,
        }
    }

    pub(crate) fn end(&mut self, key: usize) -> &mut End {
        &mut self.ends[key]
    }

    /// Opens a connection.
    pub(crate) fn connect(
        &mut self,
        now: Time,
        remote: SocketAddr,
        config: &Arc<Config>,
    ) -> io::Result<usize> {
        loop {
            let random = getrandom::u32().map_err(io::Error::other)?;
            let (id, seq) = (random as u16, (random >> 16) as u16);
            // The answers come to the next id, and libutp does not wrap.
            if id == u16::MAX || self.table.contains_key(&(remote, id)) {
                continue;
            }
            let connection = Connection::connect(config, now, id, seq);
            return Ok(self.insert(End::new(connection, remote, false)));
        }
    }

    fn insert(&mut self, end: End) -> usize {
        let name = (end.remote, end.connection.receive_id());
        let key = self.ends.insert(end);
        self.table.insert(name, key);
        self.mark(key);
        key
    }

    /// Someone else's connection, if one is ready.
    pub(crate) fn accept(&mut self) -> Option<usize> {
        let key = self.accepted.pop_front()?;
        self.ends[key].owned = true;
        Some(key)
    }

    /// A datagram arrived. Whether it was a packet.
    pub(crate) fn receive(&mut self, now: Time, from: SocketAddr, datagram: &[u8]) -> bool {
        let Ok((packet, payload)) = wire::decode(datagram) else { return false };
        match self.find(from, &packet) {
            Some(key) => {
                self.ends[key].receive(now, &packet, payload);
                self.mark(key);
            }
            None if packet.kind == PacketKind::Syn => self.answer(now, from, &packet),
            None if matches!(packet.kind, PacketKind::Data | PacketKind::Fin) => {
                self.reject(now, from, &packet);
            }
            // A RESET is never answered. Nor is a STATE: it may be the second acknowledgement of an
            // end that went well (libutp sends two), and a RESET would make that a failure.
            None => {}
        }
        true
    }

    /// Whose packet this is.
    fn find(&mut self, from: SocketAddr, packet: &Packet) -> Option<usize> {
        let id = packet.connection_id;
        let name = match packet.kind {
            // An acceptor's packets carry the identifier after that of the SYN.
            PacketKind::Syn => (from, id.wrapping_add(1)),
            _ => (from, id),
        };
        if let Some((known, key)) = self.latest
            && known == name
        {
            return Some(key);
        }
        let mut found = self.table.get(&name).copied();
        if found.is_none() && packet.kind == PacketKind::Reset {
            // Some answer with the identifier that they were sent.
            let others = [id.wrapping_add(1), id.wrapping_sub(1)];
            found = others
                .into_iter()
                .filter_map(|other| self.table.get(&(from, other)).copied())
                .find(|&key| self.ends[key].connection.send_id() == id);
            return found;
        }
        self.latest = found.map(|key| (name, key));
        found
    }

    /// Someone opens a connection.
    fn answer(&mut self, now: Time, from: SocketAddr, syn: &Packet) {
        if self.closing {
            return self.reject(now, from, syn);
        }
        if self.half_open >= BACKLOG || self.accepted.len() >= BACKLOG {
            return; // It will be repeated.
        }
        let Ok(random) = getrandom::u32() else { return };
        let connection = Connection::accept(&self.config, now, syn, random as u16);
        self.half_open += 1;
        self.insert(End::new(connection, from, true));
    }

    /// A packet of no connection: say so, unless that was said often lately.
    fn reject(&mut self, now: Time, to: SocketAddr, packet: &Packet) {
        if now >= self.resets_until {
            self.resets_until = now + Span::from_secs(1);
            self.resets_left = RESETS;
        }
        if self.resets_left > 0 {
            self.resets_left -= 1;
            self.resets.push_back((
                to,
                Packet {
                    kind: PacketKind::Reset,
                    connection_id: packet.connection_id,
                    ack_nr: packet.seq_nr,
                    ..Packet::default()
                },
            ));
        }
    }

    /// Have the driver look at this end.
    pub(crate) fn mark(&mut self, key: usize) {
        let end = &mut self.ends[key];
        if !end.marked {
            end.marked = true;
            self.marked.push_back(key);
        }
    }

    /// [`mark`](Hub::mark), and wake the driver.
    pub(crate) fn nudge(&mut self, key: usize) {
        self.mark(key);
        self.woken.extend(self.driver.take());
    }

    /// Calls the timers that are due.
    pub(crate) fn ring(&mut self, now: Time) {
        while let Some(&Reverse((time, key))) = self.alarms.peek()
            && time <= now
        {
            self.alarms.pop();
            let Some(end) = self.ends.get_mut(key) else { continue };
            if end.alarm != time {
                continue; // Was set anew, or belonged to an end that is gone.
            }
            end.alarm = Time::NEVER;
            if end.connection.next_timer().is_some_and(|due| due <= now) {
                end.connection.on_timer(now);
            }
            if now >= end.leave_at {
                end.leave_at = Time::NEVER;
                end.connection.release(now);
            }
            self.mark(key);
        }
    }

    /// When to call [`ring`](Hub::ring) next.
    pub(crate) fn next_alarm(&self) -> Option<Time> {
        self.alarms.peek().map(|&Reverse((time, _))| time)
    }

    /// Gathers what is to be sent, until nothing is left or the outbox is full. Whether all was.
    pub(crate) fn transmit(&mut self, now: Time, outbox: &mut Outbox) -> bool {
        while !outbox.is_full()
            && let Some((to, reset)) = self.resets.pop_front()
        {
            wire::encode(&reset, outbox.push(to, reset.datagram_bytes() as usize, false));
        }
        while let Some(&key) = self.marked.front() {
            let end = &mut self.ends[key];
            let mut finished = false;
            for _ in 0..TURN {
                if outbox.is_full() {
                    return false;
                }
                let Some(packet) = end.connection.poll_transmit(now) else {
                    finished = true;
                    break;
                };
                let len = packet.datagram_bytes() as usize;
                let datagram = outbox.push(end.remote, len, packet.dont_fragment);
                wire::encode(&packet, datagram);
                if packet.len > 0 {
                    end.outgoing.copy(packet.offset, usize::from(packet.len), datagram);
                }
            }
            self.marked.pop_front();
            if finished {
                self.ends[key].marked = false;
                self.settle(key);
            } else {
                self.marked.push_back(key);
            }
        }
        true
    }

    /// After anything has happened to an end and it has sent what it has: its timer, who waits for
    /// it, and whether it is done with.
    fn settle(&mut self, key: usize) {
        let end = &mut self.ends[key];
        end.outgoing.release(end.connection.stats().bytes_acked);
        // A timer that was put off keeps its entry, which is looked at when it is due.
        let due = end.connection.next_timer().unwrap_or(Time::NEVER).min(end.leave_at);
        if due < end.alarm {
            end.alarm = due;
            self.alarms.push(Reverse((due, key)));
        }
        end.wake(&mut self.woken);
        let closed = end.connection.is_closed();
        if !end.offered && (closed || end.connection.is_established()) {
            end.offered = true;
            self.half_open -= 1;
            if !closed {
                self.accepted.push_back(key);
                self.woken.append(&mut self.acceptors);
            }
        }
        let end = &mut self.ends[key];
        if closed && !end.owned && !self.accepted.contains(&key) {
            self.remove(key);
        }
    }

    fn remove(&mut self, key: usize) {
        let end = self.ends.remove(key);
        self.table.remove(&(end.remote, end.connection.receive_id()));
        self.latest = None;
    }

    /// Nobody reads from this end or writes to it any more: it closes in its own time.
    pub(crate) fn disown(&mut self, now: Time, key: usize) {
        let end = &mut self.ends[key];
        end.owned = false;
        end.abandoned = true;
        end.reader = None;
        end.writer = None;
        if end.incoming.len() > 0 || !end.connection.is_established() {
            // Bytes that nobody reads: the other end must not believe that they were. And an
            // opening that nobody waits for.
            end.connection.abort(now);
        } else {
            end.connection.close(now);
            end.leave_at = now + PARTING;
        }
        end.incoming.clear();
        self.nudge(key);
    }

    /// Whether no connection has anything to send or to wait for.
    pub(crate) fn is_idle(&self) -> bool {
        self.accepted.is_empty()
            && self.marked.is_empty()
            && self
                .ends
                .iter()
                .all(|(_, end)| !end.owned && end.connection.state() == State::Lingering)
    }

    /// Ends that nobody will accept, because nobody can.
    pub(crate) fn refuse_accepted(&mut self, now: Time) {
        while let Some(key) = self.accepted.pop_front() {
            self.ends[key].abandoned = true;
            self.ends[key].connection.abort(now);
            self.mark(key);
        }
    }

    /// A router, or the other host, says that `address` cannot be reached: connections that are
    /// being opened to it fail, and those that have nothing to lose any more are over. Others are
    /// not: such messages are easily forged.
    pub(crate) fn unreachable(&mut self, now: Time, address: IpAddr, why: io::ErrorKind) {
        let keys: Vec<usize> = self
            .ends
            .iter()
            .filter(|(_, end)| {
                let opens = end.owned && !end.connection.is_established();
                let parts = end.abandoned && end.outgoing.len() == 0;
                (opens || parts)
                    && !end.connection.is_closed()
                    && end.remote.ip().to_canonical() == address.to_canonical()
            })
            .map(|(key, _)| key)
            .collect();
        for key in keys {
            let end = &mut self.ends[key];
            end.failure = Some(why);
            end.connection.abort(now);
            self.nudge(key);
        }
    }

    /// The system would not send a datagram of so many bytes to `address`: too large for the way.
    pub(crate) fn too_large(&mut self, now: Time, address: SocketAddr) {
        let keys: Vec<usize> =
            self.ends.iter().filter(|(_, end)| end.remote == address).map(|(key, _)| key).collect();
        for key in keys {
            self.ends[key].connection.on_path_limit(now, 0);
            self.mark(key);
        }
    }

    /// The socket has failed: nothing moves any more.
    pub(crate) fn fail(&mut self, now: Time, why: io::ErrorKind) {
        self.fault = Some(why);
        for (_, end) in &mut self.ends {
            end.failure = Some(why);
            end.connection.abort(now);
            end.wake(&mut self.woken);
        }
        self.woken.append(&mut self.acceptors);
    }
}
