/// The view of a packet that a link needs. A queue that is plain drop-tail reads its size and tag
/// and nothing else; disciplines that tell flows apart, mark, or thin out acknowledgements read the
/// rest.
pub trait Packet {
    /// Size of the IP packet.
    fn bytes(&self) -> u32;
    /// Names the packet in the link's reports. 0 is no name: fit for a packet whose moves do not
    /// matter, but not for one that a discipline may have to hand back.
    fn tag(&self) -> u32;
    /// The flow that it belongs to.
    fn flow(&self) -> Flow {
        Flow::default()
    }
    /// Its ECN codepoint.
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    /// The acknowledgement of a TCP segment with the ACK flag and without SYN, FIN, RST; else none.
    fn ack(&self) -> Option<Ack> {
        None
    }
}

/// A packet of which nothing but the size matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Size of the IP packet.
    pub bytes: u32,
    /// See [`Packet::tag`].
    pub tag: u32,
}

impl Packet for Frame {
    fn bytes(&self) -> u32 {
        self.bytes
    }
    fn tag(&self) -> u32 {
        self.tag
    }
}

/// A flow, as a router tells it from the addresses and ports. Each is any number that is the same
/// for the same and seldom for others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    /// The connection and its direction: addresses, protocol and ports.
    pub connection: u64,
    /// The host that sends.
    pub source: u32,
    /// The host that receives.
    pub target: u32,
}

/// The ECN codepoint of a packet (RFC 3168).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// Its transport does not answer marks: it can only be dropped.
    #[default]
    NotEct,
    /// ECN-capable transport, ECT(0).
    Ect0,
    /// ECN-capable transport, ECT(1): accurate answers, as L4S uses it.
    Ect1,
    /// Congestion experienced.
    Ce,
}

/// The content of an acknowledgement of TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// Whether it says nothing else: no data, no flag but ACK, ECE and CWR, no D-SACK. Others are never dropped for a later one.
    pub pure: bool,
    /// The acknowledgement number; sequence numbers wrap around.
    pub number: u32,
    /// Bytes in its SACK ranges. Zero where they are not looked at; those that have some are then not `pure`.
    pub sacked: u32,
    /// ECE and CWR: acknowledgements that differ in them carry what the other does not.
    pub flags: u8,
}
