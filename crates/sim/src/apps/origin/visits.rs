//! Visitors: connections of other applications, on which ranges of files are asked for.

use super::*;
use crate::apps::Message;
use std::slice;

impl Origins<'_> {
    /// A peer of another workload connects to the server of this one; refused if the server was stopped.
    pub(super) fn admit(&mut self, workload: u32, socket: u32) -> Option<Owner> {
        let place = self.servers.iter().position(|server| server.workload == workload)?;
        if self.rules.origins[place].is_stopped() {
            return None;
        }
        let index = self.visitors.insert(Visitor::new(place as u32, socket));
        Some(Owner { app: ORIGIN, role: VISITOR, index, part: 0 })
    }

    /// Something is new at the server's end of a visitor's connection: perhaps requests, perhaps room.
    pub(super) fn attend(&mut self, world: &mut World, number: u32, socket: u32) {
        let Some(visitor) = self.visitors.get_mut(number) else { return };
        let place = visitor.server;
        while let Some(message) = world.sockets.next_message(socket) {
            let Message::Get(range) = message else { continue };
            visitor.requests.push_back(range);
            if visitor.requests.len() == 1 {
                self.servers[place as usize].answer(world.now, number, visitor);
            }
        }
        if self.hand_over(world, Served::Visitor(number)) {
            self.work(world, place);
        }
    }

    /// The socket has accepted the last byte of an answer: the next one follows.
    pub(super) fn answered(&mut self, world: &mut World, number: u32) {
        let Some(visitor) = self.visitors.get_mut(number) else { return };
        visitor.sending.id = None;
        visitor.requests.pop_front();
        let server = &mut self.servers[visitor.server as usize];
        if !visitor.requests.is_empty() {
            server.answer(world.now, number, visitor);
            server.handed.push_back(Served::Visitor(number));
        }
    }

    /// A visitor's connection is no more.
    pub(super) fn lose_visitor(&mut self, world: &mut World, number: u32) {
        let Some(visitor) = self.forget(world.now, number) else { return };
        self.work(world, visitor.server);
    }

    /// A visitor is taken out, and what its server's machine was to answer with it.
    fn forget(&mut self, now: Time, number: u32) -> Option<Visitor> {
        let visitor = self.visitors.remove(number)?;
        if let Some(id) = visitor.sending.id {
            self.servers[visitor.server as usize].storage.machine.leave(now, id);
        }
        Some(visitor)
    }

    /// The server closes a visitor's connection.
    pub(super) fn dismiss(&mut self, world: &mut World, number: u32) {
        let Some(visitor) = self.forget(world.now, number) else { return };
        let socket = visitor.sending.socket;
        if let Some(transport) = &mut world.sockets.get_mut(socket).transport {
            transport.abort(world.now);
        }
        world.close(socket);
    }

    /// The server closes the connections of all of its visitors.
    pub(super) fn dismiss_all(&mut self, world: &mut World, place: u32) {
        let visitors = self.visitors.iter_mut().filter(|(_, it)| it.server == place);
        let numbers: Vec<u32> = visitors.map(|(number, _)| number).collect();
        numbers.into_iter().for_each(|number| self.dismiss(world, number));
    }
}

impl Server<'_> {
    /// The answer to a visitor's first request begins.
    fn answer(&mut self, now: Time, number: u32, visitor: &mut Visitor) {
        let Some(range) = visitor.requests.front() else { return };
        let asked = range.begin..range.end();
        let request = Request { ranges: Some(slice::from_ref(&asked)), in_order: true };
        let Some(file) = self.files.get(range.file as usize) else { return };
        let id = self.storage.machine.join(now, *file, request);
        self.note(id, Served::Visitor(number));
        visitor.sending.id = Some(id);
        visitor.sending.begin(self.spec.head_bytes);
    }
}
