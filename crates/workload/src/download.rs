//! Downloads of a file over several connections at once, from one or several servers.

use crate::{Column, Table, is_due, names, seconds};
use flashcrowd_base::Time;
use flashcrowd_plan::{self as plan, Plan, Workload};
use std::ops::Range;
use std::sync::Arc;

/// Which connection asks for which bytes of a file.
///
/// A connection that is free asks for the first bytes that none has asked for: a range of a given length, or an equal
/// part of the file. The rest of a connection that is lost is free again. Where nothing is left, a free connection
/// takes the second half of the longest rest of another, as axel does (`MIN_CHUNK_WORTH`): a slow server then keeps
/// none waiting.
#[derive(Clone, Debug)]
pub struct Division {
    /// Bytes that no connection has asked for, ascending runs.
    free: Vec<Range<u64>>,
    /// Bytes of the longest range.
    most: u64,
    /// Bytes of the shortest rest that is halved.
    least_split: Option<u64>,
    /// What each connection has asked for.
    asked: Vec<Option<Asked>>,
}

/// A range that a connection has asked for.
#[derive(Clone, Debug)]
struct Asked {
    /// Offset in the file of the first byte that has not come.
    next: u64,
    /// Offset at which the part that the connection is to bring ends.
    end: u64,
    /// Offset at which the answer ends: beyond `end`, if another connection has taken the second half.
    answered: u64,
}

/// What has come of the range of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Came {
    /// Not all.
    More,
    /// All, and with it the end of the answer: the connection may ask again.
    Answered,
    /// All that it is to bring, and its answer goes on: only a new connection can ask.
    Cut,
}

impl Division {
    /// Nothing was asked for of what is `missing`, ascending runs.
    ///
    /// `range` is how many bytes a connection asks for at a time; none for equal parts. One connection alone asks for
    /// a whole run. `least_split` is how many bytes the shortest rest has that is halved; none if no rest is halved.
    pub fn new(
        missing: impl IntoIterator<Item = Range<u64>>,
        connections: u32,
        range: Option<u64>,
        least_split: Option<u64>,
    ) -> Division {
        let free: Vec<_> = missing.into_iter().filter(|run| !run.is_empty()).collect();
        let bytes: u64 = free.iter().map(|run| run.end - run.start).sum();
        let equal = || bytes.div_ceil(u64::from(connections));
        let most = if connections > 1 { range.unwrap_or_else(equal).max(1) } else { u64::MAX };
        Division {
            free,
            most,
            least_split: least_split.map(|least| least.max(2)),
            asked: vec![None; connections as usize],
        }
    }

    /// A connection that has asked for nothing asks for these bytes; none if nothing is left for it.
    pub fn ask(&mut self, connection: u32) -> Option<Range<u64>> {
        let range = self.take_free().or_else(|| self.split())?;
        self.asked[connection as usize] =
            Some(Asked { next: range.start, end: range.end, answered: range.end });
        Some(range)
    }

    /// Whether a free connection would find something to ask for.
    pub fn has_work(&self) -> bool {
        !self.free.is_empty() || self.longest().is_some()
    }

    /// Bytes of a connection's range came. How many of them were missing, and what has come of the range.
    pub fn receive(&mut self, connection: u32, bytes: u64) -> (u64, Came) {
        let Some(asked) = &mut self.asked[connection as usize] else { return (0, Came::Cut) };
        let missing = bytes.min(asked.end - asked.next);
        asked.next += missing;
        let came = if asked.next < asked.end {
            Came::More
        } else if asked.end < asked.answered {
            Came::Cut
        } else {
            Came::Answered
        };
        if came != Came::More {
            self.asked[connection as usize] = None;
        }
        (missing, came)
    }

    /// A connection brings nothing any more: what is left of its range is free.
    pub fn lose(&mut self, connection: u32) {
        let Some(asked) = self.asked[connection as usize].take() else { return };
        if asked.next < asked.end {
            let place = self.free.partition_point(|run| run.start < asked.next);
            self.free.insert(place, asked.next..asked.end);
        }
    }

    /// Whether every byte has come.
    pub fn is_whole(&self) -> bool {
        self.free.is_empty() && self.asked.iter().all(Option::is_none)
    }

    fn take_free(&mut self) -> Option<Range<u64>> {
        let run = self.free.first_mut()?;
        let range = run.start..run.end.min(run.start.saturating_add(self.most));
        run.start = range.end;
        if run.is_empty() {
            self.free.remove(0);
        }
        Some(range)
    }

    /// The connection with the longest rest, if that is long enough to be halved.
    fn longest(&self) -> Option<usize> {
        let least = self.least_split?;
        let rest = |asked: &Option<Asked>| asked.as_ref().map_or(0, |it| it.end - it.next);
        let rests = self.asked.iter().map(rest).enumerate();
        let (place, rest) = rests.max_by_key(|(place, rest)| (*rest, usize::MAX - place))?;
        (rest >= least).then_some(place)
    }

    fn split(&mut self) -> Option<Range<u64>> {
        let place = self.longest()?;
        let asked = self.asked[place].as_mut()?;
        let middle = asked.next + (asked.end - asked.next).div_ceil(2);
        let taken = middle..asked.end;
        asked.end = middle;
        Some(taken)
    }
}

/// The downloads of a run.
#[derive(Clone, Debug)]
pub struct Downloads {
    /// Every one, in the order of the plan.
    pub downloads: Vec<Download>,
}

/// One download.
#[derive(Clone, Debug)]
pub struct Download {
    /// Index of the workload among the plan's.
    pub workload: u32,
    /// What the plan says of it.
    pub spec: Arc<plan::Download>,
    /// When it is to start.
    pub start: Time,
    /// What each server has brought.
    pub servers: Vec<Server>,
    started: Option<Time>,
    ended: Option<(Time, Ended)>,
    division: Division,
    connections: Vec<Connection>,
    /// Whether something has happened after which a request may be due.
    changed: bool,
}

/// What a server has brought of a download.
#[derive(Clone, Debug, Default)]
pub struct Server {
    /// Its host.
    pub host: u32,
    /// Connections that were opened to it.
    pub connections: u32,
    /// Those of them that were lost.
    pub lost: u32,
    /// Ranges that were asked for.
    pub ranges: u32,
    /// Bytes of the file that came.
    pub bytes: u64,
    /// When it was first asked for bytes.
    pub asked: Option<Time>,
    /// When the first of them came.
    pub first_byte: Option<Time>,
    /// When the last of them came.
    pub last_byte: Option<Time>,
    /// Whether it has said how long the file is.
    answered: bool,
}

/// A connection of a download.
#[derive(Clone, Debug)]
struct Connection {
    /// Place of its server.
    server: usize,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It is not open.
    Closed,
    /// It is open, and nothing was asked that was not answered.
    Idle,
    /// It has asked for a range, or about the file alone. `head` bytes of the answer's head have not come.
    Asking { head: u64, range: bool },
    /// It was lost.
    Lost,
}

/// A request that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Number of the connection.
    pub connection: u32,
    /// The host of its server.
    pub server: u32,
    /// Whether the connection is to be opened for it.
    pub opens: bool,
    /// Bytes of the answer, head included.
    pub answer: u64,
}

/// How a download ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The last byte is there.
    Whole,
    /// It was stopped: by its own time, or by the timeline.
    Stopped,
    /// It has lost its last connection.
    Lost,
}

impl Downloads {
    /// Those of a plan, before anything has happened, in a run with this seed.
    pub fn new(plan: &Plan, seed: u64) -> Downloads {
        let mut downloads = Vec::new();
        for (workload, spec) in (0..).zip(&plan.workloads) {
            let Workload::Download(spec) = spec else { continue };
            downloads.push(Download::new(workload, Arc::new(spec.clone()), seed));
        }
        Downloads { downloads }
    }

    /// The place of the download of a workload in the list of all.
    pub fn place_of(&self, workload: u32) -> Option<usize> {
        self.downloads.iter().position(|download| download.workload == workload)
    }

    /// Whether all have ended.
    pub fn is_done(&self) -> bool {
        self.downloads.iter().all(|download| download.ended.is_some())
    }

    /// How far the one is that is furthest behind.
    pub fn progress(&self) -> f64 {
        let share = |download: &Download| match download.ended {
            Some(_) => 1.0,
            None => download.received() as f64 / download.spec.size_bytes as f64,
        };
        self.downloads.iter().map(share).fold(1.0, f64::min)
    }

    /// A line for each that has not ended.
    pub fn unfinished(&self) -> Vec<String> {
        let under_way = self.downloads.iter().filter(|download| download.ended.is_none());
        under_way.map(|it| format!("download {}: {}", it.spec.name, it.standing())).collect()
    }

    /// A line for each that lost its last connection, or of which no byte arrived.
    pub fn undelivered(&self, now: Time) -> Vec<String> {
        let line = |download: &Download| {
            let name = &download.spec.name;
            if let Some((at, Ended::Lost)) = download.ended {
                let (at, standing) = (at.seconds(), download.standing());
                return Some(format!(
                    "download {name}: the last connection was lost at {at:.1} s after {standing}"
                ));
            }
            let until = download.ended.map_or(now, |(at, _)| at);
            let due = download.started.is_some_and(|started| is_due(started, until));
            let silent = due && download.received() == 0;
            silent.then(|| format!("download {name}: no byte arrived"))
        };
        self.downloads.iter().filter_map(line).collect()
    }

    /// Bytes of files that have arrived.
    pub fn payload_bytes(&self) -> u64 {
        self.downloads.iter().map(Download::received).sum()
    }

    /// The tables `fetches` and `fetch_servers`.
    pub fn tables(&self, plan: &Plan) -> Vec<Table> {
        let host = |host| plan.network.name_of(host);
        let begun = |it: &&Download| it.started.is_some();
        let rows: Vec<&Download> = self.downloads.iter().filter(begun).collect();
        let maybe = |of: fn(&Download) -> Option<f64>| {
            Column::MaybeF64(rows.iter().map(|it| of(it)).collect())
        };
        let fetches = Table {
            name: "fetches",
            columns: vec![
                ("download", names(rows.iter().map(|it| it.spec.name.as_str()))),
                ("to", names(rows.iter().map(|it| host(it.spec.to)))),
                ("size_bytes", Column::U64(rows.iter().map(|it| it.spec.size_bytes).collect())),
                ("bytes", Column::U64(rows.iter().map(|it| it.received()).collect())),
                ("start_s", maybe(|it| seconds(it.started))),
                ("first_byte_s", maybe(|it| seconds(it.first_byte()))),
                ("end_s", maybe(|it| Some(it.whole()?.seconds()))),
                ("duration_s", maybe(|it| Some((it.whole()? - it.started?).seconds()))),
            ],
        };
        let each = rows.iter().flat_map(|it| it.servers.iter().map(move |server| (it, server)));
        let rows: Vec<_> = each.collect();
        let count = |of: fn(&Server) -> u32| {
            Column::U32(rows.iter().map(|(_, server)| of(server)).collect())
        };
        let time = |of: fn(&Server) -> Option<f64>| {
            Column::MaybeF64(rows.iter().map(|(_, server)| of(server)).collect())
        };
        let servers = Table {
            name: "fetch_servers",
            columns: vec![
                ("download", names(rows.iter().map(|(it, _)| it.spec.name.as_str()))),
                ("to", names(rows.iter().map(|(it, _)| host(it.spec.to)))),
                ("server", names(rows.iter().map(|(_, server)| host(server.host)))),
                ("connections", count(|server| server.connections)),
                ("lost", count(|server| server.lost)),
                ("ranges", count(|server| server.ranges)),
                ("bytes", Column::U64(rows.iter().map(|(_, server)| server.bytes).collect())),
                ("asked_s", time(|server| seconds(server.asked))),
                ("first_byte_s", time(|server| seconds(server.first_byte))),
                ("last_byte_s", time(|server| seconds(server.last_byte))),
                ("rate_bps", time(Server::rate_bps)),
            ],
        };
        vec![fetches, servers]
    }
}

impl Server {
    /// Bytes of the file came.
    pub fn receive(&mut self, now: Time, bytes: u64) {
        if bytes > 0 {
            self.bytes += bytes;
            self.first_byte.get_or_insert(now);
            self.last_byte = Some(now);
        }
    }

    /// What it brought, over the time from the first request to the last byte.
    fn rate_bps(&self) -> Option<f64> {
        let span = self.last_byte? - self.asked?;
        (!span.is_zero()).then(|| self.bytes as f64 * 8.0 / span.seconds())
    }
}

impl Download {
    fn new(workload: u32, spec: Arc<plan::Download>, seed: u64) -> Download {
        let servers: Vec<Server> =
            spec.servers().map(|host| Server { host, ..Server::default() }).collect();
        let connection = |number: u32| {
            let server = number as usize % servers.len();
            Connection { server, state: State::Closed }
        };
        Download {
            workload,
            start: Time::START + spec.start(seed, u64::from(workload)),
            division: Division::new(
                std::iter::once(0..spec.size_bytes),
                spec.connections,
                spec.range_bytes,
                spec.least_split_bytes,
            ),
            connections: (0..spec.connections).map(connection).collect(),
            servers,
            changed: false,
            started: None,
            ended: None,
            spec,
        }
    }

    /// It starts, unless it was stopped before. Requests are due now.
    pub fn begin(&mut self, now: Time) {
        if self.ended.is_none() {
            self.started = Some(now);
            self.changed = true;
        }
    }

    /// Whether it is under way.
    pub fn is_under_way(&self) -> bool {
        self.started.is_some() && self.ended.is_none()
    }

    /// Bytes of the file that have arrived.
    pub fn received(&self) -> u64 {
        self.servers.iter().map(|server| server.bytes).sum()
    }

    /// A request that is due; asked again and again after anything has happened, until there is none.
    ///
    /// The first connection asks alone, until it knows how long the file is. Then each mirror is asked by one
    /// connection; where that asks for bytes at once, the others do so beside it.
    pub fn next_request(&mut self, now: Time) -> Option<Request> {
        if !self.changed || !self.is_under_way() {
            return None;
        }
        let found = (0..self.connections.len()).find(|place| self.may_ask(*place));
        self.changed = found.is_some();
        let place = found?;
        let connection = &mut self.connections[place];
        let server = &mut self.servers[connection.server];
        let opens = connection.state == State::Closed;
        let about = self.spec.use_head && !server.answered;
        let bytes = if about {
            0
        } else {
            let range = self.division.ask(place as u32)?;
            server.ranges += 1;
            server.asked.get_or_insert(now);
            range.end - range.start
        };
        server.connections += u32::from(opens);
        let head = self.spec.head_bytes;
        connection.state = State::Asking { head, range: !about };
        Some(Request { connection: place as u32, server: server.host, opens, answer: head + bytes })
    }

    /// Bytes of the answer to a connection's request came.
    pub fn receive(&mut self, now: Time, connection: u32, bytes: u64) -> Came {
        let place = connection as usize;
        let Connection { server, state: State::Asking { head, range } } = self.connections[place]
        else {
            return Came::More;
        };
        let of_head = head.min(bytes);
        let server = &mut self.servers[server];
        self.changed |= of_head == head && !server.answered;
        server.answered |= of_head == head;
        let came = if range {
            let (missing, came) = self.division.receive(connection, bytes - of_head);
            server.receive(now, missing);
            came
        } else if of_head == head {
            Came::Answered
        } else {
            Came::More
        };
        self.changed |= came != Came::More;
        self.connections[place].state = match came {
            Came::More => State::Asking { head: head - of_head, range },
            Came::Answered => State::Idle,
            Came::Cut => State::Closed,
        };
        if self.division.is_whole() {
            self.end(now, Ended::Whole);
        }
        came
    }

    /// A connection was lost: what is left of its range is for any. It goes on at the next server that has lost
    /// none; without one it is gone, and with the last connection the download.
    pub fn lose(&mut self, now: Time, connection: u32) {
        let lost = &mut self.connections[connection as usize];
        if matches!(lost.state, State::Closed | State::Lost) {
            return;
        }
        let (before, count) = (lost.server, self.servers.len());
        self.servers[before].lost += 1;
        let mut others = (1..count).map(|step| (before + step) % count);
        (lost.server, lost.state) = match others.find(|other| self.servers[*other].lost == 0) {
            Some(other) => (other, State::Closed),
            None => (before, State::Lost),
        };
        self.division.lose(connection);
        self.changed = true;
        if self.connections.iter().all(|it| it.state == State::Lost) {
            self.end(now, Ended::Lost);
        }
    }

    /// It is over now, unless it was before; whether that is new.
    pub fn end(&mut self, now: Time, how: Ended) -> bool {
        let new = self.ended.is_none();
        self.ended.get_or_insert((now, how));
        new
    }

    /// Whether a connection may ask for something now, and would find something.
    fn may_ask(&self, place: usize) -> bool {
        let Connection { server, state } = self.connections[place];
        let known = self.servers.iter().any(|server| server.answered);
        let is_first = |all: bool| {
            let mut before = self.connections[..place].iter();
            !before.any(|it| it.state != State::Lost && (all || it.server == server))
        };
        let admitted = match state {
            State::Idle => true,
            State::Closed if self.servers[server].answered => true,
            State::Closed if known => !self.spec.use_head || is_first(false),
            State::Closed => is_first(true),
            State::Asking { .. } | State::Lost => false,
        };
        admitted && self.division.has_work()
    }

    /// When it was whole.
    fn whole(&self) -> Option<Time> {
        self.ended.filter(|(_, how)| *how == Ended::Whole).map(|(at, _)| at)
    }

    fn first_byte(&self) -> Option<Time> {
        self.servers.iter().filter_map(|server| server.first_byte).min()
    }

    /// How far it came.
    fn standing(&self) -> String {
        format!("{} of {} bytes", self.received(), self.spec.size_bytes)
    }
}
