/// A socket that will be used soon, and which parts of it to prefetch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PrefetchHint {
    pub(crate) socket: u32,
    /// Whether the sending half will be needed, as for all events but arriving data.
    pub(crate) sends: bool,
    /// Offset up to which the stream will have arrived.
    pub(crate) offset: u64,
}

impl PrefetchHint {
    /// A socket that will be written to.
    pub(crate) fn write(socket: u32) -> PrefetchHint {
        PrefetchHint { socket, sends: true, offset: 0 }
    }
}
