//! The simulator in a browser's tab: a run in slices of virtual time, with what was recorded between them.
//!
//! [`Session`] is that run, for any caller. The module `exports` hands it to JavaScript.

mod exports;
mod rows;
mod session;

pub use session::Session;
