//! Any bytes as what a client of the content server says: ranges lie in the file and are bounded, targets stay
//! inside of the directory, preferences and preconditions have an answer.

#![no_main]

use flashcrowd_server::preference::Preferences;
use flashcrowd_server::ranges::{self, Asked};
use flashcrowd_server::{Framing, Validators, target};
use http::{HeaderMap, HeaderName, HeaderValue};
use libfuzzer_sys::fuzz_target;
use std::path::Component;

const MOST: usize = 50;
const FIELDS: [&str; 5] =
    ["if-match", "if-none-match", "if-range", "if-modified-since", "if-unmodified-since"];

fuzz_target!(|input: (u64, String, Vec<String>, [Vec<u8>; 5])| {
    let (length, text, values, conditions) = input;
    for value in [text.as_str(), &format!("bytes={text}")] {
        let Some(specs) = ranges::parse(value, MOST) else { continue };
        assert!((1..=MOST).contains(&specs.len()));
        let Asked::Ranges { ranges, several } = ranges::resolve(&specs, length) else { continue };
        assert!(!ranges.is_empty() && ranges.len() <= specs.len() && several == (specs.len() > 1));
        assert!(ranges.iter().all(|range| range.start < range.end && range.end <= length));
        let merged = ranges::merged(&ranges);
        assert!(merged.windows(2).all(|pair| pair[0].end < pair[1].start));
        assert!(ranges::total(&merged) <= length.min(ranges::total(&ranges)));
        for range in &ranges {
            let within: Vec<_> = ranges::within(&merged, range).collect();
            assert_eq!(within, [range.clone()], "each is inside of one");
        }
        let framing = Framing::new("application/octet-stream", length);
        if let Some(total) = ranges::total(&ranges).checked_add(1 << 20) {
            assert!(framing.body_length(&ranges) < total);
        }
    }
    if let Ok(path) = target::path(&text) {
        assert!(path.components().all(|part| matches!(part, Component::Normal(_))));
        assert!(!path.as_os_str().as_encoded_bytes().contains(&0));
    }
    let read = Preferences::parse(values.iter().map(String::as_str));
    assert!(read.any_order || !read.one_part);
    let mut headers = HeaderMap::new();
    for (name, value) in FIELDS.iter().zip(&conditions) {
        if let Ok(value) = HeaderValue::from_bytes(value) {
            headers.append(HeaderName::from_static(name), value);
        }
    }
    let validators = Validators { etag: "\"a\"".into(), modified: length % (1 << 40) };
    let verdict = validators.judge(&headers, length);
    assert_eq!(verdict, validators.judge(&headers, length));
});
