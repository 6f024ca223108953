use super::writing::write;
use super::{App, ConnectionContent, Content, WEB, World};
use crate::kernel::{Application, Event, NO_CLASS, Owner, SocketEvent};
use flashcrowd_base::Time;
use flashcrowd_plan::{Change, Plan, What};
use flashcrowd_workload::{self as workload, Table};

/// Users who fetch pages over fresh connections, in virtual time.
///
/// The server answers without delay and closes after its part.
pub(crate) struct Webs {
    rules: workload::Webs,
    /// Of each user, the connections of the last page, while it is under way.
    fetches: Vec<Fetch>,
}

/// The connections of a page that is under way.
#[derive(Default)]
struct Fetch {
    connections: Vec<Connection>,
    /// How many of them have not brought their part.
    open: u32,
}

/// A connection of a page, both ends.
struct Connection {
    /// The end of the user.
    socket: u32,
    /// The rest that each end has to write.
    request: u64,
    response: u64,
    /// The rest that each end has to read.
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

impl Webs {
    pub(crate) fn new(plan: &Plan, world: &mut World) -> Webs {
        let rules = workload::Webs::new(plan, world.seed);
        let fetches = rules.users.iter().map(|_| Fetch::default()).collect();
        Webs { rules, fetches }
    }

    /// Opens the connections of the next page.
    fn ask(&mut self, world: &mut World, index: u32) {
        let (user, fetch) =
            (&mut self.rules.users[index as usize], &mut self.fetches[index as usize]);
        let connections = user.spec.connections;
        let Some(page) = user.ask(world.now) else { return };
        let parts = page.parts(connections);
        let spec = user.spec.as_ref();
        fetch.connections.clear();
        for (number, response) in (0..).zip(parts) {
            let end = |host, role| Application {
                host,
                transport: spec.transport,
                owner: Owner { app: WEB, role, index, part: part(user, number) },
                workload: user.workload,
                member: user.number,
                class: NO_CLASS,
                captured: None,
                nagle: false,
                low_watermark: 0, // `write` looks for itself.
            };
            fetch.connections.push(Connection {
                socket: world.open(end(spec.from, CLIENT), end(spec.to, SERVER)),
                request: spec.request_bytes,
                response,
                awaited_request: spec.request_bytes,
                awaited_response: response,
            });
        }
        fetch.open = fetch.connections.len() as u32;
    }

    /// The page under way is over, complete or not: closes what is open, and asks for the next one in time.
    fn finish(&mut self, world: &mut World, index: u32, next: Option<Time>) {
        let fetch = &mut self.fetches[index as usize];
        fetch.open = 0;
        for connection in fetch.connections.drain(..) {
            if connection.awaited_response > 0 {
                if let Some(transport) = &mut world.sockets.get_mut(connection.socket).transport {
                    transport.abort(world.now);
                }
                world.close(connection.socket);
            }
        }
        if let Some(next) = next {
            world.schedule(next, WEB, Code::Ask as u8, index);
        }
    }

    fn stop(&mut self, world: &mut World, index: u32) {
        if self.rules.users[index as usize].stop() {
            self.finish(world, index, None);
        }
    }

    /// The connection of this owner, if it is one of the page that is under way.
    fn connection(&mut self, owner: Owner) -> Option<&mut Connection> {
        let number = owner.part.wrapping_sub(part(&self.rules.users[owner.index as usize], 0));
        self.fetches[owner.index as usize].connections.get_mut(number as usize)
    }
}

/// The name of a connection of the present page at its sockets. Those of earlier pages may still be closing, and
/// have other names.
fn part(user: &workload::User, number: u32) -> u32 {
    (user.pages.len() as u32).wrapping_mul(user.spec.connections).wrapping_add(number)
}

impl App for Webs {
    fn begin(&mut self, world: &mut World) {
        for (index, user) in (0..).zip(&self.rules.users) {
            world.schedule(user.start, WEB, Code::Ask as u8, index);
            if let Some(stop) = user.spec.stop_ns {
                world.schedule_stop(Time::START + stop, WEB, Code::Stop as u8, index);
            }
        }
    }

    fn on_event(&mut self, world: &mut World, event: Event) {
        match Code::ALL[usize::from(event.code())] {
            Code::Ask => self.ask(world, event.index()),
            Code::Stop => self.stop(world, event.index()),
        }
    }

    fn on_socket_event(&mut self, world: &mut World, socket: u32, socket_event: SocketEvent) {
        let Owner { role, index, .. } = socket_event.owner;
        let Some(connection) = self.connection(socket_event.owner) else { return };
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
        let (user, fetch) =
            (&mut self.rules.users[index as usize], &mut self.fetches[index as usize]);
        user.receive(world.now, socket_event.bytes);
        if arrived {
            fetch.open -= 1;
            if fetch.open == 0 {
                let next = user.complete(world.now);
                self.finish(world, index, next);
            }
        }
    }

    /// The server closes after its part, which the user has by then, unless the connection failed.
    fn on_closed(&mut self, world: &mut World, _socket: u32, owner: Owner) {
        if self.connection(owner).is_some_and(|it| it.awaited_response > 0) {
            let next = self.rules.users[owner.index as usize].lose(world.now);
            self.finish(world, owner.index, next);
        }
    }

    fn change(&mut self, world: &mut World, change: &Change) {
        if let What::Stop { workload } = change.what {
            let users: Vec<usize> = self.rules.users_of(workload).collect();
            users.into_iter().for_each(|user| self.stop(world, user as u32));
        }
    }

    fn undelivered(&self, world: &World) -> Vec<String> {
        self.rules.undelivered(world.now)
    }

    fn payload_bytes(&self) -> u64 {
        self.rules.payload_bytes()
    }

    /// Each connection asks for a part of its page.
    fn speaks(&self, [client, _]: [Owner; 2]) -> ConnectionContent {
        let user = &self.rules.users[client.index as usize];
        let spec = user.spec.as_ref();
        let (page, number) =
            ((client.part / spec.connections).wrapping_sub(1), client.part % spec.connections);
        let response = user
            .pages
            .get(page as usize)
            .and_then(|page| page.parts(spec.connections).nth(number as usize));
        let Some(response) = response else { return ConnectionContent::lines() };
        let resource = format!("{}/{}/{page}/{number}", spec.name, user.number);
        let request = Content::http_request(&resource, spec.request_bytes);
        ConnectionContent::http([request, Content::http_response(response)])
    }

    fn tables(&self, _world: &World) -> Vec<Table> {
        vec![self.rules.table()]
    }
}
