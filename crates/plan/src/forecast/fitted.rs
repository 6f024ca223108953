//! Written by `python -m benches.needs fit` from `benches/needs/measured.json`.

/// Seconds for one of each kind of work, while memory is near.
#[rustfmt::skip]
pub(crate) const SECONDS: [(&str, f64); 7] = [
    ("packets", 3.853e-09),
    ("events", 9.315e-08),
    ("messages", 1.302e-07),
    ("choices", 6.399e-10),
    ("looks", 2.725e-08),
    ("shares", 2.729e-08),
    ("opened", 6.368e-06),
];
/// Cache misses make all of that slower: twice as slow with this many bytes.
pub(crate) const SLOWER_BYTES: f64 = 2.257e+07;
/// Bytes for one of each kind.
#[rustfmt::skip]
pub(crate) const BYTES: [(&str, f64); 2] = [
    ("peers", 3.658e+04),
    ("quota_neighbours", 3.530e+03),
];
