//! A torrent (BEP 3): what is shared, how it is cut, what each piece hashes to, and its trackers.

use crate::bencode::Value;
use flashcrowd_swarm::{GeometryError, Torrent};
use sha1_smol::Sha1;
use std::path::PathBuf;
use thiserror::Error;

/// A torrent of one file or several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metainfo {
    /// SHA-1 of the info dictionary.
    pub info_hash: [u8; 20],
    /// Its files, by their paths below the folder that they are put into, with their bytes; in the order of the content.
    pub files: Vec<(PathBuf, u64)>,
    /// Bytes of a piece.
    pub piece_bytes: u32,
    /// SHA-1 of each piece.
    pub hashes: Vec<[u8; 20]>,
    /// The address of its tracker, if it names one.
    pub announce: Option<String>,
}

/// Why bytes are no torrent that can be shared.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NoTorrent {
    /// No bencoding.
    #[error(transparent)]
    Malformed(#[from] crate::bencode::Malformed),
    /// Something is not there, or is something else.
    #[error("{0} is missing, or is not what it should be")]
    Missing(&'static str),
    /// A name that would leave the folder.
    #[error("the file name {0:?} cannot be used")]
    BadName(String),
    /// Sizes that no torrent has.
    #[error(transparent)]
    Geometry(#[from] GeometryError),
    /// As many hashes as there are, and as there should be.
    #[error("{0} hashes for {1} pieces")]
    Hashes(usize, u32),
}

/// Files at most: what is opened is bounded by it.
const MOST_FILES: usize = 100_000;

impl Metainfo {
    /// Reads a torrent file.
    ///
    /// # Errors
    /// It is none that can be shared.
    pub fn parse(text: &[u8]) -> Result<Metainfo, NoTorrent> {
        let whole = Value::parse(text)?;
        let info = whole.get("info").ok_or(NoTorrent::Missing("info"))?;
        let place = whole.place("info").ok_or(NoTorrent::Missing("info"))?;
        let piece_bytes = info.get("piece length").and_then(Value::number);
        let piece_bytes = piece_bytes.and_then(|bytes| u32::try_from(bytes).ok());
        let hashes = info.get("pieces").and_then(Value::bytes);
        let (hashes, rest) = hashes.ok_or(NoTorrent::Missing("info.pieces"))?.as_chunks();
        if !rest.is_empty() {
            return Err(NoTorrent::Missing("info.pieces"));
        }
        let made = Metainfo {
            info_hash: Sha1::from(&text[place]).digest().bytes(),
            files: files(info)?,
            piece_bytes: piece_bytes.ok_or(NoTorrent::Missing("info.piece length"))?,
            hashes: hashes.to_vec(),
            announce: whole.get("announce").and_then(Value::text).map(str::to_owned),
        };
        let pieces = made.geometry(BLOCK)?.pieces();
        if made.hashes.len() as u64 != u64::from(pieces) {
            return Err(NoTorrent::Hashes(made.hashes.len(), pieces));
        }
        Ok(made)
    }
    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        // No more than 64 bits: `files` has added them up.
        self.files.iter().map(|(_, bytes)| bytes).sum()
    }
    /// How it is cut, with blocks of this size.
    ///
    /// # Errors
    /// Sizes that no torrent has.
    pub fn geometry(&self, block_bytes: u32) -> Result<Torrent, GeometryError> {
        Torrent::new(self.bytes(), self.piece_bytes, block_bytes)
    }
}

/// The size of a request by clients.
const BLOCK: u32 = 1 << 14;

fn files(info: &Value<'_>) -> Result<Vec<(PathBuf, u64)>, NoTorrent> {
    let name = name(info.get("name").ok_or(NoTorrent::Missing("info.name"))?)?;
    if let Some(bytes) = info.get("length") {
        let bytes = bytes.number().ok_or(NoTorrent::Missing("info.length"))?;
        return Ok(vec![(PathBuf::from(name), bytes)]);
    }
    let listed = info.get("files").and_then(Value::list);
    let listed = listed.filter(|files| files.len() <= MOST_FILES);
    let mut files: Vec<(PathBuf, u64)> = Vec::new();
    let mut sum = 0u64;
    for file in listed.ok_or(NoTorrent::Missing("info.files"))? {
        let bytes = file.get("length").and_then(Value::number);
        let bytes = bytes.ok_or(NoTorrent::Missing("info.files.length"))?;
        sum = sum.checked_add(bytes).ok_or(NoTorrent::Missing("info.files.length"))?;
        let path = file.get("path").and_then(Value::list).filter(|path| !path.is_empty());
        let mut whole = PathBuf::from(name);
        for part in path.ok_or(NoTorrent::Missing("info.files.path"))? {
            whole.push(self::name(part)?);
        }
        files.push((whole, bytes));
    }
    let mut paths: Vec<&PathBuf> = files.iter().map(|(path, _)| path).collect();
    paths.sort_unstable();
    // A file that is the folder of another sorts right before what is in it.
    if let Some(twice) = paths.windows(2).find(|pair| pair[1].starts_with(pair[0])) {
        return Err(NoTorrent::BadName(twice[1].display().to_string()));
    }
    Ok(files)
}

/// A name of a file or a folder that leads nowhere else.
fn name<'a>(value: &Value<'a>) -> Result<&'a str, NoTorrent> {
    let bytes = value.bytes().ok_or(NoTorrent::Missing("a file name"))?;
    let bad = || NoTorrent::BadName(String::from_utf8_lossy(bytes).into_owned());
    let text = value.text().ok_or_else(bad)?;
    let leads_away = matches!(text, "" | "." | "..");
    if leads_away || text.contains(['/', '\\', '\0']) { Err(bad()) } else { Ok(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn torrent(info: &str) -> Vec<u8> {
        format!("d8:announce12:http://t/ann4:infod{info}ee").into_bytes()
    }

    #[test]
    fn one_file_and_several() {
        let hashes = "h".repeat(40);
        let single =
            torrent(&format!("6:lengthi30000e4:name1:a12:piece lengthi16384e6:pieces40:{hashes}"));
        let made = Metainfo::parse(&single).unwrap();
        assert_eq!(made.files, [(PathBuf::from("a"), 30_000)]);
        assert_eq!((made.hashes.len(), made.announce.as_deref()), (2, Some("http://t/ann")));
        let info = single.windows(6).position(|it| it == b"4:info").unwrap() + 6;
        let digest = Sha1::from(&single[info..single.len() - 1]).digest().bytes();
        assert_eq!(made.info_hash, digest);
        let several = torrent(&format!(
            "5:filesld6:lengthi20000e4:pathl1:x1:yeed6:lengthi0e4:pathl1:zeee4:name1:a\
             12:piece lengthi16384e6:pieces40:{hashes}"
        ));
        let made = Metainfo::parse(&several).unwrap();
        assert_eq!(made.files, [(PathBuf::from("a/x/y"), 20_000), (PathBuf::from("a/z"), 0)]);
        assert_eq!((made.bytes(), made.geometry(BLOCK).unwrap().pieces()), (20_000, 2));
    }

    #[test]
    fn names_that_lead_elsewhere_and_numbers_that_do_not_fit_are_refused() {
        let hashes = "h".repeat(40);
        let rest = format!("12:piece lengthi16384e6:pieces40:{hashes}");
        let single = |name: &str, length: &str| {
            torrent(&format!("6:length{length}4:name{}:{name}{rest}", name.len()))
        };
        assert!(Metainfo::parse(&single("a", "i30000e")).is_ok());
        for name in ["", ".", "..", "a/b", "/a", "a\\b", "a\0b"] {
            let error = Metainfo::parse(&single(name, "i30000e")).unwrap_err();
            assert!(matches!(error, NoTorrent::BadName(_)), "{name:?}: {error}");
        }
        for length in ["i0e", "i-1e", "i90000e", "3:abc", "i9223372036854775807e"] {
            assert!(Metainfo::parse(&single("a", length)).is_err(), "{length}");
        }
        let several =
            |paths: &str| Metainfo::parse(&torrent(&format!("5:filesl{paths}e4:name1:a{rest}")));
        let file = |path: &str| format!("d6:lengthi10000e4:pathl{path}ee");
        assert!(several(&file("1:x")).is_err(), "two hashes of one piece");
        let three = file("1:z");
        assert!(several(&(file("1:x") + &file("1:y") + &three)).is_ok());
        assert!(several(&(file("1:x") + &file("1:x") + &three)).is_err());
        assert!(several(&(file("1:x") + &file("1:x1:y") + &three)).is_err());
        assert!(several(&(file("") + &three + &three)).is_err());
        let huge = "d6:lengthi9223372036854775807e4:pathl1:pee".repeat(3);
        assert!(several(&huge).is_err());
    }

    #[test]
    fn a_piece_length_is_one_that_can_be() {
        for piece in ["i0e", "i-5e", "i99999999999e", "1:a"] {
            let text = torrent(&format!(
                "6:lengthi10e4:name1:a12:piece length{piece}6:pieces20:{}",
                "h".repeat(20)
            ));
            assert!(Metainfo::parse(&text).is_err(), "{piece}");
        }
    }
}
