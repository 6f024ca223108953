//! The sending half: the send queue, the window, and when to retransmit.

mod arrival;
mod paced;
mod peer_window;
mod timer;
mod transmit;

use super::config::{Config, PacketSize, WindowPacket};
use super::packet::{HEADER_BYTES, Packet};
use super::packet_size_steps::PacketSizeSteps;
use super::path_mtu_search::PathMtuSearch;
use super::rtt::RoundTrip;
use super::sack::Sack;
use super::send_queue::SendQueue;
use crate::congestion::{AnyController, Controller, Params};
use crate::pacing::{Paced, Pacing};
use crate::tcp::Nagle;
use flashcrowd_base::{Span, Time};
use peer_window::PeerWindow;

pub(super) use transmit::OutgoingPacket;

/// No FIN was sent.
const UNSENT: u64 = u64::MAX;

/// Counters of the sending half.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counters {
    pub(super) bytes_retransmitted: u64,
    pub(super) packets_retransmitted: u64,
    pub(super) timeouts: u32,
    pub(super) reductions: u32,
    pub(super) probes_lost: u32,
}

/// The sending half of a connection.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    /// Packets that were sent and are not acknowledged, SYN and FIN included.
    send_queue: SendQueue,
    /// Offset of the next new byte (SND.NXT).
    snd_nxt: u64,
    /// Offset after the last byte that the application wrote.
    write_end: u64,
    /// Offset of the oldest unacknowledged byte (SND.UNA).
    snd_una: u64,
    /// The application has closed; the numbers of SYN and FIN, once sent.
    closed: bool,
    syn: u64,
    fin: u64,
    /// Receive window of the other end (SND.WND).
    peer_window: PeerWindow,
    rtt: RoundTrip,
    controller: AnyController,
    /// Pacer and rate sampler; none where the controller needs neither.
    paced: Option<Box<Paced>>,
    mtu_search: PathMtuSearch,
    size_steps: PacketSizeSteps,
    /// Payload of a full packet.
    packet: u32,
    /// Whether the window held data back at the last poll.
    blocked: bool,
    /// When the window last held data back, as far as an acknowledgement has looked.
    limited_at: Time,
    /// Acknowledgement number and mask of the last selective acknowledgement: a bit that was seen with the
    /// same number is not looked at again.
    masked: (u64, Sack),
    /// Duplicate acknowledgements in a row.
    duplicates: u32,
    /// Packets before this number were retransmitted for duplicates or a mask; each is so only once.
    resend_from: u64,
    /// Recovery point (RFC 6582): losses before this number belong to a reduction that was made.
    recover: u64,
    /// Number of the last packet that was not full (libtorrent: `m_nagle_seq_nr`); 0 before the first.
    small: u64,
    /// Deadline of the retransmission timer.
    rto_at: Time,
    /// With nothing in flight, when the controller gets its next timeout. That is found out when something
    /// happens: nothing else would come of a timer.
    idle_at: Time,
    /// Timeouts in a row that the back-off counts.
    timeouts: u32,
    /// Timeouts in a row since anything was acknowledged; too many end the connection.
    retries: u32,
    /// Of a window that is smaller than a packet: when the next packet may be sent.
    pace_at: Time,
    /// Timer for `pace_at`; `NEVER` while no packet waits for it.
    pace_wake: Time,
    /// Least delay seen and the latest, for the record.
    delays: Option<(u32, u32)>,
    pub(super) counters: Counters,
}

impl Sender {
    pub(super) fn new(config: &Config, now: Time, first: u16) -> Sender {
        let mtu_search = PathMtuSearch::new(&config.path_mtu, now);
        let size_steps = PacketSizeSteps::new(now);
        let packet = packet_bytes(config, &mtu_search, &size_steps);
        let params = Params {
            now,
            mss: window_packet(config, &mtu_search, packet),
            min_window: 0,
            ledbat: config.ledbat,
            initial_window: (u64::from(config.initial_window_packets) * u64::from(packet))
                .max(u64::from(config.initial_window_bytes)),
            hystart: config.hystart,
            count_acks: false,
            paced: config.pacing == Pacing::Fq,
        };
        let send_queue = SendQueue::new(first);
        Sender {
            resend_from: send_queue.first(),
            recover: send_queue.first(),
            // Assumed until the other end has advertised a window (libutp: 255 packets).
            peer_window: PeerWindow::assumed(255 * 1435, send_queue.first() - 1),
            send_queue,
            snd_nxt: 0,
            write_end: 0,
            snd_una: 0,
            closed: false,
            syn: UNSENT,
            fin: UNSENT,
            rtt: RoundTrip::new(config),
            controller: AnyController::new(config.controller, params),
            paced: Paced::new(config.controller, config.pacing, now),
            mtu_search,
            size_steps,
            packet,
            blocked: false,
            limited_at: Time::START,
            masked: (0, Sack::NONE),
            duplicates: 0,
            small: 0,
            rto_at: Time::NEVER,
            idle_at: Time::NEVER,
            timeouts: 0,
            retries: 0,
            pace_at: Time::START,
            pace_wake: Time::NEVER,
            delays: None,
            counters: Counters::default(),
        }
    }

    /// Searches for what the path takes with padded probes; it takes `base` bytes for certain. To be called before
    /// anything is sent.
    pub(super) fn pad_probes(&mut self, config: &Config, now: Time, base: u32) {
        let top = match &config.packet_size {
            PacketSize::Fixed { bytes } => bytes + HEADER_BYTES,
            PacketSize::PathMtu | PacketSize::Ladder(_) => u32::MAX,
        };
        self.mtu_search = PathMtuSearch::padded(&config.path_mtu, now, base, top);
        self.resize(config);
    }

    /// The size of a full packet may have changed.
    fn resize(&mut self, config: &Config) {
        let packet = packet_bytes(config, &self.mtu_search, &self.size_steps);
        if packet != self.packet || config.window_packet == WindowPacket::Probe {
            self.packet = packet;
            self.controller.on_packet_size(window_packet(config, &self.mtu_search, packet));
        }
    }

    /// Whether Nagle's algorithm holds back a packet that is not full.
    #[inline]
    fn must_wait(&self, config: &Config) -> bool {
        match config.nagle {
            Nagle::Off => false,
            Nagle::Classic => !self.send_queue.is_empty(),
            Nagle::Minshall => {
                self.send_queue.in_flight > 0 && self.small >= self.send_queue.first()
            }
        }
    }

    /// The next number, as a STATE shows it.
    #[inline]
    pub(super) fn next_seq(&self) -> u16 {
        self.send_queue.next() as u16
    }

    /// The number of the oldest packet, or the next one.
    pub(super) fn first_seq(&self) -> u16 {
        self.send_queue.first() as u16
    }

    /// The other end's SYN advertises its window.
    pub(super) fn open(&mut self, syn: &Packet) {
        self.peer_window.open(syn);
    }

    /// Bytes that may be in flight.
    #[inline]
    fn window(&self) -> u64 {
        self.controller.window().min(self.peer_window.bytes())
    }

    pub(super) fn write(&mut self, config: &Config, bytes: u64) -> u64 {
        let taken = bytes.min(self.write_space(config));
        self.note_application_limit();
        self.write_end += taken;
        taken
    }

    #[inline]
    pub(super) fn written(&self) -> u64 {
        self.write_end
    }

    pub(super) fn write_space(&self, config: &Config) -> u64 {
        if self.closed {
            return 0;
        }
        config.send_buffer_bytes.saturating_sub(self.write_end - self.snd_una)
    }

    pub(super) fn unsent(&self) -> u64 {
        self.write_end - self.snd_nxt
    }
    pub(super) fn unacknowledged(&self) -> u64 {
        self.write_end - self.snd_una
    }

    pub(super) fn close(&mut self) {
        self.closed = true;
    }
    #[inline]
    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }
    /// Whether the FIN is acknowledged, and with it everything.
    #[inline]
    pub(super) fn is_finished(&self) -> bool {
        self.fin != UNSENT && self.send_queue.is_empty()
    }
    /// Whether every byte that was written is acknowledged.
    pub(super) fn is_delivered(&self) -> bool {
        self.snd_una == self.write_end
    }
    /// Whether there is anything that was not sent yet.
    #[inline]
    pub(super) fn has_unsent(&self) -> bool {
        self.snd_nxt < self.write_end || (self.closed && self.fin == UNSENT)
    }
    #[inline]
    pub(super) fn round_trip(&self) -> &RoundTrip {
        &self.rtt
    }
    pub(super) fn timeout(&self, config: &Config) -> Span {
        self.rtt.timeout(config, self.timeouts)
    }
    pub(super) fn controller(&self) -> &AnyController {
        &self.controller
    }
    pub(super) fn in_flight(&self) -> u64 {
        self.send_queue.in_flight
    }
    pub(super) fn peer_window(&self) -> u64 {
        self.peer_window.bytes()
    }
    pub(super) fn packet_bytes(&self) -> u32 {
        self.packet
    }
    pub(super) fn probe_bytes(&self) -> Option<u32> {
        self.mtu_search.probe_bytes()
    }
    /// The largest datagram that passes, as far as is known.
    #[inline]
    pub(super) fn path_bytes(&self) -> u32 {
        self.mtu_search.datagram_bytes()
    }
    /// Whether the other end's window takes neither a full packet nor all that is left: zero, or a
    /// silly window (RFC 1122, 4.2.3.4).
    pub(super) fn is_shut_out(&self) -> bool {
        self.peer_window.bytes() < self.unacknowledged().min(u64::from(self.packet))
    }
    pub(super) fn bytes_acked(&self) -> u64 {
        self.snd_una
    }
    pub(super) fn backoff(&self) -> u32 {
        self.timeouts
    }
    pub(super) fn packets_lost(&self) -> u64 {
        self.send_queue.packets_lost()
    }
    pub(super) fn lost_packets(&self) -> impl Iterator<Item = (u16, u64, u16)> {
        self.send_queue.lost_packets()
    }
    pub(super) fn loss_timer(&self) -> Option<Time> {
        let waits = !self.send_queue.is_empty() && self.rto_at != Time::NEVER;
        waits.then_some(self.rto_at)
    }
    pub(super) fn packets_held(&self) -> usize {
        self.send_queue.len()
    }
    /// The latest one-way delay above the least.
    pub(super) fn queueing_delay(&self) -> Span {
        self.delays.map_or(Span::ZERO, |(min, latest)| {
            Span::from_micros(u64::from(latest.wrapping_sub(min)))
        })
    }

    /// An ICMP "fragmentation needed" gives the next-hop MTU in bytes; 0 if the router does not.
    pub(super) fn on_path_limit(&mut self, config: &Config, now: Time, bytes: u32) {
        if let Some(seq) = self.mtu_search.on_limit(&config.path_mtu, now, bytes) {
            self.counters.probes_lost += 1;
            self.send_queue.retransmit_now(seq);
        }
        self.resize(config);
    }

    /// Nothing is sent any more.
    pub(super) fn stop(&mut self) {
        self.rto_at = Time::NEVER;
        self.idle_at = Time::NEVER;
        self.peer_window.stop();
        self.pace_wake = Time::NEVER;
        self.paced = None;
    }
}

/// The packet size that the controller reckons with, if a full packet has `payload` bytes.
fn window_packet(config: &Config, mtu_search: &PathMtuSearch, payload: u32) -> u32 {
    match config.window_packet {
        WindowPacket::Payload => payload,
        WindowPacket::Probe => mtu_search.midpoint_bytes(),
    }
}

fn packet_bytes(config: &Config, mtu_search: &PathMtuSearch, size_steps: &PacketSizeSteps) -> u32 {
    let max = mtu_search.datagram_bytes() - HEADER_BYTES;
    match &config.packet_size {
        PacketSize::PathMtu => max,
        PacketSize::Fixed { bytes } => max.min(*bytes),
        PacketSize::Ladder(ladder) => size_steps.packet_bytes(ladder, max),
    }
}
