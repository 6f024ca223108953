use crate::{Limit, State};
use flashcrowd_base::{Span, Time};
use std::fmt::Debug;

/// A probe that is to be sent now: a small packet that its reflector sends back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// To which reflector: less than [`Setup::reflectors`].
    pub reflector: usize,
    /// After this time without an answer the driver reports the probe as lost.
    pub timeout: Span,
}

/// What became of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Which reflector was asked.
    pub reflector: usize,
    /// The round-trip time, or nothing if no answer came in time.
    pub rtt: Option<Span>,
}

/// What the client and its host say at one instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rates {
    /// Payload bytes that the client has uploaded since it was started: its own meter. A client that says
    /// rates only is integrated by the driver. A value less than the one before is a client that was started again.
    pub uploaded: u64,
    /// Payload bytes that it has downloaded.
    pub downloaded: u64,
    /// Bytes that left the host's interface, with headers, acknowledgements and every other program's
    /// traffic, where the driver can read it.
    pub sent: Option<u64>,
    /// The limit in force, as the client rounded it.
    pub limit: Limit,
    /// The highest limit that the client can get: its user's own. The driver sets no higher one.
    pub ceiling: Limit,
}

/// What happens to the line or to the client besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The interface lost its carrier or its address, or the client is gone.
    Down,
    /// It is back. What was learnt of delays may be wrong now.
    Up,
    /// Another gateway or public address: another path, perhaps another line.
    PathChanged,
    /// The host slept, or its clock was set: what happened in between is unknown.
    Resumed,
}

/// What a controller knows from the start.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// The instant.
    pub now: Time,
    /// How many reflectors there are, at least one.
    pub reflectors: usize,
    /// The limit that the client has.
    pub limit: Limit,
}

/// An upload controller. It reads no clock and opens no socket: its driver hands over what happens, asks for
/// probes until there are none, sets the limit, and comes back at the deadline at the latest.
///
/// Instants may repeat, and a step back of the clock changes nothing but the controller's patience.
pub trait Controller: Debug + Send {
    /// A probe was answered, or was given up.
    fn on_answer(&mut self, now: Time, answer: &Answer);
    /// The client was asked; see [`RATES_PERIOD`].
    fn on_rates(&mut self, now: Time, rates: &Rates);
    /// Something happened to the line.
    fn on_event(&mut self, _now: Time, _event: Event) {}
    /// The next probe that is due, if one is. Ask until there is none.
    fn probe(&mut self, now: Time) -> Option<Probe>;
    /// When [`probe`](Controller::probe) is to be asked again.
    fn deadline(&self) -> Time;
    /// The limit that the client should have now.
    fn limit(&self) -> Limit;
    /// What it is doing, and why.
    fn state(&self) -> State;
}

/// How often a driver asks the client for its [`Rates`]. Every controller here works with it; twice as often
/// brings nothing, since clients renew their meters about once a second (qBittorrent: every 1.5 s).
pub const RATES_PERIOD: Span = Span::from_millis(1000);
