use crate::adaptive_drc::{self, AdaptiveDrc, Increase};
use crate::auto_speed::{v1, v2};
use crate::autolimit::{baseline, capacity, gradient, search};
use crate::bandwidth_management::{chebyshev, deviation};
use crate::{Controller, Parameter, Refusal, Setup, fixed, unlimited};

pub use crate::auto_speed::v1::AutoSpeedV1;
pub use crate::auto_speed::v2::AutoSpeedV2;
pub use crate::autolimit::baseline::Baseline;
pub use crate::autolimit::capacity::Capacity;
pub use crate::autolimit::gradient::Gradient;
pub use crate::autolimit::reserve::AutolimitDelay;
pub use crate::autolimit::search::Autolimit;
pub use crate::bandwidth_management::chebyshev::Chebyshev;
pub use crate::bandwidth_management::deviation::Deviation;
pub use crate::fixed::Fixed;
pub use crate::unlimited::Unlimited;

/// Writes [`UploadControl`] from one list: a name in Rust, the name in files, the parameters, how it is made.
macro_rules! controllers {
    ($($(#[doc = $about:literal])+ $kind:ident, $name:literal, $parameters:ty, $build:expr;)+) => {
        /// Which upload controller a client has, with its parameters. What is left out has its default.
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(tag = "kind")]
        pub enum UploadControl {
            $($(#[doc = $about])+ #[serde(rename = $name)] $kind($parameters),)+
        }

        impl UploadControl {
            /// The names of all, in the order in which they are shown.
            pub const NAMES: [&str; [$($name),+].len()] = [$($name),+];

            /// The controller of this name with its defaults.
            pub fn named(name: &str) -> Option<UploadControl> {
                match name {
                    $($name => Some(UploadControl::$kind(<$parameters>::default())),)+
                    _ => None,
                }
            }

            /// What files call it.
            pub fn name(&self) -> &'static str {
                match self {
                    $(UploadControl::$kind(_) => $name,)+
                }
            }

            /// What it does, in a sentence.
            pub fn about(&self) -> &'static str {
                match self {
                    $(UploadControl::$kind(_) => concat!($($about),+).trim(),)+
                }
            }

            /// What can be set of it, with bounds and defaults.
            pub fn parameters(&self) -> Vec<Parameter> {
                match self {
                    $(UploadControl::$kind(_) => <$parameters>::parameters(),)+
                }
            }

            /// Whether every parameter is within its bounds.
            pub fn check(&self) -> Result<(), Refusal> {
                match self {
                    $(UploadControl::$kind(parameters) => parameters.check(),)+
                }
            }

            /// The controller at its start.
            pub fn build(&self, setup: &Setup) -> Box<dyn Controller> {
                match self {
                    $(UploadControl::$kind(parameters) => {
                        let build = $build;
                        Box::new(build(parameters, setup))
                    })+
                }
            }
        }
    };
}

controllers! {
    /// No limit: the transport alone decides.
    Unlimited, "unlimited", Unlimited, unlimited::UnlimitedController::new;
    /// One limit for ever.
    Fixed, "fixed", Fixed, fixed::FixedController::new;
    /// Adaptive-DRC: half of the measured rate when the round trip is 10 deviations above its mean, else 1 KiB/s more (Pan and Lee 2009, equation 2).
    AdaptiveDrcAimd, "adaptive-drc-aimd", AdaptiveDrc,
        |parameters: &_, setup: &_| adaptive_drc::AdaptiveDrcController::new(parameters, Increase::Additive, setup);
    /// Adaptive-DRC: half of the measured rate when the round trip is 10 deviations above its mean, else twice the rate (Pan and Lee 2009, equation 3).
    AdaptiveDrcMimd, "adaptive-drc-mimd", AdaptiveDrc,
        |parameters: &_, setup: &_| adaptive_drc::AdaptiveDrcController::new(parameters, Increase::Multiplicative, setup);
    /// Auto-Speed of Azureus 3.0.0.8 (2007): steps of 1 KiB/s by the mean of five pings against an idle ping.
    AutoSpeedV1, "auto-speed-v1", AutoSpeedV1, v1::AutoSpeedV1Controller::new;
    /// Auto-Speed of Azureus 3.0.4 and later: a slider between a least and a believed greatest upload, moved by the median ping.
    AutoSpeedV2, "auto-speed-v2", AutoSpeedV2, v2::AutoSpeedV2Controller::new;
    /// Bandwidth management of mainline 5.0.9: a fifth less when the round trip's deviation is near the greatest one seen, else 1000 B/s more.
    Deviation, "mainline-5-deviation", Deviation, deviation::DeviationController::new;
    /// Bandwidth management in mainline 5's tree: a fifth less of the measured rate after several round trips in a row above a threshold by Chebyshev's inequality.
    Chebyshev, "mainline-5-chebyshev", Chebyshev, chebyshev::ChebyshevController::new;
    /// Without knobs: a search between a limit that did no harm and one that did, harm being what our upload adds to the mean delay beside a download, and to the least one else.
    Autolimit, "autolimit", Autolimit, search::SearchController::new;
    /// Without knobs, for people who play or call: the same search, which stays at a share of the capacity that was found and tries nothing above it.
    AutolimitDelay, "autolimit-delay", AutolimitDelay, search::SearchController::reserved;
    /// Candidate without knobs: the standing delay that our upload adds, against a reference taken while the upload rests.
    AutolimitBaseline, "autolimit-baseline", Baseline, baseline::BaselineController::new;
    /// Candidate without knobs: a standing delay that rises under our upload, as in congestion control for real-time media.
    AutolimitGradient, "autolimit-gradient", Gradient, gradient::GradientController::new;
    /// Candidate without knobs: trials below and above the limit teach the capacity, of which a part is used.
    AutolimitCapacity, "autolimit-capacity", Capacity, capacity::CapacityController::new;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name, its sentence and its parameters, as a list shows them. A changed default is a changed table.
    #[test]
    fn the_catalogue() {
        let mut text = String::new();
        for name in UploadControl::NAMES {
            let control = UploadControl::named(name).unwrap();
            assert_eq!(control.name(), name);
            control.check().unwrap();
            text += &format!("{name}: {}\n", control.about());
            for parameter in control.parameters() {
                let Parameter { name, about, unit, min, max, default } = parameter;
                assert!(about.ends_with('.'), "{name}: {about}");
                text += &format!("  {name} = {default} {unit} ({min} to {max})\n");
            }
        }
        insta::assert_snapshot!(text);
    }

    #[test]
    fn files_name_the_kind_and_what_differs_from_the_defaults() {
        let json = r#"{"kind":"adaptive-drc-aimd","probe_period_ns":2000000000}"#;
        let control: UploadControl = serde_json::from_str(json).unwrap();
        let UploadControl::AdaptiveDrcAimd(parameters) = &control else { panic!("{control:?}") };
        assert_eq!(parameters.probe_period_ns, flashcrowd_base::Span::from_secs(2));
        assert_eq!(parameters.deviations, 10.0);
        let unknown = r#"{"kind":"fixed","limits_bps":1}"#;
        assert!(serde_json::from_str::<UploadControl>(unknown).is_err());
        assert_eq!(UploadControl::named("automatic"), None);
    }

    #[test]
    fn what_is_out_of_bounds_is_named() {
        let control = UploadControl::AdaptiveDrcAimd(AdaptiveDrc {
            deviations: f64::NAN,
            ..AdaptiveDrc::default()
        });
        let refusal = control.check().unwrap_err();
        assert_eq!(refusal.parameter, "deviations");
        assert_eq!(refusal.to_string(), "deviations is NaN; it may be from 0.1 to 1000");
    }
}
