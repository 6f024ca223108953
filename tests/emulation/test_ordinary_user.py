"""The whole chain as an ordinary user, in a user namespace of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.late import ended

from flashcrowd.store import open as open_results

pytestmark = [
    pytest.mark.clocked,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user"),
    pytest.mark.skipif(
        not (shutil.which("setpriv") and shutil.which("unshare")),
        reason="unshare and setpriv are not there",
    ),
]

NOBODY = 65534
Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def home() -> Iterator[Path]:
    """A folder of the user's, where the folders above it are open to everybody."""
    with tempfile.TemporaryDirectory() as made:
        os.chown(made, NOBODY, NOBODY)
        yield Path(made)


@pytest.fixture
def flashcrowd(home: Path) -> Command:
    """`flashcrowd WORDS` as a user who may read this checkout, and nothing else."""
    reading = "-all,+dac_read_search"
    rights = f"--inh-caps={reading} --ambient-caps=+dac_read_search --bounding-set={reading}"
    become = f"setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups {rights}"

    def run(words: str, before: str = "true") -> subprocess.CompletedProcess[str]:
        script = f"{before} && exec {become} {sys.executable} -m flashcrowd {words}"
        return subprocess.run(
            ["unshare", "--mount", "sh", "-c", script],
            capture_output=True,
            text=True,
            check=False,
            cwd="/",
            env={
                **os.environ,
                "HOME": str(home),
                "TMPDIR": str(home),
                "PYTHONDONTWRITEBYTECODE": "1",
            },
        )

    return run


def test_without_tun_hosts_are_attached_by_veth(
    study: Path, home: Path, flashcrowd: Command
) -> None:
    study.write_text(study.read_text().replace("4 MB", "1 MB"))
    hidden = "mount --bind /dev/null /dev/net/tun"
    said = flashcrowd(f"doctor {study}", hidden)
    assert said.returncode == 0, said.stderr
    (line,) = [line for line in said.stdout.splitlines() if "TUN device" in line]
    assert line.startswith("limited")
    assert "veth" in line
    done = flashcrowd(f"run {study} --engine emulation --out {home / 'e'} --quiet", hidden)
    assert done.returncode == 0, done.stderr
    (row,) = open_results(home / "e").tables["transfers"].to_pylist()
    assert row["bytes"] == 1_000_000


def test_a_swarm_shares_its_file(swarm: Path, home: Path, flashcrowd: Command) -> None:
    said = flashcrowd(f"doctor {swarm}")
    assert said.returncode == 0, said.stdout + said.stderr
    assert "namespaces: in a user namespace of its own" in said.stdout
    done = flashcrowd(f"run {swarm} --engine emulation --out {home / 'e'} --quiet")
    assert done.returncode == 0, done.stderr
    results = open_results(home / "e").tables
    (run,) = results["runs"].to_pylist()
    ended(run, "completed")
    assert [row["pieces"] for row in results["downloads"].to_pylist()] == [16] * 4
