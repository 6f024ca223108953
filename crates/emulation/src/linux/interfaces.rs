use super::host::{self, HostSettings};
use super::namespace::Namespace;
use super::steering::Steering;
use super::tun::{self, Tun};
use super::veth::Patchbay;
use crate::offload::Offload;
use rustix::event::epoll;
use rustix::fd::OwnedFd;
use serde::{Deserialize, Serialize};
use std::io;

/// How hosts are attached to the emulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Attachment {
    /// A TUN device for each host.
    Tun,
    /// A pair of virtual Ethernet interfaces for each host, whose other ends one raw socket reads
    /// and writes: where `/dev/net/tun` is missing or not allowed.
    Veth,
}

impl Attachment {
    /// The attachment that this system allows: TUN if it can be opened.
    pub fn possible() -> Attachment {
        if tun::open_tun().is_ok() { Attachment::Tun } else { Attachment::Veth }
    }
}

/// The interfaces of all hosts, as the emulator reads and writes them.
#[derive(Debug)]
pub(crate) enum Interfaces {
    Tun(Vec<Tun>),
    Veth(Patchbay),
}

impl Interfaces {
    /// A namespace with an interface for each host. The calling thread is where it was before.
    pub(crate) fn new(
        attachment: Attachment,
        settings: &[HostSettings],
        steering: Option<&Steering>,
    ) -> io::Result<(Vec<Namespace>, Interfaces)> {
        let offloads = settings.iter().any(|host| host.largest_segment > 0);
        match attachment {
            Attachment::Veth if offloads => {
                Err(io::Error::other("super-segments (TSO) that stay whole need TUN"))
            }
            Attachment::Tun => {
                let make = |host| Namespace::make(|| Tun::new(host, offloads, steering));
                let made = settings.iter().map(make);
                let made: Vec<(Namespace, Tun)> = made.collect::<io::Result<_>>()?;
                let (namespaces, tuns) = made.into_iter().unzip();
                Ok((namespaces, Interfaces::Tun(tuns)))
            }
            Attachment::Veth => {
                let (namespaces, patchbay) = Patchbay::new(settings, steering)?;
                Ok((namespaces, Interfaces::Veth(patchbay)))
            }
        }
    }

    /// Has an epoll tell when there is something to [`read`](Interfaces::read), and with which number.
    pub(crate) fn watch(&self, poll: &OwnedFd) -> io::Result<()> {
        let add = |file, number| {
            epoll::add(poll, file, epoll::EventData::new_u64(number), epoll::EventFlags::IN)
        };
        match self {
            Interfaces::Tun(tuns) => {
                for (tun, host) in tuns.iter().zip(0..) {
                    add(rustix::fd::AsFd::as_fd(tun), host)?;
                }
            }
            Interfaces::Veth(patchbay) => add(rustix::fd::AsFd::as_fd(patchbay), 0)?,
        }
        Ok(())
    }

    /// The next packet of what the epoll named by that number: the host that sent it, its bytes,
    /// and what the host left to its card. `None` if there is none.
    pub(crate) fn read(
        &mut self,
        number: u64,
        buffer: &mut [u8],
    ) -> io::Result<Option<(u32, usize, Offload)>> {
        match self {
            Interfaces::Tun(tuns) => {
                let read = tuns[number as usize].read(buffer)?;
                Ok(read.map(|(bytes, offload)| (number as u32, bytes, offload)))
            }
            Interfaces::Veth(patchbay) => {
                let read = patchbay.read(buffer)?;
                Ok(read.map(|(host, bytes)| (host, bytes, Offload::NOTHING)))
            }
        }
    }

    /// Hands a packet to a host. Whether the kernel took it.
    pub(crate) fn write(&self, host: u32, packet: &[u8], offload: &Offload) -> bool {
        match self {
            Interfaces::Tun(tuns) => tuns[host as usize].write(packet, offload),
            Interfaces::Veth(patchbay) => patchbay.write(host, packet),
        }
    }

    /// Packets that hosts sent and that were not read in time.
    pub(crate) fn dropped(&self, namespaces: &[Namespace]) -> io::Result<u64> {
        let drops = namespaces.iter().map(|namespace| namespace.within(host::dropped));
        let before = match self {
            Interfaces::Tun(_) => 0,
            Interfaces::Veth(patchbay) => patchbay.dropped()?,
        };
        Ok(drops.sum::<io::Result<u64>>()? + before)
    }
}
