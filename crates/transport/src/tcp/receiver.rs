use super::config::{Config, RightSizing};
use super::delayed_ack::DelayedAckState;
use super::reassembly::Reassembly;
use super::rtt::RoundTrip;
use super::segment::{Flags, Segment};
use super::timestamp::micros_since;
use flashcrowd_base::{TagHere, Time};

/// Windows without scaling.
const UNSCALED_WINDOW: u64 = 65_535;

/// The receiving half: what has arrived, what the application has read, how much more it takes.
///
/// The connection begins with it. The queue is boxed, as most connections see no disorder; the tag is that of
/// an `Option<Connection>`, in a line that every segment needs (asserted in `connection.rs`).
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct Receiver {
    /// RCV.NXT: everything below has arrived, the FIN's offset included.
    rcv_nxt: u64,
    read: u64,
    /// Offset of the FIN, once known.
    fin: u64,
    /// Right edge of the advertised window (RCV.NXT + RCV.WND). Never moves back.
    rcv_wnd_end: u64,
    /// Out-of-order data, once there was some.
    queue: Option<Box<Reassembly>>,
    /// The receive buffer now, and how much of it may be advertised (Linux: rcv_ssthresh). At most 1 GiB.
    rcv_buf: u32,
    rcv_ssthresh: u32,
    /// Timestamp to echo (RFC 7323, section 4.3).
    pub(super) echo: u32,
    last_echo: u32,
    pub(super) acks: DelayedAckState,
    /// Round trip as the receiver sees it, in nanoseconds times eight.
    round_trip: u64,
    /// Bytes read in the last round, and when and where this one began.
    reading_since: Time,
    reading_from: u64,
    round_bytes: u64,
    segment: u16,
    scaled: bool,
    /// Whether there is a connection at all, and over TCP, in a line that every segment needs.
    pub(super) tag: TagHere,
}

/// The receiver's round-trip estimate without timestamps: the time that a window of data took.
#[derive(Clone, Debug)]
pub(super) struct Unstamped {
    from: Time,
    to: u64,
}

impl Unstamped {
    pub(super) fn new(now: Time) -> Unstamped {
        Unstamped { from: now, to: 0 }
    }
}

impl Receiver {
    /// A receiver whose window is `initial_bytes` of `config`.
    pub(super) fn new(config: &Config, now: Time) -> Receiver {
        let window = &config.receive_window;
        let segment = config.segment_bytes();
        // Windows are checked to be at most 1 GiB, segments 64 KiB.
        Receiver {
            rcv_nxt: 0,
            read: 0,
            fin: u64::MAX,
            queue: None,
            acks: DelayedAckState::new(now),
            scaled: config.window_scaling,
            segment: segment as u16,
            rcv_buf: window.buffer_bytes as u32,
            rcv_ssthresh: window.initial_bytes as u32,
            rcv_wnd_end: 0,
            echo: 0,
            round_trip: 0,
            last_echo: 0,
            round_bytes: window.initial_bytes.min(10 * u64::from(segment)),
            reading_since: now,
            reading_from: 0,
            tag: TagHere::Structure,
        }
    }

    /// The agreement of the handshake.
    pub(super) fn agree(&mut self, scaled: bool, segment: u16) {
        self.scaled = scaled;
        self.segment = segment;
    }

    /// The handshake is over: the first round of right-sizing begins (Linux: tcp_init_buffer_space).
    pub(super) fn open(&mut self, now: Time) {
        self.reading_since = now;
    }

    #[inline]
    pub(super) fn next(&self) -> u64 {
        self.rcv_nxt
    }
    /// Bytes that arrived in order, the FIN not counted.
    #[inline]
    pub(super) fn received(&self) -> u64 {
        self.rcv_nxt.min(self.fin)
    }
    #[inline]
    pub(super) fn readable(&self) -> u64 {
        self.received() - self.read
    }
    /// Whether the FIN has arrived with everything before it.
    #[inline]
    pub(super) fn is_finished(&self) -> bool {
        self.rcv_nxt > self.fin
    }
    pub(super) fn is_read_to_the_end(&self) -> bool {
        self.is_finished() && self.read == self.fin
    }
    /// Whether there are SACK ranges or a duplicate to report.
    #[inline]
    pub(super) fn has_report(&self) -> bool {
        self.queue.as_ref().is_some_and(|queue| queue.has_report())
    }

    /// `start..end` has arrived before (RFC 2883; Linux: tcp_dsack_set).
    #[cold]
    fn note_duplicate(&mut self, config: &Config, start: u64, end: u64) {
        if config.dsack && config.sack {
            self.queue.get_or_insert_default().note_duplicate(start, end);
        }
    }

    pub(super) fn ranges(&self) -> usize {
        self.queue.as_ref().map_or(0, |queue| queue.len())
    }

    /// A segment arrived. `rtt` are the sending half's estimates.
    #[inline]
    pub(super) fn on_segment(
        &mut self,
        config: &Config,
        now: Time,
        segment: &Segment,
        rtt: &RoundTrip,
        unstamped: &mut Unstamped,
    ) {
        // A window probe is one byte before the window, so it may wrap below offset 0.
        let offset = segment.seq.wrapping_sub(self.rcv_nxt) as i64;
        // TS.Recent never goes back: an old segment that was overtaken brings an old clock (RFC 7323, 4.3).
        if segment.flags.contains(Flags::TIMESTAMPS)
            && (segment.seq.wrapping_sub(self.acks.acknowledged()) as i64) <= 0
            && (segment.timestamp.wrapping_sub(self.echo) as i32) >= 0
        {
            self.echo = segment.timestamp;
        }
        let fin = segment.flags.contains(Flags::FIN);
        if segment.len == 0 && !fin {
            if offset < 0 {
                self.acks.due = true;
            }
            return;
        }
        if offset > 0 || self.is_finished() {
            self.on_disorder(config, segment);
            return;
        }
        let end = segment.end();
        if end <= self.rcv_nxt {
            // A whole duplicate: our acknowledgement may have been lost.
            self.note_duplicate(config, segment.seq, end);
            self.acks.on_duplicate(&config.delayed_ack, self.window());
            return;
        }
        let data_end =
            (segment.seq + u64::from(segment.len)).min(self.rcv_wnd_end.max(self.rcv_nxt));
        let whole = data_end == segment.seq + u64::from(segment.len);
        if data_end <= self.rcv_nxt && !(fin && whole) {
            // Nothing fits into the window: a zero-window probe, say.
            self.acks.due = true;
            return;
        }
        if offset < 0 {
            self.note_duplicate(config, segment.seq, self.rcv_nxt);
        }
        self.measure_round_trip(config, now, segment, data_end, unstamped);
        let frame = segment.frame_bytes();
        self.acks.on_data(
            &config.delayed_ack,
            now,
            frame,
            segment.flags.contains(Flags::PSH),
            self.window(),
            || rtt.timeout(),
        );
        self.rcv_nxt = self.rcv_nxt.max(data_end);
        if fin && whole {
            self.fin = data_end;
        }
        if let Some(queue) = self.queue.as_mut().filter(|queue| !queue.is_empty()) {
            if config.dsack {
                queue.note_overlap(segment.seq, data_end);
            }
            // RFC 5681, section 4.2: a segment that fills a gap is acknowledged at once.
            self.rcv_nxt = queue.join(self.rcv_nxt);
            self.acks.due = true;
        }
        if self.rcv_nxt == self.fin {
            self.rcv_nxt += 1;
            self.acks.due = true;
            if let Some(queue) = &mut self.queue {
                // Nothing is left to retransmit (Linux: tcp_fin).
                queue.take_duplicate();
            }
        }
        self.grow_window(config, frame);
        let opens = self.rcv_wnd_end < self.rcv_nxt + self.advertise();
        self.acks.consider(&config.delayed_ack, now, self.rcv_nxt, opens, || rtt.smoothed());
    }

    /// More may be advertised with each segment that is worth it, until the buffer is (Linux:
    /// tcp_grow_window).
    #[inline]
    fn grow_window(&mut self, config: &Config, frame: u32) {
        if frame >= 128 && self.rcv_ssthresh < self.rcv_buf {
            self.rcv_ssthresh = (self.rcv_ssthresh + 2 * u32::from(self.segment)).min(self.rcv_buf);
            self.acks.on_growth(&config.delayed_ack);
        }
    }

    /// Data above a gap, or after the end.
    fn on_disorder(&mut self, config: &Config, segment: &Segment) {
        self.acks.due = true;
        if self.is_finished() {
            self.note_duplicate(config, segment.seq, segment.end().min(self.rcv_nxt));
            return;
        }
        let data_end = segment.seq + u64::from(segment.len);
        let end = data_end.min(self.rcv_wnd_end);
        if segment.flags.contains(Flags::FIN) && data_end <= self.rcv_wnd_end {
            self.fin = data_end;
        }
        if segment.seq < end {
            let queue = self.queue.get_or_insert_default();
            if config.dsack {
                queue.note_overlap(segment.seq, end);
            }
            queue.insert(segment.seq, end);
            if config.sack {
                self.grow_window(config, segment.frame_bytes());
            }
            if config.right_sizing == RightSizing::Linux6_16 {
                self.grow_buffer(config, self.round_bytes);
            }
        }
    }

    /// The application has read `bytes`.
    #[inline]
    pub(super) fn read(&mut self, config: &Config, now: Time, bytes: u64) {
        debug_assert!(bytes <= self.readable());
        self.read += bytes.min(self.readable());
        if config.receive_window.autotune {
            self.tune(config, now);
        }
        if self.is_finished() {
            return;
        }
        self.acks.on_read(&config.delayed_ack, self.rcv_nxt, self.readable() == 0);
        // A window update is sent if the window has at least doubled (Linux: tcp_cleanup_rbuf); RFC 1122,
        // section 4.2.3.3, asks for two segments or half the buffer.
        let offered = self.window();
        if 2 * offered <= u64::from(self.rcv_buf) {
            let now_possible = self.advertise();
            self.acks.due |= now_possible > 0 && now_possible >= 2 * offered;
        }
    }

    /// Right-sizes the buffer by what was read in the last round trip.
    #[inline]
    fn tune(&mut self, config: &Config, now: Time) {
        let round = self.round_trip >> 3;
        if round == 0 || now.since(self.reading_since).nanos() < round {
            return;
        }
        let copied = self.read - self.reading_from;
        if copied > self.round_bytes {
            self.grow_buffer(config, copied);
        }
        self.reading_from = self.read;
        self.reading_since = now;
    }

    /// Makes room for `round_bytes` in a round trip, ahead of a sender that accelerates.
    fn grow_buffer(&mut self, config: &Config, round_bytes: u64) {
        if !config.receive_window.autotune {
            return;
        }
        let before = std::mem::replace(&mut self.round_bytes, round_bytes);
        let margin = match config.right_sizing {
            RightSizing::Linux2_6 => 16 * u64::from(self.segment),
            RightSizing::Linux6_16 => 0,
        };
        let wanted = 2 * round_bytes + margin;
        let ahead = match round_bytes - before {
            0 => 0,
            grown => u128::from(wanted) * u128::from(grown) / u128::from(before),
        };
        let mut wanted = wanted.saturating_add(u64::try_from(2 * ahead).unwrap_or(u64::MAX));
        if let (RightSizing::Linux6_16, Some(queue)) = (config.right_sizing, &self.queue) {
            wanted = wanted.saturating_add(queue.highest(self.rcv_nxt) - self.rcv_nxt);
        }
        let tuned = wanted.min(config.receive_window.max_bytes) as u32;
        self.rcv_buf = self.rcv_buf.max(tuned);
    }

    #[inline]
    fn measure_round_trip(
        &mut self,
        config: &Config,
        now: Time,
        segment: &Segment,
        end: u64,
        unstamped: &mut Unstamped,
    ) {
        if !config.receive_window.autotune {
            return;
        }
        if segment.flags.contains(Flags::TIMESTAMPS) {
            if segment.echo == self.last_echo || segment.len < u32::from(self.segment) {
                return;
            }
            self.last_echo = segment.echo;
            if let Some(micros) = micros_since(segment.echo, now) {
                let sample = u64::from(micros.max(1)) * 1000;
                let seeks_least = config.right_sizing == RightSizing::Linux6_16;
                if self.round_trip == 0 || (seeks_least && sample << 3 < self.round_trip) {
                    self.round_trip = sample << 3;
                } else if !seeks_least || self.readable() == 0 {
                    self.round_trip = self.round_trip - (self.round_trip >> 3) + sample;
                }
            }
        } else if end >= unstamped.to {
            // Without timestamps: a window takes at least a round trip to arrive. The least counts.
            let sample = now.since(unstamped.from).nanos().max(1) << 3;
            if unstamped.to > 0 && (self.round_trip == 0 || sample < self.round_trip) {
                self.round_trip = sample;
            }
            unstamped.from = now;
            unstamped.to = end + self.window();
        }
    }

    /// The window as last advertised.
    #[inline]
    fn window(&self) -> u64 {
        self.rcv_wnd_end.saturating_sub(self.rcv_nxt)
    }

    /// The window that can be advertised now.
    #[inline]
    fn advertise(&self) -> u64 {
        let buffer = u64::from(self.rcv_buf);
        let free = buffer.saturating_sub(self.readable());
        // Silly window avoidance (RFC 1122, section 4.2.3.3): no window rather than less than a segment.
        if free < u64::from(self.segment).min(buffer / 2) {
            return 0;
        }
        let open = free.min(u64::from(self.rcv_ssthresh));
        if self.scaled { open } else { open.min(UNSCALED_WINDOW) }
    }

    /// The acknowledgement fields of a segment that is about to be sent.
    #[inline]
    pub(super) fn acknowledge(&mut self, now: Time, data: bool) -> AckFields {
        self.rcv_wnd_end = self.rcv_wnd_end.max(self.rcv_nxt + self.advertise());
        self.acks.on_sent(now, self.rcv_nxt, data);
        let window = self.window().min(u64::from(u32::MAX)) as u32;
        AckFields { ack: self.rcv_nxt, window, echo: self.echo }
    }

    /// Adds a duplicate, once, and the ranges that arrived above a gap.
    #[inline(never)]
    pub(super) fn report(&mut self, segment: &mut Segment) {
        let Some(queue) = &mut self.queue else { return };
        if let Some((start, end)) = queue.take_duplicate() {
            segment.push_sack(start, end);
        }
        for (start, end) in queue.report() {
            segment.push_sack(start, end);
        }
    }
}

/// Acknowledgement fields of a segment: SEG.ACK, SEG.WND, TSecr.
pub(super) struct AckFields {
    pub(super) ack: u64,
    pub(super) window: u32,
    pub(super) echo: u32,
}

#[cfg(test)]
mod tests {
    use super::super::profiles;
    use super::*;
    use flashcrowd_base::Span;

    fn at(ms: u64) -> Time {
        Time::START + Span::from_millis(ms)
    }

    /// A receiver that has advertised its window.
    fn open(config: &Config) -> Receiver {
        let mut receiver = Receiver::new(config, at(0));
        receiver.acknowledge(at(0), false);
        assert!(receiver.window() > 10_000);
        receiver
    }

    /// Windows that took 50, 20 and 80 ms. The first one began with the connection, before there was a
    /// window to fill, and data short of a window's end says nothing.
    #[test]
    fn without_timestamps_the_shortest_time_of_a_window_counts() {
        let config = profiles::linux_6();
        let mut receiver = open(&config);
        let mut unstamped = Unstamped::new(at(0));
        let window = receiver.window();
        let mut found = |ms, end| {
            receiver.measure_round_trip(&config, at(ms), &Segment::EMPTY, end, &mut unstamped);
            receiver.round_trip >> 3
        };
        assert_eq!(found(100, 1000), 0);
        assert_eq!(found(120, 999 + window), 0, "a byte short of the window's end");
        let ms = |ms| Span::from_millis(ms).nanos();
        assert_eq!(found(150, 1000 + window), ms(50));
        assert_eq!(found(170, 1000 + 2 * window), ms(20));
        assert_eq!(found(250, 1000 + 3 * window), ms(20));
    }

    #[test]
    fn each_range_out_of_order_is_held() {
        let config = profiles::linux_6();
        let mut receiver = open(&config);
        let mut unstamped = Unstamped::new(at(0));
        let rtt = RoundTrip::new(&config);
        let mut ranges = |seq| {
            let segment = Segment { seq, len: 1000, mss: 1000, ..Segment::EMPTY };
            receiver.on_segment(&config, at(0), &segment, &rtt, &mut unstamped);
            receiver.ranges()
        };
        assert_eq!(
            [ranges(2000), ranges(4000), ranges(3000), ranges(0), ranges(1000)],
            [1, 2, 1, 1, 0]
        );
    }
}
