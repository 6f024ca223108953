//! The event loop in virtual time.
