use crate::clock::Clock;
use crate::desk::{Desk, OURS};
use crate::download::Download;
use crate::open_file::{OpenFile, Version};
use crate::target::Root;
use crate::text::Text;
use bytes::Bytes;
use flashcrowd_base::{Span, Time};
use flashcrowd_origin::Failure;
use rustix::io::Errno;
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::task::spawn_blocking;

/// Blocks of a file at most: larger files have larger blocks.
const MAX_BLOCKS: u64 = 1 << 16;
/// Bytes of a block at least.
const BLOCK: u64 = 1 << 20;
/// Memory for the digests of files that are done; those that were asked for longest ago go.
pub(crate) const MAX_KEPT: u64 = 32 << 20;
/// Memory for the digests of files that are being read or wait for it, when they will be done; more files are refused.
pub(crate) const MAX_WAITING: u64 = 32 << 20;
/// The size at which a file counts besides its digests, more than it takes: so a thousand files are the most, however
/// small they are.
pub(crate) const ENTRY: u64 = 32 << 10;
/// Bytes of a file that are read before others have their turn.
const TURN: u64 = 64 << 20;
/// A client that has not asked for this long has left: others may have the place.
const PRESENCE: Span = Span::from_secs(60);
/// How long a file is not tried again that the disk could not read.
const FAILED: Span = Span::from_secs(60);

/// The digests of a file, and of its blocks.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Digests {
    pub(crate) block_bytes: u64,
    pub(crate) blocks: Vec<[u8; 32]>,
    pub(crate) whole: [u8; 32],
}

/// How far a file's digests are.
#[derive(Clone, Debug)]
pub(crate) enum Progress {
    /// This number of bytes is done.
    Computing(u64),
    Ready(Arc<Digests>),
    /// The disk could not read the file a moment ago.
    Failed,
    /// There is no place for one more file that waits.
    Full,
}

/// A file whose digests were asked for.
#[derive(Debug)]
struct Entry {
    version: Version,
    name: Arc<Path>,
    asked: Time,
    state: State,
}

#[derive(Debug)]
enum State {
    /// It waits for its next slice of work, or has it: the bytes that are done, and the state of
    /// the digest.
    Waiting(Arc<AtomicU64>, Option<Box<Partial>>),
    Ready(Arc<Digests>),
    /// When the disk could not read it.
    Failed(Time),
}

impl Entry {
    /// Memory that it takes at most.
    fn bytes(&self) -> u64 {
        let blocks = self.version.length.div_ceil(block_bytes(self.version.length));
        ENTRY + 32 * blocks
    }

    fn is_waiting(&self) -> bool {
        matches!(self.state, State::Waiting(..))
    }
}

#[derive(Debug, Default)]
struct Entries {
    /// By device and inode.
    of: BTreeMap<(u64, u64), Entry>,
    /// Those that wait for their turn.
    queue: VecDeque<(u64, u64)>,
    /// A task reads.
    works: bool,
}

impl Entries {
    /// Memory of those that wait, or of the others.
    fn bytes(&self, waiting: bool) -> u64 {
        self.of.values().filter(|entry| entry.is_waiting() == waiting).map(Entry::bytes).sum()
    }

    /// Of those that wait, or of the others, the one that was asked for longest ago.
    fn oldest(&self, waiting: bool) -> Option<((u64, u64), Time)> {
        let entries = self.of.iter().filter(|(_, entry)| entry.is_waiting() == waiting);
        entries.map(|(key, entry)| (*key, entry.asked)).min_by_key(|(_, asked)| *asked)
    }

    fn remove(&mut self, key: (u64, u64)) {
        self.of.remove(&key);
        self.queue.retain(|other| *other != key);
    }

    /// Takes one more that waits, if there is a place or one was abandoned.
    fn admit(&mut self, key: (u64, u64), entry: Entry, now: Time) -> bool {
        self.remove(key);
        while self.bytes(true) + entry.bytes() > MAX_WAITING {
            match self.oldest(true) {
                Some((left, asked)) if now.since(asked) > PRESENCE => self.remove(left),
                _ => return false,
            }
        }
        self.of.insert(key, entry);
        self.queue.push_back(key);
        true
    }

    fn trim(&mut self) {
        while self.bytes(false) > MAX_KEPT {
            let Some((oldest, _)) = self.oldest(false) else { return };
            self.remove(oldest);
        }
    }
}

/// The digests of files, computed when they are asked for, one file at a time and each for a turn: as a client of the origin that takes
/// its blocks in order, so that what the disk brings for it serves others as well. A file that waits is a path, and no open file.
#[derive(Debug)]
pub(crate) struct DigestBook {
    desk: Arc<Desk>,
    root: Arc<Root>,
    direct: bool,
    clock: Clock,
    entries: Mutex<Entries>,
}

impl DigestBook {
    pub(crate) fn new(desk: &Arc<Desk>, root: &Arc<Root>, direct: bool) -> Arc<DigestBook> {
        let (desk, root) = (Arc::clone(desk), Arc::clone(root));
        Arc::new(DigestBook {
            desk,
            root,
            direct,
            clock: Clock::started(),
            entries: Mutex::default(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The whole file's digest, if it is known.
    pub(crate) fn whole(&self, version: &Version) -> Option<[u8; 32]> {
        let entries = self.lock();
        let entry = entries.of.get(&version.key()).filter(|entry| entry.version == *version)?;
        match &entry.state {
            State::Ready(digests) => Some(digests.whole),
            _ => None,
        }
    }

    /// Files that wait or are being read, and bytes of memory for digests that are done.
    pub(crate) fn counts(&self) -> (usize, u64) {
        let entries = self.lock();
        (entries.of.values().filter(|entry| entry.is_waiting()).count(), entries.bytes(false))
    }

    /// The digests of a file that are known; it is queued if they are not.
    pub(crate) fn ask(self: &Arc<Self>, file: &OpenFile) -> Progress {
        let (now, key) = (self.clock.now(), file.version.key());
        let mut entries = self.lock();
        if let Some(entry) = entries.of.get_mut(&key).filter(|it| it.version == file.version) {
            entry.asked = now;
            match &entry.state {
                State::Ready(digests) => return Progress::Ready(Arc::clone(digests)),
                State::Waiting(done, _) => return Progress::Computing(done.load(Relaxed)),
                State::Failed(when) if now.since(*when) < FAILED => return Progress::Failed,
                State::Failed(_) => {}
            }
        }
        let (version, name) = (file.version, Arc::clone(&file.name));
        let state = State::Waiting(Arc::default(), None);
        // One that has changed keeps its place.
        if let Some(entry) = entries.of.get_mut(&key).filter(|entry| entry.is_waiting()) {
            *entry = Entry { version, name, asked: now, state };
            return Progress::Computing(0);
        }
        if !entries.admit(key, Entry { version, name, asked: now, state }, now) {
            return Progress::Full;
        }
        if !std::mem::replace(&mut entries.works, true) {
            tokio::spawn(Arc::clone(self).work());
        }
        Progress::Computing(0)
    }

    /// Gives each file that waits its turn, until none does.
    async fn work(self: Arc<Self>) {
        loop {
            let (key, version, name, done, partial) = {
                let mut entries = self.lock();
                let Some(key) = entries.queue.pop_front() else {
                    entries.works = false;
                    return;
                };
                let Some(entry) = entries.of.get_mut(&key) else { continue };
                let State::Waiting(done, partial) = &mut entry.state else { continue };
                let (done, partial) = (Arc::clone(done), partial.take());
                (key, entry.version, Arc::clone(&entry.name), done, partial)
            };
            let outcome = self.turn(version, name, &done, partial).await;
            let mut entries = self.lock();
            let now = self.clock.now();
            // It may have left meanwhile, or be another version now.
            let Some(entry) = entries.of.get_mut(&key).filter(|entry| entry.is_waiting()) else {
                continue;
            };
            if entry.version != version {
                entries.queue.push_back(key);
                continue;
            }
            match outcome {
                Ok(Turn::More(partial)) => {
                    entry.state = State::Waiting(done, Some(partial));
                    entries.queue.push_back(key);
                }
                Ok(Turn::Done(digests)) => entry.state = State::Ready(Arc::new(digests)),
                Err(Failure::Disk) => entry.state = State::Failed(now),
                // It has changed or gone: the next request begins again.
                Err(Failure::Closed | Failure::Stalled) => drop(entries.of.remove(&key)),
            }
            entries.trim();
        }
    }

    /// Reads on for a turn.
    async fn turn(
        &self,
        version: Version,
        name: Arc<Path>,
        done: &AtomicU64,
        partial: Option<Box<Partial>>,
    ) -> Result<Turn, Failure> {
        let (root, path) = (Arc::clone(&self.root), Arc::clone(&name));
        let opened = spawn_blocking(move || root.open_file(&path)).await;
        let opened = opened.unwrap_or_else(|error| Err(io::Error::other(error)));
        let (file, metadata) = opened.map_err(|error| match error.raw_os_error() {
            Some(code) if Errno::from_raw_os_error(code) == Errno::NOENT => Failure::Closed,
            _ => Failure::Disk,
        })?;
        if Version::of(&metadata) != version {
            return Err(Failure::Closed);
        }
        let file = self.desk.open(file, &name, version, self.direct).map_err(|_| Failure::Disk)?;
        let mut partial = partial.unwrap_or_else(|| Box::new(Partial::of(version.length)));
        let end = version.length.min(partial.done + TURN);
        let range = partial.done..end;
        let mut download =
            Download::begin(&self.desk, &file, std::slice::from_ref(&range), true, OURS, None);
        while let Some(piece) = download.next().await? {
            partial.update(&piece.cut(&range));
            done.store(partial.done, Relaxed);
            drop(piece);
            // Others of this thread go on between two blocks.
            tokio::task::yield_now().await;
        }
        if partial.done < end {
            return Err(Failure::Closed);
        }
        Ok(if end < version.length { Turn::More(partial) } else { Turn::Done(partial.finish()) })
    }
}

/// The result of a slice of work.
enum Turn {
    More(Box<Partial>),
    Done(Digests),
}

/// The digests of a file's beginning.
#[derive(Debug)]
struct Partial {
    done: u64,
    whole: Sha256,
    block: Sha256,
    /// Bytes that the block lacks.
    left: u64,
    block_bytes: u64,
    blocks: Vec<[u8; 32]>,
}

impl Partial {
    fn of(length: u64) -> Partial {
        let block_bytes = block_bytes(length);
        Partial {
            done: 0,
            whole: Sha256::new(),
            block: Sha256::new(),
            left: block_bytes,
            block_bytes,
            blocks: Vec::new(),
        }
    }

    fn update(&mut self, bytes: &[u8]) {
        self.whole.update(bytes);
        let mut rest = bytes;
        while !rest.is_empty() {
            let some = rest.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
            self.block.update(&rest[..some]);
            rest = &rest[some..];
            self.left -= some as u64;
            if self.left == 0 {
                self.blocks.push(self.block.finalize_reset().into());
                self.left = self.block_bytes;
            }
        }
        self.done += bytes.len() as u64;
    }

    fn finish(mut self) -> Digests {
        if self.left < self.block_bytes {
            self.blocks.push(self.block.finalize().into());
        }
        let Partial { block_bytes, blocks, whole, .. } = self;
        Digests { block_bytes, blocks, whole: whole.finalize().into() }
    }
}

/// The bytes of a block of a file of this length.
pub(crate) fn block_bytes(length: u64) -> u64 {
    let mut block = BLOCK;
    while length.div_ceil(block) > MAX_BLOCKS {
        block *= 2;
    }
    block
}

#[derive(Serialize)]
#[serde(untagged)]
enum Manifest<'a> {
    Ready {
        format: &'static str,
        version: u32,
        etag: &'a str,
        length: u64,
        algorithm: &'static str,
        block_bytes: u64,
        blocks: [u8; 0],
        whole: String,
    },
    Computing {
        format: &'static str,
        version: u32,
        state: &'static str,
        done: u64,
        length: u64,
    },
}

const FORMAT: &str = "flashcrowd-digests";
/// Digests in a piece of a text.
const PIECE: usize = 256;

/// The answer to a request for digests (docs/protocol.md), while they are computed.
pub(crate) fn computing(done: u64, length: u64) -> Text {
    let state = "computing";
    json(&Manifest::Computing { format: FORMAT, version: 1, state, done, length }).into()
}

/// The same when they are there.
pub(crate) fn manifest(digests: &Arc<Digests>, etag: &str, length: u64) -> Text {
    let text = json(&Manifest::Ready {
        format: FORMAT,
        version: 1,
        etag,
        length,
        algorithm: "sha-256",
        block_bytes: digests.block_bytes,
        blocks: [],
        whole: hexadecimal(&digests.whole),
    });
    // Entity tags have no brackets.
    let (head, tail) = text.split_once("[]").unwrap_or((&text, ""));
    let count = digests.blocks.len();
    let bytes = head.len() + 1 + (67 * count).saturating_sub(1) + 1 + tail.len();
    let (begin, end) = (format!("{head}["), format!("]{tail}"));
    let digests = Arc::clone(digests);
    let blocks = (0..count.div_ceil(PIECE)).map(move |piece| {
        let mut text = String::new();
        for (at, digest) in digests.blocks.iter().enumerate().skip(PIECE * piece).take(PIECE) {
            let comma = if at > 0 { "," } else { "" };
            text.push_str(&format!("{comma}\"{}\"", hexadecimal(digest)));
        }
        Bytes::from(text)
    });
    let begin = std::iter::once(Bytes::from(begin));
    Text::of(bytes as u64, begin.chain(blocks).chain(std::iter::once(Bytes::from(end))))
}

fn json(manifest: &Manifest<'_>) -> String {
    // Strings and numbers only: it does not fail.
    serde_json::to_string(manifest).unwrap_or_default()
}

fn hexadecimal(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// RFC 4648, 4: what `Repr-Digest` has between its colons.
pub(crate) fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let mut word = [0; 3];
        word[..chunk.len()].copy_from_slice(chunk);
        let bits = u32::from_be_bytes([0, word[0], word[1], word[2]]);
        for place in 0..4 {
            let sextet = bits >> (18 - 6 * place) & 63;
            text.push(if place <= chunk.len() { ALPHABET[sextet as usize] as char } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The test vectors of RFC 4648, 10.
    #[test]
    fn base64_is_that_of_rfc_4648() {
        for (text, encoded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(text.as_bytes()), encoded);
        }
    }

    /// As if all of it were made at once.
    #[test]
    fn a_list_comes_in_pieces() {
        for count in [0, 1, 2, PIECE, PIECE + 1, 3 * PIECE] {
            let blocks: Vec<[u8; 32]> = (0..count).map(|at| [at as u8; 32]).collect();
            let digests = Digests { block_bytes: BLOCK, blocks, whole: [7; 32] };
            let text = manifest(&Arc::new(digests), "\"a-b\"", 5);
            let length = text.left();
            let pieces: Vec<Bytes> = text.collect();
            assert!(pieces.iter().all(|piece| piece.len() < 1 << 15));
            let all = pieces.concat();
            assert_eq!(all.len() as u64, length);
            let read: serde_json::Value = serde_json::from_slice(&all).unwrap();
            let blocks = read["blocks"].as_array().unwrap();
            assert_eq!((blocks.len(), &read["etag"]), (count, &"\"a-b\"".into()));
            assert!(blocks.iter().enumerate().all(|(at, it)| *it == hexadecimal(&[at as u8; 32])));
        }
    }

    proptest! {
        /// Whatever is asked for in whatever order: what waits stays within its bound and keeps its place as long as
        /// clients ask, what is done stays within its own.
        #[test]
        fn entries_stay_within_their_bounds(
            steps in prop::collection::vec((0u64..40, 0u64..4, 0u64..30_000_000_000, any::<bool>()), 1..400)
        ) {
            let mut entries = Entries::default();
            let mut now = Time::START;
            for (inode, seconds, length, finishes) in steps {
                // 16 of the largest lists fill either bound.
                let length = length * 8;
                now += Span::from_secs(seconds);
                let version = Version { inode, length, ..Version::default() };
                let waiting = |entries: &Entries| -> Vec<_> {
                    let waits = entries.of.iter().filter(|(_, entry)| entry.is_waiting());
                    waits.map(|(key, entry)| (*key, entry.asked)).collect()
                };
                let before = waiting(&entries);
                if finishes && let Some(key) = entries.queue.pop_front() {
                    let digests = Digests { block_bytes: BLOCK, blocks: vec![], whole: [0; 32] };
                    entries.of.get_mut(&key).unwrap().state = State::Ready(Arc::new(digests));
                    entries.trim();
                } else {
                    let state = State::Waiting(Arc::default(), None);
                    let entry = Entry { version, name: Path::new("f").into(), asked: now, state };
                    let is_in = entries.admit(version.key(), entry, now);
                    let after = waiting(&entries);
                    for (key, asked) in before {
                        let stays = after.iter().any(|(other, _)| *other == key);
                        prop_assert!(stays || now.since(asked) > PRESENCE || key == version.key());
                    }
                    prop_assert_eq!(is_in, after.iter().any(|(key, _)| *key == version.key()));
                }
                prop_assert!(entries.bytes(true) <= MAX_WAITING && entries.bytes(false) <= MAX_KEPT);
                prop_assert_eq!(waiting(&entries).len(), entries.queue.len());
            }
        }
    }

    #[test]
    fn the_page_has_the_bounds() {
        let page = include_str!("../../../docs/serve.md");
        let most = |bytes: u64| {
            let files = bytes / (ENTRY + 32);
            format!("{} MiB, {},{:03} files", bytes >> 20, files / 1000, files % 1000)
        };
        for said in [
            format!("| digests that are done | {}; those", most(MAX_KEPT)),
            format!("not done | {}; then `503`", most(MAX_WAITING)),
            format!("after each {} MiB", TURN >> 20),
            format!("after {} s without a question", PRESENCE.seconds()),
            format!("`500` for {} s", FAILED.seconds()),
        ] {
            assert!(page.contains(&said), "{said}");
        }
    }

    #[test]
    fn large_files_have_large_blocks() {
        assert_eq!(block_bytes(0), 1 << 20);
        assert_eq!(block_bytes(1 << 36), 1 << 20);
        assert_eq!(block_bytes((1 << 36) + 1), 1 << 21);
        assert_eq!(block_bytes(u64::MAX), 1 << 48);
    }
}
