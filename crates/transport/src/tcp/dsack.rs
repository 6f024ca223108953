use flashcrowd_base::Span;

/// Recoveries for which RACK keeps a wider reordering window (Linux: `TCP_RACK_RECOVERY_THRESH`).
const RECOVERIES_OF_PATIENCE: u8 = 16;

/// State from D-SACKs (RFC 2883), the other end's reports of data that arrived twice.
#[derive(Clone, Debug)]
pub(super) struct Dsack {
    /// Where the last episode of losses began (Linux: `undo_marker`): reports of older data prove
    /// nothing about it.
    undo_marker: u64,
    /// Segments that were retransmitted in it and not reported yet (Linux: `undo_retrans`).
    undo_retrans: u32,
    /// Segments that were reported.
    reported: u32,
    /// RACK's reordering window in quarters of the least round trip, and the recoveries until it
    /// shrinks back to one (RFC 8985, section 6.2, step 4).
    reo_wnd_steps: u8,
    reo_wnd_persist: u8,
    /// Until this offset is acknowledged the window was widened in this round already.
    round: u64,
}

impl Default for Dsack {
    fn default() -> Dsack {
        Dsack {
            undo_marker: 0,
            undo_retrans: 0,
            reported: 0,
            reo_wnd_steps: 1,
            reo_wnd_persist: 0,
            round: 0,
        }
    }
}

impl Dsack {
    /// The duplicate that SACK ranges begin with, if it is one: below the acknowledgement, or within
    /// the second range.
    pub(super) fn duplicate(
        ack: u64,
        mut ranges: impl Iterator<Item = (u64, u64)>,
    ) -> Option<(u64, u64)> {
        let (start, end) = ranges.next()?;
        let within = |(low, high): (u64, u64)| low <= start && end <= high;
        let is_duplicate = start < ack || ranges.next().is_some_and(within);
        (is_duplicate && start < end).then_some((start, end))
    }

    /// An episode of losses begins, with `una` unacknowledged.
    pub(super) fn begin(&mut self, una: u64) {
        self.undo_marker = una;
        self.undo_retrans = 0;
    }

    /// Segments were retransmitted.
    pub(super) fn on_retransmit(&mut self, segments: u32) {
        self.undo_retrans += segments;
    }

    /// `segments` were reported, of `retransmitted` in all. `false` if that cannot be.
    pub(super) fn report(&mut self, segments: u32, retransmitted: u32) -> bool {
        self.reported = self.reported.saturating_add(segments);
        self.reported <= retransmitted
    }

    /// The reported segments end at `end`, and were acknowledged before.
    pub(super) fn disprove(&mut self, segments: u32, end: u64) {
        if end > self.undo_marker {
            self.undo_retrans = self.undo_retrans.saturating_sub(segments);
        }
    }

    /// Whether everything that was retransmitted in the episode was reported: nothing was lost.
    pub(super) fn disproves_all(&self) -> bool {
        self.undo_retrans == 0
    }

    /// Reordering may have caused a spurious retransmission: widens RACK's window, once a round.
    pub(super) fn widen(&mut self, una: u64, nxt: u64) {
        if una >= self.round {
            self.reo_wnd_steps = self.reo_wnd_steps.saturating_add(1);
            self.reo_wnd_persist = RECOVERIES_OF_PATIENCE;
            self.round = nxt;
        }
    }

    /// An episode ended with a loss repaired.
    pub(super) fn on_recovered(&mut self) {
        if self.reo_wnd_persist > 0 {
            self.reo_wnd_persist -= 1;
            if self.reo_wnd_persist == 0 {
                self.reo_wnd_steps = 1;
            }
        }
    }

    /// RACK's reordering window, before the limit of a smoothed round trip.
    pub(super) fn reordering_window(&self, min_rtt: Span) -> Span {
        min_rtt / 4 * u64::from(self.reo_wnd_steps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of RFC 2883, sections 4.1.1 to 4.2.2 (offsets as there).
    #[test]
    fn the_first_range_may_report_a_duplicate() {
        let of = |ack, ranges: &[(u64, u64)]| Dsack::duplicate(ack, ranges.iter().copied());
        assert_eq!(of(4000, &[(3000, 3500)]), Some((3000, 3500)));
        assert_eq!(of(4000, &[(3000, 3500), (4500, 5000)]), Some((3000, 3500)));
        assert_eq!(of(4000, &[(5000, 5500), (4500, 6000)]), Some((5000, 5500)));
        assert_eq!(of(4000, &[(4500, 5500)]), None);
        assert_eq!(of(4000, &[(5000, 5500), (6000, 6500)]), None);
        assert_eq!(of(4000, &[]), None);
    }

    #[test]
    fn patience_grows_once_a_round_and_lasts_sixteen_recoveries() {
        let mut dsack = Dsack::default();
        let steps =
            |dsack: &Dsack| dsack.reordering_window(Span::from_millis(4)).nanos() / 1_000_000;
        dsack.widen(0, 1000);
        dsack.widen(999, 2000);
        assert_eq!(steps(&dsack), 2);
        dsack.widen(1000, 3000);
        assert_eq!(steps(&dsack), 3);
        for _ in 0..15 {
            dsack.on_recovered();
        }
        assert_eq!(steps(&dsack), 3);
        dsack.on_recovered();
        assert_eq!(steps(&dsack), 1);
    }
}
