//! Content of packets, for captures: an application describes the content of its connections and
//! datagrams, and the recorder encodes it into bytes. Nothing that is simulated depends on it.

use super::{Message, RangeRequest};
use flashcrowd_base::Time;
use flashcrowd_swarm as swarm;
use flashcrowd_swarm::codec::{self, Handshake};
use flashcrowd_swarm::{HANDSHAKE_BYTES, PIECE_HEADER_BYTES};

/// The content of a connection.
pub(crate) struct ConnectionContent {
    /// The port of the end that listens.
    pub(crate) port: u16,
    /// Whether a client has one UDP port for all of its uTP connections, that on which it listens.
    pub(crate) shares_port: bool,
    /// The bytes that each end writes, the one that opened the connection first.
    pub(crate) ends: [Content; 2],
}

/// The bytes that one end of a connection writes.
pub(crate) enum Content {
    /// These bytes, and [`lines`] behind them.
    Lines(Vec<u8>),
    /// Messages of BitTorrent. A block is [`lines`], numbered from the begin of the file.
    BitTorrent { handshake: Handshake, piece_bytes: u32 },
    /// Requests for ranges of this resource.
    Ranges(String),
}

/// Content of a datagram, and its hosts.
pub(crate) struct Saying {
    /// Sender and receiver.
    pub(crate) hosts: [u32; 2],
    pub(crate) content: DatagramContent,
}

pub(crate) enum DatagramContent {
    /// ICMP echo (RFC 792).
    Echo { reply: bool, identifier: u16, sequence: u16 },
    /// RTP (RFC 3550) of a call, from one of its two sources.
    Rtp { call: u32, source: u32, sequence: u16, sent: Time },
}

/// Port of what has no other: that of iperf.
const PLAIN_PORT: u16 = 5001;
const HTTP_PORT: u16 = 80;
/// The first port of BitTorrent clients. A host has at most one peer of each swarm.
const BIT_TORRENT_PORT: u16 = 6881;

impl ConnectionContent {
    /// Bytes that mean nothing.
    pub(crate) fn lines() -> ConnectionContent {
        let ends = [Content::Lines(Vec::new()), Content::Lines(Vec::new())];
        ConnectionContent { port: PLAIN_PORT, shares_port: false, ends }
    }
    pub(crate) fn http(ends: [Content; 2]) -> ConnectionContent {
        ConnectionContent { port: HTTP_PORT, shares_port: false, ends }
    }
    pub(crate) fn bit_torrent(swarm: u32, ends: [Content; 2]) -> ConnectionContent {
        ConnectionContent {
            port: BIT_TORRENT_PORT.wrapping_add(swarm as u16),
            shares_port: true,
            ends,
        }
    }
}

impl Content {
    /// The stream of a peer. The ids of torrent and peer contain their numbers: nothing was hashed.
    pub(crate) fn bit_torrent(swarm: u32, peer: u32, piece_bytes: u32) -> Content {
        let mut info_hash = *b"flashcrowd 000000000";
        let mut peer_id = *b"-FC0100-000000000000";
        write_decimal(&mut info_hash[11..], swarm);
        write_decimal(&mut peer_id[8..], peer);
        Content::BitTorrent { handshake: Handshake::new(info_hash, peer_id), piece_bytes }
    }

    /// A request of `bytes` bytes, if that is enough for one; a cookie fills it up.
    pub(crate) fn http_request(resource: &str, bytes: u64) -> Content {
        let begin = format!("GET /{resource} HTTP/1.1\r\nHost: server\r\nCookie: fill=");
        Content::Lines(filled(&begin, bytes))
    }

    /// An answer of `bytes` bytes, header included, if that is enough for one.
    pub(crate) fn http_response(bytes: u64) -> Content {
        let header = |length: u64| {
            format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\
                 Content-Length: {length:>10}\r\n\r\n"
            )
        };
        let length = bytes.checked_sub(header(0).len() as u64);
        Content::Lines(length.map_or_else(Vec::new, |length| header(length).into_bytes()))
    }

    /// Appends `len` bytes from `offset` of the stream, to which these messages were written, each
    /// with the offset at which it ends, and perhaps another that is not whole.
    pub(crate) fn bytes(
        &self,
        messages: &[(u64, Message)],
        begun: Option<&Message>,
        offset: u64,
        len: usize,
        out: &mut Vec<u8>,
    ) {
        let end = out.len() + len;
        match self {
            Content::Lines(head) => {
                let rest = head.get(offset as usize..).unwrap_or_default();
                out.extend_from_slice(&rest[..rest.len().min(len)]);
                let done = offset + (len - (end - out.len())) as u64;
                lines(done.saturating_sub(head.len() as u64), end - out.len(), out);
            }
            Content::BitTorrent { .. } | Content::Ranges(_) => {
                let mut place = messages.partition_point(|(end, _)| *end <= offset);
                let mut at = offset;
                while out.len() < end {
                    let before = place.checked_sub(1);
                    let start = before.map_or(Some(0), |before| Some(messages.get(before)?.0));
                    let message = messages.get(place).map(|(_, message)| message).or(begun);
                    let left = end - out.len();
                    match start.zip(message) {
                        Some((start, Message::Peer(message)))
                            if at - start < u64::from(message.size()) =>
                        {
                            self.message(message, (at - start) as u32, left, out);
                        }
                        Some((start, Message::Get(range))) => {
                            let until = messages.get(place).map_or(at, |(end, _)| *end);
                            let request = self.get(range, until - start);
                            let rest = request.get((at - start) as usize..).unwrap_or_default();
                            out.extend_from_slice(&rest[..rest.len().min(left)]);
                            lines(
                                at,
                                (until - at).min(left as u64) as usize - rest.len().min(left),
                                out,
                            );
                        }
                        _ => lines(at, left, out),
                    }
                    at = offset + (len - (end - out.len())) as u64;
                    place += 1;
                }
            }
        }
    }

    /// Appends at most `max` bytes of a message, from this one on.
    fn message(&self, message: &swarm::Message, from: u32, max: usize, out: &mut Vec<u8>) {
        let Content::BitTorrent { handshake, piece_bytes } = self else { return };
        let mut header = Vec::with_capacity(HANDSHAKE_BYTES as usize);
        match message {
            swarm::Message::Handshake(extensions) => {
                handshake.offering(*extensions).encode(&mut header);
            }
            other => codec::encode(other, &mut header),
        }
        let rest = header.get(from as usize..).unwrap_or_default();
        let of_header = rest.len().min(max);
        out.extend_from_slice(&rest[..of_header]);
        if let swarm::Message::Piece { piece, begin, length } = message {
            let block = from.saturating_sub(PIECE_HEADER_BYTES);
            let file = u64::from(*piece) * u64::from(*piece_bytes) + u64::from(*begin);
            let left = (*length - block) as usize;
            lines(file + u64::from(block), left.min(max - of_header), out);
        }
    }

    /// The request for a range, of `bytes` bytes if that is enough for one.
    fn get(&self, range: &RangeRequest, bytes: u64) -> Vec<u8> {
        let Content::Ranges(resource) = self else { return Vec::new() };
        let RangeRequest { file, begin, .. } = range;
        let last = range.end() - 1;
        let head = format!(
            "GET /{resource}/{file} HTTP/1.1\r\nHost: server\r\nRange: bytes={begin}-{last}\r\nCookie: fill="
        );
        filled(&head, bytes)
    }
}

/// The head of a request, of `bytes` bytes if that is enough: a cookie fills it up.
fn filled(begin: &str, bytes: u64) -> Vec<u8> {
    let end = "\r\n\r\n";
    let fill = (bytes as usize).checked_sub(begin.len() + end.len());
    fill.map_or_else(Vec::new, |fill| [begin, &"x".repeat(fill), end].concat().into_bytes())
}

/// Appends `len` bytes of a text that says where it is: lines of sixteen bytes, of which each gives
/// its offset in hexadecimal.
pub(crate) fn lines(offset: u64, len: usize, out: &mut Vec<u8>) {
    let end = out.len() + len;
    let mut skip = (offset % 16) as usize;
    let mut at = offset - offset % 16;
    while out.len() < end {
        let mut line = [b'\n'; 16];
        for (digit, byte) in line[..15].iter_mut().rev().enumerate() {
            *byte = b"0123456789abcdef"[(at >> (4 * digit)) as usize & 15];
        }
        let take = (16 - skip).min(end - out.len());
        out.extend_from_slice(&line[skip..skip + take]);
        (skip, at) = (0, at + 16);
    }
}

/// Fills a place with the decimal digits of a number.
fn write_decimal(place: &mut [u8], mut number: u32) {
    for digit in place.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashcrowd_swarm::codec::{Decoded, Decoder};

    #[test]
    fn lines_say_where_they_are() {
        let mut out = Vec::new();
        lines(14, 20, &mut out);
        assert_eq!(out, b"0\n000000000000010\n00");
        let mut whole = Vec::new();
        lines(0, 100, &mut whole);
        for (from, to) in [(0, 0), (3, 90), (16, 32), (17, 31), (99, 100)] {
            let mut part = Vec::new();
            lines(from as u64, to - from, &mut part);
            assert_eq!(part, whole[from..to]);
        }
    }

    #[test]
    fn a_stream_of_messages_is_cut_anywhere_and_decodes() {
        let content = Content::bit_torrent(2, 31, 100);
        let all = [
            swarm::Message::Handshake(swarm::Extensions::NONE),
            swarm::Message::Unchoke,
            swarm::Message::Request { piece: 1, begin: 20, length: 30 },
            swarm::Message::Piece { piece: 1, begin: 20, length: 30 },
            swarm::Message::Have { piece: 1 },
        ];
        let mut end = 0;
        let sized = |message: &swarm::Message| {
            end += u64::from(message.size());
            (end, Message::Peer(message.clone()))
        };
        let messages: Vec<(u64, Message)> = all.iter().map(sized).collect();
        let begun = Message::Peer(swarm::Message::Piece { piece: 3, begin: 0, length: 40 });
        let total = end as usize + 20;
        let mut whole = Vec::new();
        content.bytes(&messages, Some(&begun), 0, total, &mut whole);
        for from in 0..total {
            let mut part = Vec::new();
            content.bytes(&messages, Some(&begun), from as u64, (total - from).min(37), &mut part);
            assert_eq!(part, whole[from..total.min(from + 37)], "from {from}");
        }
        let mut decoder = Decoder::new(10, 100);
        decoder.feed(&whole);
        let greeting = Handshake::new(*b"flashcrowd 000000002", *b"-FC0100-000000000031");
        assert_eq!(decoder.next(), Ok(Some(Decoded::Handshake(greeting))));
        for message in &all[1..] {
            let mut block = Vec::new();
            if let swarm::Message::Piece { length, .. } = message {
                lines(120, *length as usize, &mut block);
            }
            assert_eq!(decoder.next(), Ok(Some(Decoded::Message(message.clone(), &block))));
        }
        assert_eq!(decoder.next(), Ok(None));
        assert_eq!(decoder.buffered(), 20);
    }

    #[test]
    fn requests_for_ranges_follow_each_other() {
        let content = Content::Ranges("mirror".to_owned());
        let get = |begin| Message::Get(RangeRequest { file: 2, begin, length: 100 });
        let messages = [(400, get(0)), (800, get(4096))];
        let mut whole = Vec::new();
        content.bytes(&messages, None, 0, 800, &mut whole);
        let text = String::from_utf8(whole.clone()).unwrap();
        assert!(
            text.starts_with("GET /mirror/2 HTTP/1.1\r\nHost: server\r\nRange: bytes=0-99\r\n")
        );
        assert!(
            text[400..]
                .starts_with("GET /mirror/2 HTTP/1.1\r\nHost: server\r\nRange: bytes=4096-4195")
        );
        assert!(text[..400].ends_with("x\r\n\r\n") && text.ends_with("x\r\n\r\n"));
        for (from, len) in [(0, 400), (399, 2), (10, 700), (700, 100)] {
            let mut part = Vec::new();
            content.bytes(&messages, None, from, len, &mut part);
            assert_eq!(part, whole[from as usize..from as usize + len], "from {from}");
        }
    }

    #[test]
    fn requests_and_answers_are_as_long_as_the_workload_says() {
        let Content::Lines(request) = Content::http_request("web/0/0/0", 300) else { panic!() };
        assert_eq!(request.len(), 300);
        assert!(
            request.starts_with(b"GET /web/0/0/0 HTTP/1.1\r\n") && request.ends_with(b"\r\n\r\n")
        );
        let Content::Lines(header) = Content::http_response(1000) else { panic!() };
        let length = format!("Content-Length: {:>10}\r\n\r\n", 1000 - header.len());
        assert!(header.ends_with(length.as_bytes()));
        for short in [Content::http_request("web/0/0/0", 20), Content::http_response(20)] {
            assert!(matches!(short, Content::Lines(head) if head.is_empty()));
        }
    }
}
