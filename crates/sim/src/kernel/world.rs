use super::capture::NOT_CAPTURED;
use super::connection_log::LoggedEnd;
use super::event::{Event, EventKind};
use super::event_queue::EventQueue;
use super::monitor::Monitor;
use super::network::Network;
use super::owner::{Owner, other};
use super::packet::{Content, Datagram, Packet, Sacks};
use super::sockets::{self, Sockets, Syn};
use super::tap::Tap;
use super::transport::{Stack, Transport};
use flashcrowd_base::Time;
use flashcrowd_plan::{Change, Plan, TransportChoice, What};
use flashcrowd_transport::tcp::{Config, Flags, Nagle, Segment};
use flashcrowd_transport::utp::{self, PacketKind};
use flashcrowd_workload::Outcome;
use std::sync::Arc;

/// Everything that applications share: the clock, the event queue, the network, the sockets.
/// Messages on connections are of type `M`, and mean nothing here.
///
/// Nothing in here calls an application. What concerns one is returned to the run, which passes it
/// on together with `&mut World`, so an application may call any method of the world meanwhile.
pub(crate) struct World<M> {
    pub(crate) seed: u64,
    pub(crate) now: Time,
    pub(crate) queue: EventQueue<Event>,
    pub(crate) network: Network,
    pub(crate) sockets: Sockets<M>,
    pub(crate) monitor: Monitor,
    stacks: Vec<Arc<Config>>,
    /// The same stacks for applications that switch Nagle's algorithm off.
    nodelay: Vec<Arc<Config>>,
    utps: Vec<Arc<utp::Config>>,
    /// How the run ended, once it has.
    pub(crate) outcome: Option<Outcome>,
    /// Whether something has ended, so that the run may be over.
    pub(crate) something_ended: bool,
}

/// The parameters of one end of a connection, from an application.
pub(crate) struct Application {
    pub(crate) host: u32,
    /// The transport of the connection; none for TCP with the host's own stack.
    pub(crate) transport: Option<TransportChoice>,
    pub(crate) owner: Owner,
    /// Its owner: index among the plan's workloads, and number of the flow, user or peer there.
    pub(crate) workload: u32,
    pub(crate) member: u32,
    /// Its class, where its packets are counted.
    pub(crate) class: u32,
    /// Its number in the capture, if its packets are captured.
    pub(crate) captured: Option<u32>,
    /// Whether it leaves Nagle's algorithm on.
    pub(crate) nagle: bool,
    /// Low watermark of the send buffer (SO_SNDLOWAT): with this much room it waits for no more.
    pub(crate) low_watermark: u64,
}

/// The effect of a packet that reached its socket.
pub(crate) enum Delivered {
    /// Nothing that concerns an owner.
    Nothing,
    /// It asks for a connection, which the owner may refuse.
    Syn,
    /// The socket may have an event for its owner.
    SocketEvent,
}

/// The changes at a socket since its owner was called last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SocketEvent {
    pub(crate) owner: Owner,
    /// The connection has just been established.
    pub(crate) connected: bool,
    /// Bytes of the stream that have just been read.
    pub(crate) bytes: u64,
}

impl<M> World<M> {
    pub(crate) fn new(plan: &Plan, seed: u64) -> World<M> {
        let cores_change = plan.timeline.iter().any(|c| matches!(c.what, What::Core { .. }));
        let captures = plan.measures.capture.as_ref();
        let tap = captures.map(|it| Box::new(Tap::new(it, plan.network.hosts.len())));
        let nodelay = |stack: &Config| Arc::new(Config { nagle: Nagle::Off, ..stack.clone() });
        World {
            seed,
            now: Time::START,
            queue: EventQueue::new(),
            network: Network::new(&plan.network, seed, cores_change),
            sockets: Sockets::new(seed, tap),
            monitor: Monitor::new(&plan.measures),
            stacks: plan.stacks.iter().map(|stack| Arc::new(stack.clone())).collect(),
            nodelay: plan.stacks.iter().map(nodelay).collect(),
            utps: plan.utps.iter().map(|utp| Arc::new(utp.clone())).collect(),
            outcome: None,
            something_ended: false,
        }
    }

    /// Schedules an event of an application.
    pub(crate) fn schedule(&mut self, at: Time, app: u8, code: u8, index: u32) {
        self.queue.schedule(at, Event::app(EventKind::App, app, code, index));
    }

    /// Schedules that an application stops something, which it has done before all else that happens then.
    pub(crate) fn schedule_stop(&mut self, at: Time, app: u8, code: u8, index: u32) {
        self.queue.schedule(at, Event::app(EventKind::Stop, app, code, index));
    }

    /// The packet in no FIFO whose event this is, unless the event is stale.
    pub(crate) fn take_unordered(&mut self, slot: u32) -> Option<(Packet, Sacks)> {
        self.network.in_flight.take_unordered(self.now, slot)
    }

    /// A packet has left a link, and goes on to the next one.
    #[inline(always)]
    pub(crate) fn forward(&mut self, packet: Packet, sacks: &Sacks) {
        if !self.network.travel(&mut self.queue, self.now, packet, sacks) {
            self.forget(&packet);
        }
    }

    /// A link with a discipline can send its next packet.
    pub(crate) fn on_link(&mut self, link: u32) {
        if let Some(packet) = self.network.on_link(&mut self.queue, self.now, link) {
            self.forget(&packet);
        }
    }

    /// Takes the packets that disciplines dropped after queueing off their sockets.
    pub(crate) fn forget_evicted(&mut self) {
        while let Some(packet) = self.network.next_evicted() {
            self.forget(&packet);
        }
    }

    /// A packet was lost or dropped: its socket has one fewer in flight.
    fn forget(&mut self, packet: &Packet) {
        match packet.content() {
            Content::Segment { socket, .. } => self.sockets.get_mut(socket).packet_gone(),
            Content::Utp { socket, slot } => {
                self.sockets.get_mut(socket).packet_gone();
                self.sockets.utp_packets.remove(slot);
            }
            Content::Datagram(_) => {}
        }
    }

    /// Captures the arrival of a packet; `ends` are the hosts of a datagram, if it is one.
    #[cold]
    pub(crate) fn see_arrival(&mut self, packet: &Packet, sacks: &Sacks, ends: Option<[u32; 2]>) {
        let Some(tap) = &mut self.sockets.tap else { return };
        match packet.content() {
            Content::Segment { socket, segment } => {
                tap.receives_tcp(socket, self.now, &segment.with(sacks));
            }
            Content::Utp { socket, slot } => {
                if let Some(packet) = self.sockets.utp_packets.get(slot) {
                    tap.receives_utp(socket, self.now, packet);
                }
            }
            Content::Datagram(datagram) => {
                if let Some([from, to]) = ends {
                    tap.receives_datagram(self.now, from, to, &datagram);
                }
            }
        }
    }

    /// A segment arrived: the transport answers first, as a kernel would, then its owner.
    pub(crate) fn deliver(&mut self, socket: u32, segment: &Segment) -> Delivered {
        if let Some(logs) = &mut self.monitor.logs {
            logs.received(socket, self.now, segment);
        }
        let end = self.sockets.get_mut(socket);
        end.packet_gone();
        match &mut end.transport {
            Some(Transport::Tcp(tcp)) => tcp.receive(self.now, segment),
            None if segment.flags.contains(Flags::SYN) => return Delivered::Syn,
            None | Some(Transport::Utp(_)) => {
                self.sockets.release_pair(socket);
                return Delivered::Nothing;
            }
        }
        self.flush(socket);
        Delivered::SocketEvent
    }

    /// The same for a uTP packet.
    pub(crate) fn deliver_utp(&mut self, socket: u32, packet: &utp::Packet) -> Delivered {
        if let Some(logs) = &mut self.monitor.logs {
            logs.received_utp(socket, self.now, packet);
        }
        let end = self.sockets.get_mut(socket);
        end.packet_gone();
        match &mut end.transport {
            // The result concerns the payload, which only drivers with payloads have.
            Some(Transport::Utp(utp)) => {
                utp.receive(self.now, packet);
            }
            None if packet.kind == PacketKind::Syn => return Delivered::Syn,
            None | Some(Transport::Tcp(_)) => {
                self.sockets.release_pair(socket);
                return Delivered::Nothing;
            }
        }
        self.flush(socket);
        Delivered::SocketEvent
    }

    /// Answers a SYN for a new `owner`, or refuses it.
    pub(crate) fn answer(&mut self, socket: u32, syn: Syn<'_>, owner: Option<Owner>) {
        self.sockets.accept(socket, self.now, syn, owner.unwrap_or(Owner::NOBODY));
        if let (None, Some(transport)) = (owner, &mut self.sockets.get_mut(socket).transport) {
            transport.abort(self.now);
        }
        self.flush(socket);
    }

    /// A socket's timer expired. Returns whether the socket may have an event for its owner.
    pub(crate) fn on_socket_timer(&mut self, socket: u32) -> bool {
        let Some(transport) = &mut self.sockets.get_mut(socket).transport else { return false };
        if let Some(logs) = &mut self.monitor.logs {
            logs.timer(socket, self.now, transport);
        }
        transport.on_timer(self.now);
        self.flush(socket);
        true
    }

    /// Reads what has arrived at a socket and its owner may read; returns what to pass to its owner.
    #[inline(always)]
    pub(crate) fn socket_event(&mut self, socket: u32) -> Option<SocketEvent> {
        let end = self.sockets.get_mut(socket);
        let owner = end.owner;
        let transport = end.transport.as_ref()?;
        let connected = !end.connected_reported && transport.is_established();
        end.connected_reported |= connected;
        let bytes = end.read(self.now);
        Some(SocketEvent { owner, connected, bytes })
    }

    /// Sends the acknowledgements that are due after a read of `bytes` bytes. Returns whether the other end has closed,
    /// or the connection failed.
    #[inline(always)]
    pub(crate) fn after_socket_event(&mut self, socket: u32, bytes: u64) -> bool {
        let end = self.sockets.get(socket);
        let Some(transport) = &end.transport else { return false };
        let unread = end.reads_limited && transport.readable() > 0;
        let over = transport.is_closed() || transport.peer_closed() && !unread;
        // The bytes of the owner are on their way; reading causes nothing but acknowledgements.
        if bytes > 0 && transport.has_acknowledgement() {
            self.flush(socket);
        }
        over
    }

    /// A new pair of sockets; the first end's SYN is on its way when this returns.
    pub(crate) fn open(&mut self, active: Application, passive: Application) -> u32 {
        let hosts = (active.host, passive.host);
        let members = [&active, &passive].map(|it| (it.workload, it.member));
        let ends = [self.end_of(active, hosts.1), self.end_of(passive, hosts.0)];
        let logged = self.monitor.logs.is_some().then(|| logged(&ends, hosts, members));
        let socket = self.sockets.open(self.now, hosts.into(), ends);
        if let (Some(logs), Some(logged)) = (&mut self.monitor.logs, logged) {
            logs.open(socket, self.now, logged);
        }
        self.flush(socket);
        socket
    }

    fn end_of(&mut self, application: Application, to: u32) -> sockets::SocketSpec {
        let stacks = if application.nagle { &self.stacks } else { &self.nodelay };
        let stack = match application.transport {
            Some(TransportChoice::Utp(utp)) => Stack::Utp(Arc::clone(&self.utps[utp as usize])),
            Some(TransportChoice::Tcp(stack)) => Stack::Tcp(Arc::clone(&stacks[stack as usize])),
            None => {
                let stack = self.network.host(application.host).stack;
                Stack::Tcp(Arc::clone(&stacks[stack as usize]))
            }
        };
        let route = self.network.route(application.host, to);
        sockets::SocketSpec {
            owner: application.owner,
            stack,
            route,
            direct: self.network.direct(route),
            class: application.class,
            captured: application.captured.unwrap_or(NOT_CAPTURED),
            low_watermark: application.low_watermark,
        }
    }

    /// Puts what a socket has to send on the wire.
    pub(crate) fn flush(&mut self, socket: u32) {
        if self.monitor.logs.is_some() {
            return self.flush_and_log(socket);
        }
        self.send_all(socket);
    }

    fn send_all(&mut self, socket: u32) {
        let (network, queue) = (&mut self.network, &mut self.queue);
        self.sockets.flush(socket, self.now, network, queue, &mut self.monitor);
    }

    #[cold]
    fn flush_and_log(&mut self, socket: u32) {
        self.look(socket, false);
        self.send_all(socket);
        self.look(socket, true);
    }

    /// Logs what has changed at a socket, before it sends or after.
    fn look(&mut self, socket: u32, flushed: bool) {
        if let Some(logs) = &mut self.monitor.logs
            && let Some(transport) = &self.sockets.get(socket).transport
        {
            logs.look(socket, self.now, transport, flushed);
        }
    }

    /// The owner closes this end: FIN after what was written, or RST before the connection is established.
    pub(crate) fn close(&mut self, socket: u32) {
        let end = self.sockets.get_mut(socket);
        end.owner = Owner::NOBODY;
        if let Some(transport) = &mut end.transport {
            if end.connected_reported {
                transport.close(self.now)
            } else {
                transport.abort(self.now)
            }
            self.flush(socket);
        }
        // If the SYN has not arrived yet, the other end stops listening.
        let peer = self.sockets.get_mut(other(socket));
        if peer.transport.is_none() {
            peer.owner = Owner::NOBODY;
        }
    }

    /// Sends a datagram from one host to another.
    pub(crate) fn send_datagram(&mut self, from: u32, to: u32, datagram: &Datagram) {
        if let Some(tap) = &mut self.sockets.tap {
            tap.sends_datagram(self.now, from, to, datagram);
        }
        let route = self.network.route(from, to);
        let packet = Packet::datagram(datagram, route);
        self.network.send(&mut self.queue, self.now, packet);
    }

    /// Carries out an entry of the timeline that changes the network; ignores others.
    pub(crate) fn change(&mut self, change: &Change) {
        match &change.what {
            What::Link { link, conditions, trace } => {
                self.network.change_link(&mut self.queue, self.now, *link, conditions, *trace);
            }
            What::Core { core, conditions } => self.network.change_core(*core, conditions),
            _ => {}
        }
    }

    /// Retransmission timeouts, by class.
    pub(crate) fn timeouts(&self) -> Vec<u64> {
        let mut timeouts = self.sockets.timeouts.clone();
        for socket in self.sockets.iter() {
            if let Some(transport) = &socket.transport {
                sockets::count_timeouts(&mut timeouts, socket.class, transport.stats().timeouts);
            }
        }
        timeouts
    }

    /// Segments and uTP packets that were retransmitted.
    pub(crate) fn retransmitted(&self) -> u64 {
        let live = self.sockets.iter().filter_map(|socket| socket.transport.as_ref());
        self.sockets.retransmitted + live.map(|end| end.stats().segments_retransmitted).sum::<u64>()
    }
}

/// Both ends of a new connection, for its logs.
#[cold]
fn logged(
    ends: &[sockets::SocketSpec; 2],
    hosts: (u32, u32),
    members: [(u32, u32); 2],
) -> [LoggedEnd; 2] {
    let of = |active: bool| {
        let (end, (workload, member)) =
            (&ends[usize::from(!active)], members[usize::from(!active)]);
        let (host, remote) = if active { hosts } else { (hosts.1, hosts.0) };
        let (transport, stack, controller, ledbat) = match &end.stack {
            Stack::Tcp(stack) => ("tcp", &stack.name, stack.controller, stack.ledbat),
            Stack::Utp(stack) => ("utp", &stack.name, stack.controller, stack.ledbat),
        };
        LoggedEnd {
            workload,
            member,
            host,
            remote,
            active,
            transport,
            stack: stack.clone(),
            controller: controller.name(),
            target: ledbat.map(|ledbat| ledbat.target_ns),
        }
    };
    [of(true), of(false)]
}
