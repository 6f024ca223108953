use crate::check::{index, require};
use crate::{Error, Plan, TransportChoice};
use flashcrowd_base::{Rate, Span};
use flashcrowd_swarm::{Role, Torrent, TrackerRules};
use serde::{Deserialize, Serialize};

/// One torrent and its peers.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Swarm {
    /// Unique name.
    pub name: String,
    /// Size of the file.
    pub size_bytes: u64,
    /// Size of a piece.
    pub piece_bytes: u32,
    /// Size of a block, what one REQUEST asks for.
    pub block_bytes: u32,
    /// Who tells the peers of each other.
    pub tracker: Tracker,
    /// Peers of one kind each.
    pub populations: Vec<Population>,
    /// The run ends at this completion, if given.
    pub stop_after_completions: Option<u32>,
}

/// Who tells the peers of a swarm of each other.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tracker {
    /// Its host: an announce is answered after two round trips (one for the handshake, one for the
    /// exchange). Without one there is no way to take.
    pub host: Option<u32>,
    /// How long it takes for an answer, besides the way.
    pub answer_delay_ns: Span,
    /// What it answers, whatever the clients of its peers are.
    pub rules: TrackerRules,
}

/// Peers of one kind.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Population {
    /// Unique in its swarm.
    pub name: String,
    /// How much of the file they bring.
    pub role: Role,
    /// One peer on each host.
    pub hosts: Vec<u32>,
    /// Index of their client profile.
    pub profile: u32,
    /// What carries the connections that they open; none for TCP with each host's own stack.
    pub transport: Option<TransportChoice>,
    /// If given, the blocks that they upload go over a connection of their own to each neighbour,
    /// which the uploader opens with its first unchoke. Everything else stays on the connection
    /// between the pair.
    pub data: Option<TransportChoice>,
    /// Their client's upload limit.
    pub upload_bps: Option<Rate>,
    /// When they come.
    pub arrivals: Arrivals,
    /// When they go, counted from their completion (for a seed: from its arrival).
    pub departure: Departure,
    /// Whether a peer that left is followed at once by a new leecher on the same host.
    pub replace: bool,
}

/// When the peers of a population come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Arrivals {
    /// Together, each at a random instant of a window.
    FlashCrowd {
        /// Begin of the window.
        start_ns: Span,
        /// Its length; zero for exactly together.
        spread_ns: Span,
    },
    /// One after another with exponential gaps.
    Poisson {
        /// Begin; the first peer comes one gap later.
        start_ns: Span,
        /// Mean gap.
        gap_ns: Span,
    },
    /// At these instants, one for each host.
    Times {
        /// The instants.
        at_ns: Vec<Span>,
    },
}

/// When a peer goes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Departure {
    /// As soon as it has the file.
    AtOnce,
    /// A random (exponential) time later.
    After {
        /// Mean of the time.
        mean_ns: Span,
    },
    /// A random (exponential) time later, whose mean is this share of its own download time.
    AfterShare {
        /// Mean of the time as a share of the download time.
        share: f64,
    },
    /// Not before the run ends.
    Never,
    /// When every leecher of the swarm has the file.
    AllDone,
}

impl Swarm {
    pub(crate) fn check(&self, plan: &Plan, path: &str) -> Result<(), Error> {
        let hosts = plan.network.hosts.len();
        Torrent::new(self.size_bytes, self.piece_bytes, self.block_bytes)
            .map_err(|error| Error::new(path, error))?;
        let Tracker { host, ref rules, .. } = self.tracker;
        if let Some(host) = host {
            index(host, hosts, &format!("{path}.tracker.host"))?;
        }
        // Peers that ask again at once would let no time pass.
        let some = rules.interval_ns >= Span::from_millis(1);
        let place = format!("{path}.tracker.rules.interval_ns");
        require(some, &place, "must be at least a millisecond")?;
        let some = !self.populations.is_empty();
        require(some, &format!("{path}.populations"), "must not be empty: a swarm has peers")?;
        for (i, population) in self.populations.iter().enumerate() {
            let path = format!("{path}.populations[{i}]");
            index(population.profile, plan.profiles.len(), &format!("{path}.profile"))?;
            TransportChoice::check(population.transport, plan, &format!("{path}.transport"))?;
            TransportChoice::check(population.data, plan, &format!("{path}.data"))?;
            for host in &population.hosts {
                index(*host, hosts, &format!("{path}.hosts"))?;
            }
            if let Arrivals::Times { at_ns } = &population.arrivals {
                let matched = at_ns.len() == population.hosts.len();
                let path = format!("{path}.arrivals");
                require(matched, &path, "must have one instant for each host")?;
            }
            if let Departure::AfterShare { share } = population.departure {
                let sane = share.is_finite() && share >= 0.0;
                require(sane, &format!("{path}.departure.share"), "must not be negative")?;
            }
        }
        Ok(())
    }
}
