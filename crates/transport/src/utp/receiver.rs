use super::config::{Config, MAX_PACKETS, SackPolicy};
use super::packet::{Packet, PacketKind};
use super::reorder::Reorder;
use super::sack::Sack;
use super::sequence;
use flashcrowd_base::Time;

/// No FIN has arrived.
const ENDLESS: u64 = u64::MAX;
/// Bytes that are accepted beyond the advertised window. A sender that probes a zero window (libutp: one
/// packet every fifteen seconds) gives up if no probe is acknowledged.
pub(super) const OVERSHOOT: u64 = 64 * 1024;

/// The driver's treatment of the payload of a packet that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload {
    /// Discard it: it is no data, a duplicate, or cannot be kept.
    Drop,
    /// It comes next in the stream. Append it, and then whatever is held with the next sequence
    /// number, and the next, as far as it reaches.
    Append,
    /// Hold it by its sequence number until it is reached.
    Hold,
}

/// The receiving half: which packets have arrived, and when an acknowledgement is due.
#[derive(Clone, Debug)]
pub(super) struct Receiver {
    /// Number of the next packet in order (RCV.NXT, in packets).
    rcv_nxt: u64,
    /// Number of the FIN.
    fin: u64,
    reorder: Reorder,
    /// Bytes that arrived in order, and of those, what the application has read.
    arrived: u64,
    read: u64,
    /// The receive window as last advertised.
    advertised: u64,
    /// The largest payload that came.
    largest: u16,
    /// An acknowledgement is due now.
    pub(super) ack_due: bool,
    /// The acknowledgement is due once more after it is sent (libutp acknowledges a FIN twice).
    ack_again: bool,
    /// Deadline of the delayed acknowledgement.
    pub(super) ack_deadline: Time,
    /// Bytes received in order since the last acknowledgement.
    unacked_bytes: u64,
    pub(super) duplicates: u64,
}

impl Receiver {
    pub(super) fn new(config: &Config) -> Receiver {
        Receiver {
            rcv_nxt: 0,
            fin: ENDLESS,
            reorder: Reorder::default(),
            arrived: 0,
            read: 0,
            advertised: config.receive_buffer_bytes,
            largest: 0,
            ack_due: false,
            ack_again: false,
            ack_deadline: Time::NEVER,
            unacked_bytes: 0,
            duplicates: 0,
        }
    }

    /// The other end's first packet has the number `first`.
    pub(super) fn open(&mut self, first: u16) {
        self.rcv_nxt = sequence::origin(first);
    }

    /// The acknowledgement number.
    #[inline]
    pub(super) fn ack_nr(&self) -> u16 {
        (self.rcv_nxt as u16).wrapping_sub(1)
    }

    #[inline]
    pub(super) fn readable(&self) -> u64 {
        self.arrived - self.read
    }
    pub(super) fn arrived(&self) -> u64 {
        self.arrived
    }
    /// Payload that the driver holds.
    pub(super) fn bytes_held(&self) -> u64 {
        self.readable() + self.reorder.bytes()
    }
    #[inline]
    pub(super) fn packets_held(&self) -> u32 {
        self.reorder.packets()
    }

    /// Whether nothing with a number has arrived.
    #[inline]
    pub(super) fn is_untouched(&self) -> bool {
        self.arrived == 0 && self.reorder.packets() == 0 && self.fin == ENDLESS
    }

    /// Whether everything up to the FIN has arrived.
    #[inline]
    pub(super) fn is_finished(&self) -> bool {
        self.rcv_nxt > self.fin
    }
    #[inline]
    pub(super) fn is_read_to_the_end(&self) -> bool {
        self.is_finished() && self.readable() == 0
    }

    /// Whether the number of a packet is plausible. Data that came before is acknowledged again:
    /// the last acknowledgement may have been lost.
    #[inline]
    pub(super) fn is_plausible(&mut self, packet: &Packet) -> bool {
        let seq = sequence::unwrap(self.rcv_nxt, packet.seq_nr);
        if seq >= self.rcv_nxt {
            return seq - self.rcv_nxt < u64::from(MAX_PACKETS);
        }
        let retransmitted = matches!(packet.kind, PacketKind::Data | PacketKind::Fin);
        if retransmitted && self.rcv_nxt - seq <= u64::from(MAX_PACKETS) {
            self.duplicates += 1;
            self.ack_due = true;
        }
        false
    }

    /// A DATA or FIN packet that [is plausible](Receiver::is_plausible).
    #[inline]
    pub(super) fn on_data(&mut self, config: &Config, now: Time, packet: &Packet) -> Payload {
        let seq = sequence::unwrap(self.rcv_nxt, packet.seq_nr);
        if self.is_finished() {
            return Payload::Drop;
        }
        if packet.kind == PacketKind::Fin && self.fin == ENDLESS {
            self.fin = seq;
        }
        self.largest = self.largest.max(packet.len);
        let len = u64::from(packet.len);
        let limit = config.receive_buffer_bytes + OVERSHOOT;
        if seq != self.rcv_nxt {
            self.ack_due = true;
            if seq > self.fin || self.bytes_held() + len > limit {
                return Payload::Drop;
            }
            if self.reorder.holds(self.rcv_nxt, seq) {
                self.duplicates += 1;
                return Payload::Drop;
            }
            self.reorder.insert(self.rcv_nxt, seq, packet.len);
            return Payload::Hold;
        }
        if self.readable() + len > limit {
            self.ack_due = true;
            return Payload::Drop;
        }
        self.advance(packet.len);
        if self.reorder.packets() > 0 {
            self.ack_due = true;
            while !self.is_finished()
                && let Some(len) = self.reorder.take(self.rcv_nxt)
            {
                self.advance(len);
            }
        }
        if self.is_finished() {
            self.ack_due = true;
            self.ack_again = config.acknowledge_end_twice;
            self.reorder.clear();
        } else if self.unacked_bytes >= config.delayed_ack.bytes {
            self.ack_due = true;
        } else if self.ack_deadline == Time::NEVER {
            self.ack_deadline = now + config.delayed_ack.max_ns;
        }
        Payload::Append
    }

    #[inline]
    fn advance(&mut self, len: u16) {
        self.rcv_nxt += 1;
        self.arrived += u64::from(len);
        self.unacked_bytes += u64::from(len);
    }

    /// The application has read `bytes`.
    #[inline]
    pub(super) fn read(&mut self, config: &Config, bytes: u64) {
        debug_assert!(bytes <= self.readable());
        self.read += bytes.min(self.readable());
        if self.is_finished() {
            return;
        }
        // A window update is due when the window has at least doubled (Linux) or opened (RFC 1122,
        // 4.2.3.3).
        let window = self.window(config);
        self.ack_due |= window > self.advertised && window >= 2 * self.advertised;
    }

    /// The window that could be advertised now; zero rather than less than a packet (silly window
    /// avoidance): a sender that waits for a full packet's room probes a zero window, not a small one
    /// (libutp).
    #[inline]
    fn window(&self, config: &Config) -> u64 {
        let window = config.receive_buffer_bytes.saturating_sub(self.readable());
        let packet = config.packet_bytes().max(u32::from(self.largest));
        if window < u64::from(packet).min(config.receive_buffer_bytes) { 0 } else { window }
    }

    /// The window to be put into a packet, which thereby acknowledges.
    #[inline]
    pub(super) fn advertise(&mut self, config: &Config) -> u32 {
        self.advertised = self.window(config);
        self.advertised.min(u64::from(u32::MAX)) as u32
    }

    /// A packet that carries the acknowledgement number is sent. A DATA packet has no mask, so it does not
    /// replace a STATE that reports packets out of order.
    #[inline]
    pub(super) fn on_sent(&mut self, data: bool) {
        if data && self.ack_due && (self.reorder.packets() > 0 || self.ack_again) {
            return;
        }
        self.ack_due = std::mem::take(&mut self.ack_again);
        self.ack_deadline = Time::NEVER;
        self.unacked_bytes = 0;
    }

    /// Selective acknowledgement: the packets that arrived ahead of the gap.
    pub(super) fn sack(&self, policy: SackPolicy) -> Sack {
        if self.reorder.packets() == 0 || self.is_finished() {
            return Sack::NONE;
        }
        match policy {
            SackPolicy::Off => Sack::NONE,
            SackPolicy::Fixed { bytes } => self.reorder.mask_of(self.rcv_nxt, bytes as usize),
            SackPolicy::AsNeeded => self.reorder.mask(self.rcv_nxt),
        }
    }

    /// The delayed acknowledgement is due.
    #[inline]
    pub(super) fn on_timer(&mut self, now: Time) {
        if now >= self.ack_deadline {
            self.ack_deadline = Time::NEVER;
            self.ack_due = true;
        }
    }
}
