use super::account::Account;
use flashcrowd_base::Time;
use flashcrowd_swarm::{PeerId, Role};

/// One peer, before, while and after it is in its swarm.
#[derive(Clone, Debug)]
pub struct Peer {
    /// The number of its swarm.
    pub swarm: u32,
    /// Index of its population in the swarm.
    pub population: u32,
    /// Index of its host.
    pub host: u32,
    /// How much of the file it brings.
    pub role: Role,
    /// Its number in the swarm, in the order of arrival; `u32::MAX` before.
    pub id: PeerId,
    /// When it came.
    pub arrived: Option<Time>,
    /// When it had the file, of a leecher.
    pub completed: Option<Time>,
    /// When it left.
    pub left: Option<Time>,
    /// What it had done when it left.
    pub last: Progress,
    /// Whether it is played here, and not by another node.
    pub played: bool,
    /// It should have left before it came.
    pub(super) overdue: bool,
    pub(super) account: Account,
}

/// What a client has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Bytes of blocks that it received.
    pub down: u64,
    /// Those of them that it had already, if it says so.
    pub wasted: Option<u64>,
    /// Bytes of blocks that it sent.
    pub up: u64,
    /// Pieces that it has.
    pub pieces: u32,
}

impl Peer {
    pub(super) fn planned(swarm: u32, population: u32, host: u32, role: Role) -> Peer {
        Peer {
            swarm,
            population,
            host,
            role,
            id: PeerId(u32::MAX),
            arrived: None,
            completed: None,
            left: None,
            last: Progress::default(),
            played: true,
            overdue: false,
            account: Account::default(),
        }
    }

    /// Whether it came without the file.
    pub fn is_leecher(&self) -> bool {
        self.role == Role::Leecher
    }
    /// Whether it has come and has not left.
    pub fn is_online(&self) -> bool {
        self.arrived.is_some() && self.left.is_none()
    }
    /// Whether it left without the file.
    pub fn gave_up(&self) -> bool {
        self.is_leecher() && self.left.is_some() && self.completed.is_none()
    }
    /// Whether it is there, and has not got the file yet.
    pub fn is_waiting(&self) -> bool {
        self.is_leecher() && self.is_online() && self.completed.is_none()
    }
}
