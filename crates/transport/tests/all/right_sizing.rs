//! The receive window beside that of a kernel.

use crate::pipe::{Pair, Path};
use flashcrowd_base::{Rate, Span};
use flashcrowd_transport::tcp::{Config, RightSizing, profiles};

/// Acknowledgements, the widest window and the congestion window at the end of 400 kB over 10 Mbit/s and 20 ms.
fn transfer(config: &Config) -> (usize, u32, u64) {
    let line = Rate::from_bps(10_000_000);
    let path = || Path::over_line(Span::from_millis(10), 1, line, Span::MAX);
    let mut pair = Pair::new(config, config, [path(), path()]);
    pair.log = Some(Vec::new());
    pair.establish();
    let mut left = 400_000;
    while pair.read[1] < 400_000 {
        let now = pair.now;
        left -= pair.end(0).write(now, left);
        pair.flush(0);
        assert!(pair.step());
    }
    let log = pair.log.take().unwrap_or_default();
    let answers = log.iter().filter(|(_, who, _)| *who == 1);
    let widest = answers.clone().map(|(_, _, segment)| segment.window).max();
    (answers.count(), widest.unwrap_or_default(), pair.end(0).stats().cwnd)
}

fn is_about(found: f64, kernel: f64) -> bool {
    (found / kernel - 1.0).abs() < 0.12
}

/// Linux 6.18, the same transfer between two network namespaces (trace point tcp:tcp_rcvbuf_grow,
/// sock_diag): the window grows once, by the second round trip, to 170 kB. Each segment with which it
/// grows is acknowledged by itself, and such a train of acknowledgements ends slow start at 30 segments.
#[test]
fn a_receiver_makes_room_as_a_kernel_does() {
    let (acknowledgements, window, cwnd) = transfer(&profiles::linux_6());
    assert!(is_about(acknowledgements as f64, 179.0), "{acknowledgements} acknowledgements");
    assert!(is_about(f64::from(window), 169_984.0), "a window of {window} B");
    assert!(is_about(cwnd as f64, 60_816.0), "a congestion window of {cwnd} B");
}

/// Without a margin the window follows what is read; up to Linux 6.15 it was 16 segments wider, and
/// wider again where the application reads more.
#[test]
fn older_kernels_left_a_margin() {
    let mut config = profiles::linux_6();
    let (_, window, _) = transfer(&config);
    config.right_sizing = RightSizing::Linux2_6;
    let (_, wider, _) = transfer(&config);
    assert!(wider >= window + 16 * 1448, "{window} and {wider} B");
}
