//! Content servers and their clients: all of all origin workloads.
//!
//! A client opens a connection, asks for one file and gets it over this connection. The server is the machine of
//! `flashcrowd_origin` with a disk in virtual time; what the client's socket takes is what pulls blocks out of it.
//! Visitors are other applications that ask for ranges.

mod client;
mod counts;
mod record;
mod sending;
mod server;
mod visitor;
mod visits;

use super::message::LISTENER;
use super::storage::MAX_READS;
use super::writing::write;
use super::{App, ConnectionContent, Content, ORIGIN, Sample, World};
use crate::kernel::{Application, Event, NO_CLASS, Owner, SocketEvent, other};
use client::{Client, Download};
use flashcrowd_base::{Slab, Time};
use flashcrowd_origin::{Failure, Output, Request};
use flashcrowd_plan::{Change, Plan, Sampled, Source, Visit, What, Windowed, Workload};
use flashcrowd_workload::{self as workload, Table};
use sending::Sending;
use server::Server;
use visitor::{Served, Visitor};

pub(crate) struct Origins<'p> {
    plan: &'p Plan,
    rules: workload::Origins,
    /// By their places in the rules.
    servers: Vec<Server<'p>>,
    /// Of all servers, one server's behind the other's.
    clients: Vec<Client>,
    visitors: Slab<Visitor>,
    /// Clients that are here, by host.
    on_host: Vec<u32>,
}

/// The ends of a connection; [`LISTENER`] is a visitor's end at the server.
const CLIENT: u8 = 0;
const SERVER: u8 = 1;
const VISITOR: u8 = 3;

/// The events of this application.
#[derive(Clone, Copy)]
#[repr(u8)]
enum Code {
    /// A client comes.
    Arrival,
    /// A client leaves, with its file or without it.
    Departure,
    /// A server's disk has answered: [`MAX_READS`] times the server, and the place of the read.
    Read,
    /// A server looks for clients whose sockets accept nothing.
    Patience,
}

impl Code {
    const ALL: [Code; 4] = [Code::Arrival, Code::Departure, Code::Read, Code::Patience];
}

impl<'p> Origins<'p> {
    pub(crate) fn new(plan: &'p Plan, world: &mut World) -> Origins<'p> {
        let mut origins = Origins {
            plan,
            rules: workload::Origins::new(plan, world.seed),
            servers: Vec::new(),
            clients: Vec::new(),
            visitors: Slab::default(),
            on_host: vec![0; plan.network.hosts.len()],
        };
        for (index, workload) in (0u32..).zip(&plan.workloads) {
            let Workload::Origin(spec) = workload else { continue };
            let server = origins.servers.len() as u32;
            for (number, visit) in (0..).zip(origins.rules.origins[server as usize].visits()) {
                let Visit { population, host, file, .. } = visit;
                let download = None;
                origins.clients.push(Client { server, population, host, number, file, download });
            }
            origins.servers.push(Server::new(plan, index, spec));
        }
        origins
    }

    /// A client comes: opens its connection.
    fn arrive(&mut self, world: &mut World, index: u32) {
        let client = &mut self.clients[index as usize];
        let server = &mut self.servers[client.server as usize];
        if !self.rules.origins[client.server as usize].come(world.now, client.number) {
            return;
        }
        self.on_host[client.host as usize] += 1;
        let spec = server.spec;
        let end = |host, role| Application {
            host,
            transport: spec.transport,
            owner: Owner { app: ORIGIN, role, index, part: 0 },
            workload: server.workload,
            member: client.number,
            class: NO_CLASS,
            captured: None,
            nagle: false,
            low_watermark: 0, // `hand_over` looks for itself.
        };
        let socket = world.open(end(client.host, CLIENT), end(spec.host, SERVER));
        let layout = server.layout(client.file);
        client.download = Some(Box::new(Download::new(socket, spec, layout)));
    }

    /// The server's end has something new: perhaps the request, perhaps room.
    fn serve(&mut self, world: &mut World, index: u32, bytes: u64) {
        let client = &mut self.clients[index as usize];
        let Some(download) = client.download.as_deref_mut() else { return };
        let server = &mut self.servers[client.server as usize];
        download.awaited_request = download.awaited_request.saturating_sub(bytes);
        if download.awaited_request > 0 {
            return;
        }
        if !download.asked {
            download.asked = true;
            let in_order = server.spec.populations[client.population as usize].in_order;
            let request = Request { ranges: None, in_order };
            let id =
                server.storage.machine.join(world.now, server.files[client.file as usize], request);
            server.note(id, Served::Client(index));
            server.downloads[client.file as usize] += 1;
            download.sending.id = Some(id);
            download.sending.begin(server.spec.head_bytes);
        }
        let place = client.server;
        if self.hand_over(world, Served::Client(index)) {
            self.work(world, place);
        }
    }

    /// Writes what the socket takes of what was handed over for it. When little of that has still to be sent, there is
    /// room for the next block. Returns whether anything was reported to the server's machine.
    fn hand_over(&mut self, world: &mut World, to: Served) -> bool {
        match to {
            Served::Client(index) => {
                let client = &mut self.clients[index as usize];
                let Some(download) = client.download.as_deref_mut() else { return false };
                let server = &mut self.servers[client.server as usize];
                let (heard, whole) = write_block(world, server, &mut download.sending);
                if whole {
                    download.sent();
                }
                heard
            }
            Served::Visitor(number) => {
                let Some(visitor) = self.visitors.get_mut(number) else { return false };
                let server = &mut self.servers[visitor.server as usize];
                write_block(world, server, &mut visitor.sending).0
            }
        }
    }

    /// Does what a server's machine asks for, until there is nothing.
    fn work(&mut self, world: &mut World, place: u32) {
        loop {
            while let Some(output) = self.servers[place as usize].storage.machine.poll() {
                self.put_out(world, place, output);
            }
            let Some(to) = self.servers[place as usize].handed.pop_front() else { break };
            self.hand_over(world, to);
        }
        let server = &mut self.servers[place as usize];
        let deadline = server.storage.machine.deadline();
        if deadline < server.armed {
            server.armed = deadline;
            world.schedule(deadline, ORIGIN, Code::Patience as u8, place);
        }
    }

    fn put_out(&mut self, world: &mut World, place: u32, output: Output) {
        let server = &mut self.servers[place as usize];
        match output {
            Output::Read { read, file, offset, length, .. } => {
                let (done, number) = server.read(world.now, read, file, (offset, length));
                let event = place * MAX_READS + number;
                world.schedule(done, ORIGIN, Code::Read as u8, event);
            }
            Output::Send { client, file, offset, length, .. } => {
                let to = server.client(client);
                let block = (offset >> server.spec.settings.block_bytes.trailing_zeros()) as u32;
                let length = u64::from(length);
                let (sending, cut, part) = match to {
                    Served::Client(index) => {
                        let client = &mut self.clients[index as usize];
                        let part = server.part_bytes(client);
                        (client.download.as_deref_mut().map(|it| &mut it.sending), 0, part)
                    }
                    Served::Visitor(number) => {
                        let visitor = self.visitors.get_mut(number);
                        let (before, behind) =
                            visitor.as_ref().map_or((0, 0), |it| it.cut(offset, length));
                        (visitor.map(|it| &mut it.sending), before + behind, 0)
                    }
                };
                server.sent[file.number()] += length - cut;
                if let Some(sending) = sending {
                    sending.hand(block, length, cut, part);
                    server.handed.push_back(to);
                }
            }
            Output::Done { client } => match server.client(client) {
                Served::Client(index) => {
                    let Some(download) = self.clients[index as usize].download.as_deref_mut()
                    else {
                        return;
                    };
                    download.sending.id = None;
                    let socket = download.sending.socket;
                    if let Some(transport) = &mut world.sockets.get_mut(socket).transport {
                        transport.close(world.now);
                    }
                    world.flush(socket);
                }
                Served::Visitor(number) => self.answered(world, number),
            },
            Output::Failed { client, failure } => {
                debug_assert_eq!(failure, Failure::Stalled, "files stay, and disks read");
                match server.client(client) {
                    Served::Client(index) => {
                        if let Some(download) = self.clients[index as usize].download.as_deref_mut()
                        {
                            download.sending.id = None;
                        }
                        self.lose(world, index);
                    }
                    Served::Visitor(number) => self.dismiss(world, number),
                }
            }
        }
    }

    /// A read is done.
    fn complete_read(&mut self, world: &mut World, event: u32) {
        let (place, number) = (event / MAX_READS, event % MAX_READS);
        self.servers[place as usize].storage.completed(world.now, number);
        self.work(world, place);
    }

    /// Something has come at a client.
    fn receive(&mut self, world: &mut World, index: u32, bytes: u64) {
        let download = self.clients[index as usize].download.as_deref_mut();
        if download.is_some_and(|it| it.receive(bytes)) {
            self.take_blocks(world, index);
        }
    }

    /// Blocks have become whole at a client. Not inlined: most packets bring none.
    #[inline(never)]
    fn take_blocks(&mut self, world: &mut World, index: u32) {
        let client = &mut self.clients[index as usize];
        let Some(download) = client.download.as_deref_mut() else { return };
        let layout = self.servers[client.server as usize].layout(client.file);
        let rules = &mut self.rules.origins[client.server as usize];
        let mut is_whole = false;
        while let Some(block) = download.next_whole() {
            is_whole = rules.receive(world.now, client.number, layout.block_bytes(block));
        }
        if is_whole {
            client.download = None;
            self.on_host[client.host as usize] -= 1;
            world.something_ended = true;
        }
    }

    /// The connection of a client that has left is given up by both ends.
    fn give_up(&mut self, world: &mut World, index: u32) {
        let client = &mut self.clients[index as usize];
        let Some(download) = client.download.take() else { return };
        if let Some(id) = download.sending.id {
            self.servers[client.server as usize].storage.machine.leave(world.now, id);
        }
        for socket in [download.socket, other(download.socket)] {
            if let Some(transport) = &mut world.sockets.get_mut(socket).transport {
                transport.abort(world.now);
            }
            world.close(socket);
        }
        self.on_host[client.host as usize] -= 1;
        world.something_ended = true;
    }

    /// A client's connection has failed, or was closed by the server.
    fn lose(&mut self, world: &mut World, index: u32) {
        let Client { server, number, .. } = self.clients[index as usize];
        self.rules.origins[server as usize].lose(world.now, number);
        self.give_up(world, index);
    }

    /// A client leaves without its file.
    fn depart(&mut self, world: &mut World, index: u32) {
        let Client { server: place, number, .. } = self.clients[index as usize];
        self.rules.origins[place as usize].leave(world.now, number);
        self.give_up(world, index);
        self.work(world, place);
    }

    fn stop(&mut self, world: &mut World, place: u32) {
        self.rules.origins[place as usize].stop(world.now);
        for index in 0..self.clients.len() as u32 {
            if self.clients[index as usize].server == place {
                self.give_up(world, index);
            }
        }
        self.dismiss_all(world, place);
        self.work(world, place);
        world.something_ended = true;
    }
}

/// Writes what a socket takes of heads and of the block behind them, and reports it to the server's machine, also that there
/// is room for the next one. Returns whether anything was reported, and whether the block is written to its end.
fn write_block(world: &mut World, server: &mut Server<'_>, sending: &mut Sending) -> (bool, bool) {
    let Some(id) = sending.id else { return (false, false) };
    if sending.waits && sending.is_written() {
        return (false, false);
    }
    let socket = sending.socket;
    let end = world.sockets.get(socket);
    let Some(transport) = end.transport.as_ref().filter(|_| end.connected_reported) else {
        return (false, false);
    };
    let (written, block) = sending.take(transport.write_space());
    if written > 0 {
        world.sockets.write(socket, world.now, written, None);
        server.storage.machine.accepted(world.now, id, block as u32);
        // What a write can send at once is sent before it returns, as by Linux, and is unsent no more.
        world.flush(socket);
    }
    let may_hold = server.spec.unsent_bytes;
    let transport = world.sockets.get(socket).transport.as_ref();
    let room = sending.is_written()
        && !sending.waits
        && transport.is_some_and(|it| it.unsent() < may_hold);
    if room {
        sending.waits = true;
        server.storage.machine.writable(world.now, id);
    }
    (room || block > 0, block > 0 && sending.last().is_some())
}

impl App for Origins<'_> {
    fn begin(&mut self, world: &mut World) {
        let mut index = 0;
        for origin in &self.rules.origins {
            for visit in origin.visits() {
                world.schedule(Time::START + visit.at, ORIGIN, Code::Arrival as u8, index);
                if let Some(leave) = visit.leave {
                    // Who leaves at once comes first.
                    let schedule =
                        if leave > visit.at { World::schedule_stop } else { World::schedule };
                    schedule(world, Time::START + leave, ORIGIN, Code::Departure as u8, index);
                }
                index += 1;
            }
        }
    }

    fn on_event(&mut self, world: &mut World, event: Event) {
        match Code::ALL[usize::from(event.code())] {
            Code::Arrival => self.arrive(world, event.index()),
            Code::Departure => self.depart(world, event.index()),
            Code::Read => self.complete_read(world, event.index()),
            Code::Patience => {
                let server = &mut self.servers[event.index() as usize];
                server.armed = Time::NEVER;
                server.storage.machine.elapsed(world.now);
                self.work(world, event.index());
            }
        }
    }

    fn accept(&mut self, _world: &mut World, owner: Owner, socket: u32) -> Option<Owner> {
        if owner.role == LISTENER { self.admit(owner.index, socket) } else { Some(owner) }
    }

    fn on_socket_event(&mut self, world: &mut World, socket: u32, socket_event: SocketEvent) {
        let index = socket_event.owner.index;
        match socket_event.owner.role {
            SERVER => return self.serve(world, index, socket_event.bytes),
            VISITOR => return self.attend(world, index, socket),
            _ => {}
        }
        if let Some(download) = self.clients[index as usize].download.as_deref_mut() {
            write(world, socket, &mut download.request, false);
        }
        if socket_event.bytes > 0 {
            self.receive(world, index, socket_event.bytes);
        }
    }

    /// The server closes after the last block, which the client has by then, unless the connection failed.
    fn on_closed(&mut self, world: &mut World, _socket: u32, owner: Owner) {
        match owner.role {
            VISITOR => self.lose_visitor(world, owner.index),
            LISTENER => {}
            _ => {
                let place = self.clients[owner.index as usize].server;
                self.lose(world, owner.index);
                self.work(world, place);
            }
        }
    }

    fn change(&mut self, world: &mut World, change: &Change) {
        if let What::Stop { workload } = change.what
            && let Some(place) = self.rules.place_of(workload)
        {
            self.stop(world, place as u32);
        }
    }

    fn mark(&mut self, world: &World, table: Windowed, begins: bool) {
        if table == Windowed::Origins {
            for server in &mut self.servers {
                server.counted.mark(begins, server.counts(world.now));
            }
        }
    }

    fn is_finite(&self) -> bool {
        !self.servers.is_empty()
    }
    fn is_done(&self) -> bool {
        self.rules.is_done()
    }

    fn unfinished(&self) -> Vec<String> {
        self.rules.unfinished()
    }
    fn undelivered(&self, world: &World) -> Vec<String> {
        self.rules.undelivered(world.now, world.outcome.as_ref())
    }
    fn progress(&self, _world: &World) -> f64 {
        self.rules.progress()
    }
    fn stall(&mut self, world: &World) -> Option<String> {
        self.rules.stalled(world.now)
    }
    fn payload_bytes(&self) -> u64 {
        self.rules.payload_bytes()
    }

    fn sample(&self, _world: &World, what: Sampled) -> Vec<(u32, Sample)> {
        let places = (0u32..).zip(&self.servers);
        places.filter_map(|(place, it)| Some((place, self.level(place, it, what)?))).collect()
    }

    fn source_name(&self, what: Sampled, source: u32) -> Option<String> {
        let server =
            self.servers.get(source as usize).filter(|_| what.source() == Source::Origins)?;
        Some(server.spec.name.clone())
    }

    fn is_on(&self, host: u32) -> bool {
        self.on_host[host as usize] > 0
    }

    fn speaks(&self, [owner, _]: [Owner; 2]) -> ConnectionContent {
        let client = &self.clients[owner.index as usize];
        let spec = self.servers[client.server as usize].spec;
        let resource = format!("{}/{}", spec.name, client.file);
        let request = Content::http_request(&resource, spec.request_bytes);
        let answer = Content::http_response(spec.head_bytes + spec.files.size_bytes);
        ConnectionContent::http([request, answer])
    }

    fn tables(&self, world: &World) -> Vec<Table> {
        let done = self.done(world.now);
        let files = self.origin_files(&done);
        let counts = done.into_iter().map(|it| (it.from.all, it.to.all)).collect();
        let [downloads, origins] = self.rules.tables(self.plan, 0..self.servers.len(), counts);
        vec![downloads, origins, files]
    }
}

#[cfg(test)]
impl Origins<'_> {
    /// Whether the servers have done all that their machines have asked for.
    pub(crate) fn is_settled(&mut self) -> bool {
        let settled =
            |it: &mut Server<'_>| it.handed.is_empty() && it.storage.machine.poll().is_none();
        self.servers.iter_mut().all(settled)
    }
}
