use flashcrowd_base::Span;

/// Where a connection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// A SYN was sent and not answered, or answered and not confirmed.
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
    Lingering,
    /// Over.
    Closed {
        /// Why.
        reason: CloseReason,
    },
}

/// Why a connection is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// Both ends closed and everything was delivered; or this end has let go, and everything that
    /// it wrote was delivered.
    Finished,
    /// This end called [`Connection::abort`](super::Connection::abort).
    Aborted,
    /// The other end sent RESET before it had everything.
    Reset,
    /// The other end did not answer for too long; or this end was released and the other kept its
    /// window shut.
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
    /// Mean deviation of the round-trip time (RFC 6298: RTTVAR); zero before the first sample.
    pub rttvar: Span,
    /// Retransmission timeout, back-off included.
    pub rto: Span,
    /// Timeouts in a row that the back-off counts.
    pub backoff: u32,
    /// The latest one-way delay above the least, in our direction; zero before the first sample.
    pub queueing_delay: Span,
    /// Congestion window in bytes.
    pub cwnd: u64,
    /// Slow-start threshold in bytes; `u64::MAX` before the first reduction.
    pub ssthresh: u64,
    /// Bytes believed to be in the network.
    pub in_flight: u64,
    /// Receive window last advertised by the other end, in bytes.
    pub peer_window: u64,
    /// Payload of a full packet now.
    pub packet_bytes: u64,
    /// Packets sent, of every kind.
    pub packets_sent: u64,
    /// SYN, DATA and FIN packets sent again.
    pub packets_retransmitted: u64,
    /// Payload bytes sent again.
    pub bytes_retransmitted: u64,
    /// Own payload bytes that the other end acknowledged.
    pub bytes_acked: u64,
    /// Payload bytes that arrived in order.
    pub bytes_received: u64,
    /// Packets received that were plausible.
    pub packets_received: u64,
    /// Packets that were ignored, because their numbers were impossible or nothing could be kept.
    pub packets_ignored: u64,
    /// DATA and FIN packets that arrived again.
    pub packets_duplicate: u64,
    /// How often the retransmission timer fired with something in the network.
    pub timeouts: u32,
    /// How often the window was cut for a loss.
    pub reductions: u32,
    /// How often a packet was declared lost; one that was sent again may be once more.
    pub packets_lost: u64,
    /// Packets that measured the path and were lost.
    pub probes_lost: u32,
    /// Packets that memory is held for: sent and not acknowledged, or arrived out of order.
    pub packets_held: usize,
    /// Payload bytes that the driver holds for this connection: readable or out of order.
    pub bytes_held: u64,
}
