//! A client in its swarm: the loop that waits for its sockets and for the pure peer's next instant.

use crate::announcing::{Announced, Announcing};
use crate::clock;
use crate::content::Content;
use crate::directory::Directory;
use crate::events::{Event, Happened, Phase, Progress};
use crate::handle::{Command, Shared};
use crate::link::{Greeting, Link, READ_BYTES, Stage};
use crate::settings::{Ending, Settings};
use crate::wake::Wakes;
use flashcrowd_base::{Span, Time};
use flashcrowd_swarm::{AnnounceEvent, ConnId, Peer, PeerId};
use rustix::event::{PollFd, PollFlags, poll};
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddrV4, TcpListener};

/// How long the tracker is waited for by a client that leaves.
const STOP_PATIENCE: Span = Span::from_secs(5);
/// Pause after a failed `accept` (no file descriptors are left, say).
pub(crate) const ACCEPT_PAUSE: Span = Span::from_millis(100);

/// Of what the loop has heard.
#[derive(Clone, Copy, Debug)]
enum Source {
    Wakes,
    Listener,
    Lobby(u64),
    Link(ConnId, u64),
}

/// How it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Course {
    Joined,
    /// It has left, and waits for its tracker until then.
    Leaving(Time),
    Over,
}

/// A client in its swarm.
pub(crate) struct Session<'c> {
    pub(crate) settings: &'c Settings,
    pub(crate) peer: Peer,
    pub(crate) content: &'c mut Content,
    pub(crate) listener: &'c TcpListener,
    pub(crate) local: SocketAddrV4,
    pub(crate) greeting: Greeting,
    pub(crate) announcing: Announcing,
    shared: &'c Shared,
    pub(crate) directory: Directory,
    /// By the pure peer's numbers.
    pub(crate) links: Vec<Option<Link>>,
    /// Those who have connected and not said who they are.
    pub(crate) lobby: Vec<Link>,
    pub(crate) accept_at: Time,
    pub(crate) now: Time,
    pub(crate) serial: u64,
    /// From where blocks of pieces came that are not whole.
    pub(crate) brought: BTreeMap<u32, Vec<IpAddr>>,
    pub(crate) bad_pieces: u32,
    /// Of a message, and of a read.
    pub(crate) block: Vec<u8>,
    pub(crate) buffer: Vec<u8>,
    course: Course,
    /// Whether the tracker is to know that it leaves.
    told: bool,
}

impl<'c> Session<'c> {
    pub(crate) fn new(
        settings: &'c Settings,
        peer: Peer,
        content: &'c mut Content,
        (listener, local): (&'c TcpListener, SocketAddrV4),
        greeting: Greeting,
        announcing: Announcing,
        shared: &'c Shared,
    ) -> Session<'c> {
        let directory = Directory::new(greeting.identity);
        Session {
            settings,
            peer,
            content,
            listener,
            local,
            greeting,
            announcing,
            shared,
            directory,
            links: Vec::new(),
            lobby: Vec::new(),
            accept_at: Time::START,
            now: clock::now(),
            serial: 0,
            brought: BTreeMap::new(),
            bad_pieces: 0,
            block: Vec::new(),
            buffer: vec![0; READ_BYTES],
            course: Course::Joined,
            told: true,
        }
    }

    /// Works until it has left.
    pub(crate) fn run(&mut self, wakes: &mut Wakes) -> io::Result<Ending> {
        self.peer.start(self.now);
        self.drain()?;
        while self.course != Course::Over {
            self.publish();
            let ready = self.wait(wakes)?;
            self.tick();
            for (source, flags) in ready {
                self.now = clock::now();
                match source {
                    Source::Wakes => {
                        wakes.clear();
                        self.hear()?;
                    }
                    Source::Listener => self.accept(),
                    Source::Lobby(serial) => self.greet(serial)?,
                    Source::Link(conn, serial) => self.on_ready(conn, serial, flags)?,
                }
            }
            self.drain()?;
        }
        let gaps = self.shared.gaps();
        if !gaps.is_empty() {
            self.note(Happened::SendGaps { count: gaps });
        }
        self.publish();
        let pieces = self.peer.pieces_have();
        Ok(Ending { complete: self.peer.is_complete(), pieces })
    }

    /// Waits until something can be done; what can.
    fn wait(&self, wakes: &Wakes) -> io::Result<Vec<(Source, PollFlags)>> {
        let mut sources = vec![Source::Wakes];
        let mut fds = vec![PollFd::new(wakes, PollFlags::IN)];
        let now = clock::now();
        let mut next = self.peer.next_timer().unwrap_or(Time::NEVER);
        if let Course::Leaving(until) = self.course {
            next = next.min(until);
        } else if now >= self.accept_at {
            sources.push(Source::Listener);
            fds.push(PollFd::new(self.listener, PollFlags::IN));
        } else {
            next = next.min(self.accept_at);
        }
        for link in &self.lobby {
            next = next.min(link.deadline);
            sources.push(Source::Lobby(link.serial));
            fds.push(PollFd::new(&link.stream, PollFlags::IN));
        }
        for (link, number) in self.links.iter().zip(0..) {
            let Some(link) = link else { continue };
            let wanted = match link.stage {
                Stage::Connecting => PollFlags::OUT,
                _ if link.has_more() => PollFlags::IN | PollFlags::OUT,
                _ => PollFlags::IN,
            };
            if !matches!(link.stage, Stage::Open(_)) {
                next = next.min(link.deadline);
            }
            sources.push(Source::Link(ConnId(number), link.serial));
            fds.push(PollFd::new(&link.stream, wanted));
        }
        let span = (next != Time::NEVER).then(|| clock::until(now, next));
        match poll(&mut fds, span.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let ready = sources.into_iter().zip(fds.iter().map(PollFd::revents));
        Ok(ready.filter(|(_, flags)| !flags.is_empty()).collect())
    }

    /// Time has passed.
    fn tick(&mut self) {
        self.now = clock::now();
        let now = self.now;
        if let Course::Leaving(until) = self.course
            && now >= until
        {
            self.course = Course::Over;
        }
        if self.peer.next_timer().is_some_and(|timer| timer <= now) {
            self.peer.on_timer(now);
        }
        self.lobby.retain(|link| now < link.deadline);
        for number in 0..self.links.len() {
            let late = |link: &Link| !matches!(link.stage, Stage::Open(_)) && now >= link.deadline;
            if self.links[number].as_ref().is_some_and(late) {
                self.lose(ConnId(number as u32));
            }
        }
    }

    /// Takes orders from the handle, and answers from the tracker.
    fn hear(&mut self) -> io::Result<()> {
        while let Some(command) = self.shared.next_command() {
            match command {
                Command::Join => {}
                Command::Limit(limit) => self.peer.set_upload_limit(self.now, limit),
                Command::Leave { told } => self.leave(told)?,
            }
        }
        while let Some(Announced { event, answer }) = self.announcing.next() {
            if event == AnnounceEvent::Stopped {
                self.course = Course::Over;
                continue;
            }
            match answer {
                Ok(answer) => {
                    self.note(Happened::Tracker { peers: answer.peers.len() });
                    let itself = |at: &SocketAddrV4| *at == self.local;
                    let others = answer.peers.iter().filter(|at| !itself(at));
                    let numbers: Vec<PeerId> =
                        others.filter_map(|at| self.directory.listening(*at)).collect();
                    self.peer.on_peers(self.now, answer.interval, &numbers);
                }
                Err(error) => {
                    self.note(Happened::NoTracker { why: error.to_string() });
                    self.peer.on_announce_failed(self.now);
                }
            }
        }
        self.drain()
    }
    fn leave(&mut self, told: bool) -> io::Result<()> {
        if self.course != Course::Joined || !told {
            self.course = Course::Over;
        }
        self.told = told;
        if !self.peer.is_gone() {
            self.peer.leave(self.now);
            self.drain()?;
        }
        self.lobby.clear();
        if self.course == Course::Joined {
            let has_tracker = self.settings.metainfo.announce.is_some();
            let until = self.now + STOP_PATIENCE;
            self.course = if has_tracker { Course::Leaving(until) } else { Course::Over };
        }
        Ok(())
    }
    /// Whether its tracker gets its announces.
    pub(crate) fn tells(&self) -> bool {
        self.told
    }

    /// Publishes its state.
    fn publish(&self) {
        let peer = &self.peer;
        let (interested, unchoking) = peer.interests();
        self.shared.set_progress(Progress {
            phase: if peer.is_gone() { Phase::Leaving } else { Phase::Joined },
            down: peer.bytes_down(),
            up: peer.bytes_up(),
            wasted: peer.bytes_wasted(),
            pieces: peer.pieces_have(),
            of: peer.bitfield().len(),
            neighbours: peer.connections() as u32,
            interested,
            unchoking,
            unchoked: peer.unchoked() as u32,
            bad_pieces: self.bad_pieces,
        });
    }
    /// Records an event, if events are recorded.
    pub(crate) fn note(&self, what: Happened) {
        if self.settings.records {
            self.shared.note(Event { at: clock::now().seconds(), what });
        }
    }
    pub(crate) fn shared(&self) -> &'c Shared {
        self.shared
    }
}
