use super::writing::write;
use super::{App, ConnectionContent, Content, WEB, World};
use crate::kernel::{Application, Event, NO_CLASS, Owner, SocketEvent};
use flashcrowd_base::{RandomStream, Span, Time};
use flashcrowd_plan::{self as plan, Change, Plan, What, Window, Windowed, Workload};
use flashcrowd_workload::{Column, Table, names, seconds};
use flashcrowd_workload::{is_due, lost};

/// Users who fetch pages over fresh connections: all of all web workloads.
///
/// A page opens its connections at once, and each asks for an equal part of it. The server answers
/// without delay and closes after its part. A page that fails is given up; its user reads on.
pub(crate) struct Webs<'p> {
    users: Vec<User<'p>>,
    /// Pages requested outside of it are not recorded.
    window: Option<&'p Window>,
}

/// A user fetches a page, reads for a while, and fetches the next one.
struct User<'p> {
    /// Index among the plan's workloads.
    workload: u32,
    spec: &'p plan::Web,
    /// Its number in the workload.
    number: u32,
    /// Lengths of pages and times of reading come from streams of their own, so that the third page
    /// of a user has the same length however long the first two took.
    lengths: RandomStream,
    readings: RandomStream,
    stopped: bool,
    pages: Vec<Page>,
    /// The connections of the last page, while it is under way.
    connections: Vec<Connection>,
    /// How many of them have not brought their part.
    open: u32,
    received: u64,
}

/// What is recorded of a page.
struct Page {
    bytes: u64,
    start: Time,
    first_byte: Option<Time>,
    end: Option<Time>,
    /// When it lost a connection that had not brought its part.
    lost: Option<Time>,
}

/// A connection of a page, both ends.
struct Connection {
    /// The end of the user.
    socket: u32,
    /// What each end still has to write.
    request: u64,
    response: u64,
    /// What each end still has to read.
    awaited_request: u64,
    awaited_response: u64,
}

/// The ends of a connection.
const CLIENT: u8 = 0;
const SERVER: u8 = 1;

/// The events of this application.
#[derive(Clone, Copy)]
#[repr(u8)]
enum Code {
    /// A user asks for the next page.
    Ask,
    /// A user stops.
    Stop,
}

impl Code {
    const ALL: [Code; 2] = [Code::Ask, Code::Stop];
}

impl<'p> Webs<'p> {
    pub(crate) fn new(plan: &'p Plan, world: &mut World) -> Webs<'p> {
        let mut users = Vec::new();
        for (index, workload) in plan.workloads.iter().enumerate() {
            let Workload::Web(spec) = workload else { continue };
            for number in 0..spec.users {
                let stream = (index as u64) << 32 | u64::from(number);
                users.push(User {
                    workload: index as u32,
                    spec,
                    number,
                    lengths: RandomStream::new(world.seed, "page-lengths", stream),
                    readings: RandomStream::new(world.seed, "page-readings", stream),
                    stopped: false,
                    pages: Vec::new(),
                    connections: Vec::new(),
                    open: 0,
                    received: 0,
                });
            }
        }
        Webs { users, window: plan.measures.window(Windowed::Pages) }
    }

    /// Opens the connections of the next page.
    fn ask(&mut self, world: &mut World, index: u32) {
        let user = &mut self.users[index as usize];
        if user.stopped {
            return;
        }
        let spec = user.spec;
        let bytes = spec.page.draw(&mut user.lengths);
        user.pages.push(Page { bytes, start: world.now, first_byte: None, end: None, lost: None });
        user.connections.clear();
        // A page of fewer bytes than connections needs no more of them than it has bytes.
        let count = u64::from(spec.connections).min(bytes);
        user.open = count as u32;
        for number in 0..count {
            let part = user.part(number as u32);
            let end = |host, role| Application {
                host,
                transport: spec.transport,
                owner: Owner { app: WEB, role, index, part },
                workload: user.workload,
                member: user.number,
                class: NO_CLASS,
                captured: None,
                nagle: false,
                low_watermark: 0, // `write` looks for itself.
            };
            let response = share(bytes, count, number);
            user.connections.push(Connection {
                socket: world.open(end(spec.from, CLIENT), end(spec.to, SERVER)),
                request: spec.request_bytes,
                response,
                awaited_request: spec.request_bytes,
                awaited_response: response,
            });
        }
    }

    /// The page under way is over, complete or not: closes what is open, and reads.
    fn finish(&mut self, world: &mut World, index: u32, complete: bool) {
        let user = &mut self.users[index as usize];
        user.open = 0;
        if complete && let Some(page) = user.pages.last_mut() {
            page.end = Some(world.now);
        }
        for connection in user.connections.drain(..) {
            if connection.awaited_response > 0 {
                if let Some(transport) = &mut world.sockets.get_mut(connection.socket).transport {
                    transport.abort(world.now);
                }
                world.close(connection.socket);
            }
        }
        let reading = user.spec.reading.draw(&mut user.readings);
        if !user.stopped {
            world.schedule(world.now + reading, WEB, Code::Ask as u8, index);
        }
    }

    fn stop(&mut self, world: &mut World, index: u32) {
        let user = &mut self.users[index as usize];
        user.stopped = true;
        if user.open > 0 {
            self.finish(world, index, false);
        }
    }
}

impl User<'_> {
    /// Its pages with their numbers.
    fn numbered(&self) -> impl Iterator<Item = (&Self, u32, &Page)> {
        self.pages.iter().zip(0..).map(move |(page, number)| (self, number, page))
    }

    /// What a connection of the present page is called at its sockets. Those of earlier pages may
    /// still be closing, and are called otherwise.
    fn part(&self, number: u32) -> u32 {
        (self.pages.len() as u32).wrapping_mul(self.spec.connections).wrapping_add(number)
    }

    /// The connection of this name, if it is one of the page that is under way.
    fn connection(&mut self, part: u32) -> Option<&mut Connection> {
        let number = part.wrapping_sub(self.part(0));
        self.connections.get_mut(number as usize)
    }
}

/// How many of a page's bytes the connection of this number brings.
fn share(bytes: u64, connections: u64, number: u64) -> u64 {
    bytes / connections + u64::from(number < bytes % connections)
}

impl App for Webs<'_> {
    fn begin(&mut self, world: &mut World) {
        for (index, user) in self.users.iter_mut().enumerate() {
            let late = user.readings.between(Span::ZERO, user.spec.spread_ns);
            let start = Time::START + user.spec.start_ns + late;
            world.schedule(start, WEB, Code::Ask as u8, index as u32);
            if let Some(stop) = user.spec.stop_ns {
                world.schedule(Time::START + stop, WEB, Code::Stop as u8, index as u32);
            }
        }
    }

    fn on_event(&mut self, world: &mut World, event: Event) {
        match Code::ALL[usize::from(event.code)] {
            Code::Ask => self.ask(world, event.index),
            Code::Stop => self.stop(world, event.index),
        }
    }

    fn on_socket_event(&mut self, world: &mut World, socket: u32, socket_event: SocketEvent) {
        let Owner { role, index, part, .. } = socket_event.owner;
        let user = &mut self.users[index as usize];
        let Some(connection) = user.connection(part) else { return };
        if role == SERVER {
            connection.awaited_request =
                connection.awaited_request.saturating_sub(socket_event.bytes);
            if connection.awaited_request == 0 {
                write(world, socket, &mut connection.response, true);
            }
            return;
        }
        write(world, socket, &mut connection.request, false);
        if socket_event.bytes == 0 {
            return;
        }
        connection.awaited_response =
            connection.awaited_response.saturating_sub(socket_event.bytes);
        let arrived = connection.awaited_response == 0;
        user.received += socket_event.bytes;
        if let Some(page) = user.pages.last_mut() {
            page.first_byte.get_or_insert(world.now);
        }
        if arrived {
            user.open -= 1;
            if user.open == 0 {
                self.finish(world, index, true);
            }
        }
    }

    /// The server closes after its part, which the user has by then, unless the connection failed.
    fn on_closed(&mut self, world: &mut World, _socket: u32, owner: Owner) {
        let user = &mut self.users[owner.index as usize];
        let failed = user.connection(owner.part).is_some_and(|it| it.awaited_response > 0);
        if failed {
            if let Some(page) = user.pages.last_mut() {
                page.lost = Some(world.now);
            }
            self.finish(world, owner.index, false);
        }
    }

    fn change(&mut self, world: &mut World, change: &Change) {
        if let What::Stop { workload } = change.what {
            for index in 0..self.users.len() {
                if self.users[index].workload == workload {
                    self.stop(world, index as u32);
                }
            }
        }
    }

    fn undelivered(&self, world: &World) -> Vec<String> {
        let mut lines = Vec::new();
        for users in self.users.chunk_by(|one, next| one.workload == next.workload) {
            let whose = format!("web {}", users[0].spec.name);
            let pages = || users.iter().flat_map(User::numbered);
            let gone = pages().filter_map(|(user, number, page)| {
                let at = page.lost?.seconds();
                Some(format!("page {number} of user {} at {at:.1} s", user.number))
            });
            let gone = lost(&whose, pages().count(), "pages", gone);
            let due = pages().any(|(.., page)| is_due(page.start, world.now));
            let silent = pages().all(|(.., page)| page.first_byte.is_none());
            if due && silent && gone.is_none() {
                lines.push(format!("{whose}: no byte arrived of {} pages", pages().count()));
            }
            lines.extend(gone);
        }
        lines
    }

    fn payload_bytes(&self) -> u64 {
        self.users.iter().map(|user| user.received).sum()
    }

    /// Each connection asks for a part of its page.
    fn speaks(&self, [client, _]: [Owner; 2]) -> ConnectionContent {
        let user = &self.users[client.index as usize];
        let (connections, number) = (user.spec.connections, client.part % user.spec.connections);
        let page = (client.part / connections).wrapping_sub(1);
        let Some(bytes) = user.pages.get(page as usize).map(|page| page.bytes) else {
            return ConnectionContent::lines();
        };
        let response = share(bytes, u64::from(connections).min(bytes), u64::from(number));
        let resource = format!("{}/{}/{page}/{number}", user.spec.name, user.number);
        let request = Content::http_request(&resource, user.spec.request_bytes);
        ConnectionContent::http([request, Content::http_response(response)])
    }

    fn tables(&self, _world: &World) -> Vec<Table> {
        let inside = |page: &Page| self.window.is_none_or(|window| window.holds(page.start));
        let all = self.users.iter().flat_map(User::numbered);
        let rows: Vec<(&User<'_>, u32, &Page)> = all.filter(|(.., page)| inside(page)).collect();
        let maybe = |time: fn(&Page) -> Option<f64>| {
            Column::MaybeF64(rows.iter().map(|(.., page)| time(page)).collect())
        };
        vec![Table {
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
        }]
    }
}
