use super::super::config::{Config, IdleTimer, PacketSize, RttEstimator, TimerRestart};
use super::super::packet::{Packet, PacketKind};
use super::super::sack::Sack;
use super::super::send_queue::Fate;
use super::super::sequence;
use super::Sender;
use crate::congestion::{Ack, Controller, Loss};
use flashcrowd_base::{Span, Time};

/// Duplicate ACKs after which the path MTU probe counts as too large.
const PROBE_DUPLICATES: u32 = 3;
/// "No sample yet", as old implementations sent it by mistake.
const UNINITIALISED: u32 = 0x7fff_ffff;

impl Sender {
    /// Whether the other end may have sent this acknowledgement number: neither unsent nor too old.
    #[inline]
    pub(in super::super) fn is_plausible(&self, config: &Config, ack_nr: u16) -> bool {
        let ack = sequence::unwrap(self.send_queue.first(), ack_nr);
        ack + 1 + u64::from(config.stale_acks) >= self.send_queue.first()
            && ack < self.send_queue.next()
    }

    /// A plausible packet arrived. `opposite_delay` is what it took to come here.
    #[inline]
    pub(in super::super) fn on_packet(
        &mut self,
        config: &Config,
        now: Time,
        packet: &Packet,
        opposite_delay: Option<u32>,
    ) {
        if now >= self.idle_at {
            self.catch_up(config, now);
        }
        let first = self.send_queue.first();
        let ack = sequence::unwrap(first, packet.ack_nr);
        self.count_duplicates(config, now, packet, ack);
        let in_flight = self.send_queue.in_flight;
        let mut delivery = Delivery { bytes: 0, uncounted: 0, rtt: None, any: false, newest: None };
        let mut seq = first;
        while seq <= ack {
            self.deliver(config, now, seq, &mut delivery);
            seq += 1;
        }
        let masked = !packet.sack.is_empty() && config.loss_detection.sacked_after > 0;
        if masked {
            if config.masked_bytes_only {
                delivery.uncounted = delivery.bytes;
            }
            // Bits of the last mask for the same gap have been counted.
            let known = if self.masked.0 == ack { self.masked.1 } else { Sack::NONE };
            for index in packet.sack.beyond(&known) {
                self.deliver(config, now, ack + 2 + index as u64, &mut delivery);
            }
            self.masked = (ack, packet.sack);
        }
        if delivery.any {
            self.send_queue.trim();
            self.snd_una = self.send_queue.front().map_or(self.snd_nxt, |packet| packet.offset);
        }
        let sample = packet.timestamp_difference;
        let one_way_delay = (sample != 0 && sample != UNINITIALISED).then_some(sample);
        if let Some(delay) = one_way_delay {
            let (min, _) = self.delays.unwrap_or((delay, delay));
            let lower = (delay.wrapping_sub(min) as i32) < 0;
            self.delays = Some((if lower { delay } else { min }, delay));
        }
        if delivery.bytes > 0 || (config.ledbat.is_some() && one_way_delay.is_some()) {
            self.tell(config, now, in_flight, &delivery, one_way_delay, opposite_delay);
        }
        self.find_losses(config, now, packet, ack, masked);
        if self.peer_window.advertised(config, &self.rtt, now, packet, ack) {
            // The other end is alive and has no room: no timeout counts (RFC 9293, 3.8.6.1).
            self.retries = 0;
        }
        if delivery.any || config.timer_restart == TimerRestart::AnyPacket {
            if !config.keep_backoff || delivery.rtt.is_some() {
                self.timeouts = 0;
            }
            self.retries = 0;
            if !self.send_queue.is_empty() || config.idle_timer == IdleTimer::BackingOff {
                self.arm(config, now);
            } else {
                self.rto_at = Time::NEVER;
                if config.idle_timer == IdleTimer::Steady {
                    self.idle_at = config.examined(now + self.rtt.timeout(config, 0));
                }
            }
        }
    }

    /// Packet `seq` is acknowledged.
    #[inline]
    fn deliver(&mut self, config: &Config, now: Time, seq: u64, delivery: &mut Delivery) {
        let Some(packet) = self.send_queue.deliver(seq) else { return };
        delivery.any = true;
        delivery.bytes += u64::from(packet.len);
        delivery.newest = delivery.newest.max(Some((packet.sent_at, seq)));
        let sent_once = packet.transmissions == 1;
        if sent_once || config.rtt_estimator == RttEstimator::SlidingAverage {
            let sample = now.since(packet.sent_at);
            self.rtt.sample(config, sample, sent_once);
            delivery.rtt = Some(delivery.rtt.map_or(sample, |min| min.min(sample)));
        }
        if self.mtu_search.probe() == Some(seq) {
            self.mtu_search.on_delivered(&config.path_mtu, now, seq);
            self.resize(config);
        }
    }

    /// Passes the acknowledgement to the congestion controller.
    #[inline]
    fn tell(
        &mut self,
        config: &Config,
        now: Time,
        in_flight: u64,
        delivery: &Delivery,
        one_way_delay: Option<u32>,
        opposite_delay: Option<u32>,
    ) {
        let rate = if self.paced.is_some() {
            self.sample_rate(now, delivery.bytes, delivery.newest)
        } else {
            None
        };
        let srtt = self.rtt.smoothed();
        if self.blocked {
            self.limited_at = now;
        }
        self.controller.on_ack(&Ack {
            now,
            acked: delivery.bytes - delivery.uncounted,
            uncounted: delivery.uncounted,
            rtt: delivery.rtt,
            one_way_delay,
            opposite_delay,
            in_flight,
            window_limited: self.limited_at + srtt >= now,
            limited_at: self.limited_at,
            // Controllers that go by delay go on while a loss is repaired.
            may_grow: config.ledbat.is_some() || self.send_queue.first() >= self.recover,
            srtt,
            min_rtt: self.rtt.min(),
            una: self.snd_una,
            nxt: self.snd_nxt,
            rate,
        });
        if rate.is_some() {
            self.after_sample();
        }
    }

    #[inline]
    fn count_duplicates(&mut self, config: &Config, now: Time, packet: &Packet, ack: u64) {
        let (first, detection) = (self.send_queue.first(), &config.loss_detection);
        let repeats = packet.kind == PacketKind::State
            && ack + 1 == first
            && !self.send_queue.is_empty()
            && (detection.any_window || u64::from(packet.window) <= self.peer_window.bytes());
        if !repeats {
            if ack >= first || (detection.in_a_row && packet.kind != PacketKind::State) {
                self.duplicates = 0;
            }
            return;
        }
        self.duplicates += 1;
        if self.duplicates == PROBE_DUPLICATES
            && let Some(probe) = self.mtu_search.probe()
        {
            if probe == first {
                self.lose_probe(config, now);
                self.send_queue.retransmit_now(first);
                self.resend_from = self.resend_from.max(first + 1);
            } else if !config.path_mtu.endless {
                self.mtu_search.forget_probe();
            }
        }
    }

    /// The probe of the path MTU was too large.
    pub(super) fn lose_probe(&mut self, config: &Config, now: Time) {
        self.counters.probes_lost += 1;
        self.mtu_search.on_too_large(&config.path_mtu, now);
        self.resize(config);
    }

    /// Loss detection: a packet that enough later ones have overtaken is lost, and retransmitted once.
    #[inline]
    fn find_losses(&mut self, config: &Config, now: Time, packet: &Packet, ack: u64, masked: bool) {
        let detection = &config.loss_detection;
        let first = self.send_queue.first();
        let mut below = first;
        if masked {
            below = self.overtaken(packet, ack, detection.sacked_after);
        }
        if detection.duplicate_acks > 0 && self.duplicates == detection.duplicate_acks {
            below = below.max(first + 1);
        }
        let mut seq = first.max(self.resend_from);
        if seq < below {
            let mut resent = 0;
            let mut worst = None;
            while seq < below && resent < detection.resends_per_ack {
                if self.send_queue.get(seq).is_some_and(|packet| packet.fate != Fate::Delivered) {
                    resent += 1;
                    if self.paced.is_some() {
                        self.tell_loss(now, seq);
                    }
                    self.send_queue.retransmit_now(seq);
                    if self.mtu_search.probe() == Some(seq) {
                        // libtorrent (resend_packet) asks only whether the oldest is the probe.
                        let endless = config.path_mtu.endless && !self.mtu_search.pads();
                        if !endless || seq == first {
                            self.lose_probe(config, now);
                        }
                    } else {
                        worst = worst.or(Some(seq));
                    }
                }
                seq += 1;
            }
            self.resend_from = seq;
            if let Some(seq) = worst {
                self.cut(config, now, seq);
            }
        }
    }

    /// The number before which everything has been overtaken by at least `count` packets that the
    /// mask names.
    fn overtaken(&self, packet: &Packet, ack: u64, count: u32) -> u64 {
        let first = self.send_queue.first();
        let mut left = count;
        for (position, &byte) in packet.sack.as_bytes().iter().enumerate().rev() {
            if byte == 0 {
                continue;
            }
            for bit in (0..8).rev().filter(|bit| byte & (1 << bit) != 0) {
                let seq = ack + 2 + 8 * position as u64 + bit;
                if seq < self.send_queue.next() && seq >= first {
                    left -= 1;
                    if left == 0 {
                        return seq;
                    }
                }
            }
        }
        first
    }

    /// The window is cut for the loss of packet `seq`.
    fn cut(&mut self, config: &Config, now: Time, seq: u64) {
        // Controllers of the LEDBAT family know how often they reduce; the others do it once for
        // a window.
        if config.ledbat.is_none() {
            if seq < self.recover {
                return;
            }
            self.recover = self.send_queue.next();
        }
        let window = self.controller.window();
        let offset = self.send_queue.get(seq).map_or(self.snd_una, |packet| packet.offset);
        let in_flight = self.send_queue.in_flight;
        self.controller.on_loss(&Loss { now, window, in_flight, offset, nxt: self.snd_nxt });
        self.begin_recovery();
        self.count_reduction(config, now, window);
    }

    /// A loss was answered; the window was `before`.
    pub(super) fn count_reduction(&mut self, config: &Config, now: Time, before: u64) {
        if self.controller.window() >= before {
            return;
        }
        self.counters.reductions += 1;
        if let PacketSize::Ladder(ladder) = &config.packet_size
            && self.size_steps.on_reduction(ladder, now)
        {
            self.resize(config);
        }
    }
}

/// The delivery of an acknowledgement.
struct Delivery {
    bytes: u64,
    /// The part of them that the controller does not hear of.
    uncounted: u64,
    /// The least round trip of packets that were sent once.
    rtt: Option<Span>,
    any: bool,
    /// When the packet was sent that was sent last, and its number.
    newest: Option<(Time, u64)>,
}
