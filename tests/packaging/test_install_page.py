"""What the pages say of installing holds today: no index has flashcrowd yet."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "install.md"
SERVICES = sorted((ROOT / "docs" / "systemd").glob("*.service"))
FROM_AN_INDEX = re.compile(
    r"(?:pip|pipx|tool) install (?:-\S+ )*['\"]?flashcrowd(?!\S*\.whl)(?!\S* @ )|uvx flashcrowd"
)


def texts() -> list[Path]:
    """All that a person reads or a program says."""
    found = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*"), *ROOT.glob("python/**/*.py")]
    found += [*ROOT.glob("studies/**/*.toml"), *ROOT.glob("benches/**/*.md")]
    kinds = {".md", ".py", ".toml", ".service", ""}
    return [it for it in found if it.is_file() and it.suffix in kinds]


def test_no_page_and_no_message_names_an_index_that_does_not_have_it() -> None:
    named = {
        str(path.relative_to(ROOT)): found[0]
        for path in texts()
        if (found := FROM_AN_INDEX.search(path.read_text(encoding="utf-8")))
    }
    assert named == {}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("pip install flashcrowd", True),
        ("pip install 'flashcrowd[report]'", True),
        ("pip install --no-cache-dir 'flashcrowd[report,deluge]'", True),
        ("uv tool install flashcrowd", True),
        ("uvx flashcrowd autolimit", True),
        ("pip install 'flashcrowd.whl[emulation]'", False),
        ("pipx install './flashcrowd-0.1.0-cp311-abi3-x.whl[report]'", False),
        ("pipx install 'flashcrowd[report] @ git+https://example.org/it'", False),
    ],
)
def test_an_install_from_an_index_is_seen(text: str, found: bool) -> None:
    assert bool(FROM_AN_INDEX.search(text)) == found


def test_the_page_names_this_version_and_this_repository() -> None:
    text, project = PAGE.read_text("utf-8"), (ROOT / "pyproject.toml").read_text("utf-8")
    (version,) = re.findall(r'^version = "(.*)"', (ROOT / "Cargo.toml").read_text("utf-8"), re.M)
    (source,) = re.findall(r'^Source = "(.*)"', project, re.M)
    assert f"/flashcrowd-{version}-cp311-abi3-" in text
    assert f" @ git+{source}'" in text


def test_the_page_names_every_extra_and_every_target() -> None:
    text = PAGE.read_text(encoding="utf-8")
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    extras = project.partition("[project.optional-dependencies]")[2].partition("\n[")[0]
    wanted = set(re.findall(r"^(\w+) = ", extras, re.M)) - {"topology"}
    assert wanted == set(re.findall(r"^\| `(\w+)` \|", text, re.M))
    made = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"make ([a-z-]+)", text):
        assert re.search(rf"^{target}:", made, re.M), target


def command_of(service: Path) -> list[str]:
    (line,) = re.findall(r"^ExecStart=(.*)$", service.read_text(encoding="utf-8"), re.M)
    return shlex.split(line)


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="there is no systemd-analyze")
@pytest.mark.parametrize("service", SERVICES, ids=lambda it: it.stem)
def test_systemd_takes_the_unit(service: Path, tmp_path: Path) -> None:
    """As installed where its first lines say, which here is a folder of the test."""
    text = service.read_text(encoding="utf-8")
    place = command_of(service)[0].replace("%h", str(tmp_path))
    here = place if place.startswith(str(tmp_path)) else f"{tmp_path}{place}"
    Path(here).parent.mkdir(parents=True)
    Path(here).symlink_to(Path(sys.executable).with_name("flashcrowd"))
    unit = tmp_path / service.name
    unit.write_text(text.replace(command_of(service)[0], here), encoding="utf-8")
    done = subprocess.run(
        ["systemd-analyze", "verify", *["--user"] * ("%h" in text), "--man=no", unit],
        env={**os.environ, "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)},
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert [it for it in done.stderr.splitlines() if service.name in it] == []
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("service", SERVICES, ids=lambda it: it.stem)
def test_a_unit_says_how_to_install_what_it_starts(service: Path) -> None:
    first = service.read_text(encoding="utf-8").partition("[Unit]")[0]
    program = command_of(service)[0]
    assert program.startswith(("/", "%h/"))
    place = str(Path(program).parent).replace("%h", "~")
    assert place in first
    assert place.removesuffix("/bin") in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("service", SERVICES, ids=lambda it: it.stem)
def test_a_unit_uses_options_that_there_are(service: Path) -> None:
    words = command_of(service)[1:]
    done = subprocess.run(
        [sys.executable, "-m", "flashcrowd", words[0], "--help"],
        check=True,
        capture_output=True,
        text=True,
    )
    for option in (it for it in words if it.startswith("--")):
        assert option in done.stdout


def test_the_container_installs_the_wheel_that_make_wheel_makes() -> None:
    text = (ROOT / "docs" / "container" / "Containerfile").read_text(encoding="utf-8")
    (pattern,) = re.findall(r"/wheels/(flashcrowd.*?\.whl)", text)
    name = "flashcrowd-0.1.0-cp311-abi3-manylinux_2_28_x86_64.whl"
    assert Path(name).match(pattern.replace("$(uname -m)", "x86_64"))
    assert "--file docs/container/Containerfile dist" in text
