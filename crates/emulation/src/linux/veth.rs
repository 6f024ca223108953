use super::host::{self, HostSettings, NAME};
use super::namespace::Namespace;
use super::netlink;
use super::packet_ring::PacketRing;
use super::steering::Steering;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd};
use rustix::net::{AddressFamily, SocketType, socket};
use std::collections::BTreeMap;
use std::io;

/// Addresses of the ends of each pair, locally administered: only the two ends see them.
pub(crate) const HOST_END: [u8; 6] = [2, 0, 0, 0, 0, 1];
const CORE_END: [u8; 6] = [2, 0, 0, 0, 0, 2];
/// Longer than any packet: the MTU that counts is the host's.
const CORE_MTU: u32 = 65_535;
/// linux/ethtool.h: switches for sums on sending, and for segmentation by the device.
const ETHTOOL_STXCSUM: u32 = 0x17;
const ETHTOOL_STSO: u32 = 0x1f;
/// linux/sockios.h.
const SIOCETHTOOL: libc::c_ulong = 0x8946;

/// Pairs of virtual Ethernet interfaces (veth), one end of each in the namespace of a host and the other
/// in a namespace of their own, where one raw socket (AF_PACKET) reads and writes all of them.
///
/// No addresses are resolved: both ends know each other's, and ARP is off. A device that hands over
/// packets inside of one machine leaves sums and segmentation to the other end; here the kernel is made
/// to do both before a packet is read, as TUN does.
#[derive(Debug)]
pub(crate) struct Patchbay {
    /// The namespace of the other ends, there as long as this is.
    _core: Namespace,
    ring: PacketRing,
    /// The numbers of the other ends, by host, and the other way round.
    ends: Vec<u32>,
    hosts: BTreeMap<u32, u32>,
}

impl Patchbay {
    pub(crate) fn new(
        settings: &[HostSettings],
        steering: Option<&Steering>,
    ) -> io::Result<(Vec<Namespace>, Patchbay)> {
        let mtu = settings.iter().map(|host| host.mtu).max().unwrap_or(0);
        if settings.iter().any(|host| host.mtu != mtu) {
            // A device takes nothing in that is longer than what it sends; TUN does.
            return Err(io::Error::other(
                "hosts with different MTUs need TUN: veth interfaces take in no longer packets \
                 than they send",
            ));
        }
        let (core, ring) = Namespace::make(|| {
            host::without_ipv6()?;
            PacketRing::new(mtu)
        })?;
        let mut namespaces = Vec::with_capacity(settings.len());
        let mut ends = Vec::with_capacity(settings.len());
        for (host, number) in settings.iter().zip(0u32..) {
            let end = format!("host{number}");
            let (namespace, ()) = Namespace::make(|| attach(host, &core, &end, steering))?;
            namespaces.push(namespace);
            ends.push(core.within(|| {
                let index = host::index_of(&end)?;
                netlink::set_silent(index)?;
                netlink::set_up(index, Some((CORE_MTU, 0)))?;
                Ok(index)
            })?);
        }
        let hosts = ends.iter().copied().zip(0..).collect();
        Ok((namespaces, Patchbay { _core: core, ring, ends, hosts }))
    }

    /// The next packet that a host has sent, and which host; `None` if there is none.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<(u32, usize)>> {
        while let Some((index, bytes)) = self.ring.next(buffer)? {
            if let Some(host) = self.hosts.get(&index) {
                return Ok(Some((*host, bytes)));
            }
        }
        Ok(None)
    }

    /// Hands a packet to a host. Whether the kernel took it.
    pub(crate) fn write(&self, host: u32, packet: &[u8]) -> bool {
        self.ring.send(self.ends[host as usize], HOST_END, packet)
    }

    /// Packets that came when the ring was full.
    pub(crate) fn dropped(&self) -> io::Result<u64> {
        self.ring.dropped()
    }
}

impl AsFd for Patchbay {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.ring.as_fd()
    }
}

/// Makes the calling thread's network namespace, a new one, the host.
fn attach(
    settings: &HostSettings,
    core: &Namespace,
    end: &str,
    steering: Option<&Steering>,
) -> io::Result<()> {
    host::without_ipv6()?;
    if let Some(steering) = steering {
        steering.steer_next_interface()?;
    }
    netlink::add_veth((NAME, HOST_END), (end, CORE_END), core.fd())?;
    netlink::set_silent(host::index_of(NAME)?)?;
    switch_off(ETHTOOL_STXCSUM)?;
    switch_off(ETHTOOL_STSO)?;
    host::configure(settings)
}

/// Switches an offload of the host's interface off.
#[allow(unsafe_code, reason = "no safe crate sets offloads of devices")]
fn switch_off(command: u32) -> io::Result<()> {
    let control = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    // struct ethtool_value: the command, and 0 for off.
    let mut value = [command, 0];
    // SAFETY: a struct ifreq is plain data, of which zeroes are a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(NAME.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = value.as_mut_ptr().cast();
    // SAFETY: the socket is open; the kernel reads a struct ifreq and what it points to, which both
    // live until it returns.
    let failed = unsafe { libc::ioctl(control.as_raw_fd(), SIOCETHTOOL, &raw mut request) };
    if failed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
