use crate::check::{index, require};
use crate::{Error, Plan};
use flashcrowd_base::Span;
use serde::{Deserialize, Serialize};

/// Echo requests at a fixed interval.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ping {
    /// Unique name.
    pub name: String,
    /// The asking host.
    pub from: u32,
    /// The answering host.
    pub to: u32,
    /// Size of the IP packet, each way.
    pub size_bytes: u32,
    /// Time between requests.
    pub interval_ns: Span,
    /// When it starts.
    pub start_ns: Span,
    /// When it stops; without, with the run.
    pub stop_ns: Option<Span>,
}

impl Ping {
    pub(crate) fn check(&self, plan: &Plan, path: &str) -> Result<(), Error> {
        let hosts = plan.network.hosts.len();
        index(self.from, hosts, &format!("{path}.from"))?;
        index(self.to, hosts, &format!("{path}.to"))?;
        let often = self.interval_ns >= Span::from_micros(1);
        require(often, &format!("{path}.interval_ns"), "must be at least a microsecond")?;
        let small = self.size_bytes <= 65_535;
        require(small, &format!("{path}.size_bytes"), "must be at most 65535")
    }
}
