//! Plays a script against one connection in virtual time.

use crate::language::{Event, Packet, Script, What};
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

    // --- packets ---

    fn inject(&mut self, packet: &Packet) -> Step {
        let syn = packet.has('S');
        let mut flags = Flags::default();
        for (letter, flag) in [
            ('S', Flags::SYN),
            ('.', Flags::ACK),
            ('F', Flags::FIN),
            ('R', Flags::RST),
            ('P', Flags::PSH),
            ('E', Flags::ECE),
            ('W', Flags::CWR),
            ('A', Flags::AE),
        ] {
            if packet.has(letter) {
                flags |= flag;
            }
        }
        match packet.ecn.as_deref() {
            Some("ect0") => flags |= Flags::ECT_0,
            Some("ect1") => flags |= Flags::ECT_1,
            Some("ce") => flags |= Flags::CE,
            _ => {}
        }
        if syn {
            if packet.sack_permitted {
                flags |= Flags::SACK_PERMITTED;
            }
            if let Some(scale) = packet.wscale {
                flags |= Flags::WINDOW_SCALE;
                self.offered_scale = Some(scale);
            }
            if packet.len > 0 {
                return unsupported("data in a SYN (TCP Fast Open)");
            }
        }
        let (mut timestamp, mut echo) = (0, 0);
        if let Some((value, ecr)) = packet.timestamps {
            flags |= Flags::TIMESTAMPS;
            timestamp = value;
            echo = match self.clock {
                Some((script, ours)) => {
                    ours.wrapping_add(ecr.wrapping_sub(script).wrapping_mul(1000))
                }
                None => 0,
            };
        }
        let shift = if syn { 0 } else { self.scale };
        let mut segment = Segment {
            seq: u64::from(packet.seq).wrapping_sub(u64::from(!syn)),
            ack: u64::from(packet.ack.unwrap_or(1)).wrapping_sub(1),
            len: packet.len,
            window: packet.win.unwrap_or(0) << shift,
            timestamp,
            echo,
            mss: packet.mss.unwrap_or(if syn { 536 } else { 65_535 }),
            flags,
            ..Segment::EMPTY
        };
        for &(start, end) in &packet.sack {
            if !segment.push_sack(u64::from(start) - 1, u64::from(end) - 1) {
                return unsupported("more than three SACK ranges");
            }
        }
        if syn && !packet.has('.') && self.tcp.as_ref().is_none_or(Connection::is_closed) {
            if !self.listening {
                return unsupported("a SYN to a port that nobody listens on");
            }
            self.tcp = Some(Connection::accept(&Arc::new(self.config.clone()), self.now, &segment));
            self.accepted = false;
            self.scale = self.scale_of(packet);
            return Ok(());
        }
        if syn {
            self.scale = self.scale_of(packet);
        }
        match &mut self.tcp {
            Some(tcp) => tcp.receive(self.now, &segment),
            None => return unsupported("a packet without a connection"),
        }
        Ok(())
    }

    fn scale_of(&self, packet: &Packet) -> u32 {
        if self.config.window_scaling { packet.wscale.unwrap_or(0) } else { 0 }
    }

    /// The next packet that was sent, or will be soon enough.
    fn expect(&mut self, packet: &Packet, due: Time, until: Time, any: bool) -> Step {
        let latest = if any { Time::NEVER } else { until + self.tolerance };
        let Some((at, segment)) = self.next_sent(latest)? else {
            return failed(format!("nothing was sent in place of {}", words(packet)));
        };
        self.now = self.now.max(due.min(latest));
        let mut left = packet.clone();
        self.compare(&left, &segment)?;
        if !any && (at + self.tolerance < due || at > latest) {
            let late = (at.nanos() as i64 - due.nanos() as i64) as f64 / 1e6;
            return failed(format!("sent {late:+.1} ms from when {} was due", words(packet)));
        }
        // How many segments go in one super-segment is the network card's business.
        let mut segment = segment;
        while segment.len < left.len {
            left.len -= segment.len;
            left.seq += segment.len;
            let Some((_, next)) = self.next_sent(latest)? else {
                return failed(format!("nothing was sent in place of {}", words(&left)));
            };
            self.compare(&left, &next)?;
            segment = next;
        }
        if segment.len > left.len {
            let rest = Segment {
                seq: segment.seq + u64::from(left.len),
                len: segment.len - left.len,
                ..segment
            };
            self.sent.push_front((at, rest));
        } else if segment.flags.contains(Flags::FIN) != packet.has('F') {
            return failed(format!("FIN: {} in place of {}", shown(&segment), words(packet)));
        }
        self.collect();
        self.resume()
    }

    fn next_sent(&mut self, latest: Time) -> Step<Option<(Time, Segment)>> {
        loop {
            if let Some(sent) = self.sent.pop_front() {
                return Ok(Some(sent));
            }
            let Some(tcp) = &mut self.tcp else { return Ok(None) };
            let Some(at) = tcp.next_timer().filter(|at| *at <= latest) else { return Ok(None) };
            self.now = self.now.max(at);
            tcp.on_timer(self.now);
            self.collect();
            self.resume()?;
        }
    }

    fn compare(&mut self, packet: &Packet, segment: &Segment) -> Step {
        let flags = segment.flags;
        let syn = flags.contains(Flags::SYN);
        let mismatch = |what: &str| {
            failed(format!("{what}: {} in place of {}", shown(segment), words(packet)))
        };
        for (letter, flag) in [
            ('S', Flags::SYN),
            ('.', Flags::ACK),
            ('R', Flags::RST),
            ('E', Flags::ECE),
            ('W', Flags::CWR),
            ('A', Flags::AE),
        ] {
            if packet.has(letter) != flags.contains(flag) {
                return mismatch("flags");
            }
        }
        if u64::from(packet.seq) != segment.seq.wrapping_add(u64::from(!syn)) {
            return mismatch("sequence number");
        }
        if (packet.len == 0) != (segment.len == 0) {
            return mismatch("length");
        }
        if let Some(ack) = packet.ack
            && u64::from(ack) != segment.ack + 1
        {
            return mismatch("acknowledgement");
        }
        let ecn = (flags.contains(Flags::ECT_0), flags.contains(Flags::ECT_1));
        let matches = match packet.ecn.as_deref() {
            Some("ect0") => ecn == (true, false),
            Some("ect1") => ecn == (false, true),
            Some("ce") => ecn == (true, true),
            Some("noecn") => ecn == (false, false),
            _ => true,
        };
        if !matches {
            return mismatch("ECN field");
        }
        if let Some(win) = packet.win {
            let shift = if syn { 0 } else { 8 };
            if u64::from(win) != u64::from(segment.window) >> shift {
                return mismatch(&format!("window {}", segment.window));
            }
        }
        if packet.any_options || flags.contains(Flags::RST) {
            return Ok(());
        }
        if syn {
            if packet.mss.is_some_and(|mss| mss != segment.mss) {
                return mismatch(&format!("segment size {}", segment.mss));
            }
            if packet.sack_permitted != flags.contains(Flags::SACK_PERMITTED)
                || packet.wscale.is_some() != flags.contains(Flags::WINDOW_SCALE)
            {
                return mismatch("options");
            }
        }
        if packet.timestamps.is_some() != flags.contains(Flags::TIMESTAMPS) {
            return mismatch("timestamps");
        }
        if let Some((value, echo)) = packet.timestamps {
            self.clock.get_or_insert((value, segment.timestamp));
            if echo != segment.echo {
                return mismatch(&format!("echo {}", segment.echo));
            }
        }
        let ranges: Vec<(u64, u64)> = segment.sack_ranges().map(|(s, e)| (s + 1, e + 1)).collect();
        let wanted: Vec<(u64, u64)> =
            packet.sack.iter().map(|&(s, e)| (u64::from(s), u64::from(e))).collect();
        if ranges != wanted {
            return mismatch(&format!("SACK {ranges:?}"));
        }
        Ok(())
    }

    // --- calls ---

    fn call(
        &mut self,
        name: &str,
        arguments: &[String],
        result: i64,
        error: Option<&str>,
        until: Time,
    ) -> Step {
        let fd = arguments[0].parse().unwrap_or(-1);
        let number = |position: usize| {
            arguments.get(position).and_then(|a| a.parse::<u64>().ok()).unwrap_or(0)
        };
        let nonblocking = self.descriptors.get(&fd).is_some_and(|d| d.nonblocking);
        let pending = |bytes| {
            Some(Pending { name: name.into(), fd, bytes, done: 0, result, error: None, until })
        };
        if error == Some("EFAULT") {
            return unsupported("bad pointers");
        }
        match name {
            "socket" => {
                if !arguments[1].starts_with("SOCK_STREAM") {
                    return unsupported(format!("socket of {}", arguments[1]));
                }
                let nonblocking = arguments[1].contains("SOCK_NONBLOCK");
                self.descriptors.insert(result, Descriptor { nonblocking, ..Default::default() });
            }
            "bind" => {}
            "listen" => self.listening = true,
            "fcntl" => {
                if arguments[1] == "F_SETFL" {
                    let flags = arguments.get(2).is_some_and(|a| a.contains("O_NONBLOCK"));
                    self.descriptors.entry(fd).or_default().nonblocking = flags;
                }
            }
            "setsockopt" => return self.option(arguments),
            "connect" => {
                if self.tcp.is_some() {
                    return unsupported("a second connection");
                }
                self.tcp = Some(Connection::connect(&Arc::new(self.config.clone()), self.now));
                self.accepted = true;
                self.descriptors.entry(fd).or_default().connected = true;
                if nonblocking {
                    return self.returned(name, -1, Some("EINPROGRESS"), result, error);
                }
                self.pending = pending(0);
            }
            "accept" => {
                if nonblocking && (self.accepted || !self.is_established()) {
                    return self.returned(name, -1, Some("EAGAIN"), result, error);
                }
                self.pending = pending(0);
            }
            "write" | "send" | "sendto" | "read" | "recv" => {
                if !self.descriptors.get(&fd).is_some_and(|d| d.connected) {
                    return unsupported(format!("{name} without a connection"));
                }
                let flags = arguments.get(3).map_or("0", String::as_str);
                if !["0", "MSG_NOSIGNAL", "MSG_DONTWAIT"].contains(&flags) {
                    return unsupported(format!("{name} with {flags}"));
                }
                self.pending = pending(number(2));
                if nonblocking || flags == "MSG_DONTWAIT" {
                    self.collect();
                    let now = self.attempt();
                    if let Some((value, code)) = now {
                        self.pending = None;
                        return self.returned(name, value, code, result, error);
                    }
                    let done = self.pending.take().map_or(0, |pending| pending.done);
                    return if done > 0 {
                        self.returned(name, done as i64, None, result, error)
                    } else {
                        self.returned(name, -1, Some("EAGAIN"), result, error)
                    };
                }
            }
            "close" => {
                let connected = self.descriptors.remove(&fd).is_some_and(|d| d.connected);
                let Some(tcp) = self.tcp.as_mut().filter(|_| connected) else { return Ok(()) };
                // What was not read is lost, and the other end hears of it (RFC 1122, 4.2.2.13).
                if tcp.readable() > 0 { tcp.abort(self.now) } else { tcp.close(self.now) }
            }
            "shutdown" => match (arguments[1].as_str(), &mut self.tcp) {
                (how @ ("SHUT_WR" | "SHUT_RDWR"), Some(tcp)) => {
                    tcp.close(self.now);
                    self.descriptors.entry(fd).or_default().shut = how == "SHUT_RDWR";
                }
                _ => return unsupported(format!("shutdown of {}", arguments[1])),
            },
            _ => return unsupported(name),
        }
        if let Some(pending) = &mut self.pending {
            pending.result = result;
            pending.error = error.map(str::to_string);
        }
        Ok(())
    }

    fn option(&mut self, arguments: &[String]) -> Step {
        match arguments[2].as_str() {
            "SO_REUSEADDR" | "TCP_NODELAY" | "IP_TOS" | "IP_MTU_DISCOVER" => Ok(()),
            "SO_SNDBUF"
                if arguments[3]
                    .trim_matches(['[', ']'])
                    .parse::<u64>()
                    .is_ok_and(|bytes| bytes >= 200_000) =>
            {
                Ok(())
            }
            other => unsupported(format!("socket option {other} {}", arguments[3])),
        }
    }

    fn is_established(&self) -> bool {
        self.tcp.as_ref().is_some_and(Connection::is_established)
    }

    fn returned(
        &self,
        name: &str,
        value: i64,
        code: Option<&str>,
        wanted: i64,
        error: Option<&str>,
    ) -> Step {
        if value != wanted || (wanted < 0 && code != error) {
            let code = code.unwrap_or("");
            let error = error.unwrap_or("");
            return failed(format!("{name} gave {value} {code} in place of {wanted} {error}"));
        }
        Ok(())
    }

    /// What the pending call gives, if it returns now.
    fn attempt(&mut self) -> Option<(i64, Option<&'static str>)> {
        let pending = self.pending.as_mut()?;
        let tcp = self.tcp.as_mut()?;
        let shut = self.descriptors.get(&pending.fd).is_some_and(|descriptor| descriptor.shut);
        let reset = match tcp.state() {
            State::Closed { reason: CloseReason::Reset } => Some("ECONNRESET"),
            State::Closed { reason: CloseReason::TimedOut } => Some("ETIMEDOUT"),
            _ => None,
        };
        match pending.name.as_str() {
            "connect" if reset == Some("ECONNRESET") => Some((-1, Some("ECONNREFUSED"))),
            "connect" if tcp.is_established() => Some((0, None)),
            "accept" if tcp.is_established() && !self.accepted => {
                self.accepted = true;
                let fd = pending.result;
                self.descriptors.insert(fd, Descriptor { connected: true, ..Default::default() });
                Some((fd, None))
            }
            "read" | "recv" => {
                let bytes = tcp.readable().min(pending.bytes);
                if bytes > 0 {
                    tcp.read(self.now, bytes);
                    Some((bytes as i64, None))
                } else if tcp.peer_closed() || shut {
                    Some((0, None))
                } else {
                    reset.map(|code| (-1, Some(code)))
                }
            }
            "write" | "send" | "sendto" => {
                let closing = matches!(
                    tcp.state(),
                    State::Closing | State::LastAck | State::TimeWait | State::Closed { .. }
                );
                if closing || shut {
                    return Some((-1, Some("EPIPE")));
                }
                pending.done += tcp.write(self.now, pending.bytes - pending.done);
                (pending.done == pending.bytes).then_some((pending.done as i64, None))
            }
            _ => None,
        }
    }

    /// Lets the call that waits return, if it can.
    fn resume(&mut self) -> Step {
        let Some((value, code)) = self.attempt() else { return Ok(()) };
        let Some(pending) = self.pending.take() else { return Ok(()) };
        self.returned(&pending.name, value, code, pending.result, pending.error.as_deref())?;
        if self.now > pending.until + self.tolerance {
            return failed(format!("{} returned too late", pending.name));
        }
        self.collect();
        Ok(())
    }

    // --- configuration ---

    fn shell(&mut self, text: &str) -> Step {
        if text.contains("sysctl_restore") {
            return Ok(());
        }
        let text = text.replace("\\\n", " ");
        for command in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let program = command.split_whitespace().next().unwrap_or("");
            if program.ends_with("defaults.sh") {
                let Ok(defaults) = std::fs::read_to_string(self.folder.join(program)) else {
                    return unsupported(format!("{program} is missing"));
                };
                for line in defaults.lines().filter(|line| line.starts_with("sysctl")) {
                    // What is not ours to set, the defaults may set.
                    match self.sysctls(line) {
                        Err(Stop::Unsupported(_)) | Ok(()) => {}
                        Err(stop) => return Err(stop),
                    }
                }
            } else if program == "sysctl" || program.ends_with("set_sysctls.py") {
                self.sysctls(command)?;
            } else if !command.starts_with('#') {
                return unsupported(format!("shell command {command}"));
            }
        }
        Ok(())
    }

    fn sysctls(&mut self, command: &str) -> Step {
        for setting in command.split_whitespace().take_while(|word| !word.starts_with('#')) {
            let Some((name, value)) = setting.split_once('=') else { continue };
            let name = name.rsplit(['.', '/']).next().unwrap_or("");
            let on = value != "0";
            match name {
                "tcp_timestamps" => self.config.timestamps = on,
                "tcp_sack" => self.config.sack = on,
                "tcp_dsack" => self.config.dsack = on,
                "tcp_window_scaling" => self.config.window_scaling = on,
                "tcp_slow_start_after_idle" => self.config.idle_restart = on,
                "tcp_early_retrans" => self.config.tail_loss_probe = on,
                "tcp_recovery" => self.config.rack = on,
                "tcp_syn_retries" => self.config.syn_retries = value.parse().unwrap_or(6),
                "tcp_ecn" => {
                    self.config.ecn = match value {
                        "0" => Ecn::Off,
                        "1" => Ecn::On,
                        "2" => Ecn::Passive,
                        "3" => Ecn::Accurate,
                        _ => return unsupported(format!("tcp_ecn {value}")),
                    };
                }
                "tcp_congestion_control" => {
                    self.config.controller = match value {
                        "cubic" => Kind::CubicLinux,
                        "reno" => Kind::NewReno,
                        _ => return unsupported(format!("congestion control {value}")),
                    };
                }
                "tcp_min_tso_segs"
                | "tcp_tso_win_divisor"
                | "tcp_fastopen"
                | "tcp_reordering"
                | "tcp_wmem"
                | "tcp_rmem"
                | "tcp_pacing_ss_ratio"
                | "tcp_ecn_option" => {}
                _ => return unsupported(format!("sysctl {name}")),
            }
        }
        Ok(())
    }

    // --- assertions ---

    fn code(&mut self, text: &str) -> Step {
        for line in text.lines() {
            let line = line.split('#').next().unwrap_or("").trim();
            if line.is_empty() {
                continue;
            }
            let Some(assertion) = line.strip_prefix("assert ") else {
                return unsupported(format!("code {line}"));
            };
            let condition = assertion.split(',').next().unwrap_or("");
            for part in condition.split(" and ") {
                self.assertion(part.trim())?;
            }
        }
        Ok(())
    }

    fn assertion(&self, condition: &str) -> Step {
        for operator in ["==", "!=", "<=", ">=", "<", ">"] {
            if let Some((left, right)) = condition.split_once(operator) {
                let (left, right) = (self.value(left.trim())?, self.value(right.trim())?);
                let holds = match operator {
                    "==" => left == right,
                    "!=" => left != right,
                    "<=" => left <= right,
                    ">=" => left >= right,
                    "<" => left < right,
                    _ => left > right,
                };
                return if holds { Ok(()) } else { failed(format!("{condition}: it is {left}")) };
            }
        }
        unsupported(format!("assertion {condition}"))
    }

    fn value(&self, word: &str) -> Step<u64> {
        if let Ok(number) = word.replace('_', "").parse() {
            return Ok(number);
        }
        let Some(tcp) = &self.tcp else { return failed("no connection") };
        let stats = tcp.stats();
        let mss = u64::from(stats.mss);
        Ok(match word {
            "tcpi_snd_cwnd" => stats.cwnd / mss,
            "tcpi_snd_ssthresh" if stats.ssthresh == u64::MAX => 2_147_483_647,
            "tcpi_snd_ssthresh" => stats.ssthresh / mss,
            "tcpi_unacked" => stats.outstanding.div_ceil(mss),
            "tcpi_sacked" => stats.sacked.div_ceil(mss),
            "tcpi_lost" => stats.lost.div_ceil(mss),
            "tcpi_retrans" => stats.retransmitted_in_flight.div_ceil(mss),
            "tcpi_delivered_ce" => stats.delivered_marked,
            "tcpi_reordering" => u64::from(stats.reordering),
            "tcpi_snd_mss" => mss,
            "tcpi_rtt" => stats.srtt.nanos() / 1000,
            "tcpi_min_rtt" => stats.min_rtt.nanos() / 1000,
            "tcpi_total_retrans" => stats.segments_retransmitted,
            "tcpi_bytes_acked" => stats.bytes_acked,
            "tcpi_ca_state" => match stats.phase {
                Phase::Open => u64::from(stats.sacked > 0),
                Phase::Cwr => 2,
                Phase::Recovery => 3,
                Phase::Loss => 4,
            },
            "TCP_CA_Open" => 0,
            "TCP_CA_Disorder" => 1,
            "TCP_CA_CWR" => 2,
            "TCP_CA_Recovery" => 3,
            "TCP_CA_Loss" => 4,
            other => return unsupported(other),
        })
    }
}

/// An expected packet, to be read.
fn words(packet: &Packet) -> String {
    let end = packet.seq + packet.len;
    let mut text = format!("{} {}:{end}({})", packet.flags, packet.seq, packet.len);
    if let Some(ack) = packet.ack {
        text += &format!(" ack {ack}");
    }
    text
}

/// A segment in the same words.
fn shown(segment: &Segment) -> String {
    let syn = segment.flags.contains(Flags::SYN);
    let mut flags = String::new();
    for (flag, letter) in [
        (Flags::SYN, 'S'),
        (Flags::FIN, 'F'),
        (Flags::RST, 'R'),
        (Flags::PSH, 'P'),
        (Flags::ECE, 'E'),
        (Flags::CWR, 'W'),
        (Flags::AE, 'A'),
        (Flags::ACK, '.'),
    ] {
        if segment.flags.contains(flag) {
            flags.push(letter);
        }
    }
    let seq = segment.seq.wrapping_add(u64::from(!syn));
    let end = seq.wrapping_add(u64::from(segment.len));
    format!("{flags} {seq}:{end}({}) ack {}", segment.len, segment.ack + 1)
}
