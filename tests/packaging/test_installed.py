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
@pytest.mark.timeout(1800)
def test_the_wheel_works_in_a_clean_environment(tmp_path: Path) -> None:
    """Outside of the checkout, so that nothing is found by accident; first without the extras."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}

    def call(*words: object, status: int = 0) -> str:
        done = subprocess.run(
            [str(word) for word in words], cwd=tmp_path, env=environment, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        assert done.returncode == status, done.stdout
        return done.stdout

    call("make", "-C", ROOT, "wheel", f"DIST={tmp_path}")
    (wheel,) = tmp_path.glob("*.whl")
    assert "abi3" in wheel.name
    names = zipfile.ZipFile(wheel).namelist()
    assert any(name.startswith("flashcrowd/report/templates/") for name in names)
    assert any(name.startswith("flashcrowd/scenario/data/") for name in names)

    call(sys.executable, "-m", "venv", tmp_path / "venv")
    python = tmp_path / "venv" / "bin" / "python"
    command = python.with_name("flashcrowd")
    study = ROOT / "studies" / "latency.toml"
    settings = ["--set", "workloads.swarm.size=1 MB", "--repeats", 1]
    call(python, "-m", "pip", "install", "-q", wheel)
    call(python, "-c", "import importlib.util as u; assert not u.find_spec('pyarrow')")
    call(command, "check", study)
    call(command, "plan", study, "--out", "plan.json")
    call(command, "utp", "--help")
    missing = call(command, "run", study, *settings, status=2)
    assert "pip install 'flashcrowd[run]'" in missing

    call(python, "-m", "pip", "install", "-q", f"{wheel}[run]")
    assert "No summary: " in call(command, "run", study, *settings)
    assert (tmp_path / "results" / "latency" / "tables" / "runs.parquet").exists()

    call(python, "-m", "pip", "install", "-q", f"{wheel}[report]")
    call(command, "report", "results/latency")
    assert (tmp_path / "results" / "latency" / "report.html").exists()
