use flashcrowd_origin::ClientId;

/// What the server does for one connection: what its machine calls it, and what it still has to write.
pub(super) struct Sending {
    /// The server's end of the connection.
    pub(super) socket: u32,
    /// What the machine calls the client, from a request to the last block.
    pub(super) id: Option<ClientId>,
    /// The machine knows that the socket has room, and has handed over nothing yet.
    pub(super) waits: bool,
    /// What is to be written: heads, and what is left of the block that the machine handed over last.
    head: u64,
    block: u64,
    /// Bytes at the end of that block that were not requested: the machine deals in whole blocks.
    cut: u64,
    /// The number of that block.
    number: Option<u32>,
    /// What has been written.
    written: u64,
}

impl Sending {
    pub(super) fn new(socket: u32) -> Sending {
        let (head, block, cut, written) = (0, 0, 0, 0);
        Sending { socket, id: None, waits: false, head, block, cut, number: None, written }
    }

    /// An answer begins, with a head of `head` bytes. The machine has a new name for the client, under which no room was
    /// reported to it yet.
    pub(super) fn begin(&mut self, head: u64) {
        self.head += head;
        self.number = None;
        self.waits = false;
    }

    /// The machine hands over a block, of whose `length` bytes the last `cut` were not requested. A run of blocks
    /// that follow each other has one head of `part` bytes.
    pub(super) fn hand(&mut self, block: u32, length: u64, cut: u64, part: u64) {
        debug_assert!(self.waits && self.block == 0);
        let follows = self.number.is_some_and(|last| last + 1 == block);
        self.head += if follows { 0 } else { part };
        (self.block, self.cut) = (length - cut, cut);
        self.number = Some(block);
        self.waits = false;
    }

    /// Whether all that was handed over is written.
    pub(super) fn is_written(&self) -> bool {
        self.head == 0 && self.block == 0
    }

    /// What is written now with this much space, and how much of a block that is to the machine.
    pub(super) fn take(&mut self, space: u64) -> (u64, u64) {
        let head = self.head.min(space);
        let block = self.block.min(space - head);
        self.head -= head;
        self.block -= block;
        self.written += head + block;
        let cut = if block > 0 && self.block == 0 { std::mem::take(&mut self.cut) } else { 0 };
        (head + block, block + cut)
    }

    /// The block that has just been written to its end, and where it ends in the stream.
    pub(super) fn last(&self) -> Option<(u64, u32)> {
        self.number.filter(|_| self.block == 0).map(|number| (self.written, number))
    }
}
