use super::super::config::Config;
use super::super::packet::Packet;
use super::super::rtt::RoundTrip;
use flashcrowd_base::Time;

/// Receive window of the other end (SND.WND), and which packet updated it last.
///
/// TCP takes the window of a segment that is not older than the one that was used last (SND.WL1 and
/// SND.WL2, RFC 9293, 3.10.7.4). Packets of uTP have an order as well: acknowledgement numbers only
/// grow, and where two are equal, the timestamps say which packet was sent first, repetitions of old
/// data included, whose sequence numbers would mislead. Libutp takes the window of every packet, so
/// that an acknowledgement that is overtaken by the update of the window closes the window again.
#[derive(Clone, Debug)]
pub(super) struct PeerWindow {
    /// Acknowledgement number and timestamp of the packet that updated it last (SND.WL2, SND.WL1).
    ack: u64,
    timestamp: u32,
    bytes: u32,
    /// Probes since the window closed.
    probes: u32,
    /// When the next probe is due; `NEVER` while the window is open.
    probe_at: Time,
}

impl PeerWindow {
    /// Assumed until the other end has advertised one; `ack` is before the first packet.
    pub(super) fn assumed(bytes: u32, ack: u64) -> PeerWindow {
        PeerWindow { ack, timestamp: 0, bytes, probes: 0, probe_at: Time::NEVER }
    }

    /// The SYN of the other end advertises its window.
    pub(super) fn open(&mut self, syn: &Packet) {
        self.bytes = syn.window;
        self.timestamp = syn.timestamp;
    }

    #[inline]
    pub(super) fn bytes(&self) -> u64 {
        u64::from(self.bytes)
    }
    #[inline]
    pub(super) fn probe_at(&self) -> Time {
        self.probe_at
    }

    /// A plausible packet with the acknowledgement number `ack` advertises its window. Returns whether
    /// the packet was no older than what is known and the window is closed: the other end is alive,
    /// and has no room.
    #[inline]
    pub(super) fn advertised(
        &mut self,
        config: &Config,
        rtt: &RoundTrip,
        now: Time,
        packet: &Packet,
        ack: u64,
    ) -> bool {
        let later = packet.timestamp.wrapping_sub(self.timestamp) as i32;
        let is_older = ack < self.ack || (ack == self.ack && later < 0);
        // Of two packets with the same numbers and timestamp the one with more room was sent later:
        // between them, the application can have read, and nothing can have arrived.
        let is_equal = ack == self.ack && later == 0;
        if is_older || (is_equal && packet.window < self.bytes) {
            return false;
        }
        self.ack = ack;
        self.timestamp = packet.timestamp;
        self.bytes = packet.window;
        if packet.window > 0 {
            self.probes = 0;
            self.probe_at = Time::NEVER;
            return false;
        }
        // RFC 9293, 3.8.6.1: the first probe after a retransmission timeout (SHLD-29), the intervals
        // between further ones grow (SHLD-30).
        let wait = rtt.timeout(config, self.probes).min(config.zero_window_probe_ns);
        self.probe_at = config.examined(now + wait);
        true
    }

    /// Time has passed: when the probe is due, one packet of `bytes` may be sent.
    #[inline]
    pub(super) fn on_timer(&mut self, now: Time, bytes: u32) {
        if now >= self.probe_at {
            self.probe_at = Time::NEVER;
            self.probes = self.probes.saturating_add(1);
            self.bytes = bytes;
        }
    }

    /// Nothing is sent any more.
    pub(super) fn stop(&mut self) {
        self.probe_at = Time::NEVER;
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::profiles;
    use super::*;
    use flashcrowd_base::Span;

    /// The window that is known after packets of acknowledgement number, timestamp and window.
    fn known(packets: &[(u64, u32, u32)]) -> u64 {
        let config = profiles::libutp();
        let rtt = RoundTrip::new(&config);
        let mut window = PeerWindow::assumed(5000, 9);
        for &(ack, timestamp, bytes) in packets {
            let packet = Packet { timestamp, window: bytes, ..Packet::default() };
            window.advertised(&config, &rtt, Time::START, &packet, ack);
        }
        window.bytes()
    }

    #[test]
    fn the_newest_packet_says_the_window() {
        assert_eq!(known(&[]), 5000);
        assert_eq!(known(&[(10, 100, 700), (11, 90, 300)]), 300, "numbers before timestamps");
        assert_eq!(known(&[(11, 100, 700), (10, 110, 9000)]), 700);
        assert_eq!(known(&[(11, 100, 0), (11, 101, 700), (11, 100, 0)]), 700, "overtaken");
        assert_eq!(known(&[(11, 100, 700), (11, 101, 300)]), 300, "what arrived takes room");
        assert_eq!(known(&[(11, u32::MAX, 700), (11, 1, 300)]), 300, "the timestamp wraps");
        // Of the same instant, or of an end that sends no timestamps.
        assert_eq!(known(&[(11, 7, 700), (11, 7, 0), (11, 7, 701)]), 701);
    }

    #[test]
    fn probes_of_a_closed_window_back_off_until_it_opens() {
        let config = profiles::libutp();
        let rtt = RoundTrip::new(&config);
        let mut window = PeerWindow::assumed(5000, 9);
        let mut now = Time::START;
        let mut waits = Vec::new();
        let said = |bytes, timestamp| Packet { window: bytes, timestamp, ..Packet::default() };
        for at in 0..7 {
            assert!(window.advertised(&config, &rtt, now, &said(0, at), 10));
            waits.push(window.probe_at().since(now).seconds());
            now = window.probe_at();
            window.on_timer(now, 1400);
            assert_eq!((window.bytes(), window.probe_at()), (1400, Time::NEVER));
        }
        assert_eq!(waits, [3.0, 6.0, 12.0, 15.0, 15.0, 15.0, 15.0]);
        assert!(!window.advertised(&config, &rtt, now, &said(900, 8), 10));
        assert!(window.advertised(&config, &rtt, now, &said(0, 9), 10));
        assert_eq!(window.probe_at(), now + Span::from_secs(3));
    }
}
