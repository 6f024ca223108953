//! The files that are shared: where their bytes are on the disk, and which pieces are what the torrent says.

use crate::metainfo::Metainfo;
use flashcrowd_swarm::{Bitfield, Torrent};
use sha1_smol::Sha1;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The files of a torrent in a folder.
#[derive(Debug)]
pub(crate) struct Content {
    torrent: Arc<Torrent>,
    hashes: Vec<[u8; 20]>,
    files: Vec<Part>,
    /// Files that are open, those used last at the end.
    open: Vec<usize>,
    /// For a piece that is checked.
    piece: Vec<u8>,
}

/// One file.
#[derive(Debug)]
struct Part {
    path: PathBuf,
    begin: u64,
    bytes: u64,
    file: Option<Opened>,
}

#[derive(Debug)]
struct Opened {
    file: File,
    writable: bool,
}

/// Files that are open at once.
const MOST_OPEN: usize = 16;

/// Says which file it was.
fn of(path: &Path) -> impl Fn(io::Error) -> io::Error + '_ {
    move |error| io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

impl Content {
    pub(crate) fn new(metainfo: &Metainfo, torrent: Arc<Torrent>, folder: &Path) -> Content {
        let mut begin = 0;
        let part = |(path, bytes): &(PathBuf, u64)| {
            let part = Part { path: folder.join(path), begin, bytes: *bytes, file: None };
            begin += bytes;
            part
        };
        let files = metainfo.files.iter().map(part).collect();
        let hashes = metainfo.hashes.clone();
        Content { torrent, hashes, files, open: Vec::new(), piece: Vec::new() }
    }

    /// The pieces that are here and right; `go_on` is asked before each whether to look at it.
    pub(crate) fn verify(&mut self, mut go_on: impl FnMut() -> bool) -> io::Result<Bitfield> {
        let mut here = Bitfield::new(self.torrent.pieces());
        for piece in 0..self.torrent.pieces() {
            if !go_on() {
                break;
            }
            match self.is_right(piece) {
                Ok(true) => _ = here.set(piece),
                Ok(false) => {}
                // Not there yet, or shorter than it will be.
                Err(error) if is_absent(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(here)
    }

    /// Makes the files that are missing: those without bytes are whole, too.
    pub(crate) fn make_empty_files(&mut self) -> io::Result<()> {
        for index in 0..self.files.len() {
            if self.files[index].bytes == 0 && !self.files[index].path.exists() {
                self.file(index, true)?;
            }
        }
        Ok(())
    }

    /// Whether a piece is what the torrent says.
    pub(crate) fn is_right(&mut self, piece: u32) -> io::Result<bool> {
        let mut bytes = std::mem::take(&mut self.piece);
        bytes.resize(self.torrent.piece_bytes(piece) as usize, 0);
        let read = self.read(piece, 0, &mut bytes);
        let right = read.map(|()| {
            let expected = self.hashes.get(piece as usize);
            expected == Some(&Sha1::from(&bytes).digest().bytes())
        });
        self.piece = bytes;
        right
    }

    /// Reads a part of a piece.
    pub(crate) fn read(&mut self, piece: u32, begin: u32, into: &mut [u8]) -> io::Result<()> {
        let mut rest = into;
        for (index, at, length) in self.parts(piece, begin, rest.len()) {
            let (now, later) = rest.split_at_mut(length);
            let Some(file) = self.file(index, false)? else {
                return Err(of(&self.files[index].path)(io::ErrorKind::NotFound.into()));
            };
            let read = file.read_exact_at(now, at);
            read.map_err(of(&self.files[index].path))?;
            rest = later;
        }
        Ok(())
    }

    /// Writes a part of a piece.
    pub(crate) fn write(&mut self, piece: u32, begin: u32, bytes: &[u8]) -> io::Result<()> {
        let mut rest = bytes;
        for (index, at, length) in self.parts(piece, begin, rest.len()) {
            let (now, later) = rest.split_at(length);
            if let Some(file) = self.file(index, true)? {
                let written = file.write_all_at(now, at);
                written.map_err(of(&self.files[index].path))?;
            }
            rest = later;
        }
        Ok(())
    }

    /// Where these bytes are: file, offset in it, bytes.
    fn parts(&self, piece: u32, begin: u32, length: usize) -> Vec<(usize, u64, usize)> {
        let start = u64::from(piece) * u64::from(self.torrent.piece_bytes(0)) + u64::from(begin);
        let end = start + length as u64;
        let first = self.files.partition_point(|file| file.begin + file.bytes <= start);
        let files = self.files.iter().enumerate().skip(first);
        files
            .take_while(|(_, file)| file.begin < end)
            .filter(|(_, file)| file.bytes > 0)
            .map(|(index, file)| {
                let from = start.max(file.begin);
                let to = end.min(file.begin + file.bytes);
                (index, from - file.begin, (to - from) as usize)
            })
            .collect()
    }

    /// A file, opened; none if it is to be read and is not there.
    fn file(&mut self, index: usize, write: bool) -> io::Result<Option<&File>> {
        let part = &mut self.files[index];
        if part.file.as_ref().is_some_and(|opened| write && !opened.writable) {
            part.file = None;
            self.open.retain(|other| *other != index);
        }
        if part.file.is_none() {
            if write && let Some(folder) = part.path.parent() {
                fs::create_dir_all(folder).map_err(of(folder))?;
            }
            let mut options = OpenOptions::new();
            options.read(true).write(write).create(write);
            let file = match options.open(&part.path) {
                Ok(file) => file,
                Err(error) if !write && error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(of(&part.path)(error)),
            };
            part.file = Some(Opened { file, writable: write });
            self.open.push(index);
            if self.open.len() > MOST_OPEN {
                let oldest = self.open.remove(0);
                self.files[oldest].file = None;
            }
        }
        Ok(self.files[index].file.as_ref().map(|opened| &opened.file))
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metainfo(files: &[(&str, u64)], content: &[u8], piece_bytes: u32) -> Metainfo {
        let pieces = content.chunks(piece_bytes as usize);
        Metainfo {
            info_hash: [0; 20],
            files: files.iter().map(|(path, bytes)| (PathBuf::from(path), *bytes)).collect(),
            piece_bytes,
            hashes: pieces.map(|piece| Sha1::from(piece).digest().bytes()).collect(),
            announce: None,
        }
    }

    #[test]
    fn pieces_go_over_the_ends_of_files_and_are_verified() {
        let folder = tempfile::tempdir().unwrap();
        let bytes: Vec<u8> = (0..100u8).collect();
        let files = [("t/a", 35), ("t/empty", 0), ("t/sub/b", 1), ("t/c", 64)];
        let metainfo = metainfo(&files, &bytes, 30);
        let torrent = Arc::new(metainfo.geometry(10).unwrap());
        let mut content = Content::new(&metainfo, Arc::clone(&torrent), folder.path());
        assert!(content.verify(|| true).unwrap().is_empty());
        for (piece, begin) in [(1, 20), (0, 0), (1, 0), (0, 20), (0, 10), (1, 10), (3, 0)] {
            let at = 30 * piece as usize + begin as usize;
            content.write(piece, begin, &bytes[at..at + 10]).unwrap();
        }
        let here: Vec<u32> = content.verify(|| true).unwrap().iter().collect();
        assert_eq!(here, [0, 1, 3]);
        content.write(1, 7, &[255]).unwrap();
        assert!(!content.is_right(1).unwrap() && content.is_right(0).unwrap());
        content.write(1, 0, &bytes[30..60]).unwrap();
        content.write(2, 0, &bytes[60..90]).unwrap();
        content.make_empty_files().unwrap();
        // Another that finds the files.
        let mut again = Content::new(&metainfo, torrent, folder.path());
        assert!(again.verify(|| true).unwrap().is_full());
        let mut some = [0; 12];
        again.read(1, 2, &mut some).unwrap();
        assert_eq!(some, bytes[32..44]);
        for (path, bytes) in files {
            assert_eq!(fs::metadata(folder.path().join(path)).unwrap().len(), bytes, "{path}");
        }
    }

    #[test]
    fn many_files_are_not_open_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let names: Vec<String> = (0..3 * MOST_OPEN).map(|n| format!("t/{n}")).collect();
        let files: Vec<(&str, u64)> = names.iter().map(|name| (name.as_str(), 1)).collect();
        let bytes: Vec<u8> = (0..files.len() as u8).collect();
        let metainfo = metainfo(&files, &bytes, 48);
        let torrent = Arc::new(metainfo.geometry(16).unwrap());
        let mut content = Content::new(&metainfo, torrent, folder.path());
        content.write(0, 0, &bytes).unwrap();
        assert!(content.is_right(0).unwrap());
        assert_eq!(content.open.len(), MOST_OPEN);
        assert_eq!(content.files.iter().filter(|file| file.file.is_some()).count(), MOST_OPEN);
    }

    #[test]
    fn a_file_that_cannot_be_written_is_named() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("a")).unwrap();
        let metainfo = metainfo(&[("a", 10)], &[1; 10], 10);
        let torrent = Arc::new(metainfo.geometry(10).unwrap());
        let mut content = Content::new(&metainfo, torrent, folder.path());
        let error = content.write(0, 0, &[1; 10]).unwrap_err();
        assert!(error.to_string().contains("/a: "), "{error}");
    }
}
