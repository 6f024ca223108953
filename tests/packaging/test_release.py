"""What a tag releases."""

import os
import re
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
VERSION = re.search(r'^version = "(.*)"', (ROOT / "Cargo.toml").read_text("utf-8"), re.M)


def release(tag: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / ".github" / "release.py"), tag, str(folder)]
    return subprocess.run(command, check=False, capture_output=True, text=True)


def test_a_release_has_checksums_and_the_text_of_its_version(tmp_path: Path) -> None:
    assert VERSION
    for kind in ("-cp311-abi3-any.whl", ".tar.gz"):
        (tmp_path / f"flashcrowd-{VERSION[1]}{kind}").write_text(kind)
    done = release(f"v{VERSION[1]}", tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert len(done.stdout.split()) > 100
    lines = (tmp_path / "SHA256SUMS").read_text().splitlines()
    assert [it.split("  ") for it in lines] == [
        [sha256(it.read_bytes()).hexdigest(), it.name] for it in sorted(tmp_path.glob("flash*"))
    ]


@pytest.mark.parametrize(
    ("tag", "file", "said"),
    [
        ("v9.9.9", "", "the tag is v9.9.9, and Cargo.toml has version"),
        ("", "flashcrowd-9.9.9.tar.gz", "files of another version"),
        ("", "", "none at all"),
    ],
)
def test_a_release_that_does_not_agree_with_itself_ends(
    tag: str, file: str, said: str, tmp_path: Path
) -> None:
    assert VERSION
    if file:
        (tmp_path / file).touch()
    done = release(tag or f"v{VERSION[1]}", tmp_path)
    assert done.returncode == 1
    assert said in done.stderr


def test_the_changelog_is_read_in_two_minutes() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert len(text.split()) <= 480  # 240 words a minute


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda it: it.stem)
def test_workflows_call_what_there_is(workflow: Path) -> None:
    text = workflow.read_text(encoding="utf-8")
    made = (ROOT / "Makefile").read_text(encoding="utf-8")
    for targets in re.findall(r"\bmake ((?:[a-z]+[a-z-]* ?)+)", text):
        for target in targets.split():
            assert re.search(rf"^{target}:", made, re.M), target
    for file in re.findall(r"(?:tests|\.github|\.ci)/[\w/]+(?:\.py)?", text):
        assert (ROOT / file).exists(), file


def test_only_a_trusted_publisher_sends_to_an_index() -> None:
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    job = text.partition("\n  index:\n")[2]
    assert "vars.PUBLISH_TO_INDEX == 'true'" in job
    assert "id-token: write" in job
    assert "secrets." not in text
    assert "gh-action-pypi-publish" not in text.partition("\n  index:\n")[0]


def test_a_wheel_is_trained_by_its_own_package(tmp_path: Path) -> None:
    """Not by that of the checkout, which is not installed where a release is built."""
    (tmp_path / "flashcrowd").symlink_to(ROOT / "python" / "flashcrowd")
    names = "import runpy; names = runpy.run_path('benches/training.py')"
    says = f"{names}; print(names['Study'].load.__code__.co_filename)"
    done = subprocess.run(
        [sys.executable, "-c", says], check=True, capture_output=True, text=True, cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert done.stdout.startswith(str(tmp_path))
    assert "PYTHONPATH=$(NOTED)/package" in (ROOT / "Makefile").read_text(encoding="utf-8")
