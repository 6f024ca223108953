use crate::{Conditions, Framing, Queue, QueueLimit};
use flashcrowd_base::{Rate, Span};

/// The part of the [`Conditions`] that a packet on a plain link needs: a rate, a delay, a drop-tail queue, and
/// nothing drawn.
///
/// It fits into a line of the cache, and a packet's transmission takes no division.
#[derive(Clone, Copy, Debug)]
pub struct Plain {
    rate: Rate,
    /// 2^64 over the rate, rounded down.
    inverse: u64,
    pub(crate) delay: Span,
    pub(crate) limit: QueueLimit,
    overhead_bytes: u32,
}

impl Plain {
    /// Of these conditions, if the link is plain.
    pub fn of(conditions: &Conditions) -> Option<Plain> {
        let Conditions { rate_bps: Some(rate), trace: None, jitter: None, loss: None, .. } =
            conditions
        else {
            return None;
        };
        let (Queue::DropTail(limit), Framing::Plain { overhead_bytes }) =
            (&conditions.queue, conditions.framing)
        else {
            return None;
        };
        Some(Plain {
            rate: *rate,
            inverse: u64::MAX / rate.bps(),
            delay: conditions.delay_ns,
            limit: *limit,
            overhead_bytes,
        })
    }

    /// The bytes of a packet on the wire.
    pub(crate) fn wire_bytes(&self, bytes: u32) -> u32 {
        bytes.saturating_add(self.overhead_bytes)
    }

    /// [`Rate::transmission`] of `wire_bytes` bytes: the quotient by the inverse is at most two too
    /// small.
    #[inline(always)]
    pub(crate) fn transmission(&self, wire_bytes: u32) -> Span {
        let bps = self.rate.bps();
        let Some(bits_nanos) = u64::from(wire_bytes).checked_mul(8_000_000_000) else {
            return self.rate.transmission(wire_bytes.into());
        };
        let mut nanos = ((u128::from(bits_nanos) * u128::from(self.inverse)) >> 64) as u64;
        let mut rest = bits_nanos - nanos * bps;
        while rest >= bps {
            rest -= bps;
            nanos += 1;
        }
        Span::from_nanos(nanos + u64::from(rest > 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Direction, Frame, Loss, LossModel, Side};
    use flashcrowd_base::{Probability, RandomStream, Time};
    use proptest::prelude::*;

    #[test]
    fn what_is_drawn_or_decided_is_not_plain() {
        let rated = Conditions { rate_bps: Rate::from_bps(8), ..Conditions::default() };
        assert!(Plain::of(&rated).is_some());
        assert!(Plain::of(&Conditions::default()).is_none());
        let model = LossModel::Bernoulli { probability: Probability::ZERO };
        let loss = Some(Loss { side: Side::Sender, model });
        assert!(Plain::of(&Conditions { loss, ..rated.clone() }).is_none());
        let queue = Queue::from(crate::CoDel::default());
        assert!(Plain::of(&Conditions { queue, ..rated }).is_none());
    }

    proptest! {
        #[test]
        fn a_transmission_takes_what_the_rate_says(bps in 1u64.., bytes in any::<u32>()) {
            for bps in [bps, 1 + bps % 10_000_000_000, 1 + bps % 1000] {
                let rate = Rate::from_bps(bps).unwrap();
                let plain = Plain::of(&Conditions { rate_bps: Some(rate), ..Conditions::default() });
                for bytes in [bytes, bytes % 65_536, 1500] {
                    let expected = rate.transmission(bytes.into());
                    prop_assert_eq!(plain.unwrap().transmission(bytes), expected);
                }
            }
        }

        /// A plain link does to packets what its conditions say, whatever their lengths.
        #[test]
        fn packets_fare_as_by_the_conditions(
            bps in 1u64..1 << 33, overhead_bytes in 0u32..50, packets in prop::option::of(1u32..20),
            bytes in prop::option::of(1000u64..20_000),
            offers in prop::collection::vec((0u64..20_000_000, 1u32..1600, any::<bool>()), 1..200),
        ) {
            let conditions = Conditions {
                rate_bps: Rate::from_bps(bps),
                queue: Queue::DropTail(crate::QueueLimit { packets, bytes }),
                delay_ns: Span::from_millis(7),
                framing: Framing::Plain { overhead_bytes },
                ..Conditions::default()
            };
            let plain = Plain::of(&conditions).unwrap();
            let mut fast = Direction::new(RandomStream::new(1, "test", 0));
            let (mut slow, mut now) = (fast.clone(), Time::START);
            for (tag, (gap, bytes, full)) in (1..).zip(offers) {
                now += Span::from_nanos(gap);
                let frame = Frame { bytes: if full { 1500 } else { bytes }, tag };
                let expected = slow.offer(&conditions, now, &frame, &mut |_, _| {});
                prop_assert_eq!(fast.offer_plain(&plain, now, &frame), expected);
                prop_assert_eq!(fast.counters(), slow.counters());
            }
        }
    }
}
