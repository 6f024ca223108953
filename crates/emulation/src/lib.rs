//! A plan's network in wall-clock time: real programs in network namespaces, and between them the
//! links that the simulator has.
//!
//! [`Network`] is the pure half: packets go in with an instant, and come out when they are due. It
//! knows no device and reads no clock. [`linux`] is the other half: a namespace with an interface for
//! each host, and the thread that moves their packets.

mod crossing;
#[cfg(target_os = "linux")]
pub mod datagram;
mod division;
mod header;
mod in_flight;
#[cfg(target_os = "linux")]
mod lateness;
#[cfg(target_os = "linux")]
pub mod linux;
mod network;
mod offload;
#[cfg(target_os = "linux")]
mod offset;
mod pool;
mod prediction;
mod record;
mod tap;

pub use crossing::{Crossing, InTransit};
pub use division::{Division, Indivisible};
pub use network::{Delivery, Network, Totals, max_bytes};
pub use offload::Offload;
pub use prediction::{Request, echo_times};
pub use tap::{Captured, TapRecord, Traced};
