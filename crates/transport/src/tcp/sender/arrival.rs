use super::{DUPLICATES, NO_TLP, Sender, Timer};
use crate::congestion::{Ack, Controller};
use crate::tcp::config::{Config, Reduction};
use crate::tcp::delivery::Delivery;
use crate::tcp::recovery::Phase;
use crate::tcp::segment::{Flags, Segment};
use crate::tcp::timestamp::{clock, micros_since};
use flashcrowd_base::{Span, Time};

/// Linux lets reordering raise the number of duplicates that signal a loss at most to this.
const MAX_REORDERING: u64 = 300;

/// Acknowledgements, and what the controller is passed of them.
impl Sender {
    /// A segment with ACK arrived. `false` if it acknowledges data that was never sent: then it is
    /// ignored (RFC 9293, section 3.10.7.4; as Linux, without an answer). `ecn`: it may carry ECN feedback.
    #[inline]
    pub(in crate::tcp) fn on_ack(
        &mut self,
        config: &Config,
        now: Time,
        segment: &Segment,
        ecn: bool,
    ) -> bool {
        let ack = segment.ack;
        if ack > self.snd_nxt {
            return false;
        }
        let advanced = ack > self.snd_una;
        let selects = self.sack && segment.has_sack();
        let window_changed = self.update_window(segment, advanced);
        let duplicate = !advanced
            && ack == self.snd_una
            && segment.len == 0
            && (!window_changed || config.reduction == Reduction::Ns2)
            && !segment.flags.contains(Flags::FIN)
            && self.outstanding() > 0;
        // The segment acknowledges nothing new, as most that carry data the other way: the cache lines of
        // the rest of the sender need not be fetched.
        let marks = ecn && self.has_ecn_feedback(segment) && ack >= self.snd_una;
        if !(advanced || selects || duplicate || self.disturbed || marks) {
            self.leave_window_probe();
            return true;
        }
        let prior_in_flight = self.in_flight();
        let certain = now.nanos().saturating_sub(self.rtt.min().nanos());
        let mut delivery = Delivery {
            ambiguous_after: Time::from_nanos(certain),
            echo: self.timestamps.then_some(segment.echo),
            ..Delivery::default()
        };
        let before = self.snd_una;
        if advanced {
            self.snd_una = ack;
            self.board.acknowledge(ack, &mut delivery);
            self.retries = 0;
            if self.timer == Timer::WindowProbe || !config.karn {
                self.backoff = 0;
            }
        }
        if selects {
            self.disturbed = true;
            delivery.disproved = config.dsack && self.see_duplicate(segment, before);
            self.board.select(segment.sack_ranges(), &mut delivery);
        }
        let sample = self.take_samples(config, now, segment, advanced, &delivery);
        if self.tlp_end_seq != NO_TLP {
            self.process_tlp_ack(now, ack, advanced || delivery.sacked || segment.len > 0);
        }
        let was_recovering = self.is_reducing();
        // Linux: tcp_ack_is_dubious.
        let dubious = self.phase != Phase::Open
            || !self.board.is_clean()
            || self.duplicates > 0
            || duplicate
            || delivery.disproved
            || delivery.reordered.is_some();
        if dubious {
            self.disturbed = true;
            self.respond(config, now, segment, before, duplicate, &mut delivery);
        }
        if marks {
            self.on_marks(config, now, segment, &delivery);
        }
        if delivery.bytes > 0 {
            let may_grow = self.may_grow(config, was_recovering, advanced);
            self.grow(now, segment, advanced, prior_in_flight, sample, &delivery, may_grow);
        }
        if advanced || delivery.sacked {
            self.set_timer_after_ack(config, now);
        } else {
            self.leave_window_probe();
        }
        true
    }

    /// A window that has opened needs no probe.
    #[inline]
    fn leave_window_probe(&mut self) {
        if self.timer == Timer::WindowProbe && self.peer_window() > 0 {
            self.timer_at = Time::NEVER;
            self.backoff = 0;
        }
    }

    #[inline]
    pub(super) fn update_window(&mut self, segment: &Segment, advanced: bool) -> bool {
        if segment.ack < self.snd_una {
            return false;
        }
        let edge = segment.ack + u64::from(segment.window);
        if advanced || segment.seq > self.snd_wl1 || edge > self.snd_wnd_end {
            let changed = edge != self.snd_wnd_end;
            self.snd_wnd_end = edge;
            self.snd_wl1 = segment.seq;
            self.largest_window = self.largest_window.max(segment.window);
            return changed;
        }
        false
    }

    /// Round-trip samples, the newest delivered segment, and reordering.
    #[inline]
    pub(super) fn take_samples(
        &mut self,
        config: &Config,
        now: Time,
        segment: &Segment,
        advanced: bool,
        delivery: &Delivery,
    ) -> Option<Span> {
        let acked = if delivery.retransmitted { None } else { delivery.acked_sent };
        let latest = delivery.sacked_sent.or(acked).map(|(_, newest)| now.since(newest));
        let mut smoothed = acked.or(delivery.sacked_sent).map(|(oldest, _)| now.since(oldest));
        if smoothed.is_none() && advanced && self.timestamps {
            // The echoed timestamp resolves Karn's ambiguity (RFC 7323).
            smoothed = micros_since(segment.echo, now).map(|it| Span::from_micros(u64::from(it)));
        }
        if let Some(sample) = latest {
            self.rtt.sample_min(now, sample);
        }
        if !self.timestamps && !self.rtt.is_timed(config, self.snd_una) {
            smoothed = None;
        }
        if let Some(sample) = smoothed {
            self.rtt.time_from(config, self.snd_nxt);
            self.rtt.sample(config, sample, self.snd_una, self.snd_nxt);
            // Karn's algorithm: the timeout stays doubled until something that was sent once is measured
            // (RFC 6298, section 5; Linux: tcp_ack_update_rtt).
            self.backoff = 0;
        }
        if config.rack
            && let Some(newest) = delivery.newest
        {
            self.rack_newest = self.rack_newest.max(newest);
            // Linux: tcp_rack_advance, where the last segment passed to it gives the round trip.
            let last = delivery.last_acked.or(delivery.last_sacked.map(|(_, sent_at)| sent_at));
            self.rack_rtt = last.map_or(self.rack_rtt, |sent_at| now.since(sent_at));
        }
        if let Some(seq) = delivery.reordered {
            self.note_reordering(seq);
        }
        latest.or(smoothed)
    }

    /// Bytes at `seq` arrived after something above them (Linux: tcp_check_sack_reordering).
    #[cold]
    pub(super) fn note_reordering(&mut self, seq: u64) {
        self.reordering_seen = true;
        let distance = self.board.highest_sacked().saturating_sub(seq);
        let segments = distance.div_ceil(u64::from(self.mss)).min(MAX_REORDERING);
        self.reordering = self.reordering.max(segments as u16);
    }

    /// Whether this acknowledgement may open the window. While reordering is usual, SACKs alone
    /// may (Linux: tcp_may_raise_cwnd).
    #[inline]
    pub(super) fn may_grow(&self, config: &Config, was_recovering: bool, advanced: bool) -> bool {
        let repaired = was_recovering && config.reduction != Reduction::Prr;
        !self.is_reducing() && !repaired && (advanced || self.reordering() > DUPLICATES)
    }

    #[inline]
    #[expect(clippy::too_many_arguments, reason = "what an acknowledgement tells, once")]
    pub(super) fn grow(
        &mut self,
        now: Time,
        segment: &Segment,
        advanced: bool,
        prior_in_flight: u64,
        rtt: Option<Span>,
        delivery: &Delivery,
        may_grow: bool,
    ) {
        let in_slow_start = self.controller.window() < self.controller.threshold();
        let rate = if self.paced.is_some() { self.sample_rate(now, delivery) } else { None };
        let window_limited = self.is_cwnd_limited
            || (in_slow_start && self.controller.window() < 2 * u64::from(self.max_outstanding));
        self.controller.on_ack(&Ack {
            now,
            acked: delivery.bytes,
            uncounted: 0,
            rtt,
            // An acknowledgement that does not advance echoes what came before the gap (RFC 7323).
            one_way_delay: (self.timestamps && advanced)
                .then(|| segment.timestamp.wrapping_sub(segment.echo)),
            opposite_delay: self.timestamps.then(|| clock(now).wrapping_sub(segment.timestamp)),
            in_flight: prior_in_flight,
            window_limited,
            limited_at: if window_limited { now } else { Time::START },
            may_grow,
            srtt: self.rtt.smoothed(),
            min_rtt: self.rtt.min(),
            una: self.snd_una,
            nxt: self.snd_nxt,
            rate,
        });
        if rate.is_some() {
            self.after_sample();
        }
        let window = u32::try_from(self.controller.window()).unwrap_or(u32::MAX);
        self.largest_cwnd = self.largest_cwnd.max(window);
    }
}
