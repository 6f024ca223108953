//! Datagrams between nodes: packets on their way, as many as fit, and echoes for the clocks.
//! Numbers are in network byte order.

use crate::crossing::InTransit;
use flashcrowd_base::{Span, Time};

/// Begins each datagram; the last byte counts formats.
const MAGIC: [u8; 4] = *b"fcx\x01";
/// Magic, run, node and kind.
const HEAD: usize = 4 + 8 + 4 + 1;
const PACKETS: u8 = 0;
const ECHO: u8 = 1;
const ANSWER: u8 = 2;
/// Due, late, from, to, step, whether it arrives, and its length.
const RECORD: usize = 8 + 8 + 4 + 4 + 2 + 1 + 2;
/// The length of a datagram with more than one packet, at most: the payload of UDP over Ethernet.
const FULL: usize = 1472;

/// A datagram of another node.
#[derive(Debug, PartialEq, Eq)]
pub enum Datagram<'a> {
    /// Packets on their way.
    Packets {
        /// The number of the first among all that the node sent here.
        first: u64,
        /// The packets.
        records: Records<'a>,
    },
    /// A question for the other clock's time.
    Echo {
        /// When it was asked, by the clock of the asking node.
        asked_ns: u64,
    },
    /// The answer.
    Answer {
        /// When it was asked.
        asked_ns: u64,
        /// When that was heard, by the clock that was asked.
        heard_ns: u64,
        /// When it was answered, by the same clock.
        answered_ns: u64,
    },
}

/// The packets of a datagram, one after the other.
#[derive(Debug, PartialEq, Eq)]
pub struct Records<'a>(&'a [u8]);

impl<'a> Iterator for Records<'a> {
    type Item = (InTransit, &'a [u8]);

    fn next(&mut self) -> Option<(InTransit, &'a [u8])> {
        let mut rest = Reader(self.0);
        let place = InTransit {
            due: Time::from_nanos(rest.u64()?),
            late: Span::from_nanos(rest.u64()?),
            from: rest.u32()?,
            to: rest.u32()?,
            step: rest.u16()?,
            arrives: rest.u8()? != 0,
        };
        let length = rest.u16()?;
        let packet = rest.take(usize::from(length))?;
        self.0 = rest.0;
        Some((place, packet))
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }
    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }
    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }
    fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }
    fn u8(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }
}

/// Reads a datagram of a run: the node that says it has sent it, and what it is. `None` if it is no
/// datagram of that run.
pub fn read(run: u64, bytes: &[u8]) -> Option<(u32, Datagram<'_>)> {
    let mut rest = Reader(bytes);
    if rest.array()? != MAGIC || rest.u64()? != run {
        return None;
    }
    let node = rest.u32()?;
    let datagram = match rest.u8()? {
        PACKETS => Datagram::Packets { first: rest.u64()?, records: Records(rest.0) },
        ECHO => Datagram::Echo { asked_ns: rest.u64()? },
        ANSWER => Datagram::Answer {
            asked_ns: rest.u64()?,
            heard_ns: rest.u64()?,
            answered_ns: rest.u64()?,
        },
        _ => return None,
    };
    Some((node, datagram))
}

fn head(run: u64, node: u32, kind: u8) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(FULL);
    bytes.extend(MAGIC);
    bytes.extend(run.to_be_bytes());
    bytes.extend(node.to_be_bytes());
    bytes.push(kind);
    bytes
}

/// Asks for the time.
pub fn echo(run: u64, node: u32, asked_ns: u64) -> Vec<u8> {
    let mut bytes = head(run, node, ECHO);
    bytes.extend(asked_ns.to_be_bytes());
    bytes
}

/// Tells it.
pub fn answer(run: u64, node: u32, asked_ns: u64, heard_ns: u64, answered_ns: u64) -> Vec<u8> {
    let mut bytes = head(run, node, ANSWER);
    for at in [asked_ns, heard_ns, answered_ns] {
        bytes.extend(at.to_be_bytes());
    }
    bytes
}

/// Packets for one node that are sent together.
#[derive(Debug)]
pub struct Parcel {
    bytes: Vec<u8>,
    packets: u64,
    /// Number of the first.
    first: u64,
}

impl Parcel {
    /// An empty one of a node.
    pub fn new(run: u64, node: u32) -> Parcel {
        let mut bytes = head(run, node, PACKETS);
        bytes.extend(0u64.to_be_bytes());
        Parcel { bytes, packets: 0, first: 0 }
    }

    /// How many packets it has.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Whether a packet of `bytes` bytes has room. An empty one has for any.
    pub fn has_room(&self, bytes: usize) -> bool {
        self.packets == 0 || self.bytes.len() + RECORD + bytes <= FULL
    }

    /// Adds a packet.
    pub fn add(&mut self, place: InTransit, packet: &[u8]) {
        self.packets += 1;
        let bytes = &mut self.bytes;
        bytes.extend(place.due.nanos().to_be_bytes());
        bytes.extend(place.late.nanos().to_be_bytes());
        bytes.extend(place.from.to_be_bytes());
        bytes.extend(place.to.to_be_bytes());
        bytes.extend(place.step.to_be_bytes());
        bytes.push(u8::from(place.arrives));
        bytes.extend((packet.len() as u16).to_be_bytes());
        bytes.extend(packet);
    }

    /// The datagram.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Empties it: what comes next has the numbers behind.
    pub fn clear(&mut self) {
        self.first += self.packets;
        self.packets = 0;
        self.bytes.truncate(HEAD);
        self.bytes.extend(self.first.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_packet() -> impl Strategy<Value = (InTransit, Vec<u8>)> {
        let place = (any::<u64>(), any::<u32>(), any::<u32>(), any::<u32>(), any::<u16>());
        (place, any::<bool>(), prop::collection::vec(any::<u8>(), 0..1500)).prop_map(
            |((due, late, from, to, step), arrives, bytes)| {
                let (due, late) = (Time::from_nanos(due), Span::from_nanos(u64::from(late)));
                (InTransit { due, late, from, to, step, arrives }, bytes)
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            packets in prop::collection::vec(any_packet(), 1..40),
            run in any::<u64>(),
        ) {
            let mut parcel = Parcel::new(run, 7);
            let (mut read_back, mut number) = (Vec::new(), 0);
            let mut unpack = |parcel: &mut Parcel| {
                let Some((7, Datagram::Packets { first, records })) = read(run, parcel.bytes())
                else { panic!("packets of node 7 are expected") };
                assert_eq!(first, number);
                number += parcel.packets();
                read_back.extend(records.map(|(place, bytes)| (place, bytes.to_vec())));
                parcel.clear();
            };
            for (place, bytes) in &packets {
                if !parcel.has_room(bytes.len()) {
                    unpack(&mut parcel);
                }
                parcel.add(*place, bytes);
                prop_assert!(parcel.bytes().len() <= FULL.max(HEAD + 8 + RECORD + bytes.len()));
            }
            unpack(&mut parcel);
            prop_assert_eq!(read_back, packets);
            prop_assert!(read(run ^ 1, parcel.bytes()).is_none(), "it is of another run");
        }

        #[test]
        fn anything_can_come(mut bytes in prop::collection::vec(any::<u8>(), 0..200), own in any::<bool>()) {
            let begin = echo(1, 0, 0);
            for (byte, right) in bytes.iter_mut().zip(&begin[..HEAD - 1]) {
                *byte = if own { *right } else { *byte };
            }
            if let Some((_, Datagram::Packets { records, .. })) = read(1, &bytes) {
                let read: usize = records.map(|(_, packet)| RECORD + packet.len()).sum();
                prop_assert!(read <= bytes.len());
            }
        }
    }

    #[test]
    fn the_time_is_asked_and_told() {
        assert_eq!(read(3, &echo(3, 1, 5)), Some((1, Datagram::Echo { asked_ns: 5 })));
        let told = Datagram::Answer { asked_ns: 5, heard_ns: 6, answered_ns: 7 };
        assert_eq!(read(3, &answer(3, 0, 5, 6, 7)), Some((0, told)));
    }
}
