"""The pages about files do what they say: their files and commands, in an empty folder."""

import re
import tomllib
from pathlib import Path

import pytest
from tests.docs.test_tutorial import BLOCK, FAILS, ROOT, execute

from flashcrowd.scenario import Population
from flashcrowd.scenario.topology import Topology

PAGES = {"arrivals": (2, 4), "topologies": (2, 4)}


def page(name: str) -> str:
    return (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PAGES)
def test_every_command_of_a_page_works(name: str, tmp_path: Path) -> None:
    files = commands = 0
    for block in BLOCK.finditer(page(name)):
        if block["verb"]:
            (tmp_path / block["name"]).write_text(block["body"], encoding="utf-8")
            files += 1
        elif block["kind"] == "console":
            for line in block["body"].splitlines():
                command = line.removeprefix("$ ")
                fails = FAILS.search(command)
                outcome = execute(FAILS.sub("", command), tmp_path)
                expected = int(fails["status"]) if fails else 0
                assert outcome.returncode == expected, f"{command}\n{outcome.stderr}"
                assert "Traceback" not in outcome.stderr
                commands += 1
    assert (files, commands) == PAGES[name]


def test_other_examples_are_taken(tmp_path: Path) -> None:
    (tmp_path / "sessions.csv").write_text("cumulative fraction,session [min]\n0,1\n1,90\n")
    seen = 0
    for text in re.findall(r"\n\n```toml\n(.*?)```", page("arrivals"), re.S):
        given = {"group": "homes", **tomllib.loads(text)}
        Population.model_validate(given, context={"directory": tmp_path})
        seen += 1
    for text in re.findall(r"\n\n```toml\n(.*?)```", page("topologies"), re.S):
        given = tomllib.loads(text)["network"]["topology"]
        Topology.model_validate(given, context={"directory": ROOT / "studies"})
        seen += 1
    assert seen == 3
