use super::window::left_to;
use super::{Ack, Build, Controller, Loss, Params, Vegas};
use flashcrowd_base::{Span, Time};

/// How far between the shortest and the longest RTT a packet counts as delayed: a tenth (`threshold`).
const DELAYED: u64 = 10;
/// The part of a round's packets that may be delayed: a half (`fraction`).
const MAY_BE_DELAYED: u64 = 2;

/// TCP Nice (Venkataramani, Kokku, Dahlin 2002), with the values of the paper's experiments.
///
/// - Vegas, with one more rule: if more than half of a round's packets had an RTT above the shortest and a tenth of
///   what the longest is above it, the window is halved. Packets are counted by bytes, so that delayed
///   acknowledgements count for all that they cover.
/// - The shortest and the longest RTT are those of the connection. Vegas forgets the shortest whenever nothing is in
///   flight, which with a window of a packet is after each.
/// - The window is at least a packet. The paper goes below, and then sends a packet each few round trips.
#[derive(Clone, Debug)]
pub struct Nice {
    vegas: Vegas,
    max: Span,
    /// Bytes acknowledged in this round, and those of them that were delayed.
    acked: u64,
    delayed: u64,
}

impl Nice {
    /// A controller at its first window.
    pub fn new(params: Params) -> Nice {
        Nice { vegas: Vegas::new(params), max: Span::ZERO, acked: 0, delayed: 0 }
    }

    fn count(&mut self, rtt: Span, acked: u64) {
        self.vegas.observe(rtt);
        self.max = self.max.max(rtt);
        let base = self.vegas.base;
        self.acked += acked;
        if rtt > base + self.max.saturating_sub(base) / DELAYED {
            self.delayed += acked;
        }
    }

    fn restart(&mut self) {
        self.vegas.restart();
        (self.acked, self.delayed) = (0, 0);
    }
}

impl Build for Nice {
    fn build(params: Params) -> Nice {
        Nice::new(params)
    }
}

impl Controller for Nice {
    fn on_ack(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.count(rtt, ack.acked);
        }
        if !ack.may_grow {
            self.vegas.interrupt();
            self.restart();
        } else if self.vegas.ends_round(ack) {
            let window = &mut self.vegas.reno.window;
            if self.delayed * MAY_BE_DELAYED > self.acked {
                window.bytes = (window.bytes / 2).max(window.mss);
                window.threshold = window.bytes;
            } else {
                self.vegas.reconsider(ack);
            }
            self.restart();
        } else {
            self.vegas.go_on(ack);
        }
    }

    fn on_resume(&mut self, _: Time, _: Span) {
        self.vegas.interrupt();
        self.restart();
    }

    left_to!(vegas);
}

#[cfg(test)]
mod tests {
    use super::super::tests::params;
    use super::super::vegas::tests::Flight;
    use super::*;

    /// A controller that has seen RTTs of 100 and 200 ms, at the beginning of a round.
    fn nice(segments: u64) -> (Nice, Flight) {
        let (mut nice, mut flight) = (Nice::new(params(segments)), Flight::default());
        nice.vegas.reno.window.threshold = 1000 * segments;
        nice.max = Span::from_millis(200);
        flight.round(&mut nice, 1000, |_| 100);
        nice.vegas.reno.window.bytes = 1000 * segments;
        (nice, flight)
    }

    /// A tenth of the way from the shortest to the longest RTT, half of the packets, of the 21 or 22 of a round.
    #[test]
    fn a_round_with_more_than_half_of_its_packets_delayed_halves_the_window() {
        for (delayed, millis, window) in
            [(22, 111, 10_000), (12, 111, 10_000), (10, 111, 21_000), (22, 110, 20_000)]
        {
            for each in [1000, 2000] {
                let (mut nice, mut flight) = nice(20);
                flight.round(&mut nice, each, |number| {
                    if number * each < delayed * 1000 { millis } else { 100 }
                });
                assert_eq!(nice.window(), window, "{delayed} with {millis} ms, {each} bytes each");
            }
        }
    }

    /// Between its bounds, where Vegas leaves the window alone.
    #[test]
    fn it_gives_way_where_vegas_stays() {
        let (mut nice, mut flight) = nice(20);
        let mut vegas = nice.vegas.clone();
        let mut other = Flight::default();
        vegas.interrupt();
        for _ in 0..3 {
            flight.round(&mut nice, 1000, |_| 115);
            other.round(&mut vegas, 1000, |_| 115);
        }
        assert_eq!((nice.window(), vegas.window()), (2500, 20_000));
    }

    #[test]
    fn a_packet_is_the_least() {
        let (mut nice, mut flight) = nice(20);
        for _ in 0..20 {
            flight.round(&mut nice, 1000, |_| 180);
        }
        assert_eq!(nice.window(), 1000);
        // Without a queue it comes back, by Reno's steps and then by Vegas'.
        for _ in 0..10 {
            flight.round(&mut nice, 1000, |_| 100);
        }
        assert!(nice.window() > 5000, "{}", nice.window());
    }

    #[test]
    fn delay_ends_slow_start() {
        let (mut nice, mut flight) = (Nice::new(params(10)), Flight::default());
        flight.round(&mut nice, 1000, |_| 100);
        assert!(nice.vegas.reno.window.in_slow_start());
        flight.round(&mut nice, 1000, |_| 150);
        assert!(!nice.vegas.reno.window.in_slow_start());
    }

    #[test]
    fn the_range_is_that_of_the_connection() {
        let (mut nice, _) = nice(20);
        nice.on_resume(Time::START, Span::from_secs(1));
        assert_eq!((nice.vegas.base, nice.max), [100, 200].map(Span::from_millis).into());
    }
}
