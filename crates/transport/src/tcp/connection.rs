use super::config::Config;
use super::segment::Segment;
use flashcrowd_base::{Span, Time};
use std::sync::Arc;

/// Where a connection stands (RFC 9293, without LISTEN, which is the driver's).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// A SYN was sent, or received and answered; nothing is agreed yet.
    Connecting,
    /// Data flows both ways.
    Established,
    /// This end has closed: its FIN is sent or waits behind data. The other end still may write.
    Closing,
    /// The other end has closed, this one has not.
    PeerClosed,
    /// Both ends have closed, and our FIN is not acknowledged yet.
    LastAck,
    /// Both ends have closed and everything is acknowledged; the connection stays to answer a
    /// repeated FIN. A driver may drop it if nothing is in the network.
    TimeWait,
    /// Over.
    Closed {
        /// Why.
        reason: CloseReason,
    },
}

/// Why a connection is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// Both ends closed and everything was delivered.
    Finished,
    /// This end called [`Connection::abort`].
    Aborted,
    /// The other end sent RST.
    Reset,
    /// The other end did not answer for too long.
    TimedOut,
}

/// Counters and estimates of one connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Smoothed round-trip time; zero before the first sample.
    pub srtt: Span,
    /// The latest round-trip sample; zero before the first.
    pub rtt: Span,
    /// Least round-trip time; zero before the first sample.
    pub min_rtt: Span,
    /// Retransmission timeout, back-off included.
    pub rto: Span,
    /// Congestion window in bytes.
    pub cwnd: u64,
    /// Slow-start threshold in bytes; `u64::MAX` before the first reduction.
    pub ssthresh: u64,
    /// Bytes believed to be in the network.
    pub in_flight: u64,
    /// What the other end accepts beyond the acknowledged data, in bytes.
    pub peer_window: u64,
    /// Segments sent, super-segments counted as one; pure acknowledgements included.
    pub segments_sent: u64,
    /// Data segments sent again, counted in frames.
    pub segments_retransmitted: u64,
    /// Payload bytes sent again.
    pub bytes_retransmitted: u64,
    /// Own payload bytes that the other end acknowledged.
    pub bytes_acked: u64,
    /// Payload bytes that arrived in order.
    pub bytes_received: u64,
    /// Segments received.
    pub segments_received: u64,
    /// How often the retransmission timer fired.
    pub timeouts: u32,
    /// How often fast recovery began.
    pub recoveries: u32,
    /// How often a reduction was taken back as spurious.
    pub undone: u32,
}

/// One end of a TCP connection, both directions. See the [module](super) for how to drive it.
#[derive(Clone, Debug)]
pub struct Connection {
    config: Arc<Config>,
}

#[allow(unused_variables)]
impl Connection {
    /// Opens a connection: a SYN can be polled at once.
    pub fn connect(config: &Arc<Config>, now: Time) -> Connection {
        todo!()
    }

    /// Answers a SYN that arrived: a SYN with ACK can be polled at once.
    pub fn accept(config: &Arc<Config>, now: Time, syn: &Segment) -> Connection {
        todo!()
    }

    /// A segment arrived.
    pub fn receive(&mut self, now: Time, segment: &Segment) {
        todo!()
    }

    /// What to put on the wire next. Repeat until `None` after every other call with `&mut self`.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        todo!()
    }

    /// When [`on_timer`](Connection::on_timer) wants to be called. Cheap; it may move either way with every other call.
    pub fn next_timer(&self) -> Option<Time> {
        todo!()
    }

    /// Time has passed. Early calls do nothing.
    pub fn on_timer(&mut self, now: Time) {
        todo!()
    }

    /// The application offers `bytes`; returns how many the send buffer took. Nothing after [`close`](Connection::close).
    pub fn write(&mut self, now: Time, bytes: u64) -> u64 {
        todo!()
    }

    /// How many bytes [`write`](Connection::write) would take.
    pub fn write_space(&self) -> u64 {
        todo!()
    }

    /// Bytes that arrived in order and were not read.
    pub fn readable(&self) -> u64 {
        todo!()
    }

    /// The application consumed `bytes`, at most [`readable`](Connection::readable).
    pub fn read(&mut self, now: Time, bytes: u64) {
        todo!()
    }

    /// Sends FIN after everything that is queued. Reading goes on.
    pub fn close(&mut self, now: Time) {
        todo!()
    }

    /// Ends the connection with a RST, which can be polled at once.
    pub fn abort(&mut self, now: Time) {
        todo!()
    }

    /// Where the connection stands.
    pub fn state(&self) -> State {
        todo!()
    }

    /// Whether the handshake is done and the connection not over.
    pub fn is_established(&self) -> bool {
        todo!()
    }

    /// Whether the connection is over.
    pub fn is_closed(&self) -> bool {
        todo!()
    }

    /// Whether the other end's FIN has arrived and everything before it was read: end of file.
    pub fn peer_closed(&self) -> bool {
        todo!()
    }

    /// Counters and estimates.
    pub fn stats(&self) -> Stats {
        todo!()
    }
}
