//! A client of HTTP/1.1 that reads bytes.

use crate::stand::PATIENCE;
use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::ops::Range;

pub(crate) struct Client {
    pub(crate) stream: BufReader<TcpStream>,
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// By lower-case name.
    pub(crate) fields: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
    /// Whether the body was complete.
    pub(crate) whole: bool,
}

/// A part of a multipart body.
#[derive(Debug, PartialEq)]
pub(crate) struct Part {
    pub(crate) range: Range<u64>,
    pub(crate) total: u64,
    pub(crate) kind: String,
    pub(crate) bytes: Vec<u8>,
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Client {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Client { stream: BufReader::new(stream) }
    }

    /// Sends the head of a request.
    pub(crate) fn send(&mut self, method: &str, target: &str, fields: &[(&str, &str)]) {
        let mut head = format!("{method} {target} HTTP/1.1\r\nHost: test\r\n");
        for (name, value) in fields {
            head += &format!("{name}: {value}\r\n");
        }
        self.raw(format!("{head}\r\n").as_bytes());
    }

    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.stream.get_mut().write_all(bytes).unwrap();
    }

    /// Reads a head; nothing if the connection has ended instead.
    pub(crate) fn head(&mut self) -> Option<Answer> {
        let mut line = String::new();
        if self.stream.read_line(&mut line).unwrap_or(0) == 0 {
            return None;
        }
        let status = line.split(' ').nth(1).unwrap().parse().unwrap();
        let fields = fields(&mut self.stream);
        Some(Answer { status, fields, body: Vec::new(), whole: false })
    }

    /// Reads an answer.
    pub(crate) fn receive(&mut self, method: &str) -> Answer {
        let mut answer = self.head().expect("an answer");
        if method == "HEAD" || matches!(answer.status, 204 | 304) {
            answer.whole = true;
            return answer;
        }
        answer.whole = self.body(&answer.fields, &mut answer.body).is_ok();
        answer
    }

    fn body(&mut self, fields: &BTreeMap<String, String>, body: &mut Vec<u8>) -> io::Result<()> {
        if fields.get("transfer-encoding").is_some_and(|coding| coding == "chunked") {
            loop {
                let mut line = String::new();
                self.stream.read_line(&mut line)?;
                let length = usize::from_str_radix(line.trim(), 16).map_err(io::Error::other)?;
                let begin = body.len();
                body.resize(begin + length, 0);
                self.stream.read_exact(&mut body[begin..])?;
                self.stream.read_line(&mut String::new())?;
                if length == 0 {
                    return Ok(());
                }
            }
        }
        let length: usize = fields["content-length"].parse().unwrap();
        let read = self.stream.by_ref().take(length as u64).read_to_end(body)?;
        if read == length { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }

    pub(crate) fn ask(&mut self, method: &str, target: &str, fields: &[(&str, &str)]) -> Answer {
        self.send(method, target, fields);
        self.receive(method)
    }
}

fn fields(stream: &mut impl BufRead) -> BTreeMap<String, String> {
    let mut fields = BTreeMap::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).unwrap();
        let Some((name, value)) = line.trim_end().split_once(':') else { return fields };
        fields.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
}

/// One request on a connection of its own.
pub(crate) fn ask(
    address: SocketAddr,
    method: &str,
    target: &str,
    fields: &[(&str, &str)],
) -> Answer {
    Client::connect(address).ask(method, target, fields)
}

pub(crate) fn get(address: SocketAddr, target: &str, fields: &[(&str, &str)]) -> Answer {
    ask(address, "GET", target, fields)
}

impl Answer {
    pub(crate) fn field(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", String::as_str)
    }

    /// The parts of a multipart body, of which nothing may be left over.
    pub(crate) fn parts(&self) -> Vec<Part> {
        let kind = self.field("content-type");
        let boundary = kind.strip_prefix("multipart/byteranges; boundary=").expect(kind);
        let mut rest = &self.body[..];
        let mut parts = Vec::new();
        let delimiter = format!("--{boundary}");
        loop {
            rest = rest.strip_prefix(delimiter.as_bytes()).expect("a boundary");
            if rest == b"--\r\n" {
                return parts;
            }
            rest = rest.strip_prefix(b"\r\n").expect("the end of a boundary's line");
            let fields = fields(&mut rest);
            let (range, total) = content_range(&fields["content-range"]);
            let (bytes, tail) = rest.split_at((range.end - range.start) as usize);
            let kind = fields["content-type"].clone();
            parts.push(Part { range, total, kind, bytes: bytes.to_vec() });
            rest = tail.strip_prefix(b"\r\n").expect("a line behind a part");
        }
    }
}

/// `bytes 0-4/10` as 0..5 and 10.
pub(crate) fn content_range(value: &str) -> (Range<u64>, u64) {
    let (range, total) = value.strip_prefix("bytes ").unwrap().split_once('/').unwrap();
    let (first, last) = range.split_once('-').unwrap();
    (first.parse().unwrap()..last.parse::<u64>().unwrap() + 1, total.parse().unwrap())
}
