//! libutp on a UDP socket, for one flow of an emulated network: `flashcrowd-libutp receive LOCAL [BYTES]`
//! and `flashcrowd-libutp send LOCAL REMOTE BEGIN_NS TARGET_US [BYTES]`.
//!
//! The sender calls at an instant of the monotonic clock, and sends a number of bytes, or until it is ended.
//! Both write a line of JSON about themselves twenty times a second, with instants of that clock; libutp
//! itself gets one that begins with the process. Everything that it reports of a connection is in its log.

use std::collections::VecDeque;
use std::env;
use std::error::Error;
use std::io::{self, Write};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;

use flashcrowd_base::Time;
use flashcrowd_oracle::{Failure, Libutp, Settings, SocketId};

/// The time between lines about itself.
const TELL_NS: u64 = 50_000_000;
/// libutp looks at its timers every 500 ms at most; in between only datagrams wake it.
const LOOK_MS: libc::c_int = 20;
/// Datagrams that are taken before acknowledgements are sent for all of them.
const BATCH: usize = 32;
/// Bytes offered at a time.
const OFFER: usize = 1 << 16;
/// The period of the content in bytes: a prime, so that moved bytes differ.
const PERIOD: u64 = 251;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (local, sending, bytes) = match &words[..] {
        ["receive", local] => (local, None, None),
        ["receive", local, bytes] => (local, None, Some(bytes.parse()?)),
        ["send", local, remote, begin, target] => (local, Some((remote, begin, target)), None),
        ["send", local, remote, begin, target, bytes] => {
            (local, Some((remote, begin, target)), Some(bytes.parse()?))
        }
        ["version"] => {
            println!("{}", env!("CARGO_PKG_VERSION"));
            return Ok(());
        }
        _ => {
            return Err(
                "receive LOCAL [BYTES] | send LOCAL REMOTE BEGIN_NS TARGET_US [BYTES]".into()
            );
        }
    };
    let socket = UdpSocket::bind(local.parse::<SocketAddr>()?)?;
    socket.set_nonblocking(true)?;
    let mut settings = Settings { seed: u64::from(std::process::id()), ..Settings::default() };
    if let Some((remote, begin, target)) = sending {
        settings = Settings { target_micros: target.parse()?, log: true, ..settings };
        let remote = remote.parse()?;
        Driver::new(socket, &settings, bytes).send(remote, begin.parse()?)
    } else {
        Driver::new(socket, &settings, bytes).receive()
    }
}

/// One end.
struct Driver {
    socket: UdpSocket,
    libutp: Libutp,
    /// The connection, and where its other end is.
    connection: Option<SocketId>,
    remote: Option<SocketAddr>,
    bytes: Option<u64>,
    /// Bytes written, or read.
    done: u64,
    ended_ns: Option<u64>,
    told_ns: u64,
    born_ns: u64,
    buffer: Vec<u8>,
    waiting: VecDeque<Vec<u8>>,
    sent: Sent,
    said: Said,
}

/// The packets that a sender has put on the wire.
#[derive(Default)]
struct Sent {
    packets: u64,
    again: u64,
    /// The highest sequence number of a packet that takes one.
    highest: Option<u16>,
}

impl Sent {
    fn count(&mut self, datagram: &[u8]) {
        self.packets += 1;
        // BEP 29: ST_DATA 0, ST_FIN 1, ST_SYN 4 take a number.
        if datagram.len() < 20 || !matches!(datagram[0] >> 4, 0 | 1 | 4) {
            return;
        }
        let number = u16::from_be_bytes([datagram[16], datagram[17]]);
        match self.highest {
            Some(highest) if number.wrapping_sub(highest) as i16 <= 0 => self.again += 1,
            _ => self.highest = Some(number),
        }
    }
}

/// The lines of libutp's log.
#[derive(Default)]
struct Said {
    rtt_ms: Option<u64>,
    window_bytes: Option<u64>,
    own_delay_ms: Option<u64>,
    timeouts: u64,
}

impl Said {
    fn hear(&mut self, line: &str) {
        if line.contains("Packet timeout") {
            self.timeouts += 1;
        }
        if let Some(at) = line.find(" our_delay:") {
            let number = |key: &str| {
                let start = line[at..].find(key)? + at + key.len();
                let digits = line[start..].split(|c: char| !c.is_ascii_digit()).next()?;
                digits.parse().ok()
            };
            self.own_delay_ms = number(" our_delay:");
            self.window_bytes = number(" max_window:");
            self.rtt_ms = number(" rtt:");
        }
    }
}

impl Driver {
    fn new(socket: UdpSocket, settings: &Settings, bytes: Option<u64>) -> Driver {
        Driver {
            socket,
            libutp: Libutp::new(settings),
            connection: None,
            remote: None,
            bytes,
            done: 0,
            ended_ns: None,
            told_ns: 0,
            born_ns: now_ns(),
            buffer: vec![0; 1 << 16],
            waiting: VecDeque::new(),
            sent: Sent::default(),
            said: Said::default(),
        }
    }

    fn send(mut self, remote: SocketAddr, begin_ns: u64) -> Result<(), Box<dyn Error>> {
        self.remote = Some(remote);
        self.tell("ready")?;
        while now_ns() < begin_ns {
            std::thread::sleep(std::time::Duration::from_nanos(begin_ns.saturating_sub(now_ns())));
        }
        self.tick();
        let id = self.libutp.connect(remote.port());
        self.connection = Some(id);
        let content: Vec<u8> = (0..OFFER as u64 + PERIOD).map(|at| (at % PERIOD) as u8).collect();
        let max = self.bytes.unwrap_or(u64::MAX);
        let mut shut = false;
        loop {
            self.take_datagrams()?;
            // Before it is connected this takes nothing.
            while self.done < max {
                let begin = (self.done % PERIOD) as usize;
                let len = usize::try_from(max - self.done).unwrap_or(OFFER).min(OFFER);
                let taken = self.libutp.write(id, &content[begin..begin + len]);
                self.done += taken as u64;
                if taken < len {
                    break;
                }
            }
            if self.done == max && !shut {
                shut = true;
                self.libutp.shutdown(id);
            }
            self.send_datagrams()?;
            for line in self.libutp.take_log() {
                self.said.hear(&line);
            }
            let status = self.libutp.status(id);
            if self.ended_ns.is_none() && (status.error.is_some() || status.gone || status.eof) {
                self.ended_ns = Some(now_ns());
            }
            self.speak(if status.error == Some(Failure::TimedOut) { "timed out" } else { "" })?;
            self.wait()?;
        }
    }

    fn receive(mut self) -> Result<(), Box<dyn Error>> {
        self.tell("ready")?;
        loop {
            self.take_datagrams()?;
            self.connection = self.connection.or_else(|| self.libutp.accepted());
            if let Some(id) = self.connection {
                for byte in self.libutp.read(id, usize::MAX) {
                    if u64::from(byte) != self.done % PERIOD {
                        let text = format!("what arrived after {} bytes was not sent", self.done);
                        return Err(text.into());
                    }
                    self.done += 1;
                }
                let status = self.libutp.status(id);
                let over = self.bytes == Some(self.done) || status.eof || status.gone;
                if over && self.ended_ns.is_none() {
                    self.ended_ns = Some(now_ns());
                    self.libutp.close(id);
                    self.told_ns = 0;
                }
            }
            self.send_datagrams()?;
            self.speak("")?;
            self.wait()?;
        }
    }

    /// libutp's clock is the monotonic one, from the start of the process on.
    fn tick(&mut self) {
        self.libutp.set_now(Time::from_nanos(now_ns() - self.born_ns + 1_000_000));
    }

    fn take_datagrams(&mut self) -> io::Result<()> {
        for _ in 0..BATCH {
            match self.socket.recv_from(&mut self.buffer) {
                Ok((len, from)) => {
                    self.tick();
                    let remote = *self.remote.get_or_insert(from);
                    // Of this flow only.
                    if from == remote {
                        self.libutp.receive(from.port(), &self.buffer[..len]);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // An ICMP error is no reason to end: libutp's timers are.
                Err(_) => break,
            }
        }
        self.tick();
        self.libutp.drained();
        self.libutp.check_timeouts();
        Ok(())
    }

    fn send_datagrams(&mut self) -> io::Result<()> {
        let Some(remote) = self.remote else { return Ok(()) };
        while let Some(datagram) = self.libutp.poll() {
            self.sent.count(&datagram.bytes);
            self.waiting.push_back(datagram.bytes);
        }
        while let Some(datagram) = self.waiting.front() {
            match self.socket.send_to(datagram, remote) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // A packet that the system does not send is lost, as on the way.
                _ => self.waiting.pop_front(),
            };
        }
        Ok(())
    }

    /// Waits for a datagram, for room, or for the next look at the timers.
    fn wait(&self) -> io::Result<()> {
        let room = if self.waiting.is_empty() { 0 } else { libc::POLLOUT };
        let mut polled =
            libc::pollfd { fd: self.socket.as_raw_fd(), events: libc::POLLIN | room, revents: 0 };
        // SAFETY: one descriptor, which lives.
        let ready = unsafe { libc::poll(&raw mut polled, 1, LOOK_MS) };
        if ready < 0 && io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }

    fn speak(&mut self, word: &str) -> io::Result<()> {
        if now_ns() >= self.told_ns + TELL_NS {
            self.tell(word)?;
        }
        Ok(())
    }

    fn tell(&mut self, word: &str) -> io::Result<()> {
        self.told_ns = now_ns();
        let number = |value: Option<u64>| value.map_or("null".to_owned(), |it| it.to_string());
        let line = format!(
            "{{\"at_ns\":{},\"word\":\"{word}\",\"bytes\":{},\"ended_ns\":{},\"packets\":{},\"again\":{},\
             \"timeouts\":{},\"rtt_ms\":{},\"window_bytes\":{},\"own_delay_ms\":{}}}\n",
            self.told_ns,
            self.done,
            number(self.ended_ns),
            self.sent.packets,
            self.sent.again,
            self.said.timeouts,
            number(self.said.rtt_ms),
            number(self.said.window_bytes),
            number(self.said.own_delay_ms),
        );
        let mut out = io::stdout().lock();
        out.write_all(line.as_bytes())?;
        out.flush()
    }
}

/// The monotonic clock, which other processes of the machine read as well.
fn now_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a place for the answer; this clock is always there.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
