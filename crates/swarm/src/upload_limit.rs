use flashcrowd_base::Rate;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// How fast a client uploads at most. In plans `null`, bits per second, or zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UploadLimit {
    /// As fast as the network takes it.
    #[default]
    Unlimited,
    /// At this rate.
    Rate(Rate),
    /// Not at all: no neighbour is unchoked.
    Nothing,
}

impl UploadLimit {
    /// The rate, if that is what it is.
    pub fn rate(self) -> Option<Rate> {
        match self {
            UploadLimit::Rate(rate) => Some(rate),
            UploadLimit::Unlimited | UploadLimit::Nothing => None,
        }
    }
}

impl From<Option<Rate>> for UploadLimit {
    fn from(rate: Option<Rate>) -> UploadLimit {
        rate.map_or(UploadLimit::Unlimited, UploadLimit::Rate)
    }
}

impl<'de> Deserialize<'de> for UploadLimit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<UploadLimit, D::Error> {
        Ok(match Option::<u64>::deserialize(deserializer)?.map(Rate::from_bps) {
            None => UploadLimit::Unlimited,
            Some(None) => UploadLimit::Nothing,
            Some(Some(rate)) => UploadLimit::Rate(rate),
        })
    }
}
impl Serialize for UploadLimit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            UploadLimit::Unlimited => None,
            UploadLimit::Rate(rate) => Some(rate.bps()),
            UploadLimit::Nothing => Some(0),
        }
        .serialize(serializer)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for UploadLimit {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "UploadLimit".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Option::<u64>::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_is_no_limit_and_zero_is_no_upload() {
        let limits = [
            ("null", UploadLimit::Unlimited),
            ("0", UploadLimit::Nothing),
            ("80000", Rate::from_bps(80_000).into()),
        ];
        for (json, limit) in limits {
            assert_eq!(serde_json::from_str::<UploadLimit>(json).unwrap(), limit);
            assert_eq!(serde_json::to_string(&limit).unwrap(), json);
        }
    }
}
