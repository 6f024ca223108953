//! What a configuration may say: the last value that is allowed is, and the next one is refused with
//! the name of its field.

use flashcrowd_base::Span;
use flashcrowd_transport::utp::{PacketSize, SackPolicy};
use flashcrowd_transport::{tcp, utp};
use std::fmt::Debug;

const MILLI: u64 = 1_000_000;
const SECOND: u64 = 1000 * MILLI;
const HOUR: u64 = 3600 * SECOND;

/// A configuration, and how to check one.
struct Bounds<C> {
    config: C,
    check: fn(&C) -> Option<&'static str>,
}

impl<C: Clone> Bounds<C> {
    /// With any of the `allowed` values it passes, with any of the `refused` ones `field` is named.
    fn of<X: Clone + Debug>(
        &self,
        field: &str,
        set: fn(&mut C, X),
        allowed: &[X],
        refused: &[X],
    ) -> &Self {
        assert_eq!((self.check)(&self.config), None);
        let found = |value: &X| {
            let mut config = self.config.clone();
            set(&mut config, value.clone());
            (self.check)(&config)
        };
        for value in allowed {
            assert_eq!(found(value), None, "{field}: {value:?}");
        }
        for value in refused {
            assert_eq!(found(value), Some(field), "{field}: {value:?}");
        }
        self
    }

    /// From `min` to `max`.
    fn between(&self, field: &str, set: fn(&mut C, u64), min: u64, max: u64) -> &Self {
        let below = min.checked_sub(1).into_iter();
        let refused: Vec<u64> = below.chain([max + 1]).collect();
        self.of(field, set, &[min, max], &refused)
    }

    /// `min` or more.
    fn at_least(&self, field: &str, set: fn(&mut C, u64), min: u64) -> &Self {
        self.of(field, set, &[min], &[min - 1])
    }

    /// More than nothing, up to `max`.
    fn share(&self, field: &str, set: fn(&mut C, f64), max: f64) -> &Self {
        self.of(field, set, &[1e-9, max], &[0.0, -1.0, max + 0.1, f64::NAN, f64::INFINITY])
    }
}

fn nanos(value: u64) -> Span {
    Span::from_nanos(value)
}

fn of_utp(config: utp::Config) -> Bounds<utp::Config> {
    Bounds { config, check: |config| config.check().err().map(|error| error.field) }
}

#[test]
fn utp_is_bounded() {
    let mut config = utp::profiles::libutp();
    (config.path_mtu.floor_bytes, config.path_mtu.ceiling_bytes) = (576, 1400);
    (config.min_rto_ns, config.initial_rto_ns) = (Span::from_secs(1), Span::from_secs(3));
    config.max_rto_ns = Span::from_secs(60);
    config.delayed_ack.bytes = 0;
    let bounds = of_utp(config.clone());
    bounds
        .of("path_mtu.floor_bytes", |c, x| c.path_mtu.floor_bytes = x, &[150, 1400], &[149])
        .of("path_mtu.ceiling_bytes", |c, x| c.path_mtu.floor_bytes = x, &[], &[1401])
        .between("path_mtu.ceiling_bytes", |c, x| c.path_mtu.ceiling_bytes = x as u32, 576, 65_000)
        .at_least("path_mtu.interval_ns", |c, x| c.path_mtu.interval_ns = nanos(x), SECOND)
        .between("initial_window_packets", |c, x| c.initial_window_packets = x as u32, 1, 1000)
        .at_least("send_buffer_bytes", |c, x| c.send_buffer_bytes = x, 2800)
        .between("receive_buffer_bytes", |c, x| c.receive_buffer_bytes = x, 1, 1 << 30)
        .at_least("initial_rto_ns", |c, x| c.initial_rto_ns = nanos(x), MILLI)
        .at_least("min_rto_ns", |c, x| c.min_rto_ns = nanos(x), MILLI)
        .between("max_rto_ns", |c, x| c.max_rto_ns = nanos(x), 3 * SECOND, HOUR)
        .between("max_rto_ns", |c, x| c.min_rto_ns = nanos(x.max(MILLI)), 0, 60 * SECOND)
        .between("max_rto_ns", |c, x| c.initial_rto_ns = nanos(x.max(MILLI)), 0, 60 * SECOND)
        .between("rto_deviations", |c, x| c.rto_deviations = x as u32, 1, 16)
        .between("timer_grain_ns", |c, x| c.timer_grain_ns = nanos(x), 0, 10 * SECOND)
        .of("ledbat", |c, x| c.ledbat = x, &[], &[None])
        .between("stale_acks", |c, x| c.stale_acks = x as u32, 0, 1024)
        .between("syn_retries", |c, x| c.syn_retries = x as u32, 0, 100)
        .between("data_retries", |c, x| c.data_retries = x as u32, 0, 100)
        .between(
            "loss_detection.resends_per_ack",
            |c, x| c.loss_detection.resends_per_ack = x as u32,
            1,
            64,
        )
        .of(
            "sack.fixed.bytes",
            |c, bytes| c.sack = SackPolicy::Fixed { bytes },
            &[4, 8, 24],
            &[0, 2, 3, 6, 28],
        )
        .of("sack.fixed.bytes", |c, x| c.sack = x, &[SackPolicy::Off, SackPolicy::AsNeeded], &[])
        .between("delayed_ack.max_ns", |c, x| c.delayed_ack.max_ns = nanos(x), 0, SECOND)
        .between("zero_window_probe_ns", |c, x| c.zero_window_probe_ns = nanos(x), MILLI, HOUR)
        .of("keep_alive_ns", |c, x| c.keep_alive_ns = nanos(x), &[0, SECOND], &[1, SECOND - 1])
        .of(
            "silence_timeout_ns",
            |c, x| c.silence_timeout_ns = nanos(x),
            &[0, SECOND],
            &[1, SECOND - 1],
        )
        .at_least("half_open_ns", |c, x| c.half_open_ns = nanos(x), SECOND)
        .of(
            "packet_size.fixed.bytes",
            |c, bytes| c.packet_size = PacketSize::Fixed { bytes },
            &[1, 65_000],
            &[0, 65_001],
        );
    // Where acknowledgements wait, they wait for some time.
    config.delayed_ack.bytes = 3000;
    config.delayed_ack.max_ns = nanos(MILLI);
    of_utp(config).at_least("delayed_ack.max_ns", |c, x| c.delayed_ack.max_ns = nanos(x), MILLI);
}

#[test]
fn the_sizes_of_a_ladder_rise() {
    fn ladder(config: &mut utp::Config) -> &mut utp::Ladder {
        match &mut config.packet_size {
            PacketSize::Ladder(ladder) => ladder,
            other => panic!("{other:?}"),
        }
    }
    of_utp(utp::profiles::alpha2())
        .of(
            "packet_size.ladder.steps_bytes",
            |c, x| ladder(c).steps_bytes = x,
            &[vec![1], vec![5, 6, 1000]],
            &[vec![], vec![0], vec![0, 1], vec![5, 5], vec![6, 5]],
        )
        .at_least("packet_size.ladder.period_ns", |c, x| ladder(c).period_ns = nanos(x), MILLI)
        .at_least("packet_size.ladder.target_ns", |c, x| ladder(c).target_ns = nanos(x), MILLI);
}

#[test]
fn ledbat_is_bounded() {
    let mut table = utp::profiles::libutp().ledbat.expect("there is one");
    (table.min_window_packets, table.min_window_bytes) = (0, 10);
    table.max_window_bytes = 1 << 30;
    let of = |config| Bounds {
        config,
        check: |table: &flashcrowd_transport::congestion::Ledbat| {
            table.check().err().map(|(field, _)| field)
        },
    };
    of(table)
        .between("ledbat.target_ns", |t, x| t.target_ns = nanos(x), MILLI, 10 * SECOND)
        .share("ledbat.gain", |t, x| t.gain = x, 1000.0)
        .between("ledbat.max_increase_bytes", |t, x| t.max_increase_bytes = x as u32, 1, 1 << 24)
        .between("ledbat.base_history", |t, x| t.base_history = x as u32, 1, 32)
        .between("ledbat.noise_filter", |t, x| t.noise_filter = x as u32, 1, 16)
        .between("ledbat.min_window_packets", |t, x| t.min_window_packets = x as u32, 0, 1000)
        .between("ledbat.min_window_bytes", |t, x| t.min_window_bytes = x as u32, 1, 1 << 24)
        .between("ledbat.max_window_bytes", |t, x| t.max_window_bytes = x, 1000, 1 << 40)
        .between(
            "ledbat.allowed_increase_packets",
            |t, x| t.allowed_increase_packets = x as u32,
            0,
            1_000_000,
        )
        .share("ledbat.loss_factor", |t, x| t.loss_factor = x, 1.0)
        .share("ledbat.slow_start_exit", |t, x| t.slow_start_exit = x, 100.0)
        .between("ledbat.gain_divisor", |t, x| t.gain_divisor = x as u32, 1, 1_000_000)
        .share("ledbat.decrease", |t, x| t.decrease = x, 1000.0)
        .between("ledbat.slowdown_interval", |t, x| t.slowdown_interval = x as u32, 0, 1_000_000);
    // No less than the least window; which may be none in bytes if there is one in packets.
    table.min_window_bytes = 2000;
    of(table).between("ledbat.max_window_bytes", |t, x| t.max_window_bytes = x, 2000, 1 << 40);
    table.min_window_packets = 1;
    of(table).between("ledbat.min_window_bytes", |t, x| t.min_window_bytes = x as u32, 0, 1 << 24);
}

#[test]
fn tcp_is_bounded() {
    let mut config = tcp::profiles::linux_6();
    config.mtu_bytes = 1500;
    config.min_rto_ns = Span::from_millis(200);
    config.initial_rto_ns = Span::from_secs(1);
    config.max_rto_ns = Span::from_secs(120);
    config.delayed_ack.min_ns = Span::from_millis(40);
    config.delayed_ack.max_ns = Span::from_millis(200);
    config.receive_window.initial_bytes = 65_536;
    config.receive_window.buffer_bytes = 131_072;
    config.receive_window.max_bytes = 1 << 20;
    config.send_buffer.initial_bytes = 16_384;
    config.send_buffer.max_bytes = 1 << 20;
    let check = |config: &tcp::Config| config.check().err().map(|error| error.field);
    Bounds { config, check }
        .of("mtu_bytes", |c, x| c.mtu_bytes = x, &[256, 8192], &[255, 65_536])
        .between("initial_window_segments", |c, x| c.initial_window_segments = x as u32, 1, 1000)
        .at_least("initial_rto_ns", |c, x| c.initial_rto_ns = nanos(x), MILLI)
        .at_least("min_rto_ns", |c, x| c.min_rto_ns = nanos(x), MILLI)
        .between("max_rto_ns", |c, x| c.max_rto_ns = nanos(x), SECOND, HOUR)
        .between("max_rto_ns", |c, x| c.min_rto_ns = nanos(x.max(MILLI)), 0, 120 * SECOND)
        .at_least("delayed_ack.segments", |c, x| c.delayed_ack.segments = x as u32, 1)
        .between("delayed_ack.max_ns", |c, x| c.delayed_ack.max_ns = nanos(x), 40 * MILLI, SECOND)
        .at_least("receive_window.initial_bytes", |c, x| c.receive_window.initial_bytes = x, 3000)
        .at_least("receive_window.buffer_bytes", |c, x| c.receive_window.buffer_bytes = x, 65_536)
        .between(
            "receive_window.max_bytes",
            |c, x| c.receive_window.max_bytes = x,
            131_072,
            1 << 30,
        )
        .at_least("send_buffer.initial_bytes", |c, x| c.send_buffer.initial_bytes = x, 3000)
        .at_least("send_buffer.max_bytes", |c, x| c.send_buffer.max_bytes = x, 16_384)
        .between("tso_bytes", |c, x| c.tso_bytes = x as u32, 0, 1 << 20)
        .between("syn_retries", |c, x| c.syn_retries = x as u32, 0, 100)
        .between("data_retries", |c, x| c.data_retries = x as u32, 0, 100);
}

/// Every value of every configuration that ships: each has its source beside it, so that a change is meant.
#[test]
fn configurations_that_ship_are_known() {
    insta::assert_debug_snapshot!("tcp", tcp::profiles::all());
    insta::assert_debug_snapshot!("utp", utp::profiles::all());
}
