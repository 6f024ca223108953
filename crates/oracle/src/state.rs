//! The part of a host that libutp's callbacks see and change.

use flashcrowd_base::RandomStream;
use libutp_rs2_sys as utp;
use std::collections::VecDeque;
use std::ptr;

/// A socket of a [`Libutp`](crate::Libutp).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketId(pub(crate) usize);

/// Where a socket stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// It may be written to now: its window has room, and the other end has shown itself.
    pub writable: bool,
    /// The other end has closed and everything before that was delivered.
    pub eof: bool,
    /// It has failed.
    pub error: Option<Failure>,
    /// libutp has forgotten it.
    pub gone: bool,
}

/// Why a socket failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The other end sent RESET.
    Reset,
    /// The other end did not answer.
    TimedOut,
}

/// A datagram that libutp sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// To which port.
    pub to: u16,
    /// UDP payload.
    pub bytes: Vec<u8>,
    /// With the don't-fragment flag.
    pub dont_fragment: bool,
}

#[derive(Debug)]
pub(crate) struct Slot {
    /// Null when it was closed or forgotten: libutp forbids to speak of it then.
    pub(crate) socket: *mut utp::utp_socket,
    /// To recognise it in callbacks, even then.
    pub(crate) identity: *mut utp::utp_socket,
    pub(crate) status: Status,
    pub(crate) received: Vec<u8>,
}

/// The part of a host that callbacks see.
#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) micros: u64,
    pub(crate) stream: RandomStream,
    pub(crate) draws: VecDeque<u16>,
    pub(crate) mtu: u16,
    pub(crate) outgoing: VecDeque<Datagram>,
    pub(crate) slots: Vec<Slot>,
    pub(crate) accepted: VecDeque<SocketId>,
    pub(crate) log: Vec<String>,
}

impl Inner {
    pub(crate) fn find(&mut self, socket: *mut utp::utp_socket) -> Option<&mut Slot> {
        // Addresses are used again, so the newest counts.
        self.slots.iter_mut().rev().find(|slot| slot.identity == socket && !slot.status.gone)
    }
    pub(crate) fn add(&mut self, socket: *mut utp::utp_socket) -> SocketId {
        let status = Status::default();
        self.slots.push(Slot { socket, identity: socket, status, received: Vec::new() });
        SocketId(self.slots.len() - 1)
    }
    pub(crate) fn micros(&self) -> u64 {
        self.micros
    }
    pub(crate) fn mtu(&self) -> u64 {
        u64::from(self.mtu)
    }
    pub(crate) fn random(&mut self) -> u64 {
        self.draws.pop_front().map_or_else(|| self.stream.bits() >> 32, u64::from)
    }
    pub(crate) fn unread(&mut self, socket: *mut utp::utp_socket) -> u64 {
        self.find(socket).map_or(0, |slot| slot.received.len() as u64)
    }
    pub(crate) fn on_sendto(&mut self, bytes: &[u8], to: u16, dont_fragment: bool) {
        self.outgoing.push_back(Datagram { to, bytes: bytes.to_vec(), dont_fragment });
    }
    pub(crate) fn on_read(&mut self, socket: *mut utp::utp_socket, bytes: &[u8]) {
        if let Some(slot) = self.find(socket) {
            slot.received.extend_from_slice(bytes);
        }
    }
    pub(crate) fn on_state_change(&mut self, socket: *mut utp::utp_socket, state: u32) {
        let Some(slot) = self.find(socket) else { return };
        match state {
            utp::UTP_STATE_CONNECT | utp::UTP_STATE_WRITABLE => slot.status.writable = true,
            utp::UTP_STATE_EOF => slot.status.eof = true,
            utp::UTP_STATE_DESTROYING => {
                slot.status.gone = true;
                slot.socket = ptr::null_mut();
            }
            _ => {}
        }
    }
    pub(crate) fn on_error(&mut self, socket: *mut utp::utp_socket, error: u32) {
        let failure = if error == utp::UTP_ETIMEDOUT { Failure::TimedOut } else { Failure::Reset };
        if let Some(slot) = self.find(socket) {
            slot.status.error = slot.status.error.or(Some(failure));
        }
    }
    pub(crate) fn on_accept(&mut self, socket: *mut utp::utp_socket) {
        let id = self.add(socket);
        self.accepted.push_back(id);
    }
    pub(crate) fn on_log(&mut self, line: &str) {
        self.log.push(line.to_owned());
    }
}
