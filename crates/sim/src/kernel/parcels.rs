use flashcrowd_transport::utp;

/// uTP packets on their way. The network carries segments, which all that it does is made for; a
/// uTP packet waits here meanwhile, and a segment without content carries the number of its place.
#[derive(Default)]
pub(crate) struct Parcels {
    places: Vec<utp::Packet>,
    free: Vec<u32>,
}

impl Parcels {
    /// Keeps a packet; the number of its place.
    pub(crate) fn put(&mut self, packet: utp::Packet) -> u32 {
        match self.free.pop() {
            Some(place) => {
                self.places[place as usize] = packet;
                place
            }
            None => {
                self.places.push(packet);
                (self.places.len() - 1) as u32
            }
        }
    }

    /// The packet at a place, which is free then.
    pub(crate) fn take(&mut self, place: u32) -> utp::Packet {
        self.free.push(place);
        self.places[place as usize]
    }
}
