use super::event::{Event, EventKind};
use super::event_queue::EventQueue;
use super::in_flight::InFlight;
use super::packet::{Packet, Sacks};
use flashcrowd_base::{Span, Time};
use flashcrowd_link::Conditions;
use flashcrowd_plan as plan;
use flashcrowd_topology::{Advance, Carried, SharedLink, Topology};
use flashcrowd_transport::tcp::Segment;
use flashcrowd_workload::Sample;

/// The totals of the network.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) sent: u64,
    pub(crate) delivered: u64,
    pub(crate) lost: u64,
    pub(crate) dropped: u64,
}

/// A packet that waits for a discipline, whole.
type Held = (Packet, Sacks);
/// A shared link of a run.
pub(crate) type Link = SharedLink<Held>;

/// The topology, and the packets between its links.
pub(crate) struct Network {
    topology: Topology<Held>,
    /// A FIFO for each of the topology's.
    pub(crate) in_flight: InFlight,
    /// Packets that disciplines dropped after queueing them, until the world takes them off their sockets.
    evicted: Vec<Packet>,
    pub(crate) totals: Totals,
}

impl Network {
    pub(crate) fn new(plan: &plan::Network, seed: u64, cores_change: bool) -> Network {
        let topology = Topology::new(plan, seed, cores_change);
        Network {
            in_flight: InFlight::new(topology.fifos()),
            evicted: Vec::new(),
            topology,
            totals: Totals::default(),
        }
    }

    pub(crate) fn host(&self, host: u32) -> &plan::Host {
        self.topology.host(host)
    }
    pub(crate) fn links(&self) -> impl Iterator<Item = &Link> {
        self.topology.links()
    }
    pub(crate) fn link(&self, link: u32) -> &Link {
        self.topology.link(link)
    }
    pub(crate) fn sample(&mut self, now: Time, what: plan::Sampled) -> Vec<(u32, Sample)> {
        self.topology.sample(now, what)
    }
    pub(crate) fn queued_packets(&mut self, link: u32, now: Time) -> u32 {
        self.topology.link_mut(link).queued_packets(now)
    }
    /// Resets the maximum number of packets at each link.
    pub(crate) fn restart_max_packets(&mut self, now: Time) {
        for link in 0..self.topology.links().count() as u32 {
            self.topology.link_mut(link).restart_max_packets(now);
        }
    }
    /// The route from one host to another.
    pub(crate) fn route(&mut self, from: u32, to: u32) -> u32 {
        self.topology.route(from, to)
    }
    /// Round-trip time between two hosts over an idle network, for a packet of no size.
    pub(crate) fn base_rtt(&mut self, from: u32, to: u32) -> Span {
        self.topology.base_rtt(from, to)
    }
    /// The delay of a route that is nothing but a constant delay, and the FIFO of its packets, for
    /// [`Network::send_direct`].
    pub(crate) fn direct(&self, route: u32) -> Option<(Span, u32)> {
        self.topology.constant_delay(route)
    }

    /// Sends a new uTP packet or datagram. Returns how many packets are in flight because of it: none if it
    /// was lost.
    #[inline(always)]
    pub(crate) fn send(&mut self, queue: &mut EventQueue<Event>, now: Time, packet: Packet) -> u32 {
        self.totals.sent += 1;
        self.launch(queue, now, packet, &Sacks::default())
    }

    /// Sends a new packet, which holds this segment of `frames` frames for a socket. Returns how many packets
    /// are in flight because of it: a super-segment is split (GSO) where it has to queue, or where some of
    /// its frames are lost.
    #[inline(always)]
    pub(crate) fn send_segment(
        &mut self,
        queue: &mut EventQueue<Event>,
        now: Time,
        frames: u32,
        socket: u32,
        segment: &Segment,
        packet: Packet,
    ) -> u32 {
        self.totals.sent += u64::from(frames);
        if frames == 1 || self.topology.keeps_whole(packet.route()) {
            return self.launch(queue, now, packet, &segment.sack);
        }
        self.send_frames(queue, now, frames, socket, segment, packet.route())
    }

    /// Splits a super-segment: sends its frames one after the other.
    #[inline(never)]
    fn send_frames(
        &mut self,
        queue: &mut EventQueue<Event>,
        now: Time,
        frames: u32,
        socket: u32,
        segment: &Segment,
        route: u32,
    ) -> u32 {
        let launch = |index| {
            let frame = segment.frame(index);
            let bytes = frame.wire_bytes() as u32;
            let packet = Packet::segment(socket, &frame, route, bytes);
            self.launch(queue, now, packet, &frame.sack)
        };
        (0..frames).map(launch).sum()
    }

    #[inline(always)]
    fn launch(
        &mut self,
        queue: &mut EventQueue<Event>,
        now: Time,
        mut packet: Packet,
        sacks: &Sacks,
    ) -> u32 {
        packet.set_tag(self.topology.new_tag());
        u32::from(self.travel(queue, now, packet, sacks))
    }

    /// Sends a packet that [arrives](Packet::arriving) next over a route that is nothing but a constant delay:
    /// without touching the route, which with thousands of them is a cache miss.
    pub(crate) fn send_direct(
        &mut self,
        queue: &mut EventQueue<Event>,
        fifo: u32,
        frames: u32,
        packet: Packet,
        sacks: &Sacks,
    ) {
        self.totals.sent += u64::from(frames);
        self.in_flight.keep(queue, Some(fifo), packet, sacks);
    }

    /// Moves a packet up to the next queue or the destination, and schedules its event there. `false` if
    /// it was lost or dropped.
    #[inline(always)]
    pub(crate) fn travel(
        &mut self,
        queue: &mut EventQueue<Event>,
        now: Time,
        mut packet: Packet,
        sacks: &Sacks,
    ) -> bool {
        let keep = |packet: &Packet| (*packet, *sacks);
        let evicted = &mut self.evicted;
        let advance = self.topology.advance(now, &mut packet, keep, &mut |(packet, _), _| {
            evicted.push(packet);
        });
        self.settle(queue, packet, sacks, advance)
    }

    /// Puts a packet where [`Topology::advance`] leaves it. `false` if it was lost or dropped.
    #[inline(always)]
    fn settle(
        &mut self,
        queue: &mut EventQueue<Event>,
        mut packet: Packet,
        sacks: &Sacks,
        advance: Advance,
    ) -> bool {
        match advance {
            Advance::Due { at, arrives, fifo } => {
                if arrives {
                    packet.set_arriving();
                }
                packet.set_due(at);
                self.in_flight.keep(queue, fifo, packet, sacks);
                true
            }
            Advance::Held { link } => {
                self.arm(queue, link);
                true
            }
            Advance::Lost => {
                self.totals.lost += u64::from(packet.frames());
                false
            }
            Advance::Dropped => {
                self.totals.dropped += u64::from(packet.frames());
                false
            }
        }
    }

    /// Schedules the next departure from a link, unless an earlier one is pending.
    fn arm(&mut self, queue: &mut EventQueue<Event>, link: u32) {
        if let Some(next) = self.topology.next_departure(link) {
            queue.schedule(next, Event::new(EventKind::Link, link));
        }
    }

    /// The discipline of a link sends its next packet. Returns the packet if it was lost behind the queue.
    pub(crate) fn on_link(
        &mut self,
        queue: &mut EventQueue<Event>,
        now: Time,
        link: u32,
    ) -> Option<Packet> {
        let evicted = &mut self.evicted;
        let mut gone = |(packet, _): Held, _| evicted.push(packet);
        let mut lost = None;
        if let Some(sent) = self.topology.depart(now, link, &mut gone) {
            let (mut packet, sacks) = sent.packet;
            if sent.marked {
                packet.mark();
            }
            let keep = |packet: &Packet| (*packet, sacks);
            let advance =
                self.topology.resume(now, link, sent.arrives, &mut packet, keep, &mut gone);
            if !self.settle(queue, packet, &sacks, advance) {
                lost = Some(packet);
            }
        }
        self.arm(queue, link);
        lost
    }

    /// The next packet that a discipline dropped after queueing it; counts it as dropped.
    pub(crate) fn next_evicted(&mut self) -> Option<Packet> {
        let packet = self.evicted.pop()?;
        self.totals.dropped += u64::from(packet.frames());
        Some(packet)
    }

    /// Gives a shared link new conditions; packets in its queue stay there, and their arrivals are
    /// rescheduled by the new conditions.
    pub(crate) fn change_link(
        &mut self,
        queue: &mut EventQueue<Event>,
        now: Time,
        link: u32,
        conditions: &Conditions,
        trace: Option<u32>,
    ) {
        let moved = self.topology.change_link(now, link, conditions, trace);
        self.in_flight.reschedule(queue, link, &moved);
        self.arm(queue, link);
    }

    /// Gives the pairs' own pieces of path of a core new conditions. Packets on their way are not
    /// touched.
    pub(crate) fn change_core(&mut self, core: u32, conditions: &Conditions) {
        self.topology.change_core(core, conditions);
    }
}
