use super::packet::HEADER_BYTES;
use super::sack::MAX_SACK_BYTES;
use crate::congestion::{HyStartKind, Kind, Ledbat};
use crate::pacing::Pacing;
use crate::tcp::Nagle;
use flashcrowd_base::{Span, Time};
use serde::{Deserialize, Serialize};

/// Packets in flight, and packets held out of order, at most: what the oldest implementations can
/// tell apart.
pub(super) const MAX_PACKETS: u32 = 1024;

/// Everything about a uTP stack that can change a number. Times are in nanoseconds, sizes in bytes.
///
/// There are no defaults: a configuration is written out in full, so that it can be saved with the
/// results. [`profiles`](super::profiles) has complete ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct Config {
    /// What reports call this stack.
    pub name: String,
    /// How large a datagram the path takes, and whether that is searched for.
    pub path_mtu: PathMtu,
    /// How much payload a packet carries.
    pub packet_size: PacketSize,
    /// What happens when the window has room for part of a packet only.
    pub window_fill: WindowFill,
    /// What happens when the window is smaller than one packet.
    pub small_window: SmallWindow,
    /// When a packet that is not full is held back; the FIN too, but not what is before it.
    pub nagle: Nagle,
    /// The congestion controller.
    pub controller: Kind,
    /// What a controller of the LEDBAT family needs; the others do not read it.
    pub ledbat: Option<Ledbat>,
    /// How slow start ends before a loss ends it. CUBIC only.
    pub hystart: HyStartKind,
    /// Whether packets are spread over the round trip where the controller has no rate of its own.
    pub pacing: Pacing,
    /// What the controller takes for a packet.
    pub window_packet: WindowPacket,
    /// Initial window, in packets.
    pub initial_window_packets: u32,
    /// Initial window in bytes, if that is more; 0 for packets alone.
    pub initial_window_bytes: u32,
    /// How much unacknowledged and unsent data the sender holds.
    pub send_buffer_bytes: u64,
    /// How much the receiver offers to hold for the application.
    pub receive_buffer_bytes: u64,
    /// How round trips are smoothed, and which are sampled.
    pub rtt_estimator: RttEstimator,
    /// Retransmission timeout before the first round-trip sample.
    pub initial_rto_ns: Span,
    /// Least retransmission timeout.
    pub min_rto_ns: Span,
    /// Greatest retransmission timeout, back-off included.
    pub max_rto_ns: Span,
    /// The timeout is the smoothed round trip and this many mean deviations.
    pub rto_deviations: u32,
    /// What one timeout in a row after another adds.
    pub backoff: Backoff,
    /// Keep the longer timeout until a packet that was sent once is acknowledged (Karn's algorithm,
    /// RFC 6298); otherwise any acknowledgement ends it.
    pub keep_backoff: bool,
    /// What starts the retransmission timer anew.
    pub timer_restart: TimerRestart,
    /// Timers are examined only at multiples of this (libutp: 500 ms); 0 examines them in time.
    pub timer_grain_ns: Span,
    /// How often a SYN is retransmitted before the connection fails.
    pub syn_retries: u32,
    /// How often in a row data may time out and be resent before the connection fails.
    pub data_retries: u32,
    /// The connection fails when the oldest packet times out and was sent so often, fast
    /// retransmissions included; 0 does not count them. `data_retries` holds as well.
    pub max_transmissions: u32,
    /// How losses are found before the timer finds them.
    pub loss_detection: LossDetection,
    /// How far behind the oldest unacknowledged packet an acknowledgement number may lie: packets
    /// with others are ignored, as forged. A small value rejects forged acknowledgements; with much
    /// reordering and data both ways, it also drops genuine packets that were overtaken.
    pub stale_acks: u32,
    /// Whether the window hears only of the bytes that the mask delivers where an acknowledgement has one, and
    /// not of those that its number does.
    pub masked_bytes_only: bool,
    /// Whether the retransmission timer goes on when nothing is in flight.
    pub idle_timer: IdleTimer,
    /// How the receiver acknowledges packets that arrived out of order.
    pub sack: SackPolicy,
    /// When the receiver acknowledges data that arrives in order.
    pub delayed_ack: DelayedAck,
    /// Acknowledge the end of the stream once at once and once more like any packet (libutp).
    pub acknowledge_end_twice: bool,
    /// A closed window of the other end is probed with one packet, first after a retransmission timeout
    /// and then at intervals that grow as its back-off does; this is the longest (libutp: every).
    pub zero_window_probe_ns: Span,
    /// Say something after this much silence, so that address translators keep their entry;
    /// 0 for never.
    pub keep_alive_ns: Span,
    /// Give up when nothing has arrived for this long, even if nothing is expected; 0 for never.
    pub silence_timeout_ns: Span,
    /// For how long an accepted connection may wait for a second packet of the other end.
    pub half_open_ns: Span,
    /// How long the end that closed first stays to answer a retransmitted FIN.
    pub linger_ns: Span,
}

/// How large a datagram the path takes: UDP payload, so uTP headers are included. Packets that
/// measure the path are data packets with the don't-fragment flag, one at a time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PathMtu {
    /// What every path takes.
    pub floor_bytes: u32,
    /// What no path is asked for more than.
    pub ceiling_bytes: u32,
    /// Begin with the ceiling (libutp) or with the floor.
    pub begin: SearchBegin,
    /// Search between the two until they are this close; the ceiling counts as the floor then.
    pub tolerance_bytes: u32,
    /// Search anew after this long.
    pub interval_ns: Span,
    /// The search never ends: every round trip has a probe, and one that is lost when nothing is left
    /// to be found begins a search from half-way down (libtorrent). `tolerance_bytes` and
    /// `interval_ns` are not read then. With `begin` at the floor only.
    pub endless: bool,
    /// Packets probe the path MTU only while the window holds more than this many datagrams of the
    /// size that is known to pass; 0 for any window.
    pub probe_window_datagrams: u32,
}

/// With which size a search for the path's maximum begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SearchBegin {
    /// With the largest: if it arrives, the search is over.
    Ceiling,
    /// With what is safe; probes go half way up.
    Floor,
}

/// How much payload a packet carries, unless the path takes less.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PacketSize {
    /// What the path takes.
    PathMtu,
    /// Always the same.
    Fixed {
        /// Payload in bytes.
        bytes: u32,
    },
    /// One of several sizes, by the rate.
    Ladder(Ladder),
}

/// Packets that grow with the rate, so that a slow line is not blocked for long by a large one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Ladder {
    /// Payload in bytes, rising. The first is where a connection begins. Above the last comes what
    /// the path takes.
    pub steps_bytes: Vec<u32>,
    /// How often a step may be taken.
    pub period_ns: Span,
    /// The target delay, by which rates are judged.
    pub target_ns: Span,
    /// Up when more than this many packets are sent per target delay,
    pub raise_packets: u32,
    /// and the window holds more than this many.
    pub raise_window_packets: u32,
    /// Down when fewer than this many packets are sent per target delay,
    pub lower_packets: u32,
    /// or the window holds fewer than this many.
    pub lower_window_packets: u32,
}

/// What happens when the window has room for part of a packet only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum WindowFill {
    /// Wait until a whole packet fits.
    Whole,
    /// Send a packet that fills the window to the byte.
    Exact {
        /// But none with less payload than this.
        least_bytes: u32,
    },
}

/// What happens when the window is smaller than one packet and nothing is in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SmallWindow {
    /// Nothing is sent until the timer restores one packet (libutp since 2012).
    Wait,
    /// A packet is sent whenever the window, spread over the least round trip, has paid for it
    /// (libutp of 2010).
    Paced,
}

/// What the controller takes for a packet: the least window, what it has to be short of to count as
/// used, and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum WindowPacket {
    /// Payload of a full packet.
    Payload,
    /// The datagram half-way between the bounds of the search for the path's maximum, header
    /// included (libtorrent: `m_mtu`).
    Probe,
}

/// How round trips are smoothed, and which are sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RttEstimator {
    /// Gains of an eighth and a quarter, of packets that were sent once (RFC 6298, Karn's rule).
    Rfc6298,
    /// The mean of what there was, then a gain of a sixteenth; of all packets, since the last time
    /// that each was sent, in whole milliseconds (libtorrent: `sliding_average<int, 16>`).
    SlidingAverage,
}

/// What starts the retransmission timer anew, and ends its back-off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum TimerRestart {
    /// An acknowledgement of something new (RFC 6298, 5.3).
    Progress,
    /// Any packet of the other end that is plausible (libtorrent). A timeout longer than the interval of the other end's
    /// keep-alives never comes.
    AnyPacket,
}

/// Whether the retransmission timer goes on when nothing is in flight, and the controller hears of
/// it: the window decays then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum IdleTimer {
    /// It stands still.
    Off,
    /// Each interval is longer, as with packets that time out (libutp).
    BackingOff,
    /// Each interval is a timeout (libtorrent).
    Steady,
}

/// What timeouts in a row add.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Backoff {
    /// Twice as long each time (BEP 29).
    Doubling,
    /// 1, 2, 4, ... seconds more (libtorrent).
    Seconds,
}

/// How losses are found before the timer finds them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LossDetection {
    /// The packet after the acknowledgement number is lost when this many STATE packets
    /// repeat the number; 0 counts none. Other packets do not count: they are sent for their data.
    pub duplicate_acks: u32,
    /// Whether a repeated number counts whatever window comes with it; otherwise one with a window that has
    /// opened is news (RFC 5681, section 2, definition of a duplicate).
    pub any_window: bool,
    /// Whether the count begins anew with any other packet (libutp), or only when something is acknowledged.
    pub in_a_row: bool,
    /// A packet is lost when a mask acknowledges at least this many later ones; 0 reads
    /// no masks.
    pub sacked_after: u32,
    /// Packets resent for one acknowledgement at most.
    pub resends_per_ack: u32,
    /// Whether a packet that was resent for a timeout can be found lost before the timer finds it.
    pub after_timeout: bool,
}

/// How the receiver acknowledges packets that arrived out of order, in STATE packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SackPolicy {
    /// Nothing.
    Off,
    /// A mask of this length of which the last two bits stay unused (libutp: 4 bytes, 30 packets).
    Fixed {
        /// A multiple of 4.
        bytes: u32,
    },
    /// A mask as long as the disorder, in steps of 4 bytes.
    AsNeeded,
}

/// When the receiver acknowledges data that arrives in order. Out-of-order data, data that fills a
/// gap and FIN are acknowledged at once. "At once" is when the driver polls: one that first delivers
/// everything that its socket has acknowledges once a batch, as libutp's drivers do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DelayedAck {
    /// Acknowledge at once when at least this many bytes wait. 0 acknowledges everything at once.
    pub bytes: u64,
    /// Longest wait.
    pub max_ns: Span,
}

/// Why a configuration cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {reason}")]
pub struct ConfigError {
    /// The field, as a dotted path.
    pub field: &'static str,
    /// What is allowed.
    pub reason: &'static str,
}

impl Config {
    /// When a timer that expires at `at` is looked at.
    #[inline]
    pub(super) fn examined(&self, at: Time) -> Time {
        let grain = self.timer_grain_ns.nanos();
        if grain == 0 || at == Time::NEVER {
            return at;
        }
        Time::from_nanos(at.nanos().div_ceil(grain).saturating_mul(grain))
    }

    /// Payload of the largest packet.
    pub fn packet_bytes(&self) -> u32 {
        self.path_mtu.ceiling_bytes - HEADER_BYTES
    }

    /// Refuses values with which a connection could not work. A [`Connection`](super::Connection)
    /// may be made only with a configuration that passes.
    pub fn check(&self) -> Result<(), ConfigError> {
        let milli = Span::from_millis(1);
        let hour = Span::from_secs(3600);
        let mtu = &self.path_mtu;
        let rules = [
            (
                (150..=65_000).contains(&mtu.floor_bytes),
                "path_mtu.floor_bytes",
                "must lie between 150 and 65000",
            ),
            (
                (mtu.floor_bytes..=65_000).contains(&mtu.ceiling_bytes),
                "path_mtu.ceiling_bytes",
                "must lie between path_mtu.floor_bytes and 65000",
            ),
            (
                mtu.interval_ns >= Span::from_secs(1),
                "path_mtu.interval_ns",
                "must be at least one second",
            ),
            (
                !mtu.endless || mtu.begin == SearchBegin::Floor,
                "path_mtu.endless",
                "goes with a search that begins with the floor",
            ),
            (
                mtu.probe_window_datagrams <= 1000,
                "path_mtu.probe_window_datagrams",
                "must be at most 1000",
            ),
            (
                self.initial_window_bytes <= 1 << 24,
                "initial_window_bytes",
                "must be at most 16777216",
            ),
            (
                (1..=1000).contains(&self.initial_window_packets),
                "initial_window_packets",
                "must lie between 1 and 1000",
            ),
            (
                self.send_buffer_bytes >= 2 * u64::from(mtu.ceiling_bytes),
                "send_buffer_bytes",
                "must be at least two packets",
            ),
            (
                (1..=1 << 30).contains(&self.receive_buffer_bytes),
                "receive_buffer_bytes",
                "must lie between 1 byte and 1 GiB",
            ),
            (self.initial_rto_ns >= milli, "initial_rto_ns", "must be at least 1 ms"),
            (self.min_rto_ns >= milli, "min_rto_ns", "must be at least 1 ms"),
            (
                self.max_rto_ns >= self.min_rto_ns && self.max_rto_ns >= self.initial_rto_ns,
                "max_rto_ns",
                "must not be less than min_rto_ns and initial_rto_ns",
            ),
            (self.max_rto_ns <= hour, "max_rto_ns", "must be at most one hour"),
            (
                (1..=16).contains(&self.rto_deviations),
                "rto_deviations",
                "must lie between 1 and 16",
            ),
            (
                self.timer_grain_ns <= Span::from_secs(10),
                "timer_grain_ns",
                "must be at most ten seconds",
            ),
            (
                self.ledbat.is_some() || self.controller.ledbat().is_none(),
                "ledbat",
                "must be given for a controller of the LEDBAT family",
            ),
            (self.stale_acks <= 1024, "stale_acks", "must be at most 1024"),
            (self.syn_retries <= 100, "syn_retries", "must be at most 100"),
            (self.data_retries <= 100, "data_retries", "must be at most 100"),
            (self.max_transmissions <= 1000, "max_transmissions", "must be at most 1000"),
            (
                (1..=64).contains(&self.loss_detection.resends_per_ack),
                "loss_detection.resends_per_ack",
                "must lie between 1 and 64",
            ),
            (
                match self.sack {
                    SackPolicy::Fixed { bytes } => {
                        bytes >= 4 && bytes % 4 == 0 && bytes as usize <= MAX_SACK_BYTES
                    }
                    SackPolicy::Off | SackPolicy::AsNeeded => true,
                },
                "sack.fixed.bytes",
                "must be a multiple of 4 between 4 and 24",
            ),
            (
                self.delayed_ack.max_ns <= Span::from_secs(1),
                "delayed_ack.max_ns",
                "must be at most one second",
            ),
            (
                self.delayed_ack.bytes == 0 || self.delayed_ack.max_ns >= milli,
                "delayed_ack.max_ns",
                "must be at least 1 ms where acknowledgements wait",
            ),
            (
                self.zero_window_probe_ns >= milli && self.zero_window_probe_ns <= hour,
                "zero_window_probe_ns",
                "must lie between 1 ms and one hour",
            ),
            (
                self.keep_alive_ns.is_zero() || self.keep_alive_ns >= Span::from_secs(1),
                "keep_alive_ns",
                "must be 0 or at least one second",
            ),
            (
                self.silence_timeout_ns.is_zero() || self.silence_timeout_ns >= Span::from_secs(1),
                "silence_timeout_ns",
                "must be 0 or at least one second",
            ),
            (
                self.half_open_ns >= Span::from_secs(1),
                "half_open_ns",
                "must be at least one second",
            ),
        ];
        let broken = rules.into_iter().find(|(holds, ..)| !holds);
        if let Some((_, field, reason)) = broken {
            return Err(ConfigError { field, reason });
        }
        if let Some(Err((field, reason))) = self.ledbat.as_ref().map(Ledbat::check) {
            return Err(ConfigError { field, reason });
        }
        self.check_packet_size()
    }

    fn check_packet_size(&self) -> Result<(), ConfigError> {
        let fail = |field, reason| Err(ConfigError { field, reason });
        match &self.packet_size {
            PacketSize::PathMtu => Ok(()),
            PacketSize::Fixed { bytes } if (1..=65_000).contains(bytes) => Ok(()),
            PacketSize::Fixed { .. } => {
                fail("packet_size.fixed.bytes", "must lie between 1 and 65000")
            }
            PacketSize::Ladder(ladder) => {
                let steps = &ladder.steps_bytes;
                if !steps.is_sorted_by(|a, b| a < b) || steps.is_empty() || steps[0] == 0 {
                    fail("packet_size.ladder.steps_bytes", "must rise from at least 1")
                } else if ladder.period_ns < Span::from_millis(1) {
                    fail("packet_size.ladder.period_ns", "must be at least 1 ms")
                } else if ladder.target_ns < Span::from_millis(1) {
                    fail("packet_size.ladder.target_ns", "must be at least 1 ms")
                } else {
                    Ok(())
                }
            }
        }
    }
}
