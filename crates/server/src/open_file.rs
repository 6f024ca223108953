use flashcrowd_origin::Layout;
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// Which state of which file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) length: u64,
    /// Seconds and nanoseconds.
    pub(crate) modified: (i64, i64),
    /// The same of the last change of its bytes, its times, its name or its owner: programs set the other one, and not this one.
    pub(crate) changed: (i64, i64),
}

impl Version {
    pub(crate) fn of(metadata: &Metadata) -> Version {
        Version {
            device: metadata.dev(),
            inode: metadata.ino(),
            length: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Which file, in whatever version.
    pub(crate) fn key(&self) -> (u64, u64) {
        (self.device, self.inode)
    }
}

/// A file that is served.
#[derive(Debug)]
pub(crate) struct OpenFile {
    file: File,
    /// The path by which it was opened.
    pub(crate) name: Arc<Path>,
    pub(crate) version: Version,
    pub(crate) layout: Layout,
    /// Of two versions of a file the newer one is that which was opened later, counted.
    pub(crate) opened: u64,
    /// When its last name went, if it did.
    unlinked: OnceLock<(i64, i64)>,
    direct: AtomicBool,
}

/// The result of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    pub(crate) fn new(
        file: File,
        name: &Path,
        version: Version,
        layout: Layout,
        opened: u64,
        direct: bool,
    ) -> OpenFile {
        let direct = direct && set_direct(&file, true).is_ok();
        if !direct {
            // Extents are read whole: what the kernel would read ahead is not what is wanted next.
            let _ = rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::Random);
        }
        OpenFile {
            file,
            name: name.into(),
            version,
            layout,
            opened,
            unlinked: OnceLock::new(),
            direct: AtomicBool::new(direct),
        }
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

    /// The meaning of the system's answer to a step of a read: the result of the read, or nothing if the rest is
    /// to be asked for.
    pub(crate) fn answered(
        &self,
        progress: &mut Progress,
        answer: Result<usize, Errno>,
    ) -> Option<ReadOutcome> {
        match answer {
            Ok(0) if progress.done < progress.length => return Some(ReadOutcome::Changed),
            Ok(read) => progress.done += read,
            Err(Errno::INTR) => {}
            // The file system has taken the flag and does not read like that (or not at this place). Each read that it was on for hears
            // so, also when another one has taken it away meanwhile.
            Err(Errno::INVAL) if !progress.refused => {
                progress.refused = true;
                if self.is_direct() && set_direct(&self.file, false).is_err() {
                    return Some(ReadOutcome::Failed);
                }
                self.direct.store(false, Ordering::Relaxed);
            }
            Err(_) => return Some(ReadOutcome::Failed),
        }
        (progress.done >= progress.length).then(|| self.check())
    }

    /// Whether what was read is of the file that was opened.
    fn check(&self) -> ReadOutcome {
        let Ok(metadata) = self.file.metadata() else { return ReadOutcome::Failed };
        let now = Version::of(&metadata);
        if now == self.version {
            return ReadOutcome::Whole;
        }
        // A file that was removed, or replaced by another one, is sent to its end: the loss of its last name is one
        // change, after which no program can open it for writing.
        let is_same = Version { changed: self.version.changed, ..now } == self.version;
        if is_same
            && metadata.nlink() == 0
            && *self.unlinked.get_or_init(|| now.changed) == now.changed
        {
            return ReadOutcome::Whole;
        }
        ReadOutcome::Changed
    }
}

impl AsFd for OpenFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// How far a read is. The system may give less than it is asked for, so that one takes several steps.
#[derive(Debug)]
pub(crate) struct Progress {
    offset: u64,
    length: usize,
    done: usize,
    /// The system has said that it does not read like that.
    refused: bool,
}

impl Progress {
    /// A read of `length` bytes of a file.
    pub(crate) fn new(offset: u64, length: usize) -> Progress {
        Progress { offset, length, done: 0, refused: false }
    }

    /// How many bytes are there.
    pub(crate) fn done(&self) -> usize {
        self.done
    }

    /// Where in the file the next step begins.
    pub(crate) fn at(&self) -> u64 {
        self.offset + self.done as u64
    }
}

fn set_direct(file: &File, direct: bool) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(file)?;
    let flags = if direct { flags | OFlags::DIRECT } else { flags - OFlags::DIRECT };
    Ok(rustix::fs::fcntl_setfl(file, flags)?)
}
