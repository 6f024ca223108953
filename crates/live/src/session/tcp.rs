use super::snapshot::Snapshot;
use super::tcp_info::TcpInfo;
use socket2::{Domain, SockRef, Socket, Type};
use std::io;
use std::net::{Shutdown, SocketAddr};
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket, TcpStream};

/// How long written data may stay unacknowledged before the connection fails (RFC 5482), where the
/// system has the option: about what uTP takes to give up, and not the quarter of an hour of Linux.
#[cfg(target_os = "linux")]
const USER_TIMEOUT: Duration = Duration::from_secs(30);
/// Connections that the system keeps for us until we accept them.
const BACKLOG: i32 = 1024;

/// A TCP connection of the kernel's.
#[derive(Debug)]
pub(super) struct Tcp {
    stream: TcpStream,
    peer: SocketAddr,
}

impl Tcp {
    /// Opens a connection, with this congestion control if one is named.
    pub(super) async fn connect(remote: SocketAddr, congestion: Option<&str>) -> io::Result<Tcp> {
        let socket = if remote.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        // Before the handshake: the other end may be asked for marks (ECN) or not.
        if let Some(name) = congestion {
            set_congestion(&SockRef::from(&socket), name)?;
        }
        Tcp::new(socket.connect(remote).await?, remote)
    }

    pub(super) fn new(stream: TcpStream, peer: SocketAddr) -> io::Result<Tcp> {
        stream.set_nodelay(true)?;
        #[cfg(target_os = "linux")]
        SockRef::from(&stream).set_tcp_user_timeout(Some(USER_TIMEOUT))?;
        Ok(Tcp { stream, peer: SocketAddr::new(peer.ip().to_canonical(), peer.port()) })
    }

    pub(super) fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// Has the system use this congestion control for what this end sends.
    pub(super) fn set_congestion(&self, name: &str) -> io::Result<()> {
        set_congestion(&SockRef::from(&self.stream), name)
    }

    pub(super) async fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            self.stream.readable().await?;
            match self.stream.try_read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return done,
            }
        }
    }

    pub(super) async fn write_all(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            self.stream.writable().await?;
            match self.stream.try_write(bytes) {
                Ok(len) => bytes = &bytes[len..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    pub(super) fn shutdown(&self) -> io::Result<()> {
        SockRef::from(&self.stream).shutdown(Shutdown::Write)
    }

    /// Ends both directions; closing the socket sends a RST.
    pub(super) fn abort(&self) {
        let socket = SockRef::from(&self.stream);
        // On a socket that has failed already the option cannot be set, and need not be.
        let _ = socket.set_linger(Some(Duration::ZERO));
        let _ = socket.shutdown(Shutdown::Both);
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        let info = TcpInfo::of(&self.stream);
        let micros = |field: Option<u32>| field.map(|micros| f64::from(micros) / 1e3);
        let mss = info.snd_mss().map(u64::from);
        let in_bytes = |segments: Option<u32>| Some(u64::from(segments?) * mss?);
        Snapshot {
            congestion: congestion(&SockRef::from(&self.stream)),
            rtt_ms: micros(info.rtt()),
            min_rtt_ms: micros(info.min_rtt()).filter(|rtt| *rtt < MAX_MILLIS),
            queueing_delay_ms: None,
            window_bytes: in_bytes(info.snd_cwnd()),
            in_flight_bytes: in_bytes(info.unacked()),
            peer_window_bytes: info.snd_wnd().map(u64::from),
            packet_bytes: mss,
            acknowledged_bytes: info.bytes_acked(),
            packets_sent: info.segs_out().map(u64::from),
            packets_retransmitted: info.total_retrans().map(u64::from),
            packets_received: info.segs_in().map(u64::from),
            packets_duplicate: None,
            timeouts: None,
            reductions: None,
        }
    }

    pub(super) fn silence(&self) -> Duration {
        let info = TcpInfo::of(&self.stream);
        let millis = [info.last_data_recv(), info.last_ack_recv()].into_iter().flatten().min();
        Duration::from_millis(u64::from(millis.unwrap_or(0)))
    }
}

/// Linux reports a larger minimum round trip where there was no sample.
const MAX_MILLIS: f64 = 4e6;

/// Listens at an address; the unspecified IPv6 address takes IPv4 as well.
pub(super) fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    if address.is_ipv6() {
        socket.set_only_v6(!address.ip().is_unspecified())?;
    }
    // A server that was just ended leaves connections behind that wait (TIME-WAIT).
    #[cfg(unix)]
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}

#[cfg(target_os = "linux")]
fn set_congestion(socket: &SockRef<'_>, name: &str) -> io::Result<()> {
    socket.set_tcp_congestion(name.as_bytes()).map_err(|error| {
        let text = format!("this system has no TCP congestion control {name:?}: {error}");
        io::Error::new(io::ErrorKind::Unsupported, text)
    })
}

#[cfg(not(target_os = "linux"))]
fn set_congestion(_: &SockRef<'_>, name: &str) -> io::Result<()> {
    let text = format!("TCP congestion control {name:?} can be chosen on Linux only");
    Err(io::Error::new(io::ErrorKind::Unsupported, text))
}

#[cfg(target_os = "linux")]
fn congestion(socket: &SockRef<'_>) -> Option<String> {
    let name = socket.tcp_congestion().ok()?;
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
    Some(String::from_utf8_lossy(&name[..end]).into_owned())
}

#[cfg(not(target_os = "linux"))]
fn congestion(_: &SockRef<'_>) -> Option<String> {
    None
}
