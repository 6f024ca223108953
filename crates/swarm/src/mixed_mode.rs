//! TCP makes room for uTP (libtorrent: `session_impl::on_tick`, `peer_proportional`): uTP yields to TCP wherever the
//! two meet, so a client that uses both limits its connections over TCP together, in each direction, by
//! their number among those that are busy.

use crate::statistics::Channel;

/// Connections that transfer as much as the network lets them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Busy {
    /// Over TCP.
    pub tcp: u32,
    /// Over uTP.
    pub utp: u32,
}

/// With fewer of them TCP has no limit.
const FEWEST: u32 = 5;
/// A class whose share of the rate is a quarter has all of it.
const GENEROSITY: u64 = 4;
/// The least upload limit of TCP, in bytes per second, ...
pub const MIN_UPLOAD: u32 = 5000;
/// ... and the least download limit.
pub const MIN_DOWNLOAD: u32 = 30_000;

impl Busy {
    /// The limit of all connections over TCP together, of the client's `rate` in this direction; no limit
    /// without uTP. In bytes per second, as `min`.
    pub fn tcp_limit(self, rate: u32, min: u32) -> Option<u32> {
        let all = self.tcp + self.utp;
        if self.utp == 0 || all < FEWEST {
            return None;
        }
        let share = u64::from(rate) * u64::from(self.tcp.max(1)) * GENEROSITY / u64::from(all);
        Some(u32::try_from(share).unwrap_or(u32::MAX).max(min))
    }
}

/// A client's rates, low-passed as those of each connection (`session_impl::m_stat`).
#[derive(Clone, Copy, Debug, Default)]
pub struct Rates {
    second: u64,
    up: Channel,
    down: Channel,
    /// Of all packets; each counts in both directions.
    headers: Channel,
}

impl Rates {
    /// Bytes and the headers of their packets went out in this second.
    pub fn sent(&mut self, second: u64, bytes: u32, headers: u32) {
        self.roll(second);
        self.up.add(bytes);
        self.headers.add(headers);
    }
    /// The same of what came.
    pub fn received(&mut self, second: u64, bytes: u32, headers: u32) {
        self.roll(second);
        self.down.add(bytes);
        self.headers.add(headers);
    }
    /// The upload and the download rate, in bytes per second.
    pub fn upload_and_download(&self) -> (u32, u32) {
        let with_headers = |channel: Channel| channel.rate().saturating_add(self.headers.rate());
        (with_headers(self.up), with_headers(self.down))
    }
    /// Makes up for seconds that are over.
    pub fn roll(&mut self, second: u64) {
        while self.second < second {
            self.second += 1;
            let all = [&mut self.up, &mut self.down, &mut self.headers];
            if all.iter().all(|channel| channel.is_quiet()) {
                self.second = second;
            }
            all.into_iter().for_each(Channel::second_tick);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(tcp: u32, utp: u32, rate: u32) -> Option<u32> {
        Busy { tcp, utp }.tcp_limit(rate, MIN_UPLOAD)
    }

    /// By hand, as `on_tick` reckons: max(rate x TCP x 4 / all, 5000), in whole numbers.
    #[test]
    fn tcp_has_four_times_its_share_of_the_connections() {
        assert_eq!(limit(1, 7, 100_000), Some(50_000));
        assert_eq!(limit(2, 5, 99_999), Some(114_284), "799,992 / 7, rounded down");
        assert_eq!(limit(4, 4, 100_000), Some(200_000));
        assert_eq!(limit(0, 8, 100_000), Some(50_000), "as if there were one");
        assert_eq!(limit(1, 7, 10_001), Some(5000));
        assert_eq!(limit(1, 99, 100_000), Some(5000), "4000, and never less than 5000");
        assert_eq!(Busy { tcp: 1, utp: 99 }.tcp_limit(100_000, MIN_DOWNLOAD), Some(30_000));
        assert_eq!(limit(3, 1, u32::MAX), None);
        assert_eq!(limit(4, 1, u32::MAX), Some(u32::MAX));
    }

    #[test]
    fn it_has_no_limit_without_utp_or_among_fewer_than_five() {
        assert_eq!([limit(9, 0, 100_000), limit(0, 4, 100_000), limit(1, 3, 100_000)], [None; 3]);
        assert_eq!(limit(1, 4, 100_000), Some(80_000));
    }

    #[test]
    fn headers_count_in_both_directions_and_a_second_contributes_a_fifth() {
        let mut rates = Rates::default();
        rates.sent(0, 10_000, 400);
        rates.received(0, 5000, 200);
        assert_eq!(rates.upload_and_download(), (0, 0));
        rates.roll(1);
        assert_eq!(rates.upload_and_download(), (2000 + 120, 1000 + 120));
        rates.roll(2);
        assert_eq!(rates.upload_and_download(), (1600 + 96, 800 + 96));
        rates.roll(4000);
        assert_eq!((rates.upload_and_download(), rates.second), ((0, 0), 4000));
    }
}
