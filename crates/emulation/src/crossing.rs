use flashcrowd_base::{Span, Time};

/// How far a packet is that goes from one node's network to another's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InTransit {
    /// When it is looked at next.
    pub due: Time,
    /// How late it came from nodes before.
    pub late: Span,
    /// The host that sent it.
    pub from: u32,
    /// The host that it is for.
    pub to: u32,
    /// The next step of its route.
    pub step: u16,
    /// Whether it has reached its host by then.
    pub arrives: bool,
}

/// A packet that goes on at another node.
#[derive(Clone, Copy, Debug)]
pub struct Crossing<'a> {
    /// The other node.
    pub node: u32,
    /// How far it is.
    pub place: InTransit,
    /// The packet, from its IP header on.
    pub packet: &'a [u8],
}
