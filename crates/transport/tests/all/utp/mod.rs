//! uTP: what it says on the wire, and that streams arrive. How it gets on with libutp is in the oracle's
//! tests.

mod golden;
mod host;
mod lifetime;
mod pair;
mod recovery;
mod storms;
mod stream;
#[allow(dead_code)] // The oracle's tests use the rest.
mod world;
