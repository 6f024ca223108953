use crate::Validators;
use flashcrowd_origin::FileId;
use rustix::fs::OFlags;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicBool, Ordering};

/// Which state of which file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) length: u64,
    /// Seconds and nanoseconds.
    pub(crate) modified: (i64, i64),
}

impl Version {
    pub(crate) fn of(metadata: &Metadata) -> Version {
        Version {
            device: metadata.dev(),
            inode: metadata.ino(),
            length: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }

    /// The entity tag is of the length, the inode and the nanosecond of the last change.
    pub(crate) fn validators(&self) -> Validators {
        let (seconds, nanos) = self.modified;
        let etag = format!("\"{:x}-{:x}-{seconds:x}.{nanos:x}\"", self.length, self.inode);
        Validators { etag, modified: u64::try_from(seconds).unwrap_or(0) }
    }
}

/// A file that is served.
#[derive(Debug)]
pub(crate) struct OpenFile {
    file: File,
    pub(crate) version: Version,
    pub(crate) id: FileId,
    direct: AtomicBool,
}

/// What came of a read.
#[derive(Debug)]
pub(crate) enum ReadOutcome {
    /// All bytes are there.
    Whole,
    /// The file is another one now.
    Changed,
    /// The disk could not.
    Failed,
}

/// Offsets, lengths and addresses of reads past the page cache are multiples of this.
pub(crate) const ALIGNMENT: usize = 4096;

impl OpenFile {
    pub(crate) fn new(file: File, version: Version, id: FileId, direct: bool) -> OpenFile {
        let direct = direct && set_direct(&file, true).is_ok();
        if !direct {
            // Extents are read whole: what the kernel would read ahead is not what is wanted next.
            let _ = rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::Random);
        }
        OpenFile { file, version, id, direct: AtomicBool::new(direct) }
    }

    /// Whether the beginning of a file can be read past the page cache.
    pub(crate) fn try_direct(file: &File, buffer: &mut [u8]) -> io::Result<()> {
        set_direct(file, true)?;
        rustix::io::pread(file, buffer, 0)?;
        Ok(())
    }

    /// Whether reads go past the page cache.
    pub(crate) fn is_direct(&self) -> bool {
        self.direct.load(Ordering::Relaxed)
    }

    /// Fills `buffer`, whose address and length are multiples of [`ALIGNMENT`], with at least `length` bytes from `offset` on.
    pub(crate) fn read(&self, buffer: &mut [u8], offset: u64, length: usize) -> ReadOutcome {
        let mut done = 0;
        while done < length {
            match rustix::io::pread(&self.file, &mut buffer[done..], offset + done as u64) {
                Ok(0) => return ReadOutcome::Changed,
                Ok(read) => done += read,
                Err(rustix::io::Errno::INTR) => {}
                // The file system has taken the flag and does not read like that (or not at this place).
                Err(rustix::io::Errno::INVAL) if self.is_direct() => {
                    if set_direct(&self.file, false).is_err() {
                        return ReadOutcome::Failed;
                    }
                    self.direct.store(false, Ordering::Relaxed);
                }
                Err(_) => return ReadOutcome::Failed,
            }
        }
        match self.file.metadata() {
            Ok(metadata) if Version::of(&metadata) == self.version => ReadOutcome::Whole,
            Ok(_) => ReadOutcome::Changed,
            Err(_) => ReadOutcome::Failed,
        }
    }
}

fn set_direct(file: &File, direct: bool) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(file)?;
    let flags = if direct { flags | OFlags::DIRECT } else { flags - OFlags::DIRECT };
    Ok(rustix::fs::fcntl_setfl(file, flags)?)
}
