//! Complete tables, with a reason for each value.

use super::Ledbat;
use flashcrowd_base::Span;

/// RFC 6817: the constants of section 2.5 at their limits; four samples and ten minutes as in
/// section 2.4.2. Slow start, which it allows, is off.
pub fn rfc_6817() -> Ledbat {
    Ledbat {
        target_ns: Span::from_millis(100),
        gain: 1.0,
        max_increase_bytes: 3000,
        base_history: 10,
        noise_filter: 4,
        min_window_packets: 2,
        min_window_bytes: 0,
        max_window_bytes: 1 << 30,
        allowed_increase_packets: 1,
        loss_factor: 0.5,
        loss_interval_ns: Span::ZERO,
        slow_start: false,
        slow_start_exit: 0.75,
        app_limited_ns: Span::from_secs(1),
        gain_divisor: 16,
        decrease: 1.0,
        slowdown_interval: 9,
    }
}

/// Fair LEDBAT: the decrease is a tenth of the window for a queue of the target, the target RFC 6817's. The paper could not
/// be read again; its rule and this value are from memory.
pub fn fair() -> Ledbat {
    Ledbat { decrease: 0.1, ..rfc_6817() }
}

/// draft-shalunov-ledbat-congestion-00 (March 2009) as Valenti's module for Linux and ns-2 has it
/// (2009), which testa2011 ran: 25 ms, the least of four samples, ten minutes, no slow start, one
/// segment at least, and nothing but need to bound the window.
pub fn draft() -> Ledbat {
    Ledbat {
        target_ns: Span::from_millis(25),
        min_window_packets: 1,
        allowed_increase_packets: 0,
        slow_start_exit: 1.0,
        ..rfc_6817()
    }
}

/// libutp as it has been since 2013: CCONTROL_TARGET 100 ms, MAX_CWND_INCREASE_BYTES_PER_RTT 3000,
/// CUR_DELAY_SIZE 3, DELAY_BASE_HISTORY 13, MIN_WINDOW_SIZE 10 bytes, a send buffer of 1 MiB,
/// half after a loss but not twice within MAX_WINDOW_DECAY, 100 ms; slow start until 0.9 of the
/// target; no growth if the window was last full more than a second ago.
pub fn libutp() -> Ledbat {
    Ledbat {
        base_history: 13,
        noise_filter: 3,
        min_window_packets: 0,
        min_window_bytes: 10,
        max_window_bytes: 1 << 20,
        allowed_increase_packets: 0,
        loss_interval_ns: Span::from_millis(100),
        slow_start: true,
        slow_start_exit: 0.9,
        ..rfc_6817()
    }
}

/// libutp at its first public commit (May 2010): no slow start, 0.78 of the window after a loss,
/// 300 ms until a window counts as unused.
pub fn libutp_2010() -> Ledbat {
    Ledbat {
        loss_factor: 0.78,
        slow_start: false,
        app_limited_ns: Span::from_millis(300),
        ..libutp()
    }
}

/// libtorrent 2 (settings utp_target_delay 100, utp_gain_factor 3000, utp_loss_multiplier 50,
/// utp_cwnd_reduce_timer 100): slow start until the target is reached, twenty minutes of history,
/// one packet at least.
pub fn libtorrent() -> Ledbat {
    Ledbat {
        base_history: 20,
        min_window_packets: 1,
        min_window_bytes: 0,
        max_window_bytes: 1 << 30,
        slow_start_exit: 1.0,
        ..libutp()
    }
}

/// draft-irtf-iccrg-ledbat-plus-plus: 60 ms, a gain of at least 1/16, C = 1, slow start until 3/4 of
/// the target, a slowdown after nine times what the last one took.
pub fn plus_plus() -> Ledbat {
    Ledbat {
        target_ns: Span::from_millis(60),
        allowed_increase_packets: 0,
        slow_start: true,
        ..rfc_6817()
    }
}

/// The closed client of December 2008 that rossi2010 calls alpha1: no bound of its window was seen.
/// Filter and loss factor are those of the first public code less what its history adds; its target
/// is unknown, and 100 ms is that code's.
pub fn alpha1() -> Ledbat {
    Ledbat { noise_filter: 1, ..libutp_2010() }
}

/// That of March 2009, alpha2: rossi2010 sees a window of 20 full packets, of which 30 000 bytes are
/// 100 of the first public code's basic packets. The target is the first draft's 25 ms, because the
/// paper sees starvation on slow lines (with 100 ms there is none); one sample, because it sees a fall
/// with jitter. Its base delay is the least of two minutes, as in the description that its
/// makers gave three months later (BEP 29, June 2009, "congestion control"); the code of 2010
/// has thirteen. The paper's figure 3a, where a longer way there does what a longer way back
/// does, agrees with the two.
pub fn alpha2() -> Ledbat {
    Ledbat {
        target_ns: Span::from_millis(25),
        base_history: 2,
        max_window_bytes: 30_000,
        ..alpha1()
    }
}

/// That of August 2009, beta1: rossi2010 sees 30 full packets (43 800 bytes of 1460). The target is
/// the first public code's 100 ms: with the draft's 25 ms four flows do not share evenly, as they do
/// in table 1. Not moved by jitter, so three samples.
pub fn beta1() -> Ledbat {
    Ledbat { max_window_bytes: 43_800, ..libutp_2010() }
}
