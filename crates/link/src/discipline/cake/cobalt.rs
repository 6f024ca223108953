use crate::discipline::Context;
use crate::discipline::codel::control_law;
use crate::discipline::pool::Held;
use flashcrowd_base::{Span, Time};

/// Parameters of COBALT.
#[derive(Clone, Copy, Debug)]
pub(super) struct CobaltParams {
    pub(super) target: Span,
    pub(super) interval: Span,
    /// The transmission time of a packet of full size.
    pub(super) mtu_time: Span,
}

/// By how much BLUE's probability rises when there is no room, and falls when the queue is empty.
const RISE: f64 = 1.0 / 256.0;
const FALL: f64 = 1.0 / 4096.0;

/// COBALT: CoDel for flows that answer and BLUE for those that do not, side by side (`sch_cake`).
/// CoDel's rate of drops falls again as it rose, instead of being forgotten.
#[derive(Clone, Debug, Default)]
pub(super) struct Cobalt {
    count: u32,
    /// When to drop next; while nothing is dropped, when to count down.
    drop_next: Time,
    /// When BLUE's probability last changed.
    blue_timer: Time,
    drop_probability: f64,
    dropping: bool,
}

impl Cobalt {
    /// A packet had to be dropped since there was no room.
    pub(super) fn queue_full(&mut self, cobalt_params: &CobaltParams, now: Time) {
        if now.since(self.blue_timer) > cobalt_params.target {
            self.drop_probability = (self.drop_probability + RISE).min(1.0);
            self.blue_timer = now;
        }
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    /// The queue had its turn and was empty.
    pub(super) fn queue_empty(&mut self, cobalt_params: &CobaltParams, now: Time) {
        if self.drop_probability > 0.0 && now.since(self.blue_timer) > cobalt_params.target {
            self.drop_probability = (self.drop_probability - FALL).max(0.0);
            self.blue_timer = now;
        }
        self.dropping = false;
        if self.count > 0 && now >= self.drop_next {
            self.count_down(cobalt_params);
        }
    }

    fn count_down(&mut self, cobalt_params: &CobaltParams) {
        self.count -= 1;
        self.drop_next = control_law(self.drop_next, cobalt_params.interval, self.count);
    }

    /// Whether nothing of what happened before matters any more.
    pub(super) fn rests(&self, now: Time) -> bool {
        self.drop_probability == 0.0 && self.count == 0 && now >= self.drop_next
    }

    /// Whether to drop a packet whose turn it is; it is marked instead if it can be.
    pub(super) fn drops(
        &mut self,
        cobalt_params: &CobaltParams,
        packet: &mut Held,
        context: &mut Context,
    ) -> bool {
        let now = context.now;
        let wait = now.since(packet.offered);
        let mut due = self.count > 0 && now >= self.drop_next;
        let mut late = now > self.drop_next;
        let mut drops = false;
        if wait > cobalt_params.target && wait > cobalt_params.mtu_time * 4 {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = control_law(now, cobalt_params.interval, self.count);
            }
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }
        if due && self.dropping {
            drops = !context.mark(packet);
            self.count = self.count.saturating_add(1);
            self.drop_next = control_law(self.drop_next, cobalt_params.interval, self.count);
            late = now > self.drop_next;
        } else {
            while due {
                self.count_down(cobalt_params);
                late = now > self.drop_next;
                due = self.count > 0 && now >= self.drop_next;
            }
        }
        // BLUE drops what could be marked, too: it is there for flows that do not answer.
        if self.drop_probability > 0.0 {
            drops |= context.stream.unit() < self.drop_probability;
        }
        if self.count == 0 {
            self.drop_next = now + cobalt_params.interval;
        } else if late && !drops {
            self.drop_next = now;
        }
        drops
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discipline::testing::{Bottleneck, at};
    use crate::{Ecn, Queue};

    const PARAMS: CobaltParams = CobaltParams {
        target: Span::from_millis(5),
        interval: Span::from_millis(100),
        mtu_time: Span::from_millis(1),
    };

    /// Asks at each of these milliseconds about a packet that has waited for `wait` ms; those at
    /// which it was dropped.
    fn drops(cobalt: &mut Cobalt, wait: u64, millis: std::ops::Range<u64>) -> Vec<u64> {
        let mut line = Bottleneck::with(Queue::default());
        let mut dropped = Vec::new();
        for now in millis {
            line.now = at(now);
            let mut packet = line.held(1, 1000, at(now - wait));
            if line.context(|context| cobalt.drops(&PARAMS, &mut packet, context)) {
                dropped.push(now);
            }
        }
        dropped
    }

    /// The first drop an interval after the wait became too long, then interval / sqrt(count).
    #[test]
    fn drops_follow_codel() {
        let mut cobalt = Cobalt::default();
        drops(&mut cobalt, 0, 999..1000);
        let found = drops(&mut cobalt, 50, 1000..1400);
        // 1100, + 100 / sqrt(2), + 100 / sqrt(3), ...
        assert_eq!(found, [1100, 1171, 1229, 1279, 1324, 1364]);
        assert_eq!(cobalt.count, 7);
    }

    /// After a pause the drops that were due then are made up for, one a packet, and the schedule is kept.
    #[test]
    fn late_drops_keep_their_schedule() {
        let mut cobalt = Cobalt::default();
        drops(&mut cobalt, 0, 999..1000);
        drops(&mut cobalt, 50, 1000..1001);
        // Those of 1100, 1171, 1229 and 1279.
        let found = drops(&mut cobalt, 50, 1300..1330);
        assert_eq!(found, [1300, 1301, 1302, 1303, 1324]);
    }

    /// And it goes back by the same steps when the wait is short again.
    #[test]
    fn the_rate_of_drops_decays() {
        let mut cobalt = Cobalt::default();
        drops(&mut cobalt, 0, 999..1000);
        drops(&mut cobalt, 50, 1000..1400);
        assert!(drops(&mut cobalt, 1, 1400..1450).is_empty());
        assert_eq!(cobalt.count, 5);
        drops(&mut cobalt, 1, 1450..2200);
        assert_eq!((cobalt.count, cobalt.dropping), (0, false));
    }

    /// A queue that is found empty counts down, too, by the same steps and no more often.
    #[test]
    fn an_empty_queue_counts_down() {
        let mut cobalt = Cobalt { count: 3, drop_next: at(1000), ..Cobalt::default() };
        // 1000, + 100 / sqrt(2), + 100, and at rest 100 after that.
        for (now, count, rests) in [
            (999, 3, false),
            (1000, 2, false),
            (1070, 2, false),
            (1071, 1, false),
            (1170, 1, false),
            (1171, 0, false),
            (1270, 0, false),
            (1271, 0, true),
        ] {
            cobalt.queue_empty(&PARAMS, at(now));
            assert_eq!((cobalt.count, cobalt.rests(at(now))), (count, rests), "{now}");
        }
    }

    #[test]
    fn nothing_is_dropped_below_the_target_or_four_packets_time() {
        let long = CobaltParams { mtu_time: Span::from_millis(20), ..PARAMS };
        for (cobalt_params, wait, any) in
            [(PARAMS, 5, false), (PARAMS, 6, true), (long, 80, false), (long, 81, true)]
        {
            let mut cobalt = Cobalt::default();
            let mut line = Bottleneck::with(Queue::default());
            let mut dropped = false;
            for now in 1000..1300 {
                line.now = at(now);
                let mut packet = line.held(1, 1000, at(now - wait));
                dropped |=
                    line.context(|context| cobalt.drops(&cobalt_params, &mut packet, context));
            }
            assert_eq!(dropped, any, "{wait}");
        }
    }

    /// BLUE: 1/256 more at each overflow, at most once a target, and 1/4096 less when empty; marks do
    /// not help against it.
    #[test]
    fn blue_follows_overflows() {
        let mut cobalt = Cobalt::default();
        for now in 100..200 {
            cobalt.queue_full(&PARAMS, at(now));
        }
        // 100, 106, ..., 196.
        assert_eq!(cobalt.drop_probability, 17.0 / 256.0);
        let mut line = Bottleneck::with(Queue::default());
        line.now = at(200);
        let mut blue = Cobalt { drop_probability: 0.25, ..Cobalt::default() };
        let mut dropped = 0;
        for _ in 0..10_000 {
            let mut packet = line.held(1, 1000, at(199));
            packet.ecn = Ecn::Ect0;
            dropped += u32::from(line.context(|context| blue.drops(&PARAMS, &mut packet, context)));
        }
        assert!((2_300..2_700).contains(&dropped), "{dropped}");
        for step in 0..16 {
            assert_eq!(cobalt.drop_probability, 17.0 / 256.0 - f64::from(step) / 4096.0);
            cobalt.queue_empty(&PARAMS, at(300 + 6 * u64::from(step as u32)));
        }
        assert!(!cobalt.rests(at(400)));
    }
}
