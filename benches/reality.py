"""How far the simulation is from real programs, from week to week: `make reality`.

Plays the studies with both engines, prints each difference beside the last one of the history, and
appends it. The history is a CSV file with a line for each case and number.
"""

from __future__ import annotations

import csv
import platform
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path

from flashcrowd import store
from flashcrowd.report.compare import compare
from flashcrowd.store import Results

ROOT = Path(__file__).parents[1]
HISTORY = ROOT / "benches" / "reality.csv"
STUDIES = sorted((ROOT / "studies").glob("*-distance.toml"))


@dataclass(frozen=True)
class Distance:
    """One number of one case, simulated and real.

    Attributes:
        difference: (simulated − real) / real, of the means over runs.
        low: of its 95 % interval, as `high`; none for a single run.
        real: how many real runs count, as `simulated`.
    """

    date: str
    commit: str
    kernel: str
    study: str
    case: str
    number: str
    difference: float
    low: float | None
    high: float | None
    real: int
    simulated: int

    @property
    def what(self) -> tuple[str, str, str]:
        """What stays the same from week to week."""
        return self.study, self.case, self.number

    def moved_from(self, last: Distance) -> bool:
        """Whether both have intervals, with nothing in common."""
        if self.low is None or self.high is None or last.low is None or last.high is None:
            return False
        return self.low > last.high or self.high < last.low


def distances(
    study: str, real: Results, simulated: Results, made: str, commit: str
) -> Iterator[Distance]:
    """Those of the headline's numbers that both engines have."""
    found = compare(real, simulated)
    for measure in found.measures[: found.decisive]:
        for pair in found.pairs(measure):
            change = pair.found.change
            if change is None or pair.here is None or pair.there is None:
                continue
            yield Distance(
                date=made,
                commit=commit,
                kernel=platform.release().partition("-")[0],
                study=study,
                case=found.setting(pair.point),
                number=measure.name,
                difference=round(change.mean, 4),
                low=None if change.low is None else round(change.low, 4),
                high=None if change.high is None else round(change.high, 4),
                real=pair.there.n,
                simulated=pair.here.n,
            )


def read(history: Path) -> list[Distance]:
    """The history, oldest first; nothing if there is none yet."""
    if not history.exists():
        return []
    kinds = {"difference": float, "low": _end, "high": _end, "real": int, "simulated": int}
    with history.open(newline="") as file:
        rows = csv.DictReader(file)
        return [Distance(**{k: kinds.get(k, str)(v) for k, v in row.items()}) for row in rows]


def _end(text: str) -> float | None:
    return float(text) if text else None


def append(history: Path, found: Iterable[Distance]) -> None:
    """Puts these behind the others."""
    new = not history.exists()
    with history.open("a", newline="") as file:
        rows = csv.DictWriter(file, [it.name for it in fields(Distance)], lineterminator="\n")
        if new:
            rows.writeheader()
        rows.writerows(asdict(it) for it in found)


def lines(found: Iterable[Distance], history: Iterable[Distance]) -> Iterator[str]:
    """Each in a line, beside the last one of the history, and whether it has moved."""
    last = {it.what: it for it in history}
    for it in found:
        text = f"{it.study}, {it.case}: {it.number} {100 * it.difference:+.1f} %"
        if it.low is not None and it.high is not None:
            text += f" [{100 * it.low:+.1f}, {100 * it.high:+.1f}]"
        if (before := last.get(it.what)) is not None:
            text += f", on {before.date} {100 * before.difference:+.1f} %"
            text += ", MOVED" if it.moved_from(before) else ""
        yield text


def played(study: Path) -> tuple[Results, Results]:
    """A study by both engines: the real results, then the simulated ones.

    Raises:
        CalledProcessError: it could not be played.
    """
    folder = ROOT / "target" / "reality" / study.stem
    words = ["run", str(study), "--engine", "both", "--fresh", "--quiet", "--out", str(folder)]
    subprocess.run([sys.executable, "-P", "-m", "flashcrowd", *words], check=True)
    return store.open(folder / "emulation"), store.open(folder / "simulation")


def main(studies: Sequence[Path]) -> int:
    """Exit status: 0 something was compared; 1 nothing could be, as no real run was valid."""
    commit = subprocess.check_output(["git", "rev-parse", "--short=8", "HEAD"], cwd=ROOT, text=True)
    made, before, compared = datetime.now(UTC).date().isoformat(), read(HISTORY), 0
    for study in studies:
        found = list(distances(study.stem, *played(study), made, commit.strip()))
        print(*lines(found, before), sep="\n", flush=True)
        append(HISTORY, found)
        compared += len(found)
    if not compared:
        print("NOTHING COULD BE COMPARED: no real run was valid, as the machine was late")
    return 0 if compared else 1


if __name__ == "__main__":
    sys.exit(main([Path(it) for it in sys.argv[1:]] or STUDIES))
