"""`docs/captures.md`: its study, its commands and its program, in order, in an empty folder."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

WHOLE = (Path(__file__).parents[2] / "docs" / "captures.md").read_text(encoding="utf-8")
PAGE, _REAL = WHOLE.split("## Captures of real programs")
"""The rest takes its time, in tests/emulation/test_taps.py."""


def test_every_step_of_the_page_works(tmp_path: Path) -> None:
    (study,) = re.findall(r"<!-- file: homes.toml -->\n```toml\n(.*?)```", PAGE, re.S)
    (tmp_path / "homes.toml").write_text(study)
    commands = Path(sys.executable).parent
    environment = os.environ | {"PATH": f"{commands}{os.pathsep}{os.environ['PATH']}"}
    done = 0
    for kind, body in re.findall(r"```(sh|python)\n(.*?)```", PAGE, re.S):
        steps = body.splitlines() if kind == "sh" else [body]
        for step in steps:
            if step.startswith("tshark") and shutil.which("tshark") is None:
                continue
            words = (
                ["sh", "-c", step] if kind == "sh" else [sys.executable, "-W", "error", "-c", step]
            )
            made = subprocess.run(
                words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
            )
            assert made.returncode == 0, f"{step}\n{made.stdout}\n{made.stderr}"
            assert made.stdout.strip(), f"{step} says nothing"
            done += 1
    assert done == 6 or shutil.which("tshark") is None
    assert {path.name for path in (tmp_path / "packets").iterdir()} == {
        "homes-1.pcapng", "seed-1.pcapng",
    }  # fmt: skip
