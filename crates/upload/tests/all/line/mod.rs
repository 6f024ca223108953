//! A home line as a fluid: two queues with a rate each, a client with windows and a limiter that bursts, a download whose
//! acknowledgements wait in the uplink's queue, and what others send. Deterministic; time steps of 10 ms.
//!
//! It exists to tell controllers apart in a second, not to be believed to a percent: that is the simulator's part.

use flashcrowd_base::{RandomStream, Rate, Span, Time};
use flashcrowd_upload::{Answer, Controller, Limit, RATES_PERIOD, Rates, Setup, UploadControl};

const STEP_MS: u64 = 10;
const STEP: f64 = STEP_MS as f64 / 1e3;

/// Payload of a full packet, and the packet; acknowledgements of downloads are 40 bytes for two packets.
const PAYLOAD: f64 = 1460.0;
const PACKET: f64 = 1500.0;
const ACKS: f64 = 40.0 / (2.0 * PACKET);

/// A client hands out quota twice a second, as libtorrent and Transmission do, and a burst leaves it at 100 Mbit/s.
const TICK_STEPS: u64 = 50;
const LAN: f64 = 12.5e6;

/// Four connections in either direction, each with a window of 64 KiB at most, as the paper's time had them.
const CONNECTIONS: f64 = 4.0;
const GREATEST_WINDOW: f64 = CONNECTIONS * 65_536.0;

/// How a reflector answers: with this number of seconds more, or not at all.
pub(crate) type Reflection = Option<f64>;

/// A line and what happens on it. Times in seconds, rates in bits per second.
#[derive(Clone)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) seconds: u64,
    pub(crate) up: fn(f64) -> f64,
    pub(crate) down: f64,
    /// Of either queue, in bytes.
    pub(crate) up_buffer: f64,
    pub(crate) down_buffer: f64,
    pub(crate) base: fn(f64) -> f64,
    /// Mean of what a radio adds to a round trip, exponential.
    pub(crate) jitter: f64,
    /// What the client could upload at most, whatever its limit.
    pub(crate) demand: fn(f64) -> f64,
    pub(crate) download: fn(f64) -> bool,
    pub(crate) others_up: fn(f64) -> f64,
    pub(crate) others_down: fn(f64) -> f64,
    /// Whether nothing passes, either way.
    pub(crate) silent: fn(f64) -> bool,
    pub(crate) reflector: fn(usize, f64) -> Reflection,
    /// Whether the modem queues each flow by itself.
    pub(crate) fair: bool,
    /// Whether the upload yields at 100 ms of queue, as uTP does.
    pub(crate) utp: bool,
    pub(crate) clients: usize,
    /// When controllers are started; their clients upload without a limit before.
    pub(crate) starts: f64,
    /// Until when clients keep the limit of their user alone: they follow a controller late.
    pub(crate) follows: f64,
    /// The limit of the user, in bytes per second, above which controllers get nothing.
    pub(crate) ceiling: fn(f64) -> f64,
}

impl Default for Scenario {
    /// The paper's line 7, 8 Mbit/s and 1 Mbit/s, with 128 kB of buffer, which is a second of uplink.
    fn default() -> Scenario {
        Scenario {
            name: "",
            seconds: 300,
            up: |_| 1e6,
            down: 8e6,
            up_buffer: 128e3,
            down_buffer: 128e3,
            base: |_| 0.04,
            jitter: 0.001,
            demand: |_| f64::INFINITY,
            download: |_| true,
            others_up: |_| 0.0,
            others_down: |_| 0.0,
            silent: |_| false,
            reflector: |_, _| Some(0.0),
            fair: false,
            utp: false,
            clients: 1,
            starts: 0.0,
            follows: 0.0,
            ceiling: |_| f64::INFINITY,
        }
    }
}

/// Sets a limit.
pub(crate) enum Pilot<'a> {
    Control(&'a UploadControl),
    /// This part of what the line leaves to the client at each instant.
    Oracle(f64),
}

/// What a run showed, from the first minute on.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// Upload, as a part of what others left of the uplink, and as a part of the demand where that is less.
    pub(crate) upload: f64,
    /// The worst ten seconds of it.
    pub(crate) worst: f64,
    /// Download, as a part of what others left of the downlink; nothing without a download.
    pub(crate) download: Option<f64>,
    /// Queueing delay of a bystander in milliseconds: what stands (10 %), half, and 95 %.
    pub(crate) standing: f64,
    pub(crate) half: f64,
    pub(crate) p95: f64,
    /// Changes of the limit per minute.
    pub(crate) changes: f64,
    /// The smaller client's part of the larger one's upload.
    pub(crate) share: f64,
    /// The limit of the first client in each second, in bytes per second, and why.
    pub(crate) limits: Vec<(f64, &'static str)>,
}

/// A window of TCP, or of uTP, for all connections together.
struct Window {
    bytes: f64,
    cut_at: f64,
}

impl Window {
    fn new() -> Window {
        Window { bytes: 60e3, cut_at: -1.0 }
    }
    fn grow(&mut self, rtt: f64, part: f64) {
        self.bytes += CONNECTIONS * PAYLOAD * part * STEP / rtt;
        self.bytes = self.bytes.clamp(CONNECTIONS * PAYLOAD, GREATEST_WINDOW);
    }
    fn lose(&mut self, now: f64, rtt: f64) {
        if now - self.cut_at > rtt {
            self.bytes = (0.7 * self.bytes).max(CONNECTIONS * PAYLOAD);
            self.cut_at = now;
        }
    }
}

struct Client {
    controller: Option<Box<dyn Controller>>,
    /// That it is started.
    started: bool,
    limit: f64,
    quota: f64,
    window: Window,
    queued: f64,
    in_flight: f64,
    uploaded: f64,
    changes: u32,
    due: Vec<(u64, Answer)>,
}

/// Runs a scenario for `seconds`; all clients have the same pilot.
pub(crate) fn run(scenario: &Scenario, pilot: &Pilot) -> Outcome {
    let reflectors = 4;
    let at = |step: u64| Time::START + Span::from_millis(STEP_MS) * step;
    let mut noise = RandomStream::new(1, "jitter", 0);
    let mut clients: Vec<Client> = (0..scenario.clients)
        .map(|_| {
            let now = Time::START + Span::from_seconds(scenario.starts);
            let setup = Setup { now, reflectors, limit: Limit::Unlimited };
            let controller = match pilot {
                Pilot::Control(control) => Some(control.build(&setup)),
                Pilot::Oracle(_) => None,
            };
            let limit = controller.as_ref().map_or(0.0, |c| c.limit().bytes_per_second());
            let started = scenario.starts == 0.0;
            Client {
                controller,
                started,
                limit: if started { limit.min((scenario.ceiling)(0.0)) } else { f64::INFINITY },
                quota: 0.0,
                window: Window::new(),
                queued: 0.0,
                in_flight: 0.0,
                uploaded: 0.0,
                changes: 0,
                due: Vec::new(),
            }
        })
        .collect();
    let (mut acks, mut others, mut down_queue) = (0.0, 0.0, 0.0);
    let (mut downloading, mut downloaded) = (Window::new(), 0.0);
    let mut delays = Vec::new();
    let mut seconds: Vec<f64> = Vec::new();
    let (mut second_up, mut second_room) = (0.0, 0.0);
    let (mut up_sum, mut room_sum, mut down_sum, mut down_room) = (0.0, 0.0, 0.0, 0.0);
    let mut limits = Vec::new();
    let mut by_client = vec![0.0; scenario.clients];

    for step in 0..scenario.seconds * 1000 / STEP_MS {
        let (now, t) = (at(step), step as f64 * STEP);
        let silent = (scenario.silent)(t);
        let (up, down) = ((scenario.up)(t) / 8.0, scenario.down / 8.0);
        let base = (scenario.base)(t);
        let up_queue = clients.iter().map(|client| client.queued).sum::<f64>() + acks + others;
        let (up_delay, down_delay) = (up_queue / up, down_queue / down);
        // Fair queueing: a flow with little to send does not wait for the others.
        let sparse_delay = if scenario.fair { 0.0 } else { up_delay };
        let others_up = (scenario.others_up)(t) / 8.0;

        for client in &mut clients {
            let Client { controller, due, .. } = client;
            client.started |= t >= scenario.starts;
            if let Some(controller) = controller.as_mut().filter(|_| client.started) {
                let ceiling = (scenario.ceiling)(t);
                let (ready, later): (Vec<_>, Vec<_>) =
                    due.drain(..).partition(|(when, _)| *when <= step);
                *due = later;
                ready.iter().for_each(|(_, answer)| controller.on_answer(now, answer));
                if (step * STEP_MS * 1_000_000).is_multiple_of(RATES_PERIOD.nanos()) {
                    let rates = Rates {
                        uploaded: client.uploaded as u64,
                        downloaded: downloaded as u64,
                        sent: None,
                        limit: Limit::from_bytes_per_second(client.limit),
                        ceiling: Limit::from_bytes_per_second(ceiling),
                    };
                    controller.on_rates(now, &rates);
                }
                let due_now = now >= controller.deadline();
                while let Some(probe) = due_now.then(|| controller.probe(now)).flatten() {
                    let reflection = (scenario.reflector)(probe.reflector, t);
                    let jitter = noise.exponential(Span::from_seconds(scenario.jitter)).seconds();
                    let full = up_queue >= scenario.up_buffer && !scenario.fair;
                    let rtt = reflection.filter(|_| !silent && !full).map(|extra| {
                        base + jitter + sparse_delay + down_delay + extra + 0.5 * PACKET / up
                    });
                    let rtt = rtt.map(Span::from_seconds).filter(|rtt| *rtt < probe.timeout);
                    let wait = rtt.unwrap_or(probe.timeout).seconds();
                    let when = step + 1 + (wait / STEP) as u64;
                    due.push((when, Answer { reflector: probe.reflector, rtt }));
                }
                let own = t < scenario.follows;
                let limit = controller.limit().bytes_per_second();
                let limit = if own { ceiling } else { limit.min(ceiling) };
                if limit != client.limit {
                    client.changes += 1;
                    client.limit = limit;
                }
            } else if let Pilot::Oracle(part) = pilot {
                client.limit = part * (up - others_up) / scenario.clients as f64;
            }
            // The limiter: quota twice a second, not saved up for longer than a second.
            let per_tick = client.limit * STEP * TICK_STEPS as f64;
            if step % TICK_STEPS == 0 {
                client.quota = (client.quota + per_tick).min(2.0 * per_tick);
            }
        }

        // What enters the uplink's queue.
        let mut room = (scenario.up_buffer - up_queue).max(0.0);
        for client in &mut clients {
            let outstanding = client.queued + client.in_flight;
            let wanted = (client.window.bytes - outstanding).clamp(0.0, LAN * STEP);
            let demand = (scenario.demand)(t) / 8.0 / scenario.clients as f64 * STEP;
            let payload = wanted.min(client.quota).min(demand) * PAYLOAD / PACKET;
            let wire = (payload * PACKET / PAYLOAD).min(room);
            let rtt = base + up_delay + down_delay;
            if wire < payload * PACKET / PAYLOAD {
                client.window.lose(t, rtt);
            } else if wanted < client.quota.min(demand) {
                let part = if scenario.utp { (1.0 - up_delay / 0.1).max(-4.0) } else { 1.0 };
                client.window.grow(rtt, part);
            } else if scenario.utp && up_delay > 0.1 {
                client.window.grow(rtt, (1.0 - up_delay / 0.1).max(-4.0));
            }
            client.quota -= wire * PAYLOAD / PACKET;
            client.uploaded += wire * PAYLOAD / PACKET;
            client.queued += wire;
            room -= wire;
        }
        others += (others_up * STEP).min(room);

        // What leaves it. In a fair modem what is sparse leaves first.
        let mut service = if silent { 0.0 } else { up * STEP };
        let bulk: f64 = clients.iter().map(|client| client.queued).sum();
        if scenario.fair {
            for sparse in [&mut acks, &mut others] {
                let left = sparse.min(service);
                *sparse -= left;
                service -= left;
            }
        }
        let rest = bulk + acks + others;
        let part = if rest > 0.0 { (service / rest).min(1.0) } else { 0.0 };
        acks -= acks * part;
        others -= others * part;
        let mut sent = 0.0;
        for (index, client) in clients.iter_mut().enumerate() {
            let left = client.queued * part;
            client.queued -= left;
            client.in_flight += left - client.in_flight * (STEP / base).min(1.0);
            sent += left;
            if t >= 60.0 {
                by_client[index] += left;
            }
        }

        // The download: its window per round trip, of which the uplink's queue is a part.
        let rtt = base + sparse_delay + down_delay;
        let others_down = (scenario.others_down)(t) / 8.0;
        let download = (scenario.download)(t);
        let inflow = if download && !silent { downloading.bytes / rtt * STEP } else { 0.0 };
        down_queue += inflow + others_down * STEP;
        if down_queue > scenario.down_buffer {
            down_queue = scenario.down_buffer;
            downloading.lose(t, rtt);
        } else if download {
            downloading.grow(rtt, 1.0);
        }
        let served = down_queue.min(if silent { 0.0 } else { down * STEP });
        down_queue -= served;
        let ours = inflow / (inflow + others_down * STEP).max(1e-9) * served;
        downloaded += ours * PAYLOAD / PACKET;
        acks += ours * ACKS;

        // Measures.
        let left = (up - others_up).max(0.0).min((scenario.demand)(t) / 8.0) * STEP;
        second_up += sent;
        second_room += left;
        if (step + 1) % (1000 / STEP_MS) == 0 {
            let first = &clients[0];
            let reason = first.controller.as_ref().map_or("", |it| it.state().reason);
            limits.push((first.limit, reason));
            if t >= 60.0 && second_room > 0.0 && !silent {
                seconds.push(second_up / second_room);
            }
            (second_up, second_room) = (0.0, 0.0);
        }
        if t >= 60.0 {
            up_sum += sent;
            room_sum += left;
            if download {
                down_sum += ours;
                down_room += (down - others_down).max(0.0) * STEP;
            }
            delays.push((sparse_delay + down_delay) * 1e3);
        }
    }
    let changes: u32 = clients.iter().map(|client| client.changes).sum();
    delays.sort_by(f64::total_cmp);
    let tens = seconds.windows(10).map(|ten| ten.iter().sum::<f64>() / 10.0);
    let (min, max) =
        by_client.iter().fold((f64::INFINITY, 0.0f64), |(min, max), x| (min.min(*x), max.max(*x)));
    Outcome {
        upload: if room_sum > 0.0 { up_sum / room_sum } else { 0.0 },
        worst: tens.fold(f64::INFINITY, f64::min).min(9.99),
        download: (down_room > 0.0).then(|| down_sum / down_room),
        standing: delays[delays.len() / 10],
        half: delays[delays.len() / 2],
        p95: delays[delays.len() * 95 / 100],
        changes: f64::from(changes) * 60.0 / scenario.seconds as f64,
        share: if max > 0.0 { min / max } else { 1.0 },
        limits,
    }
}

/// The best limit that moves with the line, found by a sweep: the highest that does no harm, which leaves the download at 97 % of its
/// best, and the standing delay within 10 ms of its least.
pub(crate) fn oracle(scenario: &Scenario) -> (f64, Outcome) {
    let sweep: Vec<(f64, Outcome)> = (1..=22)
        .map(|part| f64::from(part) * 0.05)
        .map(|part| (part, run(scenario, &Pilot::Oracle(part))))
        .collect();
    let download = |outcome: &Outcome| outcome.download.unwrap_or(1.0);
    let best = sweep.iter().fold(0.0f64, |best, (_, outcome)| best.max(download(outcome)));
    let min = sweep.iter().fold(f64::INFINITY, |min, (_, outcome)| min.min(outcome.standing));
    let harmless =
        |outcome: &Outcome| download(outcome) >= 0.97 * best && outcome.standing <= min + 10.0;
    sweep.iter().rev().find(|(_, outcome)| harmless(outcome)).unwrap_or(&sweep[0]).clone()
}

/// A fixed limit of this part of 1 Mbit/s.
pub(crate) fn fixed(part: f64) -> UploadControl {
    let limit_bps = Rate::at_least_one((part * 1e6) as u64);
    UploadControl::Fixed(flashcrowd_upload::Fixed { limit_bps })
}
