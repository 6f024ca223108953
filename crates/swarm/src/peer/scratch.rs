//! Lists that one call fills and empties, kept for their capacity.
//!
//! There is one of each a thread, not one a peer: that of a peer would have left the cache by its next
//! round, and those of a thousand peers are 10 MB. A user [takes](std::thread::LocalKey::take) it,
//! empties it, and [sets](std::thread::LocalKey::set) it again; another user meanwhile finds another,
//! empty one.

use super::send_buffer::BlockRequest;
use crate::block_map::Block;
use crate::choker::{Candidate, Decision};
use crate::{Action, ConnId};
use std::cell::Cell;
use std::collections::VecDeque;

type List<T> = Cell<Vec<T>>;

thread_local! {
    /// Orders of a peer that its driver has not polled.
    pub(super) static ACTIONS: Cell<VecDeque<Action>> = const { Cell::new(VecDeque::new()) };
    /// Neighbours in a choke round, and what was decided about each.
    pub(super) static CANDIDATES: List<Candidate> = const { Cell::new(Vec::new()) };
    pub(super) static DECISIONS: List<Decision> = const { Cell::new(Vec::new()) };
    /// Blocks that may be requested from a neighbour.
    pub(super) static BLOCKS: List<Block> = const { Cell::new(Vec::new()) };
    /// Blocks that a neighbour no longer owes, and their pieces.
    pub(super) static RELEASED: List<Block> = const { Cell::new(Vec::new()) };
    pub(super) static LOST_PIECES: List<u32> = const { Cell::new(Vec::new()) };
    /// Neighbours that may take over requests.
    pub(super) static WILLING: List<ConnId> = const { Cell::new(Vec::new()) };
    /// Quota, by connection.
    pub(super) static GIVEN: List<(ConnId, u32)> = const { Cell::new(Vec::new()) };
    /// Blocks that one write completed: their pieces and lengths.
    pub(super) static SENT: List<(u32, u32)> = const { Cell::new(Vec::new()) };
    /// Requests that a choke takes back.
    pub(super) static REJECTED: List<BlockRequest> = const { Cell::new(Vec::new()) };
}
