use super::clock::monotonic_ns;
use crate::crossing::{Crossing, InTransit};
use crate::datagram::{self, Datagram, Parcel};
use crate::offset::{Estimate, Offset};
use flashcrowd_base::Span;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use serde::Serialize;
use std::io;
use std::net::{SocketAddr, UdpSocket};

/// Datagrams that are read before hosts have their turn.
const READS: usize = 64;
/// The receive buffer that the kernel is asked for.
const BACKLOG_BYTES: usize = 8 << 20;
/// Between two echoes while the run goes on, and before.
const ECHO: Span = Span::from_millis(50);
const TUNING: Span = Span::from_millis(4);
/// The node whose clock is the run's.
const FIRST: u32 = 0;

/// A node among those that play a plan together.
#[derive(Debug)]
pub struct Company {
    /// The socket by which it is reached.
    pub socket: OwnedFd,
    /// Number of the run, the same on all of its nodes and no other's.
    pub run: u64,
    /// Where all nodes are reached, by number, this one included.
    pub nodes: Vec<SocketAddr>,
}

/// Packets carried between nodes, as one of them saw it.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct CarrierReport {
    /// Packets that this node's kernel did not take.
    pub refused: u64,
    /// Packets to this node that are missing, as later ones show.
    pub lost: u64,
    /// Packets that came after they were due.
    pub late: u64,
    /// The most by which this node's clock may have been wrong, in seconds, in any second.
    pub uncertainty_s: f64,
    /// The least round trip to the node whose clock is the run's, in seconds.
    pub round_trip_s: f64,
}

/// Carries packets to other nodes and from them, and keeps time with the first of them.
#[derive(Debug)]
pub(crate) struct Carrier {
    socket: UdpSocket,
    run: u64,
    node: u32,
    nodes: Vec<SocketAddr>,
    /// Packets to send, and the number that came, by node.
    parcels: Vec<Parcel>,
    came: Vec<Came>,
    offset: Offset,
    next_echo_ns: u64,
    report: CarrierReport,
    buffer: Box<[u8]>,
}

/// The packets of one node: the number behind the highest, and how many.
#[derive(Clone, Copy, Debug, Default)]
struct Came {
    next: u64,
    packets: u64,
}

impl Carrier {
    pub(crate) fn new(company: Company, node: u32) -> io::Result<Carrier> {
        let socket = UdpSocket::from(company.socket);
        socket.set_nonblocking(true)?;
        // The kernel cuts the size to what it allows, and reports no error.
        rustix::net::sockopt::set_socket_recv_buffer_size(&socket, BACKLOG_BYTES)?;
        let parcels = company.nodes.iter().map(|_| Parcel::new(company.run, node));
        Ok(Carrier {
            socket,
            run: company.run,
            node,
            parcels: parcels.collect(),
            came: vec![Came::default(); company.nodes.len()],
            nodes: company.nodes,
            offset: Offset::default(),
            next_echo_ns: 0,
            report: CarrierReport::default(),
            buffer: vec![0; 1 << 16].into_boxed_slice(),
        })
    }

    /// Asks the first node for the time again and again, and answers the questions of others.
    pub(crate) fn tune(&mut self, over: Span) -> io::Result<Option<Estimate>> {
        let end = monotonic_ns() + over.nanos();
        let mut next = 0;
        while monotonic_ns() < end {
            let now = monotonic_ns();
            if self.node != FIRST && now >= next {
                self.ask(now);
                next = now + TUNING.nanos();
            }
            let mut polled = [PollFd::new(&self.socket, PollFlags::IN)];
            let wait = Timespec { tv_sec: 0, tv_nsec: TUNING.nanos() as i64 };
            match poll(&mut polled, Some(&wait)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            // There are no packets before the run begins.
            self.receive(&mut |_, _| {})?;
        }
        Ok(self.settle())
    }

    fn ask(&mut self, now_ns: u64) {
        self.send(FIRST, &datagram::echo(self.run, self.node, now_ns));
    }

    /// Whether the kernel took it.
    fn send(&self, node: u32, bytes: &[u8]) -> bool {
        self.socket.send_to(bytes, self.nodes[node as usize]).is_ok()
    }

    /// When the first node is asked next, by this machine's clock; `None` if this is the first.
    pub(crate) fn next_echo_ns(&self) -> Option<u64> {
        (self.node != FIRST).then_some(self.next_echo_ns)
    }

    /// Asks the first node for the time if it is time for that.
    pub(crate) fn keep_time(&mut self) {
        let now = monotonic_ns();
        if self.node != FIRST && now >= self.next_echo_ns {
            self.ask(now);
            self.next_echo_ns = now + ECHO.nanos();
        }
    }

    /// The estimate of the first node's clock: the best echo since the last call.
    pub(crate) fn settle(&mut self) -> Option<Estimate> {
        let now = monotonic_ns();
        let known = self.offset.settle(now)?;
        let report = &mut self.report;
        report.uncertainty_s = report.uncertainty_s.max(known.uncertainty(now).seconds());
        let before = if report.round_trip_s > 0.0 { report.round_trip_s } else { f64::INFINITY };
        report.round_trip_s = before.min(known.round_trip.seconds());
        Some(known)
    }

    /// Takes a packet for another node; it leaves with the others at the next [`flush`](Carrier::flush).
    pub(crate) fn add(&mut self, crossing: &Crossing<'_>) {
        if !self.parcels[crossing.node as usize].has_room(crossing.packet.len()) {
            self.post(crossing.node);
        }
        self.parcels[crossing.node as usize].add(crossing.place, crossing.packet);
    }

    /// Sends what is to be sent.
    pub(crate) fn flush(&mut self) {
        for node in 0..self.parcels.len() as u32 {
            if self.parcels[node as usize].packets() > 0 {
                self.post(node);
            }
        }
    }

    fn post(&mut self, node: u32) {
        let parcel = &self.parcels[node as usize];
        if !self.send(node, parcel.bytes()) {
            self.report.refused += parcel.packets();
        }
        self.parcels[node as usize].clear();
    }

    /// Reads what has come; `take` gets packets.
    pub(crate) fn receive(&mut self, take: &mut impl FnMut(InTransit, &[u8])) -> io::Result<()> {
        for _ in 0..READS {
            let (bytes, from) = match self.socket.recv_from(&mut self.buffer) {
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let now = monotonic_ns();
            let Some((node, datagram)) = datagram::read(self.run, &self.buffer[..bytes]) else {
                continue; // From a stranger.
            };
            if self.nodes.get(node as usize) != Some(&from) {
                continue;
            }
            match datagram {
                Datagram::Echo { asked_ns } => {
                    let told = datagram::answer(self.run, self.node, asked_ns, now, monotonic_ns());
                    self.send(node, &told);
                }
                Datagram::Answer { asked_ns, heard_ns, answered_ns } => {
                    self.offset.hear(asked_ns, heard_ns, answered_ns, now);
                }
                Datagram::Packets { first, records } => {
                    let came = &mut self.came[node as usize];
                    let before = came.packets;
                    for (place, packet) in records {
                        came.packets += 1;
                        take(place, packet);
                    }
                    came.next = came.next.max(first.saturating_add(came.packets - before));
                }
            }
        }
        Ok(())
    }

    /// `packets` packets came after they were due.
    pub(crate) fn note_late(&mut self, packets: u64) {
        self.report.late += packets;
    }

    pub(crate) fn report(&self) -> CarrierReport {
        let lost = self.came.iter().map(|came| came.next.saturating_sub(came.packets)).sum();
        CarrierReport { lost, ..self.report }
    }
}

impl AsFd for Carrier {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
