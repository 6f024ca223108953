//! What happens in a run, whichever engine plays it: who comes and goes, when something is finished, stalled or
//! can never finish, where a peer's time went, and the rows of the tables about it.
//!
//! An engine says what it observes, with the instant. It asks what is due, carries it out, and asks for the
//! outcome and the rows. Nothing here reads a clock, opens a socket, or knows a packet or a process: the
//! simulator drives it in virtual time, the emulator in real time.

mod outcome;
mod swarm;
mod table;

pub use outcome::{Outcome, is_due, lost};
pub use swarm::{
    Due, Held, Peer, Progress, Standing, Swarm, Swarms, Uplink, View, Watch, at_first,
};
pub use table::{Column, Names, Table, maybe_names, names, seconds};

/// The value of one source of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sample {
    /// Recorded as it is.
    Level(f64),
    /// A count of bytes, recorded as the bits per second since the last sample.
    Bytes(u64),
    /// A count of bits, recorded as the bits per second since the last sample.
    Bits(u64),
}
