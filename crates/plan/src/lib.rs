//! The plan: what an engine needs to run, and nothing else. Every default is resolved, every unit
//! is SI, names are indices. It crosses the border from Python as JSON; every engine takes the same.
//!
//! [`Plan::check`] refuses what contradicts itself, before anything is allocated for it.

mod arrivals;
mod call;
mod capture;
mod check;
mod download;
mod logged_connections;
mod measures;
mod network;
mod origin;
mod ping;
mod rate_clock;
#[cfg(feature = "schema")]
mod settings;
mod storage;
mod swarm;
mod timeline;
mod transfer;
mod upload_control;
mod web;

pub use arrivals::Arrivals;
pub use call::Call;
pub use capture::Capture;
pub use check::Error;
use check::{index, refused, require};
pub use download::Download;
use flashcrowd_base::Span;
use flashcrowd_swarm::Profile;
use flashcrowd_transport::{tcp, utp};
pub use logged_connections::LoggedConnections;
pub use measures::{Measures, Sampled, Series, Source, Window, Windowed};
pub use network::{CorePath, Draw, DrawnDelay, Host, Link, Network};
pub use origin::{Clients, Files, Origin, Visit};
pub use ping::Ping;
pub use rate_clock::{RateClock, RateStep};
use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
pub use settings::{check_settings, settings_schema};
pub use storage::Storage;
pub use swarm::{Departure, Population, Swarm, Tracker, WebSeed};
pub use timeline::{Change, What};
pub use transfer::Transfer;
pub use upload_control::{ClientInterface, ControlledUpload};
pub use web::{PageSize, Reading, Web};

/// Version of the plan's format.
pub const FORMAT: u32 = 1;

/// A complete run but for its seed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// [`FORMAT`].
    pub format: u32,
    /// Its title.
    pub title: String,
    /// Hosts, links and the paths between them.
    pub network: Network,
    /// TCP stacks, by index.
    pub stacks: Vec<tcp::Config>,
    /// uTP configurations, by index.
    pub utps: Vec<utp::Config>,
    /// BitTorrent client profiles, by index.
    pub profiles: Vec<Profile>,
    /// The workloads of the network.
    pub workloads: Vec<Workload>,
    /// Changes at given instants, in any order.
    pub timeline: Vec<Change>,
    /// The records besides the summary tables.
    pub measures: Measures,
    /// When a run ends that does not end by itself.
    pub stop: Stop,
}

macro_rules! workloads {
    ($($(#[$doc:meta])* $Kind:ident;)+) => {
        /// Something that uses the network.
        #[derive(Clone, Debug, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
        pub enum Workload {
            $($(#[$doc])* $Kind($Kind),)+
        }

        impl Workload {
            /// Its name.
            pub fn name(&self) -> &str {
                match self {
                    $(Workload::$Kind(workload) => &workload.name,)+
                }
            }

            /// The hosts that it goes on between.
            pub fn hosts(&self) -> Vec<u32> {
                match self {
                    $(Workload::$Kind(workload) => workload.hosts(),)+
                }
            }

            /// The hosts that one process plays where programs run, and that stay on one machine for it: both ends of
            /// a transfer. None of a workload whose hosts may be apart.
            pub fn hosts_of_one_process(&self) -> Vec<u32> {
                let one_process = match self {
                    $(Workload::$Kind(_) => $Kind::ONE_PROCESS,)+
                };
                if one_process { self.hosts() } else { Vec::new() }
            }

            /// Whether it opens connections, or goes by datagrams.
            fn opens_connections(&self) -> bool {
                match self {
                    $(Workload::$Kind(_) => $Kind::OPENS_CONNECTIONS,)+
                }
            }

            fn check(&self, plan: &Plan, path: &str) -> Result<(), Error> {
                match self {
                    $(Workload::$Kind(workload) => workload.check(plan, path),)+
                }
            }
        }
    };
}

// One file each; this is their list.
workloads! {
    /// A BitTorrent swarm.
    Swarm;
    /// One or more flows from one host to another.
    Transfer;
    /// What a bystander feels.
    Ping;
    /// Pages that users fetch one after another, over fresh connections.
    Web;
    /// A stream of datagrams at a constant rate, both ways.
    Call;
    /// A content server with its disk, and those who download from it.
    Origin;
    /// One file over several connections, from one or several servers.
    Download;
}

/// The transport of a connection: the configuration of both of its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum TransportChoice {
    /// TCP: an index among the plan's stacks.
    Tcp(u32),
    /// uTP: an index among the plan's uTP configurations.
    Utp(u32),
}

/// When a run ends that does not end by itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Stop {
    /// Simulated time after which a run is cut off.
    pub horizon_ns: Span,
    /// A swarm or an origin no member of which has received a block for this long is stalled.
    pub stall_ns: Span,
}

/// The JSON Schema of plans, as this crate reads them.
#[cfg(feature = "schema")]
pub fn schema() -> schemars::Schema {
    schemars::schema_for!(Plan)
}

impl Plan {
    /// Refuses a plan that contradicts itself, naming the place. What passes runs to its end without
    /// a panic.
    ///
    /// # Errors
    /// The first contradiction, with its dotted path.
    pub fn check(&self) -> Result<(), Error> {
        require(self.format == FORMAT, "format", format_args!("must be {FORMAT}"))?;
        require(!self.stop.horizon_ns.is_zero(), "stop.horizon_ns", "must be more than zero")?;
        require(!self.stop.stall_ns.is_zero(), "stop.stall_ns", "must be more than zero")?;
        for (i, stack) in self.stacks.iter().enumerate() {
            stack.check().map_err(refused(format_args!("stacks[{i}]")))?;
        }
        for (i, utp) in self.utps.iter().enumerate() {
            utp.check().map_err(refused(format_args!("utps[{i}]")))?;
        }
        for (i, profile) in self.profiles.iter().enumerate() {
            profile.check().map_err(refused(format_args!("profiles[{i}]")))?;
        }
        self.network.check(self.stacks.len())?;
        for (i, workload) in self.workloads.iter().enumerate() {
            workload.check(self, &format!("workloads[{i}]"))?;
        }
        for (i, change) in self.timeline.iter().enumerate() {
            change.check(self, &format!("timeline[{i}]"))?;
        }
        self.measures.check(self)
    }
}

impl TransportChoice {
    fn check(
        choice: Option<TransportChoice>,
        plan: &Plan,
        path: impl ToString,
    ) -> Result<(), Error> {
        match choice {
            None => Ok(()),
            Some(TransportChoice::Tcp(stack)) => index(stack, plan.stacks.len(), path),
            Some(TransportChoice::Utp(utp)) => index(utp, plan.utps.len(), path),
        }
    }
}
