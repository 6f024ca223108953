//! Content servers: what is said of their clients, and the tables about both.

use crate::{Column, Outcome, Table, is_due, lost, names, seconds};
use flashcrowd_base::Time;
use flashcrowd_origin::Counters;
use flashcrowd_origin::disk::{DiskCounters, Medium};

/// A client that has come to a content server.
#[derive(Clone, Copy, Debug)]
pub struct Client {
    /// Its number among all that are to come.
    pub number: u32,
    /// When it came.
    pub arrived: Time,
    /// When it left, if it has.
    pub left: Option<Time>,
    /// Bytes of its file that have arrived.
    pub bytes: u64,
    /// Whether not one block has.
    pub is_silent: bool,
    /// Whether it lost its connection before it had its file.
    pub is_lost: bool,
}

/// A line about the clients of a content server, if they lack something; `came` are those that have come, and
/// `outcome` is how the run ended, as far as is known.
pub fn undelivered(
    origin: &str,
    came: &[Client],
    now: Time,
    outcome: Option<&Outcome>,
) -> Option<String> {
    let whose = format!("origin {origin}");
    let gone = came.iter().filter(|client| client.is_lost).map(|client| {
        let (number, bytes) = (client.number, client.bytes);
        let at = client.left.unwrap_or(now).seconds();
        format!("client {number} at {at:.1} s after {bytes} bytes")
    });
    let gone = lost(&whose, came.len(), "clients", gone);
    let due = came.iter().any(|client| is_due(client.arrived, now));
    let is_cut = outcome.is_some_and(Outcome::is_cut);
    let silent = || format!("{whose}: no block arrived at {} clients", came.len());
    let is_silent = !is_cut && due && came.iter().all(|client| client.is_silent);
    gone.or_else(|| is_silent.then(silent))
}

/// Why a content server gets no further: this many clients are there, and nothing has arrived since then.
pub fn stalled(origin: &str, online: usize, since: Time) -> String {
    format!("origin {origin}: no block reached any of {online} clients since {since}")
}

/// What is left to do of a content server.
pub fn unfinished(origin: &str, complete: usize, all: usize) -> String {
    format!("origin {origin}: {complete} of {all} downloads are complete")
}

/// A client of a content server, as its download is recorded.
pub struct Download<'a> {
    /// The name of the server.
    pub origin: &'a str,
    /// The name of its population.
    pub population: &'a str,
    /// The name of its host.
    pub host: &'a str,
    /// Its number among the clients of its server.
    pub number: u32,
    /// When it came.
    pub arrived: Time,
    /// When it had its file, if it has.
    pub completed: Option<Time>,
    /// When it left, if it has.
    pub left: Option<Time>,
    /// Bytes of its file that have arrived.
    pub bytes: u64,
    /// Whole blocks that have.
    pub blocks: u32,
}

/// The table `downloads`, of clients of content servers.
pub fn downloads(rows: &[Download<'_>]) -> Table {
    let maybe =
        |of: fn(&Download<'_>) -> Option<f64>| Column::MaybeF64(rows.iter().map(of).collect());
    Table {
        name: "downloads",
        columns: vec![
            ("swarm", names(rows.iter().map(|it| it.origin))),
            ("population", names(rows.iter().map(|it| it.population))),
            ("host", names(rows.iter().map(|it| it.host))),
            ("peer", Column::U32(rows.iter().map(|it| it.number).collect())),
            ("arrived_s", Column::F64(rows.iter().map(|it| it.arrived.seconds()).collect())),
            ("completed_s", maybe(|it| seconds(it.completed))),
            ("left_s", maybe(|it| seconds(it.left))),
            ("duration_s", maybe(|it| Some((it.completed? - it.arrived).seconds()))),
            ("downloaded_bytes", Column::U64(rows.iter().map(|it| it.bytes).collect())),
            ("uploaded_bytes", Column::U64(rows.iter().map(|_| 0).collect())),
            ("pieces", Column::U32(rows.iter().map(|it| it.blocks).collect())),
        ],
    }
}

/// What a machine and its disk have done by some instant.
#[derive(Clone, Default)]
pub struct Counts {
    /// The instant.
    pub at: Time,
    /// What the machine has done.
    pub machine: Counters,
    /// What its disk has done.
    pub disk: DiskCounters,
}

/// A row of the table `origins`: what one of them did between two instants.
pub struct Row<'a> {
    /// Its name.
    pub origin: &'a str,
    /// The name of its host.
    pub host: &'a str,
    /// In which order it reads.
    pub policy: &'static str,
    /// What it reads from.
    pub disk: &'a Medium,
    /// Clients of its own that came then, and those that have their file.
    pub downloads: u64,
    /// See `downloads`.
    pub completed: u64,
    /// What was done before.
    pub from: Counts,
    /// What was done up to the end.
    pub to: Counts,
}

impl Row<'_> {
    fn count(&self, of: fn(&Counts) -> u64) -> u64 {
        of(&self.to) - of(&self.from)
    }
    fn rate_bps(&self, of: fn(&Counts) -> u64) -> Option<f64> {
        let seconds = self.to.at.since(self.from.at).seconds();
        (seconds > 0.0).then(|| self.count(of) as f64 * 8.0 / seconds)
    }
    /// The mean of all channels of an SSD.
    fn busy_s(&self) -> f64 {
        let channels = match self.disk {
            Medium::Ssd(ssd) => f64::from(ssd.channels),
            Medium::HardDisk(_) | Medium::NetworkVolume(_) => 1.0,
        };
        self.to.disk.busy.saturating_sub(self.from.disk.busy).seconds() / channels
    }
    fn residence_s(&self) -> Option<f64> {
        let time = self.to.machine.residence.saturating_sub(self.from.machine.residence);
        let gone = self.count(|it| it.machine.evictions);
        (gone > 0).then(|| time.seconds() / gone as f64)
    }
    fn miss_ratio(&self) -> Option<f64> {
        let sent = self.count(|it| it.machine.sent);
        (sent > 0).then(|| self.count(|it| it.machine.read) as f64 / sent as f64)
    }
}

/// The table `origins`.
pub fn table(rows: &[Row<'_>]) -> Table {
    let counts =
        |of: fn(&Counts) -> u64| Column::U64(rows.iter().map(|row| row.count(of)).collect());
    let reals = |of: fn(&Row<'_>) -> f64| Column::F64(rows.iter().map(of).collect());
    let maybe = |of: fn(&Row<'_>) -> Option<f64>| Column::MaybeF64(rows.iter().map(of).collect());
    Table {
        name: "origins",
        columns: vec![
            ("origin", names(rows.iter().map(|row| row.origin))),
            ("host", names(rows.iter().map(|row| row.host))),
            ("policy", names(rows.iter().map(|row| row.policy))),
            ("from_s", reals(|row| row.from.at.seconds())),
            ("to_s", reals(|row| row.to.at.seconds())),
            ("downloads", Column::U64(rows.iter().map(|row| row.downloads).collect())),
            ("completed", Column::U64(rows.iter().map(|row| row.completed).collect())),
            ("sent_bytes", counts(|it| it.machine.sent)),
            ("blocks", counts(|it| it.machine.blocks)),
            ("hits", counts(|it| it.machine.hits)),
            ("read_bytes", counts(|it| it.machine.read)),
            ("reads", counts(|it| it.machine.reads)),
            ("reads_ahead", counts(|it| it.machine.ahead)),
            ("seeks", counts(|it| it.disk.seeks)),
            ("evictions", counts(|it| it.machine.evictions)),
            ("residence_s", maybe(|row| row.residence_s())),
            ("disk_busy_s", reals(|row| row.busy_s())),
            ("disk_cost", reals(|row| row.to.disk.cost - row.from.disk.cost)),
            ("network_bps", maybe(|row| row.rate_bps(|it| it.machine.sent))),
            ("disk_bps", maybe(|row| row.rate_bps(|it| it.machine.read))),
            ("miss_ratio", maybe(|row| row.miss_ratio())),
        ],
    }
}
