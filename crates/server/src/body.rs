use crate::desk::Desk;
use crate::download::{Download, Piece};
use crate::exchange::Exchange;
use crate::multipart::Framing;
use crate::open_file::OpenFile;
use crate::outcome::Ending;
use crate::ranges;
use crate::text::Text;
use bytes::Bytes;
use flashcrowd_origin::Failure;
use http_body::{Frame, SizeHint};
use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// The body of an answer.
#[derive(Debug)]
pub(crate) enum Body {
    /// Nothing, or bytes that are no file's.
    Text(Text),
    /// Ranges of a file.
    File(Box<FileBody>),
}

/// Why a body breaks off: the connection is closed without an end of the body, which every client notices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Broken(pub(crate) Failure);

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Failure::Disk => "the disk cannot read the file",
            Failure::Closed => "the file has changed",
            Failure::Stalled => "the client takes nothing",
        })
    }
}
impl std::error::Error for Broken {}

/// Ranges of a file: in the order in which they are listed, or all at once in the server's order.
#[derive(Debug)]
pub(crate) struct FileBody {
    desk: Arc<Desk>,
    file: Arc<OpenFile>,
    /// Those that are to come; in the server's order, all of them, ascending and apart.
    ranges: VecDeque<Range<u64>>,
    any_order: bool,
    current: Option<(Range<u64>, Download)>,
    framing: Option<Framing>,
    begun: bool,
    ended: bool,
    ready: VecDeque<Bytes>,
    /// Bytes of the body, if that is known, and how many have gone.
    length: Option<u64>,
    gone: u64,
    exchange: Arc<Exchange>,
}

impl FileBody {
    /// Ranges in this order, as parts if there is a framing.
    pub(crate) fn in_order(
        desk: &Arc<Desk>,
        file: &Arc<OpenFile>,
        ranges: Vec<Range<u64>>,
        framing: Option<Framing>,
        exchange: &Arc<Exchange>,
    ) -> FileBody {
        let length = match &framing {
            Some(framing) => framing.body_length(&ranges),
            None => ranges::total(&ranges),
        };
        FileBody {
            desk: Arc::clone(desk),
            file: Arc::clone(file),
            ranges: ranges.into(),
            any_order: false,
            current: None,
            framing,
            begun: false,
            ended: false,
            ready: VecDeque::new(),
            length: Some(length),
            gone: 0,
            exchange: Arc::clone(exchange),
        }
    }

    /// Ranges, ascending and apart, in the server's order, each block a part or several.
    pub(crate) fn any_order(
        desk: &Arc<Desk>,
        file: &Arc<OpenFile>,
        ranges: Vec<Range<u64>>,
        framing: Framing,
        exchange: &Arc<Exchange>,
    ) -> FileBody {
        let ours = Some(Arc::clone(exchange));
        let download = Download::begin(desk, file, &ranges, false, exchange.party(), ours);
        let mut body = FileBody::in_order(desk, file, ranges, Some(framing), exchange);
        body.any_order = true;
        body.length = None;
        body.current = Some((0..file.version.length, download));
        body
    }

    /// Waits for the first bytes, so that what fails before them has a status of its own.
    pub(crate) async fn started(mut self) -> Result<FileBody, Broken> {
        poll_fn(|context| self.poll_ready(context)).await?;
        Ok(self)
    }

    /// Ready when there is something to send, or nothing left.
    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Broken>> {
        while self.ready.is_empty() && !self.ended {
            if self.current.is_none() {
                self.next_range();
                continue;
            }
            let Some((range, download)) = &mut self.current else { continue };
            match download.poll_next(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Err(failure)) => {
                    self.exchange.end(Ending::of(failure));
                    return Poll::Ready(Err(Broken(failure)));
                }
                Poll::Ready(Ok(None)) => {
                    self.current = None;
                    if self.any_order {
                        self.ranges.clear();
                    }
                }
                Poll::Ready(Ok(Some(piece))) if self.any_order => self.push_parts(&piece),
                Poll::Ready(Ok(Some(piece))) => self.ready.push_back(piece.cut(range)),
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Begins with the next range, or ends.
    fn next_range(&mut self) {
        let Some(range) = self.ranges.pop_front() else {
            self.ended = true;
            if let Some(framing) = &self.framing {
                self.ready.push_back(framing.tail().into());
            }
            return;
        };
        if let Some(framing) = &self.framing {
            self.ready.push_back(framing.head(&range, !self.begun).into());
        }
        self.begun = true;
        let exchange = Some(Arc::clone(&self.exchange));
        let ranges = std::slice::from_ref(&range);
        let party = self.exchange.party();
        let download = Download::begin(&self.desk, &self.file, ranges, true, party, exchange);
        self.current = Some((range, download));
    }

    /// The requested parts of a block.
    fn push_parts(&mut self, piece: &Piece) {
        let Some(framing) = &self.framing else { return };
        let (front, back) = self.ranges.as_slices();
        debug_assert!(back.is_empty(), "never rotated");
        for range in ranges::within(front, &piece.range()) {
            self.ready.push_back(framing.head(&range, !self.begun).into());
            self.begun = true;
            self.ready.push_back(piece.cut(&range));
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        let body = match self.get_mut() {
            Body::Text(text) => {
                return Poll::Ready(text.next().map(|piece| Ok(Frame::data(piece))));
            }
            Body::File(body) => body,
        };
        match body.poll_ready(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Err(broken)) => Poll::Ready(Some(Err(broken))),
            Poll::Ready(Ok(())) => {
                let Some(bytes) = body.ready.pop_front() else { return Poll::Ready(None) };
                body.gone += bytes.len() as u64;
                if body.ended && body.ready.is_empty() || body.length == Some(body.gone) {
                    body.exchange.end(Ending::Complete);
                }
                Poll::Ready(Some(Ok(Frame::data(bytes))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Body::Text(text) => text.left() == 0,
            Body::File(body) => body.ended && body.ready.is_empty(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Body::Text(text) => SizeHint::with_exact(text.left()),
            Body::File(body) => match body.length {
                Some(length) => SizeHint::with_exact(length - body.gone),
                None => SizeHint::default(),
            },
        }
    }
}
