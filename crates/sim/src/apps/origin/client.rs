use flashcrowd_base::Time;
use flashcrowd_origin::{ClientId, Layout, Needs};
use flashcrowd_plan as plan;
use std::collections::VecDeque;

/// A client: what is known of it from the start, and what is recorded.
pub(super) struct Client {
    /// Its server, and its population there.
    pub(super) server: u32,
    pub(super) population: u32,
    pub(super) host: u32,
    /// Its number among the clients of its server.
    pub(super) number: u32,
    pub(super) file: u32,
    pub(super) arrived: Option<Time>,
    pub(super) completed: Option<Time>,
    pub(super) left: Option<Time>,
    /// Whole blocks that have come, and their bytes.
    pub(super) blocks: u32,
    pub(super) bytes: u64,
    /// While it is under way.
    pub(super) download: Option<Box<Download>>,
}

/// A download that is under way: what both ends know of it.
pub(super) struct Download {
    /// The client's end of the connection.
    pub(super) socket: u32,
    /// What the client still has to write of its request, and the server to read of it.
    pub(super) request: u64,
    pub(super) awaited_request: u64,
    /// Whether the whole request has come.
    pub(super) asked: bool,
    /// What the server's machine calls the client, from the request to the last block.
    pub(super) id: Option<ClientId>,
    /// The machine knows that the socket has room, and has handed over nothing yet.
    pub(super) waits: bool,
    /// What the server still has to write: heads, and what is left of the block that it handed over last.
    head: u64,
    block: u64,
    /// The number of that block.
    number: Option<u32>,
    /// What the server has written, and the client has read.
    written: u64,
    received: u64,
    /// Blocks on their way, with where they end in the stream.
    on_the_way: VecDeque<(u64, u32)>,
    /// What has not come.
    pub(super) missing: Needs,
}

impl Client {
    pub(super) fn new(server: u32, population: u32, host: u32, number: u32, file: u32) -> Client {
        Client {
            server,
            population,
            host,
            number,
            file,
            arrived: None,
            completed: None,
            left: None,
            blocks: 0,
            bytes: 0,
            download: None,
        }
    }
}

impl Download {
    pub(super) fn new(socket: u32, spec: &plan::Origin, layout: Layout) -> Download {
        Download {
            socket,
            request: spec.request_bytes,
            awaited_request: spec.request_bytes,
            asked: false,
            id: None,
            waits: false,
            head: spec.head_bytes,
            block: 0,
            number: None,
            written: 0,
            received: 0,
            on_the_way: VecDeque::new(),
            missing: Needs::whole(layout),
        }
    }

    /// The server hands over a block. A run of blocks that follow each other has one head of `part` bytes.
    pub(super) fn hand(&mut self, block: u32, length: u32, part: u64) {
        debug_assert!(self.waits && self.block == 0);
        let follows = self.number.is_some_and(|last| last + 1 == block);
        self.head += if follows { 0 } else { part };
        self.block = u64::from(length);
        self.number = Some(block);
        self.waits = false;
    }

    /// Whether all that was handed over is written.
    pub(super) fn is_written(&self) -> bool {
        self.head == 0 && self.block == 0
    }

    /// What is written now with this much space: of heads, and of the block behind them.
    pub(super) fn take(&mut self, space: u64) -> (u64, u64) {
        let head = self.head.min(space);
        let block = self.block.min(space - head);
        self.head -= head;
        self.block -= block;
        self.written += head + block;
        if block > 0
            && self.block == 0
            && let Some(number) = self.number
        {
            self.on_the_way.push_back((self.written, number));
        }
        (head, block)
    }

    /// So many bytes of the stream have come; how many blocks are whole by that which were missing, each of which is
    /// told of.
    pub(super) fn receive(&mut self, bytes: u64, mut whole: impl FnMut(u32)) -> u32 {
        self.received += bytes;
        let before = self.missing.blocks();
        while let Some((end, block)) = self.on_the_way.front().copied()
            && end <= self.received
        {
            self.on_the_way.pop_front();
            let new = self.missing.remove(block);
            debug_assert!(new, "block {block} came twice");
            if new {
                whole(block);
            }
        }
        before - self.missing.blocks()
    }
}
