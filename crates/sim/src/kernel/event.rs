/// An event: small, because millions of them are moved.
///
/// One number, so that it is in a register: a structure that is written field by field and copied whole soon after waits
/// for its stores. From the lowest byte: kind, application, code, a byte for nothing, index.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Event(u64);

/// The kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
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

impl EventKind {
    const ALL: [EventKind; 10] = [
        EventKind::Fifo,
        EventKind::Packet,
        EventKind::Link,
        EventKind::Socket,
        EventKind::App,
        EventKind::Change,
        EventKind::Sample,
        EventKind::Window,
        EventKind::Watch,
        EventKind::Horizon,
    ];
}

impl Event {
    /// An event of the simulator itself.
    #[inline]
    pub(crate) fn new(kind: EventKind, index: u32) -> Event {
        Event(u64::from(index) << 32 | kind as u64)
    }

    /// An event of an application.
    #[inline]
    pub(crate) fn app(app: u8, code: u8, index: u32) -> Event {
        Event(Event::new(EventKind::App, index).0 | u64::from(code) << 16 | u64::from(app) << 8)
    }

    /// What it is.
    #[inline]
    pub(crate) fn kind(self) -> EventKind {
        EventKind::ALL[usize::from(self.0 as u8)]
    }

    /// The application that a [`EventKind::App`] is for.
    #[inline]
    pub(crate) fn application(self) -> u8 {
        (self.0 >> 8) as u8
    }

    /// The code of the event in that application.
    #[inline]
    pub(crate) fn code(self) -> u8 {
        (self.0 >> 16) as u8
    }

    /// Index of its subject: a FIFO, a packet, a socket, or what its kind counts.
    #[inline]
    pub(crate) fn index(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

impl std::fmt::Debug for Event {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} {} of {}:{}", self.kind(), self.index(), self.application(), self.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_what_it_was_made_of() {
        for (number, kind) in EventKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, number);
            let event = Event::new(kind, u32::MAX);
            assert_eq!((event.kind(), event.index()), (kind, u32::MAX));
        }
        let event = Event::app(200, 255, 7);
        assert_eq!(event.kind(), EventKind::App);
        assert_eq!((event.application(), event.code(), event.index()), (200, 255, 7));
    }
}
