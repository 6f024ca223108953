//! The tables about content servers and their clients.

use super::{Client, Origin};
use crate::{Column, Table, names, seconds};
use flashcrowd_base::Time;
use flashcrowd_origin::Counters;
use flashcrowd_origin::disk::{DiskCounters, Medium};
use flashcrowd_plan::Plan;

/// The table `downloads`, of clients of content servers that count.
pub(super) fn downloads(
    plan: &Plan,
    origins: &[Origin],
    counted: impl Fn(&Client) -> bool,
) -> Table {
    let mut rows = Vec::new();
    for origin in origins {
        let clients = (0u32..).zip(&origin.clients).filter(|(_, client)| counted(client));
        rows.extend(clients.map(|(number, client)| (origin.spec.as_ref(), number, client)));
    }
    let maybe = |of: fn(&Client) -> Option<f64>| {
        Column::MaybeF64(rows.iter().map(|(.., client)| of(client)).collect())
    };
    let populations = rows.iter().map(|(origin, _, client)| {
        origin.populations[client.visit.population as usize].name.as_str()
    });
    let arrived = |client: &Client| client.arrived.unwrap_or(Time::START).seconds();
    Table {
        name: "downloads",
        columns: vec![
            ("swarm", names(rows.iter().map(|(origin, ..)| origin.name.as_str()))),
            ("population", names(populations)),
            ("host", names(rows.iter().map(|(.., it)| plan.network.name_of(it.visit.host)))),
            ("peer", Column::U32(rows.iter().map(|(_, number, _)| *number).collect())),
            ("arrived_s", Column::F64(rows.iter().map(|(.., it)| arrived(it)).collect())),
            ("completed_s", maybe(|it| seconds(it.completed))),
            ("left_s", maybe(|it| seconds(it.left))),
            ("duration_s", maybe(|it| Some((it.completed? - it.arrived?).seconds()))),
            ("downloaded_bytes", Column::U64(rows.iter().map(|(.., it)| it.bytes).collect())),
            ("uploaded_bytes", Column::U64(rows.iter().map(|_| 0).collect())),
            ("pieces", Column::U32(rows.iter().map(|(.., it)| it.blocks).collect())),
        ],
    }
}

/// The table `origins`, with the clients that count.
pub(super) fn origins(
    plan: &Plan,
    origins: &[Origin],
    counts: Vec<(Counts, Counts)>,
    counted: impl Fn(&Client) -> bool,
) -> Table {
    let rows = origins.iter().zip(counts).map(|(origin, (from, to))| {
        let spec = origin.spec.as_ref();
        let clients = || origin.clients.iter().filter(|client| counted(client));
        Row {
            origin: &spec.name,
            host: plan.network.name_of(spec.host),
            policy: spec.settings.scheduling.name(),
            disk: &spec.disk,
            downloads: clients().count() as u64,
            completed: clients().filter(|client| client.completed.is_some()).count() as u64,
            from,
            to,
        }
    });
    table(&rows.collect::<Vec<_>>())
}

/// What a machine and its disk have done by some instant.
#[derive(Clone, Debug, Default)]
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
