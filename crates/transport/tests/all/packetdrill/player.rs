//! Plays a script against one connection in virtual time.

mod assertions;
mod calls;
mod configuration;
mod packets;

use super::language::{Event, Packet, Script, What};
use flashcrowd_base::{Span, Time};
use flashcrowd_transport::congestion::Kind;
use flashcrowd_transport::tcp::{
    CloseReason, Config, Connection, Ecn, Flags, Nagle, Phase, Segment, State, profiles,
};
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Arc;

/// What became of a script.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Outcome {
    Passed,
    /// Our TCP did something else: the line, and what.
    Failed(usize, String),
    /// The script needs what the player or our TCP does not have.
    Unsupported(usize, String),
}

enum Stop {
    Failed(String),
    Unsupported(String),
}

type Step<T = ()> = Result<T, Stop>;

fn failed<T>(why: impl Into<String>) -> Step<T> {
    Err(Stop::Failed(why.into()))
}
fn unsupported<T>(what: impl Into<String>) -> Step<T> {
    Err(Stop::Unsupported(what.into()))
}

/// packetdrill's default for `--tolerance_usecs`.
const TOLERANCE: Span = Span::from_millis(4);

/// A call that waits.
struct Pending {
    name: String,
    fd: i64,
    bytes: u64,
    done: u64,
    result: i64,
    error: Option<String>,
    until: Time,
}

#[derive(Default)]
struct Descriptor {
    nonblocking: bool,
    /// It has a connection; otherwise it listens or is fresh.
    connected: bool,
    /// It was shut down: reading ends, writing fails.
    shut: bool,
}

struct Player<'a> {
    folder: &'a Path,
    config: Config,
    now: Time,
    /// When the event before was due.
    base: Time,
    tolerance: Span,
    tcp: Option<Connection>,
    accepted: bool,
    descriptors: BTreeMap<i64, Descriptor>,
    listening: bool,
    pending: Option<Pending>,
    sent: VecDeque<(Time, Segment)>,
    /// Shift of the windows that arrive.
    scale: u32,
    offered_scale: Option<u32>,
    /// A value of our clock as the script has it, and as it was.
    clock: Option<(u32, u32)>,
}

/// Plays a script; `folder` is where its shell commands look for files.
pub(crate) fn play(script: &Script, folder: &Path) -> Outcome {
    let mut config = profiles::linux_6();
    config.tso_bytes = 0;
    config.send_buffer.initial_bytes = 4 << 20;
    config.send_buffer.max_bytes = 4 << 20;
    let nodelay = |event: &Event| match &event.what {
        What::Call { name, arguments, .. } => {
            name == "setsockopt" && arguments[2] == "TCP_NODELAY" && arguments[3] == "[1]"
        }
        _ => false,
    };
    if script.events.iter().any(nodelay) {
        config.nagle = Nagle::Off;
    }
    let mut player = Player {
        folder,
        config,
        now: Time::START + Span::from_secs(1),
        base: Time::START + Span::from_secs(1),
        tolerance: TOLERANCE,
        tcp: None,
        accepted: false,
        descriptors: BTreeMap::new(),
        listening: false,
        pending: None,
        sent: VecDeque::new(),
        scale: 0,
        offered_scale: None,
        clock: None,
    };
    for (name, value) in &script.options {
        match name.as_str() {
            "tolerance_usecs" => {
                player.tolerance = Span::from_micros(value.parse().unwrap_or(4000));
            }
            "tcp_ts_tick_usecs" | "mss" => {}
            "local_ip" | "remote_ip" | "ip_version" => {}
            _ => return Outcome::Unsupported(1, format!("--{name}")),
        }
    }
    for event in &script.events {
        match player.event(event) {
            Ok(()) => {}
            Err(Stop::Failed(why)) => return Outcome::Failed(event.line, why),
            Err(Stop::Unsupported(what)) => return Outcome::Unsupported(event.line, what),
        }
    }
    Outcome::Passed
}

impl Player<'_> {
    fn event(&mut self, event: &Event) -> Step {
        let start = Time::START + Span::from_secs(1);
        let origin = if event.when.relative { self.base } else { start };
        let due = origin + event.when.at;
        self.base = due;
        if let What::Expect(packet) = &event.what {
            let until = origin + event.when.until.unwrap_or(event.when.at);
            return self.expect(packet, due, until, event.when.any);
        }
        self.advance(due)?;
        self.now = self.now.max(due);
        match &event.what {
            What::Inject(packet) => self.inject(packet)?,
            What::Call { name, arguments, result, error } => {
                if self.pending.is_some() {
                    return failed("the call before has not returned");
                }
                let until = origin + event.when.until.unwrap_or(event.when.at);
                self.call(name, arguments, *result, error.as_deref(), until)?;
            }
            What::Shell(text) => self.shell(text)?,
            What::Code(text) => self.code(text)?,
            What::Expect(_) => {}
        }
        self.collect();
        self.resume()
    }

    /// Lets time pass to just before `due`, timers included.
    fn advance(&mut self, due: Time) -> Step {
        while let Some(tcp) = &mut self.tcp
            && let Some(at) = tcp.next_timer()
            && at < due
        {
            self.now = self.now.max(at);
            tcp.on_timer(self.now);
            self.collect();
            self.resume()?;
        }
        Ok(())
    }

    fn collect(&mut self) {
        if let Some(tcp) = &mut self.tcp {
            while let Some(segment) = tcp.poll_transmit(self.now) {
                self.sent.push_back((self.now, segment));
            }
        }
    }
}
