"""The installed package: command, module, version, types and data."""

import os
import subprocess
import sys
import zipfile
from importlib import resources
from importlib.metadata import distribution
from pathlib import Path

import pytest

import flashcrowd
from flashcrowd import _core

ROOT = Path(__file__).parents[2]


def said(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True, timeout=60).stdout


def test_command_and_module_are_the_same() -> None:
    command = Path(sys.executable).with_name("flashcrowd")
    assert said(str(command), "--version") == said(sys.executable, "-m", "flashcrowd", "--version")


def test_one_version_everywhere() -> None:
    version = distribution("flashcrowd").version
    assert version == flashcrowd.__version__ == _core.build_info()["version"]
    assert f'version = "{version}"' in (ROOT / "Cargo.toml").read_text(encoding="utf-8")


def test_types_are_published() -> None:
    package = resources.files("flashcrowd")
    assert (package / "py.typed").is_file()
    assert (package / "_core.pyi").is_file()


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_pip_installs_a_wheel_that_works(tmp_path: Path) -> None:
    """Outside of the checkout, so that nothing is found by accident."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}

    def call(*words: object) -> None:
        subprocess.run([str(word) for word in words], check=True, cwd=tmp_path, env=environment)

    call(sys.executable, "-m", "venv", tmp_path / "venv")
    python = tmp_path / "venv" / "bin" / "python"
    call(python, "-m", "pip", "wheel", "--no-deps", "-w", tmp_path, ROOT)
    (wheel,) = tmp_path.glob("*.whl")
    assert "abi3" in wheel.name
    names = zipfile.ZipFile(wheel).namelist()
    assert any(name.startswith("flashcrowd/report/templates/") for name in names)
    assert any(name.startswith("flashcrowd/scenario/data/") for name in names)
    call(python, "-m", "pip", "install", "-q", wheel)
    call(python.with_name("flashcrowd"), "check", ROOT / "studies" / "latency.toml")
    settings = ["--set", "workloads.swarm.size=1 MB", "--repeats", 1]
    call(python, "-m", "flashcrowd", "run", ROOT / "studies" / "latency.toml", *settings)
    assert (tmp_path / "results" / "latency" / "tables" / "runs.parquet").exists()
