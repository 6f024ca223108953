//! Validators and preconditions (RFC 9110, 8.8 and 13).

use http::HeaderMap;
use http::header::{
    HeaderName, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE,
};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The end of the year 9999: later dates have no form in HTTP (RFC 9110, 5.6.7), and the library has none.
const LAST_DATE: u64 = 253_402_300_799;

/// The validators of a file's state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Validators {
    /// The strong entity tag, with its quotes.
    pub etag: String,
    /// When the file was changed, in whole seconds since 1970; dates before that are 1970.
    pub modified: u64,
}

/// The result of the preconditions of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precondition {
    /// The request is carried out; `ranges` says whether its `Range` counts.
    Go {
        /// No `If-Range`, or one that holds.
        ranges: bool,
    },
    /// `304`.
    NotModified,
    /// `412`.
    Failed,
}

impl Validators {
    /// The date of `Last-Modified`: never later than now (RFC 9110, 8.8.2.1), in seconds since 1970.
    pub fn last_modified(&self, now: u64) -> String {
        let seconds = self.modified.min(now).min(LAST_DATE);
        httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(seconds))
    }

    /// The preconditions of a `GET` or `HEAD` in the order of RFC 9110, 13.2.2. `now`: seconds since 1970.
    pub fn judge(&self, headers: &HeaderMap, now: u64) -> Precondition {
        if headers.contains_key(IF_MATCH) {
            if !self.listed(headers, &IF_MATCH, true) {
                return Precondition::Failed;
            }
        } else if let Some(since) = date(headers, &IF_UNMODIFIED_SINCE)
            && self.modified > since
        {
            return Precondition::Failed;
        }
        if headers.contains_key(IF_NONE_MATCH) {
            if self.listed(headers, &IF_NONE_MATCH, false) {
                return Precondition::NotModified;
            }
        } else if let Some(since) = date(headers, &IF_MODIFIED_SINCE)
            && self.modified <= since
        {
            return Precondition::NotModified;
        }
        Precondition::Go { ranges: self.if_range(headers, now) }
    }

    /// RFC 9110, 13.1.5: an entity tag by strong comparison, or exactly the date, if that is a strong validator: a second
    /// or more before now (8.8.2.2), so that the file cannot have changed again within it.
    fn if_range(&self, headers: &HeaderMap, now: u64) -> bool {
        let mut values = headers.get_all(IF_RANGE).iter();
        let Some(value) = values.next() else { return true };
        let Ok(value) = value.to_str() else { return false };
        if values.next().is_some() {
            return false;
        }
        let value = value.trim_matches([' ', '\t']);
        if value.starts_with('"') || value.starts_with("W/") {
            return value == self.etag;
        }
        self.modified < now && seconds(value) == Some(self.modified)
    }

    /// Whether `*` or this entity tag is in a list (RFC 9110, 13.1.1 and 13.1.2); `strong`: weak ones match nothing.
    fn listed(&self, headers: &HeaderMap, name: &HeaderName, strong: bool) -> bool {
        headers.get_all(name).iter().any(|value| {
            let bytes = value.as_bytes();
            bytes.trim_ascii() == b"*"
                || tags(bytes).any(|(weak, tag)| tag == self.etag.as_bytes() && !(strong && weak))
        })
    }
}

/// The entity tags of a list, each with whether it is weak, up to the first thing that is none.
fn tags(list: &[u8]) -> impl Iterator<Item = (bool, &[u8])> {
    let mut rest = list;
    std::iter::from_fn(move || {
        while let [b' ' | b'\t' | b',', tail @ ..] = rest {
            rest = tail;
        }
        let weak = rest.starts_with(b"W/");
        let tag = if weak { &rest[2..] } else { rest };
        let [b'"', tail @ ..] = tag else { return None };
        let end = tail.iter().position(|byte| *byte == b'"')?;
        // RFC 9110, 8.8.3: visible characters and obs-text.
        if tail[..end].iter().any(|byte| *byte <= b' ' || *byte == 0x7f) {
            return None;
        }
        rest = &tail[end + 1..];
        Some((weak, &tag[..end + 2]))
    })
}

fn date(headers: &HeaderMap, name: &HeaderName) -> Option<u64> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    // Of several nothing is known: RFC 9110, 13.1.3 has such a field ignored.
    if values.next().is_some() { None } else { seconds(value) }
}

fn seconds(value: &str) -> Option<u64> {
    let date: SystemTime = httpdate::parse_http_date(value).ok()?;
    Some(date.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use Precondition::{Failed, NotModified};
    use proptest::prelude::*;

    /// Sun, 06 Nov 1994 08:49:37 GMT, the example of RFC 9110, 5.6.7.
    const MODIFIED: u64 = 784_111_777;
    const SAME: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    const BEFORE: &str = "Sun, 06 Nov 1994 08:49:36 GMT";
    const AFTER: &str = "Sunday, 06-Nov-94 08:49:38 GMT";
    const GO: Precondition = Precondition::Go { ranges: true };
    const WHOLE: Precondition = Precondition::Go { ranges: false };

    fn judged(fields: &[(&'static str, &str)]) -> Precondition {
        let validators = Validators { etag: "\"a\"".into(), modified: MODIFIED };
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.append(*name, value.parse().unwrap());
        }
        validators.judge(&headers, MODIFIED + 1)
    }

    #[test]
    fn preconditions_are_those_of_rfc_9110() {
        assert_eq!(judged(&[]), GO);
        // 13.1.1: strong comparison.
        assert_eq!(judged(&[("if-match", "\"b\", \"a\"")]), GO);
        assert_eq!(judged(&[("if-match", "*")]), GO);
        assert_eq!(judged(&[("if-match", "W/\"a\"")]), Failed);
        assert_eq!(judged(&[("if-match", "\"b\"")]), Failed);
        assert_eq!(judged(&[("if-match", "a")]), Failed);
        assert_eq!(judged(&[("if-match", "\"b\""), ("if-match", "\"a\"")]), GO);
        // 13.1.2: weak comparison.
        for list in ["\"a\"", "W/\"a\"", "*", "\"x,y\", W/\"a\"", ",, \"a\""] {
            assert_eq!(judged(&[("if-none-match", list)]), NotModified, "{list}");
        }
        for list in ["\"b\"", "", "\"a", "a", "\"b\" x \"a\""] {
            assert_eq!(judged(&[("if-none-match", list)]), GO, "{list}");
        }
        // 13.1.3 and 13.1.4.
        assert_eq!(judged(&[("if-modified-since", SAME)]), NotModified);
        assert_eq!(judged(&[("if-modified-since", AFTER)]), NotModified);
        assert_eq!(judged(&[("if-modified-since", BEFORE)]), GO);
        assert_eq!(judged(&[("if-modified-since", "yesterday")]), GO);
        assert_eq!(judged(&[("if-unmodified-since", SAME)]), GO);
        assert_eq!(judged(&[("if-unmodified-since", BEFORE)]), Failed);
        assert_eq!(judged(&[("if-unmodified-since", "yesterday")]), GO);
        // 13.2.2: tags go before dates, matches before mismatches.
        assert_eq!(judged(&[("if-none-match", "\"b\""), ("if-modified-since", SAME)]), GO);
        assert_eq!(judged(&[("if-match", "\"a\""), ("if-unmodified-since", BEFORE)]), GO);
        assert_eq!(judged(&[("if-match", "\"b\""), ("if-none-match", "\"a\"")]), Failed);
        // 13.1.5.
        assert_eq!(judged(&[("if-range", "\"a\"")]), GO);
        assert_eq!(judged(&[("if-range", "W/\"a\"")]), WHOLE);
        assert_eq!(judged(&[("if-range", "\"b\"")]), WHOLE);
        assert_eq!(judged(&[("if-range", SAME)]), GO);
        assert_eq!(judged(&[("if-range", AFTER)]), WHOLE);
        assert_eq!(judged(&[("if-range", "a")]), WHOLE);
    }

    /// RFC 9110, 8.8.2.2: the file may have changed within the second.
    #[test]
    fn a_date_of_this_second_is_weak() {
        let validators = Validators { etag: "\"a\"".into(), modified: MODIFIED };
        let mut headers = HeaderMap::new();
        headers.insert("if-range", SAME.parse().unwrap());
        assert_eq!(validators.judge(&headers, MODIFIED), WHOLE);
    }

    proptest! {
        /// Whatever a file system says and whatever the time is, there is a date, and none of the future.
        #[test]
        fn a_date_is_never_later_than_now(modified: u64, now in 0..=LAST_DATE) {
            let said = Validators { etag: String::new(), modified }.last_modified(now);
            prop_assert_eq!(seconds(&said), Some(modified.min(now)));
            Validators { etag: String::new(), modified }.last_modified(u64::MAX);
        }

        #[test]
        fn any_bytes(list: Vec<u8>) {
            for (_, tag) in tags(&list) {
                prop_assert!(tag.len() >= 2 && tag.first() == Some(&b'"') && tag.last() == Some(&b'"'));
            }
        }
    }
}
