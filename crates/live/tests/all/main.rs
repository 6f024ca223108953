//! Sockets and sessions from outside: one program, so that what the tests share is compiled and linked once.

mod limits;
mod loopback;
mod session;
