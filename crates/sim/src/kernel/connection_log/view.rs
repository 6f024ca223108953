use super::event::Metrics;
use crate::kernel::transport::Transport;
use flashcrowd_base::{Span, Time};
use flashcrowd_transport::tcp::{self, LossTimer, Phase};
use flashcrowd_transport::utp;

/// The state of a transport, in the vocabulary of logs.
pub(super) struct View {
    pub(super) state: &'static str,
    /// Why it is closed, if it is.
    pub(super) closed: Option<&'static str>,
    /// State of congestion control, once the connection is established; its trigger, if that has a name;
    /// whether losses are being repaired.
    pub(super) congestion: Option<&'static str>,
    pub(super) trigger: Option<&'static str>,
    pub(super) repairing: bool,
    /// Whether there is room in the window and nothing to send.
    pub(super) idle: bool,
    pub(super) metrics: Metrics,
    pub(super) timer: Option<(&'static str, Time)>,
    pub(super) timeouts: u32,
    pub(super) undone: u32,
    /// How it detects losses, apart from timeouts.
    pub(super) loss_trigger: &'static str,
}

impl View {
    pub(super) fn of(transport: &Transport, active: bool) -> View {
        let view = match transport {
            Transport::Tcp(tcp) => of_tcp(tcp, active),
            Transport::Utp(utp) => of_utp(utp, active),
        };
        let idle = transport.unsent() == 0
            && view.metrics.bytes_in_flight < view.metrics.congestion_window;
        View { idle, timer: loss_timer(transport), ..view }
    }
}

/// A state of either transport and why it is over, if it is. Their types have the same names, but for the state
/// that comes last.
macro_rules! words {
    ($transport:ident, $last:ident, $state:expr, $active:expr) => {
        match $state {
            $transport::State::Connecting if $active => ("syn_sent", None),
            $transport::State::Connecting => ("syn_received", None),
            $transport::State::Established => ("established", None),
            $transport::State::Closing => ("fin_wait", None),
            $transport::State::PeerClosed => ("close_wait", None),
            $transport::State::LastAck => ("last_ack", None),
            $transport::State::$last => ("time_wait", Some("clean")),
            $transport::State::Closed { reason } => (
                "closed",
                Some(match reason {
                    $transport::CloseReason::Finished => "clean",
                    $transport::CloseReason::Aborted => "aborted",
                    $transport::CloseReason::Reset => "reset",
                    $transport::CloseReason::TimedOut => "timed_out",
                }),
            ),
        }
    };
}

/// Metrics that both transports count alike.
macro_rules! metrics {
    ($stats:ident, $pacing_rate:expr) => {{
        let measured = |span: Span| (!$stats.srtt.is_zero()).then_some(span);
        Metrics {
            congestion_window: $stats.cwnd,
            bytes_in_flight: $stats.in_flight,
            ssthresh: ($stats.ssthresh != u64::MAX).then_some($stats.ssthresh),
            smoothed_rtt: measured($stats.srtt),
            rtt_variance: measured($stats.rttvar),
            min_rtt: measured($stats.min_rtt),
            latest_rtt: measured($stats.rtt),
            rto: $stats.rto,
            backoff: $stats.backoff,
            pacing_rate: $pacing_rate,
            bytes_acked: $stats.bytes_acked,
            packets_lost: 0,
            peer_window: $stats.peer_window,
            ce_packets: None,
            queueing_delay: None,
        }
    }};
}

fn of_tcp(tcp: &tcp::Connection, active: bool) -> View {
    let stats = tcp.stats();
    let (state, closed) = words!(tcp, TimeWait, tcp.state(), active);
    let growing = if stats.cwnd < stats.ssthresh { "slow_start" } else { "congestion_avoidance" };
    let (congestion, trigger) = match stats.phase {
        Phase::Open => (tcp.controller_state().unwrap_or(growing), None),
        Phase::Cwr => ("cwr", Some("ecn")),
        Phase::Recovery => ("recovery", None),
        Phase::Loss => ("loss", None),
    };
    View {
        state,
        closed,
        congestion: tcp.is_established().then_some(congestion),
        trigger,
        repairing: stats.phase != Phase::Open,
        idle: false,
        metrics: Metrics {
            packets_lost: stats.segments_lost.into(),
            ce_packets: Some(stats.delivered_marked),
            ..metrics!(stats, tcp.pacing_rate())
        },
        timer: None,
        timeouts: stats.timeouts,
        undone: stats.undone,
        loss_trigger: if tcp.config().rack { "time_threshold" } else { "reordering_threshold" },
    }
}

fn of_utp(utp: &utp::Connection, active: bool) -> View {
    let stats = utp.stats();
    let (state, closed) = words!(utp, Lingering, utp.state(), active);
    let growing = if stats.cwnd < stats.ssthresh { "slow_start" } else { "congestion_avoidance" };
    View {
        state,
        closed,
        congestion: utp.is_established().then(|| utp.controller_state().unwrap_or(growing)),
        trigger: None,
        repairing: false,
        idle: false,
        metrics: Metrics {
            packets_lost: stats.packets_lost,
            queueing_delay: (!stats.srtt.is_zero()).then_some(stats.queueing_delay),
            ..metrics!(stats, utp.pacing_rate())
        },
        timer: None,
        timeouts: stats.timeouts,
        undone: 0,
        loss_trigger: "reordering_threshold",
    }
}

/// The purpose of the timer for losses, and its expiry.
pub(super) fn loss_timer(transport: &Transport) -> Option<(&'static str, Time)> {
    match transport {
        Transport::Tcp(tcp) => tcp.loss_timer().map(|(timer, at)| {
            let name = match timer {
                LossTimer::Handshake => "handshake",
                LossTimer::Retransmission => "rto",
                LossTimer::LossProbe => "tail_loss_probe",
                LossTimer::Reordering => "reordering",
                LossTimer::Persist => "persist",
            };
            (name, at)
        }),
        Transport::Utp(utp) => utp.loss_timer().map(|at| ("rto", at)),
    }
}

/// Of each segment or packet that counts as lost and was not retransmitted since, its number on the wire (uTP),
/// its offset and its payload.
pub(super) fn each_lost(transport: &Transport, mut tell: impl FnMut(Option<u16>, u64, u32)) {
    match transport {
        Transport::Tcp(tcp) => {
            let written = tcp.written();
            for (offset, len) in tcp.lost_segments() {
                // A FIN takes a number and is no payload.
                let payload = written.saturating_sub(offset).min(u64::from(len)) as u32;
                tell(None, offset, payload);
            }
        }
        Transport::Utp(utp) => {
            for (seq_nr, offset, len) in utp.lost_packets() {
                tell(Some(seq_nr), offset, u32::from(len));
            }
        }
    }
}
