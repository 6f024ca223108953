use super::owner::{Owner, other};
use super::packet::Datagram;
use super::transport::Stack;
use flashcrowd_base::Time;
use flashcrowd_plan::Capture;
use flashcrowd_transport::tcp::{self, Segment};
use flashcrowd_transport::utp;

/// A tap at the interface of each host that is captured: the packets that pass it, and the content of
/// their streams.
///
/// A packet is kept as its header fields, a stream as the messages that were written to it. Both are
/// encoded into bytes when the run is over: a message is named when its last byte is written, and its
/// first ones may be on their way long before.
pub(crate) struct Tap<M> {
    /// Whether each host is captured.
    hosts: Vec<bool>,
    from: Time,
    to: Time,
    /// Snapshot length: how many bytes of each packet are captured; none for all.
    pub(crate) snap_bytes: Option<u32>,
    connections: Vec<Connection<M>>,
    /// The number of the connection of each pair of sockets, the last one of those that shared it.
    of_pair: Vec<u32>,
    seen: Vec<TappedPacket>,
}

/// A connection with an end at a captured host. End 0 is the one that opened it.
pub(crate) struct Connection<M> {
    /// The owners of the ends when it was opened: the second may have been a listener's.
    pub(crate) owners: [Owner; 2],
    pub(crate) hosts: [u32; 2],
    /// Whether it speaks uTP; otherwise TCP.
    pub(crate) is_utp: bool,
    /// How far each end shifts its window, if both offer to (RFC 7323, 2.2).
    pub(crate) window_shifts: [u8; 2],
    /// The messages of each end.
    pub(crate) written: [Written<M>; 2],
    /// Whether each end has ever sent a SYN.
    opened: [bool; 2],
}

/// The messages in one direction of a stream.
pub(crate) struct Written<M> {
    /// Messages, each with the offset at which it ends; it begins where the one before ends.
    pub(crate) messages: Vec<(u64, M)>,
    /// The message behind these, which is not whole yet.
    pub(crate) begun: Option<M>,
    /// How much was written in all.
    bytes: u64,
    /// Whether what follows is of no interest any more.
    sealed: bool,
}

/// A packet that passed the interface of a host.
pub(crate) struct TappedPacket {
    pub(crate) at: Time,
    /// The host, and the one at the other end.
    pub(crate) host: u32,
    pub(crate) peer: u32,
    /// Whether the host sent it; otherwise it arrived.
    pub(crate) sent: bool,
    pub(crate) what: Carries,
}

/// The content of a packet.
pub(crate) enum Carries {
    /// A segment of one frame, of this connection; `by` is the end that sent it, and `opened` whether
    /// that end had sent a SYN by then.
    Tcp { connection: u32, by: u8, opened: bool, segment: Segment },
    /// A uTP packet, the same way.
    Utp { connection: u32, by: u8, packet: utp::Packet },
    /// A datagram of an application.
    Datagram(Datagram),
}

/// In place of the number of a connection: neither of its ends is captured.
const NOT_CAPTURED: u32 = u32::MAX;

/// Greatest shift of a window (RFC 7323, 2.3).
const MAX_SHIFT: u8 = 14;

impl<M> Tap<M> {
    /// Taps for what is to be captured, in a network of `hosts` hosts.
    pub(crate) fn new(capture: &Capture, hosts: usize) -> Tap<M> {
        let mut captured = vec![false; hosts];
        for &host in &capture.hosts {
            captured[host as usize] = true;
        }
        Tap {
            hosts: captured,
            from: capture.begin(),
            to: capture.end(),
            snap_bytes: capture.snap_bytes,
            connections: Vec::new(),
            of_pair: Vec::new(),
            seen: Vec::new(),
        }
    }

    pub(crate) fn connections(&self) -> &[Connection<M>] {
        &self.connections
    }
    /// The packets, in the order of time.
    pub(crate) fn seen(&self) -> &[TappedPacket] {
        &self.seen
    }

    fn is_captured(&self, host: u32) -> bool {
        self.hosts[host as usize]
    }

    /// A pair of sockets, of which this is the first, becomes a connection between these hosts.
    pub(super) fn opens(
        &mut self,
        first: u32,
        hosts: [u32; 2],
        owners: [Owner; 2],
        stacks: [&Stack; 2],
    ) {
        let pair = first as usize / 2;
        if self.of_pair.len() <= pair {
            self.of_pair.resize(pair + 1, NOT_CAPTURED);
        }
        self.of_pair[pair] = NOT_CAPTURED;
        if hosts.into_iter().any(|host| self.is_captured(host)) {
            self.of_pair[pair] = self.connections.len() as u32;
            self.connections.push(Connection {
                owners,
                hosts,
                is_utp: matches!(stacks[0], Stack::Utp(_)),
                window_shifts: window_shifts(stacks),
                written: [Written::new(), Written::new()],
                opened: [false; 2],
            });
        }
    }

    /// The number of the connection that a socket is an end of, if it is captured.
    fn connection(&self, socket: u32) -> Option<u32> {
        let number = self.of_pair.get(socket as usize / 2).copied();
        number.filter(|number| *number != NOT_CAPTURED)
    }
    fn written(&mut self, socket: u32) -> Option<&mut Written<M>> {
        let number = self.connection(socket)?;
        Some(&mut self.connections[number as usize].written[end_of(socket)])
    }

    /// The next write to a socket is the beginning of `message`, whose end is written later.
    #[cold]
    pub(super) fn begins(&mut self, socket: u32, message: M) {
        if let Some(written) = self.written(socket) {
            written.begun.get_or_insert(message);
        }
    }

    /// Bytes were written to a socket; a message that they end.
    #[cold]
    pub(super) fn wrote(&mut self, socket: u32, now: Time, bytes: u64, ends: Option<M>) {
        let late = now >= self.to;
        if let Some(written) = self.written(socket) {
            written.add(bytes, ends, late);
        }
    }

    /// A socket sends a segment.
    pub(super) fn sends_tcp(&mut self, socket: u32, now: Time, segment: &Segment) {
        self.passes_tcp(socket, end_of(socket), now, segment);
    }
    /// A segment arrives at a socket.
    pub(super) fn receives_tcp(&mut self, socket: u32, now: Time, segment: &Segment) {
        self.passes_tcp(socket, end_of(other(socket)), now, segment);
    }

    fn passes_tcp(&mut self, socket: u32, by: usize, now: Time, segment: &Segment) {
        let Some(number) = self.connection(socket) else { return };
        let opened = &mut self.connections[number as usize].opened[by];
        *opened |= segment.flags.contains(tcp::Flags::SYN);
        let opened = *opened;
        for index in 0..segment.frames() {
            let segment = segment.frame(index);
            let what = Carries::Tcp { connection: number, by: by as u8, opened, segment };
            self.passes(socket, number, by, now, what);
        }
    }

    /// A socket sends a uTP packet.
    #[cold]
    pub(super) fn sends_utp(&mut self, socket: u32, now: Time, packet: &utp::Packet) {
        self.passes_utp(socket, end_of(socket), now, packet);
    }
    /// A uTP packet arrives at a socket.
    pub(super) fn receives_utp(&mut self, socket: u32, now: Time, packet: &utp::Packet) {
        self.passes_utp(socket, end_of(other(socket)), now, packet);
    }

    fn passes_utp(&mut self, socket: u32, by: usize, now: Time, packet: &utp::Packet) {
        let Some(number) = self.connection(socket) else { return };
        let what = Carries::Utp { connection: number, by: by as u8, packet: *packet };
        self.passes(socket, number, by, now, what);
    }

    fn passes(&mut self, socket: u32, number: u32, by: usize, now: Time, what: Carries) {
        let (here, hosts) = (end_of(socket), self.connections[number as usize].hosts);
        self.see(now, [hosts[here], hosts[1 - here]], by == here, what);
    }

    /// A host sends a datagram to another.
    pub(super) fn sends_datagram(&mut self, now: Time, from: u32, to: u32, datagram: &Datagram) {
        self.see(now, [from, to], true, Carries::Datagram(*datagram));
    }
    /// A datagram from one host arrives at another.
    pub(super) fn receives_datagram(&mut self, now: Time, from: u32, to: u32, datagram: &Datagram) {
        self.see(now, [to, from], false, Carries::Datagram(*datagram));
    }

    fn see(&mut self, at: Time, [host, peer]: [u32; 2], sent: bool, what: Carries) {
        if self.is_captured(host) && (self.from..self.to).contains(&at) {
            self.seen.push(TappedPacket { at, host, peer, sent, what });
        }
    }
}

impl<M> Written<M> {
    fn new() -> Written<M> {
        Written { messages: Vec::new(), begun: None, bytes: 0, sealed: false }
    }

    /// Offset at which the last whole message ends.
    pub(crate) fn whole(&self) -> u64 {
        self.messages.last().map_or(0, |(end, _)| *end)
    }

    /// `late` if nothing that begins with these bytes will be seen.
    fn add(&mut self, bytes: u64, ends: Option<M>, late: bool) {
        self.sealed |= late && self.bytes == self.whole();
        self.bytes += bytes;
        if let (Some(message), false) = (ends, self.sealed) {
            self.messages.push((self.bytes, message));
            self.begun = None;
        }
    }
}

/// Which end of its connection a socket is.
fn end_of(socket: u32) -> usize {
    socket as usize & 1
}

/// How far each end shifts its window: so far that its greatest fits into 16 bits, as Linux chooses
/// it (tcp_select_initial_window), unless one of them does not offer to.
fn window_shifts(stacks: [&Stack; 2]) -> [u8; 2] {
    let [Stack::Tcp(a), Stack::Tcp(b)] = stacks else { return [0; 2] };
    if !a.window_scaling || !b.window_scaling {
        return [0; 2];
    }
    [a, b].map(|stack| {
        let window = &stack.receive_window;
        let max = window.max_bytes.max(window.buffer_bytes).max(window.initial_bytes);
        (0..MAX_SHIFT).find(|shift| max >> shift <= 0xffff).unwrap_or(MAX_SHIFT)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_late_and_began_in_time_is_kept_and_what_follows_is_not() {
        let mut written = Written::new();
        written.add(5, Some("whole"), false);
        written.add(3, None, false);
        written.begun = Some("begun");
        written.add(2, Some("ended late"), true);
        assert_eq!((&written.begun, written.whole()), (&None, 10));
        written.add(4, Some("late"), true);
        written.add(4, Some("later"), true);
        assert_eq!(written.messages, [(5, "whole"), (10, "ended late")]);
    }

    #[test]
    fn windows_are_shifted_until_the_greatest_fits() {
        let stack = |max_bytes| {
            let mut stack = tcp::profiles::named("linux-6").expect("the profile exists");
            stack.receive_window.max_bytes = max_bytes;
            stack
        };
        let of = |a: tcp::Config, b: tcp::Config| {
            window_shifts([&Stack::Tcp(a.into()), &Stack::Tcp(b.into())])
        };
        // Linux: tcp_rmem of 6291456 gives a shift of 7.
        assert_eq!(of(stack(6_291_456), stack(1 << 30)), [7, 14]);
        let plain = tcp::Config { window_scaling: false, ..stack(1 << 20) };
        assert_eq!(of(stack(6_291_456), plain), [0, 0]);
    }
}
