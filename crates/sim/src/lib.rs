//! The event loop in virtual time: it joins links, transports and peers, and records what they do.
//!
//! [`simulate`] takes a [`Plan`](flashcrowd_plan::Plan) and a seed and returns [`Table`]s. It runs on the caller's thread
//! and shares nothing, so runs of a study fill all cores.
//!
//! # The order of events
//! Events happen in the order of their time; events of the same instant in an order of what they are: kind, then the
//! link, socket or peer that they are of. Which was scheduled first does not matter. All are integers, and every random
//! number comes from a named [`RandomStream`](flashcrowd_base::RandomStream), so equal plans and seeds give equal
//! tables, bit for bit.

mod ahead;
mod apps;
mod error;
mod kernel;
mod record;
mod run;
mod run_handle;

#[cfg(test)]
#[path = "../tests/common/mod.rs"]
mod common;
#[cfg(test)]
extern crate self as flashcrowd_sim; // The name by which the plans of the tests know it.

pub use error::Error;
pub use flashcrowd_workload::{Column, Table};
pub use kernel::EventQueue;
pub use run::{Run, simulate};
pub use run_handle::RunHandle;
