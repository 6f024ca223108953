use crate::engine::Event;
use crate::plan;
use crate::queue::EventQueue;
use flashcrowd_base::{Probability, Rate, Span, Stream, Time};
use flashcrowd_link::{Conditions, Direction, Loss, LossModel, Side, Verdict};
use flashcrowd_transport::tcp::Segment;
use std::collections::BTreeMap;

/// For whom a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Addressee {
    /// A socket, by index.
    Socket(u32),
    /// An echo request for the ping's answering host, or a reply for the asking one.
    Ping { ping: u32, reply: bool },
}

/// A packet on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    /// For pings, `seq` is the number of the request.
    pub(crate) segment: Segment,
    pub(crate) to: Addressee,
    /// When its pending event is due; an event at any other instant is out of date.
    due: Time,
    /// What of `due` lies beyond the link that it waits in.
    beyond: Span,
    route: u32,
    /// The next step of the route.
    step: u16,
    /// Whether the pending event is the arrival.
    arriving: bool,
    bytes: u32,
}

impl Packet {
    fn new(segment: Segment, to: Addressee, route: u32, bytes: u32) -> Packet {
        let (due, beyond) = (Time::NEVER, Span::ZERO);
        Packet { segment, to, due, beyond, route, step: 0, arriving: false, bytes }
    }
}

/// What happened to a packet when its event came.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Passage {
    /// It is there.
    Arrived(Addressee, Segment),
    /// It goes on to the next link, or its event was out of date.
    Travels,
    /// The network lost it.
    Gone(Addressee),
}

/// What the network did in total.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) sent: u64,
    pub(crate) delivered: u64,
    pub(crate) lost: u64,
    pub(crate) dropped: u64,
}

struct Link {
    name: String,
    conditions: Conditions,
    direction: Direction,
}

/// A step of a route: a shared link, or the pair's own piece of path.
const OWN: u32 = u32::MAX;

struct Route {
    /// First step in `steps`, and how many.
    first: u32,
    len: u16,
    /// Whether some step has a rate: super-segments are then cut into frames at the sender.
    queues: bool,
    core: u32,
    /// Whether the own piece is nothing but a constant delay, and which.
    plain: Option<Span>,
    /// What the pair drew, in place of the core's conditions.
    drawn: Option<Box<Drawn>>,
    own: Direction,
}

/// What a pair of hosts drew from the distributions of its core.
struct Drawn {
    one_way: Option<Span>,
    loss: Option<Probability>,
    conditions: Conditions,
}

impl Drawn {
    /// The same draw for both directions of a pair.
    fn new(seed: u64, core: &plan::Core, from: u32, to: u32) -> Option<Box<Drawn>> {
        let draw = core.draw.as_ref()?;
        let pair = u64::from(from.min(to)) << 32 | u64::from(from.max(to));
        let mut stream = Stream::new(seed, "pair", pair);
        let rtt = draw.rtt_s.as_ref().map(|rtt| Span::from_seconds(rtt.draw(&mut stream)));
        let loss = draw.loss.as_ref().map(|loss| loss.draw(&mut stream).clamp(0.0, 1.0));
        let mut drawn = Drawn {
            one_way: rtt.map(|rtt| rtt / 2),
            loss: loss.and_then(Probability::new),
            conditions: Conditions::default(),
        };
        drawn.apply(&core.conditions);
        Some(Box::new(drawn))
    }

    fn apply(&mut self, core: &Conditions) {
        self.conditions = core.clone();
        if let Some(delay) = self.one_way {
            self.conditions.delay_ns = delay;
        }
        if let Some(probability) = self.loss {
            let model = LossModel::Bernoulli { probability };
            self.conditions.loss = Some(Loss { side: Side::Receiver, model });
        }
    }
}

impl Route {
    fn range(&self) -> std::ops::Range<usize> {
        self.first as usize..self.first as usize + usize::from(self.len)
    }
}

/// Links, routes and the packets between them.
pub(crate) struct Network {
    seed: u64,
    hosts: Vec<plan::Host>,
    groups: u32,
    core_of: Vec<u32>,
    cores: Vec<plan::Core>,
    /// Whether the timeline changes a core, so that no piece of path may be taken for constant.
    cores_change: bool,
    links: Vec<Link>,
    routes: Vec<Route>,
    route_of: BTreeMap<(u32, u32), u32>,
    steps: Vec<u32>,
    packets: Vec<Packet>,
    free: Vec<u32>,
    pub(crate) totals: Totals,
}

impl Network {
    pub(crate) fn new(plan: &plan::Network, seed: u64, cores_change: bool) -> Network {
        let link = |(index, link): (usize, &plan::Link)| Link {
            name: link.name.clone(),
            conditions: link.conditions.clone(),
            direction: Direction::new(Stream::new(seed, "link", index as u64)),
        };
        Network {
            seed,
            hosts: plan.hosts.clone(),
            groups: plan.groups.len() as u32,
            core_of: plan.core_of.clone(),
            cores: plan.cores.clone(),
            cores_change,
            links: plan.links.iter().enumerate().map(link).collect(),
            routes: Vec::new(),
            route_of: BTreeMap::new(),
            steps: Vec::new(),
            packets: Vec::new(),
            free: Vec::new(),
            totals: Totals::default(),
        }
    }

    pub(crate) fn host(&self, host: u32) -> &plan::Host {
        &self.hosts[host as usize]
    }

    /// The route from one host to another, made when first asked for.
    pub(crate) fn route(&mut self, from: u32, to: u32) -> u32 {
        if let Some(&route) = self.route_of.get(&(from, to)) {
            return route;
        }
        let (source, target) = (&self.hosts[from as usize], &self.hosts[to as usize]);
        let core_index = self.core_of[(source.group * self.groups + target.group) as usize];
        let core = &self.cores[core_index as usize];
        let first = self.steps.len() as u32;
        self.steps.extend(&source.up);
        self.steps.extend(&core.links);
        self.steps.push(OWN);
        self.steps.extend(&target.down);
        let queues = self.steps[first as usize..]
            .iter()
            .any(|&step| step != OWN && self.links[step as usize].conditions.rate_bps.is_some());
        let drawn = Drawn::new(self.seed, core, from, to);
        let own = drawn.as_ref().map_or(&core.conditions, |drawn| &drawn.conditions);
        let constant = own.jitter.is_none() && own.loss.is_none() && !self.cores_change;
        let ordered = u64::from(from) << 32 | u64::from(to);
        let route = Route {
            first,
            len: (self.steps.len() as u32 - first) as u16,
            queues,
            core: core_index,
            plain: constant.then_some(own.delay_ns),
            drawn,
            own: Direction::new(Stream::new(self.seed, "path", ordered)),
        };
        let index = self.routes.len() as u32;
        self.routes.push(route);
        self.route_of.insert((from, to), index);
        index
    }

    /// Round-trip time between two hosts over an idle network, for a packet of no size.
    pub(crate) fn base_rtt(&mut self, from: u32, to: u32) -> Span {
        self.base_delay(from, to) + self.base_delay(to, from)
    }

    fn base_delay(&mut self, from: u32, to: u32) -> Span {
        let index = self.route(from, to) as usize;
        let route = &self.routes[index];
        let delay = |&step: &u32| match step {
            OWN => self.own_conditions(route).delay_ns,
            link => self.links[link as usize].conditions.delay_ns,
        };
        self.steps[route.range()].iter().map(delay).fold(Span::ZERO, |sum, delay| sum + delay)
    }

    fn own_conditions<'a>(&'a self, route: &'a Route) -> &'a Conditions {
        let core = &self.cores[route.core as usize].conditions;
        route.drawn.as_ref().map_or(core, |drawn| &drawn.conditions)
    }

    /// Sends a segment. Returns how many packets are on their way because of it: a super-segment
    /// is cut where it has to queue, or where some of its frames are lost.
    #[inline]
    pub(crate) fn send(
        &mut self,
        queue: &mut EventQueue<Event>,
        now: Time,
        route: u32,
        to: Addressee,
        segment: Segment,
        bytes: u32,
    ) -> u32 {
        let frames = segment.frames();
        self.totals.sent += u64::from(frames);
        if frames == 1 {
            return self.launch(queue, now, route, to, segment, bytes);
        }
        let whole = &self.routes[route as usize];
        if whole.plain.is_some() && !whole.queues {
            return self.launch(queue, now, route, to, segment, bytes);
        }
        (0..frames)
            .map(|index| {
                let frame = segment.frame(index);
                self.launch(queue, now, route, to, frame, frame.wire_bytes() as u32)
            })
            .sum()
    }

    #[inline]
    fn launch(
        &mut self,
        queue: &mut EventQueue<Event>,
        now: Time,
        route: u32,
        to: Addressee,
        segment: Segment,
        bytes: u32,
    ) -> u32 {
        let slot = self.store(Packet::new(segment, to, route, bytes));
        u32::from(self.travel(queue, now, slot))
    }

    #[inline]
    fn store(&mut self, packet: Packet) -> u32 {
        match self.free.pop() {
            Some(slot) => {
                self.packets[slot as usize] = packet;
                slot
            }
            None => {
                self.packets.push(packet);
                (self.packets.len() - 1) as u32
            }
        }
    }

    /// The delay of a route that is nothing but a constant delay, for [`Network::send_direct`].
    pub(crate) fn direct(&self, route: u32) -> Option<Span> {
        let route = &self.routes[route as usize];
        route.plain.filter(|_| route.len == 1)
    }

    /// Sends a segment over a route that is nothing but a constant delay: without touching the
    /// route, which with thousands of them is a cache miss.
    #[inline]
    pub(crate) fn send_direct(
        &mut self,
        queue: &mut EventQueue<Event>,
        due: Time,
        to: Addressee,
        segment: Segment,
    ) {
        self.totals.sent += u64::from(segment.frames());
        let packet = Packet::new(segment, to, u32::MAX, 0);
        let slot = self.store(Packet { due, arriving: true, ..packet });
        queue.schedule(due, Event::packet(slot));
    }

    /// The event of a packet has come.
    #[inline]
    pub(crate) fn on_event(
        &mut self,
        queue: &mut EventQueue<Event>,
        now: Time,
        slot: u32,
    ) -> Passage {
        let packet = &self.packets[slot as usize];
        if packet.due != now {
            return Passage::Travels;
        }
        let to = packet.to;
        if packet.arriving {
            let segment = packet.segment;
            self.totals.delivered += u64::from(segment.frames());
            self.release(slot);
            return Passage::Arrived(to, segment);
        }
        if self.travel(queue, now, slot) { Passage::Travels } else { Passage::Gone(to) }
    }

    /// Reads a little of a packet, for [`Sim::touch_what_is_next`](crate::engine::Sim).
    #[inline]
    pub(crate) fn touch(&self, slot: u32) -> u64 {
        let packet = &self.packets[slot as usize];
        packet.segment.seq ^ packet.due.nanos()
    }
    /// The socket that a packet's event will reach, and the offset of the stream after it.
    #[inline]
    pub(crate) fn next_socket(&self, slot: u32) -> Option<(u32, u64)> {
        let packet = &self.packets[slot as usize];
        match packet.to {
            Addressee::Socket(socket) if packet.arriving => Some((socket, packet.segment.end())),
            _ => None,
        }
    }

    fn release(&mut self, slot: u32) {
        self.packets[slot as usize].due = Time::NEVER;
        self.free.push(slot);
    }

    /// Takes a packet through the next link that it can wait in and on to the one after, and
    /// schedules its event there. `false` if it does not get that far.
    #[inline]
    fn travel(&mut self, queue: &mut EventQueue<Event>, now: Time, slot: u32) -> bool {
        let packet = &mut self.packets[slot as usize];
        let route = &mut self.routes[packet.route as usize];
        let mut at = now;
        let mut left_queue = None;
        while packet.step < route.len {
            let step = self.steps[route.first as usize + usize::from(packet.step)];
            if let (OWN, Some(delay)) = (step, route.plain) {
                at += delay;
                packet.step += 1;
                continue;
            }
            let verdict = if step == OWN {
                let core = &self.cores[route.core as usize].conditions;
                let own = route.drawn.as_ref().map_or(core, |drawn| &drawn.conditions);
                route.own.offer(own, at, packet.bytes, slot)
            } else {
                let link = &mut self.links[step as usize];
                if link.conditions.rate_bps.is_some() && (at > now || left_queue.is_some()) {
                    break; // It enters this queue later.
                }
                let verdict = link.direction.offer(&link.conditions, at, packet.bytes, slot);
                if let (Verdict::Arrives(time), Some(_)) = (verdict, link.conditions.rate_bps) {
                    left_queue = Some(time);
                }
                verdict
            };
            match verdict {
                Verdict::Arrives(time) => at = time,
                Verdict::Lost | Verdict::Dropped => {
                    let frames = u64::from(packet.segment.frames());
                    if verdict == Verdict::Lost {
                        self.totals.lost += frames;
                    } else {
                        self.totals.dropped += frames;
                    }
                    self.release(slot);
                    return false;
                }
            }
            packet.step += 1;
        }
        packet.due = at;
        packet.arriving = packet.step == route.len;
        packet.beyond = left_queue.map_or(Span::ZERO, |left| at - left);
        queue.schedule(at, Event::packet(slot));
        true
    }

    /// Gives a shared link new conditions; packets in its queue stay there and arrive when the
    /// new conditions say.
    pub(crate) fn change_link(
        &mut self,
        queue: &mut EventQueue<Event>,
        now: Time,
        link: u32,
        conditions: &Conditions,
    ) {
        let link = &mut self.links[link as usize];
        for moved in link.direction.change(now, &link.conditions, conditions) {
            let packet = &mut self.packets[moved.tag as usize];
            packet.due = moved.arrives + packet.beyond;
            queue.schedule(packet.due, Event::packet(moved.tag));
        }
        link.conditions = conditions.clone();
        // A link that gained its first rate makes its routes queue.
        for route in &mut self.routes {
            route.queues = self.steps[route.range()].iter().any(|&step| {
                step != OWN && self.links[step as usize].conditions.rate_bps.is_some()
            });
        }
    }

    /// Gives the pairs' own pieces of path of a core new conditions. Packets on their way are not
    /// touched.
    pub(crate) fn change_core(&mut self, core: u32, conditions: &Conditions) {
        self.cores[core as usize].conditions = conditions.clone();
        for route in self.routes.iter_mut().filter(|route| route.core == core) {
            if let Some(drawn) = &mut route.drawn {
                drawn.apply(conditions);
            }
        }
    }

    pub(crate) fn links(&self) -> impl Iterator<Item = LinkView<'_>> {
        self.links.iter().map(|link| LinkView { link })
    }
    pub(crate) fn queued_packets(&mut self, link: u32, now: Time) -> u32 {
        self.links[link as usize].direction.queued_packets(now)
    }
}

/// What a record may know of a link.
pub(crate) struct LinkView<'a> {
    link: &'a Link,
}

impl LinkView<'_> {
    pub(crate) fn name(&self) -> &str {
        &self.link.name
    }
    pub(crate) fn rate(&self) -> Option<Rate> {
        self.link.conditions.rate_bps
    }
    pub(crate) fn queueing_delay(&self, now: Time) -> Span {
        self.link.direction.queueing_delay(now)
    }
    pub(crate) fn counters(&self) -> &flashcrowd_link::Counters {
        self.link.direction.counters()
    }
}
