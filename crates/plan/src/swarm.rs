use crate::check::{index, require};
use crate::{Arrivals, ControlledUpload, Error, Plan, Storage, TransportChoice, Workload};
use flashcrowd_base::{Quantiles, Span};
use flashcrowd_swarm::profile::Sharing;
use flashcrowd_swarm::{Role, Torrent, TrackerRules, UploadLimit};
use serde::{Deserialize, Serialize};

/// One torrent and its peers.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// The tracker of the swarm.
    pub tracker: Tracker,
    /// Peers of one kind each.
    pub populations: Vec<Population>,
    /// The run ends at this completion, if given.
    pub stop_after_completions: Option<u32>,
    /// Content servers of which leechers fetch ranges of the file, too, if their clients know web seeds (BEP 19).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub web_seeds: Vec<WebSeed>,
}

/// A content server that has the file of a swarm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct WebSeed {
    /// Index of the origin among the workloads.
    pub origin: u32,
    /// Number of the file there.
    pub file: u32,
}

/// The tracker of a swarm.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Tracker {
    /// Its host: an announce is answered after two round trips (one for the handshake, one for the
    /// exchange). Without one there is no way to take.
    pub host: Option<u32>,
    /// How long it takes for an answer, besides the way.
    pub answer_delay_ns: Span,
    /// The rules of its answers, whatever the clients of its peers are.
    pub rules: TrackerRules,
    /// The program that it is on an engine that runs programs, if that has rules of its own. The
    /// simulation goes by `rules`, and has no use for the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
}

/// Peers of one kind.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// The transport of connections that they open; none for TCP with each host's own stack.
    pub transport: Option<TransportChoice>,
    /// If given, the blocks that they upload go over a connection of their own to each neighbour,
    /// which the uploader opens with its first unchoke. Everything else stays on the connection
    /// between the pair.
    pub data: Option<TransportChoice>,
    /// Whether they answer attempts over uTP. To those who do not, such an attempt times out.
    #[serde(default = "answers", skip_serializing_if = "is_default")]
    pub answers_utp: bool,
    /// Their client's upload limit; none for unlimited, and zero for clients that upload nothing.
    #[serde(default)]
    pub upload_bps: UploadLimit,
    /// The controller of each one's upload limit while it is there; `upload_bps` is then what the client
    /// has until the controller says something else. None for a limit that stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upload_control: Option<ControlledUpload>,
    /// The storage of seeds; none where blocks are in memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<Storage>,
    /// When they come.
    pub arrivals: Arrivals,
    /// When they go, counted from their completion (for a seed: from its arrival).
    pub departure: Departure,
    /// Whether a peer that left is followed at once by a new leecher on the same host.
    pub replace: bool,
    /// The program that plays them on an engine that runs programs. The simulation plays their
    /// profile, and has no use for the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
}

fn answers() -> bool {
    true
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature
fn is_default(answers_utp: &bool) -> bool {
    *answers_utp
}

/// When a peer goes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Departure {
    /// As soon as it has the file.
    AtOnce,
    /// A random (exponential) time later.
    After {
        /// Mean of the time.
        mean_ns: Span,
    },
    /// The same time later, each.
    AfterExactly {
        /// That time.
        stay_ns: Span,
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
    /// A random time after its arrival, whether it has the file or not.
    Session {
        /// Quantiles of that time in seconds.
        stay_s: Quantiles,
    },
}

impl Plan {
    /// The web seeds of a swarm that are in use: all of them, if the client of any leecher supports web seeds.
    pub fn usable_web_seeds<'s>(&self, swarm: &'s Swarm) -> &'s [WebSeed] {
        let leechers = swarm.populations.iter().filter(|it| it.role == Role::Leecher);
        let mut clients = leechers.map(|it| &self.profiles[it.profile as usize]);
        let known = clients.any(|profile| profile.web_seeds.connections > 0);
        if known { &swarm.web_seeds } else { &[] }
    }
}

impl Swarm {
    /// Logs of connections may be about it.
    pub(crate) const OPENS_CONNECTIONS: bool = true;
    /// Each peer is a program of its own, on any machine.
    pub(crate) const ONE_PROCESS: bool = false;

    pub(crate) fn hosts(&self) -> Vec<u32> {
        self.populations.iter().flat_map(|it| &it.hosts).copied().collect()
    }

    pub(crate) fn check(&self, plan: &Plan, path: &str) -> Result<(), Error> {
        let hosts = plan.network.hosts.len();
        Torrent::new(self.size_bytes, self.piece_bytes, self.block_bytes)
            .map_err(|error| Error::new(path, error))?;
        let Tracker { host, ref rules, .. } = self.tracker;
        if let Some(host) = host {
            index(host, hosts, format_args!("{path}.tracker.host"))?;
        }
        // Peers that ask again at once would let no time pass.
        let some = rules.interval_ns >= Span::from_millis(1);
        let place = format!("{path}.tracker.rules.interval_ns");
        require(some, &place, "must be at least a millisecond")?;
        let some = !self.populations.is_empty();
        require(some, format_args!("{path}.populations"), "must not be empty: a swarm has peers")?;
        for (i, web_seed) in self.web_seeds.iter().enumerate() {
            self.check_web_seed(plan, *web_seed, &format!("{path}.web_seeds[{i}]"))?;
        }
        for (i, population) in self.populations.iter().enumerate() {
            let path = format!("{path}.populations[{i}]");
            index(population.profile, plan.profiles.len(), format_args!("{path}.profile"))?;
            TransportChoice::check(population.transport, plan, format_args!("{path}.transport"))?;
            TransportChoice::check(population.data, plan, format_args!("{path}.data"))?;
            for host in &population.hosts {
                index(*host, hosts, format_args!("{path}.hosts"))?;
            }
            if let Some(control) = &population.upload_control {
                let Population { hosts: own, upload_bps, .. } = population;
                control.check(own, *upload_bps, hosts, &format!("{path}.upload_control"))?;
            }
            if let Some(storage) = &population.storage {
                self.check_storage(storage, population, plan, &format!("{path}.storage"))?;
            }
            population.arrivals.check(population.hosts.len(), &format!("{path}.arrivals"))?;
            if let Departure::AfterShare { share } = population.departure {
                let sane = share.is_finite() && share >= 0.0;
                require(sane, format_args!("{path}.departure.share"), "must not be negative")?;
            }
            if let Departure::Session { stay_s } = &population.departure {
                let sane = (0..=10).all(|tenths| stay_s.at(f64::from(tenths) / 10.0) >= 0.0);
                require(sane, format_args!("{path}.departure.stay_s"), "must not be negative")?;
            }
        }
        Ok(())
    }

    /// Refuses storage for peers that would not read from it.
    fn check_storage(
        &self,
        storage: &Storage,
        population: &Population,
        plan: &Plan,
        path: &str,
    ) -> Result<(), Error> {
        let seed = population.role == Role::Seed;
        require(seed, path, "must be a population of seeds: leechers have all in memory")?;
        let profile = &plan.profiles[population.profile as usize];
        let buffers = profile.limiter.sharing == Sharing::Quota;
        let allowed = format_args!(
            "must be of clients that read into a send buffer (limiter.sharing quota), which {} has not",
            profile.name
        );
        require(buffers, path, allowed)?;
        let whole =
            self.block_bytes.is_power_of_two() && self.piece_bytes.is_multiple_of(self.block_bytes);
        let allowed = "must be of a swarm whose blocks are a power of two, and pieces whole blocks";
        require(whole, path, allowed)?;
        storage.check(self.size_bytes, self.block_bytes, path)
    }

    fn check_web_seed(&self, plan: &Plan, web_seed: WebSeed, path: &str) -> Result<(), Error> {
        let place = format!("{path}.origin");
        index(web_seed.origin, plan.workloads.len(), &place)?;
        let Workload::Origin(origin) = &plan.workloads[web_seed.origin as usize] else {
            return Err(Error::new(place, "must be the index of an origin"));
        };
        index(web_seed.file, origin.files.count as usize, format_args!("{path}.file"))?;
        let same = origin.files.size_bytes == self.size_bytes;
        require(same, &place, "must be an origin whose files are as long as the swarm's")?;
        let leechers = self.populations.iter().filter(|it| it.role == Role::Leecher);
        let apart = leechers.flat_map(|it| &it.hosts).all(|host| *host != origin.host);
        require(apart, place, "must be on a host that has no leecher of the swarm")
    }
}
