//! The entity tags of files, as their server shows them.

use crate::Validators;
use crate::open_file::Version;
use crate::settings::Tagging;
use std::collections::{BTreeMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Files that are remembered to notice that one was rewritten under its old date.
pub(crate) const MAX_SEEN: usize = 100_000;

/// Makes the validators of files.
#[derive(Debug)]
pub(crate) struct Tags {
    tagging: Tagging,
    seen: Mutex<FirstStates>,
}

impl Tags {
    pub(crate) fn new(tagging: Tagging) -> Tags {
        Tags { tagging, seen: Mutex::default() }
    }

    /// The validators of a version of the file of this name.
    pub(crate) fn of(&self, name: &Path, version: &Version) -> Validators {
        let Version { length, inode, modified: (seconds, nanos), changed: (since, rest), .. } =
            version;
        let etag = match self.tagging {
            Tagging::Version => {
                format!("\"{length:x}-{inode:x}-{seconds:x}.{nanos:x}-{since:x}.{rest:x}\"")
            }
            Tagging::MtimeSize if self.is_first(name, version) => {
                format!("\"{length:x}-{seconds:x}.{nanos:x}\"")
            }
            Tagging::MtimeSize => {
                format!("\"{length:x}-{seconds:x}.{nanos:x}-{since:x}.{rest:x}\"")
            }
        };
        Validators { etag, modified: u64::try_from(*seconds).unwrap_or(0) }
    }

    /// Whether no other state of the file was seen under this length and date.
    fn is_first(&self, name: &Path, version: &Version) -> bool {
        let key = hash(&(name, version.length, version.modified));
        let state = hash(&(version.key(), version.changed));
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.first(key, state) == state
    }
}

/// The first state of each file under a length and a date, as hashes; two that are alike by chance would be a tag that is longer than
/// it need be.
#[derive(Debug, Default)]
struct FirstStates {
    first: BTreeMap<u64, u64>,
    /// In the order in which they came.
    order: VecDeque<u64>,
}

impl FirstStates {
    fn first(&mut self, key: u64, state: u64) -> u64 {
        if let Some(first) = self.first.get(&key) {
            return *first;
        }
        if self.order.len() >= MAX_SEEN
            && let Some(oldest) = self.order.pop_front()
        {
            self.first.remove(&oldest);
        }
        self.first.insert(key, state);
        self.order.push_back(key);
        state
    }
}

fn hash(what: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    const COPY: Version =
        Version { device: 1, inode: 7, length: 5, modified: (100, 1), changed: (200, 0) };

    #[test]
    fn copies_of_one_date_and_length_have_one_tag() {
        let other = Version { device: 2, inode: 8, changed: (300, 0), ..COPY };
        let tag = |tagging, version| Tags::new(tagging).of(Path::new("f"), &version).etag;
        assert_eq!(tag(Tagging::MtimeSize, COPY), tag(Tagging::MtimeSize, other));
        assert_ne!(tag(Tagging::Version, COPY), tag(Tagging::Version, other));
        for changed in [
            Version { length: 6, ..COPY },
            Version { modified: (100, 2), ..COPY },
            Version { modified: (101, 1), ..COPY },
        ] {
            assert_ne!(tag(Tagging::MtimeSize, COPY), tag(Tagging::MtimeSize, changed));
        }
    }

    /// Rewritten in place, or replaced by another file, and given the old date.
    #[test]
    fn a_state_that_only_the_time_of_change_tells_apart_has_another_tag() {
        let (one, two) = (Path::new("f"), Path::new("g"));
        for tagging in [Tagging::Version, Tagging::MtimeSize] {
            let tags = Tags::new(tagging);
            let states = [
                COPY,
                Version { changed: (201, 0), ..COPY },
                Version { changed: (202, 0), ..COPY },
                Version { inode: 9, changed: (203, 0), ..COPY },
            ];
            let said = states.map(|state| tags.of(one, &state).etag);
            for (at, tag) in said.iter().enumerate() {
                assert!(!said[..at].contains(tag), "{said:?}");
            }
            // The first one keeps its own, and so does another file.
            assert_eq!(tags.of(one, &COPY).etag, said[0]);
            assert_eq!(tags.of(two, &COPY).etag, said[0]);
        }
    }

    #[test]
    fn what_is_remembered_has_a_bound() {
        let mut seen = FirstStates::default();
        for key in 0..MAX_SEEN as u64 + 10 {
            seen.first(key, key);
        }
        assert_eq!((seen.first.len(), seen.order.len()), (MAX_SEEN, MAX_SEEN));
        assert_eq!(seen.first(11, 0), 11);
        assert_eq!(seen.first(0, 5), 5);
        let page = include_str!("../../../docs/serve.md");
        assert!(page.contains("| 100,000 files, 5 MB"), "{MAX_SEEN}");
    }
}
