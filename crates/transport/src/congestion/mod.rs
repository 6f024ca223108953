//! Congestion controllers: a [`Controller`] takes events and answers how many bytes may be in
//! flight. One file each; [`AnyController`] lists them.
//!
//! A controller neither knows how losses are found nor how the window comes down during recovery:
//! it sets the target of the window, and the transport brings the window there. TCP segments and uTP
//! packets are the same to it.
//!
//! # Who reduces when
//!
//! W is the window, m a full packet, T the target, q the queueing delay.
//!
//! | | loss | reduction at most once per | timeout | delay, for a W acknowledged | nothing in flight | unused window |
//! | --- | --- | --- | --- | --- | --- | --- |
//! | [`NewReno`] | W/2, at least 2m | recovery | 1m, slow start to W/2 | never | W/2 | does not grow |
//! | [`Cubic`], [`CubicLinux`] | 0.7 W, at least 2m | recovery | 1m, slow start to 0.7 W | HyStart ends slow start | W/2 | does not grow |
//! | [`HighSpeed`](Kind::HighSpeed) | W/2 to 0.9 W by its size, at least 2m | recovery | 1m, slow start to the same | never | W/2 | does not grow |
//! | [`Vegas`] | W/2, at least 2m | recovery | 1m, slow start to W/2 | ±m once a round: fewer than 2m, more than 4m in the queue | W/2 | does not grow |
//! | [`Nice`] | the same | recovery | the same | the same; W/2, at least 1m, if half of a round was delayed | W/2 | does not grow |
//! | [`Lp`] | W/2, at least 2m | recovery | 1m, slow start to W/2 | W/2 above 15 % of the range; within three RTTs again: 1m | W/2 | does not grow |
//! | [`Bbr`] | what is in flight, for a round; then as before | recovery | 1m more than in flight | 4m for 200 ms, if the least round trip is 10 s old | stays | stays |
//! | [`BbrV3`] | 0.7 of the bandwidth and of W, or what arrives; a probe's loss of 2 % bounds W | round | 1m more than in flight | half of the path's for 200 ms, if the least round trip is 5 s old | stays | stays |
//! | [`ledbat::Rfc6817`] | W/2, at least 2m | W | 1m | (1 - q/T) m, any sign | at least 1m | at most flight + 1m |
//! | [`ledbat::Fair`] | W/2, at least 2m | W | 1m | m - 0.1 W q/T | at least 1m | at most flight + 1m |
//! | [`ledbat::LedbatDraft00`] | W/2, at least 1m | W | 1m | ±m when (T - q) adds up to W T | stays | stays, either way |
//! | [`ledbat::Libutp`] | W/2, at least 10 B | 100 ms | 1m, slow start | (1 - q/T) 3000 B | 2/3 W, at least 1m | stays after 1 s |
//! | [`ledbat::Libutp2010`] | 0.78 W, at least 10 B | 100 ms | 1m | (1 - q/T) 3000 B | 1m | stays after 300 ms |
//! | [`ledbat::Libtorrent`] | W/2, at least 1m | W, and 100 ms | 1m, slow start | (1 - q/T) 3000 B | 2/3 W, at least 1m, slow start | stays, either way |
//! | [`ledbat::PlusPlus`] | W/2, at least 2m | W | 1m, slow start to W/2 | q > T: W (q/T - 1), at most W/2 | at least 1m | does not grow |
//!
//! LEDBAT++ also goes down to 2m for two round trips, on purpose, a tenth of the time. Halves, leasts,
//! intervals and targets of the LEDBAT family are knobs ([`Ledbat`]); the table has what ships. A timeout
//! in TCP leaves one segment more than what may still arrive in the first three. TCP never lets
//! the window fall below a segment, since it has no timer for a window that holds nothing.
//!
//! A congestion mark (ECN) counts as a loss for those without an [`on_ecn`](Controller::on_ecn) of their own,
//! once for the data in flight. To [`Bbr`] and [`BbrV3`] it is nothing.
//!
//! # What a controller that goes by delay makes of TCP's events
//!
//! - [`Ack::one_way_delay`] comes from timestamps, of acknowledgements that advance. Without a sample
//!   nothing moves; a stack without timestamps may not have such a controller.
//! - [`Ack::may_grow`] is false while a loss is repaired and on duplicates: delays are seen, and growth
//!   is refused. By delay RFC 6817, libutp and libtorrent still come down, for nothing in them says
//!   otherwise; the draft, of which Linux asks nothing then, and LEDBAT++ stay.
//! - [`Ack::window_limited`]: the draft moves only then, LEDBAT++ grows only then. RFC 6817 is bound by
//!   the flight size instead, libtorrent by what was in flight, libutp by [`Ack::limited_at`].
//! - [`Controller::on_recovered`] and [`Controller::on_decay`] bound the window from above, as for all.
//! - [`Controller::on_undo`] brings window and threshold of before the reduction back.
//! - [`Controller::on_resume`] means nothing: silence changes neither base delay nor window. RFC 6817's
//!   filter forgets samples older than a round trip by itself.

#[macro_use]
mod kind;

mod bbr;
mod cubic;
mod cubic_linux;
mod high_speed;
mod hystart;
pub mod ledbat;
mod lp;
mod new_reno;
mod nice;
mod vegas;
mod window;
mod windowed_max;

pub use crate::rate::{LostData, RateSample, SentData};
pub use bbr::{Bbr, BbrV3};
pub use cubic::Cubic;
pub use cubic_linux::CubicLinux;
pub use hystart::HyStartKind;
pub use kind::Build;
pub use ledbat::Ledbat;
pub use lp::Lp;
pub use new_reno::NewReno;
pub use nice::Nice;
pub use vegas::Vegas;

use flashcrowd_base::{RandomStream, Rate, Span, Time};
use serde::{Deserialize, Serialize};

controllers! {
    /// Additive increase, halving on loss (RFC 5681).
    NewReno, "new-reno", NewReno;
    /// RFC 9438, in real numbers.
    Cubic, "cubic", Box<Cubic>;
    /// CUBIC as Linux computes it: whole segments, whole milliseconds, and its own clamps.
    CubicLinux, "cubic-linux", CubicLinux;
    /// HighSpeed TCP (RFC 3649).
    HighSpeed, "high-speed", high_speed::HighSpeed;
    /// TCP Vegas by the rules of Linux (differences: docs/transports.md).
    Vegas, "vegas", Box<Vegas>;
    /// TCP Nice (Venkataramani, Kokku, Dahlin 2002), of low priority: Vegas that halves for delay.
    Nice, "nice", Box<Nice>;
    /// TCP-LP, of low priority, by the rules of Linux (differences: docs/transports.md).
    Lp, "lp", Box<Lp>;
    /// BBR version 1 as Linux ships it.
    Bbr, "bbr", Box<Bbr>;
    /// BBR version 3 (draft-ietf-ccwg-bbr).
    BbrV3, "bbr-v3", Box<BbrV3>;
    /// LEDBAT by RFC 6817, of low priority.
    Ledbat, "ledbat", Box<ledbat::Rfc6817>;
    /// Fair LEDBAT (Carofiglio et al. 2013), of low priority.
    Fledbat, "fledbat", Box<ledbat::Fair>;
    /// LEDBAT by draft-shalunov-ledbat-congestion-00 (2009), of low priority, in whole packets.
    LedbatDraft, "ledbat-draft", Box<ledbat::LedbatDraft00>;
    /// libutp's since 2013, of low priority.
    Libutp, "libutp", Box<ledbat::Libutp>;
    /// libutp's at its first public commit (2010), of low priority.
    Libutp2010, "libutp-2010", Box<ledbat::Libutp2010>;
    /// libtorrent's, of low priority.
    Libtorrent, "libtorrent", Box<ledbat::Libtorrent>;
    /// LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus), of low priority.
    LedbatPlusPlus, "ledbat-plus-plus", Box<ledbat::PlusPlus>;
}

/// The input of a controller for an acknowledgement.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// When it arrived.
    pub now: Time,
    /// Bytes newly delivered (acknowledged or SACKed). 0 for a packet that brings a delay only.
    pub acked: u64,
    /// Bytes that it delivered besides and that do not count: uTP's [`masked_bytes_only`].
    ///
    /// [`masked_bytes_only`]: crate::utp::Config::masked_bytes_only
    pub uncounted: u64,
    /// The latest round-trip sample, if this acknowledgement gave one: the least of those of the
    /// packets that it acknowledges.
    pub rtt: Option<Span>,
    /// The one-way delay of what is acknowledged, if this packet carries it: the receiver's clock when
    /// it arrived less the sender's when it was sent, in microseconds modulo 2^32. The clocks may
    /// differ, so only differences of delays mean anything.
    ///
    /// TCP: the timestamp of an acknowledgement less its echo. The receiver stamps it when it is
    /// sent, and echoes the first segment that it covers, so a delayed acknowledgement adds its
    /// wait, to the least delay as well as to this one.
    pub one_way_delay: Option<u32>,
    /// The same of this packet itself, on its way here.
    pub opposite_delay: Option<u32>,
    /// Bytes in flight before this acknowledgement.
    pub in_flight: u64,
    /// Whether the window limited the sender during the last window of data.
    pub window_limited: bool,
    /// When the window last kept the sender from sending, as far as the transport knows: TCP
    /// says `now` or [`Time::START`].
    pub limited_at: Time,
    /// Whether the window may grow. It may not while the transport repairs a loss that the
    /// controller knows of, nor on a duplicate that may turn out to announce one.
    pub may_grow: bool,
    /// Smoothed round-trip time; zero before the first sample.
    pub srtt: Span,
    /// Least round-trip time; [`Span::MAX`] before the first sample.
    pub min_rtt: Span,
    /// Offset up to which everything is acknowledged now.
    pub una: u64,
    /// Offset of the next byte to be sent: when it is acknowledged, a round has passed.
    pub nxt: u64,
    /// The rate at which the path delivers, for controllers that need it ([`Kind::needs_rates`]).
    pub rate: Option<RateSample>,
}

/// The input of a controller for a loss.
#[derive(Clone, Copy, Debug)]
pub struct Loss {
    /// When it was noticed.
    pub now: Time,
    /// The window that proved too large, in bytes.
    pub window: u64,
    /// Bytes still in flight, what is lost taken off.
    pub in_flight: u64,
    /// Offset of what is lost (the first byte of it).
    pub offset: u64,
    /// Offset of the next byte to be sent: a later loss below it belongs to the same window.
    pub nxt: u64,
}

/// The input of a controller for ECN feedback.
#[derive(Clone, Copy, Debug)]
pub struct EcnFeedback {
    /// When it arrived.
    pub now: Time,
    /// Bytes that it newly delivered.
    pub acked: u64,
    /// How many of these arrived marked: to a packet with the accurate answer (RFC 9768). RFC 3168 only
    /// tells that some packet of the window was; then it is all of them.
    pub marked: u64,
    /// Whether nothing has reduced the window for this window of data, neither loss nor mark.
    pub first: bool,
    /// The window that proved too large, in bytes.
    pub window: u64,
    /// Bytes still in flight.
    pub in_flight: u64,
    /// Offset up to which everything is acknowledged.
    pub una: u64,
    /// Offset of the next byte to be sent: when it is acknowledged, a round has passed.
    pub nxt: u64,
}

/// The parameters of a controller.
#[derive(Clone, Copy, Debug)]
pub struct Params {
    /// When the connection is made: minutes of base history and the like count from here.
    pub now: Time,
    /// Payload of a full segment.
    pub mss: u32,
    /// The transport cannot do with a window below this many bytes: a segment for TCP, which has no
    /// timer for a window that holds nothing; 0 for uTP.
    pub min_window: u64,
    /// The parameters of a controller of the LEDBAT family.
    pub ledbat: Option<Ledbat>,
    /// The first window in bytes.
    pub initial_window: u64,
    /// How slow start ends before a loss ends it.
    pub hystart: HyStartKind,
    /// Grow by at most one segment per acknowledgement in slow start, however much it covers.
    pub count_acks: bool,
    /// The transport spreads packets over the round trip: HyStart must not take the gaps for a queue.
    pub paced: bool,
}

impl Params {
    /// The table of a configuration that passed its check.
    fn checked_ledbat(&self) -> Ledbat {
        self.ledbat.expect("a configuration that was checked has the table")
    }
}

/// Events, and what the transport asks. What most controllers do not care for has a default body.
pub trait Controller {
    /// Data was delivered.
    fn on_ack(&mut self, ack: &Ack);
    /// A loss was found in a window of data that has not had one before: fast recovery begins.
    fn on_loss(&mut self, loss: &Loss);
    /// Packets arrived marked. Without an answer of its own a controller does what it does for a loss, once
    /// a window (RFC 3168, section 6.1.2): NewReno halves, CUBIC takes 0.7, as in Linux. The transport tells
    /// the other end that it has reacted (CWR), whatever the answer.
    fn on_ecn(&mut self, marks: &EcnFeedback) {
        if marks.first {
            let EcnFeedback { now, window, in_flight, una, nxt, .. } = *marks;
            self.on_loss(&Loss { now, window, in_flight, offset: una, nxt });
        }
    }
    /// The retransmission timer fired. `again` if it is the same data as the last time.
    fn on_timeout(&mut self, loss: &Loss, again: bool);
    /// A full packet carries `bytes` of payload now (uTP: path MTU, packet-size policies).
    fn on_packet_size(&mut self, bytes: u32);
    /// How many bytes may be in flight.
    fn window(&self) -> u64;
    /// The slow-start threshold; `u64::MAX` before the first reduction.
    fn threshold(&self) -> u64;

    /// Data is sent. Only where [`Build::NEEDS_RATES`].
    fn on_sent(&mut self, _: &SentData) {}
    /// A packet counts as lost; before [`on_loss`](Controller::on_loss), and for each of them. Only
    /// where [`Build::NEEDS_RATES`].
    fn on_lost(&mut self, _: &LostData) {}
    /// Fast recovery is over, and the window should not be above `limit` now.
    fn on_recovered(&mut self, _limit: u64) {}
    /// The timer fired with nothing in flight: there was nothing to send, or no room in the window
    /// (uTP). TCP stops its timer and knows [`on_decay`](Controller::on_decay).
    fn on_idle(&mut self, _now: Time) {}
    /// The last reduction was for no loss.
    fn on_undo(&mut self) {}
    /// The application left the window unused, and it has decayed to `window`.
    fn on_decay(&mut self, _window: u64) {}
    /// The sender goes on after having had nothing in flight for the span `idle`.
    fn on_resume(&mut self, _now: Time, _idle: Span) {}
    /// The rate at which packets may leave; `None` if the window alone decides.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }
    /// Whether [`window`](Controller::window) also holds during fast recovery, instead of the
    /// transport's own way down (Linux: `cong_control`). Then [`on_recovered`](Controller::on_recovered)
    /// also ends what a timeout began.
    fn governs_recovery(&self) -> bool {
        false
    }
    /// Whether it holds back less than the path would take, so that samples of the rate count as
    /// limited by the application.
    fn is_withholding(&self) -> bool {
        false
    }
    /// The name of its state, if it has a word of its own for that (BBR). The others are in slow start below
    /// their threshold and in congestion avoidance above.
    fn state_name(&self) -> Option<&'static str> {
        None
    }
    /// Its random stream, if it draws: the driver puts one there that no other connection has.
    fn stream(&mut self) -> Option<&mut RandomStream> {
        None
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A controller of 1000-byte segments.
    pub(crate) fn params(segments: u64) -> Params {
        Params {
            now: Time::START,
            mss: 1000,
            min_window: 0,
            ledbat: None,
            initial_window: 1000 * segments,
            hystart: HyStartKind::None,
            count_acks: false,
            paced: false,
        }
    }

    /// Tens of thousands of connections hold one: what the LEDBAT family needs is in a box.
    #[test]
    fn a_controller_is_no_larger_than_cubic() {
        assert!(size_of::<AnyController>() <= size_of::<CubicLinux>() + 8);
    }

    /// The others are described by their phase, as in connection logs.
    #[test]
    fn bbr_alone_has_words_for_what_it_does() {
        for kind in Kind::ALL {
            let controller =
                AnyController::new(kind, Params { ledbat: kind.ledbat(), ..params(10) });
            let expected = matches!(kind, Kind::Bbr | Kind::BbrV3).then_some("startup");
            assert_eq!(controller.state_name(), expected, "{kind:?}");
            assert!(!controller.is_withholding(), "{kind:?}");
        }
    }

    /// The window after 300 acknowledgements at one rate and RTT, with `delay_us` of each.
    fn window_after(kind: Kind, delay_us: impl Fn(u32) -> Option<u32>) -> u64 {
        let params = Params { ledbat: kind.ledbat(), ..params(10) };
        let mut controller = AnyController::new(kind, params);
        for number in 0..300 {
            let now = Time::START + Span::from_millis(10 * u64::from(number));
            controller.on_ack(&Ack {
                now,
                limited_at: now,
                rtt: Some(Span::from_millis(100)),
                one_way_delay: delay_us(number),
                in_flight: controller.window(),
                una: 1000 * u64::from(number),
                nxt: 1000 * u64::from(number) + controller.window(),
                ..ack(1000)
            });
        }
        controller.window()
    }

    /// Stacks without timestamps are refused to these controllers.
    #[test]
    fn controllers_that_use_one_way_delay_are_those_that_need_it() {
        for kind in Kind::ALL {
            let constant = window_after(kind, |_| Some(50_000));
            let rising = window_after(kind, |number| Some(50_000 + 2000 * number));
            assert_eq!(constant != rising, kind.needs_one_way_delay(), "{kind:?}");
        }
    }

    /// A sender that uses its whole window, 100 ms away.
    pub(crate) fn ack(acked: u64) -> Ack {
        Ack {
            now: Time::START,
            acked,
            uncounted: 0,
            rtt: None,
            one_way_delay: None,
            opposite_delay: None,
            in_flight: 0,
            window_limited: true,
            limited_at: Time::START,
            may_grow: true,
            srtt: Span::from_millis(100),
            min_rtt: Span::from_millis(100),
            una: 0,
            nxt: 0,
            rate: None,
        }
    }

    /// A loss in a window of `window` bytes.
    pub(crate) fn loss(window: u64) -> Loss {
        Loss { now: Time::START, window, in_flight: 0, offset: 0, nxt: 0 }
    }
}
