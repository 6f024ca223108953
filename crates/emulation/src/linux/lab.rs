use super::carrier::{Carrier, CarrierReport, Company};
use super::clock::{Clock, monotonic_ns, set_real_time, thread_time, wake_punctually};
use super::host::HostSettings;
use super::interfaces::{Attachment, Interfaces};
use super::namespace::Namespace;
use super::steering::Steering;
use crate::division::Division;
use crate::header::Header;
use crate::lateness::{Lateness, Recent};
use crate::network::{Delivery, Network, Totals};
use crate::tap::TapRecord;
use flashcrowd_base::{Span, Time};
use flashcrowd_plan::Plan;
use flashcrowd_workload::Table;
use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};
use rustix::fd::OwnedFd;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// Packets that are read from one interface before the others have their turn.
const READS: usize = 32;
/// Interfaces that one call reports.
const READY: usize = 64;
/// The number of the end in an epoll, and of the socket to other nodes; interfaces have numbers
/// from 0 on.
const STOPPING: u64 = u64::MAX;
const CARRIER: u64 = u64::MAX - 1;
/// No interface: of a host that another node plays.
const NONE: u32 = u32::MAX;
/// How often the canary looks.
const CANARY_NS: u64 = 2_000_000;
/// Above this share of a processor the kernel would stop a real-time thread for a while
/// (`sched_rt_runtime_us`), and all others wait: then it runs as they do.
const MAX_REAL_TIME: f64 = 0.93;
/// Below this share it runs before them again.
const REAL_TIME_AGAIN: f64 = 0.88;

/// An emulated network: a namespace for each host of a plan, and, once started, a thread that moves
/// packets between them. Everything is held by file descriptors of this process alone, and gone with
/// it.
#[derive(Debug)]
pub struct Lab {
    attachment: Attachment,
    namespaces: Vec<Namespace>,
    steered: bool,
    ready: Option<Ready>,
    running: Option<Running>,
}

#[derive(Debug)]
struct Ready {
    network: Network,
    interfaces: Interfaces,
    /// The hosts that are played here, one an interface.
    hosts: Vec<u32>,
    /// Of all hosts.
    addresses: Vec<[u8; 4]>,
    steering: Option<Steering>,
    carrier: Option<Carrier>,
}

#[derive(Debug)]
struct Running {
    stop: Arc<OwnedFd>,
    over: Arc<AtomicBool>,
    emulator: JoinHandle<io::Result<Driven>>,
    canary: JoinHandle<Vec<Span>>,
}

/// The result of the thread.
#[derive(Debug)]
struct Driven {
    network: Network,
    /// With what they have counted.
    interfaces: Interfaces,
    seconds: Vec<Second>,
    real_time: bool,
    refused_writes: u64,
    strays: u64,
    carrier: Option<CarrierReport>,
}

/// How punctual one second was.
#[derive(Clone, Debug, Serialize)]
pub struct Second {
    /// When it began, in seconds of the run.
    pub t_s: f64,
    /// Packets delivered.
    pub packets: u64,
    /// The median lateness, from when packets were due to when they were handed to the kernel of
    /// their host, in seconds.
    pub late_p50_s: f64,
    /// The 99th percentile of the lateness; of fewer than 100 packets, those before them included.
    pub late_p99_s: f64,
    /// The latest.
    pub late_max_s: f64,
    /// Share of a processor that the emulator had, with what the receiving kernels did for it.
    pub busy: f64,
    /// The 99th percentile of how much too long a thread at the programs' priority slept.
    pub oversleep_p99_s: f64,
}

/// The report of a lab at its end.
#[derive(Clone, Debug, Serialize)]
pub struct LabReport {
    /// How hosts were attached.
    pub attachment: Attachment,
    /// The totals of the network.
    pub totals: Totals,
    /// The tables about links, and `payloads`.
    #[serde(skip)]
    pub tables: Vec<Table>,
    /// The packets at the taps.
    #[serde(skip)]
    pub seen: TapRecord,
    /// How punctual it was.
    pub seconds: Vec<Second>,
    /// Whether the emulator had real-time priority at the end.
    pub real_time: bool,
    /// Whether hosts received on other processors than the emulator's.
    pub steered: bool,
    /// Packets that hosts sent and the emulator could not take in time, or that waited to be received where
    /// receiving is steered, and found a queue full: lost, but not by the model.
    pub interface_drops: u64,
    /// Packets that were due and that the receiving kernel did not take.
    pub refused_writes: u64,
    /// Packets to addresses that no host has: broadcasts, most of the time.
    pub strays: u64,
    /// The packets to other nodes and from them, if there are any.
    pub carrier: Option<CarrierReport>,
}

/// How far the clock of the first node is, as a node found.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Tuned {
    /// The offset of the first node's clock from this machine's monotonic clock, in nanoseconds.
    pub offset_ns: i64,
    /// By how much that may be wrong.
    pub uncertainty_ns: u64,
    /// The least round trip to the first node.
    pub round_trip_ns: u64,
}

impl Lab {
    /// Makes the namespaces of a plan that has passed its check, with settings for each host, which are
    /// attached in one way. With a steering the emulator's thread stays on one processor, and hosts receive on
    /// others. The calling thread is where it was before.
    ///
    /// # Errors
    /// Errs if the system refuses.
    pub fn new(
        plan: &Plan,
        seed: u64,
        settings: &[HostSettings],
        attachment: Attachment,
        steering: Option<Steering>,
    ) -> io::Result<Lab> {
        let hosts = (0..settings.len() as u32).collect();
        Lab::made(Network::new(plan, seed), settings, attachment, hosts, steering)
    }

    /// One node's share of it: namespaces of its hosts alone, out of the settings for all. It is to
    /// [join](Lab::join) the others before it is started.
    ///
    /// # Errors
    /// Errs if the system refuses.
    pub fn share(
        plan: &Plan,
        seed: u64,
        settings: &[HostSettings],
        attachment: Attachment,
        (division, node): (&Division, u32),
    ) -> io::Result<Lab> {
        let hosts = division.hosts(node).collect();
        Lab::made(Network::share(plan, seed, division, node), settings, attachment, hosts, None)
    }

    fn made(
        network: Network,
        settings: &[HostSettings],
        attachment: Attachment,
        hosts: Vec<u32>,
        steering: Option<Steering>,
    ) -> io::Result<Lab> {
        let own: Vec<HostSettings> =
            hosts.iter().map(|host| settings[*host as usize].clone()).collect();
        let (namespaces, interfaces) = Interfaces::new(attachment, &own, steering.as_ref())?;
        let addresses = settings.iter().map(|host| host.address).collect();
        let steered = steering.is_some();
        let ready = Ready { network, interfaces, hosts, addresses, steering, carrier: None };
        Ok(Lab { attachment, namespaces, steered, ready: Some(ready), running: None })
    }

    /// Says how the other nodes are reached.
    ///
    /// # Errors
    /// It is started already, is no share, or the socket is none.
    pub fn join(&mut self, company: Company) -> io::Result<()> {
        let ready = self.ready.as_mut().ok_or_else(started)?;
        let node = ready.network.node().ok_or_else(|| io::Error::other("it is no share"))?;
        ready.carrier = Some(Carrier::new(company, node)?);
        Ok(())
    }

    /// Compares clocks with the first node for a while, in which all nodes have to do so; `None` if this
    /// is the first, or it did not answer.
    ///
    /// # Errors
    /// It is started already, or has not joined; or the socket failed.
    pub fn tune(&mut self, over: Span) -> io::Result<Option<Tuned>> {
        let ready = self.ready.as_mut().ok_or_else(started)?;
        let carrier =
            ready.carrier.as_mut().ok_or_else(|| io::Error::other("it has not joined others"))?;
        let found = carrier.tune(over)?;
        Ok(found.map(|estimate| Tuned {
            offset_ns: estimate.offset_ns,
            uncertainty_ns: estimate.uncertainty(monotonic_ns()).nanos(),
            round_trip_ns: estimate.round_trip.nanos(),
        }))
    }

    /// The namespaces of the hosts that are played here, in the order of the plan.
    pub fn namespaces(&self) -> &[Namespace] {
        &self.namespaces
    }

    /// Starts the network; the run begins after `lead`. Returns that instant of the monotonic clock, in
    /// nanoseconds.
    ///
    /// # Errors
    /// It is started already, or the system gives no thread.
    pub fn start(&mut self, lead: Span) -> io::Result<u64> {
        let begin_ns = monotonic_ns() + lead.nanos();
        self.start_at(begin_ns)?;
        Ok(begin_ns)
    }

    /// Starts the network; the run begins at an instant of this machine's monotonic clock, in
    /// nanoseconds. From then on a share follows the first node's clock.
    ///
    /// # Errors
    /// It is started already, or the system gives no thread.
    pub fn start_at(&mut self, begin_ns: u64) -> io::Result<()> {
        let ready = self.ready.take().ok_or_else(started)?;
        let clock = Clock::beginning_at(begin_ns);
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let over = Arc::new(AtomicBool::new(false));
        let theirs = Arc::clone(&stop);
        let emulator = std::thread::Builder::new().name("emulator".into()).spawn(move || {
            if let Some(steering) = &ready.steering {
                steering.tie_emulator()?;
            }
            Driver::new(ready, clock).run(&theirs)
        })?;
        let ends = Arc::clone(&over);
        let canary = std::thread::Builder::new()
            .name("canary".into())
            .spawn(move || oversleeps(clock, &ends))?;
        self.running = Some(Running { stop, over, emulator, canary });
        Ok(())
    }

    /// Whether the emulator's thread has ended, by itself or after `stop`.
    pub fn has_ended(&self) -> bool {
        self.running.as_ref().is_none_or(|running| running.emulator.is_finished())
    }

    /// Ends the network; what it did until now.
    ///
    /// # Errors
    /// It was not started, or an interface failed.
    pub fn stop(&mut self) -> io::Result<LabReport> {
        let running = self.running.take().ok_or_else(|| io::Error::other("it is not running"))?;
        running.over.store(true, Ordering::Relaxed);
        rustix::io::write(&*running.stop, &1u64.to_ne_bytes())?;
        let ended = running.emulator.join();
        let mut driven =
            ended.map_err(|_| io::Error::other("the emulator's thread panicked"))??;
        let oversleeps = running.canary.join().unwrap_or_default();
        for (second, span) in driven.seconds.iter_mut().zip(oversleeps) {
            second.oversleep_p99_s = span.seconds();
        }
        let interface_drops = driven.interfaces.dropped(&self.namespaces)?;
        drop(driven.interfaces);
        Ok(LabReport {
            attachment: self.attachment,
            totals: driven.network.totals(),
            tables: driven.network.tables(),
            seen: driven.network.seen(),
            seconds: driven.seconds,
            real_time: driven.real_time,
            steered: self.steered,
            interface_drops,
            refused_writes: driven.refused_writes,
            strays: driven.strays,
            carrier: driven.carrier,
        })
    }
}

fn started() -> io::Error {
    io::Error::other("it is started already")
}

/// The emulator's thread: reads what hosts send, and writes what is due.
struct Driver {
    clock: Clock,
    network: Network,
    interfaces: Interfaces,
    /// Where addresses lead.
    hosts: BTreeMap<[u8; 4], u32>,
    /// The host of each interface.
    host_of: Vec<u32>,
    outlet: Outlet,
    carrier: Option<Carrier>,
    /// The offsets of the first node's clock from this machine's, when the run began and now.
    begun_apart_ns: Option<i64>,
    /// The latest instant that was read: a clock that is set back waits there.
    latest: Time,
    recent: Recent,
    seconds: Vec<Second>,
    may_have_real_time: bool,
    real_time: bool,
    strays: u64,
}

/// Where packets go that are due.
struct Outlet {
    lateness: Lateness,
    /// The interface of each host.
    interface_of: Vec<u32>,
    refused_writes: u64,
}

impl Outlet {
    fn deliver(&mut self, clock: Clock, interfaces: &Interfaces, delivery: &Delivery<'_>) {
        self.lateness.add(clock.now().since(delivery.due) + delivery.late);
        let interface = self.interface_of[delivery.host as usize];
        if interface == NONE || !interfaces.write(interface, delivery.packet, &delivery.offload) {
            self.refused_writes += 1;
        }
    }
}

impl Driver {
    fn new(ready: Ready, clock: Clock) -> Driver {
        let numbered = ready.addresses.iter().zip(0u32..);
        let mut interface_of = vec![NONE; ready.addresses.len()];
        for (host, interface) in ready.hosts.iter().zip(0..) {
            interface_of[*host as usize] = interface;
        }
        Driver {
            clock,
            network: ready.network,
            interfaces: ready.interfaces,
            hosts: numbered.map(|(address, host)| (*address, host)).collect(),
            host_of: ready.hosts,
            outlet: Outlet { lateness: Lateness::new(), interface_of, refused_writes: 0 },
            carrier: ready.carrier,
            begun_apart_ns: None,
            latest: Time::START,
            recent: Recent::default(),
            seconds: Vec::new(),
            may_have_real_time: false,
            real_time: false,
            strays: 0,
        }
    }

    fn run(mut self, stop: &OwnedFd) -> io::Result<Driven> {
        self.may_have_real_time = set_real_time(true);
        self.real_time = self.may_have_real_time;
        wake_punctually()?;
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&poll, stop, epoll::EventData::new_u64(STOPPING), epoll::EventFlags::IN)?;
        if let Some(carrier) = &mut self.carrier {
            let number = epoll::EventData::new_u64(CARRIER);
            epoll::add(&poll, &*carrier, number, epoll::EventFlags::IN)?;
            self.begun_apart_ns = carrier.settle().map(|known| known.offset_ns);
        }
        self.interfaces.watch(&poll)?;
        let mut watch = Watch { next: Time::START + Span::from_secs(1), used: thread_time() };
        let mut ready = [MaybeUninit::uninit(); READY];
        loop {
            let now = self.now();
            self.advance(now);
            if now >= watch.next {
                self.note(&mut watch, now);
                self.keep_time();
            }
            if let Some(carrier) = &mut self.carrier {
                carrier.flush();
                carrier.keep_time();
            }
            let until = self.network.next_due().min(watch.next);
            let wait = until.since(self.clock.now()).nanos();
            let echo = self.carrier.as_ref().and_then(Carrier::next_echo_ns);
            let wait = echo.map_or(wait, |at| wait.min(at.saturating_sub(monotonic_ns())));
            let wait = Timespec {
                tv_sec: (wait / 1_000_000_000) as i64,
                tv_nsec: (wait % 1_000_000_000) as i64,
            };
            let (events, _) = match epoll::wait(&poll, &mut ready[..], Some(&wait)) {
                Ok(split) => split,
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            };
            for event in events.iter() {
                let number = event.data.u64();
                match number {
                    STOPPING => return Ok(self.ended()),
                    CARRIER => self.take_over()?,
                    _ => self.take_in(number)?,
                }
            }
        }
    }

    /// Now, or a moment ago if the clock was set back since.
    fn now(&mut self) -> Time {
        self.latest = self.latest.max(self.clock.now());
        self.latest
    }

    /// Follows the first node's clock.
    fn keep_time(&mut self) {
        let known = self.carrier.as_mut().and_then(Carrier::settle);
        if let (Some(begun), Some(known)) = (self.begun_apart_ns, known) {
            self.clock = self.clock.moved(known.offset_ns - begun);
            self.begun_apart_ns = Some(known.offset_ns);
        }
    }

    /// Reads what other nodes have sent; what falls due meanwhile goes out between.
    fn take_over(&mut self) -> io::Result<()> {
        let Some(mut carrier) = self.carrier.take() else { return Ok(()) };
        let mut late = 0;
        let read = carrier.receive(&mut |place, packet| {
            let now = self.now();
            self.advance(now);
            let buffer = self.network.buffer();
            if packet.len() <= buffer.len() {
                buffer[..packet.len()].copy_from_slice(packet);
                if self.network.take_over(now, place, packet.len()) {
                    late += u64::from(place.due < now);
                }
            }
        });
        carrier.note_late(late);
        self.carrier = Some(carrier);
        self.advance(self.latest); // Packets to other nodes had no carrier.
        read
    }

    /// Does what is due by now.
    fn advance(&mut self, now: Time) {
        let (clock, interfaces, outlet) = (self.clock, &self.interfaces, &mut self.outlet);
        self.network.run(now, &mut |delivery| outlet.deliver(clock, interfaces, &delivery));
        if let Some(carrier) = &mut self.carrier {
            self.network.hand_over(&mut |crossing| carrier.add(&crossing));
        }
    }

    /// Reads what hosts have sent; what falls due meanwhile goes out between.
    fn take_in(&mut self, number: u64) -> io::Result<()> {
        for _ in 0..READS {
            let read = self.interfaces.read(number, self.network.buffer())?;
            let Some((interface, bytes, offload)) = read else { break };
            let host = self.host_of[interface as usize];
            let now = self.now();
            self.advance(now);
            let header = Header::of(&self.network.buffer()[..bytes]);
            match header.and_then(|header| self.hosts.get(&header.destination())) {
                Some(&to) => self.network.send_offloaded(now, host, to, bytes, offload),
                None => self.strays += 1,
            }
        }
        if let Some(carrier) = &mut self.carrier {
            carrier.flush();
        }
        Ok(())
    }

    /// A second is over.
    fn note(&mut self, watch: &mut Watch, now: Time) {
        let lateness = &mut self.outlet.lateness;
        let used = thread_time();
        let begin = watch.next.seconds() - 1.0;
        let busy = used.saturating_sub(watch.used).seconds() / (now.seconds() - begin);
        self.seconds.push(Second {
            t_s: begin,
            packets: lateness.count(),
            late_p50_s: lateness.quantile(500).seconds(),
            late_max_s: lateness.max().seconds(),
            late_p99_s: self.recent.close(lateness).seconds(),
            busy,
            oversleep_p99_s: 0.0,
        });
        let wanted = busy < if self.real_time { MAX_REAL_TIME } else { REAL_TIME_AGAIN };
        if self.may_have_real_time && wanted != self.real_time {
            self.real_time = set_real_time(wanted) && wanted;
        }
        watch.used = used;
        while watch.next <= now {
            watch.next += Span::from_secs(1);
        }
    }

    fn ended(mut self) -> Driven {
        let now = self.now();
        self.advance(now);
        Driven {
            network: self.network,
            interfaces: self.interfaces,
            seconds: self.seconds,
            real_time: self.real_time,
            refused_writes: self.outlet.refused_writes,
            strays: self.strays,
            carrier: self.carrier.as_ref().map(Carrier::report),
        }
    }
}

/// When the next second is over, and what the thread had used when the last one was.
struct Watch {
    next: Time,
    used: Span,
}

/// Sleeps again and again, as a program would; how much too long the 99th of 100 sleeps was, by second.
fn oversleeps(clock: Clock, over: &AtomicBool) -> Vec<Span> {
    let mut seconds = Vec::new();
    let mut lateness = Lateness::new();
    let mut next = clock.now();
    while !over.load(Ordering::Relaxed) {
        next += Span::from_nanos(CANARY_NS);
        clock.sleep_until(next);
        let now = clock.now();
        lateness.add(now.since(next));
        if now.seconds() >= seconds.len() as f64 + 1.0 {
            seconds.push(lateness.quantile(990));
            lateness.clear();
        }
        next = next.max(now);
    }
    seconds
}
