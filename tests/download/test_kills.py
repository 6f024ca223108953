"""Kill -9 of the client at any instant: after it, every byte is right."""

import json
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.download.servers import BLOCK, Behaviour, content, serving

import flashcrowd

DATA = content(40 * BLOCK + 777)
CHILD = Path(__file__).with_name("child.py")


@pytest.fixture(scope="module")
def mother() -> Iterator[subprocess.Popen[str]]:
    """A process that has all modules, and makes those that fetch."""
    words = [sys.executable, str(CHILD)]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, text=True, stdin=pipe, stdout=pipe) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


def killed(mother: subprocess.Popen[str], *words: object) -> bool:
    """Whether a fetch was killed before it was done."""
    assert mother.stdin is not None
    assert mother.stdout is not None
    print(*words, file=mother.stdin, flush=True)
    status = int(mother.stdout.readline())
    assert status in (0, -signal.SIGKILL)
    return status != 0


@pytest.mark.parametrize(
    "times", [pytest.param(20, id="20"), pytest.param(200, id="200", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize(
    "does",
    [Behaviour(), Behaviour(reorders=True), Behaviour(reorders=True, digests=True)],
    ids=["plain", "any order", "any order with digests"],
)
def test_every_byte_is_right_after_kills_of_the_client(does, times, mother, tmp_path):
    does = Behaviour(**{**vars(does), "data": DATA, "seen": []})
    draw = random.Random(times)
    target, resumed, kills = tmp_path / "file", 0, 0
    with serving(does) as server:
        # Until some were killed with bytes that the next one took over.
        while kills < times or resumed < times // 10:
            had = noted(tmp_path)
            if killed(mother, server.url, target, draw.randint(1, 60), draw.random()):
                kills += 1
                resumed += had > 0
            else:
                assert target.read_bytes() == DATA
                assert noted(tmp_path) == 0
                target.unlink()
        # Between the file's name and the end of the note there is nothing to take over.
        had = noted(tmp_path) if (tmp_path / "file.part").exists() else 0
        fetched = flashcrowd.fetch(server.url, target, overwrite=True)
    assert target.read_bytes() == DATA
    assert sorted(it.name for it in tmp_path.iterdir()) == ["file"]
    assert (fetched.resumed, fetched.refetched) == (had, 0)


def noted(folder: Path) -> int:
    """How many bytes the note names."""
    try:
        said = json.loads((folder / "file.part.json").read_text())
    except FileNotFoundError:
        return 0
    return sum(end - start for start, end in said["had"])
