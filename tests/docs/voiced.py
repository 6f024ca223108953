"""The texts that are held to `voice.toml`: README and docs, the help of all commands, reports."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from cyclopts import App
from tests.docs.promises import ROOT, pages
from tests.docs.voice import Passage, markdown, plain

import flashcrowd
from flashcrowd.cli import app
from flashcrowd.drawing.blocks import Block, Cell, Facts, Figure, Playback, Table, Text
from flashcrowd.report import study_page
from flashcrowd.study import Study
from flashcrowd.study.template import study_text

REPORTS = {"crowd": {"workloads.swarm.size": "256 kB"}, "upload": {}}
"""The templates whose reports are read, with values that make their runs short."""


def texts() -> Mapping[str, Callable[[], Iterator[Passage]]]:
    """For the name of each text: its passages."""
    return {
        **{name: partial(_page, name) for name in pages()},
        "help": partial(helped, app, ("flashcrowd",)),
        **{f"report of {name}": partial(_report, name) for name in REPORTS},
    }


def _page(name: str) -> Iterator[Passage]:
    return markdown((ROOT / name).read_text(encoding="utf-8"))


def helped(command: App, path: tuple[str, ...]) -> Iterator[Passage]:
    """The help of a command, of its parameters, and of the commands below it."""
    for paragraph in (command.help or "").split("\n\n"):
        yield plain(" ".join(path), paragraph)
    if command.default_command:
        for argument in command.assemble_argument_collection():
            yield plain(f"{' '.join(path)} {argument.name}", argument.parameter.help or "")
    for name in command:
        if not name.startswith("-"):
            yield from helped(command[name], (*path, name))


def _report(template: str) -> Iterator[Passage]:
    # The report has the command in it, which is no text of ours.
    with TemporaryDirectory() as folder, patch.object(sys, "argv", ["flashcrowd"]):
        study = Path(folder) / "study.toml"
        study.write_text(study_text(template, None, []), encoding="utf-8")
        short = Study.load(study, set=REPORTS[template], repeats=3)
        page = study_page.build(flashcrowd.run(short, out=Path(folder) / "results"))
    yield Passage("title", page.title, "heading")
    for text in (page.question, page.lead, *page.warnings):
        yield plain("head", text)
    for section in page.sections:
        yield Passage(section.slug, section.title, "heading")
        for block in section.blocks:
            if section.slug == "answer" and isinstance(block, Text):
                yield replace(plain(section.slug, block.text), kind="answer")
            else:
                yield from _block(section.slug, block)
    yield plain("foot", page.foot)


def _block(where: str, block: Block) -> Iterator[Passage]:
    match block:
        case Facts():
            for name, text in block.items:
                yield Passage(where, name, "heading")
                yield plain(where, text)
        case Table():
            yield plain(where, block.caption)
            for row in [block.header, *block.rows]:
                cells = (it.text if isinstance(it, Cell) else it for it in row)
                yield from (Passage(where, it, "cell") for it in cells)
        case Figure() | Playback():
            yield plain(where, block.caption)
            yield plain(where, block.alt)
        case _:
            yield plain(where, block.text)
