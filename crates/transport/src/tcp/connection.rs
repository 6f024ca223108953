use super::config::{BARE_HEADER_BYTES, Config};
use super::ecn::{Echo, Feedback};
use super::receiver::{Receiver, Unstamped};
use super::segment::{Flags, MAX_SACK_RANGES, Segment};
use super::sender::{Burst, Sender};
use super::state::{CloseReason, LossTimer, State, Stats};
use super::timestamp::{clock, micros_since};
use flashcrowd_base::{RandomStream, Rate, Span, Time};
use std::mem::offset_of;
use std::sync::Arc;

/// The smallest MSS that is accepted (RFC 9293, section 3.7.1).
const MIN_SEGMENT: u32 = 64;

/// How far the opening has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Opening {
    /// A SYN is sent, or about to be.
    Calling,
    /// A SYN was received and is answered.
    Answering,
    /// Done.
    Done,
}

/// A RST that waits to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reset {
    None,
    /// This end aborted.
    Abort,
    /// The answer of a closed end to a segment that left this many bytes unacknowledged.
    Answer {
        unacknowledged: u32,
    },
    /// The answer of a closed end to a segment without ACK.
    AnswerSyn,
}

/// The segments that a connection is about to send; see [`Connection::poll_outgoing`].
#[derive(Debug)]
pub struct Outgoing(Burst);

impl Outgoing {
    /// Bytes of payload.
    #[inline]
    pub fn payload(&self) -> u32 {
        self.0.len
    }
}

/// One end of a TCP connection, both directions. See the [module](super) for how to drive it.
///
/// Three lines of the cache are the receiver and the connection's own fields. From the fourth on comes
/// the sender: its first line is read for every segment, the others only for acknowledgements with news
/// and to send. Behind it stands what handshakes, resets and connections without timestamps need. With
/// tens of thousands of connections every line that is touched takes longer than the work done on it.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Connection {
    receiver: Receiver,
    config: Arc<Config>,
    /// When the SYN is retransmitted, or TIME-WAIT ends.
    opening_at: Time,
    segments_sent: u64,
    segments_received: u64,
    mss: u16,
    opening: Opening,
    over: Option<CloseReason>,
    /// The options that both ends offered.
    sack: bool,
    timestamps: bool,
    scaled: bool,
    /// A SYN is to be sent.
    syn_due: bool,
    /// This end closed before the other did, and stays in TIME-WAIT.
    closed_first: bool,
    /// ECN: what was agreed, and the feedback on marks that arrived.
    echo: Echo,
    /// No more than the configuration allows.
    syn_tries: u8,
    /// Packets may be held back by pacing.
    paces: bool,
    pub(super) sender: Sender,
    /// When the first SYN was sent.
    first_syn: Time,
    unstamped: Unstamped,
    reset: Reset,
}

impl Connection {
    fn new(config: &Arc<Config>, now: Time, opening: Opening) -> Connection {
        // Packets have at most 65535 bytes.
        let mss = config.segment_bytes() as u16;
        let sender = Sender::new(config, now, mss, config.sack, config.timestamps);
        Connection {
            config: Arc::clone(config),
            paces: sender.paces(),
            sender,
            receiver: Receiver::new(config, now),
            unstamped: Unstamped::new(now),
            opening,
            over: None,
            sack: config.sack,
            timestamps: config.timestamps,
            scaled: config.window_scaling,
            mss,
            syn_due: true,
            reset: Reset::None,
            echo: Echo::new(),
            closed_first: false,
            syn_tries: 0,
            opening_at: Time::NEVER,
            first_syn: now,
            segments_sent: 0,
            segments_received: 0,
        }
    }

    /// Opens a connection: a SYN can be polled at once.
    pub fn connect(config: &Arc<Config>, now: Time) -> Connection {
        Connection::new(config, now, Opening::Calling)
    }

    /// Answers a SYN that arrived: a SYN with ACK can be polled at once.
    pub fn accept(config: &Arc<Config>, now: Time, syn: &Segment) -> Connection {
        let mut connection = Connection::new(config, now, Opening::Answering);
        connection.segments_received = 1;
        connection.agree(now, syn);
        connection.echo.on_syn(connection.config.ecn, syn);
        connection
    }

    /// The stream from which a controller draws that draws at all (BBR: when to probe); to be
    /// given before anything else is done. Without, all connections draw the same.
    pub fn draw_from(&mut self, stream: RandomStream) {
        self.sender.draw_from(stream);
    }

    /// Takes the lesser of what this end and `syn` offer.
    fn agree(&mut self, now: Time, syn: &Segment) {
        let config = &self.config;
        self.sack &= syn.flags.contains(Flags::SACK_PERMITTED);
        self.timestamps &= syn.flags.contains(Flags::TIMESTAMPS);
        self.scaled &= syn.flags.contains(Flags::WINDOW_SCALE);
        let largest = (config.mtu_bytes - BARE_HEADER_BYTES).min(u32::from(syn.mss));
        let options = config.option_bytes(self.timestamps);
        let mss = (largest.max(MIN_SEGMENT + options) - options) as u16;
        self.mss = mss;
        self.sender.agree(config, mss, self.sack, self.timestamps);
        self.receiver.agree(self.scaled, mss);
        self.receiver.echo = syn.timestamp;
        self.sender.open(now, syn.window);
    }

    /// The ECN request of the latest SYN.
    fn ecn_request(&self) -> Flags {
        if self.syn_tries > 1 { Flags::default() } else { Echo::request(self.config.ecn) }
    }

    /// The other end has answered our SYN. The echoed timestamp says which one, if it was sent several times: it gives a
    /// round trip (RFC 7323), and if it was the first one, a timeout was for nothing (Linux: tcp_try_undo_spurious_syn).
    fn open(&mut self, now: Time, answer: &Segment) {
        self.opening = Opening::Done;
        self.opening_at = Time::NEVER;
        self.syn_due = false;
        self.receiver.open(now);
        let echo = self.timestamps.then_some(answer.echo);
        if self.syn_tries == 1 {
            self.sender.sample(&self.config, now, now.since(self.first_syn));
        } else if let Some(micros) = echo.and_then(|echo| micros_since(echo, now)) {
            self.sender.sample(&self.config, now, Span::from_micros(u64::from(micros)));
        }
        let spurious = self.config.undo && echo == Some(clock(self.first_syn));
        if self.syn_tries > 2 && !spurious {
            self.sender.start_small();
        }
    }

    /// A segment arrived.
    #[inline]
    pub fn receive(&mut self, now: Time, segment: &Segment) {
        if self.over.is_some() {
            return self.answer_stray(segment);
        }
        self.segments_received += 1;
        if self.opening == Opening::Answering && self.echo.feedback != Feedback::None {
            return self.receive_last(now, segment);
        }
        self.receive_segment(now, segment);
    }

    /// The segment that may be the last of the handshake, with ECN.
    #[cold]
    fn receive_last(&mut self, now: Time, segment: &Segment) {
        if segment.flags.intersects(Flags::RST | Flags::SYN) || !segment.flags.contains(Flags::ACK)
        {
            return self.receive_segment(now, segment);
        }
        let (flags, cep) = self.echo.on_last(segment);
        self.sender.agree_marks(self.echo.feedback, cep);
        self.receive_segment(now, &Segment { flags, ..*segment });
    }

    #[inline(always)]
    fn receive_segment(&mut self, now: Time, segment: &Segment) {
        let control = segment.flags.intersects(Flags::RST | Flags::SYN);
        let special = control || self.opening != Opening::Done;
        if special && !self.receive_opening(now, segment) {
            return;
        }
        if segment.flags.contains(Flags::ACK)
            && !self.sender.on_ack(&self.config, now, segment, self.echo.is_agreed())
        {
            return;
        }
        let rtt = self.sender.round_trip();
        self.receiver.on_segment(&self.config, now, segment, rtt, &mut self.unstamped);
        if self.echo.is_agreed() && self.echo.on_segment(segment) {
            self.receiver.acks.due = true;
        }
        if self.receiver.is_finished() {
            self.consider_end(now);
        }
    }

    /// A closed end answers every segment with RST, but no RST (RFC 9293, section 3.10.7.1): if the
    /// RST that ended the connection was lost, the answer to the next segment replaces it.
    #[cold]
    fn answer_stray(&mut self, segment: &Segment) {
        if segment.flags.contains(Flags::RST) {
            return;
        }
        self.segments_received += 1;
        self.reset = if segment.flags.contains(Flags::ACK) {
            let unacknowledged = self.sender.next_offset().wrapping_sub(segment.ack) as u32;
            Reset::Answer { unacknowledged }
        } else {
            Reset::AnswerSyn
        };
    }

    /// Anything that is not plain data and acknowledgements. Returns whether the rest of the
    /// segment counts.
    fn receive_opening(&mut self, now: Time, segment: &Segment) -> bool {
        if segment.flags.contains(Flags::RST) {
            let done = self.sender.is_finished() && self.receiver.is_finished();
            self.end(if done { CloseReason::Finished } else { CloseReason::Reset });
            return false;
        }
        let syn = segment.flags.contains(Flags::SYN);
        let ack = segment.flags.contains(Flags::ACK);
        match self.opening {
            Opening::Calling if syn && ack => {
                self.agree(now, segment);
                let request = self.ecn_request();
                let cep = self.echo.on_answer(request, segment);
                self.sender.agree_marks(self.echo.feedback, cep);
                self.open(now, segment);
                self.receiver.acks.due = true;
                false
            }
            Opening::Calling => false,
            Opening::Answering if syn => {
                // The caller retransmits its SYN: our answer was lost.
                self.syn_due = true;
                false
            }
            Opening::Answering if ack => {
                self.open(now, segment);
                self.sender.open(now, segment.window);
                true
            }
            Opening::Answering => false,
            Opening::Done => {
                // A retransmitted SYN with ACK: our acknowledgement was lost.
                self.receiver.acks.due = true;
                false
            }
        }
    }

    /// The next segment for the wire. Repeat until `None` after every other call with `&mut self`.
    #[inline]
    pub fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        if !self.is_established() {
            return self.poll_opening(now);
        }
        let outgoing = self.poll_outgoing(now)?;
        let mut segment = Segment::default();
        self.write_out(now, outgoing, &mut segment);
        Some(segment)
    }

    /// [`poll_transmit`](Connection::poll_transmit) in two steps, for an established connection:
    /// what to send next is to be given to [`write_out`](Connection::write_out) at once.
    #[inline(always)]
    pub fn poll_outgoing(&mut self, now: Time) -> Option<Outgoing> {
        debug_assert!(self.is_established());
        if let Some(burst) = self.sender.poll(&self.config, now, self.paces) {
            Some(Outgoing(burst))
        } else if self.receiver.acks.due {
            Some(Outgoing(Burst {
                seq: self.sender.next_offset(),
                len: 0,
                flags: Flags::default(),
            }))
        } else if self.sender.take_window_probe() {
            Some(Outgoing(Burst {
                seq: self.sender.probe_offset(),
                len: 0,
                flags: Flags::default(),
            }))
        } else {
            None
        }
    }

    /// Fills `segment` in place, and returns how many frames it is. In place, since copying a structure
    /// right after its fields were written one by one is a store-forwarding stall for each packet.
    #[inline(always)]
    pub fn write_out(&mut self, now: Time, outgoing: Outgoing, segment: &mut Segment) -> u32 {
        let Outgoing(Burst { seq, len, mut flags }) = outgoing;
        if self.echo.is_agreed() {
            flags |= self.echo.flags();
        }
        self.fill_header(now, seq, len, Flags::ACK | flags, segment);
        let mss = u32::from(self.mss);
        if len <= mss { 1 } else { len.div_ceil(mss) }
    }

    /// Fills in a segment: acknowledgement, window, timestamps and SACK ranges included.
    #[inline(always)]
    fn fill_header(&mut self, now: Time, seq: u64, len: u32, flags: Flags, segment: &mut Segment) {
        let ack_fields = self.receiver.acknowledge(now, len > 0);
        self.segments_sent += 1;
        let (timestamp, stamped) = match (self.timestamps, self.config.free_timestamps) {
            (false, _) => (0, Flags::default()),
            (true, false) => (clock(now), Flags::TIMESTAMPS),
            (true, true) => (clock(now), Flags::TIMESTAMPS | Flags::FREE_TIMESTAMPS),
        };
        *segment = Segment {
            seq,
            ack: ack_fields.ack,
            len,
            window: ack_fields.window,
            timestamp,
            echo: ack_fields.echo,
            sack: [(0, 0); MAX_SACK_RANGES],
            mss: self.mss,
            flags: flags | stamped,
            sack_len: 0,
        };
        if self.sack && self.receiver.has_report() {
            self.receiver.report(segment);
        }
    }

    fn poll_opening(&mut self, now: Time) -> Option<Segment> {
        let mut segment = Segment { mss: self.mss, ..Segment::default() };
        if self.over.is_some() {
            match std::mem::replace(&mut self.reset, Reset::None) {
                Reset::None => return None,
                Reset::Abort => {
                    segment.flags = Flags::RST | Flags::ACK;
                    segment.seq = self.sender.next_offset();
                    segment.ack = self.receiver.next();
                }
                Reset::Answer { unacknowledged } => {
                    segment.flags = Flags::RST;
                    segment.seq = self.sender.next_offset().wrapping_sub(unacknowledged.into());
                }
                Reset::AnswerSyn => segment.flags = Flags::RST | Flags::ACK,
            }
            self.segments_sent += 1;
            return Some(segment);
        }
        if !std::mem::take(&mut self.syn_due) {
            return None;
        }
        segment.flags = Flags::SYN;
        segment.mss = (self.config.mtu_bytes - BARE_HEADER_BYTES) as u16;
        self.syn_tries += 1;
        segment.flags |= match self.opening {
            Opening::Answering => Flags::ACK | self.echo.answer(),
            _ => self.ecn_request(),
        };
        let offers = [
            (self.sack, Flags::SACK_PERMITTED),
            (self.timestamps, Flags::TIMESTAMPS),
            (self.scaled, Flags::WINDOW_SCALE),
        ];
        for (_, flag) in offers.into_iter().filter(|(offered, _)| *offered) {
            segment.flags |= flag;
        }
        if self.syn_tries == 1 {
            self.first_syn = now;
        }
        let wait = self.config.initial_rto_ns * (1 << (self.syn_tries - 1).min(20));
        self.opening_at = now + wait.min(self.config.max_rto_ns);
        let mss = segment.mss;
        self.fill_header(now, 0, 0, segment.flags, &mut segment);
        segment.mss = mss;
        Some(segment)
    }

    /// When [`on_timer`](Connection::on_timer) wants to be called. Cheap; it may move either way
    /// with every other call.
    #[inline]
    pub fn next_timer(&self) -> Option<Time> {
        let mut at = self.sender.timer_at().min(self.receiver.acks.deadline).min(self.opening_at);
        if self.paces {
            at = at.min(self.sender.pace_at());
        }
        (at != Time::NEVER).then_some(at)
    }

    /// Whether nothing will come of polling or [`on_timer`](Connection::on_timer) before
    /// [`next_timer`](Connection::next_timer), unless something else happens. A driver need
    /// not wake such a connection early. Asked after the last poll.
    #[inline]
    pub fn can_sleep(&self) -> bool {
        self.sender.can_sleep(&self.config) && self.over.is_none() && !self.receiver.is_finished()
    }

    /// Whether a poll would yield nothing and change nothing, as after most segments that arrive.
    /// Touches fewer cache lines than a poll.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.sender.is_idle()
            && !self.receiver.acks.due
            && self.is_established()
            && !self.receiver.is_finished()
    }

    /// Whether a full segment waits to be sent, and more data would change nothing. Asked after
    /// the last poll.
    #[inline]
    pub fn is_blocked(&self) -> bool {
        self.sender.unsent() >= u64::from(self.mss)
            && !(self.config.tso_defer && self.sender.fits_head_buffer())
    }

    /// Whether an acknowledgement is waiting to be polled.
    #[inline]
    pub fn has_acknowledgement(&self) -> bool {
        self.receiver.acks.due
    }

    /// Time has passed. Early calls do nothing.
    pub fn on_timer(&mut self, now: Time) {
        if self.over.is_some() {
            return;
        }
        if now >= self.opening_at {
            self.opening_at = Time::NEVER;
            if self.opening == Opening::Done {
                self.end(CloseReason::Finished);
                return;
            }
            if u32::from(self.syn_tries) > self.config.syn_retries {
                self.end(CloseReason::TimedOut);
                return;
            }
            self.syn_due = true;
            // Linux' tcpi_total_rto: those of the handshake, too.
            self.sender.count_timeout();
        }
        if now >= self.receiver.acks.deadline {
            let timeout = self.sender.round_trip().timeout();
            self.receiver.acks.on_timer(&self.config.delayed_ack, timeout);
        }
        if self.paces {
            self.sender.wake(now);
        }
        if !self.sender.on_timer(&self.config, now) {
            self.end(CloseReason::TimedOut);
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
    pub fn read(&mut self, now: Time, bytes: u64) {
        self.receiver.read(&self.config, now, bytes);
    }

    /// Sends FIN after everything that is queued. Reading goes on. Before the answer to our SYN the
    /// connection is dropped, and what was written with it (RFC 9293, section 3.10.4); an answer that comes
    /// later meets a closed end.
    pub fn close(&mut self, now: Time) {
        if self.over.is_some() || self.sender.is_closed() {
            return;
        }
        if self.opening == Opening::Calling {
            return self.end(CloseReason::Aborted);
        }
        self.closed_first = !self.receiver.is_finished();
        self.sender.close();
        self.consider_end(now);
    }

    /// Ends the connection with a RST, which can be polled at once.
    pub fn abort(&mut self, _now: Time) {
        if self.over.is_none() {
            if self.opening == Opening::Done || self.syn_tries > 0 {
                self.reset = Reset::Abort;
            }
            self.end(CloseReason::Aborted);
        }
    }

    /// The other end's FIN has arrived: is ours acknowledged as well?
    fn consider_end(&mut self, now: Time) {
        if !(self.sender.is_finished() && self.receiver.is_finished()) {
            return;
        }
        if !self.closed_first {
            self.end(CloseReason::Finished);
        } else {
            // Restarted by a retransmitted FIN.
            self.opening_at = now + self.config.time_wait_ns;
        }
    }

    fn end(&mut self, reason: CloseReason) {
        self.over = Some(reason);
        self.opening_at = Time::NEVER;
        self.receiver.acks.deadline = Time::NEVER;
        self.sender.stop();
    }

    /// Where the connection stands.
    pub fn state(&self) -> State {
        if let Some(reason) = self.over {
            return State::Closed { reason };
        }
        match (self.opening, self.sender.is_closed(), self.receiver.is_finished()) {
            (Opening::Calling | Opening::Answering, ..) => State::Connecting,
            (_, false, false) => State::Established,
            (_, true, false) => State::Closing,
            (_, false, true) => State::PeerClosed,
            (_, true, true) if self.sender.is_finished() => State::TimeWait,
            (_, true, true) => State::LastAck,
        }
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

    /// The purpose of the timer for losses, and its expiry; none if it is not set.
    pub fn loss_timer(&self) -> Option<(LossTimer, Time)> {
        if self.opening != Opening::Done {
            let waits = self.opening_at != Time::NEVER;
            return waits.then_some((LossTimer::Handshake, self.opening_at));
        }
        self.sender.loss_timer()
    }

    /// Offsets and lengths of the lost segments that were not retransmitted since. A FIN takes one
    /// offset.
    pub fn lost_segments(&self) -> impl Iterator<Item = (u64, u32)> {
        self.sender.lost_segments()
    }

    /// The rate at which packets leave; none where the window alone decides.
    pub fn pacing_rate(&self) -> Option<Rate> {
        self.sender.pacing_rate()
    }

    /// Name of the congestion controller's state, if it has states.
    pub fn controller_state(&self) -> Option<&'static str> {
        self.sender.controller_state()
    }

    /// How it is configured.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Counters and estimates.
    pub fn stats(&self) -> Stats {
        let rtt = self.sender.round_trip();
        let counters = self.sender.repairs.counters;
        let min = rtt.min();
        Stats {
            srtt: rtt.smoothed(),
            rtt: rtt.latest(),
            min_rtt: if min == Span::MAX { Span::ZERO } else { min },
            rttvar: rtt.deviation(),
            rto: self.sender.timeout(&self.config),
            backoff: self.sender.backoff(),
            cwnd: self.sender.window(),
            ssthresh: self.sender.threshold(),
            in_flight: self.sender.in_flight(),
            mss: self.mss,
            delivered_marked: u64::from(self.sender.delivered_marked),
            reordering: self.sender.reordering(),
            phase: self.sender.phase(),
            outstanding: self.sender.outstanding(),
            sacked: u64::from(self.sender.marked_bytes().sacked),
            lost: u64::from(self.sender.marked_bytes().lost),
            retransmitted_in_flight: u64::from(self.sender.marked_bytes().retransmitted),
            peer_window: self.sender.peer_window(),
            segments_sent: self.segments_sent,
            // Linux' tcpi_total_retrans: those of the handshake, too.
            segments_retransmitted: u64::from(counters.segments_retransmitted)
                + u64::from(self.syn_tries.saturating_sub(1)),
            bytes_retransmitted: counters.bytes_retransmitted,
            bytes_acked: self.sender.bytes_acked(),
            bytes_received: self.receiver.received(),
            segments_received: self.segments_received,
            timeouts: counters.timeouts,
            recoveries: counters.recoveries,
            undone: counters.undone,
            segments_lost: self.sender.segments_lost(),
            ranges_held: self.receiver.ranges() + self.sender.capacity(),
        }
    }
}

/// The tag of an `Option<Connection>` is in the third line, which every segment needs.
const _: () = {
    let tag = offset_of!(Connection, receiver) + offset_of!(Receiver, tag);
    assert!(tag < 3 * 64 && size_of::<Option<Connection>>() == size_of::<Connection>());
};

#[cfg(test)]
mod tests {
    use super::*;

    /// A simulator holds tens of thousands of them, and what it pays for is lines of the cache: three for the
    /// receiver and the connection's own fields, a fourth for the first line of the sender.
    #[test]
    fn a_connection_is_small() {
        assert!(size_of::<Connection>() <= 688, "{}", size_of::<Connection>());
        assert_eq!(offset_of!(Connection, sender), 3 * 64);
    }

    /// A segment fits both paths: the narrow end's own, and what it has asked for.
    #[test]
    fn both_ends_take_the_lesser_segment() {
        let wide = crate::tcp::profiles::linux_6();
        let narrow = Config { mtu_bytes: 600, ..wide.clone() };
        // 600 bytes less two headers of 20 and the timestamps' 12.
        for [first, second] in [[&wide, &narrow], [&narrow, &wide]] {
            let [first, second] = [first, second].map(|config| Arc::new(config.clone()));
            let now = Time::START;
            let mut caller = Connection::connect(&first, now);
            let syn = caller.poll_transmit(now).expect("a SYN");
            let mut answerer = Connection::accept(&second, now, &syn);
            caller.receive(now, &answerer.poll_transmit(now).expect("an answer"));
            assert_eq!([caller.stats().mss, answerer.stats().mss], [548, 548]);
        }
    }

    /// The answer to a SYN was lost: the retransmitted SYN is answered at once, not when our timer runs out.
    #[test]
    fn a_retransmitted_syn_is_answered_at_once() {
        let config = Arc::new(crate::tcp::profiles::linux_6());
        let now = Time::START;
        let mut caller = Connection::connect(&config, now);
        let syn = caller.poll_transmit(now).expect("a SYN");
        let mut answerer = Connection::accept(&config, now, &syn);
        let answer = answerer.poll_transmit(now).expect("an answer");
        assert_eq!(answerer.poll_transmit(now), None);
        let later = now + Span::from_millis(300);
        answerer.receive(later, &syn);
        let again = answerer.poll_transmit(later).expect("an answer");
        assert_eq!((again.flags, again.seq), (answer.flags, answer.seq));
        assert!(again.flags.contains(Flags::SYN | Flags::ACK));
    }

    /// Round trips that are longer than the first timeout: an echo of the first SYN's timestamp shows that nothing was
    /// lost. Without timestamps the window starts at one segment, and Karn's algorithm leaves no round trip.
    #[test]
    fn a_timeout_of_a_syn_that_was_for_nothing_does_not_cost_the_window() {
        let window = |timestamps: bool, lost: u32| {
            let config = Arc::new(Config { timestamps, ..crate::tcp::profiles::linux_6() });
            let mut caller = Connection::connect(&config, Time::START);
            let mut now = Time::START;
            let syn = caller.poll_transmit(now).expect("a SYN");
            let mut sent = vec![(now, syn)];
            for _ in 0..2 {
                now = caller.next_timer().expect("a timer");
                caller.on_timer(now);
                sent.push((now, caller.poll_transmit(now).expect("another SYN")));
            }
            now += Span::from_millis(100);
            let (at, syn) = sent[lost as usize];
            let mut answerer = Connection::accept(&config, now, &syn);
            caller.receive(now, &answerer.poll_transmit(now).expect("an answer"));
            assert_eq!(caller.stats().rtt == now.since(at), timestamps, "{:?}", caller.stats());
            caller.stats().cwnd / u64::from(caller.stats().mss)
        };
        assert_eq!([window(true, 0), window(true, 1), window(false, 0)], [10, 1, 1]);
    }
}
