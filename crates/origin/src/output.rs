use crate::{ClientId, FileId, ReadId};

/// The outputs of an origin, which the driver carries out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// Read `length` bytes of the file from `offset` on into `slot`, and say [`completed`](crate::Origin::completed).
    /// What was in the slot is gone: nothing refers to it any more.
    Read {
        /// Its number, for the answer.
        read: ReadId,
        /// Of which file.
        file: FileId,
        /// Where in the file, a multiple of the extent.
        offset: u64,
        /// How much: an extent, or what is left of the file.
        length: u32,
        /// Which piece of memory.
        slot: u32,
    },
    /// Hand `length` bytes from `offset` of the file on, which lie in `slot` from `begin` on, to the client's socket.
    Send {
        /// The receiver.
        client: ClientId,
        /// Of which file.
        file: FileId,
        /// Where in the file, a multiple of the block.
        offset: u64,
        /// How much: a block, or what is left of the file.
        length: u32,
        /// In which piece of memory.
        slot: u32,
        /// Where in that piece of memory.
        begin: u32,
    },
    /// The socket has accepted all that the client asked for. The client is gone.
    Done {
        /// The client.
        client: ClientId,
    },
    /// The client gets no more, and is gone. What it has is right, but not all.
    Failed {
        /// The client.
        client: ClientId,
        /// Why.
        failure: Failure,
    },
}

/// Why a download ends early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The disk could not read what the client waited for.
    Disk,
    /// The file was closed: it has changed, or is gone.
    Closed,
    /// Its socket has accepted nothing for [`patience`](crate::Settings::patience_ns).
    Stalled,
}
