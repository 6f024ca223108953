//! Upload controllers: what sets the upload limit of a BitTorrent client so that its uplink does not queue. One
//! file each; [`UploadControl`] lists them.
//!
//! A [`Controller`] hears the answers of its probes ([`Answer`]), what the client says ([`Rates`]) and what happens to the
//! line ([`Event`]), and answers with the next [`Limit`], the next [`Probe`] and a [`State`] with its reason in words. It reads
//! no clock, opens no socket and draws no random number: the same machine runs in simulated time and beside a real client.
//!
//! The reason for all of them: an upload at the rate of the line fills the queue of the modem, the acknowledgements of
//! downloads wait in that queue, and downloads, calls and games suffer (Pan and Lee 2009).
//!
//! `docs/upload-controllers.md` has the table of who reduces when.
//!
//! # For a driver
//!
//! Ask for [`Controller::probe`] at [`Controller::deadline`] until there is none, hand over each answer or its absence, ask the
//! client every [`RATES_PERIOD`], and write [`Controller::limit`] when it differs from the last one *after* the client's own
//! rounding. Reflectors must be behind the line: a gateway that answers from home sees no queue.

mod adaptive_drc;
mod auto_speed;
mod autolimit;
mod bandwidth_management;
mod controller;
mod fixed;
mod limit;
mod meter;
mod moments;
mod parameter;
mod pinger;
mod registry;
mod state;
mod unlimited;

pub use adaptive_drc::AdaptiveDrc;
pub use autolimit::states::STATES;
pub use controller::{Answer, Controller, Event, Probe, RATES_PERIOD, Rates, Setup};
pub use limit::Limit;
pub use parameter::{Parameter, Refusal};
pub use registry::{
    AutoSpeedV1, AutoSpeedV2, Autolimit, AutolimitDelay, Baseline, Capacity, Chebyshev, Deviation,
    Fixed, Gradient, Unlimited, UploadControl,
};
pub use state::{Phase, State};
