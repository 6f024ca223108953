use flashcrowd_base::{Span, Time};
use flashcrowd_transport::{tcp, utp};
use std::sync::Arc;

/// The transport of a socket, stored inline: a box would add another cache miss for each packet, and
/// cache misses are most of the time of runs of hundreds of peers.
#[allow(clippy::large_enum_variant)] // That is the point.
pub(crate) enum Transport {
    Tcp(tcp::Connection),
    /// Boxed, as it is larger than a TCP connection, whose sockets must not grow for it.
    Utp(Box<utp::Connection>),
}

macro_rules! each {
    ($self:ident, $inner:ident => $call:expr) => {
        match $self {
            Transport::Tcp($inner) => $call,
            Transport::Utp($inner) => $call,
        }
    };
}

/// How a transport is configured.
#[derive(Clone)]
pub(crate) enum Stack {
    Tcp(Arc<tcp::Config>),
    Utp(Arc<utp::Config>),
}

/// Counters and estimates that are recorded of every transport.
#[derive(Clone, Copy, Default)]
pub(crate) struct Stats {
    /// Smoothed and least round-trip time, if a round trip was ever measured.
    pub(crate) srtt: Option<Span>,
    pub(crate) min_rtt: Option<Span>,
    /// The latest one-way delay above the least, of a transport that measures it.
    pub(crate) own_delay: Option<Span>,
    pub(crate) cwnd: u64,
    pub(crate) segments_sent: u64,
    pub(crate) segments_retransmitted: u64,
    pub(crate) timeouts: u32,
}

impl From<tcp::Stats> for Stats {
    fn from(stats: tcp::Stats) -> Stats {
        let tcp::Stats { cwnd, segments_sent, timeouts, .. } = stats;
        let (srtt, min_rtt) = measured(stats.srtt, stats.min_rtt);
        let segments_retransmitted = stats.segments_retransmitted;
        let own_delay = None;
        Stats { srtt, min_rtt, own_delay, cwnd, segments_sent, segments_retransmitted, timeouts }
    }
}

impl From<utp::Stats> for Stats {
    fn from(stats: utp::Stats) -> Stats {
        let utp::Stats { cwnd, timeouts, .. } = stats;
        let (srtt, min_rtt) = measured(stats.srtt, stats.min_rtt);
        let (segments_sent, segments_retransmitted) =
            (stats.packets_sent, stats.packets_retransmitted);
        let own_delay = srtt.map(|_| stats.queueing_delay);
        Stats { srtt, min_rtt, own_delay, cwnd, segments_sent, segments_retransmitted, timeouts }
    }
}

/// Round-trip estimates of a transport. A smoothed one of zero means no sample: both transports
/// count a sample as one nanosecond at least.
fn measured(srtt: Span, min_rtt: Span) -> (Option<Span>, Option<Span>) {
    if srtt.is_zero() { (None, None) } else { (Some(srtt), Some(min_rtt)) }
}

/// The interface that both transports share; see [`tcp::Connection`].
impl Transport {
    pub(crate) fn on_timer(&mut self, now: Time) {
        each!(self, t => t.on_timer(now))
    }
    pub(crate) fn write(&mut self, now: Time, bytes: u64) -> u64 {
        each!(self, t => t.write(now, bytes))
    }
    /// Bytes that [`write`](Transport::write) has taken.
    pub(crate) fn written(&self) -> u64 {
        each!(self, t => t.written())
    }
    pub(crate) fn write_space(&self) -> u64 {
        each!(self, t => t.write_space())
    }
    pub(crate) fn unsent(&self) -> u64 {
        each!(self, t => t.unsent())
    }
    pub(crate) fn unacknowledged(&self) -> u64 {
        each!(self, t => t.unacknowledged())
    }
    pub(crate) fn readable(&self) -> u64 {
        each!(self, t => t.readable())
    }
    pub(crate) fn read(&mut self, now: Time, bytes: u64) {
        each!(self, t => t.read(now, bytes))
    }
    pub(crate) fn close(&mut self, now: Time) {
        each!(self, t => t.close(now))
    }
    pub(crate) fn abort(&mut self, now: Time) {
        each!(self, t => t.abort(now))
    }
    pub(crate) fn is_utp(&self) -> bool {
        matches!(self, Transport::Utp(_))
    }
    /// Whether it is over uTP, and its other end did not answer for too long.
    pub(crate) fn utp_timed_out(&self) -> bool {
        let Transport::Utp(utp) = self else { return false };
        matches!(utp.state(), utp::State::Closed { reason: utp::CloseReason::TimedOut })
    }
    pub(crate) fn is_established(&self) -> bool {
        each!(self, t => t.is_established())
    }
    pub(crate) fn is_closed(&self) -> bool {
        each!(self, t => t.is_closed())
    }
    /// Whether it is closed, in TIME-WAIT or lingering: the pair of sockets can be released.
    pub(crate) fn is_over(&self) -> bool {
        match self {
            Transport::Tcp(tcp) => {
                matches!(tcp.state(), tcp::State::Closed { .. } | tcp::State::TimeWait)
            }
            Transport::Utp(utp) => {
                matches!(utp.state(), utp::State::Closed { .. } | utp::State::Lingering)
            }
        }
    }
    pub(crate) fn peer_closed(&self) -> bool {
        each!(self, t => t.peer_closed())
    }
    pub(crate) fn has_acknowledgement(&self) -> bool {
        each!(self, t => t.has_acknowledgement())
    }
    /// Whether unsent data waits for the network, so that a write would send nothing.
    pub(crate) fn is_blocked(&self) -> bool {
        match self {
            Transport::Tcp(tcp) => tcp.is_blocked(),
            Transport::Utp(_) => false,
        }
    }
    /// The latest round-trip sample, if there was one.
    pub(crate) fn latest_rtt(&self) -> Option<Span> {
        each!(self, t => t.latest_rtt())
    }
    pub(crate) fn stats(&self) -> Stats {
        match self {
            Transport::Tcp(tcp) => tcp.stats().into(),
            Transport::Utp(utp) => utp.stats().into(),
        }
    }
    /// Prefetches what sending and acknowledgements need of what it points to.
    pub(crate) fn prefetch_beyond(&self) {
        if let Transport::Tcp(tcp) = self {
            tcp.prefetch_beyond();
        }
    }
}
