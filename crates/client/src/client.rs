//! A client before it is in its swarm: it listens, checks what is on the disk, and waits for `join`.

use crate::announcing::Announcing;
use crate::clock;
use crate::content::Content;
use crate::directory::{Directory, Identity};
use crate::events::{Event, Happened, Phase, Progress};
use crate::handle::{Command, Handle, Shared};
use crate::link::Greeting;
use crate::session::Session;
use crate::settings::{Ending, Settings};
use crate::wake::{Wakes, pair};
use flashcrowd_base::RandomStream;
use flashcrowd_swarm::{Bitfield, Peer, Role, Torrent, UploadLimit};
use rustix::event::{PollFd, PollFlags, poll};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io;
use std::net::{SocketAddr, SocketAddrV4, TcpListener};
use std::sync::Arc;

/// Handshakes of connections that are not accepted yet.
const BACKLOG: i32 = 128;

/// A client that listens.
#[derive(Debug)]
pub struct Client {
    settings: Settings,
    torrent: Arc<Torrent>,
    content: Content,
    listener: TcpListener,
    local: SocketAddrV4,
    identity: Identity,
    shared: Arc<Shared>,
    handle: Handle,
    wakes: Wakes,
}

fn invalid(error: impl std::error::Error + Send + Sync + 'static) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, error)
}

impl Client {
    /// Listens, in the network namespace of this thread.
    ///
    /// # Errors
    /// Errs if it cannot listen there, or if the torrent cannot be cut into the blocks of the
    /// profile.
    pub fn bind(settings: Settings) -> io::Result<Client> {
        let block_bytes = settings.profile.requests.block_bytes;
        let torrent = Arc::new(settings.metainfo.geometry(block_bytes).map_err(invalid)?);
        let content = Content::new(&settings.metainfo, Arc::clone(&torrent), &settings.folder);
        let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
        // A client that has just ended leaves connections behind that wait (TIME-WAIT).
        socket.set_reuse_address(true)?;
        socket.set_nonblocking(true)?;
        socket.bind(&SockAddr::from(settings.bind))?;
        socket.listen(BACKLOG)?;
        let listener = TcpListener::from(socket);
        let SocketAddr::V4(local) = listener.local_addr()? else {
            return Err(io::ErrorKind::AddrNotAvailable.into());
        };
        let (waker, wakes) = pair()?;
        let shared = Arc::new(Shared::default());
        let handle = Handle { shared: Arc::clone(&shared), waker };
        let identity = new_identity()?;
        Ok(Client { settings, torrent, content, listener, local, identity, shared, handle, wakes })
    }
    /// Where it listens.
    pub fn local_addr(&self) -> SocketAddrV4 {
        self.local
    }
    /// To watch and steer it from another thread.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Works until it is to leave.
    ///
    /// # Errors
    /// A file cannot be read or written.
    pub fn run(mut self) -> io::Result<Ending> {
        let ended = self.work();
        let progress = self.handle.progress();
        self.shared.set_progress(Progress { phase: Phase::Ended, ..progress });
        ended
    }
    fn work(&mut self) -> io::Result<Ending> {
        let here = self.check()?;
        self.tell(Phase::Waiting, here.count());
        let mut upload = self.settings.upload;
        loop {
            match self.shared.next_command() {
                Some(Command::Join) => break,
                Some(Command::Limit(limit)) => upload = limit,
                Some(Command::Leave { .. }) => {
                    return Ok(Ending { complete: here.is_full(), pieces: here.count() });
                }
                None => {
                    let _ = poll(&mut [PollFd::new(&self.wakes, PollFlags::IN)], None);
                    self.wakes.clear();
                }
            }
        }
        self.join(&here, upload)
    }
    fn tell(&self, phase: Phase, pieces: u32) {
        let of = self.torrent.pieces();
        self.shared.set_progress(Progress { phase, pieces, of, ..Progress::default() });
    }
    /// The pieces that are on the disk.
    fn check(&mut self) -> io::Result<Bitfield> {
        let pieces = self.torrent.pieces();
        let here = if self.settings.trusted {
            Bitfield::full(pieces)
        } else {
            let mut looked = 0;
            let (shared, of) = (&self.shared, pieces);
            let here = self.content.verify(|| {
                let phase = Phase::Checking;
                shared.set_progress(Progress { phase, pieces: looked, of, ..Progress::default() });
                looked += 1;
                !shared.is_leaving()
            })?;
            if !self.shared.is_leaving() {
                self.content.make_empty_files()?;
            }
            here
        };
        self.shared.set_pieces(bits(&here));
        if self.settings.records {
            let what = Happened::Checked { pieces: here.count() };
            self.shared.note(Event { at: clock::now().seconds(), what });
        }
        Ok(here)
    }
    fn join(&mut self, here: &Bitfield, upload: UploadLimit) -> io::Result<Ending> {
        let now = clock::now();
        let mut profile = self.settings.profile.clone();
        // The pure peer names others by its own numbers, which other clients do not know.
        profile.peer_exchange.enabled = false;
        // A connection is a stream of bytes: nothing overtakes a block in it.
        profile.control_behind_piece = true;
        let role = if here.is_full() { Role::Seed } else { Role::Leecher };
        let (profile, torrent) = (Arc::new(profile), Arc::clone(&self.torrent));
        let stream = RandomStream::new(self.settings.seed, "peer", 0);
        let peer = Peer::new(profile, torrent, role, Directory::ITSELF, upload, stream, now);
        let peer = if role == Role::Leecher { peer.with_pieces(here) } else { peer };
        let announcing = Announcing::new(*self.local.ip(), self.handle.waker.clone());
        let greeting =
            Greeting { info_hash: self.settings.metainfo.info_hash, identity: self.identity };
        let mut session = Session::new(
            &self.settings,
            peer,
            &mut self.content,
            (&self.listener, self.local),
            greeting,
            announcing,
            &self.shared,
        );
        session.run(&mut self.wakes)
    }
}

/// A set of pieces as a BITFIELD has it.
fn bits(pieces: &Bitfield) -> Vec<u8> {
    let mut bits = vec![0; pieces.len().div_ceil(8) as usize];
    pieces.iter().for_each(|piece| bits[piece as usize / 8] |= 0x80 >> (piece % 8));
    bits
}

/// A unique name (BEP 20).
fn new_identity() -> io::Result<Identity> {
    let mut identity = *b"-FC0100-............";
    let mut drawn = [0; 12];
    getrandom::fill(&mut drawn).map_err(|error| io::Error::other(error.to_string()))?;
    let letters = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_";
    for (place, byte) in identity[8..].iter_mut().zip(drawn) {
        *place = letters[usize::from(byte) % letters.len()];
    }
    Ok(identity)
}
