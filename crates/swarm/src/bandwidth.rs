//! A limit as libtorrent shares it (`aux::bandwidth_manager`, `aux::bandwidth_channel`,
//! `aux::bw_request`): connections ask for quota, and a timer gives it out in equal shares. A request is
//! answered when it is covered whole, or after a number of ticks with what there is.
//!
//! All connections share one limit; those over TCP share another one besides, if there is one
//! ([`mixed_mode`](crate::mixed_mode)).

use crate::ConnId;
use crate::profile::LimiterRules;
use flashcrowd_base::{Rate, Span, Time};

/// The connections that share a limit (`peer_class`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerClass {
    /// The global class.
    Everybody,
    /// Connections over TCP, which are in the global class as well.
    Tcp,
}

impl PeerClass {
    /// How many channels a connection of this class uses: the first ones of [`Bandwidth::channels`].
    fn channels(self) -> usize {
        self as usize + 1
    }
}

const CLASSES: usize = 2;

/// The budget of one class (`bandwidth_channel`).
#[derive(Clone, Copy, Debug, Default)]
struct Channel {
    /// Bytes per second; nothing is no limit.
    limit: Option<i64>,
    /// The rest of earlier ticks; negative when headers took more than there was.
    left: i64,
    /// Headers of this second, which are charged when it is over.
    overhead: i64,
}

/// A connection that waits for quota.
#[derive(Clone, Copy, Debug)]
struct Request {
    conn: ConnId,
    bytes: u32,
    assigned: u32,
    /// Ticks until it is answered with less than it wants.
    patience: u32,
    /// Which channels it waits for.
    waits: [bool; CLASSES],
}

/// The quota of one client, in one direction.
#[derive(Clone, Debug)]
pub struct Bandwidth {
    rules: LimiterRules,
    /// By [`PeerClass`].
    channels: [Channel; CLASSES],
    queue: Vec<Request>,
    tick: Span,
    /// Ticks fall this long after the multiples of their period.
    phase: Span,
    /// Until when quota was earned.
    earned: Time,
    second: u64,
}

/// `settings_pack::tick_interval`, for rules that give none.
const TICK: Span = Span::from_millis(500);

/// `update_quotas` knows of no more than three seconds between two ticks.
const LONGEST: Span = Span::from_secs(3);

impl Bandwidth {
    /// `rate` is shared by all connections; nothing is queued.
    pub fn new(rate: Option<Rate>, rules: LimiterRules, now: Time) -> Bandwidth {
        let tick = rules.tick_ns.filter(|tick| !tick.is_zero()).unwrap_or(TICK);
        let everybody = Channel { limit: rate.map(bytes_per_second), ..Channel::default() };
        Bandwidth {
            rules,
            channels: [everybody, Channel::default()],
            queue: Vec::new(),
            tick,
            phase: Span::ZERO,
            earned: now,
            second: 0,
        }
    }
    /// Lets the ticks fall a part (0 to 1) of their period later, so that the peers of a swarm do
    /// not all write at one instant.
    pub fn with_phase(mut self, part: f64) -> Bandwidth {
        self.phase = Span::from_seconds(self.tick.seconds() * part.clamp(0.0, 1.0));
        self
    }
    /// `conn`, which does not wait yet, wants to transfer `bytes`. True if it may at once: where its class has
    /// no limit, or more than a second's worth is left over (`bandwidth_channel::need_queueing`).
    pub fn request(&mut self, now: Time, conn: ConnId, class: PeerClass, bytes: u32) -> bool {
        if !self.is_limited() {
            return true;
        }
        if self.rules.quota.idle_earns && self.queue.is_empty() {
            // Ticks without a waiting connection count as any other.
            self.earn(self.tick_before(now).since(self.earned), &[true; CLASSES]);
            self.earned = self.tick_before(now).max(self.earned);
        }
        let wanted = i64::from(bytes);
        let mut waits = [false; CLASSES];
        for (channel, waits) in self.channels.iter_mut().zip(&mut waits).take(class.channels()) {
            let Some(limit) = channel.limit else { continue };
            *waits = channel.left - wanted < limit;
            if !*waits {
                channel.left -= wanted;
            }
        }
        if waits == [false; CLASSES] {
            return true;
        }
        if self.queue.is_empty() && !self.rules.quota.idle_earns {
            self.earned = self.tick_before(now);
        }
        let patience = self.rules.quota.request_ticks;
        self.queue.push(Request { conn, bytes, assigned: 0, patience, waits });
        false
    }
    /// `conn` is gone: what it was assigned goes back.
    pub fn remove(&mut self, conn: ConnId) {
        if let Some(place) = self.queue.iter().position(|request| request.conn == conn) {
            let request = self.queue.remove(place);
            for channel in waited_for(&mut self.channels, &request.waits) {
                channel.left += i64::from(request.assigned);
            }
        }
    }
    /// When quota is given out next, or `NEVER` while no connection waits.
    pub fn wake(&self) -> Time {
        if self.queue.is_empty() { Time::NEVER } else { self.earned + self.tick }
    }
    /// Time for quota: who may transfer how much, the last who asked first.
    pub fn tick(&mut self, now: Time, given: &mut Vec<(ConnId, u32)>) {
        let waiting: [i64; CLASSES] = std::array::from_fn(|class| {
            self.queue.iter().filter(|request| request.waits[class]).count() as i64
        });
        let idle_earns = self.rules.quota.idle_earns;
        let earns = waiting.map(|waiting| waiting > 0 || idle_earns);
        self.earn(self.tick_before(now).since(self.earned), &earns);
        self.earned = self.tick_before(now);
        let there = self.channels.map(|channel| channel.left.max(0));
        let (channels, rules) = (&mut self.channels, &self.rules.quota);
        self.queue.retain_mut(|request| {
            // The least of its shares in what it waits for, and no more than is missing, which has 32 bits.
            let mut share = i64::from(request.bytes - request.assigned);
            for class in 0..CLASSES {
                if request.waits[class] && channels[class].limit.is_some() {
                    share = share.min(there[class] / waiting[class]);
                }
            }
            for channel in waited_for(channels, &request.waits) {
                channel.left -= share;
            }
            request.assigned += share as u32;
            request.patience = request.patience.saturating_sub(1);
            let some = request.assigned > 0;
            let whole = request.assigned == request.bytes;
            let answered = whole || (some && (request.patience == 0 || !rules.whole_requests));
            if answered {
                given.push((request.conn, request.assigned));
            }
            !answered
        });
        given.reverse();
    }
    /// The bytes of a span, for each class that `earns`.
    fn earn(&mut self, span: Span, earns: &[bool; CLASSES]) {
        let max = self.rules.credit_ns.max(self.tick).min(LONGEST);
        for (channel, _) in self.channels.iter_mut().zip(earns).filter(|(_, earns)| **earns) {
            let Some(limit) = channel.limit else { continue };
            let worth = |span: Span| {
                let millis = (span.nanos() / 1_000_000) as i64;
                (limit.saturating_mul(millis) + 500) / 1000
            };
            channel.left = channel.left.saturating_add(worth(span.min(LONGEST)));
            channel.left = channel.left.min(worth(max));
        }
    }
    /// Headers of packets that went or came over a connection of this class, in bytes. They are charged when
    /// their second is over (`peer_connection::second_tick`), with or without waiting requests.
    pub fn charge(&mut self, second: u64, class: PeerClass, bytes: u32) {
        if self.is_limited() {
            self.settle_overhead(second);
            let channels = self.channels.iter_mut().take(class.channels());
            for channel in channels.filter(|channel| channel.limit.is_some()) {
                channel.overhead += i64::from(bytes);
            }
        }
    }
    /// Charges the headers of seconds that are over.
    pub fn settle_overhead(&mut self, second: u64) {
        if second > self.second {
            for channel in &mut self.channels {
                channel.left -= std::mem::take(&mut channel.overhead);
            }
            self.second = second;
        }
    }
    /// The last tick that is not after `now`.
    fn tick_before(&self, now: Time) -> Time {
        let start = Time::START + self.phase;
        let ticks = now.since(start).nanos() / self.tick.nanos();
        start + self.tick * ticks
    }
    /// Changes the shared limit in place. Without a limit no connection waits for it any more: those that waited
    /// for nothing else get all they asked for.
    pub fn set_rate(&mut self, rate: Option<Rate>, given: &mut Vec<(ConnId, u32)>) {
        self.channels[PeerClass::Everybody as usize].limit = rate.map(bytes_per_second);
        if rate.is_none() {
            self.queue.retain_mut(|request| {
                request.waits[PeerClass::Everybody as usize] = false;
                let waits = request.waits.contains(&true);
                if !waits {
                    given.push((request.conn, request.bytes));
                }
                waits
            });
        }
    }
    /// Changes the limit of connections over TCP, in bytes per second. Without one, those that wait for it get all
    /// they asked for at the next tick.
    pub fn limit_tcp(&mut self, limit: Option<u32>) {
        self.channels[PeerClass::Tcp as usize].limit = limit.map(i64::from);
    }
    /// Whether connections over TCP share a limit of their own.
    pub fn limits_tcp(&self) -> bool {
        self.channels[PeerClass::Tcp as usize].limit.is_some()
    }
    /// Whether anything has a limit.
    pub fn is_limited(&self) -> bool {
        self.channels.iter().any(|channel| channel.limit.is_some())
    }
    /// How many connections wait.
    pub fn waiting(&self) -> usize {
        self.queue.len()
    }
}

/// The channels among those that a request waits for that have a limit: the others count nothing
/// (`bandwidth_channel::use_quota`).
fn waited_for<'a>(
    channels: &'a mut [Channel; CLASSES],
    waits: &'a [bool; CLASSES],
) -> impl Iterator<Item = &'a mut Channel> {
    let waited = channels.iter_mut().zip(waits).filter(|(_, waits)| **waits);
    waited.map(|(channel, _)| channel).filter(|channel| channel.limit.is_some())
}

fn bytes_per_second(rate: Rate) -> i64 {
    i64::try_from(rate.bps() / 8).unwrap_or(i64::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::named;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    const EVERYBODY: PeerClass = PeerClass::Everybody;

    fn bandwidth(change: impl FnOnce(&mut LimiterRules)) -> Bandwidth {
        let mut rules = named("libtorrent").unwrap().limiter;
        change(&mut rules);
        Bandwidth::new(Rate::from_bps(8 * 10_000), rules, Time::START)
    }
    fn at(millis: u64) -> Time {
        Time::START + Span::from_millis(millis)
    }
    fn tick(bandwidth: &mut Bandwidth, millis: u64) -> Vec<(u32, u32)> {
        let mut given = Vec::new();
        assert_eq!(bandwidth.wake(), at(millis));
        bandwidth.tick(at(millis), &mut given);
        given.into_iter().map(|(conn, bytes)| (conn.0, bytes)).collect()
    }

    #[test]
    fn a_request_is_answered_when_it_is_covered_whole_from_equal_shares() {
        let mut all = bandwidth(|_| {});
        assert!(!all.request(at(100), ConnId(1), EVERYBODY, 6000));
        assert!(!all.request(at(100), ConnId(2), EVERYBODY, 1000));
        // 5000 B a tick: 2500 each, of which the second needs 1000.
        assert_eq!(tick(&mut all, 500), [(2, 1000)]);
        // 1500 B were left over; the first alone lacks 3500.
        assert_eq!(tick(&mut all, 1000), [(1, 6000)]);
        assert_eq!((all.wake(), all.channels[0].left), (Time::NEVER, 3000));
    }

    #[test]
    fn an_idle_client_earns_nothing_unless_its_rules_say_so() {
        let mut all = bandwidth(|_| {});
        assert!(!all.request(at(60_100), ConnId(1), EVERYBODY, 7000));
        assert_eq!(tick(&mut all, 60_500), []);
        assert_eq!(tick(&mut all, 61_000), [(1, 7000)]);
        let mut all = bandwidth(|rules| rules.quota.idle_earns = true);
        assert!(
            all.request(at(60_100), ConnId(1), EVERYBODY, 7000),
            "three seconds' worth was saved up"
        );
        assert!(all.request(at(60_100), ConnId(1), EVERYBODY, 13_000));
        assert!(
            !all.request(at(60_100), ConnId(1), EVERYBODY, 1),
            "less than a second's worth is left"
        );
    }

    #[test]
    fn who_waits_for_twenty_ticks_gets_what_there_is() {
        let mut all = bandwidth(|rules| rules.quota.request_ticks = 3);
        all.request(at(0), ConnId(1), EVERYBODY, 100_000);
        assert_eq!(tick(&mut all, 500), []);
        assert_eq!(tick(&mut all, 1000), []);
        assert_eq!(tick(&mut all, 1500), [(1, 15_000)]);
        let mut all = bandwidth(|rules| rules.quota.whole_requests = false);
        all.request(at(0), ConnId(1), EVERYBODY, 100_000);
        assert_eq!(tick(&mut all, 500), [(1, 5000)]);
    }

    #[test]
    fn headers_are_charged_when_their_second_is_over_and_may_take_more_than_there_is() {
        let mut all = bandwidth(|_| {});
        all.charge(0, EVERYBODY, 12_000);
        all.request(at(0), ConnId(1), EVERYBODY, 100);
        assert_eq!(tick(&mut all, 500), [(1, 100)]);
        all.settle_overhead(1);
        assert_eq!(all.channels[0].left, 4900 - 12_000);
        all.request(at(1000), ConnId(1), EVERYBODY, 100);
        assert_eq!(tick(&mut all, 1500), []);
        assert_eq!(tick(&mut all, 2000), [(1, 100)]);
    }

    #[test]
    fn what_a_lost_connection_was_assigned_goes_back_and_without_a_limit_nobody_waits() {
        let mut all = bandwidth(|_| {});
        all.request(at(0), ConnId(1), EVERYBODY, 100_000);
        assert_eq!(tick(&mut all, 500), []);
        all.remove(ConnId(1));
        assert_eq!((all.channels[0].left, all.wake()), (5000, Time::NEVER));
        all.request(at(600), ConnId(2), EVERYBODY, 100_000);
        let mut given = Vec::new();
        all.set_rate(None, &mut given);
        assert_eq!(given, [(ConnId(2), 100_000)]);
        assert!(all.request(at(700), ConnId(2), EVERYBODY, 1 << 30));
        assert_eq!(all.waiting(), 0);
    }

    #[test]
    fn connections_over_tcp_share_the_less_of_two_limits_and_others_have_the_rest() {
        // 10,000 B/s for all, 4000 B/s of them for TCP.
        let mut all = bandwidth(|_| {});
        all.limit_tcp(Some(4000));
        all.request(at(0), ConnId(1), PeerClass::Tcp, 100_000);
        all.request(at(0), ConnId(2), PeerClass::Tcp, 1500);
        all.request(at(0), ConnId(3), EVERYBODY, 2500);
        // 2000 B of TCP's limit and 5000 B of the shared one, in halves and in thirds.
        assert_eq!(tick(&mut all, 500), []);
        assert_eq!(all.channels.map(|channel| channel.left), [5000 - 1000 - 1000 - 1666, 0]);
        // The second lacks 500 B, the third 834 B.
        assert_eq!(tick(&mut all, 1000), [(3, 2500), (2, 1500)]);
        assert_eq!(all.channels.map(|channel| channel.left), [1334 + 5000 - 1000 - 500 - 834, 500]);
        // Without TCP's limit the first has a share of all.
        all.limit_tcp(None);
        assert!(!all.limits_tcp());
        assert_eq!(tick(&mut all, 1500), []);
        assert_eq!(all.channels.map(|channel| channel.left), [0, 500]);
    }

    #[test]
    fn without_any_other_limit_tcp_alone_waits_and_pays_for_its_headers() {
        let rules = named("libtorrent").unwrap().limiter;
        let mut all = Bandwidth::new(None, rules, Time::START);
        all.limit_tcp(Some(4000));
        assert!(all.request(at(0), ConnId(1), EVERYBODY, 1 << 30));
        assert!(!all.request(at(0), ConnId(2), PeerClass::Tcp, 3000));
        all.charge(0, EVERYBODY, 500);
        all.charge(0, PeerClass::Tcp, 700);
        assert_eq!(tick(&mut all, 500), []);
        all.settle_overhead(1);
        assert_eq!(tick(&mut all, 1000), [(2, 3000)]);
        assert_eq!(all.channels.map(|channel| channel.left), [0, 4000 - 3000 - 700]);
        // Its limit gone, a request that waits for it gets all at the next tick.
        assert!(!all.request(at(1600), ConnId(2), PeerClass::Tcp, 1 << 20));
        all.limit_tcp(None);
        assert_eq!(tick(&mut all, 2000), [(2, 1 << 20)]);
    }

    /// The calls of a driver, in any order.
    #[derive(Clone, Debug)]
    enum Step {
        Wait(u64),
        Request(u32, u32),
        Remove(u32),
        Charge(u32),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (1u64..3000).prop_map(Step::Wait),
            (0u32..6, 1u32..60_000).prop_map(|(conn, bytes)| Step::Request(conn, bytes)),
            (0u32..6).prop_map(Step::Remove),
            (0u32..3000).prop_map(Step::Charge),
        ]
    }

    proptest! {
        /// No connection gets more than it asked for, nor anything twice or after it is gone; all
        /// together get no more than was earned; and no request waits for ever.
        #[test]
        fn no_order_makes_more_of_the_limit_than_there_is(
            steps in prop::collection::vec(step(), 1..80),
            whole: bool,
            ticks in 1u32..25,
        ) {
            let mut all = bandwidth(|rules| {
                rules.quota.whole_requests = whole;
                rules.quota.request_ticks = ticks;
            });
            let (mut now, mut given) = (Time::START, Vec::new());
            let mut waiting: BTreeMap<u32, u32> = BTreeMap::new();
            let (mut spent, mut charged) = (0u64, 0u64);
            let rest = [Step::Wait(400_000)];
            for step in steps.iter().chain(&rest) {
                match *step {
                    Step::Wait(millis) => {
                        let until = now + Span::from_millis(millis);
                        while all.wake() <= until {
                            now = all.wake();
                            all.settle_overhead(now.since(Time::START).nanos() / 1_000_000_000);
                            all.tick(now, &mut given);
                            for (conn, bytes) in given.drain(..) {
                                let asked = waiting.remove(&conn.0);
                                prop_assert!(asked.is_some_and(|asked| (1..=asked).contains(&bytes)));
                                spent += u64::from(bytes);
                            }
                        }
                        now = until;
                    }
                    Step::Request(conn, bytes) if !waiting.contains_key(&conn) => {
                        if all.request(now, ConnId(conn), EVERYBODY, bytes) {
                            spent += u64::from(bytes);
                        } else {
                            waiting.insert(conn, bytes);
                        }
                    }
                    Step::Request(..) => {}
                    Step::Remove(conn) => {
                        all.remove(ConnId(conn));
                        waiting.remove(&conn);
                    }
                    Step::Charge(bytes) => {
                        all.charge(now.since(Time::START).nanos() / 1_000_000_000, EVERYBODY, bytes);
                        charged += u64::from(bytes);
                    }
                }
                prop_assert_eq!(all.waiting(), waiting.len());
                // A tick may count as waited for whole that was waited for in part.
                let earned = 10 * (now.since(Time::START).nanos() / 1_000_000) + 5000;
                prop_assert!(spent <= earned, "{spent} of {earned}");
            }
            // 400 s are worth far more than all that six can ask for and 80 charges take.
            prop_assert!(charged < 400_000 && waiting.is_empty(), "{waiting:?}");
        }
    }
}
