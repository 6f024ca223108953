//! Turnover of neighbours (libtorrent: `session_impl::on_tick`, `torrent::disconnect_peers`): with about as many
//! connections as there may be, a few of the least useful ones make room for others, every few minutes.

use super::Peer;
use super::connection::Conn;
use flashcrowd_base::{Span, Time};

/// When a new client looks for the first time (`m_disconnect_time_scaler`).
pub(super) const FIRST: Span = Span::from_secs(90);
/// With fewer connections than this allowed, none is given up.
const FEWEST: u32 = 6;
/// A list of neighbours with at most this much room counts as full
/// (`peer_connection::second_tick`).
const NEARLY_FULL: u32 = 5;

impl Peer {
    /// The period is over.
    pub(super) fn turn_over(&mut self, now: Time) {
        let rules = &self.profile.connections;
        let Some(period) = rules.turnover_ns else { return };
        self.turnover_at = now + period;
        let (live, max) = (self.conns.live(), rules.max_connections);
        if max < FEWEST || f64::from(live) < (f64::from(max) * rules.turnover_cutoff).floor() {
            return;
        }
        let wanted = ((f64::from(live) * rules.turnover_share) as usize).max(1);
        let count = wanted.min(self.candidates.len() + self.lost_candidates());
        let mut all: Vec<_> = self.conns.iter().map(|(id, c)| (usefulness(now, c), id)).collect();
        all.sort_unstable();
        for (_, id) in all.into_iter().take(count) {
            self.close(now, id);
        }
    }
    /// Neither of the two has wanted anything of the other for long, and others may need the place.
    pub(super) fn is_idle(&self, now: Time, c: &Conn) -> bool {
        let rules = &self.profile.connections;
        let full = self.conns.live().saturating_add(NEARLY_FULL) >= rules.max_connections;
        let Some(limit) = rules.inactivity_ns.filter(|_| full) else { return false };
        let since = c.extras.as_ref().map(|extras| extras.indifferent_since);
        !c.interested && !c.interested_in_us && since.is_some_and(|since| now.since(since) > limit)
    }
}

/// The order of `compare_disconnect_peer`. First come neighbours of no interest, then those that are no
/// seeds, that brought little for their time here, that choke us, that were silent longest.
fn usefulness(now: Time, c: &Conn) -> (bool, bool, u64, bool, Time) {
    let seconds = now.since(c.opened()).nanos() / Span::from_secs(1).nanos() + 1;
    let brought = c.extras.as_ref().map_or(0, |extras| extras.downloaded) / seconds;
    (c.interested, c.have.is_full() && c.is_open(), brought, !c.choking_us, c.last_heard)
}
