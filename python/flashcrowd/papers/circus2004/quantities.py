"""Numbers of a run that this paper speaks of, at full size: throughputs, miss ratio, times."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from flashcrowd.base.units import Rate, Size
from flashcrowd.papers.circus2004 import recovery
from flashcrowd.papers.circus2004.words import LINES, POPULATIONS, exact, scale_of
from flashcrowd.papers.evidence import Given, StudyEvidence
from flashcrowd.papers.measured import Quantity, named
from flashcrowd.report import source as tables
from flashcrowd.report.measures import Measure

#: A packet carries 1448 B of a file, and 1500 B of a line.
_WIRE = 1500 / 1448


#: Columns of the table ``origins``, as numbers.
Columns = Mapping[str, np.ndarray]


def _of_server(
    name: str, unit: str, values: Callable[[Columns], np.ndarray], note: str, most: float = np.inf
) -> Quantity:
    """A number of the server in each run, while the crowd was there."""

    def found(study: StudyEvidence, given: Given) -> Measure:
        del given
        rows = study.rows("origins")
        columns = {
            column: tables.numbers(rows, column)
            for column in ("network_bps", "disk_bps", "miss_ratio", "disk_busy_s", "from_s", "to_s")
        }
        runs = tables.integers(rows, "run").tolist()
        of_run = dict(zip(runs, values(columns).tolist(), strict=True))
        return Measure(name, unit, of_run, note, most=most)

    return found


network = _of_server(
    "network throughput", "MB/s", lambda of: of["network_bps"] / 8e6,
    "Bytes of files that the server hands to the sockets of its clients.",
)  # fmt: skip
disk = _of_server("disk throughput", "MB/s", lambda of: of["disk_bps"] / 8e6, "Bytes that it read.")
miss_ratio = _of_server(
    "miss ratio", "%", lambda of: 100 * of["miss_ratio"], "Bytes read over bytes sent."
)
disk_use = _of_server(
    "disk use", "%", lambda of: 100 * of["disk_busy_s"] / (of["to_s"] - of["from_s"]),
    "Time in which the disk positioned or read.", most=100.0,
)  # fmt: skip


def disk_a_file(study: StudyEvidence, given: Given) -> Measure:
    """What the server reads for each of its files, in MB/s."""
    counts = study.of_runs("workloads.origin.files.count")
    found = {run: value / int(str(counts[run])) for run, value in disk(study, given).of_run.items()}
    return Measure("disk throughput a file", "MB/s", found, "Bytes read, over the number of files.")


def network_gain(study: StudyEvidence, given: Given) -> Measure:
    """Network throughput less that before the policy `from`, of the same crowd, in MB/s."""
    of = network(study, given)
    found: dict[int, float] = {}
    for point in study.points.points:
        base = study.partner(point, exact(study, {"policy": given["from"]}))
        bases = of.by_seed(base) if base is not None else {}
        found.update(
            {
                run.run: of.of_run[run.run] - bases[run.seed]
                for run in of.runs_of(point)
                if run.seed in bases
            }
        )
    note = f"Less that of {given['from']}, before the same clients."
    return Measure("change of the network throughput", "MB/s", found, note, least=-np.inf)


def times(study: StudyEvidence, given: Given) -> Measure:
    """Mean download time of those who came while the crowd was there, in seconds at full size.

    Parameter: `over`, the line; without, all.
    """
    over = given.get("over")
    rows = study.rows("downloads")
    runs, took = tables.integers(rows, "run"), tables.numbers(rows, "duration_s")
    chosen = ~np.isnan(took)
    if over is not None:
        named = np.array(
            [POPULATIONS.get(name, name) for name in tables.strings(rows, "population")]
        )
        chosen &= named == over
    scales = {run: scale_of(value) for run, value in study.of_runs(_POSITIONING).items()}
    found = {
        int(run): scales[int(run)] * float(took[chosen & (runs == run)].mean())
        for run in np.unique(runs[chosen])
    }
    called = f"download time, {over}" if over else "download time"
    return Measure(called, "s", found, "Mean of those who came while the crowd was there.")


_POSITIONING = "workloads.origin.disk.positioning.time"


def stretch(study: StudyEvidence, given: Given) -> Measure:
    """Download time over what the line alone needs."""
    of = times(study, given)
    line = given.get("over")
    sizes = study.of_runs("workloads.origin.files.size")
    scales = {run: scale_of(value) for run, value in study.of_runs(_POSITIONING).items()}
    rates = {
        run: rate if line is None else LINES[line]
        for run, rate in (
            study.of_runs("network.groups.clients.access.down")
            if line is None
            else dict.fromkeys(sizes, LINES[line])
        ).items()
    }
    found = {
        run: value
        / (scales[run] * 8 * Size(str(sizes[run])).bytes * _WIRE / Rate(str(rates[run])).bps)
        for run, value in of.of_run.items()
    }
    called = f"{of.name} over that of the line alone"
    return Measure(called, "", found, "1500 B on the line carry 1448 B of a file.")


#: Each measure, by the name that claims use.
MEASURES: Mapping[str, Quantity] = {
    "network": network,
    "disk": disk,
    "disk-a-file": disk_a_file,
    "miss-ratio": miss_ratio,
    "network-gain": network_gain,
    "disk-use": disk_use,
    "time": times,
    "stretch": stretch,
    **recovery.MEASURES,
}

#: The measure that `given` names, with its parameters.
measure = named(MEASURES)
