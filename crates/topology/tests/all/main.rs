//! Topologies from outside: one program, so that what the tests share is compiled and linked once.

mod allowance;
mod journeys;

#[path = "../road/mod.rs"]
mod road;
