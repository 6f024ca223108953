//! Sending at a rate, for both transports (Linux: `sk_pacing_rate`, as `sch_fq` and TCP itself hold it).

use crate::congestion::{AnyController, Controller, Kind};
use crate::rate::{RateSampler, as_rate, per_second};
use flashcrowd_base::{Rate, Span, Time};
use serde::{Deserialize, Serialize};

/// Whether a sender whose controller does not pace spreads its packets over the round trip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Pacing {
    /// As acknowledgements come. Controllers with a rate of their own pace all the same.
    #[default]
    Off,
    /// At twice the window per round trip in slow start and 1.2 times later, as Linux does behind `fq`.
    Fq,
}

/// Packets of a connection that are sent without pacing (Linux: `tcp_update_skb_after_send`).
const UNPACED_PACKETS: u32 = 10;
/// Per cent of the window per round trip, in slow start and in congestion avoidance (Linux:
/// `tcp_pacing_ss_ratio`, `tcp_pacing_ca_ratio`).
const SLOW_START_RATIO: u64 = 200;
const AVOIDANCE_RATIO: u64 = 120;
/// A super-segment is no longer than what leaves in this time (Linux: `sk_pacing_shift` 10).
const QUANTUM: Span = Span::from_nanos(1_000_000_000 / 1024);

/// When the next packet may be sent.
#[derive(Clone, Debug)]
pub(crate) struct Pacer {
    next_at: Time,
    /// When the packet that is held back may be sent; never if none is.
    wake_at: Time,
    sent: u32,
}

impl Pacer {
    fn new() -> Pacer {
        Pacer { next_at: Time::START, wake_at: Time::NEVER, sent: 0 }
    }

    /// Whether a packet may be sent now.
    pub(crate) fn is_free(&self, now: Time) -> bool {
        now >= self.next_at
    }

    /// A packet is held back, or none is.
    pub(crate) fn wait(&mut self, waits: bool) {
        self.wake_at = if waits { self.next_at } else { Time::NEVER };
    }

    /// When the packet that is held back may be sent.
    pub(crate) fn wake_at(&self) -> Time {
        self.wake_at
    }

    /// `bytes` of payload were sent in `packets` packets. What timers were late by is made up for, up
    /// to half of the distance to the next packet (Linux). What was sent ahead of its time, as retransmissions may
    /// be, adds no debt.
    fn on_sent(&mut self, now: Time, bytes: u64, packets: u32, rate: Option<Rate>) {
        let late = now.since(self.next_at);
        self.sent = self.sent.saturating_add(packets);
        self.next_at = now;
        if self.sent >= UNPACED_PACKETS
            && let Some(rate) = rate
        {
            let spacing = rate.transmission(bytes);
            self.next_at = now + spacing.saturating_sub(late.min(spacing / 2));
        }
    }
}

/// Pacer and rate sampler of a connection whose controller needs either.
#[derive(Clone, Debug)]
pub(crate) struct Paced {
    pub(crate) pacer: Pacer,
    /// For controllers that need it.
    pub(crate) sampler: Option<RateSampler>,
    fq: bool,
    /// uTP: a controller that governs recovery is in one.
    pub(crate) recovering: bool,
}

impl Paced {
    /// `None` for a connection that neither paces nor samples.
    pub(crate) fn new(kind: Kind, pacing: Pacing, now: Time) -> Option<Box<Paced>> {
        let sampler = kind.needs_rates().then(|| RateSampler::new(now));
        let fq = pacing == Pacing::Fq;
        (fq || sampler.is_some())
            .then(|| Box::new(Paced { pacer: Pacer::new(), sampler, fq, recovering: false }))
    }

    /// The rate in force: the controller's own, or that which follows from its window.
    pub(crate) fn rate(
        &self,
        controller: &AnyController,
        srtt: Span,
        outstanding: u64,
    ) -> Option<Rate> {
        controller.pacing_rate().or_else(|| {
            let known = self.fq && !srtt.is_zero();
            known.then(|| fq_rate(controller, srtt, outstanding)).flatten()
        })
    }

    /// New data was sent, or data retransmitted.
    pub(crate) fn on_sent(
        &mut self,
        now: Time,
        bytes: u64,
        packets: u32,
        controller: &AnyController,
        srtt: Span,
        outstanding: u64,
    ) {
        let rate = self.rate(controller, srtt, outstanding);
        self.pacer.on_sent(now, bytes, packets, rate);
    }

    /// The longest super-segment at the rate in force.
    pub(crate) fn quantum(&self, controller: &AnyController, srtt: Span, outstanding: u64) -> u64 {
        self.rate(controller, srtt, outstanding).map_or(u64::MAX, quantum_bytes)
    }
}

/// The bytes that one packet may carry at a rate (Linux: `sk_pacing_shift`).
pub(crate) fn quantum_bytes(rate: Rate) -> u64 {
    (rate.bytes_per_second() * QUANTUM.seconds()) as u64
}

/// Linux: `tcp_update_pacing_rate`. Slow start is paced faster only below half the threshold.
pub(crate) fn fq_rate(controller: &AnyController, srtt: Span, outstanding: u64) -> Option<Rate> {
    let window = controller.window();
    let ratio =
        if window < controller.threshold() / 2 { SLOW_START_RATIO } else { AVOIDANCE_RATIO };
    as_rate(per_second(window.max(outstanding), srtt).saturating_mul(ratio) / 100)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::Kind;
    use crate::congestion::tests::{ack, loss, params};

    fn micros(now: u64) -> Time {
        Time::START + Span::from_micros(now)
    }

    #[test]
    fn packets_leave_at_the_rate_after_the_first_ten() {
        let mut pacer = Pacer::new();
        let rate = Rate::from_bps(8_000_000);
        for _ in 0..9 {
            assert!(pacer.is_free(micros(0)));
            pacer.on_sent(micros(0), 1000, 1, rate);
        }
        pacer.on_sent(micros(0), 1000, 1, rate);
        assert!(!pacer.is_free(micros(999)) && pacer.is_free(micros(1000)));
        // 200 us late: the next one follows after 800 us.
        pacer.on_sent(micros(1200), 1000, 1, rate);
        assert!(!pacer.is_free(micros(1999)) && pacer.is_free(micros(2000)));
        // After a long silence half of the distance at most is made up for.
        pacer.on_sent(micros(900_000), 1000, 1, rate);
        assert!(!pacer.is_free(micros(900_499)) && pacer.is_free(micros(900_500)));
    }

    #[test]
    fn only_what_waits_is_woken() {
        let mut pacer = Pacer::new();
        pacer.on_sent(micros(0), 1000, 10, Rate::from_bps(8_000_000));
        assert_eq!(pacer.wake_at(), Time::NEVER);
        pacer.wait(true);
        assert_eq!(pacer.wake_at(), micros(1000));
        pacer.wait(false);
        assert_eq!(pacer.wake_at(), Time::NEVER);
    }

    /// Linux: tcp_update_pacing_rate. Twice the window in a round trip below half of the threshold, then 1.2 times.
    #[test]
    fn half_of_the_threshold_is_paced_slower() {
        let mut controller = AnyController::new(Kind::NewReno, params(20));
        controller.on_timeout(&loss(20_000), false);
        assert_eq!((controller.window(), controller.threshold()), (1000, 10_000));
        let rtt = Span::from_millis(100);
        for (window, percent) in [(2000, 200), (3000, 200), (4000, 200), (5000, 120), (6000, 120)] {
            controller.on_ack(&ack(1000));
            assert_eq!(controller.window(), window);
            let expected = Rate::from_bps(window * 8 * 10 * percent / 100);
            assert_eq!(fq_rate(&controller, rtt, 0), expected);
        }
    }
}
