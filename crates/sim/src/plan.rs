//! The plan: what an engine needs to run, and nothing else. Every default is resolved, every unit
//! is SI, names are indices. It crosses the border from Python as JSON.

use flashcrowd_base::{Quantiles, Rate, Span};
use flashcrowd_link::Conditions;
use flashcrowd_swarm::{Profile, Role};
use flashcrowd_transport::{tcp, utp};
use serde::{Deserialize, Serialize};

/// Version of the plan's format.
pub const FORMAT: u32 = 1;

/// A complete run but for its seed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// [`FORMAT`].
    pub format: u32,
    /// What a person calls it.
    pub title: String,
    /// Hosts, links and the paths between them.
    pub network: Network,
    /// TCP stacks, by index.
    pub stacks: Vec<tcp::Config>,
    /// uTP configurations, by index.
    pub utps: Vec<utp::Config>,
    /// BitTorrent client profiles, by index.
    pub profiles: Vec<Profile>,
    /// What happens on the network.
    pub workloads: Vec<Workload>,
    /// Changes at given instants, in any order.
    pub timeline: Vec<Change>,
    /// What is recorded besides the summary tables.
    pub measures: Measures,
    /// When a run ends that does not end by itself.
    pub stop: Stop,
}

/// Hosts, links and the paths between them. The path from host `a` to host `b` leads over
/// `a.up`, the core between their groups, and `b.down`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// Names of the groups of hosts.
    pub groups: Vec<String>,
    /// All hosts.
    pub hosts: Vec<Host>,
    /// Links that several flows share: access lines and bottlenecks, one entry a direction.
    pub links: Vec<Link>,
    /// The cores, by index.
    pub cores: Vec<Core>,
    /// Index of the core from group `f` to group `t`, at `f * groups.len() + t`.
    pub core_of: Vec<u32>,
}

/// One host.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Unique name.
    pub name: String,
    /// Index of its group.
    pub group: u32,
    /// Index of its TCP stack.
    pub stack: u32,
    /// Links that its packets cross on their way out, in order.
    pub up: Vec<u32>,
    /// Links that packets for it cross last, in order.
    pub down: Vec<u32>,
}

/// One direction of a shared link.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Unique name, as the series and the `links` table call it.
    pub name: String,
    /// What it is like at the start.
    pub conditions: Conditions,
    /// If given, the delay is drawn anew for each run, in place of that of `conditions`, and stays
    /// when those change.
    pub delay: Option<DrawnDelay>,
}

/// A delay that is drawn uniformly for each run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DrawnDelay {
    /// Links with the same number draw the same part of their range: both ways of a line.
    pub number: u32,
    /// The least delay.
    pub least_ns: Span,
    /// The greatest delay.
    pub most_ns: Span,
}

/// What lies between two groups: bottlenecks shared by all, then a piece of path of its own for
/// each ordered pair of hosts.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Core {
    /// Shared links crossed, in order.
    pub links: Vec<u32>,
    /// Delay, jitter and loss of each pair's own piece; it has no rate and so no queue.
    pub conditions: Conditions,
    /// If given, each unordered pair of hosts draws its round-trip time and loss, half of the
    /// round-trip time for each direction, in place of those of `conditions`.
    pub draw: Option<Draw>,
}

/// Empirical distributions for pairs of hosts.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Draw {
    /// Quantiles of the round-trip time in seconds.
    pub rtt_s: Option<Quantiles>,
    /// Quantiles of the loss probability of each direction (Bernoulli, at the receiving side).
    pub loss: Option<Quantiles>,
}

/// Something that uses the network.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Workload {
    /// A BitTorrent swarm.
    Swarm(Swarm),
    /// One or more flows from one host to another.
    Transfer(Transfer),
    /// What a bystander feels.
    Ping(Ping),
}

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
    /// The tracker's host; without one, announces are answered at once.
    pub tracker: Option<u32>,
    /// Peers of one kind each.
    pub populations: Vec<Population>,
    /// The run ends at this completion, if given.
    pub stop_after_completions: Option<u32>,
}

/// What carries a connection: the configuration of both of its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Carrier {
    /// TCP: an index among the plan's stacks.
    Tcp(u32),
    /// uTP: an index among the plan's uTP configurations.
    Utp(u32),
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
    pub transport: Option<Carrier>,
    /// If given, the blocks that they upload go over a connection of their own to each neighbour,
    /// which the uploader opens with its first unchoke. Everything else stays on the connection
    /// between the pair.
    pub data: Option<Carrier>,
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

/// Flows from one host to another.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transfer {
    /// Unique name.
    pub name: String,
    /// The sending host; it opens the connection.
    pub from: u32,
    /// The receiving host.
    pub to: u32,
    /// What carries the flows; none for TCP with each host's own stack.
    pub transport: Option<Carrier>,
    /// How many connections, side by side.
    pub flows: u32,
    /// What each flow sends; without a size it sends until it stops.
    pub size_bytes: Option<u64>,
    /// Application's limit for each flow.
    pub rate_bps: Option<Rate>,
    /// When it starts.
    pub start_ns: Span,
    /// Each flow starts at a random instant of this window after `start_ns`.
    pub spread_ns: Span,
    /// When it stops, finished or not.
    pub stop_ns: Option<Span>,
}

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

/// A change at an instant, in place: what is queued stays queued.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Change {
    /// The instant.
    pub at_ns: Span,
    /// What changes.
    #[serde(flatten)]
    pub what: What,
}

/// What a change does.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum What {
    /// A shared link gets new conditions.
    Link {
        /// Its index.
        link: u32,
        /// The new conditions, complete.
        conditions: Conditions,
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
        /// The new limit; none for unlimited.
        upload_bps: Option<Rate>,
    },
    /// The application's limit of a transfer changes.
    TransferRate {
        /// Index of the transfer among the workloads.
        workload: u32,
        /// The new limit of each flow; none for unlimited.
        rate_bps: Option<Rate>,
    },
}

/// What is recorded besides the summary tables.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measures {
    /// Sampled time series.
    pub series: Vec<Series>,
    /// Interval at which the pieces that leechers have are counted.
    pub pieces_ns: Option<Span>,
    /// Interval at which the queue of every link with a rate is looked at, for the distribution of
    /// its length.
    pub queues_ns: Option<Span>,
    /// Distribution of the time between sends to one connection.
    pub send_gaps: bool,
    /// Distribution of TCP payload lengths.
    pub payloads: bool,
    /// TCP's round-trip time estimate, sampled at each send of a peer.
    pub rtts: bool,
    /// Every unchoke that ended.
    pub unchokes: bool,
    /// Every packet that the sending ends of transfers send before this instant.
    pub packets_ns: Option<Span>,
}

/// One kind of time series.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// What is sampled, of every link, transfer or swarm that has it.
    pub what: Sampled,
    /// How often.
    pub every_ns: Span,
}

/// What can be sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sampled {
    /// Packets waiting at each link with a rate, the one in transmission included.
    QueuePackets,
    /// How long the newest packet at each link with a rate still has to wait, in seconds.
    QueueDelay,
    /// Bits per second that each link with a rate carried since the last sample, framing included.
    LinkRate,
    /// Payload bits per second delivered by each flow of each transfer since the last sample.
    Goodput,
    /// Congestion window of each flow of each transfer, in bytes.
    Window,
    /// Smoothed round-trip time of each flow of each transfer, in seconds.
    Rtt,
    /// Payload bits per second downloaded by all peers of each swarm since the last sample.
    SwarmRate,
    /// Peers of each swarm that are online.
    Online,
    /// Leechers of each swarm that have completed.
    Completed,
}

/// When a run ends that does not end by itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stop {
    /// Simulated time after which a run is cut off.
    pub horizon_ns: Span,
    /// A swarm in which no leecher received a block for this long is stalled.
    pub stall_ns: Span,
}
