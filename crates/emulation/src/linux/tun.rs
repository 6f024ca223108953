use super::host::{self, HostSettings, NAME};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::io;

/// linux/if_tun.h: the request, a device of IP packets, without a header of its own before them.
const TUNSETIFF: libc::c_ulong = 0x4004_54ca;
const TUNGETFEATURES: libc::c_ulong = 0x8004_54cf;
const IFF_TUN: u16 = 1;
const IFF_NO_PI: u16 = 0x1000;

/// The end of a host's interface at which the emulator reads and writes IP packets. Without offloads:
/// the kernel cuts segments and fills in checksums before a packet is read, and checks what is
/// written. The interface is gone when this value is.
#[derive(Debug)]
pub(crate) struct Tun {
    file: OwnedFd,
}

/// Opens the device that makes interfaces.
///
/// # Errors
/// There is none, it is something else, or this user may not.
#[allow(unsafe_code, reason = "no safe crate without an event loop of its own asks TUN devices")]
pub fn open_tun() -> io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::open("/dev/net/tun", flags, Mode::empty())?;
    let mut features = 0u32;
    // SAFETY: the file is open, and the kernel writes one word, which lives until it returns.
    let failed = unsafe { libc::ioctl(file.as_raw_fd(), TUNGETFEATURES, &raw mut features) };
    if failed == 0 { Ok(file) } else { Err(io::Error::last_os_error()) }
}

impl Tun {
    /// Makes the calling thread's network namespace, a new one, the host.
    pub(crate) fn new(settings: &HostSettings) -> io::Result<Tun> {
        let file = open_tun()?;
        set_interface(file.as_fd())?;
        host::without_ipv6()?;
        host::configure(settings)?;
        Ok(Tun { file })
    }

    /// The next packet that the host has sent; `None` if there is none.
    pub(crate) fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match rustix::io::read(&self.file, buffer) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Hands a packet to the host. Whether the kernel took it.
    pub(crate) fn write(&self, packet: &[u8]) -> bool {
        rustix::io::write(&self.file, packet).is_ok()
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

#[allow(unsafe_code, reason = "no safe crate without an event loop of its own makes TUN devices")]
fn set_interface(file: BorrowedFd<'_>) -> io::Result<()> {
    // struct ifreq: 16 bytes of name, then the flags.
    let mut request = [0u8; 40];
    request[..NAME.len()].copy_from_slice(NAME.as_bytes());
    request[16..18].copy_from_slice(&(IFF_TUN | IFF_NO_PI).to_ne_bytes());
    // SAFETY: the file is open, and the kernel reads and writes as much as a struct ifreq has, which
    // are 40 bytes.
    let failed = unsafe { libc::ioctl(file.as_raw_fd(), TUNSETIFF, request.as_mut_ptr()) };
    if failed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
