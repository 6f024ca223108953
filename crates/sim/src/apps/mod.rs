//! The applications: what uses the network. Each owns its state, gets events and a [`World`], and brings
//! its own tables, progress and reasons to stall. None knows another; messages between two of them over a
//! connection are in `message`.
//!
//! To add one: a file here that implements [`App`], its `mod`, and its line in the list `applications!`.

mod call;
mod content;
mod download;
mod message;
mod origin;
mod ping;
mod storage;
mod swarm;
mod transfer;
mod web;
mod writing;

use crate::kernel::{self, Datagram, Event, Owner, SocketEvent};
pub(crate) use content::{ConnectionContent, Content, DatagramContent, Saying, lines};
use flashcrowd_plan::{Change, Plan, Sampled, Windowed};
pub(crate) use flashcrowd_workload::Sample;
use flashcrowd_workload::Table;
pub(crate) use message::{Message, RangeRequest};

/// The world, with the messages that applications exchange.
pub(crate) type World = kernel::World<Message>;

/// All workloads of one kind.
///
/// The run calls these; an application calls the world. All but a few have default bodies.
pub(crate) trait App {
    /// Schedules the first events.
    fn begin(&mut self, world: &mut World);

    /// An event that this application scheduled is due.
    fn on_event(&mut self, world: &mut World, event: Event);

    /// Whether an end of `owner` listens to the transport of the SYN that arrived there; if not, nothing answers.
    fn hears(&self, _world: &World, _owner: Owner, _socket: u32) -> bool {
        true
    }
    /// A SYN arrived at an end of `owner`. Returns the owner of the connection, or none to refuse it.
    fn accept(&mut self, _world: &mut World, owner: Owner, _socket: u32) -> Option<Owner> {
        Some(owner)
    }
    /// A socket was established, or has received something, or has room.
    fn on_socket_event(&mut self, _world: &mut World, _socket: u32, _news: SocketEvent) {}
    /// The other end has closed, or the connection failed; the socket is orphaned.
    fn on_closed(&mut self, _world: &mut World, _socket: u32, _owner: Owner) {}
    /// A datagram reached the host that it was sent to.
    fn on_datagram(&mut self, _world: &mut World, _datagram: Datagram) {}
    /// An entry of the timeline, if it is about a workload of this application.
    fn change(&mut self, _world: &mut World, _change: &Change) {}

    /// The window of a table begins, or ends.
    fn mark(&mut self, _world: &World, _table: Windowed, _begins: bool) {}

    /// Whether it has finite work: work that can finish.
    fn is_finite(&self) -> bool {
        false
    }
    /// Whether all of its finite work has finished.
    fn is_done(&self) -> bool {
        true
    }
    /// A line for each thing that the horizon cuts off.
    fn unfinished(&self) -> Vec<String> {
        Vec::new()
    }
    /// Share of the finite work that is done.
    fn progress(&self, _world: &World) -> f64 {
        1.0
    }
    /// Workloads that the timeline stopped before they were complete.
    fn stopped(&self) -> Option<String> {
        None
    }
    /// A line for each workload of which something lost its connection before all was delivered, or of which
    /// nothing arrived. Asked when the run has ended.
    fn undelivered(&self, _world: &World) -> Vec<String> {
        Vec::new()
    }
    /// Why a workload gets no further, if it does not. Asked at intervals.
    fn stall(&mut self, _world: &World) -> Option<String> {
        None
    }

    /// Payload bytes that reached those who wanted them.
    fn payload_bytes(&self) -> u64 {
        0
    }
    /// The present value of each of its sources of a series.
    fn sample(&self, _world: &World, _what: Sampled) -> Vec<(u32, Sample)> {
        Vec::new()
    }
    /// The name of such a source.
    fn source_name(&self, _what: Sampled, _source: u32) -> Option<String> {
        None
    }
    /// Whether it runs on a host now.
    fn is_on(&self, _host: u32) -> bool {
        false
    }
    /// Content of the connection between two of its ends, the opener first; for captures.
    fn speaks(&self, _owners: [Owner; 2]) -> ConnectionContent {
        ConnectionContent::lines()
    }
    /// Content and hosts of one of its datagrams.
    fn says(&self, _datagram: &Datagram) -> Option<Saying> {
        None
    }
    /// Its tables.
    fn tables(&self, world: &World) -> Vec<Table>;

    /// Prefetches the memory that an event will need, in steps: one reads what those before it have asked for, so that
    /// those of several events can be waited for together. The last one returns the socket that the event will write to.
    fn prefetch_event(&self, _event: Event, _step: u32) -> Option<u32> {
        None
    }
    /// Prefetches the memory that a message at a socket of `owner` will need.
    fn prefetch_reader(&self, _owner: Owner) {}
    /// The rest of it, which is found through what [`prefetch_reader`](App::prefetch_reader) asked for.
    fn prefetch_beyond_reader(&self, _owner: Owner) {}
}

/// Writes out the applications by number, and passes what the run calls to the one that is meant. The
/// constant is how events, sockets and datagrams name it.
macro_rules! applications {
    ($($NUMBER:ident, $Kind:ident, $Type:ty;)+) => {
        /// Any of the applications.
        // A run has one of each: what a short list leaves empty is nothing.
        #[allow(clippy::large_enum_variant)]
        pub(crate) enum AnyApp<'p> {
            $($Kind($Type),)+
        }

        /// Places in the list.
        enum Number {
            $($Kind,)+
        }

        $(const $NUMBER: u8 = Number::$Kind as u8;)+

        /// The applications of a plan.
        pub(crate) fn all<'p>(plan: &'p Plan, world: &mut World) -> Vec<AnyApp<'p>> {
            vec![$(AnyApp::$Kind(<$Type>::new(plan, world)),)+]
        }

        impl App for AnyApp<'_> {
            fn begin(&mut self, world: &mut World) {
                match self {
                    $(AnyApp::$Kind(app) => app.begin(world),)+
                }
            }
            fn on_event(&mut self, world: &mut World, event: Event) {
                match self {
                    $(AnyApp::$Kind(app) => app.on_event(world, event),)+
                }
            }
            fn hears(&self, world: &World, owner: Owner, socket: u32) -> bool {
                match self {
                    $(AnyApp::$Kind(app) => app.hears(world, owner, socket),)+
                }
            }
            fn accept(&mut self, world: &mut World, owner: Owner, socket: u32) -> Option<Owner> {
                match self {
                    $(AnyApp::$Kind(app) => app.accept(world, owner, socket),)+
                }
            }
            fn on_socket_event(&mut self, world: &mut World, socket: u32, socket_event: SocketEvent) {
                match self {
                    $(AnyApp::$Kind(app) => app.on_socket_event(world, socket, socket_event),)+
                }
            }
            fn on_closed(&mut self, world: &mut World, socket: u32, owner: Owner) {
                match self {
                    $(AnyApp::$Kind(app) => app.on_closed(world, socket, owner),)+
                }
            }
            fn on_datagram(&mut self, world: &mut World, datagram: Datagram) {
                match self {
                    $(AnyApp::$Kind(app) => app.on_datagram(world, datagram),)+
                }
            }
            fn change(&mut self, world: &mut World, change: &Change) {
                match self {
                    $(AnyApp::$Kind(app) => app.change(world, change),)+
                }
            }
            fn mark(&mut self, world: &World, table: Windowed, begins: bool) {
                match self {
                    $(AnyApp::$Kind(app) => app.mark(world, table, begins),)+
                }
            }
            fn is_finite(&self) -> bool {
                match self {
                    $(AnyApp::$Kind(app) => app.is_finite(),)+
                }
            }
            fn is_done(&self) -> bool {
                match self {
                    $(AnyApp::$Kind(app) => app.is_done(),)+
                }
            }
            fn unfinished(&self) -> Vec<String> {
                match self {
                    $(AnyApp::$Kind(app) => app.unfinished(),)+
                }
            }
            fn progress(&self, world: &World) -> f64 {
                match self {
                    $(AnyApp::$Kind(app) => app.progress(world),)+
                }
            }
            fn stopped(&self) -> Option<String> {
                match self {
                    $(AnyApp::$Kind(app) => app.stopped(),)+
                }
            }
            fn undelivered(&self, world: &World) -> Vec<String> {
                match self {
                    $(AnyApp::$Kind(app) => app.undelivered(world),)+
                }
            }
            fn stall(&mut self, world: &World) -> Option<String> {
                match self {
                    $(AnyApp::$Kind(app) => app.stall(world),)+
                }
            }
            fn payload_bytes(&self) -> u64 {
                match self {
                    $(AnyApp::$Kind(app) => app.payload_bytes(),)+
                }
            }
            fn sample(&self, world: &World, what: Sampled) -> Vec<(u32, Sample)> {
                match self {
                    $(AnyApp::$Kind(app) => app.sample(world, what),)+
                }
            }
            fn source_name(&self, what: Sampled, source: u32) -> Option<String> {
                match self {
                    $(AnyApp::$Kind(app) => app.source_name(what, source),)+
                }
            }
            fn is_on(&self, host: u32) -> bool {
                match self {
                    $(AnyApp::$Kind(app) => app.is_on(host),)+
                }
            }
            fn speaks(&self, owners: [Owner; 2]) -> ConnectionContent {
                match self {
                    $(AnyApp::$Kind(app) => app.speaks(owners),)+
                }
            }
            fn says(&self, datagram: &Datagram) -> Option<Saying> {
                match self {
                    $(AnyApp::$Kind(app) => app.says(datagram),)+
                }
            }
            fn tables(&self, world: &World) -> Vec<Table> {
                match self {
                    $(AnyApp::$Kind(app) => app.tables(world),)+
                }
            }
            fn prefetch_event(&self, event: Event, step: u32) -> Option<u32> {
                match self {
                    $(AnyApp::$Kind(app) => app.prefetch_event(event, step),)+
                }
            }
            fn prefetch_reader(&self, owner: Owner) {
                match self {
                    $(AnyApp::$Kind(app) => app.prefetch_reader(owner),)+
                }
            }
            fn prefetch_beyond_reader(&self, owner: Owner) {
                match self {
                    $(AnyApp::$Kind(app) => app.prefetch_beyond_reader(owner),)+
                }
            }
        }
    };
}

// The order in which they begin, and which breaks ties between events of one instant: new ones go to the end.
applications! {
    SWARM, Swarm, swarm::Swarms<'p>;
    TRANSFER, Transfer, transfer::Transfers<'p>;
    PING, Ping, ping::Pings;
    WEB, Web, web::Webs;
    CALL, Call, call::Calls<'p>;
    ORIGIN, Origin, origin::Origins<'p>;
    DOWNLOAD, Download, download::Downloads<'p>;
}
