use super::config::Config;
use super::receiver::OVERSHOOT;
use flashcrowd_base::Span;
use std::hash::Hash;
use std::net::{IpAddr, SocketAddr};

/// What an [`Endpoint`](super::Endpoint) lets strangers take, in all and per network: a host that
/// has one address can usually send from all addresses of its [`Network`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections at once. A SYN beyond that is answered with RESET.
    pub connections: usize,
    /// Connections at once with one network.
    pub network_connections: usize,
    /// Half-open connections at once: accepted, and the other end has not shown itself since. A SYN
    /// beyond that is answered as well and not remembered: the packet that acknowledges the answer
    /// opens the connection, by a cookie (RFC 4987, 3.6). So a flood from forged addresses locks no
    /// caller out, and many callers may come at once.
    pub half_open: usize,
    /// Half-open connections at once with one network.
    pub network_half_open: usize,
    /// RESETs that are remembered, so that the same packet is answered once. While this many are
    /// remembered, no other packet for an unknown connection is answered.
    pub resets: usize,
    /// How long a RESET is remembered.
    pub reset_memory: Span,
}

impl Limits {
    /// Those of libutp (3000 connections, 1000 RESETs for 10 s), which knows no others: a tenth of
    /// the connections may be half open, and one network may have a tenth of either.
    pub const LIBUTP: Limits = Limits {
        connections: 3000,
        network_connections: 300,
        half_open: 300,
        network_half_open: 30,
        resets: 1000,
        reset_memory: Span::from_secs(10),
    };

    /// The same limits with so few connections that the payload which all of them together can make
    /// a driver hold for its applications fits in `bytes`, however little these read; at least one
    /// connection. One network gets a quarter of the memory at most.
    #[must_use]
    pub fn within_memory(self, bytes: u64, config: &Config) -> Limits {
        let each = config.receive_buffer_bytes + OVERSHOOT;
        let fitting = |bytes: u64| usize::try_from(bytes / each).unwrap_or(usize::MAX).max(1);
        Limits {
            connections: self.connections.min(fitting(bytes)),
            network_connections: self.network_connections.min(fitting(bytes / 4)),
            ..self
        }
    }
}

/// An address, as the driver of an [`Endpoint`](super::Endpoint) has them.
pub trait Address: Copy + Ord + Hash {
    /// The addresses that one owner is assumed to command as a whole.
    type Network: Copy + Ord + std::fmt::Debug;
    /// The network of this address.
    fn network(&self) -> Self::Network;
}

/// A prefix as networks are assigned: a /24 of IPv4, a /64 of IPv6 (RFC 4291, 2.5.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Network {
    /// The first three bytes of an IPv4 address.
    V4([u8; 3]),
    /// The first eight bytes of an IPv6 address.
    V6([u8; 8]),
}

impl Address for SocketAddr {
    type Network = Network;

    fn network(&self) -> Network {
        match self.ip().to_canonical() {
            IpAddr::V4(address) => {
                let [a, b, c, _] = address.octets();
                Network::V4([a, b, c])
            }
            IpAddr::V6(address) => {
                let [a, b, c, d, e, f, g, h, ..] = address.octets();
                Network::V6([a, b, c, d, e, f, g, h])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::profiles;
    use super::*;

    #[test]
    fn addresses_of_one_prefix_are_one_network() {
        let network = |text: &str| text.parse::<SocketAddr>().expect("an address").network();
        assert_eq!(network("192.0.2.1:1"), network("192.0.2.255:2"));
        assert_ne!(network("192.0.2.1:1"), network("192.0.3.1:1"));
        assert_eq!(network("192.0.2.1:1"), network("[::ffff:192.0.2.9]:1"));
        assert_eq!(network("[2001:db8::1]:1"), network("[2001:db8::ffff:0:0:1]:1"));
        assert_ne!(network("[2001:db8::1]:1"), network("[2001:db8:0:1::1]:1"));
    }

    #[test]
    fn memory_bounds_connections() {
        let config = profiles::libutp();
        let each = (1 << 20) + 65_536;
        let limits = Limits::LIBUTP.within_memory(80 * each, &config);
        assert_eq!((limits.connections, limits.network_connections), (80, 20));
        assert_eq!(Limits::LIBUTP.within_memory(u64::MAX, &config), Limits::LIBUTP);
        let min = Limits::LIBUTP.within_memory(0, &config);
        assert_eq!((min.connections, min.network_connections), (1, 1));
    }
}
