//! One connection to a peer: its socket, what comes in, what goes out.

use crate::content::Content;
use crate::directory::Identity;
use flashcrowd_base::Time;
use flashcrowd_swarm::codec::{Decoder, Handshake, encode};
use flashcrowd_swarm::{Message, PeerId};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};

/// The room of a connection whose bytes the kernel takes, as the pure peer sees it: more than a block with its
/// header, so that a message is cut where the limiter cuts it, and nowhere else.
pub(crate) const SPACE: u64 = 1 << 20;
/// Bytes that are read at a time.
pub(crate) const READ_BYTES: usize = 1 << 16;

/// How far a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The kernel opens it.
    Connecting,
    /// No handshake has come.
    Greeting,
    /// It stands since then.
    Open(Time),
}

/// The fields of this client's handshake.
#[derive(Debug)]
pub(crate) struct Greeting {
    pub(crate) info_hash: [u8; 20],
    pub(crate) identity: Identity,
}

/// A connection.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) stream: TcpStream,
    pub(crate) remote: SocketAddr,
    pub(crate) number: PeerId,
    pub(crate) initiated: bool,
    pub(crate) stage: Stage,
    /// It is over if no handshake has come by then.
    pub(crate) deadline: Time,
    pub(crate) identity: Option<Identity>,
    pub(crate) decoder: Decoder,
    /// Tells this connection from those that had its number before.
    pub(crate) serial: u64,
    /// When bytes of a block were written last.
    pub(crate) last_send: Option<Time>,
    /// Bytes that the kernel has not taken.
    out: Vec<u8>,
    /// The bytes of a message that is half-written, and how many of them have been.
    message: Vec<u8>,
    written: usize,
}

impl Link {
    pub(crate) fn new(
        stream: TcpStream,
        remote: SocketAddr,
        decoder: Decoder,
        initiated: bool,
        deadline: Time,
        serial: u64,
    ) -> Link {
        Link {
            stream,
            remote,
            number: PeerId(0),
            initiated,
            stage: if initiated { Stage::Connecting } else { Stage::Greeting },
            deadline,
            identity: None,
            decoder,
            serial,
            last_send: None,
            out: Vec::new(),
            message: Vec::new(),
            written: 0,
        }
    }
    pub(crate) fn is_connected(&self) -> bool {
        self.stage != Stage::Connecting
    }
    /// Whether the kernel has not taken everything.
    pub(crate) fn has_more(&self) -> bool {
        !self.out.is_empty()
    }
    /// Writes the next bytes of a message; with the last of them it `ends`.
    ///
    /// # Errors
    /// A block cannot be read.
    pub(crate) fn write(
        &mut self,
        bytes: u32,
        message: &Message,
        ends: bool,
        greeting: &Greeting,
        content: &mut Content,
    ) -> io::Result<()> {
        if self.message.is_empty() {
            self.message = encoded(message, greeting, content)?;
            self.written = 0;
        }
        let end = (self.written + bytes as usize).min(self.message.len());
        debug_assert_eq!(ends, end == self.message.len());
        self.out.extend_from_slice(&self.message[self.written..end]);
        self.written = end;
        if ends {
            self.message.clear();
        }
        Ok(())
    }
    /// Hands the kernel what it takes.
    ///
    /// # Errors
    /// The connection has failed.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        let mut sent = 0;
        let result = loop {
            if sent == self.out.len() {
                break Ok(());
            }
            match self.stream.write(&self.out[sent..]) {
                Ok(0) => break Err(ErrorKind::WriteZero.into()),
                Ok(bytes) => sent += bytes,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => break Err(error),
            }
        };
        self.out.drain(..sent);
        result
    }
    /// The room that the pure peer sees: none while something waits here.
    pub(crate) fn space(&self) -> u64 {
        if self.has_more() { 0 } else { SPACE }
    }
    /// Reads once; `None` if nothing is there, 0 at the end.
    ///
    /// # Errors
    /// The connection has failed.
    pub(crate) fn read(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        read(&mut self.stream, into)
    }
}

/// Reads once; `None` if nothing is there.
pub(crate) fn read(stream: &mut TcpStream, into: &mut [u8]) -> io::Result<Option<usize>> {
    match stream.read(into) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn encoded(message: &Message, greeting: &Greeting, content: &mut Content) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(message.size() as usize);
    match message {
        Message::Handshake(offered) => {
            let Greeting { info_hash, identity } = *greeting;
            Handshake::new(info_hash, identity).offering(*offered).encode(&mut bytes);
        }
        Message::Piece { piece, begin, length } => {
            encode(message, &mut bytes);
            let header = bytes.len();
            bytes.resize(header + *length as usize, 0);
            content.read(*piece, *begin, &mut bytes[header..])?;
        }
        _ => encode(message, &mut bytes),
    }
    Ok(bytes)
}
