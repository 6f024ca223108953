use super::netlink;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::net::netdevice::name_to_index;
use rustix::net::{AddressFamily, SocketType, socket};
use std::fs;
use std::io;

/// What the interface is called in every namespace.
const NAME: &str = "net0";
/// Packets that may wait between the kernel's stack and the emulator: what it takes in long before
/// it is full even if it sleeps for 10 ms at 1 Gbit/s.
const QUEUE_PACKETS: u32 = 10_000;

/// linux/if_tun.h: the request, a device of IP packets, without a header of its own before them.
const TUNSETIFF: libc::c_ulong = 0x4004_54ca;
const IFF_TUN: u16 = 1;
const IFF_NO_PI: u16 = 0x1000;

/// The end of a host's interface at which the emulator reads and writes IP packets. Without offloads:
/// the kernel cuts segments and fills in checksums before a packet is read, and checks what is
/// written. The interface is gone when this value is.
#[derive(Debug)]
pub(crate) struct Tun {
    file: OwnedFd,
}

/// What a host's kernel is set to.
#[derive(Clone, Debug)]
pub struct HostSettings {
    /// Its IPv4 address.
    pub address: [u8; 4],
    /// Its largest IP packet.
    pub mtu: u32,
    /// TCP's initial window, in segments.
    pub initial_window: u32,
    /// What Linux calls the congestion controller of programs that ask for none; none for the machine's.
    pub controller: Option<String>,
    /// Other settings of the namespace: a path below `/proc/sys/net`, and its value.
    pub sysctls: Vec<(String, String)>,
}

/// Opens the device that makes interfaces.
///
/// # Errors
/// There is none, or this user may not.
pub fn open_tun() -> io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(rustix::fs::open("/dev/net/tun", flags, Mode::empty())?)
}

impl Tun {
    /// Makes the calling thread's network namespace, a new one, the host.
    pub(crate) fn new(settings: &HostSettings) -> io::Result<Tun> {
        let file = open_tun()?;
        set_interface(file.as_fd())?;
        let control = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
        // No packet of IPv6 leaves, not even one that looks for routers.
        write_if_there("ipv6/conf/all/disable_ipv6", "1")?;
        write_if_there("ipv6/conf/default/disable_ipv6", "1")?;
        for (path, value) in &settings.sysctls {
            write(path, value)?;
        }
        let loopback = name_to_index(&control, "lo")?;
        netlink::set_up(loopback, None)?;
        let index = name_to_index(&control, NAME)?;
        netlink::set_up(index, Some((settings.mtu, QUEUE_PACKETS)))?;
        netlink::add_address(index, settings.address)?;
        let controller = settings.controller.as_deref();
        netlink::add_default_route(index, settings.initial_window, controller)?;
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

fn write(path: &str, value: &str) -> io::Result<()> {
    let path = format!("/proc/sys/net/{path}");
    fs::write(&path, value)
        .map_err(|error| io::Error::new(error.kind(), format!("{path} = {value}: {error}")))
}

fn write_if_there(path: &str, value: &str) -> io::Result<()> {
    match write(path, value) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Packets that the calling thread's namespace wanted to send and its interface dropped, as no reader
/// came in time.
pub(crate) fn dropped() -> io::Result<u64> {
    let text = fs::read_to_string("/proc/thread-self/net/dev")?;
    let line =
        text.lines().find_map(|line| line.trim_start().strip_prefix(NAME)?.strip_prefix(':'));
    // Eight columns of what it received, then bytes, packets, errors and drops of what it sent.
    let drops = line.and_then(|line| line.split_whitespace().nth(11)?.parse().ok());
    drops.ok_or_else(|| io::Error::other("/proc/net/dev does not say what the interface dropped"))
}
