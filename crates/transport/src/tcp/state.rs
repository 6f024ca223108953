pub use super::recovery::Phase;
use flashcrowd_base::Span;

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
    /// retransmitted FIN. A driver may drop it if nothing is in the network.
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
    /// This end called [`Connection::abort`](super::Connection::abort), or
    /// [`Connection::close`](super::Connection::close) before its SYN was answered.
    Aborted,
    /// The other end sent RST.
    Reset,
    /// The other end did not answer for too long.
    TimedOut,
}

/// The purpose of a connection's one timer for losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossTimer {
    /// Neither SYN nor its answer was answered.
    Handshake,
    /// Retransmission timeout (RFC 6298).
    Retransmission,
    /// Tail-loss probe (RFC 8985, section 7).
    LossProbe,
    /// A segment that may only be reordered counts as lost (RFC 8985, section 6.2).
    Reordering,
    /// Probe of a closed window (RFC 9293, section 3.8.6.1).
    Persist,
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
    /// Mean deviation of the round-trip time (RFC 6298: RTTVAR; Linux: `tcpi_rttvar`); zero before the first
    /// sample.
    pub rttvar: Span,
    /// Retransmission timeout, back-off included.
    pub rto: Span,
    /// How often the timeout was doubled since a round trip was measured (Linux: `tcpi_backoff`).
    pub backoff: u32,
    /// Congestion window in bytes.
    pub cwnd: u64,
    /// Slow-start threshold in bytes; `u64::MAX` before the first reduction.
    pub ssthresh: u64,
    /// Bytes believed to be in the network.
    pub in_flight: u64,
    /// Payload of a full segment.
    pub mss: u16,
    /// The phase after losses and marks.
    pub phase: Phase,
    /// Bytes sent and not acknowledged, a FIN counted as one.
    pub outstanding: u64,
    /// Those of them that were SACKed, count as lost, and were retransmitted and are under way.
    pub sacked: u64,
    /// See [`sacked`](Stats::sacked).
    pub lost: u64,
    /// See [`sacked`](Stats::sacked).
    pub retransmitted_in_flight: u64,
    /// Segments that later ones may overtake without being lost.
    pub reordering: u32,
    /// Packets that arrived marked, by accurate feedback (RFC 9768).
    pub delivered_marked: u64,
    /// Bytes that the other end accepts beyond the acknowledged data.
    pub peer_window: u64,
    /// Segments sent, super-segments counted as one; pure acknowledgements included.
    pub segments_sent: u64,
    /// Segments sent again, counted in frames: data, FIN, and this end's SYN (Linux:
    /// `tcpi_total_retrans`).
    pub segments_retransmitted: u64,
    /// Payload bytes sent again.
    pub bytes_retransmitted: u64,
    /// Own payload bytes that the other end acknowledged.
    pub bytes_acked: u64,
    /// Payload bytes that arrived in order.
    pub bytes_received: u64,
    /// Segments received.
    pub segments_received: u64,
    /// How often the retransmission timer fired, for a SYN, too.
    pub timeouts: u32,
    /// How often fast recovery began.
    pub recoveries: u32,
    /// How often a reduction was taken back as spurious.
    pub undone: u32,
    /// How often a segment was declared lost; one that was sent again may be once more.
    pub segments_lost: u32,
    /// Entries that memory is held for: segments sent and not acknowledged, ranges out of order.
    pub ranges_held: usize,
}
