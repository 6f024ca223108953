"""The tutorial does what it says: files, commands and programs, in order, in an empty folder."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(
    r"(?:<!-- (?P<verb>file|append): (?P<name>\S+) -->\n)?```(?P<kind>\w+)\n(?P<body>.*?)```", re.S
)
FAILS = re.compile(r"\s+# fails: (?P<status>\d+)$")


def blocks() -> list[re.Match[str]]:
    return list(BLOCK.finditer((ROOT / "docs" / "tutorial.md").read_text()))


def execute(command: str | list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    commands = Path(sys.executable).parent
    environment = os.environ | {"PATH": f"{commands}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(
        command,
        cwd=folder,
        env=environment,
        shell=isinstance(command, str),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.long
def test_every_step_of_the_tutorial_works(tmp_path: Path) -> None:
    done = {"file": 0, "append": 0, "console": 0, "python": 0}
    for block in blocks():
        body, verb = block["body"], block["verb"]
        if verb:
            with (tmp_path / block["name"]).open("w" if verb == "file" else "a") as file:
                file.write(body if verb == "file" else "\n" + body)
            done[verb] += 1
        elif block["kind"] == "console":
            for line in body.splitlines():
                command = line.removeprefix("$ ")
                fails = FAILS.search(command)
                expected = int(fails["status"]) if fails else 0
                outcome = execute(FAILS.sub("", command), tmp_path)
                shown = f"{command}\n{outcome.stdout}\n{outcome.stderr}"
                assert outcome.returncode == expected, shown
                done["console"] += 1
        elif block["kind"] == "python":
            outcome = execute([sys.executable, "-W", "error", "-c", body], tmp_path)
            assert outcome.returncode == 0, f"{body}\n{outcome.stderr}"
            done["python"] += 1
    assert done == {"file": 2, "append": 1, "console": 11, "python": 2}
    assert (tmp_path / "question" / "report.html").stat().st_size > 10_000
