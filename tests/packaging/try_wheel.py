"""Installs a wheel in a clean environment and tries what it can do: `make test-wheel`.

    python tests/packaging/try_wheel.py FOLDER

The newest wheel of the folder is taken. The environment has no compiler on its PATH and does not
see the checkout, so that nothing is found by accident. It runs on each system that has wheels.
"""

import os
import re
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

STUDY = """
format = 1
title = "How long does a megabyte take?"
repeats = 2

[network.groups.server]
hosts = 1
access = "fibre 100/100"

[network.groups.home]
hosts = 1
access = "cable 5/50"

[workloads.file]
kind = "transfer"
from = "server"
to = "home"
size = "1 MB"
"""
PATIENCE = 600
"""Seconds that a step may take."""


class Environment:
    """A new virtual environment, whose programs see nothing else."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder / "venv", with_pip=True)
        self._programs = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
        self.work = folder / "work"
        self.work.mkdir()
        kept = {"SYSTEMROOT", "TEMP", "TMP", "TMPDIR", "LANG"}
        self._given = {
            key: value for key, value in os.environ.items() if key in kept or "PIP_" in key
        }
        self._given |= {"PATH": str(self._programs), "HOME": str(folder)}

    def call(self, name: str, *words: object, status: int = 0) -> str:
        """What a program prints; an error if it ends otherwise than expected."""
        done = subprocess.run(
            self._command(name, words), cwd=self.work, env=self._given, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", timeout=PATIENCE,
        )  # fmt: skip
        if done.returncode != status:
            sys.exit(f"{name} {' '.join(map(str, words))}: status {done.returncode}\n{done.stdout}")
        return done.stdout

    @contextmanager
    def beside(self, *words: object) -> Iterator[str]:
        """`flashcrowd` with these words, until the block ends; gives the port it says it has."""
        running = subprocess.Popen(
            self._command("flashcrowd", words), cwd=self.work, env=self._given,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8",
        )  # fmt: skip
        assert running.stdout
        try:
            line = running.stdout.readline()
            port = re.search(r"127\.0\.0\.1:(\d+)", line)
            if port is None:
                sys.exit(f"flashcrowd {words[0]} says no address: {line}{running.stdout.read()}")
            yield port[1]
        finally:
            running.terminate()
            running.wait(PATIENCE)

    def install(self, wheel: Path, extras: str = "") -> None:
        """Install the wheel as a person would."""
        self.call("python", "-m", "pip", "install", "--quiet", f"{wheel}{extras}")

    def _command(self, name: str, words: tuple[object, ...]) -> list[str]:
        return [str(self._programs / name), *map(str, words)]


def plain(here: Environment) -> None:
    """What needs no extra: lists, checks, plans, uTP, a server and its client."""
    found = here.call("python", "-c", "import flashcrowd; print(flashcrowd.__file__)")
    assert Path(found.strip()).is_relative_to(here.work.parent / "venv"), found
    here.call("python", "-c", "import importlib.util as u; assert not u.find_spec('pyarrow')")
    assert "bufferbloat" in here.call("flashcrowd", "list", "studies")
    assert "crowd" in here.call("flashcrowd", "list", "templates")
    here.call("flashcrowd", "init", "--template", "bufferbloat")
    here.call("flashcrowd", "check", "bufferbloat.toml")
    here.call("flashcrowd", "explain", "network.rtt")
    here.call("flashcrowd", "check", "study.toml")
    here.call("flashcrowd", "plan", "study.toml", "--out", "plan.json")
    lacks = here.call("flashcrowd", "run", "study.toml", "--report", status=2)
    assert re.search("pip install 'pyarrow.*'jinja2", lacks), lacks
    with here.beside("utp", "serve", "--bind", "127.0.0.1", "--port", "0") as port:
        sent = here.call("flashcrowd", "utp", "send", f"127.0.0.1:{port}", "--bytes", "1MB")
    print(f"utp: {sent.splitlines()[-1]}")
    content = os.urandom(3_000_000)
    (here.work / "shelf").mkdir()
    (here.work / "shelf" / "file").write_bytes(content)
    if sys.platform != "linux":
        assert "needs Linux" in here.call("flashcrowd", "serve", "shelf", status=2)
        return
    with here.beside("serve", "shelf", "--listen", "127.0.0.1:0") as port:
        got = here.call("flashcrowd", "fetch", f"http://127.0.0.1:{port}/file", "-o", "copy")
    assert (here.work / "copy").read_bytes() == content
    print(f"serve, fetch: {got.splitlines()[-1]}")


def whole(here: Environment) -> None:
    """What needs the extra `report`: runs, and what they say."""
    print(here.call("flashcrowd", "run", "study.toml", "--out", "results").strip())
    assert (here.work / "results" / "tables" / "runs.parquet").exists()
    here.call("flashcrowd", "report", "results")
    assert "<svg" in (here.work / "results" / "report.html").read_text(encoding="utf-8")


def main(folder: Path) -> None:
    """Try the newest wheel of a folder."""
    wheels = sorted(folder.resolve().glob("flashcrowd-*.whl"), key=lambda it: it.stat().st_mtime)
    if not wheels:
        sys.exit(f"{folder}: there is no wheel; make one with: make wheel")
    wheel = wheels[-1]
    assert "-cp311-abi3-" in wheel.name, wheel.name
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        here = Environment(Path(place))
        (here.work / "study.toml").write_text(STUDY, encoding="utf-8")
        here.install(wheel)
        plain(here)
        here.install(wheel, "[report]")
        whole(here)
    print(f"{wheel.name} works")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
