//! The forecast: what a run of a plan will need, computed before anything is allocated for it. Expectations only. No
//! engine knows this crate, so it is no part of an engine's identity.

mod arrivals;
mod call;
mod capture;
mod costs;
mod crowd;
mod download;
mod fitted;
mod load;
mod logged_connections;
mod measures;
mod memory;
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

use flashcrowd_plan::Workload;
use load::Load;
pub use memory::{available_memory, check_memory};
pub use need::{Need, work};
use outlook::Outlook;

/// The forecast of a workload.
trait Forecast {
    /// Says what it takes of which links.
    fn share(&self, outlook: &mut Outlook<'_>);

    /// When it is expected to be done, in simulated seconds; `None` if it never is.
    fn end_s(&self, index: usize, outlook: &Outlook<'_>) -> Option<f64>;

    /// Its load on a run that ends at this second.
    fn load(&self, index: usize, outlook: &Outlook<'_>, end_s: f64) -> Load;
}

// One file each; this is their list.
fn forecast(workload: &Workload) -> &dyn Forecast {
    match workload {
        Workload::Swarm(swarm) => swarm,
        Workload::Transfer(transfer) => transfer,
        Workload::Ping(ping) => ping,
        Workload::Web(web) => web,
        Workload::Call(call) => call,
        Workload::Origin(origin) => origin,
        Workload::Download(download) => download,
    }
}
