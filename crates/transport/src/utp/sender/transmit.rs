use super::super::config::{Config, MAX_PACKETS, PacketSize, SmallWindow, WindowFill};
use super::super::packet::{HEADER_BYTES, MIN_PADDING_BYTES, PacketKind};
use super::{Sender, UNSENT};
use crate::congestion::Controller;
use crate::tcp::Nagle;
use flashcrowd_base::{Span, Time};

/// For the pace of a small window while no round trip was measured (libutp of 2010).
const ASSUMED_ROUND_TRIP: Span = Span::from_millis(50);

/// A packet to be sent: its number, what it is, and the range of the stream that it carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct OutgoingPacket {
    pub(in super::super) seq: u64,
    pub(in super::super) offset: u64,
    pub(in super::super) len: u16,
    /// Bytes behind the header that mean nothing.
    pub(in super::super) padding: u16,
    pub(in super::super) kind: PacketKind,
    pub(in super::super) dont_fragment: bool,
}

impl Sender {
    /// Sends the SYN.
    pub(in super::super) fn send_syn(&mut self, config: &Config, now: Time) -> OutgoingPacket {
        self.syn = self.send_queue.push(now, 0, 0);
        self.arm(config, now);
        self.outgoing(self.syn, 0, 0, false)
    }

    /// The next packet to send. Nothing new unless the connection is `open`. `acks`: an acknowledgement
    /// is due.
    #[inline]
    pub(in super::super) fn poll(
        &mut self,
        config: &Config,
        now: Time,
        open: bool,
        acks: bool,
    ) -> Option<OutgoingPacket> {
        self.pace_wake = Time::NEVER;
        self.blocked = false;
        if now >= self.idle_at {
            self.catch_up(config, now);
        }
        if self.paced.is_some() && open && self.waits_for_its_time(now) {
            return None;
        }
        if self.send_queue.has_retransmissions()
            && let Some(seq) = self.poll_retransmission()
        {
            return self.retransmit(config, now, seq);
        }
        if !open || self.send_queue.has_lost() {
            return None;
        }
        if self.snd_nxt < self.write_end {
            return self.poll_data(config, now, acks);
        }
        let small = self.must_wait(config);
        let room = self.send_queue.len() < MAX_PACKETS as usize;
        if self.closed && self.fin == UNSENT && room && !small {
            if self.send_queue.is_empty() {
                self.arm(config, now);
            }
            self.fin = self.send_queue.push(now, self.write_end, 0);
            return Some(self.outgoing(self.fin, self.write_end, 0, false));
        }
        None
    }

    #[inline(never)]
    fn poll_retransmission(&mut self) -> Option<u64> {
        if let Some(seq) = self.send_queue.find_retransmission(false) {
            return Some(seq);
        }
        let seq = self.send_queue.find_retransmission(true)?;
        // A packet sent before the path MTU was lowered counts with its present size.
        let len = self.send_queue.get(seq)?.len.min(self.packet as u16);
        if self.send_queue.in_flight + u64::from(len) <= self.window() {
            return Some(seq);
        }
        self.blocked = true;
        None
    }

    fn retransmit(&mut self, config: &Config, now: Time, seq: u64) -> Option<OutgoingPacket> {
        let packet = self.send_queue.resend(now, seq)?;
        if self.mtu_search.pads() && self.mtu_search.probe() == Some(seq) {
            // It goes without its padding, and its arrival proves nothing.
            self.mtu_search.forget_probe();
        }
        if !config.loss_detection.after_timeout
            && seq == self.resend_from.max(self.send_queue.first())
        {
            self.resend_from = seq + 1;
        }
        self.counters.packets_retransmitted += 1;
        self.counters.bytes_retransmitted += u64::from(packet.len);
        if seq != self.syn && self.paced.is_some() {
            self.pace_retransmission(now, seq, u64::from(packet.len));
        }
        Some(self.outgoing(seq, packet.offset, packet.len, false))
    }

    /// New data, if there is room for it.
    #[inline]
    fn poll_data(&mut self, config: &Config, now: Time, acks: bool) -> Option<OutgoingPacket> {
        let unsent = self.write_end - self.snd_nxt;
        let mut len = unsent.min(u64::from(self.packet));
        // An acknowledgement takes with it what is held (`send_pkt` with `pkt_ack`).
        let forced = self.closed || (acks && config.nagle == Nagle::Minshall);
        if len < u64::from(self.packet) && !forced && self.must_wait(config) {
            return None;
        }
        // One number is kept for the FIN.
        let room = if self.send_queue.len() < MAX_PACKETS as usize - 1 {
            self.window().saturating_sub(self.send_queue.in_flight)
        } else {
            0
        };
        let window = self.controller.window();
        let wanted =
            u64::from(self.mtu_search.wanted_bytes(&config.path_mtu, window) - HEADER_BYTES);
        let mut padding = 0;
        if self.mtu_search.pads() {
            if wanted > len && len == u64::from(self.packet) && self.is_held_to_the_path(config) {
                // The payload makes room where the difference is less than the shortest padding.
                len = len.min(wanted - u64::from(MIN_PADDING_BYTES));
                padding = wanted - len;
            }
        } else if wanted > len && unsent.min(room) >= wanted && self.uses_all_of_the_path(config) {
            len = wanted;
        }
        if len > room {
            self.blocked = true;
            len = self.squeeze(config, now, len, room)?;
            padding = 0;
        }
        Some(self.send_new(config, now, len as u32, padding as u16))
    }

    fn uses_all_of_the_path(&self, config: &Config) -> bool {
        match &config.packet_size {
            PacketSize::PathMtu => true,
            PacketSize::Fixed { .. } => false,
            PacketSize::Ladder(ladder) => self.size_steps.is_at_the_top(ladder),
        }
    }

    /// Whether packets would be larger if the path took more.
    fn is_held_to_the_path(&self, config: &Config) -> bool {
        match &config.packet_size {
            PacketSize::PathMtu | PacketSize::Fixed { .. } => true,
            PacketSize::Ladder(ladder) => {
                self.size_steps.packet_bytes(ladder, u32::MAX) > self.packet
            }
        }
    }

    /// How much of a packet of `len` bytes may be sent although there is room for `room` only.
    fn squeeze(&mut self, config: &Config, now: Time, len: u64, room: u64) -> Option<u64> {
        if let WindowFill::Exact { least_bytes } = config.window_fill
            && room >= u64::from(least_bytes)
        {
            return Some(room);
        }
        if self.send_queue.in_flight > 0 || self.send_queue.len() >= MAX_PACKETS as usize - 1 {
            return None;
        }
        let window = self.controller.window();
        if window >= len || window >= self.peer_window.bytes() {
            // The window is smaller than a packet, and the other end sends no further update.
            let room = self.peer_window.bytes();
            return (room > 0).then_some(room.min(len));
        }
        // The window is smaller than a packet, and nothing is under way that would open it.
        if config.small_window == SmallWindow::Paced && self.peer_window.bytes() >= len {
            if now >= self.pace_at {
                return Some(len);
            }
            self.pace_wake = self.pace_at;
        }
        if self.rto_at == Time::NEVER {
            self.arm(config, now);
        }
        None
    }

    #[inline]
    fn send_new(&mut self, config: &Config, now: Time, len: u32, padding: u16) -> OutgoingPacket {
        let window = self.controller.window();
        if window < u64::from(len) && config.small_window == SmallWindow::Paced {
            let round = match self.rtt.min() {
                Span::MAX => ASSUMED_ROUND_TRIP,
                min => min,
            };
            self.pace_at = now + round * u64::from(len) / window.max(1);
        }
        if self.send_queue.is_empty() {
            self.arm(config, now);
        }
        let offset = self.snd_nxt;
        let seq = self.send_queue.push(now, offset, len as u16);
        self.snd_nxt += u64::from(len);
        if self.paced.is_some() {
            self.pace_new(now, seq, u64::from(len));
        }
        if len < self.packet && padding == 0 {
            self.small = seq;
        }
        let datagram = len + HEADER_BYTES + u32::from(padding);
        let measures = self.mtu_search.on_sent(&config.path_mtu, now, seq, datagram, window);
        if let PacketSize::Ladder(ladder) = &config.packet_size {
            let max = self.mtu_search.datagram_bytes() - HEADER_BYTES;
            if self.size_steps.on_sent(ladder, now, len, window, max) {
                self.resize(config);
            }
        }
        OutgoingPacket { padding, ..self.outgoing(seq, offset, len as u16, measures) }
    }

    #[inline]
    fn outgoing(&self, seq: u64, offset: u64, len: u16, dont_fragment: bool) -> OutgoingPacket {
        let kind = if seq == self.fin {
            PacketKind::Fin
        } else if seq == self.syn {
            PacketKind::Syn
        } else {
            PacketKind::Data
        };
        OutgoingPacket { seq, offset, len, padding: 0, kind, dont_fragment }
    }
}
