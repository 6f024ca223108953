"""Nodes that are folders of this machine, reached without anything in between."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from flashcrowd.testbed.nodes import NAME, Answers, Said
from flashcrowd.testbed.options import Options

PYTHON = f"env PYTHONPATH={Path(__file__).parents[2] / 'python'} {sys.executable}"
"""Runs this checkout."""


def options(folder: Path, python: str = PYTHON, **more) -> Options:
    """What a testbed's file would say."""
    return Options(Path("/nowhere"), "static", {}, python=python, folder=str(folder), **more)


class Here:
    """So many nodes on this machine.

    Attributes:
        lost: nodes that cannot be reached any more.
        heard: is told each command before it is carried out.
    """

    def __init__(self, count: int, heard: Callable[[str], None] = lambda _: None) -> None:
        self.names = [f"n{number}" for number in range(count)]
        self.addresses = dict.fromkeys(self.names, "127.0.0.1")
        self.lost: set[str] = set()
        self.heard = heard

    def run(self, command: str, nodes: Sequence[str]) -> Answers:
        self.heard(command)
        return {name: self._run(command.replace(NAME, name), name) for name in nodes}

    def send(self, source: str, target: str, nodes: Sequence[str]) -> Answers:
        return self._copy(source, target, nodes)

    def fetch(self, source: str, target: str, nodes: Sequence[str]) -> Answers:
        return self._copy(source, target, nodes)

    def _copy(self, source: str, target: str, nodes: Sequence[str]) -> Answers:
        for name in nodes:
            shutil.copyfile(source.replace(NAME, name), target.replace(NAME, name))
        return {name: Said(0) for name in nodes}

    def _run(self, command: str, name: str) -> Said | None:
        if name in self.lost:
            return None
        done = subprocess.run(
            ["sh", "-c", command], capture_output=True, text=True, check=False, env=os.environ
        )
        return Said(done.returncode, done.stdout, done.stderr)
