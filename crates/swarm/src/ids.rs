//! The numbers of peers and their connections.

use serde::{Deserialize, Serialize};

/// The number of a peer in the swarm: the driver's index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PeerId(pub u32);

impl PeerId {
    /// Its address where one is needed: the simulator has none, and peer n counts as 198.18.0.0 + n, the first
    /// addresses of the range for benchmarks (RFC 2544).
    pub fn address(self) -> [u8; 4] {
        0xC612_0000u32.wrapping_add(self.0).to_be_bytes()
    }
}

/// One peer's own number for one of its connections. Small, and used again after
/// the connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ConnId(pub u32);
