//! Disks in virtual time: how long a request takes, with the arm where the one before has left it. The same arithmetic
//! paces a real disk's reads in a server that is measured on one that no longer seeks.

mod hard_disk;
mod network_volume;
mod ssd;

pub use hard_disk::{HardDisk, Positioning};
pub use network_volume::NetworkVolume;
pub use ssd::Ssd;

use flashcrowd_base::{Refusal, Settings, Span, Time};
use serde::{Deserialize, Serialize};
use std::fmt::Debug;

/// A kind of disk with its numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[expect(missing_docs, reason = "each kind says what it is, and the schema takes it from there")]
pub enum Medium {
    HardDisk(HardDisk),
    Ssd(Ssd),
    NetworkVolume(NetworkVolume),
}

/// A disk: requests are served first come, first served.
#[derive(Clone, Debug)]
pub struct Disk {
    state: State,
    counters: DiskCounters,
}

#[derive(Clone, Debug)]
enum State {
    HardDisk(hard_disk::Arm),
    Ssd(ssd::Channels),
    NetworkVolume(network_volume::Buckets),
}

/// The counters of a disk.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DiskCounters {
    /// Requests.
    pub requests: u64,
    /// Bytes.
    pub bytes: u64,
    /// Requests that did not begin where the arm stood.
    pub seeks: u64,
    /// Time of disk that the requests took: of the arm, of all channels, or of the dearer bucket.
    pub busy: Span,
    /// The price of the requests, in the unit of the price.
    pub cost: f64,
}

/// How a request is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Service {
    done: Time,
    busy: Span,
    seek: bool,
}

impl Medium {
    /// Whether the numbers can be.
    pub fn check(&self) -> Result<(), Refusal> {
        match self {
            Medium::HardDisk(it) => it.check_bounds(),
            Medium::Ssd(it) => it.check_bounds(),
            Medium::NetworkVolume(it) => it.check_bounds(),
        }
    }

    /// A disk that has nothing to do. `credit`: a request that comes at most this late begins when the one before was
    /// done; for a driver in wall-clock time, which wakes late (0 in virtual time).
    pub fn build(&self, credit: Span) -> Disk {
        let state = match self {
            Medium::HardDisk(disk) => State::HardDisk(hard_disk::Arm::new(disk, credit)),
            Medium::Ssd(ssd) => State::Ssd(ssd::Channels::new(ssd, credit)),
            Medium::NetworkVolume(volume) => {
                State::NetworkVolume(network_volume::Buckets::new(volume, credit))
            }
        };
        Disk { state, counters: DiskCounters::default() }
    }
}

impl Disk {
    /// A request that comes now for `length` bytes from `address` on; when it is done.
    pub fn submit(&mut self, now: Time, address: u64, length: u32) -> Time {
        let (service, price) = match &mut self.state {
            State::HardDisk(arm) => (arm.serve(now, address, length), 0.0),
            State::Ssd(channels) => (channels.serve(now, length), 0.0),
            State::NetworkVolume(buckets) => (buckets.serve(now, length), buckets.price()),
        };
        self.counters.requests += 1;
        self.counters.bytes += u64::from(length);
        self.counters.seeks += u64::from(service.seek);
        self.counters.busy += service.busy;
        self.counters.cost += price;
        service.done
    }

    /// Its counters.
    pub fn counters(&self) -> DiskCounters {
        self.counters
    }
}

/// When a server that was free from `free` on begins with what comes now.
fn begin(now: Time, free: Time, credit: Span) -> Time {
    free.max(Time::from_nanos(now.nanos().saturating_sub(credit.nanos())))
}
