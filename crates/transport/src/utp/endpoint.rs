use super::packet::{Packet, PacketKind};
use flashcrowd_base::{Span, Time};
use std::collections::{BTreeMap, VecDeque};

/// What an [`Endpoint`] puts up with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections at once; more are not accepted.
    pub connections: usize,
    /// Connections that were accepted and whose other end has not shown itself since: a flood of
    /// SYNs from forged addresses ends here.
    pub half_open: usize,
    /// Answers to packets for unknown connections that are remembered, so that the same packet is
    /// answered once. While so many are, no others are answered.
    pub resets: usize,
    /// How long.
    pub reset_memory: Span,
}

impl Limits {
    /// Those of libutp (3000 connections, 1000 answers for 10 s), of which it lets all be half
    /// open; a tenth here.
    pub const LIBUTP: Limits = Limits {
        connections: 3000,
        half_open: 300,
        resets: 1000,
        reset_memory: Span::from_secs(10),
    };
}

/// What is to be done with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route<K> {
    /// It is for this connection.
    To(K),
    /// It opens a connection: [`Connection::accept`](super::Connection::accept) it, and
    /// [`insert`](Endpoint::insert) it as half open; or ignore it.
    Accept,
    /// It is for a connection that does not exist: send this to where it came from.
    Answer(Packet),
    /// Ignore it.
    Ignore,
}

#[derive(Clone, Copy, Debug)]
struct Entry<K> {
    key: K,
    send_id: u16,
    half_open: bool,
}

/// Finds the connection of each packet that one UDP port receives, by address and connection id,
/// and bounds what strangers can make it do. Pure: an address is whatever the driver calls one,
/// and connections are the driver's, by keys of its choice.
#[derive(Clone, Debug)]
pub struct Endpoint<A, K> {
    limits: Limits,
    table: BTreeMap<(A, u16), Entry<K>>,
    half_open: usize,
    /// Whom a RESET was sent to: address, id and number of the packet; and when, the oldest first.
    answered: BTreeMap<(A, u16, u16), Time>,
    answers: VecDeque<(Time, (A, u16, u16))>,
}

impl<A: Ord + Clone, K: Copy> Endpoint<A, K> {
    /// An endpoint without connections.
    pub fn new(limits: Limits) -> Endpoint<A, K> {
        Endpoint {
            limits,
            table: BTreeMap::new(),
            half_open: 0,
            answered: BTreeMap::new(),
            answers: VecDeque::new(),
        }
    }

    /// Whether no connection with `address` receives on `id`. A driver draws ids until it has a
    /// free one.
    pub fn is_free(&self, address: &A, id: u16) -> bool {
        !self.table.contains_key(&(address.clone(), id))
    }

    /// There is a connection with `address` by these ids. Whether it was `half_open` is said of those
    /// that were accepted.
    pub fn insert(&mut self, address: A, receive_id: u16, send_id: u16, key: K, half_open: bool) {
        self.half_open += usize::from(half_open);
        let entry = Entry { key, send_id, half_open };
        if let Some(old) = self.table.insert((address, receive_id), entry) {
            self.half_open -= usize::from(old.half_open);
        }
    }

    /// The other end of a connection has shown itself.
    pub fn confirm(&mut self, address: &A, receive_id: u16) {
        if let Some(entry) = self.table.get_mut(&(address.clone(), receive_id)) {
            self.half_open -= usize::from(std::mem::take(&mut entry.half_open));
        }
    }

    /// A connection is gone.
    pub fn remove(&mut self, address: &A, receive_id: u16) {
        if let Some(entry) = self.table.remove(&(address.clone(), receive_id)) {
            self.half_open -= usize::from(entry.half_open);
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
        self.half_open
    }

    /// What is to be done with a packet from `address`. `seq_nr` is a random number for an answer.
    pub fn route(&mut self, now: Time, address: &A, packet: &Packet, seq_nr: u16) -> Route<K> {
        let id = packet.connection_id;
        match packet.kind {
            PacketKind::Syn => match self.find(address, id.wrapping_add(1)) {
                Some(entry) if entry.send_id == id => Route::To(entry.key),
                Some(_) => Route::Ignore,
                None if self.table.len() >= self.limits.connections => Route::Ignore,
                None if self.half_open >= self.limits.half_open => Route::Ignore,
                None => Route::Accept,
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
                match self.find(address, id) {
                    Some(entry) => Route::To(entry.key),
                    None => self.answer(now, address, packet, seq_nr),
                }
            }
        }
    }

    #[inline]
    fn find(&self, address: &A, id: u16) -> Option<&Entry<K>> {
        self.table.get(&(address.clone(), id))
    }

    /// A RESET, once.
    fn answer(&mut self, now: Time, address: &A, packet: &Packet, seq_nr: u16) -> Route<K> {
        while self.answers.front().is_some_and(|(at, _)| now.since(*at) >= self.limits.reset_memory)
        {
            let Some((at, whom)) = self.answers.pop_front() else { break };
            // Who went on asking is remembered from the last time.
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
        let whom = (address.clone(), packet.connection_id, packet.seq_nr);
        if let Some(last) = self.answered.get_mut(&whom) {
            *last = now;
            return Route::Ignore;
        }
        if self.answers.len() >= self.limits.resets {
            return Route::Ignore;
        }
        self.answered.insert(whom.clone(), now);
        self.answers.push_back((now, whom));
        Route::Answer(Packet {
            kind: PacketKind::Reset,
            connection_id: packet.connection_id,
            seq_nr,
            ack_nr: packet.seq_nr,
            ..Packet::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(kind: PacketKind, connection_id: u16, seq_nr: u16) -> Packet {
        Packet { kind, connection_id, seq_nr, ..Packet::default() }
    }

    fn endpoint() -> Endpoint<&'static str, u32> {
        Endpoint::new(Limits { connections: 3, half_open: 2, resets: 2, ..Limits::LIBUTP })
    }

    #[test]
    fn packets_find_their_connection() {
        let mut ends = endpoint();
        let now = Time::START;
        let route =
            |ends: &mut Endpoint<_, _>, kind, id| ends.route(now, &"peer", &packet(kind, id, 5), 9);
        assert_eq!(route(&mut ends, PacketKind::Syn, 10), Route::Accept);
        ends.insert("peer", 11, 10, 1, true);
        ends.insert("peer", 20, 21, 2, false);
        assert_eq!(route(&mut ends, PacketKind::Syn, 10), Route::To(1), "again");
        assert_eq!(route(&mut ends, PacketKind::Syn, 19), Route::Ignore, "the id is ours");
        assert_eq!(route(&mut ends, PacketKind::Data, 11), Route::To(1));
        assert_eq!(route(&mut ends, PacketKind::State, 20), Route::To(2));
        for (id, key) in [(10, 1), (11, 1), (20, 2), (21, 2)] {
            assert_eq!(route(&mut ends, PacketKind::Reset, id), Route::To(key));
        }
        assert_eq!(route(&mut ends, PacketKind::Reset, 12), Route::Ignore);
        assert_eq!(ends.route(now, &"other", &packet(PacketKind::Reset, 11, 0), 9), Route::Ignore);
        assert!(!ends.is_free(&"peer", 20) && ends.is_free(&"peer", 21));
    }

    #[test]
    fn strangers_cannot_open_without_end() {
        let mut ends = endpoint();
        let now = Time::START;
        for (key, address) in ["a", "b"].into_iter().enumerate() {
            assert_eq!(ends.route(now, &address, &packet(PacketKind::Syn, 1, 1), 0), Route::Accept);
            ends.insert(address, 2, 1, key as u32, true);
        }
        let syn = packet(PacketKind::Syn, 1, 1);
        assert_eq!((ends.half_open(), ends.route(now, &"c", &syn, 0)), (2, Route::Ignore));
        ends.confirm(&"a", 2);
        ends.confirm(&"a", 2);
        assert_eq!((ends.half_open(), ends.route(now, &"c", &syn, 0)), (1, Route::Accept));
        ends.insert("c", 2, 1, 7, false);
        assert_eq!(ends.route(now, &"d", &syn, 0), Route::Ignore, "three is enough");
        ends.remove(&"b", 2);
        assert_eq!((ends.len(), ends.half_open()), (2, 0));
    }

    #[test]
    fn a_reset_is_sent_once() {
        let mut ends = endpoint();
        let at = |secs| Time::START + Span::from_secs(secs);
        let Route::Answer(reset) = ends.route(at(0), &"a", &packet(PacketKind::Fin, 7, 70), 9)
        else {
            panic!("no answer")
        };
        assert_eq!((reset.kind, reset.connection_id, reset.ack_nr), (PacketKind::Reset, 7, 70));
        let again = packet(PacketKind::Fin, 7, 70);
        assert_eq!(ends.route(at(1), &"a", &again, 9), Route::Ignore);
        let mut answers = |secs, seq| {
            ends.route(at(secs), &"b", &packet(PacketKind::Data, 8, seq), 9) != Route::Ignore
        };
        assert!(answers(2, 1));
        assert!(!answers(3, 2), "no more are remembered");
        assert!(answers(12, 3), "forgotten after ten seconds");
        assert_eq!(ends.answers.len(), ends.answered.len());
    }
}
