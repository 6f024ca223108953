"""The example of the page about Python works; its probes stay on this machine."""

import sys
from pathlib import Path

import pytest
from tests.docs.test_tutorial import BLOCK, ROOT, execute

HERE = """\
reflectors=[Reflector("127.0.0.1", 9), Reflector("127.0.0.2", 9)], ways=["tcp"], \
"""


def test_a_session_of_libtorrent_is_controlled_as_the_page_says(tmp_path: Path) -> None:
    pytest.importorskip("libtorrent", reason="libtorrent is not installed")
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    (example,) = (block["body"] for block in BLOCK.finditer(page) if block["kind"] == "python")
    assert example.count("line=125_000") == 1
    program = example.replace("line=125_000", f"{HERE}line=125_000")
    program = f"from flashcrowd.autolimit.probes import Reflector\n{program}"
    outcome = execute([sys.executable, "-W", "error", "-c", program], tmp_path)
    assert outcome.returncode == 0, outcome.stderr
    limits = {line.split()[1] for line in outcome.stdout.splitlines() if "torrents:" not in line}
    assert "500000" in limits
    assert any(limit.isdigit() and int(limit) <= 125_000 for limit in limits), outcome.stdout
