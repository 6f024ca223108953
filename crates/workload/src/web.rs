//! Users who fetch pages, one after another.

use crate::{Column, Table, is_due, lost, names, seconds};
use flashcrowd_base::{RandomStream, Span, Time};
use flashcrowd_plan::{self as plan, Plan, Window, Windowed, Workload};
use std::sync::Arc;

/// The users of all web workloads of a run.
///
/// A page opens its connections at once, and each asks for an equal part of it. A page that loses a connection
/// too early is given up; its user reads on.
#[derive(Clone, Debug)]
pub struct Webs {
    /// Every one, in the order of the plan.
    pub users: Vec<User>,
    /// Pages asked for outside of it have no row.
    window: Option<Window>,
}

/// A user fetches a page, reads for a while, and fetches the next one.
#[derive(Clone, Debug)]
pub struct User {
    /// Index of the workload among the plan's.
    pub workload: u32,
    /// What the plan says of it.
    pub spec: Arc<plan::Web>,
    /// Number of the user in the workload.
    pub number: u32,
    /// When the first page is asked for.
    pub start: Time,
    /// Every page so far.
    pub pages: Vec<Page>,
    /// Bytes of pages that have arrived.
    pub received: u64,
    /// Lengths of pages and times of reading come from streams of their own, so that the third page
    /// of a user has the same length however long the first two took.
    lengths: RandomStream,
    readings: RandomStream,
    under_way: bool,
    stopped: bool,
}

/// What is recorded of a page.
#[derive(Clone, Debug)]
pub struct Page {
    /// Its length.
    pub bytes: u64,
    start: Time,
    first_byte: Option<Time>,
    end: Option<Time>,
    /// When it lost a connection that had not brought its part.
    lost: Option<Time>,
}

impl Page {
    /// How many bytes each of its connections brings, of at most `connections`. A page of fewer bytes than
    /// connections needs no more of them than it has bytes.
    pub fn parts(&self, connections: u32) -> impl Iterator<Item = u64> + use<> {
        let (bytes, count) = (self.bytes, u64::from(connections).min(self.bytes));
        (0..count).map(move |number| bytes / count + u64::from(number < bytes % count))
    }
}

impl Webs {
    /// Those of a plan, before anything has happened, in a run with this seed.
    pub fn new(plan: &Plan, seed: u64) -> Webs {
        let mut users = Vec::new();
        for (workload, spec) in (0..).zip(&plan.workloads) {
            let Workload::Web(spec) = spec else { continue };
            let spec = Arc::new(spec.clone());
            for number in 0..spec.users {
                let stream = u64::from(workload) << 32 | u64::from(number);
                let mut readings = RandomStream::new(seed, "page-readings", stream);
                let late = readings.between(Span::ZERO, spec.spread_ns);
                users.push(User {
                    workload,
                    number,
                    start: Time::START + spec.start_ns + late,
                    pages: Vec::new(),
                    received: 0,
                    lengths: RandomStream::new(seed, "page-lengths", stream),
                    readings,
                    under_way: false,
                    stopped: false,
                    spec: Arc::clone(&spec),
                });
            }
        }
        Webs { users, window: plan.measures.window(Windowed::Pages).cloned() }
    }

    /// The places of the users of a workload in the list of all.
    pub fn users_of(&self, workload: u32) -> impl Iterator<Item = usize> + use<'_> {
        let users = self.users.iter().enumerate();
        users.filter(move |(_, user)| user.workload == workload).map(|(place, _)| place)
    }

    /// A line for each workload whose pages lost connections, or of which no byte arrived.
    pub fn undelivered(&self, now: Time) -> Vec<String> {
        let mut lines = Vec::new();
        for users in self.users.chunk_by(|one, next| one.workload == next.workload) {
            let whose = format!("web {}", users[0].spec.name);
            let pages = || users.iter().flat_map(User::numbered);
            let gone = pages().filter_map(|(user, number, page)| {
                let at = page.lost?.seconds();
                Some(format!("page {number} of user {} at {at:.1} s", user.number))
            });
            let gone = lost(&whose, pages().count(), "pages", gone);
            let due = pages().any(|(.., page)| is_due(page.start, now));
            let silent = pages().all(|(.., page)| page.first_byte.is_none());
            if due && silent && gone.is_none() {
                lines.push(format!("{whose}: no byte arrived of {} pages", pages().count()));
            }
            lines.extend(gone);
        }
        lines
    }

    /// Bytes of pages that have arrived.
    pub fn payload_bytes(&self) -> u64 {
        self.users.iter().map(|user| user.received).sum()
    }

    /// The table `pages`.
    pub fn table(&self) -> Table {
        let inside =
            |page: &Page| self.window.as_ref().is_none_or(|window| window.holds(page.start));
        let all = self.users.iter().flat_map(User::numbered);
        let rows: Vec<(&User, u32, &Page)> = all.filter(|(.., page)| inside(page)).collect();
        let maybe = |time: fn(&Page) -> Option<f64>| {
            Column::MaybeF64(rows.iter().map(|(.., page)| time(page)).collect())
        };
        Table {
            name: "pages",
            columns: vec![
                ("web", names(rows.iter().map(|(user, ..)| user.spec.name.as_str()))),
                ("user", Column::U32(rows.iter().map(|(user, ..)| user.number).collect())),
                ("page", Column::U32(rows.iter().map(|(_, number, _)| *number).collect())),
                ("bytes", Column::U64(rows.iter().map(|(.., page)| page.bytes).collect())),
                (
                    "start_s",
                    Column::F64(rows.iter().map(|(.., page)| page.start.seconds()).collect()),
                ),
                ("first_byte_s", maybe(|page| seconds(page.first_byte))),
                ("end_s", maybe(|page| seconds(page.end))),
                ("duration_s", maybe(|page| Some((page.end? - page.start).seconds()))),
            ],
        }
    }
}

impl User {
    /// The next page is asked for. Gives it, or none once the user has stopped.
    pub fn ask(&mut self, now: Time) -> Option<&Page> {
        if self.stopped {
            return None;
        }
        let bytes = self.spec.page.draw(&mut self.lengths);
        self.pages.push(Page { bytes, start: now, first_byte: None, end: None, lost: None });
        self.under_way = true;
        self.pages.last()
    }

    /// Bytes of the page under way arrive.
    pub fn receive(&mut self, now: Time, bytes: u64) {
        self.received += bytes;
        if let Some(page) = self.pages.last_mut() {
            page.first_byte.get_or_insert(now);
        }
    }

    /// All of the page under way has arrived. Gives when the next one is asked for, unless the user has stopped.
    pub fn complete(&mut self, now: Time) -> Option<Time> {
        if let Some(page) = self.pages.last_mut() {
            page.end = Some(now);
        }
        self.read(now)
    }

    /// The page under way lost a connection that had not brought its part: it is given up. Gives when the next one
    /// is asked for, unless the user has stopped.
    pub fn lose(&mut self, now: Time) -> Option<Time> {
        if let Some(page) = self.pages.last_mut() {
            page.lost = Some(now);
        }
        self.read(now)
    }

    /// The user stops. Whether a page is under way, which is given up.
    pub fn stop(&mut self) -> bool {
        self.stopped = true;
        std::mem::take(&mut self.under_way)
    }

    fn read(&mut self, now: Time) -> Option<Time> {
        self.under_way = false;
        let reading = self.spec.reading.draw(&mut self.readings);
        (!self.stopped).then(|| now + reading)
    }

    /// Its pages with their numbers.
    fn numbered(&self) -> impl Iterator<Item = (&Self, u32, &Page)> {
        self.pages.iter().zip(0..).map(move |(page, number)| (self, number, page))
    }
}
