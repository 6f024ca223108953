//! What happens in a run, on any engine: which peers come and go, when something is finished, stalled or can
//! never finish, where a peer's time went, and the rows of the tables about it.
//!
//! An engine says what it observes, with the instant. It asks what is due, carries it out, and asks for the
//! outcome and the rows. Nothing here reads a clock, opens a socket, or knows a packet or a process: the
//! simulator drives it in virtual time, the emulator in real time.

mod call;
mod counted;
mod download;
mod ending;
pub mod origin;
mod outcome;
mod ping;
mod populations;
mod round_trips;
mod series;
mod swarm;
mod table;
mod transfer;
mod web;

pub use call::{Call, Calls};
pub use counted::Counted;
pub use download::{Came, Division, Download, Downloads, Ended, Request};
pub use ending::Ending;
pub use origin::Origins;
pub use outcome::{Outcome, Totals};
pub use ping::{Ping, Pings};
pub use populations::{RttEstimates, histogram, rtts};
pub use series::{Sample, Sampler, Samples};
pub use swarm::{
    Due, Held, Peer, Progress, Standing, Swarm, Swarms, Uplink, View, Watch, at_first,
};
pub use table::{Column, Names, Table, maybe_names, names, seconds};
pub use transfer::{End, Flow, Sender, Transfers};
pub use web::{Page, User, Webs};

use outcome::{is_due, lost};
