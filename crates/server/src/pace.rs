use flashcrowd_base::{Span, Time};
use flashcrowd_origin::disk::{Disk, Medium};
use serde::Serialize;
use std::collections::BTreeMap;

/// The lateness of a delivery that is forgiven at most: longer stalls of the machine lose pace, and
/// are reported.
const CREDIT: Span = Span::from_millis(250);
/// A delivery that is later than this makes a trial void.
const LATEST: Span = Span::from_millis(500);
/// So does pace that is lost, as a part of the time for which the disk was busy.
const MAX_LOST: f64 = 0.01;

/// When the reads of a simulated disk are done: one head, requests first come, first served. Pure: instants come from
/// the driver.
///
/// A driver wakes late, and a client that waits for a read asks for the next one as much later. If that were charged to
/// the disk, it would be slower than it says: with waits of a millisecond by a half at reads of 64 KiB one after the
/// other. So a late delivery is taken off the arrival of the next request, up to [`CREDIT`]. Time without requests
/// takes it away: no client waited then.
#[derive(Debug)]
pub(crate) struct Pace {
    disk: Disk,
    /// Where each file begins, and its length: one is behind the other, in the order in which they were first read. One
    /// that has grown is elsewhere.
    places: BTreeMap<(u64, u64), (u64, u64)>,
    end: u64,
    under_way: usize,
    delivered: Time,
    /// How late the last delivery was, the head start that its request had included.
    lag: Span,
    lost: Span,
    lateness: Lateness,
}

/// A read that is under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Due {
    asked: Time,
    /// When it is done.
    pub(crate) at: Time,
}

/// How a disk that is only thought of has kept its pace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct PaceReport {
    /// Seconds for which it was busy.
    pub busy_s: f64,
    /// Reads, and how many of them did not begin where the head stood.
    pub reads: u64,
    /// See `reads`.
    pub positioned_reads: u64,
    /// The price of the reads, in the unit of its price.
    pub cost: f64,
    /// How late reads were delivered: the latest one, and all but one in a hundred.
    pub lateness_max_s: f64,
    /// See `lateness_max_s`; to an eighth above.
    pub lateness_p99_s: f64,
    /// Seconds of the disk that lateness has lost.
    pub lost_s: f64,
    /// Whether this is no measurement of such a disk: a delivery was more than half a second late, or more than one part in a hundred
    /// of its time was lost.
    pub void: bool,
}

impl Pace {
    /// Such a disk, at rest.
    pub(crate) fn new(medium: &Medium) -> Pace {
        Pace {
            disk: medium.build(Span::ZERO),
            places: BTreeMap::new(),
            end: 0,
            under_way: 0,
            delivered: Time::START,
            lag: Span::ZERO,
            lost: Span::ZERO,
            lateness: Lateness::default(),
        }
    }

    /// A read of a part of a file is asked for. `file` says which one, `size` is the file's length.
    pub(crate) fn ask(
        &mut self,
        now: Time,
        file: (u64, u64),
        size: u64,
        offset: u64,
        length: u32,
    ) -> Due {
        let (mut place, room) = self.places.get(&file).copied().unwrap_or((0, 0));
        if size > room {
            place = self.end;
            self.end += size;
            self.places.insert(file, (place, size));
        }
        let idle = if self.under_way == 0 { now.since(self.delivered) } else { Span::ZERO };
        let owed = self.lag.saturating_sub(idle);
        let credit = owed.min(CREDIT);
        self.lost += owed.saturating_sub(credit);
        self.lag = Span::ZERO;
        self.under_way += 1;
        let arrival = Time::from_nanos(now.nanos().saturating_sub(credit.nanos()));
        Due { asked: now, at: self.disk.submit(arrival, place + offset, length) }
    }

    /// The requested read is delivered.
    pub(crate) fn deliver(&mut self, now: Time, due: Due) {
        self.under_way = self.under_way.saturating_sub(1);
        self.delivered = now;
        self.lag = now.since(due.at);
        // A read that was due before it was asked for could not come sooner.
        self.lateness.note(now.since(due.at.max(due.asked)));
    }

    /// How it has kept its pace.
    pub(crate) fn report(&self) -> PaceReport {
        let counters = self.disk.counters();
        let (busy_s, lost_s) = (counters.busy.seconds(), self.lost.seconds());
        PaceReport {
            busy_s,
            reads: counters.requests,
            positioned_reads: counters.seeks,
            cost: counters.cost,
            lateness_max_s: self.lateness.max.seconds(),
            lateness_p99_s: self.lateness.quantile(0.99).seconds(),
            lost_s,
            void: self.lateness.max > LATEST || lost_s > MAX_LOST * busy_s,
        }
    }
}

/// How often it was how late: eight steps to a doubling of microseconds.
#[derive(Debug)]
struct Lateness {
    counts: [u64; 8 * 62],
    max: Span,
}

impl Default for Lateness {
    fn default() -> Lateness {
        Lateness { counts: [0; 8 * 62], max: Span::ZERO }
    }
}

impl Lateness {
    fn note(&mut self, late: Span) {
        self.max = self.max.max(late);
        let micros = late.nanos() / 1000;
        let octave = (micros | 7).ilog2() - 2;
        let step = (micros >> octave.saturating_sub(1)) & 7;
        let place = if octave == 0 { micros } else { u64::from(octave) * 8 + step };
        self.counts[place as usize] += 1;
    }

    /// The least upper bound of a step that so great a part of all is within.
    fn quantile(&self, part: f64) -> Span {
        let all: u64 = self.counts.iter().sum();
        let wanted = (all as f64 * part).ceil() as u64;
        let mut sum = 0;
        for (place, count) in (0u64..).zip(&self.counts) {
            sum += count;
            if sum >= wanted {
                let (octave, step) = (place / 8, place % 8);
                let above = if octave == 0 { step + 1 } else { (9 + step) << (octave - 1) };
                return Span::from_micros(above).min(self.max);
            }
        }
        self.max
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashcrowd_base::Rate;
    use flashcrowd_origin::disk::{HardDisk, Positioning};
    use proptest::prelude::*;

    const MILLI: u64 = 1_000_000;

    /// 1 ms to a place, 1 MB/s: a thousand bytes take a millisecond.
    fn pace() -> Pace {
        let positioning = Positioning::Constant { time_ns: Span::from_millis(1) };
        let rate_bps = Rate::at_least_one(8_000_000);
        let disk = HardDisk { positioning, rate_bps, ..HardDisk::default() };
        Pace::new(&Medium::HardDisk(disk))
    }

    fn at(nanos: u64) -> Time {
        Time::from_nanos(nanos)
    }

    /// Reads one after the other, each asked for `think` after the one before was delivered, and delivered `late` after it
    /// is due. When the last one was delivered.
    fn closed_loop(pace: &mut Pace, reads: u64, think: u64, late: u64) -> u64 {
        let mut now = 0;
        for read in 0..reads {
            let due = pace.ask(at(now), (0, 0), 1 << 30, (reads - read) * 5000, 1000);
            now = due.at.nanos().max(now) + late;
            pace.deliver(at(now), due);
            now += think;
        }
        now - think
    }

    #[test]
    fn late_deliveries_do_not_make_it_slower() {
        for late in [0, MILLI / 10, MILLI] {
            let mut pace = pace();
            // Each read is somewhere else: 2 ms, but for what the last ones were late.
            let took = closed_loop(&mut pace, 1000, 0, late);
            assert_eq!(took, 2000 * MILLI + late);
            let report = pace.report();
            assert_eq!((report.reads, report.positioned_reads), (1000, 1000));
            assert!((report.busy_s - 2.0).abs() < 1e-9, "{report:?}");
            let late = late as f64 / 1e9;
            let expected = (0.0, late, late, false);
            let PaceReport { lost_s, lateness_max_s, lateness_p99_s, void, .. } = report;
            assert_eq!((lost_s, lateness_max_s, lateness_p99_s, void), expected);
        }
        // Nothing can make up for waking later than a read takes, each time.
        let mut pace = pace();
        closed_loop(&mut pace, 1000, 0, 300 * MILLI);
        assert!(pace.report().void);
    }

    #[test]
    fn what_it_was_late_is_forgotten_while_nobody_asks() {
        let mut pace = pace();
        let first = pace.ask(at(0), (0, 0), 1 << 30, 5000, 1000);
        pace.deliver(at(first.at.nanos() + 10 * MILLI), first);
        // 12 ms: it has been idle for 7 of the 10 that it was late.
        let second = pace.ask(at(19 * MILLI), (0, 0), 1 << 30, 0, 1000);
        assert_eq!(second.at, at(18 * MILLI));
        pace.deliver(at(19 * MILLI), second);
        let third = pace.ask(at(100 * MILLI), (0, 0), 1 << 30, 5000, 1000);
        assert_eq!(third.at, at(102 * MILLI));
    }

    #[test]
    fn a_long_stall_voids_it() {
        let mut pace = pace();
        closed_loop(&mut pace, 1000, 0, 0);
        assert!(!pace.report().void);
        let stalled = pace.ask(at(2000 * MILLI), (0, 0), 1 << 30, 5000, 1000);
        pace.deliver(at(2402 * MILLI), stalled);
        assert_eq!((pace.report().void, pace.report().lost_s), (false, 0.0));
        // The part beyond the credit of 250 ms is lost, and is more than a hundredth of two
        // seconds.
        let next = pace.ask(at(2402 * MILLI), (0, 0), 1 << 30, 0, 1000);
        assert_eq!((pace.report().void, pace.report().lost_s), (true, 0.15));
        assert_eq!(next.at, at(2154 * MILLI));
    }

    #[test]
    fn files_lie_one_behind_the_other() {
        let (mut pace, first, second) = (pace(), (0, 0), (0, 1));
        pace.ask(at(0), first, 3000, 0, 3000);
        pace.ask(at(0), second, 1000, 0, 1000);
        assert_eq!(pace.report().positioned_reads, 0);
        let again = pace.ask(at(0), first, 3000, 0, 1000);
        assert_eq!((pace.report().positioned_reads, again.at), (1, at(6 * MILLI)));
    }

    proptest! {
        #[test]
        fn a_quantile_is_at_most_an_eighth_above(micros in proptest::collection::vec(0u64..1 << 40, 1..200)) {
            let mut lateness = Lateness::default();
            for value in &micros {
                lateness.note(Span::from_micros(*value));
            }
            let mut sorted = micros;
            sorted.sort_unstable();
            let exact = sorted[(sorted.len() as f64 * 0.99).ceil() as usize - 1];
            let found = lateness.quantile(0.99).nanos() / 1000;
            prop_assert!(exact <= found && found <= exact + exact / 8 + 1, "{exact} {found}");
        }
    }
}
