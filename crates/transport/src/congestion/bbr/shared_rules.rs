//! The common rules of both versions, as tests of either.

use crate::congestion::tests::loss;
use crate::congestion::{Controller, Loss};

/// The window of before a recovery comes back, and the larger one stays known while a window is small on purpose.
/// `window` is that of the controller, `probe_round_trip` makes it small on purpose.
pub(super) fn a_recovery_gives_the_window_of_before_back<B: Controller>(
    mut bbr: B,
    window: impl Fn(&mut B) -> &mut u64,
    probe_round_trip: impl Fn(&mut B),
) {
    *window(&mut bbr) = 50_000;
    bbr.on_loss(&loss(50_000));
    *window(&mut bbr) = 20_000;
    bbr.on_timeout(&Loss { in_flight: 3000, ..loss(20_000) }, true);
    assert_eq!(bbr.window(), 4000, "a packet more than what is in flight");
    bbr.on_recovered(u64::MAX);
    assert_eq!(bbr.window(), 50_000);
    // The next one begins at a lower window, to which it goes back.
    *window(&mut bbr) = 30_000;
    bbr.on_loss(&loss(30_000));
    *window(&mut bbr) = 5000;
    bbr.on_recovered(u64::MAX);
    assert_eq!(bbr.window(), 30_000);
    probe_round_trip(&mut bbr);
    *window(&mut bbr) = 4000;
    bbr.on_loss(&loss(4000));
    bbr.on_recovered(u64::MAX);
    assert_eq!(bbr.window(), 30_000);
}

/// Rates of rounds, and after how many further ones the pipe is full. `full_after` takes the rates, whether each begins
/// a round, and whether the application limited them.
pub(super) fn three_rounds_without_a_quarter_more_are_a_full_pipe(
    full_after: impl Fn(&[u64], bool, bool) -> Option<usize>,
) {
    assert_eq!(full_after(&[1000; 9], true, false), Some(3));
    assert_eq!(full_after(&[1000, 1249, 1249, 1249], true, false), Some(3));
    // A quarter more restarts the count.
    assert_eq!(full_after(&[1000, 1000, 1000, 1250, 1250, 1250, 1250], true, false), Some(6));
    // Within a round nothing is counted, nor what the application limited.
    for (started, app_limited) in [(false, false), (true, true), (false, true)] {
        assert_eq!(full_after(&[1000; 9], started, app_limited), None);
    }
}
