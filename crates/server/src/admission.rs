use http::StatusCode;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// Who is connected, by address.
#[derive(Debug)]
pub(crate) struct Admission {
    max: usize,
    max_of_one: usize,
    there: Mutex<(usize, BTreeMap<IpAddr, usize>)>,
}

/// A place for a connection; dropped, it is free again.
#[derive(Debug)]
pub(crate) struct Admitted {
    admission: Arc<Admission>,
    address: IpAddr,
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

    pub(crate) fn enter(self: &Arc<Self>, address: IpAddr) -> Result<Admitted, Full> {
        let address = address.to_canonical();
        let mut there = self.there.lock().unwrap_or_else(PoisonError::into_inner);
        if there.0 >= self.max {
            return Err(Full::Server);
        }
        let of_one = there.1.entry(address).or_default();
        if *of_one >= self.max_of_one {
            return Err(Full::Address);
        }
        *of_one += 1;
        there.0 += 1;
        Ok(Admitted { admission: Arc::clone(self), address })
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        let mut there = self.admission.there.lock().unwrap_or_else(PoisonError::into_inner);
        there.0 -= 1;
        if let Some(of_one) = there.1.get_mut(&self.address) {
            *of_one -= 1;
            if *of_one == 0 {
                there.1.remove(&self.address);
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
        assert_eq!(admission.there.lock().unwrap().1.len(), 1);
        admission.enter(address("10.0.0.1")).unwrap();
    }
}
