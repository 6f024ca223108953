//! The remote interface of a client: what it reports to other programs, and takes from them.

use flashcrowd_base::{Rate, Ring, Span, Time};
use flashcrowd_plan::ClientInterface;
use flashcrowd_swarm::UploadLimit;
use flashcrowd_upload::Limit;

/// A client's interface for other programs: its meter, and what it reports of it.
pub(super) struct Interface {
    rules: ClientInterface,
    /// Payload bytes, up and down: what its sockets took and gave.
    pub(super) counted: [u64; 2],
    /// Header bytes that were counted and are to be left out of what follows.
    headers: u32,
    /// Its counts at the last refresh, and at those before, as far back as its mean goes.
    readings: Ring<(Time, [u64; 2])>,
    pub(super) refresh_at: Time,
    /// What the controller gets from its answers: counts, or the integral of rates; and when it last
    /// asked.
    pub(super) said: [u64; 2],
    pub(super) asked: Time,
}

impl Interface {
    pub(super) fn new(now: Time, rules: ClientInterface) -> Interface {
        let mut readings = Ring::new();
        readings.push_back((now, [0; 2]));
        // One that renews at each question has no timer of its own.
        let refresh_at = if rules.refresh_ns.is_zero() { Time::NEVER } else { now };
        Interface {
            rules,
            counted: [0; 2],
            headers: 0,
            readings,
            refresh_at,
            said: [0; 2],
            asked: now,
        }
    }

    /// Refreshes what is reported.
    fn refresh(&mut self, now: Time) {
        self.readings.push_back((now, self.counted));
        let window = self.rules.window_ns.unwrap_or(Span::ZERO);
        // The last reading that is a window old stays: the mean begins there.
        while self.readings.get(1).is_some_and(|(at, _)| now.since(*at) >= window) {
            self.readings.pop_front();
        }
    }

    pub(super) fn on_timer(&mut self, now: Time) {
        if now >= self.refresh_at {
            self.refresh(now);
            self.refresh_at = now + self.rules.refresh_ns;
        }
    }

    /// It is asked: bytes up and down, as far as its answers say.
    pub(super) fn ask(&mut self, now: Time) -> [u64; 2] {
        if self.rules.refresh_ns.is_zero() {
            self.refresh(now);
        }
        let elapsed = now.since(self.asked).seconds();
        self.asked = now;
        let (Some(&(from, before)), Some(&(to, counts))) =
            (self.readings.front(), self.readings.back())
        else {
            return self.said;
        };
        self.said = if self.rules.window_ns.is_none() {
            counts
        } else {
            let seconds = to.since(from).seconds();
            let grown = |way: usize| {
                let mean =
                    if seconds > 0.0 { (counts[way] - before[way]) as f64 / seconds } else { 0.0 };
                self.said[way] + (mean * elapsed) as u64
            };
            [grown(0), grown(1)]
        };
        self.said
    }

    /// The limit that it makes of the one that it is given.
    pub(super) fn rounded(&self, limit: Limit) -> UploadLimit {
        let Limit::At(rate) = limit else { return UploadLimit::Unlimited };
        let step = u64::from(self.rules.step_bytes.max(1)) * 8;
        Rate::from_bps((rate.bps() / step).max(1) * step).into()
    }

    /// Bytes of blocks were written, and as many as `header` of these and of earlier ones were no payload.
    pub(super) fn uploaded(&mut self, bytes: u32, header: u32) {
        // A header is known of when its block is complete; a count never falls.
        self.headers += header;
        let taken = self.headers.min(bytes);
        self.headers -= taken;
        self.counted[0] += u64::from(bytes - taken);
    }
}
