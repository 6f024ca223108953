use crate::meter::Meter;
use crate::moments::quantile;
use crate::pinger::Pinger;
use crate::{Answer, Event, Probe, Rates, Setup};
use flashcrowd_base::{Span, Time};

/// A probe every 400 ms over all reflectors: 1.7 kbit/s with 84-byte packets.
const PROBE_PERIOD: Span = Span::from_millis(400);

/// Longer than what modems queue: 32 kB are 4 s at 64 kbit/s, and answers of a full queue are late, not lost.
const PROBE_TIMEOUT: Span = Span::from_secs(10);

/// Windows hold four ticks of the usual limiter (0.5 s), whose bursts make a queue that comes and goes.
pub(super) const WINDOW: Span = Span::from_secs(2);

/// The upload is a mean over two of them, as meters and limiters lag.
const RATED: Span = Span::from_secs(4);

/// The base of a reflector is the least round trip of this number of minutes.
const MINUTES: usize = 10;

/// Windows that are kept for means.
const RECENT: usize = 4;

/// What was sensed in a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Window {
    /// Answers came.
    Heard(Sensed),
    /// None came.
    Silent,
    /// The first answers after a silence: what queued up meanwhile says nothing of now.
    Back,
}

/// Delays and rates of a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sensed {
    /// The standing delay over the base, in seconds: what it did not fall below in this window and the one before.
    pub(super) standing: f64,
    /// Payload of ours over the last two windows, bytes per second; nothing before two readings.
    pub(super) upload: Option<f64>,
    /// The same over this window alone.
    pub(super) latest: Option<f64>,
    /// By how much the bases fell in this window, in seconds: all but one by this at least. Then what was the least
    /// delay before is that of a queue.
    pub(super) fell: f64,
    /// Noise of the standing delay from window to window while our upload cannot have moved it, in seconds.
    pub(super) noise: f64,
}

/// The base of one reflector.
#[derive(Clone, Debug)]
struct Reflector {
    /// The least round trip of each minute, the latest one last.
    minutes: Vec<f64>,
}

/// What every candidate hears.
#[derive(Debug)]
pub(super) struct Senses {
    pinger: Pinger,
    upload: Meter,
    reflectors: Vec<Reflector>,
    minute_ends: Time,
    /// Round trips of this window, and of the one before.
    answers: Vec<(usize, f64)>,
    before: Vec<(usize, f64)>,
    /// Those of the last windows, the latest last.
    recent: Vec<Vec<(usize, f64)>>,
    window_ends: Time,
    silent: bool,
    /// The base of each reflector when the last window ended.
    bases: Vec<Option<f64>>,
    /// The last standing delays of windows without a queue of ours, for the noise.
    calm: Vec<f64>,
}

impl Senses {
    pub(super) fn new(setup: &Setup) -> Senses {
        Senses::probing(setup, PROBE_PERIOD)
    }

    /// The same with a probe every `period`.
    pub(super) fn probing(setup: &Setup, period: Span) -> Senses {
        let reflectors = setup.reflectors.max(1);
        Senses {
            pinger: Pinger::new(setup.now, period, PROBE_TIMEOUT, reflectors),
            upload: Meter::new(),
            reflectors: vec![Reflector { minutes: Vec::new() }; reflectors],
            minute_ends: setup.now + Span::from_secs(60),
            answers: Vec::new(),
            before: Vec::new(),
            recent: Vec::new(),
            window_ends: setup.now + WINDOW,
            silent: false,
            bases: vec![None; reflectors],
            calm: Vec::new(),
        }
    }

    pub(super) fn answer(&mut self, answer: &Answer) {
        // Absence is seen at the end of a window.
        let Some(rtt) = answer.rtt.map(Span::seconds) else { return };
        let Some(reflector) = self.reflectors.get_mut(answer.reflector) else { return };
        match reflector.minutes.last_mut() {
            Some(min) => *min = min.min(rtt),
            None => reflector.minutes.push(rtt),
        }
        self.answers.push((answer.reflector, rtt));
    }

    pub(super) fn rates(&mut self, now: Time, rates: &Rates) {
        self.upload.note(now, rates.uploaded);
    }

    /// Another path, or time of which nothing is known: bases and this window are forgotten.
    pub(super) fn event(&mut self, now: Time, event: Event) {
        self.answers.clear();
        self.before.clear();
        self.recent.clear();
        self.silent = true;
        self.window_ends = now + WINDOW;
        if matches!(event, Event::PathChanged | Event::Up) {
            self.reflectors.iter_mut().for_each(|reflector| reflector.minutes.clear());
            self.bases.fill(None);
            self.calm.clear();
        }
    }

    pub(super) fn probe(&mut self, now: Time) -> Option<Probe> {
        self.pinger.poll(now)
    }

    pub(super) fn deadline(&self) -> Time {
        self.pinger.next().min(self.window_ends)
    }

    /// What the window says, if one is over.
    pub(super) fn window(&mut self, now: Time) -> Option<Window> {
        if now + WINDOW < self.window_ends {
            // The clock went back.
            self.window_ends = now;
        }
        if now < self.window_ends {
            return None;
        }
        self.window_ends = now + WINDOW;
        let answers = std::mem::take(&mut self.answers);
        // Single answers are those of a line that just came or went; two windows together tell more.
        if answers.is_empty() || answers.len() + self.before.len() < 2 {
            self.silent = true;
            self.before.clear();
            self.recent.clear();
            return Some(Window::Silent);
        }
        if std::mem::take(&mut self.silent) {
            self.before.clear();
            return Some(Window::Back);
        }
        self.turn_minute(now);
        let standing = self.standing(&answers)?;
        if self.recent.len() == RECENT {
            self.recent.remove(0);
        }
        self.recent.push(answers.clone());
        self.before = answers;
        let (upload, latest) = (self.upload.rate(RATED), self.upload.rate(WINDOW));
        let fell = self.fell();
        Some(Window::Heard(Sensed { standing, upload, latest, fell, noise: self.noise() }))
    }

    /// By how much the bases fell since this was asked last, in seconds: the second least of the reflectors that had one.
    fn fell(&mut self) -> f64 {
        let mut falls = Vec::new();
        for (reflector, before) in self.reflectors.iter().zip(&mut self.bases) {
            let base = reflector.base();
            if let (Some(before), Some(now)) = (*before, base) {
                falls.push(before - now);
            }
            *before = base;
        }
        falls.sort_by(f64::total_cmp);
        falls.get(1).or(falls.first()).copied().unwrap_or(0.0)
    }

    /// The least delay of each reflector, and of these the second: with a limiter that bursts twice a second the queue comes
    /// and goes, and only its least says whether it stands. The second, so that one reflector that is not behind
    /// the line cannot hide a queue; one that is congested itself cannot feign one.
    fn standing(&self, answers: &[(usize, f64)]) -> Option<f64> {
        self.min(self.before.iter().chain(answers))
    }

    fn min<'a>(&self, answers: impl Iterator<Item = &'a (usize, f64)>) -> Option<f64> {
        let mut min: Vec<f64> = vec![f64::INFINITY; self.reflectors.len()];
        for &(reflector, rtt) in answers {
            min[reflector] = min[reflector].min(self.delay(reflector, rtt));
        }
        min.retain(|delay| delay.is_finite());
        min.sort_by(f64::total_cmp);
        min.get(1).or(min.first()).copied()
    }

    /// What a round trip has above the base of its reflector.
    fn delay(&self, reflector: usize, rtt: f64) -> f64 {
        rtt - self.reflectors[reflector].base().unwrap_or(rtt)
    }

    /// The mean delay of the last windows, in seconds: of each reflector its own, and of these the middle, so that one that is
    /// congested itself does not count. Nothing without an answer.
    pub(super) fn mean(&self, windows: usize) -> Option<f64> {
        let mut sums = vec![(0.0, 0u32); self.reflectors.len()];
        let from = self.recent.len().saturating_sub(windows);
        for &(reflector, rtt) in self.recent[from..].iter().flatten() {
            sums[reflector].0 += self.delay(reflector, rtt);
            sums[reflector].1 += 1;
        }
        let max = sums.iter().map(|(_, count)| *count).max().unwrap_or(0);
        // One that seldom answers says little.
        sums.retain(|(_, count)| *count > 0 && 2 * count >= max);
        let mut means: Vec<f64> = sums.iter().map(|(sum, count)| sum / f64::from(*count)).collect();
        means.sort_by(f64::total_cmp);
        let (low, high) = (means.len().checked_sub(1)? / 2, means.len() / 2);
        Some(0.5 * (means[low] + means[high]))
    }

    /// The standing delay of the last window alone. With five answers at other phases of the limiter's tick each, it is enough to
    /// tell a queue that does not run empty from bursts.
    pub(super) fn fresh(&self) -> f64 {
        self.recent.last().and_then(|answers| self.min(answers.iter())).unwrap_or(0.0)
    }

    /// Of the answers of the last windows: how many waited longer than `longer` seconds, and how many there
    /// are.
    pub(super) fn waited(&self, longer: f64, windows: usize) -> (usize, usize) {
        let from = self.recent.len().saturating_sub(windows);
        let answers = self.recent[from..].iter().flatten();
        let delays = answers.map(|&(reflector, rtt)| self.delay(reflector, rtt));
        delays.fold((0, 0), |(waited, all), delay| (waited + usize::from(delay > longer), all + 1))
    }

    /// The median delay of the last window, in seconds: of a queue from before that drains in its first half it knows nothing.
    pub(super) fn middle(&self) -> f64 {
        let answers = self.recent.last().into_iter().flatten();
        let mut delays: Vec<f64> =
            answers.map(|&(reflector, rtt)| self.delay(reflector, rtt)).collect();
        quantile(&mut delays, 0.5).unwrap_or(0.0)
    }

    /// The least round trip, in seconds, of the middle reflector; zero before there is an answer.
    pub(super) fn base(&self) -> f64 {
        let mut bases: Vec<f64> = self.reflectors.iter().filter_map(Reflector::base).collect();
        quantile(&mut bases, 0.5).unwrap_or(0.0)
    }

    /// This was the standing delay while our upload rested or was small. Delays under load are no noise: they would
    /// raise the threshold, which would let them rise further.
    pub(super) fn calm(&mut self, standing: f64) {
        self.calm.push(standing);
        if self.calm.len() > 15 {
            self.calm.remove(0);
        }
    }

    /// Another delay is the calm one from now on.
    pub(super) fn forget_calm(&mut self) {
        self.calm.clear();
    }

    /// The median step between calm windows.
    fn noise(&self) -> f64 {
        let mut steps: Vec<f64> =
            self.calm.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
        // A few windows say nothing.
        if steps.len() < 5 { 0.0 } else { quantile(&mut steps, 0.5).unwrap_or(0.0) }
    }

    fn turn_minute(&mut self, now: Time) {
        if now < self.minute_ends && now + Span::from_secs(60) >= self.minute_ends {
            return;
        }
        self.minute_ends = now + Span::from_secs(60);
        for reflector in &mut self.reflectors {
            if !reflector.minutes.is_empty() {
                reflector.minutes.push(f64::INFINITY);
            }
            if reflector.minutes.len() > MINUTES {
                reflector.minutes.remove(0);
            }
        }
    }
}

impl Reflector {
    fn base(&self) -> Option<f64> {
        let min = self.minutes.iter().copied().fold(f64::INFINITY, f64::min);
        min.is_finite().then_some(min)
    }
}

/// What designs answer alike that have [`Senses`] called `senses`, a `limit` in bytes per second, a `state`, and a `judge` of windows.
macro_rules! answers_of_senses {
    () => {
        fn on_answer(&mut self, _: Time, answer: &crate::Answer) {
            self.senses.answer(answer);
        }

        fn probe(&mut self, now: Time) -> Option<crate::Probe> {
            if let Some(window) = self.senses.window(now) {
                self.judge(now, window);
            }
            self.senses.probe(now)
        }

        fn deadline(&self) -> Time {
            self.senses.deadline()
        }

        fn limit(&self) -> crate::Limit {
            super::limit_of(self.limit)
        }

        fn state(&self) -> State {
            self.state
        }
    };
}
pub(super) use answers_of_senses;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limit;

    /// What a window says in which the reflectors of the list answered so, one after the other;
    /// `None` was lost.
    fn windows(rounds: &[&[Option<u64>]]) -> Vec<Option<i64>> {
        let setup = Setup { now: Time::START, reflectors: 4, limit: Limit::Unlimited };
        let mut senses = Senses::new(&setup);
        let mut said = Vec::new();
        for (round, answers) in rounds.iter().enumerate() {
            let now = Time::START + WINDOW * (round as u64 + 1);
            for (index, rtt) in answers.iter().enumerate() {
                let rtt = rtt.map(Span::from_millis);
                senses.answer(&Answer { reflector: index % 4, rtt });
            }
            said.push(match senses.window(now) {
                Some(Window::Heard(sensed)) => Some((sensed.standing * 1e3 + 0.5) as i64),
                _ => None,
            });
        }
        said
    }

    #[test]
    fn one_congested_reflector_of_four_and_a_burst_do_not_make_a_standing_queue() {
        let idle: &[_] = &[Some(20), Some(30), Some(40), Some(50), Some(20)];
        let one_bad: &[_] = &[Some(20), Some(130), Some(40), Some(50), Some(20)];
        let bursts: &[_] = &[Some(20), Some(30), Some(140), Some(150), Some(120)];
        let queue: &[_] = &[Some(70), Some(80), Some(90), Some(100), Some(70)];
        let one_blind: &[_] = &[Some(20), Some(80), Some(90), Some(100), Some(20)];
        let said = windows(&[idle, one_bad, bursts, queue, queue, one_blind, one_blind]);
        // A queue is believed when nothing of the last two windows is below it.
        assert_eq!(said, [0, 0, 0, 0, 50, 50, 50].map(Some));
    }

    #[test]
    fn silence_is_said_and_what_queued_up_in_it_is_not_believed() {
        let idle: &[_] = &[Some(20), Some(30), Some(40), Some(50), Some(20)];
        let silence: &[_] = &[None, None, None, None];
        let late: &[_] = &[Some(900), Some(500), Some(100), Some(50), Some(20)];
        assert_eq!(windows(&[idle, silence, late, idle]), [Some(0), None, None, Some(0)]);
    }

    #[test]
    fn a_mean_is_of_the_last_windows_and_one_congested_reflector_does_not_count() {
        let setup = Setup { now: Time::START, reflectors: 4, limit: Limit::Unlimited };
        let mut senses = Senses::new(&setup);
        assert_eq!((senses.mean(1), senses.base()), (None, 0.0));
        let rounds: [[u64; 4]; 3] = [[20, 30, 40, 50], [40, 50, 60, 250], [80, 90, 100, 250]];
        for (round, answers) in rounds.iter().enumerate() {
            let now = Time::START + WINDOW * (round as u64 + 1);
            for (reflector, rtt) in answers.iter().enumerate() {
                let rtt = Some(Span::from_millis(*rtt));
                senses.answer(&Answer { reflector, rtt });
            }
            assert!(senses.window(now).is_some());
        }
        let millis = |windows| senses.mean(windows).map(|mean| (mean * 1e3 + 0.5) as u64);
        assert_eq!([1, 2, 3].map(millis), [Some(60), Some(40), Some(27)]);
        assert_eq!((senses.base() * 1e3 + 0.5) as u64, 40);
    }
}
