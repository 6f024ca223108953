//! uTP: what it says on the wire, that streams arrive, and how it gets on with libutp.
#![allow(unreachable_pub)]

mod golden;
mod host;
mod lockstep;
mod rules;
mod stream;
mod traces;
mod world;
