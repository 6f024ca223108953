use super::packet::{Packet, PacketKind};
use flashcrowd_base::{Span, Time};
use std::hash::{DefaultHasher, Hash, Hasher};

/// How long a cookie is good for at least; twice as long at most.
pub(super) const LIFE: Span = Span::from_secs(64);
/// How many packets a caller may have sent before the first of them arrives: none of these is answered with RESET.
const OVERTAKERS: u16 = 32;

/// SYN cookies (RFC 4987, 3.6): the number of the answer to a SYN is a keyed hash of its destination, so that the
/// packet that acknowledges it shows by itself that it belongs to a SYN, of which nothing needs to be remembered.
///
/// A stranger who sees no answers guesses a cookie with one packet in 32,768, as he guesses the random number of a
/// remembered connection.
#[derive(Clone, Debug)]
pub(super) struct SynCookies {
    key: [u64; 2],
}

impl SynCookies {
    /// With a key that cannot be guessed.
    pub(super) fn new(key: [u64; 2]) -> SynCookies {
        SynCookies { key }
    }

    /// The number of the answer to a SYN.
    pub(super) fn number<A: Hash>(&self, now: Time, address: &A, syn: &Packet) -> u16 {
        self.of(now.nanos() / LIFE.nanos(), address, syn.connection_id, syn.seq_nr)
    }

    fn of<A: Hash>(&self, slot: u64, address: &A, connection_id: u16, syn_nr: u16) -> u16 {
        // SipHash, whose own key std fixes: the first block makes the state a secret.
        let mut hasher = DefaultHasher::new();
        (self.key, slot, address, connection_id, syn_nr).hash(&mut hasher);
        hasher.finish() as u16
    }

    /// The SYN that a packet proves to have been answered, and the number of the answer: the packet is the first that
    /// the caller sent after it.
    pub(super) fn proven<A: Hash>(
        &self,
        now: Time,
        address: &A,
        packet: &Packet,
    ) -> Option<(Packet, u16)> {
        let syn = Packet {
            kind: PacketKind::Syn,
            connection_id: packet.connection_id.wrapping_sub(1),
            seq_nr: packet.seq_nr.wrapping_sub(1),
            timestamp: packet.timestamp,
            window: packet.window,
            ..Packet::default()
        };
        let number = packet.ack_nr.wrapping_add(1);
        self.is_of(now, address, &syn, number).then_some((syn, number))
    }

    /// Whether a packet may have overtaken the first that its caller sent.
    pub(super) fn may_be_early<A: Hash>(&self, now: Time, address: &A, packet: &Packet) -> bool {
        let number = packet.ack_nr.wrapping_add(1);
        let connection_id = packet.connection_id.wrapping_sub(1);
        (1..=OVERTAKERS).any(|back| {
            let seq_nr = packet.seq_nr.wrapping_sub(back);
            self.is_of(now, address, &Packet { connection_id, seq_nr, ..Packet::default() }, number)
        })
    }

    fn is_of<A: Hash>(&self, now: Time, address: &A, syn: &Packet, number: u16) -> bool {
        let slot = now.nanos() / LIFE.nanos();
        [slot, slot.wrapping_sub(1)]
            .into_iter()
            .any(|slot| self.of(slot, address, syn.connection_id, syn.seq_nr) == number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_of_one_syn_for_a_while() {
        let cookies = SynCookies::new([1, 2]);
        let at = |secs| Time::START + Span::from_secs(secs);
        let syn = Packet {
            kind: PacketKind::Syn,
            connection_id: 0xffff,
            seq_nr: 0xffff,
            ..Packet::default()
        };
        let number = cookies.number(at(10), &7, &syn);
        let first = Packet {
            kind: PacketKind::Data,
            connection_id: 0,
            seq_nr: 0,
            ack_nr: number.wrapping_sub(1),
            ..Packet::default()
        };
        assert_eq!(cookies.proven(at(100), &7, &first), Some((syn, number)));
        let later = Packet { seq_nr: 5, ..first };
        assert!(cookies.may_be_early(at(100), &7, &later));
        for (secs, address, packet) in [
            (130, 7, first),
            (10, 8, first),
            (10, 7, later),
            (10, 7, Packet { connection_id: 1, ..first }),
            (10, 7, Packet { ack_nr: number, ..first }),
        ] {
            assert_eq!(cookies.proven(at(secs), &address, &packet), None);
        }
        assert_ne!(SynCookies::new([1, 3]).number(at(10), &7, &syn), number);
    }
}
