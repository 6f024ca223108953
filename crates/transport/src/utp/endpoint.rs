use super::limits::{Address, Limits};
use super::packet::{Packet, PacketKind};
use super::syn_cookies::{self, SynCookies};
use flashcrowd_base::Time;
use std::collections::{BTreeMap, VecDeque};

/// The treatment of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route<K> {
    /// It is for this connection.
    To(K),
    /// It opens a connection: [`Connection::accept`](super::Connection::accept) it with this number, and
    /// [`insert`](Endpoint::insert) it as half open; or ignore it.
    Accept {
        /// The number of the answer.
        seq_nr: u16,
    },
    /// It asks for a connection, and there is no place to remember that:
    /// [`accept`](super::Connection::accept) it with this number, send what the connection says, and
    /// forget it.
    Answer {
        /// The number of the answer.
        seq_nr: u16,
    },
    /// It is the first packet after a SYN that was answered and forgotten: accept that SYN with this
    /// number, insert the connection, and let it receive the packet.
    Readmit {
        /// The SYN, as far as it matters.
        syn: Packet,
        /// The number of the answer that it got.
        seq_nr: u16,
        /// The half-open connection that has lost its place to this one. The endpoint has forgotten
        /// it; the driver does the same, without reporting it: its address may be forged. It comes
        /// in by the number of its answer as well.
        evicted: Option<K>,
    },
    /// It is for a connection that does not exist, or that may not: send this to where it came from.
    Refuse(Packet),
    /// Ignore it.
    Ignore,
}

/// The name of the other end of a connection: its address, and the id in packets from there.
type Name<A> = (A, u16);

#[derive(Clone, Copy, Debug)]
struct Entry<K> {
    key: K,
    send_id: u16,
    /// Index into the list of half-open connections.
    half_open: Option<usize>,
}

/// The use of one network.
#[derive(Clone, Debug)]
struct NetworkUse<A> {
    connections: usize,
    half_open: Vec<Name<A>>,
}

/// The room of an address.
#[derive(Clone, Copy, Debug)]
struct Room {
    /// An open connection, if half-open ones make place.
    open: bool,
    /// A half-open one.
    half_open: bool,
}

/// Demultiplexer of one UDP port: finds the connection of each packet by address and connection id,
/// and bounds what strangers can make the port do. Pure: an address is whatever the driver calls
/// one, and connections are the driver's, by keys of its choice.
#[derive(Clone, Debug)]
pub struct Endpoint<A: Address, K> {
    limits: Limits,
    /// Whether newcomers are accepted.
    listening: bool,
    table: BTreeMap<Name<A>, Entry<K>>,
    /// The connection that was found last: packets come in bursts.
    last: Option<(Name<A>, K)>,
    networks: BTreeMap<A::Network, NetworkUse<A>>,
    half_open: Vec<Name<A>>,
    cookies: SynCookies,
    /// Until when connections may be opened that were forgotten after the answer to their SYN. At other
    /// times a number proves nothing: an old packet may come twice.
    readmits_until: Time,
    /// RESETs that were sent: address, id and number of the packet; and when, the oldest first.
    answered: BTreeMap<(A, u16, u16), Time>,
    answers: VecDeque<(Time, (A, u16, u16))>,
}

impl<A: Address, K: Copy> Endpoint<A, K> {
    /// An endpoint without connections, which accepts newcomers. `key` is a secret: the numbers by which callers
    /// prove their addresses are made with it.
    pub fn new(limits: Limits, key: [u64; 2]) -> Endpoint<A, K> {
        Endpoint {
            limits,
            listening: true,
            table: BTreeMap::new(),
            last: None,
            networks: BTreeMap::new(),
            half_open: Vec::new(),
            cookies: SynCookies::new(key),
            readmits_until: Time::START,
            answered: BTreeMap::new(),
            answers: VecDeque::new(),
        }
    }

    /// Refuses newcomers from now on.
    pub fn stop_listening(&mut self) {
        self.listening = false;
    }

    /// Whether no connection with `address` receives on `id`. A driver draws ids until it has a
    /// free one.
    pub fn is_free(&self, address: &A, id: u16) -> bool {
        !self.table.contains_key(&(*address, id))
    }

    /// There is a connection with `address` by these ids. `half_open` says that it was accepted, and
    /// that the other end has not shown itself since its SYN.
    pub fn insert(&mut self, address: A, receive_id: u16, send_id: u16, key: K, half_open: bool) {
        self.remove(&address, receive_id);
        let name = (address, receive_id);
        let none = || NetworkUse { connections: 0, half_open: Vec::new() };
        let share = self.networks.entry(address.network()).or_insert_with(none);
        share.connections += 1;
        let index = half_open.then_some(self.half_open.len());
        if half_open {
            share.half_open.push(name);
            self.half_open.push(name);
        }
        self.table.insert(name, Entry { key, send_id, half_open: index });
    }

    /// The other end of a connection has shown itself.
    pub fn confirm(&mut self, address: &A, receive_id: u16) {
        let name = (*address, receive_id);
        let index = self.table.get_mut(&name).and_then(|entry| entry.half_open.take());
        if let Some(index) = index {
            self.is_no_longer_half_open(name, index);
        }
    }

    /// A connection is gone.
    pub fn remove(&mut self, address: &A, receive_id: u16) {
        self.take((*address, receive_id));
    }

    fn take(&mut self, name: Name<A>) -> Option<K> {
        let entry = self.table.remove(&name)?;
        self.last = None;
        if let Some(index) = entry.half_open {
            self.is_no_longer_half_open(name, index);
        }
        let network = name.0.network();
        if let Some(share) = self.networks.get_mut(&network) {
            share.connections -= 1;
            if share.connections == 0 {
                self.networks.remove(&network);
            }
        }
        Some(entry.key)
    }

    fn is_no_longer_half_open(&mut self, name: Name<A>, index: usize) {
        self.half_open.swap_remove(index);
        if let Some(moved) = self.half_open.get(index)
            && let Some(entry) = self.table.get_mut(moved)
        {
            entry.half_open = Some(index);
        }
        if let Some(share) = self.networks.get_mut(&name.0.network()) {
            share.half_open.retain(|other| *other != name);
        }
    }

    /// How many connections there are.
    pub fn len(&self) -> usize {
        self.table.len()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }
    /// How many of them are half open.
    pub fn half_open(&self) -> usize {
        self.half_open.len()
    }

    /// The connections with addresses from `first` to `last`, which must not be before `first`: for
    /// ICMP messages, which name an address and no connection.
    pub fn between(&self, first: A, last: A) -> impl Iterator<Item = K> + '_ {
        self.table.range((first, 0)..=(last, u16::MAX)).map(|(_, entry)| entry.key)
    }

    /// The treatment of a packet from `address`. `random` is called at most once: for the number of
    /// a RESET, or to draw a connection that loses its place.
    #[inline]
    pub fn route(
        &mut self,
        now: Time,
        address: &A,
        packet: &Packet,
        random: impl FnOnce() -> u32,
    ) -> Route<K> {
        let id = packet.connection_id;
        match packet.kind {
            PacketKind::Syn => match self.find(address, id.wrapping_add(1)) {
                Some(entry) if entry.send_id == id => Route::To(entry.key),
                Some(_) => Route::Ignore,
                None => self.newcomer(now, address, packet, random),
            },
            PacketKind::Reset => {
                // It carries the id on which either end receives.
                let sent = |entry: &&Entry<K>| entry.send_id == id;
                let entry = self
                    .find(address, id)
                    .or_else(|| self.find(address, id.wrapping_add(1)).filter(sent))
                    .or_else(|| self.find(address, id.wrapping_sub(1)).filter(sent));
                entry.map_or(Route::Ignore, |entry| Route::To(entry.key))
            }
            PacketKind::Data | PacketKind::Fin | PacketKind::State => {
                let name = (*address, id);
                if let Some((_, key)) = self.last.filter(|last| last.0 == name) {
                    return Route::To(key);
                }
                if let Some(entry) = self.table.get(&name) {
                    self.last = Some((name, entry.key));
                    return Route::To(entry.key);
                }
                if self.listening && now < self.readmits_until {
                    if let Some((syn, seq_nr)) = self.cookies.proven(now, address, packet) {
                        return self.readmit(now, address, syn, seq_nr, random);
                    }
                    if self.cookies.may_be_early(now, address, packet) {
                        return Route::Ignore;
                    }
                }
                // A STATE may be the second acknowledgement of an end that went well (libutp sends
                // two), and a RESET would make that a failure.
                if packet.kind == PacketKind::State {
                    return Route::Ignore;
                }
                self.refuse(now, address, packet, random)
            }
        }
    }

    fn find(&self, address: &A, id: u16) -> Option<&Entry<K>> {
        self.table.get(&(*address, id))
    }

    /// A SYN for which there is no connection.
    fn newcomer(
        &mut self,
        now: Time,
        address: &A,
        syn: &Packet,
        random: impl FnOnce() -> u32,
    ) -> Route<K> {
        let room = self.room(address);
        if !self.listening || !room.open {
            return self.refuse(now, address, syn, random);
        }
        let seq_nr = self.cookies.number(now, address, syn);
        if room.half_open {
            return Route::Accept { seq_nr };
        }
        self.forgets(now);
        Route::Answer { seq_nr }
    }

    /// The first packet after a SYN that was answered and forgotten.
    fn readmit(
        &mut self,
        now: Time,
        address: &A,
        syn: Packet,
        seq_nr: u16,
        random: impl FnOnce() -> u32,
    ) -> Route<K> {
        if !self.room(address).open {
            return self.refuse(now, address, &syn, random);
        }
        let share = self.networks.get(&address.network());
        let share = share.filter(|share| share.connections >= self.limits.network_connections);
        let candidates = if let Some(share) = share {
            &share.half_open[..]
        } else if self.table.len() >= self.limits.connections {
            &self.half_open[..]
        } else {
            &[]
        };
        // There is one that is half open where there is no room but for open ones.
        let drawn = candidates.get(random() as usize % candidates.len().max(1)).copied();
        let evicted = drawn.and_then(|name| self.take(name));
        if evicted.is_some() {
            self.forgets(now);
        }
        Route::Readmit { syn, seq_nr, evicted }
    }

    /// A caller was answered and is not remembered.
    fn forgets(&mut self, now: Time) {
        self.readmits_until = now + syn_cookies::LIFE * 2;
    }

    /// The room for an address.
    fn room(&self, address: &A) -> Room {
        let limits = &self.limits;
        let share = self.networks.get(&address.network());
        let (connections, half_open) =
            share.map_or((0, 0), |share| (share.connections, share.half_open.len()));
        let all = self.table.len();
        Room {
            open: connections - half_open < limits.network_connections
                && all - self.half_open.len() < limits.connections,
            half_open: connections < limits.network_connections
                && half_open < limits.network_half_open
                && all < limits.connections
                && self.half_open.len() < limits.half_open,
        }
    }

    /// A RESET, once.
    fn refuse(
        &mut self,
        now: Time,
        address: &A,
        packet: &Packet,
        random: impl FnOnce() -> u32,
    ) -> Route<K> {
        while self.answers.front().is_some_and(|(at, _)| now.since(*at) >= self.limits.reset_memory)
        {
            let Some((at, whom)) = self.answers.pop_front() else { break };
            // A caller that went on asking is remembered from the last time.
            match self.answered.get(&whom) {
                Some(last) if now.since(*last) < self.limits.reset_memory && *last > at => {
                    let last = *last;
                    self.answers.push_back((last, whom));
                }
                _ => {
                    self.answered.remove(&whom);
                }
            }
        }
        let whom = (*address, packet.connection_id, packet.seq_nr);
        if let Some(last) = self.answered.get_mut(&whom) {
            *last = now;
            return Route::Ignore;
        }
        if self.answers.len() >= self.limits.resets {
            return Route::Ignore;
        }
        self.answered.insert(whom, now);
        self.answers.push_back((now, whom));
        Route::Refuse(Packet {
            kind: PacketKind::Reset,
            connection_id: packet.connection_id,
            seq_nr: random() as u16,
            ack_nr: packet.seq_nr,
            ..Packet::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashcrowd_base::Span;
    use std::net::SocketAddr;

    fn packet(kind: PacketKind, connection_id: u16, seq_nr: u16) -> Packet {
        Packet { kind, connection_id, seq_nr, ..Packet::default() }
    }

    fn peer(host: u8) -> SocketAddr {
        ([192, 0, 2, host], 6881).into()
    }

    fn endpoint() -> Endpoint<SocketAddr, u32> {
        Endpoint::new(Limits { resets: 2, ..Limits::LIBUTP }, [1, 2])
    }

    #[test]
    fn packets_find_their_connection() {
        let mut ends = endpoint();
        let now = Time::START;
        let route = |ends: &mut Endpoint<_, _>, kind, id| {
            ends.route(now, &peer(1), &packet(kind, id, 5), || 9)
        };
        assert!(matches!(route(&mut ends, PacketKind::Syn, 10), Route::Accept { .. }));
        ends.insert(peer(1), 11, 10, 1, true);
        ends.insert(peer(1), 20, 21, 2, false);
        assert_eq!(route(&mut ends, PacketKind::Syn, 10), Route::To(1), "again");
        assert_eq!(route(&mut ends, PacketKind::Syn, 19), Route::Ignore, "the id is ours");
        for _ in 0..2 {
            assert_eq!(route(&mut ends, PacketKind::Data, 11), Route::To(1));
            assert_eq!(route(&mut ends, PacketKind::State, 20), Route::To(2));
        }
        for (id, key) in [(10, 1), (11, 1), (20, 2), (21, 2)] {
            assert_eq!(route(&mut ends, PacketKind::Reset, id), Route::To(key));
        }
        assert_eq!(route(&mut ends, PacketKind::Reset, 12), Route::Ignore);
        let reset = packet(PacketKind::Reset, 11, 0);
        assert_eq!(ends.route(now, &peer(2), &reset, || 9), Route::Ignore);
        assert!(!ends.is_free(&peer(1), 20) && ends.is_free(&peer(1), 21));
        ends.remove(&peer(1), 20);
        assert_eq!(
            route(&mut ends, PacketKind::State, 20),
            Route::Ignore,
            "gone, though found last"
        );
    }

    #[test]
    fn connections_are_found_by_address() {
        let mut ends = endpoint();
        for (key, host) in [(1, 1), (2, 1), (3, 2), (4, 3)] {
            ends.insert(peer(host), key as u16, 0, key, false);
        }
        let keys = |first, last| ends.between(peer(first), peer(last)).collect::<Vec<_>>();
        assert_eq!((keys(1, 1), keys(1, 2), keys(4, 9)), (vec![1, 2], vec![1, 2, 3], vec![]));
    }

    #[test]
    fn counts_follow_whatever_happens() {
        let mut ends = endpoint();
        for (host, id) in [(1, 1), (1, 2), (2, 1), (2, 2), (3, 1)] {
            ends.insert(peer(host), id, id - 1, u32::from(id), true);
        }
        ends.confirm(&peer(1), 1);
        ends.confirm(&peer(1), 1);
        ends.remove(&peer(3), 1);
        ends.remove(&peer(3), 1);
        ends.insert(peer(2), 1, 0, 9, false);
        assert_eq!((ends.len(), ends.half_open()), (4, 2));
        let indices: Vec<_> =
            ends.half_open.iter().map(|name| ends.table[name].half_open).collect();
        assert_eq!(indices, [Some(0), Some(1)]);
        let share = &ends.networks[&peer(1).network()];
        assert_eq!((share.connections, share.half_open.len()), (4, 2));
        for (host, id) in [(1, 1), (1, 2), (2, 1), (2, 2)] {
            ends.remove(&peer(host), id);
        }
        assert!(ends.is_empty() && ends.networks.is_empty() && ends.half_open.is_empty());
    }

    #[test]
    fn a_reset_is_sent_once() {
        let mut ends = endpoint();
        let at = |secs| Time::START + Span::from_secs(secs);
        let fin = packet(PacketKind::Fin, 7, 70);
        let Route::Refuse(reset) = ends.route(at(0), &peer(1), &fin, || 9) else {
            panic!("no answer")
        };
        assert_eq!((reset.kind, reset.connection_id, reset.ack_nr), (PacketKind::Reset, 7, 70));
        assert_eq!(ends.route(at(1), &peer(1), &fin, || 9), Route::Ignore);
        let mut answers = |secs, seq| {
            let data = packet(PacketKind::Data, 8, seq);
            ends.route(at(secs), &peer(2), &data, || 9) != Route::Ignore
        };
        assert!(answers(2, 1));
        assert!(!answers(3, 2), "no more are remembered");
        assert!(answers(12, 3), "forgotten after ten seconds");
        assert_eq!(ends.answers.len(), ends.answered.len());
    }
}
