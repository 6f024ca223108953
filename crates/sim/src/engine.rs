use crate::control::Control;
use crate::event::{Event, Kind};
use crate::network::Network;
use crate::packet::{Addressee, Look, Packet, Sacks};
use crate::pings::Pings;
use crate::plan::{Carrier, Plan, What, Workload};
use crate::queue::EventQueue;
use crate::queues::Queues;
use crate::sampler::Sampler;
use crate::sockets::{self, Owner, Sockets, Syn, other};
use crate::swarms::Swarms;
use crate::tally::Tally;
use crate::transfers::Transfers;
use crate::transport::{Stack, Transport};
use crate::{Error, Table, check, tables};
use flashcrowd_base::{Span, Time};
use flashcrowd_transport::tcp::{Config, Flags, Nagle, Segment};
use flashcrowd_transport::utp::{self, PacketKind};
use std::sync::Arc;

/// Who opens or accepts a connection.
pub(crate) struct Application {
    pub(crate) host: u32,
    /// What carries the connection; none for TCP with the host's own stack.
    pub(crate) carrier: Option<Carrier>,
    pub(crate) owner: Owner,
    /// Its class in the tally.
    pub(crate) class: u32,
    /// Whether it leaves Nagle's algorithm on.
    pub(crate) nagle: bool,
    /// With this much room in the send buffer it waits for no more.
    pub(crate) plenty: u64,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Everything that can finish has finished.
    Completed,
    /// Something can never finish; why.
    Stalled(String),
    /// The horizon came first; what was unfinished.
    Horizon(String),
    /// The timeline stopped the last workload.
    Stopped(String),
}

/// One run: the event loop and the parts that it joins. The parts' own `impl Sim` blocks stand in
/// their files.
pub(crate) struct Sim<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) seed: u64,
    pub(crate) now: Time,
    pub(crate) queue: EventQueue<Event>,
    pub(crate) network: Network,
    pub(crate) sockets: Sockets,
    pub(crate) tally: Tally,
    pub(crate) swarms: Swarms,
    pub(crate) transfers: Transfers,
    pub(crate) pings: Pings,
    pub(crate) sampler: Sampler,
    pub(crate) queues: Queues,
    stacks: Vec<Arc<Config>>,
    /// The same stacks for applications that switch Nagle's algorithm off.
    nodelay: Vec<Arc<Config>>,
    utps: Vec<Arc<utp::Config>>,
    /// Sockets to look at. Kept for its capacity.
    ahead: Vec<Look>,
    pub(crate) outcome: Option<Outcome>,
    pub(crate) events: u64,
}

/// Runs `plan` with `seed` to its end, in virtual time, on this thread.
///
/// The same plan and seed give the same tables, bit for bit.
///
/// # Errors
/// [`Error::Plan`] if the plan contradicts itself, [`Error::Cancelled`] if `control` says so.
pub fn simulate(plan: &Plan, seed: u64, control: &Control) -> Result<Vec<Table>, Error> {
    check::check(plan)?;
    let mut sim = Sim::new(plan, seed);
    sim.begin();
    sim.run(control)?;
    Ok(tables::tables(&mut sim))
}

/// How many events pass between two looks at the control.
const EVENTS_PER_LOOK: u64 = 1 << 14;
/// So many events at one instant are a loop: a crowd of thousands on a network without delay stays
/// far below.
const MOST_AT_ONCE: u64 = 20_000_000;

impl<'a> Sim<'a> {
    fn new(plan: &'a Plan, seed: u64) -> Sim<'a> {
        let cores_change = plan.timeline.iter().any(|c| matches!(c.what, What::Core { .. }));
        let nodelay = |stack: &Config| Arc::new(Config { nagle: Nagle::Off, ..stack.clone() });
        let mut tally = Tally::new(&plan.measures);
        Sim {
            plan,
            seed,
            now: Time::START,
            queue: EventQueue::new(),
            network: Network::new(&plan.network, seed, cores_change),
            sockets: Sockets::new(seed),
            swarms: Swarms::new(plan, seed, &mut tally),
            transfers: Transfers::new(plan, seed),
            pings: Pings::new(plan),
            sampler: Sampler::new(plan),
            queues: Queues::new(plan),
            tally,
            stacks: plan.stacks.iter().map(|stack| Arc::new(stack.clone())).collect(),
            utps: plan.utps.iter().map(|utp| Arc::new(utp.clone())).collect(),
            nodelay: plan.stacks.iter().map(nodelay).collect(),
            ahead: Vec::new(),
            outcome: None,
            events: 0,
        }
    }

    fn begin(&mut self) {
        for (index, change) in self.plan.timeline.iter().enumerate() {
            self.queue.schedule(Time::START + change.at_ns, Event::change(index as u32));
        }
        self.begin_swarms();
        self.begin_transfers();
        self.begin_pings();
        self.begin_sampling();
        self.queue.schedule(Time::START + self.watch_interval(), Event::watch(0));
        self.queue.schedule(Time::START + self.plan.stop.horizon_ns, Event::horizon(0));
    }

    fn run(&mut self, control: &Control) -> Result<(), Error> {
        let mut at_once = 0;
        while self.outcome.is_none() {
            if self.sockets.are_many() && self.queue.is_between_batches() {
                self.prefetch_what_is_next();
            }
            let Some((now, event)) = self.queue.pop() else { break };
            at_once = if now == self.now { at_once + 1 } else { 0 };
            if at_once > MOST_AT_ONCE {
                self.outcome = Some(Outcome::Stalled(format!(
                    "time stands still: more than {MOST_AT_ONCE} events at {now}, the last a {:?}",
                    event.kind
                )));
                break;
            }
            self.now = now;
            self.events += 1;
            if self.events.is_multiple_of(EVENTS_PER_LOOK) {
                control.report(now, self.progress());
                if control.is_cancelled() {
                    return Err(Error::Cancelled);
                }
            }
            self.handle(event);
        }
        control.report(self.now, 1.0);
        Ok(())
    }

    /// Asks for everything that the next few events will work on; see
    /// [`prefetch`](flashcrowd_base::prefetch). Measured in `benches/README.md`.
    #[inline(never)]
    fn prefetch_what_is_next(&mut self) {
        let mut ahead = std::mem::take(&mut self.ahead);
        for event in self.queue.look_ahead() {
            let look = match event.kind {
                Kind::Lane => self.network.transit.peek(Some(event.index), 0),
                Kind::Packet => self.network.transit.peek(None, event.index),
                Kind::Peer => {
                    if let Some((conn, socket)) = self.swarms.next_turn(event.index) {
                        self.swarms.prefetch_connection(event.index, conn);
                        ahead.push(Look { socket, sends: true, offset: 0 });
                    }
                    None
                }
                Kind::Socket if self.sockets.expects_timer(event.index) => {
                    ahead.push(Look { socket: event.index, sends: true, offset: 0 });
                    None
                }
                _ => None,
            };
            ahead.extend(look);
        }
        self.prefetch_sockets(&mut ahead);
        self.ahead = ahead;
    }

    /// The same for the packets that follow in a lane.
    #[inline]
    fn prefetch_lane(&mut self, lane: u32) {
        if self.network.transit.look_ahead(lane, &mut self.ahead) {
            let mut ahead = std::mem::take(&mut self.ahead);
            self.prefetch_sockets(&mut ahead);
            self.ahead = ahead;
        }
    }

    /// Asks for some sockets, for what they point to, and, where a message will be complete at an
    /// offset, for its reader's connection.
    #[inline(never)]
    fn prefetch_sockets(&self, ahead: &mut Vec<Look>) {
        for look in ahead.iter() {
            self.sockets.prefetch(look);
        }
        for look in ahead.drain(..) {
            self.sockets.prefetch_beyond(&look);
            if let Some((peer, conn)) = self.sockets.next_reader(&look) {
                self.swarms.prefetch_connection(peer, conn);
            }
        }
    }

    #[inline]
    fn handle(&mut self, event: Event) {
        let index = event.index;
        match event.kind {
            Kind::Lane => {
                if self.sockets.are_many() {
                    self.prefetch_lane(index);
                }
                let transit = &mut self.network.transit;
                if let Some((packet, sacks)) = transit.next_of(&mut self.queue, self.now, index) {
                    self.pass(packet, &sacks);
                }
            }
            Kind::Packet => {
                if let Some((packet, sacks)) = self.network.transit.apart(self.now, index) {
                    self.pass(packet, &sacks);
                }
            }
            Kind::Socket => {
                if self.sockets.take_timer(index, self.now, &mut self.queue) {
                    self.on_socket_timer(index);
                }
            }
            Kind::Peer => self.on_peer_timer(index),
            Kind::Arrival => self.arrive(index),
            Kind::Departure => self.depart(index),
            Kind::Tracker => self.on_tracker(index),
            Kind::FlowStart => self.start_flow(index),
            Kind::FlowStop => self.stop_flow(index),
            Kind::FlowTick => self.tick_flow(index),
            Kind::Ping => self.send_ping(index),
            Kind::Change => self.change(index),
            Kind::Sample => self.sample(index),
            Kind::Watch => self.watch(),
            Kind::Horizon => self.on_horizon(),
        }
    }

    /// A packet has left a link: it is there, or goes on to the next one.
    #[inline]
    fn pass(&mut self, mut packet: Packet, sacks: &Sacks) {
        if !packet.is_arriving() {
            let arrives = self.network.travel(&mut self.queue, self.now, &mut packet, sacks);
            match packet.addressee() {
                Addressee::Socket(socket) if !arrives => self.sockets.settle(socket),
                Addressee::Parcel(socket) if !arrives => {
                    self.sockets.settle(socket);
                    self.sockets.parcels.take(packet.seq as u32);
                }
                _ => {}
            }
            return;
        }
        self.network.totals.delivered += u64::from(packet.frames());
        match packet.addressee() {
            Addressee::Socket(socket) => self.deliver(socket, &packet.segment(sacks)),
            Addressee::Parcel(socket) => self.deliver_parcel(socket, packet.seq as u32),
            Addressee::Ping { ping, reply } => self.deliver_ping(ping, reply, packet.seq),
        }
    }

    /// A new pair of sockets; the first end's SYN is on its way when this returns.
    pub(crate) fn open(&mut self, active: Application, passive: Application) -> u32 {
        let hosts = (active.host, passive.host);
        let ends = [self.end_of(active, hosts.1), self.end_of(passive, hosts.0)];
        let socket = self.sockets.open(self.now, ends);
        self.flush(socket);
        socket
    }

    fn end_of(&mut self, application: Application, to: u32) -> sockets::End {
        let stacks = if application.nagle { &self.stacks } else { &self.nodelay };
        let stack = match application.carrier {
            Some(Carrier::Utp(utp)) => Stack::Utp(Arc::clone(&self.utps[utp as usize])),
            Some(Carrier::Tcp(stack)) => Stack::Tcp(Arc::clone(&stacks[stack as usize])),
            None => {
                let stack = self.network.host(application.host).stack;
                Stack::Tcp(Arc::clone(&stacks[stack as usize]))
            }
        };
        let route = self.network.route(application.host, to);
        sockets::End {
            owner: application.owner,
            stack,
            route,
            direct: self.network.direct(route),
            class: application.class,
            plenty: application.plenty,
        }
    }

    #[inline]
    pub(crate) fn flush(&mut self, socket: u32) {
        let (network, queue) = (&mut self.network, &mut self.queue);
        self.sockets.flush(socket, self.now, network, queue, &mut self.tally);
    }

    /// A segment arrived: the transport answers first, as a kernel would, then its owner.
    #[inline]
    fn deliver(&mut self, socket: u32, segment: &Segment) {
        self.sockets.settle(socket);
        match &mut self.sockets.get_mut(socket).transport {
            Some(Transport::Tcp(tcp)) => tcp.receive(self.now, segment),
            None if segment.flags.contains(Flags::SYN) => {
                return self.on_syn(socket, Syn::Tcp(segment));
            }
            None | Some(Transport::Utp(_)) => return self.sockets.retire(socket),
        }
        self.flush(socket);
        self.attend(socket);
    }

    /// The same for a uTP packet, from its place.
    fn deliver_parcel(&mut self, socket: u32, place: u32) {
        self.sockets.settle(socket);
        let parcel = self.sockets.parcels.take(place);
        match &mut self.sockets.get_mut(socket).transport {
            // What becomes of the payload is the business of drivers that have one.
            Some(Transport::Utp(utp)) => {
                utp.receive(self.now, &parcel);
            }
            None if parcel.kind == PacketKind::Syn => {
                return self.on_syn(socket, Syn::Utp(&parcel));
            }
            None | Some(Transport::Tcp(_)) => return self.sockets.retire(socket),
        }
        self.flush(socket);
        self.attend(socket);
    }

    fn on_syn(&mut self, socket: u32, syn: Syn<'_>) {
        let owner = match self.sockets.get(socket).owner {
            Owner::Listener { peer } => self.accept_peer(peer, socket),
            owner @ Owner::Receiver { .. } => Some(owner),
            _ => None,
        };
        self.sockets.accept(socket, self.now, syn, owner.unwrap_or(Owner::Nobody));
        if let (None, Some(transport)) = (owner, &mut self.sockets.get_mut(socket).transport) {
            transport.abort(self.now);
        }
        self.flush(socket);
    }

    fn on_socket_timer(&mut self, socket: u32) {
        if let Some(transport) = &mut self.sockets.get_mut(socket).transport {
            transport.on_timer(self.now);
            self.flush(socket);
            self.attend(socket);
        }
    }

    /// Tells the owner what is new at its socket, then sends what that led to.
    #[inline]
    fn attend(&mut self, socket: u32) {
        let end = self.sockets.get_mut(socket);
        let owner = end.owner;
        let Some(transport) = &end.transport else { return };
        let connected = !end.announced && transport.is_established();
        end.announced |= connected;
        let bytes = self.sockets.read(socket, self.now);
        match owner {
            Owner::Peer { peer, conn } => {
                if connected {
                    self.peer_connected(peer, conn, socket);
                }
                if bytes > 0 {
                    self.peer_reads(peer, conn, socket);
                }
                self.peer_space(peer, conn, socket);
                self.peer_done(peer, conn, socket);
            }
            Owner::Data { peer, conn } => {
                if bytes > 0 {
                    self.peer_reads(peer, conn, socket);
                }
                self.data_space(peer, conn, socket, connected);
                self.peer_done(peer, conn, socket);
            }
            Owner::Sender { flow } => self.pump(flow, true),
            Owner::Receiver { flow } => self.flow_received(flow, bytes),
            Owner::Nobody | Owner::Listener { .. } => {
                while self.sockets.next_message(socket).is_some() {}
            }
        }
        let Some(transport) = &self.sockets.get(socket).transport else { return };
        let (ended, closed) = (transport.peer_closed(), transport.is_closed());
        // What the owner wrote is on its way; reading leads to nothing but acknowledgements.
        if bytes > 0 && transport.has_acknowledgement() {
            self.flush(socket);
        }
        if ended || closed {
            self.lose(socket);
        }
    }

    /// The other end closed, or the connection failed: the owner lets go and this end closes too.
    fn lose(&mut self, socket: u32) {
        let owner = std::mem::replace(&mut self.sockets.get_mut(socket).owner, Owner::Nobody);
        match owner {
            Owner::Peer { peer, conn } | Owner::Data { peer, conn } => {
                self.peer_disconnected(peer, conn, socket);
            }
            Owner::Sender { flow } | Owner::Receiver { flow } => self.flow_closed(flow),
            Owner::Nobody | Owner::Listener { .. } => {}
        }
        self.close(socket);
        self.sockets.retire(socket);
    }

    /// The owner is done with this end: FIN after what was written, or RST where nothing stands.
    pub(crate) fn close(&mut self, socket: u32) {
        let end = self.sockets.get_mut(socket);
        end.owner = Owner::Nobody;
        if let Some(transport) = &mut end.transport {
            if end.announced {
                transport.close(self.now)
            } else {
                transport.abort(self.now)
            }
            self.flush(socket);
        }
        // An end that never heard of the connection listens for nobody any more.
        let peer = self.sockets.get_mut(other(socket));
        if peer.transport.is_none() {
            peer.owner = Owner::Nobody;
        }
    }

    fn change(&mut self, index: u32) {
        let plan = self.plan;
        match &plan.timeline[index as usize].what {
            What::Link { link, conditions } => {
                self.network.change_link(&mut self.queue, self.now, *link, conditions);
            }
            What::Core { core, conditions } => self.network.change_core(*core, conditions),
            What::Stop { workload } => match &plan.workloads[*workload as usize] {
                Workload::Swarm(_) => self.stop_swarm(*workload),
                Workload::Transfer(_) => self.stop_transfer(*workload),
                Workload::Ping(_) => self.stop_pings(*workload),
            },
            What::Upload { workload, population, upload_bps } => {
                self.set_upload(*workload, *population, *upload_bps);
            }
            What::TransferRate { workload, rate_bps } => {
                self.set_flow_rate(*workload, *rate_bps);
            }
        }
    }

    /// Ends the run if nothing is left that can finish.
    pub(crate) fn finish_if_done(&mut self) {
        if self.outcome.is_some() || !self.has_finite_work() {
            return;
        }
        if self.swarms_done() && self.transfers_done() {
            let stopped = self.swarms_stopped();
            self.outcome = Some(match stopped {
                None => Outcome::Completed,
                Some(reason) => Outcome::Stopped(reason),
            });
        }
    }

    fn has_finite_work(&self) -> bool {
        self.swarms_finite() || self.transfers_finite()
    }

    fn watch_interval(&self) -> Span {
        (self.plan.stop.stall_ns / 8).max(Span::from_millis(100))
    }

    fn watch(&mut self) {
        if let Some(reason) = self.stalled_swarm() {
            self.outcome = Some(Outcome::Stalled(reason));
        }
        self.queue.schedule(self.now + self.watch_interval(), Event::watch(0));
    }

    /// The horizon: a cut for what could have finished, the ordinary end for what could not.
    fn on_horizon(&mut self) {
        let unfinished: Vec<String> =
            self.unfinished_swarms().into_iter().chain(self.unfinished_transfers()).collect();
        self.outcome = Some(if unfinished.is_empty() {
            Outcome::Completed
        } else {
            Outcome::Horizon(unfinished.join("; "))
        });
    }

    fn progress(&self) -> f64 {
        let time = self.now.seconds() / self.plan.stop.horizon_ns.seconds();
        if self.has_finite_work() {
            time.max(self.swarm_progress().min(self.transfer_progress()))
        } else {
            time
        }
    }
}
