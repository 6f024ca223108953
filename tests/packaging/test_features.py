"""What two commands compile with different features is compiled twice, with all that uses it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
needs_cargo = pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not installed")
TESTED = ("--workspace", "--edges", "all")
"""What `cargo test` and clippy compile."""


def features(*selection: str) -> dict[str, set[str]]:
    """The libraries of a selection of crates, each with its sets of features."""
    command = ["cargo", "tree", "--locked", "--prefix", "none", *selection]
    said = subprocess.run(
        [*command, "--format", "{p}|{f}"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    found: dict[str, set[str]] = {}
    for line in said.stdout.splitlines():
        library, bar, given = re.sub(r" \([^)]*\)", "", line).partition("|")
        if bar:
            found.setdefault(library.strip(), set()).add(given.strip())
    return found


@needs_cargo
@pytest.mark.parametrize(
    "selection",
    [
        pytest.param(("-p", "flashcrowd-python", "--edges", "normal"), id="extension"),
        pytest.param(("--workspace", "--edges", "normal"), id="documentation"),
        pytest.param(
            ("--manifest-path", "fuzz/Cargo.toml", "--edges", "normal", "--no-default-features"),
            id="fuzz",
        ),
    ],
)
def test_every_command_compiles_libraries_with_the_features_of_the_tests(
    selection: tuple[str, ...],
):
    tested = features(*TESTED)
    common = {name: it for name, it in features(*selection).items() if name in tested}
    assert len(common) > 40
    assert {name: it for name, it in common.items() if not it <= tested[name]} == {}
