//! The workloads of the paper at full size, as the prototype ran them.

mod crowd;

use crowd::{Line, T1, T3, TEN, Workload, paper_disk, run};
use flashcrowd_base::Span;
use flashcrowd_origin::{Scheduling, Settings};

#[test]
#[ignore = "minutes: the table at full size"]
fn at_full_size() {
    let file_bytes = 1 << 29;
    let mb = 1_000_000;
    let row = |name, files, lines: &[Line], load, memory, seed| Workload {
        name,
        files,
        file_bytes,
        lines: lines.to_vec(),
        load,
        memory,
        warm_up: Span::from_secs(if lines[0].bps == T1.bps { 6000 } else { 1000 }),
        end: Span::from_secs(if lines[0].bps == T1.bps { 12_000 } else { 4000 }),
        seed,
    };
    let rows = [
        row("1 file, T3, 40 %", 1, &[T3], 0.4, 128 * mb, 1),
        row("1 file, 10T+T3, 40 %", 1, &[TEN, T3], 0.4, 128 * mb, 1),
        row("1 file, T1+T3, 30 %", 1, &[T1, T3], 0.3, 128 * mb, 1),
        row("16 files, 10T, 40 %", 16, &[TEN], 0.4, 300 * mb, 1),
        row("32 files, 10T, 40 %", 32, &[TEN], 0.4, 600 * mb, 1),
        row("64 files, 10T, 40 %", 64, &[TEN], 0.4, 1200 * mb, 1),
        row("16 files, 10T+T3, 40 %", 16, &[TEN, T3], 0.4, 300 * mb, 1),
        row("16 files, 10T+T3, 40 %", 16, &[TEN, T3], 0.4, 300 * mb, 2),
        row("16 files, 10T+T3, 20 %", 16, &[TEN, T3], 0.2, 300 * mb, 1),
        row("4 files, 10T+T3, 40 %", 4, &[TEN, T3], 0.4, 64 * mb, 1),
        row("1 file, 10T+T3, 80 %", 1, &[TEN, T3], 0.8, 64 * mb, 1),
    ];
    let only = std::env::var("ROW").ok();
    let block_bytes = std::env::var("BLOCK").ok().map_or(1 << 18, |b| b.parse().unwrap());
    let extent_bytes = std::env::var("EXTENT").ok().map_or(1 << 20, |b| b.parse().unwrap());
    let policies = std::env::var("POLICIES").ok();
    for (number, workload) in rows.iter().enumerate() {
        if only.as_ref().is_some_and(|only| only.split(',').all(|r| r != number.to_string())) {
            continue;
        }
        println!(
            "{number} {} seed {} memory {} MB",
            workload.name,
            workload.seed,
            workload.memory / mb
        );
        for name in Scheduling::NAMES {
            let json =
                policies.as_ref().map(|p| p.split(';').map(String::from).collect::<Vec<_>>());
            let kinds: Vec<Scheduling> = match json {
                Some(list) => {
                    if name != "in-order" {
                        continue;
                    }
                    list.iter()
                        .map(|p| {
                            if p.starts_with('{') {
                                serde_json::from_str(p).unwrap()
                            } else {
                                Scheduling::named(p).unwrap()
                            }
                        })
                        .collect()
                }
                None => vec![Scheduling::named(name).unwrap()],
            };
            for scheduling in kinds {
                let settings = Settings {
                    block_bytes,
                    extent_bytes,
                    scheduling: scheduling.clone(),
                    ..Settings::default()
                };
                let o = run(workload, &settings, &paper_disk());
                let times: Vec<String> =
                    o.downloads.iter().map(|(mean, n)| format!("{mean:.0} ({n})")).collect();
                println!(
                    "  {:10} net {:5.1} disk {:5.1} req {:5.1} seeks {:5.1} miss {:.3} busy {:.2} left {:4} down {}",
                    scheduling.name(),
                    o.network,
                    o.disk,
                    o.requests,
                    o.seeks,
                    o.misses,
                    o.busy,
                    o.left,
                    times.join(" / ")
                );
            }
        }
    }
}
