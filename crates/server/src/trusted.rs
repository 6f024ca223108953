//! Proxies that are trusted to name their clients (`X-Forwarded-For`).

use http::{HeaderMap, HeaderName};
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Addresses that begin with the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Network {
    address: IpAddr,
    /// How many bits are the same.
    length: u32,
}

/// An error: it is no network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is no ADDRESS or ADDRESS/LENGTH")]
pub struct NoNetwork;

impl FromStr for Network {
    type Err = NoNetwork;

    fn from_str(text: &str) -> Result<Network, NoNetwork> {
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (text, None),
        };
        let address = address.parse::<IpAddr>().map_err(|_| NoNetwork)?.to_canonical();
        let most = if address.is_ipv4() { 32 } else { 128 };
        let length = length.map_or(Ok(most), |length| length.parse().map_err(|_| NoNetwork))?;
        if length > most { Err(NoNetwork) } else { Ok(Network { address, length }) }
    }
}

impl TryFrom<String> for Network {
    type Error = NoNetwork;

    fn try_from(text: String) -> Result<Network, NoNetwork> {
        text.parse()
    }
}

impl From<Network> for String {
    fn from(network: Network) -> String {
        format!("{}/{}", network.address, network.length)
    }
}

impl Network {
    fn holds(&self, address: IpAddr) -> bool {
        let differ = match (self.address, address.to_canonical()) {
            (IpAddr::V4(ours), IpAddr::V4(theirs)) => {
                u128::from(ours.to_bits() ^ theirs.to_bits()) << 96
            }
            (IpAddr::V6(ours), IpAddr::V6(theirs)) => ours.to_bits() ^ theirs.to_bits(),
            _ => return false,
        };
        differ.leading_zeros() >= self.length
    }
}

/// Whether an address is that of a proxy that is believed.
pub(crate) fn is_trusted(proxies: &[Network], address: IpAddr) -> bool {
    proxies.iter().any(|network| network.holds(address))
}

/// The client of a request: the peer, or, if that is a trusted proxy, the last address in its field that is not one of
/// these, too. The client itself may have made up any address before that one. A field that cannot be read counts as
/// none: then it is the peer.
pub(crate) fn client(proxies: &[Network], peer: IpAddr, headers: &HeaderMap) -> IpAddr {
    let mut client = peer;
    if !is_trusted(proxies, peer) {
        return client;
    }
    let values = headers.get_all(FORWARDED_FOR).iter().rev();
    for entry in values.flat_map(|value| value.as_bytes().rsplit(|byte| *byte == b',')) {
        let Some(address) = address(entry) else { return peer };
        client = address;
        if !is_trusted(proxies, address) {
            break;
        }
    }
    client
}

/// An address with or without a port, as proxies write it.
fn address(entry: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(entry.trim_ascii()).ok()?;
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    let address = bare.unwrap_or(text).parse();
    let address = address.or_else(|_| text.parse().map(|with_port: SocketAddr| with_port.ip()));
    Some(address.ok()?.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn networks(texts: &[&str]) -> Vec<Network> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    fn who(proxies: &[&str], peer: &str, fields: &[&str]) -> String {
        let mut headers = HeaderMap::new();
        for field in fields {
            headers.append(FORWARDED_FOR, field.parse().unwrap());
        }
        client(&networks(proxies), peer.parse().unwrap(), &headers).to_string()
    }

    #[test]
    fn the_last_address_that_is_no_proxy_is_the_client() {
        let proxies = ["127.0.0.1", "10.0.0.0/8", "2001:db8::/32"];
        for (peer, fields, expected) in [
            ("127.0.0.1", &["192.0.2.1"][..], "192.0.2.1"),
            ("::ffff:127.0.0.1", &["192.0.2.1"], "192.0.2.1"),
            // An address that a client has sent itself comes first.
            ("127.0.0.1", &["1.1.1.1, 192.0.2.1"], "192.0.2.1"),
            ("127.0.0.1", &["1.1.1.1", "192.0.2.1 "], "192.0.2.1"),
            ("127.0.0.1", &["nonsense, 192.0.2.1"], "192.0.2.1"),
            // A chain of proxies.
            ("127.0.0.1", &["1.1.1.1, 192.0.2.1, 10.9.9.9,2001:db8::7"], "192.0.2.1"),
            ("127.0.0.1", &["10.0.0.7, 10.0.0.8"], "10.0.0.7"),
            // With ports.
            ("127.0.0.1", &["192.0.2.1:4711"], "192.0.2.1"),
            ("127.0.0.1", &["[2001:db9::1]:4711"], "2001:db9::1"),
            ("127.0.0.1", &["[2001:db9::1]"], "2001:db9::1"),
            ("127.0.0.1", &["::ffff:192.0.2.1"], "192.0.2.1"),
            // Nothing that can be read.
            ("127.0.0.1", &[], "127.0.0.1"),
            ("127.0.0.1", &[""], "127.0.0.1"),
            ("127.0.0.1", &["unknown"], "127.0.0.1"),
            ("127.0.0.1", &["192.0.2.1, unknown"], "127.0.0.1"),
            ("127.0.0.1", &["192.0.2.1, unknown, 10.0.0.1"], "127.0.0.1"),
            ("127.0.0.1", &["192.0.2.1,"], "127.0.0.1"),
            ("127.0.0.1", &["192.0.2.1:99999"], "127.0.0.1"),
            // Any other peer is not trusted.
            ("192.0.2.9", &["192.0.2.1"], "192.0.2.9"),
            ("11.0.0.1", &["192.0.2.1"], "11.0.0.1"),
        ] {
            assert_eq!(who(&proxies, peer, fields), expected, "{peer} {fields:?}");
        }
        assert_eq!(who(&[], "127.0.0.1", &["192.0.2.1"]), "127.0.0.1");
    }

    #[test]
    fn networks_are_read_and_written() {
        for (text, inside, outside) in [
            ("10.0.0.0/8", "10.255.0.1", "11.0.0.1"),
            ("10.1.2.3", "10.1.2.3", "10.1.2.2"),
            ("0.0.0.0/0", "255.255.255.255", "::1"),
            ("::/0", "::1", "1.2.3.4"),
            ("2001:db8::/33", "2001:db8:7fff::", "2001:db8:8000::"),
            ("::1", "::1", "::2"),
        ] {
            let network: Network = text.parse().unwrap();
            assert!(network.holds(inside.parse().unwrap()), "{text}");
            assert!(!network.holds(outside.parse().unwrap()), "{text}");
            assert_eq!(String::from(network).parse(), Ok(network));
        }
        for text in
            ["", "/8", "10.0.0.0/33", "::/129", "10.0.0.0/-1", "a", "10.0.0", "::1/", "1/1/1"]
        {
            assert_eq!(text.parse::<Network>(), Err(NoNetwork), "{text}");
        }
    }

    proptest! {
        /// Whatever a field says: only what a proxy wrote last can be the client, or the peer itself.
        #[test]
        fn nobody_is_somebody_that_no_proxy_has_seen(field in "[0-9a-f.:, \\[\\]]{0,40}", last in any::<u32>()) {
            let last = std::net::Ipv4Addr::from_bits(last);
            let proxies = ["127.0.0.1"];
            prop_assume!(!is_trusted(&networks(&proxies), last.into()));
            let said = format!("{field}, {last}");
            prop_assert_eq!(who(&proxies, "127.0.0.1", &[&said]), last.to_string());
        }
    }
}
