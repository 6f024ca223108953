//! New connections, and the identity at their other end: one connection to a peer is enough.

use crate::directory::{Directory, Identity};
use crate::events::Happened;
use crate::link::{Link, SPACE, Stage, read};
use crate::session::{ACCEPT_PAUSE, Session};
use flashcrowd_base::Span;
use flashcrowd_swarm::codec::{Decoded, Extension, Handshake};
use flashcrowd_swarm::{ConnId, HANDSHAKE_BYTES};
use std::io::{self, ErrorKind, Write};
use std::net::SocketAddr;

/// Those who have not said who they are, at once.
const MOST_NEWCOMERS: usize = 64;
/// Two connections between the same peers that are no older were opened at once.
const AT_ONCE: Span = Span::from_secs(10);

impl Session<'_> {
    /// Accepts a connection.
    pub(crate) fn accept(&mut self) {
        loop {
            match self.listener.accept() {
                Ok((stream, remote)) => {
                    let SocketAddr::V4(_) = remote else { continue };
                    let ready = stream.set_nonblocking(true).is_ok()
                        && stream.set_nodelay(!self.settings.profile.nagle).is_ok();
                    if !ready || self.directory.is_banned(remote.ip()) {
                        continue;
                    }
                    if self.lobby.len() >= MOST_NEWCOMERS {
                        self.lobby.remove(0);
                    }
                    let link = self.link(stream, remote, false);
                    self.lobby.push(link);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // Of a connection that has gone already.
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // For want of something that comes back.
                Err(_) => {
                    self.accept_at = self.now + ACCEPT_PAUSE;
                    return;
                }
            }
        }
    }

    /// A newcomer says something: if that is a handshake, it comes in.
    pub(crate) fn greet(&mut self, serial: u64) -> io::Result<()> {
        let Some(place) = self.lobby.iter().position(|link| link.serial == serial) else {
            return Ok(());
        };
        let link = &mut self.lobby[place];
        let mut some = [0; HANDSHAKE_BYTES as usize];
        let decoded = match read(&mut link.stream, &mut some) {
            Ok(None) => return Ok(()),
            Ok(Some(0)) | Err(_) => {
                self.lobby.remove(place);
                return Ok(());
            }
            Ok(Some(bytes)) => {
                link.decoder.feed(&some[..bytes]);
                link.decoder.next()
            }
        };
        match decoded {
            Ok(Some(Decoded::Handshake(handshake))) => {
                let link = self.lobby.remove(place);
                self.admit(link, &handshake)
            }
            // Of a handshake that has not come whole there is nothing else.
            Ok(_) => Ok(()),
            Err(error) => {
                let link = self.lobby.remove(place);
                let (remote, why) = (link.remote.to_string(), error.to_string());
                self.note(Happened::Violation { remote, why });
                Ok(())
            }
        }
    }
    fn admit(&mut self, mut link: Link, handshake: &Handshake) -> io::Result<()> {
        let identity = handshake.peer_id;
        if handshake.info_hash != self.greeting.info_hash {
            let (remote, why) = (link.remote.to_string(), "another torrent".to_owned());
            self.note(Happened::Violation { remote, why });
            return Ok(());
        }
        let Some(number) = self.directory.called(identity, link.remote.ip()) else {
            return Ok(());
        };
        if number == Directory::ITSELF {
            self.refuse(link);
            return Ok(());
        }
        let same = |old: &Link| {
            old.identity == Some(identity) || old.number == number && old.identity.is_none()
        };
        if let Some((conn, old)) = self.find(same) {
            if !self.gives_way(old, false, &identity) {
                self.refuse(link);
                return Ok(());
            }
            self.lose(conn);
            self.drain()?;
        }
        let Some(conn) = self.peer.accept(self.now, number) else { return Ok(()) };
        let serial = link.serial;
        link.number = number;
        self.put(conn, link);
        self.peer.on_connected(self.now, conn, SPACE);
        self.open(conn, handshake);
        self.decode(conn, serial)
    }
    /// The handshake of a peer that this client connected to.
    pub(crate) fn on_handshake(&mut self, conn: ConnId, handshake: &Handshake) -> io::Result<()> {
        let identity = handshake.peer_id;
        let Some(link) = self.links.get(conn.0 as usize).and_then(Option::as_ref) else {
            return Ok(());
        };
        let (number, remote) = (link.number, link.remote);
        if handshake.info_hash != self.greeting.info_hash {
            self.violation(conn, "another torrent".to_owned());
            return Ok(());
        }
        if identity == self.greeting.identity {
            self.directory.is_also(Directory::ITSELF, number);
            self.lose(conn);
            return Ok(());
        }
        if let Some((other, old)) = self.find(|old| old.identity == Some(identity)) {
            if !self.gives_way(old, true, &identity) {
                let stays = old.number;
                self.directory.is_also(stays, number);
                self.lose(conn);
                return Ok(());
            }
            self.lose(other);
            self.drain()?;
        }
        self.directory.calls_itself(number, identity);
        let _ = self.directory.called(identity, remote.ip());
        self.open(conn, handshake);
        Ok(())
    }
    /// Both handshakes of a connection are there.
    fn open(&mut self, conn: ConnId, handshake: &Handshake) {
        if let Some(link) = self.links.get_mut(conn.0 as usize).and_then(Option::as_mut) {
            link.identity = Some(handshake.peer_id);
            link.stage = Stage::Open(self.now);
            if handshake.offers(Extension::Fast) && self.settings.profile.fast.enabled {
                link.decoder.allow_fast();
            }
            self.peer.on_message(self.now, conn, handshake.message());
        }
    }

    fn find(&self, is_it: impl Fn(&Link) -> bool) -> Option<(ConnId, &Link)> {
        let links = self.links.iter().zip(0..);
        let mut links = links.filter_map(|(link, n)| Some((ConnId(n), link.as_ref()?)));
        links.find(|(_, link)| is_it(link))
    }
    /// Whether a connection makes room for another one to the same peer, that this client `opened` or the other did. Of
    /// two that were opened at once, that of the peer with the lower identity stays: both ends see it so.
    fn gives_way(&self, old: &Link, opened: bool, theirs: &Identity) -> bool {
        match old.stage {
            Stage::Connecting => true,
            Stage::Open(since) if self.now.since(since) > AT_ONCE => false,
            _ => old.initiated != opened && (self.greeting.identity < *theirs) == opened,
        }
    }
    /// Sends a peer this client's handshake and nothing else: it then knows that it is connected
    /// already.
    fn refuse(&self, mut link: Link) {
        let mut bytes = Vec::new();
        Handshake::new(self.greeting.info_hash, self.greeting.identity).encode(&mut bytes);
        let _ = link.stream.write(&bytes);
    }
}
