"""Bits that a disk turned: an error that names the file, or a run that mends; never a number."""

import random
import shutil
from pathlib import Path

import pytest
from tests.runner.bytes import tables
from tests.runner.fake import FakeEngine, campaign

from flashcrowd.store import ResultsError, schema
from flashcrowd.store import open as open_results
from flashcrowd.study.campaign import conduct
from flashcrowd.study.threads import Threads

FLIPS = [12, pytest.param(120, marks=pytest.mark.slow)]
"""Of each kind of file."""

KINDS = {
    "manifest": "manifest.json",
    "study": "study.json",
    "study as TOML": "study.toml",
    "plan": "plans/*.json",
    "runs": "runs/*.parquet",
    "table": "tables/*.parquet",
    "digests": "tables/digests.json",
    "provenance": "provenance.json",
}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("flips") / "sound"
    conduct(campaign(), FakeEngine(), folder, Threads(1, 0.0))
    return folder


def everything(folder: Path) -> list[object]:
    """All that a reader can ask a results folder for."""
    results = open_results(folder)
    read: list[object] = [results.tables[name] for name in schema.TABLES]
    plans = [results.plan(point) for point in range(len(results.manifest.points))]
    return [*read, *plans, results.study, results.provenance]


def lasting(folder: Path) -> dict[str, bytes]:
    """Name to bytes of all that does not depend on time or machine."""
    names = ["manifest.json", "study.json", "study.toml"]
    plans = [f"plans/{file.name}" for file in (folder / "plans").iterdir()]
    return tables(folder) | {name: (folder / name).read_bytes() for name in [*names, *plans]}


def flip(file: Path, draw: random.Random) -> None:
    data = bytearray(file.read_bytes())
    data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    file.write_bytes(data)


def error_of(folder: Path, good: list[object]) -> ResultsError | None:
    """What reading a folder raises; without an error it gives what it gave before."""
    try:
        read = everything(folder)
    except ResultsError as error:
        return error
    assert read == good, "another number, and no error"
    return None


@pytest.mark.parametrize("flips", FLIPS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_flipped_bit_is_an_error_or_mended(
    kind: str, flips: int, sound: Path, tmp_path: Path
) -> None:
    draw = random.Random(kind)
    good, whole = everything(sound), lasting(sound)
    said = 0
    for _ in range(flips):
        folder = tmp_path / "r"
        shutil.copytree(sound, folder)
        file = draw.choice(sorted(folder.glob(KINDS[kind])))
        flip(file, draw)
        error = error_of(folder, good)
        if error is not None:
            said += 1
            assert error.path == file
            assert str(file) in str(error)
            assert "flashcrowd run" in error.remedy or "the study again" in error.remedy
        told: list[str] = []
        engine = FakeEngine()
        conduct(campaign(), engine, folder, Threads(1, 0.0), tell=told.append)
        assert len(engine.ran) == (1 if kind == "runs" else 0)
        assert lasting(folder) == whole
        assert [text for text in told if str(file) in text], told
        told.clear()
        conduct(campaign(), FakeEngine(), folder, Threads(1, 0.0), tell=told.append)
        assert told == []
        shutil.rmtree(folder)
    read = kind not in ("runs", "study as TOML")  # those a reader of tables has no use for
    assert said == (flips if read else 0)
