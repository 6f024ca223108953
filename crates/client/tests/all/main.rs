//! Clients over the loopback interface: among themselves, and against remotes that violate the
//! protocol.

#![allow(clippy::unwrap_used, reason = "what cannot go on fails the test")]

mod hostile;
mod resume;
mod swarms;
mod util;
