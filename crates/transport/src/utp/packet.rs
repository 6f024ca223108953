use super::sack::Sack;

/// Bytes of the header that every packet has (BEP 29).
pub const HEADER_BYTES: u32 = 20;
/// Bytes of the shortest padding: extension bits, none of them set, which every implementation knows, and an
/// extension of unknown type without a body.
pub const MIN_PADDING_BYTES: u32 = 12;
/// IPv4 and UDP headers, below the uTP header.
pub const UDP_OVERHEAD_BYTES: u32 = 28;

/// The kind of a packet, with its number on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum PacketKind {
    /// Carries payload. Takes a sequence number.
    Data = 0,
    /// Ends the stream. Takes a sequence number; nothing follows.
    Fin = 1,
    /// Only acknowledges. Shows the next sequence number without taking it.
    #[default]
    State = 2,
    /// The connection is gone.
    Reset = 3,
    /// Opens a connection. Takes a sequence number.
    Syn = 4,
}

impl PacketKind {
    /// The kind with this number.
    pub fn from_number(number: u8) -> Option<PacketKind> {
        use PacketKind::{Data, Fin, Reset, State, Syn};
        [Data, Fin, State, Reset, Syn].into_iter().find(|kind| *kind as u8 == number)
    }
}

/// The extension of a header beside a selective acknowledgement. No packet has both: the one goes
/// with the opening of a connection, the other with its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Extension {
    /// Nothing.
    #[default]
    None,
    /// Extension bits (type 2): eight bytes in which uTorrent announces abilities.
    Bits([u8; 8]),
    /// Why the sender ends the connection (type 3, libtorrent): four bytes, of which the last two
    /// are the reason.
    CloseReason([u8; 4]),
    /// Bytes that mean nothing; their number, in both bytes' order of the wire, is at least [`MIN_PADDING_BYTES`].
    /// A packet that arrives never shows it.
    Padding([u8; 2]),
}

/// One uTP packet without its payload: 64 bytes, copied freely.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// Where the payload begins in the sender's stream. Not on the wire: it is set in packets that
    /// [`Connection::poll_transmit`](super::Connection::poll_transmit) returns, so that the driver
    /// can find the bytes, and ignored in packets that arrive.
    pub offset: u64,
    /// The sender's clock when it sent this, in microseconds, wrapping. 0 means none.
    pub timestamp: u32,
    /// The sender's clock less the timestamp of the last packet that it received, when it received
    /// it: one-way delay and clock offset, wrapping. 0 means no sample yet.
    pub timestamp_difference: u32,
    /// How many bytes the sender of this packet still has room for.
    pub window: u32,
    /// Which connection at the receiver.
    pub connection_id: u16,
    /// This packet's number; in a STATE the next to be used.
    pub seq_nr: u16,
    /// Everything up to this number of the other direction has arrived.
    pub ack_nr: u16,
    /// Payload bytes.
    pub len: u16,
    /// Its kind.
    pub kind: PacketKind,
    /// Not on the wire: the datagram is to be sent with the don't-fragment flag, because it measures
    /// the path.
    pub dont_fragment: bool,
    /// The packets that arrived beyond `ack_nr`.
    pub sack: Sack,
    /// Something else.
    pub extension: Extension,
}

impl Packet {
    /// Bytes of the uTP header, extensions included.
    #[inline]
    pub fn header_bytes(&self) -> u32 {
        let sack = if self.sack.is_empty() { 0 } else { 2 + self.sack.as_bytes().len() as u32 };
        let extension = match self.extension {
            Extension::None => 0,
            Extension::Bits(_) => 10,
            Extension::CloseReason(_) => 6,
            Extension::Padding(bytes) => u32::from(u16::from_be_bytes(bytes)),
        };
        HEADER_BYTES + sack + extension
    }

    /// Bytes of the UDP payload.
    #[inline]
    pub fn datagram_bytes(&self) -> u32 {
        self.header_bytes() + u32::from(self.len)
    }

    /// Bytes with UDP and IPv4 headers. Framing below IP is the link's business.
    #[inline]
    pub fn wire_bytes(&self) -> u64 {
        u64::from(self.datagram_bytes() + UDP_OVERHEAD_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_fills_one_cache_line() {
        assert_eq!(size_of::<Packet>(), 64);
    }

    #[test]
    fn sizes_count_extensions() {
        let mut packet = Packet { len: 100, ..Packet::default() };
        assert_eq!(packet.wire_bytes(), 148);
        packet.sack = Sack::of_bytes(4);
        packet.extension = Extension::CloseReason([0; 4]);
        assert_eq!((packet.header_bytes(), packet.datagram_bytes()), (32, 132));
    }
}
