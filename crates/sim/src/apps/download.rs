use super::writing::write;
use super::{App, DOWNLOAD, World};
use crate::kernel::{Application, Event, NO_CLASS, Owner, SocketEvent};
use flashcrowd_base::Time;
use flashcrowd_plan::{Change, Plan, What};
use flashcrowd_workload::{self as workload, Came, Ended, Request, Table};

/// Downloads over several connections, in virtual time.
///
/// A server answers without delay, and keeps its connections open.
pub(crate) struct Downloads<'p> {
    plan: &'p Plan,
    rules: workload::Downloads,
    /// Of each download, its connections by number.
    connections: Vec<Vec<Connection>>,
}

/// A connection of a download, both ends.
#[derive(Clone, Default)]
struct Connection {
    /// The end of the host that downloads, while it is open.
    socket: Option<u32>,
    /// How often it was opened: sockets that are still closing belong to an earlier time.
    opened: u32,
    /// The rest that each end has to write.
    request: u64,
    response: u64,
    /// The rest that the server has to read.
    awaited_request: u64,
}

/// The ends of a connection.
const CLIENT: u8 = 0;
const SERVER: u8 = 1;

/// The events of this application.
#[derive(Clone, Copy)]
#[repr(u8)]
enum Code {
    /// A download starts.
    Start,
    /// A download stops, whole or not.
    Stop,
}

impl Code {
    const ALL: [Code; 2] = [Code::Start, Code::Stop];
}

impl<'p> Downloads<'p> {
    pub(crate) fn new(plan: &'p Plan, world: &mut World) -> Downloads<'p> {
        let rules = workload::Downloads::new(plan, world.seed);
        let count =
            |it: &workload::Download| vec![Connection::default(); it.spec.connections as usize];
        let connections = rules.downloads.iter().map(count).collect();
        Downloads { plan, rules, connections }
    }

    /// Sends every request that is due.
    fn request(&mut self, world: &mut World, index: u32) {
        let download = &mut self.rules.downloads[index as usize];
        while let Some(Request { connection, server, opens, answer }) =
            download.next_request(world.now)
        {
            let spec = download.spec.as_ref();
            let ends = &mut self.connections[index as usize][connection as usize];
            ends.request = spec.request_bytes;
            ends.awaited_request = spec.request_bytes;
            ends.response = answer;
            if opens {
                ends.opened += 1;
                let part = part(connection, ends.opened);
                let end = |host, role| Application {
                    host,
                    transport: spec.transport,
                    owner: Owner { app: DOWNLOAD, role, index, part },
                    workload: download.workload,
                    member: connection,
                    class: NO_CLASS,
                    captured: None,
                    nagle: false,
                    low_watermark: 0, // `write` looks for itself.
                };
                ends.socket = Some(world.open(end(spec.to, CLIENT), end(server, SERVER)));
            } else if let Some(socket) = ends.socket {
                write(world, socket, &mut ends.request, false);
            }
        }
    }

    /// Closes a connection, if it is open; one that waits for an answer is reset.
    fn close(&mut self, world: &mut World, index: u32, connection: u32, resets: bool) {
        let ends = &mut self.connections[index as usize][connection as usize];
        let Some(socket) = ends.socket.take() else { return };
        if resets && let Some(transport) = &mut world.sockets.get_mut(socket).transport {
            transport.abort(world.now);
        }
        world.close(socket);
    }

    /// A download is over: closes what is open.
    fn finish(&mut self, world: &mut World, index: u32, resets: bool) {
        for connection in 0..self.connections[index as usize].len() as u32 {
            self.close(world, index, connection, resets);
        }
        world.something_ended = true;
    }

    fn stop(&mut self, world: &mut World, index: u32) {
        if self.rules.downloads[index as usize].end(world.now, Ended::Stopped) {
            self.finish(world, index, true);
        }
    }

    /// The number of the connection of this owner, if it is still open.
    fn connection(&self, owner: Owner) -> Option<u32> {
        let connections = &self.connections[owner.index as usize];
        let number = owner.part % PARTS;
        let ends = connections.get(number as usize)?;
        (ends.socket.is_some() && part(number, ends.opened) == owner.part).then_some(number)
    }
}

/// More than any download has connections.
const PARTS: u32 = 128;

/// The name of a connection at its sockets.
fn part(connection: u32, opened: u32) -> u32 {
    opened.wrapping_mul(PARTS).wrapping_add(connection)
}

impl App for Downloads<'_> {
    fn begin(&mut self, world: &mut World) {
        for (index, download) in (0..).zip(&self.rules.downloads) {
            world.schedule(download.start, DOWNLOAD, Code::Start as u8, index);
            if let Some(stop) = download.spec.stop_ns {
                world.schedule_stop(Time::START + stop, DOWNLOAD, Code::Stop as u8, index);
            }
        }
    }

    fn on_event(&mut self, world: &mut World, event: Event) {
        match Code::ALL[usize::from(event.code())] {
            Code::Start => {
                self.rules.downloads[event.index() as usize].begin(world.now);
                self.request(world, event.index());
            }
            Code::Stop => self.stop(world, event.index()),
        }
    }

    fn on_socket_event(&mut self, world: &mut World, socket: u32, socket_event: SocketEvent) {
        let Owner { role, index, .. } = socket_event.owner;
        let Some(number) = self.connection(socket_event.owner) else { return };
        let ends = &mut self.connections[index as usize][number as usize];
        if role == SERVER {
            ends.awaited_request = ends.awaited_request.saturating_sub(socket_event.bytes);
            if ends.awaited_request == 0 {
                write(world, socket, &mut ends.response, false);
            }
            return;
        }
        write(world, socket, &mut ends.request, false);
        if socket_event.bytes == 0 {
            return;
        }
        let download = &mut self.rules.downloads[index as usize];
        let came = download.receive(world.now, number, socket_event.bytes);
        if came == Came::Cut {
            self.close(world, index, number, true);
        }
        if !self.rules.downloads[index as usize].is_under_way() {
            self.finish(world, index, false);
        } else {
            self.request(world, index);
        }
    }

    /// The download is over for the connections that its host closes, so that the connection failed.
    fn on_closed(&mut self, world: &mut World, _socket: u32, owner: Owner) {
        let Some(number) = self.connection(owner) else { return };
        self.close(world, owner.index, number, true);
        let download = &mut self.rules.downloads[owner.index as usize];
        download.lose(world.now, number);
        if download.is_under_way() {
            self.request(world, owner.index);
        } else {
            self.finish(world, owner.index, true);
        }
    }

    fn change(&mut self, world: &mut World, change: &Change) {
        if let What::Stop { workload } = change.what
            && let Some(place) = self.rules.place_of(workload)
        {
            self.stop(world, place as u32);
        }
    }

    fn is_finite(&self) -> bool {
        !self.rules.downloads.is_empty()
    }
    fn is_done(&self) -> bool {
        self.rules.is_done()
    }
    fn unfinished(&self) -> Vec<String> {
        self.rules.unfinished()
    }
    fn progress(&self, _world: &World) -> f64 {
        self.rules.progress()
    }
    fn undelivered(&self, world: &World) -> Vec<String> {
        self.rules.undelivered(world.now)
    }
    fn payload_bytes(&self) -> u64 {
        self.rules.payload_bytes()
    }
    fn tables(&self, _world: &World) -> Vec<Table> {
        self.rules.tables(self.plan)
    }
}
