"""`flashcrowd draw`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from flashcrowd.cli.options import Settings, StudyFile, load
from flashcrowd.cli.output import writing
from flashcrowd.diagram import draw as svg


def draw(
    study: StudyFile,
    *,
    out: Annotated[
        Path | None, Parameter(name=["--out", "-o"], help="A file to write; without, prints.")
    ] = None,
    narrow: Annotated[
        bool, Parameter(negative=(), help="One box below the other, as for a phone.")
    ] = False,
    set: Settings = [],  # noqa: B006
) -> None:
    """Draw the network of a study as SVG: groups, lines, links, workloads and what changes."""
    text = svg(load(study, set).resolved(), narrow=narrow)
    if out is None:
        print(text, end="")
        return
    with writing(out):
        out.write_text(text, encoding="utf-8")
    print(f"Drawing: {out}")
