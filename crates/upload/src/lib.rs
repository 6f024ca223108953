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
//! # Who reduces when
//!
//! U is the measured upload, L the limit, d a round trip, q the standing delay over the least one.
//!
//! | | signal | congested | then | else | lost probes |
//! | --- | --- | --- | --- | --- | --- |
//! | `adaptive-drc-aimd` | each d | d - µ > 10 σ of the start | U/2 | U + 1 KiB/s | nothing |
//! | `adaptive-drc-mimd` | each d | the same | U/2 | 2 U | nothing |
//! | `auto-speed-v1` | mean of 3 pings, and of the last 5 of these means | ping > 4 idle or 200 ms | L - (ping - 3 idle)/50 ms KiB/s, at most 4 | L + 1 KiB/s below 2 idle | a source is replaced after 3 |
//! | `auto-speed-v2` | median ping | above 400 ms | a slider falls, faster each time | it rises below 150 ms, if L is used | nothing |
//! | `mainline-5-deviation` | deviation of the last 100 d | above 0.8 of the greatest seen | 0.8 L | L + 1000 B/s | the greatest shrinks |
//! | `mainline-5-chebyshev` | n values of d in a row | all above the middle | 0.8 U | U + 1000 B/s, 2 U at first | the greatest is forgotten |
//! | `autolimit-baseline` | q less q at rest | above a threshold while L is used | 0.85 U | 1.5, 1.25, 1.05, 1.01 L, while L is used | L stays |
//! | `autolimit-gradient` | rise of q in 6 s | above a threshold while L is used | 0.85 U | 1.5 L, 1.17 L, near the capacity + 1 % | L stays |
//! | `autolimit-capacity` | q of a trial above L less q of one below | above a threshold | 0.85 of the capacity | the trial becomes L | L stays |
//!
//! The threshold of the last three is two full packets at the capacity, four times the line's noise, and at least 10 ms.
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
pub use controller::{Answer, Controller, Event, Probe, RATES_PERIOD, Rates, Setup};
pub use limit::Limit;
pub use parameter::{Parameter, Refusal};
pub use registry::{
    AutoSpeedV1, AutoSpeedV2, Baseline, Capacity, Chebyshev, Deviation, Fixed, Gradient, Unlimited,
    UploadControl,
};
pub use state::{Phase, State};
