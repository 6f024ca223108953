//! Against the reference implementation over real sockets: both roles, a clean path, and one that
//! loses and reorders.
#![allow(clippy::unwrap_used, reason = "a test")]

use flashcrowd_base::{RandomStream, Time};
use flashcrowd_live::Socket;
use flashcrowd_oracle::{Libutp, Settings, SocketId};
use flashcrowd_transport::utp::{Config, profiles};
use std::collections::VecDeque;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

/// Far more than a slow machine needs.
const PATIENCE: Duration = Duration::from_secs(100);
/// A relay looks again after this, and after a number of looks for nothing it is quiet.
const PAUSE: Duration = Duration::from_micros(200);
const QUIET: u32 = 50;
const LOCALHOST: &str = "127.0.0.1:0";

fn bytes(len: usize) -> Vec<u8> {
    let mut stream = RandomStream::new(3, "interop", 0);
    (0..len).map(|_| stream.bits() as u8).collect()
}

/// What a path does to each datagram, in percent.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Path {
    loss: usize,
    overtaken: usize,
}

/// A relay between the first sender to its address and `target`, on a thread of its own.
struct Relay {
    address: SocketAddr,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Relay {
    fn new(target: SocketAddr, path: Path) -> Relay {
        let (front, back) =
            (UdpSocket::bind(LOCALHOST).unwrap(), UdpSocket::bind(LOCALHOST).unwrap());
        let address = front.local_addr().unwrap();
        let over = Arc::new(AtomicBool::new(false));
        front.set_nonblocking(true).unwrap();
        back.set_nonblocking(true).unwrap();
        let ends = Arc::clone(&over);
        let thread = std::thread::spawn(move || {
            let mut stream = RandomStream::new(5, "relay", 0);
            let mut caller = None;
            let mut buffer = [0; 65_536];
            // Those that are overtaken wait for the next two, or until it is quiet: a sender of one
            // packet at a time, after a time-out, would wait for itself.
            let mut late: [VecDeque<(u32, Vec<u8>)>; 2] = Default::default();
            let mut quiet = 0;
            while !ends.load(Ordering::Relaxed) {
                let mut idle = true;
                for direction in 0..2 {
                    let socket = [&front, &back][direction];
                    let Ok((len, from)) = socket.recv_from(&mut buffer) else { continue };
                    idle = false;
                    if direction == 0 {
                        caller = Some(from);
                    }
                    let (out, to) = match (direction, caller) {
                        (0, _) => (&back, target),
                        (_, Some(caller)) => (&front, caller),
                        _ => continue,
                    };
                    let waiting = &mut late[direction];
                    waiting.iter_mut().for_each(|(left, _)| *left -= 1);
                    if stream.below(100) < path.loss {
                        // Gone.
                    } else if stream.below(100) < path.overtaken {
                        waiting.push_back((2, buffer[..len].to_vec()));
                    } else {
                        let _ = out.send_to(&buffer[..len], to);
                    }
                    while waiting.front().is_some_and(|(left, _)| *left == 0) {
                        let _ = out.send_to(&waiting.pop_front().unwrap().1, to);
                    }
                }
                quiet = if idle { quiet + 1 } else { 0 };
                if quiet == QUIET {
                    let ways = [(&back, Some(target)), (&front, caller)];
                    for ((out, to), waiting) in ways.into_iter().zip(&mut late) {
                        for (_, datagram) in waiting.drain(..) {
                            let _ = out.send_to(&datagram, to.unwrap());
                        }
                    }
                }
                if idle {
                    std::thread::sleep(PAUSE);
                }
            }
        });
        Relay { address, over, thread: Some(thread) }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }
}

/// libutp behind a UDP socket, on a thread of its own: sends `content` on one connection, closes
/// its direction, and gives back what it received there.
struct Reference {
    address: SocketAddr,
    thread: JoinHandle<Vec<u8>>,
}

impl Reference {
    fn start(call: Option<SocketAddr>, content: Vec<u8>) -> Reference {
        let socket = UdpSocket::bind(LOCALHOST).unwrap();
        let address = socket.local_addr().unwrap();
        let thread = std::thread::spawn(move || reference(&socket, call, &content));
        Reference { address, thread }
    }
}

#[allow(clippy::disallowed_methods, reason = "real sockets, real time")]
fn reference(socket: &UdpSocket, call: Option<SocketAddr>, content: &[u8]) -> Vec<u8> {
    let start = Instant::now();
    let mut libutp = Libutp::new(&Settings { seed: 11, ..Settings::default() });
    let mut connection: Option<SocketId> = None;
    let (mut sent, mut received, mut shut) = (0, Vec::new(), false);
    let mut buffer = [0; 65_536];
    socket.set_read_timeout(Some(Duration::from_millis(2))).unwrap();
    while start.elapsed() < PATIENCE {
        libutp.set_now(Time::from_nanos(start.elapsed().as_nanos() as u64 + 1_000_000));
        if let Ok((len, from)) = socket.recv_from(&mut buffer) {
            libutp.set_now(Time::from_nanos(start.elapsed().as_nanos() as u64 + 1_000_000));
            libutp.receive(from.port(), &buffer[..len]);
        }
        libutp.drained();
        libutp.check_timeouts();
        connection = connection.or_else(|| match call {
            Some(to) => Some(libutp.connect(to.port())),
            None => libutp.accepted(),
        });
        if let Some(id) = connection {
            let status = libutp.status(id);
            // Its FIN may meet an end that has everything and is gone: then RESET is no failure.
            let over = status.eof && shut;
            assert!(status.error.is_none() || over, "{:?} after {sent} bytes", status.error);
            // Before it is connected this takes nothing.
            sent += libutp.write(id, &content[sent..]);
            received.extend(libutp.read(id, usize::MAX));
            if sent == content.len() && !shut {
                libutp.shutdown(id);
                shut = true;
            }
            if status.eof && shut {
                libutp.close(id);
            }
        }
        while let Some(datagram) = libutp.poll() {
            socket.send_to(&datagram.bytes, ("127.0.0.1", datagram.to)).unwrap();
        }
        if connection.is_some_and(|id| libutp.status(id).gone) {
            return received;
        }
    }
    panic!("libutp does not end: {sent} bytes sent, {} received", received.len());
}

/// Both directions at once, with ours calling or called.
async fn meet(config: &Arc<Config>, ours_calls: bool, path: Path, len: usize) {
    let (mine, theirs) = (bytes(len), bytes(len / 2 + 1));
    let socket = Socket::bind(LOCALHOST.parse().unwrap(), config).unwrap();
    let (reference, mut stream, _relay) = if ours_calls {
        let reference = Reference::start(None, theirs.clone());
        let relay = Relay::new(reference.address, path);
        let stream = timeout(PATIENCE, socket.connect(relay.address)).await.unwrap().unwrap();
        (reference, stream, relay)
    } else {
        let relay = Relay::new(socket.local_addr(), path);
        let reference = Reference::start(Some(relay.address), theirs.clone());
        let stream = timeout(PATIENCE, socket.accept()).await.unwrap().unwrap();
        (reference, stream, relay)
    };
    let mut heard = Vec::new();
    {
        let (mut reader, mut writer) = (&stream, &stream);
        let write = async {
            writer.write_all(&mine).await.unwrap();
            writer.shutdown().await.unwrap();
        };
        let (read, ()) =
            timeout(PATIENCE, async { tokio::join!(reader.read_to_end(&mut heard), write) })
                .await
                .unwrap_or_else(|_| panic!("{path:?}: {:?}", stream.stats()));
        read.unwrap();
    }
    assert!(heard == theirs, "{path:?}: what libutp sent differs");
    // Probes of the path are padded: libutp takes the padding for what it is.
    let largest = u64::from(config.packet_bytes());
    if path == CLEAN {
        assert_eq!(stream.stats().packet_bytes, largest, "the path takes everything");
    }
    stream.shutdown().await.unwrap();
    drop(stream);
    let received = tokio::task::spawn_blocking(|| reference.thread.join()).await.unwrap().unwrap();
    assert!(received == mine, "{path:?}: what libutp received differs");
}

const CLEAN: Path = Path { loss: 0, overtaken: 0 };
const BAD: Path = Path { loss: 5, overtaken: 5 };

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ours_calls_libutp() {
    meet(&Arc::new(profiles::libutp()), true, CLEAN, 4_000_000).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn libutp_calls_ours() {
    meet(&Arc::new(profiles::libutp()), false, CLEAN, 4_000_000).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ours_calls_libutp_where_packets_are_lost_and_overtaken() {
    meet(&Arc::new(profiles::libutp()), true, BAD, 150_000).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn libutp_calls_ours_where_packets_are_lost_and_overtaken() {
    meet(&Arc::new(profiles::libutp()), false, BAD, 150_000).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_profile_speaks_with_libutp() {
    for config in profiles::all() {
        meet(&Arc::new(config), true, Path { loss: 1, overtaken: 2 }, 60_000).await;
    }
}
