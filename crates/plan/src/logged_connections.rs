use crate::check::{index, require};
use crate::{Error, Plan};
use flashcrowd_base::{Span, Time};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Which connections are logged: one log for each end, as qlog has it (draft-ietf-quic-qlog-main-schema).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LoggedConnections {
    /// Workloads whose connections are logged.
    pub workloads: Vec<u32>,
    /// At which hosts ends are logged; none for all.
    pub hosts: Option<Vec<u32>>,
    /// The first instant whose events are logged.
    pub from_ns: Span,
    /// The first one whose events are not; none for the end of the run.
    pub to_ns: Option<Span>,
    /// Every packet that is sent or arrives.
    pub packets: bool,
    /// The state of congestion control and the round-trip estimates, whenever they have changed.
    pub metrics: bool,
    /// Every time that the loss timer is set or cancelled. That it expires is logged in any case.
    pub timers: bool,
}

impl LoggedConnections {
    /// The instants whose events are logged.
    pub fn extent(&self) -> Range<Time> {
        let end = self.to_ns.map_or(Time::NEVER, |to| Time::START + to);
        Time::START + self.from_ns..end
    }

    /// Whether the end at a host of a connection of a workload is logged.
    pub fn covers(&self, workload: u32, host: u32) -> bool {
        self.workloads.contains(&workload)
            && self.hosts.as_ref().is_none_or(|hosts| hosts.contains(&host))
    }

    pub(crate) fn check(&self, plan: &Plan) -> Result<(), Error> {
        let order = self.to_ns.is_none_or(|to| to > self.from_ns);
        require(order, "measures.connections.to_ns", "must be after from_ns")?;
        for (i, workload) in self.workloads.iter().enumerate() {
            let path = format!("measures.connections.workloads[{i}]");
            index(*workload, plan.workloads.len(), &path)?;
            let opens = plan.workloads[*workload as usize].opens_connections();
            require(opens, &path, "must be a workload that opens connections")?;
        }
        for (i, host) in self.hosts.iter().flatten().enumerate() {
            let path = format!("measures.connections.hosts[{i}]");
            index(*host, plan.network.hosts.len(), &path)?;
        }
        Ok(())
    }
}
