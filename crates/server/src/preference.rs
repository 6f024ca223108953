//! The field `Prefer` (RFC 7240).

/// A client's preferences about orders and subsets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Preferences {
    /// `part-order=any`: it puts parts together itself, in whatever order they come.
    pub any_order: bool,
    /// `part-order=any; parts=1`: one part is enough, the cheapest.
    pub one_part: bool,
    /// `resident-ranges`: it likes to hear what is in memory.
    pub resident_ranges: bool,
}

/// The preferences that the server has honoured.
pub const APPLIED: &str = "part-order=any";

impl Preferences {
    /// Reads the values of all `Prefer` fields. What is not known or malformed is passed over; of a preference that is there several
    /// times, the first one counts (RFC 7240, 2).
    pub fn parse<'a>(values: impl IntoIterator<Item = &'a str>) -> Preferences {
        let mut preferences = Preferences::default();
        let mut heard = (false, false);
        for preference in values.into_iter().flat_map(|value| split(value, b',')) {
            let mut parts = split(preference, b';');
            let Some((name, value)) = parts.next().map(named) else { continue };
            if name.eq_ignore_ascii_case("part-order") && !heard.0 {
                heard.0 = true;
                preferences.any_order = value.eq_ignore_ascii_case("any");
                preferences.one_part = preferences.any_order
                    && parts
                        .map(named)
                        .any(|(name, value)| name.eq_ignore_ascii_case("parts") && value == "1");
            } else if name.eq_ignore_ascii_case("resident-ranges") && !heard.1 {
                heard.1 = true;
                preferences.resident_ranges = value.is_empty();
            }
        }
        preferences
    }
}

/// A name and its value, without quotes, empty if there is none.
fn named(text: &str) -> (&str, &str) {
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    let value = value.trim_matches([' ', '\t']);
    let inner = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
    (name.trim_matches([' ', '\t']), inner.unwrap_or(value))
}

/// The parts between separators that are not inside of a quoted string (RFC 9110, 5.6.4).
fn split(text: &str, separator: u8) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let (mut quoted, mut escaped) = (false, false);
        let end = text.bytes().position(|byte| {
            let ends = byte == separator && !quoted;
            if escaped {
                escaped = false;
            } else if byte == b'\\' {
                escaped = quoted;
            } else if byte == b'"' {
                quoted = !quoted;
            }
            ends
        });
        rest = end.map(|end| &text[end + 1..]);
        Some(&text[..end.unwrap_or(text.len())])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const STREAM: Preferences =
        Preferences { any_order: true, one_part: false, resident_ranges: false };
    const PULL: Preferences = Preferences { one_part: true, ..STREAM };
    const HINTS: Preferences =
        Preferences { any_order: false, one_part: false, resident_ranges: true };

    #[test]
    fn fields_are_read() {
        let none = Preferences::default();
        for (values, expected) in [
            (vec!["part-order=any"], STREAM),
            (vec!["Part-Order = \"ANY\""], STREAM),
            (vec!["respond-async, wait=10", "part-order=any ;"], STREAM),
            (vec!["part-order=any; parts=1"], PULL),
            (vec!["part-order=any;x=\"a;,b\\\"\" ; parts=\"1\""], PULL),
            (vec!["part-order=any; parts=2"], STREAM),
            (vec!["resident-ranges"], HINTS),
            (
                vec!["part-order=any, resident-ranges"],
                Preferences { resident_ranges: true, ..STREAM },
            ),
            (vec!["part-order=ascending, part-order=any"], none),
            (vec!["foo=\"part-order=any, part-order=any\""], none),
            (vec!["part-order", "parts=1", "order=any", ""], none),
            (vec!["resident-ranges=no"], none),
        ] {
            assert_eq!(Preferences::parse(values.iter().copied()), expected, "{values:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text(values in prop::collection::vec(".*|[a-z=\";,\\\\ -]*", 0..3)) {
            let read = Preferences::parse(values.iter().map(String::as_str));
            prop_assert!(read.any_order || !read.one_part);
        }
    }
}
