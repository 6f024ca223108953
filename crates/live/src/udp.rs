use crate::gso_batch::{GsoBatch, Sizing};
#[cfg(not(windows))]
use quinn_udp::TransportErrorPayload;
use quinn_udp::{RecvMeta, UdpSockRef, UdpSocketState};
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::task::{Context, Poll, ready};
use tokio::io::Interest;
use tokio::net::UdpSocket;

/// Messages that one call receives at most, each as many datagrams as the system has put together.
const MESSAGES: usize = 8;
/// The longest message.
const MESSAGE_BYTES: usize = 65_536;
/// The size that is requested for the buffers of the socket; the system may give less. Half a
/// window of packets must fit in, with what the system counts beside their bytes.
const BUFFER_BYTES: usize = 4 << 20;
/// The packet size that every IPv6 path takes (RFC 8200, section 5).
pub(crate) const IPV6_MIN_MTU: i32 = 1280;
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
        let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
        // Less than asked for is no error: it loses packets only at rates that need more.
        let _ = state.set_recv_buffer_size(UdpSockRef::from(&socket), BUFFER_BYTES);
        let _ = state.set_send_buffer_size(UdpSockRef::from(&socket), BUFFER_BYTES);
        // Without ICMP errors an absent peer is found by its silence, later.
        #[cfg(not(windows))]
        let _ = state.enable_transport_errors(UdpSockRef::from(&socket));
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
                Err(error) if is_of_the_socket(&error) => return Poll::Ready(Err(error)),
                Err(_) => {}
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Sends a batch.
    pub(crate) fn send(&self, batch: &GsoBatch) -> Sent {
        let v4 = is_ipv4(batch.destination);
        match batch.sizing {
            Sizing::Probe if v4 => self.may_fragment(false),
            Sizing::Oversize if !v4 => self.fragments_ipv6(true),
            _ => return self.send_as_set(batch),
        }
        let sent = self.send_as_set(batch);
        if v4 {
            self.may_fragment(true);
        } else {
            self.fragments_ipv6(false);
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
        // The system reports an error of an earlier packet once, at the next call of any kind; one that
        // stays is of this batch.
        let mut last = io::Error::from(io::ErrorKind::Other);
        for _ in 0..ATTEMPTS {
            let sent = self.socket.try_io(Interest::WRITABLE, || {
                self.state.try_send(UdpSockRef::from(&self.socket), &transmit)
            });
            match sent {
                Ok(()) => return Sent::Done,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Sent::Later,
                Err(error) => last = error,
            }
        }
        if batch.count > 1 { Sent::Split } else { Sent::Refused(last) }
    }

    /// Registers for the socket to become writable.
    pub(crate) fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.socket.poll_send_ready(cx)
    }

    /// Windows has no queue of ICMP errors: an absent peer is found by its silence.
    #[cfg(windows)]
    pub(crate) async fn watch_errors(&self, _tell: impl FnMut(Icmp)) -> io::Result<()> {
        std::future::pending().await
    }

    /// Waits for ICMP errors, and calls `tell` with each that says something.
    #[cfg(not(windows))]
    pub(crate) async fn watch_errors(&self, mut tell: impl FnMut(Icmp)) -> io::Result<()> {
        loop {
            self.socket.ready(Interest::ERROR).await?;
            let drained = self.socket.try_io(Interest::ERROR, || {
                while let Some(error) =
                    self.state.recv_transport_error(UdpSockRef::from(&self.socket))?
                {
                    match (error.addr, error.payload) {
                        (Some(from), TransportErrorPayload::Unreachable) => {
                            tell(Icmp::Unreachable(from.ip()));
                        }
                        (_, TransportErrorPayload::TooBig { mtu }) => tell(Icmp::TooBig(mtu)),
                        _ => {}
                    }
                }
                Err::<(), _>(io::ErrorKind::WouldBlock.into())
            });
            if let Err(error) = drained
                && is_of_the_socket(&error)
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

    /// Whether this host sends larger packets in fragments that every IPv6 path takes.
    #[cfg(target_os = "linux")]
    fn fragments_ipv6(&self, does: bool) {
        use rustix::net::sockopt::{Ipv6PathMtuDiscovery, set_ipv6_mtu_discover};
        let (mode, bytes) = if does {
            (Ipv6PathMtuDiscovery::DONT, IPV6_MIN_MTU)
        } else {
            (Ipv6PathMtuDiscovery::PROBE, 0)
        };
        // If one fails, the packet is lost on a path that has become smaller.
        let _ = set_ipv6_mtu_discover(&self.socket, mode);
        set_ipv6(&self.socket, libc::IPV6_MTU, bytes);
        // quinn-udp sets it: the system would refuse the packet (`EMSGSIZE`), whatever the mode.
        set_ipv6(&self.socket, libc::IPV6_DONTFRAG, (!does).into());
    }

    #[cfg(not(target_os = "linux"))]
    fn may_fragment(&self, _may: bool) {}

    #[cfg(not(target_os = "linux"))]
    fn fragments_ipv6(&self, _does: bool) {}
}

/// Sets `IPV6_MTU`, the size of fragments (0 for what the path or the device takes), or `IPV6_DONTFRAG`.
#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "no safe crate sets IPV6_MTU and IPV6_DONTFRAG")]
fn set_ipv6(socket: &UdpSocket, option: libc::c_int, value: libc::c_int) {
    use std::os::fd::AsRawFd;
    // SAFETY: the file descriptor lives as long as `socket`; the kernel reads one integer, which is there.
    let _ = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_IPV6,
            option,
            (&raw const value).cast(),
            size_of_val(&value) as libc::socklen_t,
        )
    };
}

/// The content of an ICMP message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(windows, allow(dead_code))]
pub(crate) enum Icmp {
    /// This host cannot be reached.
    Unreachable(IpAddr),
    /// A router takes IP packets of at most this number of bytes. The system reports neither the router nor
    /// the destination.
    TooBig(u32),
}

/// Whether an error is of the socket itself. Any other that the system tells is of one packet: an ICMP message has
/// come back for one that was sent earlier (Linux hands out `EMSGSIZE`, `ECONNREFUSED`, `EHOSTUNREACH`, `EACCES`,
/// `EPROTO` and more for those, icmp_err_convert and icmpv6_err_convert), or memory is short for a moment.
fn is_of_the_socket(error: &io::Error) -> bool {
    // Of tokio, when the runtime ends.
    error.raw_os_error().is_none() && error.kind() != io::ErrorKind::WouldBlock
}

/// Whether packets to an address are IPv4.
pub(crate) fn is_ipv4(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_ipv4()
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
