"""A real browser before `flashcrowd serve`: whole files, ranges, and what it asks of media."""

from __future__ import annotations

import shutil
import subprocess
import sys
import wave
from hashlib import sha256
from pathlib import Path
from random import Random

import pytest
from tests.content_server.test_serve import served
from tests.content_server.test_tls import certificate, tls

NAMES = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, NAMES)), "")

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="serve needs Linux"),
    pytest.mark.skipif(not BROWSER, reason=f"there is none of {', '.join(NAMES)}"),
]
DATA = Random(1).randbytes(2_000_000)
FIRST, LAST = 70_000, 1_234_567
"""A range that begins and ends amid blocks and extents."""
PAGE = f"""<!doctype html>
<audio preload="auto" src="tone.wav"></audio>
<script>
async function told(what, range) {{
    const headers = range ? {{Range: range}} : {{}};
    const answer = await fetch("a%20file", {{headers, cache: "no-store"}});
    const content = await answer.arrayBuffer();
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", content));
    const hex = Array.from(digest, it => it.toString(16).padStart(2, "0")).join("");
    say(`${{what}}: ${{answer.status}} ${{content.byteLength}} ${{hex}}`);
}}
function say(text) {{
    document.body.appendChild(document.createElement("p")).textContent = text;
}}
const audio = document.querySelector("audio");
const heard = new Promise(heard => {{
    audio.oncanplaythrough = () => heard(`${{audio.duration}} s`);
    audio.onerror = () => heard(audio.error.message);
}});
onload = async () => {{
    await told("whole");
    await told("range", "bytes={FIRST}-{LAST}");
    say(`tone: ${{await heard}}`);
    say(`spoken: ${{performance.getEntriesByType("resource").at(-1).nextHopProtocol}}`);
}};
</script>
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "served"
    folder.mkdir()
    (folder / "a file").write_bytes(DATA)
    (folder / "page.html").write_text(PAGE)
    with wave.open(str(folder / "tone.wav"), "wb") as tone:
        tone.setparams((1, 2, 8000, 0, "NONE", ""))
        tone.writeframes(bytes(2 * 8000 * 3))
    return folder


def shown(url: str, tmp_path: Path) -> str:
    """The document that the browser has made of a page when nothing of it is under way."""
    command = [BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu"]
    command += ["--ignore-certificate-errors", f"--user-data-dir={tmp_path / 'profile'}"]
    command += ["--virtual-time-budget=20000", "--dump-dom", url]
    said = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return said.stdout


def test_the_listing_has_a_link_to_the_file(folder: Path, tmp_path: Path) -> None:
    with served(folder) as (_, url):
        assert '<a href="./a%20file">a file</a>' in shown(f"{url}/", tmp_path)


def test_a_name_that_is_a_script_is_shown_and_not_run(folder: Path, tmp_path: Path) -> None:
    name = "<img src=x onerror=document.title='run'>"
    (folder / name).touch()
    with served(folder) as (_, url):
        page = shown(f"{url}/?sort=%22%3E%3Cscript%3E&order=%3Cscript%3E", tmp_path)
    assert "<title>Files in /</title>" in page
    assert "&lt;img src=x onerror" in page
    assert "<img" not in page


@pytest.mark.parametrize("spoken", ["http/1.1", "h2"])
def test_the_browser_gets_the_file_whole_and_by_range(
    spoken: str, folder: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    options = ["--access-log", str(log)]
    if spoken == "h2":
        if shutil.which("openssl") is None:
            pytest.skip("openssl is not installed")
        options += tls(certificate(tmp_path, "mine"))
    with served(folder, *options) as (_, url):
        scheme = "https" if spoken == "h2" else "http"
        document = shown(f"{url.replace('http', scheme)}/page.html", tmp_path)
    part = DATA[FIRST : LAST + 1]
    for said in (
        f"whole: 200 {len(DATA)} {sha256(DATA).hexdigest()}",
        f"range: 206 {len(part)} {sha256(part).hexdigest()}",
        "tone: 3 s",
        f"spoken: {spoken}",
    ):
        assert f"<p>{said}</p>" in document, document[-2000:]
    asked = [line for line in log.read_text().splitlines() if '"GET /a%20file HTTP/' in line]
    assert [line.split('"')[2].split()[0] for line in asked] == ["200", "206"]
