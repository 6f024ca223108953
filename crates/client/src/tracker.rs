//! Announces to a tracker over HTTP (BEP 3, BEP 23): the question, and the answer, which is trusted with nothing.

use crate::bencode::Value;
use flashcrowd_base::Span;
use flashcrowd_swarm::AnnounceEvent;
use std::fmt::Write as _;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};

/// An announce of a client.
#[derive(Clone, Debug)]
pub(crate) struct Announce {
    pub(crate) url: String,
    pub(crate) info_hash: [u8; 20],
    pub(crate) identity: [u8; 20],
    pub(crate) port: u16,
    pub(crate) uploaded: u64,
    pub(crate) downloaded: u64,
    pub(crate) left: u64,
    pub(crate) event: AnnounceEvent,
    pub(crate) numwant: Option<u16>,
}

/// The answer of a tracker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Until the next regular announce.
    pub interval: Span,
    /// Where peers listen.
    pub peers: Vec<SocketAddrV4>,
}

/// Where a tracker is, out of its address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Name and port, as the field `Host` has them.
    pub(crate) host: String,
    /// Name or address.
    pub(crate) name: String,
    pub(crate) port: u16,
    /// Path and query.
    pub(crate) target: String,
}

/// No answer of a tracker is longer.
pub(crate) const MOST_ANSWER: usize = 1 << 20;
/// Peers that are read of one answer.
const MOST_PEERS: usize = 5000;
/// If the tracker does not say when to announce next.
const INTERVAL: Span = Span::from_secs(1800);
const SHORTEST_INTERVAL: u64 = 5;
const LONGEST_INTERVAL: u64 = 24 * 3600;

fn invalid(text: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text.into())
}

impl Place {
    /// Reads `http://name:port/path`.
    pub(crate) fn of(url: &str) -> io::Result<Place> {
        let bad = |why: &str| invalid(format!("tracker {url:?}: {why}"));
        let rest = url.strip_prefix("http://").ok_or_else(|| bad("only http:// is spoken"))?;
        if rest.contains(|it: char| it.is_ascii_control() || it == ' ') {
            return Err(bad("a byte that no address has"));
        }
        let (host, target) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let (name, port) = match host.rsplit_once(':') {
            Some((name, port)) => (name, port.parse().map_err(|_| bad("no such port"))?),
            None => (host, 80),
        };
        if name.is_empty() || name.contains('@') {
            return Err(bad("no host"));
        }
        let target = if target.starts_with('/') { target.to_owned() } else { format!("/{target}") };
        Ok(Place { host: host.to_owned(), name: name.to_owned(), port, target })
    }
}

impl Announce {
    /// The request.
    pub(crate) fn request(&self, place: &Place) -> Vec<u8> {
        let mut query = String::new();
        let mut add = |key: &str, value: &str| {
            query.push(if query.is_empty() && !place.target.contains('?') { '?' } else { '&' });
            query.push_str(key);
            query.push('=');
            query.push_str(value);
        };
        add("info_hash", &escaped(&self.info_hash));
        add("peer_id", &escaped(&self.identity));
        add("port", &self.port.to_string());
        add("uploaded", &self.uploaded.to_string());
        add("downloaded", &self.downloaded.to_string());
        add("left", &self.left.to_string());
        add("compact", "1");
        if let Some(numwant) = self.numwant {
            add("numwant", &numwant.to_string());
        }
        let event = match self.event {
            AnnounceEvent::Started => "started",
            AnnounceEvent::Completed => "completed",
            AnnounceEvent::Stopped => "stopped",
            AnnounceEvent::None => "",
        };
        if !event.is_empty() {
            add("event", event);
        }
        // HTTP/1.0: the answer is not chunked, and ends with the connection.
        let Place { host, target, .. } = place;
        format!("GET {target}{query} HTTP/1.0\r\nHost: {host}\r\nConnection: close\r\n\r\n").into()
    }
}

fn escaped(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        if byte.is_ascii_alphanumeric() {
            text.push(char::from(*byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(text, "%{byte:02X}");
        }
        text
    })
}

impl Answer {
    /// Reads a whole response of HTTP.
    ///
    /// # Errors
    /// It is none, or says why there is no answer.
    pub fn parse(response: &[u8]) -> io::Result<Answer> {
        let end = response.windows(4).position(|it| it == b"\r\n\r\n");
        let end = end.ok_or_else(|| invalid("no answer of HTTP"))?;
        let head = String::from_utf8_lossy(&response[..end]);
        let mut lines = head.split("\r\n");
        let status = lines.next().filter(|line| line.starts_with("HTTP/1.")).unwrap_or_default();
        let status = status.split(' ').nth(1).unwrap_or_default();
        if status != "200" {
            return Err(invalid(format!("HTTP status {:.3}", status)));
        }
        let chunked = |line: &str| {
            let (name, value) = line.split_once(':').unwrap_or_default();
            name.eq_ignore_ascii_case("transfer-encoding") && !value.trim().is_empty()
        };
        if lines.any(chunked) {
            return Err(invalid("a chunked answer to a request of HTTP/1.0"));
        }
        Answer::read(&response[end + 4..])
    }
    fn read(body: &[u8]) -> io::Result<Answer> {
        let said = Value::parse(body).map_err(|error| invalid(error.to_string()))?;
        if let Some(reason) = said.get("failure reason").and_then(Value::bytes) {
            let reason = String::from_utf8_lossy(&reason[..reason.len().min(200)]);
            return Err(invalid(format!("{:?}", reason)));
        }
        let interval = said.get("interval").and_then(Value::number).map_or(INTERVAL, |seconds| {
            Span::from_secs(seconds.clamp(SHORTEST_INTERVAL, LONGEST_INTERVAL))
        });
        let peers = match said.get("peers") {
            Some(Value::Bytes(bytes)) => bytes.as_chunks().0.iter().map(compact).collect(),
            Some(Value::List(listed)) => listed.iter().filter_map(listed_peer).collect(),
            _ => Vec::new(),
        };
        let mut peers: Vec<SocketAddrV4> = peers;
        let reaches = |at: &SocketAddrV4| at.port() > 0 && !at.ip().is_unspecified();
        peers.retain(|at| reaches(at) && !at.ip().is_multicast() && !at.ip().is_broadcast());
        peers.truncate(MOST_PEERS);
        Ok(Answer { interval, peers })
    }
}

fn compact(&[a, b, c, d, high, low]: &[u8; 6]) -> SocketAddrV4 {
    SocketAddrV4::new(Ipv4Addr::new(a, b, c, d), u16::from_be_bytes([high, low]))
}

fn listed_peer(peer: &Value<'_>) -> Option<SocketAddrV4> {
    let ip = peer.get("ip").and_then(Value::text)?.parse().ok()?;
    let port = peer.get("port").and_then(Value::number)?;
    Some(SocketAddrV4::new(ip, u16::try_from(port).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn addresses_of_trackers() {
        let place = Place::of("http://t.example:6969/announce?key=1").unwrap();
        assert_eq!((place.name.as_str(), place.port), ("t.example", 6969));
        assert_eq!(
            (place.host.as_str(), place.target.as_str()),
            ("t.example:6969", "/announce?key=1")
        );
        assert_eq!(Place::of("http://t?a=b").unwrap().target, "/?a=b");
        assert_eq!(Place::of("http://t").unwrap().port, 80);
        for url in [
            "https://t/a",
            "udp://t:1",
            "t",
            "http://",
            "http://:80/",
            "http://t:x/",
            "http://a b/",
            "http://u@t/",
        ] {
            assert!(Place::of(url).is_err(), "{url}");
        }
    }

    #[test]
    fn a_request_says_all_that_a_tracker_needs() {
        let announce = Announce {
            url: String::new(),
            info_hash: *b"\x00abc-%~ efghijklmnop",
            identity: *b"-FC0100-abcdefghijkl",
            port: 6881,
            uploaded: 1,
            downloaded: 2,
            left: 3,
            event: AnnounceEvent::Started,
            numwant: Some(40),
        };
        let ask = |announce: &Announce, url| {
            String::from_utf8(announce.request(&Place::of(url).unwrap())).unwrap()
        };
        let said = ask(&announce, "http://t:1/a");
        assert_eq!(
            said,
            "GET /a?info_hash=%00abc%2D%25%7E%20efghijklmnop&peer_id=%2DFC0100%2Dabcdefghijkl&port=6881\
             &uploaded=1&downloaded=2&left=3&compact=1&numwant=40&event=started HTTP/1.0\r\nHost: t:1\r\n\
             Connection: close\r\n\r\n"
        );
        let regular = Announce { event: AnnounceEvent::None, numwant: None, ..announce };
        let said = ask(&regular, "http://t:1/a?k=v");
        assert!(
            said.starts_with("GET /a?k=v&info_hash=") && said.contains("compact=1 HTTP"),
            "{said}"
        );
    }

    fn response(body: &[u8]) -> Vec<u8> {
        [b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n", body].concat()
    }

    #[test]
    fn answers_compact_and_in_words() {
        let compact = response(b"d8:intervali60e5:peers18:\x0a\x00\x00\x01\x1a\xe1\x00\x00\x00\x00\x1a\xe1\x0a\x00\x00\x02\x00\x00e");
        let answer = Answer::parse(&compact).unwrap();
        assert_eq!(
            answer,
            Answer { interval: Span::from_secs(60), peers: vec!["10.0.0.1:6881".parse().unwrap()] }
        );
        let words = response(b"d5:peersld2:ip8:10.0.0.94:porti7eed2:ip3:::14:porti7eeee");
        let answer = Answer::parse(&words).unwrap();
        assert_eq!(
            answer,
            Answer { interval: INTERVAL, peers: vec!["10.0.0.9:7".parse().unwrap()] }
        );
    }

    #[test]
    fn what_is_no_answer_says_why() {
        let cases: [(&[u8], &str); 6] = [
            (b"", "HTTP"),
            (b"HTTP/1.0 404 Not Found\r\n\r\n", "404"),
            (b"SSH-2.0\r\n\r\n", "status"),
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "chunked"),
            (b"HTTP/1.0 200 OK\r\n\r\nd14:failure reason7:unknowne", "unknown"),
            (b"HTTP/1.0 200 OK\r\n\r\nhello", "bencoding"),
        ];
        for (bytes, why) in cases {
            let error = Answer::parse(bytes).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    proptest! {
        #[test]
        fn any_body_ends_in_an_answer_or_an_error(
            interval in any::<i64>(), peers in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let head = format!("d8:intervali{interval}e5:peers{}:", peers.len());
            let body = [head.as_bytes(), &peers, b"e"].concat();
            let answer = Answer::parse(&response(&body)).unwrap();
            prop_assert!(answer.peers.len() <= peers.len() / 6);
            prop_assert!(answer.interval >= Span::from_secs(SHORTEST_INTERVAL));
        }
    }
}
