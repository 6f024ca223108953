"""The installed package: command, module, version, types and data."""

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


def said(*words: str, seconds: float = 60) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True, timeout=seconds).stdout


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


def test_no_link_is_in_the_package() -> None:
    """A wheel has none: one that leads nowhere breaks its build, any other doubles files."""
    assert [it for it in Path(flashcrowd.__file__).parent.rglob("*") if it.is_symlink()] == []


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_the_wheel_works_in_a_clean_environment(tmp_path: Path) -> None:
    for target in ("wheel", "test-wheel"):
        said("make", "-C", str(ROOT), target, f"DIST={tmp_path}", seconds=3600)
    (wheel,) = tmp_path.glob("*.whl")
    assert "abi3" in wheel.name
    names = zipfile.ZipFile(wheel).namelist()
    assert any(name.startswith("flashcrowd/drawing/templates/") for name in names)
    assert any(name.startswith("flashcrowd/scenario/data/") for name in names)
