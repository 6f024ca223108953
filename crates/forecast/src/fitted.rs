//! Written by `python -m benches.needs fit` from `benches/needs/measured.json`.

/// Seconds for one of each kind of work, while memory is near.
#[rustfmt::skip]
pub(crate) const SECONDS: [(&str, f64); 8] = [
    ("packets", 1.202e-09),
    ("utp_packets", 1.146e-08),
    ("events", 9.738e-08),
    ("messages", 3.377e-07),
    ("choices", 3.324e-09),
    ("looks", 4.189e-08),
    ("shares", 2.264e-09),
    ("opened", 3.561e-07),
];
/// Cache misses make all of that slower: twice as slow with this many bytes.
pub(crate) const SLOWER_BYTES: f64 = 2.198e+07;
/// Bytes for one of each kind.
#[rustfmt::skip]
pub(crate) const BYTES: [(&str, f64); 3] = [
    ("peers", 1.040e+04),
    ("neighbours", 3.215e+02),
    ("quota_neighbours", 3.660e+03),
];
