use crate::clock::{Civil, Clock};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::future::Future;
use std::io::{self, Write};
use std::net::IpAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;
use tokio::sync::oneshot;

/// Bytes of memory for lines that wait to be written. Lines beyond are counted and left out: a slow disk must not hold up answers.
pub(crate) const WAITING_BYTES: usize = 8 << 20;
/// Bytes that a client chooses in a line, escaped: of the request, of `Referer` and of `User-Agent`. Longer ones are cut, and end in
/// `...`; with all else of a line they are less than [`LINE_BYTES`].
const FIELD_BYTES: [usize; 3] = [2048, 768, 768];
/// Bytes of a line at most.
pub(crate) const LINE_BYTES: usize = 4096;
/// Memory of a line besides its text, about.
const ENTRY_BYTES: usize = 64;
/// Time that lines which wait have to be written when the server ends. Then they are lost, and counted as such.
const PATIENCE: Duration = Duration::from_secs(2);

/// A line for each answer: the combined log format of web servers, then the seconds that it took, its order, the number of
/// ranges, and how it ended. Bytes are those that the socket took, the head included.
#[derive(Debug)]
pub(crate) struct AccessLog {
    path: PathBuf,
    lines: Sender<Next>,
    account: Arc<Account>,
    /// Hears nothing, and ends when the writer's thread does.
    ended: Mutex<Receiver<()>>,
    /// No task waits for the writer any more.
    is_left: AtomicBool,
}

/// Lines that wait, and lines that are lost.
#[derive(Debug, Default)]
struct Account {
    waiting_bytes: AtomicUsize,
    waiting_lines: AtomicU64,
    lost: AtomicU64,
    /// A reopened file waits for the lines before it.
    is_moving: AtomicBool,
}

/// The request, for the log: escaped, and cut where it is too long.
#[derive(Clone, Debug, Default)]
pub(crate) struct LoggedRequest {
    request: String,
    referer: String,
    agent: String,
}

impl LoggedRequest {
    pub(crate) fn new(request: &[u8], referer: &[u8], agent: &[u8]) -> LoggedRequest {
        let [of_request, of_referer, of_agent] = FIELD_BYTES;
        LoggedRequest {
            request: escaped(request, of_request),
            referer: escaped(referer, of_referer),
            agent: escaped(agent, of_agent),
        }
    }
}

/// A message to the writer's thread.
enum Next {
    Line(String),
    /// Lines go there from now on.
    Sink(Sink),
    /// Tell when all before is written.
    Flush(oneshot::Sender<()>),
    /// There is no more.
    End,
}

type Sink = Box<dyn Write + Send>;

/// Opening does not wait for the reader of a pipe; writing does.
fn sink(path: &Path) -> io::Result<Sink> {
    if path.as_os_str() == "-" {
        return Ok(Box::new(io::stdout()));
    }
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let opened = OpenOptions::new().append(true).create(true).custom_flags(flags).open(path);
    let file =
        opened.map_err(|error| match error.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::NXIO) => io::Error::new(error.kind(), "a pipe that nobody reads"),
            _ => error,
        })?;
    fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    Ok(Box::new(file))
}

impl AccessLog {
    /// Goes on with a file, or writes to standard output (`-`).
    pub(crate) fn open(path: &Path) -> io::Result<AccessLog> {
        AccessLog::begin(path, sink(path)?)
    }

    fn begin(path: &Path, sink: Sink) -> io::Result<AccessLog> {
        let (sender, receiver) = channel();
        let (alive, ended) = channel();
        let account = Arc::<Account>::default();
        let theirs = Arc::clone(&account);
        thread::Builder::new().name("flashcrowd-log".into()).spawn(move || {
            write(sink, &receiver, &theirs);
            drop::<Sender<()>>(alive);
        })?;
        let (lines, ended, is_left) = (sender, Mutex::new(ended), AtomicBool::new(false));
        Ok(AccessLog { path: path.to_owned(), lines, account, ended, is_left })
    }

    /// Goes on with the file that has its name now; the one from before was moved away.
    pub(crate) fn reopen(&self) -> io::Result<()> {
        let sink = sink(&self.path)?;
        // Behind the lines of before. A writer that waits for a slow disk must not be waited for.
        if self.account.is_moving.swap(true, Relaxed) {
            let why = "lines of before still wait to be written";
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, why));
        }
        self.lines.send(Next::Sink(sink)).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    #[allow(clippy::too_many_arguments, reason = "the fields of a line")]
    pub(crate) fn line(
        &self,
        client: IpAddr,
        asked: &LoggedRequest,
        status: u16,
        bytes: u64,
        seconds: f64,
        mode: &str,
        ranges: usize,
        ending: &str,
    ) {
        let LoggedRequest { request, referer, agent } = asked;
        let [request, referer, agent] =
            [request, referer, agent].map(|text| if text.is_empty() { "-" } else { text });
        let (ip, date) = (client.to_canonical(), date(Clock::unix()));
        let mut line = format!("{ip} - - [{date}] \"{request}\" {status} {bytes} ");
        // Writing into a string does not fail.
        let _ = writeln!(line, "\"{referer}\" \"{agent}\" {seconds:.3} {mode} {ranges} {ending}");
        debug_assert!(line.len() <= LINE_BYTES);
        self.push(line);
    }

    fn push(&self, line: String) {
        let account = &*self.account;
        let bytes = line.len() + ENTRY_BYTES;
        let room = |waiting| Some(waiting + bytes).filter(|all| *all <= WAITING_BYTES);
        if account.waiting_bytes.fetch_update(Relaxed, Relaxed, room).is_err() {
            account.lost.fetch_add(1, Relaxed);
            return;
        }
        account.waiting_lines.fetch_add(1, Relaxed);
        // The writer lives as long as we do.
        let _ = self.lines.send(Next::Line(line));
    }

    /// Lines that were left out, or that could not be written.
    pub(crate) fn lost(&self) -> u64 {
        self.account.lost.load(Relaxed)
    }

    /// Bytes of lines that wait to be written.
    pub(crate) fn waiting_bytes(&self) -> usize {
        self.account.waiting_bytes.load(Relaxed)
    }

    /// Waits until all lines are written, at most until `enough`, or for some seconds. Lines that wait then are lost.
    pub(crate) async fn finish(&self, enough: impl Future<Output = ()>) {
        let (told, written) = oneshot::channel();
        let _ = self.lines.send(Next::Flush(told));
        let is_written = tokio::select! {
            biased;
            written = written => written.is_ok(),
            () = enough => false,
            () = tokio::time::sleep(PATIENCE) => false,
        };
        if !is_written {
            self.is_left.store(true, Relaxed);
            let waiting = self.account.waiting_lines.load(Relaxed);
            self.account.lost.fetch_add(waiting, Relaxed);
        }
    }
}

impl Drop for AccessLog {
    fn drop(&mut self) {
        let _ = self.lines.send(Next::End);
        if !*self.is_left.get_mut() {
            let ended = self.ended.get_mut().unwrap_or_else(PoisonError::into_inner);
            let _ = ended.recv_timeout(PATIENCE);
        }
    }
}

/// Lines on their way into a file.
struct Writer<'a> {
    sink: Sink,
    /// Lines that the file has not taken; the first one may be begun there.
    held: Vec<u8>,
    account: &'a Account,
}

/// Bytes that are written at once, and that are kept while a disk is full.
const HELD_BYTES: usize = 16 * LINE_BYTES;

fn write(sink: Sink, nexts: &Receiver<Next>, account: &Account) {
    let mut writer = Writer { sink, held: Vec::with_capacity(HELD_BYTES), account };
    while let Ok(next) = nexts.recv() {
        for next in std::iter::once(next).chain(nexts.try_iter()) {
            match next {
                Next::Line(line) => writer.take(&line),
                Next::Sink(sink) => {
                    writer.give_up();
                    writer.sink = sink;
                    account.is_moving.store(false, Relaxed);
                }
                Next::Flush(told) => {
                    writer.flush();
                    let _ = told.send(());
                }
                Next::End => return writer.give_up(),
            }
        }
        writer.flush();
    }
}

impl Writer<'_> {
    /// A line more. What a full disk or a reader that has gone do not take is no reason to stop serving: it is tried again, and lost
    /// when there is too much of it.
    fn take(&mut self, line: &str) {
        if self.held.len() + line.len() > HELD_BYTES {
            self.flush();
        }
        if self.held.len() + line.len() > HELD_BYTES {
            self.account.lost.fetch_add(1, Relaxed);
            self.account.release(line.as_bytes());
        } else {
            self.held.extend_from_slice(line.as_bytes());
        }
    }

    fn flush(&mut self) {
        let mut done = 0;
        while done < self.held.len() {
            match self.sink.write(&self.held[done..]) {
                Ok(0) => break,
                Ok(written) => done += written,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        let _ = self.sink.flush();
        self.account.release(&self.held[..done]);
        self.held.drain(..done);
    }

    /// Writes what it can; the rest is lost.
    fn give_up(&mut self) {
        self.flush();
        self.account.lost.fetch_add(lines(&self.held), Relaxed);
        self.account.release(&self.held);
        self.held.clear();
    }
}

impl Account {
    /// These bytes of lines wait no more.
    fn release(&self, bytes: &[u8]) {
        let lines = lines(bytes);
        self.waiting_lines.fetch_sub(lines, Relaxed);
        self.waiting_bytes.fetch_sub(bytes.len() + lines as usize * ENTRY_BYTES, Relaxed);
    }
}

fn lines(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64
}

/// A text of a client, escaped for quotes: nothing in it can end the quotes, begin a line or control a terminal. Other
/// bytes are `\xff`, as Apache and nginx have them. It has at most `max` bytes; one that was cut ends in `...`.
fn escaped(text: &[u8], max: usize) -> String {
    const CUT: &str = "...";
    let mut escaped = String::with_capacity(text.len().min(max));
    // Up to there it may be cut.
    let mut fits = 0;
    for byte in text {
        match byte {
            b'"' | b'\\' => escaped.extend(['\\', char::from(*byte)]),
            b' '..=b'~' => escaped.push(char::from(*byte)),
            other => {
                // Writing into a string does not fail.
                let _ = write!(escaped, "\\x{other:02x}");
            }
        }
        if escaped.len() + CUT.len() <= max {
            fits = escaped.len();
        }
        if escaped.len() > max {
            escaped.truncate(fits);
            escaped.push_str(CUT);
            break;
        }
    }
    escaped
}

/// A time in seconds since 1970 as logs write it: `21/Nov/2026:10:00:00 +0000`.
fn date(unix: u64) -> String {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let date = Civil::of(unix);
    let month = MONTHS[date.month as usize - 1];
    format!("{:02}/{month}/{}:{} +0000", date.day, date.year, date.time())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (unix, text) in [
            (0, "01/Jan/1970:00:00:00 +0000"),
            (784_111_777, "06/Nov/1994:08:49:37 +0000"),
            (951_782_400, "29/Feb/2000:00:00:00 +0000"),
            (1_798_761_599, "31/Dec/2026:23:59:59 +0000"),
            (4_107_542_400, "01/Mar/2100:00:00:00 +0000"),
        ] {
            assert_eq!(date(unix), text);
        }
    }

    #[test]
    fn texts_cannot_leave_their_quotes() {
        let text = "a\"b\\c\nd\u{1b}é".as_bytes();
        assert_eq!(escaped(text, 100), "a\\\"b\\\\c\\x0ad\\x1b\\xc3\\xa9");
        assert_eq!(escaped(b"", 100), "");
    }

    /// Whatever a client sends: a field has a bound, is cut between two characters, and says so.
    #[test]
    fn fields_and_lines_are_bounded() {
        for (byte, unit) in [(b'a', "a"), (b'"', "\\\""), (0xff, "\\xff")] {
            for length in [0, 1, 10, 19, 20, 21, 60_000] {
                let text = escaped(&vec![byte; length], 20);
                assert!(text.len() <= 20, "{text}");
                let whole = text.strip_suffix("...").unwrap_or(&text);
                assert_eq!(whole, unit.repeat(whole.len() / unit.len()));
                assert_eq!(text.ends_with("..."), length * unit.len() > 20, "{text}");
            }
        }
        let (sink, written) = kept(usize::MAX);
        let log = AccessLog::begin(Path::new("log"), sink).unwrap();
        let much = vec![0xff; 60_000];
        let asked = LoggedRequest::new(&much, &much, &much);
        let peer = "2001:db8:1111:2222:3333:4444:5555:6666".parse().unwrap();
        log.line(peer, &asked, 999, u64::MAX, 1e12, "stream", usize::MAX, "complete");
        drop(log);
        let bytes = written.lock().unwrap().len();
        assert!((3500..=LINE_BYTES).contains(&bytes), "{bytes}");
    }

    /// A file that takes this number of bytes, and then is full.
    struct Kept(Arc<Mutex<Vec<u8>>>, usize);

    fn kept(room: usize) -> (Sink, Arc<Mutex<Vec<u8>>>) {
        let written = Arc::<Mutex<Vec<u8>>>::default();
        (Box::new(Kept(Arc::clone(&written), room)), written)
    }

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut kept = self.0.lock().unwrap();
            match bytes.len().min(self.1 - kept.len()) {
                0 => Err(io::ErrorKind::StorageFull.into()),
                some => {
                    kept.extend_from_slice(&bytes[..some]);
                    Ok(some)
                }
            }
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Of all lines, those that are whole in the file and those that are counted as lost are all.
    #[test]
    fn lines_that_a_full_disk_does_not_take_are_counted() {
        for room in [0, 1, 1000, 1001, 50_000, 70_000, 1 << 20] {
            let (sink, written) = kept(room);
            let log = AccessLog::begin(Path::new("log"), sink).unwrap();
            let line = |at: usize| format!("{}{at}\n", "x".repeat(at % 300));
            for at in 0..1000 {
                log.push(line(at));
            }
            let account = Arc::clone(&log.account);
            drop(log);
            let kept = lines(&written.lock().unwrap());
            assert_eq!(kept + account.lost.load(Relaxed), 1000, "{room}");
            assert_eq!(account.lost.load(Relaxed) == 0, room == 1 << 20, "{room}");
            let waits = (&account.waiting_bytes, &account.waiting_lines);
            assert_eq!((waits.0.load(Relaxed), waits.1.load(Relaxed)), (0, 0));
        }
    }

    /// A file that is stuck until a message arrives.
    struct Stuck(Receiver<()>);

    impl Write for Stuck {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.0.recv();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// It takes no more memory than its bound, and no wait at the end; and each line is either written or
    /// counted.
    #[tokio::test]
    async fn a_stuck_log_holds_up_nothing() {
        let (free, stuck) = channel::<()>();
        let log = AccessLog::begin(Path::new("log"), Box::new(Stuck(stuck))).unwrap();
        for _ in 0..100_000 {
            log.push("x".repeat(LINE_BYTES - 1) + "\n");
            assert!(log.waiting_bytes() <= WAITING_BYTES);
        }
        let began = Clock::started();
        log.finish(std::future::pending()).await;
        assert_eq!(log.lost(), 100_000);
        log.finish(async {}).await;
        let account = Arc::clone(&log.account);
        drop(log);
        assert!(began.now() < flashcrowd_base::Time::START + flashcrowd_base::Span::from_secs(15));
        // Its thread ends when the disk has answered.
        drop(free);
        while Arc::strong_count(&account) > 1 {
            thread::sleep(Duration::from_millis(1));
        }
    }
}
