use flashcrowd_transport::tcp::Segment;

/// For whom a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Addressee {
    /// A socket, by index.
    Socket(u32),
    /// A socket that speaks uTP. The packet is at the place that `seq` names.
    Parcel(u32),
    /// An echo request for the ping's answering host, or a reply for the asking one.
    Ping { ping: u32, reply: bool },
}

/// A socket that will be used soon.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    pub(crate) socket: u32,
    /// Whether the sending half will be needed: for all but data that arrives.
    pub(crate) sends: bool,
    /// How far the stream will have arrived.
    pub(crate) offset: u64,
}

/// A packet on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    /// For pings, `seq` is the number of the request.
    pub(crate) segment: Segment,
    pub(crate) to: Addressee,
    pub(crate) route: u32,
    /// Its name while it waits at a link.
    pub(crate) tag: u32,
    /// Size of the IP packet.
    pub(crate) bytes: u32,
    /// The next step of the route.
    pub(crate) step: u16,
    /// Whether the pending event is the arrival.
    pub(crate) arriving: bool,
}

impl Packet {
    pub(crate) fn new(segment: Segment, to: Addressee, route: u32, bytes: u32) -> Packet {
        Packet { segment, to, route, tag: 0, bytes, step: 0, arriving: false }
    }

    /// What every packet over a route of nothing but a delay begins as.
    pub(crate) const DIRECT: Packet = Packet {
        segment: Segment::EMPTY,
        to: Addressee::Socket(u32::MAX),
        route: u32::MAX,
        tag: 0,
        bytes: 0,
        step: 0,
        arriving: true,
    };
}
