/// An event: small, because millions of them are moved.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub(crate) kind: EventKind,
    /// The application that a [`EventKind::App`] is for.
    pub(crate) app: u8,
    /// The code of the event in that application.
    pub(crate) code: u8,
    /// Index of its subject: a FIFO, a packet, a socket, or what its kind counts.
    pub(crate) index: u32,
}

/// The kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventKind {
    /// The first packet of a FIFO is due.
    Fifo,
    /// A packet that is in no FIFO is due.
    Packet,
    /// A link with a discipline can send its next packet.
    Link,
    /// A socket's timer.
    Socket,
    /// An event of an application.
    App,
    /// An entry of the timeline.
    Change,
    /// A recorder takes its sample.
    Sample,
    /// A table's window begins or ends.
    Window,
    /// The watchdog: whether the run still makes progress.
    Watch,
    /// The end of simulated time.
    Horizon,
}

impl Event {
    /// An event of the simulator itself.
    pub(crate) fn new(kind: EventKind, index: u32) -> Event {
        Event { kind, app: 0, code: 0, index }
    }

    /// An event of an application.
    pub(crate) fn app(app: u8, code: u8, index: u32) -> Event {
        Event { kind: EventKind::App, app, code, index }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_takes_eight_bytes() {
        assert_eq!(size_of::<Event>(), 8);
    }
}
