//! uTP as people run or ran it, as complete configurations.

use super::config::{
    Backoff, Config, DelayedAck, IdleTimer, Ladder, LossDetection, PacketSize, PathMtu,
    RttEstimator, SackPolicy, SearchBegin, SmallWindow, TimerRestart, WindowFill, WindowPacket,
};
use crate::congestion::{HyStartKind, Kind, ledbat};
use crate::pacing::Pacing;
use crate::tcp::Nagle;
use flashcrowd_base::Span;

/// The profile of this name.
pub fn named(name: &str) -> Option<Config> {
    all().into_iter().find(|profile| profile.name == name)
}

/// All profiles.
pub fn all() -> Vec<Config> {
    vec![
        libutp(),
        libutp_2010(),
        libtorrent(),
        rfc6817(),
        ledbat_plus_plus(),
        alpha1(),
        alpha2(),
        beta1(),
    ]
}

/// Libutp as it ships (`bittorrent/libutp`, last change 2018; file and constant in each comment).
pub fn libutp() -> Config {
    Config {
        name: "libutp".into(),
        path_mtu: PathMtu {
            // mtu_reset
            floor_bytes: 576,
            // utp_utils.cpp, UTP_GetUDPMTU: 1500 less IPv4, UDP, GRE, PPPoE, MPPE, and 36 to spare.
            ceiling_bytes: 1402,
            // mtu_last = mtu_ceiling
            begin: SearchBegin::Ceiling,
            // mtu_search_update
            tolerance_bytes: 16,
            interval_ns: Span::from_secs(30 * 60),
            endless: false,
            probe_window_datagrams: 0,
        },
        packet_size: PacketSize::PathMtu,
        // is_full
        window_fill: WindowFill::Whole,
        small_window: SmallWindow::Wait,
        // flush_packets
        nagle: Nagle::Classic,
        controller: Kind::Libutp,
        ledbat: Some(ledbat::libutp()),
        hystart: HyStartKind::None,
        pacing: Pacing::Off,
        window_packet: WindowPacket::Payload,
        // utp_initialize_socket: max_window is one packet
        initial_window_packets: 1,
        initial_window_bytes: 0,
        // opt_sndbuf, opt_rcvbuf
        send_buffer_bytes: 1 << 20,
        receive_buffer_bytes: 1 << 20,
        // ack_packet
        rtt_estimator: RttEstimator::Rfc6298,
        // rto, and its floor in ack_packet; there is no ceiling
        initial_rto_ns: Span::from_secs(3),
        min_rto_ns: Span::from_secs(1),
        max_rto_ns: Span::from_secs(3600),
        rto_deviations: 4,
        backoff: Backoff::Doubling,
        // ack_packet: retransmit_timeout = rto
        keep_backoff: false,
        timer_restart: TimerRestart::Progress,
        // TIMEOUT_CHECK_INTERVAL
        timer_grain_ns: Span::from_millis(500),
        // check_timeouts: retransmit_count >= 2 in CS_SYN_SENT, >= 4 otherwise
        syn_retries: 2,
        data_retries: 4,
        max_transmissions: 0,
        loss_detection: LossDetection {
            // There is no resending on plain duplicates, only on masks (selective_ack).
            duplicate_acks: 0,
            // utp_process_incoming: duplicate_ack, for probes of the path
            any_window: true,
            in_a_row: true,
            // DUPLICATE_ACKS_BEFORE_RESEND
            sacked_after: 3,
            resends_per_ack: 4,
            after_timeout: true,
        },
        // ACK_NR_ALLOWED_WINDOW
        stale_acks: 3,
        masked_bytes_only: false,
        idle_timer: IdleTimer::BackingOff,
        // send_ack: four bytes, 14 + 16 packets
        sack: SackPolicy::Fixed { bytes: 4 },
        // utp_issue_deferred_acks
        delayed_ack: DelayedAck { bytes: 0, max_ns: Span::ZERO },
        // utp_process_incoming: send_ack at the end, and schedule_ack behind it
        acknowledge_end_twice: true,
        // zerowindow_time
        zero_window_probe_ns: Span::from_secs(15),
        // KEEPALIVE_INTERVAL
        keep_alive_ns: Span::from_secs(29),
        silence_timeout_ns: Span::ZERO,
        // Not bounded there; longer than the interval of keep-alives here.
        half_open_ns: Span::from_secs(60),
        // A socket is gone when its FIN is acknowledged, and answers a later FIN with RESET.
        linger_ns: Span::ZERO,
    }
}

/// Libutp as first published, May 2010.
pub fn libutp_2010() -> Config {
    Config {
        name: "libutp-2010".into(),
        controller: Kind::Libutp2010,
        ledbat: Some(ledbat::libutp_2010()),
        // DYNAMIC_PACKET_SIZE_ENABLED, for the target of 100 ms
        packet_size: PacketSize::Ladder(doubling(Span::from_millis(100))),
        // USE_PACKET_PACING
        small_window: SmallWindow::Paced,
        // DELAYED_ACK_BYTE_THRESHOLD, DELAYED_ACK_TIME_THRESHOLD
        delayed_ack: DelayedAck { bytes: 2400, max_ns: Span::from_millis(5) },
        ..libutp()
    }
}

/// The packet sizes of 2009, of libutp's first public code and in rossi2010's figure 1c: 150 bytes,
/// twice as large every ten seconds if more than 4 packets go in a target delay and the window
/// holds more than 5, half if less than 1 or fewer than 3; from 1200 to what the path takes.
fn doubling(target: Span) -> Ladder {
    Ladder {
        steps_bytes: vec![150, 300, 600, 1200],
        period_ns: Span::from_secs(10),
        target_ns: target,
        raise_packets: 4,
        raise_window_packets: 5,
        lower_packets: 1,
        lower_window_packets: 3,
        restart_on_loss: false,
    }
}

/// Libtorrent's own implementation (`arvidn/libtorrent`, RC_2_0 and RC_2_1, utp_stream.cpp and
/// settings; the name of the member or function in each comment).
pub fn libtorrent() -> Config {
    Config {
        name: "libtorrent".into(),
        controller: Kind::Libtorrent,
        ledbat: Some(ledbat::libtorrent()),
        path_mtu: PathMtu {
            // m_mtu_floor: 576 less IPv4 and UDP
            floor_bytes: 548,
            // mtu_for_dest: 1500 less IPv4 and UDP
            ceiling_bytes: 1472,
            begin: SearchBegin::Floor,
            tolerance_bytes: 0,
            interval_ns: Span::from_secs(30 * 60),
            // update_mtu_limits
            endless: true,
            // send_pkt: m_cwnd > m_mtu_floor * 3
            probe_window_datagrams: 3,
        },
        // m_nagle_seq_nr: one undersized packet at a time, since 2.0.8
        nagle: Nagle::Minshall,
        // do_ledbat, tick: m_mtu
        window_packet: WindowPacket::Probe,
        // m_cwnd: TORRENT_ETHERNET_MTU
        initial_window_bytes: 1500,
        // ack_packet: m_rtt
        rtt_estimator: RttEstimator::SlidingAverage,
        // utp_connect_timeout, utp_min_timeout; packet_timeout for the rest
        initial_rto_ns: Span::from_secs(3),
        min_rto_ns: Span::from_millis(500),
        max_rto_ns: Span::from_secs(60),
        rto_deviations: 2,
        backoff: Backoff::Seconds,
        // incoming_packet: m_num_timeouts = 0, m_timeout
        timer_restart: TimerRestart::AnyPacket,
        // session_impl::on_tick, tick_interval
        timer_grain_ns: Span::from_millis(500),
        // tick: a socket that is not m_confirmed fails with the first timeout, whatever utp_syn_resends
        syn_retries: 0,
        // tick: m_num_timeouts, and num_transmissions of the oldest packet, by utp_num_resends
        data_retries: 3,
        max_transmissions: 3,
        loss_detection: LossDetection {
            // dup_ack_limit; parse_sack: more than that of a mask; five packets of one
            duplicate_acks: 3,
            // incoming_packet: m_duplicate_acks; maybe_inc_acked_seq_nr ends it
            any_window: true,
            in_a_row: false,
            sacked_after: 4,
            resends_per_ack: 5,
            // send_pkt, tick: m_fast_resend_seq_nr goes past what is resent
            after_timeout: false,
        },
        // incoming_packet: parse_sack returns newly acked_bytes
        masked_bytes_only: true,
        // tick: with nothing in flight, m_num_timeouts stays
        idle_timer: IdleTimer::Steady,
        // write_sack: as long as the buffer of disorder
        sack: SackPolicy::AsNeeded,
        acknowledge_end_twice: false,
        // Three timeouts of the other end's FIN.
        linger_ns: Span::from_secs(6),
        ..libutp()
    }
}

/// Losses are found as in TCP: by three duplicates (RFC 5681), or three later packets of a mask.
fn found_as_in_tcp() -> LossDetection {
    LossDetection {
        duplicate_acks: 3,
        any_window: false,
        in_a_row: true,
        sacked_after: 3,
        resends_per_ack: 4,
        after_timeout: true,
    }
}

/// RFC 6817 on uTP's wire: whatever the RFC says; where it is silent, TCP's habits.
pub fn rfc6817() -> Config {
    Config {
        name: "rfc6817".into(),
        controller: Kind::Ledbat,
        ledbat: Some(ledbat::rfc_6817()),
        // INIT_CWND
        initial_window_packets: 2,
        // CTO: as the timeout of RFC 6298
        initial_rto_ns: Span::from_secs(1),
        min_rto_ns: Span::from_secs(1),
        max_rto_ns: Span::from_secs(60),
        keep_backoff: true,
        timer_grain_ns: Span::ZERO,
        syn_retries: 6,
        data_retries: 15,
        loss_detection: found_as_in_tcp(),
        idle_timer: IdleTimer::Off,
        sack: SackPolicy::AsNeeded,
        acknowledge_end_twice: false,
        linger_ns: Span::from_secs(60),
        ..libutp()
    }
}

/// LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus) on uTP's wire.
pub fn ledbat_plus_plus() -> Config {
    Config {
        name: "ledbat-plus-plus".into(),
        controller: Kind::LedbatPlusPlus,
        ledbat: Some(ledbat::plus_plus()),
        ..rfc6817()
    }
}

/// The closed client of December 2008, rossi2010's alpha1. Its packets carried about 350 bytes
/// (figure 1b). Loss detection as in TCP of the day, as of alpha2; everything else is unknown and
/// that of the first public code. Its collapse after 50 s has no public explanation and is not
/// modelled; nor are the three bytes by which headers were longer then.
pub fn alpha1() -> Config {
    Config {
        name: "alpha1".into(),
        ledbat: Some(ledbat::alpha1()),
        packet_size: PacketSize::Fixed { bytes: 350 },
        loss_detection: found_as_in_tcp(),
        ..libutp_2010()
    }
}

/// The closed client of March 2009, alpha2: packets that double every ten seconds, and a target of
/// 25 ms, with which the first public code starves at 250 kbit/s. The paper saw no starvation above
/// 1 Mbit/s; here there is none from 500 kbit/s on. It fell with jitter (figure 3b), so three
/// duplicates make a loss.
pub fn alpha2() -> Config {
    Config {
        name: "alpha2".into(),
        ledbat: Some(ledbat::alpha2()),
        packet_size: PacketSize::Ladder(doubling(Span::from_millis(25))),
        ..alpha1()
    }
}

/// The closed client of August 2009, beta1: packets of mixed size that fill the window, large ones in
/// the end (figure 1d), and none the worse for 40 ms of jitter (figure 3b).
pub fn beta1() -> Config {
    Config {
        name: "beta1".into(),
        ledbat: Some(ledbat::beta1()),
        packet_size: PacketSize::PathMtu,
        // BEP 29: no packet of less than 150 bytes
        window_fill: WindowFill::Exact { least_bytes: 150 },
        // Reordering by 40 ms left it unmoved (rossi2010, figure 3b).
        loss_detection: LossDetection {
            duplicate_acks: 0,
            any_window: true,
            in_a_row: true,
            sacked_after: 32,
            resends_per_ack: 4,
            after_timeout: true,
        },
        ..libutp_2010()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_works_and_has_a_name_of_its_own() {
        for profile in all() {
            assert_eq!(profile.check(), Ok(()), "{}", profile.name);
            assert_eq!(named(&profile.name), Some(profile));
        }
        assert_eq!(named("nobody"), None);
    }
}
