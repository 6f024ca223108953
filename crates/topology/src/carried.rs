use flashcrowd_link::{Ack, Ecn, Flow, Packet};

/// A packet that knows how far it is on its route.
pub trait Carried: Packet + Copy {
    /// Index of its route; see [`Topology::route`](crate::Topology::route).
    fn route(&self) -> u32;
    /// The next step of the route.
    fn step(&self) -> u16;
    /// It has come to this step.
    fn set_step(&mut self, step: u16);
    /// Its name on the link that it comes to; see [`Packet::tag`].
    fn set_tag(&mut self, tag: u32);
    /// Its connection and the direction in it: any number that is the same for the same.
    fn connection(&self) -> u64;
}

/// A packet with the flow that its route makes it part of.
pub(crate) struct OnRoute<'a, P> {
    pub(crate) packet: &'a P,
    pub(crate) source: u32,
    pub(crate) target: u32,
}

impl<P: Carried> Packet for OnRoute<'_, P> {
    fn bytes(&self) -> u32 {
        self.packet.bytes()
    }
    fn tag(&self) -> u32 {
        self.packet.tag()
    }
    fn flow(&self) -> Flow {
        Flow { connection: self.packet.connection(), source: self.source, target: self.target }
    }
    fn ecn(&self) -> Ecn {
        self.packet.ecn()
    }
    fn ack(&self) -> Option<Ack> {
        self.packet.ack()
    }
}
