use super::base_delay::BaseDelay;
use super::filter::Filter;
use super::table::Ledbat;
use crate::congestion::{Ack, Build, Controller, Loss, Params};

/// LEDBAT by draft-shalunov-ledbat-congestion-00 (March 2009), as Valenti's module for Linux, which
/// also runs in ns-2, has it (TCP-LEDBAT, 2009): the module with which rossi2010's authors simulated
/// and testa2011 was done.
///
/// - The window is whole packets. Every acknowledgement adds the distance from the target to a
///   counter, at most the target ("never faster than TCP"); at `window * target` the window grows
///   by a packet and the counter restarts, below zero it shrinks by one. So growth is counted in
///   acknowledgements: one for two segments halves it.
/// - Nothing happens, in either direction, unless the window was the limit, nor while a loss is
///   repaired; delays are seen all the time.
/// - A loss halves the window, down to `min_window_packets`. The module's own least is 1. A timeout
///   leaves one packet.
/// - Without slow start, there is none after a timeout either.
///
/// Two things in the published code are not followed: a remainder taken for a quotient in the gain,
/// with which nothing would ever grow, and a window set to 1 by two acknowledgements within a
/// round trip.
#[derive(Clone, Debug)]
pub struct LedbatDraft00 {
    table: Ledbat,
    /// The window in packets.
    packets: u64,
    packet: u64,
    /// Microseconds off target, added up.
    counter: i64,
    slow_start: bool,
    /// Slow start ends here, in packets.
    threshold: u64,
    before: (u64, u64),
    /// Losses below this offset belong to a reduction that was made (RFC 6582, `recover`).
    recover: u64,
    min_window: u64,
    filter: Filter,
    base: BaseDelay,
}

impl LedbatDraft00 {
    /// A controller at its first window.
    pub fn new(table: Ledbat, params: Params) -> LedbatDraft00 {
        let packet = u64::from(params.mss);
        let mut draft = LedbatDraft00 {
            packets: params.initial_window / packet.max(1),
            packet,
            counter: 0,
            slow_start: table.slow_start,
            threshold: u64::MAX,
            before: (0, 0),
            recover: 0,
            min_window: params.min_window,
            filter: Filter::new(table.noise_filter),
            base: BaseDelay::new(table.base_history, params.now),
            table,
        };
        draft.set(draft.packets);
        draft
    }

    fn floor(&self) -> u64 {
        let bytes = self.min_window.max(u64::from(self.table.min_window_bytes));
        u64::from(self.table.min_window_packets).max(bytes.div_ceil(self.packet)).max(1)
    }

    fn set(&mut self, packets: u64) {
        self.packets = packets.min(self.table.max_window_bytes / self.packet).max(self.floor());
    }

    fn avoid(&mut self, queueing: u32) {
        let target = (self.table.target_ns.nanos() / 1000) as i64;
        let off_target = ((target - i64::from(queueing)) as f64 * self.table.gain) as i64;
        let counter = self.counter + off_target.min(target);
        if counter < 0 {
            let before = self.packets;
            self.set(self.packets - 1);
            // A packet less, and as far from the next as can be.
            self.counter =
                if self.packets < before { (self.packets as i64 - 1) * target } else { 0 };
        } else if counter >= self.packets as i64 * target {
            self.counter = 0;
            self.set(self.packets + 1);
        } else {
            self.counter = counter;
        }
    }
}

impl Build for LedbatDraft00 {
    const NEEDS_ONE_WAY_DELAY: bool = true;

    fn table() -> Option<Ledbat> {
        Some(super::draft())
    }

    fn build(params: Params) -> LedbatDraft00 {
        LedbatDraft00::new(params.checked_ledbat(), params)
    }
}

impl Controller for LedbatDraft00 {
    fn on_ack(&mut self, ack: &Ack) {
        if let Some(delay) = ack.one_way_delay {
            self.base.see(ack.now, delay);
            self.filter.push(ack.now, delay);
        }
        if ack.acked == 0 || !ack.may_grow || !ack.window_limited {
            return;
        }
        let Some(queueing) = self.filter.min_above(self.base.min()) else { return };
        if self.slow_start {
            let target = self.table.target_micros();
            if f64::from(queueing) > self.table.slow_start_exit * target {
                self.threshold = self.packets;
            }
            if self.packets < self.threshold {
                self.set(self.packets + 1);
                return;
            }
            self.slow_start = false;
        }
        self.avoid(queueing);
    }

    fn on_loss(&mut self, loss: &Loss) {
        if loss.offset < self.recover {
            return;
        }
        self.recover = loss.nxt;
        self.before = (self.packets, self.threshold);
        self.slow_start = false;
        self.counter = 0;
        let reduced = (self.packets as f64 * self.table.loss_factor) as u64;
        self.set(reduced.min(self.packets));
        self.threshold = self.packets;
    }

    fn on_recovered(&mut self, limit: u64) {
        self.packets = self.packets.min((limit / self.packet).max(1));
    }

    fn on_timeout(&mut self, loss: &Loss, again: bool) {
        if !again {
            self.on_loss(loss);
        }
        self.recover = loss.nxt;
        self.counter = 0;
        self.slow_start = self.table.slow_start;
        self.packets = 1;
    }

    fn on_undo(&mut self) {
        self.packets = self.packets.max(self.before.0);
        self.threshold = self.threshold.max(self.before.1);
    }

    fn on_decay(&mut self, window: u64) {
        self.set(self.packets.min(window / self.packet));
    }

    fn on_packet_size(&mut self, bytes: u32) {
        self.packet = u64::from(bytes);
    }

    #[inline]
    fn window(&self) -> u64 {
        self.packets * self.packet
    }

    #[inline]
    fn threshold(&self) -> u64 {
        let threshold = if self.slow_start { self.threshold } else { self.packets };
        threshold.saturating_mul(self.packet)
    }
}

#[cfg(test)]
mod tests {
    use super::super::flavours::draft;
    use super::*;
    use crate::congestion::tests::{ack, loss, params};

    fn module(packets: u64) -> LedbatDraft00 {
        let mut module = LedbatDraft00::new(Ledbat { noise_filter: 1, ..draft() }, params(packets));
        module.on_ack(&Ack { one_way_delay: Some(0), ..ack(0) });
        module
    }

    fn at(delay: u32) -> Ack {
        Ack { one_way_delay: Some(delay), ..ack(1000) }
    }

    /// Acknowledgements at this queueing delay until the window has moved.
    fn until_it_moves(module: &mut LedbatDraft00, delay: u32) -> u32 {
        let before = module.window();
        let mut acks = 0;
        while module.window() == before {
            module.on_ack(&at(delay));
            acks += 1;
            assert!(acks < 100_000, "it never moves");
        }
        acks
    }

    /// window * target over the distance from the target.
    #[test]
    fn a_packet_more_per_window_without_a_queue_and_slower_near_the_target() {
        let mut module = module(10);
        assert_eq!(until_it_moves(&mut module, 0), 10);
        assert_eq!(module.window(), 11_000);
        assert_eq!(until_it_moves(&mut module, 0), 11);
        assert_eq!(until_it_moves(&mut module, 12_500), 24, "half as fast");
        assert_eq!(until_it_moves(&mut module, 20_000), 65, "a fifth");
        // Above the target a packet less: the counter was at 0, then at its most.
        assert_eq!(until_it_moves(&mut module, 30_000), 1);
        assert_eq!(module.window(), 13_000);
        assert_eq!(until_it_moves(&mut module, 30_000), 61, "12 * 25 ms in steps of 5, and below");
        assert_eq!(module.window(), 12_000);
    }

    #[test]
    fn half_as_many_acknowledgements_are_half_the_growth() {
        let mut module = module(10);
        for _ in 0..5 {
            module.on_ack(&Ack { acked: 2000, ..at(0) });
        }
        assert_eq!(module.window(), 10_000);
    }

    #[test]
    fn one_packet_is_the_least_and_a_knob() {
        for min in [1, 2] {
            let table = Ledbat { noise_filter: 1, min_window_packets: min, ..draft() };
            let mut module = LedbatDraft00::new(table, params(5));
            module.on_ack(&Ack { one_way_delay: Some(0), ..ack(0) });
            for _ in 0..1000 {
                module.on_ack(&at(500_000));
            }
            assert_eq!(module.window(), u64::from(min) * 1000);
        }
    }

    #[test]
    fn it_moves_only_when_the_window_is_the_limit() {
        let mut module = module(10);
        for delay in [0, 500_000] {
            for _ in 0..100 {
                module.on_ack(&Ack { window_limited: false, ..at(delay) });
                module.on_ack(&Ack { may_grow: false, ..at(delay) });
            }
        }
        assert_eq!(module.window(), 10_000);
    }

    #[test]
    fn losses_halve_and_a_timeout_leaves_one_packet_without_slow_start() {
        let mut module = module(10);
        module.on_loss(&Loss { nxt: 10_000, ..loss(10_000) });
        module.on_loss(&Loss { offset: 5000, nxt: 12_000, ..loss(10_000) });
        assert_eq!((module.window(), module.threshold()), (5000, 5000));
        module.on_undo();
        assert_eq!(module.window(), 10_000);
        module.on_timeout(&Loss { offset: 20_000, nxt: 30_000, ..loss(10_000) }, false);
        assert_eq!((module.window(), module.threshold()), (1000, 1000));
        assert_eq!(until_it_moves(&mut module, 0), 1);
        assert_eq!(until_it_moves(&mut module, 0), 2);
    }

    #[test]
    fn an_unused_window_comes_down_in_whole_packets() {
        let mut module = module(10);
        module.on_decay(4999);
        assert_eq!(module.window(), 4000);
        module.on_decay(9000);
        assert_eq!(module.window(), 4000, "and never goes up");
    }

    /// The first timeout of a window halves the threshold of the slow start that follows; the next ones do
    /// not, and what the first one changed is what can be taken back.
    #[test]
    fn a_timeout_counts_once_for_a_window() {
        let table = Ledbat { slow_start: true, ..draft() };
        let mut module = LedbatDraft00::new(table, params(20));
        for again in [false, true, true] {
            module.on_timeout(&Loss { nxt: 20_000, ..loss(20_000) }, again);
            assert_eq!((module.window(), module.threshold()), (1000, 10_000));
        }
        module.on_undo();
        assert_eq!(module.window(), 20_000);
    }

    /// With slow start, which the module has as a knob, a queue of the table's share of the target ends it.
    #[test]
    fn a_queue_ends_slow_start() {
        let table = Ledbat { noise_filter: 1, slow_start: true, slow_start_exit: 0.5, ..draft() };
        let mut module = LedbatDraft00::new(table, params(10));
        module.on_ack(&Ack { one_way_delay: Some(0), ..ack(0) });
        for _ in 0..5 {
            module.on_ack(&at(12_000));
        }
        assert_eq!(module.window(), 15_000, "a packet an acknowledgement");
        for _ in 0..5 {
            module.on_ack(&at(13_000));
        }
        assert_eq!((module.window(), module.threshold()), (15_000, 15_000));
        module.on_ack(&at(0));
        assert_eq!(module.window(), 15_000, "and it does not come back");
    }
}
