//! Written by `python -m benches.needs fit` from `benches/needs/measured.json`.

/// Seconds for one of each kind of work, while memory is near.
#[rustfmt::skip]
pub(crate) const SECONDS: [(&str, f64); 6] = [
    ("packets", 2.281e-09),
    ("events", 9.738e-08),
    ("messages", 2.641e-07),
    ("choices", 3.070e-09),
    ("shares", 7.236e-09),
    ("opened", 6.226e-06),
];
/// Cache misses make all of that slower: twice as slow with this many bytes.
pub(crate) const SLOWER_BYTES: f64 = 3.469e+07;
/// Bytes for one of each kind.
#[rustfmt::skip]
pub(crate) const BYTES: [(&str, f64); 2] = [
    ("peers", 4.695e+04),
    ("quota_neighbours", 2.911e+03),
];
