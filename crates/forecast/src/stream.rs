//! The packets and events of a stream of bytes, by its transport and its way.

use crate::load::Load;
use crate::outlook::{ENDLESS_BPS, Outlook, Path};
use flashcrowd_plan::TransportChoice;
use flashcrowd_transport::congestion::Kind;

/// Bytes of an IP packet without payload: a bare acknowledgement, about.
const HEADER_BYTES: f64 = 52.0;
/// The bytes that a limited application writes at a time, about a segment.
pub(crate) const WRITE_BYTES: f64 = 1448.0;
/// Segments of the first window.
const FIRST_WINDOW: f64 = 10.0;

/// The transport of a connection, in numbers.
#[derive(Clone, Copy)]
pub(crate) struct TransportModel {
    /// Whether it is uTP, or TCP.
    pub(crate) utp: bool,
    /// Payload of a full packet.
    pub(crate) segment_bytes: f64,
    /// Full packets for an acknowledgement, when they come in a row.
    packets_per_ack: f64,
    /// Longest wait for an acknowledgement.
    delay_s: f64,
    /// Least retransmission timeout.
    timeout_s: f64,
    /// Most bytes in flight.
    window_bytes: f64,
    /// How long a closed connection stays.
    pub(crate) linger_s: f64,
    /// Whether a timer lets each packet go.
    paces: bool,
    /// Whether an isolated loss makes it slower, and whether its window then grows as CUBIC's.
    yields_to_loss: bool,
    cubic: bool,
    /// Whether the receiver acknowledges the end of each write at once.
    acks_writes: bool,
}

/// A traffic aggregate: bytes that go one way, over one or more connections side by side.
pub(crate) struct TrafficAggregate {
    pub(crate) transport_model: TransportModel,
    pub(crate) forth: Path,
    pub(crate) back: Path,
    /// Of all connections.
    pub(crate) bytes: f64,
    /// For how long, and over how many connections.
    pub(crate) seconds: f64,
    pub(crate) connections: f64,
    /// Payload of each write of an application that writes at its own pace; none for one that
    /// writes as much as there is room for.
    pub(crate) write_bytes: Option<f64>,
}

impl Outlook<'_> {
    /// The transport of a connection that this host opens.
    pub(crate) fn transport_model(
        &self,
        choice: Option<TransportChoice>,
        host: u32,
    ) -> TransportModel {
        let plan = self.plan;
        let own = || plan.network.hosts[host as usize].stack;
        match choice {
            Some(TransportChoice::Utp(utp)) => {
                let utp = &plan.utps[utp as usize];
                let segment_bytes = f64::from(utp.packet_bytes().max(1));
                let window = utp.send_buffer_bytes.min(utp.receive_buffer_bytes) as f64;
                TransportModel {
                    utp: true,
                    segment_bytes,
                    packets_per_ack: (utp.delayed_ack.bytes as f64 / segment_bytes).ceil().max(1.0),
                    delay_s: utp.delayed_ack.max_ns.seconds(),
                    timeout_s: utp.min_rto_ns.seconds(),
                    window_bytes: window,
                    linger_s: utp.linger_ns.seconds(),
                    yields_to_loss: true,
                    cubic: false,
                    paces: false,
                    acks_writes: false,
                }
            }
            Some(TransportChoice::Tcp(_)) | None => {
                let index = if let Some(TransportChoice::Tcp(it)) = choice { it } else { own() };
                let tcp = &plan.stacks[index as usize];
                let window = tcp.send_buffer.max_bytes.min(tcp.receive_window.max_bytes) as f64;
                TransportModel {
                    utp: false,
                    segment_bytes: f64::from(tcp.segment_bytes().max(1)),
                    packets_per_ack: f64::from(tcp.delayed_ack.segments.max(1)),
                    delay_s: tcp.delayed_ack.max_ns.seconds(),
                    timeout_s: tcp.min_rto_ns.seconds(),
                    window_bytes: window,
                    linger_s: tcp.time_wait_ns.seconds(),
                    yields_to_loss: !tcp.controller.needs_rates(),
                    paces: tcp.controller.needs_rates(),
                    cubic: matches!(tcp.controller, Kind::Cubic | Kind::CubicLinux),
                    acks_writes: tcp.delayed_ack.on_read,
                }
            }
        }
    }
}

impl TransportModel {
    /// The rate of one connection in bits per second: its share of the links, no more than a window
    /// a round trip, and where losses slow it down no more than 1.22 / √p segments a round trip
    /// (Mathis, Semke, Mahdavi, Ott 1997), or 1.05 (RTT/p)^0.75 of CUBIC's (RFC 9438, figure 6).
    pub(crate) fn bps(&self, forth: &Path, back: &Path) -> f64 {
        let rtt_s = (forth.delay_s + back.delay_s).max(1e-6);
        let window = self.window_bytes * 8.0 / rtt_s;
        let mut bps = window.min(forth.share_bps * self.payload_share());
        if self.yields_to_loss && forth.bursts > 0.0 {
            let reno = 1.22 / libm::sqrt(forth.bursts);
            let cubic =
                if self.cubic { 1.054 * libm::pow(rtt_s / forth.bursts, 0.75) } else { 0.0 };
            bps = bps.min(reno.max(cubic) * self.segment_bytes * 8.0 / rtt_s);
        }
        bps.clamp(1.0, ENDLESS_BPS)
    }

    /// The share of payload in a full packet.
    pub(crate) fn payload_share(&self) -> f64 {
        self.segment_bytes / (self.segment_bytes + HEADER_BYTES)
    }

    /// Packets of one busy connection that are on their way or remembered by its ends.
    pub(crate) fn in_flight(&self, forth: &Path, back: &Path) -> f64 {
        let rtt_s = forth.delay_s + back.delay_s;
        let flying = self.bps(forth, back) * rtt_s / 8.0 / self.segment_bytes;
        (flying + forth.queued).min(self.window_bytes / self.segment_bytes).max(1.0)
    }
}

impl TrafficAggregate {
    /// Packets and events of the stream: full segments (or one for each write that is shorter),
    /// what is sent again, and acknowledgements. A receiver that waits in vain for a second packet
    /// acknowledges each, by a timer. Timers that packets put off go off once for each timeout that
    /// they are set for, and find nothing to do.
    pub(crate) fn load(&self) -> Load {
        let TrafficAggregate { transport_model, forth, back, .. } = self;
        // A write that is longer than a segment ends with a short one.
        let write = self.write_bytes.unwrap_or(transport_model.segment_bytes).max(1.0);
        let writes = self.bytes / write;
        let data = writes * (write / transport_model.segment_bytes).ceil();
        let sent = data * forth.tries();
        let busy_s = self.seconds * self.connections;
        let spacing_s = busy_s / sent.max(1.0);
        let prompt = transport_model.acks_writes && self.write_bytes.is_some();
        let alone = prompt || spacing_s > transport_model.delay_s;
        let acks = if alone { writes } else { data / transport_model.packets_per_ack };
        let waits = if transport_model.delay_s == 0.0 {
            0.0
        } else if alone && !prompt {
            acks
        } else {
            acks.min(busy_s / transport_model.delay_s.max(1e-3))
        };
        let timeouts =
            sent.min(busy_s / (transport_model.timeout_s + forth.delay_s + back.delay_s).max(1e-3));
        let paces = if transport_model.paces { sent } else { 0.0 };
        let packets = data + acks * (1.0 - back.loss);
        Load {
            packets,
            utp_packets: if transport_model.utp { packets } else { 0.0 },
            events: sent * forth.stages + acks * back.stages + waits + timeouts + paces,
            ..Load::default()
        }
    }
}

/// Connections of one workload from one host to another.
pub(crate) struct ConnectionGroup {
    pub(crate) transport_model: TransportModel,
    pub(crate) forth: Path,
    back: Path,
    /// The rate of each.
    pub(crate) bps: f64,
    /// The rate of its application, if that is limited.
    pub(crate) limit_bps: Option<f64>,
}

impl ConnectionGroup {
    /// `limited`: what each application produces, and how many of them there are.
    pub(crate) fn new(
        outlook: &Outlook<'_>,
        choice: Option<TransportChoice>,
        from: u32,
        to: u32,
        limited: Option<(f64, f64)>,
    ) -> ConnectionGroup {
        let transport_model = outlook.transport_model(choice, from);
        let (mut forth, back) = outlook.paths(from, to);
        if let Some((limit, count)) = limited {
            // Its own reservation is no reason to have less.
            forth.share_bps = limit.min(forth.rate_bps / count.max(1.0));
        }
        let bps = transport_model.bps(&forth, &back);
        ConnectionGroup {
            transport_model,
            forth,
            back,
            bps,
            limit_bps: limited.map(|(limit, _)| limit),
        }
    }

    fn rtt_s(&self) -> f64 {
        self.forth.delay_s + self.back.delay_s
    }

    /// How long a connection takes for `bytes` bytes: a round trip to open it, one for each
    /// doubling of the window, and the bytes at its rate.
    pub(crate) fn fetch_s(&self, bytes: f64) -> f64 {
        let windows = bytes / (FIRST_WINDOW * self.transport_model.segment_bytes);
        let filled =
            self.bps / 8.0 * self.rtt_s() / (FIRST_WINDOW * self.transport_model.segment_bytes);
        let doublings = libm::log2(1.0 + windows.min(filled));
        bytes * 8.0 / self.bps + self.rtt_s() * (2.0 + doublings)
    }

    /// The aggregate of `bytes` over all of `connections` side by side, in `seconds`.
    pub(crate) fn stream(&self, bytes: f64, seconds: f64, connections: f64) -> TrafficAggregate {
        let write_bytes =
            self.limit_bps.map(|_| WRITE_BYTES.min(self.transport_model.segment_bytes));
        let (transport_model, forth, back) = (self.transport_model, self.forth, self.back);
        TrafficAggregate { transport_model, forth, back, bytes, seconds, connections, write_bytes }
    }

    /// See [`opening`].
    pub(crate) fn opening(&self) -> Load {
        opening(&self.forth, &self.back)
    }

    /// Packets of one connection that are on their way or remembered by its ends.
    pub(crate) fn in_flight(&self) -> f64 {
        self.transport_model.in_flight(&self.forth, &self.back)
    }
}

/// The packets that open and close a connection: SYN, SYN-ACK, ACK, and FIN and ACK each way.
pub(crate) fn opening(forth: &Path, back: &Path) -> Load {
    let events = 4.0 * forth.stages + 3.0 * back.stages + 3.0;
    Load { packets: 7.0, events, opened: 1.0, ..Load::default() }
}
