"""What a clone promises: pinned tools from public indexes, a `make help` that tells everything."""

import re
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
    ],
)
def test_locks_name_public_indexes_only(lock: str, hosts: set[str]) -> None:
    text = (ROOT / lock).read_text(encoding="utf-8")
    assert set(re.findall(r"https?://([^/\"]+)", text)) <= hosts


def test_every_requirement_has_a_lower_bound_and_a_cap() -> None:
    for requirement in PROJECT["project"]["dependencies"]:
        assert re.fullmatch(r"[a-z0-9-]+>=[\d.]+,<[\d.]+", requirement), requirement


def test_edits_of_rust_sources_rebuild() -> None:
    keys = [key["file"] for key in PROJECT["tool"]["uv"]["cache-keys"]]
    for needed in (
        "Cargo.toml",
        "Cargo.lock",
        "crates/*/Cargo.toml",
        "crates/*/build.rs",
        "crates/*/src/**/*.rs",
    ):
        assert needed in keys
        assert list(ROOT.glob(needed)), needed


def test_help_lists_every_task() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    tasks = set(re.findall(r"^([a-z][a-z-]*):", makefile, re.MULTILINE)) - {"check-python"}
    told = set(re.findall(r"^([a-z-]+):.*## ", makefile, re.MULTILINE))
    assert tasks == told


def test_the_gate_runs_lint_and_test() -> None:
    gate = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "run lint\n" in gate
    assert "run test\n" in gate
