//! Receive packet steering (RPS, Linux's networking/scaling.rst): the writer of a packet into an interface
//! only queues it, and another processor does the work of receiving it. That is more than half of what an
//! emulator's thread does without.

use super::host;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::io;

/// What an interface begins with; of each network namespace, since Linux 6.3.
const DEFAULT_MASK: &str = "core/rps_default_mask";

/// The emulator's thread stays on one processor, and hosts receive on the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steering {
    emulator: usize,
    others: Vec<usize>,
}

impl Steering {
    /// The emulator on one of this thread's processors, counted from zero; `None` where there is no such one, or
    /// no other, or where this kernel does not steer what an interface receives from its beginning.
    ///
    /// # Errors
    /// The system does not say which processors there are.
    pub fn with_emulator_on(number: usize) -> io::Result<Option<Steering>> {
        let allowed = sched_getaffinity(None)?;
        let mut others: Vec<usize> =
            (0..CpuSet::MAX_CPU).filter(|processor| allowed.is_set(*processor)).collect();
        if number >= others.len() || others.len() == 1 || !host::has(DEFAULT_MASK) {
            return Ok(None);
        }
        let emulator = others.remove(number);
        Ok(Some(Steering { emulator, others }))
    }

    /// Has the next interface of the calling thread's network namespace receive on the other processors.
    pub(super) fn steer_next_interface(&self) -> io::Result<()> {
        host::write(DEFAULT_MASK, &mask(&self.others))
    }

    /// Ties the calling thread to the emulator's processor.
    pub(super) fn tie_emulator(&self) -> io::Result<()> {
        let mut only = CpuSet::new();
        only.set(self.emulator);
        Ok(sched_setaffinity(None, &only)?)
    }
}

/// Processors as the kernel reads them: a bit each, in hexadecimal words of 32 bits with commas between, the
/// highest first.
fn mask(processors: &[usize]) -> String {
    let mut words = vec![0u32; processors.iter().max().map_or(1, |most| most / 32 + 1)];
    for processor in processors {
        words[processor / 32] |= 1 << (processor % 32);
    }
    let words: Vec<String> = words.iter().rev().map(|word| format!("{word:08x}")).collect();
    words.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_words_of_32_processors() {
        assert_eq!(mask(&[1]), "00000002");
        assert_eq!(mask(&[0, 31, 33]), "00000002,80000001");
        assert_eq!(mask(&[64]), "00000001,00000000,00000000");
    }

    #[test]
    fn the_emulator_has_one_processor_and_hosts_the_others() {
        let allowed = sched_getaffinity(None).expect("Linux");
        let count = (0..CpuSet::MAX_CPU).filter(|it| allowed.is_set(*it)).count();
        let found = |number| Steering::with_emulator_on(number).expect("Linux");
        assert_eq!(found(count), None);
        let Some(last) = found(count - 1) else {
            return assert!(count == 1 || !host::has(DEFAULT_MASK));
        };
        assert_eq!(last.others.len(), count - 1);
        assert!(last.others.iter().all(|other| *other < last.emulator));
        std::thread::spawn(move || {
            last.tie_emulator().expect("a thread may always stay");
            let now = sched_getaffinity(None).expect("Linux");
            assert!(now.is_set(last.emulator));
            assert_eq!(now.count(), 1);
        })
        .join()
        .expect("no panic");
    }
}
