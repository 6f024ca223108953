//! The storage of content servers and of seeds of swarms: the machine of `flashcrowd_origin` with a disk in virtual
//! time.

use flashcrowd_base::{Slab, Span, Time};
use flashcrowd_origin::disk::{Disk, Medium};
use flashcrowd_origin::{Origin, ReadId, Settings};
use flashcrowd_workload::origin::Counts;

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
    /// The disk is asked for `bytes` bytes: when they are there, and the number of the read.
    pub(super) fn read(
        &mut self,
        now: Time,
        read: ReadId,
        address: u64,
        length: u32,
    ) -> (Time, u32) {
        (self.disk.submit(now, address, length), self.reads.insert(read))
    }
    /// The read is done.
    pub(super) fn completed(&mut self, now: Time, number: u32) {
        if let Some(read) = self.reads.remove(number) {
            self.machine.completed(now, read, true);
        }
    }
    pub(super) fn counts(&self, now: Time) -> Counts {
        Counts { at: now, machine: self.machine.counters(), disk: self.disk.counters() }
    }
}
