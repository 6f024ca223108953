//! The upload limiter (`clients.md` A.5): a byte debt for the whole client, and
//! round robin over the connections that have something to send.

use crate::ConnId;
use crate::profile::LimiterRules;
use crate::rate_window::RateWindow;
use flashcrowd_base::{Rate, Span, Time};
use std::collections::VecDeque;

/// Says whose turn it is, and when. What is written is the caller's business.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Limiter {
    round_robin: VecDeque<ConnId>,
    wake: Time,
    settled: Time,
    /// In bits times nanoseconds, so that no rounding accumulates.
    debt: i64,
    /// In its place, if the limit is one on a mean.
    window: Option<Box<RateWindow>>,
    rate: Option<Rate>,
    rules: LimiterRules,
    /// Ticks fall this long after the multiples of their period.
    phase: Span,
}

/// One byte of debt.
const BYTE: i64 = 8_000_000_000;

impl Limiter {
    /// Without debt, and no connection waits; `None` is no limit.
    pub fn new(rate: Option<Rate>, rules: LimiterRules, now: Time) -> Limiter {
        let round_robin = VecDeque::new();
        let phase = Span::ZERO;
        let window = rules.window_ns.map(|length| Box::new(RateWindow::new(length)));
        Limiter {
            rate,
            rules,
            debt: 0,
            window,
            settled: now,
            wake: Time::NEVER,
            phase,
            round_robin,
        }
    }
    /// Lets the ticks fall a part (0 to 1) of their period later, so that the peers of a swarm do
    /// not all write at one instant.
    pub fn with_phase(mut self, part: f64) -> Limiter {
        let tick = self.rules.tick_ns.unwrap_or(Span::ZERO);
        self.phase = Span::from_seconds(tick.seconds() * part.clamp(0.0, 1.0));
        self
    }
    /// Bytes that one grant allows a connection to write.
    pub fn quantum(&self) -> u32 {
        match self.rate {
            Some(_) => self.rules.write_unit.min(self.rules.unlimited_write_unit),
            None => self.rules.unlimited_write_unit,
        }
        .max(1)
    }
    /// The connection that is served next.
    pub fn next_grant(&self) -> Option<ConnId> {
        self.round_robin.front().copied()
    }
    /// Asks for what [`next_grant`](Limiter::next_grant) needs besides the limiter.
    pub fn prefetch_next_grant(&self) {
        if let Some(first) = self.round_robin.front() {
            flashcrowd_base::prefetch(first);
        }
    }
    /// When the next turn is, or `NEVER` while no connection waits.
    pub fn wake(&self) -> Time {
        self.wake
    }
    /// `conn`, which does not wait yet, has something to send. True if no connection waited: the caller
    /// grants quanta at once, as no timer does.
    pub fn queue(&mut self, now: Time, conn: ConnId) -> bool {
        let first = self.round_robin.is_empty();
        self.round_robin.push_back(conn);
        if first {
            self.settle(now);
            // No more than the credit is saved up in idle times.
            let credit = self.earned(self.rules.credit_ns);
            self.debt = self.debt.max(-credit);
        }
        first
    }
    /// Takes `conn` out of the round robin, if it is there.
    pub fn remove(&mut self, conn: ConnId) {
        self.round_robin.retain(|other| *other != conn);
        if self.round_robin.is_empty() {
            self.wake = Time::NEVER;
        }
    }
    /// Time has passed: the debt shrinks.
    pub fn settle(&mut self, now: Time) {
        let earned = self.earned(now.since(self.settled));
        self.debt = self.debt.saturating_sub(earned);
        self.settled = now;
    }
    fn earned(&self, span: Span) -> i64 {
        match self.rate {
            Some(rate) => {
                let earned = u128::from(span.nanos()) * u128::from(rate.bps());
                i64::try_from(earned).unwrap_or(i64::MAX)
            }
            None => i64::MAX,
        }
    }
    /// Grants a quantum to the connection whose turn it is, if the debt allows; it leaves the round
    /// robin. Answer with [`Limiter::wrote`].
    pub fn grant(&mut self) -> Option<ConnId> {
        let waits = match (self.rate, &mut self.window) {
            (Some(rate), Some(window)) => window.within(self.settled, rate) > self.settled,
            (Some(_), None) => self.debt > 0,
            (None, _) => false,
        };
        if waits { None } else { self.round_robin.pop_front() }
    }
    /// The connection that was served wrote `bytes`, and comes back to the end of the round robin
    /// if it `stays`.
    pub fn wrote(&mut self, conn: ConnId, bytes: u32, stays: bool) {
        match &mut self.window {
            Some(window) => window.add(self.settled, bytes),
            None => self.debt = self.debt.saturating_add(i64::from(bytes) * BYTE),
        }
        if stays {
            self.round_robin.push_back(conn);
        }
    }
    /// Nothing more is granted now: arms the timer for when the debt is paid.
    pub fn arm(&mut self, now: Time) {
        self.wake = match self.rate {
            Some(rate) if !self.round_robin.is_empty() => {
                let due = match &mut self.window {
                    Some(window) => window.within(now, rate),
                    None => now + Span::from_nanos((self.debt.max(0) as u64).div_ceil(rate.bps())),
                };
                match self.rules.tick_ns {
                    Some(tick) if !tick.is_zero() => self.next_tick(due, tick),
                    _ => due,
                }
            }
            _ => Time::NEVER,
        };
    }
    /// The first tick that is not before `due`.
    fn next_tick(&self, due: Time, tick: Span) -> Time {
        let ticks = due.since(Time::START + self.phase).nanos().div_ceil(tick.nanos());
        Time::START + self.phase + tick * ticks
    }
    /// Connections that wait to be served, the next one first.
    pub fn round_robin(&self) -> impl Iterator<Item = ConnId> + '_ {
        self.round_robin.iter().copied()
    }
    /// Changes the limit in place. The caller gives out turns afterwards.
    ///
    /// Mainline forgives the debt. A limiter with ticks keeps its account, as libtorrent's does
    /// (`bandwidth_channel::throttle`): what is earned between two ticks is not lost, however often the limit
    /// changes.
    pub fn set_rate(&mut self, now: Time, rate: Option<Rate>) {
        if self.rules.tick_ns.is_some() && self.rate.is_some() {
            self.settle(now);
        } else {
            self.debt = 0;
            self.settled = now;
        }
        self.rate = rate;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::named;

    fn kilobytes(n: u64) -> Option<Rate> {
        Rate::from_bps(n * 1024 * 8)
    }
    fn limiter(rate: Option<Rate>) -> Limiter {
        Limiter::new(rate, named("mainline-4.0.2").unwrap().limiter, Time::START)
    }
    /// Each connection always has a full unit to send: which wrote when.
    fn turns(limiter: &mut Limiter, conns: u32, count: usize) -> Vec<(Time, u32)> {
        let mut now = Time::START;
        let mut log = Vec::new();
        for conn in 0..conns {
            limiter.queue(now, ConnId(conn));
        }
        while log.len() < count {
            limiter.settle(now);
            while let Some(conn) = limiter.grant() {
                log.push((now, conn.0));
                limiter.wrote(conn, limiter.quantum(), true);
            }
            limiter.arm(now);
            now = limiter.wake();
        }
        log
    }

    #[test]
    fn the_period_between_sends_is_the_unit_over_the_rate() {
        for (rate, millis) in [(10, 134.8), (20, 67.4), (50, 27.0), (100, 13.5)] {
            let log = turns(&mut limiter(kilobytes(rate)), 3, 1001);
            let period = (log[1000].0 - log[0].0).seconds();
            assert!((period - millis).abs() < 0.05, "{rate} KB/s: {period} ms");
        }
    }

    #[test]
    fn connections_take_turns() {
        let who: Vec<u32> = turns(&mut limiter(kilobytes(20)), 3, 7).iter().map(|t| t.1).collect();
        assert_eq!(who, [0, 1, 2, 0, 1, 2, 0]);
    }

    #[test]
    fn an_empty_ring_earns_no_credit_but_a_debt_is_paid_off() {
        let mut limiter = limiter(kilobytes(20));
        let turn = |limiter: &mut Limiter, now| {
            limiter.settle(now);
            let conn = limiter.grant();
            if let Some(conn) = conn {
                limiter.wrote(conn, 1380, false);
            }
            limiter.arm(now);
            conn.is_some()
        };
        assert!(limiter.queue(Time::START, ConnId(0)));
        assert!(turn(&mut limiter, Time::START));
        assert_eq!(limiter.wake(), Time::NEVER);
        // 10 ms later 1175 of the 1380 bytes are still owed.
        let soon = Time::START + Span::from_millis(10);
        limiter.queue(soon, ConnId(0));
        assert!(!turn(&mut limiter, soon));
        assert_eq!((limiter.wake() - Time::START).nanos(), 67_382_813);
        limiter.remove(ConnId(0));
        // An hour later one unit goes out, not an hour's worth.
        let late = Time::START + Span::from_secs(3600);
        limiter.queue(late, ConnId(0));
        limiter.queue(late, ConnId(1));
        assert!(turn(&mut limiter, late));
        assert!(!turn(&mut limiter, late));
    }

    #[test]
    fn a_tick_lets_several_units_out_together_and_credit_is_bounded() {
        let mut rules = named("modern").unwrap().limiter;
        rules.write_unit = 1000;
        let mut limiter = Limiter::new(Rate::from_bps(80_000), rules, Time::START);
        let log = turns(&mut limiter, 2, 50);
        let at = |millis| {
            let time = Time::START + Span::from_millis(millis);
            log.iter().filter(|(when, _)| *when == time).count()
        };
        assert_eq!((at(500), at(1000), at(700)), (5, 5, 0));
        limiter.remove(ConnId(0));
        limiter.remove(ConnId(1));
        let late = Time::START + Span::from_secs(100);
        limiter.queue(late, ConnId(0));
        let mut burst = 0;
        while let Some(conn) = limiter.grant() {
            limiter.wrote(conn, 1000, true);
            burst += 1;
        }
        assert_eq!(burst, 31, "three seconds' worth, and the unit that crosses the line");
    }

    #[test]
    fn a_limit_that_changes_often_is_used_as_one_that_stays() {
        let mut rules = named("modern").unwrap().limiter;
        rules.write_unit = 1000;
        let mut limiter = Limiter::new(Rate::from_bps(80_000), rules, Time::START);
        let mut sent = 0;
        limiter.queue(Time::START, ConnId(0));
        for tenth in 0..600u64 {
            let now = Time::START + Span::from_millis(100 * tenth + 50);
            if now >= limiter.wake() || tenth == 0 {
                limiter.settle(now);
                while let Some(conn) = limiter.grant() {
                    limiter.wrote(conn, 1000, true);
                    sent += 1000;
                }
                limiter.arm(now);
            }
            limiter.set_rate(now, Rate::from_bps(80_000 + tenth % 2 * 8));
        }
        assert!((595_000..=605_000).contains(&sent), "{sent} B in a minute at 10 kB/s");
    }

    #[test]
    fn ticks_have_a_phase() {
        let rules = named("modern").unwrap().limiter;
        let mut limiter = Limiter::new(Rate::from_bps(80_000), rules, Time::START).with_phase(0.5);
        let log = turns(&mut limiter, 2, 50);
        let late = log.iter().filter(|(when, _)| *when > Time::START);
        let phases = late.map(|(when, _)| when.nanos() % 500_000_000);
        assert!(phases.eq(std::iter::repeat_n(250_000_000, 49)));
    }

    #[test]
    fn a_limit_on_a_mean_is_silent_when_it_falls() {
        let mut rules = named("modern").unwrap().limiter;
        (rules.write_unit, rules.tick_ns, rules.window_ns) =
            (16_384, None, Some(Span::from_secs(10)));
        let mut limiter = Limiter::new(Rate::from_bps(4_000_000), rules, Time::START);
        limiter.queue(Time::START, ConnId(0));
        let mut now = Time::START;
        let mut write_until = |limiter: &mut Limiter, end: Time| {
            let mut sent = 0;
            let mut silent = (now, Span::ZERO);
            while now < end {
                limiter.settle(now);
                while let Some(conn) = limiter.grant() {
                    limiter.wrote(conn, 16_384, true);
                    sent += 16_384;
                    silent = (now, silent.1.max(now.since(silent.0)));
                }
                limiter.arm(now);
                now = limiter.wake();
            }
            (sent, silent.1)
        };
        let (sent, _) = write_until(&mut limiter, Time::START + Span::from_secs(30));
        assert!((14_500_000..=16_000_000).contains(&sent), "{sent} B in half a minute at 500 kB/s");
        // aria2 1.36 had 8 s of silence after such a step.
        limiter.set_rate(Time::START + Span::from_secs(30), Rate::from_bps(800_000));
        let (_, silent) = write_until(&mut limiter, Time::START + Span::from_secs(60));
        assert!((7.0..10.5).contains(&silent.seconds()), "{silent:?}");
    }

    #[test]
    fn without_a_limit_there_is_always_a_turn() {
        let mut limiter = limiter(None);
        limiter.queue(Time::START, ConnId(7));
        for _ in 0..1000 {
            let conn = limiter.grant().unwrap();
            limiter.wrote(conn, 17_000, true);
        }
        assert_eq!(limiter.quantum(), 17_000);
    }
}
