//! A file on a disk for trials, mounted, so that servers that are not ours read from the disk that ours has in a trial:
//!
//! ```text
//! trial_mount FILE DIRECTORY '{"kind": "hard-disk", "rate_bps": 320000000, ...}'
//! ```
//!
//! puts the file into DIRECTORY, an empty one, under its own name. Nothing of it is kept in the page cache. A line on standard input
//! is answered by one of JSON: what was read so far, and how the disk has kept its pace; its end unmounts. Needs Linux, the
//! right to mount, and the feature `trial-mount`.

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("trial_mount: needs FUSE, as Linux has it");
    std::process::exit(2);
}

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    match linux::run() {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("trial_mount: {error}");
            std::process::ExitCode::from(2)
        }
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use flashcrowd_origin::disk::Medium;
    use flashcrowd_server::{Paced, Turn};
    use fuser::{
        Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
        LockOwner, MountOption, OpenFlags, ReplyAttr, ReplyData, ReplyEntry, ReplyOpen, Request,
        Session,
    };
    use std::error::Error;
    use std::ffi::{OsStr, OsString};
    use std::fs::File;
    use std::io::BufRead as _;
    use std::os::unix::fs::FileExt as _;
    use std::path::PathBuf;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::thread;
    use std::time::{Duration, UNIX_EPOCH};

    /// What is known of the file does not change.
    const TTL: Duration = Duration::from_secs(3600);
    const FILE: INodeNo = INodeNo(2);

    /// A read that the disk was asked for, and the waiting reader.
    struct Job {
        turn: Turn,
        offset: u64,
        length: u32,
        reply: ReplyData,
    }

    /// Delivers reads when they are due, one after the other, as the disk has one head.
    fn deliver(file: &File, jobs: &Receiver<Job>, read_bytes: &AtomicU64) {
        let mut memory = Vec::new();
        while let Ok(job) = jobs.recv() {
            memory.resize(job.length as usize, 0);
            let answer = file.read_exact_at(&mut memory, job.offset);
            thread::sleep(job.turn.wait());
            job.turn.delivered();
            read_bytes.fetch_add(u64::from(job.length), Ordering::Relaxed);
            match answer {
                Ok(()) => job.reply.data(&memory),
                Err(error) => job.reply.error(error.into()),
            }
        }
    }

    /// One directory with one file.
    struct Mount {
        name: OsString,
        length: u64,
        disk: Arc<Paced>,
        jobs: Sender<Job>,
    }

    impl Mount {
        fn attributes(&self, inode: INodeNo) -> FileAttr {
            let is_file = inode == FILE;
            FileAttr {
                ino: inode,
                size: if is_file { self.length } else { 0 },
                blocks: if is_file { self.length.div_ceil(512) } else { 0 },
                atime: UNIX_EPOCH,
                mtime: UNIX_EPOCH,
                ctime: UNIX_EPOCH,
                crtime: UNIX_EPOCH,
                kind: if is_file { FileType::RegularFile } else { FileType::Directory },
                perm: if is_file { 0o444 } else { 0o555 },
                nlink: 1,
                uid: 0,
                gid: 0,
                rdev: 0,
                blksize: 4096,
                flags: 0,
            }
        }
    }

    impl Filesystem for Mount {
        fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
            if name == self.name {
                reply.entry(&TTL, &self.attributes(FILE), Generation(0));
            } else {
                reply.error(Errno::ENOENT);
            }
        }

        fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
            reply.attr(&TTL, &self.attributes(inode));
        }

        fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
            reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
        }

        fn read(
            &self,
            _: &Request,
            _: INodeNo,
            _: FileHandle,
            offset: u64,
            size: u32,
            _: OpenFlags,
            _: Option<LockOwner>,
            reply: ReplyData,
        ) {
            let length = self.length.saturating_sub(offset).min(u64::from(size)) as u32;
            if length == 0 {
                return reply.data(&[]);
            }
            let turn = self.disk.ask((0, 0), self.length, offset, length);
            // The delivering thread lives as long as this does.
            let _ = self.jobs.send(Job { turn, offset, length, reply });
        }
    }

    pub(super) fn run() -> Result<(), Box<dyn Error>> {
        let mut words = std::env::args_os().skip(1);
        let mut word = || words.next().ok_or("usage: trial_mount FILE DIRECTORY MEDIUM");
        let path = PathBuf::from(word()?);
        let directory = PathBuf::from(word()?);
        let medium = word()?;
        let medium: Medium = serde_json::from_str(medium.to_str().ok_or("MEDIUM is no text")?)?;
        let name = path.file_name().ok_or("FILE has no name")?.to_owned();
        let file = File::open(&path)?;
        let length = file.metadata()?.len();

        let disk = Paced::new(&medium);
        let read_bytes = Arc::new(AtomicU64::new(0));
        let (jobs, receiver) = channel();
        let counted = Arc::clone(&read_bytes);
        thread::spawn(move || deliver(&file, &receiver, &counted));
        let mount = Mount { name, length, disk: Arc::clone(&disk), jobs };
        let mut config = Config::default();
        config.mount_options = vec![MountOption::RO, MountOption::FSName("flashcrowd".into())];
        let session = Session::new(mount, &directory, &config)?.spawn()?;
        for line in std::io::stdin().lock().lines() {
            line?;
            let read_bytes = read_bytes.load(Ordering::Relaxed);
            println!(
                "{}",
                serde_json::json!({ "read_bytes": read_bytes, "trial_disk": disk.report() })
            );
        }
        session.umount_and_join()?;
        Ok(())
    }
}
