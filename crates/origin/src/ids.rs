/// A file of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileId(pub(crate) u32);

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
    /// Its number: files are counted from 0 in the order in which they were opened.
    pub fn number(self) -> usize {
        self.0 as usize
    }
}

impl ClientId {
    /// A small number that no other client has at the same time.
    pub fn number(self) -> usize {
        self.place as usize
    }
}
