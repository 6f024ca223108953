//! Upload controllers beside the clients of a population: their inputs from line and client, and their orders to
//! the client.

mod interface;
mod probes;

use super::*;
use crate::apps::DatagramContent;
use crate::apps::Saying;
use crate::kernel::Datagram;
use flashcrowd_plan::ControlledUpload;
use flashcrowd_upload::{Controller, Limit, Rates, Setup};
use interface::Interface;
use probes::Probes;

/// A probe goes to its reflector.
const PROBE: u8 = 0;
/// Its answer comes back.
const ANSWER: u8 = 1;

/// A controller that is due and has nothing to do is asked again after this.
const MIN_PAUSE: Span = Span::from_millis(1);

/// The controller of one peer, from the arrival of its client to its departure.
pub(super) struct UploadControl<'p> {
    spec: &'p ControlledUpload,
    /// How late each of its timers is.
    stream: RandomStream,
    /// None before it is started.
    controller: Option<Box<dyn Controller>>,
    /// When its next event is; others are of no account.
    armed: Time,
    client: Interface,
    /// When the client is asked next.
    poll_at: Time,
    probes: Probes,
    /// The limit that the client has.
    limit: UploadLimit,
}

/// The input, aim and order of a controller at an instant: a row of the table `control`.
pub(super) struct ControlRow {
    pub(super) peer: u32,
    pub(super) at: Time,
    /// The limit that the client has.
    pub(super) limit: UploadLimit,
    /// Bytes per second, up and down, as the client reports them, since the last row.
    pub(super) rates: [f64; 2],
    pub(super) rtt: Option<Span>,
    pub(super) base: Option<Span>,
    pub(super) lost: u32,
    pub(super) state: flashcrowd_upload::State,
}

impl UploadControl<'_> {
    /// It is started: it finds the client with the limit that its user gave it.
    fn start(&mut self, now: Time) {
        let limit = self.limit.rate().map_or(Limit::Unlimited, Limit::At);
        let setup = Setup { now, reflectors: self.spec.reflectors.len(), limit };
        self.controller = Some(self.spec.controller.build(&setup));
        self.poll_at = now;
    }

    /// The instant of the next timer, which is late by a random part of the lateness; none if its
    /// present one will do.
    fn next_event(&mut self, now: Time) -> Option<Time> {
        let controller = self.controller.as_ref()?;
        let due = controller.deadline().min(self.poll_at).min(self.probes.next());
        let due = due.max(now + MIN_PAUSE);
        let late = self.stream.between(Span::ZERO, self.spec.lateness_ns);
        let at = self.client.refresh_at.min(due + late);
        if at >= self.armed {
            return None;
        }
        self.armed = at;
        Some(at)
    }

    /// Passes what the client reports now to the controller, and records it as a row.
    fn poll(&mut self, now: Time, peer: u32) -> Option<ControlRow> {
        let controller = self.controller.as_mut()?;
        if now < self.poll_at {
            return None;
        }
        self.poll_at = now + self.spec.poll_ns;
        let elapsed = now.since(self.client.asked).seconds();
        let before = self.client.said;
        let [uploaded, downloaded] = self.client.ask(now);
        let limit = self.limit.rate().map_or(Limit::Unlimited, Limit::At);
        let ceiling = Limit::Unlimited; // its own limits replace the user's
        controller.on_rates(now, &Rates { uploaded, downloaded, sent: None, limit, ceiling });
        let rate = |now: u64, before: u64| {
            if elapsed > 0.0 { now.saturating_sub(before) as f64 / elapsed } else { 0.0 }
        };
        Some(ControlRow {
            peer,
            at: now,
            limit: self.limit,
            rates: [rate(uploaded, before[0]), rate(downloaded, before[1])],
            rtt: self.probes.rtt.take(),
            base: self.probes.base,
            lost: std::mem::take(&mut self.probes.lost),
            state: controller.state(),
        })
    }
}

impl<'p> Swarms<'p> {
    fn control(&mut self, peer: u32) -> Option<&mut UploadControl<'p>> {
        self.controls.get_mut(peer as usize)?.as_deref_mut()
    }

    /// The limit that a peer's client has, or will have when it comes.
    pub(super) fn limit(&self, peer: u32) -> UploadLimit {
        let state = self.rules.peer(peer);
        match self.controls.get(peer as usize) {
            Some(Some(control)) => control.limit,
            _ => self.rules.swarm(state.swarm).uploads[state.population as usize],
        }
    }

    /// A peer came: its controller follows, if it has one.
    pub(super) fn begin_control(&mut self, world: &mut World, peer: u32) {
        let Some(spec) = self.population(peer).and_then(|it| it.upload_control.as_ref()) else {
            return;
        };
        let mut stream = RandomStream::new(world.seed, "upload control", u64::from(peer));
        let armed = world.now + stream.between(Span::ZERO, spec.start_spread_ns);
        let control = UploadControl {
            spec,
            stream,
            controller: None,
            armed,
            client: Interface::new(world.now, spec.interface),
            poll_at: Time::NEVER,
            probes: Probes::default(),
            limit: self.limit(peer),
        };
        if self.controls.len() <= peer as usize {
            self.controls.resize_with(peer as usize + 1, || None);
        }
        self.controls[peer as usize] = Some(Box::new(control));
        self.schedule(world, armed, Code::UploadControl, peer);
    }

    /// A peer left: answers to its probes that are in flight are discarded.
    pub(super) fn end_control(&mut self, peer: u32) {
        if let Some(control) = self.controls.get_mut(peer as usize) {
            *control = None;
        }
    }

    /// A timer of a controller, or of the meter that it reads.
    pub(super) fn on_control(&mut self, world: &mut World, peer: u32) {
        let now = world.now;
        let down = self.progress(peer).unwrap_or(self.rules.peer(peer).last).down;
        let Some(control) = self.control(peer).filter(|control| control.armed == now) else {
            return;
        };
        control.armed = Time::NEVER;
        if control.controller.is_none() {
            control.start(now);
        }
        control.client.counted[1] = down;
        control.client.on_timer(now);
        while let Some(answer) = control.probes.given_up(now) {
            if let Some(controller) = &mut control.controller {
                controller.on_answer(now, &answer);
            }
        }
        let row = control.poll(now, peer);
        while let Some(control) = self.control(peer)
            && let Some(probe) = control.controller.as_mut().and_then(|it| it.probe(now))
        {
            let number = control.probes.send(now, probe);
            self.echo(world, peer, number, probe.reflector, PROBE);
        }
        self.obey(world, peer);
        self.control_rows.extend(row);
        self.arm_control(world, peer);
    }

    fn arm_control(&mut self, world: &mut World, peer: u32) {
        let now = world.now;
        if let Some(at) = self.control(peer).and_then(|control| control.next_event(now)) {
            self.schedule(world, at, Code::UploadControl, peer);
        }
    }

    /// Gives the client of a peer the limit that its controller wants.
    fn obey(&mut self, world: &mut World, peer: u32) {
        let Some(control) = self.control(peer) else { return };
        let Some(controller) = &control.controller else { return };
        let limit = control.client.rounded(controller.limit());
        if limit != control.limit {
            self.set_peer_upload(world, peer, limit);
        }
    }

    /// The client of a peer got another limit.
    pub(super) fn note_limit(&mut self, peer: u32, limit: UploadLimit) {
        if let Some(control) = self.control(peer) {
            control.limit = limit;
        }
    }

    /// Bytes of blocks were written, and as many as `header` of these and of earlier ones were no payload.
    pub(super) fn count_upload(&mut self, peer: u32, bytes: u32, header: u32) {
        let Some(control) = self.control(peer) else { return };
        control.client.uploaded(bytes, header);
    }

    fn echo(&self, world: &mut World, peer: u32, number: u64, reflector: usize, code: u8) {
        let Some(spec) = self.population(peer).and_then(|it| it.upload_control.as_ref()) else {
            return;
        };
        let [from, to] = self.echo_hosts(peer, reflector, code);
        let words = [number, reflector as u64];
        let bytes = spec.probe_bytes;
        let datagram = Datagram { app: SWARM, code, index: peer, words, bytes };
        world.send_datagram(from, to, &datagram);
    }

    fn echo_hosts(&self, peer: u32, reflector: usize, code: u8) -> [u32; 2] {
        let host = self.rules.peer(peer).host;
        let reflectors = self.population(peer).and_then(|it| it.upload_control.as_ref());
        let other = reflectors.and_then(|it| it.reflectors.get(reflector)).copied();
        let other = other.unwrap_or(host); // Controllers ask only those that there are.
        if code == ANSWER { [other, host] } else { [host, other] }
    }

    /// A probe reached its reflector, or an answer its controller.
    pub(super) fn on_echo(&mut self, world: &mut World, datagram: Datagram) {
        let Datagram { index: peer, words: [number, reflector], code, .. } = datagram;
        if code == PROBE {
            return self.echo(world, peer, number, reflector as usize, ANSWER);
        }
        let now = world.now;
        let Some(control) = self.control(peer) else { return };
        let Some(answer) = control.probes.answered(now, number) else { return };
        if let Some(controller) = &mut control.controller {
            controller.on_answer(now, &answer);
        }
        self.obey(world, peer);
        self.arm_control(world, peer);
    }

    pub(super) fn says_echo(&self, datagram: &Datagram) -> Saying {
        let Datagram { code, index: peer, words: [number, reflector], .. } = *datagram;
        let content = DatagramContent::Echo {
            reply: code == ANSWER,
            identifier: peer as u16 + 1,
            sequence: number as u16,
        };
        Saying { hosts: self.echo_hosts(peer, reflector as usize, code), content }
    }
}
