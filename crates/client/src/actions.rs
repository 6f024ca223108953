//! Carries out what the pure peer says.

use crate::clock;
use crate::events::Happened;
use crate::link::{Link, Stage};
use crate::session::Session;
use crate::tracker::Announce;
use flashcrowd_swarm::codec::Decoder;
use flashcrowd_swarm::profile::{HandOver, Sharing};
use flashcrowd_swarm::{Action, AnnounceEvent, ConnId, Message, PeerId};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io;
use std::net::{IpAddr, SocketAddr, SocketAddrV4, TcpStream};

impl Session<'_> {
    /// Carries out everything.
    ///
    /// # Errors
    /// A file cannot be read.
    pub(crate) fn drain(&mut self) -> io::Result<()> {
        while let Some(action) = self.peer.poll() {
            self.act(action)?;
        }
        Ok(())
    }

    fn act(&mut self, action: Action) -> io::Result<()> {
        match action {
            Action::Write { conn, bytes, completes } => self.write(conn, bytes, completes)?,
            Action::Connect { conn, remote, .. } => self.connect(conn, remote),
            Action::Close { conn } => {
                if let Some(mut link) = self.take(conn) {
                    // Bytes that the kernel does not take now are lost.
                    let _ = link.flush();
                }
            }
            Action::Announce { event, numwant } => self.announce(event, numwant),
            Action::PieceCompleted { piece } => {
                self.shared().has_piece(piece);
                self.note(Happened::Have { piece });
            }
            Action::Completed => self.note(Happened::Complete),
            Action::UnchokeEnded { remote, started, idle, bytes, blocks, cause, .. } => {
                self.note(Happened::Unchoke {
                    remote: self.directory.shown(remote),
                    started: started.seconds(),
                    idle: idle.seconds(),
                    bytes,
                    blocks,
                    seeding: self.peer.is_complete(),
                    cause,
                });
            }
            // Of peers with a disk, with connections apart or web seeds, and of TCP that makes room for uTP.
            Action::WriteData { .. }
            | Action::OpenData { .. }
            | Action::ReadBlock { .. }
            | Action::LimitReads { .. }
            | Action::JoinWebSeed { .. }
            | Action::LeaveWebSeed { .. }
            | Action::AskWebSeed { .. } => debug_assert!(false, "this peer has none of these"),
        }
        Ok(())
    }

    /// The next bytes to one neighbour.
    fn write(&mut self, conn: ConnId, bytes: u32, completes: Option<Message>) -> io::Result<()> {
        let ends = completes.is_some();
        let Some(message) = completes.or_else(|| self.peer.begun(conn)) else { return Ok(()) };
        let Some(link) = self.links.get_mut(conn.0 as usize).and_then(Option::as_mut) else {
            return Ok(());
        };
        link.write(bytes, &message, ends, &self.greeting, self.content)?;
        // A client that fills one send buffer writes what is in it together.
        let together = self.peer.profile().limiter.sharing == Sharing::Quota
            && self.peer.writes_ahead(1).next() == Some(conn);
        if !together && link.flush().is_err() {
            self.lose(conn);
            return Ok(());
        }
        let space = link.space();
        if matches!(message, Message::Piece { .. }) && self.settings.records {
            let now = clock::now();
            let last = link.last_send.replace(now);
            if let Some(last) = last {
                self.shared().note_gap(last, now);
            }
        }
        self.peer.on_space(self.now, conn, space);
        self.hand_over(conn);
        Ok(())
    }
    /// The kernel has what was written: where the next block waits for more than room, it waits no longer.
    pub(crate) fn hand_over(&mut self, conn: ConnId) {
        let waits = self.peer.profile().limiter.hand_over != HandOver::Room;
        let link = self.links.get(conn.0 as usize).and_then(Option::as_ref);
        if waits && link.is_some_and(|link| !link.has_more()) && self.peer.awaits_transport(conn) {
            self.peer.on_done(self.now, conn);
        }
    }

    /// Opens a connection.
    fn connect(&mut self, conn: ConnId, remote: PeerId) {
        let Some(at) = self.directory.address(remote) else {
            // It connected by itself, and no neighbour named its port.
            return self.peer.on_closed(self.now, conn);
        };
        if self.directory.is_banned(IpAddr::V4(*at.ip())) {
            return self.peer.on_closed(self.now, conn);
        }
        let Ok(stream) = self.opening(at) else {
            return self.peer.on_closed(self.now, conn);
        };
        let mut link = self.link(stream, SocketAddr::V4(at), true);
        link.number = remote;
        self.put(conn, link);
    }
    fn opening(&self, at: SocketAddrV4) -> io::Result<TcpStream> {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
        socket.set_nonblocking(true)?;
        socket.set_tcp_nodelay(!self.settings.profile.nagle)?;
        if !self.local.ip().is_unspecified() {
            socket.bind(&SockAddr::from(SocketAddrV4::new(*self.local.ip(), 0)))?;
        }
        match socket.connect(&SockAddr::from(at)) {
            Ok(()) => Ok(socket.into()),
            Err(error) if error.raw_os_error() == Some(IN_PROGRESS) => Ok(socket.into()),
            Err(error) => Err(error),
        }
    }
    /// A new connection.
    pub(crate) fn link(&mut self, stream: TcpStream, remote: SocketAddr, initiated: bool) -> Link {
        self.serial += 1;
        let rules = &self.settings.profile.requests;
        let pieces = self.peer.bitfield().len();
        let decoder = Decoder::new(pieces, rules.max_block_bytes.max(rules.block_bytes));
        let deadline = self.now + self.settings.patience;
        Link::new(stream, remote, decoder, initiated, deadline, self.serial)
    }
    pub(crate) fn put(&mut self, conn: ConnId, link: Link) {
        let place = conn.0 as usize;
        if self.links.len() <= place {
            self.links.resize_with(place + 1, || None);
        }
        self.links[place] = Some(link);
    }
    pub(crate) fn take(&mut self, conn: ConnId) -> Option<Link> {
        self.links.get_mut(conn.0 as usize)?.take()
    }
    /// A connection is over, for a reason that is not the pure peer's.
    pub(crate) fn lose(&mut self, conn: ConnId) {
        if self.take(conn).is_some() {
            self.peer.on_closed(self.now, conn);
        }
    }
    /// A connection is over: its peer violates the protocol.
    pub(crate) fn violation(&mut self, conn: ConnId, why: String) {
        if let Some(link) = self.links.get(conn.0 as usize).and_then(Option::as_ref) {
            self.note(Happened::Violation { remote: link.remote.to_string(), why });
            self.lose(conn);
        }
    }
    /// A connection that was being opened stands, or has failed.
    pub(crate) fn connected(&mut self, conn: ConnId) {
        let Some(link) = self.links.get_mut(conn.0 as usize).and_then(Option::as_mut) else {
            return;
        };
        let stands =
            matches!(link.stream.take_error(), Ok(None)) && link.stream.peer_addr().is_ok();
        if stands {
            link.stage = Stage::Greeting;
            self.peer.on_connected(self.now, conn, crate::link::SPACE);
        } else {
            self.lose(conn);
        }
    }

    fn announce(&mut self, event: AnnounceEvent, numwant: Option<u16>) {
        if !self.tells() {
            return;
        }
        let Some(url) = self.settings.metainfo.announce.clone() else {
            return self.peer.on_announce_failed(self.now);
        };
        let peer = &self.peer;
        let missing = |piece: u32| !peer.bitfield().has(piece);
        let torrent = self.settings.metainfo.piece_bytes;
        let bytes = self.settings.metainfo.bytes();
        let left = (0..peer.bitfield().len()).filter(|piece| missing(*piece)).map(|piece| {
            let begin = u64::from(piece) * u64::from(torrent);
            (bytes - begin).min(u64::from(torrent))
        });
        self.announcing.begin(Announce {
            url,
            info_hash: self.greeting.info_hash,
            identity: self.greeting.identity,
            port: self.local.port(),
            uploaded: peer.bytes_up(),
            downloaded: peer.bytes_down(),
            left: left.sum(),
            event,
            numwant,
        });
    }
}

/// `EINPROGRESS`: the kernel opens the connection.
const IN_PROGRESS: i32 = rustix::io::Errno::INPROGRESS.raw_os_error();
