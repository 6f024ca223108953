//! The headline numbers: a whole swarm and a star of bulk TCP flows, on one core.
//!
//! `cargo bench -p flashcrowd-sim --features huge-pages --bench headline [-- crowd | star | libtorrent | adsl | growth | city]`
//! prints seconds, packets delivered end to end per second, and peak memory.
//! `benches/README.md` keeps the results.

#[path = "../tests/common/mod.rs"]
mod common;

use common::{adsl_swarm, flash_crowd, kilobytes, numbers, path, star, texts};
use flashcrowd_base::Span;
use flashcrowd_plan::{Plan, TransportChoice};
use flashcrowd_sim::{RunHandle, simulate};

/// The extension module's.
#[cfg(all(target_os = "linux", feature = "huge-pages"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

#[allow(clippy::disallowed_methods)] // A benchmark is the one place that reads the clock.
fn measure(name: &str, plan: &Plan) -> f64 {
    let start = std::time::Instant::now();
    let tables = simulate(plan, 1, &RunHandle::default()).expect("the plan runs");
    let seconds = start.elapsed().as_secs_f64();
    let packets = numbers(&tables, "run", "packets_delivered")[0];
    let events = numbers(&tables, "run", "events")[0];
    println!(
        "{name:<44} {seconds:7.2} s  {:6.2} M packets  {:5.2} M packets/s  {:4.0} ns/packet  \
         {:5.1} ns/event  peak {:4.0} MB  {} at {:.0} s",
        packets / 1e6,
        packets / seconds / 1e6,
        seconds * 1e9 / packets,
        seconds * 1e9 / events,
        peak_megabytes(),
        texts(&tables, "run", "outcome")[0],
        numbers(&tables, "run", "end_s")[0],
    );
    seconds * 1e9 / packets
}

/// Peak resident memory of this process, where the system says.
fn peak_megabytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
    kilobytes.map_or(f64::NAN, |kilobytes| kilobytes / 1e3)
}

fn main() {
    let chosen: Vec<String> =
        std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let named = |name: &str| chosen.iter().any(|arg| arg == name);
    let wanted = |name: &str| chosen.is_empty() || named(name);
    let far = || path(Span::from_millis(400), 0.0);
    if wanted("libtorrent") {
        let crowd = flash_crowd(300, 10_500_000, kilobytes(100), path(Span::from_millis(50), 0.0));
        measure("300 leechers x 10.5 MB, 100 KB/s, 50 ms", &crowd);
    }
    if wanted("star") {
        measure("star of 100 hosts x 4 CUBIC flows, 100 s", &star(100, 4, 100));
    }
    if wanted("crowd") {
        let crowd = flash_crowd(300, 50 << 20, kilobytes(20), far());
        measure("300 leechers x 50 MiB, 20 KB/s, 400 ms", &crowd);
    }
    if wanted("adsl") {
        let tcp = |stack| Some(TransportChoice::Tcp(stack));
        for (name, data) in [("shared", None), ("apart", tcp(0)), ("apart, LEDBAT", tcp(1))] {
            let crowd = adsl_swarm(100, 25 << 20, 200, data);
            measure(&format!("100 leechers x 25 MiB, ADSL 1/8, blocks {name}"), &crowd);
        }
    }
    if wanted("growth") {
        let [small, large] = [100, 1000].map(|leechers| {
            let crowd = flash_crowd(leechers, 10 << 20, kilobytes(20), far());
            measure(&format!("{leechers} leechers x 10 MiB, 20 KB/s, 400 ms"), &crowd)
        });
        println!("growth of the time per packet from 100 to 1000 peers: x {:.2}", large / small);
    }
    // Takes minutes: by name only.
    if named("city") {
        let crowd = flash_crowd(10_000, 10 << 20, kilobytes(20), far());
        measure("10,000 leechers x 10 MiB, 20 KB/s, 400 ms", &crowd);
    }
}
