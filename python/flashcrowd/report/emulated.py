"""How exact an emulation was, and what its programs did otherwise than the study asks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from flashcrowd.base.probes import COVERED, UNMEASURED
from flashcrowd.base.rows import Row
from flashcrowd.drawing.blocks import Block, Table, Text
from flashcrowd.report import source, wording
from flashcrowd.report.source import Source

_MOST_ROWS = 12
_OWN = "its own"
"""The value of `given` in the table `programs` if only the program is known to decide by itself."""


def blocks(results: Source) -> Iterator[Block]:
    """Sentences and a table; nothing of a simulation."""
    seconds = source.table(results, "emulation")
    if seconds is None:
        return
    yield Text(_punctuality(seconds) + _standing(_sessions(results)))
    probes = source.table(results, "probes")
    if probes is not None:
        yield Text(_self_test(probes))
        yield _paths(probes)
    after = [it["self_test_after"] for it in _sessions(results) if "self_test_after" in it]
    if after:
        yield Text(_self_test_after(after))
    programs = source.table(results, "programs")
    if programs is not None:
        yield _otherwise(programs)


def _punctuality(seconds: pa.Table) -> str:
    half, most = (source.numbers(seconds, f"late_{of}_s") for of in ("p50", "p99"))
    packets = source.integers(seconds, "packets")
    lost = int(source.integers(seconds, "unmodelled_drops").sum())
    middle = float((half * packets).sum() / max(packets.sum(), 1))
    return (
        f"Half of the packets came to their hosts within {1e6 * middle:.2g} µs of when "
        f"they were due. In the worst of {wording.count(seconds.num_rows, 'second')}, 1 in 100 was "
        f"{1e3 * float(most.max()):.2g} ms late or more; "
        f"{wording.count(lost, 'packet')} got lost other than by the model."
    )


def _standing(sessions: Sequence[Mapping[str, Any]]) -> str:
    """How hosts were attached, and whether the emulator ran before other programs."""
    labs = [lab for it in sessions for lab in it.get("labs", ())]
    if not labs:
        return ""
    ways = " and ".join(sorted({it["attachment"].upper() for it in labs}))
    runs, prior = sum(it["runs"] for it in labs), sum(it["runs"] * it["real_time"] for it in labs)
    some = f"had real-time priority in {prior} of {runs} runs"
    said = {runs: "had real-time priority", 0: "had no real-time priority"}.get(prior, some)
    steered = sum(it["runs"] * it.get("steered", False) for it in labs)
    where = "" if not steered else " Hosts received on other processors than the emulator's"
    where += {0: "", runs: "."}.get(steered, f" in {steered} of {runs} runs.")
    return f" Hosts were attached by {ways}; the emulator {said}.{where}"


def _self_test(probes: pa.Table) -> str:
    rows = probes.to_pylist()
    measured = [row for row in rows if row["probe"] not in UNMEASURED]
    within = sum(row["within"] for row in measured)
    said = (
        f"{within} of {wording.count(len(measured), 'probe')} of the paths found what the model "
        "says, within the limits of the self-test."
    )
    partly = [row for row in rows if row["probe"] == COVERED]
    if not partly:
        return said
    runs, all_runs = (len({row["run"] for row in it}) for it in (partly, rows))
    most = max(partly, key=lambda row: row["planned"])
    left, kinds = round(most["planned"] - most["measured"]), round(most["planned"])
    where = "" if runs == all_runs else f"In {runs} of {all_runs} runs up to "
    limit = f"kinds of paths were not measured: the self-test takes {most['measured']:.0f}."
    return f"{said} {where}{left:,} of {kinds:,} {limit}"


def _paths(probes: pa.Table) -> Table:
    """The measurements of each path; those that several runs share are there once."""
    measured = [{**row, "run": None} for row in probes.to_pylist() if row["probe"] != COVERED]
    found = {tuple(row.values()): row for row in measured}.values()
    rows = [
        [
            f"{row['from']} → {row['to']}",
            row["probe"],
            *_beside(row),
            _verdict(row),
        ]
        for row in found
    ]
    caption = "The network as echoes found it from outside, with nothing else on it."
    columns = ["path", "what", "model", "measured", "within the limits"]
    return Table(columns, rows, caption, frozenset({0, 1}), folded=True)


def _verdict(row: Row) -> str:
    if row["probe"] in UNMEASURED:
        return "not measured"
    return "yes" if row["within"] else "no"


def _beside(row: Row) -> tuple[str, str]:
    """The model's value, and the measured one, with units."""
    probe = row["probe"]
    if probe.startswith("queue"):
        return f"{row['planned']:.0f} packets", f"{row['measured']:.0f} packets"
    if probe.startswith("answers"):
        return f"{row['planned']:.0f}", f"{row['measured']:.0f}"
    if probe.startswith("rate"):
        return f"{row['planned'] / 1e6:.4g} Mbit/s", f"{row['measured'] / 1e6:.4g} Mbit/s"
    if probe.startswith("loss"):
        measured = f"{row['measured']:.2%} [{max(row['low'], 0):.2%}, {row['high']:.2%}]"
        return f"{row['planned']:.2%}", measured
    return f"{1e3 * row['planned']:.1f} ms", f"{1e3 * row['measured']:.1f} ms"


def _sessions(results: Source) -> Sequence[Mapping[str, Any]]:
    return results.provenance.get("sessions", ())


def _self_test_after(found: Sequence[Mapping[str, Any]]) -> str:
    """The results of the self-test after the last run, of all sessions together."""
    probes, within = (sum(it[name] for it in found) for name in ("probes", "within"))
    failures = [failure for it in found for failure in it["failures"]]
    first = f" The first that did not: {failures[0]}." if failures else ""
    return f"After the last run, {within} of {wording.count(probes, 'probe')} did.{first}"


def _together(rows: Iterable[list[str]]) -> list[list[str]]:
    """The keys of one table of the profile that a program decides by itself share a row."""
    found: list[list[str]] = []
    tables: dict[tuple[str, ...], list[str]] = {}
    for population, program, setting, asked, given in rows:
        table, _, key = setting.partition(".")
        row = [population, program, table, f"{key or setting} {asked}", given]
        if given != _OWN:
            found.append([population, program, setting, asked, given])
        elif (population, program, table) not in tables:
            found.append(row)
            tables[population, program, table] = row
        else:
            tables[population, program, table][3] += f", {row[3]}"
    return found


def _otherwise(programs: pa.Table) -> Table:
    """Values that are the same in all runs are there once."""
    columns = ("population", "program", "setting", "asked", "given")
    values = zip(*(source.strings(programs, name) for name in columns), strict=True)
    rows = _together(
        [population or "tracker", *rest] for population, *rest in dict.fromkeys(values)
    )
    caption = "Settings that a program does not follow as the study asks."
    words = frozenset(range(len(columns)))
    return Table(list(columns), rows, caption, words, folded=len(rows) > _MOST_ROWS)
