use super::config::Ladder;
use flashcrowd_base::{Span, Time};

/// Packet size of a connection that adapts it to the rate, in the steps of a [`Ladder`].
#[derive(Clone, Copy, Debug)]
pub(super) struct PacketSizeSteps {
    /// Index into the steps; their number means what the path takes.
    at: usize,
    since: Time,
    /// Bytes sent since then.
    sent: u64,
}

impl PacketSizeSteps {
    pub(super) fn new(now: Time) -> PacketSizeSteps {
        PacketSizeSteps { at: 0, since: now, sent: 0 }
    }

    /// The window was reduced for a loss. Whether the size is another one from now on.
    pub(super) fn on_reduction(&mut self, ladder: &Ladder, now: Time) -> bool {
        let restarts = ladder.restart_on_loss && self.at > 0;
        if restarts {
            *self = PacketSizeSteps::new(now);
        }
        restarts
    }

    /// Payload of a packet, where the path takes `max`.
    #[inline]
    pub(super) fn packet_bytes(&self, ladder: &Ladder, max: u32) -> u32 {
        ladder.steps_bytes.get(self.at).map_or(max, |step| max.min(*step))
    }

    /// Whether packets are as large as the path takes.
    pub(super) fn is_at_the_top(&self, ladder: &Ladder) -> bool {
        self.at == ladder.steps_bytes.len()
    }

    /// `bytes` bytes of payload were sent for the first time, with this window. Whether the size is
    /// another one from now on.
    ///
    /// The rules are those of libutp's first public code: up one step if more packets are sent
    /// per target delay than `raise_packets`, and the window holds more than `raise_window_packets`;
    /// down if less than either lower bound.
    #[inline]
    pub(super) fn on_sent(
        &mut self,
        ladder: &Ladder,
        now: Time,
        bytes: u32,
        window: u64,
        max: u32,
    ) -> bool {
        self.sent += u64::from(bytes);
        let elapsed = now.since(self.since);
        if elapsed < ladder.period_ns {
            return false;
        }
        let size = u64::from(self.packet_bytes(ladder, max));
        let per_target = share(self.sent, ladder.target_ns, elapsed);
        let up = per_target > u64::from(ladder.raise_packets) * size
            && window > u64::from(ladder.raise_window_packets) * size;
        let down = per_target < u64::from(ladder.lower_packets) * size
            || window < u64::from(ladder.lower_window_packets) * size;
        self.since = now;
        self.sent = 0;
        let before = self.at;
        if up {
            self.at = (self.at + 1).min(ladder.steps_bytes.len());
        } else if down {
            self.at = self.at.saturating_sub(1);
        }
        before != self.at
    }
}

/// The share of `bytes` in `elapsed` that falls into `part` of the time.
fn share(bytes: u64, part: Span, elapsed: Span) -> u64 {
    let share = u128::from(bytes) * u128::from(part.nanos()) / u128::from(elapsed.nanos().max(1));
    u64::try_from(share).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::config::PacketSize;
    use super::super::profiles;
    use super::*;

    #[test]
    fn packets_double_while_the_rate_allows_and_shrink_with_it() {
        let PacketSize::Ladder(ladder) = profiles::alpha2().packet_size else { panic!("alpha2") };
        let mut steps = PacketSizeSteps::new(Time::START);
        let mut sizes = Vec::new();
        // 4.4 Mbit/s with a window of 30 kB for 50 s, then 40 kbit/s.
        for second in 1..=120u64 {
            let (bytes, window) = if second <= 50 { (550_000, 30_000) } else { (5_000, 2_000) };
            let now = Time::START + Span::from_secs(second);
            if steps.on_sent(&ladder, now, bytes, window, 1382) {
                sizes.push((second, steps.packet_bytes(&ladder, 1382)));
            }
        }
        let up = [(10, 300), (20, 600), (30, 1200), (40, 1382)];
        let down = [(60, 1200), (70, 600), (80, 300), (90, 150)];
        assert_eq!(sizes, [up, down].concat());
    }

    #[test]
    fn a_loss_begins_the_ladder_again_where_it_says_so() {
        let PacketSize::Ladder(ladder) = profiles::alpha2().packet_size else { panic!("alpha2") };
        let now = Time::START + Span::from_secs(35);
        for restart_on_loss in [false, true] {
            let ladder = Ladder { restart_on_loss, ..ladder.clone() };
            let mut steps = PacketSizeSteps { at: 3, ..PacketSizeSteps::new(Time::START) };
            assert_eq!(steps.on_reduction(&ladder, now), restart_on_loss);
            assert_eq!(steps.packet_bytes(&ladder, 1382), if restart_on_loss { 150 } else { 1200 });
            // The first step is held for a whole period, and is begun once.
            assert!(!steps.on_reduction(&ladder, now));
            let later = now + Span::from_millis(9_999);
            assert_eq!(steps.on_sent(&ladder, later, 50_000_000, 60_000, 1382), !restart_on_loss);
        }
    }

    /// Of packets of 300 bytes: up with more than four for each 100 ms and more than five in the window; down with less
    /// than one, or less than three.
    #[test]
    fn both_the_rate_and_the_window_must_be_worth_it() {
        let PacketSize::Ladder(ladder) = profiles::alpha2().packet_size else { panic!("alpha2") };
        let in_target = Span::from_secs(10).nanos() / ladder.target_ns.nanos();
        let steps_to = |packets, window| {
            let mut steps = PacketSizeSteps { at: 1, ..PacketSizeSteps::new(Time::START) };
            let now = Time::START + ladder.period_ns;
            let bytes = (packets * in_target) as u32;
            steps.on_sent(&ladder, now, bytes, window, 1382);
            steps.at
        };
        assert_eq!(ladder.period_ns, Span::from_secs(10));
        let found =
            [(1200, 9000), (1210, 1500), (1210, 1501), (290, 9000), (300, 900), (9000, 890)]
                .map(|(bytes, window)| steps_to(bytes, window));
        assert_eq!(found, [1, 1, 2, 0, 1, 0]);
    }
}
