//! The choice of peers to upload to (`clients.md` A.2 to A.4, E). The rules are functions from what
//! is known about every neighbour to a decision for each; one rule a file.

pub mod mainline_leech;
pub mod mainline_seed;
pub mod modern;
pub mod ns2;

use crate::profile::{Choker as Rules, LeechChoker, SeedChoker, Slots};
use crate::{ConnId, UnchokeEnd};
use flashcrowd_base::{RandomStream, Rate, Time};

/// The facts about a neighbour that a rule may use.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    /// It wants something of ours.
    pub interested: bool,
    /// We do not upload to it.
    pub choked: bool,
    /// The last round unchoked it for what it gave us, not by its turn.
    pub preferred: bool,
    /// The last round unchoked it by its turn.
    pub optimistic: bool,
    /// No optimistic place has been drawn since it came.
    pub newcomer: bool,
    /// It has sent us nothing for too long.
    pub snubbed: bool,
    /// It has requests queued with us.
    pub queued: bool,
    /// Nothing waits for room in its socket buffer.
    pub flushed: bool,
    /// The metered rate of blocks from it.
    pub download_rate: f64,
    /// The metered rate of blocks to it.
    pub upload_rate: f64,
    /// The round in which we unchoked it last.
    pub unchoked_round: u32,
    /// The time at which we unchoked it last, if ever.
    pub unchoked_at: Option<Time>,
    /// When it last had an optimistic turn, if ever.
    pub optimistic_at: Option<Time>,
    /// Bytes of blocks from it since the last round.
    pub down_since_round: u64,
    /// Bytes of blocks to it since the last round.
    pub up_since_round: u64,
    /// Bytes of blocks from it in the round before the last.
    pub down_round_before: u64,
    /// Bytes of blocks to it in the round before the last.
    pub up_round_before: u64,
    /// Bytes of blocks to it since we unchoked it.
    pub up_since_unchoke: u64,
    /// Pieces that it has.
    pub pieces: u32,
}

impl Candidate {
    /// A candidate of which only its interest is known.
    pub const STRANGER: Candidate = Candidate {
        interested: true,
        choked: true,
        preferred: false,
        optimistic: false,
        newcomer: false,
        snubbed: false,
        queued: false,
        flushed: true,
        download_rate: 0.0,
        upload_rate: 0.0,
        unchoked_round: 0,
        unchoked_at: None,
        optimistic_at: None,
        down_since_round: 0,
        up_since_round: 0,
        down_round_before: 0,
        up_round_before: 0,
        up_since_unchoke: 0,
        pieces: 0,
    };
}

/// The decision about a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Unchoke, or stay so, on its merit.
    Prefer,
    /// Unchoke, or stay so, by its turn.
    Optimistic,
    /// Choke, or stay so. If it was unchoked, this is why.
    Choke(UnchokeEnd),
    /// Stay as it is.
    Leave,
}

/// Whether the rules go by what rounds and unchokes brought; mainline's go by rates and turns.
pub fn looks_back(rules: &Rules) -> bool {
    (rules.leech, rules.seed) != (LeechChoker::Mainline, SeedChoker::Mainline)
}

/// The number of uploads at a time, the optimistic one included.
pub fn slots(rule: Slots, limit: Option<Rate>) -> u32 {
    match (rule, limit) {
        (Slots::Fixed(slots), _) => slots.max(1),
        (Slots::MainlineByRate, None) => 7,
        (Slots::MainlineByRate, Some(rate)) => {
            let kilobytes = rate.bytes_per_second() / 1024.0;
            match kilobytes {
                r if r < 9.0 => 2,
                r if r < 15.0 => 3,
                r if r < 42.0 => 4,
                r => libm::sqrt(r * 0.6) as u32,
            }
        }
    }
}

/// The neighbours in the order in which the rules walk them, and the counters between rounds.
#[derive(Clone, Debug, Default)]
pub struct Choker {
    order: Vec<ConnId>,
    /// Number of the current round.
    pub round: u32,
    /// Seeds: unchokes made between rounds, to be taken off the next round's.
    pub unchokes_since_round: u32,
    /// [`modern`]: when the optimistic places moved on last, or one of them was filled.
    pub optimistic_since: Time,
    /// [`ns2`]: rounds that counted since the optimistic place was drawn.
    pub rounds_in_place: u32,
}

impl Choker {
    /// A new neighbour comes in at a random position.
    pub fn insert(&mut self, conn: ConnId, stream: &mut RandomStream) {
        let position = stream.below(self.order.len() + 1);
        self.order.insert(position, conn);
    }
    /// A neighbour is gone.
    pub fn remove(&mut self, conn: ConnId) {
        self.order.retain(|other| *other != conn);
    }
    /// The walking order.
    pub fn order(&self) -> &[ConnId] {
        &self.order
    }
    /// `first` becomes the first of the walk.
    pub fn rotate_to(&mut self, first: usize) {
        if first < self.order.len() {
            self.order.rotate_left(first);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_by_rate() {
        let by_rate =
            |kilobytes: u64| slots(Slots::MainlineByRate, Rate::from_bps(kilobytes * 1024 * 8));
        let table = [(0, 7), (1, 2), (8, 2), (9, 3), (10, 3), (14, 3), (15, 4), (20, 4)];
        let table = table.into_iter().chain([(41, 4), (42, 5), (50, 5), (100, 7), (1000, 24)]);
        for (rate, expected) in table {
            assert_eq!(by_rate(rate), expected, "{rate} KB/s");
        }
        assert_eq!(slots(Slots::Fixed(8), Rate::from_bps(1)), 8);
    }

    #[test]
    fn who_is_gone_leaves_the_walk_and_the_walk_begins_where_it_is_told() {
        let mut stream = RandomStream::new(1, "order", 0);
        let mut choker = Choker::default();
        (0..4).for_each(|conn| choker.insert(ConnId(conn), &mut stream));
        let order = choker.order().to_vec();
        choker.remove(order[1]);
        assert_eq!(choker.order(), [order[0], order[2], order[3]]);
        choker.rotate_to(2);
        assert_eq!(choker.order(), [order[3], order[0], order[2]]);
        // There is no fourth.
        choker.rotate_to(3);
        assert_eq!(choker.order(), [order[3], order[0], order[2]]);
        choker.remove(order[1]);
        assert_eq!(choker.order().len(), 3);
    }

    #[test]
    fn new_neighbours_come_in_anywhere() {
        let mut first = 0;
        for seed in 0..300 {
            let mut stream = RandomStream::new(seed, "order", 0);
            let mut choker = Choker::default();
            (0..3).for_each(|conn| choker.insert(ConnId(conn), &mut stream));
            first += u32::from(choker.order()[0] == ConnId(2));
        }
        assert!((60..140).contains(&first), "{first}");
    }
}
