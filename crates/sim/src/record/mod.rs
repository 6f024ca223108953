//! The records of a run: reads the world and the applications, and changes neither.

mod captures;
mod connections;
mod recorders;
mod sources;
mod tables;

pub(crate) use recorders::Recorders;
pub(crate) use tables::tables;
