//! What a client limits that has connections over TCP and over uTP.

use super::*;

/// A leecher of 400 pieces of 256 KiB that has no limit, at 0 s.
fn leecher(algorithm: MixedModeAlgorithm) -> Rig {
    let mut profile = named("libtorrent").unwrap();
    profile.limiter.mixed_mode_algorithm = algorithm;
    let torrent = Arc::new(Torrent::new(400 << 18, 1 << 18, 1 << 14).unwrap());
    let stream = RandomStream::new(1, "peer", 0);
    let (profile, id) = (Arc::new(profile), PeerId(0));
    let peer = Peer::new(profile, torrent, Role::Leecher, id, None, stream, Time::START);
    let mut rig = Rig::new(peer);
    rig.peer.start(rig.now);
    rig.drain();
    rig
}

impl Rig {
    /// A neighbour that has everything and has unchoked us, over uTP or TCP.
    fn seed(&mut self, remote: u32, utp: bool) -> ConnId {
        let conn = self.peer.accept(self.now, PeerId(remote)).expect("there is room");
        self.conns.insert(conn, (1 << 40, true));
        if utp {
            self.peer.is_over_utp(conn);
        }
        self.peer.on_connected(self.now, conn, 1 << 40);
        self.say(conn, Message::Handshake(Extensions::NONE));
        self.say(conn, Message::Bitfield(Arc::new(Bitfield::full(400))));
        self.say(conn, Message::Unchoke);
        conn
    }
    /// It brings the first block that it owes, as far as it may.
    fn bring(&mut self, conn: ConnId) -> bool {
        let place = self.asked.iter().position(|(of, _)| *of == conn);
        let place = place.expect("it owes something");
        let Message::Request { piece, begin, length } = self.asked[place].1 else { return false };
        let bytes = u64::from(length) + 13;
        if let Some(Some(may)) = self.may_read.get_mut(&conn) {
            if *may < bytes {
                return false;
            }
            *may -= bytes;
        }
        self.asked.remove(place);
        self.peer.on_received(self.now, conn, bytes);
        self.say(conn, Message::Piece { piece, begin, length });
        true
    }
}

/// Blocks of 16 KiB that a neighbour over TCP brings in ten seconds in which it could bring eighty, and that
/// seven others over uTP bring, of which each could bring ten.
fn brought(algorithm: MixedModeAlgorithm) -> (u32, u32) {
    let mut rig = leecher(algorithm);
    let tcp = rig.seed(1, false);
    let utp: Vec<_> = (2..9).map(|remote| rig.seed(remote, true)).collect();
    let (mut fast, mut slow) = (0, 0);
    for tenth in 0..200 {
        rig.wait(Span::from_millis(100));
        for _ in 0..if tenth % 5 == 0 { 4 } else { 0 } {
            let came = rig.bring(tcp);
            fast += u32::from(came && tenth >= 100);
        }
        if tenth % 10 == 0 {
            for conn in &utp {
                slow += u32::from(rig.bring(*conn) && tenth >= 100);
            }
        }
    }
    (fast, slow)
}

#[test]
fn tcp_falls_to_four_times_its_share_of_what_comes() {
    assert_eq!(brought(MixedModeAlgorithm::PreferTcp), (80, 70));
    // One connection of eight may bring half of all: as much as the seven others, less its headers and what waits
    // for a whole request.
    let (tcp, utp) = brought(MixedModeAlgorithm::PeerProportional);
    assert_eq!(utp, 70);
    assert!((45..=70).contains(&tcp), "{tcp}");
}

#[test]
fn with_one_transport_nothing_is_counted_and_without_utp_nothing_limited() {
    let mut rig = leecher(MixedModeAlgorithm::PeerProportional);
    for remote in 1..9 {
        rig.seed(remote, false);
    }
    let mixed = |rig: &Rig| rig.peer.mixed_mode.as_ref().expect("it has the rule").tick_at;
    assert_eq!(mixed(&rig), Time::NEVER);
    let utp = rig.seed(20, true);
    assert_eq!(mixed(&rig), Time::START + Span::from_secs(1));
    rig.wait(Span::from_millis(1500));
    // Nine are busy, and each may read what it likes of 9 x 4 times nothing: no less than 30,000 B/s.
    assert_eq!(rig.may_read.len(), 8, "all over TCP");
    rig.conns.remove(&utp);
    rig.may_read.remove(&utp);
    rig.asked.retain(|(of, _)| *of != utp);
    rig.peer.on_closed(rig.now, utp);
    rig.drain();
    rig.wait(Span::from_secs(2));
    assert_eq!(mixed(&rig), Time::NEVER);
    assert!(rig.may_read.values().all(Option::is_none), "{:?}", rig.may_read);
}
