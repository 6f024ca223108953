use super::{Service, begin};
use flashcrowd_base::{Rate, Span, Time};
use serde::{Deserialize, Serialize};

flashcrowd_base::settings! {
    /// One arm over turning platters: a positioning time, and the rate at which it reads on.
    ///
    /// The defaults are the disk of circus2004 as far as it is known: about 10 MB/s of 64 KiB in any order.
    #[serde(default)]
    pub struct HardDisk {
        /// How long it takes to a place that is not the one behind the last read's; a plain time for the same to any place.
        /// A gap that is passed sooner is read over.
        pub positioning: Positioning,
        /// The rate at which it reads on.
        pub rate_bps: Rate,
        /// Its size, over which the arm's way is measured. The files lie at its beginning.
        #[min(1)]
        pub size_bytes: u64,
    }
}

/// How long a hard disk takes to a place.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Positioning {
    /// The same to any place.
    Constant {
        /// How long.
        time_ns: Span,
    },
    /// By distance: the time to settle, plus half a turn, plus a part of the full stroke that grows with the square
    /// root of the distance (Ruemmler and Wilkes, "An introduction to disk drive modeling", 1994, for long seeks less steep).
    Distance {
        /// The least, to the next track.
        settle_ns: Span,
        /// Half a turn of the platter: 4.17 ms at 7200 a minute.
        half_turn_ns: Span,
        /// The time that the way over the whole disk adds.
        full_stroke_ns: Span,
    },
}

impl Default for HardDisk {
    fn default() -> HardDisk {
        HardDisk {
            positioning: Positioning::Constant { time_ns: Span::from_millis(5) },
            rate_bps: Rate::at_least_one(320_000_000),
            size_bytes: 80_000_000_000,
        }
    }
}

impl HardDisk {
    fn positioning(&self, distance: u64) -> Span {
        match self.positioning {
            Positioning::Constant { time_ns } => time_ns,
            Positioning::Distance { settle_ns, half_turn_ns, full_stroke_ns } => {
                let part = (distance as f64 / self.size_bytes as f64).min(1.0);
                let way = Span::from_seconds(full_stroke_ns.seconds() * libm::sqrt(part));
                settle_ns + half_turn_ns + way
            }
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Arm {
    disk: HardDisk,
    credit: Span,
    free: Time,
    head: u64,
}

impl Arm {
    pub(super) fn new(disk: &HardDisk, credit: Span) -> Arm {
        Arm { disk: disk.clone(), credit, free: Time::START, head: 0 }
    }

    pub(super) fn serve(&mut self, now: Time, address: u64, length: u32) -> Service {
        let rate = self.disk.rate_bps;
        let distance = address.abs_diff(self.head);
        // A short gap is read over: the platter turns on in any case.
        let positioning = match distance {
            0 => Span::ZERO,
            _ if address > self.head => {
                self.disk.positioning(distance).min(rate.transmission(distance))
            }
            _ => self.disk.positioning(distance),
        };
        let busy = positioning + rate.transmission(u64::from(length));
        let done = begin(now, self.free, self.credit) + busy;
        self.free = done;
        self.head = address + u64::from(length);
        Service { done, busy, seek: distance > 0 }
    }
}

#[cfg(test)]
mod tests {
    use crate::disk::{HardDisk, Medium, Positioning};
    use flashcrowd_base::{RandomStream, Rate, Span, Time};

    /// MB/s of a closed loop of one request after the other.
    fn closed_loop(medium: &Medium, length: u32, mut address: impl FnMut(u64) -> u64) -> f64 {
        let mut disk = medium.build(Span::ZERO);
        let mut now = Time::START;
        for request in 0..2000 {
            now = disk.submit(now, address(request), length);
        }
        f64::from(length) * 2000.0 / now.seconds() / 1e6
    }

    /// Rates of a paced disk with these numbers, by hand, in MB/s: 40.0, 40.0, 9.88, 33.5.
    #[test]
    fn sequential_and_random_rates_are_those_of_the_calibration() {
        let medium = Medium::HardDisk(HardDisk::default());
        let mut stream = RandomStream::new(1, "addresses", 0);
        let sequential = |length: u32| closed_loop(&medium, length, |at| at * u64::from(length));
        let mut random =
            |length: u32| closed_loop(&medium, length, |_| stream.bits() % 80_000_000_000);
        let rates = [sequential(1 << 16), sequential(1 << 20), random(1 << 16), random(1 << 20)];
        for (rate, wanted) in rates.into_iter().zip([40.0, 40.0, 9.88, 33.5]) {
            assert!((rate / wanted - 1.0).abs() < 0.01, "{rates:?}");
        }
    }

    #[test]
    fn a_short_gap_is_read_over_and_a_long_way_costs_more() {
        let positioning = Positioning::Distance {
            settle_ns: Span::from_millis(1),
            half_turn_ns: Span::from_millis(4),
            full_stroke_ns: Span::from_millis(10),
        };
        let disk = HardDisk {
            positioning,
            rate_bps: Rate::at_least_one(8_000_000),
            size_bytes: 1_000_000,
        };
        let mut disk = Medium::HardDisk(disk).build(Span::ZERO);
        // 1 MB/s: 1000 bytes take a millisecond. From the beginning; over a gap of 2 ms; back over a quarter.
        assert_eq!(disk.submit(Time::START, 0, 1000).nanos(), 1_000_000);
        assert_eq!(disk.submit(Time::START, 3000, 1000).nanos(), 4_000_000);
        let far = disk.submit(Time::START, 254_000, 1000);
        assert_eq!(far.nanos(), 4_000_000 + 5_000_000 + 5_000_000 + 1_000_000);
        let back = disk.submit(Time::START, 5000, 1000);
        assert_eq!(back.since(far).nanos(), 5_000_000 + 5_000_000 + 1_000_000);
        assert_eq!(disk.counters().seeks, 3);
    }

    #[test]
    fn lateness_is_forgiven_up_to_the_credit() {
        let disk = HardDisk { rate_bps: Rate::at_least_one(8_000_000), ..HardDisk::default() };
        let medium = Medium::HardDisk(disk);
        let at = |credit: u64, ms: u64| {
            let mut disk = medium.build(Span::from_millis(credit));
            disk.submit(Time::START, 0, 1000);
            disk.submit(Time::START + Span::from_millis(ms), 1000, 1000).nanos() / 1000
        };
        assert_eq!((at(0, 6), at(10, 6), at(10, 30)), (7_000, 2_000, 21_000));
    }
}
