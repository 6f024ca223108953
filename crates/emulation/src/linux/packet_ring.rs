use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// The bytes of all frames together.
const RING_BYTES: usize = 32 << 20;
/// The unit in which the kernel takes memory.
const BLOCK_BYTES: usize = 1 << 16;
/// linux/if_packet.h: where a frame of version 2 says its state, the length of its packet, how much
/// of it is there, where that begins, and on which interface it came: in the `sockaddr_ll` that
/// follows the header of 32 bytes.
const STATUS: usize = 0;
const LENGTH: usize = 4;
const SNAPPED: usize = 8;
const NETWORK: usize = 14;
const INTERFACE: usize = 32 + 4;
/// Bytes before the packet at most: header, address, and alignment.
const HEADROOM: usize = 96;
const ETH_P_IP: u16 = 0x0800;
const PACKET_IGNORE_OUTGOING: libc::c_int = 23;

/// A raw socket for the IPv4 packets of all interfaces of a namespace, with a ring of received ones in
/// memory that the kernel shares (`PACKET_RX_RING`, version 2): reading one takes no call. The ring,
/// unlike the buffer of a socket, may be large for users without rights, too.
#[derive(Debug)]
pub(crate) struct PacketRing {
    socket: OwnedFd,
    memory: NonNull<u8>,
    bytes: usize,
    frame_bytes: usize,
    frames: usize,
    next: usize,
}

// SAFETY: the memory belongs to this value alone, and to the kernel, which does not ask which thread
// reads it.
#[allow(unsafe_code, reason = "a pointer to shared memory is not Send by itself")]
unsafe impl Send for PacketRing {}

impl PacketRing {
    /// A ring for the interfaces of the calling thread's namespace, for packets of at most `max_bytes`
    /// bytes.
    pub(crate) fn new(max_bytes: u32) -> io::Result<PacketRing> {
        let (family, cooked) = (AddressFamily::PACKET, SocketType::DGRAM);
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        // Without a protocol: it receives nothing before it is bound.
        let socket = socket_with(family, cooked, flags, None)?;
        let frame_bytes = (HEADROOM + max_bytes as usize).next_power_of_two();
        let block_bytes = BLOCK_BYTES.max(frame_bytes);
        let blocks = RING_BYTES / block_bytes;
        let frames = RING_BYTES / frame_bytes;
        set(&socket, libc::PACKET_VERSION, &(libc::tpacket_versions::TPACKET_V2 as libc::c_int))?;
        set(&socket, PACKET_IGNORE_OUTGOING, &1)?;
        set(&socket, libc::PACKET_QDISC_BYPASS, &1)?;
        let request = libc::tpacket_req {
            tp_block_size: block_bytes as u32,
            tp_block_nr: blocks as u32,
            tp_frame_size: frame_bytes as u32,
            tp_frame_nr: frames as u32,
        };
        set(&socket, libc::PACKET_RX_RING, &request)?;
        let memory = map(&socket, RING_BYTES)?;
        let ring = PacketRing { socket, memory, bytes: RING_BYTES, frame_bytes, frames, next: 0 };
        bind(&ring.socket)?;
        Ok(ring)
    }

    /// The next packet: the interface on which it came, and its bytes; `None` if there is none.
    ///
    /// # Errors
    /// It is longer than the buffer, or than promised.
    #[allow(unsafe_code, reason = "the kernel writes to the memory, too")]
    pub(crate) fn next(&mut self, buffer: &mut [u8]) -> io::Result<Option<(u32, usize)>> {
        let begin = self.next * self.frame_bytes;
        // SAFETY: the frame lies in the mapping, and is aligned as it is; the state is a word that the
        // kernel and this program hand over to each other.
        let state =
            unsafe { AtomicU32::from_ptr(self.memory.as_ptr().add(begin + STATUS).cast::<u32>()) };
        if state.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            return Ok(None);
        }
        // SAFETY: the state says that the frame is this program's, so that the kernel writes nothing to
        // it; it lies in the mapping, and is not used after the state is given back.
        let frame = unsafe {
            std::slice::from_raw_parts(self.memory.as_ptr().add(begin), self.frame_bytes)
        };
        let word = |at: usize| {
            u32::from_ne_bytes([frame[at], frame[at + 1], frame[at + 2], frame[at + 3]])
        };
        let network = usize::from(u16::from_ne_bytes([frame[NETWORK], frame[NETWORK + 1]]));
        let (length, snapped) = (word(LENGTH) as usize, word(SNAPPED) as usize);
        let whole = frame.get(network..network + snapped).filter(|_| length == snapped);
        let room = buffer.get_mut(..length);
        let (Some(packet), Some(room)) = (whole, room) else {
            return Err(io::Error::other(format!("a host sent a packet of {length} bytes")));
        };
        room.copy_from_slice(packet);
        let interface = word(INTERFACE);
        state.store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % self.frames;
        Ok(Some((interface, length)))
    }

    /// Sends a packet through an interface to a link address. Whether the kernel took it.
    #[allow(unsafe_code, reason = "rustix cannot send to addresses of links without its own types")]
    pub(crate) fn send(&self, interface: u32, to: [u8; 6], packet: &[u8]) -> bool {
        let mut address = link_address(interface);
        address.sll_halen = to.len() as u8;
        address.sll_addr[..to.len()].copy_from_slice(&to);
        // SAFETY: packet and address live until the call returns, and have the lengths that are given.
        let sent = unsafe {
            libc::sendto(
                self.socket.as_raw_fd(),
                packet.as_ptr().cast(),
                packet.len(),
                0,
                (&raw const address).cast(),
                size_of::<libc::sockaddr_ll>() as libc::socklen_t,
            )
        };
        sent == packet.len() as isize
    }

    /// Packets that came when the ring was full, since it was last asked.
    #[allow(unsafe_code, reason = "no safe crate asks packet sockets")]
    pub(crate) fn dropped(&self) -> io::Result<u64> {
        let mut found = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
        let mut length = size_of::<libc::tpacket_stats>() as libc::socklen_t;
        // SAFETY: the kernel writes at most `length` bytes.
        let failed = unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut found).cast(),
                &raw mut length,
            )
        };
        if failed == 0 { Ok(u64::from(found.tp_drops)) } else { Err(io::Error::last_os_error()) }
    }
}

impl Drop for PacketRing {
    #[allow(unsafe_code, reason = "the mapping was made by hand")]
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's, and nothing borrows from it any more.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), self.bytes) };
    }
}

impl AsFd for PacketRing {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[allow(unsafe_code, reason = "zeroes are a value of a plain struct")]
fn link_address(interface: u32) -> libc::sockaddr_ll {
    // SAFETY: it is plain data.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = ETH_P_IP.to_be();
    address.sll_ifindex = interface as i32;
    address
}

#[allow(unsafe_code, reason = "no safe crate sets options of packet sockets")]
fn set<T>(socket: &OwnedFd, option: libc::c_int, value: &T) -> io::Result<()> {
    // SAFETY: the value lives until the call returns, and has the length that is given.
    let failed = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            option,
            std::ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    if failed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[allow(unsafe_code, reason = "no safe crate maps the rings of packet sockets")]
fn map(socket: &OwnedFd, bytes: usize) -> io::Result<NonNull<u8>> {
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
    // SAFETY: a new mapping, at a place that the kernel chooses.
    let memory = unsafe {
        libc::mmap(std::ptr::null_mut(), bytes, protection, flags, socket.as_raw_fd(), 0)
    };
    if memory == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    NonNull::new(memory.cast()).ok_or_else(|| io::Error::other("a mapping at address 0"))
}

#[allow(unsafe_code, reason = "rustix cannot bind to links without its own types")]
fn bind(socket: &OwnedFd) -> io::Result<()> {
    let all = link_address(0);
    // SAFETY: the address lives until the call returns, and has the length that is given.
    let failed = unsafe {
        libc::bind(
            socket.as_raw_fd(),
            (&raw const all).cast(),
            size_of::<libc::sockaddr_ll>() as libc::socklen_t,
        )
    };
    if failed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
