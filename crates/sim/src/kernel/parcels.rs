use flashcrowd_base::Slab;
use flashcrowd_transport::utp;

/// uTP packets on their way. The network carries segments, which all that it does is made for; a
/// uTP packet waits here meanwhile, and a segment without content carries the number of its place.
pub(crate) type Parcels = Slab<utp::Packet>;
