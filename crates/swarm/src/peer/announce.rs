//! When to ask the tracker (`clients.md` A.9).

use crate::AnnounceEvent;
use crate::profile::Announce as Rules;
use flashcrowd_base::{RandomStream, Span, Time};

/// One peer's dealings with its tracker. It looks every minute whether something is due.
#[derive(Clone, Debug)]
pub(super) struct Announcer {
    /// When to look next.
    pub(super) check_at: Time,
    /// As the tracker said last.
    interval: Span,
    in_flight: bool,
    answered: Option<Time>,
    retry: Option<Span>,
    completed: bool,
}

impl Announcer {
    pub(super) fn new() -> Announcer {
        Announcer {
            check_at: Time::NEVER,
            interval: Span::ZERO,
            in_flight: false,
            answered: None,
            retry: None,
            completed: false,
        }
    }
    /// `started` is on its way.
    pub(super) fn start(&mut self, now: Time, rules: &Rules) {
        self.in_flight = true;
        self.check_at = now + rules.check_ns;
    }
    /// The download is complete: announce it as soon as an announce is possible.
    pub(super) fn complete(&mut self) {
        self.completed = true;
    }
    pub(super) fn on_answer(&mut self, now: Time, interval: Span) {
        self.interval = interval;
        self.in_flight = false;
        self.answered = Some(now);
        self.retry = None;
    }
    pub(super) fn on_failure(&mut self, now: Time, rules: &Rules, stream: &mut RandomStream) {
        self.in_flight = false;
        self.answered = Some(now);
        let width = rules.retry_growth_max - rules.retry_growth_min;
        let growth = rules.retry_growth_min + width * stream.unit();
        let wait = match self.retry {
            None => rules.retry_ns,
            Some(wait) => Span::from_seconds(wait.seconds() * growth),
        };
        self.retry = Some(wait.min(rules.max_retry_ns));
    }
    /// The announce that is due now, if any; the caller makes it.
    pub(super) fn due(
        &mut self,
        now: Time,
        rules: &Rules,
        connections: u32,
        reachable: bool,
    ) -> Option<AnnounceEvent> {
        let answered = self.answered.filter(|_| !self.in_flight)?;
        let event = if self.completed {
            self.completed = false;
            AnnounceEvent::Completed
        } else if let Some(retry) = self.retry {
            if now.since(answered) < retry {
                return None;
            }
            AnnounceEvent::None
        } else {
            if now.since(answered) < rules.min_interval_ns {
                return None;
            }
            let lonely = if reachable {
                connections <= rules.min_peers_reachable
            } else {
                connections < rules.min_peers
            };
            if !lonely && now.since(answered) <= self.interval {
                return None;
            }
            AnnounceEvent::None
        };
        self.in_flight = true;
        Some(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::named;

    fn rules() -> Rules {
        named("mainline-4.0.2").unwrap().announce
    }
    fn at(seconds: u64) -> Time {
        Time::START + Span::from_secs(seconds)
    }
    fn answered() -> Announcer {
        let mut announcer = Announcer::new();
        announcer.start(at(0), &rules());
        assert_eq!(announcer.due(at(60), &rules(), 0, false), None, "the first is under way");
        announcer.on_answer(at(60), Span::from_secs(1800));
        announcer
    }

    #[test]
    fn with_few_peers_every_five_minutes_and_else_every_half_hour() {
        let due = |seconds: u64, connections, reachable| {
            answered().due(at(60 + seconds), &rules(), connections, reachable).is_some()
        };
        assert!(!due(299, 0, false) && due(300, 19, false) && !due(300, 20, false));
        assert!(due(300, 6, true) && !due(300, 7, true));
        assert!(!due(1800, 40, true) && due(1801, 40, true));
    }

    #[test]
    fn the_interval_is_the_one_of_the_last_answer() {
        let mut announcer = answered();
        assert_eq!(announcer.due(at(1861), &rules(), 40, true), Some(AnnounceEvent::None));
        announcer.on_answer(at(1861), Span::from_secs(600));
        assert_eq!(announcer.due(at(2461), &rules(), 40, true), None);
        assert_eq!(announcer.due(at(2462), &rules(), 40, true), Some(AnnounceEvent::None));
    }

    #[test]
    fn completion_is_told_at_once_but_one_announce_at_a_time() {
        let mut announcer = answered();
        announcer.complete();
        assert_eq!(announcer.due(at(61), &rules(), 40, true), Some(AnnounceEvent::Completed));
        announcer.complete();
        assert_eq!(announcer.due(at(62), &rules(), 40, true), None);
        announcer.on_answer(at(63), Span::from_secs(1800));
        assert_eq!(announcer.due(at(63), &rules(), 40, true), Some(AnnounceEvent::Completed));
    }

    #[test]
    fn retries_wait_longer_and_longer() {
        let mut stream = RandomStream::new(1, "retry", 0);
        let mut announcer = answered();
        announcer.on_failure(at(100), &rules(), &mut stream);
        assert_eq!(announcer.due(at(149), &rules(), 40, true), None);
        assert_eq!(announcer.due(at(150), &rules(), 40, true), Some(AnnounceEvent::None));
        announcer.on_failure(at(150), &rules(), &mut stream);
        assert_eq!(announcer.due(at(219), &rules(), 40, true), None);
        assert_eq!(announcer.due(at(230), &rules(), 40, true), Some(AnnounceEvent::None));
        for _ in 0..30 {
            announcer.on_failure(at(1000), &rules(), &mut stream);
        }
        assert_eq!(announcer.retry, Some(Span::from_secs(1800)));
    }
}
