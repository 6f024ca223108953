use crate::access_log::LoggedRequest;
use crate::body::{Body, FileBody};
use crate::clock::Clock;
use crate::conditional::{Precondition, Validators};
use crate::desk::{Desk, Overview};
use crate::digests::{self, DigestBook, Progress};
use crate::download::Download;
use crate::exchange::Exchange;
use crate::host;
use crate::listing::{self, View};
use crate::media;
use crate::multipart::{Framing, content_range};
use crate::open_file::{OpenFile, Version};
use crate::outcome::{Ending, Mode};
use crate::preference::{APPLIED, Preferences};
use crate::ranges::{self, Asked};
use crate::tags::Tags;
use crate::target::{self, Rejection, Root};
use crate::text::Text;
use crate::{Limits, Settings};
use flashcrowd_origin::Failure;
use http::header::{
    self, ACCEPT_RANGES, ALLOW, CONTENT_RANGE, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG,
    HeaderMap, HeaderName, HeaderValue, LAST_MODIFIED, LINK, LOCATION, RETRY_AFTER, VARY,
    X_CONTENT_TYPE_OPTIONS,
};
use http::uri::PathAndQuery;
use http::{Method, Request, Response, StatusCode, Uri, Version as HttpVersion};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::task::spawn_blocking;

/// Answers requests.
#[derive(Debug)]
pub(crate) struct Service {
    pub(crate) desk: Arc<Desk>,
    root: Arc<Root>,
    book: Option<Arc<DigestBook>>,
    tags: Tags,
    direct: bool,
    listing: bool,
    hidden: bool,
    listings: listing::Turns,
    limits: Limits,
}

/// Ranges that a hint has at most.
const HINTS: usize = 32;
const PREFER: HeaderName = HeaderName::from_static("prefer");
const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");
const RESIDENT_RANGES: HeaderName = HeaderName::from_static("resident-ranges");
const REPR_DIGEST: HeaderName = HeaderName::from_static("repr-digest");

/// The file or directory of a path.
enum Found {
    File(Arc<OpenFile>),
    Directory(File),
}

/// An answer without contents: a status, and its reason.
struct Refused(StatusCode, &'static str);

impl Service {
    pub(crate) fn new(settings: &Settings, desk: Arc<Desk>, root: Root, direct: bool) -> Service {
        let root = Arc::new(root);
        Service {
            book: settings.digests.then(|| DigestBook::new(&desk, &root, direct)),
            desk,
            root,
            tags: Tags::new(settings.etag),
            direct,
            listing: settings.listing,
            hidden: settings.hidden,
            listings: listing::Turns::new(listing::MAX_READING),
            limits: settings.limits.clone(),
        }
    }

    /// The server's activity.
    pub(crate) fn overview(&self) -> Overview {
        let digests = self.book.as_ref().map(|book| book.counts()).unwrap_or_default();
        Overview { digests, ..self.desk.overview() }
    }

    /// The answer to a request.
    pub(crate) async fn answer<B>(
        &self,
        request: &Request<B>,
        exchange: &Arc<Exchange>,
    ) -> Response<Body> {
        let mut answer = match self.respond(request, exchange).await {
            Ok(answer) => answer,
            Err(Refused(status, text)) => {
                let mut answer = text_answer(status, "text/plain", format!("{text}\n"), exchange);
                match status {
                    StatusCode::METHOD_NOT_ALLOWED => {
                        answer.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
                    }
                    StatusCode::SERVICE_UNAVAILABLE => {
                        answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("5"));
                    }
                    _ => {}
                }
                answer
            }
        };
        if request.method() == Method::HEAD && answer.status() != StatusCode::NOT_MODIFIED {
            exchange.end(Ending::Complete);
        }
        answer
            .headers_mut()
            .entry(header::SERVER)
            .or_insert(HeaderValue::from_static("flashcrowd"));
        answer
    }

    async fn respond<B>(
        &self,
        request: &Request<B>,
        exchange: &Arc<Exchange>,
    ) -> Result<Response<Body>, Refused> {
        // RFC 9112, 3.2.
        let mut hosts = request.headers().get_all(header::HOST).iter();
        let host = hosts.next();
        if hosts.next().is_some() || host.is_none() && request.version() == HttpVersion::HTTP_11 {
            return Err(Refused(StatusCode::BAD_REQUEST, "one Host field is needed"));
        }
        if host.is_some_and(|host| !host::is_valid(host.as_bytes())) {
            return Err(Refused(StatusCode::BAD_REQUEST, "malformed Host field"));
        }
        if request.method() != Method::GET && request.method() != Method::HEAD {
            return Err(Refused(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD"));
        }
        let target = request.uri().path();
        // RFC 9112, 3.2: a host alone is a target of CONNECT, an asterisk of OPTIONS.
        if !target.starts_with('/') {
            return Err(Refused(StatusCode::BAD_REQUEST, "malformed target"));
        }
        let path = target::path(target).map_err(|rejection| match rejection {
            Rejection::Malformed => Refused(StatusCode::BAD_REQUEST, "malformed target"),
            Rejection::Missing => Refused(StatusCode::NOT_FOUND, "no such file"),
        })?;
        if !self.hidden && target::is_hidden(&path) {
            return Err(Refused(StatusCode::NOT_FOUND, "no such file"));
        }
        let file = match self.find(&path).await? {
            Found::File(_) if target.ends_with('/') => {
                return Err(Refused(StatusCode::NOT_FOUND, "no such file"));
            }
            Found::File(file) => file,
            Found::Directory(directory) => {
                return self.list(directory, path, request.uri(), exchange).await;
            }
        };
        let validators = self.tags.of(&path, &file.version);
        if request.uri().query() == Some("digests") {
            return self.digests(request, &file, &validators, exchange);
        }
        let link = format!(
            "<{}?digests>; rel=\"describedby\"; type=\"application/json\"",
            target::of(&path)
        );
        let mut answer = self.contents(request, &file, &validators, &path, exchange).await?;
        let headers = answer.headers_mut();
        put(headers, ETAG, &validators.etag);
        put(headers, LAST_MODIFIED, &validators.last_modified(Clock::unix()));
        put(headers, ACCEPT_RANGES, "bytes");
        put(headers, VARY, "Prefer");
        put(headers, X_CONTENT_TYPE_OPTIONS, "nosniff");
        if let Some(book) = &self.book {
            put(headers, LINK, &link);
            if let Some(digest) = book.whole(&file.version) {
                put(headers, REPR_DIGEST, &format!("sha-256=:{}:", digests::base64(&digest)));
            }
        }
        Ok(answer)
    }

    /// The file or directory of a path. The system may have to read from the disk for it, which others need not wait for.
    async fn find(&self, path: &Path) -> Result<Found, Refused> {
        let (root, of) = (Arc::clone(&self.root), path.to_owned());
        let opened = spawn_blocking(move || root.open_file(&of)).await;
        let opened = opened.unwrap_or_else(|error| Err(io::Error::other(error)));
        let (file, metadata) = opened.map_err(|error| refusal(&error))?;
        if metadata.is_dir() {
            return Ok(Found::Directory(file));
        }
        if !metadata.is_file() {
            return Err(Refused(StatusCode::NOT_FOUND, "no such file"));
        }
        let open = self.desk.open(file, path, Version::of(&metadata), self.direct);
        let open =
            open.map_err(|_| Refused(StatusCode::INTERNAL_SERVER_ERROR, "too long a file"))?;
        Ok(Found::File(open))
    }

    async fn list(
        &self,
        directory: File,
        path: PathBuf,
        target: &Uri,
        exchange: &Arc<Exchange>,
    ) -> Result<Response<Body>, Refused> {
        if !target.path().ends_with('/') {
            let mut answer =
                text_answer(StatusCode::MOVED_PERMANENTLY, "text/plain", String::new(), exchange);
            put(answer.headers_mut(), LOCATION, &format!("{}/", target::of(&path)));
            return Ok(answer);
        }
        if !self.listing {
            return Err(Refused(StatusCode::NOT_FOUND, "directories are not listed here"));
        }
        let (root, hidden) = (Arc::clone(&self.root), self.hidden);
        let view = target.query().map(View::of).unwrap_or_default();
        let turn = self.listings.take(exchange.party()).await;
        let page = spawn_blocking(move || {
            let _turn = turn;
            let (root, open, path) = (&*root, &directory, &*path);
            listing::Directory { root, open, path, hidden }.page(&view)
        });
        let page = page.await;
        let page = page.unwrap_or_else(|error| Err(io::Error::other(error)));
        let page = page.map_err(|error| refusal(&error))?;
        let mut answer = text_answer(StatusCode::OK, "text/html; charset=utf-8", page, exchange);
        put(answer.headers_mut(), CONTENT_SECURITY_POLICY, &listing::POLICY);
        put(answer.headers_mut(), X_CONTENT_TYPE_OPTIONS, "nosniff");
        Ok(answer)
    }

    fn digests<B>(
        &self,
        request: &Request<B>,
        file: &Arc<OpenFile>,
        validators: &Validators,
        exchange: &Arc<Exchange>,
    ) -> Result<Response<Body>, Refused> {
        let Some(book) = &self.book else {
            return Err(Refused(StatusCode::NOT_FOUND, "no digests here"));
        };
        let length = file.version.length;
        let digests = match book.ask(file) {
            Progress::Ready(digests) => digests,
            Progress::Computing(done) => {
                let text = digests::computing(done, length);
                let mut answer =
                    text_answer(StatusCode::ACCEPTED, "application/json", text, exchange);
                put(answer.headers_mut(), RETRY_AFTER, "1");
                return Ok(answer);
            }
            Progress::Failed => return Err(failed(Failure::Disk)),
            Progress::Full => {
                return Err(Refused(StatusCode::SERVICE_UNAVAILABLE, "too many files wait"));
            }
        };
        let etag = format!("{}-digests\"", validators.etag.trim_end_matches('"'));
        let ours = Validators { etag, modified: validators.modified };
        let mut answer = match ours.judge(request.headers(), Clock::unix()) {
            Precondition::Go { .. } => {
                let text = digests::manifest(&digests, &validators.etag, length);
                text_answer(StatusCode::OK, "application/json", text, exchange)
            }
            Precondition::NotModified => empty(StatusCode::NOT_MODIFIED, exchange),
            Precondition::Failed => empty(StatusCode::PRECONDITION_FAILED, exchange),
        };
        put(answer.headers_mut(), ETAG, &ours.etag);
        Ok(answer)
    }

    async fn contents<B>(
        &self,
        request: &Request<B>,
        file: &Arc<OpenFile>,
        validators: &Validators,
        path: &Path,
        exchange: &Arc<Exchange>,
    ) -> Result<Response<Body>, Refused> {
        let headers = request.headers();
        let length = file.version.length;
        let prefer = headers.get_all(PREFER).iter().filter_map(|value| value.to_str().ok());
        let preferences = Preferences::parse(prefer);
        let use_ranges = match validators.judge(headers, Clock::unix()) {
            Precondition::Failed => return Ok(empty(StatusCode::PRECONDITION_FAILED, exchange)),
            Precondition::NotModified => return Ok(empty(StatusCode::NOT_MODIFIED, exchange)),
            // RFC 9110, 14.2: for a GET only.
            Precondition::Go { ranges } => ranges && request.method() == Method::GET,
        };
        // A multipart answer of unknown length needs chunks, which HTTP/1.0 has not.
        let any_order = preferences.any_order && request.version() >= HttpVersion::HTTP_11;
        let asked = match self.asked(headers, length) {
            _ if !use_ranges => Asked::Whole,
            // So that no answer is longer than the file (RFC 9110, 14.2 and 17.15).
            Asked::Ranges { ranges, .. } if !any_order && ranges::total(&ranges) > length => {
                Asked::Whole
            }
            Asked::Ranges { ranges, several } if any_order => {
                Asked::Ranges { ranges: ranges::merged(&ranges), several }
            }
            asked => asked,
        };
        let content_type = media::of(path);
        let hint = preferences.resident_ranges.then(|| self.hint(file)).flatten();
        let mut answer = match asked {
            Asked::Unsatisfiable => {
                let status = StatusCode::RANGE_NOT_SATISFIABLE;
                let mut answer =
                    text_answer(status, "text/plain", "no such range\n".to_owned(), exchange);
                put(answer.headers_mut(), CONTENT_RANGE, &format!("bytes */{length}"));
                answer
            }
            Asked::Whole => {
                exchange.answer(200, Mode::Whole, 0);
                let ranges = if length == 0 { vec![] } else { vec![0..length] };
                let body = FileBody::in_order(&self.desk, file, ranges, None, exchange);
                self.start(body, StatusCode::OK, content_type, request.method()).await?
            }
            Asked::Ranges { ranges, several } => {
                if any_order && preferences.one_part {
                    self.pull(file, &ranges, content_type, exchange).await?
                } else if any_order && several {
                    exchange.answer(206, Mode::Stream, ranges.len());
                    let framing = Framing::new(content_type, length);
                    let kind = framing.content_type();
                    let body = FileBody::any_order(&self.desk, file, ranges, framing, exchange);
                    let mut answer = self
                        .start(body, StatusCode::PARTIAL_CONTENT, &kind, request.method())
                        .await?;
                    put(answer.headers_mut(), PREFERENCE_APPLIED, APPLIED);
                    answer
                } else {
                    self.ranges(file, ranges, content_type, exchange).await?
                }
            }
        };
        if let Some(hint) = hint {
            put(answer.headers_mut(), RESIDENT_RANGES, &hint);
        }
        Ok(answer)
    }

    /// The ranges of the file that are requested.
    fn asked(&self, headers: &HeaderMap, length: u64) -> Asked {
        let mut values = headers.get_all(header::RANGE).iter();
        let (Some(value), None) = (values.next(), values.next()) else { return Asked::Whole };
        let specs = value.to_str().ok().and_then(|value| ranges::parse(value, self.limits.ranges));
        specs.map_or(Asked::Whole, |specs| ranges::resolve(&specs, length))
    }

    /// Ranges as they were asked for.
    async fn ranges(
        &self,
        file: &Arc<OpenFile>,
        ranges: Vec<Range<u64>>,
        content_type: &str,
        exchange: &Arc<Exchange>,
    ) -> Result<Response<Body>, Refused> {
        exchange.answer(206, Mode::Ranges, ranges.len());
        let length = file.version.length;
        let status = StatusCode::PARTIAL_CONTENT;
        if let [range] = ranges.as_slice() {
            let value = content_range(range, length);
            let body = FileBody::in_order(&self.desk, file, ranges, None, exchange);
            let mut answer = self.start(body, status, content_type, &Method::GET).await?;
            put(answer.headers_mut(), CONTENT_RANGE, &value);
            return Ok(answer);
        }
        let framing = Framing::new(content_type, length);
        let kind = framing.content_type();
        let body = FileBody::in_order(&self.desk, file, ranges, Some(framing), exchange);
        self.start(body, status, &kind, &Method::GET).await
    }

    /// One part of ascending ranges: what the origin would hand out next, up to the end of its extent or of the range.
    async fn pull(
        &self,
        file: &Arc<OpenFile>,
        ranges: &[Range<u64>],
        content_type: &str,
        exchange: &Arc<Exchange>,
    ) -> Result<Response<Body>, Refused> {
        let mut scout = Download::begin(&self.desk, file, ranges, false, exchange.party(), None);
        let piece = scout.next().await.map_err(failed)?;
        let Some(piece) = piece else {
            return Err(Refused(StatusCode::INTERNAL_SERVER_ERROR, "nothing to send"));
        };
        let layout = &file.layout;
        let block = (piece.offset / layout.block_size()) as u32;
        let extent = layout.extent_bytes(layout.extent_of(block));
        let begin = ranges::within(ranges, &piece.range()).next().map_or(piece.offset, |r| r.start);
        let range = ranges::within(ranges, &(begin..extent.end)).next().unwrap_or(piece.range());
        exchange.answer(206, Mode::Pull, 1);
        // The extent is in memory, and stays as long as it is needed: the download joins before the scout leaves.
        let value = content_range(&range, file.version.length);
        let body = FileBody::in_order(&self.desk, file, vec![range], None, exchange);
        let mut answer =
            self.start(body, StatusCode::PARTIAL_CONTENT, content_type, &Method::GET).await?;
        drop((scout, piece));
        put(answer.headers_mut(), CONTENT_RANGE, &value);
        put(answer.headers_mut(), PREFERENCE_APPLIED, APPLIED);
        Ok(answer)
    }

    /// An answer with contents, when their first bytes are there.
    async fn start(
        &self,
        body: FileBody,
        status: StatusCode,
        content_type: &str,
        method: &Method,
    ) -> Result<Response<Body>, Refused> {
        let body = if method == Method::HEAD {
            body
        } else {
            body.started().await.map_err(|broken| failed(broken.0))?
        };
        let mut answer = Response::new(Body::File(Box::new(body)));
        *answer.status_mut() = status;
        put(answer.headers_mut(), CONTENT_TYPE, content_type);
        Ok(answer)
    }

    fn hint(&self, file: &OpenFile) -> Option<String> {
        let ranges = self.desk.resident(file, HINTS);
        let texts: Vec<String> =
            ranges.iter().map(|range| format!("{}-{}", range.start, range.end - 1)).collect();
        (!texts.is_empty()).then(|| format!("bytes={}", texts.join(",")))
    }
}

/// The part of a request that is kept for the log.
pub(crate) fn said<B>(request: &Request<B>) -> LoggedRequest {
    let field = |name| request.headers().get(name).map_or(&b""[..], HeaderValue::as_bytes);
    // HTTP/2 says scheme and host, too (RFC 9113 8.3.1); a log has one form.
    let target = request.uri().path_and_query().map_or("", PathAndQuery::as_str);
    let line = format!("{} {target} {:?}", request.method(), request.version());
    LoggedRequest::new(line.as_bytes(), field(header::REFERER), field(header::USER_AGENT))
}

/// An answer with a text.
pub(crate) fn text_answer(
    status: StatusCode,
    content_type: &str,
    text: impl Into<Text>,
    exchange: &Arc<Exchange>,
) -> Response<Body> {
    let text = text.into();
    exchange.answer(status.as_u16(), Mode::Text, 0);
    exchange.end(Ending::Complete);
    exchange.text(text.left());
    let mut answer = Response::new(Body::Text(text));
    *answer.status_mut() = status;
    put(answer.headers_mut(), CONTENT_TYPE, content_type);
    answer
}

/// An answer without content, as `304` and `412` are here.
fn empty(status: StatusCode, exchange: &Arc<Exchange>) -> Response<Body> {
    exchange.answer(status.as_u16(), Mode::Text, 0);
    exchange.end(Ending::Complete);
    let mut answer = Response::new(Body::Text(Text::default()));
    *answer.status_mut() = status;
    answer
}

fn put(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    // Our own texts, without control characters; a name of a file is encoded.
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

fn failed(failure: Failure) -> Refused {
    match failure {
        Failure::Disk => {
            Refused(StatusCode::INTERNAL_SERVER_ERROR, "the disk cannot read the file")
        }
        Failure::Closed | Failure::Stalled => {
            Refused(StatusCode::SERVICE_UNAVAILABLE, "the file has just changed")
        }
    }
}

/// The answer to a path that cannot be opened.
fn refusal(error: &io::Error) -> Refused {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::ACCESS | Errno::PERM) => Refused(StatusCode::FORBIDDEN, "not to be read"),
        Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::AGAIN) => {
            Refused(StatusCode::SERVICE_UNAVAILABLE, "too much at once")
        }
        Some(Errno::IO) => {
            Refused(StatusCode::INTERNAL_SERVER_ERROR, "the disk cannot read the file")
        }
        _ => Refused(StatusCode::NOT_FOUND, "no such file"),
    }
}
