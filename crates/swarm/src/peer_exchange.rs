//! The message of peer exchange (BEP 11, `ut_pex`), an extension of the extension protocol (BEP 10).

use crate::PeerId;

/// The first byte behind the length prefix of every message of the extension protocol (BEP 10).
pub const EXTENDED: u8 = 20;
/// The message number that this client asks for in its extension handshake. libtorrent's
/// `ut_pex_plugin::extension_index`.
const UT_PEX: u8 = 1;
/// Where every client listens.
const PORT: u16 = 6881;

/// The extension handshake: that peer exchange is understood, and where the client listens. libtorrent's has
/// its version, its limits and its other extensions besides, about 300 bytes in all.
pub const EXTENSION_HANDSHAKE: &[u8] = b"\x14\x00d1:md6:ut_pexi1ee1:pi6881ee";

/// A neighbour of the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// The peer.
    pub peer: PeerId,
    /// Whether it has everything (flag 0x02).
    pub is_seed: bool,
}

/// The changes in the sender's connections since its last message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerExchange {
    added: Vec<Neighbour>,
    dropped: Vec<PeerId>,
    body: Vec<u8>,
}

impl PeerExchange {
    /// The message, with its bytes behind the length prefix as libtorrent writes them.
    pub fn new(added: Vec<Neighbour>, dropped: Vec<PeerId>) -> PeerExchange {
        let addresses = |peers: &mut dyn Iterator<Item = PeerId>| -> Vec<u8> {
            let compact = peers.map(|peer| (peer.address(), PORT.to_be_bytes()));
            compact.flat_map(|(address, port)| address.into_iter().chain(port)).collect()
        };
        let flags: Vec<u8> = added.iter().map(|it| if it.is_seed { 0x02 } else { 0 }).collect();
        let fields = [
            ("added", addresses(&mut added.iter().map(|it| it.peer))),
            ("added.f", flags),
            ("added6", Vec::new()),
            ("added6.f", Vec::new()),
            ("dropped", addresses(&mut dropped.iter().copied())),
            ("dropped6", Vec::new()),
        ];
        let mut body = vec![EXTENDED, UT_PEX, b'd'];
        for (key, value) in &fields {
            body.extend_from_slice(format!("{}:{key}{}:", key.len(), value.len()).as_bytes());
            body.extend_from_slice(value);
        }
        body.push(b'e');
        PeerExchange { added, dropped, body }
    }
    /// The sender's new connections since its last message.
    pub fn added(&self) -> &[Neighbour] {
        &self.added
    }
    /// The connections that it has lost since.
    pub fn dropped(&self) -> &[PeerId] {
        &self.dropped
    }
    /// The bytes behind the length prefix: the types of BEP 10, and a bencoded dictionary.
    pub fn body(&self) -> &[u8] {
        &self.body
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_are_those_of_bep_11() {
        let seed = Neighbour { peer: PeerId(0), is_seed: true };
        let message = PeerExchange::new(vec![seed], vec![PeerId(258)]);
        let expected =
            b"\x14\x01d5:added6:\xc6\x12\x00\x00\x1a\xe17:added.f1:\x026:added60:8:added6.f0:\
            7:dropped6:\xc6\x12\x01\x02\x1a\xe18:dropped60:e";
        assert_eq!(message.body(), expected);
    }
}
