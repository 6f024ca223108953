//! Our uTP beside libutp: one program, so that what the tests share is compiled and linked once.

mod controller;
mod sockets;
mod utp;
