//! What one emulator thread carries, how late, and what a packet costs it:
//! `cargo bench -p flashcrowd-emulation --bench carry -- [tun|veth] [halting] [alone] [SECONDS]`.
//!
//! Two loads of kernel TCP (CUBIC) between network namespaces: as much as goes between two hosts without a
//! limit, and 1 Gbit/s of full packets through 100 namespaces (50 pairs, 20 Mbit/s each, 10 ms of round
//! trip). All connections are driven by one thread, which looks for data only when there is some
//! of it, so that the other processor has as little to do as possible.
//!
//! Processors are kept awake, and hosts receive on other processors than the emulator's, as while studies
//! run; `halting` leaves out the one, `alone` the other.
//!
//! A virtual machine may be slower than itself for a tenth of a second, and then everything is late. So
//! the processors are watched before and after each load: the share of hundredths of a second in
//! which one did less than four fifths of what it does at best.

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
fn main() -> std::io::Result<()> {
    carry::main()
}

#[cfg(target_os = "linux")]
mod carry {
    use flashcrowd_base::{Rate, Span};
    use flashcrowd_emulation::linux::{
        Attachment, HostSettings, IdlePoll, Lab, LabReport, Namespace, Steering,
        become_root_of_own, monotonic_ns, set_real_time,
    };
    use flashcrowd_link::{Conditions, Queue};
    use flashcrowd_plan::{CorePath, FORMAT, Host, Link, Measures, Network, Plan, Stop};
    use flashcrowd_transport::tcp::profiles;
    use rustix::event::{Timespec, epoll};
    use rustix::fd::AsFd;
    use rustix::net::sockopt::set_tcp_congestion;
    use rustix::time::{ClockId, clock_gettime};
    use std::hint::black_box;
    use std::io::{self, ErrorKind, Read, Write};
    use std::mem::MaybeUninit;
    use std::net::{Ipv4Addr, TcpListener, TcpStream};
    use std::time::Duration;

    const PORT: u16 = 10_000;
    /// The receiving application waits for this number of bytes.
    const LOW_WATER: i32 = 64 << 10;

    pub(crate) fn main() -> io::Result<()> {
        let words: Vec<String> = std::env::args().skip(1).collect();
        let seconds = words.iter().find_map(|word| word.parse().ok()).unwrap_or(10);
        let asked = |name: &str| words.iter().any(|word| word == name);
        if !rustix::process::geteuid().is_root() {
            become_root_of_own()?;
        }
        let home = Namespace::current()?;
        let _awake = if asked("halting") { None } else { Some(IdlePoll::begin()?) };
        for (name, attachment) in [("tun", Attachment::Tun), ("veth", Attachment::Veth)] {
            if asked(name) || !(asked("tun") || asked("veth")) {
                let two = Load { pairs: 1, flows: 4, up: None, delay: Span::ZERO };
                let steering = if asked("alone") { None } else { Steering::with_emulator_on(0)? };
                let how = (attachment, steering);
                two.measure(&format!("{name}, 2 hosts, no limit"), &home, &how, seconds)?;
                let up = Rate::from_bps(20_000_000);
                let many = Load { pairs: 50, flows: 1, up, delay: Span::from_millis(5) };
                many.measure(&format!("{name}, 100 hosts, 1 Gbit/s"), &home, &how, seconds)?;
            }
        }
        Ok(())
    }

    struct Load {
        pairs: u32,
        flows: u32,
        up: Option<Rate>,
        delay: Span,
    }

    impl Load {
        fn measure(
            &self,
            name: &str,
            home: &Namespace,
            (attachment, steering): &(Attachment, Option<Steering>),
            seconds: u64,
        ) -> io::Result<()> {
            let before = unsteady();
            let hosts: Vec<HostSettings> = (0..2 * self.pairs).map(settings).collect();
            let mut lab = Lab::new(&self.plan(), 1, &hosts, *attachment, steering.clone())?;
            lab.start(Span::ZERO)?;
            let flows = self.flows(&lab, home)?;
            let begin = processor();
            let bytes = drive(flows, Span::from_secs(seconds))?;
            let programs = (processor() - begin) / seconds as f64;
            let report = lab.stop()?;
            tell(name, &report, bytes as f64 * 8.0 / seconds as f64, programs);
            let (before, after) = (before, unsteady());
            println!("  processors slow in {before:.0} % of the time before, {after:.0} % after");
            Ok(())
        }

        /// Hosts 0, 2, … send to hosts 1, 3, …
        fn plan(&self) -> Plan {
            let conditions = Conditions {
                rate_bps: self.up,
                queue: Queue::packets(40),
                ..Conditions::default()
            };
            let link = |host: u32| Link {
                name: format!("host-{host} up"),
                conditions: conditions.clone(),
                trace: None,
                delay: None,
            };
            let host = |host: u32| Host {
                name: format!("host-{host}"),
                group: 0,
                stack: 0,
                up: if host.is_multiple_of(2) { vec![host / 2] } else { Vec::new() },
                down: Vec::new(),
            };
            let core = Conditions { delay_ns: self.delay, ..Conditions::default() };
            Plan {
                format: FORMAT,
                title: "bench".into(),
                network: Network {
                    groups: vec!["all".into()],
                    hosts: (0..2 * self.pairs).map(host).collect(),
                    links: (0..self.pairs).map(|pair| link(2 * pair)).collect(),
                    traces: Vec::new(),
                    cores: vec![CorePath { links: Vec::new(), conditions: core, draw: None }],
                    core_of: vec![0],
                },
                stacks: vec![profiles::linux_6()],
                utps: Vec::new(),
                profiles: Vec::new(),
                workloads: Vec::new(),
                timeline: Vec::new(),
                measures: Measures::default(),
                stop: Stop { horizon_ns: Span::from_secs(60), stall_ns: Span::from_secs(60) },
            }
        }

        /// Connections from each even host to the next, sending end first.
        fn flows(&self, lab: &Lab, home: &Namespace) -> io::Result<Vec<(TcpStream, TcpStream)>> {
            let mut flows = Vec::new();
            for pair in 0..self.pairs {
                let (from, to) = (2 * pair, 2 * pair + 1);
                lab.namespaces()[to as usize].enter()?;
                let listener = TcpListener::bind((Ipv4Addr::from(address(to)), PORT))?;
                lab.namespaces()[from as usize].enter()?;
                for _ in 0..self.flows {
                    let sender = TcpStream::connect((Ipv4Addr::from(address(to)), PORT))?;
                    set_tcp_congestion(&sender, "cubic")?;
                    let (receiver, _) = listener.accept()?;
                    set_low_water(&receiver)?;
                    sender.set_nonblocking(true)?;
                    receiver.set_nonblocking(true)?;
                    flows.push((sender, receiver));
                }
            }
            home.enter()?;
            Ok(flows)
        }
    }

    fn address(host: u32) -> [u8; 4] {
        [198, 18, (host / 254) as u8, (host % 254 + 1) as u8]
    }

    fn settings(host: u32) -> HostSettings {
        let (initial_window, controller) = (10, None);
        HostSettings {
            address: address(host),
            mtu: 1500,
            largest_segment: 0,
            initial_window,
            quick_ack: false,
            controller,
            sysctls: Vec::new(),
        }
    }

    #[allow(unsafe_code, reason = "no safe crate sets SO_RCVLOWAT")]
    fn set_low_water(receiver: &TcpStream) -> io::Result<()> {
        use rustix::fd::AsRawFd;
        let bytes = LOW_WATER;
        // SAFETY: the value lives until the call returns, and has the length that is given.
        let failed = unsafe {
            libc::setsockopt(
                receiver.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_RCVLOWAT,
                (&raw const bytes).cast(),
                size_of::<i32>() as libc::socklen_t,
            )
        };
        if failed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Sends all that sockets take for a while; the bytes that arrived.
    fn drive(flows: Vec<(TcpStream, TcpStream)>, span: Span) -> io::Result<u64> {
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        for ((sender, receiver), index) in flows.iter().zip(0u64..) {
            let edge = epoll::EventFlags::ET;
            let (out, into) = (epoll::EventFlags::OUT | edge, epoll::EventFlags::IN);
            epoll::add(&poll, sender.as_fd(), epoll::EventData::new_u64(2 * index), out)?;
            epoll::add(&poll, receiver.as_fd(), epoll::EventData::new_u64(2 * index + 1), into)?;
        }
        let mut bytes = vec![0; 1 << 18];
        let mut received = 0;
        let end = monotonic_ns() + span.nanos();
        let wait = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
        let mut ready = [MaybeUninit::uninit(); 64];
        while monotonic_ns() < end {
            let (events, _) = epoll::wait(&poll, &mut ready[..], Some(&wait))?;
            for event in events.iter() {
                let number = event.data.u64();
                let (mut sender, mut receiver) = {
                    let (sender, receiver) = &flows[number as usize / 2];
                    (sender, receiver)
                };
                let done = match number % 2 {
                    0 => loop {
                        if let Err(error) = sender.write(&bytes) {
                            break Err(error);
                        }
                    },
                    _ => receiver.read(&mut bytes).map(|count| received += count as u64),
                };
                match done {
                    Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(error),
                    _ => {}
                }
            }
        }
        Ok(received)
    }

    fn tell(name: &str, report: &LabReport, bps: f64, programs: f64) {
        let seconds: Vec<_> = report.seconds.iter().skip(2).collect();
        let count = seconds.len().max(1) as f64;
        let packets = seconds.iter().map(|it| it.packets as f64).sum::<f64>() / count;
        let busy = seconds.iter().map(|it| it.busy).sum::<f64>() / count;
        let mut late: Vec<f64> = seconds.iter().map(|it| it.late_p99_s * 1e6).collect();
        late.sort_by(f64::total_cmp);
        let max = seconds.iter().map(|it| it.late_max_s * 1e6).fold(0.0, f64::max);
        println!("{name}: {packets:.0} packets/s, {:.0} Mbit/s", bps / 1e6);
        println!(
            "  {:.0} % of a processor, {:.2} us a packet; the programs {:.0} %",
            busy * 100.0,
            busy / packets * 1e6,
            programs * 100.0
        );
        let place = |share: f64| late.get((share * count) as usize).copied().unwrap_or(0.0);
        println!(
            "  p99 lateness by second: least {:.0} us, a quarter {:.0}, median {:.0}; most {max:.0} us; lost {}",
            place(0.0),
            place(0.25),
            place(0.5),
            report.interface_drops + report.refused_writes
        );
    }

    /// Processor time of this thread.
    fn processor() -> f64 {
        let at = clock_gettime(ClockId::ThreadCPUTime);
        at.tv_sec as f64 + at.tv_nsec as f64 / 1e9
    }

    /// The share of hundredths of a second, in percent, in which the processor of this thread did less
    /// than four fifths of what it did at best. It runs before others if that is allowed, and leaves
    /// them a tenth.
    fn unsteady() -> f64 {
        set_real_time(true);
        let (turn, work) = (10_000_000, 9_000_000);
        let begin = monotonic_ns();
        let mut done = vec![0u32; 150];
        for (index, count) in (0u64..).zip(&mut done) {
            let until = begin + turn * index + work;
            while monotonic_ns() < until {
                black_box((0..2000u64).fold(1u64, |sum, it| sum.wrapping_mul(it | 1)));
                *count += 1;
            }
            let rest = (begin + turn * (index + 1)).saturating_sub(monotonic_ns());
            std::thread::sleep(Duration::from_nanos(rest));
        }
        set_real_time(false);
        let best = f64::from(done.iter().copied().max().unwrap_or(1));
        let slow = done.iter().filter(|&&count| f64::from(count) < 0.8 * best).count();
        slow as f64 / done.len() as f64 * 100.0
    }
}
