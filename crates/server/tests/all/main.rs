//! The server on real sockets, asked by a client that knows bytes only, so that nothing is hidden by a library.

mod client;
mod limits;
mod paths;
mod programs;
mod semantics;
mod stand;
mod streams;
