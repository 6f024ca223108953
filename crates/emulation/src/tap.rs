use crate::header::Header;
use crate::offload::Offload;
use flashcrowd_base::Time;
use flashcrowd_plan::{Capture, Measures, Plan, Workload};
use std::collections::{BTreeMap, BTreeSet};

/// Taps at the interfaces of hosts: whole packets for the table `captures`, and the headers of those that
/// senders of transfers send for the table `packets`.
///
/// Sent packets are seen before they queue at the host's line, received ones when they are due.
/// Super-segments are seen as the frames that they are cut into.
#[derive(Debug, Default)]
pub(crate) struct Taps {
    capture: Option<CaptureTap>,
    trace: Option<Trace>,
    /// Where frames of super-segments are written to.
    frame: Vec<u8>,
}

/// The packets at taps.
#[derive(Clone, Debug, Default)]
pub struct TapRecord {
    /// Of the table `captures`.
    pub captured: Vec<Captured>,
    /// The bytes of all captured packets, one behind the other.
    pub bytes: Vec<u8>,
    /// For the table `packets`.
    pub traced: Vec<Traced>,
}

/// A packet that passed the interface of a captured host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Captured {
    /// When.
    pub at: Time,
    /// The host.
    pub host: u32,
    /// The host at the other end.
    pub peer: u32,
    /// Whether the host sent it; otherwise it arrived.
    pub sent: bool,
    /// How long it was.
    pub ip_bytes: u32,
    /// Where what was kept of it ends in the bytes of all.
    pub end: u64,
}

/// A packet of TCP that a sender of transfers sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traced {
    /// When.
    pub at: Time,
    /// The port at which the receiver listens.
    pub port: u16,
    /// Size of the IP packet.
    pub ip_bytes: u32,
    /// How many of them are payload.
    pub payload_bytes: u32,
    /// Whether data, a SYN or a FIN that it carries was sent before.
    pub again: bool,
}

#[derive(Debug)]
struct CaptureTap {
    spec: Capture,
    seen: Vec<Captured>,
    bytes: Vec<u8>,
}

#[derive(Debug)]
struct Trace {
    until: Time,
    /// Hosts that send transfers.
    senders: BTreeSet<u32>,
    /// How far each connection, by its ends and both ports, has sent.
    reached: BTreeMap<(u32, u32, u16, u16), Reached>,
    seen: Vec<Traced>,
}

/// End of the sequence space that was sent (SYN, bytes, FIN), from the SYN on, which is number 0.
#[derive(Clone, Copy, Debug)]
struct Reached {
    initial: u32,
    end: u64,
}

impl Taps {
    /// For what a plan asks.
    pub(crate) fn new(plan: &Plan) -> Taps {
        let Measures { capture, packets_ns, .. } = &plan.measures;
        let senders = plan.workloads.iter().filter_map(|workload| match workload {
            Workload::Transfer(transfer) => Some(transfer.from),
            _ => None,
        });
        Taps {
            capture: capture.clone().map(CaptureTap::new),
            trace: packets_ns.map(|until| Trace {
                until: Time::START + until,
                senders: senders.collect(),
                reached: BTreeMap::new(),
                seen: Vec::new(),
            }),
            frame: Vec::new(),
        }
    }

    /// A host has sent a packet to another.
    pub(crate) fn sent(
        &mut self,
        at: Time,
        (from, to): (u32, u32),
        packet: &[u8],
        offload: &Offload,
    ) {
        let capture = self.capture.as_mut().filter(|it| it.watches(at, from));
        let trace = self.trace.as_mut().filter(|it| it.watches(at, from));
        if capture.is_some() || trace.is_some() {
            let pass = Pass { at, host: from, peer: to, sent: true };
            show(capture, trace, &mut self.frame, pass, packet, offload);
        }
    }

    /// A packet from one host has reached another.
    pub(crate) fn received(
        &mut self,
        at: Time,
        (from, to): (u32, u32),
        packet: &[u8],
        offload: &Offload,
    ) {
        let capture = self.capture.as_mut().filter(|it| it.watches(at, to));
        if capture.is_some() {
            let pass = Pass { at, host: to, peer: from, sent: false };
            show(capture, None, &mut self.frame, pass, packet, offload);
        }
    }

    /// The packets at the taps, once.
    pub(crate) fn take(&mut self) -> TapRecord {
        let capture = self.capture.as_mut();
        let (captured, bytes) = capture
            .map(|it| (std::mem::take(&mut it.seen), std::mem::take(&mut it.bytes)))
            .unwrap_or_default();
        let traced = self.trace.as_mut().map(|it| std::mem::take(&mut it.seen)).unwrap_or_default();
        TapRecord { captured, bytes, traced }
    }
}

/// A packet passes the interface of a host.
#[derive(Clone, Copy)]
struct Pass {
    at: Time,
    host: u32,
    peer: u32,
    sent: bool,
}

/// Shows taps the frames of a packet, checksums complete.
#[cold]
fn show(
    mut capture: Option<&mut CaptureTap>,
    mut trace: Option<&mut Trace>,
    frame: &mut Vec<u8>,
    pass: Pass,
    packet: &[u8],
    offload: &Offload,
) {
    frame.clear();
    frame.extend_from_slice(packet);
    let frames = offload.frames(packet);
    for index in 0..frames {
        // Each is written over the one before.
        let cut = if frames == 1 {
            Some((packet.len(), *offload))
        } else {
            offload.frame(packet, index, frame)
        };
        let Some((bytes, left)) = cut else { break };
        let whole = &mut frame[..bytes];
        left.complete(whole);
        if let Some(capture) = &mut capture {
            capture.see(pass, whole);
        }
        if let Some(trace) = &mut trace {
            trace.see(pass, whole);
        }
    }
}

impl CaptureTap {
    fn new(spec: Capture) -> CaptureTap {
        CaptureTap { spec, seen: Vec::new(), bytes: Vec::new() }
    }

    fn watches(&self, at: Time, host: u32) -> bool {
        (self.spec.begin()..self.spec.end()).contains(&at)
            && self.spec.hosts.binary_search(&host).is_ok()
    }

    fn see(&mut self, Pass { at, host, peer, sent }: Pass, packet: &[u8]) {
        let snap = self.spec.snap_bytes.map_or(usize::MAX, |snap| snap as usize);
        self.bytes.extend_from_slice(&packet[..packet.len().min(snap)]);
        let (ip_bytes, end) = (packet.len() as u32, self.bytes.len() as u64);
        self.seen.push(Captured { at, host, peer, sent, ip_bytes, end });
    }
}

impl Trace {
    fn watches(&self, at: Time, host: u32) -> bool {
        at < self.until && self.senders.contains(&host)
    }

    fn see(&mut self, Pass { at, host, peer, .. }: Pass, packet: &[u8]) {
        let Some(segment) = Header::of(packet).and_then(|header| header.tcp_segment()) else {
            return;
        };
        let [own, port] = segment.ports;
        let key = (host, peer, own, port);
        if segment.syn && !segment.ack {
            let fresh = Reached { initial: segment.sequence, end: 0 };
            let known = self.reached.entry(key).or_insert(fresh);
            if known.initial != segment.sequence {
                *known = fresh; // the ports were used before
            }
        }
        // A connection that the other end opened is no transfer of this one.
        let Some(reached) = self.reached.get_mut(&key) else { return };
        let consumed = segment.payload_bytes + u32::from(segment.syn) + u32::from(segment.fin);
        let again = consumed > 0 && {
            let last = segment.sequence.wrapping_add(consumed).wrapping_sub(reached.initial);
            // How far beyond what was sent it ends; numbers wrap at 32 bits.
            let beyond = last.wrapping_sub(reached.end as u32) as i32;
            reached.end += u64::from(beyond.max(0).unsigned_abs());
            beyond <= 0
        };
        self.seen.push(Traced {
            at,
            port,
            ip_bytes: packet.len() as u32,
            payload_bytes: segment.payload_bytes,
            again,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{IpNumber, Ipv4Header, TcpHeader};
    use flashcrowd_base::Span;
    use proptest::prelude::*;

    const ENDS: (u32, u32) = (0, 1);

    fn taps(snap: u32) -> Taps {
        let capture = CaptureTap::new(Capture {
            hosts: vec![0],
            from_ns: Span::from_nanos(10),
            to_ns: Some(Span::from_nanos(1000)),
            snap_bytes: Some(snap),
        });
        let trace = Trace {
            until: Time::from_nanos(1000),
            senders: BTreeSet::from([0]),
            reached: BTreeMap::new(),
            seen: Vec::new(),
        };
        Taps { capture: Some(capture), trace: Some(trace), frame: Vec::new() }
    }

    /// A segment from port 5000 to port 80.
    fn segment(sequence: u32, syn: bool, payload: usize) -> Vec<u8> {
        let mut tcp = TcpHeader::new(5000, 80, sequence, 1000);
        (tcp.syn, tcp.ack) = (syn, !syn);
        let bytes = (tcp.header_len() + payload) as u16;
        let ends = ([198, 18, 0, 1], [198, 18, 0, 2]);
        let ip = Ipv4Header::new(bytes, 64, IpNumber::TCP, ends.0, ends.1).expect("it is short");
        [ip.to_bytes().as_slice(), &tcp.to_bytes(), &vec![7; payload]].concat()
    }

    #[test]
    fn a_host_is_captured_in_its_time_and_no_other() {
        let (mut taps, packet) = (taps(50), segment(1, false, 100));
        let nothing = Offload::NOTHING;
        for at in [9, 10, 999, 1000] {
            taps.sent(Time::from_nanos(at), ENDS, &packet, &nothing);
        }
        taps.received(Time::from_nanos(20), (1, 0), &packet, &nothing);
        taps.received(Time::from_nanos(30), ENDS, &packet, &nothing);
        let seen = taps.take();
        let rows: Vec<_> =
            seen.captured.iter().map(|it| (it.at.nanos(), it.host, it.peer, it.sent)).collect();
        assert_eq!(rows, [(10, 0, 1, true), (999, 0, 1, true), (20, 0, 1, false)]);
        assert!(seen.captured.iter().all(|it| it.ip_bytes == 140));
        assert_eq!(seen.bytes, [&packet[..50]; 3].concat());
        assert!(taps.take().captured.is_empty());
    }

    proptest! {
        #[test]
        fn what_was_sent_before_is_told_from_what_is_new(
            initial in any::<u32>(),
            // Payloads, and how many segments back each goes before it goes on.
            steps in prop::collection::vec((1usize..1400, 0usize..4), 1..60),
        ) {
            let mut taps = taps(0);
            let mut send = |sequence: u32, syn: bool, payload: usize| {
                let packet = segment(sequence, syn, payload);
                taps.sent(Time::START, ENDS, &packet, &Offload::NOTHING);
            };
            send(initial, true, 0);
            send(initial, true, 0);
            let mut expected = vec![false, true];
            let mut sent: Vec<(u32, usize)> = Vec::new();
            let mut next = initial.wrapping_add(1);
            for (payload, back) in steps {
                for &(sequence, length) in sent.iter().rev().take(back) {
                    send(sequence, false, length);
                    expected.push(true);
                }
                send(next, false, payload);
                expected.push(false);
                sent.push((next, payload));
                next = next.wrapping_add(payload as u32);
                send(next, false, 0); // an acknowledgement
                expected.push(false);
            }
            let seen = taps.take();
            let again: Vec<bool> = seen.traced.iter().map(|it| it.again).collect();
            prop_assert_eq!(again, expected);
            prop_assert!(seen.traced.iter().all(|it| it.port == 80));
        }
    }

    #[test]
    fn the_answering_end_of_a_connection_is_no_transfer() {
        let mut taps = taps(0);
        taps.sent(Time::START, ENDS, &segment(1, false, 10), &Offload::NOTHING);
        assert!(taps.take().traced.is_empty());
    }
}
