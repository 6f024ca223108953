//! Throughput on loopback and processor seconds per gigabyte, beside libutp under the same
//! conditions: two processes, one connection, datagrams of 1402 bytes, socket buffers of 4 MiB.
//!
//! libutp is driven as its own example program drives it: wait for the socket, receive until it is
//! empty, acknowledge, send what there is, each datagram with a call of its own.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a benchmark of the real world")]

use flashcrowd_base::Time;
use flashcrowd_live::{Options, Socket};
use flashcrowd_oracle::{Libutp, Settings};
use flashcrowd_transport::utp::profiles;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::time::{ClockId, clock_gettime};
use std::io::{BufRead, BufReader, Read};
use std::net::UdpSocket;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Instant;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const PIECE: usize = 64 * 1024;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["receive", who, ..] => receive(who),
        ["send", who, port, bytes, ..] => send(who, port.parse().unwrap(), bytes.parse().unwrap()),
        _ => table(),
    }
}

/// Runs every contestant against itself, in turns, and prints the median of each.
fn table() {
    let contestants = [
        ("libutp", "libutp", 500_000_000u64),
        ("flashcrowd, no offload", "plain", 1_000_000_000),
        ("flashcrowd", "ours", 2_000_000_000),
    ];
    let mut rounds = vec![Vec::new(); contestants.len()];
    for _ in 0..3 {
        for (runs, (_, who, bytes)) in rounds.iter_mut().zip(contestants) {
            runs.push(run(who, bytes));
        }
    }
    println!(
        "{:<24} {:>12} {:>14} {:>14} {:>14}",
        "", "Gbit/s", "CPU s/GB send", "CPU s/GB recv", "both"
    );
    for (runs, (name, ..)) in rounds.iter_mut().zip(contestants) {
        runs.sort_by(|a, b| a[0].total_cmp(&b[0]));
        let [rate, sender, receiver] = runs[runs.len() / 2];
        println!(
            "{name:<24} {rate:>12.2} {sender:>14.3} {receiver:>14.3} {:>14.3}",
            sender + receiver
        );
    }
}

/// [Gbit/s, processor seconds per GB at the sender, at the receiver].
fn run(who: &str, bytes: u64) -> [f64; 3] {
    let program = std::env::current_exe().unwrap();
    let spawn =
        |words: &[&str]| Command::new(&program).args(words).stdout(Stdio::piped()).spawn().unwrap();
    let mut receiver = spawn(&["receive", who]);
    let mut output = BufReader::new(receiver.stdout.take().unwrap());
    let mut port = String::new();
    output.read_line(&mut port).unwrap();
    let sender = spawn(&["send", who, port.trim(), &bytes.to_string()]);
    let sender: f64 = finish(sender).trim().parse().unwrap();
    let mut heard = String::new();
    output.read_to_string(&mut heard).unwrap();
    assert!(receiver.wait().unwrap().success());
    let heard: Vec<f64> = heard.split_whitespace().map(|word| word.parse().unwrap()).collect();
    let [got, seconds, receiver] = heard[..] else { panic!("{heard:?}") };
    assert_eq!(got, bytes as f64);
    let gigabytes = bytes as f64 / 1e9;
    [gigabytes * 8.0 / seconds, sender / gigabytes, receiver / gigabytes]
}

fn finish(child: Child) -> String {
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

/// Processor seconds of this process so far.
fn cpu() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Says its port; then how much came, in which time by its own clock, and its processor seconds.
fn receive(who: &str) {
    let (got, seconds) = if who == "libutp" {
        let socket = udp();
        println!("{}", socket.local_addr().unwrap().port());
        libutp_receive(&socket)
    } else {
        runtime().block_on(receive_ours(who))
    };
    println!("{got} {seconds} {}", cpu());
}

async fn receive_ours(who: &str) -> (u64, f64) {
    let socket = ours(who);
    println!("{}", socket.local_addr().port());
    let mut stream = socket.accept().await.unwrap();
    let mut buffer = vec![0; 4 * PIECE];
    let mut got = stream.read(&mut buffer).await.unwrap() as u64;
    let start = Instant::now();
    loop {
        match stream.read(&mut buffer).await.unwrap() {
            0 => break,
            len => got += len as u64,
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    drop(stream);
    socket.close().await.unwrap();
    (got, seconds)
}

/// Sends; then says its processor seconds.
fn send(who: &str, port: u16, bytes: u64) {
    let piece = vec![7; PIECE];
    if who == "libutp" {
        libutp_send(&udp(), port, bytes, &piece);
    } else {
        runtime().block_on(send_ours(who, port, bytes, &piece));
    }
    println!("{}", cpu());
}

async fn send_ours(who: &str, port: u16, bytes: u64, piece: &[u8]) {
    let socket = ours(who);
    let mut stream = socket.connect(([127, 0, 0, 1], port).into()).await.unwrap();
    let mut left = bytes;
    while left > 0 {
        let len = left.min(piece.len() as u64) as usize;
        stream.write_all(&piece[..len]).await.unwrap();
        left -= len as u64;
    }
    stream.shutdown().await.unwrap();
    drop(stream);
    socket.close().await.unwrap();
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

fn ours(who: &str) -> Socket {
    let options = Options { offload: who != "plain", ..Options::default() };
    let config = Arc::new(profiles::libutp());
    Socket::bind_with(([127, 0, 0, 1], 0).into(), &config, &options).unwrap()
}

fn udp() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_nonblocking(true).unwrap();
    let reference = socket2::SockRef::from(&socket);
    reference.set_recv_buffer_size(4 << 20).unwrap();
    reference.set_send_buffer_size(4 << 20).unwrap();
    socket
}

/// One turn of libutp's event loop.
fn turn(libutp: &mut Libutp, socket: &UdpSocket, start: Instant, buffer: &mut [u8]) {
    let wait = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
    poll(&mut [PollFd::new(socket, PollFlags::IN)], Some(&wait)).unwrap();
    libutp.set_now(Time::from_nanos(start.elapsed().as_nanos() as u64 + 1_000_000));
    while let Ok((len, from)) = socket.recv_from(buffer) {
        libutp.receive(from.port(), &buffer[..len]);
    }
    libutp.drained();
    libutp.check_timeouts();
}

fn flush(libutp: &mut Libutp, socket: &UdpSocket) {
    while let Some(datagram) = libutp.poll() {
        // A full socket drops it, as with libutp's own example program.
        let _ = socket.send_to(&datagram.bytes, ("127.0.0.1", datagram.to));
    }
}

fn libutp_receive(socket: &UdpSocket) -> (u64, f64) {
    let mut libutp = Libutp::new(&Settings { seed: 1, ..Settings::default() });
    let (start, mut buffer) = (Instant::now(), [0; 65_536]);
    let (mut connection, mut got, mut begun) = (None, 0, None);
    loop {
        turn(&mut libutp, socket, start, &mut buffer);
        connection = connection.or_else(|| libutp.accepted());
        flush(&mut libutp, socket);
        let Some(id) = connection else { continue };
        got += libutp.read(id, usize::MAX).len() as u64;
        if got > 0 {
            let begun = *begun.get_or_insert_with(Instant::now);
            if libutp.status(id).eof {
                // The end is acknowledged; the sender does not wait for ours.
                return (got, begun.elapsed().as_secs_f64());
            }
        }
    }
}

fn libutp_send(socket: &UdpSocket, port: u16, bytes: u64, piece: &[u8]) {
    let mut libutp = Libutp::new(&Settings { seed: 2, ..Settings::default() });
    let (start, mut buffer) = (Instant::now(), [0; 65_536]);
    let id = libutp.connect(port);
    flush(&mut libutp, socket);
    let (mut left, mut closed) = (bytes, false);
    loop {
        turn(&mut libutp, socket, start, &mut buffer);
        while left > 0 {
            let len = left.min(piece.len() as u64) as usize;
            let taken = libutp.write(id, &piece[..len]);
            left -= taken as u64;
            if taken < len {
                break;
            }
        }
        if left == 0 && !closed {
            libutp.close(id);
            closed = true;
        }
        flush(&mut libutp, socket);
        if libutp.status(id).gone {
            return;
        }
    }
}
