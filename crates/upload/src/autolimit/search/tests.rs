use super::*;
use crate::{Answer, Limit, Phase};

const GOOD: f64 = 50e3;
const TRIED: f64 = 60e3;

/// Windows in which all answers wait this number of milliseconds, while the upload is at the limit that is
/// tried.
struct Line {
    control: SearchController,
    now: Time,
}

impl Line {
    /// A trial with a download, whose queue adds 250 ms in the mean.
    fn with_trial(found: bool, bad: Option<f64>) -> Line {
        let setup = Setup { now: Time::START, reflectors: 4, limit: Limit::Unlimited };
        let mut line = Line {
            control: SearchController::new(&Autolimit::default(), &setup),
            now: Time::START,
        };
        // The base, and the rate.
        line.windows(&[0, 0]);
        let control = &mut line.control;
        (control.shared, control.found, control.bad) = (true, found, bad);
        (control.good, control.limit) = (GOOD, TRIED);
        control.reference = Reference { standing: 0.25, mean: 0.25 };
        control.refresh_at = Time::NEVER;
        control.mode = Mode::Trial { windows: 0 };
        line
    }

    fn windows(&mut self, delays_ms: &[u64]) {
        for delay in delays_ms {
            for second in 1..=2 {
                self.now += Span::from_secs(1);
                let sent = TRIED * self.now.since(Time::START).seconds();
                let rates = Rates { uploaded: sent as u64, ..Rates::default() };
                self.control.on_rates(self.now, &rates);
                for reflector in [2 * second - 2, 2 * second - 1] {
                    let rtt = Some(Span::from_millis(20 + delay));
                    self.control.on_answer(self.now, &Answer { reflector, rtt });
                }
            }
            self.control.probe(self.now);
        }
    }

    fn accepted(&self) -> bool {
        self.control.good == TRIED
    }
}

#[test]
fn a_trough_is_no_licence_once_the_line_is_known() {
    let mut known = Line::with_trial(true, None);
    known.windows(&[200, 200, 200, 360]);
    assert!(!known.accepted());
    known.windows(&[360]);
    assert!(!known.accepted());
    assert_eq!((known.control.limit, known.control.bad), (GOOD, Some(TRIED)));

    let mut innocent = Line::with_trial(true, None);
    innocent.windows(&[200; SETTLE + CYCLE]);
    assert!(innocent.accepted());

    let mut searching = Line::with_trial(false, None);
    searching.windows(&[200; SETTLE + 2]);
    assert!(searching.accepted());
}

/// With a download a delay of 550 ms, 300 of them added, is suspect, and the upload rests; the delays of the windows
/// since.
fn suspected(upload: f64, limit: f64, delays_ms: &[u64]) -> SearchController {
    let mut line = Line::with_trial(false, None);
    line.control.lower(Some(Suspect { added: 0.3, upload, limit, used: limit }), states::SUSPECTED);
    line.windows(delays_ms);
    line.control
}

#[test]
fn a_queue_that_sockets_go_on_filling_while_the_upload_rests_was_ours() {
    // It is as long at the end as when it was suspected, and was three times as long between.
    let delays = [800, 1100, 1400, 1400, 1400, 1200, 800, 550, 540, 545, 550];
    let control = suspected(TRIED, TRIED, &delays);
    assert_eq!((control.found, control.bad), (true, Some(TRIED)));
    assert!(control.limit < TRIED);
    // A download's queue that swings is not ours.
    let control = suspected(TRIED, TRIED, &[560, 580, 550, 560, 550]);
    assert_eq!((control.found, control.bad), (false, None));
}

#[test]
fn a_limit_is_innocent_as_far_as_it_was_used() {
    let mut line = Line::with_trial(false, None);
    // The limit is far above what the line lets through, and a delay comes that does not go with the upload.
    line.control.limit = 4.0 * TRIED;
    line.windows(&[550; 4]);
    assert_eq!(line.control.state.phase, Phase::Raising);
    assert!((line.control.limit - DOUBLE * TRIED / BOUND).abs() < 1.0);
}

#[test]
fn the_window_of_the_reference_is_the_first_of_the_search() {
    let setup = Setup { now: Time::START, reflectors: 4, limit: Limit::Unlimited };
    let control = SearchController::reserved(&AutolimitDelay::default(), &setup);
    let mut line = Line { control, now: Time::START };
    line.windows(&[0; 2 + MAX_DRAIN - 1]);
    let resting = |control: &SearchController| matches!(control.mode, Mode::Rest { .. });
    assert!(resting(&line.control), "the client does not follow: {:?}", line.control.mode);
    line.windows(&[0]);
    assert_eq!(line.control.mode, Mode::Search);
    assert!(line.control.reserve.is_some_and(|reserve| reserve.guess().is_finite()));
}

#[test]
fn a_low_limit_is_not_blamed_for_a_download_that_swings() {
    let tried = SEARCH * FIRST;
    let start = || {
        let mut line = Line::with_trial(false, None);
        (line.control.good, line.control.limit) = (FIRST, tried);
        line
    };
    let mut swings = start();
    swings.windows(&[300; SETTLE + 2]);
    assert_eq!((swings.control.good, swings.control.found), (tried, false));
    // A line that it fills has a longer queue.
    let mut slow = start();
    slow.windows(&[550]);
    assert_eq!((slow.control.good, slow.control.bad), (FIRST, Some(tried)));
}

#[test]
fn steps_grow_only_above_what_did_harm() {
    let whole = [200; SETTLE + CYCLE];
    let mut below = Line::with_trial(true, Some(2.0 * TRIED));
    below.control.successes = 1;
    below.windows(&whole);
    assert_eq!(below.control.successes, 0);
    assert!((below.control.limit - libm::sqrt(2.0) * TRIED).abs() < 1.0);

    let mut above = Line::with_trial(true, None);
    above.control.successes = 1;
    above.windows(&whole);
    assert_eq!(above.control.limit, STEP * TRIED);
}
