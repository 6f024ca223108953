//! The syntax of a `Host` field (RFC 9112, 3.2; RFC 9110, 7.2; RFC 3986, 3.2.2).

use std::net::Ipv6Addr;

/// Whether a value names a host, with or without a port. Nothing is served without one, so an empty value is no host.
pub(crate) fn is_valid(value: &[u8]) -> bool {
    let Ok(value) = std::str::from_utf8(value) else { return false };
    if let Some(literal) = value.strip_prefix('[') {
        let Some((address, port)) = literal.split_once(']') else { return false };
        let is_port = |port: &str| port.is_empty() || port.strip_prefix(':').is_some_and(is_port);
        return is_port(port) && (address.parse::<Ipv6Addr>().is_ok() || is_future(address));
    }
    let (name, port) = value.split_once(':').unwrap_or((value, ""));
    !name.is_empty() && is_name(name) && is_port(port)
}

fn is_port(port: &str) -> bool {
    port.is_empty() || port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok()
}

/// `unreserved` and `sub-delims`.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=".contains(&byte)
}

/// `reg-name`, of which an IPv4 address is one.
fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    while let Some(byte) = bytes.next() {
        let encoded = || [bytes.clone().next(), bytes.clone().nth(1)];
        let is_encoded = byte == b'%'
            && encoded().iter().all(|digit| digit.is_some_and(|digit| digit.is_ascii_hexdigit()));
        if !is_encoded && !is_plain(byte) {
            return false;
        }
    }
    true
}

/// `IPvFuture`.
fn is_future(address: &str) -> bool {
    let Some((version, rest)) = address.strip_prefix(['v', 'V']).and_then(|it| it.split_once('.'))
    else {
        return false;
    };
    !version.is_empty()
        && version.bytes().all(|byte| byte.is_ascii_hexdigit())
        && !rest.is_empty()
        && rest.bytes().all(|byte| is_plain(byte) || byte == b':')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn hosts_are_those_of_rfc_3986() {
        for host in [
            "x",
            "example.org",
            "example.org:",
            "example.org:8080",
            "10.0.0.1:80",
            "a_b",
            "a%20b",
            "[::1]",
            "[::1]:8080",
            "[::ffff:10.0.0.1]:",
            "[v1.a:b]",
            "xn--bcher-kva.example",
        ] {
            assert!(is_valid(host.as_bytes()), "{host}");
        }
        for host in [
            "",
            ":80",
            "a b",
            "\"<x>\"",
            "[::1",
            "::1",
            "[::1]x",
            "[::1]:x",
            "[fe80::1%25eth0]",
            "a:b",
            "a:70000",
            "user@example.org",
            "a/b",
            "a%2",
            "a%zz",
            "[]",
            "[v.a]",
            "a,b c",
            "a\tb",
            "a?b",
            "a#b",
            "a\\b",
            "{a}",
        ] {
            assert!(!is_valid(host.as_bytes()), "{host}");
        }
        assert!(!is_valid(b"caf\xc3\xa9"));
        assert!(!is_valid(b"\xff"));
    }

    proptest! {
        /// Whatever the library of URIs refuses as an authority is refused. It knows no percent-encoded names.
        #[test]
        fn no_host_that_is_no_authority(host in "[a-z0-9.:\\[\\]@/?# \"<>-]{0,12}") {
            if host.parse::<http::uri::Authority>().is_err() {
                prop_assert!(!is_valid(host.as_bytes()), "{}", host);
            }
        }
    }
}
