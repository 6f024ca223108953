//! Connections of peers to their web seeds (BEP 19): content servers of the plan, which know nothing of swarms.
//!
//! A peer asks for ranges of a file, as any HTTP client may, several at once on one connection; the answers come one behind
//! the other, each a head and the range.

use super::*;
use crate::apps::RangeRequest;
use crate::apps::message::content_server;
use crate::kernel::NO_CLASS;
use flashcrowd_workload::{Column, names};
use std::collections::VecDeque;

/// A peer's connection to one of its web seeds.
pub(super) struct WebSeedLink {
    socket: u32,
    /// Requests that are to be written, those that are not answered to the end, and what still lacks of the first answer: of
    /// its head, and of its range.
    unsent: VecDeque<RangeRequest>,
    unanswered: VecDeque<u32>,
    head: u64,
    range: u64,
}

impl WebSeedLink {
    const NONE: WebSeedLink = WebSeedLink {
        socket: NO_SOCKET,
        unsent: VecDeque::new(),
        unanswered: VecDeque::new(),
        head: 0,
        range: 0,
    };

    /// `bytes` bytes of answers, each with a head of `head_bytes`, have come; how many of them are of ranges.
    fn receive(&mut self, mut bytes: u64, head_bytes: u64) -> u64 {
        let mut payload = 0;
        while bytes > 0 {
            if self.head + self.range == 0 {
                let Some(length) = self.unanswered.pop_front() else { break };
                (self.head, self.range) = (head_bytes, u64::from(length));
            }
            let head = bytes.min(self.head);
            let range = (bytes - head).min(self.range);
            self.head -= head;
            self.range -= range;
            bytes -= head + range;
            payload += range;
        }
        payload
    }
}

impl Peer {
    /// The bytes of each of its web seeds.
    pub(super) fn brought(&self) -> Vec<FromWebSeed> {
        let Some(machine) = &self.machine else { return self.last_brought.clone() };
        (0..).map_while(|seed| machine.from_web_seed(seed)).collect()
    }
}

impl Swarms<'_> {
    /// The server behind a web seed of a swarm: which workload it is, the number of the file, and what it is.
    fn web_seed(&self, swarm: u32, seed: u32) -> Option<(plan::WebSeed, &plan::Origin)> {
        let web_seed = *self.spec(swarm)?.web_seeds.get(seed as usize)?;
        match &self.plan.workloads[web_seed.origin as usize] {
            Workload::Origin(origin) => Some((web_seed, origin)),
            _ => None,
        }
    }

    fn link(&mut self, peer: u32, seed: u32) -> Option<&mut WebSeedLink> {
        self.peers[peer as usize].web_seeds.get_mut(seed as usize)
    }

    /// A peer connects to a web seed.
    #[cold]
    pub(super) fn join_web_seed(&mut self, world: &mut World, peer: u32, seed: u32) {
        let state = self.rules.peer(peer);
        let Some((web_seed, origin)) = self.web_seed(state.swarm, seed) else { return };
        let workload = self.rules.swarm(state.swarm).workload;
        let end = |host, owner, workload, nagle| Application {
            host,
            transport: origin.transport,
            owner,
            workload,
            member: state.id.0,
            class: NO_CLASS,
            captured: None,
            nagle,
            low_watermark: 0, // `write_requests` looks for itself.
        };
        let profile = self.population(peer).map_or(0, |population| population.profile);
        let nagle = self.profiles[profile as usize].nagle;
        let owner = End::WebSeed { peer, seed }.owner();
        let active = end(state.host, owner, workload, nagle);
        let passive = end(origin.host, content_server(web_seed.origin), web_seed.origin, false);
        let socket = world.open(active, passive);
        let links = &mut self.peers[peer as usize].web_seeds;
        if links.len() <= seed as usize {
            links.resize_with(seed as usize + 1, || WebSeedLink::NONE);
        }
        links[seed as usize] = WebSeedLink { socket, ..WebSeedLink::NONE };
    }

    /// A peer closes its connection to a web seed, whatever is on its way.
    #[cold]
    pub(super) fn leave_web_seed(&mut self, world: &mut World, peer: u32, seed: u32) {
        let Some(link) = self.link(peer, seed) else { return };
        let socket = std::mem::replace(link, WebSeedLink::NONE).socket;
        if socket == NO_SOCKET {
            return;
        }
        if let Some(transport) = &mut world.sockets.get_mut(socket).transport {
            transport.abort(world.now);
        }
        world.close(socket);
        world.sockets.release_pair(socket);
    }

    /// A peer asks a web seed for bytes of the file.
    pub(super) fn ask_web_seed(
        &mut self,
        world: &mut World,
        peer: u32,
        seed: u32,
        (begin, length): (u64, u32),
    ) {
        let swarm = self.rules.peer(peer).swarm;
        let Some((plan::WebSeed { file, .. }, _)) = self.web_seed(swarm, seed) else { return };
        if let Some(link) = self.link(peer, seed) {
            link.unsent.push_back(RangeRequest { file, begin, length });
        }
        self.write_requests(world, peer, seed);
    }

    /// Writes the requests that the socket has room for.
    fn write_requests(&mut self, world: &mut World, peer: u32, seed: u32) {
        let swarm = self.rules.peer(peer).swarm;
        let Some((_, origin)) = self.web_seed(swarm, seed) else { return };
        let bytes = origin.request_bytes;
        let Some(link) = self.link(peer, seed).filter(|link| link.socket != NO_SOCKET) else {
            return;
        };
        let end = world.sockets.get(link.socket);
        let Some(transport) = end.transport.as_ref().filter(|_| end.connected_reported) else {
            return;
        };
        let mut space = transport.write_space();
        while space >= bytes
            && let Some(request) = link.unsent.pop_front()
        {
            link.unanswered.push_back(request.length);
            let message = Some(Message::Get(request));
            space = world.sockets.write(link.socket, world.now, bytes, message);
        }
        world.flush(link.socket);
    }

    /// Something is new at a peer's connection to a web seed.
    pub(super) fn web_seed_news(
        &mut self,
        world: &mut World,
        peer: u32,
        seed: u32,
        socket: u32,
        socket_event: SocketEvent,
    ) {
        let swarm = self.rules.peer(peer).swarm;
        let head_bytes = self.web_seed(swarm, seed).map_or(0, |(_, origin)| origin.head_bytes);
        let Some(link) = self.link(peer, seed).filter(|link| link.socket == socket) else { return };
        let payload = link.receive(socket_event.bytes, head_bytes);
        let waits = !link.unsent.is_empty();
        let Some(machine) = &mut self.peers[peer as usize].machine else { return };
        if socket_event.connected {
            machine.on_web_seed_connected(world.now, seed);
        }
        if payload > 0 {
            machine.on_web_seed_bytes(world.now, seed, payload);
        }
        if socket_event.connected || payload > 0 {
            self.drain(world, peer);
        }
        if waits {
            self.write_requests(world, peer, seed);
        }
    }

    /// A web seed closed its connection, refused it, or the connection failed.
    #[cold]
    pub(super) fn web_seed_closed(&mut self, world: &mut World, peer: u32, seed: u32, socket: u32) {
        let Some(link) = self.link(peer, seed).filter(|link| link.socket == socket) else { return };
        *link = WebSeedLink::NONE;
        if let Some(machine) = &mut self.peers[peer as usize].machine {
            machine.on_web_seed_closed(world.now, seed);
            self.drain(world, peer);
        }
    }

    /// The content of a connection to a web seed.
    pub(super) fn web_seed_stream(&self, swarm: u32, seed: u32) -> ConnectionContent {
        let Some((web_seed, origin)) = self.web_seed(swarm, seed) else {
            return ConnectionContent::lines();
        };
        let name = match &self.plan.workloads[web_seed.origin as usize] {
            Workload::Origin(origin) => origin.name.clone(),
            _ => String::new(),
        };
        let answer = Content::http_response(origin.head_bytes);
        ConnectionContent::http([Content::Ranges(name), answer])
    }

    pub(super) fn web_seeds_table(&self, world: &World) -> Table {
        let of = |(client, peer)| {
            let (client, peer): (&Peer, &workload::Peer) = (client, peer);
            (0u32..).zip(client.brought()).map(move |(seed, brought)| (peer, seed, brought))
        };
        let rows: Vec<_> = self.peers.iter().zip(self.rules.peers()).flat_map(of).collect();
        let place = |peer: &workload::Peer| {
            let spec = self.spec(peer.swarm);
            let population = spec.and_then(|it| it.populations.get(peer.population as usize));
            (spec.map_or("", |it| &it.name), population.map_or("", |it| it.name.as_str()))
        };
        let origin = |peer: &workload::Peer, seed| {
            self.web_seed(peer.swarm, seed).map_or("", |(_, origin)| origin.name.as_str())
        };
        let host = |peer: &workload::Peer| world.network.host(peer.host).name.as_str();
        let counts = |of: fn(&FromWebSeed) -> u32| {
            Column::U32(rows.iter().map(|(.., brought)| of(brought)).collect())
        };
        let bytes = |of: fn(&FromWebSeed) -> u64| {
            Column::U64(rows.iter().map(|(.., brought)| of(brought)).collect())
        };
        Table {
            name: "web_seeds",
            columns: vec![
                ("swarm", names(rows.iter().map(|(peer, ..)| place(peer).0))),
                ("population", names(rows.iter().map(|(peer, ..)| place(peer).1))),
                ("host", names(rows.iter().map(|(peer, ..)| host(peer)))),
                ("peer", Column::U32(rows.iter().map(|(peer, ..)| peer.id.0).collect())),
                ("origin", names(rows.iter().map(|(peer, seed, _)| origin(peer, *seed)))),
                ("connections", counts(|it| it.connections)),
                ("failures", counts(|it| it.failures)),
                ("requests", counts(|it| it.requests)),
                ("web_bytes", bytes(|it| it.bytes)),
                ("wasted_bytes", bytes(|it| it.wasted_bytes)),
            ],
        }
    }
}
