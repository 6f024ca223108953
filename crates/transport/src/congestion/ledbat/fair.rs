use super::Ledbat;
use super::rfc6817::{Rule, Steered};

/// Fair LEDBAT (Carofiglio, Muscariello, Rossi, Testa, Valenti 2013): RFC 6817 with a decrease in proportion to the window,
/// so that a latecomer, whose base delay holds the queue of others, shares with them in the end.
pub type Fair = Steered<Proportional>;

/// A window acknowledged brings a packet, whatever the queue is, and takes `decrease` times the window and the queueing delay
/// in parts of the target.
///
/// So windows are alike where delays are. They rest at a queue of target / (decrease W), with W in packets: one flow keeps a
/// shorter queue than many.
#[derive(Clone, Debug)]
pub struct Proportional;

impl Rule for Proportional {
    fn table() -> Ledbat {
        super::fair()
    }

    fn change(table: &Ledbat, bytes: f64, packet: f64, acked: f64, queueing: f64) -> f64 {
        acked * (table.gain * packet / bytes - table.decrease * queueing)
    }
}

#[cfg(test)]
mod tests {
    use super::super::fair;
    use super::*;
    use crate::congestion::tests::{ack, params};
    use crate::congestion::{Ack, Controller};
    use proptest::prelude::*;

    fn controller(packets: u64) -> Fair {
        let mut fair = Fair::new(Ledbat { noise_filter: 1, ..fair() }, params(packets));
        fair.on_ack(&Ack { one_way_delay: Some(0), ..ack(0) });
        fair
    }

    /// A window of acknowledgements with this queueing delay in milliseconds.
    fn round(fair: &mut Fair, delay: u32) {
        for _ in 0..fair.window() / 1000 {
            let one_way_delay = Some(1000 * delay);
            fair.on_ack(&Ack { one_way_delay, in_flight: 1 << 30, ..ack(1000) });
        }
    }

    /// A packet more without a queue; with one of q, a tenth of W q / T less.
    #[test]
    fn a_window_of_acknowledgements_adds_a_packet_and_takes_a_share() {
        for (delay, change) in [(0, 1.0), (10, 0.0), (50, -4.0), (100, -9.0), (200, -19.0)] {
            let mut fair = controller(100);
            round(&mut fair, delay);
            let moved = fair.window() as f64 / 1000.0 - 100.0;
            assert!(
                (moved - change).abs() < 0.12 * f64::abs(change) + 0.1,
                "{moved} at {delay} ms"
            );
        }
    }

    proptest! {
        /// Two flows that see the same queue have the same window in the end, whatever they began with, as RFC 6817's keep
        /// their distance.
        #[test]
        fn windows_that_see_one_queue_become_alike(
            first in 2u64..200, second in 2u64..200, path in 20u64..200,
        ) {
            let (mut one, mut other) = (controller(first), controller(second));
            for _ in 0..2000 {
                let packets = (one.window() + other.window()) / 1000;
                let delay = packets.saturating_sub(path) as u32;
                round(&mut one, delay);
                round(&mut other, delay);
            }
            let (one, other) = (one.window() as f64, other.window() as f64);
            prop_assert!((one / other - 1.0).abs() < 0.05, "{one} and {other}");
        }
    }
}
