use super::config::Config;
use super::packet::{Extension, Packet, PacketKind};
use super::receiver::{Payload, Receiver};
use super::sack::Sack;
use super::sender::{OutgoingPacket, Sender};
use super::state::{CloseReason, State, Stats};
use crate::congestion::Controller;
use flashcrowd_base::{RandomStream, Rate, Span, Time};
use std::sync::Arc;

/// How long a released connection (an orphan, in Linux) lives while the other end keeps its window
/// shut.
///
/// RFC 9293 (3.8.6.1, MUST-37) keeps a connection open for as long as zero-window probes are
/// acknowledged, and RFC 6429 leaves it to the system to end one that takes too much. Here no
/// application waits for the outcome, so a peer that reads nothing must not hold a send buffer for
/// hours. Linux ends an orphan after `tcp_orphan_retries` probes, 8 by default: a minute or two.
pub(super) const ORPHAN_TIMEOUT: Span = Span::from_secs(60);

/// How far the opening has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Opening {
    /// A SYN is to be sent.
    Idle,
    /// A SYN is sent.
    SynSent,
    /// A SYN was received and is answered; nothing else has come.
    SynReceived,
    /// Done.
    Done,
}

/// One end of a uTP connection, both directions. See the [module](super) for how to drive it.
#[derive(Clone, Debug)]
pub struct Connection {
    config: Arc<Config>,
    sender: Sender,
    receiver: Receiver,
    opening: Opening,
    over: Option<CloseReason>,
    over_at: Time,
    /// Ids in packets that arrive, and in packets that are sent.
    receive_id: u16,
    send_id: u16,
    /// Number of the SYN.
    syn_nr: u16,
    /// One-way delay of the last packet that arrived, which the next packet reports to the other end.
    delay: u32,
    /// An answer to a SYN, a RESET, a keep-alive is to be sent.
    answer_due: bool,
    /// The id and the acknowledgement number of the RESET.
    reset_due: Option<(u16, u16)>,
    keep_alive_due: bool,
    /// How often a SYN was answered unasked.
    answers: u32,
    /// Until when this end waits for the other: to confirm, while half open; to open its window,
    /// once released.
    give_up_at: Time,
    /// This end closed before the other did; this end reads no more.
    closed_first: bool,
    released: bool,
    /// When an unconfirmed connection answers again or ends, or lingering ends.
    opening_at: Time,
    last_sent: Time,
    last_received: Time,
    packets_sent: u64,
    packets_received: u64,
    packets_ignored: u64,
}

/// Timestamp of a packet: microseconds modulo 2^32.
#[inline]
fn clock(now: Time) -> u32 {
    (now.nanos() / 1000) as u32
}

impl Connection {
    fn new(
        config: &Arc<Config>,
        now: Time,
        opening: Opening,
        ids: (u16, u16),
        seq_nr: u16,
    ) -> Connection {
        Connection {
            config: Arc::clone(config),
            sender: Sender::new(config, now, seq_nr),
            receiver: Receiver::new(config),
            opening,
            over: None,
            over_at: Time::NEVER,
            receive_id: ids.0,
            send_id: ids.1,
            syn_nr: 0,
            delay: 0,
            answer_due: false,
            reset_due: None,
            keep_alive_due: false,
            answers: 0,
            give_up_at: Time::NEVER,
            closed_first: false,
            released: false,
            opening_at: Time::NEVER,
            last_sent: now,
            last_received: now,
            packets_sent: 0,
            packets_received: 0,
            packets_ignored: 0,
        }
    }

    /// Opens a connection: a SYN can be polled at once. Packets for this end will carry
    /// `connection_id`, those for the other end the one after it; the SYN has the number `seq_nr`.
    /// Both should be random, the first one that is in use with no other connection to this peer,
    /// and not 0xffff, which libutp does not find the successor of.
    pub fn connect(config: &Arc<Config>, now: Time, connection_id: u16, seq_nr: u16) -> Connection {
        let ids = (connection_id, connection_id.wrapping_add(1));
        let mut connection = Connection::new(config, now, Opening::Idle, ids, seq_nr);
        connection.syn_nr = seq_nr;
        connection
    }

    /// Answers a SYN that arrived: a STATE can be polled at once. `seq_nr` should be random: the
    /// number of this end's first packet, which proves later that the other end has its address.
    pub fn accept(config: &Arc<Config>, now: Time, syn: &Packet, seq_nr: u16) -> Connection {
        let ids = (syn.connection_id.wrapping_add(1), syn.connection_id);
        let mut connection = Connection::new(config, now, Opening::SynReceived, ids, seq_nr);
        connection.syn_nr = syn.seq_nr;
        connection.receiver.open(syn.seq_nr.wrapping_add(1));
        connection.sender.open(syn);
        connection.answer_due = true;
        connection.give_up_at = now + config.half_open_ns;
        connection.opening_at = now + config.initial_rto_ns.min(config.half_open_ns);
        connection.packets_received = 1;
        connection
    }

    /// The stream from which a controller draws that draws at all (BBR: when to probe); to be
    /// given before anything else is done. Without, all connections draw the same.
    pub fn draw_from(&mut self, stream: RandomStream) {
        if let Some(own) = self.random_stream() {
            *own = stream;
        }
    }

    /// Searches for the path's MTU with padding and not with bytes of the stream, for paths on which a datagram that
    /// is too large may never arrive, in fragments or not. Datagrams of `base` bytes always do. To be called before
    /// anything else is done.
    pub fn pad_probes(&mut self, now: Time, base: u32) {
        self.sender.pad_probes(&self.config, now, base);
    }

    /// The size of the datagram that measures the path now, if one does.
    pub fn probe_bytes(&self) -> Option<u32> {
        self.sender.probe_bytes()
    }

    /// The largest datagram that arrives, as far as is known: a packet that is larger was sent first when the path
    /// took more.
    #[inline]
    pub fn path_bytes(&self) -> u32 {
        self.sender.path_bytes()
    }

    /// The stream from which the controller draws; `None` if it does not draw.
    pub fn random_stream(&mut self) -> Option<&mut RandomStream> {
        self.sender.random_stream()
    }

    /// The id in packets for this end.
    pub fn receive_id(&self) -> u16 {
        self.receive_id
    }

    /// The id in packets for the other end.
    pub fn send_id(&self) -> u16 {
        self.send_id
    }

    /// Measures the one-way delay of a packet that arrives now, to be sent back with the next packet.
    #[inline]
    fn measure(&mut self, now: Time, packet: &Packet) -> Option<u32> {
        if packet.timestamp == 0 {
            self.delay = 0;
            return None;
        }
        // 0 means no measurement.
        self.delay = clock(now).wrapping_sub(packet.timestamp).max(1);
        Some(self.delay)
    }

    /// A packet arrived. Returns what to do with its payload; when that is
    /// [`Payload::Append`], [`readable`](Connection::readable) has grown by it and by what was held
    /// behind it.
    #[inline]
    pub fn receive(&mut self, now: Time, packet: &Packet) -> Payload {
        let special = self.opening != Opening::Done
            || self.over.is_some()
            || matches!(packet.kind, PacketKind::Reset | PacketKind::Syn);
        if special && !self.receive_special(now, packet) {
            return Payload::Drop;
        }
        if packet.connection_id != self.receive_id
            || !self.sender.is_plausible(&self.config, packet.ack_nr)
            || !self.receiver.is_plausible(packet)
        {
            self.packets_ignored += 1;
            return Payload::Drop;
        }
        self.packets_received += 1;
        self.last_received = now;
        let delay = self.measure(now, packet);
        self.sender.on_packet(&self.config, now, packet, delay);
        if self.opening == Opening::SynReceived {
            self.opening = Opening::Done;
            self.opening_at = Time::NEVER;
            self.give_up_at = Time::NEVER;
            // Silence counts from here.
            self.last_sent = now;
        } else if self.is_answer(packet) {
            // The other end waits for a confirmation.
            self.receiver.ack_due = true;
        }
        if self.released {
            self.watch_window(now);
        }
        let mut payload = Payload::Drop;
        if matches!(packet.kind, PacketKind::Data | PacketKind::Fin) {
            payload = self.receiver.on_data(&self.config, now, packet);
            if self.released {
                payload = Payload::Drop;
                self.receiver.read(&self.config, self.receiver.readable());
            }
        }
        if self.sender.is_finished() {
            self.consider_end(now);
        }
        payload
    }

    /// Whether this is the answer to our SYN, once more.
    #[inline]
    fn is_answer(&self, packet: &Packet) -> bool {
        packet.kind == PacketKind::State
            && packet.ack_nr == self.syn_nr
            && self.sender.next_seq() == self.syn_nr.wrapping_add(1)
            && self.receiver.is_untouched()
    }

    /// Anything that is not plain data and acknowledgements of an open connection. Returns whether
    /// the rest of the packet counts.
    fn receive_special(&mut self, now: Time, packet: &Packet) -> bool {
        if packet.kind == PacketKind::Reset {
            let ours = [self.receive_id, self.send_id].contains(&packet.connection_id);
            if ours && self.over.is_none() && self.opening != Opening::Idle {
                let all_sent = self.sender.is_closed() && self.sender.is_delivered();
                let clean = all_sent && (self.released || self.receiver.is_finished());
                self.end(now, if clean { CloseReason::Finished } else { CloseReason::Reset });
            }
            return false;
        }
        if self.over.is_some() {
            // The other end waits for an answer that it may have missed. Where timers are examined
            // now and then, so is whether a connection is over (libutp).
            let waits = matches!(packet.kind, PacketKind::Data | PacketKind::Fin)
                && packet.connection_id == self.receive_id
                && self.over != Some(CloseReason::Reset);
            if waits && now >= self.config.examined(self.over_at) {
                self.reset_due = Some((packet.connection_id, packet.seq_nr));
            }
            return false;
        }
        if packet.kind == PacketKind::Syn {
            // Our answer was lost.
            let retransmitted =
                packet.connection_id == self.send_id && packet.seq_nr == self.syn_nr;
            self.answer_due |= retransmitted && self.opening == Opening::SynReceived;
            return false;
        }
        match self.opening {
            Opening::Idle => false,
            Opening::SynSent => {
                // Only a STATE has the number of the first packet to come. Data that overtook it
                // will be sent again.
                let answers = packet.kind == PacketKind::State
                    && packet.connection_id == self.receive_id
                    && packet.ack_nr == self.sender.next_seq().wrapping_sub(1);
                if answers {
                    self.receiver.open(packet.seq_nr);
                    self.opening = Opening::Done;
                    // Confirm, in case there is no data to do so.
                    self.receiver.ack_due = true;
                }
                answers
            }
            Opening::SynReceived | Opening::Done => true,
        }
    }

    /// The next packet for the wire. Repeat until `None` after every other call with `&mut self`.
    #[inline]
    pub fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        if (self.opening != Opening::Done || self.over.is_some())
            && let Some(settled) = self.poll_opening(now)
        {
            return settled;
        }
        if let Some(outgoing) = self.sender.poll(&self.config, now, true, self.receiver.ack_due) {
            return Some(self.numbered_packet(now, outgoing));
        }
        if self.receiver.ack_due {
            let mut packet = self.state_packet(now);
            packet.sack = self.receiver.sack(self.config.sack);
            self.receiver.on_sent(false);
            return Some(packet);
        }
        if std::mem::take(&mut self.keep_alive_due) {
            let mut packet = self.state_packet(now);
            packet.ack_nr = packet.ack_nr.wrapping_sub(1);
            return Some(packet);
        }
        None
    }

    /// The next packet before the connection is open and after it is over; `None` where it is open.
    fn poll_opening(&mut self, now: Time) -> Option<Option<Packet>> {
        if self.over.is_some() {
            return Some(self.reset_due.take().map(|(connection_id, ack_nr)| {
                let packet = self.state_packet(now);
                let kind = PacketKind::Reset;
                let timestamp_difference = 0;
                Packet { kind, connection_id, ack_nr, timestamp_difference, window: 0, ..packet }
            }));
        }
        match self.opening {
            Opening::Idle => {
                self.opening = Opening::SynSent;
                let outgoing = self.sender.send_syn(&self.config, now);
                Some(Some(self.syn_packet(now, outgoing)))
            }
            Opening::SynSent => {
                let outgoing = self.sender.poll(&self.config, now, false, false);
                Some(outgoing.map(|outgoing| self.syn_packet(now, outgoing)))
            }
            Opening::SynReceived if std::mem::take(&mut self.answer_due) => {
                let packet = self.state_packet(now);
                let seq_nr = self.sender.first_seq();
                Some(Some(Packet { seq_nr, ..packet }))
            }
            Opening::SynReceived => Some(None),
            Opening::Done => None,
        }
    }

    /// The SYN. It carries the id for packets to this end.
    fn syn_packet(&mut self, now: Time, outgoing: OutgoingPacket) -> Packet {
        let packet = self.numbered_packet(now, outgoing);
        Packet { connection_id: self.receive_id, ack_nr: 0, ..packet }
    }

    /// A packet that takes a sequence number.
    #[inline]
    fn numbered_packet(&mut self, now: Time, outgoing: OutgoingPacket) -> Packet {
        self.receiver.on_sent(true);
        let packet = self.state_packet(now);
        Packet {
            offset: outgoing.offset,
            seq_nr: outgoing.seq as u16,
            len: outgoing.len,
            kind: outgoing.kind,
            dont_fragment: outgoing.dont_fragment,
            extension: if outgoing.padding > 0 {
                Extension::Padding(outgoing.padding.to_be_bytes())
            } else {
                Extension::None
            },
            ..packet
        }
    }

    /// A STATE packet: acknowledgement number, window, timestamps.
    #[inline]
    fn state_packet(&mut self, now: Time) -> Packet {
        self.packets_sent += 1;
        self.last_sent = now;
        Packet {
            timestamp: clock(now),
            timestamp_difference: self.delay,
            window: self.receiver.advertise(&self.config),
            connection_id: self.send_id,
            seq_nr: self.sender.next_seq(),
            ack_nr: self.receiver.ack_nr(),
            kind: PacketKind::State,
            sack: Sack::NONE,
            ..Packet::default()
        }
    }

    /// When the keep-alive is due.
    #[inline]
    fn keep_alive_at(&self) -> Time {
        let wait = self.config.keep_alive_ns;
        if wait.is_zero() || self.opening != Opening::Done || self.sender.is_closed() {
            return Time::NEVER;
        }
        self.config.examined(self.last_sent + wait)
    }

    /// When the other end counts as gone, for its silence.
    #[inline]
    fn silence_at(&self) -> Time {
        let wait = self.config.silence_timeout_ns;
        if wait.is_zero() { Time::NEVER } else { self.last_received + wait }
    }

    /// When [`on_timer`](Connection::on_timer) wants to be called. Cheap; it may move either way
    /// with every other call.
    #[inline]
    pub fn next_timer(&self) -> Option<Time> {
        if self.over.is_some() {
            return None;
        }
        let at = self.sender.timer_deadline().min(self.receiver.ack_deadline).min(self.opening_at);
        let at = at.min(self.keep_alive_at()).min(self.silence_at()).min(self.give_up_at);
        (at != Time::NEVER).then_some(at)
    }

    /// Whether an acknowledgement is waiting to be polled.
    #[inline]
    pub fn has_acknowledgement(&self) -> bool {
        self.receiver.ack_due
    }

    /// Time has passed. Early calls do nothing.
    pub fn on_timer(&mut self, now: Time) {
        if self.over.is_some() {
            return;
        }
        if now >= self.opening_at {
            self.on_opening_timer(now);
        }
        self.receiver.on_timer(now);
        if now >= self.keep_alive_at() {
            self.keep_alive_due = true;
            self.last_sent = now;
        }
        if self.over.is_none()
            && (now >= self.silence_at() || !self.sender.on_timer(&self.config, now))
        {
            self.end(now, CloseReason::TimedOut);
        }
        if self.over.is_none() && now >= self.give_up_at {
            // The other end is there: it learns by a RESET that nothing more will come.
            self.reset_due = Some((self.send_id, self.receiver.ack_nr()));
            self.end(now, CloseReason::TimedOut);
        }
    }

    /// Of a released connection: the time to give up runs while the other end's window is shut.
    fn watch_window(&mut self, now: Time) {
        if self.opening != Opening::Done {
            return;
        }
        self.give_up_at = if self.sender.is_shut_out() {
            self.give_up_at.min(now + ORPHAN_TIMEOUT)
        } else {
            Time::NEVER
        };
    }

    fn on_opening_timer(&mut self, now: Time) {
        self.opening_at = Time::NEVER;
        if self.opening == Opening::Done {
            self.end(now, CloseReason::Finished);
        } else if now >= self.give_up_at {
            self.end(now, CloseReason::TimedOut);
        } else {
            // The other end's confirmation may be lost; data must not be sent without it, since a
            // caller that missed the answer takes the data for it (libutp).
            self.answer_due = self.sender.has_unsent();
            self.answers += 1;
            let wait = self.config.initial_rto_ns * (1 << self.answers.min(20));
            self.opening_at = (now + wait).min(self.give_up_at);
        }
    }

    /// The application offers `bytes`; returns how many the send buffer took. Nothing after
    /// [`close`](Connection::close).
    pub fn write(&mut self, _now: Time, bytes: u64) -> u64 {
        if self.over.is_some() { 0 } else { self.sender.write(&self.config, bytes) }
    }

    /// How many bytes [`write`](Connection::write) has taken.
    #[inline]
    pub fn written(&self) -> u64 {
        self.sender.written()
    }

    /// How many bytes [`write`](Connection::write) would take.
    pub fn write_space(&self) -> u64 {
        if self.over.is_some() { 0 } else { self.sender.write_space(&self.config) }
    }

    /// Bytes that were written and have not been sent for the first time.
    #[inline]
    pub fn unsent(&self) -> u64 {
        self.sender.unsent()
    }

    /// Bytes that were written and have not been acknowledged.
    #[inline]
    pub fn unacknowledged(&self) -> u64 {
        self.sender.unacknowledged()
    }

    /// Bytes that arrived in order and were not read.
    #[inline]
    pub fn readable(&self) -> u64 {
        self.receiver.readable()
    }

    /// The application consumed `bytes`, at most [`readable`](Connection::readable).
    #[inline]
    pub fn read(&mut self, _now: Time, bytes: u64) {
        self.receiver.read(&self.config, bytes);
    }

    /// Sends FIN after everything that is queued. Reading goes on.
    pub fn close(&mut self, now: Time) {
        if self.over.is_some() || self.sender.is_closed() {
            return;
        }
        self.closed_first = !self.receiver.is_finished();
        self.sender.close();
        self.consider_end(now);
    }

    /// Closes, and reads no more: what still arrives is acknowledged and thrown away. The
    /// connection is over when everything that was written is acknowledged; the other end's FIN
    /// is answered with RESET then, as libutp does it. If the other end keeps its window shut for
    /// 60 s, the connection is reset, and what is left is lost.
    pub fn release(&mut self, now: Time) {
        self.close(now);
        self.released = true;
        let readable = self.receiver.readable();
        self.receiver.read(&self.config, readable);
        self.watch_window(now);
        self.consider_end(now);
    }

    /// Ends the connection with a RESET, which can be polled at once.
    pub fn abort(&mut self, now: Time) {
        if self.over.is_none() {
            if self.opening != Opening::Idle {
                self.reset_due = Some((self.send_id, self.receiver.ack_nr()));
            }
            self.end(now, CloseReason::Aborted);
        }
    }

    /// An ICMP "fragmentation needed" arrived: datagrams of more than `bytes` do not get through; 0 if
    /// the router gives no MTU. With padded probes, it is believed of a larger probe that is under way.
    pub fn on_path_limit(&mut self, now: Time, bytes: u32) {
        if self.over.is_none() {
            self.sender.on_path_limit(&self.config, now, bytes);
        }
    }

    /// Ends the connection, or begins to linger, if both directions are finished.
    fn consider_end(&mut self, now: Time) {
        if self.over.is_some() || !self.sender.is_finished() {
            return;
        }
        if self.released || (self.receiver.is_finished() && !self.closed_first) {
            self.end(now, CloseReason::Finished);
        } else if self.receiver.is_finished() {
            // A retransmitted FIN restarts it.
            self.opening_at = now + self.config.linger_ns;
        }
    }

    fn end(&mut self, now: Time, reason: CloseReason) {
        self.over = Some(reason);
        self.over_at = now;
        self.opening_at = Time::NEVER;
        self.give_up_at = Time::NEVER;
        self.receiver.ack_deadline = Time::NEVER;
        self.sender.stop();
    }

    /// Where the connection stands.
    pub fn state(&self) -> State {
        if let Some(reason) = self.over {
            return State::Closed { reason };
        }
        match (self.opening, self.sender.is_closed(), self.receiver.is_finished()) {
            (Opening::Idle | Opening::SynSent | Opening::SynReceived, ..) => State::Connecting,
            (_, false, false) => State::Established,
            (_, true, false) => State::Closing,
            (_, false, true) => State::PeerClosed,
            (_, true, true) if self.sender.is_finished() => State::Lingering,
            (_, true, true) => State::LastAck,
        }
    }

    /// When the last plausible packet arrived; when the connection was made, before the first.
    pub fn last_received(&self) -> Time {
        self.last_received
    }

    /// Whether the handshake is done and the connection not over.
    #[inline]
    pub fn is_established(&self) -> bool {
        self.opening == Opening::Done && self.over.is_none()
    }

    /// Whether the connection is over.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.over.is_some()
    }

    /// Whether the other end's FIN has arrived and everything before it was read: end of file.
    #[inline]
    pub fn peer_closed(&self) -> bool {
        self.receiver.is_read_to_the_end()
    }

    /// The latest round-trip sample, if there was one. Cheap, unlike [`stats`](Connection::stats).
    pub fn latest_rtt(&self) -> Option<Span> {
        let rtt = self.sender.round_trip();
        (!rtt.smoothed().is_zero()).then(|| rtt.latest())
    }

    /// When the retransmission timer expires; none if nothing is in flight.
    pub fn loss_timer(&self) -> Option<Time> {
        self.sender.loss_timer()
    }

    /// Numbers, offsets and lengths of the lost packets that were not retransmitted since.
    pub fn lost_packets(&self) -> impl Iterator<Item = (u16, u64, u16)> {
        self.sender.lost_packets()
    }

    /// The rate at which packets leave; none where the window alone decides.
    pub fn pacing_rate(&self) -> Option<Rate> {
        self.sender.pacing_rate()
    }

    /// Name of the congestion controller's state, if it has states.
    pub fn controller_state(&self) -> Option<&'static str> {
        self.sender.controller().state_name()
    }

    /// How it is configured.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Counters and estimates.
    pub fn stats(&self) -> Stats {
        let rtt = self.sender.round_trip();
        let counters = self.sender.counters;
        let min = rtt.min();
        Stats {
            srtt: rtt.smoothed(),
            rtt: rtt.latest(),
            min_rtt: if min == Span::MAX { Span::ZERO } else { min },
            rttvar: rtt.deviation(),
            rto: self.sender.timeout(&self.config),
            backoff: self.sender.backoff(),
            queueing_delay: self.sender.queueing_delay(),
            cwnd: self.sender.controller().window(),
            ssthresh: self.sender.controller().threshold(),
            in_flight: self.sender.in_flight(),
            peer_window: self.sender.peer_window(),
            packet_bytes: u64::from(self.sender.packet_bytes()),
            packets_sent: self.packets_sent,
            packets_retransmitted: counters.packets_retransmitted,
            bytes_retransmitted: counters.bytes_retransmitted,
            bytes_acked: self.sender.bytes_acked(),
            bytes_received: self.receiver.arrived(),
            packets_received: self.packets_received,
            packets_ignored: self.packets_ignored,
            packets_duplicate: self.receiver.duplicates,
            timeouts: counters.timeouts,
            reductions: counters.reductions,
            packets_lost: self.sender.packets_lost(),
            probes_lost: counters.probes_lost,
            packets_held: self.sender.packets_held() + self.receiver.packets_held() as usize,
            bytes_held: self.receiver.bytes_held(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A simulator holds tens of thousands of them, and what it pays for is cache lines.
    #[test]
    fn a_connection_is_small() {
        assert!(size_of::<Connection>() <= 840, "{}", size_of::<Connection>());
    }
}
