use crate::driver::{Driver, Shared};
use crate::mux::Mux;
use crate::stream::Stream;
use crate::udp::Udp;
use flashcrowd_transport::utp::{Config, Limits};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::Poll;
use tokio::task::JoinHandle;

/// How a [`Socket`] uses the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Have the system cut batches of datagrams up, where it can. Without, each is a call.
    pub offload: bool,
    /// The limits for strangers: connections, half-open places, answers.
    pub limits: Limits,
    /// Payload in bytes that all connections together may hold for readers who do not read; with the
    /// receive buffer of the configuration, this bounds the number of connections
    /// ([`Limits::within_memory`]).
    pub memory_bytes: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options { offload: true, limits: Limits::LIBUTP, memory_bytes: 1 << 30 }
    }
}

/// A UDP socket that uTP connections share: it accepts them, opens them, and moves their packets.
///
/// Dropping it is graceful: no new connection is accepted, connections that are open go on, and what was
/// written is still delivered as long as the runtime lives. [`close`](Socket::close) waits for that.
#[derive(Debug)]
pub struct Socket {
    shared: Arc<Shared>,
    config: Arc<Config>,
    driver: Option<JoinHandle<io::Result<()>>>,
    errors: JoinHandle<()>,
}

impl Socket {
    /// Binds a UDP socket; port 0 takes a free one. The unspecified IPv6 address takes IPv4 as well.
    /// Connections are accepted, and opened, with this configuration.
    ///
    /// # Errors
    /// Errs as the system does (the port is in use, no such address), and with
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) for a configuration that [cannot be
    /// used](Config::check).
    ///
    /// # Panics
    /// Outside of a tokio runtime with I/O and time.
    pub fn bind(address: SocketAddr, config: &Arc<Config>) -> io::Result<Socket> {
        Socket::bind_with(address, config, &Options::default())
    }

    /// [`bind`](Socket::bind) with options.
    ///
    /// # Errors
    /// As [`bind`](Socket::bind).
    pub fn bind_with(
        address: SocketAddr,
        config: &Arc<Config>,
        options: &Options,
    ) -> io::Result<Socket> {
        checked(config)?;
        let limits = options.limits.within_memory(options.memory_bytes, config);
        let key = [getrandom::u64(), getrandom::u64()];
        let [Ok(first), Ok(second)] = key else {
            return Err(io::Error::other("the system has no random numbers"));
        };
        let mux = Mux::new(Arc::clone(config), limits, [first, second]);
        let shared = Arc::new(Shared::new(Udp::bind(address)?, mux));
        let driver = tokio::spawn(Driver::new(Arc::clone(&shared), options.offload));
        let errors = tokio::spawn(Arc::clone(&shared).watch_errors());
        Ok(Socket { shared, config: Arc::clone(config), driver: Some(driver), errors })
    }

    /// Where it is bound.
    pub fn local_addr(&self) -> SocketAddr {
        self.shared.udp.local()
    }

    /// Opens a connection, with the configuration of the socket.
    ///
    /// # Errors
    /// [`TimedOut`](io::ErrorKind::TimedOut) if the other host does not answer,
    /// [`ConnectionRefused`](io::ErrorKind::ConnectionRefused) if the other host reports that no socket
    /// listens, [`ConnectionReset`](io::ErrorKind::ConnectionReset) if the other end does not want
    /// to, and what the system says of an address that it cannot reach.
    pub async fn connect(&self, remote: SocketAddr) -> io::Result<Stream> {
        self.connect_with(remote, &self.config).await
    }

    /// Opens a connection with a configuration of its own.
    ///
    /// # Errors
    /// As [`connect`](Socket::connect).
    pub async fn connect_with(
        &self,
        remote: SocketAddr,
        config: &Arc<Config>,
    ) -> io::Result<Stream> {
        checked(config)?;
        let udp = &self.shared.udp;
        if !udp.speaks_to(remote) {
            let text = format!("{} cannot be reached from {}", remote, udp.local());
            return Err(io::Error::new(io::ErrorKind::AddrNotAvailable, text));
        }
        let remote = udp.reachable(remote);
        let now = self.shared.clock.now();
        let key = self.shared.with(|mux| {
            if let Some(fault) = mux.fault {
                return Err(io::Error::from(fault));
            }
            let key = mux.connect(now, remote, config)?;
            mux.wake_driver(key);
            Ok(key)
        })?;
        // From here on it is closed if the caller loses patience.
        let stream = Stream::new(Arc::clone(&self.shared), key, remote);
        std::future::poll_fn(|cx| stream.poll_open(cx)).await?;
        Ok(stream)
    }

    /// Waits for a connection that someone else has opened, and has confirmed with a second packet.
    ///
    /// # Errors
    /// If the socket has failed.
    pub async fn accept(&self) -> io::Result<Stream> {
        std::future::poll_fn(|cx| {
            self.shared.with(|mux| {
                if let Some(key) = mux.accept() {
                    let remote = mux.connection(key).remote;
                    return Poll::Ready(Ok(Stream::new(Arc::clone(&self.shared), key, remote)));
                }
                if let Some(fault) = mux.fault {
                    return Poll::Ready(Err(fault.into()));
                }
                mux.acceptors.push(cx.waker().clone());
                Poll::Pending
            })
        })
        .await
    }

    /// Accepts no more connections, and waits until those that exist have ended. Connections that
    /// were not accepted yet are reset. A [`Stream`] that is held but not read or closed keeps this
    /// waiting.
    ///
    /// # Errors
    /// If the socket has failed.
    pub async fn close(mut self) -> io::Result<()> {
        self.refuse_more();
        match self.driver.take() {
            Some(driver) => driver.await.unwrap_or_else(|error| Err(io::Error::other(error))),
            None => Ok(()),
        }
    }

    fn refuse_more(&self) {
        let now = self.shared.clock.now();
        self.shared.with(|mux| {
            mux.stop_listening(now);
            mux.woken.extend(mux.driver.take());
        });
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.refuse_more();
        self.errors.abort();
    }
}

fn checked(config: &Config) -> io::Result<()> {
    config.check().map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))
}
