use crate::carried::{Carried, OnRoute};
use crate::route::{Drawn, PAIR, PairPath, Route};
use crate::shared_link::SharedLink;
use flashcrowd_base::{RandomStream, Span, Time};
use flashcrowd_link::{Cause, Conditions, Direction, Moved, Outcome, Trace};
use flashcrowd_plan as plan;
use std::collections::BTreeMap;

/// Hosts, shared links and routes. Packets that wait for a discipline are kept as `K`.
#[derive(Debug)]
pub struct Topology<K> {
    seed: u64,
    hosts: Vec<plan::Host>,
    groups: u32,
    core_of: Vec<u32>,
    cores: Vec<plan::CorePath>,
    /// Whether the timeline changes a core, so that no piece of path may be taken for constant.
    cores_change: bool,
    links: Vec<SharedLink<K>>,
    traces: Vec<Trace>,
    routes: Vec<Route>,
    route_of: BTreeMap<(u32, u32), u32>,
    /// The route of a core that is nothing but a constant delay, for all pairs without lines.
    bare_route_of: Vec<Option<u32>>,
    steps: Vec<u32>,
    last_tag: u32,
}

/// How far a packet got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advance {
    /// It needs looking at again then.
    Due {
        /// The instant.
        at: Time,
        /// Whether it has reached its host by then; otherwise it enters the queue of its next step.
        arrives: bool,
        /// Number of its FIFO, whose packets are due in the order in which they advanced; `None` for
        /// a packet that may overtake any other.
        fifo: Option<u32>,
    },
    /// It waits at this link until [`Topology::depart`] hands it out, or tells that it was dropped. The
    /// link's [next departure](Topology::next_departure) may be another one now.
    Held {
        /// The link.
        link: u32,
    },
    /// It was lost at random.
    Lost,
    /// A queue dropped it.
    Dropped,
}

/// A packet that a discipline has sent.
#[derive(Debug)]
pub struct Dequeued<K> {
    /// The packet.
    pub packet: K,
    /// When it reaches the end of the link, from where [`Topology::resume`] takes it on; `None` if
    /// it is lost on the way.
    pub arrives: Option<Time>,
    /// Whether it carries the codepoint CE from now on.
    pub marked: bool,
}

impl<K> Topology<K> {
    /// The network of a plan. `cores_change` if the timeline changes a core while a run goes on.
    pub fn new(network: &plan::Network, seed: u64, cores_change: bool) -> Topology<K> {
        let links = (0u32..).zip(&network.links);
        let trace = |link: &plan::Link| link.trace.map(|it| network.traces[it as usize].clone());
        let shared =
            |(index, link): (u32, &plan::Link)| SharedLink::new(link, trace(link), seed, index);
        Topology {
            seed,
            hosts: network.hosts.clone(),
            groups: network.groups.len() as u32,
            core_of: network.core_of.clone(),
            cores: network.cores.clone(),
            cores_change,
            links: links.map(shared).collect(),
            traces: network.traces.clone(),
            routes: Vec::new(),
            route_of: BTreeMap::new(),
            bare_route_of: vec![None; network.cores.len()],
            steps: Vec::new(),
            last_tag: 0,
        }
    }

    /// A host of the plan.
    pub fn host(&self, host: u32) -> &plan::Host {
        &self.hosts[host as usize]
    }
    /// All shared links, by index.
    pub fn links(&self) -> impl Iterator<Item = &SharedLink<K>> {
        self.links.iter()
    }
    /// A shared link.
    pub fn link(&self, link: u32) -> &SharedLink<K> {
        &self.links[link as usize]
    }
    /// A shared link, to be asked what changes it: how long its queue is, say.
    pub fn link_mut(&mut self, link: u32) -> &mut SharedLink<K> {
        &mut self.links[link as usize]
    }
    /// How many FIFOs there are; see [`Advance::Due`].
    pub fn fifos(&self) -> usize {
        self.links.len() + self.cores.len()
    }

    /// The route from one host to another, made when first asked for.
    pub fn route(&mut self, from: u32, to: u32) -> u32 {
        let (source, target) = (&self.hosts[from as usize], &self.hosts[to as usize]);
        let core_index = self.core_of[(source.group * self.groups + target.group) as usize];
        let core = &self.cores[core_index as usize];
        let loses = core.conditions.jitter.is_some() || core.conditions.loss.is_some();
        let constant = !loses && core.draw.is_none() && !self.cores_change;
        let lines = source.up.len() + target.down.len() + core.links.len();
        let bare = constant && lines == 0;
        let known = match bare {
            true => self.bare_route_of[core_index as usize],
            false => self.route_of.get(&(from, to)).copied(),
        };
        if let Some(route) = known {
            return route;
        }
        let first = self.steps.len() as u32;
        self.steps.extend(&source.up);
        self.steps.extend(&core.links);
        self.steps.push(PAIR);
        self.steps.extend(&target.down);
        let own = (!constant).then(|| {
            let ordered = u64::from(from) << 32 | u64::from(to);
            Box::new(PairPath {
                drawn: Drawn::new(self.seed, core, from, to),
                direction: Direction::new(RandomStream::new(self.seed, "path", ordered)),
            })
        });
        let route = Route {
            first,
            len: (self.steps.len() as u32 - first) as u16,
            through: self.through(&self.steps[first as usize..], constant),
            core: core_index,
            from,
            to,
            constant: constant.then_some(core.conditions.delay_ns),
            own,
        };
        let index = self.routes.len() as u32;
        self.routes.push(route);
        match bare {
            true => self.bare_route_of[core_index as usize] = Some(index),
            false => _ = self.route_of.insert((from, to), index),
        }
        index
    }

    /// The links of a route that is two queues with a constant delay between them.
    fn through(&self, steps: &[u32], constant: bool) -> Option<[u32; 2]> {
        match *steps {
            [up, PAIR, down] if constant && self.links[down as usize].rated => Some([up, down]),
            _ => None,
        }
    }

    /// Round-trip time between two hosts over an idle network, for a packet of no size.
    pub fn base_rtt(&mut self, from: u32, to: u32) -> Span {
        self.base_delay(from, to) + self.base_delay(to, from)
    }

    fn base_delay(&mut self, from: u32, to: u32) -> Span {
        let index = self.route(from, to) as usize;
        let route = &self.routes[index];
        let delay = |&step: &u32| match step {
            PAIR => self.pair_conditions(route).delay_ns,
            link => self.links[link as usize].conditions.delay_ns,
        };
        self.steps[route.range()].iter().map(delay).fold(Span::ZERO, |sum, delay| sum + delay)
    }

    fn pair_conditions<'a>(&'a self, route: &'a Route) -> &'a Conditions {
        let drawn = route.own.as_ref().and_then(|own| own.drawn.as_ref());
        drawn.map_or(&self.cores[route.core as usize].conditions, |drawn| &drawn.conditions)
    }

    /// The delay of a route that is nothing but a constant delay, and the FIFO of its packets.
    pub fn constant_delay(&self, route: u32) -> Option<(Span, u32)> {
        let route = &self.routes[route as usize];
        let fifo = self.links.len() as u32 + route.core;
        route.constant.filter(|_| route.len == 1).map(|delay| (delay, fifo))
    }

    /// Leaves a link to another topology of the same plan: a packet stops before it, as before a queue.
    pub fn leave(&mut self, link: u32) {
        let link = &mut self.links[link as usize];
        (link.elsewhere, link.plain) = (true, None);
    }

    /// How many steps a route has.
    pub fn steps(&self, route: u32) -> u16 {
        self.routes[route as usize].len
    }

    /// The shared link that a route has at a step; `None` for a pair's own piece, and past the end.
    pub fn link_at(&self, route: u32, step: u16) -> Option<u32> {
        let route = &self.routes[route as usize];
        let step = *self.steps[route.range()].get(usize::from(step))?;
        (step != PAIR).then_some(step)
    }

    /// Propagation delay on a route before a step, back to the last queue or to what is played elsewhere:
    /// how long before it comes there a packet has left that queue at least.
    pub fn ahead(&self, route: u32, step: u16) -> Span {
        let route = &self.routes[route as usize];
        let mut ahead = Span::ZERO;
        for &step in self.steps[route.range()][..usize::from(step)].iter().rev() {
            if step == PAIR {
                ahead += self.pair_conditions(route).min_delay();
                continue;
            }
            let link = &self.links[step as usize];
            if link.elsewhere {
                break;
            }
            ahead += link.conditions.min_delay();
            if link.is_rated() {
                break;
            }
        }
        ahead
    }

    /// Whether a super-segment stays whole on a route: nothing on it has a queue, or loses frames.
    /// Elsewhere it is cut into frames at the sender, and each of them is lost on its own.
    pub fn keeps_whole(&self, route: u32) -> bool {
        let route = &self.routes[route as usize];
        let cuts = |&step: &u32| step != PAIR && self.links[step as usize].cuts();
        route.constant.is_some() && !self.steps[route.range()].iter().any(cuts)
    }

    /// A name for a packet, newer than all others': each needs one when it sets out. A queue whose
    /// discipline decides gives it another. Never 0.
    pub fn new_tag(&mut self) -> u32 {
        self.last_tag = next_tag(self.last_tag);
        self.last_tag
    }

    /// Takes a packet from `now` through the next queue that it can wait in, and any pure delays, up
    /// to the queue after that or to its host. `keep` makes what is kept if it has to wait for a
    /// discipline; `gone` hears of other packets that are dropped to make room.
    #[inline(always)]
    pub fn advance<P: Carried>(
        &mut self,
        now: Time,
        packet: &mut P,
        keep: impl Fn(&P) -> K,
        gone: &mut impl FnMut(K, Cause),
    ) -> Advance {
        self.go(now, now, None, packet, keep, gone)
    }

    /// The same for a packet that leaves `link` at `now` and reaches its end at `arrives`, if ever.
    pub fn resume<P: Carried>(
        &mut self,
        now: Time,
        link: u32,
        arrives: Option<Time>,
        packet: &mut P,
        keep: impl Fn(&P) -> K,
        gone: &mut impl FnMut(K, Cause),
    ) -> Advance {
        let Some(arrives) = arrives else { return Advance::Lost };
        packet.set_step(packet.step() + 1);
        self.go(now, arrives, Some(link), packet, keep, gone)
    }

    // A callee that is not inlined gets a copy of the packet, so that the packet itself stays in
    // registers.
    #[inline(always)]
    fn go<P: Carried>(
        &mut self,
        now: Time,
        mut at: Time,
        mut left: Option<u32>,
        packet: &mut P,
        keep: impl Fn(&P) -> K,
        gone: &mut impl FnMut(K, Cause),
    ) -> Advance {
        let route = &mut self.routes[packet.route() as usize];
        let mut place = packet.step();
        if let (Some([up, down]), Some(delay), None) = (route.through, route.constant, left)
            && place != 1
        {
            let arrives = place != 0;
            let (step, delay) = if arrives { (down, Span::ZERO) } else { (up, delay) };
            let link = &mut self.links[step as usize];
            if let Some(plain) = &link.plain {
                let Outcome::Arrives(time) = link.direction.offer_plain(plain, now, packet) else {
                    return Advance::Dropped;
                };
                packet.set_step(if arrives { route.len } else { 2 });
                return Advance::Due { at: time + delay, arrives, fifo: Some(step) };
            }
        }
        while place < route.len {
            let step = self.steps[route.first as usize + usize::from(place)];
            if let (PAIR, Some(delay)) = (step, route.constant) {
                at += delay;
                place += 1;
                continue;
            }
            let outcome = if step == PAIR {
                // Not constant, so it is there.
                let Some(own) = &mut route.own else { return Advance::Lost };
                let core = &self.cores[route.core as usize].conditions;
                let conditions = own.drawn.as_ref().map_or(core, |drawn| &drawn.conditions);
                own.direction.offer(conditions, at, &{ *packet }, &mut |_, _| {})
            } else {
                let link = &mut self.links[step as usize];
                if link.elsewhere {
                    break;
                }
                let rated = link.rated;
                if rated && (at > now || left.is_some()) {
                    break; // It enters this queue later.
                }
                let outcome = if let Some(plain) = &link.plain {
                    link.direction.offer_plain(plain, now, packet)
                } else if link.decides {
                    let (source, target) = (route.from, route.to);
                    packet.set_step(place);
                    self.last_tag = next_tag(self.last_tag);
                    packet.set_tag(self.last_tag);
                    let packet = &{ *packet };
                    offer_to_discipline(link, now, OnRoute { packet, source, target }, &keep, gone)
                } else {
                    link.direction.offer(&link.conditions, at, &{ *packet }, &mut |_, _| {})
                };
                if let (Outcome::Arrives(_), true) = (outcome, rated) {
                    left = Some(step);
                }
                outcome
            };
            match outcome {
                Outcome::Arrives(time) => at = time,
                Outcome::Lost => return Advance::Lost,
                Outcome::Dropped => return Advance::Dropped,
                Outcome::Queued => return Advance::Held { link: step },
            }
            place += 1;
        }
        packet.set_step(place);
        let arrives = place == route.len;
        let fifo = match left {
            Some(link) => Some(link),
            None if route.own.as_ref().is_some_and(|own| own.drawn.is_some()) => None,
            None => Some(self.links.len() as u32 + route.core),
        };
        Advance::Due { at, arrives, fifo }
    }

    /// When the next packet leaves a link whose discipline decides, unless the engine waits for an earlier
    /// departure already. To be asked after all that may change it: a packet held, a departure, new conditions.
    pub fn next_departure(&mut self, link: u32) -> Option<Time> {
        let SharedLink { direction, departs, .. } = &mut self.links[link as usize];
        let next = direction.next_dequeue().filter(|next| *next < *departs)?;
        *departs = next;
        Some(next)
    }

    /// The packet that a link's discipline sends at a departure; none if another has taken its place.
    pub fn depart(
        &mut self,
        now: Time,
        link: u32,
        gone: &mut impl FnMut(K, Cause),
    ) -> Option<Dequeued<K>> {
        let SharedLink { conditions, direction, held, departs, .. } =
            &mut self.links[link as usize];
        if *departs != now {
            return None;
        }
        *departs = Time::NEVER;
        let departure = direction.dequeue(conditions, now, &mut |tag, cause| {
            if let Some(packet) = held.take(tag) {
                gone(packet, cause);
            }
        })?;
        let packet = held.take(departure.tag)?;
        Some(Dequeued { packet, arrives: departure.arrives, marked: departure.marked })
    }

    /// Gives a shared link new conditions, and one of the plan's traces to follow or none. Packets in its
    /// queue stay there; those whose arrival moves are returned, by tag. Its next departure is another one.
    pub fn change_link(
        &mut self,
        now: Time,
        link: u32,
        conditions: &Conditions,
        trace: Option<u32>,
    ) -> BTreeMap<u32, Moved> {
        let trace = trace.map(|trace| self.traces[trace as usize].clone());
        let changed = &mut self.links[link as usize];
        let moved = changed.change(now, conditions, trace);
        if !changed.rated {
            self.routes.iter_mut().for_each(|route| route.through = None);
        }
        moved.into_iter().map(|moved| (moved.tag, moved)).collect()
    }

    /// Gives the pairs' own pieces of path of a core new conditions. Packets on their way are not
    /// touched.
    pub fn change_core(&mut self, core: u32, conditions: &Conditions) {
        self.cores[core as usize].conditions = conditions.clone();
        for route in self.routes.iter_mut().filter(|route| route.core == core) {
            if let Some(drawn) = route.own.as_mut().and_then(|own| own.drawn.as_mut()) {
                drawn.apply(conditions);
            }
        }
    }
}

fn next_tag(tag: u32) -> u32 {
    tag.wrapping_add(1).max(1)
}

/// Offers a packet to a link whose discipline decides, or has decided before a change.
#[inline(never)]
fn offer_to_discipline<P: Carried, K>(
    link: &mut SharedLink<K>,
    now: Time,
    offered: OnRoute<'_, P>,
    keep: &impl Fn(&P) -> K,
    gone: &mut impl FnMut(K, Cause),
) -> Outcome {
    let SharedLink { conditions, direction, held, .. } = link;
    let outcome = direction.offer(conditions, now, &offered, &mut |tag, cause| {
        if let Some(packet) = held.take(tag) {
            gone(packet, cause);
        }
    });
    if outcome == Outcome::Queued {
        held.keep(offered.packet.tag(), keep(offered.packet));
    }
    outcome
}
