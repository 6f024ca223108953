//! What a run of a plan will need, computed before anything is allocated for it. Expectations only: no
//! engine reads them, so they are no part of an engine's identity (`crates/identity`).

mod arrivals;
mod call;
mod capture;
mod costs;
mod crowd;
mod fitted;
mod load;
mod logged_connections;
mod measures;
mod need;
mod network;
mod origin;
mod outlook;
mod ping;
mod rules;
mod stream;
mod swarm;
mod transfer;
mod upload_control;
mod web;

pub(crate) use load::Load;
pub use need::Need;
pub(crate) use outlook::Outlook;
