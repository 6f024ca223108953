/// A file of the server. The number of one that was closed is used again, with another generation: who joins a file that is gone
/// fails at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileId {
    pub(crate) place: u32,
    pub(crate) generation: u32,
}

/// A download. The number of one that has ended is used again, with another generation: an input that names a client
/// that is gone changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClientId {
    pub(crate) place: u32,
    pub(crate) generation: u32,
}

/// A read that the disk was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReadId(pub(crate) u64);

impl FileId {
    /// A small number that no other file has at the same time: until one is closed, files are counted from 0 in the order in which
    /// they were opened.
    pub fn number(self) -> usize {
        self.place as usize
    }
}

impl ClientId {
    /// A small number that no other client has at the same time.
    pub fn number(self) -> usize {
        self.place as usize
    }
}
