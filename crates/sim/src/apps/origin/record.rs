//! What is recorded of origins: samples and tables.

use super::client::Client;
use super::counts::Counts;
use super::server::Server;
use super::{Origins, Sample, World};
use crate::table::{Column, Table, names, seconds};
use flashcrowd_base::Time;
use flashcrowd_origin::Counters;
use flashcrowd_origin::disk::{DiskCounters, Medium};
use flashcrowd_plan::Sampled;

/// What a server did between two instants.
struct Done<'a> {
    server: &'a Server<'a>,
    place: u32,
    from: Counts,
    to: Counts,
}

impl Done<'_> {
    fn count(&self, of: fn(&Counts) -> u64) -> u64 {
        of(&self.to) - of(&self.from)
    }
    fn seconds(&self) -> f64 {
        self.to.at.since(self.from.at).seconds()
    }
    fn rate_bps(&self, of: fn(&Counts) -> u64) -> Option<f64> {
        let seconds = self.seconds();
        (seconds > 0.0).then(|| self.count(of) as f64 * 8.0 / seconds)
    }
    /// The mean of all channels of an SSD.
    fn busy_s(&self) -> f64 {
        let channels = match &self.server.spec.disk {
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

impl Origins<'_> {
    pub(super) fn level(&self, place: u32, server: &Server<'_>, what: Sampled) -> Option<Sample> {
        let clients = || self.clients.iter().filter(move |client| client.server == place);
        let waits = |client: &&Client| client.download.as_ref().is_some_and(|it| it.sending.waits);
        let visits = || self.visitors.iter().filter(move |visitor| visitor.server == place);
        let present = || f64::from(server.online) + visits().count() as f64;
        let waiting = || {
            let visitors = visits().filter(|visitor| visitor.sending.waits);
            (clients().filter(waits).count() + visitors.count()) as f64
        };
        Some(match what {
            Sampled::OriginRate => Sample::Bytes(server.machine.counters().sent),
            Sampled::DiskRate => Sample::Bytes(server.machine.counters().read),
            Sampled::DiskQueue => Sample::Level(server.machine.longest_wait() as f64 - 1.0),
            Sampled::DiskWaiting => Sample::Level(waiting()),
            Sampled::OriginClients => Sample::Level(present()),
            _ => return None,
        })
    }

    /// Whether a client's download lies in the window of the table.
    fn counts(&self, client: &Client) -> bool {
        client.arrived.is_some_and(|at| self.window.is_none_or(|window| window.holds(at)))
    }

    fn done(&self, now: Time) -> Vec<Done<'_>> {
        let of = |(place, server)| {
            let (place, server): (u32, &Server<'_>) = (place, server);
            let present = server.counts(now);
            let zero = || Counts {
                at: Time::START,
                machine: Counters::default(),
                disk: DiskCounters::default(),
                downloads: vec![0; present.downloads.len()],
                sent: vec![0; present.sent.len()],
                read: vec![0; present.read.len()],
            };
            // A run that ended before its window began did nothing in it.
            let begin = self.begin.get(place as usize).cloned();
            let from = begin.unwrap_or_else(|| match self.window {
                None => zero(),
                Some(_) => present.clone(),
            });
            let to = self.end.get(place as usize).cloned().unwrap_or(present);
            Done { server, place, from, to }
        };
        (0u32..).zip(&self.servers).map(of).collect()
    }

    pub(super) fn downloads(&self, world: &World) -> Table {
        let rows: Vec<&Client> = self.clients.iter().filter(|it| self.counts(it)).collect();
        let spec = |client: &Client| self.servers[client.server as usize].spec;
        let population =
            |client: &Client| spec(client).populations[client.population as usize].name.as_str();
        let host = |client: &Client| world.network.host(client.host).name.as_str();
        let maybe = |of: fn(&Client) -> Option<f64>| {
            Column::MaybeF64(rows.iter().map(|client| of(client)).collect())
        };
        let arrived = |client: &Client| client.arrived.unwrap_or(Time::START).seconds();
        Table {
            name: "downloads",
            columns: vec![
                ("swarm", names(rows.iter().map(|client| spec(client).name.as_str()))),
                ("population", names(rows.iter().map(|client| population(client)))),
                ("host", names(rows.iter().map(|client| host(client)))),
                ("peer", Column::U32(rows.iter().map(|client| client.number).collect())),
                ("arrived_s", Column::F64(rows.iter().map(|client| arrived(client)).collect())),
                ("completed_s", maybe(|client| seconds(client.completed))),
                ("left_s", maybe(|client| seconds(client.left))),
                ("duration_s", maybe(|it| Some((it.completed? - it.arrived?).seconds()))),
                ("downloaded_bytes", Column::U64(rows.iter().map(|it| it.bytes).collect())),
                ("uploaded_bytes", Column::U64(rows.iter().map(|_| 0).collect())),
                ("pieces", Column::U32(rows.iter().map(|client| client.blocks).collect())),
            ],
        }
    }

    pub(super) fn origins(&self, world: &World) -> Table {
        let rows = self.done(world.now);
        let begun = |row: &Done<'_>, complete: bool| {
            let mine = |it: &&Client| it.server == row.place && self.counts(it);
            let counted = self.clients.iter().filter(mine);
            counted.filter(|it| !complete || it.completed.is_some()).count() as u64
        };
        let counts =
            |of: fn(&Counts) -> u64| Column::U64(rows.iter().map(|row| row.count(of)).collect());
        let reals =
            |of: fn(&Done<'_>) -> f64| Column::F64(rows.iter().map(|row| of(row)).collect());
        let maybe = |of: fn(&Done<'_>) -> Option<f64>| {
            Column::MaybeF64(rows.iter().map(|row| of(row)).collect())
        };
        let host = |row: &Done<'_>| world.network.host(row.server.spec.host).name.as_str();
        let policy = |row: &Done<'_>| row.server.spec.settings.scheduling.name();
        Table {
            name: "origins",
            columns: vec![
                ("origin", names(rows.iter().map(|row| row.server.spec.name.as_str()))),
                ("host", names(rows.iter().map(host))),
                ("policy", names(rows.iter().map(policy))),
                ("from_s", reals(|row| row.from.at.seconds())),
                ("to_s", reals(|row| row.to.at.seconds())),
                ("downloads", Column::U64(rows.iter().map(|row| begun(row, false)).collect())),
                ("completed", Column::U64(rows.iter().map(|row| begun(row, true)).collect())),
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

    pub(super) fn origin_files(&self, world: &World) -> Table {
        let done = self.done(world.now);
        let (mut origin, mut rows) = (Vec::new(), Vec::new());
        for row in &done {
            for file in 0..row.server.files.len() {
                origin.push(row.server.spec.name.as_str());
                rows.push((
                    file as u32,
                    row.to.downloads[file] - row.from.downloads[file],
                    row.to.sent[file] - row.from.sent[file],
                    row.to.read[file] - row.from.read[file],
                ));
            }
        }
        Table {
            name: "origin_files",
            columns: vec![
                ("origin", names(origin.into_iter())),
                ("file", Column::U32(rows.iter().map(|row| row.0).collect())),
                ("downloads", Column::U32(rows.iter().map(|row| row.1).collect())),
                ("sent_bytes", Column::U64(rows.iter().map(|row| row.2).collect())),
                ("read_bytes", Column::U64(rows.iter().map(|row| row.3).collect())),
            ],
        }
    }
}
