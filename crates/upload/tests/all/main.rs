//! Upload controllers from outside: one program, so that what the tests share is compiled and linked once.

mod line;
mod properties;
mod traps;
