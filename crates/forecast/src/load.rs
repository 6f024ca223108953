//! The load of a workload on a run, and the memory that the parts of an engine take.

/// Memory of a run without hosts: the event queue's wheel, tables.
pub(crate) const MIN_BYTES: f64 = 1e6;
/// A host and its lines, names included.
pub(crate) const HOST_BYTES: f64 = 300.0;
pub(crate) const LINK_BYTES: f64 = 600.0;
/// A route between two hosts, and its entry in the map of routes.
pub(crate) const ROUTE_BYTES: f64 = 200.0;
/// A piece of path that draws, beside its route.
pub(crate) const DRAWS_BYTES: f64 = 900.0;
/// A packet on its way, at its link, and in the list of its sender.
pub(crate) const PACKET_BYTES: f64 = 160.0;
/// A row of a table: in the recorder's own types, then in columns.
pub(crate) const ROW_BYTES: f64 = 60.0;

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident,)+) => {
        /// The load of a workload on a run, by kinds of work.
        #[derive(Clone, Copy, Debug, Default)]
        pub(crate) struct Load {
            $($(#[$doc])* pub(crate) $kind: f64,)+
        }

        impl Load {
            pub(crate) fn add(&mut self, other: Load) {
                $(self.$kind += other.$kind;)+
            }

            /// `count` of the same.
            pub(crate) fn times(self, count: f64) -> Load {
                Load { $($kind: self.$kind * count,)+ }
            }

            /// Each kind with its name.
            pub(crate) fn kinds(&self) -> Vec<(&'static str, f64)> {
                vec![$((stringify!($kind), self.$kind),)+]
            }
        }
    };
}

kinds! {
    /// Packets that reach the hosts that they are for, and those of them that are uTP's.
    packets,
    utp_packets,
    /// Events of the event loop.
    events,
    /// Messages between the peers of swarms, and those of them that name a whole piece.
    messages,
    haves,
    /// Blocks that are asked for, each as often as there are pieces that could be asked for.
    choices,
    /// Neighbours that a client looks at when its choker or its clock says so.
    looks,
    /// The same of a limiter that shares a quota among neighbours at its ticks.
    shares,
    /// Connections that are opened, and those that there are at a time at most.
    opened,
    connections,
    /// Peers at a time at most, and neighbours of all of them; those of clients that share a quota among
    /// neighbours.
    peers,
    neighbours,
    quota_neighbours,
    /// Bytes of memory besides those of connections, peers and neighbours.
    bytes,
}

impl Load {
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

/// The need of a pair of hosts for its own piece of path, the more the greater.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Own {
    /// All pairs share it.
    Nothing,
    /// A route.
    Route,
    /// A route, and a piece of path with a random stream and what was drawn.
    Draws,
}
