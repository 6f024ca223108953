"""Put results folders together that each have a part of one study's runs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from flashcrowd.store import batch, digests, provenance
from flashcrowd.store.assemble import assembling
from flashcrowd.store.batch import Card
from flashcrowd.store.binding import cards_of
from flashcrowd.store.errors import DamagedResults, ResultsDiffer, ResultsError, understood
from flashcrowd.store.folder import Folder, Tell
from flashcrowd.store.manifest import STUDY, Manifest, Run, differences
from flashcrowd.store.results import Results
from flashcrowd.store.results import open as open_results
from flashcrowd.store.shard import number_at

AGAIN = "Run that shard again with the same --out: what is damaged is run anew."
"""The remedy for a part that a disk or a copy has damaged."""


@dataclass(frozen=True)
class _Part:
    """A folder with a part of the runs, read and checked.

    Attributes:
        path: the folder.
        manifest: what it is for.
        study: the resolved study.
        files: each of its files of runs, and what the file says of them.
    """

    path: Path
    manifest: Manifest
    study: Mapping[str, object]
    files: Sequence[tuple[Path, Sequence[Card]]]

    @property
    def runs(self) -> set[Run]:
        return {card.run for _, cards in self.files for card in cards}


@understood
def merge(out: Path, folders: Sequence[Path], tell: Tell = lambda _: None) -> Results:
    """Make one results folder of several; nothing is written before all was looked at.

    Args:
        out: the folder to make, or one that has runs of this study already.
        folders: folders that `flashcrowd run --shard` made, or that stopped on their way.
        tell: receives what in `out` was damaged and is mended.

    Raises:
        ResultsDiffer: a folder belongs to another study, or to another version.
        ResultsError: runs are missing, or a folder cannot be used.
    """
    parts = [_read(folder) for folder in folders]
    first = parts[0]
    for part in parts[1:]:
        _same_study(first, part)
    have = set().union(*(part.runs for part in parts))
    if (out / digests.MANIFEST).exists():
        there = _read(out)
        _same_study(first, there)
        have |= there.runs
    missing = [run for run in first.manifest.runs if run not in have]
    if missing:
        raise _missing(out, first.manifest, missing, parts)
    with _opened(out, first, tell) as folder:
        provenance.settle(out, tell)
        for part in parts:
            for path, cards in part.files:
                if any(card.run not in folder.places for card in cards):
                    folder.adopt(path, cards)
        provenance.join(out, [part.path for part in parts], provenance.now())
        with assembling(folder) as assembly:
            assembly.finish()
    return open_results(out)


def _read(path: Path) -> _Part:
    try:
        manifest = Manifest.read(path)
        study = digests.read_verified(path / STUDY, path, manifest.files.get(STUDY))
        files = [(file, cards_of(file, manifest, AGAIN)) for file in batch.files(path)]
    except DamagedResults as error:
        raise DamagedResults(error.path, error.why, AGAIN) from None
    return _Part(path, manifest, json.loads(study), files)


def _same_study(first: _Part, part: _Part) -> None:
    changes = differences(first.manifest, part.manifest, first.study, part.study)
    if not changes and first.manifest.runs != part.manifest.runs:
        changes = [f"runs: {len(first.manifest.runs)} in {first.path}, not the same here"]
    if changes:
        raise ResultsDiffer(
            part.path,
            [f"beside {first.path}", *changes],
            "Nothing was written. Shards are of one study, run by one version.",
        )


def _missing(
    out: Path, manifest: Manifest, missing: Sequence[Run], parts: Sequence[_Part]
) -> ResultsError:
    """The error for missing runs: which, and of which shards."""
    shown = ", ".join(run.key for run in missing[:5]) + (", …" if len(missing) > 5 else "")
    what = f"cannot be made: {len(missing)} of {len(manifest.runs)} runs are missing ({shown})"
    shares = _shards(manifest, missing, parts)
    remedy = "Run them, and name their folders too." if not shares else f"They are of {shares}."
    return ResultsError(out, what, f"Nothing was written. {remedy}")


def _shards(manifest: Manifest, missing: Sequence[Run], parts: Sequence[_Part]) -> str:
    """The shards that have missing runs, in words; nothing if the folders are no shards."""
    said = {
        str(session.get("shard", "")): part.path
        for part in parts
        for session in provenance.sessions_of(part.path)
    }
    counts = {int(match[1]) for text in said if (match := re.fullmatch(r"[0-9]+/([0-9]+)", text))}
    if len(counts) != 1:
        return ""
    (count,) = counts
    places = {run: place for place, run in enumerate(manifest.runs)}
    numbers = sorted({number_at(places[run], count) for run in missing})
    names = [
        f"{number}/{count}" + (f" (in {said[f'{number}/{count}']})" if f"{number}/{count}" in said
        else " (no folder)")
        for number in numbers
    ]  # fmt: skip
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return ("shard " if len(names) == 1 else "shards ") + ", ".join(names[:8]) + more


@contextmanager
def _opened(out: Path, first: _Part, tell: Tell) -> Iterator[Folder]:
    files = first.manifest.files
    plans = [f"plans/p{index:04d}.json" for index in range(len(first.manifest.points))]
    texts = [
        digests.read_verified(first.path / name, first.path, files.get(name)) for name in plans
    ]
    source = None
    if "study.toml" in files:
        path = first.path / "study.toml"
        source = digests.read_verified(path, first.path, files["study.toml"]).decode()
    decoded = [text.decode() for text in texts]
    with Folder.opened(out, first.manifest, first.study, decoded, source, tell) as folder:
        yield folder
