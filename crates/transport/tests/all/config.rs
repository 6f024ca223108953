//! What a configuration may say: the rules between its fields. That each bound of the schema holds is tested for all
//! tables alike (`tests/plan/test_settings.py`).

use flashcrowd_base::{Refusal, Span};
use flashcrowd_transport::congestion::{Kind, Ledbat};
use flashcrowd_transport::utp::{PacketSize, SackPolicy, SearchBegin};
use flashcrowd_transport::{tcp, utp};
use std::fmt::Debug;

const MILLI: u64 = 1_000_000;
const SECOND: u64 = 1000 * MILLI;

/// A configuration, and how to check one.
struct Rules<C> {
    config: C,
    check: fn(&C) -> Result<(), Refusal>,
}

impl<C: Clone> Rules<C> {
    /// With any of the `allowed` values it passes, with any of the `refused` ones `field` is named.
    fn of<X: Clone + Debug>(
        &self,
        field: &str,
        set: fn(&mut C, X),
        allowed: &[X],
        refused: &[X],
    ) -> &Self {
        assert_eq!((self.check)(&self.config), Ok(()));
        let found = |value: &X| {
            let mut config = self.config.clone();
            set(&mut config, value.clone());
            (self.check)(&config).err().map(|refusal| refusal.path)
        };
        for value in allowed {
            assert_eq!(found(value), None, "{field}: {value:?}");
        }
        for value in refused {
            assert_eq!(found(value).as_deref(), Some(field), "{field}: {value:?}");
        }
        self
    }
}

fn nanos(value: u64) -> Span {
    Span::from_nanos(value)
}

fn of_utp(config: utp::Config) -> Rules<utp::Config> {
    Rules { config, check: utp::Config::check }
}

#[test]
fn a_utp_configuration_agrees_with_itself() {
    let mut config = utp::profiles::libutp();
    (config.path_mtu.floor_bytes, config.path_mtu.ceiling_bytes) = (576, 1400);
    (config.min_rto_ns, config.initial_rto_ns) = (nanos(SECOND), nanos(3 * SECOND));
    config.max_rto_ns = nanos(60 * SECOND);
    config.path_mtu.begin = SearchBegin::Ceiling;
    of_utp(config.clone())
        .of("path_mtu.ceiling_bytes", |c, x| c.path_mtu.floor_bytes = x, &[150, 1400], &[1401])
        .of("path_mtu.endless", |c, x| c.path_mtu.endless = x, &[false], &[true])
        .of("send_buffer_bytes", |c, x| c.send_buffer_bytes = x, &[2800], &[2799])
        .of("max_rto_ns", |c, x| c.max_rto_ns = nanos(x), &[3 * SECOND], &[3 * SECOND - 1])
        .of("max_rto_ns", |c, x| c.min_rto_ns = nanos(x), &[60 * SECOND], &[60 * SECOND + 1])
        .of("ledbat", |c, x| c.ledbat = x, &[], &[None])
        .of("ledbat.noise_filter", noise_filter, &[16], &[17])
        .of(
            "sack.fixed.bytes",
            |c, bytes| c.sack = SackPolicy::Fixed { bytes },
            &[4, 8, 24],
            &[0, 2, 3, 6, 28],
        )
        .of("sack.fixed.bytes", |c, x| c.sack = x, &[SackPolicy::Off, SackPolicy::AsNeeded], &[])
        .of("keep_alive_ns", |c, x| c.keep_alive_ns = nanos(x), &[0, SECOND], &[1, SECOND - 1])
        .of(
            "silence_timeout_ns",
            |c, x| c.silence_timeout_ns = nanos(x),
            &[0, SECOND],
            &[1, SECOND - 1],
        )
        .of(
            "packet_size.fixed.bytes",
            |c, bytes| c.packet_size = PacketSize::Fixed { bytes },
            &[1, 65_000],
            &[0, 65_001],
        );
    // Where acknowledgements wait, they wait for some time.
    let wait: fn(&mut utp::Config, u64) = |c, x| c.delayed_ack.max_ns = nanos(x);
    config.delayed_ack.bytes = 0;
    of_utp(config.clone()).of("delayed_ack.max_ns", wait, &[0, MILLI], &[]);
    (config.delayed_ack.bytes, config.delayed_ack.max_ns) = (3000, nanos(MILLI));
    of_utp(config).of("delayed_ack.max_ns", wait, &[MILLI], &[0, MILLI - 1]);
}

fn noise_filter(config: &mut utp::Config, samples: u32) {
    let table = config.ledbat.expect("there is one");
    config.ledbat = Some(Ledbat { noise_filter: samples, ..table });
}

#[test]
fn the_sizes_of_a_ladder_rise() {
    of_utp(utp::profiles::alpha2()).of(
        "packet_size.ladder.steps_bytes",
        |config, steps| match &mut config.packet_size {
            PacketSize::Ladder(ladder) => ladder.steps_bytes = steps,
            other => panic!("{other:?}"),
        },
        &[vec![1], vec![5, 6, 1000]],
        &[vec![], vec![0], vec![0, 1], vec![5, 5], vec![6, 5]],
    );
}

#[test]
fn ledbat_has_a_least_window_below_the_greatest() {
    let mut table = utp::profiles::libutp().ledbat.expect("there is one");
    (table.min_window_packets, table.min_window_bytes) = (0, 2000);
    let least: fn(&mut Ledbat, u32) = |t, x| t.min_window_bytes = x;
    Rules { config: table, check: Ledbat::check }
        .of("max_window_bytes", |t, x| t.max_window_bytes = x, &[2000], &[1999])
        .of("min_window_bytes", least, &[1], &[0]);
    table.min_window_packets = 1;
    Rules { config: table, check: Ledbat::check }.of("min_window_bytes", least, &[0], &[]);
}

#[test]
fn a_stack_agrees_with_itself() {
    let mut config = tcp::profiles::linux_6();
    config.mtu_bytes = 1500;
    config.min_rto_ns = Span::from_millis(200);
    config.initial_rto_ns = Span::from_secs(1);
    config.delayed_ack.min_ns = Span::from_millis(40);
    config.receive_window.initial_bytes = 65_536;
    config.receive_window.buffer_bytes = 131_072;
    config.receive_window.max_bytes = 1 << 20;
    config.send_buffer.initial_bytes = 16_384;
    Rules { config, check: tcp::Config::check }
        .of("max_rto_ns", |c, x| c.max_rto_ns = nanos(x), &[SECOND], &[SECOND - 1])
        .of("max_rto_ns", |c, x| c.min_rto_ns = nanos(x), &[SECOND], &[121 * SECOND])
        .of("delayed_ack.max_ns", |c, x| c.delayed_ack.max_ns = nanos(x), &[40 * MILLI], &[MILLI])
        .of(
            "receive_window.initial_bytes",
            |c, x| c.receive_window.initial_bytes = x,
            &[3000],
            &[2999],
        )
        .of(
            "receive_window.buffer_bytes",
            |c, x| c.receive_window.buffer_bytes = x,
            &[65_536],
            &[65_535],
        )
        .of(
            "receive_window.max_bytes",
            |c, x| c.receive_window.max_bytes = x,
            &[131_072],
            &[131_071],
        )
        .of("send_buffer.initial_bytes", |c, x| c.send_buffer.initial_bytes = x, &[3000], &[2999])
        .of("send_buffer.max_bytes", |c, x| c.send_buffer.max_bytes = x, &[16_384], &[16_383]);
}

#[test]
fn a_controller_of_one_way_delay_has_timestamps() {
    for controller in Kind::ALL {
        let ledbat = controller.ledbat();
        let config = tcp::Config { controller, ledbat, ..tcp::profiles::linux_6() };
        let (allowed, refused): (&[bool], &[bool]) = match controller.needs_one_way_delay() {
            true => (&[true], &[false]),
            false => (&[true, false], &[]),
        };
        Rules { config, check: tcp::Config::check }.of(
            "timestamps",
            |c, x| c.timestamps = x,
            allowed,
            refused,
        );
    }
}
