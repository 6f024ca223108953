"""What a clone promises: locks of public indexes, and edits that are built."""

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("lock", "hosts"),
    [
        ("uv.lock", {"pypi.org", "files.pythonhosted.org"}),
        ("Cargo.lock", {"github.com"}),
        ("fuzz/Cargo.lock", {"github.com"}),
    ],
)
def test_locks_name_public_indexes_only(lock: str, hosts: set[str]) -> None:
    text = (ROOT / lock).read_text(encoding="utf-8")
    assert set(re.findall(r"https?://([^/\"]+)", text)) <= hosts


def test_no_version_is_too_new() -> None:
    """Only tools whose every version complains of something else are pinned."""
    groups = [
        PROJECT["build-system"]["requires"],
        PROJECT["project"]["dependencies"],
        *PROJECT["project"]["optional-dependencies"].values(),
        *PROJECT["dependency-groups"].values(),
    ]
    wanted = [it.partition(";")[0] for group in groups for it in group if isinstance(it, str)]
    capped = {re.split(r"[^\w-]", it)[0] for it in wanted if re.search("<|==|~=|!=", it)}
    assert capped == {"ruff", "pyright"}


def test_edits_of_rust_sources_rebuild() -> None:
    keys = [key.get("file") for key in PROJECT["tool"]["uv"]["cache-keys"]]
    for needed in (
        "Cargo.toml",
        "Cargo.lock",
        "crates/*/Cargo.toml",
        "crates/*/build.rs",
        "crates/*/src/**/*.rs",
    ):
        assert needed in keys
        assert list(ROOT.glob(needed)), needed


@pytest.mark.parametrize("scripts", ["", "no-such-folder"])
def test_packetdrill_says_what_it_wants(scripts: str) -> None:
    make = shutil.which("make")
    if make is None:
        pytest.skip("there is no make")
    command = [make, "--no-print-directory", "packetdrill", f"DIR={scripts}"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 2
    assert found.stdout == (
        f"packetdrill: '{scripts}' is no folder; "
        "say where the scripts are: make packetdrill DIR=FOLDER (docs/packetdrill.md)\n"
    )


def test_a_wheel_that_was_not_finished_is_not_in_dist(tmp_path: Path) -> None:
    """What a failed build leaves would be the newest wheel, which is the one that is tried."""
    make = shutil.which("make")
    if make is None:
        pytest.skip("there is no make")
    maturin = tmp_path / "maturin"
    maturin.write_text(MATURIN)
    maturin.chmod(0o755)
    words = ["UV=Makefile", f"MATURIN={maturin}", f"DIST={tmp_path}/dist", f"FRESH={tmp_path}/new"]
    words += ["PROFDATA="]  # and one build
    ended = [
        subprocess.run(
            [make, "--no-print-directory", "wheel", *words],
            cwd=ROOT,
            env=os.environ | {"STATUS": str(status)},
            capture_output=True,
            check=False,
        ).returncode
        for status in (0, 1)
    ]
    assert ended == [0, 2]
    assert [it.name for it in (tmp_path / "dist").iterdir()] == ["flashcrowd-0.whl"]


MATURIN = """#!/bin/sh
while [ "$1" != --out ]; do shift; done
mkdir -p "$2"
touch "$2/flashcrowd-$STATUS.whl"
exit "$STATUS"
"""
"""Writes a wheel, and ends with a status."""
