//! The content server's rules from outside: one program, so that what the tests share is compiled and linked once.

mod crowd;
mod full;
mod parties;
mod properties;
mod table;
