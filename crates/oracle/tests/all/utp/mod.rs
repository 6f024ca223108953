//! Our uTP and libutp in one network, both in virtual time.
#![allow(unreachable_pub)]

// The ends and the network are those of our own tests.
#[path = "../../../../transport/tests/all/utp/host.rs"]
#[allow(dead_code)]
mod host;
#[path = "../../../../transport/tests/all/utp/world.rs"]
#[allow(dead_code)]
mod world;

mod heavy;
mod lockstep;
mod theirs;
mod traces;
