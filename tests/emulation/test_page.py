"""`docs/real-programs.md`: its study and its commands, in order, in an empty folder."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.clients.testbed import needs
from tests.docs.test_tutorial import BLOCK, ROOT, execute

PAGE = ROOT / "docs" / "real-programs.md"


@pytest.mark.long
def test_every_command_of_the_page_works(tmp_path: Path) -> None:
    needs("libtorrent")
    said = []
    for block in BLOCK.finditer(PAGE.read_text(encoding="utf-8")):
        if block["verb"]:
            (tmp_path / block["name"]).write_text(block["body"], encoding="utf-8")
        elif block["kind"] == "console":
            for line in block["body"].splitlines():
                outcome = execute(line.removeprefix("$ "), tmp_path)
                assert outcome.returncode == 0, f"{line}\n{outcome.stdout}\n{outcome.stderr}"
                said.append(outcome.stdout)
    assert len(said) == 5
    assert re.search(r"Download time is .*(?:emulation|simulation)", said[2]), said[2]
    assert "seed idle time is not there in emulation" in said[2], "clients do not tell: no zero"
    page = (tmp_path / "crowd" / "comparison" / "compare.html").read_text(encoding="utf-8")
    assert re.search(r"Download time is .*(?:emulation|simulation)", page)
    assert (tmp_path / "crowd" / "emulation" / "report.html").exists()
