use crate::gso_batch::GsoBatch;
use quinn_udp::{RecvMeta, TransportErrorPayload, UdpSockRef, UdpSocketState};
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::task::{Context, Poll, ready};
use tokio::io::Interest;
use tokio::net::UdpSocket;

/// Messages that one call receives at most, each as many datagrams as the system has put together.
const MESSAGES: usize = 8;
/// The longest message.
const MESSAGE_BYTES: usize = 65_536;
/// What is asked of the system as buffers of the socket; it may give less. Half a window of packets
/// must fit in, with what the system counts beside their bytes.
const BUFFER_BYTES: usize = 4 << 20;
/// How often a call is repeated that an error of an earlier packet has interrupted.
const ATTEMPTS: usize = 8;

/// A UDP socket with what the system offers to move many datagrams at once.
#[derive(Debug)]
pub(crate) struct Udp {
    socket: UdpSocket,
    state: UdpSocketState,
    local: SocketAddr,
}

/// Outcome of a system call that sends a batch.
#[derive(Debug)]
pub(crate) enum Sent {
    /// The system took the batch.
    Done,
    /// The socket's buffer is full (`EWOULDBLOCK`): the batch is not lost, and goes first when the socket
    /// is writable.
    Later,
    /// The system has no segmentation offload: the datagrams are to be sent one by one.
    Split,
    /// The system refuses the batch for this reason.
    Refused(io::Error),
}

impl Udp {
    /// Binds a socket. An unspecified IPv6 address takes IPv4 as well.
    pub(crate) fn bind(address: SocketAddr) -> io::Result<Udp> {
        let domain = socket2::Domain::for_address(address);
        let socket = socket2::Socket::new(domain, socket2::Type::DGRAM, None)?;
        if address.is_ipv6() {
            socket.set_only_v6(!address.ip().is_unspecified())?;
        }
        socket.set_nonblocking(true)?;
        socket.bind(&address.into())?;
        let socket = UdpSocket::from_std(socket.into())?;
        let reference = UdpSockRef::from(&socket);
        let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
        // Less than asked for is no fault: it costs packets only at rates that need it.
        let _ = state.set_recv_buffer_size(UdpSockRef::from(&socket), BUFFER_BYTES);
        let _ = state.set_send_buffer_size(UdpSockRef::from(&socket), BUFFER_BYTES);
        // Without ICMP errors an absent peer is found by its silence, later.
        let _ = state.enable_transport_errors(reference);
        let local = socket.local_addr()?;
        let udp = Udp { socket, state, local };
        udp.may_fragment(true);
        Ok(udp)
    }

    /// Where it listens.
    pub(crate) fn local(&self) -> SocketAddr {
        self.local
    }

    /// `address` as this socket has to name it.
    pub(crate) fn reachable(&self, address: SocketAddr) -> SocketAddr {
        match (self.local, address) {
            (SocketAddr::V6(_), SocketAddr::V4(v4)) => {
                SocketAddrV6::new(v4.ip().to_ipv6_mapped(), v4.port(), 0, 0).into()
            }
            _ => address,
        }
    }

    /// Whether this socket can reach addresses of the family of `address` at all.
    pub(crate) fn speaks_to(&self, address: SocketAddr) -> bool {
        match (self.local, address) {
            (SocketAddr::V4(_), SocketAddr::V6(_)) => false,
            (SocketAddr::V6(local), SocketAddr::V4(_)) => *local.ip() == Ipv6Addr::UNSPECIFIED,
            _ => true,
        }
    }

    /// Most datagrams in a batch.
    pub(crate) fn max_gso_segments(&self) -> usize {
        self.state.max_gso_segments()
    }

    /// Receives what there is, as far as it fits, and registers for more if there is nothing.
    pub(crate) fn poll_receive(
        &self,
        cx: &mut Context<'_>,
        received_batch: &mut ReceivedBatch,
    ) -> Poll<io::Result<()>> {
        for _ in 0..ATTEMPTS {
            ready!(self.socket.poll_recv_ready(cx))?;
            let received = self.socket.try_io(Interest::READABLE, || received_batch.receive(self));
            match received {
                Ok(()) => return Poll::Ready(Ok(())),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if is_of_a_packet(&error) => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Sends a batch.
    pub(crate) fn send(&self, batch: &GsoBatch) -> Sent {
        if batch.probe {
            self.may_fragment(false);
        }
        let sent = self.send_as_set(batch);
        if batch.probe {
            self.may_fragment(true);
        }
        sent
    }

    fn send_as_set(&self, batch: &GsoBatch) -> Sent {
        let transmit = quinn_udp::Transmit {
            destination: batch.destination,
            ecn: None,
            contents: &batch.bytes,
            segment_size: (batch.count > 1).then_some(batch.each),
            src_ip: None,
        };
        let mut last = None;
        for _ in 0..ATTEMPTS {
            let sent = self.socket.try_io(Interest::WRITABLE, || {
                self.state.try_send(UdpSockRef::from(&self.socket), &transmit)
            });
            match sent {
                Ok(()) => return Sent::Done,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Sent::Later,
                Err(error) if is_of_a_packet(&error) => last = Some(error),
                Err(_) if batch.count > 1 => return Sent::Split,
                Err(error) => return Sent::Refused(error),
            }
        }
        Sent::Refused(last.unwrap_or_else(|| io::ErrorKind::Other.into()))
    }

    /// Registers for the socket to become writable.
    pub(crate) fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.socket.poll_send_ready(cx)
    }

    /// Waits for ICMP errors, and calls `tell` with the address of each host that is unreachable.
    pub(crate) async fn watch_errors(&self, mut tell: impl FnMut(IpAddr)) -> io::Result<()> {
        loop {
            self.socket.ready(Interest::ERROR).await?;
            let drained = self.socket.try_io(Interest::ERROR, || {
                while let Some(error) =
                    self.state.recv_transport_error(UdpSockRef::from(&self.socket))?
                {
                    if let (Some(from), TransportErrorPayload::Unreachable) =
                        (error.addr, error.payload)
                    {
                        tell(from.ip());
                    }
                }
                Err::<(), _>(io::ErrorKind::WouldBlock.into())
            });
            if let Err(error) = drained
                && error.kind() != io::ErrorKind::WouldBlock
            {
                return Err(error);
            }
        }
    }

    /// Whether routers and this host may fragment what is sent. Where the system has no such option
    /// (and for IPv6), they may not.
    #[cfg(target_os = "linux")]
    fn may_fragment(&self, may: bool) {
        use rustix::net::sockopt::{Ipv4PathMtuDiscovery, set_ip_mtu_discover};
        if self.local.is_ipv4() || self.local.ip().is_unspecified() {
            let mode = if may { Ipv4PathMtuDiscovery::DONT } else { Ipv4PathMtuDiscovery::PROBE };
            // If this fails, packets that are too large are lost, which the search for the path's
            // maximum is made for.
            let _ = set_ip_mtu_discover(&self.socket, mode);
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn may_fragment(&self, _may: bool) {}
}

/// Whether an error speaks of a packet sent earlier (an ICMP message has come back), so that the
/// call itself can be repeated.
fn is_of_a_packet(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionRefused, ConnectionReset, HostUnreachable, NetworkUnreachable};
    matches!(
        error.kind(),
        ConnectionRefused | ConnectionReset | HostUnreachable | NetworkUnreachable
    )
}

/// Datagrams that arrived, as the system delivered them.
pub(crate) struct ReceivedBatch {
    bytes: Vec<u8>,
    meta: [RecvMeta; MESSAGES],
    messages: usize,
}

impl ReceivedBatch {
    /// An empty one.
    pub(crate) fn new() -> ReceivedBatch {
        let bytes = vec![0; MESSAGES * MESSAGE_BYTES];
        ReceivedBatch { bytes, meta: [RecvMeta::default(); MESSAGES], messages: 0 }
    }

    fn receive(&mut self, udp: &Udp) -> io::Result<()> {
        self.messages = 0;
        let mut rest = self.bytes.as_mut_slice();
        let mut slices: [IoSliceMut<'_>; MESSAGES] = std::array::from_fn(|_| {
            let (slice, behind) = std::mem::take(&mut rest).split_at_mut(MESSAGE_BYTES);
            rest = behind;
            IoSliceMut::new(slice)
        });
        let socket = UdpSockRef::from(&udp.socket);
        self.messages = udp.state.recv(socket, &mut slices, &mut self.meta)?;
        Ok(())
    }

    /// The datagrams and where they come from.
    pub(crate) fn datagrams(&self) -> impl Iterator<Item = (SocketAddr, &[u8])> {
        let messages = self.bytes.chunks(MESSAGE_BYTES).zip(&self.meta).take(self.messages);
        messages.flat_map(|(message, meta)| {
            message[..meta.len].chunks(meta.stride.max(1)).map(|datagram| (meta.addr, datagram))
        })
    }
}
