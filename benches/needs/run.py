"""Runs a plan from standard input for so many seconds; what it took, as JSON.

Memory is the peak of resident memory during the run less what the process had before it, without
the pages of files: those are the engine's code, 2 to 4 MB by how it was compiled. Processor time is
the least of all runs within a span: whatever else the machine does makes it more.
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
    """Prints what the runs took."""
    plan, span_s = sys.stdin.read(), float(sys.argv[1])
    try:
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
        before = resident("VmRSS") - resident("RssFile")
    except OSError:
        before = None
    seconds: list[float] = []
    taken, tables = None, {}
    while not seconds or sum(seconds) < span_s:
        begin = time.process_time()
        tables = _core.simulate(_core.Plan(plan), 1)
        seconds.append(time.process_time() - begin)
        if before is not None and taken is None:
            taken = resident("VmHWM") - resident("RssFile") - before
    (row,) = pa.table(tables["run"]).to_pylist()
    counts = {"packets": row["packets_delivered"], "events": row["events"]}
    found = {**counts, "end_s": row["end_s"], "seconds": min(seconds), "bytes": taken}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
