//! The simulated machine: clock, event queue, network, sockets, datagrams, and the counts that are
//! kept per packet. It knows no application.

mod ahead;
mod capture;
mod connection_log;
mod event;
mod event_queue;
mod in_flight;
mod messages;
mod monitor;
mod network;
mod owner;
mod packet;
mod prefetch_hint;
mod sockets;
mod tap;
mod transport;
mod world;

pub(crate) use capture::TracedPacket;
pub(crate) use connection_log::{ConnectionLog, LogEvent, Logged, Metrics, PacketSeen};
pub(crate) use event::{Event, EventKind};
pub use event_queue::EventQueue;
pub(crate) use monitor::NO_CLASS;
pub(crate) use owner::{Owner, other};
pub(crate) use packet::{Content, Datagram, Packet, Sacks};
pub(crate) use prefetch_hint::PrefetchHint;
#[cfg(test)]
pub(crate) use sockets::Census;
pub(crate) use sockets::{Syn, WaitFor, clamp};
pub(crate) use tap::{Carries, Connection, Tap, TappedPacket};
pub(crate) use transport::Stats;
pub(crate) use world::{Application, Delivered, SocketEvent, World};
