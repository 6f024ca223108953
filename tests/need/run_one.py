"""Runs a plan from standard input in a process of its own; what it took, as JSON.

Memory is the peak of resident memory during the run less what the process had before it, without
the pages of files: those are the engine's code, 2 to 4 MB by how it was compiled.
"""

import json
import sys
import time
from pathlib import Path

import pyarrow as pa

from flashcrowd import _core


def resident(name: str) -> int:
    """A size of this process, in bytes (proc(5): VmRSS, VmHWM at the peak, RssFile)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith(f"{name}:"))
    return int(line.split()[1]) * 1024


def main() -> None:
    plan = sys.stdin.read()
    try:
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
        before = resident("VmRSS") - resident("RssFile")
    except OSError:
        before = None
    begin = time.process_time()
    tables = _core.simulate(plan, 1)
    seconds = time.process_time() - begin
    taken = None if before is None else resident("VmHWM") - resident("RssFile") - before
    (row,) = pa.table(tables["run"]).to_pylist()
    counts = {"packets": row["packets_delivered"], "events": row["events"]}
    found = {**counts, "end_s": row["end_s"], "seconds": seconds, "bytes": taken}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
