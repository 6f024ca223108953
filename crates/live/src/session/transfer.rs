use super::active_stream::{ActiveStream, Ending, StreamReport};
use super::conduit::{Conduit, Transport};
use super::handle::{First, SessionHandle, race};
use super::hello::{Amount, Direction, Hello};
use super::sink::{LINGER_PATIENCE, receive};
use super::source::Source;
use super::tcp::Tcp;
use crate::Socket;
use flashcrowd_transport::utp::Config;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// The order of a measurement, seen from the end that calls.
#[derive(Clone, Debug)]
pub struct TransferRequest {
    /// The server.
    pub remote: SocketAddr,
    /// How much each stream carries.
    pub amount: Amount,
    /// Its transport.
    pub transport: Transport,
    /// The uTP stack; of no account with TCP.
    pub config: Arc<Config>,
    /// The congestion control that sending ends are to use with TCP; the system's if `None`.
    pub congestion: Option<String>,
    /// Streams to the server, and streams from there.
    pub to_server: u32,
    /// Streams that the server sends.
    pub to_client: u32,
    /// Of each stream, in bits per second, at most.
    pub rate: Option<u64>,
}

impl TransferRequest {
    /// One stream over uTP to the server, as fast as it goes.
    pub fn new(remote: SocketAddr, amount: Amount, config: Arc<Config>) -> TransferRequest {
        TransferRequest {
            remote,
            amount,
            transport: Transport::Utp,
            config,
            congestion: None,
            to_server: 1,
            to_client: 0,
            rate: None,
        }
    }

    /// The streams, in the order of their ids.
    fn hellos(&self) -> io::Result<Vec<Hello>> {
        let measurement = getrandom::u64().map_err(io::Error::other)?;
        let directions =
            [(Direction::ToServer, self.to_server), (Direction::ToClient, self.to_client)];
        let each = |(direction, count)| (0..count).map(move |_| direction);
        directions
            .into_iter()
            .flat_map(each)
            .map(|direction| {
                Ok(Hello {
                    seed: getrandom::u64().map_err(io::Error::other)?,
                    direction,
                    measurement,
                    streams: self.to_server + self.to_client,
                    amount: self.amount,
                    rate: self.rate,
                    congestion: self.congestion.clone(),
                })
            })
            .collect()
    }
}

/// Opens every stream, then lets all of them run, and returns the outcome of each. A stream that breaks off
/// is reported with what it had carried.
///
/// # Errors
/// If nothing was measured: those of [`Socket::bind`] and [`Socket::connect`];
/// [`Interrupted`](io::ErrorKind::Interrupted) if stopped before every stream was open;
/// [`QuotaExceeded`](io::ErrorKind::QuotaExceeded), with its words, if the server refuses;
/// [`InvalidData`](io::ErrorKind::InvalidData) if the other end is something else.
pub async fn transfer(
    order: &TransferRequest,
    control: &SessionHandle,
) -> io::Result<Vec<StreamReport>> {
    let socket = match order.transport {
        Transport::Utp => {
            let local: SocketAddr = if order.remote.is_ipv4() {
                (Ipv4Addr::UNSPECIFIED, 0).into()
            } else {
                (Ipv6Addr::UNSPECIFIED, 0).into()
            };
            Some(Arc::new(Socket::bind(local, &order.config)?))
        }
        Transport::Tcp => None,
    };
    let outcome = run(order, socket.as_ref(), control).await;
    control.watch(Vec::new());
    if let Some(socket) = socket.and_then(Arc::into_inner) {
        // Only the acknowledgement of the other end's end is left.
        let _ = timeout(LINGER_PATIENCE, race(socket.close(), control.now())).await;
    }
    outcome
}

async fn run(
    order: &TransferRequest,
    socket: Option<&Arc<Socket>>,
    control: &SessionHandle,
) -> io::Result<Vec<StreamReport>> {
    let hellos = order.hellos()?;
    let streams = match race(open_all(order, &hellos, socket), control.end()).await {
        First::This(streams) => streams?,
        First::That(()) => return Err(io::ErrorKind::Interrupted.into()),
    };
    control.watch(streams.clone());
    let mut tasks = JoinSet::new();
    for (active, hello) in streams.into_iter().zip(hellos) {
        let control = control.clone();
        tasks.spawn(async move {
            let ending = carry(&active, &hello, true, &control).await;
            (active.finished(&ending), ending.error)
        });
    }
    let mut done = tasks.join_all().await;
    done.sort_by_key(|(report, _)| report.id);
    // Refused, or not understood: then there was no measurement.
    let is_none = |error: &io::Error| {
        matches!(error.kind(), io::ErrorKind::QuotaExceeded | io::ErrorKind::InvalidData)
    };
    if done.iter().all(|(_, error)| error.as_ref().is_some_and(is_none))
        && let Some(error) = done.iter_mut().find_map(|(_, error)| error.take())
    {
        return Err(error);
    }
    Ok(done.into_iter().map(|(report, _)| report).collect())
}

/// Every stream, open, and the server ready.
async fn open_all(
    order: &TransferRequest,
    hellos: &[Hello],
    socket: Option<&Arc<Socket>>,
) -> io::Result<Vec<Arc<ActiveStream>>> {
    let mut opening = JoinSet::new();
    for (hello, id) in hellos.iter().zip(1..) {
        let (hello, socket) = (hello.clone(), socket.map(Arc::clone));
        let (remote, congestion) = (order.remote, order.congestion.clone());
        opening.spawn(async move {
            let conduit = match &socket {
                Some(socket) => Conduit::Utp(socket.connect(remote).await?),
                None => Conduit::Tcp(Tcp::connect(remote, congestion.as_deref()).await?),
            };
            drop(socket);
            let congestion = hello.send(&conduit).await?;
            let theirs = congestion.filter(|_| hello.direction == Direction::ToClient);
            io::Result::Ok(Arc::new(ActiveStream::new(id, hello.direction, conduit, theirs)))
        });
    }
    let mut streams = Vec::with_capacity(hellos.len());
    while let Some(opened) = opening.join_next().await {
        streams.push(opened.map_err(io::Error::other)??);
    }
    streams.sort_by_key(|stream| stream.id());
    Ok(streams)
}

/// Carries one stream, at the end that has called or at the server's.
pub(super) async fn carry(
    active: &ActiveStream,
    hello: &Hello,
    called: bool,
    control: &SessionHandle,
) -> Ending {
    let ending = if called == (hello.direction == Direction::ToServer) {
        Source::new(active, control, hello.seed, hello.amount, hello.rate).run().await
    } else {
        receive(active, hello.seed, control).await
    };
    if ending.error.is_some() {
        active.conduit.abort();
    }
    ending
}
