use super::Context;
use super::pool::{Held, List, Pool};
use crate::Cause;
use flashcrowd_base::{Span, Time};

flashcrowd_base::settings! {
    /// Controlled delay (RFC 8289); the defaults are those of Linux.
    ///
    /// Packets that waited for more than `target` are let through for one `interval`. Then one is dropped, or marked,
    /// and more and more often until the wait is shorter.
    #[serde(default)]
    pub struct CoDel {
        /// The most packets, without the one in transmission.
        #[min(1)]
        #[file("key" = "limit")]
        pub limit_packets: u32,
        /// How long packets may wait for long.
        #[min(Span::from_nanos(1))]
        pub target_ns: Span,
        /// For how long, at first, they may wait longer: a usual round-trip time.
        #[min(Span::from_nanos(1))]
        pub interval_ns: Span,
        /// A backlog of no more than this causes no drops (RFC 8289, section 4.4: MTU).
        #[min(1)]
        pub mtu_bytes: u32,
        /// Whether packets that allow it are marked instead of dropped.
        pub ecn: bool,
        /// Packets that waited for more than this are marked in any case (Linux: `ce_threshold`).
        #[min(Span::from_nanos(1))]
        pub ce_threshold_ns: Option<Span>,
    }
}

impl Default for CoDel {
    /// Linux: target 5 ms and interval 100 ms (RFC 8289), 1000 packets, no ECN.
    fn default() -> CoDel {
        CoDel {
            limit_packets: 1000,
            target_ns: Span::from_millis(5),
            interval_ns: Span::from_millis(100),
            mtu_bytes: 1514,
            ecn: false,
            ce_threshold_ns: None,
        }
    }
}

impl CoDel {
    fn codel_params(&self) -> CodelParams {
        CodelParams {
            target: self.target_ns,
            interval: self.interval_ns,
            mtu: self.mtu_bytes,
            ecn: self.ecn,
            ce_threshold: self.ce_threshold_ns,
        }
    }
}

/// Parameters of the control law.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CodelParams {
    pub(crate) target: Span,
    pub(crate) interval: Span,
    pub(crate) mtu: u32,
    pub(crate) ecn: bool,
    pub(crate) ce_threshold: Option<Span>,
}

impl CodelParams {
    /// When to drop again after a drop at `then`, the `count`-th in a row: RFC 8289,
    /// `control_law`.
    fn again(&self, then: Time, count: u32) -> Time {
        control_law(then, self.interval, count)
    }
}

/// `then` + `interval` / sqrt(`count`).
pub(crate) fn control_law(then: Time, interval: Span, count: u32) -> Time {
    then + Span::from_seconds(interval.seconds() / libm::sqrt(f64::from(count.max(1))))
}

/// The state of the control law: RFC 8289.
#[derive(Clone, Debug, Default)]
pub(crate) struct CodelVars {
    /// When the wait will have been too long for an interval, if it is too long.
    first_above: Option<Time>,
    drop_next: Time,
    /// Drops since the beginning of this dropping state.
    pub(crate) count: u32,
    /// `count` at its beginning.
    last_count: u32,
    dropping: bool,
}

impl CodelVars {
    /// Takes the next packet that is to be sent; `next` gives what is at the head of the queue, and
    /// the bytes that are left behind it. RFC 8289, `deque`.
    pub(crate) fn take(
        &mut self,
        codel_params: &CodelParams,
        context: &mut Context,
        mut next: impl FnMut() -> Option<(Held, u64)>,
    ) -> Option<Held> {
        let now = context.now;
        let (mut packet, mut above) = self.look(codel_params, now, next());
        if self.dropping {
            self.dropping = above;
            while self.dropping && now >= self.drop_next {
                let Some(held) = packet.as_mut() else { break };
                self.count = self.count.saturating_add(1);
                if codel_params.ecn && context.mark(held) {
                    self.drop_next = codel_params.again(self.drop_next, self.count);
                    break;
                }
                context.drop(held, Cause::Early);
                (packet, above) = self.look(codel_params, now, next());
                self.dropping = above;
                if above {
                    self.drop_next = codel_params.again(self.drop_next, self.count);
                }
            }
        } else if let (true, Some(held)) = (above, packet.as_mut()) {
            if !(codel_params.ecn && context.mark(held)) {
                context.drop(held, Cause::Early);
                packet = self.look(codel_params, now, next()).0;
            }
            self.dropping = true;
            // If the last dropping state ended lately, the rate that it had reached was about right.
            let reached = self.count.saturating_sub(self.last_count);
            let lately = now < self.drop_next + codel_params.interval * 16;
            self.count = if reached > 1 && lately { reached } else { 1 };
            self.last_count = self.count;
            self.drop_next = codel_params.again(now, self.count);
        }
        if let (Some(held), Some(threshold)) = (packet.as_mut(), codel_params.ce_threshold)
            && now.since(held.offered) > threshold
        {
            context.mark(held);
        }
        packet
    }

    /// Whether a packet has waited for too long, for an interval by now. RFC 8289, `dodequeue`.
    fn look(
        &mut self,
        codel_params: &CodelParams,
        now: Time,
        next: Option<(Held, u64)>,
    ) -> (Option<Held>, bool) {
        let Some((packet, left)) = next else {
            self.first_above = None;
            return (None, false);
        };
        if now.since(packet.offered) < codel_params.target || left <= u64::from(codel_params.mtu) {
            self.first_above = None;
            return (Some(packet), false);
        }
        let first_above = *self.first_above.get_or_insert(now + codel_params.interval);
        (Some(packet), now >= first_above)
    }
}

/// The state of a queue under CoDel.
#[derive(Clone, Debug, Default)]
pub(crate) struct CoDelQueue {
    list: List,
    vars: CodelVars,
}

impl CoDelQueue {
    pub(crate) fn offer(
        &mut self,
        params: &CoDel,
        pool: &mut Pool,
        packet: Held,
        context: &mut Context,
    ) {
        if pool.packets() >= params.limit_packets {
            return context.drop(&packet, Cause::Full);
        }
        self.push(pool, packet);
    }

    pub(crate) fn list(&self) -> &List {
        &self.list
    }

    pub(crate) fn push(&mut self, pool: &mut Pool, packet: Held) {
        pool.push(&mut self.list, packet);
    }

    pub(crate) fn take(
        &mut self,
        params: &CoDel,
        pool: &mut Pool,
        context: &mut Context,
    ) -> Option<Held> {
        let list = &mut self.list;
        self.vars.take(&params.codel_params(), context, || {
            let packet = pool.pop(list)?;
            Some((packet, pool.bytes()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discipline::testing::{Bottleneck, at};
    use crate::{Ecn, Queue};

    /// 1 ms a packet, and for each that leaves another comes: the queue stays at 50 ms.
    fn standing(codel: CoDel, ecn: Ecn) -> Bottleneck {
        let mut line = Bottleneck::with(Queue::CoDel(Box::new(codel)));
        line.ecn = ecn;
        for _ in 0..50 {
            line.offer(0, 1000);
        }
        line
    }

    /// The first drop comes one interval after the wait was first found too long, and the n-th one
    /// interval / sqrt(n - 1) after the one before (RFC 8289).
    #[test]
    fn drops_follow_the_control_law() {
        let mut line = standing(CoDel::default(), Ecn::NotEct);
        let mut drops: Vec<Time> = Vec::new();
        for _ in 0..2000 {
            let before = line.dropped.len();
            line.step();
            drops.extend(vec![line.now; line.dropped.len() - before]);
            while line.waiting() < 50 {
                line.offer(0, 1000);
            }
        }
        // The packet that leaves at 5 ms is the first that waited for as long.
        let mut expected = vec![at(105)];
        let mut exact = 105.0;
        for count in 1..drops.len() {
            exact += 100.0 / libm::sqrt(count as f64);
            // Packets leave each millisecond: the first one at or after the time.
            expected.push(at(libm::ceil(exact - 1e-6) as u64));
        }
        assert!(drops.len() > 100, "{}", drops.len());
        assert_eq!(drops, expected);
        let counters = line.link.counters();
        assert_eq!((counters.dropped_early, counters.dropped), (drops.len() as u64, 0));
    }

    /// RFC 8289 4.2: a queue that holds no more than one packet of full size is left alone, however
    /// long they wait.
    #[test]
    fn a_queue_of_one_packet_is_left_alone() {
        let codel_params = CoDel::default().codel_params();
        for (left, above) in [(1514, false), (1515, true)] {
            let mut vars = CodelVars::default();
            let line = Bottleneck::with(Queue::default());
            let packet = line.held(1, 1000, at(0));
            assert!(!vars.look(&codel_params, at(50), Some((packet, left))).1);
            assert!(!vars.look(&codel_params, at(149), Some((packet, left))).1);
            assert_eq!(vars.look(&codel_params, at(150), Some((packet, left))).1, above);
            // One that waited for less than the target ends it.
            let soon = line.held(1, 1000, at(146));
            assert!(!vars.look(&codel_params, at(150), Some((soon, left))).1);
            assert!(!vars.look(&codel_params, at(151), Some((packet, left))).1);
        }
    }

    #[test]
    fn marks_come_when_drops_would_come_and_nothing_is_lost() {
        let mut line = standing(CoDel { ecn: true, ..CoDel::default() }, Ecn::Ect0);
        let mut marks = Vec::new();
        for _ in 0..400 {
            if line.step().is_some_and(|left| left.marked) {
                marks.push(line.now);
            }
            while line.waiting() < 50 {
                line.offer(0, 1000);
            }
        }
        // 105, + 100, + 70.7, + 57.7, ...
        assert_eq!(marks[..4], [at(105), at(205), at(276), at(334)]);
        assert_eq!(line.dropped.len(), 0);
        assert_eq!(line.link.counters().marked, marks.len() as u64);
    }

    #[test]
    fn a_queue_that_empties_within_an_interval_is_left_alone() {
        let mut line = standing(CoDel::default(), Ecn::NotEct);
        for _ in 0..50 {
            assert!(line.step().is_some());
        }
        assert_eq!((line.step(), line.dropped.len()), (None, 0));
    }

    /// RFC 8289: a dropping state that begins soon after the last resumes at its rate.
    #[test]
    fn dropping_resumes_at_the_rate_that_was_reached() {
        let codel_params = CoDel::default().codel_params();
        for (since, count) in [(Span::from_millis(1599), 7), (Span::from_millis(1600), 1)] {
            let mut vars = CodelVars {
                first_above: Some(at(0)),
                drop_next: at(1000),
                count: 10,
                last_count: 3,
                dropping: false,
            };
            let mut line = Bottleneck::with(Queue::default());
            line.now = at(1000) + since;
            let packet = line.held(1, 1000, at(0));
            line.context(|context| vars.take(&codel_params, context, || Some((packet, 10_000))));
            assert_eq!((vars.count, vars.last_count), (count, count));
            let spacing = 100.0 / libm::sqrt(f64::from(count));
            assert_eq!(vars.drop_next, line.now + Span::from_seconds(spacing / 1e3));
        }
    }

    #[test]
    fn a_full_queue_drops_the_newcomer() {
        let mut line = standing(CoDel { limit_packets: 50, ..CoDel::default() }, Ecn::NotEct);
        line.offer(0, 1000);
        line.offer(0, 1000);
        assert_eq!((line.waiting(), line.refused), (50, 2));
        assert_eq!((line.link.counters().dropped, line.link.counters().dropped_early), (2, 0));
    }

    #[test]
    fn the_threshold_marks_whatever_the_law_says() {
        let codel = CoDel { ce_threshold_ns: Some(Span::from_millis(3)), ..CoDel::default() };
        let mut line = standing(codel, Ecn::Ect1);
        let marked: Vec<bool> =
            (0..6).filter_map(|_| line.step()).map(|left| left.marked).collect();
        assert_eq!(marked, [false, false, false, false, true, true]);
        assert_eq!(line.link.counters().marked, 2);
    }
}
