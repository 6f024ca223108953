//! Peers from outside: one program, so that what the tests share is compiled and linked once.

mod ablations;
mod codec;
mod util;
mod whole_swarm;
