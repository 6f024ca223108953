use super::look::Look;
use flashcrowd_base::Time;
use flashcrowd_link::{Ack, Ecn};
use flashcrowd_topology::Carried;
use flashcrowd_transport::tcp::{Flags, MAX_SACK_RANGES, Segment};

/// The receiver of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Addressee {
    /// A socket that speaks TCP, by index.
    Tcp(u32),
    /// A socket that speaks uTP. The packet is in the slot of `Sockets::utp_packets` that `seq` names.
    Utp(u32),
    /// An application that speaks in datagrams.
    Datagram,
}

/// A datagram of an application: its receiver there, and its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Datagram {
    /// The application.
    pub(crate) app: u8,
    /// What kind of datagram it is, in the application's own counting.
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

/// A packet in flight, in one line of the cache, as a packet in a long queue costs one miss when it
/// enters and one when it leaves. Few packets have SACK ranges, so these are stored beside it.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Packet {
    /// Instant of its next event.
    pub(crate) due: Time,
    pub(crate) seq: u64,
    ack: u64,
    len: u32,
    window: u32,
    timestamp: u32,
    echo: u32,
    /// A socket, or what a datagram belongs to.
    to: u32,
    pub(crate) route: u32,
    /// Identifies it while it waits at a link.
    pub(crate) tag: u32,
    /// Size of the IP packet.
    pub(crate) bytes: u32,
    mss: u16,
    flags: Flags,
    /// The next step of the route.
    pub(crate) step: u16,
    kind: Kind,
    /// Lowest bit: the next event is the arrival at the host. The others: the number of SACK ranges.
    marks: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Tcp,
    Utp,
    /// Its two words stand in place of the sequence numbers, application and code in place of the
    /// MSS.
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
        Packet::new(&Segment::EMPTY, Addressee::Tcp(u32::MAX), u32::MAX, 0)
    }
}

impl Packet {
    /// A packet at the beginning of its route.
    #[inline(always)]
    pub(crate) fn new(segment: &Segment, to: Addressee, route: u32, bytes: u32) -> Packet {
        let (kind, to) = match to {
            Addressee::Tcp(socket) => (Kind::Tcp, socket),
            Addressee::Utp(socket) => (Kind::Utp, socket),
            Addressee::Datagram => (Kind::Datagram, u32::MAX),
        };
        Packet {
            due: Time::NEVER,
            seq: segment.seq,
            ack: segment.ack,
            len: segment.len,
            window: segment.window,
            timestamp: segment.timestamp,
            echo: segment.echo,
            to,
            route,
            tag: 0,
            bytes,
            mss: segment.mss,
            flags: segment.flags,
            step: 0,
            kind,
            marks: segment.sack_len << 1,
        }
    }

    /// A datagram at the beginning of its route.
    pub(crate) fn datagram(datagram: &Datagram, route: u32) -> Packet {
        let Datagram { app, code, index, words: [seq, ack], bytes } = *datagram;
        Packet {
            seq,
            ack,
            to: index,
            mss: u16::from_le_bytes([app, code]),
            ..Packet::new(&Segment::EMPTY, Addressee::Datagram, route, bytes)
        }
    }

    /// The datagram that it is.
    pub(crate) fn as_datagram(&self) -> Datagram {
        let [app, code] = self.mss.to_le_bytes();
        Datagram { app, code, index: self.to, words: [self.seq, self.ack], bytes: self.bytes }
    }

    /// A packet without a route, over a constant delay: its next event is the arrival.
    #[inline(always)]
    pub(crate) fn direct(segment: &Segment, to: Addressee, due: Time) -> Packet {
        let marks = segment.sack_len << 1 | 1;
        Packet { due, marks, ..Packet::new(segment, to, u32::MAX, 0) }
    }

    /// What it carries.
    #[inline(always)]
    pub(crate) fn segment(&self, sacks: &Sacks) -> Segment {
        Segment {
            seq: self.seq,
            ack: self.ack,
            len: self.len,
            window: self.window,
            timestamp: self.timestamp,
            echo: self.echo,
            sack: *sacks,
            mss: self.mss,
            flags: self.flags,
            sack_len: self.marks >> 1,
        }
    }

    /// Sets the ECN field of the IP header to CE.
    pub(crate) fn mark(&mut self) {
        self.flags |= Flags::CE;
    }

    /// The receiver.
    pub(crate) fn addressee(&self) -> Addressee {
        match self.kind {
            Kind::Tcp => Addressee::Tcp(self.to),
            Kind::Utp => Addressee::Utp(self.to),
            Kind::Datagram => Addressee::Datagram,
        }
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
    pub(crate) fn look(&self) -> Option<Look> {
        if self.kind != Kind::Tcp || !self.is_arriving() {
            return None;
        }
        Some(Look { socket: self.to, sends: self.len == 0, offset: self.extent().end() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_survives_as_a_packet() {
        let datagram = Datagram { app: 3, code: 200, index: 7, words: [u64::MAX, 5], bytes: 1500 };
        assert_eq!(Packet::datagram(&datagram, 1).as_datagram(), datagram);
        assert_eq!(Packet::datagram(&datagram, 1).frames(), 1);
    }

    #[test]
    fn a_packet_on_its_way_fills_one_line_of_the_cache() {
        assert_eq!(size_of::<Packet>(), 64);
    }

    /// The IP header's ECN field and TCP's three bits stand in the flags.
    #[test]
    fn ecn_travels_with_a_packet() {
        let ecn = Flags::CE | Flags::ECE | Flags::CWR | Flags::AE;
        let segment = Segment { flags: Flags::ACK | ecn, ..Segment::EMPTY };
        let packet = Packet::direct(&segment, Addressee::Tcp(0), Time::START);
        assert_eq!(packet.segment(&Sacks::default()), segment);
    }
}
