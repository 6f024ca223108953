"""The binding of a results folder's files to each other: those of two are never mixed.

Study and plans are bound to the manifest by their digests. A run is bound to it by engine, plan and
seed, the tables by what decides their rows. Tables and `provenance.json` are bound to the runs by
the digests in the names of `runs/*.parquet`: two executions of one study differ in these.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from flashcrowd.store import batch, digests
from flashcrowd.store.batch import Batch, Card
from flashcrowd.store.errors import ResultsError
from flashcrowd.store.manifest import Manifest

RUNS = "files_of_runs"
"""Key of the digests of the files of runs, in `tables/digests.json` and `provenance.json`."""

MOVE = "Another folder's file was copied there: move it out of runs/, or use another --out."
"""The remedy for a file of runs that does not belong to the folder."""


@dataclass(frozen=True)
class Binding:
    """The source of tables.

    Attributes:
        rows: digest of what decides their rows, see `rows_of`.
        runs: digests in the names of the files of runs, in order.
    """

    rows: str
    runs: tuple[str, ...]

    @classmethod
    def of(cls, folder: Path, manifest: Manifest) -> Self:
        """The source of tables that are made now from a results folder."""
        return cls(rows_of(manifest), tuple(runs_in(folder)))

    @classmethod
    def read(cls, plain: Mapping[str, Any]) -> Self:
        """From the keys that `to_json` writes.

        Raises:
            ValueError: they are not there.
        """
        if "rows" not in plain or RUNS not in plain:
            raise ValueError("it does not say of which runs it is")
        if not isinstance(plain["rows"], str) or not is_names(plain[RUNS]):
            raise ValueError("it does not name files of runs")
        return cls(plain["rows"], tuple(plain[RUNS]))

    def to_json(self) -> dict[str, object]:
        """As plain values."""
        return {"rows": self.rows, RUNS: list(self.runs)}

    def foreign(self, folder: Path, manifest: Manifest) -> str:
        """Why the tables are not of the results folder they are in; empty if they are.

        Files of runs may be missing: what was made from them is as good as before.
        """
        if self.rows != rows_of(manifest):
            return f"{digests.MANIFEST} has other points, seeds or repeats, or another engine"
        if not set(runs_in(folder)) <= set(self.runs):
            return "made from other runs than those in runs/"
        return ""


def is_names(value: object) -> bool:
    """Whether a value of a JSON file is a list of texts."""
    return isinstance(value, list) and all(isinstance(it, str) for it in value)


def rows_of(manifest: Manifest) -> str:
    """Digest of what decides which rows tables have: points, runs, engine, and their version.

    Names, titles and expectations may change without it.
    """
    plain = {
        "tables": manifest.tables,
        "engine": asdict(manifest.engine),
        "points": [asdict(point) for point in manifest.points],
        "runs": [(run.point, run.repeat, run.seed) for run in manifest.runs],
    }
    return digests.of(json.dumps(plain, sort_keys=True).encode())


def runs_in(folder: Path) -> list[str]:
    """The digests in the names of a results folder's files of runs, in order."""
    return sorted(batch.digest_of(file) for file in batch.files(folder))


def belongs(engine: str, cards: Sequence[Card], manifest: Manifest) -> bool:
    """Whether all runs of a file are among those of a manifest."""
    wanted = manifest.wanted
    return manifest.engine.digest == engine and all(
        card.run in wanted and manifest.points[card.run.point].plan == card.plan for card in cards
    )


def cards_of(file: Path, manifest: Manifest, remedy: str) -> list[Card]:
    """The entries of a file of runs.

    Args:
        file: the file.
        manifest: what its runs have to belong to.
        remedy: what to do if they do not.

    Raises:
        DamagedResults: the file is not what was written.
        ResultsError: it has other runs, or cannot be read.
    """
    engine, cards = Batch(file).cards()
    if not belongs(engine, cards, manifest):
        raise ResultsError(file, "has runs of another plan, seed or engine", remedy)
    return cards
