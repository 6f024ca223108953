use crate::check::{index, require};
use crate::load::Load;
use crate::{Error, Plan, Workload};
use flashcrowd_base::{Span, Time};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Memory of an event of a log: a row of the recorder, then columns, most of which are empty in any
/// one row. 657 were measured over the 420,000 events of an upload of 150 MB.
const EVENT_BYTES: f64 = 660.0;
/// Changes of metrics, or of the timer, for a packet that is sent or arrives: each segment changes what is in
/// flight, each acknowledgement more; an end that only receives has none. In the same place 0.36.
const CHANGES: f64 = 0.5;

/// Which connections are logged: one log for each end, as qlog has it (draft-ietf-quic-qlog-main-schema).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LoggedConnections {
    /// Whose connections: workloads that open some.
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

    /// Memory of the logs of a workload of this `load`: an event for each packet at each of its ends, and a
    /// fixed share of events for what changed with it.
    pub(crate) fn bytes(&self, workload: usize, plan: &Plan, load: &Load, end_s: f64) -> f64 {
        if !self.workloads.contains(&(workload as u32)) {
            return 0.0;
        }
        let to_s = self.to_ns.map_or(end_s, Span::seconds).min(end_s);
        let time = ((to_s - self.from_ns.seconds()) / end_s.max(1e-9)).clamp(0.0, 1.0);
        let one = |wanted: bool| f64::from(u8::from(wanted));
        let kinds = one(self.packets) + CHANGES * (one(self.metrics) + one(self.timers));
        load.packets * self.ends(&plan.workloads[workload]) * time * kinds * EVENT_BYTES
    }

    /// How many of both ends of a connection are logged, on average.
    fn ends(&self, workload: &Workload) -> f64 {
        let Some(hosts) = &self.hosts else { return 2.0 };
        let members = workload.hosts();
        let logged = members.iter().filter(|host| hosts.contains(host)).count();
        2.0 * logged as f64 / (members.len() as f64).max(1.0)
    }
}
