use super::active_stream::{ActiveStream, StreamReport, lock};
use super::conduit::Conduit;
use super::handle::{First, SessionHandle, race};
use super::hello::{Hello, refuse};
use super::sink::LINGER_PATIENCE;
use super::tcp::{self, Tcp};
use super::transfer::carry;
use super::waiting::Waiting;
use crate::Socket;
use flashcrowd_transport::utp::Config;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// How long a caller has to send its request.
const HELLO_PATIENCE: Duration = Duration::from_secs(10);
/// How long a stream on which nothing moves keeps its place when another wants it.
const IDLE_PATIENCE: Duration = Duration::from_secs(10);
/// Pause after a failed `accept` (no file descriptors are left, say).
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Which callers a [`Server`] serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admission {
    /// End after the first measurement.
    pub once: bool,
    /// Streams at once. One more is refused, in words.
    pub most_streams: usize,
}

impl Default for Admission {
    fn default() -> Admission {
        Admission { once: false, most_streams: 16 }
    }
}

/// Serves several callers at once: receives what they send, and sends what they ask for.
#[derive(Debug)]
pub struct Server {
    socket: Socket,
    listener: Option<TcpListener>,
    board: Arc<Board>,
}

/// Callers that were turned away since this was last asked.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Refusals {
    /// How many.
    pub count: u64,
    /// The last of them.
    pub peer: String,
    /// Why that one.
    pub why: String,
}

/// The streams under way, for others to read.
#[derive(Debug)]
struct Board {
    admission: Admission,
    active: Mutex<BTreeMap<u64, Arc<ActiveStream>>>,
    finished: Mutex<Vec<StreamReport>>,
    refusals: Mutex<Refusals>,
    waiting: Waiting,
    /// Streams so far.
    streams: Mutex<u64>,
    /// The one measurement that is served, and how many of its streams are to come.
    only: Mutex<Option<(u64, u32)>>,
    /// No other caller is accepted.
    enough: Notify,
}

/// Reads what a [`Server`] does from another thread.
#[derive(Clone, Debug)]
pub struct Watch(Arc<Board>);

impl Watch {
    /// Streams that are under way.
    pub fn active(&self) -> Vec<StreamReport> {
        lock(&self.0.active).values().map(|active| active.report()).collect()
    }

    /// Streams that have finished since this was last asked.
    pub fn take_finished(&self) -> Vec<StreamReport> {
        std::mem::take(&mut lock(&self.0.finished))
    }

    /// Clients refused since the last call.
    pub fn take_refusals(&self) -> Option<Refusals> {
        let refusals = std::mem::take(&mut *lock(&self.0.refusals));
        (refusals.count > 0).then_some(refusals)
    }
}

impl Server {
    /// Binds a UDP socket, and with `tcp` a TCP socket at the same port, and serves the callers that `admission` lets
    /// in. Port 0 is one that is free for both.
    ///
    /// # Errors
    /// Those of [`Socket::bind`], and what the system says of the TCP socket.
    pub fn bind(
        address: SocketAddr,
        config: &Arc<Config>,
        admission: Admission,
        tcp: bool,
    ) -> io::Result<Server> {
        let (socket, listener) = bind_both(address, config, tcp)?;
        let board = Board {
            admission,
            active: Mutex::default(),
            finished: Mutex::default(),
            refusals: Mutex::default(),
            waiting: Waiting::default(),
            streams: Mutex::default(),
            only: Mutex::default(),
            enough: Notify::new(),
        };
        Ok(Server { socket, listener, board: Arc::new(board) })
    }

    /// Where it listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.socket.local_addr()
    }

    /// To read what it does from another thread.
    pub fn watch(&self) -> Watch {
        Watch(Arc::clone(&self.board))
    }

    /// Serves until it is stopped; then callers are notified, and have a moment to end.
    ///
    /// # Errors
    /// If the UDP socket has failed.
    pub async fn run(self, control: &SessionHandle) -> io::Result<()> {
        let mut sessions = JoinSet::new();
        loop {
            let next = race(self.socket.accept(), accept_tcp(self.listener.as_ref()));
            let end = race(control.end(), self.board.enough.notified());
            let conduit = match race(next, end).await {
                First::This(First::This(stream)) => Conduit::Utp(stream?),
                First::This(First::That(tcp)) => Conduit::Tcp(tcp),
                First::That(_) => break,
            };
            while sessions.try_join_next().is_some() {}
            let (board, control) = (Arc::clone(&self.board), control.clone());
            sessions.spawn(async move { board.attend(conduit, &control).await });
        }
        drop(self.listener);
        self.board.waiting.dismiss();
        while sessions.join_next().await.is_some() {}
        let _ = timeout(LINGER_PATIENCE, race(self.socket.close(), control.now())).await;
        Ok(())
    }
}

/// The system gives a port that no UDP socket has; whether TCP has it is seen when it is tried.
fn bind_both(
    address: SocketAddr,
    config: &Arc<Config>,
    tcp: bool,
) -> io::Result<(Socket, Option<TcpListener>)> {
    let mut tries = if address.port() == 0 { 100 } else { 1 };
    loop {
        let socket = Socket::bind(address, config)?;
        if !tcp {
            return Ok((socket, None));
        }
        tries -= 1;
        match tcp::listen(SocketAddr::new(address.ip(), socket.local_addr().port())) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && tries > 0 => {}
            listener => return Ok((socket, Some(listener?))),
        }
    }
}

/// The next TCP connection; for ever if there is no listener.
async fn accept_tcp(listener: Option<&TcpListener>) -> Tcp {
    let Some(listener) = listener else { return std::future::pending().await };
    loop {
        match listener.accept().await.and_then(|(stream, peer)| Tcp::new(stream, peer)) {
            Ok(tcp) => return tcp,
            // Of a connection that has gone already, or for want of something that comes back.
            Err(_) => sleep(ACCEPT_PAUSE).await,
        }
    }
}

impl Board {
    /// Serves one connection to its end.
    async fn attend(&self, conduit: Conduit, control: &SessionHandle) {
        let conduit = Arc::new(conduit);
        let place = self.waiting.enter(&conduit);
        let heard = race(timeout(HELLO_PATIENCE, Hello::read(&conduit)), control.end()).await;
        let dismissed = !self.waiting.leave(place);
        let Some(conduit) = Arc::into_inner(conduit) else { return };
        let why = match heard {
            First::That(()) => return conduit.abort(),
            First::This(Ok(Ok(hello))) => match self.admit(&hello) {
                Ok(id) => return self.serve(id, conduit, hello, control).await,
                Err(why) => {
                    self.note_refusal(&conduit, &why);
                    return turn_away(conduit, &why, control).await;
                }
            },
            First::This(Ok(Err(_))) if dismissed => "it said nothing, and others waited".into(),
            First::This(Ok(Err(error))) => error.to_string(),
            First::This(Err(_)) => format!("it said nothing for {} s", HELLO_PATIENCE.as_secs()),
        };
        self.note_refusal(&conduit, &why);
        conduit.abort();
    }

    /// The id of a new stream, or why there is to be none.
    fn admit(&self, hello: &Hello) -> Result<u64, String> {
        let mut streams = lock(&self.streams);
        let max = self.admission.most_streams;
        // Those that are admitted and not active yet are few and come at once.
        if lock(&self.active).len() >= max && !self.make_place() {
            return Err(format!("the server is full: it takes {max} at once (--most-senders)"));
        }
        if self.admission.once {
            let mut only = lock(&self.only);
            let (measurement, left) = only.get_or_insert((hello.measurement, hello.streams));
            if *measurement != hello.measurement || *left == 0 {
                return Err("the server serves one measurement only (--once)".into());
            }
            *left -= 1;
            if *left == 0 {
                self.enough.notify_one();
            }
        }
        *streams += 1;
        Ok(*streams)
    }

    /// Ends the stream on which nothing has moved for longest, if that is long.
    fn make_place(&self) -> bool {
        let mut active = lock(&self.active);
        let idle = active.iter().map(|(id, stream)| (stream.idle(), *id)).max();
        let Some((_, id)) = idle.filter(|(idle, _)| *idle >= IDLE_PATIENCE) else { return false };
        if let Some(stream) = active.remove(&id) {
            stream.give_way();
        }
        true
    }

    async fn serve(&self, id: u64, conduit: Conduit, hello: Hello, control: &SessionHandle) {
        let active = Arc::new(ActiveStream::new(id, hello.direction, conduit, None));
        lock(&self.active).insert(id, Arc::clone(&active));
        let mut ending = match self.get_ready(&active, &hello).await {
            Ok(()) => carry(&active, &hello, false, control).await,
            Err(error) => super::active_stream::Ending { error: Some(error), ..Default::default() },
        };
        lock(&self.active).remove(&id);
        if active.has_given_way() {
            let text =
                format!("nothing moved for {} s, and another waited", IDLE_PATIENCE.as_secs());
            ending.error = Some(io::Error::new(io::ErrorKind::TimedOut, text));
        }
        lock(&self.finished).push(active.finished(&ending));
    }

    async fn get_ready(&self, active: &ActiveStream, hello: &Hello) -> io::Result<()> {
        if let (Conduit::Tcp(tcp), Some(name)) = (&active.conduit, &hello.congestion)
            && let Err(error) = tcp.set_congestion(name)
        {
            refuse(&active.conduit, &format!("at the server: {error}")).await?;
            return Err(error);
        }
        hello.answer(&active.conduit).await
    }

    fn note_refusal(&self, conduit: &Conduit, why: &str) {
        let mut refusals = lock(&self.refusals);
        refusals.count += 1;
        refusals.peer = conduit.peer().to_string();
        why.clone_into(&mut refusals.why);
    }
}

/// Refuses a caller, with the reason; what it has sent meanwhile is discarded.
async fn turn_away(conduit: Conduit, why: &str, control: &SessionHandle) {
    let told = async {
        refuse(&conduit, why).await?;
        let mut buffer = vec![0; 16 * 1024];
        while conduit.read(&mut buffer).await? > 0 {}
        io::Result::Ok(())
    };
    match race(timeout(LINGER_PATIENCE, told), control.end()).await {
        // The reason may be under way still: a connection that is dropped delivers it first.
        First::This(Ok(Ok(()))) => {}
        _ => conduit.abort(),
    }
}
