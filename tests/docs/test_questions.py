"""The pages of questions say what their commands print, and their figures are those of the reports.

`make questions` runs the commands again and writes what they print and draw into the pages, and
when it did into docs/validation.md.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest
from benches.validation.page import span
from benches.validation.points import made, read

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    str(path.relative_to(ROOT / "docs").with_suffix(""))
    for path in (*(ROOT / "docs" / "questions").glob("*.md"), ROOT / "docs" / "too-big.md")
)
WRITE = bool(os.environ.get("FLASHCROWD_WRITE"))

PRINTED = re.compile(r"```console\n(?P<commands>.*?)```\n\n```text\n(?P<output>.*?)```", re.S)
"""Commands, and what the last of them prints."""
CONSOLE = re.compile(r"```(?:console|sh)\n(.*?)```", re.S)
FIGURE = re.compile(r"<!-- from (?P<source>\S+) -->\n!\[[^\]]*\]\((?P<image>[^)]+)\)")
COLUMNS = "140"
PRINTS = "what its commands print and draw"
"""The name of that in the list of tables with their age."""
NUMBER = re.compile(r"\d[\d\u202f]*(?:\.\d+)?")


def page(name: str) -> Path:
    return ROOT / "docs" / f"{name}.md"


def lines(block: str) -> list[str]:
    return [line.removeprefix("$ ") for line in block.splitlines()]


def called(command: str, folder: Path, columns: str = COLUMNS) -> str:
    """What a command prints in a folder, on a terminal with so many columns."""
    words = shlex.split(command)
    assert words[0] == "flashcrowd", command
    done = subprocess.run(
        [sys.executable, "-m", *words],
        cwd=folder,
        env=os.environ | {"COLUMNS": columns},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return "\n".join(line.rstrip() for line in done.stdout.splitlines()) + "\n"


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_shows_what_its_commands_print_and_draw(name: str, tmp_path: Path) -> None:
    (tmp_path / "studies").symlink_to(ROOT / "studies")
    text = page(name).read_text(encoding="utf-8")
    blocks = list(PRINTED.finditer(text))
    assert blocks
    again = text
    for block in blocks:
        output = [called(command, tmp_path) for command in lines(block["commands"])][-1]
        fresh = block[0].replace(f"```text\n{block['output']}```", f"```text\n{output}```")
        again = again.replace(block[0], fresh)
    if WRITE:
        page(name).write_text(again, encoding="utf-8")
        made(f"{name}.md", PRINTS, date.today())
    else:
        assert again == text
    for figure in FIGURE.finditer(text):
        source, image = tmp_path / figure["source"], page(name).parent / figure["image"]
        if WRITE:
            shutil.copyfile(source, image)
        else:
            assert source.read_text(encoding="utf-8") == image.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PAGES)
def test_numbers_of_the_answer_were_printed(name: str) -> None:
    text = page(name).read_text(encoding="utf-8")
    answer = re.search(r"\*\*Answer\.\*\*(.*?)\n\n", text, re.S)
    assert answer, "a page begins with its answer"
    printed = set(NUMBER.findall("\n".join(b["output"] for b in PRINTED.finditer(text))))
    told = NUMBER.findall(answer[1])
    assert told
    assert [number for number in told if number not in printed] == []


@pytest.mark.usefixtures("untimed")
@pytest.mark.parametrize("name", PAGES)
def test_what_a_page_proposes_can_be_checked(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Every `flashcrowd run` of a page, also those with other values, as `check` sees it.

    A study that the page has `flashcrowd init` write is written before.
    """
    from flashcrowd.cli import main

    def ends_well(*words: str) -> None:
        with pytest.raises(SystemExit) as ended:
            main(list(words))
        assert ended.value.code == 0, words

    (tmp_path / "studies").symlink_to(ROOT / "studies")
    monkeypatch.chdir(tmp_path)
    text = page(name).read_text(encoding="utf-8")
    commands = [shlex.split(line) for block in CONSOLE.findall(text) for line in lines(block)]
    for words in commands:
        if words[1:2] == ["init"] and not Path(words[2]).exists():
            ends_well(*words[1:])
    runs = [words for words in commands if words[:2] == ["flashcrowd", "run"]]
    assert runs
    for words in runs:
        keep = [*words[2:]]
        for option in ("--out", "--jobs", "--engine"):
            if option in keep:
                place = keep.index(option)
                del keep[place : place + 2]
        ends_well("check", *(it for it in keep if it not in ("--report", "--expect", "--quiet")))


DISCIPLINE = re.compile(r"fq-codel|\bcake\b", re.I)
KERNEL = re.compile(r"\[([^\]]*)\]\((?:\.\./)?validation\.md#queue-disciplines\)")


@pytest.mark.parametrize("name", PAGES)
def test_a_page_with_a_queue_discipline_says_how_far_it_is_from_a_kernels(name: str) -> None:
    text = page(name).read_text(encoding="utf-8")
    if not DISCIPLINE.search(text):
        return
    data = read()
    (model,) = (it for it in data.model if it.name == "queue disciplines")
    (point,) = (it for it in model.points if "kernel" in it.against)
    verdict = data.verdict(point)
    linked = KERNEL.search(text)
    assert linked
    assert " ".join(linked[1].split()) == (span(point) if verdict != "not compared" else verdict)


def test_every_page_is_found_and_has_its_age() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    aged = {it.page for it in read().table if it.what == PRINTS and it.made}
    assert aged == {f"{name}.md" for name in PAGES}
    for name in PAGES:
        assert f"\n{name}\n" in index
