//! uTP on UDP sockets: the state machines of [`flashcrowd_transport`] in wall-clock time.
#![allow(dead_code, reason = "the driver follows")]

mod clock;
mod train;
