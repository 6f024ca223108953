use std::fmt;

/// A setting that cannot be.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// Which one.
    pub setting: &'static str,
    /// The value.
    pub value: String,
    /// The allowed values.
    pub allowed: String,
}

impl Refusal {
    pub(crate) fn new(
        setting: &'static str,
        value: impl ToString,
        allowed: impl ToString,
    ) -> Refusal {
        Refusal { setting, value: value.to_string(), allowed: allowed.to_string() }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Refusal { setting, value, allowed } = self;
        write!(f, "{setting} is {value}; it may be {allowed}")
    }
}
impl std::error::Error for Refusal {}
