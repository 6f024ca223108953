//! Whatever happens to a controller, in whatever order: it does not panic, its limit is a limit, it asks for a bounded
//! number of probes, and the same happens again if the same is done again.

use flashcrowd_base::{Span, Time};
use flashcrowd_upload::{
    Answer, Controller, Event, Limit, Parameter, Phase, Rates, Setup, UploadControl,
};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::ops::RangeInclusive;

#[derive(Clone, Debug)]
enum Input {
    /// Time passes, or steps back.
    Wait(i64),
    Answer(usize, Option<u64>),
    Rates(u64, u64, Option<u64>, Option<f64>),
    Event(u8),
    Poll,
}

fn input() -> impl Strategy<Value = Input> {
    let millis = prop_oneof![
        8 => 0i64..3000,
        1 => 0i64..10_000_000,
        1 => -10_000_000i64..0,
    ];
    let rtt = prop_oneof![
        2 => Just(None),
        8 => (0u64..500_000_000).prop_map(Some),
        1 => any::<u64>().prop_map(Some),
    ];
    let bytes = || prop_oneof![4 => 0u64..100_000_000, 1 => any::<u64>()];
    prop_oneof![
        4 => millis.prop_map(Input::Wait),
        4 => (0usize..6, rtt).prop_map(|(reflector, rtt)| Input::Answer(reflector, rtt)),
        3 => (bytes(), bytes(), proptest::option::of(bytes()), proptest::option::of(0.0..1e7))
            .prop_map(|(u, d, s, c)| Input::Rates(u, d, s, c)),
        1 => (0u8..4).prop_map(Input::Event),
        4 => Just(Input::Poll),
    ]
}

/// What a controller's own limits may be, in bytes per second.
fn bounds(control: &UploadControl) -> RangeInclusive<f64> {
    let file = serde_json::to_value(control).expect("a table");
    let bytes = |name: &str| file.get(name).map(|bps| bps.as_f64().expect("a rate") / 8.0);
    if control.name().starts_with("autolimit") {
        // What clients can keep.
        2048.0..=f64::from(i32::MAX)
    } else if let Some(limit) = bytes("limit_bps") {
        limit..=limit
    } else {
        bytes("floor_bps").unwrap_or(1.0)..=f64::MAX
    }
}

/// Does all of it; the limits and states in between, as text.
fn drive(
    control: &mut dyn Controller,
    bounds: &RangeInclusive<f64>,
    reflectors: usize,
    inputs: &[Input],
) -> Vec<String> {
    let start = control.limit();
    let mut now = Time::from_nanos(1 << 50);
    let mut said = Vec::new();
    for input in inputs {
        match *input {
            Input::Wait(millis) => {
                let span = Span::from_millis(millis.unsigned_abs());
                now = if millis < 0 {
                    Time::from_nanos(now.nanos().saturating_sub(span.nanos()))
                } else {
                    now + span
                };
            }
            Input::Answer(reflector, rtt) => {
                let rtt = rtt.map(Span::from_nanos);
                control.on_answer(now, &Answer { reflector, rtt });
            }
            Input::Rates(uploaded, downloaded, sent, ceiling) => {
                let limit = control.limit();
                let ceiling = ceiling.map_or(Limit::Unlimited, Limit::from_bytes_per_second);
                let rates = Rates { uploaded, downloaded, sent, limit, ceiling };
                control.on_rates(now, &rates);
            }
            Input::Event(which) => {
                let event = [Event::Down, Event::Up, Event::PathChanged, Event::Resumed];
                control.on_event(now, event[usize::from(which)]);
            }
            Input::Poll => {
                let mut probes = 0;
                while let Some(probe) = control.probe(now) {
                    assert!(probe.reflector < reflectors, "{probe:?}");
                    assert!(!probe.timeout.is_zero());
                    probes += 1;
                    assert!(probes <= 3, "no more than a group of three at one instant");
                }
                assert!(control.deadline() > now, "or a driver would spin");
            }
        }
        let state = control.state();
        assert!(!state.reason.is_empty());
        if let Limit::At(rate) = control.limit() {
            let rate = rate.bytes_per_second();
            assert!(rate >= 1.0 && rate.is_finite(), "{rate} after {input:?}");
            let own = control.limit() != start;
            assert!(!own || bounds.contains(&rate), "{rate} not in {bounds:?} after {input:?}");
        }
        said.push(format!("{:?} {state}", control.limit()));
    }
    said
}

fn named(name: &str) -> UploadControl {
    UploadControl::named(name).expect("a listed name")
}

fn build(control: &UploadControl, reflectors: usize, limit: Limit) -> Box<dyn Controller> {
    control.build(&Setup { now: Time::from_nanos(1 << 50), reflectors, limit })
}

/// Where between its bounds a parameter is.
#[derive(Clone, Copy, Debug)]
enum Level {
    Default,
    Least,
    Most,
    Within(f64),
}

fn place() -> impl Strategy<Value = Level> {
    prop_oneof![
        2 => Just(Level::Default),
        2 => Just(Level::Least),
        2 => Just(Level::Most),
        2 => (0.0..=1.0).prop_map(Level::Within),
    ]
}

impl Level {
    fn value(self, parameter: &Parameter) -> f64 {
        let Parameter { min, max, default, .. } = *parameter;
        match self {
            Level::Default => default,
            Level::Least => min,
            Level::Most => max,
            // Bounds that lie far apart by factors, or nothing near the lower one would ever come.
            Level::Within(part) if min > 0.0 => (min * libm::pow(max / min, part)).clamp(min, max),
            Level::Within(part) => min + (max - min) * part,
        }
    }
}

/// The controller of a name with each parameter at its place.
fn placed(name: &str, places: &[Level]) -> UploadControl {
    let control = named(name);
    let mut file = serde_json::to_value(&control).expect("a table");
    for (parameter, place) in control.parameters().iter().zip(places.iter().cycle()) {
        let value = place.value(parameter);
        let written = &mut file[parameter.name];
        *written = match (&*written, parameter.unit) {
            (Value::Bool(_), _) => json!(value >= 0.5),
            (_, "s") => json!((value * 1e9).round() as u64),
            (Value::Number(number), _) if number.is_u64() => json!(value.round() as u64),
            _ => json!(value),
        };
    }
    let control: UploadControl = serde_json::from_value(file).expect("what files may say");
    control.check().expect("within its bounds");
    control
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn nothing_breaks_a_controller(
        inputs in prop::collection::vec(input(), 0..200),
        reflectors in 1usize..6,
        bytes in proptest::option::of(1u32..10_000_000),
    ) {
        let limit = bytes.map_or(Limit::Unlimited, |b| Limit::from_bytes_per_second(f64::from(b)));
        for name in UploadControl::NAMES {
            let control = named(name);
            let bounds = bounds(&control);
            let said = drive(build(&control, reflectors, limit).as_mut(), &bounds, reflectors, &inputs);
            let again = drive(build(&control, reflectors, limit).as_mut(), &bounds, reflectors, &inputs);
            prop_assert_eq!(said, again, "{} is not deterministic", name);
        }
    }

    /// The same whatever its parameters are, within the bounds that a study may ask for.
    #[test]
    fn nor_do_its_parameters(
        inputs in prop::collection::vec(input(), 0..200),
        places in prop::collection::vec(place(), 1..16),
        reflectors in 1usize..6,
        bytes in proptest::option::of(1u32..10_000_000),
    ) {
        let limit = bytes.map_or(Limit::Unlimited, |b| Limit::from_bytes_per_second(f64::from(b)));
        for name in UploadControl::NAMES {
            let control = placed(name, &places);
            if control.parameters().is_empty() {
                continue;
            }
            let mut driven = build(&control, reflectors, limit);
            drive(driven.as_mut(), &bounds(&control), reflectors, &inputs);
        }
    }

    /// Silence is no reason to cut: without an answer, or with all probes lost, a candidate leaves its limit.
    #[test]
    fn candidates_hold_on_silence(seconds in 1u64..600, uploaded in 0u64..10_000_000) {
        for name in UploadControl::NAMES.iter().filter(|name| name.starts_with("autolimit")) {
            let mut control = build(&named(name), 4, Limit::Unlimited);
            let before = control.limit();
            let mut now = Time::from_nanos(1 << 50);
            for second in 0..seconds {
                now += Span::from_secs(1);
                let rates = Rates { uploaded: uploaded * second, ..Rates::default() };
                control.on_rates(now, &rates);
                while let Some(probe) = control.probe(now) {
                    control.on_answer(now, &Answer { reflector: probe.reflector, rtt: None });
                }
            }
            prop_assert_eq!(control.limit(), before);
            prop_assert!(seconds < 3 || control.state().phase == Phase::Waiting);
        }
    }
}
