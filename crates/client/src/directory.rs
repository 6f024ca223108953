//! The directory of peers: the numbers by which the pure peer knows others, by listening address and by identity.

use flashcrowd_swarm::PeerId;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddrV4};

/// The peer id of a handshake.
pub(crate) type Identity = [u8; 20];

/// Others that are remembered at most.
const MOST: usize = 100_000;
/// A peer that had a part in this number of bad pieces, and in no more good ones, is banned.
const MOST_BAD: u32 = 3;

#[derive(Debug, Default)]
struct Known {
    listens: Option<SocketAddrV4>,
    /// Where it was seen.
    ip: Option<IpAddr>,
}

/// Pieces in which an address had a part.
#[derive(Clone, Copy, Debug, Default)]
struct Standing {
    good: u32,
    bad: u32,
}

/// All that are known. Number 0 is the client itself.
#[derive(Debug)]
pub(crate) struct Directory {
    known: Vec<Known>,
    addresses: BTreeMap<SocketAddrV4, PeerId>,
    identities: BTreeMap<Identity, PeerId>,
    /// By address, which a peer cannot choose: any peer can use any name.
    standings: BTreeMap<IpAddr, Standing>,
    banned: BTreeSet<IpAddr>,
}

impl Directory {
    /// The client itself.
    pub(crate) const ITSELF: PeerId = PeerId(0);

    pub(crate) fn new(identity: Identity) -> Directory {
        Directory {
            known: vec![Known::default()],
            addresses: BTreeMap::new(),
            identities: BTreeMap::from([(identity, Directory::ITSELF)]),
            standings: BTreeMap::new(),
            banned: BTreeSet::new(),
        }
    }
    fn another(&mut self) -> Option<PeerId> {
        if self.known.len() >= MOST {
            return None;
        }
        self.known.push(Known::default());
        Some(PeerId(self.known.len() as u32 - 1))
    }
    /// The peer that listens there; none if it is banned.
    pub(crate) fn listening(&mut self, at: SocketAddrV4) -> Option<PeerId> {
        if self.is_banned(IpAddr::V4(*at.ip())) {
            return None;
        }
        if let Some(number) = self.addresses.get(&at) {
            return Some(*number);
        }
        let number = self.another()?;
        self.known[number.0 as usize].listens = Some(at);
        self.addresses.insert(at, number);
        Some(number)
    }
    /// The peer with this identity, seen at an address.
    pub(crate) fn called(&mut self, identity: Identity, ip: IpAddr) -> Option<PeerId> {
        let number = match self.identities.get(&identity) {
            Some(number) => *number,
            None => {
                let number = self.another()?;
                self.identities.insert(identity, number);
                number
            }
        };
        if number != Directory::ITSELF {
            self.known[number.0 as usize].ip = Some(ip);
        }
        Some(number)
    }
    /// The peer with this number has this identity.
    pub(crate) fn calls_itself(&mut self, number: PeerId, identity: Identity) {
        self.identities.insert(identity, number);
    }
    /// A peer that was known by another number is the same as this one.
    pub(crate) fn is_also(&mut self, number: PeerId, other: PeerId) {
        if let Some(at) = self.address(other)
            && let Some(known) = self.known.get_mut(number.0 as usize)
        {
            known.listens = Some(at);
            self.addresses.insert(at, number);
        }
    }
    /// Where it listens, if that is known.
    pub(crate) fn address(&self, number: PeerId) -> Option<SocketAddrV4> {
        self.known.get(number.0 as usize)?.listens
    }
    /// Where it is, for people.
    pub(crate) fn shown(&self, number: PeerId) -> String {
        match (self.address(number), self.ip(number)) {
            (Some(at), _) => at.to_string(),
            (None, Some(ip)) => ip.to_string(),
            (None, None) => "itself".to_owned(),
        }
    }
    fn ip(&self, number: PeerId) -> Option<IpAddr> {
        let known = self.known.get(number.0 as usize)?;
        known.ip.or_else(|| known.listens.map(|at| IpAddr::V4(*at.ip())))
    }
    /// These had a part in a piece that was right.
    pub(crate) fn credit(&mut self, from: &[IpAddr]) {
        for ip in from {
            self.standings.entry(*ip).or_default().good += 1;
        }
    }
    /// These had a part in a piece that was wrong; whether one of them is banned now. A peer that brought all of it
    /// is, at once.
    pub(crate) fn blame(&mut self, from: &[IpAddr]) -> bool {
        let mut any = false;
        for ip in from {
            let standing = self.standings.entry(*ip).or_default();
            standing.bad += 1;
            if from.len() == 1 || standing.bad >= MOST_BAD && standing.bad >= standing.good {
                self.banned.insert(*ip);
                any = true;
            }
        }
        any
    }
    /// Whether nothing is wanted of this address any more.
    pub(crate) fn is_banned(&self, ip: IpAddr) -> bool {
        self.banned.contains(&ip)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(last: u8) -> SocketAddrV4 {
        SocketAddrV4::new([10, 0, 0, last].into(), 6881)
    }
    fn ip(last: u8) -> IpAddr {
        IpAddr::V4(*at(last).ip())
    }

    #[test]
    fn one_peer_has_one_number_however_it_came_to_be_known() {
        let mut all = Directory::new([0; 20]);
        let named = all.listening(at(1)).unwrap();
        assert_eq!(all.listening(at(1)), Some(named));
        all.calls_itself(named, [1; 20]);
        assert_eq!(all.called([1; 20], ip(1)), Some(named));
        // Another comes first, and is named later.
        let came = all.called([2; 20], ip(2)).unwrap();
        assert_eq!((all.address(came), all.shown(came)), (None, "10.0.0.2".to_owned()));
        let named = all.listening(at(2)).unwrap();
        assert_ne!(named, came);
        all.is_also(came, named);
        assert_eq!((all.listening(at(2)), all.address(came)), (Some(came), Some(at(2))));
        assert_eq!(all.shown(came), "10.0.0.2:6881");
        // The client itself is named.
        let named = all.listening(at(3)).unwrap();
        assert_eq!(all.called([0; 20], ip(3)), Some(Directory::ITSELF));
        all.is_also(Directory::ITSELF, named);
        assert_eq!(all.listening(at(3)), Some(Directory::ITSELF));
    }

    #[test]
    fn who_spoils_pieces_is_banned_and_who_had_a_part_in_few_is_not() {
        let mut all = Directory::new([0; 20]);
        let [bad, good, alone] = [1, 2, 3].map(ip);
        (0..9).for_each(|_| all.credit(&[good]));
        assert!(!all.blame(&[bad, good]) && !all.blame(&[bad, good]));
        assert!(all.blame(&[bad, good]) && all.blame(&[alone]));
        assert_eq!([1, 2, 3].map(|last| all.is_banned(ip(last))), [true, false, true]);
        assert_eq!(all.listening(at(1)), None);
    }
}
