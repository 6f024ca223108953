//! The transports from outside: one program, so that what the tests share is compiled and linked once.
#![allow(unreachable_pub)]

mod bbr;
mod bottleneck;
mod config;
mod ecn;
mod endpoint;
mod flow;
mod formula;
mod ledbat;
mod ledbat_properties;
mod ledbat_tcp;
mod limits;
mod low_priority;
mod packetdrill;
mod pipe;
mod recovery;
mod right_sizing;
mod script;
mod storms;
mod stream;
mod utp;
mod utp_bbr;
mod window;

#[path = "../../../topology/tests/road/mod.rs"]
mod road;
