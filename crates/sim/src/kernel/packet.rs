use super::prefetch_hint::PrefetchHint;
use flashcrowd_base::Time;
use flashcrowd_link::{Ack, Ecn};
use flashcrowd_topology::Carried;
use flashcrowd_transport::tcp::{Flags, MAX_SACK_RANGES, Segment};

/// The content of a packet, and its socket.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Content<'p> {
    /// A TCP segment (RFC 9293) for a socket, or several as one super-segment.
    Segment { socket: u32, segment: SegmentInFlight<'p> },
    /// A uTP packet (BEP 29) for a socket; it is in this slot of `Sockets::utp_packets`.
    Utp { socket: u32, slot: u32 },
    /// A datagram (RFC 768) for an application.
    Datagram(Datagram),
}

/// A segment without its SACK ranges, which are kept beside the packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SegmentInFlight<'p>(&'p Packet);

/// A datagram of an application: its receiver there, and its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Datagram {
    /// The application.
    pub(crate) app: u8,
    /// The kind of datagram, in the application's own counting.
    pub(crate) code: u8,
    /// Which of the application's workloads it belongs to.
    pub(crate) index: u32,
    /// Its content: a number and an instant, say.
    pub(crate) words: [u64; 2],
    /// Size of the IP packet.
    pub(crate) bytes: u32,
}

/// The SACK ranges of a packet, as far as it has any.
pub(crate) type Sacks = [(u32, u32); MAX_SACK_RANGES];

/// A packet in flight, in one line of the cache, as a packet in a long queue takes one miss when it
/// enters and one when it leaves. Few packets have SACK ranges, so these are stored beside it.
///
/// The fields of a segment serve all kinds, as a Rust enum would take a second line: see [`Packet::content`].
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Packet {
    /// Instant of its next event.
    due: Time,
    /// Or the slot of a uTP packet, or the first word of a datagram.
    seq: u64,
    /// Or the second word of a datagram.
    ack: u64,
    len: u32,
    window: u32,
    timestamp: u32,
    echo: u32,
    /// A socket, or what a datagram belongs to.
    to: u32,
    route: u32,
    /// Identifies it while it waits at a link.
    tag: u32,
    /// Size of the IP packet.
    bytes: u32,
    /// Or application and code of a datagram.
    mss: u16,
    flags: Flags,
    /// The next step of the route.
    step: u16,
    kind: Kind,
    /// Lowest bit: the next event is the arrival at the host. The others: the number of SACK ranges.
    marks: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Tcp,
    Utp,
    Datagram,
}

impl flashcrowd_link::Packet for Packet {
    #[inline(always)]
    fn bytes(&self) -> u32 {
        self.bytes
    }
    #[inline(always)]
    fn tag(&self) -> u32 {
        self.tag
    }
    fn ecn(&self) -> Ecn {
        match (self.flags.contains(Flags::ECT_0), self.flags.contains(Flags::ECT_1)) {
            (false, false) => Ecn::NotEct,
            (true, false) => Ecn::Ect0,
            (false, true) => Ecn::Ect1,
            (true, true) => Ecn::Ce,
        }
    }
    fn ack(&self) -> Option<Ack> {
        let opens_or_ends = self.flags.intersects(Flags::SYN | Flags::FIN | Flags::RST);
        if self.kind != Kind::Tcp || opens_or_ends || !self.flags.contains(Flags::ACK) {
            return None;
        }
        let echoes = [(Flags::ECE, 1), (Flags::CWR, 2), (Flags::AE, 4)];
        let flag = |(flag, bit)| if self.flags.contains(flag) { bit } else { 0 };
        Some(Ack {
            // An acknowledgement with SACK ranges may carry more than a later one: no ACK filter drops it (docs/queues.md).
            pure: self.len == 0 && !self.has_sacks(),
            number: self.ack as u32,
            sacked: 0,
            flags: echoes.into_iter().map(flag).sum(),
        })
    }
}

impl Carried for Packet {
    #[inline(always)]
    fn route(&self) -> u32 {
        self.route
    }
    #[inline(always)]
    fn step(&self) -> u16 {
        self.step
    }
    #[inline(always)]
    fn set_step(&mut self, step: u16) {
        self.step = step;
    }
    fn set_tag(&mut self, tag: u32) {
        self.tag = tag;
    }
    fn connection(&self) -> u64 {
        match self.kind {
            Kind::Tcp | Kind::Utp => u64::from(self.to),
            Kind::Datagram => 1 << 63 | u64::from(self.mss) << 32 | u64::from(self.to),
        }
    }
}

impl Default for Packet {
    fn default() -> Packet {
        Packet::segment(u32::MAX, &Segment::EMPTY, u32::MAX, 0)
    }
}

impl Packet {
    /// A segment for a socket, at the beginning of its route.
    #[inline(always)]
    pub(crate) fn segment(socket: u32, segment: &Segment, route: u32, bytes: u32) -> Packet {
        Packet {
            due: Time::NEVER,
            seq: segment.seq,
            ack: segment.ack,
            len: segment.len,
            window: segment.window,
            timestamp: segment.timestamp,
            echo: segment.echo,
            to: socket,
            route,
            tag: 0,
            bytes,
            mss: segment.mss,
            flags: segment.flags,
            step: 0,
            kind: Kind::Tcp,
            marks: segment.sack_len << 1,
        }
    }

    /// A uTP packet for a socket, in this slot of `Sockets::utp_packets`, at the beginning of its route.
    #[inline(always)]
    pub(crate) fn utp(socket: u32, slot: u32, route: u32, bytes: u32) -> Packet {
        let seq = u64::from(slot);
        Packet { seq, kind: Kind::Utp, ..Packet::segment(socket, &Segment::EMPTY, route, bytes) }
    }

    /// A datagram at the beginning of its route.
    pub(crate) fn datagram(datagram: &Datagram, route: u32) -> Packet {
        let Datagram { app, code, index, words: [seq, ack], bytes } = *datagram;
        Packet {
            seq,
            ack,
            mss: u16::from_le_bytes([app, code]),
            kind: Kind::Datagram,
            ..Packet::segment(index, &Segment::EMPTY, route, bytes)
        }
    }

    /// The same over a constant delay: its next event is the arrival.
    #[inline(always)]
    pub(crate) fn arriving(self, due: Time) -> Packet {
        Packet { due, marks: self.marks | 1, ..self }
    }

    /// Its content.
    #[inline(always)]
    pub(crate) fn content(&self) -> Content<'_> {
        match self.kind {
            Kind::Tcp => Content::Segment { socket: self.to, segment: SegmentInFlight(self) },
            Kind::Utp => Content::Utp { socket: self.to, slot: self.seq as u32 },
            Kind::Datagram => {
                let [app, code] = self.mss.to_le_bytes();
                let (index, words, bytes) = (self.to, [self.seq, self.ack], self.bytes);
                Content::Datagram(Datagram { app, code, index, words, bytes })
            }
        }
    }

    /// Instant of its next event.
    #[inline(always)]
    pub(crate) fn due(&self) -> Time {
        self.due
    }
    /// Its next event is at this instant.
    #[inline(always)]
    pub(crate) fn set_due(&mut self, due: Time) {
        self.due = due;
    }

    /// Sets the ECN field of the IP header to CE.
    pub(crate) fn mark(&mut self) {
        self.flags |= Flags::CE;
    }

    /// How many frames it is.
    pub(crate) fn frames(&self) -> u32 {
        self.extent().frames()
    }

    /// A segment with the same sequence number, length, MSS and flags.
    #[inline(always)]
    fn extent(&self) -> Segment {
        let Packet { seq, len, mss, flags, .. } = *self;
        Segment { seq, len, mss, flags, ..Segment::EMPTY }
    }

    pub(crate) fn has_sacks(&self) -> bool {
        self.marks > 1
    }

    /// Whether its event is the arrival.
    pub(crate) fn is_arriving(&self) -> bool {
        self.marks & 1 == 1
    }

    /// Its event will be the arrival.
    pub(crate) fn set_arriving(&mut self) {
        self.marks |= 1;
    }

    /// The socket that its event will reach, and what it will need of it.
    pub(crate) fn look(&self) -> Option<PrefetchHint> {
        if self.kind != Kind::Tcp || !self.is_arriving() {
            return None;
        }
        Some(PrefetchHint { socket: self.to, sends: self.len == 0, offset: self.extent().end() })
    }
}

impl SegmentInFlight<'_> {
    /// The segment, with its SACK ranges.
    #[inline(always)]
    pub(crate) fn with(self, sacks: &Sacks) -> Segment {
        let Packet { seq, ack, len, window, timestamp, echo, mss, flags, marks, .. } = *self.0;
        let (sack, sack_len) = (*sacks, marks >> 1);
        Segment { seq, ack, len, window, timestamp, echo, sack, mss, flags, sack_len }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment_of(packet: &Packet, sacks: &Sacks) -> Segment {
        let Content::Segment { socket: 7, segment } = packet.content() else {
            panic!("{:?}", packet.content())
        };
        segment.with(sacks)
    }

    #[test]
    fn a_datagram_and_a_utp_packet_are_what_they_were_made_of() {
        let datagram = Datagram { app: 3, code: 200, index: 7, words: [u64::MAX, 5], bytes: 1500 };
        let packet = Packet::datagram(&datagram, 1);
        let Content::Datagram(found) = packet.content() else { panic!("{packet:?}") };
        assert_eq!((found, packet.frames()), (datagram, 1));
        let packet = Packet::utp(7, u32::MAX, 1, 1400);
        let Content::Utp { socket, slot } = packet.content() else { panic!("{packet:?}") };
        assert_eq!((socket, slot, packet.frames()), (7, u32::MAX, 1));
    }

    #[test]
    fn a_packet_on_its_way_fills_one_line_of_the_cache() {
        assert_eq!(size_of::<Packet>(), 64);
    }

    /// The IP header's ECN field and TCP's three bits are in the flags.
    #[test]
    fn ecn_travels_with_a_packet() {
        let ecn = Flags::CE | Flags::ECE | Flags::CWR | Flags::AE;
        let segment = Segment { flags: Flags::ACK | ecn, ..Segment::EMPTY };
        assert_eq!(segment_of(&Packet::segment(7, &segment, 0, 40), &Sacks::default()), segment);
    }

    fn tcp(flags: Flags, len: u32) -> Packet {
        let segment =
            Segment { seq: 50, ack: (1 << 32) + 9, len, mss: 1448, flags, ..Segment::EMPTY };
        Packet::segment(7, &segment, 0, 40 + len)
    }

    #[test]
    fn only_a_segment_of_tcp_that_neither_opens_nor_ends_is_an_acknowledgement() {
        let ack = |packet: &Packet| flashcrowd_link::Packet::ack(packet);
        let says = |pure, flags| Some(Ack { pure, number: 9, sacked: 0, flags });
        assert_eq!(ack(&tcp(Flags::ACK, 0)), says(true, 0));
        assert_eq!(ack(&tcp(Flags::ACK, 1)), says(false, 0));
        for (flag, bit) in [(Flags::ECE, 1), (Flags::CWR, 2), (Flags::AE, 4)] {
            assert_eq!(ack(&tcp(Flags::ACK | flag, 0)), says(true, bit));
        }
        assert_eq!(ack(&tcp(Flags::ACK | Flags::ECE | Flags::CWR | Flags::AE, 0)), says(true, 7));
        let mut segment = Segment { ack: 9, flags: Flags::ACK, ..Segment::EMPTY };
        assert!(segment.push_sack(20, 30));
        let packet = Packet::segment(7, &segment, 0, 60);
        assert_eq!(ack(&packet), says(false, 0));
        assert_eq!(ack(&packet.arriving(Time::START)), says(false, 0));

        assert_eq!(ack(&tcp(Flags::PSH, 0)), None);
        for flag in [Flags::SYN, Flags::FIN, Flags::RST] {
            assert_eq!(ack(&tcp(Flags::ACK | flag, 0)), None, "{flag:?}");
        }
        let datagram = Datagram { app: 3, code: 1, index: 7, words: [0, 9], bytes: 40 };
        for other in [Packet::utp(7, 9, 0, 40), Packet::datagram(&datagram, 0)] {
            let acknowledging = Packet { flags: Flags::ACK, ..other };
            assert_eq!(ack(&acknowledging), None, "{other:?}");
        }
    }

    #[test]
    fn a_link_reads_the_codepoint_and_marks_it() {
        let ecn = |packet: &Packet| flashcrowd_link::Packet::ecn(packet);
        for (flags, codepoint) in [
            (Flags::ACK, Ecn::NotEct),
            (Flags::ACK | Flags::ECT_0, Ecn::Ect0),
            (Flags::ACK | Flags::ECT_1, Ecn::Ect1),
        ] {
            let mut packet = tcp(flags, 10);
            assert_eq!(ecn(&packet), codepoint);
            packet.mark();
            assert_eq!(ecn(&packet), Ecn::Ce);
        }
    }

    /// A discipline that tells flows apart goes by this number.
    #[test]
    fn every_socket_and_every_datagram_s_subject_is_a_connection_of_its_own() {
        let tcp = |to| Carried::connection(&Packet::segment(to, &Segment::EMPTY, 0, 40));
        let datagram = |app, code, index| {
            let datagram = Datagram { app, code, index, words: [1, 2], bytes: 84 };
            Carried::connection(&Packet::datagram(&datagram, 0))
        };
        assert_eq!(datagram(3, 1, 7), datagram(3, 1, 7));
        assert_eq!(Carried::connection(&Packet::utp(7, 0, 0, 40)), tcp(7));
        let mut all = vec![tcp(6), tcp(7)];
        for app in [0, 3] {
            for code in [0, 1] {
                all.extend([datagram(app, code, 6), datagram(app, code, 7)]);
            }
        }
        let number = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), number, "{all:x?}");
    }

    #[test]
    fn what_an_event_will_need_is_that_of_the_socket_at_which_it_arrives() {
        let mut ranges = Segment::EMPTY;
        assert!(ranges.push_sack(20, 30));
        for (segment, has_sacks) in [(Segment::EMPTY, false), (ranges, true)] {
            let mut packet = Packet::segment(7, &segment, 0, 40);
            for arriving in [false, true, true] {
                let found = (packet.is_arriving(), packet.has_sacks(), packet.look().is_some());
                assert_eq!(found, (arriving, has_sacks, arriving));
                assert_eq!(segment_of(&packet, &segment.sack), segment);
                packet.set_arriving();
            }
            assert!(Packet::segment(7, &segment, 0, 40).arriving(Time::START).is_arriving());
        }
        let look = |mut packet: Packet| {
            packet.set_arriving();
            packet.look().map(|look| (look.socket, look.sends, look.offset))
        };
        // Data ends where the next begins; an acknowledgement may let something be sent.
        assert_eq!(look(tcp(Flags::ACK, 1000)), Some((7, false, 1050)));
        assert_eq!(look(tcp(Flags::ACK, 0)), Some((7, true, 50)));
        assert_eq!(look(Packet::utp(7, 0, 0, 40)), None);
    }
}
