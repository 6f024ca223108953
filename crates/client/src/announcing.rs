//! Announces on their way: each is made by a thread of its own, as a name may have to be looked up, and its answer is
//! brought to the loop.

use crate::clock;
use crate::tracker::{Announce, Answer, MOST_ANSWER, Place};
use crate::wake::Waker;
use flashcrowd_base::Span;
use flashcrowd_swarm::AnnounceEvent;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

/// How long a tracker may take to accept a connection, and to say something after that.
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);
const ANSWER_PATIENCE: Duration = Duration::from_secs(20);
/// How long the whole answer may take.
const WHOLE_PATIENCE: Span = Span::from_secs(60);

/// The result of an announce.
#[derive(Debug)]
pub(crate) struct Announced {
    pub(crate) event: AnnounceEvent,
    pub(crate) answer: io::Result<Answer>,
}

/// The announces of one client.
#[derive(Debug)]
pub(crate) struct Announcing {
    local: Ipv4Addr,
    waker: Waker,
    answers: Receiver<Announced>,
    sender: Sender<Announced>,
}

impl Announcing {
    /// From this address, if it is one.
    pub(crate) fn new(local: Ipv4Addr, waker: Waker) -> Announcing {
        let (sender, answers) = channel();
        Announcing { local, waker, answers, sender }
    }
    /// Begins one.
    pub(crate) fn begin(&self, announce: Announce) {
        let (local, waker, sender) = (self.local, self.waker.clone(), self.sender.clone());
        let event = announce.event;
        let work = move || {
            let answer = ask(local, &announce);
            // A client that has ended does not hear it.
            let _ = sender.send(Announced { event, answer });
            waker.wake();
        };
        let begun = thread::Builder::new().name("flashcrowd-announce".into()).spawn(work);
        if let Err(error) = begun {
            let _ = self.sender.send(Announced { event, answer: Err(error) });
            self.waker.wake();
        }
    }
    /// One that has ended.
    pub(crate) fn next(&self) -> Option<Announced> {
        self.answers.try_recv().ok()
    }
}

fn ask(local: Ipv4Addr, announce: &Announce) -> io::Result<Answer> {
    let place = Place::of(&announce.url)?;
    let mut addresses = (place.name.as_str(), place.port).to_socket_addrs()?;
    let address = addresses.find(|address| address.is_ipv4());
    let missing = || io::Error::new(io::ErrorKind::NotFound, "the tracker has no IPv4 address");
    let address = address.ok_or_else(missing)?;
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
    if !local.is_unspecified() {
        socket.bind(&SockAddr::from(SocketAddr::new(IpAddr::V4(local), 0)))?;
    }
    socket.set_write_timeout(Some(ANSWER_PATIENCE))?;
    socket.set_read_timeout(Some(ANSWER_PATIENCE))?;
    socket.connect_timeout(&address.into(), CONNECT_PATIENCE)?;
    let mut stream = std::net::TcpStream::from(socket);
    stream.write_all(&announce.request(&place))?;
    let late = clock::now() + WHOLE_PATIENCE;
    let mut response = Vec::new();
    let mut some = [0; 4096];
    loop {
        let read = stream.read(&mut some)?;
        response.extend_from_slice(&some[..read]);
        if read == 0 || response.len() > MOST_ANSWER {
            return Answer::parse(&response);
        }
        // One that drips must not keep the next announce waiting.
        if clock::now() > late {
            return Err(io::ErrorKind::TimedOut.into());
        }
    }
}
