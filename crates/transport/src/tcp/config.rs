use crate::congestion::{HyStartKind, Kind, Ledbat};
use crate::pacing::Pacing;
use flashcrowd_base::{Refusal, Settings, Span};
use serde::{Deserialize, Serialize};

/// IPv4 and TCP headers without options.
pub(super) const BARE_HEADER_BYTES: u32 = 40;
/// Bytes that the timestamp option adds to every segment (RFC 7323, padded).
pub(super) const TIMESTAMP_BYTES: u32 = 12;

/// The least and the greatest retransmission timeout that a stack may have.
const RTO: (Span, Span) = (Span::from_millis(1), Span::from_secs(3600));

flashcrowd_base::settings! {
    /// A TCP stack: everything about it that can change a number.
    ///
    /// There are no defaults: a configuration is written out in full, so that it can be saved with the results.
    /// [`profiles`](super::profiles) has complete ones. Sizes are of payload unless the field says otherwise.
    pub struct Config {
        /// The name of this stack in reports.
        pub name: String,
        /// Largest IP packet.
        ///
        /// The segment size is this less 40 bytes of headers, and less 12 more where timestamps are in use.
        #[min(256)]
        #[max(65_535)]
        pub mtu_bytes: u32,
        /// Offer timestamps (RFC 7323), 12 bytes in each segment.
        pub timestamps: bool,
        /// Timestamps take no room in a segment, as in ns-2, whose packets carry them outside of their 40 bytes of
        /// headers.
        pub free_timestamps: bool,
        /// Offer window scaling. Unless both ends do, windows end at 65535 bytes.
        pub window_scaling: bool,
        /// Offer selective acknowledgements (RFC 2018). Without them, recovery is NewReno's (RFC 6582).
        pub sack: bool,
        /// With SACK, report data that arrives twice, and believe such reports (D-SACK, RFC 2883).
        ///
        /// A report that a retransmission was unnecessary takes a reduction back (with `undo`), and widens RACK's
        /// reordering window (RFC 8985, section 6.2).
        pub dsack: bool,
        /// With SACK, count everything below the highest SACKed byte as having left the network (FACK, as Linux did
        /// until 4.15). Otherwise segments count that were SACKed (RFC 6675).
        pub forward_ack: bool,
        /// With SACK, find losses by time: a segment is lost when one sent sufficiently later has arrived (RFC 8985).
        /// Replaces both counts.
        pub rack: bool,
        /// How the window comes down during recovery.
        pub reduction: Reduction,
        /// The congestion controller.
        pub controller: Kind,
        /// The parameters of a controller of the LEDBAT family; the others do not read it.
        #[table]
        pub ledbat: Option<Ledbat>,
        /// How slow start ends before a loss ends it; CUBIC only.
        pub hystart: HyStartKind,
        /// Spread packets over the round trip; "fq" as Linux does. BBR paces with either.
        pub pacing: Pacing,
        /// Slow start grows by one segment for each acknowledgement, however much it covers (Linux before 3.13,
        /// Windows XP).
        pub count_acks: bool,
        /// Send one new segment on each of the first two duplicate acknowledgements (RFC 3042).
        pub limited_transmit: bool,
        /// Probe after about two round trips of silence instead of waiting for the retransmission timer (RFC 8985,
        /// section 7). Needs SACK.
        pub tail_loss_probe: bool,
        /// Take a window reduction back when timestamps (RFC 3522, RFC 4015) or D-SACKs (RFC 3708) prove that nothing
        /// was lost.
        pub undo: bool,
        /// Explicit congestion notification: never, if the other end asks, ask for RFC 3168, or ask for RFC 9768
        /// (AccECN).
        pub ecn: Ecn,
        /// Initial window, in segments.
        #[min(1)]
        #[max(1000)]
        pub initial_window_segments: u32,
        /// Retransmission timeout before the first round-trip sample.
        #[min(RTO.0)]
        #[max(RTO.1)]
        pub initial_rto_ns: Span,
        /// Least retransmission timeout.
        #[min(RTO.0)]
        #[max(RTO.1)]
        pub min_rto_ns: Span,
        /// Greatest retransmission timeout, back-off included.
        #[min(RTO.0)]
        #[max(RTO.1)]
        #[at_least(min_rto_ns, initial_rto_ns)]
        pub max_rto_ns: Span,
        /// Keep a doubled timeout until something that was sent once is measured (RFC 6298, section 5). Otherwise any
        /// acknowledgement of new data ends the back-off, as in ns-2 (TcpAgent::newack).
        pub karn: bool,
        /// Without timestamps, measure one segment at a time, as 4.4BSD and ns-2 do (rtt_active_), and not each.
        pub one_rtt_sample: bool,
        /// The part that `min_rto` bounds: the variance term (Linux) or the timeout itself (RFC
        /// 6298).
        pub rto_floor: RtoFloor,
        /// When the receiver acknowledges.
        #[table]
        pub delayed_ack: DelayedAck,
        /// When a segment that is not full must wait.
        pub nagle: Nagle,
        /// The window that the receiver advertises.
        #[table]
        pub receive_window: ReceiveWindow,
        /// How the receive buffer is tuned, if it is: with a margin of 16 segments, or without one.
        pub right_sizing: RightSizing,
        /// How much unacknowledged and unsent data the sender holds.
        #[table]
        pub send_buffer: SendBuffer,
        /// Grow the congestion window only if it was the limit, and let it decay while unused (RFC 2861).
        ///
        /// In slow start it grows while it is below twice the data that was in flight, later only if it was full
        /// (Linux; compare RFC 7661).
        pub app_limited_validation: bool,
        /// After silence for longer than the retransmission timeout, halve the window once per timeout, down to the
        /// initial window (RFC 2861, RFC 5681 section 4.1).
        pub idle_restart: bool,
        /// With `idle_restart`, go down to the initial window at once (RFC 5681, section 4.1; ns-2's
        /// `slow_start_restart_`) instead of halving.
        pub idle_restart_at_once: bool,
        /// Largest super-segment that the sender hands to its network card to cut up; "0 B" for none.
        #[max(1 << 20)]
        pub tso_bytes: u32,
        /// PSH on the last segment of each TSO packet of several (Linux), also where they leave one by one.
        ///
        /// Linux: tcp_transmit_skb, since 4.20. A receiver that has read all then acknowledges it at once
        /// (tcp_measure_rcv_mss, since 6.7), and not with the next one.
        pub tso_push: bool,
        /// Wait for room for a whole TSO packet behind what was just sent, if the next acknowledgement is expected
        /// within a millisecond (Linux).
        ///
        /// TSO packets are cut from buffers of 64 KiB (tcp_tso_should_defer, as since 6.18), also where their segments
        /// leave one by one.
        pub tso_defer: bool,
        /// How often a SYN is retransmitted before the connection fails.
        #[max(100)]
        pub syn_retries: u32,
        /// How often in a row the timer may resend data before the connection fails.
        #[max(100)]
        pub data_retries: u32,
        /// How long the end that closed first stays to answer a retransmitted FIN.
        pub time_wait_ns: Span,
    }

    /// When the receiver acknowledges data that arrives in order.
    ///
    /// Out-of-order data and data that fills a gap are acknowledged at once.
    #[derive(Eq)]
    pub struct DelayedAck {
        /// Acknowledge at once when this many full segments have arrived; 1 acknowledges everything.
        #[min(1)]
        #[max(1000)]
        pub segments: u32,
        /// Shortest wait for more data. Between this and `max` the wait follows the time between segments, as in
        /// Linux.
        #[max(Span::from_secs(1))]
        pub min_ns: Span,
        /// Longest wait for more data.
        #[max(Span::from_secs(1))]
        #[at_least(min_ns)]
        pub max_ns: Span,
        /// How many segments are acknowledged one by one at the start, after a pause longer than the retransmission
        /// timeout and after data that comes twice. If any, so is each segment with which the window grows.
        ///
        /// Linux: 16; none while data also flows the other way.
        pub quick_acks: u32,
        /// Whether an acknowledgement that could not open the window waits until the application has read.
        ///
        /// It is sent then at once, and likewise when the application has read the end of what looks like a write
        /// (Linux).
        pub on_read: bool,
    }

    /// The window that the receiver advertises.
    #[derive(Eq)]
    pub struct ReceiveWindow {
        /// First window. It opens by two segments per full segment received, up to `buffer`.
        #[min(512)]
        #[max(1 << 30)]
        pub initial_bytes: u64,
        /// The receive buffer before any tuning.
        #[min(512)]
        #[max(1 << 30)]
        #[at_least(initial_bytes)]
        pub buffer_bytes: u64,
        /// The receive buffer's limit when it is tuned.
        #[min(512)]
        #[max(1 << 30)]
        #[at_least(buffer_bytes)]
        pub max_bytes: u64,
        /// Enlarge the buffer to twice of what the application reads in a round trip (dynamic right-sizing).
        pub autotune: bool,
    }

    /// How much unacknowledged and unsent data the sender holds.
    #[derive(Eq)]
    pub struct SendBuffer {
        /// Size before any tuning.
        #[min(512)]
        #[max(1 << 30)]
        pub initial_bytes: u64,
        /// Limit when tuned.
        #[min(512)]
        #[max(1 << 30)]
        #[at_least(initial_bytes)]
        pub max_bytes: u64,
        /// Keep it at twice the largest congestion window of the connection.
        ///
        /// Space that was reported to the application is not taken back (Linux: tcp_sndbuf_expand).
        pub autotune: bool,
    }
}

/// How the congestion window comes down to the controller's new value during recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Reduction {
    /// At once (RFC 6582, RFC 6675): silence for part of a round trip, then one segment per
    /// acknowledgement.
    Classic,
    /// One segment less for every second acknowledgement (Linux before 3.2).
    RateHalving,
    /// In proportion to what is delivered (RFC 9937).
    Prr,
    /// At once, as ns-2's FullTcp/Newreno has it (tcp-full.cc).
    ///
    /// A partial acknowledgement forgets all duplicates (pack_action), and recovery lasts until all is acknowledged that
    /// was sent before the last of them (fast_retransmit). Three duplicates after a timeout begin the same. Recovery ends at the new window, in a burst
    /// (ack_action). After the first partial one, an acknowledgement lets two new segments go at most
    /// (recov_maxburst_). The threshold is halved by each timeout, also by the second in a row (timeout_action). FullTcp
    /// advertises no window, so a duplicate acknowledgement is one with any window.
    Ns2,
}

impl Reduction {
    /// Whether the window is the new one from the first retransmission on.
    pub(super) fn is_at_once(self) -> bool {
        matches!(self, Reduction::Classic | Reduction::Ns2)
    }
}

/// Whether a connection answers congestion marks of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Ecn {
    /// No.
    Off,
    /// If the other end asks, as RFC 3168 has it (Linux's default, `net.ipv4.tcp_ecn` 2).
    Passive,
    /// Ask for RFC 3168: one answer a window.
    On,
    /// Ask for RFC 9768 (AccECN), which counts marked packets, and take RFC 3168 if the other end
    /// knows no more.
    Accurate,
}

/// The part that the least retransmission timeout bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RtoFloor {
    /// The variance term, which is moreover the greatest deviation of a round (Linux): the timeout
    /// is at least the smoothed round trip and the floor.
    Variance,
    /// The timeout itself (RFC 6298).
    Timeout,
}

/// When a segment that is not full must wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Nagle {
    /// Never (`TCP_NODELAY`).
    Off,
    /// While anything is unacknowledged (RFC 896).
    Classic,
    /// While another segment that was not full is unacknowledged (Minshall's variant, which Linux uses).
    Minshall,
}

/// Dynamic right-sizing of the receive buffer (Linux: tcp_rcv_space_adjust): room for twice of what the
/// application read in a round trip, and for as much again as that grew, twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum RightSizing {
    /// Up to Linux 6.15: and for 16 segments.
    #[serde(rename = "linux-2.6")]
    Linux2_6,
    /// Since Linux 6.16 (tcp_rcvbuf_grow): and for what waits above a gap. The receiver's estimate of
    /// the round trip falls at once, and rises only with what comes when all is read.
    #[serde(rename = "linux-6.16")]
    Linux6_16,
}

impl Config {
    /// Payload of a full segment if both ends use what this one offers.
    pub fn segment_bytes(&self) -> u32 {
        self.mtu_bytes - BARE_HEADER_BYTES - self.option_bytes(self.timestamps)
    }

    /// Bytes that options take from every segment.
    pub(super) fn option_bytes(&self, timestamps: bool) -> u32 {
        if timestamps && !self.free_timestamps { TIMESTAMP_BYTES } else { 0 }
    }

    /// Refuses values with which a connection could not work. A [`super::Connection`] may be made
    /// only with a configuration that passes.
    ///
    /// # Errors
    /// The first such value.
    pub fn check(&self) -> Result<(), Refusal> {
        self.check_bounds()?;
        let controller = self.controller.name();
        if self.controller.ledbat().is_some() && self.ledbat.is_none() {
            let allowed = format!("a table for the controller {controller}");
            return Err(Refusal::new("ledbat", "null", allowed));
        }
        if self.controller.needs_one_way_delay() && !self.timestamps {
            let allowed = format!("true, since the controller {controller} goes by one-way delay");
            return Err(Refusal::new("timestamps", false, allowed));
        }
        if let Some(ledbat) = &self.ledbat {
            ledbat.check().map_err(|refusal| refusal.inside("ledbat"))?;
        }
        let two_packets = 2 * u64::from(self.mtu_bytes);
        for (path, bytes) in [
            ("receive_window.initial_bytes", self.receive_window.initial_bytes),
            ("send_buffer.initial_bytes", self.send_buffer.initial_bytes),
        ] {
            if bytes < two_packets {
                let allowed = format!("a size of at least two packets, {two_packets} B");
                return Err(Refusal::new(path, bytes, allowed));
            }
        }
        Ok(())
    }
}
