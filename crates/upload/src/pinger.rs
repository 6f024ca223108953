use crate::Probe;
use flashcrowd_base::{Span, Time};

/// One probe per period, to one reflector after the other.
#[derive(Clone, Debug)]
pub(crate) struct Pinger {
    period: Span,
    timeout: Span,
    reflectors: usize,
    turn: usize,
    next: Time,
}

impl Pinger {
    pub(crate) fn new(now: Time, period: Span, timeout: Span, reflectors: usize) -> Pinger {
        Pinger { period, timeout, reflectors: reflectors.max(1), turn: 0, next: now }
    }

    /// The probe that is due. What a driver missed is not made up for.
    pub(crate) fn poll(&mut self, now: Time) -> Option<Probe> {
        // A clock that went back by more than a period would silence the probes until it caught up.
        if now + self.period < self.next {
            self.next = now;
        }
        if now < self.next {
            return None;
        }
        let due = self.next + self.period;
        self.next = if due > now { due } else { now + self.period };
        self.turn = (self.turn + 1) % self.reflectors;
        Some(Probe { reflector: self.turn, timeout: self.timeout })
    }

    pub(crate) fn next(&self) -> Time {
        self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_reflector_after_the_other_and_no_burst_after_a_sleep() {
        let second = Span::from_secs(1);
        let mut pinger = Pinger::new(Time::START, second, second, 2);
        let turns = |pinger: &mut Pinger, now| {
            std::iter::from_fn(|| pinger.poll(now)).map(|probe| probe.reflector).collect::<Vec<_>>()
        };
        assert_eq!(turns(&mut pinger, Time::START), [1]);
        assert_eq!(turns(&mut pinger, Time::START + second), [0]);
        assert_eq!(turns(&mut pinger, Time::START + second * 3600), [1]);
        assert_eq!(turns(&mut pinger, Time::START + second * 10), [0], "the clock went back");
    }
}
