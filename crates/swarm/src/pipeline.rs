//! How many requests to keep outstanding (`clients.md` A.7, E).

use crate::profile::{RequestPipeline, Requests};
use flashcrowd_base::{Span, Time};

/// The input of the rule.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// The metered download rate in bytes per second.
    pub rate: f64,
    /// Whether the remote has sent nothing for too long.
    pub snubbed: bool,
    /// The slow start of this connection.
    pub slow_start: RequestSlowStart,
}

/// How many requests to keep outstanding, and up to how many to go when filling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PipelineDepth {
    /// Requests are made only while fewer than this are outstanding.
    pub refill: u32,
    /// Once a piece is being asked for, it is asked for up to this many.
    pub fill: u32,
}

/// Whether the rule looks at [`Pace::slow_start`].
pub fn has_slow_start(rules: &Requests) -> bool {
    matches!(rules.backlog, RequestPipeline::QueueTime { .. })
}

/// Mainline's requests are worth this many seconds of the metered rate, and two more.
const MAINLINE_QUEUE_S: f64 = 4.0;

/// How many seconds of the metered rate the outstanding requests are worth; none if their number is fixed.
pub fn queue_time_s(rule: &RequestPipeline) -> Option<f64> {
    match rule {
        RequestPipeline::Mainline { .. } => Some(MAINLINE_QUEUE_S),
        RequestPipeline::Fixed(_) => None,
        RequestPipeline::SlowStart { queue_time_ns, .. }
        | RequestPipeline::QueueTime { queue_time_ns, .. } => Some(queue_time_ns.seconds()),
    }
}

/// Applies the rule.
pub fn depth(rules: &Requests, pace: Pace) -> PipelineDepth {
    let limit = rules.max_queue.max(1);
    match rules.backlog {
        RequestPipeline::Mainline { initial } => {
            let block = f64::from(rules.block_bytes.max(1));
            let steady = 2.0 + libm::floor(MAINLINE_QUEUE_S * pace.rate / block);
            let wanted = if steady > 50.0 { libm::floor(0.075 * steady).max(50.0) } else { steady };
            let refill = (wanted as u32).max(initial).clamp(1, limit);
            let fill = refill.saturating_sub(2).saturating_mul(5).saturating_add(2);
            PipelineDepth { refill, fill: fill.clamp(1, limit) }
        }
        RequestPipeline::Fixed(number) => PipelineDepth::flat(number.clamp(1, limit)),
        // Kept where the seconds are counted: `peer::requests`. Here what a new connection has.
        RequestPipeline::SlowStart { first, min, max, .. } => {
            PipelineDepth::flat(first.max(min).min(max.max(min)).clamp(1, limit))
        }
        RequestPipeline::QueueTime { queue_time_ns, min, max } => {
            if rules.snubbing && pace.snubbed {
                return PipelineDepth::flat(1);
            }
            let steady = pace.rate * queue_time_ns.seconds() / f64::from(rules.block_bytes.max(1));
            let wanted = if pace.slow_start.over { steady as u32 } else { pace.slow_start.blocks };
            PipelineDepth::flat(wanted.max(min).min(max.max(min)).clamp(1, limit))
        }
    }
}

/// How many blocks to have under way in a stream that is asked for in long ranges: the rule for a peer that does
/// not snub us, with the slow start of [`RequestSlowStart`] also where the profile counts it by the second.
pub fn stream_depth(rules: &Requests, rate: f64, slow_start: RequestSlowStart) -> u32 {
    let pace = Pace { rate, snubbed: false, slow_start };
    match rules.backlog {
        RequestPipeline::SlowStart { queue_time_ns, min, max, .. } => {
            let backlog = RequestPipeline::QueueTime { queue_time_ns, min, max };
            depth(&Requests { backlog, ..rules.clone() }, pace).refill
        }
        _ => depth(rules, pace).refill,
    }
}

impl PipelineDepth {
    fn flat(number: u32) -> PipelineDepth {
        PipelineDepth { refill: number, fill: number }
    }
}

/// libtorrent's slow start of the request queue: one more request for every block, until a second
/// brings no more than the one before and 5000 bytes (E).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestSlowStart {
    blocks: u32,
    over: bool,
    second: Time,
    this: u32,
    previous: u32,
}

const GAIN: u32 = 5000;

impl RequestSlowStart {
    /// Begins with nothing.
    pub fn new(now: Time) -> RequestSlowStart {
        RequestSlowStart { blocks: 2, over: false, second: now, this: 0, previous: 0 }
    }
    /// A block arrived.
    pub fn block(&mut self, now: Time, bytes: u32) {
        if self.over {
            return;
        }
        if now.since(self.second) >= Span::from_secs(1) {
            self.over = self.this > 0 && self.this <= self.previous.saturating_add(GAIN);
            self.previous = self.this;
            self.this = 0;
            self.second = now;
        }
        self.this = self.this.saturating_add(bytes);
        self.blocks += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::named;

    fn mainline(rate: f64) -> PipelineDepth {
        let rules = named("mainline-4.0.2").unwrap().requests;
        depth(&rules, Pace { rate, snubbed: false, slow_start: RequestSlowStart::new(Time::START) })
    }

    #[test]
    fn stationary_values_of_mainline() {
        let at = |kilobytes: f64| mainline(kilobytes * 1024.0).refill;
        assert_eq!([at(0.0), at(3.4), at(5.0), at(10.0), at(14.6)], [2, 2, 3, 4, 5]);
        assert_eq!((at(196.0), at(200.0), at(4000.0)), (51 - 1, 50, 75));
    }

    #[test]
    fn mainline_fills_five_times_what_is_above_two() {
        assert_eq!(mainline(0.0), PipelineDepth { refill: 2, fill: 2 });
        assert_eq!(mainline(5120.0), PipelineDepth { refill: 3, fill: 7 });
        assert_eq!(mainline(10_240.0), PipelineDepth { refill: 4, fill: 12 });
    }

    #[test]
    fn five_x_begins_with_ten() {
        let mut rules = named("mainline-4.0.2").unwrap().requests;
        rules.backlog = RequestPipeline::Mainline { initial: 10 };
        let pace =
            Pace { rate: 0.0, snubbed: false, slow_start: RequestSlowStart::new(Time::START) };
        assert_eq!(depth(&rules, pace).refill, 10);
    }

    #[test]
    fn a_fixed_number_is_blind_to_the_rate() {
        let mut rules = named("mainline-4.0.2").unwrap().requests;
        rules.backlog = RequestPipeline::Fixed(5);
        for rate in [0.0, 1e9] {
            let pace = Pace { rate, snubbed: true, slow_start: RequestSlowStart::new(Time::START) };
            assert_eq!(depth(&rules, pace), PipelineDepth { refill: 5, fill: 5 });
        }
    }

    #[test]
    fn no_rule_goes_beyond_the_longest_queue_or_asks_for_nothing() {
        let mut rules = named("mainline-4.0.2").unwrap().requests;
        for max_queue in [0, 1, 4] {
            rules.max_queue = max_queue;
            for backlog in [
                RequestPipeline::Mainline { initial: 10 },
                RequestPipeline::Fixed(5),
                RequestPipeline::SlowStart { queue_time_ns: Span::ZERO, first: 5, min: 2, max: 9 },
                RequestPipeline::QueueTime { queue_time_ns: Span::ZERO, min: 5, max: 9 },
            ] {
                rules.backlog = backlog;
                let slow_start = RequestSlowStart::new(Time::START);
                let depth = depth(&rules, Pace { rate: 1e6, snubbed: false, slow_start });
                assert_eq!(depth, PipelineDepth::flat(max_queue.max(1)), "{:?}", rules.backlog);
            }
        }
        rules.backlog = RequestPipeline::Fixed(0);
        assert_eq!(stream_depth(&rules, 1e6, RequestSlowStart::new(Time::START)), 1);
    }

    #[test]
    fn a_slow_start_ends_with_a_second_that_brings_no_more_than_5000_bytes_more() {
        for (more, over) in [(5000, true), (5001, false)] {
            let mut slow_start = RequestSlowStart::new(Time::START);
            let at = |millis| Time::START + Span::from_millis(millis);
            for (millis, bytes) in [(999, 16_000), (1000, 16_000 + more), (2000, 1)] {
                slow_start.block(at(millis), bytes);
            }
            for name in ["modern", "libtorrent"] {
                let rules = named(name).unwrap().requests;
                // Three seconds, or two and one for each block.
                let expected = if over { 18 } else { 5 };
                assert_eq!(stream_depth(&rules, 100_000.0, slow_start), expected, "{name} {more}");
            }
        }
    }

    #[test]
    fn modern_keeps_three_seconds_after_its_slow_start_and_one_request_while_snubbed() {
        let rules = named("modern").unwrap().requests;
        let mut slow_start = RequestSlowStart::new(Time::START);
        let at = |millis| Time::START + Span::from_millis(millis);
        for millis in [100, 200, 300] {
            slow_start.block(at(millis), 16_384);
        }
        let pace = Pace { rate: 100_000.0, snubbed: false, slow_start };
        assert_eq!(depth(&rules, pace).refill, 5);
        slow_start.block(at(1000), 16_384);
        slow_start.block(at(2000), 16_384);
        let pace = Pace { rate: 100_000.0, snubbed: false, slow_start };
        assert_eq!(depth(&rules, pace).refill, 18);
        assert_eq!(depth(&rules, Pace { snubbed: true, ..pace }).refill, 1);
        assert_eq!(depth(&rules, Pace { rate: 1e9, ..pace }).refill, 500);
    }
}
