//! Two labs of this process play one network together, and meet by UDP over the loopback interface alone.
//! Where this user may not make namespaces the test says so and does nothing.
#![cfg(target_os = "linux")]

use crate::networks::{line, network, rate};
use flashcrowd_base::Span;
use flashcrowd_emulation::Division;
use flashcrowd_emulation::linux::{
    Attachment, Company, HostSettings, Lab, LabReport, Namespace, monotonic_ns,
};
use flashcrowd_link::{Conditions, Queue};
use flashcrowd_workload::Column;
use std::net::{Ipv4Addr, UdpSocket};
use std::time::Duration;

/// Datagrams that are sent, and come back.
const ECHOES: usize = 40;

fn settings(host: u32) -> HostSettings {
    HostSettings {
        address: address(host).octets(),
        mtu: 1500,
        largest_segment: 0,
        initial_window: 10,
        quick_ack: false,
        controller: None,
        sysctls: Vec::new(),
    }
}

fn address(host: u32) -> Ipv4Addr {
    Ipv4Addr::new(198, 18, 0, 1 + host as u8)
}

/// A socket of the host that a lab plays first.
fn socket(lab: &Lab, host: u32, home: &Namespace) -> UdpSocket {
    lab.namespaces()[0].enter().expect("the namespace is there");
    let socket = UdpSocket::bind((address(host), 7000)).expect("nobody has it");
    home.enter().expect("it was here before");
    socket.set_read_timeout(Some(Duration::from_secs(30))).expect("it is a length");
    socket
}

#[test]
fn a_packet_goes_to_the_other_lab_and_back() {
    let shared = Conditions { rate_bps: rate(50_000_000), queue: Queue::packets(80), ..line() };
    let core = Conditions { delay_ns: Span::from_millis(10), ..Conditions::default() };
    let mut plan = network(2, line(), shared, core);
    plan.workloads.clear();
    let division = Division::new(&plan, 2, Span::from_millis(1)).expect("lines are 3 ms long");
    let hosts: Vec<HostSettings> = (0..2).map(settings).collect();
    let made = |node| Lab::share(&plan, 1, &hosts, Attachment::possible(), (&division, node));
    let mut labs: Vec<Lab> = match (0..2).map(made).collect() {
        Ok(labs) => labs,
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            println!("not tested: this user may not make namespaces ({error})");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    let home = Namespace::current().expect("/proc is there");
    let ends: Vec<UdpSocket> =
        (0..2).map(|_| UdpSocket::bind("127.0.0.1:0").expect("loopback is up")).collect();
    let nodes: Vec<_> = ends.iter().map(|end| end.local_addr().expect("it is bound")).collect();
    for (lab, end) in labs.iter_mut().zip(ends) {
        let company = Company { socket: end.into(), run: 7, nodes: nodes.clone() };
        lab.join(company).expect("it is a share");
    }

    let (one, other) = labs.split_at_mut(1);
    let (first, second) = (&mut one[0], &mut other[0]);
    let tuned = std::thread::scope(|scope| {
        let answers = scope.spawn(|| first.tune(Span::from_millis(300)));
        let tuned = second.tune(Span::from_millis(300)).expect("the socket works");
        let answered = answers.join().expect("no panic").expect("the socket works");
        assert!(answered.is_none(), "its clock is the run's");
        tuned.expect("the first lab answers")
    });
    // One machine has one clock.
    assert!(tuned.offset_ns.unsigned_abs() <= tuned.uncertainty_ns, "{tuned:?}");
    let begin_ns = monotonic_ns() + 50_000_000;
    first.start_at(begin_ns).expect("it has not begun");
    second.start_at(begin_ns.saturating_add_signed(-tuned.offset_ns)).expect("nor this one");

    let (asking, answering) = (socket(first, 0, &home), socket(second, 1, &home));
    let echoing = std::thread::spawn(move || {
        let mut bytes = [0; 2000];
        for _ in 0..ECHOES {
            let (count, from) = answering.recv_from(&mut bytes).expect("it comes");
            answering.send_to(&bytes[..count], from).expect("it goes");
        }
    });
    let mut min = Span::MAX;
    for number in 0..ECHOES {
        let size = [20, 1400][number % 2];
        let bytes = vec![number as u8; size];
        let sent = monotonic_ns();
        asking.send_to(&bytes, (address(1), 7000)).expect("it goes");
        let mut back = [0; 2000];
        let (count, _) = asking.recv_from(&mut back).expect("it comes back");
        min = min.min(Span::from_nanos(monotonic_ns() - sent));
        assert_eq!(back[..count], bytes);
    }
    echoing.join().expect("no panic");
    // Each way three links of 3 ms and 10 ms between, and nothing is ever early.
    assert!(min >= Span::from_millis(38), "{min}");

    let reports: Vec<LabReport> =
        labs.iter_mut().map(|lab| lab.stop().expect("it ends well")).collect();
    for report in &reports {
        let carrier = report.carrier.expect("it is a share");
        assert_eq!((carrier.lost, carrier.refused), (0, 0));
        assert_eq!(report.refused_writes, 0);
    }
    // The shared link is the first lab's: what the second sends comes to it, and all that is for the
    // second's host goes there.
    for (sent, came) in [(0, 1), (1, 0)] {
        assert_eq!(reports[sent].totals.handed_over, reports[came].totals.taken_over);
        assert!(reports[sent].totals.handed_over >= ECHOES as u64);
    }
    let of_links = |node: usize, name| reports[node].tables[0].column(name).expect("it is there");
    let Column::Text(_, names) = of_links(1, "link") else { panic!("they have names") };
    assert_eq!(*names, ["host-1 up", "host-1 down"]);
    let Column::U64(packets) = of_links(0, "packets") else { panic!("they are counted") };
    assert!(packets[0] >= 2 * ECHOES as u64);
}
