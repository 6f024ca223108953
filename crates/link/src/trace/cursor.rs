use super::{Course, NANOS, Opportunities, Rates, Trace};
use flashcrowd_base::Time;

/// How far the packets of a link have used its trace. It moves forward with them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor {
    /// When the trace began.
    origin: Time,
    /// When its present round did.
    round: u64,
    /// The piece that the line is in, or the next opportunity that is not used yet.
    index: usize,
    /// Bytes left of the last opportunity, for packets that wait.
    left: u32,
}

/// When a packet is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Served {
    /// When its first byte is sent.
    pub(crate) begins: Time,
    /// When its last one has been.
    pub(crate) departs: Time,
    /// When the first byte of a packet behind it could be.
    pub(crate) free_at: Time,
}

/// This number of steps is made one by one; farther ones are found by bisection.
const STEPS: usize = 8;
/// Bit/s times nanoseconds of a byte.
const BYTE: u128 = 8_000_000_000;

impl Cursor {
    /// At the beginning of a trace that begins then.
    pub(crate) fn new(origin: Time) -> Cursor {
        Cursor { origin, round: origin.nanos(), index: 0, left: 0 }
    }

    /// When the line can begin with what waits at the beginning of the trace.
    pub(crate) fn begin(&self, trace: &Trace) -> Time {
        match trace.course() {
            Course::Rates(_) => self.origin,
            Course::Opportunities(them) => self.next(them),
        }
    }

    /// When the trace began.
    pub(crate) fn origin(&self) -> Time {
        self.origin
    }

    /// When a line that has been idle since `free_at` can begin with a packet that comes at `now`. An
    /// opportunity at that very instant has gone by, as it has in Mahimahi, which uses up what is due
    /// before it takes a packet.
    pub(crate) fn ready(&mut self, trace: &Trace, free_at: Time, now: Time) -> Time {
        if free_at > now {
            return free_at;
        }
        match trace.course() {
            Course::Rates(_) => now,
            Course::Opportunities(them) => {
                self.left = 0;
                self.pass(them, now.nanos());
                self.next(them)
            }
        }
    }

    /// Serves a packet of `bytes` bytes, not before `now`, on a line that is free at `free_at`.
    pub(crate) fn serve(&mut self, trace: &Trace, free_at: Time, now: Time, bytes: u64) -> Served {
        match trace.course() {
            Course::Rates(rates) => {
                let begins = free_at.max(now);
                let departs = self.send(rates, begins, u128::from(bytes) * BYTE);
                Served { begins, departs, free_at: departs }
            }
            Course::Opportunities(them) => {
                let begins = if free_at < now { self.ready(trace, free_at, now) } else { free_at };
                let departs = self.take(them, begins, bytes);
                let free_at = if self.left > 0 { departs } else { self.next(them) };
                Served { begins, departs, free_at }
            }
        }
    }

    /// Bits that are left of the first of the packets that wait, which departs at `departs` and has
    /// `behind` bytes of others behind it.
    pub(crate) fn rest(&self, trace: &Trace, now: Time, departs: Time, behind: u64) -> u64 {
        let (from, to) = (now.since(self.origin), departs.since(self.origin));
        match trace.course() {
            Course::Rates(rates) => {
                let work = rates.work(to.nanos()).saturating_sub(rates.work(from.nanos()));
                u64::try_from(work / NANOS).unwrap_or(u64::MAX)
            }
            Course::Opportunities(them) => {
                let rounds = (self.round - self.origin.nanos()) / them.length();
                let used = rounds * them.at.len() as u64 + self.index as u64;
                let used = used.saturating_sub(them.count(from.nanos())) * u64::from(them.bytes);
                used.saturating_sub(u64::from(self.left) + behind) * 8
            }
        }
    }

    fn next(&self, them: &Opportunities) -> Time {
        Time::from_nanos(self.round.saturating_add(them.at[self.index]))
    }

    /// Leaves out all opportunities up to an instant.
    fn pass(&mut self, them: &Opportunities, now: u64) {
        for _ in 0..STEPS {
            if self.next(them).nanos() > now {
                return;
            }
            self.advance(them, 1);
        }
        if self.next(them).nanos() <= now {
            let age = now - self.origin.nanos();
            let rounds = age / them.length();
            self.round = self.origin.nanos() + rounds * them.length();
            self.index = them.at.partition_point(|&at| at <= age % them.length());
        }
    }

    fn advance(&mut self, them: &Opportunities, count: u64) {
        let (index, entries) = (self.index as u64 + count, them.at.len() as u64);
        let rounds = if index < entries { 0 } else { index / entries };
        self.round = self.round.saturating_add(rounds.saturating_mul(them.length()));
        self.index = (index - rounds * entries) as usize;
    }

    /// The opportunity that carries the last of `bytes` bytes.
    fn take(&mut self, them: &Opportunities, begins: Time, bytes: u64) -> Time {
        let left = u64::from(self.left);
        if bytes <= left {
            self.left = (left - bytes) as u32;
            return begins;
        }
        let each = u64::from(them.bytes);
        let count = (bytes - left).div_ceil(each);
        self.left = (count * each - (bytes - left)) as u32;
        self.advance(them, count - 1);
        let departs = self.next(them);
        self.advance(them, 1);
        departs
    }

    /// When the line has finished `work`, which begins at `begins`.
    fn send(&mut self, rates: &Rates, begins: Time, mut work: u128) -> Time {
        self.find(rates, begins.nanos());
        let mut at = begins.nanos();
        loop {
            let bps = rates.bps[self.index];
            let ends = self.ends(rates);
            let here = u128::from(bps) * u128::from(ends - at);
            if here >= work {
                // There is work, so the rate is not zero.
                let nanos = match u64::try_from(work) {
                    Ok(work) => work.div_ceil(bps),
                    Err(_) => u64::try_from(work.div_ceil(u128::from(bps))).unwrap_or(u64::MAX),
                };
                return Time::from_nanos(at.saturating_add(nanos));
            }
            if ends == u64::MAX {
                return Time::NEVER;
            }
            work -= here;
            at = ends;
            self.step(rates);
            // Work of whole rounds is not gone through piece by piece.
            if self.index == 0 && work > rates.round() {
                let rounds = (work - 1) / rates.round();
                let length = rates.length.unwrap_or(u64::MAX);
                let rounds = u64::try_from(rounds).unwrap_or(u64::MAX);
                let Some(round) = length.checked_mul(rounds).and_then(|it| it.checked_add(at))
                else {
                    return Time::NEVER;
                };
                work -= rates.round() * u128::from(rounds);
                (self.round, at) = (round, round);
            }
        }
    }

    /// The end of the piece that the line is in.
    fn ends(&self, rates: &Rates) -> u64 {
        let ends = rates.begins.get(self.index + 1).copied().or(rates.length);
        ends.map_or(u64::MAX, |ends| self.round.saturating_add(ends))
    }

    fn step(&mut self, rates: &Rates) {
        self.index += 1;
        if self.index == rates.begins.len() {
            self.index = 0;
            self.round = self.round.saturating_add(rates.length.unwrap_or(u64::MAX));
        }
    }

    /// Goes to the piece in which an instant lies that is not before the present one.
    fn find(&mut self, rates: &Rates, now: u64) {
        for _ in 0..STEPS {
            if now < self.ends(rates) || self.ends(rates) == u64::MAX {
                return;
            }
            self.step(rates);
        }
        if let Some(length) = rates.length {
            let age = now - self.origin.nanos();
            self.round = self.origin.nanos() + age / length * length;
            self.index = rates.piece(age % length);
        } else {
            self.index = rates.piece(now - self.origin.nanos());
        }
    }
}
