//! The second generation, the default from Azureus 3.0.4 (December 2007): the median of pings gives a signal between
//! -1 and 1, and the signal moves a slider between a least and a greatest upload.
//!
//! By the published source, which differs from descriptions of it in one point: a weak signal upwards *grows* with the
//! ping, from 0 at the good ping to 1 at the end of its tolerance, and a weak one downwards shrinks from -1 to 0. Of
//! the original's two sliders only the upload's moves here, since a controller sets no download limit: that is the
//! original while its download slider is at "unlimited", where it starts. The test of capacities, which a person or a
//! bad guess starts, is left out, and so is the change of ping sources.

use super::KIB;
use super::round::Round;
use crate::meter::Meter;
use crate::parameter::parameters;
use crate::{Answer, Controller, Limit, Phase, Probe, Rates, Setup, State};
use flashcrowd_base::{Rate, Span, Time};

parameters! {
    /// Auto-Speed of Azureus 3.0.4 and later.
    AutoSpeedV2 {
        /// How often the three sources are asked (5 s; 3 s since 2010-05-18).
        probe_period_ns: Span = Span::from_secs(5), 0.5..=60.0;
        /// When a ping is lost.
        probe_timeout_ns: Span = Span::from_secs(5), 0.5..=60.0;
        /// Pings below are a strong signal upwards.
        good_ns: Span = Span::from_millis(50), 0.001..=10.0;
        /// Up to this much above the good ping the signal is weak.
        good_tolerance_ns: Span = Span::from_millis(100), 0.001..=10.0;
        /// Pings above are a strong signal downwards.
        bad_ns: Span = Span::from_millis(900), 0.001..=60.0;
        /// Up to this much below the bad ping the signal is weak.
        bad_tolerance_ns: Span = Span::from_millis(500), 0.001..=60.0;
        /// The upload capacity at first, and the least that it can be.
        start_upload_bps: Rate = Rate::at_least_one(8 * 30 * 1024), 8192.0..=1e9;
        /// The download capacity.
        start_download_bps: Rate = Rate::at_least_one(8 * 60 * 1024), 8192.0..=1e9;
        /// Which part of the upload capacity is used while downloading.
        used_while_downloading: f64 = 0.6, 0.1..=1.0;
        /// After this time without much download the client counts as a seed.
        seeding_after_ns: Span = Span::from_secs(60), 1.0..=3600.0;
        /// After this time at its limit, as a seed, the upload capacity may grow.
        unpin_after_ns: Span = Span::from_secs(30), 1.0..=3600.0;
    }
}

/// The signal is multiplied by how often it came in a row.
const UP: [f64; 11] = [0.25, 0.25, 0.5, 1.0, 1.25, 1.5, 1.75, 2.0, 2.25, 2.5, 3.0];
const DOWN: [f64; 11] = [0.25, 0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 9.0, 15.0, 20.0];

/// From which part of a limit on its use is called at the limit, medium and low.
const AT_LIMIT: f64 = 0.95;
const HIGH: f64 = 0.75;
const MEDIUM: f64 = 0.25;

#[derive(Debug)]
pub(crate) struct AutoSpeedV2Controller {
    parameters: AutoSpeedV2,
    round: Round,
    upload: Meter,
    download: Meter,
    pings: Vec<f64>,
    /// Whether the last group changed the limit; the next is not looked at.
    adjusted: bool,
    ups: usize,
    downs: usize,
    /// Between the least and the greatest upload.
    slider: f64,
    capacity: f64,
    pinned: bool,
    /// Since when the upload has not been below its limit, nor its limit below the capacity.
    at_limit_since: Time,
    downloading_at: Option<Time>,
    limit: Limit,
    state: State,
}

impl AutoSpeedV2Controller {
    pub(crate) fn new(parameters: &AutoSpeedV2, setup: &Setup) -> AutoSpeedV2Controller {
        let (period, timeout) = (parameters.probe_period_ns, parameters.probe_timeout_ns);
        let mut control = AutoSpeedV2Controller {
            round: Round::new(setup.now, period, timeout, setup.reflectors),
            upload: Meter::new(),
            download: Meter::new(),
            pings: Vec::new(),
            adjusted: false,
            ups: 0,
            downs: 0,
            slider: 0.5,
            capacity: parameters.start_upload_bps.bytes_per_second(),
            pinned: true,
            at_limit_since: setup.now,
            downloading_at: Some(setup.now),
            limit: setup.limit,
            state: State::new(Phase::Learning, "too few pings yet"),
            parameters: parameters.clone(),
        };
        control.set();
        control
    }

    fn signal(&mut self, ping: f64) -> f64 {
        let millis = |span: Span| span.seconds() * 1e3;
        let (good, weak_good) =
            (millis(self.parameters.good_ns), millis(self.parameters.good_tolerance_ns));
        let (bad, weak_bad) =
            (millis(self.parameters.bad_ns), millis(self.parameters.bad_tolerance_ns));
        let signal = if ping < good {
            1.0
        } else if ping < good + weak_good {
            (ping - good) / weak_good
        } else if ping > bad {
            -1.0
        } else if ping > bad - weak_bad {
            (ping - (bad - weak_bad)) / weak_bad - 1.0
        } else {
            return 0.0;
        };
        let up = ping < good + weak_good;
        (self.ups, self.downs) = if up { (self.ups + 1, 0) } else { (0, self.downs + 1) };
        signal
    }

    fn multiple(&mut self, use_of_lines: f64) -> f64 {
        if self.ups <= self.downs {
            return DOWN[self.downs.min(10)];
        }
        if use_of_lines < MEDIUM {
            self.ups = 0;
        }
        let multiple = UP[self.ups.min(10)];
        if (MEDIUM..HIGH).contains(&use_of_lines) { multiple / 2.0 } else { multiple }
    }

    /// The greatest upload that is used.
    fn usable(&self) -> f64 {
        let downloading = self.downloading_at.is_some();
        self.capacity * if downloading { self.parameters.used_while_downloading } else { 1.0 }
    }

    fn set(&mut self) {
        let min = (5.0 * KIB).max(0.1 * self.capacity);
        let limit = (self.usable() - min).max(0.0) * self.slider + min;
        self.limit = Limit::from_bytes_per_second(limit);
    }

    fn adapt(&mut self, now: Time, ping: f64) {
        let signal = self.signal(ping);
        let at = |state: State| state.with(ping / 1e3, 0.0);
        if signal == 0.0 {
            self.adjusted = false;
            self.state = State::new(Phase::Holding, "the ping is neither good nor bad");
            // The mode may have changed the greatest upload.
            return self.set();
        }
        self.adjusted = true;
        let limit = self.limit.bytes_per_second();
        let rate = self.upload.rate(Span::from_secs(10)).unwrap_or(0.0);
        let download_capacity = self.parameters.start_download_bps.bytes_per_second();
        let download = self.download.rate(Span::from_secs(10)).unwrap_or(0.0) / download_capacity;
        let used = rate / limit;
        let multiple = self.multiple(used.max(download));
        if used < AT_LIMIT || limit < AT_LIMIT * self.capacity {
            self.at_limit_since = now;
        } else if now.since(self.at_limit_since) > self.parameters.unpin_after_ns
            && self.downloading_at.is_none()
        {
            self.pinned = false;
        }
        let gamma = self.usable() / download_capacity.max(self.capacity);
        let factor = signal * multiple / 10.0;
        if signal > 0.0 {
            self.state = at(State::new(Phase::Raising, "the ping is good"));
            if !self.pinned {
                self.capacity += unpinned_step(self.capacity);
                self.slider = 1.0;
            } else if used >= AT_LIMIT {
                self.slider = (self.slider + gamma * 0.5 * factor).min(1.0);
            }
        } else {
            self.state = at(State::new(Phase::Lowering, "the ping is bad"));
            self.pinned = true;
            self.slider = (self.slider + gamma * factor).max(0.0);
        }
        self.set();
    }
}

/// How much a capacity that is searched grows at once.
fn unpinned_step(capacity: f64) -> f64 {
    match capacity {
        capacity if capacity < 100.0 * KIB => KIB,
        capacity if capacity < 400.0 * KIB => 5.0 * KIB,
        _ => 10.0 * KIB,
    }
}

impl Controller for AutoSpeedV2Controller {
    fn on_answer(&mut self, now: Time, answer: &Answer) {
        let Some(answers) = self.round.hear(answer) else { return };
        if self.adjusted {
            self.adjusted = false;
            self.pings.clear();
            return;
        }
        self.pings.extend(answers);
        if self.pings.len() >= 2 {
            // The original takes the upper one of two.
            self.pings.sort_by(f64::total_cmp);
            let ping = self.pings[self.pings.len() / 2];
            self.pings.clear();
            self.adapt(now, ping);
        }
    }
    fn on_rates(&mut self, now: Time, rates: &Rates) {
        self.upload.note(now, rates.uploaded);
        self.download.note(now, rates.downloaded);
        let capacity = self.parameters.start_download_bps.bytes_per_second();
        let download = self.download.rate(Span::from_secs(10)).unwrap_or(capacity);
        let seeding = |since: Time| now.since(since) >= self.parameters.seeding_after_ns;
        if download >= MEDIUM * capacity {
            self.downloading_at = Some(now);
        } else if self.downloading_at.is_some_and(seeding) {
            self.downloading_at = None;
        }
    }
    fn probe(&mut self, now: Time) -> Option<Probe> {
        self.round.probe(now)
    }
    fn deadline(&self) -> Time {
        self.round.deadline()
    }
    fn limit(&self) -> Limit {
        self.limit
    }
    fn state(&self) -> State {
        self.state
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn control() -> AutoSpeedV2Controller {
        let setup = Setup { now: Time::START, reflectors: 3, limit: Limit::Unlimited };
        AutoSpeedV2Controller::new(&AutoSpeedV2::default(), &setup)
    }

    /// Minutes of a download of 100 KiB/s, or none, with an upload at its limit and this ping; the limit in
    /// KiB/s.
    fn run(
        control: &mut AutoSpeedV2Controller,
        from: u64,
        secs: u64,
        millis: u64,
        download: bool,
    ) -> f64 {
        let (mut up, mut down) = (from as f64 * 1e7, from as f64 * 1e7);
        for second in from..from + secs {
            let now = Time::START + Span::from_secs(second);
            up += control.limit().bytes_per_second();
            down += if download { 100.0 * KIB } else { 0.0 };
            let (uploaded, downloaded) = (up as u64, down as u64);
            control.on_rates(now, &Rates { uploaded, downloaded, ..Rates::default() });
            while let Some(probe) = control.probe(now) {
                let rtt = Some(Span::from_millis(millis));
                control.on_answer(now, &Answer { reflector: probe.reflector, rtt });
            }
        }
        control.limit().bytes_per_second() / KIB
    }

    #[test]
    fn while_downloading_it_never_uses_more_than_three_fifths_of_what_it_believes() {
        let mut control = control();
        assert_eq!(control.limit().bytes_per_second() / KIB, 11.5, "half way from 5 to 18");
        assert_eq!(run(&mut control, 0, 600, 20, true), 18.0);
    }

    #[test]
    fn a_seed_searches_for_its_capacity() {
        let mut control = control();
        assert!(run(&mut control, 0, 900, 20, false) > 40.0);
        let high = control.limit().bytes_per_second();
        run(&mut control, 900, 120, 2000, false);
        assert!(control.limit().bytes_per_second() < 0.5 * high);
    }

    #[test]
    fn a_weak_signal_upwards_grows_with_the_ping() {
        let mut control = control();
        let signals = [20.0, 50.0, 100.0, 149.0, 150.0, 400.0, 401.0, 900.0, 901.0];
        let signals = signals.map(|ping| (control.signal(ping) * 1000.0) as i32);
        assert_eq!(signals, [1000, 0, 500, 990, 0, 0, -998, 0, -1000]);
    }
}
