"""The outcomes of controllers, in words: rows of tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from flashcrowd.report import wording
from flashcrowd.report.statistics import Estimate
from flashcrowd.traps.outcome import Outcome, Verdicts

if TYPE_CHECKING:
    from flashcrowd.traps.emulated import Beside

HEADER = (
    "controller", "uplink", "upload", "download", "p95 wait (ms)",
    "start (s)", "step (s)", "below half (s)",
)  # fmt: skip

CALL_HEADER = ("p95 of the call (ms)", "lost (%)")

AIMS = ("download", "upload", "delay", "start", "step", "half")


def title(verdicts: Verdicts) -> str:
    """The trap, what its oracle is, and how many runs there are of each."""
    shares = " and then ".join(f"{100 * share:.0f} %" for share in verdicts.shares)
    return (
        f"{verdicts.trap.name}: {verdicts.trap.says}. The best fixed limit is {shares} of the "
        f"uplink ({wording.runs(verdicts.runs)})."
    )


def header(verdicts: Verdicts) -> list[str]:
    """The headings for a trap: those of a call only where there is one."""
    call = verdicts.outcomes[0].call_ms is not None
    return [*HEADER, *(CALL_HEADER if call else ())]


def rows(verdicts: Verdicts) -> Iterator[list[str]]:
    """A row for the oracle, then one for each controller."""
    for one in verdicts.outcomes:
        cells = [
            one.name,
            _percent(one.uplink),
            _percent(one.upload),
            _percent(one.download),
            _signed(one.delay_ms),
            _time(one.start_s),
            "–" if one.step_s is None else _time(one.step_s),
            _plain(one.half_s),
        ]
        if one.call_ms is not None:
            cells += [_plain(one.call_ms), _plain(one.call_lost, 1)]
        yield cells


BESIDE_HEADER = (
    "", "", "uplink used", "download (Mbit/s)", "median ping (ms)", "p95 ping (ms)",
)  # fmt: skip


def beside_title(found: Beside) -> str:
    """The trap, what played it, and how many of these runs were punctual."""
    one = found.emulated.trap
    said = f"{one.name}: {one.says}, simulated and by {found.program} beside the real controllers"
    if not found.invalid:
        return f"{said}."
    count = f"{len(found.invalid)} of {wording.count(found.counts, 'emulated run')}"
    return f"{said}. {count} invalid, the first since {found.invalid[0].partition('; ')[0]}."


def beside_rows(found: Beside) -> Iterator[list[str]]:
    """Two rows for each limit and controller: simulated, and emulated."""
    for name, pair in found.means.items():
        for engine, means in zip(("simulated", "emulated"), pair, strict=True):
            down = means.down_bps and means.down_bps.scaled(1e-6)
            yield [
                name if engine == "simulated" else "",
                engine,
                _percent(means.uplink),
                _plain(down, 2),
                _plain(means.median_ms),
                _plain(means.p95_ms),
            ]


def beside_markdown(found: Sequence[Beside]) -> str:
    """All of both engines as a page: side by side, and against the limits that were emulated."""
    parts = []
    for one in found:
        parts.append(f"{beside_title(one)}\n\n{_table(BESIDE_HEADER, beside_rows(one))}")
        verdicts = one.emulated
        parts.append(f"Emulated. {title(verdicts)}\n\n{_table(header(verdicts), rows(verdicts))}")
    return "\n".join(parts)


def aims(found: Sequence[Verdicts]) -> Iterator[list[str]]:
    """For each controller: on how many traps each aim is met, and all of them."""
    names = [one.name for one in found[0].outcomes]
    for name in names:
        mine = [one for it in found for one in it.outcomes if one.name == name]
        met = [sum(one.aims[aim] for one in mine) for aim in AIMS]
        yield [name, *map(str, met), str(sum(map(_all, mine)))]


def markdown(found: Sequence[Verdicts]) -> str:
    """All of it as a page of tables."""
    parts = [_table(["", *AIMS, "all"], aims(found))]
    for one in found:
        parts.append(f"{title(one)}\n\n{_table(header(one), rows(one))}")
    return "\n".join(parts)


def _all(one: Outcome) -> bool:
    return all(one.aims.values())


def _table(head: Sequence[str], body: Iterator[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *body]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _percent(found: Estimate | None) -> str:
    """A share in per cent with its interval; a dash for none."""
    if found is None:
        return "–"
    share = found.scaled(100)
    return f"{wording.number(share.mean, wording.telling(share, 0))} %{_ends(share)}"


def _plain(found: Estimate | None, places: int = 0) -> str:
    if found is None:
        return "–"
    return f"{wording.number(found.mean, wording.telling(found, places))}{_ends(found, places)}"


def _signed(found: Estimate) -> str:
    mean = wording.number(found.mean, wording.telling(found, 0), sign=True)
    return f"{mean}{_ends(found, sign=True)}"


def _ends(found: Estimate, places: int = 0, sign: bool = False) -> str:
    if found.low is None or found.high is None or found.is_constant:
        return ""
    most = wording.decimals(found.mean, (found.high - found.low) / 2)
    return f" {wording.bracket((found.low, found.high), places, most, sign=sign)}"


def _time(seconds: float) -> str:
    return "never" if math.isinf(seconds) else f"{seconds:.0f}"
