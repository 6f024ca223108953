/// The owner of a socket, which reads and writes it: an application, and its name for this end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    /// The application.
    pub(crate) app: u8,
    /// The purpose of the end, in the application's own counting.
    pub(crate) role: u8,
    /// Index of the peer, flow or other member of the application that the end belongs to.
    pub(crate) index: u32,
    /// Which of that member's ends it is.
    pub(crate) part: u32,
}

impl Owner {
    /// An orphaned socket, closed by its owner: what arrives is read and discarded.
    pub(crate) const NOBODY: Owner = Owner { app: u8::MAX, role: 0, index: 0, part: 0 };
}

/// The other end's socket.
pub(crate) fn other(socket: u32) -> u32 {
    socket ^ 1
}
