use super::netlink;
use rustix::net::netdevice::name_to_index;
use rustix::net::{AddressFamily, SocketType, socket};
use std::fs;
use std::io;
use std::path::Path;

/// The name of the interface in every namespace.
pub(crate) const NAME: &str = "net0";
/// Packets that may wait between the kernel's stack and the emulator: what it takes in long before
/// it is full even if it sleeps for 10 ms at 1 Gbit/s.
const QUEUE_PACKETS: u32 = 10_000;

/// Where the calling thread's network namespace has its settings.
const SETTINGS: &str = "/proc/sys/net";

/// The settings of a host's kernel.
#[derive(Clone, Debug)]
pub struct HostSettings {
    /// Its IPv4 address.
    pub address: [u8; 4],
    /// Its largest IP packet.
    pub mtu: u32,
    /// The largest super-segment of TCP that it leaves to its network card, in bytes; 0 for none.
    pub largest_segment: u32,
    /// TCP's initial window, in segments.
    pub initial_window: u32,
    /// Whether TCP acknowledges each segment at once (`quickack` of a route).
    pub quick_ack: bool,
    /// Linux's name of the default congestion controller; none for the machine's.
    pub controller: Option<String>,
    /// Other settings of the namespace: a path below `/proc/sys/net`, and its value.
    pub sysctls: Vec<(String, String)>,
}

/// Gives the calling thread's network namespace, a new one with the interface [`NAME`], a host's
/// settings.
pub(crate) fn configure(settings: &HostSettings) -> io::Result<()> {
    for (path, value) in &settings.sysctls {
        write(path, value)?;
    }
    netlink::set_up(index_of("lo")?, None)?;
    let index = index_of(NAME)?;
    netlink::set_up(index, Some((settings.mtu, QUEUE_PACKETS)))?;
    if settings.largest_segment > 0 {
        netlink::set_largest_segment(index, settings.largest_segment)?;
    }
    netlink::add_address(index, settings.address)?;
    let controller = settings.controller.as_deref();
    netlink::add_default_route(index, settings.initial_window, settings.quick_ack, controller)
}

/// The number of an interface of the calling thread's namespace.
pub(crate) fn index_of(name: &str) -> io::Result<u32> {
    Ok(name_to_index(socket(AddressFamily::INET, SocketType::DGRAM, None)?, name)?)
}

/// Keeps IPv6 silent in the calling thread's namespace: no packet of it leaves, not even one that
/// looks for routers.
pub(crate) fn without_ipv6() -> io::Result<()> {
    write_if_there("ipv6/conf/all/disable_ipv6", "1")?;
    write_if_there("ipv6/conf/default/disable_ipv6", "1")?;
    Ok(())
}

/// Whether this kernel has a setting of a network namespace.
pub(crate) fn has(path: &str) -> bool {
    Path::new(SETTINGS).join(path).exists()
}

/// Sets it, of the calling thread's network namespace.
pub(crate) fn write(path: &str, value: &str) -> io::Result<()> {
    let path = format!("{SETTINGS}/{path}");
    fs::write(&path, value)
        .map_err(|error| io::Error::new(error.kind(), format!("{path} = {value}: {error}")))
}

/// The same of what this kernel may not have.
fn write_if_there(path: &str, value: &str) -> io::Result<()> {
    if has(path) { write(path, value) } else { Ok(()) }
}

/// Packets that the interface of the calling thread's namespace dropped: that it wanted to send, as no reader
/// came in time, and that it was to receive, as the queue of the processor that was to was full.
pub(crate) fn dropped() -> io::Result<u64> {
    let text = fs::read_to_string("/proc/thread-self/net/dev")?;
    let line =
        text.lines().find_map(|line| line.trim_start().strip_prefix(NAME)?.strip_prefix(':'));
    // Eight columns of what it received, and eight of what it sent: bytes, packets, errors, drops, …
    let columns = line.map(|line| line.split_whitespace().collect::<Vec<_>>()).unwrap_or_default();
    let drops = |column: usize| columns.get(column)?.parse::<u64>().ok();
    drops(3)
        .zip(drops(11))
        .map(|(received, sent)| received + sent)
        .ok_or_else(|| io::Error::other("/proc/net/dev does not say what the interface dropped"))
}
