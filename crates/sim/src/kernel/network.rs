use super::event::Event;
use super::event_queue::EventQueue;
use super::packet::{Packet, Sacks};
use super::route::{Drawn, OWN, Route};
use super::transit::{APART, Transit};
use flashcrowd_base::{Rate, Span, Stream, Time};
use flashcrowd_link::{Conditions, Direction, Outcome};
use flashcrowd_plan as plan;
use flashcrowd_transport::tcp::Segment;
use std::collections::BTreeMap;

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
    /// The delay that was drawn for this run.
    drawn: Option<Span>,
    direction: Direction,
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
    /// A lane for each link, then one for each core.
    pub(crate) transit: Transit,
    next_tag: u32,
    pub(crate) totals: Totals,
}

impl Network {
    pub(crate) fn new(plan: &plan::Network, seed: u64, cores_change: bool) -> Network {
        let link = |(index, link): (usize, &plan::Link)| Link {
            name: link.name.clone(),
            conditions: link.conditions.clone(),
            drawn: link.delay.as_ref().map(|delay| drawn(delay, seed)),
            direction: Direction::new(Stream::new(seed, "link", index as u64)),
        };
        let mut links: Vec<Link> = plan.links.iter().enumerate().map(link).collect();
        for link in &mut links {
            link.conditions.delay_ns = link.drawn.unwrap_or(link.conditions.delay_ns);
        }
        Network {
            seed,
            hosts: plan.hosts.clone(),
            groups: plan.groups.len() as u32,
            core_of: plan.core_of.clone(),
            cores: plan.cores.clone(),
            cores_change,
            links,
            routes: Vec::new(),
            route_of: BTreeMap::new(),
            steps: Vec::new(),
            transit: Transit::new(plan.links.len() + plan.cores.len()),
            next_tag: 0,
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

    /// Sends a new packet, which holds this segment of so many frames. Returns how many packets are
    /// on their way because of it: a super-segment is cut where it has to queue, or where some of
    /// its frames are lost.
    #[inline(always)]
    pub(crate) fn send(
        &mut self,
        queue: &mut EventQueue<Event>,
        now: Time,
        frames: u32,
        segment: &Segment,
        packet: &mut Packet,
    ) -> u32 {
        self.totals.sent += u64::from(frames);
        let route = &self.routes[packet.route as usize];
        if frames == 1 || (route.plain.is_some() && !route.queues) {
            return self.launch(queue, now, packet, &segment.sack);
        }
        self.send_frames(queue, now, frames, segment, packet)
    }

    /// One after the other.
    #[inline(never)]
    fn send_frames(
        &mut self,
        queue: &mut EventQueue<Event>,
        now: Time,
        frames: u32,
        segment: &Segment,
        packet: &Packet,
    ) -> u32 {
        let launch = |index| {
            let frame = segment.frame(index);
            let bytes = frame.wire_bytes() as u32;
            let mut packet = Packet::new(&frame, packet.addressee(), packet.route, bytes);
            self.launch(queue, now, &mut packet, &frame.sack)
        };
        (0..frames).map(launch).sum()
    }

    #[inline(always)]
    fn launch(
        &mut self,
        queue: &mut EventQueue<Event>,
        now: Time,
        packet: &mut Packet,
        sacks: &Sacks,
    ) -> u32 {
        // Nothing on the way is named 0, as packets that wait nowhere are.
        self.next_tag = self.next_tag.wrapping_add(1).max(1);
        packet.tag = self.next_tag;
        u32::from(self.travel(queue, now, packet, sacks))
    }

    /// The delay of a route that is nothing but a constant delay, and the lane of its packets, for
    /// [`Network::send_direct`].
    pub(crate) fn direct(&self, route: u32) -> Option<(Span, u32)> {
        let route = &self.routes[route as usize];
        route.plain.filter(|_| route.len == 1).map(|delay| (delay, self.lane_of(route, None)))
    }

    /// Where packets stand that left `link` last, or none.
    #[inline]
    fn lane_of(&self, route: &Route, link: Option<u32>) -> u32 {
        match link {
            Some(link) => link,
            None if route.drawn.is_some() => APART,
            None => self.links.len() as u32 + route.core,
        }
    }

    /// Sends a [direct](Packet::direct) packet over a route that is nothing but a constant delay:
    /// without touching the route, which with thousands of them is a cache miss.
    #[inline]
    pub(crate) fn send_direct(
        &mut self,
        queue: &mut EventQueue<Event>,
        lane: u32,
        frames: u32,
        packet: &Packet,
        sacks: &Sacks,
    ) {
        self.totals.sent += u64::from(frames);
        self.transit.keep(queue, lane, packet, sacks);
    }

    /// Takes a packet through the next link that it can wait in and on to the one after, where its
    /// next event is due. `false` if it does not get that far.
    #[inline(always)]
    pub(crate) fn travel(
        &mut self,
        queue: &mut EventQueue<Event>,
        now: Time,
        packet: &mut Packet,
        sacks: &Sacks,
    ) -> bool {
        let route = &mut self.routes[packet.route as usize];
        let mut at = now;
        let mut left_queue = None;
        let mut place = packet.step;
        while place < route.len {
            let step = self.steps[route.first as usize + usize::from(place)];
            if let (OWN, Some(delay)) = (step, route.plain) {
                at += delay;
                place += 1;
                continue;
            }
            let outcome = if step == OWN {
                let core = &self.cores[route.core as usize].conditions;
                let own = route.drawn.as_ref().map_or(core, |drawn| &drawn.conditions);
                route.own.offer(own, at, packet, &mut |_, _| {})
            } else {
                let link = &mut self.links[step as usize];
                if link.conditions.rate_bps.is_some() && (at > now || left_queue.is_some()) {
                    break; // It enters this queue later.
                }
                let outcome = link.direction.offer(&link.conditions, at, packet, &mut |_, _| {});
                if let (Outcome::Arrives(time), Some(_)) = (outcome, link.conditions.rate_bps) {
                    left_queue = Some((step, time));
                }
                outcome
            };
            match outcome {
                Outcome::Arrives(time) => at = time,
                // `check` lets no discipline through.
                Outcome::Queued => return false,
                Outcome::Lost | Outcome::Dropped => {
                    let frames = u64::from(packet.frames());
                    if outcome == Outcome::Lost {
                        self.totals.lost += frames;
                    } else {
                        self.totals.dropped += frames;
                    }
                    return false;
                }
            }
            place += 1;
        }
        if place == route.len {
            packet.set_arriving();
        }
        let route = &self.routes[packet.route as usize];
        let lane = self.lane_of(route, left_queue.map(|(link, _)| link));
        packet.step = place;
        packet.due = at;
        self.transit.keep(queue, lane, packet, sacks);
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
        let changed = &mut self.links[link as usize];
        let mut conditions = conditions.clone();
        conditions.delay_ns = changed.drawn.unwrap_or(conditions.delay_ns);
        let moved = changed.direction.change(now, &changed.conditions, &conditions);
        changed.conditions = conditions;
        let moved: BTreeMap<u32, (Time, Time)> =
            moved.iter().map(|m| (m.tag, (m.arrived, m.arrives))).collect();
        self.transit.reschedule(queue, link, |tag| moved.get(&tag).copied());
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
    pub(crate) fn link(&self, link: u32) -> LinkView<'_> {
        LinkView { link: &self.links[link as usize] }
    }
    pub(crate) fn queued_packets(&mut self, link: u32, now: Time) -> u32 {
        self.links[link as usize].direction.queued_packets(now)
    }
}

/// The delay that a link draws for a run.
fn drawn(delay: &plan::DrawnDelay, seed: u64) -> Span {
    let mut stream = Stream::new(seed, "delay", u64::from(delay.number));
    stream.between(delay.least_ns, delay.most_ns)
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
        self.link.direction.queueing_delay(&self.link.conditions, now)
    }
    pub(crate) fn counters(&self) -> flashcrowd_link::Counters {
        self.link.direction.counters()
    }
}
