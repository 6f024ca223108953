//! Content servers: what is said of their clients.

use crate::{Outcome, is_due, lost};
use flashcrowd_base::Time;

/// A client that has come to a content server.
#[derive(Clone, Copy, Debug)]
pub struct Client {
    /// Its number among all that are to come.
    pub number: u32,
    /// When it came.
    pub arrived: Time,
    /// When it left, if it has.
    pub left: Option<Time>,
    /// Bytes of its file that have arrived.
    pub bytes: u64,
    /// Whether not one block has.
    pub is_silent: bool,
    /// Whether it lost its connection before it had its file.
    pub is_lost: bool,
}

/// A line about the clients of a content server, if they lack something; `came` are those that have come, and
/// `outcome` is how the run ended, as far as is known.
pub fn undelivered(
    origin: &str,
    came: &[Client],
    now: Time,
    outcome: Option<&Outcome>,
) -> Option<String> {
    let whose = format!("origin {origin}");
    let gone = came.iter().filter(|client| client.is_lost).map(|client| {
        let (number, bytes) = (client.number, client.bytes);
        let at = client.left.unwrap_or(now).seconds();
        format!("client {number} at {at:.1} s after {bytes} bytes")
    });
    let gone = lost(&whose, came.len(), "clients", gone);
    let due = came.iter().any(|client| is_due(client.arrived, now));
    let is_cut = outcome.is_some_and(Outcome::is_cut);
    let silent = || format!("{whose}: no block arrived at {} clients", came.len());
    let is_silent = !is_cut && due && came.iter().all(|client| client.is_silent);
    gone.or_else(|| is_silent.then(silent))
}

/// Why a content server gets no further: this many clients are there, and nothing has arrived since then.
pub fn stalled(origin: &str, online: usize, since: Time) -> String {
    format!("origin {origin}: no block reached any of {online} clients since {since}")
}

/// What is left to do of a content server.
pub fn unfinished(origin: &str, complete: usize, all: usize) -> String {
    format!("origin {origin}: {complete} of {all} downloads are complete")
}
