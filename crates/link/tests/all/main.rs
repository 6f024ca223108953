//! Links from outside: one program, so that what the tests share is compiled and linked once.

mod disciplines;
mod traces;
