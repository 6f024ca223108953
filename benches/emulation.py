"""How fast and how punctual the emulator is here: `python benches/emulation.py [SECONDS]`.

Two loads of kernel TCP: as much as one emulator thread carries between two hosts without a limit,
and 1 Gbit/s of full packets through 100 namespaces (50 pairs, 20 Mbit/s each, 10 ms of round trip).
The numbers mean something only while nothing else runs.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import flashcrowd

STUDY = """
format = 1
title = "{title}"
seed = 1
repeats = 1

[network]
rtt = "{rtt}"
stack = "linux-6"

[network.groups.left]
hosts = {pairs}
{access}

[network.groups.right]
hosts = {pairs}

[workloads.bulk]
kind = "transfer"
from = "left"
to = "right"
flows = {flows}
stop = "{seconds} s"

[stop]
horizon = "{seconds} s"
"""

LINE = 'access = {{ up = "20 Mbit/s", down = "100 Mbit/s", up_queue = "40 packets" }}'


def measure(title: str, pairs: int, flows: int, rtt: str, access: str, seconds: int) -> None:
    """Run one load, and print what the table `emulation` says of its seconds after the second."""
    text = STUDY.format(
        title=title, pairs=pairs, flows=flows, rtt=rtt, access=access.format(), seconds=seconds
    )
    with tempfile.TemporaryDirectory() as folder:
        study = Path(folder) / "study.toml"
        study.write_text(text)
        out = Path(folder) / "results"
        results = flashcrowd.run(study, out=out, progress=False, engine="emulation", force=True)
        rows = [row for row in results.tables["emulation"].to_pylist() if row["t_s"] >= 2]
        (run,) = results.tables["runs"].to_pylist()
        goodput = sum(row["goodput_bps"] or 0 for row in results.tables["transfers"].to_pylist())
    mean = sum(row["packets"] for row in rows) / len(rows)
    late = sorted(row["late_p99_s"] for row in rows)[len(rows) // 2]
    most = max(row["late_max_s"] for row in rows)
    busy = sum(row["busy"] for row in rows) / len(rows)
    print(f"{title}: {run['outcome']} {run['reason']}")
    print(f"  {mean:,.0f} packets/s, goodput {goodput / 1e6:,.0f} Mbit/s, {busy:.0%} of a core")
    print(f"  p99 lateness {1e6 * late:,.0f} us (median of seconds), most {1e6 * most:,.0f} us")


if __name__ == "__main__":
    span = int(sys.argv[1]) if len(sys.argv) > 1 else 12
    measure("unlimited", 1, 4, "0 ms", "", span)
    measure("1 Gbit/s, 100 namespaces", 50, 1, "10 ms", LINE, span)
