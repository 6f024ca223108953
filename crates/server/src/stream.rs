//! The streams of a connection of HTTP/2: what each one's client has taken, and when one of them takes too little.

use crate::admission::Admitted;
use crate::body::{Body, Broken};
use crate::text::Text;
use bytes::{Buf, Bytes};
use http::header::CONTENT_LENGTH;
use http::{Method, Response};
use http_body::{Body as _, Frame, SizeHint};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll};

/// Streams that were reset before anything of their answer was taken: if these exceed the others by this number, the
/// connection ends ("rapid reset", CVE-2023-44487). Each of them has caused a look at the directory.
const BARREN: usize = 100;

/// The streams of a connection.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    there: Mutex<Vec<StreamSnapshot>>,
    open: AtomicUsize,
    begun: AtomicU64,
    fruitful: AtomicUsize,
    barren: AtomicUsize,
}

/// A stream as it was at the last look.
#[derive(Debug)]
struct StreamSnapshot {
    stream: Weak<Stream>,
    taken: u64,
    /// Looks since something was taken, or nothing was there to be taken.
    still: u64,
}

/// How the streams of a connection are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Some are open, and their clients take what is sent, or a new one has begun since the last look.
    Busy,
    /// None is open.
    Idle,
    /// One takes nothing.
    Stalled,
    /// Too many were reset.
    Flooded,
}

/// A request of HTTP/2 and its answer.
#[derive(Debug)]
pub(crate) struct Stream {
    of: Arc<Streams>,
    /// Bytes of the body that the HTTP library was given.
    handed: AtomicU64,
    /// Bytes of the body that flow control and the socket have let through.
    taken: Arc<AtomicU64>,
    /// Whether the answer has no body, or some of it was taken.
    fruitful: AtomicBool,
    /// A stream after the first one counts as a connection.
    _place: Option<Admitted>,
}

impl Streams {
    /// A stream begins, and why there is no place for it, if so: the first one has that of its connection.
    pub(crate) fn begin<E>(
        self: &Arc<Self>,
        place: impl FnOnce() -> Result<Admitted, E>,
    ) -> (Arc<Stream>, Option<E>) {
        self.begun.fetch_add(1, Relaxed);
        let (place, refusal) = match self.open.fetch_add(1, Relaxed) {
            0 => (None, None),
            _ => place().map_or_else(|refusal| (None, Some(refusal)), |place| (Some(place), None)),
        };
        let stream = Arc::new(Stream {
            of: Arc::clone(self),
            handed: AtomicU64::new(0),
            taken: Arc::default(),
            fruitful: AtomicBool::new(false),
            _place: place,
        });
        let mut there = self.there.lock().unwrap_or_else(PoisonError::into_inner);
        there.retain(|seen| seen.stream.strong_count() > 0);
        there.push(StreamSnapshot { stream: Arc::downgrade(&stream), taken: 0, still: 0 });
        (stream, refusal)
    }

    /// Looks at all streams; one that has not moved for `patience` looks is stalled.
    pub(crate) fn look(&self, patience: u64) -> State {
        if self.barren.load(Relaxed) > BARREN + self.fruitful.load(Relaxed) {
            return State::Flooded;
        }
        let mut there = self.there.lock().unwrap_or_else(PoisonError::into_inner);
        let mut stalled = false;
        there.retain_mut(|seen| {
            let Some(stream) = seen.stream.upgrade() else { return false };
            let taken = stream.taken.load(Relaxed);
            // Without anything to take it waits for us.
            let moves = taken != seen.taken || taken == stream.handed.load(Relaxed);
            seen.still = if moves { 0 } else { seen.still + 1 };
            seen.taken = taken;
            stalled |= seen.still >= patience;
            true
        });
        if stalled {
            State::Stalled
        } else if self.begun.swap(0, Relaxed) == 0 && self.open.load(Relaxed) == 0 {
            State::Idle
        } else {
            State::Busy
        }
    }
}

impl Stream {
    /// Counts the bytes of the body that were taken.
    pub(crate) fn taken(&self) -> &Arc<AtomicU64> {
        &self.taken
    }

    /// The answer as the HTTP library sends it. It strips the body of an answer to `HEAD` in HTTP/1.1, and here not.
    pub(crate) fn answer(
        self: Arc<Self>,
        method: &Method,
        answer: Response<Body>,
    ) -> Response<StreamBody> {
        let (mut head, body) = answer.into_parts();
        let body = if *method == Method::HEAD {
            if let (false, Some(length)) = (body.is_end_stream(), body.size_hint().exact()) {
                head.headers.insert(CONTENT_LENGTH, length.into());
            }
            Body::Text(Text::default())
        } else {
            body
        };
        if body.is_end_stream() {
            self.fruitful.store(true, Relaxed);
        }
        Response::from_parts(head, StreamBody { body, stream: self })
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let fruitful = self.fruitful.load(Relaxed);
        let count = if fruitful { &self.of.fruitful } else { &self.of.barren };
        count.fetch_add(1, Relaxed);
        self.of.open.fetch_sub(1, Relaxed);
    }
}

/// The body of an answer over HTTP/2.
#[derive(Debug)]
pub(crate) struct StreamBody {
    body: Body,
    stream: Arc<Stream>,
}

/// Bytes of a body, which count what the socket takes of them: HTTP/2 writes a frame when the windows of the stream and of the
/// connection have room for it.
#[derive(Debug)]
pub(crate) struct Chunk {
    bytes: Bytes,
    stream: Arc<Stream>,
}

impl Buf for Chunk {
    fn remaining(&self) -> usize {
        self.bytes.remaining()
    }

    fn chunk(&self) -> &[u8] {
        self.bytes.chunk()
    }

    fn advance(&mut self, count: usize) {
        self.bytes.advance(count);
        self.stream.taken.fetch_add(count as u64, Relaxed);
        self.stream.fruitful.store(true, Relaxed);
    }
}

impl http_body::Body for StreamBody {
    type Data = Chunk;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Chunk>, Broken>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        let stream = &self.stream;
        frame.map_ok(|frame| {
            frame.map_data(|bytes| {
                stream.handed.fetch_add(bytes.len() as u64, Relaxed);
                Chunk { bytes, stream: Arc::clone(stream) }
            })
        })
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::Admission;

    fn streams() -> (Arc<Admission>, Arc<Streams>) {
        (Admission::new(2, 2), Arc::default())
    }

    fn begin(admission: &Arc<Admission>, streams: &Arc<Streams>) -> Option<Arc<Stream>> {
        let (stream, refusal) = streams.begin(|| admission.enter("10.0.0.1".parse().unwrap()));
        refusal.is_none().then_some(stream)
    }

    fn hand(stream: &Arc<Stream>, bytes: &'static [u8]) -> Chunk {
        stream.handed.fetch_add(bytes.len() as u64, Relaxed);
        Chunk { bytes: Bytes::from_static(bytes), stream: Arc::clone(stream) }
    }

    #[test]
    fn a_stream_that_takes_nothing_is_noticed_and_one_that_waits_for_us_is_not() {
        let (admission, streams) = streams();
        assert_eq!(streams.look(3), State::Idle);
        let waits = begin(&admission, &streams).unwrap();
        let slow = begin(&admission, &streams).unwrap();
        let mut chunk = hand(&slow, b"abcdef");
        for _ in 0..4 {
            chunk.advance(1);
            assert_eq!(streams.look(3), State::Busy, "a byte now and then is enough");
        }
        assert_eq!([streams.look(3), streams.look(3)], [State::Busy; 2]);
        assert_eq!(streams.look(3), State::Stalled);
        chunk.advance(2);
        assert_eq!(slow.taken().load(Relaxed), 6);
        for _ in 0..9 {
            assert_eq!(streams.look(3), State::Busy);
        }
        drop((waits, slow, chunk));
        assert_eq!(streams.look(3), State::Idle);
    }

    #[test]
    fn streams_beside_the_first_one_count_as_connections() {
        let (admission, streams) = streams();
        let of_the_connection = admission.enter("10.0.0.1".parse().unwrap()).unwrap();
        let first = begin(&admission, &streams).unwrap();
        let second = begin(&admission, &streams).unwrap();
        assert!(begin(&admission, &streams).is_none());
        drop(second);
        assert!(begin(&admission, &streams).is_some());
        drop((first, of_the_connection));
    }

    #[test]
    fn resets_end_a_connection_unless_it_is_of_use() {
        let (admission, streams) = streams();
        for _ in 0..20 {
            let useful = begin(&admission, &streams).unwrap();
            hand(&useful, b"x").advance(1);
        }
        for _ in 0..BARREN + 20 {
            begin(&admission, &streams).unwrap();
            assert_ne!(streams.look(3), State::Flooded);
        }
        begin(&admission, &streams).unwrap();
        assert_eq!(streams.look(3), State::Flooded);
    }
}
