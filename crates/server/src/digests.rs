use crate::desk::Desk;
use crate::download::Download;
use crate::open_file::{OpenFile, Version};
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Semaphore;

/// Blocks of a file at most: larger files have larger blocks.
const MAX_BLOCKS: u64 = 1 << 16;
/// Bytes of a block at least.
const BLOCK: u64 = 1 << 20;
/// Files whose digests are kept; the one that was asked for longest ago goes.
const MAX_FILES: usize = 256;

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
    /// So many bytes are done.
    Computing(u64),
    Ready(Arc<Digests>),
}

#[derive(Debug)]
struct Entry {
    version: Version,
    /// When it was asked for last, counted.
    asked: u64,
    done: Arc<AtomicU64>,
    digests: Option<Arc<Digests>>,
}

#[derive(Debug, Default)]
struct Entries {
    /// How often one was asked for.
    asked: u64,
    /// By device and inode.
    of: BTreeMap<(u64, u64), Entry>,
}

/// The digests of files, each computed when it is first asked for, one file at a time: as a client of the origin that takes its
/// blocks in order, so that what the disk brings for it serves others as well.
#[derive(Debug)]
pub(crate) struct DigestBook {
    entries: Mutex<Entries>,
    turn: Semaphore,
}

impl DigestBook {
    pub(crate) fn new() -> Arc<DigestBook> {
        Arc::new(DigestBook { entries: Mutex::default(), turn: Semaphore::new(1) })
    }

    /// The whole file's digest, if it is known.
    pub(crate) fn whole(&self, version: &Version) -> Option<[u8; 32]> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = entries.of.get(&(version.device, version.inode))?;
        let digests = entry.digests.as_ref().filter(|_| entry.version == *version)?;
        Some(digests.whole)
    }

    /// What is known of a file; what is not is begun with.
    pub(crate) fn ask(self: &Arc<Self>, desk: &Arc<Desk>, file: &Arc<OpenFile>) -> Progress {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.asked += 1;
        let asked = entries.asked;
        let key = (file.version.device, file.version.inode);
        if let Some(entry) = entries.of.get_mut(&key)
            && entry.version == file.version
        {
            entry.asked = asked;
            return match &entry.digests {
                Some(digests) => Progress::Ready(Arc::clone(digests)),
                None => Progress::Computing(entry.done.load(Relaxed)),
            };
        }
        let done = Arc::new(AtomicU64::new(0));
        let entry = Entry { version: file.version, asked, done: Arc::clone(&done), digests: None };
        entries.of.insert(key, entry);
        if entries.of.len() > MAX_FILES {
            let oldest = entries.of.iter().min_by_key(|(_, entry)| entry.asked);
            if let Some(oldest) = oldest.map(|(key, _)| *key) {
                entries.of.remove(&oldest);
            }
        }
        let (book, desk, file) = (Arc::clone(self), Arc::clone(desk), Arc::clone(file));
        tokio::spawn(async move {
            let Ok(_turn) = book.turn.acquire().await else { return };
            let digests = digest(&desk, &file, &done).await.map(Arc::new);
            let mut entries = book.entries.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(entry) = entries.of.get_mut(&key)
                && entry.version == file.version
            {
                match digests {
                    Some(digests) => entry.digests = Some(digests),
                    // It could not be read, or has changed: whoever asks again begins again.
                    None => drop(entries.of.remove(&key)),
                }
            }
        });
        Progress::Computing(0)
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

/// Whom the disk reads for when it reads for digests: nobody's address.
const OURS: u32 = 0;

/// Reads a file once. Nothing: it could not be read to its end.
async fn digest(desk: &Arc<Desk>, file: &Arc<OpenFile>, done: &AtomicU64) -> Option<Digests> {
    let length = file.version.length;
    let block_bytes = block_bytes(length);
    let (mut whole, mut block) = (Sha256::new(), Sha256::new());
    let mut blocks = Vec::new();
    let mut left = block_bytes;
    let whole_file = 0..length;
    let mut download =
        Download::begin(desk, file, std::slice::from_ref(&whole_file), true, OURS, None);
    while let Some(piece) = download.next().await.ok()? {
        let bytes = &piece.bytes[..];
        // Blocks of both kinds are powers of two, and those that are sent the smaller ones.
        whole.update(bytes);
        block.update(bytes);
        left -= bytes.len() as u64;
        if left == 0 {
            blocks.push(block.finalize_reset().into());
            left = block_bytes;
        }
        done.fetch_add(bytes.len() as u64, Relaxed);
        drop(piece);
        // Others of this thread go on between two blocks.
        tokio::task::yield_now().await;
    }
    if left < block_bytes {
        blocks.push(block.finalize().into());
    }
    (done.load(Relaxed) == length).then(|| Digests {
        block_bytes,
        blocks,
        whole: whole.finalize().into(),
    })
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
        blocks: Vec<String>,
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

/// What a client gets that asks for digests (docs/protocol.md).
pub(crate) fn manifest(progress: &Progress, etag: &str, length: u64) -> String {
    let manifest = match progress {
        Progress::Computing(done) => Manifest::Computing {
            format: FORMAT,
            version: 1,
            state: "computing",
            done: *done,
            length,
        },
        Progress::Ready(digests) => Manifest::Ready {
            format: FORMAT,
            version: 1,
            etag,
            length,
            algorithm: "sha-256",
            block_bytes: digests.block_bytes,
            blocks: digests.blocks.iter().map(|digest| hexadecimal(digest)).collect(),
            whole: hexadecimal(&digests.whole),
        },
    };
    // Strings and numbers only: it does not fail.
    serde_json::to_string(&manifest).unwrap_or_default()
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

    #[test]
    fn large_files_have_large_blocks() {
        assert_eq!(block_bytes(0), 1 << 20);
        assert_eq!(block_bytes(1 << 36), 1 << 20);
        assert_eq!(block_bytes((1 << 36) + 1), 1 << 21);
        assert_eq!(block_bytes(u64::MAX), 1 << 48);
    }
}
