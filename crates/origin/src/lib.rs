//! A content server as a pure state machine.

mod cache;
mod client;
mod counters;
pub mod disk;
mod extent_set;
mod ids;
mod layout;
mod list;
mod needs;
mod origin;
mod output;
mod policy;
mod replacement;
mod settings;
mod world;

pub use cache::{Cache, Slot, State};
pub use counters::Counters;
pub use ids::{ClientId, FileId, ReadId};
pub use layout::Layout;
pub use needs::Needs;
pub use origin::{Origin, Request};
pub use output::{Failure, Output};
pub use policy::{Attach, Circus, InOrder, Independence, Policy, Relevance, Scheduling, Slide};
pub use replacement::Replacement;
pub use settings::{Refusal, Settings};
pub use world::{Choice, File, World};
