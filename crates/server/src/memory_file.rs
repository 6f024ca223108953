use rustix::fs::{FallocateFlags, MemfdFlags, SealFlags};
use rustix::mm::{MapFlags, ProtFlags};
use std::fmt;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// Memory for whole extents that is a file at the same time (`memfd_create`), so that a socket can take bytes of it by
/// reference (`sendfile`), without a copy. Its regions are mapped: the disk reads into them, and HTTP sees ordinary slices.
///
/// The kernel refers to the pages of what a socket has taken until the peer has acknowledged it. So they are not
/// written to again: before a region is refilled, it [gives them up](Region::renew) by a hole in the file. What is
/// under way then is the kernel's, as copies would be, and within the same bounds, the sockets' send buffers.
pub(crate) struct MemoryFile {
    file: OwnedFd,
    mapped: NonNull<u8>,
    region_bytes: usize,
    regions: usize,
    free: Mutex<Vec<usize>>,
    /// For each region: whether sockets have taken something of it since it was filled.
    taken: Box<[AtomicBool]>,
    counters: Counters,
}

/// The counters of sends without copies.
#[derive(Debug, Default)]
struct Counters {
    sent: AtomicU64,
    given_up: AtomicU64,
}

/// Memory for an extent, in a [`MemoryFile`].
#[derive(Debug)]
pub(crate) struct Region {
    of: Arc<MemoryFile>,
    number: usize,
}

impl MemoryFile {
    /// `regions` regions, at least one, of `region_bytes` bytes, rounded up to the system's pages. They take memory
    /// when they are filled.
    pub(crate) fn new(region_bytes: usize, regions: usize) -> io::Result<Arc<MemoryFile>> {
        let region_bytes = region_bytes.next_multiple_of(rustix::param::page_size());
        let too_much = || io::Error::from(io::ErrorKind::OutOfMemory);
        let length = region_bytes.checked_mul(regions).ok_or_else(too_much)?;
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = rustix::fs::memfd_create("flashcrowd-contents", flags)?;
        rustix::fs::ftruncate(&file, length as u64)?;
        // If it became shorter, a signal would kill every reader.
        rustix::fs::fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        let mapped = map(&file, length)?;
        Ok(Arc::new(MemoryFile {
            file,
            mapped,
            region_bytes,
            regions,
            free: Mutex::new((0..regions).rev().collect()),
            taken: (0..regions).map(|_| AtomicBool::new(false)).collect(),
            counters: Counters::default(),
        }))
    }

    /// A free region, if there is one. It is to be [renewed](Region::renew) before it is filled.
    pub(crate) fn region(self: &Arc<Self>) -> Option<Region> {
        let number = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop()?;
        Some(Region { of: Arc::clone(self), number })
    }

    /// How many bytes a region has.
    pub(crate) fn region_bytes(&self) -> usize {
        self.region_bytes
    }

    /// Whether these bytes lie in it.
    pub(crate) fn holds(&self, bytes: &[u8]) -> bool {
        self.place(bytes).is_some()
    }

    /// Where in the file these bytes lie, if they do.
    fn place(&self, bytes: &[u8]) -> Option<usize> {
        let begin = bytes.as_ptr().addr().checked_sub(self.mapped.addr().get())?;
        let end = begin.checked_add(bytes.len())?;
        (!bytes.is_empty() && end <= self.region_bytes * self.regions).then_some(begin)
    }

    /// Has a socket take these bytes, which lie in the file, or some of them.
    pub(crate) fn send(&self, socket: impl AsFd, bytes: &[u8]) -> io::Result<usize> {
        let Some(begin) = self.place(bytes) else { return Err(io::ErrorKind::InvalidInput.into()) };
        let last = begin + bytes.len() - 1;
        // Before they are taken. The next owner of the region sees it, as references to it were counted meanwhile.
        for taken in &self.taken[begin / self.region_bytes..=last / self.region_bytes] {
            taken.store(true, Relaxed);
        }
        let mut at = begin as u64;
        let take = || rustix::fs::sendfile(&socket, &self.file, Some(&mut at), bytes.len());
        let sent = rustix::io::retry_on_intr(take)?;
        self.counters.sent.fetch_add(sent as u64, Relaxed);
        Ok(sent)
    }

    /// Bytes that sockets have taken without a copy, and bytes of regions that were given up to the kernel for that.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.counters.sent.load(Relaxed), self.counters.given_up.load(Relaxed))
    }

    fn punch(&self, number: usize) -> rustix::io::Result<()> {
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        self.allocate(number, hole)?;
        self.taken[number].store(false, Relaxed);
        Ok(())
    }

    fn allocate(&self, number: usize, how: FallocateFlags) -> rustix::io::Result<()> {
        let (offset, length) = ((number * self.region_bytes) as u64, self.region_bytes as u64);
        rustix::io::retry_on_intr(|| rustix::fs::fallocate(&self.file, how, offset, length))
    }
}

impl fmt::Debug for MemoryFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MemoryFile { region_bytes, regions, counters, .. } = self;
        write!(f, "MemoryFile({regions} x {region_bytes}, {counters:?})")
    }
}

impl Region {
    /// Has pages of its own for what comes: not those that sockets refer to, and not such that are missing when they are
    /// written to, as the system has no other way to say so than a signal.
    pub(crate) fn renew(&mut self) -> io::Result<()> {
        if self.of.taken[self.number].load(Relaxed) {
            self.of.punch(self.number)?;
            self.of.counters.given_up.fetch_add(self.of.region_bytes as u64, Relaxed);
        }
        Ok(self.of.allocate(self.number, FallocateFlags::empty())?)
    }

    /// How many bytes it has.
    pub(crate) fn len(&self) -> usize {
        self.of.region_bytes
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // A region whose pages the system does not take back is not used again.
        if self.of.punch(self.number).is_ok() {
            self.of.free.lock().unwrap_or_else(PoisonError::into_inner).push(self.number);
        }
    }
}

/// The unsafe part: a file is memory of ours.
#[allow(unsafe_code, reason = "a mapping of a file is memory by its address alone")]
mod mapping {
    use super::*;

    /// The whole file, to read and to write.
    pub(super) fn map(file: &OwnedFd, length: usize) -> io::Result<NonNull<u8>> {
        let (flags, rights) = (MapFlags::SHARED, ProtFlags::READ | ProtFlags::WRITE);
        // SAFETY: the system chooses an address where nothing is.
        let begin = unsafe { rustix::mm::mmap(ptr::null_mut(), length, rights, flags, file, 0)? };
        NonNull::new(begin.cast()).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }

    // SAFETY: the address is that of a mapping which is there as long as this is, and belongs to no thread; what lies behind it is
    // reached through regions alone, of which there is one for each number.
    unsafe impl Send for MemoryFile {}
    // SAFETY: the same.
    unsafe impl Sync for MemoryFile {}

    impl Region {
        pub(crate) fn bytes(&self) -> &[u8] {
            // SAFETY: within the mapping, as numbers are less than `regions`; initialised, as files begin as zeros; the
            // file is sealed, so that no page of it is missing. Written to through `bytes_mut` alone, of this region,
            // which is the only one with its number. Only the region's sole owner punches holes.
            unsafe { std::slice::from_raw_parts(self.begin(), self.of.region_bytes) }
        }

        pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
            // SAFETY: as above; and nothing else refers to it, as the region is borrowed for it alone. Sockets that
            // refer to pages of what it held do not see what is written: `renew` has given them up.
            unsafe { std::slice::from_raw_parts_mut(self.begin(), self.of.region_bytes) }
        }

        fn begin(&self) -> *mut u8 {
            // SAFETY: within the mapping, as above.
            unsafe { self.of.mapped.as_ptr().add(self.number * self.of.region_bytes) }
        }
    }

    impl Drop for MemoryFile {
        fn drop(&mut self) {
            // SAFETY: mapped by `map`, of this length. Regions refer to the file, so there are none any more. Should the system refuse,
            // the mapping stays, which does no harm.
            let _ = unsafe {
                rustix::mm::munmap(self.mapped.as_ptr().cast(), self.region_bytes * self.regions)
            };
        }
    }
}
use mapping::map;

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    const BYTES: usize = 1 << 16;

    fn filled(file: &Arc<MemoryFile>, with: u8) -> Region {
        let mut region = file.region().unwrap();
        region.renew().unwrap();
        region.bytes_mut().fill(with);
        region
    }

    #[test]
    fn what_a_socket_has_taken_stays_as_it_was() {
        let file = MemoryFile::new(BYTES, 2).unwrap();
        let mut region = filled(&file, 7);
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        assert_eq!(file.send(&ours, &region.bytes()[5..10_005]).unwrap(), 10_000);
        region.renew().unwrap();
        region.bytes_mut().fill(8);
        assert_eq!(file.send(&ours, &region.bytes()[..1000]).unwrap(), 1000);
        drop(region);
        filled(&file, 9);
        drop(ours);
        let mut got = Vec::new();
        theirs.read_to_end(&mut got).unwrap();
        assert_eq!(got, [[7; 10_000].as_slice(), &[8; 1000]].concat());
        assert_eq!(file.counts(), (11_000, BYTES as u64));
    }

    #[test]
    fn regions_are_apart_and_give_their_memory_back() {
        let file = MemoryFile::new(BYTES, 2).unwrap();
        let (first, second) = (filled(&file, 1), filled(&file, 2));
        assert!(file.region().is_none());
        assert!(first.bytes().iter().all(|byte| *byte == 1));
        assert!(second.bytes().iter().all(|byte| *byte == 2));
        let blocks = || rustix::fs::fstat(&file.file).unwrap().st_blocks * 512;
        assert_eq!(blocks(), 2 * BYTES as i64);
        drop(first);
        assert_eq!(blocks(), BYTES as i64);
        let again = file.region().unwrap();
        assert!(again.bytes().iter().all(|byte| *byte == 0));
    }

    #[test]
    fn bytes_of_others_are_not_in_it() {
        let file = MemoryFile::new(BYTES, 1).unwrap();
        let region = filled(&file, 1);
        assert!(file.holds(region.bytes()) && file.holds(&region.bytes()[BYTES - 1..]));
        assert!(!file.holds(&[0; 100]) && !file.holds(&region.bytes()[..0]));
        let socket = UnixStream::pair().unwrap().0;
        assert_eq!(file.send(socket, &[0; 9]).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}
