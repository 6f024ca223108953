use crate::Need;
use flashcrowd_plan::{Error, Plan};
use std::fs::read_to_string;

/// Memory that is not checked: every machine that runs this has it, and to query the free memory takes longer
/// than a short run.
const SURELY_THERE: u64 = 64 << 20;

/// Refuses a plan whose run would not fit into [`available_memory`]. Only one that [`Plan::check`] accepts.
///
/// # Errors
/// It says how much one run needs and how much there is.
pub fn check_memory(plan: &Plan) -> Result<(), Error> {
    let need = Need::of(plan);
    if need.bytes > SURELY_THERE
        && let Some(available) = available_memory()
    {
        need.check(available)?;
    }
    Ok(())
}

/// Bytes that this process can still have before the machine swaps or the system ends it: what is
/// available (`MemAvailable`, which counts caches that can be given up), or less where a control
/// group (version 2) or a limit of the address space leaves less. `None` where the system does not
/// say, as anywhere but on Linux.
pub fn available_memory() -> Option<u64> {
    let machine = read_to_string("/proc/meminfo").ok().and_then(|text| of_machine(&text))?;
    let group = read_to_string("/proc/self/cgroup").ok().and_then(|text| of_groups(&text));
    let process = read_to_string("/proc/self/limits").ok().and_then(|limits| {
        let used = read_to_string("/proc/self/status").ok()?;
        of_process(&limits, &used)
    });
    Some(machine.min(group.unwrap_or(u64::MAX)).min(process.unwrap_or(u64::MAX)))
}

fn of_machine(meminfo: &str) -> Option<u64> {
    kilobytes(meminfo, "MemAvailable:")
}

/// A line of a name, a number and "kB".
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    let number: u64 = rest.trim().strip_suffix("kB")?.trim().parse().ok()?;
    number.checked_mul(1024)
}

/// The memory that the control groups of this process leave, each of which is bounded by those
/// above it.
fn of_groups(cgroup: &str) -> Option<u64> {
    let mut path = cgroup.lines().find_map(|line| line.strip_prefix("0::"))?;
    let mut min = None;
    loop {
        let folder = format!("/sys/fs/cgroup{}", path.trim_end_matches('/'));
        let read = |name: &str| read_to_string(format!("{folder}/{name}")).ok();
        if let (Some(max), Some(used)) = (read("memory.max"), read("memory.current")) {
            let left = of_group(&max, &used, &read("memory.stat").unwrap_or_default());
            min = [min, left].into_iter().flatten().min();
        }
        match path.rfind('/') {
            Some(slash) if path.len() > 1 => path = &path[..slash],
            _ => return min,
        }
    }
}

/// The rest of the limit of a group ("max" for none); pages of files that are not in use are given
/// up when memory is needed.
fn of_group(max: &str, used: &str, stat: &str) -> Option<u64> {
    let max: u64 = max.trim().parse().ok()?;
    let used: u64 = used.trim().parse().ok()?;
    let spare = stat.lines().find_map(|line| line.strip_prefix("inactive_file "));
    let spare: u64 = spare.and_then(|number| number.trim().parse().ok()).unwrap_or(0);
    Some(max.saturating_sub(used.saturating_sub(spare)))
}

/// The rest of the limit of the address space (`ulimit -v`).
fn of_process(limits: &str, status: &str) -> Option<u64> {
    let rest = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    let max: u64 = rest.split_whitespace().next()?.parse().ok()?;
    Some(max.saturating_sub(kilobytes(status, "VmSize:")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_says_is_read() {
        let meminfo =
            "MemTotal:       24000000 kB\nMemFree:  100 kB\nMemAvailable:   20000000 kB\n";
        assert_eq!(of_machine(meminfo), Some(20_480_000_000));
        assert_eq!(of_machine("MemTotal: 1 kB\n"), None);
        let limits = "Limit                     Soft Limit           Hard Limit           Units\n\
                      Max address space         3000000000           unlimited            bytes\n";
        let status = "VmPeak:\t  999999 kB\nVmSize:\t  1000 kB\n";
        assert_eq!(of_process(limits, status), Some(3_000_000_000 - 1_024_000));
        assert_eq!(of_process(&limits.replace("3000000000", "unlimited"), status), None);
    }

    #[test]
    fn a_group_leaves_its_limit_less_what_is_in_use() {
        let stat = "anon 5\ninactive_file 30\nactive_file 7\n";
        assert_eq!(of_group("1000\n", "400\n", stat), Some(630));
        assert_eq!(of_group("1000\n", "2000\n", ""), Some(0));
        assert_eq!(of_group("max\n", "400\n", stat), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_machine_says_something() {
        assert!(available_memory().is_some_and(|bytes| bytes > 1 << 20));
    }
}
