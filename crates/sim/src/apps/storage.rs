//! What content servers and seeds of swarms read files from: the machine of `flashcrowd_origin` with a disk in virtual
//! time, and the table of what they did.

use flashcrowd_base::{Slab, Span, Time};
use flashcrowd_origin::disk::{Disk, DiskCounters, Medium};
use flashcrowd_origin::{Counters, Origin, ReadId, Settings};
use flashcrowd_workload::{Column, Table, names};

/// Reads of one storage under way at most, by the check of its settings: an event names one by [`MAX_READS`] times the
/// number of the storage, and its own.
pub(super) const MAX_READS: u32 = 1024;

/// A machine with its disk.
pub(super) struct Storage {
    pub(super) machine: Origin,
    disk: Disk,
    /// Reads under way.
    reads: Slab<ReadId>,
}

impl Storage {
    /// With no files. The check of the plan has asked for settings that can be.
    pub(super) fn new(settings: &Settings, medium: &Medium) -> Storage {
        let machine = Origin::new(settings).expect("the settings can be");
        Storage { machine, disk: medium.build(Span::ZERO), reads: Slab::default() }
    }
    /// The disk is asked for so many bytes: when they are there, and the number of the read.
    pub(super) fn read(
        &mut self,
        now: Time,
        read: ReadId,
        address: u64,
        length: u32,
    ) -> (Time, u32) {
        (self.disk.submit(now, address, length), self.reads.insert(read))
    }
    /// What this read was for is there.
    pub(super) fn completed(&mut self, now: Time, number: u32) {
        if let Some(read) = self.reads.remove(number) {
            self.machine.completed(now, read, true);
        }
    }
    pub(super) fn counts(&self, now: Time) -> Counts {
        Counts { at: now, machine: self.machine.counters(), disk: self.disk.counters() }
    }
}

/// What a machine and its disk have done by some instant.
#[derive(Clone, Default)]
pub(super) struct Counts {
    pub(super) at: Time,
    pub(super) machine: Counters,
    pub(super) disk: DiskCounters,
}

/// A row of the table `origins`: what one of them did between two instants.
pub(super) struct Row<'a> {
    pub(super) origin: &'a str,
    pub(super) host: &'a str,
    pub(super) policy: &'static str,
    pub(super) disk: &'a Medium,
    /// Clients of its own that came then, and those that have their file.
    pub(super) downloads: u64,
    pub(super) completed: u64,
    pub(super) from: Counts,
    pub(super) to: Counts,
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

/// The table of all of them.
pub(super) fn table(rows: &[Row<'_>]) -> Table {
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
