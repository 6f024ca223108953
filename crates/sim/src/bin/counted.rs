//! Runs small enough for a profiler that counts instructions and cache lines: `counted NAME`.
//!
//! Prints packets delivered, events, and a digest of all tables, by which two builds are compared. Without a name it
//! prints the names of those that `benches/instructions.py` counts; the others are for the clock.

#[path = "../../tests/common/mod.rs"]
mod common;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::process::ExitCode;

use common::{adsl_swarm, content_server, flash_crowd, kilobytes, numbers, path, star};
use flashcrowd_base::Span;
use flashcrowd_origin::disk::{HardDisk, Medium};
use flashcrowd_plan::{Plan, TransportChoice, Workload};
use flashcrowd_sim::{RunHandle, simulate};

/// Its name, and how to make its plan.
type Run = (&'static str, fn() -> Plan);

/// The runs: an access star of CUBIC flows, crowds far apart and over a lossy path, one behind ADSL lines whose blocks
/// go by LEDBAT, a star of uTP flows, a content server on a disk with little memory.
const RUNS: [Run; 6] = [
    ("star", || star(20, 4, 40)),
    ("crowd", || flash_crowd(100, 1 << 20, kilobytes(20), path(Span::from_millis(400), 0.0))),
    ("loss", || flash_crowd(30, 1 << 20, kilobytes(100), path(Span::from_millis(50), 0.01))),
    ("adsl", || adsl_swarm(20, 2 << 20, 200, Some(TransportChoice::Tcp(1)))),
    ("utp", utp),
    ("content-server", served),
];

/// The same in large: for the clock.
const LARGE: [Run; 2] = [
    ("large-star", || star(100, 4, 100)),
    ("large-crowd", || {
        flash_crowd(1000, 1 << 20, kilobytes(20), path(Span::from_millis(400), 0.0))
    }),
];

fn utp() -> Plan {
    let mut plan = star(20, 4, 40);
    plan.utps = vec![flashcrowd_transport::utp::profiles::libtorrent()];
    for workload in &mut plan.workloads {
        if let Workload::Transfer(flow) = workload {
            flow.transport = Some(TransportChoice::Utp(0));
        }
    }
    plan
}

fn served() -> Plan {
    let disk = Medium::HardDisk(HardDisk::default());
    content_server(path(Span::from_millis(40), 0.0), &[8_000_000; 20], "circus", disk)
}

fn main() -> ExitCode {
    let asked = std::env::args().nth(1);
    let mut runs = RUNS.iter().chain(&LARGE);
    let Some((name, plan)) = runs.find(|(name, _)| asked.as_deref() == Some(name)) else {
        let names: Vec<&str> = RUNS.iter().map(|(name, _)| *name).collect();
        println!("{}", names.join("\n"));
        return if asked.is_none() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    };
    match simulate(&plan(), 1, &RunHandle::default()) {
        Ok(tables) => {
            let count = |column| numbers(&tables, "run", column)[0];
            let mut digest = DefaultHasher::new();
            format!("{tables:?}").hash(&mut digest);
            println!(
                "{name} {} {} {:016x}",
                count("packets_delivered"),
                count("events"),
                digest.finish()
            );
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{name}: {error}");
            ExitCode::FAILURE
        }
    }
}
