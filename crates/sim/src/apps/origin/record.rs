//! What is recorded of origins: samples and tables.

use super::client::Client;
use super::counts::Counts;
use super::server::Server;
use super::{Origins, Sample};
use flashcrowd_base::Time;
use flashcrowd_plan::Sampled;
use flashcrowd_workload::{Column, Table, names, origin};

/// What a server did between two instants.
pub(super) struct Done<'a> {
    server: &'a Server<'a>,
    pub(super) from: Counts,
    pub(super) to: Counts,
}

impl Origins<'_> {
    pub(super) fn level(&self, place: u32, server: &Server<'_>, what: Sampled) -> Option<Sample> {
        let clients = || self.clients.iter().filter(move |client| client.server == place);
        let waits = |client: &&Client| client.download.as_ref().is_some_and(|it| it.sending.waits);
        let visits = || self.visitors.iter().filter(move |visitor| visitor.server == place);
        let online = || self.rules.origins[place as usize].online();
        let present = || f64::from(online()) + visits().count() as f64;
        let waiting = || {
            let visitors = visits().filter(|visitor| visitor.sending.waits);
            (clients().filter(waits).count() + visitors.count()) as f64
        };
        Some(match what {
            Sampled::OriginRate => Sample::Bytes(server.storage.machine.counters().sent),
            Sampled::DiskRate => Sample::Bytes(server.storage.machine.counters().read),
            Sampled::DiskQueue => Sample::Level(server.storage.machine.longest_wait() as f64 - 1.0),
            Sampled::DiskWaiting => Sample::Level(waiting()),
            Sampled::OriginClients => Sample::Level(present()),
            _ => return None,
        })
    }

    pub(super) fn done(&self, now: Time) -> Vec<Done<'_>> {
        let zero = |present: &Counts| Counts {
            all: origin::Counts::default(),
            downloads: vec![0; present.downloads.len()],
            sent: vec![0; present.sent.len()],
            read: vec![0; present.read.len()],
        };
        let of = |server| {
            let server: &Server<'_> = server;
            let (from, to) = server.counted.done(zero, server.counts(now));
            Done { server, from, to }
        };
        self.servers.iter().map(of).collect()
    }

    pub(super) fn origin_files(&self, done: &[Done<'_>]) -> Table {
        let (mut origin, mut rows) = (Vec::new(), Vec::new());
        for row in done {
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
