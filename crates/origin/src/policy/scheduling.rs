use super::{Attach, Circus, InOrder, Policy, Relevance, attach, circus, in_order, relevance};
use flashcrowd_base::{Refusal, Settings};
use serde::{Deserialize, Serialize};

/// Which policy an origin has, with what can be set of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[expect(missing_docs, reason = "each policy says what it is, and the schema takes it from there")]
pub enum Scheduling {
    InOrder(InOrder),
    Attach(Attach),
    Circus(Circus),
    Relevance(Relevance),
}

impl Default for Scheduling {
    fn default() -> Scheduling {
        Scheduling::Relevance(Relevance::default())
    }
}

impl Scheduling {
    /// The names of all, in the order in which they are shown.
    pub const NAMES: [&str; 4] = ["in-order", "attach", "circus", "relevance"];

    /// The policy of this name with its defaults.
    pub fn named(name: &str) -> Option<Scheduling> {
        Some(match name {
            "in-order" => Scheduling::InOrder(InOrder::default()),
            "attach" => Scheduling::Attach(Attach::default()),
            "circus" => Scheduling::Circus(Circus::default()),
            "relevance" => Scheduling::Relevance(Relevance::default()),
            _ => return None,
        })
    }

    /// Its name in files.
    pub fn name(&self) -> &'static str {
        match self {
            Scheduling::InOrder(_) => "in-order",
            Scheduling::Attach(_) => "attach",
            Scheduling::Circus(_) => "circus",
            Scheduling::Relevance(_) => "relevance",
        }
    }

    /// Whether everything set is within its bounds.
    pub fn check(&self) -> Result<(), Refusal> {
        match self {
            Scheduling::InOrder(it) => it.check_bounds(),
            Scheduling::Attach(it) => it.check_bounds(),
            Scheduling::Circus(it) => it.check_bounds(),
            Scheduling::Relevance(it) => it.check_bounds(),
        }
    }

    /// The policy at its start.
    pub fn build(&self) -> Box<dyn Policy> {
        match self {
            Scheduling::InOrder(settings) => Box::new(in_order::InOrderPolicy::new(settings)),
            Scheduling::Attach(settings) => Box::new(attach::AttachPolicy::new(settings)),
            Scheduling::Circus(settings) => Box::new(circus::CircusPolicy::new(settings)),
            Scheduling::Relevance(settings) => Box::new(relevance::RelevancePolicy::new(settings)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_name_the_kind_and_what_differs_from_the_defaults() {
        for name in Scheduling::NAMES {
            let named = Scheduling::named(name).unwrap();
            let read: Scheduling =
                serde_json::from_str(&format!(r#"{{"kind":"{name}"}}"#)).unwrap();
            assert_eq!((read, named.name()), (named.clone(), name));
            named.check().unwrap();
        }
        let json = r#"{"kind":"circus","threshold":0.9,"slide":"jump"}"#;
        let Ok(Scheduling::Circus(circus)) = serde_json::from_str(json) else { panic!() };
        assert_eq!((circus.threshold, circus.slide, circus.queue), (0.9, circus::Slide::Jump, 5));
        assert!(serde_json::from_str::<Scheduling>(r#"{"kind":"circus","treshold":0.9}"#).is_err());
        assert_eq!(Scheduling::named("elevator"), None);
    }

    #[test]
    fn what_is_out_of_bounds_is_named() {
        let circus = Circus { threshold: f64::NAN, ..Circus::default() };
        let refusal = Scheduling::Circus(circus).check().unwrap_err();
        assert_eq!(refusal.to_string(), "threshold: NaN is not allowed, at least 0");
    }
}
