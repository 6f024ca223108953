//! The server on real sockets, asked by a client that knows bytes only, so that nothing is hidden by a library.

#![allow(clippy::single_range_in_vec_init, reason = "one range of bytes is a list of ranges here")]
#![allow(clippy::unwrap_used, reason = "in a test")]

mod bodies;
mod client;
mod http_2;
mod limits;
mod live;
mod paths;
mod programs;
mod proxies;
mod semantics;
mod shares;
mod stand;
mod streams;
mod uncopied;
