use flashcrowd_base::{Rate, Span, Time};

/// An event of a log.
pub(crate) struct Logged {
    /// Index of the log.
    pub(crate) log: u32,
    pub(crate) at: Time,
    pub(crate) event: LogEvent,
}

/// Events at one end of a connection, under qlog's names where it has them.
pub(crate) enum LogEvent {
    /// `connection_started`
    Started,
    /// `connection_state_updated`
    State { old: Option<&'static str>, new: &'static str },
    /// `connection_closed`
    Closed { trigger: &'static str },
    /// `packet_sent`, or `packet_received`
    Packet { sent: bool, packet: PacketSeen },
    /// `packet_lost`: the number of the packet, and what it carried.
    Lost { number: u64, offset: u64, bytes: u32, trigger: &'static str },
    /// `metrics_updated`
    Metrics(Metrics),
    /// `congestion_state_updated`
    Congestion { old: Option<&'static str>, new: &'static str, trigger: Option<&'static str> },
    /// `loss_timer_updated`
    Timer { change: &'static str, timer: &'static str, delay: Option<Span> },
    /// `recovery_undone`, which qlog does not have: a reduction was spurious.
    Undone,
}

impl LogEvent {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            LogEvent::Started => "connection_started",
            LogEvent::State { .. } => "connection_state_updated",
            LogEvent::Closed { .. } => "connection_closed",
            LogEvent::Packet { sent: true, .. } => "packet_sent",
            LogEvent::Packet { sent: false, .. } => "packet_received",
            LogEvent::Lost { .. } => "packet_lost",
            LogEvent::Metrics(_) => "metrics_updated",
            LogEvent::Congestion { .. } => "congestion_state_updated",
            LogEvent::Timer { .. } => "loss_timer_updated",
            LogEvent::Undone => "recovery_undone",
        }
    }
}

/// A packet as one end sees it: a frame of TCP, or a packet of uTP.
pub(crate) struct PacketSeen {
    pub(crate) kind: &'static str,
    /// Its number among those that this end sent.
    pub(crate) number: Option<u64>,
    /// Size of the IP packet, and of its payload.
    pub(crate) ip_bytes: u32,
    pub(crate) payload_bytes: u32,
    /// Offset of the payload in its sender's stream.
    pub(crate) offset: Option<u64>,
    /// uTP: its number on the wire.
    pub(crate) seq_nr: Option<u16>,
    /// Cumulative acknowledgement: an offset, or uTP's number of a packet.
    pub(crate) ack: Option<u64>,
    /// Selective acknowledgement, in the same numbers.
    pub(crate) sack: Option<Box<str>>,
    /// Receive window of its sender.
    pub(crate) window: u32,
    /// Whether it is a retransmission.
    pub(crate) again: Option<bool>,
    /// Codepoint in the IP header, if any.
    pub(crate) ecn: Option<&'static str>,
}

/// Metrics of one end: congestion control and estimates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Metrics {
    pub(crate) congestion_window: u64,
    pub(crate) bytes_in_flight: u64,
    /// None before the first reduction.
    pub(crate) ssthresh: Option<u64>,
    /// None before the first sample, as are the next three.
    pub(crate) smoothed_rtt: Option<Span>,
    pub(crate) rtt_variance: Option<Span>,
    pub(crate) min_rtt: Option<Span>,
    pub(crate) latest_rtt: Option<Span>,
    pub(crate) rto: Span,
    pub(crate) backoff: u32,
    /// None where the window alone decides.
    pub(crate) pacing_rate: Option<Rate>,
    pub(crate) bytes_acked: u64,
    /// How often a packet was declared lost.
    pub(crate) packets_lost: u64,
    pub(crate) peer_window: u64,
    /// TCP with accurate ECN: packets delivered with CE.
    pub(crate) ce_packets: Option<u64>,
    /// uTP: the latest one-way delay above the least.
    pub(crate) queueing_delay: Option<Span>,
}
