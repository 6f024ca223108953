use super::clock::{Clock, monotonic_ns, set_real_time, thread_time, wake_punctually};
use super::host::HostSettings;
use super::interfaces::{Attachment, Interfaces};
use super::namespace::Namespace;
use crate::header::Header;
use crate::lateness::Lateness;
use crate::network::{Delivery, Network, Totals};
use crate::record::Report;
use flashcrowd_base::{Span, Time};
use flashcrowd_plan::Plan;
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
/// Interfaces that one call tells of.
const READY: usize = 64;
/// How often the canary looks.
const CANARY_NS: u64 = 2_000_000;
/// Above this share of a processor the kernel would stop a real-time thread for a while
/// (`sched_rt_runtime_us`), and all others wait: then it runs as they do.
const MOST_REAL_TIME: f64 = 0.93;
/// Below this share it runs before them again.
const REAL_TIME_AGAIN: f64 = 0.88;

/// An emulated network: a namespace for each host of a plan, and, once started, a thread that moves
/// packets between them. Everything is held by file descriptors of this process alone, and gone with
/// it.
#[derive(Debug)]
pub struct Lab {
    attachment: Attachment,
    namespaces: Vec<Namespace>,
    ready: Option<Ready>,
    running: Option<Running>,
}

#[derive(Debug)]
struct Ready {
    network: Network,
    interfaces: Interfaces,
    addresses: Vec<[u8; 4]>,
}

#[derive(Debug)]
struct Running {
    stop: Arc<OwnedFd>,
    over: Arc<AtomicBool>,
    emulator: JoinHandle<io::Result<Driven>>,
    canary: JoinHandle<Vec<Span>>,
}

/// What the thread leaves.
#[derive(Debug)]
struct Driven {
    network: Network,
    /// With what they have counted.
    interfaces: Interfaces,
    seconds: Vec<Second>,
    real_time: bool,
    refused_writes: u64,
    strays: u64,
}

/// How punctual one second was.
#[derive(Clone, Debug, Serialize)]
pub struct Second {
    /// When it began, in seconds of the run.
    pub t_s: f64,
    /// Packets delivered.
    pub packets: u64,
    /// What half of them were late at most, from when they were due to when they were handed to the
    /// kernel of their host, in seconds.
    pub late_p50_s: f64,
    /// What 99 of 100 were late at most.
    pub late_p99_s: f64,
    /// The latest.
    pub late_max_s: f64,
    /// Share of a processor that the emulator had, with what the receiving kernels did for it.
    pub busy: f64,
    /// What 99 of 100 sleeps of a thread at the programs' priority were too long at most.
    pub oversleep_p99_s: f64,
}

/// What a lab says at its end.
#[derive(Clone, Debug, Serialize)]
pub struct LabReport {
    /// How hosts were attached.
    pub attachment: Attachment,
    /// What the network did.
    pub totals: Totals,
    /// Rows of the tables about links.
    #[serde(flatten)]
    pub report: Report,
    /// How punctual it was.
    pub seconds: Vec<Second>,
    /// Whether the emulator had real-time priority at the end.
    pub real_time: bool,
    /// Packets that hosts sent and the emulator could not take in time: lost, but not by the model.
    pub interface_drops: u64,
    /// Packets that were due and that the receiving kernel did not take.
    pub refused_writes: u64,
    /// Packets to addresses that no host has: broadcasts, most of the time.
    pub strays: u64,
}

impl Lab {
    /// Makes the namespaces of a plan that has passed its check, with settings for each host, which are
    /// attached in one way. The calling thread is where it was before.
    ///
    /// # Errors
    /// What the system refused.
    pub fn new(
        plan: &Plan,
        seed: u64,
        settings: &[HostSettings],
        attachment: Attachment,
    ) -> io::Result<Lab> {
        let (namespaces, interfaces) = Interfaces::new(attachment, settings)?;
        let addresses = settings.iter().map(|host| host.address).collect();
        let ready = Ready { network: Network::new(plan, seed), interfaces, addresses };
        Ok(Lab { attachment, namespaces, ready: Some(ready), running: None })
    }

    /// The namespaces of the hosts, in the order of the plan.
    pub fn namespaces(&self) -> &[Namespace] {
        &self.namespaces
    }

    /// Starts the network; the run begins after `lead`. Returns that instant of the monotonic clock, in
    /// nanoseconds.
    ///
    /// # Errors
    /// It is started already, or the system gives no thread.
    pub fn start(&mut self, lead: Span) -> io::Result<u64> {
        let ready = self.ready.take().ok_or_else(|| io::Error::other("it is started already"))?;
        let begin_ns = monotonic_ns() + lead.nanos();
        let clock = Clock::beginning_at(begin_ns);
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let over = Arc::new(AtomicBool::new(false));
        let theirs = Arc::clone(&stop);
        let emulator = std::thread::Builder::new()
            .name("emulator".into())
            .spawn(move || Driver::new(ready, clock).run(&theirs))?;
        let ends = Arc::clone(&over);
        let canary = std::thread::Builder::new()
            .name("canary".into())
            .spawn(move || oversleeps(clock, &ends))?;
        self.running = Some(Running { stop, over, emulator, canary });
        Ok(begin_ns)
    }

    /// Whether the emulator's thread has ended, by itself or as it was told.
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
            report: driven.network.report(),
            seconds: driven.seconds,
            real_time: driven.real_time,
            interface_drops,
            refused_writes: driven.refused_writes,
            strays: driven.strays,
        })
    }
}

/// The emulator's thread: reads what hosts send, and writes what is due.
struct Driver {
    clock: Clock,
    network: Network,
    interfaces: Interfaces,
    /// Where addresses lead.
    hosts: BTreeMap<[u8; 4], u32>,
    outlet: Outlet,
    seconds: Vec<Second>,
    may_have_real_time: bool,
    real_time: bool,
    strays: u64,
}

/// Where packets go that are due.
struct Outlet {
    lateness: Lateness,
    refused_writes: u64,
}

impl Outlet {
    fn deliver(&mut self, clock: Clock, interfaces: &Interfaces, delivery: &Delivery<'_>) {
        self.lateness.add(clock.now().since(delivery.due));
        if !interfaces.write(delivery.host, delivery.packet) {
            self.refused_writes += 1;
        }
    }
}

impl Driver {
    fn new(ready: Ready, clock: Clock) -> Driver {
        let numbered = ready.addresses.iter().zip(0u32..);
        Driver {
            clock,
            network: ready.network,
            interfaces: ready.interfaces,
            hosts: numbered.map(|(address, host)| (*address, host)).collect(),
            outlet: Outlet { lateness: Lateness::new(), refused_writes: 0 },
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
        let stopping = u64::MAX;
        epoll::add(&poll, stop, epoll::EventData::new_u64(stopping), epoll::EventFlags::IN)?;
        self.interfaces.watch(&poll)?;
        let mut watch = Watch { next: Time::START + Span::from_secs(1), used: thread_time() };
        let mut ready = [MaybeUninit::uninit(); READY];
        loop {
            let now = self.clock.now();
            self.advance(now);
            if now >= watch.next {
                self.note(&mut watch, now);
            }
            let until = self.network.next_due().min(watch.next);
            let wait = until.since(self.clock.now()).nanos();
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
                if number == stopping {
                    return Ok(self.ended());
                }
                self.take_in(number)?;
            }
        }
    }

    /// Does what is due by now.
    fn advance(&mut self, now: Time) {
        let (clock, interfaces, outlet) = (self.clock, &self.interfaces, &mut self.outlet);
        self.network.run(now, &mut |delivery| outlet.deliver(clock, interfaces, &delivery));
    }

    /// Reads what hosts have sent; what falls due meanwhile goes out between.
    fn take_in(&mut self, number: u64) -> io::Result<()> {
        for _ in 0..READS {
            let read = self.interfaces.read(number, self.network.buffer())?;
            let Some((host, bytes)) = read else { break };
            let now = self.clock.now();
            self.advance(now);
            let header = Header::of(&self.network.buffer()[..bytes]);
            match header.and_then(|header| self.hosts.get(&header.destination())) {
                Some(&to) => self.network.send(now, host, to, bytes),
                None => self.strays += 1,
            }
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
            late_p99_s: lateness.quantile(990).seconds(),
            late_max_s: lateness.most().seconds(),
            busy,
            oversleep_p99_s: 0.0,
        });
        lateness.clear();
        let wanted = busy < if self.real_time { MOST_REAL_TIME } else { REAL_TIME_AGAIN };
        if self.may_have_real_time && wanted != self.real_time {
            self.real_time = set_real_time(wanted) && wanted;
        }
        watch.used = used;
        while watch.next <= now {
            watch.next += Span::from_secs(1);
        }
    }

    fn ended(mut self) -> Driven {
        let now = self.clock.now();
        self.advance(now);
        Driven {
            network: self.network,
            interfaces: self.interfaces,
            seconds: self.seconds,
            real_time: self.real_time,
            refused_writes: self.outlet.refused_writes,
            strays: self.strays,
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
