/// Who reads and writes a socket: an application, and what it calls this end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    /// The application.
    pub(crate) app: u8,
    /// What the end is for, in the application's own counting.
    pub(crate) role: u8,
    /// Whose end it is there: the number of a peer or a flow, say.
    pub(crate) index: u32,
    /// Which of that one's ends it is.
    pub(crate) part: u32,
}

impl Owner {
    /// Nobody any more: what arrives is read and forgotten.
    pub(crate) const NOBODY: Owner = Owner { app: u8::MAX, role: 0, index: 0, part: 0 };
}

/// The other end's socket.
pub(crate) fn other(socket: u32) -> u32 {
    socket ^ 1
}
