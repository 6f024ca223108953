use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with,
};
use std::io;

/// Messages of rtnetlink (linux/rtnetlink.h, linux/netlink.h): only what a host of an emulated network
/// needs, in its own namespace.
const RTM_NEWLINK: u16 = 16;
const RTM_NEWADDR: u16 = 20;
const RTM_NEWROUTE: u16 = 24;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
const NLM_F_EXCL: u16 = 0x200;
const NLM_F_CREATE: u16 = 0x400;
const NLMSG_ERROR: u16 = 2;
const NLMSG_HEADER_BYTES: usize = 16;

const AF_INET: u8 = 2;
const IFF_UP: u32 = 1;
const IFF_NOARP: u32 = 0x80;
const IFLA_ADDRESS: u16 = 1;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_TXQLEN: u16 = 13;
const IFLA_LINKINFO: u16 = 18;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const IFLA_NET_NS_FD: u16 = 28;
const IFLA_GSO_MAX_SIZE: u16 = 41;
const VETH_INFO_PEER: u16 = 1;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
const RTA_OIF: u16 = 4;
const RTA_METRICS: u16 = 8;
const RTAX_INITCWND: u16 = 11;
const RTAX_QUICKACK: u16 = 15;
const RTAX_CC_ALGO: u16 = 16;
const RT_TABLE_MAIN: u8 = 254;
const RTPROT_BOOT: u8 = 3;
const RT_SCOPE_LINK: u8 = 253;
const RTN_UNICAST: u8 = 1;

/// Sets an interface up; its MTU and the packets that may wait in it for their driver, if given.
pub(crate) fn set_up(index: u32, sizes: Option<(u32, u32)>) -> io::Result<()> {
    let mut body = interface(index, IFF_UP);
    if let Some((mtu, queue)) = sizes {
        attribute(&mut body, IFLA_MTU, &mtu.to_ne_bytes());
        attribute(&mut body, IFLA_TXQLEN, &queue.to_ne_bytes());
    }
    request(RTM_NEWLINK, 0, &body)
}

/// Bounds the super-segments that TCP makes for an interface, headers included.
pub(crate) fn set_largest_segment(index: u32, bytes: u32) -> io::Result<()> {
    let mut body = interface(index, 0);
    attribute(&mut body, IFLA_GSO_MAX_SIZE, &bytes.to_ne_bytes());
    request(RTM_NEWLINK, 0, &body)
}

/// Has an interface neither ask for nor tell addresses (ARP).
pub(crate) fn set_silent(index: u32) -> io::Result<()> {
    request(RTM_NEWLINK, 0, &interface(index, IFF_NOARP))
}

/// Makes a pair of virtual Ethernet interfaces, each with its name and address: one end in the calling
/// thread's namespace, the other in that of an open file.
pub(crate) fn add_veth(
    (here, own): (&str, [u8; 6]),
    (there, other): (&str, [u8; 6]),
    namespace: i32,
) -> io::Result<()> {
    let mut peer = interface(0, 0);
    attribute(&mut peer, IFLA_IFNAME, there.as_bytes());
    attribute(&mut peer, IFLA_ADDRESS, &other);
    attribute(&mut peer, IFLA_NET_NS_FD, &namespace.to_ne_bytes());
    let mut data = Vec::new();
    attribute(&mut data, VETH_INFO_PEER, &peer);
    let mut info = Vec::new();
    attribute(&mut info, IFLA_INFO_KIND, b"veth");
    attribute(&mut info, IFLA_INFO_DATA, &data);
    let mut body = interface(0, 0);
    attribute(&mut body, IFLA_IFNAME, here.as_bytes());
    attribute(&mut body, IFLA_ADDRESS, &own);
    attribute(&mut body, IFLA_LINKINFO, &info);
    request(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &body)
}

/// The head of a request about an interface: which one, and flags to be set.
fn interface(index: u32, flags: u32) -> Vec<u8> {
    let mut body = vec![0, 0, 0, 0];
    body.extend(index.to_ne_bytes());
    body.extend(flags.to_ne_bytes());
    body.extend(flags.to_ne_bytes());
    body
}

/// Gives an interface a unique IPv4 address.
pub(crate) fn add_address(index: u32, address: [u8; 4]) -> io::Result<()> {
    let mut body = vec![AF_INET, 32, 0, 0];
    body.extend(index.to_ne_bytes());
    attribute(&mut body, IFA_LOCAL, &address);
    attribute(&mut body, IFA_ADDRESS, &address);
    request(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &body)
}

/// Sends everything through an interface. TCP starts with `initial_window` segments, acknowledges each
/// segment at once if wanted, and uses this congestion controller if one is given. A route may name any
/// controller that the kernel has; a namespace's default (`tcp_congestion_control`) only one that
/// unprivileged users may choose.
pub(crate) fn add_default_route(
    index: u32,
    initial_window: u32,
    quick_ack: bool,
    controller: Option<&str>,
) -> io::Result<()> {
    let mut body =
        vec![AF_INET, 0, 0, 0, RT_TABLE_MAIN, RTPROT_BOOT, RT_SCOPE_LINK, RTN_UNICAST, 0, 0, 0, 0];
    attribute(&mut body, RTA_OIF, &index.to_ne_bytes());
    let mut metrics = Vec::new();
    attribute(&mut metrics, RTAX_INITCWND, &initial_window.to_ne_bytes());
    if quick_ack {
        attribute(&mut metrics, RTAX_QUICKACK, &1u32.to_ne_bytes());
    }
    if let Some(name) = controller {
        attribute(&mut metrics, RTAX_CC_ALGO, &[name.as_bytes(), b"\0"].concat());
    }
    attribute(&mut body, RTA_METRICS, &metrics);
    request(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, &body)
}

fn attribute(body: &mut Vec<u8>, kind: u16, value: &[u8]) {
    body.extend((4 + value.len() as u16).to_ne_bytes());
    body.extend(kind.to_ne_bytes());
    body.extend(value);
    body.resize(body.len().next_multiple_of(4), 0);
}

/// Sends a request, and waits for what the kernel answers.
fn request(kind: u16, flags: u16, body: &[u8]) -> io::Result<()> {
    // Without a protocol it is number 0, NETLINK_ROUTE.
    let (family, raw) = (AddressFamily::NETLINK, SocketType::RAW);
    let socket = socket_with(family, raw, SocketFlags::CLOEXEC, None)?;
    let length = NLMSG_HEADER_BYTES + body.len();
    let mut message = Vec::with_capacity(length);
    message.extend((length as u32).to_ne_bytes());
    message.extend(kind.to_ne_bytes());
    message.extend((flags | NLM_F_REQUEST | NLM_F_ACK).to_ne_bytes());
    message.extend([0; 8]);
    message.extend(body);
    send(&socket, &message, SendFlags::empty())?;
    let mut answer = [0; 1024];
    let (_, length) = recv(&socket, &mut answer, RecvFlags::empty())?;
    let code = answer[..length].get(NLMSG_HEADER_BYTES..NLMSG_HEADER_BYTES + 4);
    let is_error = answer[4..6] == NLMSG_ERROR.to_ne_bytes();
    match code.and_then(|code| code.try_into().ok()).map(i32::from_ne_bytes) {
        Some(0) if is_error => Ok(()),
        Some(code) if is_error => Err(io::Error::from_raw_os_error(-code)),
        _ => Err(io::Error::other("the kernel's answer cannot be read")),
    }
}
