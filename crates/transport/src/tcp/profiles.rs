//! Stacks that people run or ran, as complete configurations.

use super::config::{
    Config, DelayedAck, Ecn, Nagle, ReceiveWindow, Reduction, RightSizing, RtoFloor, SendBuffer,
};
use crate::congestion::{HyStartKind, Kind, ledbat};
use crate::pacing::Pacing;
use flashcrowd_base::Span;

/// The profile of this name.
pub fn named(name: &str) -> Option<Config> {
    all().into_iter().find(|profile| profile.name == name)
}

/// All profiles.
pub fn all() -> Vec<Config> {
    vec![linux_2_6(), linux_6(), freebsd_4(), windows_xp(), ns2_tcp(), ns2_ledbat()]
}

/// A Linux of about 2010, as on the testbeds of the papers (2.6.29 to 2.6.38).
pub fn linux_2_6() -> Config {
    Config {
        name: "linux-2.6".into(),
        mtu_bytes: 1500,
        timestamps: true,
        free_timestamps: false,
        window_scaling: true,
        sack: true,
        // net.ipv4.tcp_dsack is 1 since 2.4.
        dsack: true,
        forward_ack: true,
        rack: false,
        reduction: Reduction::RateHalving,
        controller: Kind::CubicLinux,
        ledbat: None,
        hystart: HyStartKind::Linux,
        pacing: Pacing::Off,
        count_acks: true,
        limited_transmit: true,
        tail_loss_probe: false,
        undo: true,
        // net.ipv4.tcp_ecn is 2 since 2.6.31.
        ecn: Ecn::Passive,
        initial_window_segments: 3,
        initial_rto_ns: Span::from_secs(3),
        min_rto_ns: Span::from_millis(200),
        max_rto_ns: Span::from_secs(120),
        karn: true,
        one_rtt_sample: false,
        rto_floor: RtoFloor::Variance,
        delayed_ack: linux_delayed_ack(),
        nagle: Nagle::Minshall,
        // 4 segments at first; tcp_rmem 87380 and 4 MiB, of which 3/4 are window (adv_win_scale 2).
        receive_window: ReceiveWindow {
            initial_bytes: 5840,
            buffer_bytes: 65_535,
            max_bytes: 3_145_728,
            autotune: true,
        },
        right_sizing: RightSizing::Linux2_6,
        send_buffer: SendBuffer { initial_bytes: 16_384, max_bytes: 4_194_304, autotune: true },
        app_limited_validation: true,
        idle_restart: true,
        idle_restart_at_once: false,
        tso_bytes: 0,
        tso_push: false,
        tso_defer: false,
        syn_retries: 5,
        data_retries: 15,
        time_wait_ns: Span::from_secs(60),
    }
}

/// A Linux of today (6.x).
pub fn linux_6() -> Config {
    Config {
        name: "linux-6".into(),
        forward_ack: false,
        rack: true,
        reduction: Reduction::Prr,
        count_acks: false,
        tail_loss_probe: true,
        initial_window_segments: 10,
        initial_rto_ns: Span::from_secs(1),
        // tcp_rmem 131072 and 6 MiB, of which 160 of 256 are window once a segment of 1448 B has come that
        // takes 2304 B of memory (tcp_scaling_ratio, 128 before that).
        receive_window: ReceiveWindow {
            initial_bytes: 64_240,
            buffer_bytes: 81_920,
            max_bytes: 3_932_160,
            autotune: true,
        },
        right_sizing: RightSizing::Linux6_16,
        tso_push: true,
        tso_defer: true,
        syn_retries: 6,
        ..linux_2_6()
    }
}

/// FreeBSD 4.5 of January 2002, the server and the clients of circus2004.
///
/// NewReno without SACK (SACK came with 5.3) and without limited transmit (4.8), windows that grow per
/// acknowledgement, one segment at first (`slowstart_flightsize` 1), 32 and 64 KiB of buffers that nothing tunes
/// (release notes of 4.5: `sendspace`, `recvspace`). Timers of 4.x are callouts, not the slow and fast ticks of
/// 4.4BSD: an acknowledgement waits 100 ms, a timeout is 3 s at first and 1 to 64 s later, and a segment is resent 12
/// times (`tcp_timer.h` as the Netsem model of FreeBSD 4.6 has it: `TCPTV_DELACK`, `TCPTV_RTOBASE`, `TCPTV_MIN`,
/// `TCPTV_REXMTMAX`, `TCP_MAXRXTSHIFT`). A connection attempt ends after 75 s (`TCPTV_KEEP_INIT`): 4 repeats here.
/// A silence longer than the timeout brings the first window back at once (`tcp_output`). Not as there: the silence
/// is counted from the last segment sent, not from the last one received.
pub fn freebsd_4() -> Config {
    Config {
        name: "freebsd-4".into(),
        timestamps: true,
        window_scaling: true,
        sack: false,
        limited_transmit: false,
        initial_window_segments: 1,
        min_rto_ns: Span::from_secs(1),
        max_rto_ns: Span::from_secs(64),
        delayed_ack: DelayedAck {
            segments: 2,
            min_ns: Span::from_millis(100),
            max_ns: Span::from_millis(100),
            quick_acks: 0,
            on_read: false,
        },
        receive_window: ReceiveWindow {
            initial_bytes: 65_536,
            buffer_bytes: 65_536,
            max_bytes: 65_536,
            autotune: false,
        },
        send_buffer: SendBuffer { initial_bytes: 32_768, max_bytes: 32_768, autotune: false },
        idle_restart_at_once: true,
        syn_retries: 4,
        data_retries: 12,
        time_wait_ns: Span::from_secs(60),
        ..windows_xp()
    }
}

/// Windows XP on a line of 1 to 100 Mbit/s: 12 segments of window, and nothing tuned.
pub fn windows_xp() -> Config {
    Config {
        name: "windows-xp".into(),
        mtu_bytes: 1500,
        timestamps: false,
        free_timestamps: false,
        window_scaling: false,
        sack: true,
        // Windows has RFC 2883 since Vista ("New Networking Features in Windows Server 2008 and
        // Windows Vista", Microsoft TechNet).
        dsack: false,
        forward_ack: false,
        rack: false,
        reduction: Reduction::Classic,
        controller: Kind::NewReno,
        ledbat: None,
        hystart: HyStartKind::None,
        pacing: Pacing::Off,
        count_acks: true,
        limited_transmit: true,
        tail_loss_probe: false,
        undo: false,
        ecn: Ecn::Off,
        initial_window_segments: 2,
        initial_rto_ns: Span::from_secs(3),
        min_rto_ns: Span::from_millis(300),
        max_rto_ns: Span::from_secs(240),
        karn: true,
        one_rtt_sample: false,
        rto_floor: RtoFloor::Timeout,
        delayed_ack: DelayedAck {
            segments: 2,
            min_ns: Span::from_millis(200),
            max_ns: Span::from_millis(200),
            quick_acks: 0,
            on_read: false,
        },
        nagle: Nagle::Classic,
        receive_window: ReceiveWindow {
            initial_bytes: 17_520,
            buffer_bytes: 17_520,
            max_bytes: 17_520,
            autotune: false,
        },
        right_sizing: RightSizing::Linux2_6,
        send_buffer: SendBuffer { initial_bytes: 17_520, max_bytes: 17_520, autotune: false },
        app_limited_validation: false,
        idle_restart: true,
        idle_restart_at_once: false,
        tso_bytes: 0,
        tso_push: false,
        tso_defer: false,
        syn_retries: 2,
        data_retries: 5,
        time_wait_ns: Span::from_secs(240),
    }
}

/// TCP of the simulator ns-2.35, Agent/TCP/FullTcp/Newreno with the values of ns-default.tcl and segsize_ 1460, which is
/// what the BitTorrent module of testa2011 sets: 40 bytes of headers and nothing else, an acknowledgement for every
/// segment (segsperack_ 1), two segments at first (windowInit_), growth per acknowledgement, timeouts of 3 s at first and
/// 200 ms at least, and window_ 20, which the module leaves as it is.
///
/// FullTcp does not read `singledup_`, so there is no limited transmit. A silence longer than the timeout brings the
/// window back to windowInit_ (FullTcpAgent::idle_restart). Not as in ns-2: Nagle's algorithm is off, which would hold
/// the end of the last block; and round trips are not counted in ticks of 10 ms.
pub fn ns2_tcp() -> Config {
    Config {
        name: "ns2-tcp".into(),
        mtu_bytes: 1500,
        timestamps: false,
        free_timestamps: true,
        window_scaling: true,
        sack: false,
        dsack: false,
        forward_ack: false,
        rack: false,
        reduction: Reduction::Ns2,
        controller: Kind::NewReno,
        ledbat: None,
        hystart: HyStartKind::None,
        pacing: Pacing::Off,
        count_acks: true,
        limited_transmit: false,
        tail_loss_probe: false,
        undo: false,
        ecn: Ecn::Off,
        initial_window_segments: 2,
        initial_rto_ns: Span::from_secs(3),
        min_rto_ns: Span::from_millis(200),
        max_rto_ns: Span::from_secs(60),
        karn: false,
        one_rtt_sample: true,
        rto_floor: RtoFloor::Timeout,
        delayed_ack: DelayedAck {
            segments: 1,
            min_ns: Span::from_millis(100),
            max_ns: Span::from_millis(100),
            quick_acks: 0,
            on_read: false,
        },
        nagle: Nagle::Off,
        // window_, "the upper bound on the advertised window": 20 segments in flight. ns-2 offers
        // them whether or not the application has read; a buffer offers its last segment only
        // after that, so it has room for one more.
        receive_window: ReceiveWindow {
            initial_bytes: 20 * 1460,
            buffer_bytes: 21 * 1460,
            max_bytes: 21 * 1460,
            autotune: false,
        },
        right_sizing: RightSizing::Linux2_6,
        send_buffer: SendBuffer { initial_bytes: 1 << 20, max_bytes: 1 << 20, autotune: false },
        app_limited_validation: false,
        idle_restart: true,
        idle_restart_at_once: true,
        tso_bytes: 0,
        tso_push: false,
        tso_defer: false,
        syn_retries: 10,
        data_retries: 100,
        time_wait_ns: Span::from_secs(1),
    }
}

/// The same with Valenti's LEDBAT in place of NewReno, as in testa2011: TCP's segments and headers,
/// timestamps that cost nothing, 25 ms, no slow start, one segment at least, growth only if the
/// window is the limit (`tcp_is_cwnd_limited`), and no decay of an unused window. His module runs in Linux, too
/// (rossi2010): recovery, limited transmit and back-off are of the RFCs, not of FullTcp.
pub fn ns2_ledbat() -> Config {
    Config {
        name: "ns2-ledbat".into(),
        timestamps: true,
        reduction: Reduction::Classic,
        limited_transmit: true,
        karn: true,
        controller: Kind::LedbatDraft,
        ledbat: Some(ledbat::draft()),
        app_limited_validation: true,
        idle_restart: false,
        ..ns2_tcp()
    }
}

/// `TCP_ATO_MIN` 40 ms, `TCP_DELACK_MAX` 200 ms, `TCP_MAX_QUICKACKS` 16.
fn linux_delayed_ack() -> DelayedAck {
    DelayedAck {
        segments: 2,
        min_ns: Span::from_millis(40),
        max_ns: Span::from_millis(200),
        quick_acks: 16,
        on_read: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_are_usable_and_found_by_name() {
        for profile in all() {
            assert_eq!(profile.check(), Ok(()), "{}", profile.name);
            assert_eq!(named(&profile.name), Some(profile));
        }
        assert_eq!(named("linux-1.2"), None);
        assert_eq!(linux_6().segment_bytes(), 1448);
        assert_eq!(freebsd_4().segment_bytes(), 1448);
        assert_eq!(windows_xp().segment_bytes(), 1460);
    }
}
