//! One direction of a link: a verdict per packet.
