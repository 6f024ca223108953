use crate::clock::Clock;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::{self, BufWriter, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

/// Lines that may wait to be written; more are counted and left out, since a slow disk must not hold up answers.
const WAITING: usize = 65_536;

/// A line for each answer: the combined log format of web servers, then the seconds that it took, its order, the number of
/// ranges, and how it ended. Bytes are those that the socket took, the head included.
#[derive(Debug)]
pub(crate) struct AccessLog {
    path: PathBuf,
    lines: Option<SyncSender<Next>>,
    writer: Option<JoinHandle<()>>,
    lost: AtomicU64,
}

/// What was asked, for the log.
#[derive(Clone, Debug, Default)]
pub(crate) struct LoggedRequest {
    pub(crate) request: String,
    pub(crate) referer: String,
    pub(crate) agent: String,
}

/// A message to the writer's thread.
enum Next {
    Line(String),
    /// Lines go there from now on.
    Sink(Sink),
}

type Sink = Box<dyn Write + Send>;

fn sink(path: &Path) -> io::Result<Sink> {
    Ok(if path.as_os_str() == "-" {
        Box::new(io::stdout())
    } else {
        Box::new(OpenOptions::new().append(true).create(true).open(path)?)
    })
}

impl AccessLog {
    /// Goes on with a file, or writes to standard output (`-`).
    pub(crate) fn open(path: &Path) -> io::Result<AccessLog> {
        let sink = sink(path)?;
        let (sender, receiver) = sync_channel(WAITING);
        let writer = thread::Builder::new()
            .name("flashcrowd-log".into())
            .spawn(move || write(sink, &receiver))?;
        let lost = AtomicU64::new(0);
        Ok(AccessLog { path: path.to_owned(), lines: Some(sender), writer: Some(writer), lost })
    }

    /// Goes on with the file that has its name now; the one from before was moved away.
    pub(crate) fn reopen(&self) -> io::Result<()> {
        let sink = sink(&self.path)?;
        // Behind the lines of before. Who waits for a disk that is too slow for them must not be waited for.
        let sent = self.lines.as_ref().map(|lines| lines.try_send(Next::Sink(sink)));
        sent.transpose().map(drop).map_err(|_| io::ErrorKind::ResourceBusy.into())
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    #[allow(clippy::too_many_arguments, reason = "the fields of a line")]
    pub(crate) fn line(
        &self,
        peer: SocketAddr,
        asked: &LoggedRequest,
        status: u16,
        bytes: u64,
        seconds: f64,
        mode: &str,
        ranges: usize,
        ending: &str,
    ) {
        let mut line = format!("{} - - [{}] ", peer.ip(), date(Clock::unix()));
        quote(&mut line, &asked.request);
        // Writing into a string does not fail.
        let _ = write!(line, " {status} {bytes} ");
        quote(&mut line, &asked.referer);
        line.push(' ');
        quote(&mut line, &asked.agent);
        let _ = writeln!(line, " {seconds:.3} {mode} {ranges} {ending}");
        if let Some(lines) = &self.lines
            && lines.try_send(Next::Line(line)).is_err()
        {
            self.lost.fetch_add(1, Relaxed);
        }
    }

    /// Lines that were left out.
    pub(crate) fn lost(&self) -> u64 {
        self.lost.load(Relaxed)
    }
}

impl Drop for AccessLog {
    fn drop(&mut self) {
        self.lines = None;
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

fn write(sink: Sink, nexts: &Receiver<Next>) {
    let mut sink = BufWriter::new(sink);
    while let Ok(next) = nexts.recv() {
        for next in std::iter::once(next).chain(nexts.try_iter()) {
            match next {
                // A full disk or a reader that has gone is no reason to stop serving.
                Next::Line(line) => drop(sink.write_all(line.as_bytes())),
                Next::Sink(anew) => sink = BufWriter::new(anew),
            }
        }
        let _ = sink.flush();
    }
}

/// A text of a client in quotes, with nothing in it that could end the quotes, begin a line or control a terminal.
fn quote(line: &mut String, text: &str) {
    line.push('"');
    for character in if text.is_empty() { "-" } else { text }.chars() {
        match character {
            '"' | '\\' => line.extend(['\\', character]),
            ' '..='~' => line.push(character),
            other => {
                let _ = write!(line, "\\u{{{:x}}}", u32::from(other));
            }
        }
    }
    line.push('"');
}

/// A time in seconds since 1970 as logs write it: `21/Nov/2026:10:00:00 +0000`.
fn date(unix: u64) -> String {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (mut days, second) = (unix / 86_400, unix % 86_400);
    let is_leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let mut year = 1970;
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let lengths = [31, 28 + u64::from(is_leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while month < 11 && days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{:02}/{}/{year}:{hour:02}:{minute:02}:{second:02} +0000", days + 1, MONTHS[month])
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
        let mut line = String::new();
        quote(&mut line, "a\"b\\c\nd\u{1b}é");
        quote(&mut line, "");
        assert_eq!(line, "\"a\\\"b\\\\c\\u{a}d\\u{1b}\\u{e9}\"\"-\"");
    }
}
