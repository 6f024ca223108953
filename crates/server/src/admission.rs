use http::StatusCode;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The connected clients, by address.
#[derive(Debug)]
pub(crate) struct Admission {
    max: usize,
    max_of_one: usize,
    there: Mutex<There>,
}

#[derive(Debug, Default)]
struct There {
    connections: usize,
    addresses: BTreeMap<IpAddr, Address>,
    /// Free numbers, and how many numbers there have been.
    free: Vec<u32>,
    numbers: u32,
}

#[derive(Debug)]
struct Address {
    connections: usize,
    /// Its party at the disk.
    number: u32,
}

/// A place for a connection, for what is asked for an address, or for both; dropped, it is free again.
#[derive(Debug)]
pub(crate) struct Admitted {
    admission: Arc<Admission>,
    is_connection: bool,
    /// Its address and that one's number, if it counts as one of an address.
    of: Option<(IpAddr, u32)>,
}

impl Admitted {
    /// A number for its address, unique among those connected; 0 if it belongs to no address.
    pub(crate) fn number(&self) -> u32 {
        self.of.map_or(0, |(_, number)| number)
    }
}

/// The address that counts. Of IPv6 it is the network of 64 bits: a host with one address of it can have any other
/// (RFC 4291 2.5.4, RFC 7934).
fn counted(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        address => address,
    }
}

/// Why there is no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Full {
    Server,
    Address,
}

impl Full {
    /// Status of the answer with which a connection is refused.
    pub(crate) fn status(self) -> StatusCode {
        match self {
            Full::Server => StatusCode::SERVICE_UNAVAILABLE,
            Full::Address => StatusCode::TOO_MANY_REQUESTS,
        }
    }
}

impl Admission {
    pub(crate) fn new(max: usize, max_of_one: usize) -> Arc<Admission> {
        Arc::new(Admission { max, max_of_one, there: Mutex::default() })
    }

    /// A connection of a client.
    pub(crate) fn enter(self: &Arc<Self>, address: IpAddr) -> Result<Admitted, Full> {
        self.admit(true, Some(address))
    }

    /// A connection of a proxy, which brings requests of many.
    pub(crate) fn enter_proxy(self: &Arc<Self>) -> Result<Admitted, Full> {
        self.admit(true, None)
    }

    /// A request that a proxy has brought for a client.
    pub(crate) fn visit(self: &Arc<Self>, address: IpAddr) -> Result<Admitted, Full> {
        self.admit(false, Some(address))
    }

    fn admit(self: &Arc<Self>, is_connection: bool, of: Option<IpAddr>) -> Result<Admitted, Full> {
        let mut there = self.lock();
        if is_connection && there.connections >= self.max {
            return Err(Full::Server);
        }
        let of = match of {
            Some(address) => Some(there.count(counted(address), self.max_of_one)?),
            None => None,
        };
        there.connections += usize::from(is_connection);
        Ok(Admitted { admission: Arc::clone(self), is_connection, of })
    }

    /// Addresses that are connected.
    pub(crate) fn addresses(&self) -> usize {
        self.lock().addresses.len()
    }

    fn lock(&self) -> MutexGuard<'_, There> {
        self.there.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl There {
    /// One more of an address, and that one's number.
    fn count(&mut self, address: IpAddr, max: usize) -> Result<(IpAddr, u32), Full> {
        let There { addresses, free, numbers, .. } = self;
        let of_one = addresses.entry(address).or_insert_with(|| {
            let number = free.pop().unwrap_or_else(|| {
                *numbers += 1;
                *numbers
            });
            Address { connections: 0, number }
        });
        if of_one.connections >= max {
            return Err(Full::Address);
        }
        of_one.connections += 1;
        Ok((address, of_one.number))
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        let mut there = self.admission.lock();
        there.connections -= usize::from(self.is_connection);
        if let Some((address, number)) = self.of
            && let Some(of_one) = there.addresses.get_mut(&address)
        {
            of_one.connections -= 1;
            if of_one.connections == 0 {
                there.addresses.remove(&address);
                there.free.push(number);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_and_given_back() {
        let admission = Admission::new(3, 2);
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        let first = admission.enter(address("10.0.0.1")).unwrap();
        let _second = admission.enter(address("::ffff:10.0.0.1")).unwrap();
        assert_eq!(admission.enter(address("10.0.0.1")).unwrap_err(), Full::Address);
        let third = admission.enter(address("10.0.0.2")).unwrap();
        assert_eq!(admission.enter(address("10.0.0.3")).unwrap_err(), Full::Server);
        drop((first, third));
        assert_eq!(admission.addresses(), 1);
        admission.enter(address("10.0.0.1")).unwrap();
    }

    /// A proxy has as many connections as there are; its requests count for its clients.
    #[test]
    fn requests_of_a_proxy_count_for_their_clients() {
        let admission = Admission::new(3, 1);
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        let _proxy = [(); 3].map(|()| admission.enter_proxy().unwrap());
        assert_eq!(admission.enter_proxy().unwrap_err(), Full::Server);
        assert_eq!(admission.addresses(), 0);
        let first = admission.visit(address("2001:db8::1")).unwrap();
        assert_eq!(admission.visit(address("2001:db8::2")).unwrap_err(), Full::Address);
        let second = admission.visit(address("192.0.2.1")).unwrap();
        assert_eq!((first.number(), second.number()), (1, 2));
        drop(first);
        admission.visit(address("2001:db8::2")).unwrap();
    }

    /// All addresses of a network of 64 bits are one.
    #[test]
    fn a_network_of_64_bits_is_one_address() {
        let admission = Admission::new(10_000, 100);
        let mut places = Vec::new();
        for host in 1..=1000_u64 {
            let host = host.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let address = Ipv6Addr::from_bits(0x2001_0db8_0000_0001_u128 << 64 | u128::from(host));
            match admission.enter(address.into()) {
                Ok(place) => places.push(place),
                Err(full) => assert_eq!((full, places.len()), (Full::Address, 100)),
            }
        }
        assert_eq!(places.len(), 100);
        let next = admission.enter("2001:db8:0:2::1".parse().unwrap()).unwrap();
        let mapped = admission.enter("::ffff:10.0.0.1".parse().unwrap()).unwrap();
        let other = admission.enter("::ffff:10.0.0.2".parse().unwrap()).unwrap();
        assert_eq!(admission.addresses(), 4);
        let numbers = [&places[0], &next, &mapped, &other].map(Admitted::number);
        assert_eq!(numbers, [1, 2, 3, 4]);
        assert!(places.iter().all(|place| place.number() == 1));
        drop((places, next));
        let again = admission.enter("10.0.0.3".parse().unwrap()).unwrap();
        assert!(again.number() < 3);
    }
}
