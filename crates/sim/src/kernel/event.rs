/// An event: small, because millions of them are moved.
///
/// One number, so that it is in a register: a structure that is written field by field and copied whole soon after waits
/// for its stores. From the highest byte: kind, application, code, an unused byte, and four of index; an unordered
/// packet has its number in the three bytes after the kind. What happens at one instant happens in the order of these
/// numbers, so by kind first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Event(u64);

/// The kinds of events, in the order in which they happen at one instant.
///
/// Windows are first, so that what happens at the begin of one is inside, and what happens at its end is not. Then what
/// the timeline changes holds for all else, and what is to stop has stopped. At the horizon nothing else happens. A link
/// frees a place before a packet asks for it. Packets arrive before timers expire that wait for them. A sample shows
/// what an instant has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum EventKind {
    /// A table's window begins or ends.
    Window,
    /// An entry of the timeline.
    Change,
    /// An application stops something, as its plan says.
    Stop,
    /// The end of simulated time.
    Horizon,
    /// A link with a discipline can send its next packet.
    Link,
    /// The first packet of a FIFO is due.
    Fifo,
    /// A packet that is in no FIFO is due.
    Packet,
    /// A socket's timer.
    Socket,
    /// An event of an application.
    App,
    /// A recorder takes its sample.
    Sample,
    /// The watchdog: whether the run still makes progress.
    Watch,
}

impl EventKind {
    const ALL: [EventKind; 11] = [
        EventKind::Window,
        EventKind::Change,
        EventKind::Stop,
        EventKind::Horizon,
        EventKind::Link,
        EventKind::Fifo,
        EventKind::Packet,
        EventKind::Socket,
        EventKind::App,
        EventKind::Sample,
        EventKind::Watch,
    ];
}

impl Event {
    /// An event of the simulator itself.
    #[inline]
    pub(crate) fn new(kind: EventKind, index: u32) -> Event {
        Event((kind as u64) << 56 | u64::from(index))
    }

    /// A packet that is in no FIFO is due. Of packets that are due at one instant the one with the lower number, of which
    /// 24 bits count, is the first.
    #[inline]
    pub(crate) fn packet(number: u32, slot: u32) -> Event {
        Event(Event::new(EventKind::Packet, slot).0 | u64::from(number << 8) << 24)
    }

    /// An event of an application: [`EventKind::App`] or [`EventKind::Stop`].
    #[inline]
    pub(crate) fn app(kind: EventKind, app: u8, code: u8, index: u32) -> Event {
        Event(Event::new(kind, index).0 | u64::from(app) << 48 | u64::from(code) << 40)
    }

    /// Its kind.
    #[inline]
    pub(crate) fn kind(self) -> EventKind {
        EventKind::ALL[usize::from((self.0 >> 56) as u8)]
    }

    /// The application that it is for.
    #[inline]
    pub(crate) fn application(self) -> u8 {
        (self.0 >> 48) as u8
    }

    /// The code of the event in that application.
    #[inline]
    pub(crate) fn code(self) -> u8 {
        (self.0 >> 40) as u8
    }

    /// Index of its subject: a FIFO, a packet, a socket, or what its kind counts.
    #[inline]
    pub(crate) fn index(self) -> u32 {
        self.0 as u32
    }
}

impl From<Event> for u64 {
    fn from(event: Event) -> u64 {
        event.0
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
        let event = Event::app(EventKind::App, 200, 255, 7);
        assert_eq!(event.kind(), EventKind::App);
        assert_eq!((event.application(), event.code(), event.index()), (200, 255, 7));
        let event = Event::packet(u32::MAX, 7);
        assert_eq!((event.kind(), event.index()), (EventKind::Packet, 7));
    }

    #[test]
    fn at_one_instant_the_kind_decides_then_what_it_is_of() {
        for [kind, next] in EventKind::ALL.array_windows() {
            assert!(Event::new(*kind, u32::MAX) < Event::new(*next, 0));
        }
        assert!(
            Event::packet(1, 9) < Event::packet(2, 3),
            "the order in which they came, not their place"
        );
        let app = |app, code, index| Event::app(EventKind::App, app, code, index);
        assert!(app(1, 9, 9) < app(2, 0, 0) && app(2, 0, 9) < app(2, 1, 0));
    }
}
