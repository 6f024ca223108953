//! The field `Range` (RFC 9110, 14).

use std::ops::Range;

/// One range as it was asked for (RFC 9110, 14.1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeSpec {
    /// `first-` or `first-last`; both are counted from 0 and included.
    Int {
        /// The first byte.
        first: u64,
        /// The last byte, or the file's.
        last: Option<u64>,
    },
    /// `-length`: the last `length` bytes.
    Suffix {
        /// How many.
        length: u64,
    },
}

/// The verdict on a request with ranges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// The whole file: there is no `Range`, or it is to be ignored.
    Whole,
    /// `416`: no range begins inside the file.
    Unsatisfiable,
    /// These ranges, in the order of the request, none empty.
    Ranges {
        /// Of bytes; the end is not included.
        ranges: Vec<Range<u64>>,
        /// Whether several were asked for, so that a multipart answer is allowed (RFC 9110, 15.3.7.2).
        several: bool,
    },
}

/// Reads the value of `Range`. Nothing: it is to be ignored, since its unit is not `bytes`, a range is malformed or ends
/// before it begins (RFC 9110, 14.2 allows to ignore such a field), or it has more than `max` ranges.
///
/// A number too large for 64 bits is the largest one.
pub fn parse(value: &str, max: usize) -> Option<Vec<RangeSpec>> {
    let (unit, set) = value.split_once('=')?;
    if !unit.eq_ignore_ascii_case("bytes") {
        return None;
    }
    let mut specs = Vec::new();
    for element in set.split(',') {
        let element = element.trim_matches([' ', '\t']);
        if element.is_empty() {
            // Lists may have empty elements (RFC 9110, 5.6.1.2).
            continue;
        }
        if specs.len() == max {
            return None;
        }
        let (first, last) = element.split_once('-')?;
        specs.push(match (first, last) {
            ("", length) => RangeSpec::Suffix { length: number(length)? },
            (first, "") => RangeSpec::Int { first: number(first)?, last: None },
            (first, last) => {
                let (first, last) = (number(first)?, number(last)?);
                if last < first {
                    return None;
                }
                RangeSpec::Int { first, last: Some(last) }
            }
        });
    }
    (!specs.is_empty()).then_some(specs)
}

fn number(digits: &str) -> Option<u64> {
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(digits.parse().unwrap_or(u64::MAX))
}

/// The part of a file that these ranges are. Of an empty file nothing can be a range: the field is
/// ignored.
pub fn resolve(specs: &[RangeSpec], length: u64) -> Asked {
    if length == 0 {
        return Asked::Whole;
    }
    let mut ranges = Vec::with_capacity(specs.len());
    for spec in specs {
        let range = match *spec {
            RangeSpec::Int { first, last } => {
                first..last.map_or(length, |last| last.saturating_add(1).min(length))
            }
            RangeSpec::Suffix { length: suffix } => length.saturating_sub(suffix)..length,
        };
        if range.start < range.end {
            ranges.push(range);
        }
    }
    if ranges.is_empty() {
        return Asked::Unsatisfiable;
    }
    Asked::Ranges { ranges, several: specs.len() > 1 }
}

/// The bytes of all ranges together, those that are in several of them as often.
pub fn total(ranges: &[Range<u64>]) -> u64 {
    ranges.iter().fold(0, |sum: u64, range| sum.saturating_add(range.end - range.start))
}

/// The same bytes as ascending ranges that neither overlap nor touch.
pub fn merged(ranges: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut sorted: Vec<Range<u64>> =
        ranges.iter().filter(|range| !range.is_empty()).cloned().collect();
    sorted.sort_unstable_by_key(|range| range.start);
    let mut merged: Vec<Range<u64>> = Vec::new();
    for range in sorted {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

/// The part of a block that is in ascending ranges that do not overlap.
pub fn within<'a>(
    ranges: &'a [Range<u64>],
    block: &Range<u64>,
) -> impl Iterator<Item = Range<u64>> + use<'a> {
    let (begin, end) = (block.start, block.end);
    let first = ranges.partition_point(|range| range.end <= begin);
    ranges[first..]
        .iter()
        .take_while(move |range| range.start < end)
        .map(move |range| range.start.max(begin)..range.end.min(end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn int(first: u64, last: impl Into<Option<u64>>) -> RangeSpec {
        RangeSpec::Int { first, last: last.into() }
    }

    /// The examples of RFC 9110, 14.1.2 and 14.2, and what is near them.
    #[test]
    fn fields_are_read() {
        for (value, specs) in [
            ("bytes=0-499", vec![int(0, 499)]),
            ("bytes=500-999", vec![int(500, 999)]),
            ("bytes=-500", vec![RangeSpec::Suffix { length: 500 }]),
            ("bytes=9500-", vec![int(9500, None)]),
            ("bytes=0-0,-1", vec![int(0, 0), RangeSpec::Suffix { length: 1 }]),
            (
                "bytes= 0-999, 4500-5499, -1000",
                vec![int(0, 999), int(4500, 5499), RangeSpec::Suffix { length: 1000 }],
            ),
            ("bytes=500-600,601-999", vec![int(500, 600), int(601, 999)]),
            ("BYTES=1-2", vec![int(1, 2)]),
            ("bytes=,1-2,\t,", vec![int(1, 2)]),
            ("bytes=0-99999999999999999999999", vec![int(0, u64::MAX)]),
        ] {
            assert_eq!(parse(value, 9), Some(specs), "{value}");
        }
        for value in [
            "",
            "bytes",
            "bytes=",
            "bytes=,",
            "bytes=-",
            "bytes=a-",
            "bytes=1",
            "bytes=2-1",
            "bytes=1-2-3",
            "bytes=+1-2",
            "bytes=1 -2",
            "bytes=--1",
            "items=0-1",
            "bytes =0-1",
            "bytes=0-1;2-3",
            "bytes=0-1,x",
            "bytes=0x1-2",
            "bytes=١-٢",
        ] {
            assert_eq!(parse(value, 9), None, "{value}");
        }
    }

    #[test]
    fn too_many_are_as_none() {
        assert!(parse("bytes=1-1,2-2,3-3", 3).is_some());
        assert_eq!(parse("bytes=1-1,2-2,3-3,4-4", 3), None);
    }

    #[test]
    fn they_are_cut_to_the_file() {
        let ranges = |value, length| resolve(&parse(value, 9).unwrap(), length);
        let asked =
            |several, ranges: &[Range<u64>]| Asked::Ranges { ranges: ranges.into(), several };
        assert_eq!(ranges("bytes=0-", 10), asked(false, &[0..10]));
        assert_eq!(ranges("bytes=0-99", 10), asked(false, &[0..10]));
        assert_eq!(ranges("bytes=-99", 10), asked(false, &[0..10]));
        assert_eq!(ranges("bytes=-3", 10), asked(false, &[7..10]));
        assert_eq!(ranges("bytes=10-", 10), Asked::Unsatisfiable);
        assert_eq!(ranges("bytes=-0", 10), Asked::Unsatisfiable);
        assert_eq!(ranges("bytes=5-6,99-,0-0", 10), asked(true, &[5..7, 0..1]));
        assert_eq!(ranges("bytes=0-65535,65536-", 10), asked(true, &[0..10]));
        assert_eq!(ranges("bytes=18446744073709551615-", u64::MAX), Asked::Unsatisfiable);
        assert_eq!(ranges("bytes=0-5", 0), Asked::Whole);
    }

    proptest! {
        /// On any input: no panic, and the ranges are in the file.
        #[test]
        fn any_bytes(value in "(bytes=)?[0-9, \t=x-]{0,60}|.*", length: u64) {
            if let Some(specs) = parse(&value, 5)
                && let Asked::Ranges { ranges, .. } = resolve(&specs, length)
            {
                prop_assert!(ranges.len() <= 5 && !ranges.is_empty());
                prop_assert!(ranges.iter().all(|range| range.start < range.end && range.end <= length));
            }
        }

        #[test]
        fn merged_are_the_same_bytes(
            ranges in prop::collection::vec((0u64..200, 0u64..40), 0..12),
            block in (0u64..200, 1u64..64),
        ) {
            let ranges: Vec<_> = ranges.iter().map(|(at, many)| *at..at + many).collect();
            let merged = merged(&ranges);
            let there = |ranges: &[Range<u64>], byte| ranges.iter().any(|range| range.contains(&byte));
            for byte in 0..250 {
                prop_assert_eq!(there(&ranges, byte), there(&merged, byte));
            }
            prop_assert!(merged.windows(2).all(|pair| pair[0].end < pair[1].start));
            let block = block.0..block.0 + block.1;
            let cut: Vec<_> = within(&merged, &block).collect();
            for byte in 0..300 {
                let both = block.contains(&byte) && there(&merged, byte);
                prop_assert_eq!(there(&cut, byte), both);
            }
        }
    }
}
