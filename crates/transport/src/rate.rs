//! Delivery-rate samples for controllers that model the path (draft-ietf-ccwg-bbr, section 4.1;
//! Linux: `tcp_rate.c`), kept alike for TCP and uTP.

use flashcrowd_base::{Rate, Span, Time};
use std::collections::VecDeque;

/// The delivery-rate sample of one acknowledgement (draft-cheng-iccrg-delivery-rate-estimation).
#[derive(Clone, Copy, Debug, Default)]
pub struct RateSample {
    /// Bytes delivered between the transmission of the newest packet acknowledged and now.
    pub delivered: u64,
    /// The longer of the send interval and the ACK interval of those bytes. Zero where there is no
    /// valid rate, as when it is below the minimum round trip.
    pub interval: Span,
    /// The application, not the network, limited the rate when that packet was sent.
    pub app_limited: bool,
    /// Bytes found lost since that packet was sent.
    pub lost: u64,
    /// Bytes that were in flight when that packet was sent, the packet included.
    pub tx_in_flight: u64,
    /// Bytes delivered in all when that packet was sent (`P.delivered`): marks the round of the sample.
    pub prior_delivered: u64,
    /// Bytes delivered in all.
    pub total_delivered: u64,
    /// Bytes found lost since the last acknowledgement.
    pub newly_lost: u64,
    /// Bytes in flight after this acknowledgement and the losses that it revealed.
    pub in_flight: u64,
}

impl RateSample {
    /// The delivery rate in bytes per second, if there is one.
    pub fn rate(&self) -> Option<u64> {
        (!self.interval.is_zero()).then(|| per_second(self.delivered, self.interval))
    }
}

/// The input of a controller for data that is sent.
#[derive(Clone, Copy, Debug)]
pub struct SentData {
    /// When it is sent.
    pub now: Time,
    /// How much.
    pub bytes: u64,
    /// Bytes in flight before.
    pub in_flight: u64,
    /// The application limited the rate until now.
    pub app_limited: bool,
}

/// The input of a controller for a packet that counts as lost.
#[derive(Clone, Copy, Debug)]
pub struct LostData {
    /// When that was found.
    pub now: Time,
    /// Its payload.
    pub bytes: u64,
    /// Bytes that were in flight when it was sent, itself included.
    pub tx_in_flight: u64,
    /// Bytes found lost since it was sent, itself included.
    pub lost: u64,
    /// The application limited the rate when it was sent.
    pub app_limited: bool,
    /// Bytes delivered in all.
    pub total_delivered: u64,
}

/// Bytes per second.
pub(crate) fn per_second(bytes: u64, interval: Span) -> u64 {
    let scaled = u128::from(bytes) * 1_000_000_000;
    u64::try_from(scaled / u128::from(interval.nanos().max(1))).unwrap_or(u64::MAX)
}

/// `bytes_per_second` as a rate; at least 8 bit/s, since a rate cannot be zero.
pub(crate) fn as_rate(bytes_per_second: u64) -> Option<Rate> {
    Rate::from_bps(bytes_per_second.max(1).saturating_mul(8))
}

/// Per-packet state of a packet in flight (`P.*` in the draft). Its key grows: the offset after its last
/// byte (TCP), or its number (uTP).
#[derive(Clone, Copy, Debug)]
struct Stamp {
    key: u64,
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    lost: u64,
    in_flight: u64,
    app_limited: bool,
    counted_lost: bool,
}

/// The sampler of one connection. The stamps are here and not with the packets, which most
/// connections keep without them.
#[derive(Clone, Debug)]
pub(crate) struct RateSampler {
    delivered: u64,
    delivered_at: Time,
    /// When the packet was sent that was acknowledged last: the send interval begins there.
    first_sent: Time,
    lost: u64,
    newly_lost: u64,
    /// Samples are limited by the application until more than this is delivered; 0 if they are not.
    limited_until: u64,
    stamps: VecDeque<Stamp>,
}

impl RateSampler {
    pub(crate) fn new(now: Time) -> RateSampler {
        RateSampler {
            delivered: 0,
            delivered_at: now,
            first_sent: now,
            lost: 0,
            newly_lost: 0,
            limited_until: 0,
            stamps: VecDeque::new(),
        }
    }

    fn stamp(&self, key: u64, in_flight: u64) -> Stamp {
        Stamp {
            key,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            lost: self.lost,
            in_flight,
            app_limited: self.is_app_limited(),
            counted_lost: false,
        }
    }

    pub(crate) fn is_app_limited(&self) -> bool {
        self.limited_until > 0
    }

    /// A new packet is sent; `in_flight` counts it. `idle` if nothing else is unacknowledged.
    pub(crate) fn on_sent(&mut self, now: Time, key: u64, in_flight: u64, idle: bool) {
        if idle {
            self.first_sent = now;
            self.delivered_at = now;
        }
        self.stamps.push_back(self.stamp(key, in_flight));
    }

    /// Packets with keys in `after..=last` are retransmitted.
    pub(crate) fn on_retransmitted(&mut self, after: u64, last: u64, in_flight: u64) {
        let fresh = self.stamp(0, in_flight);
        let begin = self.stamps.partition_point(|stamp| stamp.key <= after);
        for stamp in self.stamps.range_mut(begin..).take_while(|stamp| stamp.key <= last) {
            *stamp = Stamp { key: stamp.key, ..fresh };
        }
    }

    fn find(&self, key: u64) -> Option<usize> {
        let position = self.stamps.partition_point(|stamp| stamp.key < key);
        (position < self.stamps.len()).then_some(position)
    }

    /// The packet `key` counts as lost. `None` if this transmission was counted before.
    pub(crate) fn on_lost(&mut self, now: Time, key: u64, bytes: u64) -> Option<LostData> {
        let position = self.find(key)?;
        let stamp = self.stamps.get_mut(position).filter(|stamp| !stamp.counted_lost)?;
        stamp.counted_lost = true;
        self.lost += bytes;
        self.newly_lost += bytes;
        Some(LostData {
            now,
            bytes,
            tx_in_flight: stamp.in_flight,
            lost: self.lost - stamp.lost,
            app_limited: stamp.app_limited,
            total_delivered: self.delivered,
        })
    }

    /// Takes back the losses that were not retransmitted.
    pub(crate) fn on_undo(&mut self) {
        for stamp in &mut self.stamps {
            stamp.counted_lost = false;
        }
    }

    /// An acknowledgement delivered `bytes`. `newest` is when the packet was sent last that was
    /// sent last of those delivered, and its key; packets with keys up to `una` are done with.
    pub(crate) fn on_delivered(
        &mut self,
        now: Time,
        bytes: u64,
        newest: Option<(Time, u64)>,
        una: u64,
        min_rtt: Span,
        in_flight: u64,
    ) -> RateSample {
        self.delivered += bytes;
        self.delivered_at = now;
        let newly_lost = std::mem::take(&mut self.newly_lost);
        let total_delivered = self.delivered;
        let mut sample =
            RateSample { total_delivered, newly_lost, in_flight, ..RateSample::default() };
        if let Some((sent_at, key)) = newest
            && let Some(position) = self.find(key)
        {
            let stamp = self.stamps[position];
            let interval = sent_at.since(stamp.first_sent).max(now.since(stamp.delivered_at));
            self.first_sent = sent_at;
            sample.delivered = total_delivered - stamp.delivered;
            // A shorter one belongs to a spurious retransmission.
            sample.interval = if interval < min_rtt { Span::ZERO } else { interval };
            sample.app_limited = stamp.app_limited;
            sample.lost = self.lost - stamp.lost;
            sample.tx_in_flight = stamp.in_flight;
            sample.prior_delivered = stamp.delivered;
        }
        if self.limited_until > 0 && self.delivered > self.limited_until {
            self.limited_until = 0;
        }
        while self.stamps.front().is_some_and(|stamp| stamp.key <= una) {
            self.stamps.pop_front();
        }
        sample
    }

    /// The sender has less to send than the network would take: what is in flight and what comes
    /// after it until there is more says little of the path.
    pub(crate) fn limit(&mut self, in_flight: u64) {
        self.limited_until = (self.delivered + in_flight).max(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::START + Span::from_millis(millis)
    }

    /// Four packets of 1000 bytes, 10 ms apart, acknowledged 100 ms later one by one: 1000 bytes
    /// in 10 ms are 100 kB/s as soon as a whole interval lies within.
    #[test]
    fn a_rate_is_bytes_over_time() {
        assert_eq!(per_second(3000, Span::from_millis(20)), 150_000);
        assert_eq!(per_second(1, Span::from_secs(2)), 0);
        assert_eq!(per_second(7, Span::ZERO), 7_000_000_000);
        assert_eq!(per_second(u64::MAX, Span::from_millis(1)), u64::MAX);
        let bps = |bytes| as_rate(bytes).map(Rate::bps);
        assert_eq!([0, 1, 1250].map(bps), [Some(8), Some(8), Some(10_000)]);
    }

    #[test]
    fn the_rate_is_that_at_which_packets_return() {
        let mut sampler = RateSampler::new(at(0));
        for index in 0..20 {
            sampler.on_sent(at(10 * index), 1000 * (index + 1), 1000, index == 0);
            if index >= 10 {
                let key = 1000 * (index - 9);
                let newest = Some((at(10 * (index - 10)), key));
                // The packet of this instant was stamped before.
                let sample = sampler.on_delivered(at(10 * index), 1000, newest, key, Span::ZERO, 0);
                assert_eq!(sample.total_delivered, key);
                if index == 10 {
                    assert_eq!(sample.rate(), Some(10_000), "1000 bytes in 100 ms");
                }
            }
        }
        for index in 20..30 {
            let key = 1000 * (index - 9);
            let newest = Some((at(10 * (index - 10)), key));
            let sample = sampler.on_delivered(at(10 * index), 1000, newest, key, Span::ZERO, 0);
            // The packet of the first of these was sent before anything had come back.
            assert_eq!(sample.rate(), Some(if index == 20 { 55_000 } else { 100_000 }));
        }
        assert!(sampler.stamps.is_empty());
    }

    /// With acknowledgements compressed into a burst the send rate bounds the sample (draft, 4.1.1.2).
    #[test]
    fn compressed_acknowledgements_do_not_raise_the_rate() {
        let mut sampler = RateSampler::new(at(0));
        for index in 0..10 {
            sampler.on_sent(at(10 * index), index + 1, 1000, index == 0);
        }
        let sample = sampler.on_delivered(at(110), 1000, Some((at(0), 1)), 1, Span::ZERO, 0);
        assert_eq!(sample.interval, Span::from_millis(110));
        let sample = sampler.on_delivered(at(110), 9000, Some((at(90), 10)), 10, Span::ZERO, 0);
        assert_eq!((sample.delivered, sample.interval), (10_000, Span::from_millis(110)));
    }

    #[test]
    fn what_a_limited_application_sent_is_marked_until_it_is_delivered() {
        let mut sampler = RateSampler::new(at(0));
        sampler.on_sent(at(0), 1, 1000, true);
        sampler.limit(1000);
        sampler.on_sent(at(10), 2, 2000, false);
        let first = sampler.on_delivered(at(100), 1000, Some((at(0), 1)), 1, Span::ZERO, 1000);
        let second = sampler.on_delivered(at(110), 1000, Some((at(10), 2)), 2, Span::ZERO, 0);
        assert!(!first.app_limited && second.app_limited && !sampler.is_app_limited());
    }

    #[test]
    fn a_loss_counts_once_for_each_transmission() {
        let mut sampler = RateSampler::new(at(0));
        for key in 1..=3 {
            sampler.on_sent(at(0), key, 1000 * key, key == 1);
        }
        let lost = sampler.on_lost(at(50), 2, 1000).unwrap();
        assert_eq!((lost.tx_in_flight, lost.lost), (2000, 1000));
        assert!(sampler.on_lost(at(50), 2, 1000).is_none());
        sampler.on_retransmitted(1, 2, 3000);
        assert_eq!(sampler.on_lost(at(50), 2, 1000).unwrap().lost, 1000, "since it was sent again");
        let sample = sampler.on_delivered(at(50), 1000, Some((at(0), 3)), 0, Span::ZERO, 0);
        assert_eq!((sample.newly_lost, sample.lost), (2000, 2000));
    }

    #[test]
    fn an_interval_below_the_least_round_trip_gives_no_rate() {
        let mut sampler = RateSampler::new(at(0));
        sampler.on_sent(at(0), 1, 1000, true);
        let min_rtt = Span::from_millis(60);
        let sample = sampler.on_delivered(at(50), 1000, Some((at(0), 1)), 1, min_rtt, 0);
        assert_eq!((sample.rate(), sample.delivered), (None, 1000));
    }
}
