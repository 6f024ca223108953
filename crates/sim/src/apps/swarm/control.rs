//! Upload controllers beside the clients of a population: what each hears of its line and of its client, and
//! what it does to the client's limit.

use super::*;
use crate::apps::DatagramContent;
use crate::apps::Saying;
use crate::kernel::Datagram;
use flashcrowd_base::{Rate, Ring};
use flashcrowd_plan::{ClientInterface, ControlledUpload};
use flashcrowd_upload::{Answer, Controller, Limit, Probe, Rates, Setup};

/// A probe goes to its reflector.
const PROBE: u8 = 0;
/// Its answer comes back.
const ANSWER: u8 = 1;

/// A controller that is due and has nothing to do is asked again after this.
const LEAST_PAUSE: Span = Span::from_millis(1);

/// The controller of one peer, from the arrival of its client to its departure.
pub(super) struct Control<'p> {
    spec: &'p ControlledUpload,
    /// How late each of its timers is.
    stream: RandomStream,
    /// None before it is started.
    controller: Option<Box<dyn Controller>>,
    /// When its next event is; others are of no account.
    armed: Time,
    client: Client,
    /// When the client is asked next.
    poll_at: Time,
    probes: Probes,
    /// The limit that the client has.
    limit: UploadLimit,
}

/// Probes on their way, and what became of them.
#[derive(Default)]
struct Probes {
    sent: u64,
    waiting: Vec<Waiting>,
    /// The least round trip so far.
    base: Option<Span>,
    /// Since the last row: the latest answer, and how many had none.
    rtt: Option<Span>,
    lost: u32,
}

/// A probe without an answer so far.
#[derive(Clone, Copy)]
struct Waiting {
    number: u64,
    reflector: usize,
    sent: Time,
    /// When it is given up.
    until: Time,
}

/// A client's interface for other programs: its meter, and what it says of it.
struct Client {
    rules: ClientInterface,
    /// Payload bytes, up and down: what its sockets took and gave.
    counted: [u64; 2],
    /// Header bytes that were counted and are to be left out of what follows.
    headers: u32,
    /// Its counts when it last renewed what it says, and before, as far back as its mean goes.
    readings: Ring<(Time, [u64; 2])>,
    refresh_at: Time,
    /// What whoever asks makes of its answers: counts, or the integral of rates; and when it last asked.
    said: [u64; 2],
    asked: Time,
}

/// What a controller knew, wanted and did at an instant: a row of the table `control`.
pub(super) struct ControlRow {
    pub(super) peer: u32,
    pub(super) at: Time,
    /// The limit that the client has.
    pub(super) limit: UploadLimit,
    /// Bytes per second, up and down, as the client says, since the last row.
    pub(super) rates: [f64; 2],
    pub(super) rtt: Option<Span>,
    pub(super) base: Option<Span>,
    pub(super) lost: u32,
    pub(super) state: flashcrowd_upload::State,
}

impl Client {
    fn new(now: Time, rules: ClientInterface) -> Client {
        let mut readings = Ring::new();
        readings.push_back((now, [0; 2]));
        // One that renews at each question has no timer of its own.
        let refresh_at = if rules.refresh_ns.is_zero() { Time::NEVER } else { now };
        Client {
            rules,
            counted: [0; 2],
            headers: 0,
            readings,
            refresh_at,
            said: [0; 2],
            asked: now,
        }
    }

    /// It renews what it says.
    fn refresh(&mut self, now: Time) {
        self.readings.push_back((now, self.counted));
        let window = self.rules.window_ns.unwrap_or(Span::ZERO);
        // The last reading that is a window old stays: the mean begins there.
        while self.readings.get(1).is_some_and(|(at, _)| now.since(*at) >= window) {
            self.readings.pop_front();
        }
    }

    fn on_timer(&mut self, now: Time) {
        if now >= self.refresh_at {
            self.refresh(now);
            self.refresh_at = now + self.rules.refresh_ns;
        }
    }

    /// It is asked: bytes so far, up and down, as far as its answers tell.
    fn ask(&mut self, now: Time) -> [u64; 2] {
        if self.rules.refresh_ns.is_zero() {
            self.refresh(now);
        }
        let elapsed = now.since(self.asked).seconds();
        self.asked = now;
        let (Some(&(from, before)), Some(&(to, counts))) =
            (self.readings.front(), self.readings.back())
        else {
            return self.said;
        };
        self.said = if self.rules.window_ns.is_none() {
            counts
        } else {
            let seconds = to.since(from).seconds();
            let grown = |way: usize| {
                let mean =
                    if seconds > 0.0 { (counts[way] - before[way]) as f64 / seconds } else { 0.0 };
                self.said[way] + (mean * elapsed) as u64
            };
            [grown(0), grown(1)]
        };
        self.said
    }

    /// The limit that it makes of the one that it is given.
    fn rounded(&self, limit: Limit) -> UploadLimit {
        let Limit::At(rate) = limit else { return UploadLimit::Unlimited };
        let step = u64::from(self.rules.step_bytes.max(1)) * 8;
        Rate::from_bps((rate.bps() / step).max(1) * step).into()
    }
}

impl Probes {
    fn send(&mut self, now: Time, probe: Probe) -> u64 {
        let number = self.sent;
        self.sent += 1;
        let until = now + probe.timeout;
        self.waiting.push(Waiting { number, reflector: probe.reflector, sent: now, until });
        number
    }

    fn answered(&mut self, now: Time, number: u64) -> Option<Answer> {
        let place = self.waiting.iter().position(|it| it.number == number)?;
        let Waiting { reflector, sent, .. } = self.waiting.remove(place);
        let rtt = now - sent;
        self.rtt = Some(rtt);
        self.base = Some(self.base.map_or(rtt, |base| base.min(rtt)));
        Some(Answer { reflector, rtt: Some(rtt) })
    }

    /// One that had no answer in time.
    fn given_up(&mut self, now: Time) -> Option<Answer> {
        let place = self.waiting.iter().position(|it| it.until <= now)?;
        self.lost += 1;
        Some(Answer { reflector: self.waiting.remove(place).reflector, rtt: None })
    }

    fn next(&self) -> Time {
        self.waiting.iter().map(|it| it.until).min().unwrap_or(Time::NEVER)
    }
}

impl Control<'_> {
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
        let due = due.max(now + LEAST_PAUSE);
        let late = self.stream.between(Span::ZERO, self.spec.lateness_ns);
        let at = self.client.refresh_at.min(due + late);
        if at >= self.armed {
            return None;
        }
        self.armed = at;
        Some(at)
    }

    /// What the client says now: to the controller, and as a row.
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
        controller.on_rates(now, &Rates { uploaded, downloaded, sent: None, limit });
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
    fn control(&mut self, peer: u32) -> Option<&mut Control<'p>> {
        self.controls.get_mut(peer as usize)?.as_deref_mut()
    }

    /// The limit that a peer's client has, or will have when it comes.
    pub(super) fn limit(&self, peer: u32) -> UploadLimit {
        let state = &self.peers[peer as usize];
        match self.controls.get(peer as usize) {
            Some(Some(control)) => control.limit,
            _ => self.all[state.swarm as usize].uploads[state.population as usize],
        }
    }

    /// A peer came: its controller follows, if it has one.
    pub(super) fn begin_control(&mut self, world: &mut World, peer: u32) {
        let Some(spec) = self.population(peer).and_then(|it| it.upload_control.as_ref()) else {
            return;
        };
        let mut stream = RandomStream::new(world.seed, "upload control", u64::from(peer));
        let armed = world.now + stream.between(Span::ZERO, spec.start_spread_ns);
        let control = Control {
            spec,
            stream,
            controller: None,
            armed,
            client: Client::new(world.now, spec.interface),
            poll_at: Time::NEVER,
            probes: Probes::default(),
            limit: self.limit(peer),
        };
        if self.controls.len() <= peer as usize {
            self.controls.resize_with(peer as usize + 1, || None);
        }
        self.controls[peer as usize] = Some(Box::new(control));
        self.schedule(world, armed, Code::Control, peer);
    }

    /// A peer left: nobody hears of what is still on its way.
    pub(super) fn end_control(&mut self, peer: u32) {
        if let Some(control) = self.controls.get_mut(peer as usize) {
            *control = None;
        }
    }

    /// A timer of a controller, or of the meter that it reads.
    pub(super) fn on_control(&mut self, world: &mut World, peer: u32) {
        let now = world.now;
        let down = self.peers[peer as usize].progress().down;
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
            self.schedule(world, at, Code::Control, peer);
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

    /// Somebody gave the client of a peer another limit.
    pub(super) fn note_limit(&mut self, peer: u32, limit: UploadLimit) {
        if let Some(control) = self.control(peer) {
            control.limit = limit;
        }
    }

    /// Bytes of blocks were written, and as many as `header` of these and of earlier ones were no payload.
    pub(super) fn count_upload(&mut self, peer: u32, bytes: u32, header: u32) {
        let Some(control) = self.control(peer) else { return };
        let client = &mut control.client;
        // A header is known of when its block is complete; a count never falls.
        client.headers += header;
        let taken = client.headers.min(bytes);
        client.headers -= taken;
        client.counted[0] += u64::from(bytes - taken);
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
        let host = self.peers[peer as usize].host;
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
