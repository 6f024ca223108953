use super::bytes_in;
use flashcrowd_base::{Span, Time};

/// How much more than the bandwidth arrives at once, where acknowledgements come in bursts: bytes
/// acknowledged beyond what the rate promises since the burst began.
#[derive(Clone, Debug)]
pub(super) struct Epoch {
    begun: Time,
    acked: u64,
}

/// A clump that is this long is no clump (Linux: `bbr_ack_epoch_acked_reset_thresh`, in packets).
const MAX_PACKETS: u64 = 1 << 20;

impl Epoch {
    pub(super) fn new(now: Time) -> Epoch {
        Epoch { begun: now, acked: 0 }
    }

    /// Bytes in excess after an acknowledgement of `acked` at this `rate`.
    pub(super) fn update(&mut self, now: Time, rate: u64, acked: u64, packet: u64) -> u64 {
        let mut expected = bytes_in(rate, now.since(self.begun));
        if self.acked <= expected || self.acked + acked >= MAX_PACKETS * packet {
            *self = Epoch::new(now);
            expected = 0;
        }
        self.acked += acked;
        self.acked.saturating_sub(expected)
    }
}

/// The greatest excess of the last five to ten rounds (Linux: `extra_acked`).
#[derive(Clone, Debug)]
pub(super) struct Excess {
    epoch: Epoch,
    /// Of this window of five rounds, and of the one before.
    slots: [u64; 2],
    rounds: u32,
}

/// Rounds of a slot (Linux: `bbr_extra_acked_win_rtts`).
const SLOT_ROUNDS: u32 = 5;
/// The window grows by what the bandwidth delivers in this time at most (`bbr_extra_acked_max_us`).
const LONGEST: Span = Span::from_millis(100);

impl Excess {
    pub(super) fn new(now: Time) -> Excess {
        Excess { epoch: Epoch::new(now), slots: [0; 2], rounds: 0 }
    }

    pub(super) fn restart(&mut self, now: Time) {
        self.epoch = Epoch::new(now);
    }

    /// An acknowledgement of `acked` bytes arrived; `new_round`: it began a round.
    pub(super) fn update(
        &mut self,
        now: Time,
        rate: u64,
        acked: u64,
        packet: u64,
        window: u64,
        new_round: bool,
    ) {
        if new_round {
            self.rounds = (self.rounds + 1).min(31);
            if self.rounds >= SLOT_ROUNDS {
                self.rounds = 0;
                self.slots = [0, self.slots[0]];
            }
        }
        let excess = self.epoch.update(now, rate, acked, packet).min(window);
        self.slots[0] = self.slots[0].max(excess);
    }

    /// The bytes by which the window is larger.
    pub(super) fn allowance(&self, rate: u64) -> u64 {
        self.slots[0].max(self.slots[1]).min(bytes_in(rate, LONGEST))
    }
}
