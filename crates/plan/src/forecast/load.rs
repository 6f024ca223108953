//! What a workload adds to the need of a run, and the memory that the parts of an engine take.

/// Memory of a run without hosts: the event queue's wheel, tables.
pub(crate) const MIN_BYTES: f64 = 1e6;
/// A host and its lines, names included.
pub(crate) const HOST_BYTES: f64 = 300.0;
pub(crate) const LINK_BYTES: f64 = 600.0;
/// Both ends of a connection: sockets of 768 bytes with a timer of 16, and half of that again while
/// the list of them grows and stands twice.
pub(crate) const CONNECTION_BYTES: f64 = 2400.0;
/// A route between two hosts, and its entry in the map of routes.
pub(crate) const ROUTE_BYTES: f64 = 200.0;
/// A piece of path that draws, beside its route.
pub(crate) const DRAWS_BYTES: f64 = 900.0;
/// A packet on its way, at its link, and in the list of its sender.
pub(crate) const PACKET_BYTES: f64 = 160.0;
/// A row of a table: in the recorder's own types, then in columns.
pub(crate) const ROW_BYTES: f64 = 60.0;

/// What a workload adds to the need of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Load {
    pub(crate) packets: f64,
    pub(crate) events: f64,
    /// Connections at a time, at most.
    pub(crate) connections: f64,
    /// Memory besides that of the connections.
    pub(crate) bytes: f64,
}

impl Load {
    pub(crate) fn add(&mut self, other: Load) {
        self.packets += other.packets;
        self.events += other.events;
        self.connections += other.connections;
        self.bytes += other.bytes;
    }

    /// So many of the same.
    pub(crate) fn times(self, count: f64) -> Load {
        Load {
            packets: self.packets * count,
            events: self.events * count,
            connections: self.connections * count,
            bytes: self.bytes * count,
        }
    }

    /// Adds the memory of the routes of `pairs` ordered pairs of hosts.
    pub(crate) fn add_routes(&mut self, own: Own, pairs: f64) {
        self.bytes += pairs
            * match own {
                Own::Nothing => 0.0,
                Own::Route => ROUTE_BYTES,
                Own::Draws => ROUTE_BYTES + DRAWS_BYTES,
            };
    }
}

/// What a pair of hosts needs for its own piece of path, the more the greater.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Own {
    /// All pairs share it.
    Nothing,
    /// A route.
    Route,
    /// A route, and a piece of path with a random stream and what was drawn.
    Draws,
}
