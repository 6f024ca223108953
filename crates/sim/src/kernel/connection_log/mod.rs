//! Logs of connections, event by event, in the vocabulary of qlog (draft-ietf-quic-qlog-main-schema,
//! draft-ietf-quic-qlog-quic-events): one log for each end, as if the end itself wrote it.
//!
//! A transport does not know that it is logged: its state is compared before and after each flush, which
//! follows every other event of a socket.

mod event;
mod flight;
mod packet;
mod view;

pub(crate) use event::{LogEvent, Logged, Metrics, PacketSeen};

use super::transport::Transport;
use flashcrowd_base::{Span, Time};
use flashcrowd_plan::{LoggedConnections, Measures};
use flashcrowd_transport::{tcp::Segment, utp};
use flight::Flight;
use std::ops::Range;
use view::View;

/// The logs of a run.
pub(crate) struct ConnectionLogs {
    chosen: LoggedConnections,
    extent: Range<Time>,
    /// The log of each socket, by index.
    of_socket: Vec<u32>,
    pub(crate) logs: Vec<ConnectionLog>,
    /// The events of all of them, in the order in which they happened.
    pub(crate) events: Vec<Logged>,
}

/// In place of the number of a log: none.
const NOT_LOGGED: u32 = u32::MAX;

/// The end of a connection that a log is of.
pub(crate) struct LoggedEnd {
    /// Index among the plan's workloads, and the number of the flow, user or peer there.
    pub(crate) workload: u32,
    pub(crate) member: u32,
    pub(crate) host: u32,
    pub(crate) remote: u32,
    /// Whether this end opens the connection.
    pub(crate) active: bool,
    pub(crate) transport: &'static str,
    /// The name of the stack or configuration, and its congestion controller.
    pub(crate) stack: String,
    pub(crate) controller: &'static str,
    /// The queueing delay that a controller of the LEDBAT family aims at.
    pub(crate) target: Option<Span>,
}

/// The log of one end, and the transport's state when it was last compared.
pub(crate) struct ConnectionLog {
    pub(crate) end: LoggedEnd,
    pub(crate) opened: Time,
    pub(crate) closed: Option<Time>,
    started: bool,
    state: Option<&'static str>,
    congestion: Option<&'static str>,
    metrics: Option<Metrics>,
    timer: Option<(&'static str, Time)>,
    timeouts: u32,
    undone: u32,
    lost: u64,
    flight: Flight,
}

impl ConnectionLogs {
    /// Logs, if some are asked for.
    pub(crate) fn new(measures: &Measures) -> Option<ConnectionLogs> {
        let chosen = measures.connections.clone()?;
        Some(ConnectionLogs {
            extent: chosen.extent(),
            chosen,
            of_socket: Vec::new(),
            logs: Vec::new(),
            events: Vec::new(),
        })
    }

    /// Two sockets, neighbours from `first` on, are the ends of a new connection.
    pub(crate) fn open(&mut self, first: u32, now: Time, ends: [LoggedEnd; 2]) {
        let min = first as usize + 2;
        if self.of_socket.len() < min {
            self.of_socket.resize(min, NOT_LOGGED);
        }
        for (socket, end) in (first as usize..).zip(ends) {
            let wanted = now < self.extent.end && self.chosen.covers(end.workload, end.host);
            self.of_socket[socket] = if wanted { self.logs.len() as u32 } else { NOT_LOGGED };
            if wanted {
                self.logs.push(ConnectionLog::new(end, now));
            }
        }
    }

    /// The log of a socket, if it has one that goes on.
    fn of(&mut self, socket: u32, now: Time) -> Option<Scribe<'_>> {
        let number = *self.of_socket.get(socket as usize)?;
        let log = self.logs.get_mut(number as usize)?;
        if now >= self.extent.end {
            return None;
        }
        let (events, open) = (&mut self.events, now >= self.extent.start);
        let mut scribe = Scribe { number, log, events, chosen: &self.chosen, now, open };
        if !scribe.log.started {
            scribe.log.started = true;
            scribe.write(LogEvent::Started);
        }
        Some(scribe)
    }

    /// A segment leaves a socket, cut into frames.
    pub(crate) fn sent(&mut self, socket: u32, now: Time, segment: &Segment) {
        let Some(mut scribe) = self.of(socket, now) else { return };
        for frame in (0..segment.frames()).map(|index| segment.frame(index)) {
            let packet = PacketSeen::sent_frame(&frame, &mut scribe.log.flight);
            scribe.packet(true, packet);
        }
    }

    /// A segment has arrived; called before the transport takes it.
    #[cold]
    pub(crate) fn received(&mut self, socket: u32, now: Time, segment: &Segment) {
        let Some(mut scribe) = self.of(socket, now) else { return };
        for frame in (0..segment.frames()).map(|index| segment.frame(index)) {
            scribe.packet(false, PacketSeen::frame(&frame));
        }
        scribe.log.flight.acknowledged(segment.ack);
    }

    /// The same for uTP packets.
    pub(crate) fn sent_utp(&mut self, socket: u32, now: Time, packet: &utp::Packet) {
        let Some(mut scribe) = self.of(socket, now) else { return };
        let packet = PacketSeen::sent_utp(packet, &mut scribe.log.flight);
        scribe.packet(true, packet);
    }

    /// See [`received`](ConnectionLogs::received).
    #[cold]
    pub(crate) fn received_utp(&mut self, socket: u32, now: Time, packet: &utp::Packet) {
        let Some(mut scribe) = self.of(socket, now) else { return };
        scribe.packet(false, PacketSeen::utp(packet));
        let flight = &mut scribe.log.flight;
        let below = flight.unwrap(packet.ack_nr) + 1;
        flight.acknowledged(below);
    }

    /// A timer of a socket has expired; called before the transport acts on it.
    pub(crate) fn timer(&mut self, socket: u32, now: Time, transport: &Transport) {
        let Some(mut scribe) = self.of(socket, now) else { return };
        if let Some((timer, at)) = view::loss_timer(transport)
            && at <= now
        {
            scribe.log.timer = None;
            scribe.write(LogEvent::Timer { change: "expired", timer, delay: None });
        }
    }

    /// Logs what an event has changed at a socket: called before the flush that follows it, and after.
    pub(crate) fn look(&mut self, socket: u32, now: Time, transport: &Transport, flushed: bool) {
        let Some(mut scribe) = self.of(socket, now) else { return };
        let view = View::of(transport, scribe.log.end.active);
        scribe.compare(transport, &view, flushed);
    }
}

impl ConnectionLog {
    fn new(end: LoggedEnd, now: Time) -> ConnectionLog {
        ConnectionLog {
            end,
            opened: now,
            closed: None,
            started: false,
            state: None,
            congestion: None,
            metrics: None,
            timer: None,
            timeouts: 0,
            undone: 0,
            lost: 0,
            flight: Flight::default(),
        }
    }
}

/// Writes into one log.
struct Scribe<'l> {
    number: u32,
    log: &'l mut ConnectionLog,
    events: &'l mut Vec<Logged>,
    chosen: &'l LoggedConnections,
    now: Time,
    /// Whether the log's interval includes this instant.
    open: bool,
}

impl Scribe<'_> {
    fn write(&mut self, event: LogEvent) {
        if self.open {
            self.events.push(Logged { log: self.number, at: self.now, event });
        }
    }

    fn packet(&mut self, sent: bool, packet: PacketSeen) {
        if self.chosen.packets {
            self.write(LogEvent::Packet { sent, packet });
        }
    }

    /// Writes what has changed since the last look.
    fn compare(&mut self, transport: &Transport, view: &View, flushed: bool) {
        if self.log.closed.is_some() {
            return;
        }
        if self.log.state != Some(view.state) {
            let old = self.log.state.replace(view.state);
            self.write(LogEvent::State { old, new: view.state });
        }
        if self.log.undone != view.undone {
            self.log.undone = view.undone;
            self.log.flight.forgive();
            self.write(LogEvent::Undone);
        }
        let timed_out = self.log.timeouts != view.timeouts;
        self.log.timeouts = view.timeouts;
        if self.log.lost != view.metrics.packets_lost {
            self.log.lost = view.metrics.packets_lost;
            let trigger = if timed_out { "rto_expired" } else { view.loss_trigger };
            self.losses(transport, trigger);
        }
        self.congestion(view, flushed);
        let metrics = Some(view.metrics);
        if self.chosen.metrics && self.open && self.log.metrics != metrics {
            self.log.metrics = metrics;
            self.write(LogEvent::Metrics(view.metrics));
        }
        if self.chosen.timers && flushed && self.log.timer != view.timer {
            self.timer(view.timer);
        }
        if let Some(trigger) = view.closed {
            self.log.closed = Some(self.now);
            self.write(LogEvent::Closed { trigger });
        }
    }

    /// Logs each segment that is newly lost.
    fn losses(&mut self, transport: &Transport, trigger: &'static str) {
        view::each_lost(transport, |place, offset, bytes| {
            let flight = &mut self.log.flight;
            let start = place.map_or(offset, |seq_nr| flight.unwrap(seq_nr));
            if let Some(number) = flight.lose(start) {
                self.write(LogEvent::Lost { number, offset, bytes, trigger });
            }
        });
    }

    /// Whether the application leaves the window unused is only known when all is sent that can be.
    fn congestion(&mut self, view: &View, flushed: bool) {
        const IDLE: &str = "application_limited";
        let Some(mut state) = view.congestion else { return };
        if !view.repairing {
            let was_idle = self.log.congestion == Some(IDLE);
            if if flushed { view.idle } else { was_idle } {
                state = IDLE;
            }
        }
        if self.log.congestion != Some(state) {
            let old = self.log.congestion.replace(state);
            self.write(LogEvent::Congestion { old, new: state, trigger: view.trigger });
        }
    }

    fn timer(&mut self, timer: Option<(&'static str, Time)>) {
        let before = std::mem::replace(&mut self.log.timer, timer);
        let now = self.now;
        match (before, timer) {
            (_, Some((timer, at))) => {
                let delay = Some(at.since(now));
                self.write(LogEvent::Timer { change: "set", timer, delay });
            }
            (Some((timer, _)), None) => {
                self.write(LogEvent::Timer { change: "cancelled", timer, delay: None });
            }
            (None, None) => {}
        }
    }
}
