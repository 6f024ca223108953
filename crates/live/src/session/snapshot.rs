use flashcrowd_transport::utp::Stats;
use serde::Serialize;

/// Counters and estimates of a connection, in the units of reports; `None` is what its transport, or the
/// system, does not report.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Snapshot {
    /// The congestion controller that the system uses (TCP).
    pub congestion: Option<String>,
    /// Smoothed round-trip time, in milliseconds; 0 before the first sample.
    pub rtt_ms: Option<f64>,
    /// Least round-trip time, in milliseconds.
    pub min_rtt_ms: Option<f64>,
    /// The latest one-way delay above the least, in milliseconds (uTP).
    pub queueing_delay_ms: Option<f64>,
    /// Congestion window, in bytes.
    pub window_bytes: Option<u64>,
    /// Bytes in the network.
    pub in_flight_bytes: Option<u64>,
    /// The window of the other end, in bytes.
    pub peer_window_bytes: Option<u64>,
    /// Payload of a full packet.
    pub packet_bytes: Option<u64>,
    /// Payload bytes that the other end has acknowledged, those of the protocol included.
    pub acknowledged_bytes: Option<u64>,
    /// Packets sent, of every kind.
    pub packets_sent: Option<u64>,
    /// Packets sent again.
    pub packets_retransmitted: Option<u64>,
    /// Packets received.
    pub packets_received: Option<u64>,
    /// Packets that had been received before (uTP).
    pub packets_duplicate: Option<u64>,
    /// Retransmission timeouts (uTP).
    pub timeouts: Option<u32>,
    /// Cuts of the congestion window (uTP).
    pub reductions: Option<u32>,
}

impl From<Stats> for Snapshot {
    fn from(stats: Stats) -> Snapshot {
        Snapshot {
            congestion: None,
            rtt_ms: Some(stats.srtt.seconds() * 1e3),
            min_rtt_ms: Some(stats.min_rtt.seconds() * 1e3),
            queueing_delay_ms: Some(stats.queueing_delay.seconds() * 1e3),
            window_bytes: Some(stats.cwnd),
            in_flight_bytes: Some(stats.in_flight),
            peer_window_bytes: Some(stats.peer_window),
            packet_bytes: Some(stats.packet_bytes),
            acknowledged_bytes: Some(stats.bytes_acked),
            packets_sent: Some(stats.packets_sent),
            packets_retransmitted: Some(stats.packets_retransmitted),
            packets_received: Some(stats.packets_received),
            packets_duplicate: Some(stats.packets_duplicate),
            timeouts: Some(stats.timeouts),
            reductions: Some(stats.reductions),
        }
    }
}
