//! The emulator from outside: one program, so that what the tests share is compiled and linked once.

mod any_link;
mod same_as_simulation;
mod same_when_divided;
mod super_segments;
mod two_labs;

#[path = "../networks/mod.rs"]
mod networks;
