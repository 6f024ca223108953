use super::packet::HEADER_BYTES;
use super::sack::MAX_SACK_BYTES;
use crate::congestion::{HyStartKind, Kind, Ledbat};
use crate::pacing::Pacing;
use crate::tcp::Nagle;
use flashcrowd_base::{Refusal, Settings, Span, Time, check_bound};
use serde::{Deserialize, Serialize};

/// Packets in flight, and packets held out of order, at most: what the oldest implementations can
/// tell apart.
pub(super) const MAX_PACKETS: u32 = 1024;

/// The least and the greatest retransmission timeout that a configuration may have.
const RTO: (Span, Span) = (Span::from_millis(1), Span::from_secs(3600));
/// The least and the greatest datagram.
const DATAGRAM: (u32, u32) = (150, 65_000);

flashcrowd_base::settings! {
    /// A uTP configuration (BEP 29): everything about it that can change a number.
    ///
    /// There are no defaults: a configuration is written out in full, so that it can be saved with the results.
    /// [`profiles`](super::profiles) has complete ones.
    pub struct Config {
        /// The name of this configuration in reports.
        pub name: String,
        /// How large a datagram the path takes, and whether that is searched for.
        #[table]
        pub path_mtu: PathMtu,
        /// How much payload a packet carries: a size, or a rule.
        #[table]
        pub packet_size: PacketSize,
        /// Packets are whole, or are cut to this size at least so that they fill the window.
        pub window_fill: WindowFill,
        /// The rule for a window smaller than one packet with nothing in flight.
        pub small_window: SmallWindow,
        /// Hold back a packet that is not full: never, while anything is unacknowledged, or only while another that
        /// was not full is ("minshall").
        ///
        /// The FIN too, but not what is before it.
        #[file("false" = "off", "true" = "classic")]
        pub nagle: Nagle,
        /// The congestion controller.
        pub controller: Kind,
        /// The parameters of a controller of the LEDBAT family; the others do not read it.
        #[table]
        pub ledbat: Option<Ledbat>,
        /// How slow start ends before a loss ends it; CUBIC only.
        pub hystart: HyStartKind,
        /// Spread packets over the round trip; "fq" as Linux does. BBR paces with either.
        pub pacing: Pacing,
        /// The size that the controller takes for a packet: a full one's payload, or the datagram of a probe of
        /// the path.
        pub window_packet: WindowPacket,
        /// Initial window, in packets.
        #[min(1)]
        #[max(1000)]
        pub initial_window_packets: u32,
        /// Initial window as a size, if that is more; "0 B" for packets alone.
        #[max(1 << 24)]
        pub initial_window_bytes: u32,
        /// How much unacknowledged and unsent data the sender holds.
        pub send_buffer_bytes: u64,
        /// How much the receiver offers to hold for the application.
        #[min(1)]
        #[max(1 << 30)]
        pub receive_buffer_bytes: u64,
        /// How round trips are smoothed, and which are sampled: gains of 1/8 and 1/4 for packets that were sent once,
        /// or 1/16 in the long run for all packets.
        pub rtt_estimator: RttEstimator,
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
        /// The timeout is the smoothed round trip and this many mean deviations.
        #[min(1)]
        #[max(16)]
        pub rto_deviations: u32,
        /// The back-off of timeouts in a row: twice as long each time, or 1, 2, 4 ... seconds.
        pub backoff: Backoff,
        /// Keep the longer timeout until a packet that was sent once is acknowledged (Karn's algorithm, RFC 6298).
        /// Otherwise any acknowledgement ends it.
        pub keep_backoff: bool,
        /// What restarts the retransmission timer and ends its back-off: an acknowledgement of something new, or any
        /// packet.
        pub timer_restart: TimerRestart,
        /// Timers are examined only at multiples of this (libutp: 500 ms); "0 ms" examines them in time.
        #[max(Span::from_secs(10))]
        pub timer_grain_ns: Span,
        /// How often a SYN is retransmitted before the connection fails.
        #[max(100)]
        pub syn_retries: u32,
        /// How often in a row data may time out and be resent before the connection fails.
        #[max(100)]
        pub data_retries: u32,
        /// The connection fails when the oldest packet times out after this many transmissions, fast retransmissions
        /// included; 0 does not count them. `data_retries` holds as well.
        #[max(1000)]
        pub max_transmissions: u32,
        /// How losses are found before the timer finds them.
        #[table]
        pub loss_detection: LossDetection,
        /// How far behind the oldest unacknowledged packet an acknowledgement number may lie.
        ///
        /// Packets with others are ignored, as forged. A small value rejects forged acknowledgements; with much
        /// reordering and data both ways, it also drops genuine packets that were overtaken.
        #[max(1024)]
        pub stale_acks: u32,
        /// Where an acknowledgement has a mask, the window grows only by the bytes in the mask.
        pub masked_bytes_only: bool,
        /// Whether the retransmission timer goes on when nothing is in flight, at intervals that grow or at equal
        /// ones. The window decays then.
        #[file("false" = "off", "true" = "backing-off")]
        pub idle_timer: IdleTimer,
        /// How packets that arrived out of order are acknowledged: not at all, with a mask of this size, or with one
        /// that fits.
        pub sack: SackPolicy,
        /// When the receiver acknowledges data that arrives in order.
        #[table]
        pub delayed_ack: DelayedAck,
        /// Acknowledge the end of the stream at once, and once more like any packet (libutp).
        pub acknowledge_end_twice: bool,
        /// The longest wait between probes of a closed window of the other end (libutp: every wait).
        ///
        /// A probe is one packet. The first comes after a retransmission timeout, the others at intervals that grow as
        /// its back-off does.
        #[min(RTO.0)]
        #[max(RTO.1)]
        pub zero_window_probe_ns: Span,
        /// Send something after this much silence, so that address translators keep their entry; "0 s" for never.
        pub keep_alive_ns: Span,
        /// Give up when nothing has arrived for this long, even if nothing is expected; "0 s" for never.
        pub silence_timeout_ns: Span,
        /// For how long an accepted connection may wait for a second packet of the other end.
        #[min(Span::from_secs(1))]
        pub half_open_ns: Span,
        /// How long the end that closed first stays to answer a retransmitted FIN.
        pub linger_ns: Span,
    }

    /// How large a datagram the path takes: UDP payload, so uTP headers are included.
    ///
    /// Packets that measure the path are data packets with the don't-fragment flag, one at a time.
    #[derive(Eq)]
    pub struct PathMtu {
        /// The size that every path takes.
        #[min(DATAGRAM.0)]
        #[max(DATAGRAM.1)]
        pub floor_bytes: u32,
        /// The largest datagram that is tried.
        #[min(DATAGRAM.0)]
        #[max(DATAGRAM.1)]
        #[at_least(floor_bytes)]
        pub ceiling_bytes: u32,
        /// With which of the two a connection begins: the ceiling (libutp) or the floor.
        pub begin: SearchBegin,
        /// Search between the two until they are this close; the ceiling counts as the floor then.
        pub tolerance_bytes: u32,
        /// Search again after this long.
        #[min(Span::from_secs(1))]
        pub interval_ns: Span,
        /// The search never ends: every round trip has a probe (libtorrent). With `begin` at the floor only.
        ///
        /// A probe that is lost when nothing is left to be found begins a search from half-way down. `tolerance` and
        /// `interval` are not read then.
        pub endless: bool,
        /// A probe needs a window of more than this many datagrams of the size that is known to pass; 0 for any
        /// window.
        #[max(1000)]
        pub probe_window_datagrams: u32,
    }

    /// Packets that grow with the rate, so that a slow line is not blocked for long by a large one.
    #[derive(Eq)]
    pub struct Ladder {
        /// Payload, rising. The first is where a connection begins; above the last comes what the path takes.
        pub steps_bytes: Vec<u32>,
        /// How often a step may be taken.
        #[min(Span::from_millis(1))]
        pub period_ns: Span,
        /// The target delay, by which rates are judged.
        #[min(Span::from_millis(1))]
        pub target_ns: Span,
        /// Up when more than this many packets are sent per target delay, ...
        pub raise_packets: u32,
        /// ... and the window holds more than this many.
        pub raise_window_packets: u32,
        /// Down when fewer than this many packets are sent per target delay, ...
        pub lower_packets: u32,
        /// ... or the window holds fewer than this many.
        pub lower_window_packets: u32,
        /// A loss that reduces the window begins the ladder again, at its first step.
        pub restart_on_loss: bool,
    }

    /// How losses are found before the timer finds them.
    #[derive(Eq)]
    pub struct LossDetection {
        /// A packet is lost when this many STATE packets repeat the number before it; 0 for never.
        ///
        /// Other packets do not count: they are sent for their data.
        pub duplicate_acks: u32,
        /// Duplicate ACKs count even if they change the advertised window. Otherwise one that opens the window does
        /// not count (RFC 5681, section 2, definition of a duplicate).
        pub any_window: bool,
        /// Any other packet resets the count (libutp). Otherwise only an acknowledgement of something new does.
        pub in_a_row: bool,
        /// A packet is lost when a mask acknowledges at least this many later ones; 0 reads no masks.
        pub sacked_after: u32,
        /// Packets resent for one acknowledgement at most.
        #[min(1)]
        #[max(64)]
        pub resends_per_ack: u32,
        /// Whether a packet that was resent for a timeout can be found lost before the next timeout.
        pub after_timeout: bool,
    }

    /// When the receiver acknowledges data that arrives in order.
    ///
    /// Out-of-order data, data that fills a gap and FIN are acknowledged at once. "At once" is when the driver polls: one
    /// that first delivers everything that its socket has acknowledges once a batch, as libutp's drivers do.
    #[derive(Eq)]
    pub struct DelayedAck {
        /// Acknowledge at once when at least this much waits; "0 B" acknowledges everything at once.
        #[file("key" = "bytes", "unit" = "bytes")]
        pub bytes: u64,
        /// Longest wait.
        #[max(Span::from_secs(1))]
        pub max_ns: Span,
    }
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
    /// The size that the path takes.
    PathMtu,
    /// Always the same.
    Fixed {
        /// Payload of each packet.
        #[cfg_attr(feature = "schema", schemars(extend("key" = "size", "minimum" = 1)))]
        #[cfg_attr(feature = "schema", schemars(extend("maximum" = DATAGRAM.1, "unit" = "bytes")))]
        bytes: u32,
    },
    /// One of several sizes, by the rate.
    Ladder(Ladder),
}

impl Settings for PacketSize {
    fn check_bounds(&self) -> Result<(), Refusal> {
        match self {
            PacketSize::PathMtu => Ok(()),
            PacketSize::Fixed { bytes } => {
                check_bound("fixed.bytes", bytes, "at least", 1, |a, b| a >= b)?;
                check_bound("fixed.bytes", bytes, "at most", DATAGRAM.1, |a, b| a <= b)
            }
            PacketSize::Ladder(ladder) => {
                ladder.check_bounds().map_err(|refusal| refusal.inside("ladder"))
            }
        }
    }
}

/// The rule for a window with room for part of a packet only.
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

/// The rule for a window smaller than one packet with nothing in flight.
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

/// The size that the controller takes for a packet: the least window, the rest at which it still
/// counts as used, and so on.
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

/// What restarts the retransmission timer, and ends its back-off.
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

/// The back-off of timeouts in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Backoff {
    /// Twice as long each time (BEP 29).
    Doubling,
    /// 1, 2, 4, ... seconds more (libtorrent).
    Seconds,
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
        #[cfg_attr(feature = "schema", schemars(extend("unit" = "bytes")))]
        bytes: u32,
    },
    /// A mask as long as the disorder, in steps of 4 bytes.
    AsNeeded,
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
    ///
    /// # Errors
    /// The first such value.
    pub fn check(&self) -> Result<(), Refusal> {
        self.check_bounds()?;
        let rule = |holds: bool, path: &str, value: &dyn ToString, allowed: &str| {
            if holds { Ok(()) } else { Err(Refusal::new(path, value.to_string(), allowed)) }
        };
        let (mtu, second) = (&self.path_mtu, Span::from_secs(1));
        let allowed = "false where a connection does not begin with \"floor\"";
        let from_floor = mtu.begin == SearchBegin::Floor;
        rule(!mtu.endless || from_floor, "path_mtu.endless", &mtu.endless, allowed)?;
        let two_packets = 2 * u64::from(mtu.ceiling_bytes);
        let allowed = format!("a size of at least two packets, {two_packets} B");
        let bytes = self.send_buffer_bytes;
        rule(bytes >= two_packets, "send_buffer_bytes", &bytes, &allowed)?;
        let allowed = format!("a table for the controller {}", self.controller.name());
        let steered = self.ledbat.is_some() || self.controller.ledbat().is_none();
        rule(steered, "ledbat", &"null", &allowed)?;
        if let Some(ledbat) = &self.ledbat {
            ledbat.check().map_err(|refusal| refusal.inside("ledbat"))?;
        }
        if let SackPolicy::Fixed { bytes } = self.sack {
            let fits = bytes >= 4 && bytes % 4 == 0 && bytes as usize <= MAX_SACK_BYTES;
            rule(fits, "sack.fixed.bytes", &bytes, "a multiple of 4 between 4 B and 24 B")?;
        }
        let delayed_ack = &self.delayed_ack;
        let waits = delayed_ack.bytes == 0 || delayed_ack.max_ns >= Span::from_millis(1);
        let nanos = delayed_ack.max_ns.nanos();
        let allowed = "a time of at least 1 ms where acknowledgements wait";
        rule(waits, "delayed_ack.max_ns", &nanos, allowed)?;
        for (path, span) in
            [("keep_alive_ns", self.keep_alive_ns), ("silence_timeout_ns", self.silence_timeout_ns)]
        {
            let allowed = "a time of zero or at least 1 s";
            rule(span.is_zero() || span >= second, path, &span.nanos(), allowed)?;
        }
        if let PacketSize::Ladder(Ladder { steps_bytes: steps, .. }) = &self.packet_size {
            let rising =
                steps.is_sorted_by(|a, b| a < b) && steps.first().is_some_and(|it| *it > 0);
            let path = "packet_size.ladder.steps_bytes";
            rule(rising, path, &format!("{steps:?}"), "sizes that rise from at least 1 B")?;
        }
        Ok(())
    }
}
