//! A connection from its begin to its end: TLS if there is, then HTTP/1.1 or HTTP/2, and how long each may take.

use crate::Limits;
use crate::admission::{Admitted, Full};
use crate::body::Body;
use crate::exchange::Exchange;
use crate::hall::Hall;
use crate::handle::ServerHandle;
use crate::metered::Metered;
use crate::service::{said, text_answer};
use crate::settings::seconds;
use crate::stream::{State, StreamBody, Streams};
use crate::tls::HTTP_2;
use crate::trusted;
use http::header::{CONNECTION, RETRY_AFTER};
use http::{HeaderValue, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use socket2::SockRef;
use std::convert::Infallible;
use std::future::Future;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};
use tokio_rustls::TlsAcceptor;

/// The head of a request at most, and what the HTTP library keeps of an answer.
const HEAD_BYTES: usize = 1 << 16;
/// Bytes that TLS keeps encrypted before the socket takes them, a record: these were chosen too early, too.
const TLS_BYTES: usize = 1 << 14;
/// Bytes of requests' bodies that a client of HTTP/2 may send; they are not read. No less is allowed (RFC 9113, 6.9.2).
const WINDOW: u32 = (1 << 16) - 1;
/// Streams that the HTTP library lets a client reset before it has looked at them, and that it resets for a client's
/// errors; more end the connection.
const RESETS: usize = 32;
/// Looks at the streams of a connection in the time in which they must move.
const LOOKS: u32 = 8;
/// Between two looks at the first bytes of a connection that says less than is needed to know what it speaks.
const GLANCE: Duration = Duration::from_millis(10);

/// The state that the requests of a connection share.
#[derive(Debug)]
struct Visit {
    hall: Arc<Hall>,
    peer: IpAddr,
    /// The number of its address; 0 if it is a proxy that is trusted.
    number: Option<u32>,
    limits: Limits,
    /// Requests that it may still make.
    left: AtomicU64,
    /// Bytes that its socket has taken.
    taken: Arc<AtomicU64>,
    /// Bytes that came, and how many of them had when the last request was there.
    heard: Arc<AtomicU64>,
    asked: AtomicU64,
}

/// Serves a connection.
pub(crate) async fn attend(
    hall: Arc<Hall>,
    stream: TcpStream,
    peer: IpAddr,
    place: Admitted,
    limits: &Limits,
    handle: &ServerHandle,
) {
    let meters = Arc::clone(&hall.meters);
    meters.connections.fetch_add(1, Relaxed);
    let _count = Countdown(&meters.connections);
    let _ = stream.set_nodelay(true);
    // Not there on every system; then the send buffer alone bounds what was chosen too early.
    let _ = SockRef::from(&stream).set_tcp_notsent_lowat(limits.unsent_bytes);
    let patience = seconds(limits.header_s);
    let tls = hall.tls.as_ref().map(|tls| tls.config());
    let speaks_http_2 = if tls.is_none() {
        match within(patience, handle, begins_http_2(&stream)).await {
            Ok(begins) => begins,
            Err(missed) => return missed.tell(&hall, peer),
        }
    } else {
        false
    };
    let memory_file = Arc::clone(&hall.service.desk.memory_file);
    let metered = Metered::new(stream, memory_file, Arc::clone(&meters), seconds(limits.stall_s));
    let is_proxy = trusted::is_trusted(&hall.proxies, peer);
    let visit = Arc::new(Visit {
        hall,
        peer,
        number: (!is_proxy).then(|| place.number()),
        limits: limits.clone(),
        left: AtomicU64::new(limits.requests_per_connection),
        taken: metered.taken(),
        heard: metered.heard(),
        // Without a request it is late, also if it has said nothing.
        asked: AtomicU64::new(u64::MAX),
    });
    match tls {
        None if speaks_http_2 => http_2(visit, metered, handle).await,
        None => http_1(visit, metered, handle).await,
        Some(config) => {
            let accept = TlsAcceptor::from(config).accept(metered);
            let mut stream = match within(patience, handle, accept).await {
                Ok(Ok(stream)) => stream,
                Ok(Err(_)) => {
                    // A connection that sent nothing, as a port check, has failed at nothing.
                    if visit.heard.load(Relaxed) > 0 {
                        visit.hall.without_tls(peer);
                    }
                    return;
                }
                Err(missed) => return missed.tell(&visit.hall, peer),
            };
            let session = stream.get_mut().1;
            session.set_buffer_limit(Some(TLS_BYTES));
            if session.alpn_protocol() == Some(HTTP_2) {
                http_2(visit, stream, handle).await;
            } else {
                http_1(visit, stream, handle).await;
            }
        }
    }
}

/// Why something does not come.
enum Missed {
    /// It takes too long.
    Late,
    /// The server ends.
    End,
}

impl Missed {
    fn tell(self, hall: &Hall, peer: IpAddr) {
        if let Missed::Late = self {
            hall.late(peer);
        }
    }
}

/// The result that comes in time, and before the server ends.
async fn within<T>(
    patience: Duration,
    handle: &ServerHandle,
    what: impl Future<Output = T>,
) -> Result<T, Missed> {
    tokio::select! {
        done = timeout(patience, what) => done.map_err(|_| Missed::Late),
        () = handle.end() => Err(Missed::End),
    }
}

/// Whether a client begins as one of HTTP/2 that knows beforehand that it is spoken here (RFC 9113, 3.3 and 3.4). No method of
/// HTTP/1.1 begins so.
async fn begins_http_2(stream: &TcpStream) -> bool {
    const BEGIN: &[u8] = b"PRI";
    let mut bytes = [0; BEGIN.len()];
    loop {
        let Ok(count) = stream.peek(&mut bytes).await else { return false };
        if count == 0 || bytes[..count] != BEGIN[..count] {
            return false;
        }
        if count == BEGIN.len() {
            return true;
        }
        sleep(GLANCE).await;
    }
}

async fn http_1(
    visit: Arc<Visit>,
    stream: impl AsyncRead + AsyncWrite + Unpin,
    handle: &ServerHandle,
) {
    let patience = seconds(visit.limits.header_s);
    let service = service_fn(|request: Request<Incoming>| {
        let visit = Arc::clone(&visit);
        async move { Ok::<_, Infallible>(visit.answer(&request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        // A client that has said all may say so, and waits for its answer (RFC 9112, 9.6). One that has gone is noticed when something
        // is sent to it.
        .half_close(true)
        .header_read_timeout(patience)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => Some(ended),
        () = handle.end() => None,
    };
    let ended = match ended {
        Some(ended) => ended,
        None => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        visit.refused(&error);
    }
}

async fn http_2(
    visit: Arc<Visit>,
    stream: impl AsyncRead + AsyncWrite + Unpin,
    handle: &ServerHandle,
) {
    let limits = &visit.limits;
    let (idle, stall) = (seconds(limits.header_s), seconds(limits.stall_s));
    let streams = Arc::new(Streams::default());
    let service = service_fn(|request: Request<Incoming>| {
        let (visit, streams) = (Arc::clone(&visit), Arc::clone(&streams));
        async move { Ok::<_, Infallible>(visit.answer_stream(&request, &streams).await) }
    });
    let connection = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.streams)
        .max_pending_accept_reset_streams(RESETS)
        .max_local_error_reset_streams(RESETS)
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(WINDOW)
        .max_header_list_size(HEAD_BYTES as u32)
        .max_send_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let pause = (idle.min(stall) / LOOKS).max(Duration::from_millis(1));
    let looks = |patience: Duration| patience.as_nanos().div_ceil(pause.as_nanos()) as u64;
    let mut clock = interval(pause);
    clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut idle_looks, mut ends) = (0, false);
    loop {
        tokio::select! {
            _ = connection.as_mut() => return,
            () = handle.end(), if !ends => {
                ends = true;
                connection.as_mut().graceful_shutdown();
            }
            _ = clock.tick() => {
                match streams.look(looks(stall)) {
                    State::Busy => idle_looks = 0,
                    State::Idle => idle_looks += 1,
                    State::Stalled => {
                        visit.hall.meters.stalled.fetch_add(1, Relaxed);
                        return;
                    }
                    State::Flooded => {
                        visit.hall.meters.flooded.fetch_add(1, Relaxed);
                        return;
                    }
                }
                // A client that does not answer the GOAWAY is cut after the same time once more.
                if idle_looks > 2 * looks(idle) {
                    return;
                }
                if !ends && (idle_looks > looks(idle) || visit.left.load(Relaxed) == 0) {
                    ends = true;
                    connection.as_mut().graceful_shutdown();
                }
            }
        }
    }
}

impl Visit {
    /// The answer to a request of HTTP/1.1.
    async fn answer(&self, request: &Request<Incoming>) -> Response<Body> {
        let last = self.count() == 0;
        let (exchange, refusal) = self.exchange(request, &self.taken, None);
        let mut answer = match refusal {
            None => self.hall.service.answer(request, &exchange).await,
            Some(full) => self.too_much(full, &exchange),
        };
        if last {
            answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        answer
    }

    /// The answer to a request of HTTP/2, if there is a place for one more.
    async fn answer_stream(
        &self,
        request: &Request<Incoming>,
        streams: &Arc<Streams>,
    ) -> Response<StreamBody> {
        self.count();
        let admission = &self.hall.admission;
        let (stream, refusal) = streams.begin(|| match self.number {
            Some(_) => admission.enter(self.peer),
            None => admission.enter_proxy(),
        });
        let (exchange, refusal) = self.exchange(request, stream.taken(), refusal);
        let answer = match refusal {
            None => self.hall.service.answer(request, &exchange).await,
            Some(full) => self.too_much(full, &exchange),
        };
        stream.answer(request.method(), answer)
    }

    /// The answer to a request for which there is no place.
    fn too_much(&self, full: Full, exchange: &Arc<Exchange>) -> Response<Body> {
        let meters = &self.hall.meters;
        meters.turned_away[usize::from(full == Full::Address)].fetch_add(1, Relaxed);
        let text = "too much at once\n".to_owned();
        let mut answer = text_answer(full.status(), "text/plain", text, exchange);
        answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("10"));
        answer
    }

    /// Reports what the HTTP library has made of a head; exchanges report all else.
    fn refused(&self, error: &hyper::Error) {
        let Visit { hall, peer, heard, asked, .. } = self;
        if error.is_parse_too_large() {
            // The library has one question for two answers: only its text says which of them it gave.
            let is_target = error.to_string().contains("URI too long");
            hall.answered(
                *peer,
                if is_target {
                    StatusCode::URI_TOO_LONG
                } else {
                    StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE
                },
            );
        } else if error.is_parse() {
            hall.answered(*peer, StatusCode::BAD_REQUEST);
        } else if error.is_timeout() && heard.load(Relaxed) != asked.load(Relaxed) {
            // A connection that was of use and says nothing more is not late.
            hall.late(*peer);
        }
    }

    /// Requests that are left after this one.
    fn count(&self) -> u64 {
        let fewer = |left: u64| Some(left.saturating_sub(1));
        self.left.fetch_update(Relaxed, Relaxed, fewer).unwrap_or(0).saturating_sub(1)
    }

    /// A request begins, and why there is no place for it, if so. On a proxy's connection it has one of its client's.
    fn exchange(
        &self,
        request: &Request<Incoming>,
        taken: &Arc<AtomicU64>,
        refusal: Option<Full>,
    ) -> (Arc<Exchange>, Option<Full>) {
        let Hall { meters, log, admission, proxies, .. } = &*self.hall;
        self.asked.store(self.heard.load(Relaxed), Relaxed);
        let asked = log.as_ref().map(|_| said(request)).unwrap_or_default();
        let client = trusted::client(proxies, self.peer, request.headers());
        let place = match (self.number, refusal) {
            (None, None) => admission.visit(client).map(Some),
            (_, None) => Ok(None),
            (_, Some(full)) => Err(full),
        };
        let (place, refusal) = place.map_or_else(|full| (None, Some(full)), |place| (place, None));
        let number = self.number.or(place.as_ref().map(Admitted::number)).unwrap_or(0);
        let log = log.as_ref();
        (Exchange::begin(client, number, place, asked, taken, meters, log), refusal)
    }
}

/// Counts down when it goes.
struct Countdown<'a>(&'a AtomicU64);

impl Drop for Countdown<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}
