//! Further state of a connection of today's clients: libtorrent's `peer_connection`.

use super::send_buffer::SendBuffer;
use crate::PeerId;
use crate::block_map::Block;
use crate::profile::{Profile, RequestPipeline, Sharing};
use crate::request_time::RequestTime;
use crate::statistics::Statistics;
use flashcrowd_base::{Span, Time};
use std::collections::{BTreeSet, VecDeque};

/// Rates by the second, a send buffer with a quota, allowed-fast pieces, and blocks that are spoken for and
/// have not been asked for. Connections of older clients have none of this.
#[derive(Debug, Default)]
pub(super) struct Extras {
    /// If the client shares its limit by quotas.
    pub(super) send: Option<SendBuffer>,
    pub(super) statistics: Statistics,
    /// Over uTP.
    pub(super) utp: bool,
    /// For what it brings over TCP.
    pub(super) read_quota: ReadQuota,
    /// Both ends offer the Fast extension.
    pub(super) fast: bool,
    /// Both ends offer the extension protocol.
    pub(super) protocol: bool,
    /// The exchange with a neighbour that understands peer exchange.
    pub(super) exchanged: Option<Box<Exchanged>>,
    /// Bytes of blocks that it has brought.
    pub(super) downloaded: u64,
    /// Since when neither of the two has been interested in the other, if neither is.
    pub(super) indifferent_since: Time,
    /// Pieces that the neighbour may request while choked, and how many of its requests for them were taken.
    pub(super) granted: Vec<(u32, u32)>,
    /// Whether they were sent to it.
    pub(super) granted_sent: bool,
    /// Pieces that we may request while choked.
    pub(super) allowed: Vec<u32>,
    pub(super) suggestions: Suggestions,
    /// When we choked it last.
    pub(super) choked_at: Option<Time>,
    /// Blocks to request from it when its queue has room (`m_request_queue`).
    pub(super) reserved: VecDeque<Block>,
    /// When something was requested from it last.
    pub(super) asked_at: Option<Time>,
    /// Since when it has owed its next block (`m_requested`), and how long the last ones took (`m_request_time`).
    pub(super) owes_since: Time,
    pub(super) request_time: RequestTime,
    /// Blocks that it owes still and that were given up (`pending_block::timed_out`).
    pub(super) given_up: Vec<Block>,
    /// It owed blocks and sent none for too long (`m_snubbed`).
    pub(super) snubbed: bool,
    /// Its queue could not be filled (`m_endgame_mode`).
    pub(super) end_game: bool,
    /// The queue does not grow by one for each block any more.
    pub(super) slow_start_over: bool,
    /// How many requests, while it grows (`m_desired_queue_size`).
    pub(super) queue_size: u32,
}

/// The read quota of one connection, while TCP has a limit (`m_quota[download_channel]`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReadQuota {
    pub(super) bytes: u32,
    /// A request for more has not been answered.
    pub(super) waits: bool,
}

/// Peer exchange's state of one neighbour (`ut_pex_peer_plugin`).
#[derive(Debug, Default)]
pub(super) struct Exchanged {
    /// When it was sent a message; first a list of all neighbours, and then what has changed.
    pub(super) sent_at: Option<Time>,
    /// The peers that it named and has not dropped (`ut_pex_peer_store::m_peers`).
    pub(super) named: BTreeSet<PeerId>,
}

/// The suggestions on one connection.
#[derive(Debug, Default)]
pub(super) struct Suggestions {
    /// To the neighbour since it was unchoked, the latest last (`m_suggest_pieces`).
    pub(super) sent: Vec<u32>,
    /// By the neighbour, the latest first (`m_suggested_pieces`).
    pub(super) received: Vec<u32>,
}

impl Suggestions {
    /// The neighbour is choked: what was suggested to it counts no more.
    pub(super) fn forget(&mut self) {
        self.sent.clear();
    }
    /// The neighbour rejected a request for this piece.
    pub(super) fn rejected(&mut self, piece: u32) {
        self.received.retain(|other| *other != piece);
    }
}

impl Extras {
    /// Whether a profile has anything that needs it.
    pub(super) fn needed(profile: &Profile) -> bool {
        profile.limiter.sharing == Sharing::Quota
            || matches!(profile.requests.backlog, RequestPipeline::SlowStart { .. })
            || profile.fast.enabled
            || profile.peer_exchange.enabled
            || profile.connections.turnover_ns.is_some()
            || profile.connections.inactivity_ns.is_some()
            || profile.requests.strict_end_game
            || !profile.picker.whole_pieces_ns.is_zero()
    }
    /// For a new connection, if the profile has anything that needs it.
    pub(super) fn new(profile: &Profile, second: u64) -> Option<Box<Extras>> {
        let quota = profile.limiter.sharing == Sharing::Quota;
        let first = match profile.requests.backlog {
            RequestPipeline::SlowStart { first, .. } => first,
            _ => 0,
        };
        Extras::needed(profile).then(|| {
            let mut extras = Extras {
                send: quota.then(SendBuffer::default),
                queue_size: first,
                ..Extras::default()
            };
            extras.statistics.roll(second, |_| {});
            Box::new(extras)
        })
    }
    /// A block that it owed came or was rejected; whether it had been given up.
    pub(super) fn settle(&mut self, block: Block) -> bool {
        let place = self.given_up.iter().position(|other| *other == block);
        place.map(|place| self.given_up.swap_remove(place)).is_some()
    }
    /// Makes up for the seconds that are over. `unchoked`: the neighbour did not choke us in them.
    pub(super) fn roll(&mut self, second: u64, unchoked: bool) {
        let over = &mut self.slow_start_over;
        self.statistics.roll(second, |statistics| {
            let (before, last) = (statistics.down.last_second(), statistics.down.this_second());
            *over |= unchoked && before > 0 && before.saturating_add(SLACK) >= last;
        });
    }
}

/// Growth of a second that counts as none (`peer_connection::second_tick`).
const SLACK: u32 = 5000;

/// The number of the second since `started`.
pub(super) fn second(started: Time, now: Time) -> u64 {
    now.since(started).nanos() / Span::from_secs(1).nanos()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{all, named};

    #[test]
    fn only_the_client_of_today_needs_them() {
        let with = |name: &str| Extras::new(&named(name).unwrap(), 0).is_some();
        let needing: Vec<_> = all().into_iter().map(|p| p.name).filter(|n| with(n)).collect();
        assert_eq!(needing, ["libtorrent"]);
    }

    #[test]
    fn the_slow_start_ends_with_a_second_that_brings_no_more_than_the_one_before() {
        let mut extras = Extras::new(&named("libtorrent").unwrap(), 7).unwrap();
        let mut second = 7;
        let mut over = |bytes, unchoked| {
            extras.statistics.down.add(bytes);
            second += 1;
            extras.roll(second, unchoked);
            extras.slow_start_over
        };
        assert!(!over(4000, true), "nothing came in the second before");
        assert!(!over(10_000, true), "more than 5000 bytes more");
        assert!(!over(10_000, false), "choked");
        assert!(over(15_000, true));
    }
}
