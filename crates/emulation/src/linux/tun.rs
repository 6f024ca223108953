use super::host::{self, HostSettings, NAME};
use super::steering::Steering;
use crate::offload::Offload;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::io::{self, IoSlice, IoSliceMut};

/// linux/if_tun.h: the request, a device of IP packets, without a header of its own before them, or with that
/// of [`Offload`].
const TUNSETIFF: libc::c_ulong = 0x4004_54ca;
const TUNGETFEATURES: libc::c_ulong = 0x8004_54cf;
const IFF_TUN: u16 = 1;
const IFF_NO_PI: u16 = 0x1000;
const IFF_VNET_HDR: u16 = 0x4000;
const TUNSETOFFLOAD: libc::c_ulong = 0x4004_54d0;
/// What is left to the reader: checksums, and cutting of TCP over IPv4, with ECN's flags too.
const TUN_F_CSUM: libc::c_ulong = 1;
const TUN_F_TSO4: libc::c_ulong = 2;
const TUN_F_TSO_ECN: libc::c_ulong = 8;

/// The end of a host's interface at which the emulator reads and writes IP packets. Without offloads
/// the kernel cuts segments and fills in checksums before a packet is read, and checks what is
/// written; with them it leaves both to the reader. The interface is gone when this value is.
#[derive(Debug)]
pub(crate) struct Tun {
    file: OwnedFd,
    /// Whether packets have an [`Offload`] before them.
    offloads: bool,
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
    /// Makes the calling thread's network namespace, a new one, the host; `offloads` if some host of the
    /// network has a network card that cuts super-segments.
    pub(crate) fn new(
        settings: &HostSettings,
        offloads: bool,
        steering: Option<&Steering>,
    ) -> io::Result<Tun> {
        let file = open_tun()?;
        if let Some(steering) = steering {
            steering.steer_next_interface()?;
        }
        set_interface(file.as_fd(), offloads)?;
        if settings.largest_segment > 0 {
            leave_segmentation(file.as_fd())?;
        }
        host::without_ipv6()?;
        host::configure(settings)?;
        Ok(Tun { file, offloads })
    }

    /// The next packet that the host has sent, and what it left to its card; `None` if there is none.
    pub(crate) fn read(&self, buffer: &mut [u8]) -> io::Result<Option<(usize, Offload)>> {
        let mut header = [0; Offload::BYTES];
        let read = if self.offloads {
            let mut parts = [IoSliceMut::new(&mut header), IoSliceMut::new(buffer)];
            rustix::io::readv(&self.file, &mut parts)
        } else {
            rustix::io::read(&self.file, &mut *buffer)
        };
        match read {
            Ok(bytes) if self.offloads => {
                Ok(Some((bytes.saturating_sub(Offload::BYTES), Offload::read(&header))))
            }
            Ok(bytes) => Ok(Some((bytes, Offload::NOTHING))),
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Hands a packet to the host. Whether the kernel took it.
    pub(crate) fn write(&self, packet: &[u8], offload: &Offload) -> bool {
        if self.offloads {
            let header = offload.bytes();
            let parts = [IoSlice::new(&header), IoSlice::new(packet)];
            return rustix::io::writev(&self.file, &parts).is_ok();
        }
        rustix::io::write(&self.file, packet).is_ok()
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

#[allow(unsafe_code, reason = "no safe crate without an event loop of its own makes TUN devices")]
fn set_interface(file: BorrowedFd<'_>, offloads: bool) -> io::Result<()> {
    // struct ifreq: 16 bytes of name, then the flags.
    let mut request = [0u8; 40];
    request[..NAME.len()].copy_from_slice(NAME.as_bytes());
    let header = if offloads { IFF_VNET_HDR } else { 0 };
    request[16..18].copy_from_slice(&(IFF_TUN | IFF_NO_PI | header).to_ne_bytes());
    // SAFETY: the file is open, and the kernel reads and writes as much as a struct ifreq has, which
    // are 40 bytes.
    let failed = unsafe { libc::ioctl(file.as_raw_fd(), TUNSETIFF, request.as_mut_ptr()) };
    if failed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Has the kernel leave checksums and segmentation of TCP to the reader.
#[allow(unsafe_code, reason = "no safe crate without an event loop of its own makes TUN devices")]
fn leave_segmentation(file: BorrowedFd<'_>) -> io::Result<()> {
    let left = TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO_ECN;
    // SAFETY: the file is open, and the request has a number for its argument.
    let failed = unsafe { libc::ioctl(file.as_raw_fd(), TUNSETOFFLOAD, left) };
    if failed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
