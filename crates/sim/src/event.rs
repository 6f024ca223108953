/// What happens at an instant: a kind and an index, small because millions of them are moved.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub(crate) kind: Kind,
    pub(crate) index: u32,
}

/// The kinds of events.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Lane,
    Packet,
    Socket,
    Peer,
    Arrival,
    Departure,
    Tracker,
    FlowStart,
    FlowStop,
    FlowTick,
    Ping,
    Change,
    Sample,
    Watch,
    Horizon,
}

macro_rules! events {
    ($($name:ident => $kind:ident),* $(,)?) => {
        impl Event {
            $(pub(crate) fn $name(index: u32) -> Event {
                Event { kind: Kind::$kind, index }
            })*
        }
    };
}
events! {
    lane => Lane, packet => Packet, socket => Socket, peer => Peer, arrival => Arrival, departure => Departure,
    tracker => Tracker, flow_start => FlowStart, flow_stop => FlowStop, flow_tick => FlowTick,
    ping => Ping, change => Change, sample => Sample, watch => Watch, horizon => Horizon,
}
