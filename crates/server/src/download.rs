use crate::desk::{Block, Blocked, Desk};
use crate::exchange::Exchange;
use crate::open_file::OpenFile;
use bytes::Bytes;
use flashcrowd_origin::{ClientId, Failure};
use std::future::poll_fn;
use std::ops::Range;
use std::sync::Arc;
use std::task::{Context, Poll};

/// A client of the origin. It leaves when neither the download nor any piece of it is there any more.
#[derive(Debug)]
struct Membership {
    desk: Arc<Desk>,
    client: ClientId,
    /// The report when it ends.
    _exchange: Option<Arc<Exchange>>,
}

impl Drop for Membership {
    fn drop(&mut self) {
        self.desk.leave(self.client);
    }
}

/// A download: asked for blocks, one at a time.
#[derive(Debug)]
pub(crate) struct Download {
    /// Or why it did not begin.
    membership: Result<Arc<Membership>, Failure>,
    /// Its reads need the file.
    _file: Arc<OpenFile>,
}

/// A block on its way: accepted when the last reference to its bytes is gone, as the HTTP library drops them when the socket
/// has taken them. If the connection breaks off, they are gone as well, and so is the client, an instant later.
#[derive(Debug)]
struct Sending {
    bytes: Blocked,
    membership: Arc<Membership>,
}

impl AsRef<[u8]> for Sending {
    fn as_ref(&self) -> &[u8] {
        self.bytes.bytes()
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        let Membership { desk, client, .. } = &*self.membership;
        desk.accepted(*client, std::mem::take(&mut self.bytes));
    }
}

/// Bytes of a file.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    /// Where in the file.
    pub(crate) offset: u64,
    pub(crate) bytes: Bytes,
}

impl Piece {
    pub(crate) fn range(&self) -> Range<u64> {
        self.offset..self.offset + self.bytes.len() as u64
    }

    /// The part of it within a range.
    pub(crate) fn cut(&self, range: &Range<u64>) -> Bytes {
        let ours = self.range();
        let begin = range.start.clamp(ours.start, ours.end);
        let end = range.end.clamp(begin, ours.end);
        self.bytes.slice((begin - ours.start) as usize..(end - ours.start) as usize)
    }
}

impl Download {
    pub(crate) fn begin(
        desk: &Arc<Desk>,
        file: &Arc<OpenFile>,
        ranges: &[Range<u64>],
        in_order: bool,
        party: u32,
        exchange: Option<Arc<Exchange>>,
    ) -> Download {
        match desk.join(file, ranges, in_order, party) {
            Ok((client, file)) => {
                let desk = Arc::clone(desk);
                let membership = Arc::new(Membership { desk, client, _exchange: exchange });
                Download { membership: Ok(membership), _file: file }
            }
            Err(failure) => Download { membership: Err(failure), _file: Arc::clone(file) },
        }
    }

    /// The next block, when the last one was accepted; nothing after the last one.
    pub(crate) fn poll_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Option<Piece>, Failure>> {
        let membership = match &self.membership {
            Ok(membership) => membership,
            Err(failure) => return Poll::Ready(Err(*failure)),
        };
        membership.desk.poll_block(membership.client, context.waker()).map_ok(|block| {
            block.map(|Block { offset, bytes }| {
                let sending = Sending { bytes, membership: Arc::clone(membership) };
                Piece { offset, bytes: Bytes::from_owner(sending) }
            })
        })
    }

    pub(crate) async fn next(&mut self) -> Result<Option<Piece>, Failure> {
        poll_fn(|context| self.poll_next(context)).await
    }
}
