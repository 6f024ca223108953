use super::config::{PathMtu, SearchBegin};
use flashcrowd_base::Time;

/// A padded probe after one that was lost waits for a window of more than this number of datagrams:
/// behind it go the three by which the loss of a further one is seen without a timeout.
const CAREFUL_DATAGRAMS: u32 = 4;

/// Path MTU discovery (packetization layer, RFC 4821): a search for the largest datagram that the path
/// takes, by bisection, with data packets that carry the don't-fragment flag, one at a time.
///
/// A packet that turned out too large cannot be split: its number names its bytes, and the other
/// end may have it after all. It is resent as it is and may be fragmented; what comes after it is
/// smaller.
///
/// On a real path that may not help: IPv6 routers fragment nothing, and fragments of either version are
/// dropped in many places (RFC 8900). There a search [pads](PathMtuSearch::padded) its probes instead
/// (RFC 8899, 4.1: probing with padding data). Bytes of the stream then never travel in a datagram of a
/// size that has not arrived before, and a probe is lost without its payload, which fits into any.
#[derive(Clone, Debug)]
pub(super) struct PathMtuSearch {
    /// The size that passes, as far as known; and the size that no probe exceeds.
    floor: u32,
    ceiling: u32,
    /// The size that every path takes, and the largest that is tried.
    base: u32,
    top: u32,
    /// Whether probes are padded.
    pads: bool,
    /// Of padded probes: whether the next one has the size of the ceiling, since nothing speaks against it;
    /// and whether one has been lost, so that the next waits for a window in which that is seen at once.
    leaps: bool,
    careful: bool,
    /// Size of ordinary datagrams.
    current: u32,
    /// Sequence number and size of the probe in flight.
    probe: Option<(u64, u32)>,
    again_at: Time,
}

impl PathMtuSearch {
    pub(super) fn new(config: &PathMtu, now: Time) -> PathMtuSearch {
        let current = match config.begin {
            SearchBegin::Ceiling => config.ceiling_bytes,
            SearchBegin::Floor => config.floor_bytes,
        };
        let mut search = PathMtuSearch {
            floor: config.floor_bytes,
            ceiling: config.ceiling_bytes,
            base: config.floor_bytes,
            top: config.ceiling_bytes,
            pads: false,
            leaps: false,
            careful: false,
            current,
            probe: None,
            again_at: now + config.interval_ns,
        };
        if !config.endless && search.ceiling - search.floor <= config.tolerance_bytes {
            search.finish();
        }
        search
    }

    /// A search with padded probes, over a path that takes `base` bytes for certain. Packets carry no more than
    /// a datagram of `top` bytes holds.
    pub(super) fn padded(config: &PathMtu, now: Time, base: u32, top: u32) -> PathMtuSearch {
        let top = top.min(config.ceiling_bytes);
        let base = base.min(top);
        let mut search = PathMtuSearch {
            base,
            top,
            floor: base,
            ceiling: top,
            current: base,
            pads: true,
            leaps: true,
            careful: false,
            probe: None,
            again_at: now + config.interval_ns,
        };
        search.bisect(config, now);
        search
    }

    /// Whether probes are padded.
    #[inline]
    pub(super) fn pads(&self) -> bool {
        self.pads
    }

    /// Restarts with what is known to pass.
    fn begin_anew(&mut self, config: &PathMtu, now: Time) {
        self.floor = self.base;
        self.ceiling = self.top;
        self.leaps = true;
        self.bisect(config, now);
    }

    fn finish(&mut self) {
        self.ceiling = self.floor;
        self.current = self.floor;
    }

    /// Size of ordinary datagrams.
    #[inline]
    pub(super) fn datagram_bytes(&self) -> u32 {
        self.current
    }

    /// Half-way between what is known to pass and what is not known to be too large.
    #[inline]
    pub(super) fn midpoint_bytes(&self) -> u32 {
        (self.floor + self.ceiling) / 2
    }

    /// Whether a `window` is large enough for a probe among other packets.
    #[inline]
    fn is_wide_enough(&self, config: &PathMtu, window: u64) -> bool {
        let least = if self.pads && self.careful { CAREFUL_DATAGRAMS } else { 0 };
        let datagrams = config.probe_window_datagrams.max(least);
        datagrams == 0 || window > u64::from(datagrams) * u64::from(self.floor)
    }

    /// Size of the datagram to be sent now if there is that much data: larger than ordinary if a
    /// probe is wanted.
    #[inline]
    pub(super) fn wanted_bytes(&self, config: &PathMtu, window: u64) -> u32 {
        let searching = self.floor < self.ceiling && self.probe.is_none();
        if self.pads {
            return match (searching && self.is_wide_enough(config, window), self.leaps) {
                (false, _) => self.current,
                (true, true) => self.ceiling,
                (true, false) => (self.floor + self.ceiling).div_ceil(2),
            };
        }
        if searching && config.begin == SearchBegin::Floor && self.is_wide_enough(config, window) {
            if config.endless {
                self.midpoint_bytes()
            } else {
                (self.floor + self.ceiling).div_ceil(2)
            }
        } else {
            self.current
        }
    }

    /// The new packet `seq` is sent in a datagram of `datagram_bytes`, in a `window`. Whether it measures
    /// the path.
    #[inline]
    pub(super) fn on_sent(
        &mut self,
        config: &PathMtu,
        now: Time,
        seq: u64,
        datagram_bytes: u32,
        window: u64,
    ) -> bool {
        if self.pads {
            if now >= self.again_at {
                self.again_at = now + config.interval_ns;
                self.ceiling = self.top;
                self.leaps = true;
                self.careful = true;
            }
            let measures = datagram_bytes > self.current && self.probe.is_none();
            if measures {
                self.probe = Some((seq, datagram_bytes));
                self.leaps = false;
            }
            return measures;
        }
        if config.endless {
            let measures = self.probe.is_none()
                && datagram_bytes >= self.floor
                && self.is_wide_enough(config, window);
            if measures {
                self.probe = Some((seq, datagram_bytes));
            }
            return measures;
        }
        if now >= self.again_at {
            self.floor = config.floor_bytes;
            self.ceiling = config.ceiling_bytes;
            self.again_at = now + config.interval_ns;
        }
        let measures = self.probe.is_none()
            && (self.floor + 1..=self.ceiling).contains(&datagram_bytes)
            && self.floor < self.ceiling
            && self.is_wide_enough(config, window);
        if measures {
            self.probe = Some((seq, datagram_bytes));
        }
        measures
    }

    /// The number of the packet that measures.
    #[inline]
    pub(super) fn probe(&self) -> Option<u64> {
        self.probe.map(|probe| probe.0)
    }

    /// The size of the datagram that measures.
    pub(super) fn probe_bytes(&self) -> Option<u32> {
        self.probe.map(|probe| probe.1)
    }

    /// Packet `seq` has arrived.
    #[inline]
    pub(super) fn on_delivered(&mut self, config: &PathMtu, now: Time, seq: u64) {
        if let Some((_, size)) = self.probe.filter(|probe| probe.0 == seq) {
            self.floor = size.max(self.floor);
            self.ceiling = self.ceiling.max(self.floor);
            self.bisect(config, now);
        }
    }

    /// The probe was lost and other packets were not: the probe was too large.
    pub(super) fn on_too_large(&mut self, config: &PathMtu, now: Time) {
        if let Some((_, size)) = self.probe {
            self.careful = true;
            if config.endless && size <= self.floor && !self.pads {
                // There was nothing left to be found, so the loss proves little; the path may have
                // changed.
                self.ceiling = self.floor;
                self.floor = (config.floor_bytes + self.ceiling) / 2;
            } else {
                self.ceiling = (size - 1).max(self.floor);
            }
            self.bisect(config, now);
        }
    }

    /// The probe was lost together with other packets, which is no evidence.
    pub(super) fn forget_probe(&mut self) {
        self.careful |= self.probe.is_some();
        self.probe = None;
    }

    /// Handles ICMP "fragmentation needed" with a next-hop MTU of `bytes`; a value that makes no sense
    /// halves the range of the search. Returns the number of the probe that has been too large.
    ///
    /// Where probes are padded, it is believed only while a larger probe is under way, and never below what
    /// every path takes (RFC 8899, 4.6.1): such messages are easily forged.
    pub(super) fn on_limit(&mut self, config: &PathMtu, now: Time, bytes: u32) -> Option<u64> {
        if self.pads {
            let (seq, size) = self.probe.filter(|probe| probe.1 > bytes)?;
            self.leaps = bytes > self.floor;
            self.ceiling = if self.leaps { bytes } else { (size - 1).max(self.floor) };
            self.careful = true;
            self.bisect(config, now);
            return Some(seq);
        }
        if (config.floor_bytes..8192).contains(&bytes) {
            self.floor = self.floor.min(bytes);
            self.ceiling = self.ceiling.min(bytes).max(self.floor);
            self.bisect(config, now);
            self.current = if config.endless { self.floor } else { self.ceiling };
        } else {
            self.ceiling = (self.floor + self.ceiling) / 2;
            self.bisect(config, now);
        }
        None
    }

    /// Whether datagrams of this size, which have arrived before, may vanish in a black hole.
    pub(super) fn may_vanish(&self, config: &PathMtu, datagram_bytes: u32) -> bool {
        datagram_bytes > self.base && (self.pads || !config.endless)
    }

    /// Black hole: datagrams above the floor vanish, so packets have the size of the floor from now on.
    /// With padded probes, which endanger nothing, the search restarts.
    pub(super) fn fall_to_floor(&mut self, config: &PathMtu, now: Time) {
        if self.pads {
            self.careful = true;
            self.begin_anew(config, now);
            return;
        }
        self.floor = config.floor_bytes;
        self.again_at = now + config.interval_ns;
        self.probe = None;
        self.finish();
    }

    fn bisect(&mut self, config: &PathMtu, now: Time) {
        self.probe = None;
        if config.endless && !self.pads {
            self.current = self.floor;
        } else if self.ceiling - self.floor <= config.tolerance_bytes {
            self.finish();
            self.again_at = now + config.interval_ns;
        } else if self.pads {
            self.current = self.floor;
        } else {
            self.current = match config.begin {
                SearchBegin::Ceiling => (self.floor + self.ceiling) / 2,
                SearchBegin::Floor => self.floor,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::profiles;
    use super::*;

    /// Sends packets of the wanted size over a path that takes `limit` bytes; the sizes that were
    /// tried, and the one that came out.
    fn search(config: &PathMtu, limit: u32) -> (Vec<u32>, u32) {
        let mut search = PathMtuSearch::new(config, Time::START);
        let mut tried = Vec::new();
        for seq in 0..100 {
            let bytes = search.wanted_bytes(config, u64::MAX);
            if search.on_sent(config, Time::START, seq, bytes, u64::MAX) {
                tried.push(bytes);
            }
            if bytes <= limit {
                search.on_delivered(config, Time::START, seq);
            } else {
                search.on_too_large(config, Time::START);
            }
        }
        (tried, search.datagram_bytes())
    }

    #[test]
    fn the_ceiling_is_tried_first_and_then_bisected() {
        let config = profiles::libutp().path_mtu;
        assert_eq!(search(&config, 1500), (vec![1402], 1402));
        let (tried, found) = search(&config, 1000);
        assert_eq!(tried, [1402, 988, 1194, 1090, 1038, 1012, 999]);
        assert_eq!(found, 988 + 11);
        assert_eq!(search(&config, 576).1, 576);
    }

    #[test]
    fn from_the_floor_only_probes_are_larger() {
        let endless = profiles::libtorrent().path_mtu;
        let config = PathMtu { endless: false, tolerance_bytes: 10, ..endless.clone() };
        let (tried, found) = search(&config, 1000);
        assert_eq!(tried[..3], [1010, 779, 894]);
        assert!((990..=1000).contains(&found), "{found}");
        assert!(search(&config, 2000).1 > 1460);
        // libtorrent rounds down, and is content only if nothing is between the two.
        let (tried, found) = search(&endless, 1000);
        assert_eq!((&tried[..3], found), (&[1010, 778, 893][..], 999));
        assert_eq!(search(&endless, 2000).1, 1471);
    }

    /// Whatever is lost, ordinary datagrams have a size that has arrived before, or that always does; and what passes
    /// is found, to within the tolerance and a few bytes for probes that were lost for another reason.
    #[test]
    fn with_padding_only_what_has_arrived_is_ordinary() {
        let mut stream = flashcrowd_base::RandomStream::new(1, "padded", 0);
        for case in 0..400u32 {
            let profile = if case % 2 == 0 { profiles::libutp() } else { profiles::libtorrent() };
            let (config, limit) = (profile.path_mtu, 600 + 2 * case);
            let loss = f64::from(case % 3) * 0.1;
            let mut search = PathMtuSearch::padded(&config, Time::START, 576, u32::MAX);
            let mut proven = 576;
            let mut lost_for_nothing = 0;
            for seq in 0..200 {
                assert!(search.datagram_bytes() <= proven, "{search:?}");
                let bytes = search.wanted_bytes(&config, u64::MAX);
                let measures = search.on_sent(&config, Time::START, seq, bytes, u64::MAX);
                assert_eq!(measures, bytes > proven, "{search:?}");
                let lost = stream.unit() < loss;
                match (measures, bytes <= limit, lost) {
                    (false, _, _) => {
                        if stream.unit() < 0.01 {
                            search.fall_to_floor(&config, Time::START);
                            (proven, lost_for_nothing) = (576, 0);
                        }
                    }
                    (true, true, false) => {
                        search.on_delivered(&config, Time::START, seq);
                        proven = bytes;
                    }
                    (true, passes, _) if seq % 3 > 0 => {
                        lost_for_nothing += u32::from(passes);
                        search.on_too_large(&config, Time::START);
                    }
                    (true, passes, _) => {
                        lost_for_nothing += u32::from(passes);
                        search.on_limit(&config, Time::START, if passes { 0 } else { limit });
                    }
                }
            }
            let best = limit.min(config.ceiling_bytes);
            if lost_for_nothing == 0 && search.floor == search.ceiling {
                assert!(proven + config.tolerance_bytes >= best, "{proven} of {best}: {search:?}");
            }
        }
    }

    /// A forged message lowers nothing that has arrived, and nothing at all while no larger probe is under way.
    #[test]
    fn with_padding_a_router_is_believed_of_a_probe() {
        let config = profiles::libutp().path_mtu;
        let mut search = PathMtuSearch::padded(&config, Time::START, 576, u32::MAX);
        assert_eq!(search.on_limit(&config, Time::START, 1100), None);
        assert_eq!(search.wanted_bytes(&config, u64::MAX), 1402, "the ceiling first");
        assert!(search.on_sent(&config, Time::START, 7, 1402, u64::MAX));
        assert_eq!(search.on_limit(&config, Time::START, 1402), None, "it fits");
        assert_eq!(search.on_limit(&config, Time::START, 1100), Some(7));
        assert_eq!(search.wanted_bytes(&config, 4 * 576), 576, "losses must be seen at once now");
        assert_eq!(search.wanted_bytes(&config, u64::MAX), 1100, "what the router says");
        assert!(search.on_sent(&config, Time::START, 8, 1100, u64::MAX));
        search.on_delivered(&config, Time::START, 8);
        assert_eq!((search.datagram_bytes(), search.ceiling), (1100, 1100));
        search.fall_to_floor(&config, Time::START);
        assert_eq!((search.datagram_bytes(), search.wanted_bytes(&config, u64::MAX)), (576, 1402));
        assert!(search.on_sent(&config, Time::START, 9, 1402, u64::MAX));
        assert_eq!(search.on_limit(&config, Time::START, 68), Some(9), "no such router");
        assert!(search.ceiling > 1380 && search.datagram_bytes() == 576);
    }

    /// ICMP that names no sensible MTU (old routers say 0) halves what is left to search.
    #[test]
    fn a_limit_without_sense_halves_the_range() {
        let config = profiles::libutp().path_mtu;
        let mut search = PathMtuSearch::new(&config, Time::START);
        search.on_limit(&config, Time::START, 0);
        assert_eq!((search.floor, search.ceiling), (576, (576 + 1402) / 2));
        search.on_limit(&config, Time::START, 700);
        assert_eq!((search.floor, search.ceiling, search.datagram_bytes()), (576, 700, 700));
    }

    /// libtorrent: `update_mtu_limits` and the condition of a probe in `send_pkt`.
    #[test]
    fn a_search_without_an_end_takes_a_late_loss_for_a_new_path() {
        let config = profiles::libtorrent().path_mtu;
        let mut search = PathMtuSearch::new(&config, Time::START);
        let send = |search: &mut PathMtuSearch, seq, window| {
            let bytes = search.wanted_bytes(&config, window);
            (bytes, search.on_sent(&config, Time::START, seq, bytes, window))
        };
        assert_eq!(send(&mut search, 1, 3 * 548), (548, false), "the window is too small");
        for seq in 2..20 {
            assert!(send(&mut search, seq, 1 << 20).1, "each time, even when all is known");
            search.on_delivered(&config, Time::START, seq);
        }
        assert_eq!((search.datagram_bytes(), search.midpoint_bytes()), (1471, 1471));
        assert_eq!(send(&mut search, 20, 1 << 20), (1471, true));
        search.on_too_large(&config, Time::START);
        assert_eq!(search.datagram_bytes(), (548 + 1471) / 2);
        assert_eq!((search.ceiling, search.midpoint_bytes()), (1471, (1009 + 1471) / 2));
        // In the search, a loss is evidence, for good.
        send(&mut search, 21, 1 << 20);
        search.on_too_large(&config, Time::START);
        assert_eq!((search.floor, search.ceiling), (1009, 1239));
    }

    #[test]
    fn a_router_may_say_it() {
        let config = profiles::libutp().path_mtu;
        let mut search = PathMtuSearch::new(&config, Time::START);
        search.on_limit(&config, Time::START, 1100);
        assert_eq!(search.datagram_bytes(), 1100);
        assert!(search.on_sent(&config, Time::START, 1, 1100, u64::MAX));
        search.on_delivered(&config, Time::START, 1);
        assert_eq!((search.datagram_bytes(), search.floor, search.ceiling), (1100, 1100, 1100));
        search.on_limit(&config, Time::START, 0);
        search.fall_to_floor(&config, Time::START);
        assert_eq!(search.datagram_bytes(), 576);
        let later = Time::START + config.interval_ns;
        assert!(search.on_sent(&config, later, 2, 577, u64::MAX), "the search begins anew");
    }
}
