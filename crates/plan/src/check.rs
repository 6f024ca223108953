use crate::Plan;
use flashcrowd_base::{Refusal, Span};
use std::fmt::Display;
use thiserror::Error as ThisError;

/// A mistake in a plan.
#[derive(Clone, Debug, PartialEq, Eq, ThisError)]
#[error("plan: {path}: {message}")]
pub struct Error {
    /// Where, as a dotted path.
    pub path: String,
    /// The mistake, or the allowed values.
    pub message: String,
}

impl Error {
    /// An error at a dotted path.
    pub fn new(path: impl Into<String>, message: impl ToString) -> Error {
        Error { path: path.into(), message: message.to_string() }
    }
}

/// Refuses with this message what does not hold.
pub(crate) fn require(
    holds: bool,
    path: impl ToString,
    message: impl ToString,
) -> Result<(), Error> {
    if holds { Ok(()) } else { Err(Error::new(path.to_string(), message)) }
}

/// Names what refused a table of settings at `path`.
pub(crate) fn refused(path: impl Display) -> impl FnOnce(Refusal) -> Error {
    move |Refusal { path: below, value, allowed }| {
        Error::new(format!("{path}.{below}"), format_args!("{value} is not allowed, {allowed}"))
    }
}

/// Refuses an index beyond what there is.
pub(crate) fn index(value: u32, len: usize, path: impl ToString) -> Result<(), Error> {
    require((value as usize) < len, path, format_args!("{value} does not exist: there are {len}"))
}

/// Refuses ends that are no hosts.
pub(crate) fn ends(plan: &Plan, from: u32, to: u32, path: &str) -> Result<(), Error> {
    let hosts = plan.network.hosts.len();
    index(from, hosts, format_args!("{path}.from"))?;
    index(to, hosts, format_args!("{path}.to"))
}

/// Refuses datagrams between these hosts that no link carries whole, and those that come all at once.
pub(crate) fn datagrams(
    plan: &Plan,
    hosts: [u32; 2],
    size_bytes: u32,
    interval_ns: Span,
    path: &str,
) -> Result<(), Error> {
    let often = interval_ns >= Span::from_micros(1);
    require(often, format_args!("{path}.interval_ns"), "must be at least a microsecond")?;
    // Nothing here fragments IP packets (RFC 791, 3.2).
    for host in hosts.map(|index| &plan.network.hosts[index as usize]) {
        let mtu_bytes = plan.stacks[host.stack as usize].mtu_bytes;
        require(
            size_bytes <= mtu_bytes,
            format_args!("{path}.size_bytes"),
            format_args!("must be at most {mtu_bytes}, the MTU of {}", host.name),
        )?;
    }
    Ok(())
}
