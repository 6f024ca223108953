//! Every policy before every crowd, as numbers: network and disk in MB/s, requests and seeks a second, misses as bytes
//! read for a byte sent, the disk's busy part, clients left at the end, and for each line the mean time of downloads in
//! seconds with their number. Lines alone need 2782 s (T1), 429 s (10T) and 96 s (T3). A changed behaviour is a changed table.

use crate::crowd::{paper_disk, run, workloads};
use flashcrowd_base::Span;
use flashcrowd_origin::{Scheduling, Settings};
use std::fmt::Write;

/// Shorter than at full length, and with blocks four times as long: seconds, not minutes.
#[test]
fn every_policy_before_every_crowd() {
    let mut table = String::new();
    for mut workload in workloads(1) {
        if workload.files > 16 && workload.zipf == 0.0 {
            continue;
        }
        workload.end = Span::from_nanos(workload.end.nanos() * 2 / 5);
        workload.warm_up = Span::from_nanos(workload.warm_up.nanos() * 2 / 5);
        let memory = workload.memory / 1_000_000;
        writeln!(table, "{}, {memory} MB of memory", workload.name).unwrap();
        for name in Scheduling::NAMES {
            let scheduling = Scheduling::named(name).unwrap();
            let settings = Settings { block_bytes: 1 << 18, scheduling, ..Settings::default() };
            let outcome = run(&workload, &settings, &paper_disk());
            writeln!(table, "{}", outcome.row(name)).unwrap();
        }
    }
    insta::assert_snapshot!(table);
}
