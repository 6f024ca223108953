"""README is short, its study prints what it shows, and its picture is that of the report.

`FLASHCROWD_WRITE=1` writes what the study prints into README, and takes the picture where there is
a Chromium.
"""

import hashlib
import re
import shutil
import struct
import subprocess
import zlib
from pathlib import Path

import pytest
from tests.docs.test_questions import ROOT, WRITE, called

README = ROOT / "README.md"
PICTURE = ROOT / "docs" / "images" / "report.png"
STUDY = re.compile(r"```toml\n(.*?)```", re.S)
PRINTED = re.compile(r"```console\n\$ (?P<command>flashcrowd run [^\n]*)\n(?P<output>.*?)```", re.S)
COLUMNS, SIZE = "100", (900, 1060)


def text() -> str:
    return README.read_text(encoding="utf-8")


def study() -> str:
    found = STUDY.search(text())
    assert found
    return found[1]


@pytest.mark.long
def test_the_study_prints_what_the_readme_shows(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(study(), encoding="utf-8")
    shown = PRINTED.search(text())
    assert shown
    output = called(shown["command"], tmp_path, COLUMNS)
    fresh = text().replace(shown[0], f"```console\n$ {shown['command']}\n{output}```")
    report = tmp_path / "results" / "study" / "report.html"
    if WRITE:
        README.write_text(fresh, encoding="utf-8")
        photograph(report)
    assert fresh == text()
    assert shows(report) in PICTURE.read_bytes(), "FLASHCROWD_WRITE=1 takes the picture again"


def shows(page: Path) -> bytes:
    """A digest of the words on the top of a page, as a chunk of text that a picture carries."""
    html = page.read_text(encoding="utf-8")
    top = html[html.index("<h1") : html.index("</table>")]
    words = " ".join(re.sub(r"<[^>]*>", " ", top).split())
    body = b"tEXtshows\0" + hashlib.sha256(words.encode()).hexdigest().encode()
    return struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))


def photograph(page: Path) -> None:
    """Takes the picture of the top of a page, if there is a Chromium."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser:
        size, to = ",".join(map(str, SIZE)), f"--screenshot={PICTURE}"
        words = ["--headless", "--no-sandbox", "--hide-scrollbars", f"--window-size={size}", to]
        subprocess.run([browser, *words, page.as_uri()], check=True, capture_output=True)
        head, end, _ = PICTURE.read_bytes().rpartition(struct.pack(">I", 0) + b"IEND")
        PICTURE.write_bytes(head + shows(page) + end + struct.pack(">I", zlib.crc32(b"IEND")))


def test_it_is_read_in_a_minute() -> None:
    assert len(text().splitlines()) <= 100
    assert len([line for line in study().splitlines() if line]) <= 15
    assert PICTURE.stat().st_size < 150_000
