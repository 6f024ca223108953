//! Everything that a link can do.

use crate::networks::rate;
use flashcrowd_base::{Probability, Span};
use flashcrowd_link::{
    AckFilter, Cake, Conditions, Drr, FqCoDel, Framing, Jitter, JitterShape, Loss, LossModel,
    Queue, QueueLimit, Red, Sfq, Side,
};
use proptest::prelude::*;

pub(crate) fn any_queue() -> impl Strategy<Value = Queue> {
    let cake = Cake {
        bandwidth_bps: rate(4_500_007),
        ack_filter: AckFilter::Conservative,
        ..Cake::default()
    };
    // Flows are named by sockets there and by addresses and ports here: with few buckets some meet in
    // one that do not meet in the other.
    let apart = FqCoDel { flows: 65_535, ..FqCoDel::default() };
    let sfq = Sfq { divisor: 65_535, ..Sfq::default() };
    let drr = Drr { flows: 65_535, ..Drr::default() };
    prop_oneof![
        (3u32..80).prop_map(Queue::packets),
        (5_000u64..120_000)
            .prop_map(|bytes| Queue::DropTail(QueueLimit { packets: None, bytes: Some(bytes) })),
        Just(Queue::CoDel(Box::default())),
        Just(Queue::FqCoDel(Box::new(apart))),
        Just(Queue::Pie(Box::default())),
        any::<bool>().prop_map(|ecn| Queue::Red(Box::new(Red { ecn, ..Red::default() }))),
        Just(Queue::Choke(Box::default())),
        any::<bool>().prop_map(move |often| {
            let perturb_ns = often.then_some(Span::from_millis(700));
            Queue::Sfq(Box::new(Sfq { perturb_ns, ..sfq.clone() }))
        }),
        Just(Queue::Drr(Box::new(drr))),
        Just(Queue::Cake(Box::new(cake))),
    ]
}

pub(crate) fn any_framing() -> impl Strategy<Value = Framing> {
    prop_oneof![
        (0u32..40).prop_map(|overhead_bytes| Framing::Plain { overhead_bytes }),
        (8u32..40).prop_map(|encapsulation_bytes| Framing::Atm { encapsulation_bytes }),
    ]
}

pub(crate) fn any_core() -> impl Strategy<Value = Conditions> {
    // What keeps its order arrives at one instant with what it has caught up with, and of two packets
    // that are due at one instant nothing says which of them comes first.
    let jitter = any::<bool>().prop_map(|normal| Jitter {
        shape: if normal { JitterShape::Normal } else { JitterShape::Uniform },
        spread_ns: Span::from_nanos(4_000_001),
        reorder: true,
    });
    let loss = (0.0..0.05f64, any::<bool>(), any::<bool>()).prop_map(|(share, burst, sender)| {
        let chance = |value| Probability::new(value).expect("a probability");
        let model = match burst {
            false => LossModel::Bernoulli { probability: chance(share) },
            true => LossModel::GilbertElliott {
                to_bad: chance(share),
                to_good: chance(0.3),
                loss_good: chance(0.0),
                loss_bad: chance(0.5),
            },
        };
        Loss { side: if sender { Side::Sender } else { Side::Receiver }, model }
    });
    (1_000_000u64..60_000_000, prop::option::of(jitter), prop::option::of(loss)).prop_map(
        |(delay, jitter, loss)| Conditions {
            delay_ns: Span::from_nanos(delay),
            jitter,
            loss,
            ..Conditions::default()
        },
    )
}
