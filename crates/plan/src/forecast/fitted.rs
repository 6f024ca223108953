//! Written by `python -m benches.needs fit` from `benches/needs/measured.json`.

/// Seconds for one of each kind of work, while memory is near.
#[rustfmt::skip]
pub(crate) const SECONDS: [(&str, f64); 4] = [
    ("packets", 3.541e-08),
    ("events", 9.788e-08),
    ("looks", 1.713e-08),
    ("shares", 1.886e-08),
];
/// Cache misses make all of that slower: twice as slow with this many bytes.
pub(crate) const SLOWER_BYTES: f64 = 2.429e+07;
/// Bytes for one of each kind.
#[rustfmt::skip]
pub(crate) const BYTES: [(&str, f64); 3] = [
    ("peers", 2.085e+04),
    ("neighbours", 7.356e+02),
    ("quota_neighbours", 3.116e+03),
];
