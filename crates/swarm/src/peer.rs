//! One peer.

use crate::{Action, Bitfield, ConnId, Message, PeerId, Profile, Torrent};
use flashcrowd_base::{Rate, Stream, Time};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::sync::Arc;

/// What a peer has when it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Everything.
    Seed,
    /// Nothing.
    Leecher,
}

/// One client in one swarm. After every call, drain [`poll`](Peer::poll); call
/// [`on_timer`](Peer::on_timer) at [`next_timer`](Peer::next_timer).
#[derive(Debug)]
pub struct Peer {
    profile: Arc<Profile>,
    pieces: Bitfield,
    actions: VecDeque<Action>,
}

impl Peer {
    /// A peer that knows nobody yet. `upload_limit` is for block data with its headers and
    /// whatever is written along with it; `None` is no limit.
    pub fn new(
        profile: Arc<Profile>,
        torrent: Arc<Torrent>,
        role: Role,
        _id: PeerId,
        _upload_limit: Option<Rate>,
        _stream: Stream,
        _now: Time,
    ) -> Peer {
        let pieces = match role {
            Role::Seed => Bitfield::full(torrent.pieces()),
            Role::Leecher => Bitfield::new(torrent.pieces()),
        };
        Peer { profile, pieces, actions: VecDeque::new() }
    }
    /// Enters the swarm: announces `started`.
    pub fn start(&mut self, _now: Time) {}
    /// Leaves the swarm: closes every connection and announces `stopped`. Nothing more happens.
    pub fn leave(&mut self, _now: Time) {}
    /// The tracker's answer.
    pub fn on_peers(&mut self, _now: Time, _peers: &[PeerId]) {}
    /// No answer from the tracker.
    pub fn on_announce_failed(&mut self, _now: Time) {}
    /// Somebody connects: the number of the new connection, or `None` if it is refused. The driver
    /// calls `on_connected` next, as for an own connection.
    pub fn accept(&mut self, _now: Time, _remote: PeerId) -> Option<ConnId> {
        None
    }
    /// The transport is up and its socket buffer takes `space` bytes: handshake and bitfield go out.
    pub fn on_connected(&mut self, _now: Time, _conn: ConnId, _space: u64) {}
    /// The other side closed, or the transport failed.
    pub fn on_closed(&mut self, _now: Time, _conn: ConnId) {}
    /// One complete message arrived, in order.
    pub fn on_message(&mut self, _now: Time, _conn: ConnId, _message: Message) {}
    /// The socket buffer takes `space` bytes now. Call after a write has been carried out, and when
    /// a connection with [`wants_space`](Peer::wants_space) has room again.
    pub fn on_space(&mut self, _now: Time, _conn: ConnId, _space: u64) {}
    /// Whether something waits for room in this connection's socket buffer.
    pub fn wants_space(&self, _conn: ConnId) -> bool {
        false
    }
    /// The limit changes in place; `None` is no limit.
    pub fn set_upload_limit(&mut self, _now: Time, _limit: Option<Rate>) {}
    /// When to call [`on_timer`](Peer::on_timer) next. Cheap.
    pub fn next_timer(&self) -> Option<Time> {
        None
    }
    /// Time has come. Early calls are harmless.
    pub fn on_timer(&mut self, _now: Time) {}
    /// The next thing to do, until there is none.
    pub fn poll(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// What the client does.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }
    /// The pieces that it has.
    pub fn bitfield(&self) -> &Bitfield {
        &self.pieces
    }
    /// How many pieces it has.
    pub fn pieces_have(&self) -> u32 {
        self.pieces.count()
    }
    /// Whether it has all.
    pub fn is_complete(&self) -> bool {
        self.pieces.is_full()
    }
    /// Bytes of blocks received, duplicates of the end game included.
    pub fn bytes_down(&self) -> u64 {
        0
    }
    /// Bytes of blocks fully written.
    pub fn bytes_up(&self) -> u64 {
        0
    }
    /// How many connections it has, those being opened not counted.
    pub fn connections(&self) -> usize {
        0
    }
    /// How many neighbours it uploads to.
    pub fn unchoked(&self) -> usize {
        0
    }
}
