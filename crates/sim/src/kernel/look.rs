/// A socket that will be used soon.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    pub(crate) socket: u32,
    /// Whether the sending half will be needed: for all but data that arrives.
    pub(crate) sends: bool,
    /// How far the stream will have arrived.
    pub(crate) offset: u64,
}

impl Look {
    /// A socket that will be written to.
    pub(crate) fn write(socket: u32) -> Look {
        Look { socket, sends: true, offset: 0 }
    }
}
