use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use rustix::fs::{Mode, OFlags};
use rustix::process::{DumpableBehavior, Signal, getegid, geteuid, getppid};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};
use std::fs;
use std::io;

/// A network namespace, which lives as long as this value or a process in it: it has no name, and no
/// file is mounted on it.
#[derive(Debug)]
pub struct Namespace {
    file: OwnedFd,
}

impl Namespace {
    /// That of the calling thread.
    ///
    /// # Errors
    /// `/proc` is not there.
    pub fn current() -> io::Result<Namespace> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file = rustix::fs::open("/proc/thread-self/ns/net", flags, Mode::empty())?;
        Ok(Namespace { file })
    }

    /// A new one, in which the calling thread is from now on.
    ///
    /// # Errors
    /// The right is missing (`CAP_SYS_ADMIN` in the user namespace), or there are too many.
    pub fn unshared() -> io::Result<Namespace> {
        unshare(UnshareFlags::NEWNET)?;
        Namespace::current()
    }

    /// Moves the calling thread into it.
    ///
    /// # Errors
    /// The right is missing.
    pub fn enter(&self) -> io::Result<()> {
        enter(self.file.as_fd())
    }

    /// Its file descriptor, to be found by others as `/proc/PID/fd/N`.
    pub fn fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    /// Runs `work` in a new namespace, and brings the calling thread back to where it was.
    pub(crate) fn make<T>(work: impl FnOnce() -> io::Result<T>) -> io::Result<(Namespace, T)> {
        let home = Namespace::current()?;
        let made = Namespace::unshared().and_then(|namespace| Ok((namespace, work()?)));
        home.enter()?;
        made
    }

    /// Runs `work` in this namespace, and brings the calling thread back to where it was.
    pub(crate) fn within<T>(&self, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let home = Namespace::current()?;
        self.enter()?;
        let outcome = work();
        home.enter()?;
        outcome
    }
}

/// Moves the calling thread into the network namespace of an open file.
///
/// # Errors
/// It is not one, or the right is missing.
pub fn enter(file: BorrowedFd<'_>) -> io::Result<()> {
    Ok(move_into_link_name_space(file, Some(LinkNameSpaceType::Network))?)
}

#[allow(unsafe_code, reason = "rustix marks it so, for flags that are not used here")]
fn unshare(flags: UnshareFlags) -> io::Result<()> {
    // SAFETY: unsafe for CLONE_FILES, with which file descriptors of other threads would be closed
    // under them; no caller gives that flag.
    Ok(unsafe { rustix::thread::unshare_unsafe(flags) }?)
}

/// Moves this process, which may have one thread only, into a user namespace of its own as its root,
/// with every right over the namespaces that it makes from then on, and with none outside.
///
/// # Errors
/// The system forbids it to this user, or there are other threads.
pub fn become_root_of_own() -> io::Result<()> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    unshare(UnshareFlags::NEWUSER)?;
    fs::write("/proc/self/uid_map", format!("0 {user} 1\n"))?;
    fs::write("/proc/self/setgroups", "deny\n")?;
    fs::write("/proc/self/gid_map", format!("0 {group} 1\n"))?;
    // New credentials have made the process undumpable, so that not even its own children could open
    // its namespaces as /proc/PID/fd/N.
    Ok(rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable)?)
}

/// Moves this process, which may have one thread only, to where no network is. Its next child is the first
/// of a namespace of processes: all that are started in it are killed by the kernel when that child
/// ends, however it ends.
///
/// A process that has become root of its own could not come back to the machine's network anyway.
///
/// # Errors
/// The right is missing.
pub fn set_apart() -> io::Result<()> {
    unshare(UnshareFlags::NEWNET | UnshareFlags::NEWPID)
}

/// The kernel kills this process when the thread that started it ends.
///
/// # Errors
/// That thread has ended already.
pub fn die_with_parent() -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    // Reads as no parent also where the parent is outside of the namespace of processes.
    let _ = getppid();
    Ok(())
}
