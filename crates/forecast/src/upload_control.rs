use crate::load::{Load, ROW_BYTES};
use crate::outlook::{ENDLESS_BPS, Path};
use flashcrowd_base::{Span, Time};
use flashcrowd_plan::ControlledUpload;
use flashcrowd_upload::{Limit, Setup, UploadControl};

/// The time in which a controller's probes are counted to know how many it sends.
const COUNTED: Span = Span::from_secs(60);

/// The expected upload of a peer, in bits per second: a fixed limit, or as much as its line takes.
pub(crate) fn expected_bps(controlled: &ControlledUpload) -> f64 {
    match &controlled.controller {
        UploadControl::Fixed(fixed) => fixed.limit_bps.bps() as f64,
        _ => ENDLESS_BPS,
    }
}

/// The load of one peer's controller in a second: questions, probes and their answers, rows.
pub(crate) fn load(controlled: &ControlledUpload, forth: &Path, back: &Path) -> Load {
    let polls = 1.0 / controlled.poll_ns.seconds();
    let probes = probes_per_s(controlled);
    Load {
        packets: probes * (1.0 - forth.loss) * (2.0 - back.loss),
        events: polls + probes * (2.0 + forth.stages + back.stages),
        // Three times the columns of most tables.
        bytes: polls * 3.0 * ROW_BYTES,
        ..Load::default()
    }
}

/// How many probes it sends while none is answered: it is asked.
fn probes_per_s(controlled: &ControlledUpload) -> f64 {
    let reflectors = controlled.reflectors.len();
    let setup = Setup { now: Time::START, reflectors, limit: Limit::Unlimited };
    let mut controller = controlled.controller.build(&setup);
    let (mut now, mut probes) = (Time::START, 0.0);
    while now < Time::START + COUNTED {
        while controller.probe(now).is_some() {
            probes += 1.0;
        }
        now = controller.deadline().max(now + Span::from_millis(1));
    }
    probes / COUNTED.seconds()
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashcrowd_plan::ClientInterface;

    #[test]
    fn a_controller_says_itself_how_often_it_probes() {
        let controlled = |name| ControlledUpload {
            controller: UploadControl::named(name).unwrap(),
            reflectors: vec![0],
            probe_bytes: 64,
            start_spread_ns: Span::ZERO,
            lateness_ns: Span::ZERO,
            poll_ns: Span::from_secs(1),
            interface: ClientInterface { refresh_ns: Span::ZERO, window_ns: None, step_bytes: 1 },
        };
        assert_eq!(probes_per_s(&controlled("fixed")), 0.0);
        assert_eq!(probes_per_s(&controlled("adaptive-drc-aimd")), 1.0);
        assert_eq!(probes_per_s(&controlled("mainline-5-deviation")), 2.0);
        assert_eq!(expected_bps(&controlled("fixed")), 245_760.0);
    }
}
