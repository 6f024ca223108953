use crate::access_log::AccessLog;
use crate::desk::Overview;
use crate::outcome::{Ending, Mode};
use crate::pace::PaceReport;
use serde::Serialize;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counters besides the origin's.
#[derive(Debug, Default)]
pub(crate) struct Meters {
    /// Connections that were accepted, and are there now.
    pub(crate) accepted: AtomicU64,
    pub(crate) connections: AtomicU64,
    /// Connections that were turned away: too many at once, too many of one address.
    pub(crate) turned_away: [AtomicU64; 2],
    /// Bytes that sockets have taken.
    pub(crate) taken: Arc<AtomicU64>,
    /// Connections that ended since their client did not say in time what it wants.
    pub(crate) late: AtomicU64,
    /// Connections that ended since their socket took nothing.
    pub(crate) stalled: AtomicU64,
    /// Connections of HTTP/2 that ended since too many of their streams were reset.
    pub(crate) flooded: AtomicU64,
    /// Answers by the hundreds of their status.
    statuses: [AtomicU64; 6],
    modes: [AtomicU64; Mode::NAMES.len()],
    endings: [AtomicU64; Ending::NAMES.len()],
}

/// The server's activity and its counters, for a line on a terminal.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Snapshot {
    /// Connections now.
    pub connections: u64,
    /// Downloads now.
    pub clients: u64,
    /// Files that have downloads.
    pub files: u64,
    /// Answers.
    pub answers: u64,
    /// Connections that were refused.
    pub turned_away: u64,
    /// Bytes that sockets have taken, heads of answers included.
    pub sent_bytes: u64,
    /// Bytes handed to downloads.
    pub served_bytes: u64,
    /// Blocks handed to downloads, and how many of them were in memory when they were wanted.
    pub blocks: u64,
    /// See `blocks`.
    pub hits: u64,
    /// Bytes asked of the disk.
    pub read_bytes: u64,
    /// Reads asked of the disk, and those of them for which no client waited.
    pub reads: u64,
    /// See `reads`.
    pub reads_ahead: u64,
    /// Extents that have given up their memory, and how long they had it, together.
    pub evictions: u64,
    /// See `evictions`.
    pub residence_s: f64,
    /// Downloads that wait for the disk.
    pub waiting: u64,
    /// Reads that wait for the disk.
    pub queued_reads: u64,
    /// Reads that failed.
    pub disk_errors: u64,
    /// Bytes of contents in memory.
    pub memory_bytes: u64,
    /// Lines of the access log that were left out.
    pub log_lines_lost: u64,
    /// How a disk for trials has kept its pace, if there is one.
    pub trial_disk: Option<PaceReport>,
}

impl Meters {
    pub(crate) fn answered(&self, status: u16, mode: usize, ending: &str) {
        let hundreds = usize::from(status / 100).min(5);
        self.statuses[hundreds].fetch_add(1, Relaxed);
        self.modes[mode].fetch_add(1, Relaxed);
        for (name, count) in Ending::NAMES.iter().zip(&self.endings) {
            if *name == ending {
                count.fetch_add(1, Relaxed);
            }
        }
    }

    pub(crate) fn snapshot(&self, overview: &Overview, log: Option<&AccessLog>) -> Snapshot {
        let sum = |counts: &[AtomicU64]| counts.iter().map(|count| count.load(Relaxed)).sum();
        Snapshot {
            connections: self.connections.load(Relaxed),
            clients: overview.downloads as u64,
            files: overview.active_files as u64,
            answers: sum(&self.statuses),
            turned_away: sum(&self.turned_away),
            sent_bytes: self.taken.load(Relaxed),
            served_bytes: overview.counters.sent,
            blocks: overview.counters.blocks,
            hits: overview.counters.hits,
            read_bytes: overview.counters.read,
            reads: overview.counters.reads,
            reads_ahead: overview.counters.ahead,
            evictions: overview.counters.evictions,
            residence_s: overview.counters.residence.seconds(),
            waiting: overview.waiting as u64,
            queued_reads: overview.queued as u64,
            disk_errors: overview.counters.errors,
            memory_bytes: overview.memory_used,
            log_lines_lost: log.map_or(0, AccessLog::lost),
            trial_disk: overview.pace,
        }
    }

    /// In the text format of Prometheus (version 0.0.4).
    pub(crate) fn exposition(
        &self,
        overview: &Overview,
        log: Option<&AccessLog>,
        addresses: usize,
    ) -> String {
        let mut text = String::new();
        let mut family = |name: &str, kind: &str, help: &str, rows: &[(String, u64)]| {
            // Writing into a string does not fail.
            let _ =
                writeln!(text, "# HELP flashcrowd_{name} {help}\n# TYPE flashcrowd_{name} {kind}");
            for (labels, value) in rows {
                let _ = writeln!(text, "flashcrowd_{name}{labels} {value}");
            }
        };
        let one = |value: u64| [(String::new(), value)];
        let labelled = |label: &str, names: &[&str], counts: &[AtomicU64]| -> Vec<(String, u64)> {
            let rows = names.iter().zip(counts);
            rows.map(|(name, count)| (format!("{{{label}=\"{name}\"}}"), count.load(Relaxed)))
                .collect()
        };
        let counters = &overview.counters;
        let gauge = "gauge";
        let counter = "counter";
        family("connections", gauge, "Connections now.", &one(self.connections.load(Relaxed)));
        let help = "Addresses of clients now; of IPv6 a /64 is one.";
        family("addresses", gauge, help, &one(addresses as u64));
        family(
            "connections_total",
            counter,
            "Connections accepted.",
            &one(self.accepted.load(Relaxed)),
        );
        let reasons = labelled("reason", &["connections", "address"], &self.turned_away);
        family("turned_away_total", counter, "Connections turned away.", &reasons);
        let late = one(self.late.load(Relaxed));
        let help = "Connections that did not say in time what they want.";
        family("late_total", counter, help, &late);
        let stalled = one(self.stalled.load(Relaxed));
        family(
            "stalled_total",
            counter,
            "Connections whose socket took nothing for too long.",
            &stalled,
        );
        let flooded = one(self.flooded.load(Relaxed));
        family(
            "flooded_total",
            counter,
            "Connections on which too many requests were taken back.",
            &flooded,
        );
        let classes =
            labelled("class", &["none", "1xx", "2xx", "3xx", "4xx", "5xx"], &self.statuses);
        family("answers_total", counter, "Answers by status.", &classes);
        let modes = labelled("mode", &Mode::NAMES, &self.modes);
        family("answers_by_mode_total", counter, "Answers by order.", &modes);
        let endings = labelled("ending", &Ending::NAMES, &self.endings);
        family("answers_by_ending_total", counter, "Answers by how they ended.", &endings);
        family(
            "sent_bytes_total",
            counter,
            "Bytes that sockets have taken.",
            &one(self.taken.load(Relaxed)),
        );
        let (uncopied, given_up) = overview.uncopied;
        let help = "Bytes that sockets have taken from memory without a copy.";
        family("uncopied_bytes_total", counter, help, &one(uncopied));
        let help = "Bytes of memory left to the kernel, as sockets might refer to them still.";
        family("given_up_bytes_total", counter, help, &one(given_up));
        family("served_bytes_total", counter, "Bytes handed to downloads.", &one(counters.sent));
        family(
            "served_blocks_total",
            counter,
            "Blocks handed to downloads.",
            &one(counters.blocks),
        );
        family(
            "hits_total",
            counter,
            "Blocks that were in memory when wanted.",
            &one(counters.hits),
        );
        family("disk_read_bytes_total", counter, "Bytes asked of the disk.", &one(counters.read));
        family("disk_reads_total", counter, "Reads asked of the disk.", &one(counters.reads));
        family("disk_errors_total", counter, "Reads that failed.", &one(counters.errors));
        family("disk_queue", gauge, "Reads that wait for the disk.", &one(overview.queued as u64));
        family(
            "evictions_total",
            counter,
            "Extents that gave up their memory.",
            &one(counters.evictions),
        );
        family("memory_bytes", gauge, "Contents in memory.", &one(overview.memory_used));
        let allocated = one(overview.memory_allocated as u64);
        family("memory_allocated_bytes", gauge, "Memory taken for contents.", &allocated);
        let waiting = one(overview.waiting as u64);
        family("downloads_waiting", gauge, "Downloads that wait for the disk.", &waiting);
        family("downloads", gauge, "Downloads now.", &one(overview.downloads as u64));
        family(
            "active_files",
            gauge,
            "Files that somebody downloads.",
            &one(overview.active_files as u64),
        );
        let (waiting, kept) = overview.digests;
        let help = "Files whose digests are asked for and not done.";
        family("digests_waiting", gauge, help, &one(waiting as u64));
        family("digests_bytes", gauge, "Memory for digests that are done.", &one(kept));
        let help =
            "Files that something is kept of: somebody downloads them, or has of them in memory.";
        family("files", gauge, help, &one(overview.files as u64));
        let help = "Lines of the access log left out.";
        let lost = log.map_or(0, AccessLog::lost);
        family("log_lines_lost_total", counter, help, &one(lost));
        let help = "Memory of lines that wait to be written.";
        let waiting = log.map_or(0, AccessLog::waiting_bytes);
        family("log_waiting_bytes", gauge, help, &one(waiting as u64));
        if let Some(pace) = overview.pace {
            let micros = |seconds: f64| one((seconds * 1e6) as u64);
            let help = "Microseconds for which the disk for trials was busy.";
            family("trial_disk_busy_microseconds_total", counter, help, &micros(pace.busy_s));
            let help = "Reads of the disk for trials that did not begin where its head stood.";
            let positioned = one(pace.positioned_reads);
            family("trial_disk_positioned_reads_total", counter, help, &positioned);
            let help = "Microseconds of the disk for trials that late deliveries have cost.";
            family("trial_disk_lost_microseconds_total", counter, help, &micros(pace.lost_s));
            let help = "How late the latest read was delivered, in microseconds.";
            let latest = micros(pace.lateness_max_s);
            family("trial_disk_lateness_max_microseconds", gauge, help, &latest);
            let help = "99 of 100 reads were delivered within so many microseconds.";
            let p99 = micros(pace.lateness_p99_s);
            family("trial_disk_lateness_p99_microseconds", gauge, help, &p99);
            let help = "Whether the disk for trials has lost its pace: no measurement then.";
            family("trial_disk_void", gauge, help, &one(pace.void.into()));
        }
        text
    }
}
