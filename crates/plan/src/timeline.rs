use crate::check::{index, require};
use crate::network::check_core_conditions;
use crate::{Error, Plan, Workload};
use flashcrowd_base::{Rate, Span};
use flashcrowd_link::Conditions;
use flashcrowd_swarm::UploadLimit;
use serde::{Deserialize, Serialize};

/// A change at an instant, in place: what is queued stays queued.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Change {
    /// The instant.
    pub at_ns: Span,
    /// The change.
    #[serde(flatten)]
    pub what: What,
}

/// The effect of a change.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum What {
    /// A shared link gets new conditions.
    Link {
        /// Its index.
        link: u32,
        /// The new conditions, complete.
        conditions: Conditions,
        /// In place of a rate, index of the trace that it follows from now on. One that it has followed
        /// before goes on, any other begins.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        trace: Option<u32>,
    },
    /// A core's own piece of path gets new conditions; per-pair draws stay.
    Core {
        /// Its index.
        core: u32,
        /// The new conditions, complete.
        conditions: Conditions,
    },
    /// A workload stops: peers leave, flows are aborted.
    Stop {
        /// Its index.
        workload: u32,
    },
    /// The upload limit of a population changes.
    Upload {
        /// Index of the swarm among the workloads.
        workload: u32,
        /// Index of the population.
        population: u32,
        /// The new limit; none for unlimited, zero for no upload.
        #[serde(default)]
        upload_bps: UploadLimit,
    },
    /// The application's limit of a transfer changes.
    TransferRate {
        /// Index of the transfer among the workloads.
        workload: u32,
        /// The new limit of each flow; none for unlimited.
        rate_bps: Option<Rate>,
    },
}

impl Change {
    pub(crate) fn check(&self, plan: &Plan, path: &str) -> Result<(), Error> {
        match &self.what {
            What::Link { link, conditions, trace } => {
                index(*link, plan.network.links.len(), format_args!("{path}.link"))?;
                plan.network.check_link(conditions, *trace, path)?;
                let rated = conditions.rate_bps.is_some() || trace.is_some();
                let same = plan.network.links[*link as usize].is_rated() == rated;
                require(same, path, "a link neither gains nor loses its rate while it runs")
            }
            What::Core { core, conditions } => {
                index(*core, plan.network.cores.len(), format_args!("{path}.core"))?;
                check_core_conditions(conditions, format_args!("{path}.conditions"))
            }
            What::Stop { workload } => index(*workload, plan.workloads.len(), path),
            What::Upload { workload, population, .. } => {
                index(*workload, plan.workloads.len(), path)?;
                let Workload::Swarm(swarm) = &plan.workloads[*workload as usize] else {
                    return Err(Error::new(path, "the workload is not a swarm"));
                };
                index(*population, swarm.populations.len(), path)
            }
            What::TransferRate { workload, .. } => {
                index(*workload, plan.workloads.len(), path)?;
                let transfer = matches!(plan.workloads[*workload as usize], Workload::Transfer(_));
                require(transfer, path, "the workload is not a transfer")
            }
        }
    }
}
