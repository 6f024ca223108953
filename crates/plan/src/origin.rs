use crate::check::{index, refused, require};
use crate::{Arrivals, Error, Plan, TransportChoice};
use flashcrowd_base::{RandomStream, Span};
use flashcrowd_origin::Settings;
use flashcrowd_origin::disk::Medium;
use serde::{Deserialize, Serialize};

/// A content server, which reads files from a disk and sends them over connections of their own to those who ask, and
/// its clients.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// Unique name.
    pub name: String,
    /// The server's host.
    pub host: u32,
    /// The transport of the connections, which clients open; none for TCP with each host's own
    /// stack.
    pub transport: Option<TransportChoice>,
    /// Its files.
    pub files: Files,
    /// Scheduling and cache: which block each client gets next, what is read and kept.
    pub settings: Settings,
    /// The disk of the files, which are one behind the other.
    pub disk: Medium,
    /// Low watermark of unsent bytes (TCP_NOTSENT_LOWAT): a client is handed its next block when fewer than these are
    /// unsent in its socket.
    pub unsent_bytes: u64,
    /// Length of a request.
    pub request_bytes: u64,
    /// Length of the head of an answer.
    pub head_bytes: u64,
    /// Bytes before each run of blocks of an answer whose blocks come in any order: a boundary and the head of a part
    /// of multipart/byteranges (RFC 9110, section 14.6).
    pub part_bytes: u64,
    /// Clients of one kind each.
    pub populations: Vec<Clients>,
}

/// The files of an origin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Files {
    /// How many.
    pub count: u32,
    /// The length of each.
    pub size_bytes: u64,
    /// The exponent of Zipf's law: the n-th is asked for n^-zipf times as often as the first. 0 for files that are
    /// equally popular.
    pub zipf: f64,
}

/// Clients of one kind: each downloads one file and goes.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Clients {
    /// Unique in its origin.
    pub name: String,
    /// One client on each host.
    pub hosts: Vec<u32>,
    /// Whether they take the blocks of a file in its order only, the default.
    pub in_order: bool,
    /// When they come, and until when they stay at the latest.
    pub arrivals: Arrivals,
}

/// A client of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visit {
    /// Its population, and its host.
    pub population: u32,
    /// See `population`.
    pub host: u32,
    /// Which file it wants.
    pub file: u32,
    /// When it comes, and when it leaves at the latest.
    pub at: Span,
    /// See `at`.
    pub leave: Option<Span>,
}

/// Files of one origin: more is surely a mistake.
const MAX_FILES: u32 = 1_000_000;
/// Extents of all files: what is known of each takes some bytes.
const MAX_EXTENTS: u64 = 100_000_000;

impl Origin {
    /// Logs of connections may be about it.
    pub(crate) const OPENS_CONNECTIONS: bool = true;
    /// One process plays the server and its clients.
    pub(crate) const ONE_PROCESS: bool = true;

    pub(crate) fn hosts(&self) -> Vec<u32> {
        let clients = self.populations.iter().flat_map(|it| &it.hosts).copied();
        std::iter::once(self.host).chain(clients).collect()
    }

    pub(crate) fn check(&self, plan: &Plan, path: &str) -> Result<(), Error> {
        let hosts = plan.network.hosts.len();
        index(self.host, hosts, format_args!("{path}.host"))?;
        TransportChoice::check(self.transport, plan, format_args!("{path}.transport"))?;
        self.settings.check().map_err(refused(format_args!("{path}.settings")))?;
        self.disk.check().map_err(refused(format_args!("{path}.disk")))?;
        self.files.check(&self.settings, &format!("{path}.files"))?;
        if let Medium::HardDisk(disk) = &self.disk {
            let fits = self.files.bytes() <= disk.size_bytes;
            let allowed = "must be at least what all files take";
            require(fits, format_args!("{path}.disk.size_bytes"), allowed)?;
        }
        let some = (1..=1 << 30).contains(&self.unsent_bytes);
        require(some, format_args!("{path}.unsent_bytes"), "must be between 1 and 1073741824")?;
        let asks = (1..=1 << 20).contains(&self.request_bytes);
        let allowed = "must be between 1 and 1048576";
        require(asks, format_args!("{path}.request_bytes"), allowed)?;
        let short = self.head_bytes.max(self.part_bytes) <= 1 << 20;
        require(
            short,
            format_args!("{path}.head_bytes"),
            "must be at most 1048576, as part_bytes",
        )?;
        for (i, clients) in self.populations.iter().enumerate() {
            let path = format!("{path}.populations[{i}]");
            for host in &clients.hosts {
                index(*host, hosts, format_args!("{path}.hosts"))?;
                let apart = *host != self.host;
                require(apart, format_args!("{path}.hosts"), "must not have the server's host")?;
            }
            clients.arrivals.check(clients.hosts.len(), &format!("{path}.arrivals"))?;
        }
        Ok(())
    }

    /// The clients in a run with this seed, and what they want, as number `index` of the plan's workloads: by
    /// population, and there in the order of its hosts.
    pub fn visits(&self, seed: u64, index: u32) -> Vec<Visit> {
        let popularity = self.files.popularity();
        let mut visits = Vec::new();
        for (population, clients) in (0u32..).zip(&self.populations) {
            // Files come from a stream of their own, so that the third client of a population wants the same one
            // however many came before it in others.
            let stream = u64::from(index) << 32 | u64::from(population);
            let mut files = RandomStream::new(seed, "origin-files", stream);
            let arrivals = RandomStream::new(seed, "origin-arrivals", stream);
            let instants = clients.arrivals.instants(clients.hosts.len(), arrivals);
            for (host, (at, leave)) in clients.hosts.iter().zip(instants) {
                let file = draw(&popularity, &mut files);
                visits.push(Visit { population, host: *host, file, at, leave });
            }
        }
        visits
    }
}

/// Which file a client wants.
fn draw(popularity: &[f64], stream: &mut RandomStream) -> u32 {
    let all = popularity.last().copied().unwrap_or(0.0);
    let popular = stream.unit() * all;
    let file = popularity.partition_point(|sum| *sum <= popular);
    file.min(popularity.len().saturating_sub(1)) as u32
}

impl Files {
    /// Longer files are surely a mistake.
    const MAX_BYTES: u64 = 1 << 44;

    /// The bytes of all of them.
    pub fn bytes(&self) -> u64 {
        u64::from(self.count).saturating_mul(self.size_bytes)
    }

    /// How popular each file is, together with all before it; the last one is the sum.
    fn popularity(&self) -> Vec<f64> {
        let mut sum = 0.0;
        let add = |rank: u32| {
            sum += libm::pow(f64::from(rank), -self.zipf);
            sum
        };
        (1..=self.count).map(add).collect()
    }

    fn check(&self, settings: &Settings, path: &str) -> Result<(), Error> {
        let some = (1..=MAX_FILES).contains(&self.count);
        require(
            some,
            format_args!("{path}.count"),
            format_args!("must be between 1 and {MAX_FILES}"),
        )?;
        let long = (1..=Self::MAX_BYTES).contains(&self.size_bytes);
        require(
            long,
            format_args!("{path}.size_bytes"),
            format_args!("must be between 1 and {}", Self::MAX_BYTES),
        )?;
        let blocks = self.size_bytes.div_ceil(u64::from(settings.block_bytes));
        let allowed = "must be at most 2147483648 blocks";
        require(blocks <= 1 << 31, format_args!("{path}.size_bytes"), allowed)?;
        let extents = self.size_bytes.div_ceil(u64::from(settings.extent_bytes));
        let few = extents.saturating_mul(u64::from(self.count)) <= MAX_EXTENTS;
        require(
            few,
            format_args!("{path}.count"),
            format_args!("must be at most {MAX_EXTENTS} extents in all files"),
        )?;
        let sane = (0.0..=10.0).contains(&self.zipf);
        require(sane, format_args!("{path}.zipf"), "must be between 0 and 10")
    }
}
